/* The parameter vector: layout, names, look-up, patterns, changing. */
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
#include "support/models.h"
#include "tangere/model.h"

static void assert_close(double actual, double expected, double tolerance, const char *what)
{
    if (!(fabs(actual - expected) <= tolerance * fmax(1, fabs(expected))))
        fail_msg("%s: %.17g, expected %.17g", what, actual, expected);
}

/* ---- names and slices ---- */

/* Slices cover the vector without gaps; each name finds its slice, each number's name finds the number. */
static void test_names_find_themselves(void **state)
{
    (void)state;
    for (int which = 0; which < TG_TEST_MODEL_COUNT; which++)
    {
        tg_model *m = tg_test_model(which);
        int next = 0;
        for (int i = 0; i < tg_param_slice_count(m); i++)
        {
            tg_param_slice slice;
            char name[200];
            int offset;
            int size;
            assert_int_equal(tg_param_slice_get(m, i, &slice, NULL), TG_OK);
            assert_int_equal(slice.offset, next);
            assert_true(slice.size > 0);
            next += slice.size;
            assert_int_equal(tg_param_name(m, slice.offset, true, name, sizeof name, NULL), TG_OK);
            assert_int_equal(tg_param_find(m, name, &offset, &size, NULL), TG_OK);
            assert_int_equal(offset, slice.offset);
            assert_int_equal(size, slice.size);
            for (int k = 0; k < slice.size; k++)
            {
                assert_int_equal(tg_param_name(m, slice.offset + k, false, name, sizeof name, NULL), TG_OK);
                assert_int_equal(tg_param_find(m, name, &offset, &size, NULL), TG_OK);
                assert_int_equal(offset, slice.offset + k);
                assert_int_equal(size, 1);
            }
        }
        assert_int_equal(next, tg_model_sizes(m).nparams);
        tg_model_destroy(m);
    }
}

static void test_names(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_EVERYTHING);
    static const struct
    {
        const char *name;
        int size;
    } cases[] = {
        {"body.base.mass", 1},
        {"body.world.pos", 3},
        {"body.plate.inertia", 6},
        {"joint.crane_hinge.ref", 1},
        {"geom.plate.bottom.size", 3},
        {"geom.plate.bottom.size[2]", 1},
        {"site.#1.quat", 4},
        {"tendon.line.coef", 2},
        {"actuator.#1.gear", 6},
        {"equality.pin.data", 11},
        {"pair.plate.ground.friction", 3},
        {"hfield.terrain.size", 4},
        {"gravity", 3},
        {"gravity[2]", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
        int offset;
        int size;
        tg_error error = {0};
        if (tg_param_find(m, cases[i].name, &offset, &size, &error) != TG_OK)
            fail_msg("%s", error.message);
        assert_int_equal(size, cases[i].size);
    }
    int gravity;
    assert_int_equal(tg_param_find(m, "gravity[2]", &gravity, NULL, NULL), TG_OK);
    assert_true(tg_params_view(tg_model_params(m))[gravity] == -9.7);
    tg_model_destroy(m);
}

static void test_unknown_names(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_EVERYTHING);
    static const struct
    {
        const char *name, *says;
    } cases[] = {
        {"", "''"},
        {"mass", "'mass'"},
        {"wheel.base.mass", "'wheel' is no element kind"},
        {"body.nobody.mass", "no body 'nobody'"},
        {"body.base.weight", "a body has no field 'weight'"},
        {"body.base", "a body has no field 'base'"},
        {"body.mass", "no body ''"},
        {"body..mass", "no body ''"},
        {"body.#9.mass", "no body '#9'"},
        {"geom.#12x.size", "no geom '#12x'"},
        {"body.base.mass[1]", "has 1 numbers"},
        {"body.base.pos[3]", "has 3 numbers"},
        {"body.base.pos[]", "field 'pos[]'"},
        {"body.base.pos[-1]", "field 'pos[-1]'"},
        {"gravity[3]", "has 3 numbers"},
        {"gravity.x", "'gravity' is no element kind"},
        {"key.home.q", "a key has no field 'q'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
        int offset = -7;
        int size = -7;
        tg_error error = {0};
        assert_int_equal(tg_param_find(m, cases[i].name, &offset, &size, &error), TG_ERR_NAME);
        assert_int_equal(error.status, TG_ERR_NAME);
        if (strstr(error.message, cases[i].says) == NULL)
            fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].name, error.message, cases[i].says);
        assert_true(offset == -7 && size == -7);
    }
    assert_int_equal(tg_param_find(NULL, "gravity", NULL, NULL, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_param_find(m, NULL, NULL, NULL, NULL), TG_ERR_ARGUMENT);
    tg_model_destroy(m);
}

static void test_name_buffer(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_PENDULUM);
    char name[16];
    int offset;
    assert_int_equal(tg_param_find(m, "body.pole.mass", &offset, NULL, NULL), TG_OK);
    assert_int_equal(tg_param_name(m, offset, false, name, 15, NULL), TG_OK); /* just fits */
    assert_string_equal(name, "body.pole.mass");
    assert_int_equal(tg_param_name(m, offset, false, name, 14, NULL), TG_ERR_CAPACITY);
    assert_string_equal(name, "body.pole.mas");
    assert_int_equal(tg_param_name(m, -1, false, name, sizeof name, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_param_name(m, tg_model_sizes(m).nparams, false, name, sizeof name, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_param_name(m, offset, false, NULL, 0, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_param_slice_get(m, -1, NULL, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_param_slice_count(NULL), 0);
    tg_model_destroy(m);
}

static void test_long_names(void **state)
{
    (void)state;
    enum
    {
        LENGTH = 5000
    };
    char *long_name = malloc(LENGTH + 1);
    memset(long_name, 'x', LENGTH);
    long_name[LENGTH] = '\0';
    tg_builder *b;
    tg_model *m;
    assert_int_equal(tg_builder_create(NULL, &b, NULL), TG_OK);
    tg_body_def body = tg_default_body();
    body.name = long_name;
    assert_int_equal(tg_builder_body(b, &body, NULL), TG_OK);
    assert_int_equal(tg_builder_build(b, &m), TG_OK);
    tg_builder_destroy(b);
    char *full = malloc(LENGTH + 20);
    snprintf(full, LENGTH + 20, "body.%s.mass", long_name);
    int offset;
    int size;
    int count;
    assert_int_equal(tg_param_find(m, full, &offset, &size, NULL), TG_OK);
    assert_int_equal(tg_param_match(m, full, NULL, 0, &count, NULL), TG_OK);
    assert_int_equal(count, 1);
    full[10] = 'y';
    tg_error error = {0};
    assert_int_equal(tg_param_find(m, full, &offset, &size, &error), TG_ERR_NAME);
    assert_true(strlen(error.message) < sizeof error.message);
    free(full);
    free(long_name);
    tg_model_destroy(m);
}

/* ---- patterns ---- */

static int matches(const tg_model *m, const char *pattern, int *index, int capacity)
{
    int count = -1;
    tg_status status = tg_param_match(m, pattern, index, capacity, &count, NULL);
    assert_int_equal(status, count > 0 ? TG_OK : TG_ERR_NAME);
    return count;
}

static void test_patterns(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_EVERYTHING);
    tg_sizes sizes = tg_model_sizes(m);
    assert_int_equal(matches(m, "*", NULL, 0), sizes.nparams);
    assert_int_equal(matches(m, "body.*.mass", NULL, 0), sizes.nbody - 1); /* not the world */
    assert_int_equal(matches(m, "body.world.m*", NULL, 0), 1);
    assert_int_equal(matches(m, "geom.*.friction[0]", NULL, 0), sizes.ngeom);
    assert_int_equal(matches(m, "geom.*.friction", NULL, 0), 3 * sizes.ngeom);
    assert_int_equal(matches(m, "geom.plate*friction[2]", NULL, 0), 1);
    assert_int_equal(matches(m, "*.friction[0]", NULL, 0), sizes.ngeom + sizes.npair);
    assert_int_equal(matches(m, "body.base.???", NULL, 0), 6); /* pos, com */
    assert_int_equal(matches(m, "g*y", NULL, 0), 3);
    assert_int_equal(matches(m, "gravity", NULL, 0), 3);
    assert_int_equal(matches(m, "gravity[1]", NULL, 0), 1);
    assert_int_equal(matches(m, "gravity[7]", NULL, 0), 0);
    assert_int_equal(matches(m, "site.#?.pos", NULL, 0), 6);
    assert_int_equal(matches(m, "**mass**", NULL, 0), sizes.nbody - 1);
    assert_int_equal(matches(m, "body.*.mas", NULL, 0), 0);
    assert_int_equal(matches(m, "", NULL, 0), 0);
    assert_int_equal(matches(m, "?", NULL, 0), 0);
    tg_model_destroy(m);
}

static void test_pattern_order_and_capacity(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_EVERYTHING);
    int all[32];
    int some[3] = {-1, -1, -1};
    int count = matches(m, "geom.*.friction", all, 32);
    assert_true(count <= 32);
    for (int i = 1; i < count; i++)
        assert_true(all[i] > all[i - 1]);
    assert_int_equal(matches(m, "geom.*.friction", some, 2), count);
    assert_true(some[0] == all[0] && some[1] == all[1] && some[2] == -1);
    tg_error error = {0};
    int n = 5;
    assert_int_equal(tg_param_match(m, "body.*.weight", NULL, 0, &n, &error), TG_ERR_NAME);
    assert_int_equal(n, 0);
    assert_non_null(strstr(error.message, "body.*.weight"));
    assert_int_equal(tg_param_match(m, "*", NULL, 3, &n, &error), TG_ERR_ARGUMENT);
    assert_int_equal(tg_param_match(m, NULL, NULL, 0, &n, &error), TG_ERR_ARGUMENT);
    assert_int_equal(tg_param_match(m, "*", NULL, 0, NULL, &error), TG_ERR_ARGUMENT);
    tg_model_destroy(m);
}

/* ---- changing ---- */

static void test_copy_is_equal(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_TWO_TREES);
    tg_params *p;
    assert_int_equal(tg_params_create(m, &p, NULL), TG_OK);
    assert_true(p->ready && m->params->ready);
#define X(type, name, count, doc) assert_memory_equal(p->name, m->params->name, (size_t)(count) * sizeof(type));
    TG_PARAMS_FIELDS(X)
#undef X
    tg_params_destroy(p);
    tg_model_destroy(m);
}

static void test_ready_and_generation(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_PENDULUM);
    tg_params *p;
    assert_int_equal(tg_params_create(m, &p, NULL), TG_OK);
    uint64_t before = p->generation;
    double *x = tg_params_data(p);
    assert_false(p->ready);
    assert_int_equal(tg_params_changed(p, NULL), TG_OK);
    assert_true(p->ready);
    assert_true(p->generation > before);
    int mass;
    assert_int_equal(tg_param_find(m, "body.pole.mass", &mass, NULL, NULL), TG_OK);
    x[mass] = -1;
    assert_int_equal(tg_params_changed(p, NULL), TG_ERR_VALUE);
    assert_false(p->ready);
    x[mass] = 1;
    assert_int_equal(tg_params_changed(p, NULL), TG_OK);
    assert_true(p->ready);
    assert_null(tg_params_data(NULL));
    assert_null(tg_params_view(NULL));
    assert_int_equal(tg_params_changed(NULL, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_params_create(NULL, &p, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_params_create(m, NULL, NULL), TG_ERR_ARGUMENT);
    tg_params_destroy(p);
    tg_model_destroy(m);
}

/* Parameters made anew often lie where others did before: what was kept for those must not be taken for theirs. */
static void test_generations_are_never_used_again(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_PENDULUM);
    uint64_t last = m->params->generation;
    for (int k = 0; k < 50; k++)
    {
        tg_params *p;
        assert_int_equal(tg_params_create(m, &p, NULL), TG_OK);
        assert_true(p->generation > last);
        last = p->generation;
        for (int change = 0; change < k % 3; change++)
        {
            tg_params_data(p);
            assert_int_equal(tg_params_changed(p, NULL), TG_OK);
            assert_true(p->generation > last);
            last = p->generation;
        }
        tg_params_destroy(p);
    }
    tg_model_destroy(m);
}

/* A change of the copy changes what is derived from it and leaves the model's own alone. */
static void test_derived_follow(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_DOUBLE_PENDULUM);
    tg_params *p;
    assert_int_equal(tg_params_create(m, &p, NULL), TG_OK);
    int joint = tg_find(m, TG_JOINT, "shoulder");
    int body = tg_find(m, TG_BODY, "hand");
    int offset;
    double *x = tg_params_data(p);
    assert_int_equal(tg_param_find(m, "joint.shoulder.axis", &offset, NULL, NULL), TG_OK);
    x[offset] = 3;
    x[offset + 1] = 0;
    x[offset + 2] = 4;
    assert_int_equal(tg_param_find(m, "joint.shoulder.ref", &offset, NULL, NULL), TG_OK);
    x[offset] = 0.125;
    assert_int_equal(tg_param_find(m, "joint.shoulder.springref", &offset, NULL, NULL), TG_OK);
    x[offset] = 0.25;
    assert_int_equal(tg_param_find(m, "joint.shoulder.damping", &offset, NULL, NULL), TG_OK);
    x[offset] = 7;
    assert_int_equal(tg_param_find(m, "joint.shoulder.armature", &offset, NULL, NULL), TG_OK);
    x[offset] = 8;
    assert_int_equal(tg_param_find(m, "body.hand.mass", &offset, NULL, NULL), TG_OK);
    x[offset] = 9;
    assert_int_equal(tg_params_changed(p, NULL), TG_OK);
    assert_close(p->joint_axis[4 * joint], 0.6, 1e-15, "axis");
    assert_close(p->joint_axis[4 * joint + 2], 0.8, 1e-15, "axis");
    assert_true(p->q0[m->joint_q[joint]] == 0.125);
    assert_true(p->q_spring[m->joint_q[joint]] == 0.25);
    assert_true(p->dof_damping[m->joint_dof[joint]] == 7);
    assert_true(p->dof_armature[m->joint_dof[joint]] == 8);
    assert_close(p->node_mass[m->body_node[body]], 9, 1e-15, "mass");
    assert_true(m->params->dof_damping[m->joint_dof[joint]] != 7);
    assert_true(m->params->node_mass[m->body_node[body]] != 9);
    tg_params_destroy(p);
    tg_model_destroy(m);
}

/* Quaternions and axes are stored as given and normalised on use. */
static void test_stored_as_given(void **state)
{
    (void)state;
    tg_builder *b;
    tg_model *m;
    assert_int_equal(tg_builder_create(NULL, &b, NULL), TG_OK);
    tg_body_def body = tg_default_body();
    body.quat[0] = 1.0005;
    body.inertial = true;
    body.mass = 1;
    body.inertia[0] = body.inertia[1] = body.inertia[2] = 1;
    int id;
    assert_int_equal(tg_builder_body(b, &body, &id), TG_OK);
    tg_joint_def joint = tg_default_joint();
    joint.body = id;
    joint.axis[2] = 3e-5;
    assert_int_equal(tg_builder_joint(b, &joint, NULL), TG_OK);
    assert_int_equal(tg_builder_build(b, &m), TG_OK);
    tg_builder_destroy(b);
    assert_true(TG_PARAM(m->params, body_quat)[4] == 1.0005);
    assert_true(TG_PARAM(m->params, joint_axis)[2] == 3e-5);
    assert_close(m->params->body_rot[12], 1, 1e-15, "rotation");
    assert_close(m->params->joint_axis[2], 1, 1e-15, "axis");
    tg_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_find_themselves),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_unknown_names),
        cmocka_unit_test(test_name_buffer),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_pattern_order_and_capacity),
        cmocka_unit_test(test_copy_is_equal),
        cmocka_unit_test(test_ready_and_generation),
        cmocka_unit_test(test_generations_are_never_used_again),
        cmocka_unit_test(test_derived_follow),
        cmocka_unit_test(test_stored_as_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
