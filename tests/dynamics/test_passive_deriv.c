/* Derivatives of springs, dampers and tendons: matrices against finite differences, reverse mode against matrices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/derivative_check.h"

static void dq(dynamics_case *c, double *J)
{
    assert_int_equal(tg_passive_derivatives(c->m, c->w, c->q, c->v, J, NULL), TG_OK);
}

static void dv(dynamics_case *c, double *J)
{
    assert_int_equal(tg_passive_derivatives(c->m, c->w, c->q, c->v, NULL, J), TG_OK);
}

static void gq(dynamics_case *c, double *g)
{
    assert_int_equal(tg_passive_vjp(c->m, c->w, c->q, c->v, c->y, g, NULL, NULL), TG_OK);
}

static void gv(dynamics_case *c, double *g)
{
    assert_int_equal(tg_passive_vjp(c->m, c->w, c->q, c->v, c->y, NULL, g, NULL), TG_OK);
}

static void gparams(dynamics_case *c, double *g)
{
    assert_int_equal(tg_passive_vjp(c->m, c->w, c->q, c->v, c->y, NULL, NULL, g), TG_OK);
}

static void columns(dynamics_case *c, const int *index, int n, double *J)
{
    assert_int_equal(tg_passive_param_derivatives(c->m, c->w, c->q, c->v, index, n, J), TG_OK);
}

static void test_q_against_differences(void **state)
{
    (void)state;
    check_matrix(CASE_PASSIVE, INPUT_Q, dq);
}

static void test_v_against_differences(void **state)
{
    (void)state;
    check_matrix(CASE_PASSIVE, INPUT_V, dv);
}

static void test_q_reverse(void **state)
{
    (void)state;
    check_gradient(CASE_PASSIVE, INPUT_Q, dq, gq);
}

static void test_v_reverse(void **state)
{
    (void)state;
    check_gradient(CASE_PASSIVE, INPUT_V, dv, gv);
}

static void test_parameters_against_differences(void **state)
{
    (void)state;
    static const char *const kinds[] = {
        "joint.*.stiffness",
        "joint.*.damping",
        "joint.*.springref",
        "tendon.*.stiffness",
        "tendon.*.damping",
        "tendon.*.rest",
        "tendon.*.coef",
        "site.*.pos",
        "body.*.pos",
        "body.*.quat",
        "joint.*.pos",
        "joint.*.axis",
        NULL,
    };
    check_parameters(CASE_PASSIVE, gparams, kinds);
}

static void test_parameter_columns(void **state)
{
    (void)state;
    check_parameter_columns(CASE_PASSIVE, columns, gparams);
}

/* A spring without a band in which it is slack goes through its rest length with its stiffness: d(-k c^2 q)/dq = -k c^2
 * there, too. */
static void test_tendon_at_its_rest_length(void **state)
{
    (void)state;
    const char *text = "<mujoco><worldbody><body><joint name='j'/><geom size='0.1'/></body></worldbody>"
                       "<tendon><fixed stiffness='3'><joint joint='j' coef='2'/></fixed></tendon></mujoco>";
    tg_load_options options = tg_default_load_options();
    tg_model *m = NULL;
    tg_work *w = NULL;
    assert_int_equal(tg_load_string(text, strlen(text), NULL, &options, &m, NULL), TG_OK);
    assert_int_equal(tg_work_create(m, &w, NULL), TG_OK);
    for (double q = -1e-3; q < 2e-3; q += 1e-3)
    {
        double v = 0, y = 1, J = 0, g = 0;
        assert_int_equal(tg_passive_derivatives(m, w, &q, &v, &J, NULL), TG_OK);
        assert_int_equal(tg_passive_vjp(m, w, &q, &v, &y, &g, NULL, NULL), TG_OK);
        assert_true(J == -12 && g == -12);
    }
    tg_work_destroy(w);
    tg_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_q_against_differences),
        cmocka_unit_test(test_v_against_differences),
        cmocka_unit_test(test_q_reverse),
        cmocka_unit_test(test_v_reverse),
        cmocka_unit_test(test_parameters_against_differences),
        cmocka_unit_test(test_parameter_columns),
        cmocka_unit_test(test_tendon_at_its_rest_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
