/* The search for the contact of two convex shapes of which one is curved.
 *
 * A rough normal (the last one, or a few steps of GJK) is polished (curved.c); the answer is taken if it is certain.
 * Where it is not (deep overlap, sharp features) GJK and EPA search to the end, and what they find is polished. */
#include <math.h>

#include "collision/curved.h"
#include "collision/gjk.h"
#include "collision/surface.h"

/* ---- where to start, and when to stop ---- */

/* The signed distance f(t) of points c + t e to a convex set is convex, with f' = d.e, d the outward normal:
 * bisection and false position (Illinois) on f' = 0. Where f' jumps instead the axis crosses the set's skeleton.
 * Otherwise the whole axis lies on one side of the tangent plane at the minimum, so that the extremum of the point
 * is that of the axis. */
double tg_capsule_start(const tg_placed *capsule, const tg_placed *shape, tg_point_distance *distance, v4 *normal)
{
    tg_segment s = tg_axis_of(capsule);
    double t[2] = {-s.half, s.half}, slope[2], f = 0;
    v4 d;
    for (int i = 0; i < 2; i++) /* an end is nearest where the distance rises from it */
    {
        f = distance(shape, tg_along(&s, t[i]), &d);
        slope[i] = v4_dot(d, s.axis);
        if (i == 0 ? slope[0] >= 0 : slope[1] <= 0)
        {
            *normal = -d;
            return f;
        }
    }
    for (int step = 0; step < 60; step++)
    {
        double width = t[1] - t[0], at = t[0] - width * slope[0] / (slope[1] - slope[0]);
        if (step % 4 == 3)
            at = 0.5 * (t[0] + t[1]);
        f = distance(shape, tg_along(&s, at), &d);
        double g = v4_dot(d, s.axis);
        if (fabs(g) < 1e-3) /* f is convex: what is left of the way down is at most the width times the slope */
        {
            *normal = -d;
            return f - fabs(g) * width;
        }
        if (width < 1e-9 * s.half)
            break;
        int end = g > 0;
        t[end] = at;
        slope[end] = g;
        slope[1 - end] *= 0.5;
    }
    return INFINITY;
}

/* The radius of a ball inside the shape that touches its surface at x, outward normal d: of an ellipsoid the
 * smallest radius of curvature (Blaschke's rolling ball), of flat faces and a cylinder's side as far as the other
 * faces are away; zero at edges and rims. */
static double inner_radius(const tg_placed *p, v4 x, v4 d)
{
    v4 local = mat3_mul_t(p->R, x - p->x), n = mat3_mul_t(p->R, d);
    double least = tg_least(tg_least(p->size[0], p->size[1]), p->size[2]),
           most = tg_most(tg_most(p->size[0], p->size[1]), p->size[2]);
    if (p->type == TG_GEOM_ELLIPSOID)
        return least * least / most;
    if (p->type == TG_GEOM_CYLINDER)
    {
        double rho = sqrt(local[0] * local[0] + local[1] * local[1]);
        if (fabs(n[2]) > 1 - 1e-12)
            return tg_most(0, tg_least(p->size[1], p->size[0] - rho));
        return fabs(n[2]) < 1e-9 ? tg_most(0, tg_least(p->size[0], p->size[1] - fabs(local[2]))) : 0;
    }
    if (p->type != TG_GEOM_BOX)
        return tg_rounding(p);
    double room = INFINITY;
    bool face = false;
    for (int k = 0; k < 3; k++)
    {
        bool along = fabs(n[k]) > 1 - 1e-12;
        face = face || along;
        room = tg_least(room, along ? p->size[k] : p->size[k] - fabs(local[k]));
    }
    return face ? tg_most(0, room) : 0;
}

/* With the shapes moved apart until they touch at x, the separation along a direction at an angle to n is at most
 * -(sum of the radii) (1 - cos), because of the balls there; moved back by the depth it gains depth (1 - cos) at
 * most. */
static bool certain(const tg_query *q, v4 x, v4 n, double distance)
{
    if (distance > 0)
        return true;
    v4 half = n * v4_splat(0.5 * distance);
    return -distance < inner_radius(&q->shape[0], x - half, n) + inner_radius(&q->shape[1], x + half, -n);
}

/* Two sharp features (a rim across an edge or a rim) have no balls. Their normal cones cross in n alone: another
 * direction can separate shapes that overlap by little only if it is near both cones, so near n, as long as the
 * depth is small beside the shapes, the ends of the features and the curvature that holds n. The flat faces, where
 * cones are wide, are tried. */
static bool shallow(const tg_query *q, const tg_contact_point *c)
{
    double depth = -c->distance, size = tg_least(tg_extent(&q->shape[0]), tg_extent(&q->shape[1]));
    v4 n = c->normal;
    bool face = c->surface[0].flat == 2 || c->surface[1].flat == 2;
    return c->kind == TG_POINT_WITNESS && !face && depth < 0.05 * size && depth < 0.2 * c->margin &&
           depth < 0.1 * tg_least_curvature(n, &c->surface[0], &c->surface[1]) && !tg_better_axis(q, c->distance, &n);
}

/* of a patch: at its deepest point, or in the middle of what is as deep */
bool tg_patch_certain(const tg_query *q, const tg_patch *patch)
{
    const tg_contact_point *deepest = &patch->point[0];
    for (int i = 1; i < patch->count; i++)
        if (patch->point[i].distance < deepest->distance)
            deepest = &patch->point[i];
    v4 middle = v4_zero();
    int count = 0;
    for (int i = 0; i < patch->count; i++)
        if (patch->point[i].distance - deepest->distance < 1e-9)
        {
            middle += patch->point[i].point;
            count++;
        }
    return certain(q, middle * v4_splat(1.0 / count), deepest->normal, deepest->distance) || shallow(q, deepest);
}

/* The normal of a face at the vertex of a mesh that n points to. */
static void try_mesh_faces(const tg_query *q, int i, v4 *n, double *most)
{
    const tg_placed *p = &q->shape[i];
    const tg_polytope *t = p->polytope;
    double sign = i == 0 ? 1 : -1;
    int vertex = -1;
    tg_support(p, *n * v4_splat(sign), &vertex);
    for (int k = t->around_start[vertex]; k < t->around_start[vertex + 1]; k++)
    {
        v4 m = mat3_mul(p->R, tg_scaled_normal(p, t->around[k])) * v4_splat(sign);
        double s = tg_separation(&q->shape[0], &q->shape[1], m);
        if (s > *most)
        {
            *most = s;
            *n = m;
        }
    }
}

bool tg_better_axis(const tg_query *q, double now, v4 *n)
{
    double before = now + 1e-13 * (tg_extent(&q->shape[0]) + tg_extent(&q->shape[1])), most = before;
    for (int i = 0; i < 2; i++)
    {
        if (q->shape[i].type == TG_GEOM_MESH)
        {
            try_mesh_faces(q, i, n, &most);
            continue;
        }
        for (int k = 0; k < 6; k++)
        {
            v4 axis = q->shape[i].R.c[k / 2] * v4_splat(k % 2 == 0 ? 1 : -1);
            double s = tg_separation(&q->shape[0], &q->shape[1], axis);
            if (s > most)
            {
                most = s;
                *n = axis;
            }
        }
    }
    return most > before;
}

/* ---- the search ---- */

/* Overlapping shapes: the normal of curved ones that are a little smaller, and therefore apart. */
static v4 shrunken_start(const tg_query *q, double *separation)
{
    tg_placed small[2] = {q->shape[0], q->shape[1]};
    for (int i = 0; i < 2; i++)
        if (small[i].type == TG_GEOM_ELLIPSOID || small[i].type == TG_GEOM_CYLINDER)
            for (int k = 0; k < 3; k++)
                small[i].size[k] *= 0.85;
    return tg_gjk_direction(&small[0], &small[1], INFINITY, separation);
}

void tg_remember(const tg_query *q, v4 n)
{
    v4 d = mat3_mul_t(q->shape[0].R, n);
    for (int i = 0; i < 3 && q->hint != NULL; i++)
        q->hint->direction[i] = (float)d[i];
}

/* From a rough direction; true where the answer is certain. */
static bool rough_patch(const tg_query *q, tg_polish_function *polish, tg_patch *patch)
{
    double rounding = tg_rounding(&q->shape[0]) + tg_rounding(&q->shape[1]), separation = 0;
    v4 n = tg_gjk_direction(&q->shape[0], &q->shape[1], tg_most(q->reach + rounding, 0), &separation);
    if (separation - rounding >= q->reach)
    {
        tg_remember(q, n);
        return true;
    }
    if (separation < 0)
        n = shrunken_start(q, &separation);
    if (separation > 0 && polish(q, n, patch) && (patch->count == 0 || tg_patch_certain(q, patch)))
        return true;
    patch->count = 0;
    return false;
}

static double least_distance(const tg_patch *patch)
{
    double least = INFINITY;
    for (int i = 0; i < patch->count; i++)
        least = tg_least(least, patch->point[i].distance);
    return least;
}

/* The patch that n leads to, if its shapes are farther apart. */
static void take_better(const tg_query *q, tg_polish_function *polish, v4 n, tg_patch *patch)
{
    tg_patch other;
    other.count = 0;
    if (polish(q, n, &other) && other.count > 0 && least_distance(&other) > least_distance(patch))
        *patch = other;
}

/* Uphill on the separation from n, in steps along directions that turn by the golden angle, until they are small. */
static v4 uphill(const tg_query *q, v4 n, double *separation)
{
    double turn = 0, step = 0.1;
    *separation = tg_separation(&q->shape[0], &q->shape[1], n);
    for (int halved = 0; halved < 27; halved++, step *= 0.5) /* down to 1e-9 */
        for (int missed = 0; missed < 8; turn += 2.399963)
        {
            v4 t = tg_orthogonal(n), d = t * v4_splat(cos(turn)) + v4_cross(n, t) * v4_splat(sin(turn));
            v4 there = tg_unit(n + d * v4_splat(step));
            double s = tg_separation(&q->shape[0], &q->shape[1], there);
            bool better = s > *separation;
            n = better ? there : n;
            *separation = better ? s : *separation;
            missed = better ? 0 : missed + 1;
        }
    return n;
}

/* Where the shapes are farther apart along the normal of the search than in the patch, which then is another extremum
 * nearby: climbs from there, and polishes what it reaches. */
static void climb(const tg_query *q, tg_polish_function *polish, tg_gjk_result *r, tg_patch *patch)
{
    double rounding = 1e-13 * (tg_extent(&q->shape[0]) + tg_extent(&q->shape[1])), separation;
    if (patch->count == 0 || tg_separation(&q->shape[0], &q->shape[1], r->normal) <= least_distance(patch) + rounding)
        return;
    r->normal = uphill(q, r->normal, &separation);
    tg_patch other;
    other.count = 0;
    if (!polish(q, r->normal, &other) || other.count == 0 || least_distance(&other) < separation - rounding)
    {
        tg_witness w = tg_search_witness(q, r);
        other.count = 0;
        tg_add_witness(q, &other, &w, 0);
    }
    *patch = other;
}

/* GJK and EPA to the end. Deep inside, EPA sees curved shapes as polytopes of bounded size: other extrema are tried
 * as well. */
static void full_patch(const tg_query *q, tg_polish_function *polish, tg_patch *patch)
{
    double rounding = tg_rounding(&q->shape[0]) + tg_rounding(&q->shape[1]);
    tg_gjk_result r = tg_gjk_rough(&q->shape[0], &q->shape[1], q->reach + rounding);
    if (!(r.distance - rounding < q->reach))
        return;
    bool close = -r.distance < 10 * r.tolerance, exact = !close && polish(q, r.normal, patch);
    if (!exact)
    {
        r = tg_gjk(&q->shape[0], &q->shape[1], q->reach + rounding, NULL);
        exact = polish(q, r.normal, patch);
    }
    if (exact && (patch->count == 0 || tg_patch_certain(q, patch)))
        return;
    if (!exact)
    {
        tg_witness w = tg_search_witness(q, &r);
        tg_add_witness(q, patch, &w, 0);
    }
    v4 n = r.normal;
    if (tg_better_axis(q, least_distance(patch), &n))
        take_better(q, polish, n, patch);
    for (int i = 0; i < r.nother; i++)
        take_better(q, polish, r.other[i], patch);
    climb(q, polish, &r, patch);
}

void tg_search_patch(const tg_query *q, tg_polish_function *polish, tg_patch *patch)
{
    if (!rough_patch(q, polish, patch))
        full_patch(q, polish, patch);
}

bool tg_polish_point(const tg_query *q, v4 n, tg_patch *patch)
{
    tg_witness w;
    if (!tg_exact_witness(q, n, &w))
        return false;
    tg_add_witness(q, patch, &w, 0);
    return true;
}
