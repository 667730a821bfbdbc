/* Integrating and differencing configurations; random states. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/models.h"
#include "tangere/algebra.h"
#include "tangere/model.h"

enum
{
    MOST = 64, /* q, v of any test model fit */
    SEEDS = 200
};

static void assert_close(double actual, double expected, double tolerance, const char *what)
{
    if (!(fabs(actual - expected) <= tolerance * fmax(1, fabs(expected))))
        fail_msg("%s: %.17g, expected %.17g", what, actual, expected);
}

/* difference(q, integrate(q, dv)) = dv while rotations are below pi, and integrate(q0, difference(q0, q1)) = q1. */
static void test_inverse_of_each_other(void **state)
{
    (void)state;
    for (int which = 0; which < TG_TEST_MODEL_COUNT; which++)
    {
        tg_model *m = tg_test_model(which);
        tg_sizes n = tg_model_sizes(m);
        for (uint64_t seed = 0; seed < 20; seed++)
        {
            double q0[MOST];
            double q1[MOST];
            double v[MOST];
            double back[MOST];
            assert_int_equal(tg_random_state(m, seed, q0, v, NULL), TG_OK);
            for (int i = 0; i < n.nv; i++)
                v[i] *= 0.5;
            assert_int_equal(tg_integrate(m, q0, v, q1, NULL), TG_OK);
            assert_int_equal(tg_difference(m, q0, q1, back, NULL), TG_OK);
            for (int i = 0; i < n.nv; i++)
                assert_close(back[i], v[i], 1e-13, tg_test_model_name(which));
            assert_int_equal(tg_random_state(m, seed + 1000, q1, NULL, NULL), TG_OK);
            assert_int_equal(tg_difference(m, q0, q1, v, NULL), TG_OK);
            assert_int_equal(tg_integrate(m, q0, v, q0, NULL), TG_OK); /* in place */
            assert_int_equal(tg_difference(m, q0, q1, back, NULL), TG_OK);
            for (int i = 0; i < n.nv; i++)
                assert_close(back[i], 0, 1e-13, tg_test_model_name(which));
        }
        tg_model_destroy(m);
    }
}

/* free: position in the world, rotation in the body's axes; a turn about the body's x axis of a body that stands
 * turned about z. */
static void test_frames_of_a_free_joint(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_QUADRUPED);
    double q[MOST];
    double dv[MOST] = {0.1, 0.2, 0.3, 0.5};
    double expected[4];
    double turn[4];
    assert_int_equal(tg_default_q(m, q, NULL), TG_OK);
    const double start[3] = {q[0], q[1], q[2]};
    tg_quat_from_axis_angle((const double[3]){0, 0, 1}, 1.2, q + 3);
    tg_quat_from_axis_angle((const double[3]){1, 0, 0}, 0.5, turn);
    tg_quat_multiply(q + 3, turn, expected);
    assert_int_equal(tg_integrate(m, q, dv, q, NULL), TG_OK);
    for (int i = 0; i < 3; i++)
        assert_close(q[i], start[i] + dv[i], 1e-15, "position");
    for (int i = 0; i < 4; i++)
        assert_close(q[3 + i], expected[i], 1e-15, "quaternion");
    tg_model_destroy(m);
}

static void test_default_q(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_WALKER);
    double q[MOST];
    assert_int_equal(tg_default_q(m, q, NULL), TG_OK);
    assert_true(q[0] == 0 && q[1] == 1.25 && q[2] == 0);
    assert_int_equal(tg_default_q(m, NULL, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_default_q(NULL, q, NULL), TG_ERR_ARGUMENT);
    tg_model_destroy(m);
}

static void test_bad_input(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_QUADRUPED);
    double q[MOST];
    double q1[MOST];
    double v[MOST] = {0};
    assert_int_equal(tg_default_q(m, q, NULL), TG_OK);
    assert_int_equal(tg_integrate(NULL, q, v, q1, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_integrate(m, NULL, v, q1, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_integrate(m, q, NULL, q1, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_integrate(m, q, v, NULL, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_difference(m, q, q, NULL, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_random_state(m, 0, NULL, v, NULL), TG_ERR_ARGUMENT);
    for (int i = 0; i < MOST; i++)
        q1[i] = 77;
    v[3] = NAN;
    assert_int_equal(tg_integrate(m, q, v, q1, NULL), TG_ERR_VALUE);
    v[3] = 0;
    q[4] = 0.2; /* norm 1.02 */
    assert_int_equal(tg_integrate(m, q, v, q1, NULL), TG_ERR_VALUE);
    assert_int_equal(tg_difference(m, q, q, v, NULL), TG_ERR_VALUE);
    q[4] = INFINITY;
    assert_int_equal(tg_integrate(m, q, v, q1, NULL), TG_ERR_VALUE);
    for (int i = 0; i < MOST; i++)
        assert_true(q1[i] == 77); /* nothing was written */
    tg_model_destroy(m);
}

/* A model that cannot move has empty arrays, which may be NULL. */
static void test_nothing_moves(void **state)
{
    (void)state;
    tg_builder *b;
    tg_model *m;
    assert_int_equal(tg_builder_create(NULL, &b, NULL), TG_OK);
    assert_int_equal(tg_builder_build(b, &m), TG_OK);
    tg_builder_destroy(b);
    assert_int_equal(tg_default_q(m, NULL, NULL), TG_OK);
    assert_int_equal(tg_integrate(m, NULL, NULL, NULL, NULL), TG_OK);
    assert_int_equal(tg_difference(m, NULL, NULL, NULL, NULL), TG_OK);
    assert_int_equal(tg_random_state(m, 1, NULL, NULL, NULL), TG_OK);
    tg_model_destroy(m);
}

/* ---- random states ---- */

static void check_joint(const tg_model *m, int joint, const double *q)
{
    tg_joint_info info;
    char name[64];
    int offset;
    assert_int_equal(tg_joint_get(m, joint, &info, NULL), TG_OK);
    snprintf(name, sizeof name, "joint.#%d.range", joint);
    assert_int_equal(tg_param_find(m, name, &offset, NULL, NULL), TG_OK);
    const double *range = tg_params_view(tg_model_params(m)) + offset;
    const double *x = q + info.q;
    double unit[4];
    double w[3];
    switch (info.type)
    {
    case TG_JOINT_FREE:
        for (int i = 0; i < 3; i++)
            assert_true(fabs(x[i]) <= 1);
        assert_close(tg_quat_normalise(x + 3, unit), 1, 1e-14, "norm");
        break;
    case TG_JOINT_BALL:
        assert_close(tg_quat_normalise(x, unit), 1, 1e-14, "norm");
        tg_quat_log(x, w);
        if (info.limited)
            assert_true(sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) <= range[1] + 1e-12);
        break;
    default:
        if (info.limited)
            assert_true(x[0] >= range[0] && x[0] <= range[1]);
        else
            assert_true(fabs(x[0]) <= (info.type == TG_JOINT_SLIDE ? 1 : 3.1415926535897936));
    }
}

static void test_random_states_are_inside(void **state)
{
    (void)state;
    for (int which = 0; which < TG_TEST_MODEL_COUNT; which++)
    {
        tg_model *m = tg_test_model(which);
        tg_sizes n = tg_model_sizes(m);
        for (uint64_t seed = 0; seed < SEEDS; seed++)
        {
            double q[MOST];
            assert_int_equal(tg_random_state(m, seed, q, NULL, NULL), TG_OK);
            for (int joint = 0; joint < n.njoint; joint++)
                check_joint(m, joint, q);
        }
        tg_model_destroy(m);
    }
}

static void test_random_states_repeat_and_differ(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_HUMANOID);
    tg_sizes n = tg_model_sizes(m);
    double q[3][MOST];
    double v[3][MOST];
    assert_int_equal(tg_random_state(m, 5, q[0], v[0], NULL), TG_OK);
    assert_int_equal(tg_random_state(m, 5, q[1], v[1], NULL), TG_OK);
    assert_int_equal(tg_random_state(m, 6, q[2], v[2], NULL), TG_OK);
    assert_memory_equal(q[0], q[1], (size_t)n.nq * sizeof(double));
    assert_memory_equal(v[0], v[1], (size_t)n.nv * sizeof(double));
    for (int i = 0; i < n.nv; i++)
        assert_true(v[0][i] != v[2][i]);
    assert_int_equal(tg_random_state(m, 5, q[1], NULL, NULL), TG_OK); /* q does not depend on v */
    assert_memory_equal(q[0], q[1], (size_t)n.nq * sizeof(double));
    tg_model_destroy(m);
}

/* Mean 0 and variance 1 of the velocities; every octant of the sphere for the axes of unlimited balls. */
static void test_random_states_are_spread(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_BALL_CHAIN);
    tg_sizes n = tg_model_sizes(m);
    double sum = 0;
    double square = 0;
    int octants = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
    {
        double q[MOST];
        double v[MOST];
        assert_int_equal(tg_random_state(m, seed, q, v, NULL), TG_OK);
        for (int i = 0; i < n.nv; i++)
        {
            sum += v[i];
            square += v[i] * v[i];
        }
        octants |= 1 << ((q[1] > 0) + 2 * (q[2] > 0) + 4 * (q[3] > 0));
    }
    double count = (double)SEEDS * n.nv; /* 3000: five sigma are 0.09 and 0.13 */
    assert_true(fabs(sum / count) < 0.09);
    assert_true(fabs(square / count - 1) < 0.13);
    assert_int_equal(octants, 255);
    tg_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inverse_of_each_other),
        cmocka_unit_test(test_frames_of_a_free_joint),
        cmocka_unit_test(test_default_q),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_nothing_moves),
        cmocka_unit_test(test_random_states_are_inside),
        cmocka_unit_test(test_random_states_repeat_and_differ),
        cmocka_unit_test(test_random_states_are_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
