/* Quaternions and SO(3).
 *
 * Exp(w) = cos(t/2) + sin(t/2) w/t,  Log(q) = 2 atan2(|v|, w) v/|v|: the logarithm of a matrix goes through the
 * quaternion, whose vector part carries the axis at half a turn, where the skew part of the matrix vanishes.
 *
 * Series and closed forms of the scalars b, c, d (so3.h) change over at |w| = 1: the closed forms lose about eps/t^2
 * (values) and eps/t^4 (derivatives) to cancellation, a few units in the last place of 1 there, and eleven terms of the
 * series are exact to rounding up to there (terms fall by 1/(2k)! for b and c, by 1/(4 pi^2) for d). */
#include "math/so3.h"

#include <math.h>
#include <stddef.h>

#include "tangere/algebra.h"

/* ---- vectors of three ---- */

static void cross3(const double a[3], const double b[3], double out[3])
{
    double x = a[1] * b[2] - a[2] * b[1];
    double y = a[2] * b[0] - a[0] * b[2];
    double z = a[0] * b[1] - a[1] * b[0];
    out[0] = x;
    out[1] = y;
    out[2] = z;
}

/* out = a / |a|; returns |a|, and 0 leaves out zero. The largest entry is divided out first: squares stay in range. */
static double normalise(const double *a, int n, double *out)
{
    double largest = 0;
    for (int i = 0; i < n; i++)
        largest = fabs(a[i]) > largest || isnan(a[i]) ? fabs(a[i]) : largest;
    if (largest == 0)
    {
        for (int i = 0; i < n; i++)
            out[i] = 0;
        return 0;
    }
    double sum = 0;
    for (int i = 0; i < n; i++)
    {
        out[i] = a[i] / largest;
        sum += out[i] * out[i];
    }
    double length = sqrt(sum);
    for (int i = 0; i < n; i++)
        out[i] /= length;
    return length * largest;
}

static void set_quat(double q[4], double w, double x, double y, double z)
{
    q[0] = w;
    q[1] = x;
    q[2] = y;
    q[3] = z;
}

/* ---- scalars ---- */

enum
{
    TERMS = 11
};

/* p = sum c_k s^k and its derivative by s */
static void series(const double c[TERMS], double s, double *p, double *p_s)
{
    double value = c[TERMS - 1], slope = 0;
    for (int k = TERMS - 2; k >= 0; k--)
    {
        slope = slope * s + value;
        value = value * s + c[k];
    }
    *p = value;
    *p_s = slope;
}

/* (-1)^k / (2k+2)! */
static const double series_b[TERMS] = {
    1.0 / 2,
    -1.0 / 24,
    1.0 / 720,
    -1.0 / 40320,
    1.0 / 3628800,
    -1.0 / 479001600,
    1.0 / 87178291200,
    -1.0 / 20922789888000,
    1.0 / 6402373705728000,
    -1.0 / 2432902008176640000,
    1.0 / 1.12400072777760768e21,
};

/* (-1)^k / (2k+3)! */
static const double series_c[TERMS] = {
    1.0 / 6,
    -1.0 / 120,
    1.0 / 5040,
    -1.0 / 362880,
    1.0 / 39916800,
    -1.0 / 6227020800,
    1.0 / 1307674368000,
    -1.0 / 355687428096000,
    1.0 / 121645100408832000,
    -1.0 / 5.109094217170944e19,
    1.0 / 2.585201673888497664e22,
};

/* |B_{2k+2}| / (2k+2)!, Bernoulli numbers: 1 - x cot x = sum |B_{2n}| (2x)^{2n} / (2n)! */
static const double series_d[TERMS] = {
    1.0 / 12,
    1.0 / 720,
    1.0 / 30240,
    1.0 / 1209600,
    1.0 / 47900160,
    691 / 1307674368000.0,
    1.0 / 74724249600,
    3617 / 10670622842880000.0,
    43867 / 5109094217170944000.0,
    174611 / 8.028576626982912e20,
    77683 / 1.410110003939180544e22,
};

void tg_so3_scalars_exp(double s, tg_so3_scalars *f)
{
    if (s < TG_SO3_SERIES_BELOW)
    {
        series(series_b, s, &f->b, &f->b_s);
        series(series_c, s, &f->c, &f->c_s);
        return;
    }
    double t = sqrt(s);
    double a = sin(t) / t;
    double sinc_half = sin(t / 2) / t;
    f->b = 2 * sinc_half * sinc_half;
    f->c = (1 - a) / s;
    f->b_s = (a / 2 - f->b) / s;
    f->c_s = (f->b - 3 * f->c) / (2 * s);
}

void tg_so3_scalars_log(double s, tg_so3_scalars *f)
{
    if (s < TG_SO3_SERIES_BELOW)
    {
        series(series_d, s, &f->d, &f->d_s);
        return;
    }
    double half = sqrt(s) / 2;
    double sine = sin(half);
    double cot = cos(half) / sine;
    f->d = (1 - half * cot) / s;
    f->d_s = ((1 / (sine * sine) - cot / half) / 8 - f->d) / s;
}

/* ---- quaternions ---- */

void tg_quat_multiply(const double a[4], const double b[4], double out[4])
{
    double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
    set_quat(out, w, x, y, z);
}

void tg_quat_conjugate(const double q[4], double out[4])
{
    set_quat(out, q[0], -q[1], -q[2], -q[3]);
}

/* What is unit to rounding stays as it is, so that normalising twice is the same as once. */
double tg_quat_normalise(const double q[4], double out[4])
{
    double given[4] = {q[0], q[1], q[2], q[3]};
    double length = normalise(q, 4, out);
    if (length == 0)
        out[0] = 1;
    if (fabs(length - 1) <= 1e-15)
        set_quat(out, given[0], given[1], given[2], given[3]);
    return length;
}

/* u + 2 v x (v x u + w u) */
void tg_quat_rotate(const double q[4], const double u[3], double out[3])
{
    double w = q[0], twice[3], again[3];
    cross3(q + 1, u, twice);
    for (int i = 0; i < 3; i++)
        twice[i] *= 2;
    cross3(q + 1, twice, again);
    for (int i = 0; i < 3; i++)
        out[i] = u[i] + w * twice[i] + again[i];
}

void tg_quat_rotate_inverse(const double q[4], const double u[3], double out[3])
{
    double inverse[4];
    tg_quat_conjugate(q, inverse);
    tg_quat_rotate(inverse, u, out);
}

void tg_quat_to_matrix(const double q[4], double R[9])
{
    double w = q[0], x = q[1], y = q[2], z = q[3];
    R[0] = 1 - 2 * (y * y + z * z);
    R[1] = 2 * (x * y - w * z);
    R[2] = 2 * (x * z + w * y);
    R[3] = 2 * (x * y + w * z);
    R[4] = 1 - 2 * (x * x + z * z);
    R[5] = 2 * (y * z - w * x);
    R[6] = 2 * (x * z - w * y);
    R[7] = 2 * (y * z + w * x);
    R[8] = 1 - 2 * (x * x + y * y);
}

/* Of 4 w^2, 4 x^2, 4 y^2, 4 z^2 the largest is at least 1: start from it and read the others from sums and
 * differences of the off-diagonal entries, which are products with it. */
void tg_quat_from_matrix(const double R[9], double q[4])
{
    double raw[4];
    double trace = R[0] + R[4] + R[8];
    if (trace >= R[0] && trace >= R[4] && trace >= R[8])
        set_quat(raw, 1 + trace, R[7] - R[5], R[2] - R[6], R[3] - R[1]);
    else if (R[0] >= R[4] && R[0] >= R[8])
        set_quat(raw, R[7] - R[5], 1 + R[0] - R[4] - R[8], R[1] + R[3], R[2] + R[6]);
    else if (R[4] >= R[8])
        set_quat(raw, R[2] - R[6], R[1] + R[3], 1 + R[4] - R[0] - R[8], R[5] + R[7]);
    else
        set_quat(raw, R[3] - R[1], R[2] + R[6], R[5] + R[7], 1 + R[8] - R[0] - R[4]);
    if (raw[0] < 0)
        set_quat(raw, -raw[0], -raw[1], -raw[2], -raw[3]);
    tg_quat_normalise(raw, q);
}

void tg_quat_from_axis_angle(const double axis[3], double angle, double q[4])
{
    double unit[3];
    if (normalise(axis, 3, unit) == 0)
    {
        set_quat(q, 1, 0, 0, 0);
        return;
    }
    double sine = sin(angle / 2);
    set_quat(q, cos(angle / 2), sine * unit[0], sine * unit[1], sine * unit[2]);
}

/* Between unit vectors at most a right angle apart: (1 + a.b, a x b) normalised. */
static void between_near(const double a[3], const double b[3], double q[4])
{
    double raw[4] = {1 + tg_dot3(a, b), 0, 0, 0};
    cross3(a, b, raw + 1);
    tg_quat_normalise(raw, q);
}

/* A unit vector perpendicular to the unit vector a, along hint unless hint is rounding error only. */
static void perpendicular(const double a[3], const double hint[3], double out[3])
{
    double u[3];
    if (normalise(hint, 3, u) < 1e-14)
    {
        int k = fabs(a[0]) <= fabs(a[1]) && fabs(a[0]) <= fabs(a[2]) ? 0 : fabs(a[1]) <= fabs(a[2]) ? 1 : 2;
        for (int i = 0; i < 3; i++)
            u[i] = i == k;
    }
    double along = tg_dot3(a, u);
    for (int i = 0; i < 3; i++)
        u[i] -= along * a[i];
    normalise(u, 3, out);
}

/* Beyond a right angle: first half a turn about an axis u perpendicular to a, which gives -a, then from -a to b. */
void tg_quat_from_vectors(const double a[3], const double b[3], double q[4])
{
    double from[3], to[3];
    if (normalise(a, 3, from) == 0 || normalise(b, 3, to) == 0)
    {
        set_quat(q, 1, 0, 0, 0);
        return;
    }
    if (tg_dot3(from, to) >= 0)
    {
        between_near(from, to, q);
        return;
    }
    double axis[3], half_turn[4] = {0, 0, 0, 0}, rest[4];
    cross3(from, to, axis);
    perpendicular(from, axis, half_turn + 1);
    double opposite[3] = {-from[0], -from[1], -from[2]};
    between_near(opposite, to, rest);
    tg_quat_multiply(rest, half_turn, q);
    if (q[0] < 0)
        set_quat(q, -q[0], -q[1], -q[2], -q[3]);
}

void tg_quat_exp(const double w[3], double q[4])
{
    double t = sqrt(tg_dot3(w, w));
    double ratio = t > 0 ? sin(t / 2) / t : 0.5;
    set_quat(q, cos(t / 2), ratio * w[0], ratio * w[1], ratio * w[2]);
}

void tg_quat_log(const double q[4], double w[3])
{
    double sign = q[0] < 0 ? -1 : 1;
    double cosine = sign * q[0];
    double sine = sqrt(tg_dot3(q + 1, q + 1));
    /* 2 atan(x) / x = 2 to rounding for x = sine / cosine below 1e-8 */
    double ratio = sine > 1e-8 * cosine ? 2 * atan2(sine, cosine) / sine : 2 / cosine;
    for (int i = 0; i < 3; i++)
        w[i] = sign * ratio * q[1 + i];
}

void tg_quat_integrate(const double q[4], const double w[3], double out[4])
{
    double step[4], moved[4];
    tg_quat_exp(w, step);
    tg_quat_multiply(q, step, moved);
    tg_quat_normalise(moved, out);
}

void tg_quat_difference(const double q0[4], const double q1[4], double w[3])
{
    double inverse[4], relative[4];
    tg_quat_conjugate(q0, inverse);
    tg_quat_multiply(inverse, q1, relative);
    tg_quat_log(relative, w);
}

/* q Exp(dq) Exp(w + dw) = q Exp(w) Exp(Exp(w)^T dq) Exp(J_r dw) */
void tg_quat_integrate_derivatives(const double w[3], double dq[9], double dw[9])
{
    double copy[3] = {w[0], w[1], w[2]};
    double back[3] = {-w[0], -w[1], -w[2]};
    if (dq != NULL)
        tg_so3_exp(back, dq);
    if (dw != NULL)
        tg_so3_right_jacobian(copy, dw);
}

/* Log(Exp(-d0) Exp(w) Exp(d1)) = w - J_l^-1 d0 + J_r^-1 d1 */
void tg_quat_difference_derivatives(const double q0[4], const double q1[4], double d0[9], double d1[9])
{
    double w[3];
    tg_quat_difference(q0, q1, w);
    if (d0 != NULL)
    {
        tg_so3_left_jacobian_inverse(w, d0);
        for (int i = 0; i < 9; i++)
            d0[i] = -d0[i];
    }
    if (d1 != NULL)
        tg_so3_right_jacobian_inverse(w, d1);
}

/* dtheta = 2 vec(dn conj(n)) with n = q/|q| and dn = (I - n n^T) dq/|q|. The part of dq along q drops out by itself,
 * vec(n conj(n)) = 0, so dtheta = 2 vec(dq conj(q)) / |q|^2. */
void tg_quat_raw_tangent(const double q[4], double T[12])
{
    double n[4];
    double scale = 2 / tg_quat_normalise(q, n);
    double w = scale * n[0], x = scale * n[1], y = scale * n[2], z = scale * n[3];
    const double rows[12] = {-x, w, -z, y, -y, z, w, -x, -z, -y, x, w};
    for (int i = 0; i < 12; i++)
        T[i] = rows[i];
}

/* ---- SO(3) ---- */

/* out = I + first [w] + second [w]^2, with [w]^2 = w w^T - |w|^2 I */
static void second_order(const double w[3], double first, double second, double out[9])
{
    double x = w[0], y = w[1], z = w[2];
    out[0] = 1 - second * (y * y + z * z);
    out[1] = second * x * y - first * z;
    out[2] = second * x * z + first * y;
    out[3] = second * x * y + first * z;
    out[4] = 1 - second * (x * x + z * z);
    out[5] = second * y * z - first * x;
    out[6] = second * x * z - first * y;
    out[7] = second * y * z + first * x;
    out[8] = 1 - second * (x * x + y * y);
}

/* Rodrigues: R = I + (sin t / t) K + b K^2 */
void tg_so3_exp(const double w[3], double R[9])
{
    double t = sqrt(tg_dot3(w, w));
    double sinc = t > 0 ? sin(t) / t : 1;
    double half = t > 0 ? sin(t / 2) / t : 0.5;
    second_order(w, sinc, 2 * half * half, R);
}

void tg_so3_log(const double R[9], double w[3])
{
    double q[4];
    tg_quat_from_matrix(R, q);
    tg_quat_log(q, w);
}

void tg_so3_right_jacobian(const double w[3], double J[9])
{
    tg_so3_scalars f;
    tg_so3_scalars_exp(tg_dot3(w, w), &f);
    second_order(w, -f.b, f.c, J);
}

void tg_so3_left_jacobian(const double w[3], double J[9])
{
    tg_so3_scalars f;
    tg_so3_scalars_exp(tg_dot3(w, w), &f);
    second_order(w, f.b, f.c, J);
}

void tg_so3_right_jacobian_inverse(const double w[3], double J[9])
{
    tg_so3_scalars f;
    tg_so3_scalars_log(tg_dot3(w, w), &f);
    second_order(w, 0.5, f.d, J);
}

void tg_so3_left_jacobian_inverse(const double w[3], double J[9])
{
    tg_so3_scalars f;
    tg_so3_scalars_log(tg_dot3(w, w), &f);
    second_order(w, -0.5, f.d, J);
}
