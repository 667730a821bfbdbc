/* SE(3): group identities, exponential against a series of the 4 x 4 matrix in long double, Jacobians against
 * differences. */
#include "math_test.h"

#include "tangere/algebra.h"

static const double angles[] = {0, 1e-20, 1e-9, 1e-6, 1e-3, 0.1, 0.7, 0.999999, 1.000001, 2, 3, 3.1415};

enum
{
    ANGLES = sizeof angles / sizeof angles[0],
    ROUNDS = 100
};

static void random_twist(test_random *r, double angle, double xi[6])
{
    random_fill(r, xi, 3);
    random_vector(r, angle, xi + 3);
}

static void random_pose(test_random *r, double T[7])
{
    random_fill(r, T, 7);
    tg_quat_normalise(T + 3, T + 3);
}

/* the same pose, whatever the sign of its quaternion */
static void check_same_pose(const double a[7], const double b[7], double tolerance)
{
    double Ra[9], Rb[9];
    assert_close(a, b, 3, tolerance);
    tg_quat_to_matrix(a + 3, Ra);
    tg_quat_to_matrix(b + 3, Rb);
    assert_close(Ra, Rb, 9, tolerance);
}

static void test_group(void **state)
{
    (void)state;
    test_random r = {1};
    for (int n = 0; n < ROUNDS; n++)
    {
        double a[7], b[7], c[7], ab[7], bc[7], left[7], right[7], inverse[7], u[3], v[3], w[3];
        random_pose(&r, a);
        random_pose(&r, b);
        random_pose(&r, c);
        random_fill(&r, u, 3);
        tg_se3_multiply(a, b, ab);
        tg_se3_multiply(b, c, bc);
        tg_se3_multiply(ab, c, left);
        tg_se3_multiply(a, bc, right);
        check_same_pose(left, right, 4e-15);
        tg_se3_transform(b, u, v);
        tg_se3_transform(a, v, v);
        tg_se3_transform(ab, u, w);
        assert_close(v, w, 3, 4e-15);
        tg_se3_inverse(a, inverse);
        tg_se3_multiply(a, inverse, inverse);
        check_same_pose(inverse, (double[]){0, 0, 0, 1, 0, 0, 0}, 2e-15);
    }
}

/* exp of [ [phi], rho ; 0, 0 ] by its power series: 60 terms are enough for an angle of pi */
static void matrix_exponential(const double xi[6], long double E[16])
{
    const long double A[16] = {0, -xi[5], xi[4], xi[0], xi[5], 0, -xi[3], xi[1], -xi[4], xi[3], 0, xi[2], 0, 0, 0, 0};
    long double term[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    memcpy(E, term, sizeof term);
    for (int k = 1; k < 60; k++)
    {
        long double next[16] = {0};
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                for (int m = 0; m < 4; m++)
                    next[4 * i + j] += term[4 * i + m] * A[4 * m + j] / k;
        memcpy(term, next, sizeof term);
        for (int i = 0; i < 16; i++)
            E[i] += term[i];
    }
}

static void test_exp_against_long_double(void **state)
{
    (void)state;
    test_random r = {2};
    for (int n = 0; n < ANGLES * ROUNDS; n++)
    {
        double xi[6], T[7], R[9];
        long double E[16];
        random_twist(&r, angles[n % ANGLES], xi);
        tg_se3_exp(xi, T);
        tg_quat_to_matrix(T + 3, R);
        matrix_exponential(xi, E);
        for (int i = 0; i < 3; i++)
        {
            assert_near(T[i], (double)E[4 * i + 3], 1e-15);
            for (int j = 0; j < 3; j++)
                assert_near(R[3 * i + j], (double)E[4 * i + j], 2e-15);
        }
    }
}

static void test_log_inverts_exp(void **state)
{
    (void)state;
    test_random r = {3};
    for (int n = 0; n < ANGLES * ROUNDS; n++)
    {
        double xi[6], T[7], back[6];
        random_twist(&r, angles[n % ANGLES], xi);
        tg_se3_exp(xi, T);
        tg_se3_log(T, back);
        assert_close(back, xi, 6, 4e-15);
    }
}

static void test_adjoint(void **state)
{
    (void)state;
    test_random r = {4};
    for (int n = 0; n < ROUNDS; n++)
    {
        double T[7], xi[6], moved[6] = {0}, Ad[36], Adi[36], P[36], I[36], a[7], b[7], inverse[7];
        random_pose(&r, T);
        random_twist(&r, 0.8, xi);
        tg_se3_adjoint(T, Ad);
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++)
                moved[i] += Ad[6 * i + j] * xi[j];
        tg_se3_inverse(T, inverse); /* T Exp(xi) T^-1 = Exp(Ad xi) */
        tg_se3_exp(xi, a);
        tg_se3_multiply(T, a, a);
        tg_se3_multiply(a, inverse, a);
        tg_se3_exp(moved, b);
        check_same_pose(a, b, 6e-15);
        tg_se3_adjoint(inverse, Adi);
        product(6, Ad, Adi, P);
        identity(6, I);
        assert_close(P, I, 36, 4e-15);
    }
}

typedef struct twist_case
{
    double xi[6];
} twist_case;

static void exp_on_the_right(const double *x, double *f, const void *context)
{
    const twist_case *c = context;
    double moved[6], T0[7], T1[7];
    for (int i = 0; i < 6; i++)
        moved[i] = c->xi[i] + x[i];
    tg_se3_exp(c->xi, T0);
    tg_se3_exp(moved, T1);
    tg_se3_inverse(T0, T0);
    tg_se3_multiply(T0, T1, T1);
    tg_se3_log(T1, f);
}

static void test_right_jacobian_against_differences(void **state)
{
    (void)state;
    test_random r = {5};
    for (int n = 0; n < ANGLES * 20; n++)
    {
        twist_case c;
        double J[36], numeric[36];
        random_twist(&r, angles[n % ANGLES], c.xi);
        tg_se3_right_jacobian(c.xi, J);
        richardson(exp_on_the_right, &c, 6, 6, 1e-3, numeric);
        assert_close(J, numeric, 36, 1e-11);
    }
}

static void test_right_jacobian_inverse(void **state)
{
    (void)state;
    test_random r = {6};
    for (int n = 0; n < ANGLES * ROUNDS; n++)
    {
        double xi[6], J[36], Ji[36], P[36], I[36];
        random_twist(&r, angles[n % ANGLES], xi);
        tg_se3_right_jacobian(xi, J);
        tg_se3_right_jacobian_inverse(xi, Ji);
        product(6, J, Ji, P);
        identity(6, I);
        assert_close(P, I, 36, 4e-15);
    }
}

/* J_r = sum (-ad)^k / (k+1)!, in long double */
static void test_right_jacobian_against_long_double(void **state)
{
    (void)state;
    test_random r = {7};
    for (int n = 0; n < ANGLES * ROUNDS; n++)
    {
        double xi[6], J[36];
        long double ad[36] = {0}, term[36] = {0}, sum[36];
        random_twist(&r, angles[n % ANGLES], xi);
        for (int block = 0; block < 3; block++) /* [phi] twice on the diagonal, [rho] above */
        {
            const double *w = block == 2 ? xi : xi + 3;
            int row = block == 1 ? 3 : 0, column = block == 0 ? 0 : 3;
            const long double K[9] = {0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0};
            for (int i = 0; i < 9; i++)
                ad[6 * (row + i / 3) + column + i % 3] = K[i];
        }
        for (int i = 0; i < 6; i++)
            term[7 * i] = 1;
        memcpy(sum, term, sizeof sum);
        for (int k = 1; k < 60; k++)
        {
            long double next[36] = {0};
            for (int i = 0; i < 6; i++)
                for (int j = 0; j < 6; j++)
                    for (int m = 0; m < 6; m++)
                        next[6 * i + j] -= term[6 * i + m] * ad[6 * m + j] / (k + 1);
            memcpy(term, next, sizeof term);
            for (int i = 0; i < 36; i++)
                sum[i] += term[i];
        }
        tg_se3_right_jacobian(xi, J);
        for (int i = 0; i < 36; i++)
            assert_near(J[i], (double)sum[i], 1e-15);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group),
        cmocka_unit_test(test_exp_against_long_double),
        cmocka_unit_test(test_log_inverts_exp),
        cmocka_unit_test(test_adjoint),
        cmocka_unit_test(test_right_jacobian_against_differences),
        cmocka_unit_test(test_right_jacobian_inverse),
        cmocka_unit_test(test_right_jacobian_against_long_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
