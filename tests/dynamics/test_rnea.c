/* Inverse dynamics: against virtual work of Newton's and Euler's forces, and its identities. */
#include "dynamics_test.h"
#include "support/reference.h"

static double against_virtual_work(dynamics_case *c)
{
    size_t nv = (size_t)c->size.nv;
    reference *r = reference_create(c->m, tg_params_view(c->params));
    double *tau = numbers(nv), *right = numbers(nv);
    check_ok(c, tg_rnea(c->m, c->w, c->q, c->v, c->a, tau));
    reference_rnea(r, c->q, c->v, c->a, right);
    double error = distance(tau, right, nv) / largest(right, nv);
    free(tau);
    free(right);
    reference_destroy(r);
    return error;
}

static void test_against_virtual_work(void **state)
{
    (void)state;
    check_models(20, false, 1e-13, against_virtual_work);
}

/* no acceleration and a zero one are the same, to the bit */
static double bias(dynamics_case *c)
{
    size_t nv = (size_t)c->size.nv;
    double *zero = numbers(nv), *left = numbers(nv), *right = numbers(nv);
    check_ok(c, tg_rnea(c->m, c->w, c->q, c->v, NULL, left));
    check_ok(c, tg_rnea(c->m, c->w, c->q, c->v, zero, right));
    double error = distance(left, right, nv);
    free(zero);
    free(left);
    free(right);
    return error;
}

static void test_bias(void **state)
{
    (void)state;
    check_models(20, false, 0, bias);
}

static double mass_matrix_and_bias(dynamics_case *c)
{
    size_t nv = (size_t)c->size.nv;
    double *M = numbers(nv * nv), *Ma = numbers(nv), *h = numbers(nv), *tau = numbers(nv);
    check_ok(c, tg_mass_matrix(c->m, c->w, c->q, M));
    check_ok(c, tg_rnea(c->m, c->w, c->q, c->v, NULL, h));
    check_ok(c, tg_rnea(c->m, c->w, c->q, c->v, c->a, tau));
    multiply_matrix(M, c->a, c->size.nv, c->size.nv, Ma);
    double scale = fmax(largest(Ma, nv), largest(h, nv));
    for (size_t k = 0; k < nv; k++)
        Ma[k] += h[k];
    double error = distance(Ma, tau, nv) / scale;
    free(M);
    free(Ma);
    free(h);
    free(tau);
    return error;
}

static void test_mass_matrix_and_bias(void **state)
{
    (void)state;
    check_models(50, false, 1e-12, mass_matrix_and_bias);
}

/* At rest, the bias holds the weight: -sum m g . dc/dq = -m_total J_com^T g. */
static double weight(dynamics_case *c)
{
    size_t nv = (size_t)c->size.nv;
    double *zero = numbers(nv), *h = numbers(nv), *J = numbers(3 * nv), *right = numbers(nv);
    reference *r = reference_create(c->m, tg_params_view(c->params));
    double mass = reference_sum(r, c->q, zero).mass;
    int gravity = 0;
    assert_int_equal(tg_param_find(c->m, "gravity", &gravity, NULL, NULL), TG_OK);
    const double *g = tg_params_view(c->params) + gravity;
    check_ok(c, tg_com(c->m, c->w, c->q, NULL, J));
    check_ok(c, tg_rnea(c->m, c->w, c->q, zero, NULL, h));
    for (size_t k = 0; k < nv; k++)
        right[k] = -mass * (J[k] * g[0] + J[nv + k] * g[1] + J[2 * nv + k] * g[2]);
    double error = distance(h, right, nv) / fmax(1, largest(right, nv));
    reference_destroy(r);
    free(zero);
    free(h);
    free(J);
    free(right);
    return error;
}

static void test_weight(void **state)
{
    (void)state;
    check_models(20, false, 1e-13, weight);
}

/* A pendulum by hand: (I + m l^2) a + m g l sin(q) for a rod that hangs down at q = 0. */
static void test_pendulum(void **state)
{
    (void)state;
    small_model s = small_begin();
    tg_body_def rod = tg_default_body();
    int body = 0;
    rod.inertial = true;
    rod.mass = 2;
    rod.com[2] = -0.5;
    rod.inertia[0] = rod.inertia[1] = 0.3;
    rod.inertia[2] = 0.1;
    small_ok(&s, tg_builder_body(s.b, &rod, &body));
    tg_joint_def joint = plain_joint(TG_JOINT_HINGE, 0, 1, 0);
    joint.armature = 0.05;
    small_joint(&s, joint, body);
    small_build(&s);
    double q = 0.7, v = 3, a = -1.5, tau = 0;
    small_ok(&s, tg_rnea(s.m, s.w, &q, &v, &a, &tau));
    double expected = (0.3 + 2 * 0.25 + 0.05) * a + 2 * 9.81 * 0.5 * sin(q);
    check_numbers(&tau, &expected, 1, 1e-14);
    small_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_virtual_work),
        cmocka_unit_test(test_bias),
        cmocka_unit_test(test_mass_matrix_and_bias),
        cmocka_unit_test(test_weight),
        cmocka_unit_test(test_pendulum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
