/* Vectors of space, quaternions w x y z and 3x3 matrices by rows in plain memory, the form of tangere/algebra.h.
 * spatial.h has the same as v4, for kernels. */
#ifndef TG_MATH_VEC3_H
#define TG_MATH_VEC3_H

enum
{
    DIM = 3,        /* of space */
    QUAT = DIM + 1, /* numbers of a quaternion */
    TWIST = 2 * DIM /* of a twist or a wrench, and dofs of a free body */
};

typedef double vec3[DIM];
typedef double quat4[QUAT];
typedef double mat33[DIM * DIM];

static inline double vec3_dot(const vec3 a, const vec3 b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline int vec3_is_zero(const vec3 a)
{
    return a[0] == 0 && a[1] == 0 && a[2] == 0;
}

static inline void vec3_set(vec3 out, double x, double y, double z)
{
    out[0] = x;
    out[1] = y;
    out[2] = z;
}

static inline void vec3_copy(const vec3 a, vec3 out)
{
    vec3_set(out, a[0], a[1], a[2]);
}

/* out = s a */
static inline void vec3_scale(double s, const vec3 a, vec3 out)
{
    vec3_set(out, s * a[0], s * a[1], s * a[2]);
}

/* y += s x */
static inline void vec3_axpy(double s, const vec3 x, vec3 y)
{
    for (int i = 0; i < DIM; i++)
        y[i] += s * x[i];
}

static inline void vec3_cross(const vec3 a, const vec3 b, vec3 out)
{
    vec3_set(out, a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]);
}

/* out = A u */
static inline void mat33_mul(const mat33 A, const vec3 u, vec3 out)
{
    vec3_set(out, vec3_dot(A, u), vec3_dot(A + DIM, u), vec3_dot(A + 2 * DIM, u));
}

/* y += A^T u */
static inline void mat33_mul_t_add(const mat33 A, const vec3 u, vec3 y)
{
    for (int k = 0; k < DIM; k++)
        vec3_axpy(u[k], A + DIM * k, y);
}

#endif
