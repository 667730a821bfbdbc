/* Forward dynamics: its residual, the inverse of RNEA, known answers, and a mass matrix that cannot be inverted. */
#include "dynamics_test.h"

typedef struct balance
{
    double *M, *Ma, *bias, *passive, *a;
} balance;

static balance balance_create(size_t nv)
{
    return (balance){numbers(nv * nv), numbers(nv), numbers(nv), numbers(nv), numbers(nv)};
}

static void balance_destroy(balance *b)
{
    free(b->M);
    free(b->Ma);
    free(b->bias);
    free(b->passive);
    free(b->a);
}

/* |M a + bias - passive - tau| against the larger of |tau| and |bias| */
static double residual(dynamics_case *c)
{
    size_t nv = (size_t)c->size.nv;
    const double *tau = c->a;
    balance b = balance_create(nv);
    check_ok(c, tg_forward_dynamics(c->m, c->w, c->q, c->v, tau, b.a));
    check_ok(c, tg_mass_matrix(c->m, c->w, c->q, b.M));
    check_ok(c, tg_rnea(c->m, c->w, c->q, c->v, NULL, b.bias));
    check_ok(c, tg_passive(c->m, c->w, c->q, c->v, b.passive));
    multiply_matrix(b.M, b.a, c->size.nv, c->size.nv, b.Ma);
    double error = 0;
    for (size_t k = 0; k < nv; k++)
        error = worse(error, fabs(b.Ma[k] + b.bias[k] - b.passive[k] - tau[k]));
    error /= fmax(largest(tau, nv), largest(b.bias, nv));
    balance_destroy(&b);
    return error;
}

static void test_residual(void **state)
{
    (void)state;
    check_models(100, false, 1e-11, residual);
}

static void test_residual_of_own_parameters(void **state)
{
    (void)state;
    check_models(100, true, 1e-11, residual);
}

/* RNEA(a) - passive gives a back. The error is that of M a, so that the conditioning of M does not count. */
static double inverse_of_rnea(dynamics_case *c)
{
    size_t nv = (size_t)c->size.nv;
    balance b = balance_create(nv);
    double *tau = numbers(nv);
    check_ok(c, tg_rnea(c->m, c->w, c->q, c->v, c->a, tau));
    check_ok(c, tg_passive(c->m, c->w, c->q, c->v, b.passive));
    double scale = largest(tau, nv);
    for (size_t k = 0; k < nv; k++)
        tau[k] -= b.passive[k];
    check_ok(c, tg_forward_dynamics(c->m, c->w, c->q, c->v, tau, b.a));
    check_ok(c, tg_mass_matrix(c->m, c->w, c->q, b.M));
    for (size_t k = 0; k < nv; k++)
        b.a[k] -= c->a[k];
    multiply_matrix(b.M, b.a, c->size.nv, c->size.nv, b.Ma);
    double error = largest(b.Ma, nv) / fmax(scale, largest(tau, nv));
    free(tau);
    balance_destroy(&b);
    return error;
}

static void test_inverse_of_rnea(void **state)
{
    (void)state;
    check_models(50, false, 1e-12, inverse_of_rnea);
}

/* no force and a zero force are the same to the bit; a may be written over tau */
static double without_force(dynamics_case *c)
{
    size_t nv = (size_t)c->size.nv;
    double *left = numbers(nv), *right = numbers(nv);
    check_ok(c, tg_forward_dynamics(c->m, c->w, c->q, c->v, NULL, left));
    check_ok(c, tg_forward_dynamics(c->m, c->w, c->q, c->v, right, right));
    double error = distance(left, right, nv);
    free(left);
    free(right);
    return error;
}

static void test_without_force(void **state)
{
    (void)state;
    check_models(10, false, 0, without_force);
}

/* A free body falls with g whatever its mass, and turns by Euler's equation I w' = -w x I w. */
static void test_free_fall(void **state)
{
    (void)state;
    small_model s = small_begin();
    tg_body_def stone = tg_default_body();
    int body = 0;
    stone.inertial = true;
    stone.mass = 3;
    stone.inertia[0] = 1;
    stone.inertia[1] = 2;
    stone.inertia[2] = 2.5;
    small_ok(&s, tg_builder_body(s.b, &stone, &body));
    small_joint(&s, plain_joint(TG_JOINT_FREE, 0, 0, 1), body);
    small_build(&s);
    const double q[7] = {1, 2, 3, 0.5, 0.5, -0.5, 0.5}, v[6] = {4, 5, 6, 0.3, -0.7, 1.1};
    const double expected[6] = {
        0, 0, -9.81, (2 - 2.5) / 1 * v[4] * v[5], (2.5 - 1) / 2 * v[5] * v[3], (1 - 2) / 2.5 * v[3] * v[4]};
    double a[6];
    small_ok(&s, tg_forward_dynamics(s.m, s.w, q, v, NULL, a));
    check_numbers(a, expected, 6, 1e-14);
    small_end(&s);
}

/* ---- two hinges about the same axis: each has its inertia, together they have one too few ---- */

static small_model coaxial_hinges(void)
{
    small_model s = small_begin();
    tg_body_def def = tg_default_body();
    int body = 0;
    def.inertial = true;
    def.mass = 1;
    def.com[0] = 1;
    small_ok(&s, tg_builder_body(s.b, &def, &body));
    tg_joint_def joint = plain_joint(TG_JOINT_HINGE, 0, 0, 1);
    joint.name = "first";
    small_joint(&s, joint, body);
    joint.name = "second";
    small_joint(&s, joint, body);
    small_build(&s);
    return s;
}

static void expect_singular(small_model *s, tg_status status, const double *out, const double *pattern, size_t n)
{
    assert_int_equal(status, TG_ERR_NUMERIC);
    assert_non_null(strstr(tg_work_message(s->w), "first"));
    assert_memory_equal(out, pattern, sizeof(double) * n);
}

static void test_singular_mass_matrix(void **state)
{
    (void)state;
    small_model s = coaxial_hinges();
    tg_sizes size = tg_model_sizes(s.m);
    size_t n = (size_t)size.nparams * 2;
    double *out = numbers(n), *pattern = numbers(n);
    memset(out, 0x5a, sizeof(double) * n);
    memset(pattern, 0x5a, sizeof(double) * n);
    const double q[2] = {0, 0}, v[2] = {1, 2}, tau[2] = {0.5, -0.5}, y[2] = {1, 1};
    const int index[1] = {0};
    expect_singular(&s, tg_forward_dynamics(s.m, s.w, q, v, tau, out), out, pattern, n);
    expect_singular(&s, tg_forward_dynamics_derivatives(s.m, s.w, q, v, tau, out, out + 4, out + 8), out, pattern, n);
    expect_singular(&s, tg_forward_dynamics_vjp(s.m, s.w, q, v, tau, y, out, out + 2, out + 4, NULL), out, pattern, n);
    expect_singular(&s, tg_forward_dynamics_vjp(s.m, s.w, q, v, tau, y, NULL, NULL, NULL, out), out, pattern, n);
    expect_singular(&s, tg_forward_dynamics_param_derivatives(s.m, s.w, q, v, tau, index, 1, out), out, pattern, n);
    small_ok(&s, tg_mass_matrix(s.m, s.w, q, out)); /* which is as it is */
    const double ones[4] = {1, 1, 1, 1};
    check_numbers(out, ones, 4, 0);
    free(out);
    free(pattern);
    small_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_residual),        cmocka_unit_test(test_residual_of_own_parameters),
        cmocka_unit_test(test_inverse_of_rnea), cmocka_unit_test(test_without_force),
        cmocka_unit_test(test_free_fall),       cmocka_unit_test(test_singular_mass_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
