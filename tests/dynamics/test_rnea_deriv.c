/* Derivatives of inverse dynamics: matrices against finite differences, reverse mode against matrices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/derivative_check.h"

static void dq(dynamics_case *c, double *J)
{
    assert_int_equal(tg_rnea_derivatives(c->m, c->w, c->q, c->v, c->a, J, NULL, NULL), TG_OK);
}

static void dv(dynamics_case *c, double *J)
{
    assert_int_equal(tg_rnea_derivatives(c->m, c->w, c->q, c->v, c->a, NULL, J, NULL), TG_OK);
}

static void da(dynamics_case *c, double *J)
{
    assert_int_equal(tg_rnea_derivatives(c->m, c->w, c->q, c->v, c->a, NULL, NULL, J), TG_OK);
}

static void gq(dynamics_case *c, double *g)
{
    assert_int_equal(tg_rnea_vjp(c->m, c->w, c->q, c->v, c->a, c->y, g, NULL, NULL, NULL), TG_OK);
}

static void gv(dynamics_case *c, double *g)
{
    assert_int_equal(tg_rnea_vjp(c->m, c->w, c->q, c->v, c->a, c->y, NULL, g, NULL, NULL), TG_OK);
}

static void ga(dynamics_case *c, double *g)
{
    assert_int_equal(tg_rnea_vjp(c->m, c->w, c->q, c->v, c->a, c->y, NULL, NULL, g, NULL), TG_OK);
}

static void gparams(dynamics_case *c, double *g)
{
    assert_int_equal(tg_rnea_vjp(c->m, c->w, c->q, c->v, c->a, c->y, NULL, NULL, NULL, g), TG_OK);
}

static void columns(dynamics_case *c, const int *index, int n, double *J)
{
    assert_int_equal(tg_rnea_param_derivatives(c->m, c->w, c->q, c->v, c->a, index, n, J), TG_OK);
}

static void test_q_against_differences(void **state)
{
    (void)state;
    check_matrix(CASE_RNEA, INPUT_Q, dq);
}

static void test_v_against_differences(void **state)
{
    (void)state;
    check_matrix(CASE_RNEA, INPUT_V, dv);
}

static void test_a_against_differences(void **state)
{
    (void)state;
    check_matrix(CASE_RNEA, INPUT_A, da);
}

static void test_q_reverse(void **state)
{
    (void)state;
    check_gradient(CASE_RNEA, INPUT_Q, dq, gq);
}

static void test_v_reverse(void **state)
{
    (void)state;
    check_gradient(CASE_RNEA, INPUT_V, dv, gv);
}

static void test_a_reverse(void **state)
{
    (void)state;
    check_gradient(CASE_RNEA, INPUT_A, da, ga);
}

static void test_parameters_against_differences(void **state)
{
    (void)state;
    static const char *const kinds[] = {
        "body.*.pos", "body.*.quat",    "joint.*.pos",      "joint.*.axis", "joint.*.ref", "body.*.mass",
        "body.*.com", "body.*.inertia", "joint.*.armature", "gravity",      NULL,
    };
    check_parameters(CASE_RNEA, gparams, kinds);
}

static void test_parameter_columns(void **state)
{
    (void)state;
    check_parameter_columns(CASE_RNEA, columns, gparams);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_q_against_differences),
        cmocka_unit_test(test_v_against_differences),
        cmocka_unit_test(test_a_against_differences),
        cmocka_unit_test(test_q_reverse),
        cmocka_unit_test(test_v_reverse),
        cmocka_unit_test(test_a_reverse),
        cmocka_unit_test(test_parameters_against_differences),
        cmocka_unit_test(test_parameter_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
