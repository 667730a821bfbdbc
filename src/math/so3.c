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

#include "math/factorials.h"
#include "tangere/algebra.h"

enum
{
    W,
    X,
    Y,
    Z
};

/* entries of a matrix by rows */
enum
{
    XX,
    XY,
    XZ,
    YX,
    YY,
    YZ,
    ZX,
    ZY,
    ZZ
};

/* ---- vectors ---- */

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

static void set_quat(quat4 q, double w, double x, double y, double z)
{
    q[W] = w;
    q[X] = x;
    q[Y] = y;
    q[Z] = z;
}

static void negate_quat(quat4 q)
{
    set_quat(q, -q[W], -q[X], -q[Y], -q[Z]);
}

/* ---- scalars ---- */

enum
{
    TERMS = TG_FACTORIALS / 2 - 1
};

/* p = sum c_k s^k, c_k every `step`-th number, and its derivative by s */
static inline void series(const double *c, int step, double s, double *p, double *p_s)
{
    double value = c[step * (TERMS - 1)], slope = 0;
    for (int k = TERMS - 2; k >= 0; k--)
    {
        slope = slope * s + value;
        value = value * s + c[step * k];
    }
    *p = value;
    *p_s = slope;
}

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
        /* b = sum (-s)^k / (2k+2)!, c = sum (-s)^k / (2k+3)! */
        series(tg_inverse_factorial + 2, 2, -s, &f->b, &f->b_s);
        series(tg_inverse_factorial + 3, 2, -s, &f->c, &f->c_s);
        f->b_s = -f->b_s;
        f->c_s = -f->c_s;
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
        series(series_d, 1, s, &f->d, &f->d_s);
        return;
    }
    double half = sqrt(s) / 2;
    double sine = sin(half);
    double cot = cos(half) / sine;
    f->d = (1 - half * cot) / s;
    f->d_s = ((1 / (sine * sine) - cot / half) / 8 - f->d) / s;
}

/* ---- quaternions ---- */

void tg_quat_multiply(const quat4 a, const quat4 b, quat4 out)
{
    double w = a[W] * b[W] - a[X] * b[X] - a[Y] * b[Y] - a[Z] * b[Z];
    double x = a[W] * b[X] + a[X] * b[W] + a[Y] * b[Z] - a[Z] * b[Y];
    double y = a[W] * b[Y] - a[X] * b[Z] + a[Y] * b[W] + a[Z] * b[X];
    double z = a[W] * b[Z] + a[X] * b[Y] - a[Y] * b[X] + a[Z] * b[W];
    set_quat(out, w, x, y, z);
}

void tg_quat_conjugate(const quat4 q, quat4 out)
{
    set_quat(out, q[W], -q[X], -q[Y], -q[Z]);
}

/* What is unit to rounding stays as it is, so that normalising twice is the same as once. */
double tg_quat_normalise(const quat4 q, quat4 out)
{
    quat4 given = {q[W], q[X], q[Y], q[Z]};
    double length = normalise(q, QUAT, out);
    if (length == 0)
        out[W] = 1;
    if (fabs(length - 1) <= 1e-15)
        set_quat(out, given[W], given[X], given[Y], given[Z]);
    return length;
}

/* u + 2 v x (v x u + w u) */
void tg_quat_rotate(const quat4 q, const vec3 u, vec3 out)
{
    vec3 twice, again;
    vec3_cross(q + X, u, twice);
    vec3_scale(2, twice, twice);
    vec3_cross(q + X, twice, again);
    for (int i = 0; i < DIM; i++)
        out[i] = u[i] + q[W] * twice[i] + again[i];
}

void tg_quat_rotate_inverse(const quat4 q, const vec3 u, vec3 out)
{
    quat4 inverse;
    tg_quat_conjugate(q, inverse);
    tg_quat_rotate(inverse, u, out);
}

void tg_quat_to_matrix(const quat4 q, mat33 R)
{
    double w = q[W], x = q[X], y = q[Y], z = q[Z];
    R[XX] = 1 - 2 * (y * y + z * z);
    R[XY] = 2 * (x * y - w * z);
    R[XZ] = 2 * (x * z + w * y);
    R[YX] = 2 * (x * y + w * z);
    R[YY] = 1 - 2 * (x * x + z * z);
    R[YZ] = 2 * (y * z - w * x);
    R[ZX] = 2 * (x * z - w * y);
    R[ZY] = 2 * (y * z + w * x);
    R[ZZ] = 1 - 2 * (x * x + y * y);
}

/* Of 4 w^2, 4 x^2, 4 y^2, 4 z^2 the largest is at least 1: start from it and read the others from sums and
 * differences of the off-diagonal entries, which are products with it. */
void tg_quat_from_matrix(const mat33 R, quat4 q)
{
    quat4 raw;
    double trace = R[XX] + R[YY] + R[ZZ];
    if (trace >= R[XX] && trace >= R[YY] && trace >= R[ZZ])
        set_quat(raw, 1 + trace, R[ZY] - R[YZ], R[XZ] - R[ZX], R[YX] - R[XY]);
    else if (R[XX] >= R[YY] && R[XX] >= R[ZZ])
        set_quat(raw, R[ZY] - R[YZ], 1 + R[XX] - R[YY] - R[ZZ], R[XY] + R[YX], R[XZ] + R[ZX]);
    else if (R[YY] >= R[ZZ])
        set_quat(raw, R[XZ] - R[ZX], R[XY] + R[YX], 1 + R[YY] - R[XX] - R[ZZ], R[YZ] + R[ZY]);
    else
        set_quat(raw, R[YX] - R[XY], R[XZ] + R[ZX], R[YZ] + R[ZY], 1 + R[ZZ] - R[XX] - R[YY]);
    if (raw[W] < 0)
        negate_quat(raw);
    tg_quat_normalise(raw, q);
}

void tg_quat_from_axis_angle(const vec3 axis, double angle, quat4 q)
{
    vec3 unit;
    if (normalise(axis, DIM, unit) == 0)
    {
        set_quat(q, 1, 0, 0, 0);
        return;
    }
    double sine = sin(angle / 2);
    set_quat(q, cos(angle / 2), sine * unit[0], sine * unit[1], sine * unit[2]);
}

/* Between unit vectors at most a right angle apart: (1 + a.b, a x b) normalised. */
static void between_near(const vec3 a, const vec3 b, quat4 q)
{
    quat4 raw = {1 + vec3_dot(a, b)};
    vec3_cross(a, b, raw + X);
    tg_quat_normalise(raw, q);
}

/* A unit vector perpendicular to the unit vector a, along hint unless hint is rounding error only. */
static void perpendicular(const vec3 a, const vec3 hint, vec3 out)
{
    vec3 u;
    if (normalise(hint, DIM, u) < 1e-14)
    {
        int k = fabs(a[0]) <= fabs(a[1]) && fabs(a[0]) <= fabs(a[2]) ? 0 : fabs(a[1]) <= fabs(a[2]) ? 1 : 2;
        for (int i = 0; i < DIM; i++)
            u[i] = i == k;
    }
    vec3_axpy(-vec3_dot(a, u), a, u);
    normalise(u, DIM, out);
}

/* Beyond a right angle: first half a turn about an axis u perpendicular to a, which gives -a, then from -a to b. */
void tg_quat_from_vectors(const vec3 a, const vec3 b, quat4 q)
{
    vec3 from, to, axis, opposite;
    if (normalise(a, DIM, from) == 0 || normalise(b, DIM, to) == 0)
    {
        set_quat(q, 1, 0, 0, 0);
        return;
    }
    if (vec3_dot(from, to) >= 0)
    {
        between_near(from, to, q);
        return;
    }
    quat4 half_turn = {0}, rest;
    vec3_cross(from, to, axis);
    perpendicular(from, axis, half_turn + X);
    vec3_scale(-1, from, opposite);
    between_near(opposite, to, rest);
    tg_quat_multiply(rest, half_turn, q);
    if (q[W] < 0)
        negate_quat(q);
}

void tg_quat_exp(const vec3 w, quat4 q)
{
    double t = sqrt(vec3_dot(w, w));
    double ratio = t > 0 ? sin(t / 2) / t : 0.5;
    set_quat(q, cos(t / 2), ratio * w[0], ratio * w[1], ratio * w[2]);
}

void tg_quat_log(const quat4 q, vec3 w)
{
    double sign = q[W] < 0 ? -1 : 1;
    double cosine = sign * q[W];
    double sine = sqrt(vec3_dot(q + X, q + X));
    /* 2 atan(x) / x = 2 to rounding for x = sine / cosine below 1e-8 */
    double ratio = sine > 1e-8 * cosine ? 2 * atan2(sine, cosine) / sine : 2 / cosine;
    vec3_scale(sign * ratio, q + X, w);
}

void tg_quat_integrate(const quat4 q, const vec3 w, quat4 out)
{
    quat4 step, moved;
    tg_quat_exp(w, step);
    tg_quat_multiply(q, step, moved);
    tg_quat_normalise(moved, out);
}

void tg_quat_difference(const quat4 q0, const quat4 q1, vec3 w)
{
    quat4 inverse, relative;
    tg_quat_conjugate(q0, inverse);
    tg_quat_multiply(inverse, q1, relative);
    tg_quat_log(relative, w);
}

/* q Exp(dq) Exp(w + dw) = q Exp(w) Exp(Exp(w)^T dq) Exp(J_r dw) */
void tg_quat_integrate_derivatives(const vec3 w, mat33 dq, mat33 dw)
{
    vec3 copy, back;
    vec3_copy(w, copy);
    vec3_scale(-1, w, back);
    if (dq != NULL)
        tg_so3_exp(back, dq);
    if (dw != NULL)
        tg_so3_right_jacobian(copy, dw);
}

/* Log(Exp(-d0) Exp(w) Exp(d1)) = w - J_l^-1 d0 + J_r^-1 d1 */
void tg_quat_difference_derivatives(const quat4 q0, const quat4 q1, mat33 d0, mat33 d1)
{
    vec3 w;
    tg_quat_difference(q0, q1, w);
    if (d0 != NULL)
    {
        tg_so3_left_jacobian_inverse(w, d0);
        for (int i = 0; i < DIM * DIM; i++)
            d0[i] = -d0[i];
    }
    if (d1 != NULL)
        tg_so3_right_jacobian_inverse(w, d1);
}

/* dtheta = 2 vec(dn conj(n)) with n = q/|q| and dn = (I - n n^T) dq/|q|. The part of dq along q drops out by itself,
 * vec(n conj(n)) = 0, so dtheta = 2 vec(dq conj(q)) / |q|^2. */
void tg_quat_raw_tangent(const quat4 q, double T[DIM * QUAT])
{
    quat4 n;
    double scale = 2 / tg_quat_normalise(q, n);
    double w = scale * n[W], x = scale * n[X], y = scale * n[Y], z = scale * n[Z];
    set_quat(T, -x, w, -z, y);
    set_quat(T + QUAT, -y, z, w, -x);
    set_quat(T + 2 * QUAT, -z, -y, x, w);
}

/* ---- SO(3) ---- */

/* out = I + first [w] + second [w]^2, with [w]^2 = w w^T - |w|^2 I */
static void second_order(const vec3 w, double first, double second, mat33 out)
{
    double x = w[0], y = w[1], z = w[2];
    out[XX] = 1 - second * (y * y + z * z);
    out[XY] = second * x * y - first * z;
    out[XZ] = second * x * z + first * y;
    out[YX] = second * x * y + first * z;
    out[YY] = 1 - second * (x * x + z * z);
    out[YZ] = second * y * z - first * x;
    out[ZX] = second * x * z - first * y;
    out[ZY] = second * y * z + first * x;
    out[ZZ] = 1 - second * (x * x + y * y);
}

/* Rodrigues: R = I + (sin t / t) K + b K^2 */
void tg_so3_exp(const vec3 w, mat33 R)
{
    double t = sqrt(vec3_dot(w, w));
    double sinc = t > 0 ? sin(t) / t : 1;
    double half = t > 0 ? sin(t / 2) / t : 0.5;
    second_order(w, sinc, 2 * half * half, R);
}

void tg_so3_log(const mat33 R, vec3 w)
{
    quat4 q;
    tg_quat_from_matrix(R, q);
    tg_quat_log(q, w);
}

void tg_so3_right_jacobian(const vec3 w, mat33 J)
{
    tg_so3_scalars f;
    tg_so3_scalars_exp(vec3_dot(w, w), &f);
    second_order(w, -f.b, f.c, J);
}

void tg_so3_left_jacobian(const vec3 w, mat33 J)
{
    tg_so3_scalars f;
    tg_so3_scalars_exp(vec3_dot(w, w), &f);
    second_order(w, f.b, f.c, J);
}

void tg_so3_right_jacobian_inverse(const vec3 w, mat33 J)
{
    tg_so3_scalars f;
    tg_so3_scalars_log(vec3_dot(w, w), &f);
    second_order(w, 0.5, f.d, J);
}

void tg_so3_left_jacobian_inverse(const vec3 w, mat33 J)
{
    tg_so3_scalars f;
    tg_so3_scalars_log(vec3_dot(w, w), &f);
    second_order(w, -0.5, f.d, J);
}
