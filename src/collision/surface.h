/* Surfaces at a witness point, for contact_point.h. */
#ifndef TG_COLLISION_SURFACE_H
#define TG_COLLISION_SURFACE_H

#include <math.h>

#include "collision/contact_point.h"

static inline tg_surface tg_surface_vertex(void)
{
    return (tg_surface){0};
}

static inline tg_surface tg_surface_face(void)
{
    return (tg_surface){.flat = 2};
}

/* s (1 - n n^T - e e^T), e may be zero */
static inline mat3 tg_tangent_projector(v4 n, v4 e, double s)
{
    mat3 E = mat3_identity(), S;
    for (int i = 0; i < 3; i++)
        S.c[i] = (E.c[i] - n * v4_splat(n[i]) - e * v4_splat(e[i])) * v4_splat(s);
    return S;
}

/* a vertex rounded by r */
static inline tg_surface tg_surface_round(v4 n, double r)
{
    return (tg_surface){.S = tg_tangent_projector(n, v4_zero(), r)};
}

/* an edge along the unit vector e (orthogonal to n), rounded by r: the side of a capsule or cylinder, or a polytope's edge with r = 0 */
static inline tg_surface tg_surface_edge(v4 n, v4 e, double r)
{
    return (tg_surface){.flat = 1, .edge = e, .S = tg_tangent_projector(n, e, r)};
}

/* a cylinder's rim of radius r, at the unit radial direction, outward unit normal d: the support function r |d_radial| + h |d_axial| bends along the rim's
 * tangent t only, by r / |d_radial| */
static inline tg_surface tg_surface_rim(v4 axis, v4 radial, v4 d, double r)
{
    v4 t = v4_cross(axis, radial);
    double along = v4_dot(radial, d), s = r / (along > 1e-9 ? along : 1e-9);
    mat3 S;
    for (int i = 0; i < 3; i++)
        S.c[i] = t * v4_splat(s * t[i]);
    return (tg_surface){.S = S};
}

/* an ellipsoid with outward unit normal d: S = R (D - s s^T) R^T / h, D = diag(r^2), h = sqrt(d.D d), s = D d / h */
static inline tg_surface tg_surface_ellipsoid(const tg_placed *p, v4 d)
{
    v4 local = mat3_mul_t(p->R, d), r = v4_load3(p->size), D = r * r;
    double h = sqrt(v4_dot(local * D, local));
    v4 s = local * D * v4_splat(1 / h);
    mat3 Rt = mat3_transpose(p->R), S;
    for (int i = 0; i < 3; i++) /* column i of R (D - s s^T) R^T / h */
    {
        v4 x = Rt.c[i];
        v4 y = (D * x - s * v4_splat(v4_dot(s, x))) * v4_splat(1 / h);
        S.c[i] = mat3_mul(p->R, y);
    }
    return (tg_surface){.S = S};
}

/* unit outward normal of a polygon of a scaled polytope, its own frame: n ~ S^-1 n0 */
static inline v4 tg_scaled_normal(const tg_placed *p, int polygon)
{
    const double *n = p->polytope->normal + 4 * polygon;
    v4 m = v4_set(n[0] / p->size[0], n[1] / p->size[1], n[2] / p->size[2], 0);
    return m * v4_splat(1 / sqrt(v4_dot(m, m)));
}

#endif
