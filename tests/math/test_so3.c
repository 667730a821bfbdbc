/* Quaternions and SO(3): identities, finite differences on the manifold, and references in long double. */
#include "math_test.h"

#include "math/so3.h"
#include "tangere/algebra.h"

static const double angles[] = {0,           1e-300,      1e-160,  1e-20,     1e-12,
                                1e-9,        1e-8,        1.1e-8,  1e-6,      1e-5,
                                1e-4,        1e-3,        1e-2,    0.1,       0.5,
                                0.999999999, 1.000000001, 1.5,     2,         3,
                                3.1,         3.1415,      3.14159, 3.1415926, 3.14159265358979};

enum
{
    ANGLES = sizeof angles / sizeof angles[0],
    ROUNDS = 200
};

static void random_quat(test_random *r, double q[4])
{
    do
        random_fill(r, q, 4);
    while (tg_quat_normalise(q, q) < 0.1);
}

static void transpose3(const double A[9], double out[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = A[3 * j + i];
}

static double norm(const double *a, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * a[i];
    return sqrt(sum);
}

static void test_products_are_those_of_matrices(void **state)
{
    (void)state;
    test_random r = {1};
    for (int n = 0; n < ROUNDS; n++)
    {
        double a[4], b[4], ab[4], A[9], B[9], AB[9], R[9], T[9], I[9], u[3], v[3], back[3];
        random_quat(&r, a);
        random_quat(&r, b);
        random_fill(&r, u, 3);
        tg_quat_multiply(a, b, ab);
        tg_quat_to_matrix(a, A);
        tg_quat_to_matrix(b, B);
        tg_quat_to_matrix(ab, R);
        product(3, A, B, AB);
        assert_close(R, AB, 9, 2e-15);
        transpose3(A, T);
        product(3, A, T, AB);
        identity(3, I);
        assert_close(AB, I, 9, 2e-15);

        double Au[3] = {A[0] * u[0] + A[1] * u[1] + A[2] * u[2], A[3] * u[0] + A[4] * u[1] + A[5] * u[2],
                        A[6] * u[0] + A[7] * u[1] + A[8] * u[2]};
        tg_quat_rotate(a, u, v);
        assert_close(v, Au, 3, 2e-15);
        tg_quat_rotate_inverse(a, v, back);
        assert_close(back, u, 3, 2e-15);

        tg_quat_conjugate(a, b);
        tg_quat_multiply(a, b, ab);
        assert_close(ab, ((double[]){1, 0, 0, 0}), 4, 1e-15);
    }
}

static void test_rotation_is_right_handed(void **state)
{
    (void)state;
    double q[4], out[3], R[9];
    double half_pi = acos(0);
    tg_quat_from_axis_angle((double[]){0, 0, 3}, half_pi, q);
    tg_quat_rotate(q, (double[]){1, 0, 0}, out);
    assert_close(out, ((double[]){0, 1, 0}), 3, 1e-15);
    tg_so3_exp((double[]){half_pi, 0, 0}, R);
    assert_close(R, ((double[]){1, 0, 0, 0, 0, -1, 0, 1, 0}), 9, 1e-15);
    tg_quat_from_axis_angle((double[]){0, 0, 0}, 1, q);
    assert_close(q, ((double[]){1, 0, 0, 0}), 4, 0);
}

static void test_normalise(void **state)
{
    (void)state;
    double q[4];
    assert_near(tg_quat_normalise((double[]){3, 0, 0, -4}, q), 5, 1e-15);
    assert_close(q, ((double[]){0.6, 0, 0, -0.8}), 4, 1e-16);
    assert_near(tg_quat_normalise((double[]){3e-300, 0, 4e-300, 0}, q) * 1e300, 5, 1e-14);
    assert_close(q, ((double[]){0.6, 0, 0.8, 0}), 4, 1e-15);
    tg_quat_normalise((double[]){3e300, 4e300, 0, 0}, q);
    assert_close(q, ((double[]){0.6, 0.8, 0, 0}), 4, 1e-15);
    assert_true(tg_quat_normalise((double[]){0, 0, 0, 0}, q) == 0);
    assert_close(q, ((double[]){1, 0, 0, 0}), 4, 0);
    assert_true(isnan(tg_quat_normalise((double[]){1, NAN, 0, 0}, q)) && isnan(q[0]));
    assert_true(isnan(tg_quat_normalise((double[]){1, 0, 0, NAN}, q)) && isnan(q[3]));
}

static void test_matrix_to_quaternion_and_back(void **state)
{
    (void)state;
    test_random r = {2};
    for (int n = 0; n < ROUNDS * ANGLES; n++)
    {
        double w[3], q[4], back[4], R[9], S[9];
        random_vector(&r, angles[n % ANGLES], w);
        if (n % 7 == 0) /* about a coordinate axis, so that each of the four branches ties */
            w[n % 3] = angles[n % ANGLES], w[(n + 1) % 3] = w[(n + 2) % 3] = 0;
        tg_quat_exp(w, q);
        tg_quat_to_matrix(q, R);
        tg_quat_from_matrix(R, back);
        assert_true(back[0] >= 0);
        assert_near(norm(back, 4), 1, 4e-16);
        tg_quat_to_matrix(back, S);
        assert_close(S, R, 9, 2e-15);
        assert_near(fabs(back[0] * q[0] + back[1] * q[1] + back[2] * q[2] + back[3] * q[3]), 1, 1e-15);
    }
}

static void check_takes(const double a[3], const double b[3])
{
    double q[4], out[3], aligned[3];
    tg_quat_from_vectors(a, b, q);
    assert_near(norm(q, 4), 1, 1e-15);
    assert_true(q[0] >= 0);
    tg_quat_rotate(q, a, out);
    for (int i = 0; i < 3; i++)
    {
        aligned[i] = b[i] / norm(b, 3);
        out[i] /= norm(a, 3);
    }
    assert_close(out, aligned, 3, 2e-15);
    /* smallest: cos of the angle is the cosine between the two */
    double cosine = (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) / (norm(a, 3) * norm(b, 3));
    assert_near(2 * q[0] * q[0] - 1, cosine, 4e-15);
}

static void test_from_two_vectors(void **state)
{
    (void)state;
    test_random r = {3};
    double q[4];
    for (int n = 0; n < 5 * ROUNDS; n++)
    {
        double a[3], b[3];
        random_vector(&r, 2, a);
        random_vector(&r, 0.5, b);
        check_takes(a, b);
        check_takes(a, a);
        double nearly = pow(10, -(n % 20));
        for (int sign = -1; sign <= 1; sign += 2)
        {
            double c[3] = {sign * a[0] + nearly * b[0], sign * a[1] + nearly * b[1], sign * a[2] + nearly * b[2]};
            check_takes(a, c);
        }
        double opposite[3] = {-a[0], -a[1], -a[2]};
        check_takes(a, opposite);
    }
    check_takes((double[]){1, 0, 0}, (double[]){-1, 0, 0});
    check_takes((double[]){0, 0, 1}, (double[]){0, 0, -1});
    tg_quat_from_vectors((double[]){0, 0, 0}, (double[]){1, 0, 0}, q);
    assert_close(q, ((double[]){1, 0, 0, 0}), 4, 0);
}

/* sin and cos of t in long double */
static void test_exp_against_long_double(void **state)
{
    (void)state;
    test_random r = {4};
    for (int n = 0; n < ROUNDS * ANGLES; n++)
    {
        double w[3], q[4], reference[4], R[9], S[9];
        random_vector(&r, angles[n % ANGLES] * (n % 3 == 0 ? 7 : 1), w);
        long double x = w[0], y = w[1], z = w[2], t = sqrtl(x * x + y * y + z * z);
        long double ratio = t > 0 ? sinl(t / 2) / t : 0.5L;
        reference[0] = (double)cosl(t / 2);
        for (int i = 0; i < 3; i++)
            reference[1 + i] = (double)(ratio * w[i]);
        tg_quat_exp(w, q);
        for (int i = 1; i < 4; i++) /* relative: small rotations keep their digits */
            assert_near(q[i], reference[i], 4e-16 * norm(reference + 1, 3) + (t > 1 ? 5e-16 * (double)t : 0));
        assert_near(q[0], reference[0], 4e-16 + (t > 1 ? 5e-16 * (double)t : 0));
        tg_so3_exp(w, R);
        tg_quat_to_matrix(q, S);
        assert_close(R, S, 9, 4e-15);
    }
}

static void test_log_inverts_exp(void **state)
{
    (void)state;
    test_random r = {5};
    for (int n = 0; n < ROUNDS * ANGLES; n++)
    {
        double angle = angles[n % ANGLES], w[3], q[4], back[3], R[9];
        random_vector(&r, angle, w);
        tg_quat_exp(w, q);
        tg_quat_log(q, back);
        assert_close(back, w, 3, 1e-15 * angle);
        for (int i = 0; i < 4; i++)
            q[i] *= -3.5; /* neither the sign nor the length matters */
        tg_quat_log(q, back);
        assert_close(back, w, 3, 2e-15 * angle);
        tg_so3_exp(w, R);
        tg_so3_log(R, back);
        assert_close(back, w, 3, angle < 1 ? 2e-15 * angle : 5e-15);
    }
}

static void test_log_at_half_a_turn(void **state)
{
    (void)state;
    double w[3], pi = acos(-1);
    tg_so3_log((double[]){1, 0, 0, 0, -1, 0, 0, 0, -1}, w);
    assert_close(w, ((double[]){pi, 0, 0}), 3, 1e-15);
    tg_so3_log((double[]){-1, 0, 0, 0, 1, 0, 0, 0, -1}, w);
    assert_close(w, ((double[]){0, pi, 0}), 3, 1e-15);
    tg_so3_log((double[]){0, 1, 0, 1, 0, 0, 0, 0, -1}, w);
    assert_close(w, ((double[]){pi / sqrt(2), pi / sqrt(2), 0}), 3, 1e-15);
    tg_quat_log((double[]){-0.0, 0, 0, 1}, w);
    assert_close(w, ((double[]){0, 0, pi}), 3, 1e-15);
    tg_quat_log((double[]){-1e-17, 0, 0, 1}, w); /* just beyond: the other way round */
    assert_close(w, ((double[]){0, 0, -pi}), 3, 1e-15);
    tg_quat_log((double[]){-1, 0, 0, 0}, w);
    assert_close(w, ((double[]){0, 0, 0}), 3, 0);
}

/* the scalars by thirty terms of their series in long double: 30 terms are exact to rounding up to s = 4 */
typedef struct long_scalars
{
    long double b, c, d, b_s, c_s, d_s;
} long_scalars;

static long_scalars reference_scalars(long double s)
{
    long_scalars f = {0};
    long double two_pi = 2 * acosl(-1.0L);
    long double factorial = 2, power = 1, power_before = 0; /* (2k+2)!, s^k, s^(k-1) */
    for (int k = 0; k < 30; k++)
    {
        long double sign = k % 2 ? -1 : 1;
        long double zeta = 0; /* zeta(2k+2), by direct summation with an integral tail */
        int m = 2 * k + 2, last = k == 0 ? 20000 : k == 1 ? 3000 : 400;
        for (int i = last; i >= 1; i--)
            zeta += powl(i, -m);
        zeta += powl(last, 1 - m) / (m - 1) - powl(last, -m) / 2 + m * powl(last, -m - 1) / 12;
        long double bernoulli = 2 * zeta * powl(two_pi, -m);
        f.b += sign * power / factorial;
        f.c += sign * power / (factorial * (m + 1));
        f.d += bernoulli * power;
        f.b_s += sign * k * power_before / factorial;
        f.c_s += sign * k * power_before / (factorial * (m + 1));
        f.d_s += bernoulli * k * power_before;
        factorial *= (long double)(m + 1) * (m + 2);
        power_before = power;
        power *= s;
    }
    return f;
}

static void test_scalars_on_both_sides_of_the_switch(void **state)
{
    (void)state;
    double below = nextafter(TG_SO3_SERIES_BELOW, 0);
    const double values[] = {0,    1e-300, 1e-16, 1e-8, 1e-4, 0.01, 0.1, 0.5, 0.9, 0.99, below, TG_SO3_SERIES_BELOW,
                             1.01, 1.1,    1.5,   2,    3,    4};
    for (size_t n = 0; n < sizeof values / sizeof values[0]; n++)
    {
        long_scalars e = reference_scalars(values[n]);
        tg_so3_scalars f;
        tg_so3_scalars_exp(values[n], &f);
        tg_so3_scalars_log(values[n], &f);
        assert_near(f.b, (double)e.b, 1.2e-16);
        assert_near(f.c, (double)e.c, 1.2e-16);
        assert_near(f.d, (double)e.d, 1.2e-16);
        assert_near(f.b_s, (double)e.b_s, 1.2e-16);
        assert_near(f.c_s, (double)e.c_s, 1.2e-16);
        assert_near(f.d_s, (double)e.d_s, 1.2e-16);
    }
}

static void test_jacobian_inverses_and_sides(void **state)
{
    (void)state;
    test_random r = {6};
    for (int n = 0; n < ROUNDS * ANGLES; n++)
    {
        double angle = angles[n % ANGLES], w[3], R[9], Jr[9], Jl[9], Jri[9], Jli[9], P[9], I[9];
        random_vector(&r, angle, w);
        tg_so3_right_jacobian(w, Jr);
        tg_so3_left_jacobian(w, Jl);
        tg_so3_right_jacobian_inverse(w, Jri);
        tg_so3_left_jacobian_inverse(w, Jli);
        identity(3, I);
        product(3, Jr, Jri, P);
        assert_close(P, I, 9, 3e-15);
        product(3, Jl, Jli, P);
        assert_close(P, I, 9, 3e-15);
        transpose3(Jr, P);
        assert_close(P, Jl, 9, 2.3e-16); /* one rounding */
        tg_so3_exp(w, R);                /* J_l = Exp(w) J_r */
        product(3, R, Jr, P);
        assert_close(P, Jl, 9, 3e-15);
    }
}

/* functions of a tangent vector x at zero, for finite differences */
typedef struct rotation_case
{
    double w[3], q0[4], q1[4], u[3];
} rotation_case;

static void exp_on_the_right(const double *x, double *f, const void *context)
{
    const rotation_case *c = context;
    double moved[3] = {c->w[0] + x[0], c->w[1] + x[1], c->w[2] + x[2]}, q0[4], q1[4];
    tg_quat_exp(c->w, q0);
    tg_quat_exp(moved, q1);
    tg_quat_difference(q0, q1, f);
}

static void integrate_over_q(const double *x, double *f, const void *context)
{
    const rotation_case *c = context;
    double q[4], from[4], to[4];
    tg_quat_integrate(c->q0, c->w, from);
    tg_quat_integrate(c->q0, x, q);
    tg_quat_integrate(q, c->w, to);
    tg_quat_difference(from, to, f);
}

static void difference_over_q0(const double *x, double *f, const void *context)
{
    const rotation_case *c = context;
    double q[4];
    tg_quat_integrate(c->q0, x, q);
    tg_quat_difference(q, c->q1, f);
}

static void difference_over_q1(const double *x, double *f, const void *context)
{
    const rotation_case *c = context;
    double q[4];
    tg_quat_integrate(c->q1, x, q);
    tg_quat_difference(c->q0, q, f);
}

static void test_derivatives_against_differences(void **state)
{
    (void)state;
    test_random r = {7};
    const double sizes[] = {0, 1e-6, 0.01, 0.5, 0.99, 1.01, 2, 2.9};
    for (int n = 0; n < 8 * 25; n++)
    {
        rotation_case c;
        double numeric[9], dq[9], dw[9], d0[9], d1[9];
        random_vector(&r, sizes[n % 8], c.w);
        random_quat(&r, c.q0);
        tg_quat_integrate(c.q0, c.w, c.q1);
        tg_quat_integrate_derivatives(c.w, dq, dw);
        tg_quat_difference_derivatives(c.q0, c.q1, d0, d1);
        richardson(exp_on_the_right, &c, 3, 3, 1e-3, numeric);
        assert_close(dw, numeric, 9, 1e-11);
        richardson(integrate_over_q, &c, 3, 3, 1e-3, numeric);
        assert_close(dq, numeric, 9, 1e-11);
        richardson(difference_over_q0, &c, 3, 3, 1e-3, numeric);
        assert_close(d0, numeric, 9, 2e-10);
        richardson(difference_over_q1, &c, 3, 3, 1e-3, numeric);
        assert_close(d1, numeric, 9, 2e-10);

        double only[9];
        tg_quat_integrate_derivatives(c.w, NULL, only);
        assert_close(only, dw, 9, 0);
        tg_quat_difference_derivatives(c.q0, c.q1, NULL, only);
        assert_close(only, d1, 9, 0);
    }
}

static void test_integrate_and_difference_are_inverse(void **state)
{
    (void)state;
    test_random r = {8};
    for (int n = 0; n < ROUNDS; n++)
    {
        double q0[4], q1[4], w[3], back[4], again[3];
        random_quat(&r, q0);
        random_quat(&r, q1);
        tg_quat_difference(q0, q1, w);
        assert_true(norm(w, 3) <= acos(-1) + 1e-15);
        tg_quat_integrate(q0, w, back);
        assert_near(fabs(back[0] * q1[0] + back[1] * q1[1] + back[2] * q1[2] + back[3] * q1[3]), 1, 1e-15);
        assert_near(norm(back, 4), 1, 4e-16);
        for (int i = 0; i < 4; i++)
            q1[i] = -q1[i];
        tg_quat_difference(q0, q1, again);
        assert_close(again, w, 3, 1e-15);
    }
}

static void rotated_over_raw(const double *x, double *f, const void *context)
{
    const rotation_case *c = context;
    double q[4] = {c->q0[0] + x[0], c->q0[1] + x[1], c->q0[2] + x[2], c->q0[3] + x[3]};
    tg_quat_normalise(q, q);
    tg_quat_rotate(q, c->u, f);
}

static void test_raw_tangent(void **state)
{
    (void)state;
    test_random r = {9};
    for (int n = 0; n < ROUNDS; n++)
    {
        rotation_case c;
        double T[12], v[3], unit[4], numeric[12], expected[12], Tq[3];
        random_quat(&r, c.q0);
        for (int i = 0; i < 4; i++)
            c.q0[i] *= 0.5 + n % 4;
        random_fill(&r, c.u, 3);
        tg_quat_raw_tangent(c.q0, T);
        tg_quat_normalise(c.q0, unit);
        tg_quat_rotate(unit, c.u, v);
        for (int j = 0; j < 4; j++) /* d(R u) = dtheta x (R u) */
        {
            double t[3] = {T[j], T[4 + j], T[8 + j]};
            expected[j] = t[1] * v[2] - t[2] * v[1];
            expected[4 + j] = t[2] * v[0] - t[0] * v[2];
            expected[8 + j] = t[0] * v[1] - t[1] * v[0];
        }
        richardson(rotated_over_raw, &c, 4, 3, 1e-3, numeric);
        assert_close(expected, numeric, 12, 1e-9);
        assert_true(norm(numeric, 12) > 0.01);
        for (int i = 0; i < 3; i++)
            Tq[i] = T[4 * i] * c.q0[0] + T[4 * i + 1] * c.q0[1] + T[4 * i + 2] * c.q0[2] + T[4 * i + 3] * c.q0[3];
        assert_close(Tq, ((double[]){0, 0, 0}), 3, 1e-15);
    }
}

static void test_outputs_may_be_inputs(void **state)
{
    (void)state;
    test_random r = {10};
    double a[4], b[4], expected[9], u[9], q[4];
    random_quat(&r, a);
    random_quat(&r, b);
    tg_quat_multiply(a, b, expected);
    memcpy(q, a, sizeof q);
    tg_quat_multiply(q, b, q);
    assert_close(q, expected, 4, 0);
    memcpy(u, b, sizeof b);
    tg_quat_rotate(a, u, expected);
    tg_quat_rotate(a, u, u);
    assert_close(u, expected, 3, 0);
    random_vector(&r, 1.2, u);
    tg_so3_right_jacobian_inverse(u, expected);
    tg_so3_right_jacobian_inverse(u, u);
    assert_close(u, expected, 9, 0);
    random_vector(&r, 1.2, u);
    tg_quat_integrate_derivatives(u, expected, NULL);
    tg_quat_integrate_derivatives(u, u, NULL);
    assert_close(u, expected, 9, 0);
    tg_quat_log(a, expected);
    tg_quat_log(a, a);
    assert_close(a, expected, 3, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_are_those_of_matrices),
        cmocka_unit_test(test_rotation_is_right_handed),
        cmocka_unit_test(test_normalise),
        cmocka_unit_test(test_matrix_to_quaternion_and_back),
        cmocka_unit_test(test_from_two_vectors),
        cmocka_unit_test(test_exp_against_long_double),
        cmocka_unit_test(test_log_inverts_exp),
        cmocka_unit_test(test_log_at_half_a_turn),
        cmocka_unit_test(test_scalars_on_both_sides_of_the_switch),
        cmocka_unit_test(test_jacobian_inverses_and_sides),
        cmocka_unit_test(test_derivatives_against_differences),
        cmocka_unit_test(test_integrate_and_difference_are_inverse),
        cmocka_unit_test(test_raw_tangent),
        cmocka_unit_test(test_outputs_may_be_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
