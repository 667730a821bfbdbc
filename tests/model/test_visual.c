/* What a model keeps for viewers: visual shapes, meshes, height fields, tendons, pairs, colours. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tangere/model.h"

static tg_builder *with_body(int *body)
{
    tg_builder *b = NULL;
    tg_body_def def = tg_default_body();
    def.name = "base";
    def.inertial = true;
    def.mass = 1;
    assert_int_equal(tg_builder_create(NULL, &b, NULL), TG_OK);
    assert_int_equal(tg_builder_body(b, &def, body), TG_OK);
    return b;
}

static void a_visual_is_kept_and_no_parameter(void **state)
{
    (void)state;
    int body;
    tg_builder *b = with_body(&body);
    tg_model *bare = NULL, *m = NULL;
    assert_int_equal(tg_builder_build(b, &bare), TG_OK);
    tg_visual_def def = tg_default_visual();
    def.name = "shell";
    def.file = "meshes/shell.stl";
    def.type = TG_GEOM_MESH;
    def.body = body;
    def.pos[2] = 0.5;
    def.rgba[0] = 0.25;
    assert_int_equal(tg_builder_visual(b, &def), TG_OK);
    assert_int_equal(tg_builder_build(b, &m), TG_OK);
    assert_int_equal(tg_model_sizes(m).nvisual, 1);
    assert_int_equal(tg_model_sizes(m).nparams, tg_model_sizes(bare).nparams);
    tg_visual_info info;
    memset(&info, 0x7f, sizeof info);
    assert_int_equal(tg_visual_get(m, 0, &info, NULL), TG_OK);
    assert_string_equal(info.name, "shell");
    assert_string_equal(info.file, "meshes/shell.stl");
    assert_int_equal(info.body, 1);
    assert_true(info.type == TG_GEOM_MESH && info.pos[2] == 0.5 && info.rgba[0] == 0.25 && info.size[1] == 1);
    tg_error error;
    assert_int_equal(tg_visual_get(m, 1, &info, &error), TG_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "visual 1"));
    tg_model_destroy(m);
    tg_model_destroy(bare);
    tg_builder_destroy(b);
}

static void refuse(const tg_visual_def *def, const char *what)
{
    tg_builder *b = with_body(NULL);
    tg_model *m = NULL;
    assert_int_equal(tg_builder_visual(b, def), TG_OK);
    assert_int_not_equal(tg_builder_build(b, &m), TG_OK);
    assert_null(m);
    assert_non_null(strstr(tg_builder_message(b), what));
    tg_builder_destroy(b);
}

static void wrong_visuals_are_refused(void **state)
{
    (void)state;
    tg_visual_def def = tg_default_visual();
    def.body = 7;
    refuse(&def, "body = 7");
    def = tg_default_visual();
    def.type = TG_GEOM_PLANE;
    refuse(&def, "visual #0: type");
    def = tg_default_visual();
    def.quat[2] = (double)NAN;
    refuse(&def, "quat[2]");
    tg_builder *b = with_body(NULL);
    def = tg_default_visual();
    def.cookie = 0;
    assert_int_equal(tg_builder_visual(b, &def), TG_ERR_ARGUMENT);
    assert_int_equal(tg_builder_visual(b, NULL), TG_ERR_ARGUMENT);
    tg_builder_destroy(b);
}

static void meshes_and_their_hulls_can_be_asked_for(void **state)
{
    (void)state;
    static const double vertex[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0.1, 0.1, 0.1};
    tg_builder *b = with_body(NULL);
    tg_model *m = NULL;
    tg_mesh_def mesh = tg_default_mesh();
    mesh.nvertex = 5;
    mesh.vertex = vertex;
    tg_geom_def geom = tg_default_geom();
    geom.type = TG_GEOM_MESH;
    geom.body = 1;
    assert_int_equal(tg_builder_mesh(b, &mesh, &geom.mesh), TG_OK);
    geom.rgba[1] = 0.75;
    assert_int_equal(tg_builder_geom(b, &geom, NULL), TG_OK);
    assert_int_equal(tg_builder_build(b, &m), TG_OK);
    tg_mesh_info info;
    tg_hull_info hull;
    tg_geom_info looks;
    assert_int_equal(tg_mesh_get(m, 0, &info, NULL), TG_OK);
    assert_int_equal(tg_hull_get(m, 0, &hull, NULL), TG_OK);
    assert_int_equal(tg_geom_get(m, 0, &looks, NULL), TG_OK);
    assert_int_equal(info.nvertex, 5);
    assert_memory_equal(info.vertex, vertex, sizeof vertex);
    assert_int_equal(info.nface, 4);
    assert_int_equal(hull.nvertex, 4); /* not the one inside */
    assert_int_equal(hull.npolygon, 4);
    assert_true(looks.rgba[1] == 0.75 && looks.rgba[3] == 1);
    assert_int_equal(tg_hfield_get(m, 0, &(tg_hfield_info){0}, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_tendon_get(m, 0, &(tg_tendon_info){0}, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_pair_get(m, 0, &(tg_pair_info){0}, NULL), TG_ERR_ARGUMENT);
    tg_model_destroy(m);
    tg_builder_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_visual_is_kept_and_no_parameter),
        cmocka_unit_test(wrong_visuals_are_refused),
        cmocka_unit_test(meshes_and_their_hulls_can_be_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
