/* Derivatives of the actuators: matrices against finite differences, reverse mode against matrices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/derivative_check.h"

static void dq(dynamics_case *c, double *J)
{
    assert_int_equal(tg_actuation_derivatives(c->m, c->w, c->q, c->v, c->act, c->u, J, NULL, NULL, NULL, NULL, NULL),
                     TG_OK);
}

static void dv(dynamics_case *c, double *J)
{
    assert_int_equal(tg_actuation_derivatives(c->m, c->w, c->q, c->v, c->act, c->u, NULL, J, NULL, NULL, NULL, NULL),
                     TG_OK);
}

static void dact(dynamics_case *c, double *J)
{
    assert_int_equal(tg_actuation_derivatives(c->m, c->w, c->q, c->v, c->act, c->u, NULL, NULL, J, NULL, NULL, NULL),
                     TG_OK);
}

static void du(dynamics_case *c, double *J)
{
    assert_int_equal(tg_actuation_derivatives(c->m, c->w, c->q, c->v, c->act, c->u, NULL, NULL, NULL, J, NULL, NULL),
                     TG_OK);
}

static void gq(dynamics_case *c, double *g)
{
    assert_int_equal(tg_actuation_vjp(c->m, c->w, c->q, c->v, c->act, c->u, c->y, NULL, g, NULL, NULL, NULL, NULL),
                     TG_OK);
}

static void gv(dynamics_case *c, double *g)
{
    assert_int_equal(tg_actuation_vjp(c->m, c->w, c->q, c->v, c->act, c->u, c->y, NULL, NULL, g, NULL, NULL, NULL),
                     TG_OK);
}

static void gact(dynamics_case *c, double *g)
{
    assert_int_equal(tg_actuation_vjp(c->m, c->w, c->q, c->v, c->act, c->u, c->y, NULL, NULL, NULL, g, NULL, NULL),
                     TG_OK);
}

static void gu(dynamics_case *c, double *g)
{
    assert_int_equal(tg_actuation_vjp(c->m, c->w, c->q, c->v, c->act, c->u, c->y, NULL, NULL, NULL, NULL, g, NULL),
                     TG_OK);
}

static void gparams(dynamics_case *c, double *g)
{
    assert_int_equal(tg_actuation_vjp(c->m, c->w, c->q, c->v, c->act, c->u, c->y, NULL, NULL, NULL, NULL, NULL, g),
                     TG_OK);
}

static void columns(dynamics_case *c, const int *index, int n, double *J)
{
    assert_int_equal(tg_actuation_param_derivatives(c->m, c->w, c->q, c->v, c->act, c->u, index, n, J), TG_OK);
}

static void test_q_against_differences(void **state)
{
    (void)state;
    check_matrix(CASE_ACTUATION, INPUT_Q, dq);
}

static void test_v_against_differences(void **state)
{
    (void)state;
    check_matrix(CASE_ACTUATION, INPUT_V, dv);
}

static void test_act_against_differences(void **state)
{
    (void)state;
    check_matrix(CASE_ACTUATION, INPUT_ACT, dact);
}

static void test_u_against_differences(void **state)
{
    (void)state;
    check_matrix(CASE_ACTUATION, INPUT_U, du);
}

static void test_q_reverse(void **state)
{
    (void)state;
    check_gradient(CASE_ACTUATION, INPUT_Q, dq, gq);
}

static void test_v_reverse(void **state)
{
    (void)state;
    check_gradient(CASE_ACTUATION, INPUT_V, dv, gv);
}

static void test_act_reverse(void **state)
{
    (void)state;
    check_gradient(CASE_ACTUATION, INPUT_ACT, dact, gact);
}

static void test_u_reverse(void **state)
{
    (void)state;
    check_gradient(CASE_ACTUATION, INPUT_U, du, gu);
}

static void test_parameters_against_differences(void **state)
{
    (void)state;
    static const char *const kinds[] = {
        "actuator.*.gear",       "actuator.*.gain",
        "actuator.*.bias",       "actuator.*.tau",
        "actuator.*.ctrl_range", "actuator.*.force_range",
        "actuator.*.act_range",  "joint.*.force_range",
        "tendon.*.coef",         "site.*.pos",
        "site.*.quat",           "body.*.pos",
        "body.*.quat",           "joint.*.pos",
        "joint.*.axis",          NULL,
    };
    check_parameters(CASE_ACTUATION, gparams, kinds);
}

static void test_parameter_columns(void **state)
{
    (void)state;
    check_parameter_columns(CASE_ACTUATION, columns, gparams);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_q_against_differences),
        cmocka_unit_test(test_v_against_differences),
        cmocka_unit_test(test_act_against_differences),
        cmocka_unit_test(test_u_against_differences),
        cmocka_unit_test(test_q_reverse),
        cmocka_unit_test(test_v_reverse),
        cmocka_unit_test(test_act_reverse),
        cmocka_unit_test(test_u_reverse),
        cmocka_unit_test(test_parameters_against_differences),
        cmocka_unit_test(test_parameter_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
