/* Spatial algebra on v4: twists and wrenches (linear; angular), 3x3 matrices by columns, rigid-body inertias.
 *
 * World axes; the origin is the position of the first moving body of the kinematic tree, so that numbers stay small far
 * from the world's origin (docs/dynamics.md). The last lane of a 3-vector is zero. Featherstone, Rigid Body Dynamics
 * Algorithms (2008), chapter 2. */
#ifndef TG_MATH_SPATIAL_H
#define TG_MATH_SPATIAL_H

#include "base/simd.h"
#include "math/vec3.h"

/* a twist (velocity of the point at the origin; angular velocity) or a wrench (force; moment about the origin) */
typedef struct spatial
{
    v4 lin, ang;
} spatial;

/* columns of a 3x3 matrix */
typedef struct mat3
{
    v4 c[DIM];
} mat3;

/* rigid-body inertia about the origin: hm = (m c; m), I = Ic + m (c^2 1 - c c^T) */
typedef struct inertia
{
    v4 hm;
    mat3 I;
} inertia;

enum
{
    SPATIAL_SIZE = 2 * V4_LANES,         /* doubles in memory: lin, 0, ang, 0 */
    MAT3_SIZE = DIM * V4_LANES,          /* three columns, each padded to a v4 */
    INERTIA_SIZE = V4_LANES + MAT3_SIZE, /* hm, then I by columns */
};

/* ---- memory; all 32-byte aligned ---- */

static inline spatial spatial_load(const double *p)
{
    return (spatial){v4_load(p), v4_load(p + V4_LANES)};
}

static inline void spatial_store(double *p, spatial a)
{
    v4_store(p, a.lin);
    v4_store(p + V4_LANES, a.ang);
}

static inline mat3 mat3_load(const double *p)
{
    return (mat3){{v4_load(p), v4_load(p + V4_LANES), v4_load(p + 2 * V4_LANES)}};
}

static inline void mat3_store(double *p, mat3 a)
{
    v4_store(p, a.c[0]);
    v4_store(p + V4_LANES, a.c[1]);
    v4_store(p + 2 * V4_LANES, a.c[2]);
}

static inline inertia inertia_load(const double *p)
{
    return (inertia){v4_load(p), mat3_load(p + V4_LANES)};
}

static inline void inertia_store(double *p, inertia a)
{
    v4_store(p, a.hm);
    mat3_store(p + V4_LANES, a.I);
}

/* ---- 3x3 matrices ---- */

static inline v4 mat3_mul(mat3 A, v4 x)
{
    return A.c[0] * v4_splat(x[0]) + A.c[1] * v4_splat(x[1]) + A.c[2] * v4_splat(x[2]);
}

/* A x with x in memory, where a broadcast is a load */
static inline v4 mat3_mul_mem(mat3 A, const double *x)
{
    return A.c[0] * v4_splat(x[0]) + A.c[1] * v4_splat(x[1]) + A.c[2] * v4_splat(x[2]);
}

static inline v4 mat3_mul_t(mat3 A, v4 x) /* A^T x */
{
    return v4_sum3(A.c[0] * x, A.c[1] * x, A.c[2] * x);
}

static inline mat3 mat3_product(mat3 A, mat3 B)
{
    return (mat3){{mat3_mul(A, B.c[0]), mat3_mul(A, B.c[1]), mat3_mul(A, B.c[2])}};
}

static inline mat3 mat3_add(mat3 A, mat3 B)
{
    return (mat3){{A.c[0] + B.c[0], A.c[1] + B.c[1], A.c[2] + B.c[2]}};
}

static inline mat3 mat3_transpose(mat3 A)
{
    v4 pad = v4_zero();
    v4_transpose(&A.c[0], &A.c[1], &A.c[2], &pad);
    return A;
}

static inline mat3 mat3_identity(void)
{
    return (mat3){{v4_set(1, 0, 0, 0), v4_set(0, 1, 0, 0), v4_set(0, 0, 1, 0)}};
}

/* s A, A by rows in memory */
static inline mat3 mat3_from_rows(double s, const mat33 A)
{
    const double *x = A, *y = A + DIM, *z = A + 2 * DIM;
    mat3 out;
    for (int j = 0; j < DIM; j++)
        out.c[j] = v4_set(s * x[j], s * y[j], s * z[j], 0);
    return out;
}

/* unit vector i */
static inline v4 v4_unit_vector(int i)
{
    return mat3_identity().c[i];
}

/* rotation of a quaternion w x y z, normalised on the fly: R = 1 + 2/|q|^2 (w [u]x + [u]x^2) */
static inline mat3 mat3_from_quat(const double *q)
{
    double w = q[0], x = q[1], y = q[2], z = q[QUAT - 1];
    double s = 2 / (w * w + x * x + y * y + z * z);
    double xx = s * x * x, yy = s * y * y, zz = s * z * z;
    double xy = s * x * y, xz = s * x * z, yz = s * y * z;
    double wx = s * w * x, wy = s * w * y, wz = s * w * z;
    return (mat3){{v4_set(1 - yy - zz, xy + wz, xz - wy, 0), v4_set(xy - wz, 1 - xx - zz, yz + wx, 0),
                   v4_set(xz + wy, yz - wx, 1 - xx - yy, 0)}};
}

/* ---- twists and wrenches ---- */

static inline spatial spatial_zero(void)
{
    return (spatial){v4_zero(), v4_zero()};
}

static inline spatial spatial_add(spatial a, spatial b)
{
    return (spatial){a.lin + b.lin, a.ang + b.ang};
}

static inline spatial spatial_sub(spatial a, spatial b)
{
    return (spatial){a.lin - b.lin, a.ang - b.ang};
}

static inline spatial spatial_scale(spatial a, double s)
{
    return (spatial){a.lin * v4_splat(s), a.ang * v4_splat(s)};
}

/* a + s b */
static inline spatial spatial_axpy(spatial a, double s, spatial b)
{
    return (spatial){a.lin + b.lin * v4_splat(s), a.ang + b.ang * v4_splat(s)};
}

/* power of a wrench along a twist */
static inline double spatial_dot(spatial a, spatial b)
{
    return v4_sum(a.lin * b.lin + a.ang * b.ang);
}

/* V x m: rate of change of a twist m that moves with V */
static inline spatial motion_cross(spatial V, spatial m)
{
    return (spatial){v4_cross(V.ang, m.lin) + v4_cross(V.lin, m.ang), v4_cross(V.ang, m.ang)};
}

/* V x* f: rate of change of a wrench f that moves with V. (V x m).f + m.(V x* f) = 0 */
static inline spatial force_cross(spatial V, spatial f)
{
    return (spatial){v4_cross(V.ang, f.lin), v4_cross(V.ang, f.ang) + v4_cross(V.lin, f.lin)};
}

/* velocity at point p (relative to the origin) of what moves with twist V */
static inline v4 twist_at(spatial V, v4 p)
{
    return V.lin + v4_cross(V.ang, p);
}

/* the wrench of a force F at point p */
static inline spatial wrench_at(v4 F, v4 p)
{
    return (spatial){F, v4_cross(p, F)};
}

/* force and moment in memory, acting at point p, as a wrench at the origin */
static inline spatial wrench_load(const double *f, v4 p)
{
    spatial W = wrench_at(v4_load3(f), p);
    W.ang += v4_load3(f + DIM);
    return W;
}

/* ---- inertia ---- */

/* I x = (m x_lin + x_ang x h; h x x_lin + I x_ang); the mass in the last lane of hm meets only zeros */
static inline spatial inertia_mul(inertia Y, spatial x)
{
    v4 m = v4_splat(Y.hm[V4_LANES - 1]);
    return (spatial){m * x.lin + v4_cross(x.ang, Y.hm), v4_cross(Y.hm, x.lin) + mat3_mul(Y.I, x.ang)};
}

/* The twist that turns with w and does not move the centre of mass. */
static inline spatial inertia_turn(inertia Y, v4 w)
{
    double m = Y.hm[V4_LANES - 1]; /* behind m c */
    v4 c = m > 0 ? Y.hm * v4_splat(1 / m) : v4_zero();
    return (spatial){v4_cross(c, w), w};
}

static inline inertia inertia_add(inertia a, inertia b)
{
    return (inertia){a.hm + b.hm, mat3_add(a.I, b.I)};
}

/* mass m, centre c (relative to the origin), inertia Ic about c in axes R:  I = R Ic R^T + m (c^2 1 - c c^T) */
static inline inertia inertia_make(double m, v4 c, mat3 R, const double *Ic)
{
    mat3 RI = {{mat3_mul_mem(R, Ic), mat3_mul_mem(R, Ic + V4_LANES), mat3_mul_mem(R, Ic + 2 * V4_LANES)}};
    mat3 Rt = mat3_transpose(R);
    mat3 E = mat3_identity();
    v4 mc = c * v4_splat(m);
    v4 mcc = v4_splat(v4_dot(c, mc));
    inertia Y;
    Y.hm = v4_set(mc[0], mc[1], mc[2], m);
    for (int i = 0; i < DIM; i++)
        Y.I.c[i] = mat3_mul(RI, Rt.c[i]) + E.c[i] * mcc - mc * v4_splat(c[i]);
    return Y;
}

#endif
