/* Writing MJCF: what is read back is what was written, and writing it again gives the same bytes. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/params.h"
#include "model/text.h"
#include "support/models.h"
#include "tangere/read.h"

static char *written(const tg_model *m, const tg_params *p)
{
    char *text = NULL;
    size_t length = 0;
    tg_error error = {0};
    if (tg_save_string(m, p, NULL, &text, &length, &error) != TG_OK)
        fail_msg("%s: %s", tg_model_name(m), error.message);
    assert_int_equal(strlen(text), length);
    return text;
}

static tg_model *loaded(const char *text)
{
    tg_model *m = NULL;
    tg_error error = {0};
    tg_load_options options = tg_default_load_options();
    options.strict = true;
    if (tg_load_string(text, strlen(text), NULL, &options, &m, &error) != TG_OK)
        fail_msg("%s\n%s", error.message, text);
    return m;
}

static void assert_same_structure(const tg_model *a, const tg_model *b)
{
    tg_sizes x = tg_model_sizes(a), y = tg_model_sizes(b);
    assert_memory_equal(&x, &y, sizeof x);
    assert_string_equal(tg_model_name(a), tg_model_name(b));
    assert_true(tg_model_timestep(a) == tg_model_timestep(b));
    for (tg_element e = 0; e < TG_ELEMENT_COUNT; e++)
    {
        for (int i = 0; i < tg_element_count(a, e); i++)
            assert_string_equal(tg_name(a, e, i), tg_name(b, e, i));
    }
    for (int i = 0; i < x.nbody; i++)
        assert_int_equal(a->body_parent[i], b->body_parent[i]);
    assert_memory_equal(a->path_type, b->path_type, (size_t)a->npath * sizeof(int));
    assert_memory_equal(a->path_id, b->path_id, (size_t)a->npath * sizeof(int));
    assert_memory_equal(a->face, b->face, 3 * (size_t)a->nface * sizeof(int));
}

static void assert_same_numbers(const tg_model *m, const double *expected, const tg_model *back)
{
    const double *actual = tg_params_view(tg_model_params(back));
    for (int i = 0; i < tg_model_sizes(m).nparams; i++)
    {
        char name[200];
        tg_param_name(m, i, false, name, sizeof name, NULL);
        if (actual[i] != expected[i])
            fail_msg("%s: %s is %.17g, was %.17g", tg_model_name(m), name, actual[i], expected[i]);
    }
}

/* Writes, reads, compares, writes again. */
static void round_trip(const tg_model *m, const tg_params *p)
{
    char *text = written(m, p);
    tg_model *back = loaded(text);
    assert_same_structure(m, back);
    assert_same_numbers(m, tg_params_view(p != NULL ? p : tg_model_params(m)), back);
    char *again = written(back, NULL);
    assert_string_equal(text, again);
    tg_save_string_free(NULL, again);
    tg_save_string_free(NULL, text);
    tg_model_destroy(back);
}

static void test_builder_models(void **state)
{
    (void)state;
    for (int which = 0; which < TG_TEST_MODEL_COUNT; which++)
    {
        tg_model *m = tg_test_model(which);
        round_trip(m, NULL);
        tg_model_destroy(m);
    }
}

/* Every number is moved a little, those at zero as far as they may: nothing is lost by being the usual value. */
static void test_changed_parameters(void **state)
{
    (void)state;
    for (int which = 0; which < TG_TEST_MODEL_COUNT; which++)
    {
        tg_model *m = tg_test_model(which);
        tg_params *p = NULL;
        tg_error error = {0};
        assert_int_equal(tg_params_create(m, &p, &error), TG_OK);
        int changed = 0;
        for (int i = 0; i < tg_model_sizes(m).nparams; i++)
        {
            double *x = tg_params_data(p) + i, before = *x;
            *x = before != 0 ? before * (1 + 1e-4 * sin(i)) : 1e-3 * (1 + sin(i));
            if (tg_params_changed(p, NULL) != TG_OK) /* must stay as it is: a ball's range, an inertia, ... */
                *x = before;
            else
                changed++;
        }
        assert_int_equal(tg_params_changed(p, &error), TG_OK);
        assert_true(changed > tg_model_sizes(m).nparams / 2);
        round_trip(m, p);
        tg_params_destroy(p);
        tg_model_destroy(m);
    }
}

/* ---- small models ---- */

static tg_builder *new_builder(void)
{
    tg_builder *b = NULL;
    assert_int_equal(tg_builder_create(NULL, &b, NULL), TG_OK);
    return b;
}

static tg_model *built(tg_builder *b)
{
    tg_model *m = NULL;
    if (tg_builder_build(b, &m) != TG_OK)
        fail_msg("%s", tg_builder_message(b));
    tg_builder_destroy(b);
    return m;
}

static int add_ball(tg_builder *b, const char *name, int parent, bool jointed)
{
    int id = -1;
    tg_body_def body = tg_default_body();
    body.name = name;
    body.parent = parent;
    body.pos[0] = 0.3;
    assert_int_equal(tg_builder_body(b, &body, &id), TG_OK);
    tg_joint_def joint = tg_default_joint();
    joint.name = name;
    joint.body = id;
    if (jointed)
        assert_int_equal(tg_builder_joint(b, &joint, NULL), TG_OK);
    tg_geom_def geom = tg_default_geom();
    geom.name = name;
    geom.body = id;
    geom.size[0] = 0.1;
    assert_int_equal(tg_builder_geom(b, &geom, NULL), TG_OK);
    return id;
}

static void test_names_that_xml_must_escape(void **state)
{
    (void)state;
    static const char *const names[] = {"a<b",     "a&b;", "say \"hi\"", "it's", "tab\tnew\nline", "h\xc3\xbcgel",
                                        " space ", "#",    "#x",         "1#2",  "a.b.mass"};
    tg_builder *b = new_builder();
    int parent = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        parent = add_ball(b, names[i], parent, true);
    assert_int_equal(tg_builder_name(b, "<&>"), TG_OK);
    tg_model *m = built(b);
    tg_params *p = NULL;
    assert_int_equal(tg_params_create(m, &p, NULL), TG_OK);
    for (int i = 0; i < m->ngeom; i++) /* something that needs the names in the custom section */
        tg_params_data(p)[m->offset.geom_restitution + i] = 0.5;
    assert_int_equal(tg_params_changed(p, NULL), TG_OK);
    round_trip(m, p);
    tg_params_destroy(p);
    tg_model_destroy(m);
}

/* Elements without a name that others refer to come back without one. */
static void test_references_to_the_unnamed(void **state)
{
    (void)state;
    tg_builder *b = new_builder();
    int arm = add_ball(b, NULL, 0, true), hand = add_ball(b, NULL, arm, true), tendon = -1;
    tg_path path = {TG_PATH_JOINT, 1, 2};
    tg_tendon_def string = tg_default_tendon();
    string.type = TG_TENDON_FIXED;
    string.npath = 1;
    string.path = &path;
    assert_int_equal(tg_builder_tendon(b, &string, &tendon), TG_OK);
    tg_actuator_def motor = tg_default_actuator();
    motor.transmission = TG_TRANSMISSION_TENDON;
    motor.target = tendon;
    assert_int_equal(tg_builder_actuator(b, &motor, NULL), TG_OK);
    tg_exclude_def exclude = tg_default_exclude();
    exclude.body1 = hand;
    exclude.body2 = 0;
    assert_int_equal(tg_builder_exclude(b, &exclude, NULL), TG_OK);
    tg_pair_def pair = tg_default_pair();
    pair.geom1 = 1;
    pair.geom2 = 0;
    pair.restitution = 0.25;
    assert_int_equal(tg_builder_pair(b, &pair, NULL), TG_OK);
    tg_model *m = built(b);
    char *text = written(m, NULL);
    assert_non_null(strstr(text, "<joint name=\"#1\""));
    assert_null(strstr(text, "<joint name=\"#0\""));
    assert_non_null(strstr(text, "tangere:pair.#0.restitution"));
    tg_model *back = loaded(text);
    assert_same_structure(m, back);
    assert_same_numbers(m, tg_params_view(tg_model_params(m)), back);
    assert_int_equal(back->path_id[0], 1);
    assert_int_equal(back->pair_geom1[0], 0); /* the lower body first */
    assert_int_equal(back->pair_geom2[0], 1);
    tg_save_string_free(NULL, text);
    tg_model_destroy(back);
    tg_model_destroy(m);
}

/* Pairs and excludes are written in the order of their bodies; each keeps its name and numbers. */
static void test_order_of_pairs(void **state)
{
    (void)state;
    static const int order[3][2] = {{3, 2}, {1, 3}, {2, 1}};
    static const char *const names[3] = {"late", "middle", "early"};
    tg_builder *b = new_builder();
    for (int i = 0; i < 3; i++)
        add_ball(b, i == 0 ? "x" : i == 1 ? "y" : "z", 0, true);
    for (int i = 0; i < 3; i++)
    {
        tg_pair_def pair = tg_default_pair();
        pair.name = names[i];
        pair.geom1 = order[i][0] - 1;
        pair.geom2 = order[i][1] - 1;
        pair.friction[0] = 0.1 * (i + 1);
        pair.compliance = 1e-5 * (i + 1);
        assert_int_equal(tg_builder_pair(b, &pair, NULL), TG_OK);
        tg_exclude_def exclude = tg_default_exclude();
        exclude.name = names[i];
        exclude.body1 = order[i][0];
        exclude.body2 = order[i][1];
        assert_int_equal(tg_builder_exclude(b, &exclude, NULL), TG_OK);
    }
    tg_model *m = built(b);
    char *text = written(m, NULL);
    tg_model *back = loaded(text);
    assert_string_equal(tg_name(back, TG_PAIR, 0), "early");
    assert_string_equal(tg_name(back, TG_EXCLUDE, 2), "late");
    for (int i = 0; i < 3; i++)
    {
        int k = tg_find(back, TG_PAIR, names[i]);
        assert_true(TG_PARAM(back->params, pair_friction)[3 * k] == 0.1 * (i + 1));
        assert_true(TG_PARAM(back->params, pair_compliance)[k] == 1e-5 * (i + 1));
        assert_int_equal(back->pair_geom1[k] + back->pair_geom2[k], order[i][0] + order[i][1] - 2);
    }
    char *again = written(back, NULL);
    assert_string_equal(text, again);
    tg_save_string_free(NULL, again);
    tg_save_string_free(NULL, text);
    tg_model_destroy(back);
    tg_model_destroy(m);
}

/* Quaternions of keyframes need not be quite unit; they are written so. */
static void test_keyframes(void **state)
{
    (void)state;
    tg_builder *b = new_builder();
    int body = add_ball(b, "ball", 0, false);
    tg_joint_def joint = tg_default_joint();
    joint.body = body;
    joint.type = TG_JOINT_FREE;
    assert_int_equal(tg_builder_joint(b, &joint, NULL), TG_OK);
    const double q[7] = {0.1, 0.2, 0.3, 0.6004, 0, 0.8003, 0}, v[6] = {1, 2, 3, 4, 5, 6};
    tg_key_def key = tg_default_key();
    key.time = 1.0 / 3;
    key.q = q;
    key.nq = 7;
    key.v = v;
    key.nv = 6;
    assert_int_equal(tg_builder_key(b, &key, NULL), TG_OK);
    key = tg_default_key();
    key.name = "rest";
    assert_int_equal(tg_builder_key(b, &key, NULL), TG_OK);
    tg_model *m = built(b);
    char *text = written(m, NULL);
    tg_model *back = loaded(text);
    double time, out[7], speed[6], norm = hypot(q[3], q[5]);
    assert_int_equal(tg_key_get(back, 0, &time, out, speed, NULL, NULL, NULL), TG_OK);
    assert_true(time == 1.0 / 3);
    assert_memory_equal(speed, v, sizeof v);
    for (int i = 0; i < 7; i++)
        assert_true(fabs(out[i] - (i < 3 ? q[i] : q[i] / norm)) < 1e-15);
    char *again = written(back, NULL);
    assert_string_equal(text, again);
    tg_save_string_free(NULL, again);
    tg_save_string_free(NULL, text);
    tg_model_destroy(back);
    tg_model_destroy(m);
}

/* Vertices in millimetres: single precision times 0.001 is kept exactly; others are rounded, and then stay. */
static void test_vertices(void **state)
{
    (void)state;
    double vertex[12] = {0, 0, 0, (double)12.7f * 0.001, 0, 0, 0, (double)33.1f * 0.001, 0, 0, 0, (double)7.9f * 0.001};
    for (int rounded = 0; rounded < 2; rounded++)
    {
        tg_builder *b = new_builder();
        tg_mesh_def mesh = tg_default_mesh();
        vertex[3] += rounded * 1e-12;
        mesh.nvertex = 4;
        mesh.vertex = vertex;
        assert_int_equal(tg_builder_mesh(b, &mesh, NULL), TG_OK);
        tg_geom_def geom = tg_default_geom();
        geom.type = TG_GEOM_MESH;
        geom.mesh = 0;
        assert_int_equal(tg_builder_geom(b, &geom, NULL), TG_OK);
        tg_model *m = built(b);
        char *text = written(m, NULL);
        tg_model *back = loaded(text);
        for (int i = 0; i < 12; i++)
        {
            if (rounded)
                assert_true(fabs(back->vertex[i] - vertex[i]) <= 1e-7 * fabs(vertex[i]));
            else
                assert_true(back->vertex[i] == vertex[i]);
        }
        char *again = written(back, NULL);
        assert_string_equal(text, again);
        tg_save_string_free(NULL, again);
        tg_save_string_free(NULL, text);
        tg_model_destroy(back);
        tg_model_destroy(m);
    }
}

/* ---- numbers ---- */

static void test_numbers(void **state)
{
    (void)state;
    static const struct
    {
        double value;
        const char *text;
    } cases[] = {{0, "0"},
                 {-0.0, "0"},
                 {1, "1"},
                 {0.1, "0.1"},
                 {-2.5, "-2.5"},
                 {1.0 / 3, "0.3333333333333333"},
                 {5e-324, "4.94065645841247e-324"},
                 {1.7976931348623157e308, "1.7976931348623157e+308"}};
    const char *comma = setlocale(LC_NUMERIC, "de_DE.UTF-8");
    for (int pass = 0; pass < 2; pass++)
    {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        {
            tg_text t = {0};
            tg_text_real(&t, cases[i].value);
            assert_string_equal(t.data, cases[i].text);
            tg_text_free(&t);
        }
        setlocale(LC_NUMERIC, "C");
        if (comma == NULL)
            break;
    }
    uint64_t seed = 1;
    for (int i = 0; i < 100000; i++)
    {
        double x;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        memcpy(&x, &seed, sizeof x);
        if (!isfinite(x))
            continue;
        tg_text t = {0};
        tg_text_real(&t, x);
        assert_true(strtod(t.data, NULL) == x);
        tg_text_free(&t);
        tg_text_single(&t, (float)(x > 1e30 || x < -1e30 ? 0 : x));
        assert_true(strtof(t.data, NULL) == (float)(x > 1e30 || x < -1e30 ? 0 : x));
        tg_text_free(&t);
    }
}

/* ---- refusals ---- */

static void assert_refused(const tg_model *m, const tg_params *p, tg_status expected, const char *part)
{
    char *text = (char *)1;
    tg_error error = {0};
    assert_int_equal(tg_save_string(m, p, NULL, &text, NULL, &error), expected);
    if (strstr(error.message, part) == NULL)
        fail_msg("no '%s' in: %s", part, error.message);
}

static void test_refusals(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_PENDULUM), *other = tg_test_model(TG_TEST_WALKER);
    tg_params *p = NULL;
    tg_error error = {0};
    assert_int_equal(tg_params_create(m, &p, NULL), TG_OK);
    assert_refused(NULL, NULL, TG_ERR_ARGUMENT, "model is NULL");
    assert_refused(m, tg_model_params(other), TG_ERR_ARGUMENT, "another model");
    tg_params_data(p);
    assert_refused(m, p, TG_ERR_STALE, "tg_params_changed");
    assert_int_equal(tg_save_string(m, NULL, NULL, NULL, NULL, &error), TG_ERR_ARGUMENT);
    assert_int_equal(tg_save(m, NULL, NULL, &error), TG_ERR_ARGUMENT);
    assert_int_equal(tg_save(m, NULL, "/no/such/folder/model.xml", &error), TG_ERR_FILE);
    assert_non_null(strstr(error.message, "/no/such/folder/model.xml: cannot be written: No such file"));
    tg_params_destroy(p);
    tg_model_destroy(other);
    tg_model_destroy(m);
}

static void test_what_mjcf_cannot_hold(void **state)
{
    (void)state;
    static const double elevation[4] = {0.1, 0.5, 0.6, 0.2};
    tg_builder *b = new_builder();
    tg_hfield_def hfield = tg_default_hfield();
    hfield.name = "hills";
    hfield.nrow = hfield.ncol = 2;
    hfield.elevation = elevation;
    assert_int_equal(tg_builder_hfield(b, &hfield, NULL), TG_OK);
    tg_model *m = built(b);
    assert_refused(m, NULL, TG_ERR_UNSUPPORTED, "hfield 'hills' (#0): its elevations do not span 0 .. 1");
    tg_model_destroy(m);

    b = new_builder();
    add_ball(b, "bell\x07", 0, true);
    m = built(b);
    assert_refused(m, NULL, TG_ERR_UNSUPPORTED, "cannot be written as MJCF");
    tg_model_destroy(m);

    b = new_builder();
    int parent = 0;
    for (int i = 0; i < 600; i++)
        parent = add_ball(b, NULL, parent, false);
    m = built(b);
    assert_refused(m, NULL, TG_ERR_UNSUPPORTED, "cannot be written as MJCF");
    tg_model_destroy(m);
}

/* ---- files and memory ---- */

static void test_file(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_EVERYTHING), *back = NULL;
    tg_error error = {0};
    char path[] = "test_mjcf_write.tmp.xml";
    assert_int_equal(tg_save(m, NULL, path, &error), TG_OK);
    assert_int_equal(tg_load(path, NULL, &back, &error), TG_OK);
    assert_same_structure(m, back);
    assert_same_numbers(m, tg_params_view(tg_model_params(m)), back);
    remove(path);
    tg_model_destroy(back);
    tg_model_destroy(m);
}

typedef struct heap
{
    int left, live;
} heap;

static void *heap_alloc(size_t size, size_t align, void *user)
{
    heap *h = user;
    if (h->left-- <= 0)
        return NULL;
    h->live++;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void heap_free(void *memory, void *user)
{
    heap *h = user;
    h->live -= memory != NULL;
    free(memory);
}

/* Whichever allocation fails, the answer is a status, and nothing is lost. */
static void test_out_of_memory(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_EVERYTHING);
    tg_status status = TG_ERR_MEMORY;
    int n = 0;
    for (; status == TG_ERR_MEMORY && n < 10000; n++)
    {
        heap h = {.left = n};
        tg_allocator allocator = {heap_alloc, heap_free, &h};
        char *text = NULL;
        tg_error error = {0};
        status = tg_save_string(m, NULL, &allocator, &text, NULL, &error);
        if (status == TG_OK)
            tg_save_string_free(&allocator, text);
        else
            assert_string_equal(error.message, "tg_save: out of memory");
        assert_int_equal(h.live, 0);
    }
    assert_int_equal(status, TG_OK);
    assert_true(n > 10);
    tg_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builder_models),
        cmocka_unit_test(test_changed_parameters),
        cmocka_unit_test(test_names_that_xml_must_escape),
        cmocka_unit_test(test_references_to_the_unnamed),
        cmocka_unit_test(test_order_of_pairs),
        cmocka_unit_test(test_keyframes),
        cmocka_unit_test(test_vertices),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_what_mjcf_cannot_hold),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
