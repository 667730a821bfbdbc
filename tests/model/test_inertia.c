/* Mass, centre of mass and inertia of shapes and meshes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/hull.h"
#include "model/inertia.h"
#include "tangere/algebra.h"
#include "tangere/model.h"

static void assert_close(double actual, double expected, double tolerance, const char *what)
{
    if (!(fabs(actual - expected) <= tolerance * fmax(1, fabs(expected))))
        fail_msg("%s: %.17g, expected %.17g", what, actual, expected);
}

/* ---- primitives ---- */

/* What MuJoCo 3.17 computes for density 10. Its shell of an ellipsoid is a difference of two solids, good to 1e-5. */
static const struct
{
    const char *name;
    tg_geom_type type;
    double size[3];
    bool shell;
    double mass, inertia[3];
    double tolerance;
} shapes[] = {
    {"sphere",
     TG_GEOM_SPHERE,
     {0.3},
     false,
     1.1309733552923256,
     {0.04071504079052372, 0.04071504079052372, 0.04071504079052372},
     1e-14},
    {"sphere shell",
     TG_GEOM_SPHERE,
     {0.3},
     true,
     11.309733552923255,
     {0.6785840131753953, 0.6785840131753953, 0.6785840131753953},
     1e-14},
    {"capsule",
     TG_GEOM_CAPSULE,
     {0.2, 0.35},
     false,
     1.2147491593880535,
     {0.10872004976523081, 0.10872004976523081, 0.02295457032222943},
     1e-14},
    {"capsule shell",
     TG_GEOM_CAPSULE,
     {0.2, 0.35},
     true,
     13.82300767579509,
     {1.636769772520282, 1.636769772520282, 0.4858996637552214},
     1e-14},
    {"ellipsoid",
     TG_GEOM_ELLIPSOID,
     {0.3, 0.2, 0.45},
     false,
     1.1309733552923258,
     {0.0548522077316778, 0.06616194128460105, 0.02940530723760047},
     1e-14},
    {"ellipsoid shell",
     TG_GEOM_ELLIPSOID,
     {0.3, 0.2, 0.45},
     true,
     12.314972034488573,
     {0.9006160070202895, 1.0704333268513437, 0.5535277370108815},
     2e-5},
    {"cylinder",
     TG_GEOM_CYLINDER,
     {0.25, 0.4},
     false,
     1.5707963267948966,
     {0.1083194967018981, 0.1083194967018981, 0.04908738521234052},
     1e-14},
    {"cylinder shell",
     TG_GEOM_CYLINDER,
     {0.25, 0.4},
     true,
     16.493361431346415,
     {1.7525832766979312, 1.7525832766979312, 0.9081166264282996},
     1e-14},
    {"box", TG_GEOM_BOX, {0.3, 0.15, 0.5}, false, 1.8, {0.1635, 0.204, 0.0675}, 1e-14},
    {"box shell", TG_GEOM_BOX, {0.3, 0.15, 0.5}, true, 21.6, {2.742, 3.408, 1.35}, 1e-14},
};

static void test_primitives(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    {
        tg_lump lump = tg_shape_lump(shapes[i].type, shapes[i].size, shapes[i].shell);
        assert_close(10 * lump.mass, shapes[i].mass, 1e-14, shapes[i].name);
        for (int k = 0; k < 3; k++)
        {
            assert_close(10 * lump.inertia[k], shapes[i].inertia[k], shapes[i].tolerance, shapes[i].name);
            assert_true(lump.com[k] == 0);
            assert_true(lump.inertia[3 + k] == 0);
        }
    }
}

static void test_plane_has_no_mass(void **state)
{
    (void)state;
    tg_lump lump = tg_shape_lump(TG_GEOM_PLANE, (const double[3]){1, 1, 1}, false);
    assert_true(lump.mass == 0);
}

/* ---- meshes ---- */

static const double cube_vertex[24] = {-1, -1, -1, 1, -1, -1, -1, 1, -1, 1, 1, -1,
                                       -1, -1, 1,  1, -1, 1,  -1, 1, 1,  1, 1, 1};
static const int cube_face[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                  2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};

static void assert_same_lump(const tg_lump *a, const tg_lump *b, double tolerance)
{
    assert_close(a->mass, b->mass, tolerance, "mass");
    for (int i = 0; i < 3; i++)
        assert_close(a->com[i], b->com[i], tolerance, "com");
    for (int i = 0; i < 6; i++)
        assert_close(a->inertia[i], b->inertia[i], tolerance, "inertia");
}

static void test_mesh_of_a_box(void **state)
{
    (void)state;
    const double half[3] = {0.3, 0.7, 1.1};
    for (int shell = 0; shell < 2; shell++)
    {
        tg_lump mesh = tg_mesh_lump(cube_vertex, cube_face, 12, half, shell != 0);
        tg_lump box = tg_shape_lump(TG_GEOM_BOX, half, shell != 0);
        assert_same_lump(&mesh, &box, 1e-13);
    }
}

static void test_mesh_mirrored(void **state)
{
    (void)state;
    const double half[3] = {0.3, 0.7, 1.1};
    const double mirrored[3] = {0.3, -0.7, 1.1};
    tg_lump mesh = tg_mesh_lump(cube_vertex, cube_face, 12, mirrored, false);
    tg_lump box = tg_shape_lump(TG_GEOM_BOX, half, false);
    assert_same_lump(&mesh, &box, 1e-13);
}

/* Far from its origin, and turned: as the box moved there. */
static void test_mesh_moved(void **state)
{
    (void)state;
    const double half[3] = {0.3, 0.7, 1.1};
    const double one[3] = {1, 1, 1};
    const double pos[3] = {1000, -2000, 500};
    double quat[4];
    double R[9];
    tg_quat_exp((const double[3]){0.4, -1.1, 0.7}, quat);
    tg_quat_to_matrix(quat, R);
    double vertex[24];
    for (int i = 0; i < 8; i++)
    {
        double scaled[3];
        for (int k = 0; k < 3; k++)
            scaled[k] = half[k] * cube_vertex[3 * i + k];
        tg_quat_rotate(quat, scaled, vertex + 3 * i);
        for (int k = 0; k < 3; k++)
            vertex[3 * i + k] += pos[k];
    }
    tg_lump box = tg_shape_lump(TG_GEOM_BOX, half, false);
    tg_lump expected = tg_lump_move(&box, R, pos);
    tg_lump mesh = tg_mesh_lump(vertex, cube_face, 12, one, false);
    assert_same_lump(&mesh, &expected, 1e-11);
}

/* Tetrahedron with corners 0 and a along the axes: V = a^3 / 6, com a / 4, about which I_xx = 3 V a^2 / 40 and
 * I_xy = V a^2 / 80. */
static void test_mesh_of_a_tetrahedron(void **state)
{
    (void)state;
    const double a = 0.6;
    const double vertex[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    const int face[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
    tg_lump mesh = tg_mesh_lump(vertex, face, 4, (const double[3]){a, a, a}, false);
    double V = a * a * a / 6;
    const double d = 3 * V * a * a / 40;
    const double o = V * a * a / 80;
    tg_lump expected = {V, {a / 4, a / 4, a / 4}, {d, d, d, o, o, o}};
    assert_same_lump(&mesh, &expected, 1e-15);
}

static void test_mesh_inside_out_is_negative(void **state)
{
    (void)state;
    int face[36];
    for (int i = 0; i < 36; i += 3)
    {
        face[i] = cube_face[i];
        face[i + 1] = cube_face[i + 2];
        face[i + 2] = cube_face[i + 1];
    }
    tg_lump mesh = tg_mesh_lump(cube_vertex, face, 12, (const double[3]){1, 1, 1}, false);
    assert_close(mesh.mass, -8, 1e-14, "volume");
}

static void test_hull_of_a_cube(void **state)
{
    (void)state;
    double vertex[30];
    memcpy(vertex, cube_vertex, sizeof cube_vertex);
    memcpy(vertex + 24, (const double[6]){0.2, 0.3, -0.4, 0, 0, 0.9}, 6 * sizeof(double)); /* inside */
    int *face;
    int nface;
    tg_status status = tg_convex_hull(NULL, vertex, 10, &face, &nface, NULL);
    if (status == TG_ERR_UNSUPPORTED) /* a build without qhull */
        skip();
    assert_int_equal(status, TG_OK);
    assert_int_equal(nface, 12);
    tg_lump hull = tg_mesh_lump(vertex, face, nface, (const double[3]){0.5, 1, 2}, false);
    tg_lump box = tg_shape_lump(TG_GEOM_BOX, (const double[3]){0.5, 1, 2}, false);
    assert_same_lump(&hull, &box, 1e-13);
    free(face);
}

static void test_hull_of_a_plane_is_refused(void **state)
{
    (void)state;
    const double vertex[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0.5, 0.2, 0};
    int *face;
    int nface;
    tg_error error = {0};
    tg_status status = tg_convex_hull(NULL, vertex, 5, &face, &nface, &error);
    if (status == TG_ERR_UNSUPPORTED)
        skip();
    assert_int_equal(status, TG_ERR_MODEL);
    assert_non_null(strstr(error.message, "5 vertices"));
    assert_null(face);
}

/* ---- lumps ---- */

static void test_sum_of_two_points(void **state)
{
    (void)state;
    tg_lump sum = {0};
    const tg_lump a = {.mass = 1, .com = {1, 0, 0}};
    const tg_lump b = {.mass = 3, .com = {-1, 2, 0}};
    tg_lump_add(&sum, &a);
    tg_lump_add(&sum, &b);
    /* reduced mass 3/4, d = (-2, 2, 0) */
    const tg_lump expected = {4, {-0.5, 1.5, 0}, {3, 3, 6, 3, 0, 0}};
    assert_same_lump(&sum, &expected, 1e-15);
}

/* A box in one piece, and in eight. */
static void test_sum_of_boxes(void **state)
{
    (void)state;
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const double half[3] = {0.1, 0.2, 0.3};
    const double whole[3] = {0.2, 0.4, 0.6};
    tg_lump piece = tg_shape_lump(TG_GEOM_BOX, half, false);
    tg_lump sum = {0};
    for (int i = 0; i < 8; i++)
    {
        const double pos[3] = {i & 1 ? 0.1 : -0.1, i & 2 ? 0.2 : -0.2, i & 4 ? 0.3 : -0.3};
        tg_lump moved = tg_lump_move(&piece, identity, pos);
        tg_lump_add(&sum, &moved);
    }
    tg_lump expected = tg_shape_lump(TG_GEOM_BOX, whole, false);
    assert_same_lump(&sum, &expected, 1e-15);
}

/* The moment about an axis of a turned lump is the moment about the axis turned back. */
static void test_moment_about_an_axis(void **state)
{
    (void)state;
    const tg_lump lump = {2, {0.1, -0.2, 0.3}, {0.3, 0.4, 0.5, 0.02, -0.03, 0.04}};
    const double pos[3] = {0.5, 0.6, -0.7};
    const double axis[3] = {0.6, 0, 0.8};
    const double point[3] = {0.2, 0.1, 0};
    double quat[4];
    double R[9];
    double turned_axis[3];
    double turned_point[3];
    tg_quat_exp((const double[3]){0.4, -1.1, 0.7}, quat);
    tg_quat_to_matrix(quat, R);
    tg_quat_rotate(quat, axis, turned_axis);
    tg_quat_rotate(quat, point, turned_point);
    for (int i = 0; i < 3; i++)
        turned_point[i] += pos[i];
    tg_lump moved = tg_lump_move(&lump, R, pos);
    assert_close(tg_lump_about(&moved, turned_point, turned_axis), tg_lump_about(&lump, point, axis), 1e-14, "moment");
    /* about x through the com it is the entry of the matrix */
    assert_close(tg_lump_about(&lump, lump.com, (const double[3]){1, 0, 0}), 0.3, 1e-15, "moment");
}

static void test_principal_moments(void **state)
{
    (void)state;
    double quat[4];
    double R[9];
    tg_quat_exp((const double[3]){1.4, -0.3, 0.9}, quat);
    tg_quat_to_matrix(quat, R);
    const tg_lump lump = {1, {0, 0, 0}, {3, 1, 2.5, 0, 0, 0}};
    tg_lump turned = tg_lump_move(&lump, R, (const double[3]){0, 0, 0});
    double moment[3];
    tg_principal_moments(turned.inertia, moment);
    assert_close(moment[0], 1, 1e-14, "smallest");
    assert_close(moment[1], 2.5, 1e-14, "middle");
    assert_close(moment[2], 3, 1e-14, "largest");
    tg_principal_moments((const double[6]){0, 0, 0, 0, 0, 0}, moment);
    assert_true(moment[0] == 0 && moment[2] == 0);
}

/* ---- bodies from geoms, through the builder ---- */

static tg_model *build_body(const tg_geom_def *geoms, int count)
{
    tg_builder *b;
    tg_model *m;
    assert_int_equal(tg_builder_create(NULL, &b, NULL), TG_OK);
    tg_body_def body = tg_default_body();
    int id;
    assert_int_equal(tg_builder_body(b, &body, &id), TG_OK);
    for (int i = 0; i < count; i++)
    {
        tg_geom_def geom = geoms[i];
        geom.body = id;
        assert_int_equal(tg_builder_geom(b, &geom, NULL), TG_OK);
    }
    if (tg_builder_build(b, &m) != TG_OK)
        fail_msg("%s", tg_builder_message(b));
    tg_builder_destroy(b);
    return m;
}

static const double *param(const tg_model *m, const char *name)
{
    int offset;
    assert_int_equal(tg_param_find(m, name, &offset, NULL, NULL), TG_OK);
    return tg_params_view(tg_model_params(m)) + offset;
}

static void test_mass_or_density(void **state)
{
    (void)state;
    tg_geom_def geom = tg_default_geom();
    geom.type = TG_GEOM_BOX;
    geom.size[0] = geom.size[1] = geom.size[2] = 0.5;
    tg_model *m = build_body(&geom, 1);
    assert_close(param(m, "body.#1.mass")[0], 1000, 1e-14, "mass from density");
    tg_model_destroy(m);
    geom.mass = 6;
    m = build_body(&geom, 1);
    assert_close(param(m, "body.#1.mass")[0], 6, 1e-14, "mass");
    assert_close(param(m, "body.#1.inertia")[2], 1, 1e-14, "inertia"); /* m (2a)^2 / 6 */
    tg_model_destroy(m);
    geom.mass = 0;
    m = build_body(&geom, 1);
    assert_true(param(m, "body.#1.mass")[0] == 0);
    tg_model_destroy(m);
}

static void test_point_mass(void **state)
{
    (void)state;
    tg_geom_def geom = tg_default_geom(); /* a sphere of radius 0 */
    geom.mass = 2;
    geom.pos[1] = 0.5;
    tg_model *m = build_body(&geom, 1);
    assert_close(param(m, "body.#1.mass")[0], 2, 1e-15, "mass");
    assert_close(param(m, "body.#1.com[1]")[0], 0.5, 1e-15, "com");
    for (int i = 0; i < 6; i++)
        assert_true(param(m, "body.#1.inertia")[i] == 0);
    tg_model_destroy(m);
}

static void test_several_geoms(void **state)
{
    (void)state;
    tg_geom_def geoms[2] = {tg_default_geom(), tg_default_geom()};
    for (int i = 0; i < 2; i++)
    {
        geoms[i].type = TG_GEOM_BOX;
        geoms[i].size[0] = geoms[i].size[1] = 0.2;
        geoms[i].size[2] = 0.1;
        geoms[i].pos[2] = i == 0 ? 0.1 : 0.3;
        tg_quat_from_axis_angle((const double[3]){0, 0, 1}, 1.5707963267948966, geoms[i].quat);
    }
    tg_model *m = build_body(geoms, 2);
    tg_lump whole = tg_shape_lump(TG_GEOM_BOX, (const double[3]){0.2, 0.2, 0.2}, false);
    assert_close(param(m, "body.#1.mass")[0], 1000 * whole.mass, 1e-14, "mass");
    assert_close(param(m, "body.#1.com[2]")[0], 0.2, 1e-15, "com");
    for (int i = 0; i < 6; i++)
        assert_close(param(m, "body.#1.inertia")[i], 1000 * whole.inertia[i], 1e-13, "inertia");
    tg_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_primitives),
        cmocka_unit_test(test_plane_has_no_mass),
        cmocka_unit_test(test_mesh_of_a_box),
        cmocka_unit_test(test_mesh_mirrored),
        cmocka_unit_test(test_mesh_moved),
        cmocka_unit_test(test_mesh_of_a_tetrahedron),
        cmocka_unit_test(test_mesh_inside_out_is_negative),
        cmocka_unit_test(test_hull_of_a_cube),
        cmocka_unit_test(test_hull_of_a_plane_is_refused),
        cmocka_unit_test(test_sum_of_two_points),
        cmocka_unit_test(test_sum_of_boxes),
        cmocka_unit_test(test_moment_about_an_axis),
        cmocka_unit_test(test_principal_moments),
        cmocka_unit_test(test_mass_or_density),
        cmocka_unit_test(test_point_mass),
        cmocka_unit_test(test_several_geoms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
