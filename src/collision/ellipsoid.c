/* Ellipsoids: one contact point with anything convex.
 *
 * The point of an ellipsoid (radii r, its own frame) nearest to p is x_i = r_i^2 p_i / (t + r_i^2), where t > -min
 * r^2 solves
 *
 *     F(t) = sum_i (r_i p_i / (t + r_i^2))^2 = 1.
 *
 * g_i = p_i / (t + r_i^2) is the outward normal, and p - x = t g, so the signed distance is t |g|: continuous
 * through the surface, exact near it. 1 / sqrt(F) is increasing and concave, so Newton's method on 1 / sqrt(F) = 1
 * from the left of the root rises to it without overshooting.
 *
 * Degenerate input: a point without a component along the shortest axis, deep inside, has two nearest points; the
 * one on the positive side of that axis is taken (the first of equally short axes). */
#include <math.h>

#include "collision/curved.h"
#include "collision/surface.h"

static int shortest_axis(const double *r)
{
    int k = r[1] < r[0] ? 1 : 0;
    return r[2] < r[k] ? 2 : k;
}

/* lengths in units of the shortest radius; u = t + 1 keeps its digits near the pole at u = 0 */
double tg_point_ellipsoid(const tg_placed *e, v4 p, v4 *d)
{
    int k = shortest_axis(e->size);
    double unit = e->size[k];
    v4 local = mat3_mul_t(e->R, p - e->x) / v4_splat(unit), r = v4_load3(e->size) / v4_splat(unit);
    if (fabs(local[k]) < 1e-30)
        local[k] = 1e-30;
    v4 rp = r * local, offset = r * r - v4_set(1, 1, 1, 0);
    offset[k] = 0;
    double u = 1e-30;
    for (int i = 0; i < 3; i++)
        u = tg_most(u, fabs(rp[i]) - offset[i]);
    for (int step = 0; step < 60; step++)
    {
        double F = 0, dF = 0;
        for (int i = 0; i < 3; i++)
        {
            double s = 1 / (u + offset[i]), y = rp[i] * s;
            F += y * y;
            dF -= 2 * y * y * s;
        }
        /* h = F^-1/2, dh = -F^-3/2 dF / 2 */
        double change = 2 * F * (1 - sqrt(F)) / dF;
        u += change;
        if (!(change > 1e-16 * u))
            break;
    }
    v4 g = v4_set(local[0] / (u + offset[0]), local[1] / (u + offset[1]), local[2] / (u + offset[2]), 0);
    double length = sqrt(v4_dot(g, g));
    *d = mat3_mul(e->R, g * v4_splat(1 / length));
    return (u - 1) * length * unit;
}

void tg_sphere_ellipsoid(const tg_query *q, tg_patch *patch)
{
    const tg_placed *sphere = &q->shape[0];
    double r = sphere->size[0];
    v4 d;
    double distance = tg_point_ellipsoid(&q->shape[1], sphere->x, &d);
    tg_witness w = {.normal = -d,
                    .point = {sphere->x - d * v4_splat(r), sphere->x - d * v4_splat(distance)},
                    .distance = distance - r,
                    .surface = {tg_surface_round(r), tg_surface_ellipsoid(&q->shape[1], d)},
                    .margin = INFINITY};
    tg_add_witness(q, patch, &w, 0);
}

void tg_capsule_ellipsoid(const tg_query *q, tg_patch *patch)
{
    v4 n;
    double distance = tg_capsule_start(&q->shape[0], &q->shape[1], tg_point_ellipsoid, &n);
    if (distance < INFINITY && distance - q->shape[0].size[0] >= q->reach)
    {
        tg_remember(q, n);
        return;
    }
    if (distance < INFINITY && tg_polish_point(q, n, patch))
        return;
    tg_search_patch(q, tg_polish_point, patch);
}

/* Newton's method finds the way from the line between the centres, mostly. */
void tg_ellipsoid_ellipsoid(const tg_query *q, tg_patch *patch)
{
    v4 d = q->shape[1].x - q->shape[0].x;
    double length = sqrt(v4_dot(d, d));
    if (length > 0 && tg_polish_point(q, d * v4_splat(1 / length), patch) &&
        (patch->count == 0 || tg_patch_certain(q, patch)))
        return;
    patch->count = 0;
    tg_search_patch(q, tg_polish_point, patch);
}

void tg_ellipsoid_cylinder(const tg_query *q, tg_patch *patch)
{
    tg_search_patch(q, tg_polish_point, patch);
}

void tg_ellipsoid_polytope(const tg_query *q, tg_patch *patch)
{
    tg_search_patch(q, tg_polish_point, patch);
}
