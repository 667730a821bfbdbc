/* The mass matrix: against the sum of the bodies' inertias, symmetric, positive definite, zero between branches. */
#include "dynamics_test.h"
#include "support/reference.h"
#include "tangere/algebra.h"

/* M += J^T I J for one body, with J at its centre of mass in body axes */
static void add_body(const dynamics_case *c, const reference *r, int body, double *J, double *M)
{
    int nv = c->size.nv;
    double mass = *reference_param(r, TG_BODY, body, "mass");
    const double *s = reference_param(r, TG_BODY, body, "inertia");
    const double full[3][3] = {{s[0], s[3], s[4]}, {s[3], s[1], s[5]}, {s[4], s[5], s[2]}};
    check_ok(c, tg_body_jacobian(c->m, c->w, body, reference_param(r, TG_BODY, body, "com"), TG_FRAME_LOCAL, J));
    for (int i = 0; i < nv; i++)
        for (int j = 0; j < nv; j++)
            for (int a = 0; a < 3; a++)
            {
                M[i * nv + j] += mass * J[a * nv + i] * J[a * nv + j];
                for (int b = 0; b < 3; b++)
                    M[i * nv + j] += J[(3 + a) * nv + i] * full[a][b] * J[(3 + b) * nv + j];
            }
}

static double against_bodies(dynamics_case *c)
{
    static const int dofs[TG_JOINT_TYPE_COUNT] = {6, 3, 1, 1};
    int nv = c->size.nv;
    size_t n = (size_t)nv * (size_t)nv;
    reference *r = reference_create(c->m, tg_params_view(c->params));
    double *M = numbers(n), *right = numbers(n), *J = numbers(6 * (size_t)nv);
    memset(M, 0xff, sizeof(double) * n);
    check_ok(c, tg_mass_matrix(c->m, c->w, c->q, M));
    for (int i = 1; i < c->size.nbody; i++)
        add_body(c, r, i, J, right);
    for (int j = 0; j < c->size.njoint; j++)
    {
        tg_joint_info info;
        assert_int_equal(tg_joint_get(c->m, j, &info, NULL), TG_OK);
        for (int k = info.dof; k < info.dof + dofs[info.type]; k++)
            right[k * nv + k] += *reference_param(r, TG_JOINT, j, "armature");
    }
    double error = distance(M, right, n) / largest(right, n);
    free(M);
    free(right);
    free(J);
    reference_destroy(r);
    return error;
}

static void test_against_bodies(void **state)
{
    (void)state;
    check_models(20, false, 1e-13, against_bodies);
}

/* column k = RNEA with a unit acceleration and no velocity, less the bias */
static double columns(dynamics_case *c)
{
    size_t nv = (size_t)c->size.nv;
    double *M = numbers(nv * nv), *unit = numbers(nv), *zero = numbers(nv), *h = numbers(nv), *tau = numbers(nv),
           worst = 0;
    check_ok(c, tg_mass_matrix(c->m, c->w, c->q, M));
    check_ok(c, tg_rnea(c->m, c->w, c->q, zero, NULL, h));
    double scale = fmax(largest(M, nv * nv), largest(h, nv));
    for (size_t k = 0; k < nv; k++)
    {
        unit[k] = 1;
        check_ok(c, tg_rnea(c->m, c->w, c->q, zero, unit, tau));
        unit[k] = 0;
        for (size_t i = 0; i < nv; i++)
            worst = worse(worst, fabs(tau[i] - h[i] - M[i * nv + k]) / scale);
    }
    free(M);
    free(unit);
    free(zero);
    free(h);
    free(tau);
    return worst;
}

static void test_columns_are_rnea(void **state)
{
    (void)state;
    check_models(10, false, 1e-13, columns);
}

/* Cholesky in place; false where a pivot is not positive */
static bool positive_definite(double *A, int n)
{
    for (int j = 0; j < n; j++)
    {
        for (int i = j; i < n; i++)
            for (int k = 0; k < j; k++)
                A[i * n + j] -= A[i * n + k] * A[j * n + k];
        if (!(A[j * n + j] > 0))
            return false;
        double root = sqrt(A[j * n + j]);
        for (int i = j; i < n; i++)
            A[i * n + j] /= root;
    }
    return true;
}

static int definite_states;

static double symmetric_and_definite(dynamics_case *c)
{
    int nv = c->size.nv;
    double *M = numbers((size_t)nv * (size_t)nv), asymmetry = 0;
    check_ok(c, tg_mass_matrix(c->m, c->w, c->q, M));
    for (int i = 0; i < nv; i++)
        for (int j = 0; j < i; j++)
            asymmetry = worse(asymmetry, fabs(M[i * nv + j] - M[j * nv + i]));
    definite_states += positive_definite(M, nv);
    free(M);
    return asymmetry;
}

/* with the models' own parameters, some of which have no armature */
static void test_symmetric_positive_definite(void **state)
{
    (void)state;
    definite_states = 0;
    check_models(1000, true, 0, symmetric_and_definite);
    print_message("  positive definite in %d states\n", definite_states);
    assert_int_equal(definite_states, 1000 * TG_TEST_MODEL_COUNT);
    assert_true(definite_states >= 10000);
}

/* dofs of bodies of which neither is above the other do not feel each other: exact zeros */
static bool above(const tg_model *m, int upper, int lower)
{
    for (int i = lower; i > 0;)
    {
        if (i == upper)
            return true;
        tg_body_info info;
        assert_int_equal(tg_body_get(m, i, &info, NULL), TG_OK);
        i = info.parent;
    }
    return false;
}

static double zeros(dynamics_case *c)
{
    int nv = c->size.nv;
    double *M = numbers((size_t)nv * (size_t)nv), worst = 0;
    check_ok(c, tg_mass_matrix(c->m, c->w, c->q, M));
    for (int i = 1; i < c->size.nbody; i++)
        for (int j = 1; j < i; j++)
        {
            tg_body_info a, b;
            assert_int_equal(tg_body_get(c->m, i, &a, NULL), TG_OK);
            assert_int_equal(tg_body_get(c->m, j, &b, NULL), TG_OK);
            if (above(c->m, i, j) || above(c->m, j, i))
                continue;
            for (int k = a.dof; k < a.dof + a.ndof; k++)
                worst = worse(worst, largest(M + k * nv + b.dof, (size_t)b.ndof));
        }
    free(M);
    return worst;
}

static void test_zeros_between_branches(void **state)
{
    (void)state;
    check_models(2, false, 0, zeros);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_bodies),
        cmocka_unit_test(test_columns_are_rnea),
        cmocka_unit_test(test_symmetric_positive_definite),
        cmocka_unit_test(test_zeros_between_branches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
