/* Surfaces at a witness point, for contact_point.h. */
#ifndef TG_COLLISION_SURFACE_H
#define TG_COLLISION_SURFACE_H

#include <math.h>

#include "collision/contact_point.h"

static inline v4 tg_unit(v4 x)
{
    return x * v4_splat(1 / __builtin_sqrt(v4_dot(x, x)));
}

/* The unit vector of `across`, the part of a unit vector that is orthogonal to the unit vector axis, computed as a
 * difference: its rounding along the axis, 1e-16, is enlarged by 1 / length, and taken out. */
static inline v4 tg_unit_across(v4 across, v4 axis, double length)
{
    v4 unit = across * v4_splat(1 / length);
    return unit - axis * v4_splat(v4_dot(axis, unit));
}

/* any unit vector orthogonal to the unit vector n */
static inline v4 tg_orthogonal(v4 n)
{
    double x = n[0] * n[0], y = n[1] * n[1], z = n[2] * n[2];
    v4 axis = x <= y && x <= z ? v4_set(1, 0, 0, 0) : y <= z ? v4_set(0, 1, 0, 0) : v4_set(0, 0, 1, 0);
    return tg_unit(v4_cross(n, axis));
}

/* two unit vectors orthogonal to the unit vector n and to each other, without a branch (Duff et al., Building an
 * orthonormal basis, revisited, 2017) */
static inline void tg_tangents(v4 n, v4 *t, v4 *u)
{
    double sign = __builtin_copysign(1, n[2]), a = -1 / (sign + n[2]), b = n[0] * n[1] * a;
    *t = v4_set(1 + sign * n[0] * n[0] * a, sign * b, -sign * n[0], 0);
    *u = v4_set(b, sign + n[1] * n[1] * a, -n[1], 0);
}

static inline tg_surface tg_surface_vertex(void)
{
    return (tg_surface){0};
}

static inline tg_surface tg_surface_face(void)
{
    return (tg_surface){.flat = 2};
}

/* a vertex rounded by r */
static inline tg_surface tg_surface_round(double r)
{
    return (tg_surface){.round = r};
}

/* an edge along the unit vector e (orthogonal to the normal), rounded by r: the side of a capsule or cylinder, or a
 * polytope's edge with r = 0 */
static inline tg_surface tg_surface_edge(v4 e, double r)
{
    return (tg_surface){.flat = 1, .edge = e, .round = r, .bend = -r};
}

/* a cylinder's rim of radius r, at the unit radial direction, outward unit normal d: the support function r |d_radial|
 * + h |d_axial| bends along the rim's tangent only, by r / |d_radial| */
static inline tg_surface tg_surface_rim(v4 axis, v4 radial, v4 d, double r)
{
    double along = v4_dot(radial, d);
    return (tg_surface){.edge = v4_cross(axis, radial), .bend = r / (along > 1e-9 ? along : 1e-9)};
}

/* S = tt t t^T + tu (t u^T + u t^T) + uu u u^T, t and u orthonormal: its eigenvalues, and the vector of the larger one
 */
static inline tg_surface tg_surface_of(v4 t, v4 u, double tt, double tu, double uu)
{
    double half = 0.5 * (tt - uu), spread = sqrt(half * half + tu * tu), x = spread + fabs(half);
    double scale = spread > 0 ? 1 / sqrt(x * x + tu * tu) : 0;
    double along_t = half > 0 ? x : tu, along_u = half > 0 ? tu : x;
    return (tg_surface){.edge = t * v4_splat(scale * along_t) + u * v4_splat(scale * along_u),
                        .round = 0.5 * (tt + uu) - spread,
                        .bend = 2 * spread};
}

/* an ellipsoid with outward unit normal d: S = R (D - s s^T) R^T / h, D = diag(r^2), h = sqrt(d.D d), s = D d / h */
static inline tg_surface tg_surface_ellipsoid(const tg_placed *p, v4 d)
{
    v4 local = mat3_mul_t(p->R, d), r = v4_load3(p->size), D = r * r, s = local * D;
    double h2 = v4_dot(s, local), h = sqrt(h2), inverse = 1 / h;
    v4 t, u;
    tg_tangents(local, &t, &u);
    v4 Dt = D * t;
    double st = v4_dot(s, t), su = v4_dot(s, u), w = inverse * inverse;
    return tg_surface_of(mat3_mul(p->R, t), mat3_mul(p->R, u), (v4_dot(Dt, t) - st * st * w) * inverse,
                         (v4_dot(Dt, u) - st * su * w) * inverse, (v4_dot(D * u, u) - su * su * w) * inverse);
}

/* unit outward normal of a polygon of a scaled polytope, its own frame: n ~ S^-1 n0 */
static inline v4 tg_scaled_normal(const tg_placed *p, int polygon)
{
    const double *n = p->polytope->normal + 4 * polygon;
    v4 m = v4_set(n[0] / p->size[0], n[1] / p->size[1], n[2] / p->size[2], 0);
    return m * v4_splat(1 / sqrt(v4_dot(m, m)));
}

#endif
