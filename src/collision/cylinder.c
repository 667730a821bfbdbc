/* Cylinders against spheres, capsules, cylinders, boxes and meshes.
 *
 * A cylinder has two caps (flat), a side (a line, rounded) and two rims (circles). What touches a cap or a flat face
 * of the other shape gives a patch (patch.c); parallel sides give two points (round.c); everything else one point,
 * from the pieces of the two surfaces (curved.c).
 *
 * Degenerate input. A point on the axis, nearer to the side than to the caps, has the cylinder's x axis as outward
 * normal; one as far from cap as from side takes the side. Coaxial cylinders that overlap are separated along the
 * axis or across it, whichever is shorter; across it along x of the first. */
#include <math.h>

#include "collision/curved.h"
#include "collision/patch.h"
#include "collision/polytope.h"
#include "collision/surface.h"

/* ---- a point ---- */

enum
{
    SIDE = 2,
    CAP = 4 /* + 1 at the upper end; rims are 0 and 1 */
};

/* Signed distance of p; d: unit outward normal at the nearest point. */
static inline double nearest_on_cylinder(const tg_placed *c, v4 p, v4 *d, tg_surface *surface, uint32_t *feature,
                                         double *margin)
{
    v4 arm = p - c->x, axis = c->R.c[2];
    double x = v4_dot(c->R.c[0], arm), y = v4_dot(c->R.c[1], arm), z = v4_dot(axis, arm), rho = sqrt(x * x + y * y);
    double out = rho - c->size[0], up = fabs(z) - c->size[1], upper = z < 0 ? -1 : 1, inverse = 1 / rho;
    v4 radial = c->R.c[0] * v4_splat(x * inverse) + c->R.c[1] * v4_splat(y * inverse), end = axis * v4_splat(upper);
    if (!(rho > 1e-12 * c->size[0]))
        radial = c->R.c[0];
    if (out > 0 && up > 0) /* the rim */
    {
        double distance = sqrt(out * out + up * up);
        *d = (radial * v4_splat(out) + end * v4_splat(up)) * v4_splat(1 / distance);
        *surface = tg_surface_rim(axis, radial, *d, c->size[0]);
        *feature = upper > 0;
        *margin = tg_least(out, up);
        return distance;
    }
    *margin = fabs(out - up);
    if (out >= up) /* the side is nearer, or the only one that is passed */
    {
        *d = radial;
        *surface = tg_surface_edge(axis, c->size[0]);
        *feature = SIDE;
        *margin = tg_least(*margin, fabs(up));
        return out;
    }
    *d = end;
    *surface = tg_surface_face();
    *feature = CAP + (upper > 0);
    *margin = tg_least(*margin, fabs(out));
    return up;
}

void tg_sphere_cylinder(const tg_query *q, tg_patch *patch)
{
    const tg_placed *sphere = &q->shape[0];
    double r = sphere->size[0], margin;
    v4 d;
    uint32_t feature;
    tg_surface surface;
    double distance = nearest_on_cylinder(&q->shape[1], sphere->x, &d, &surface, &feature, &margin);
    if (!(distance - r < q->reach))
        return;
    tg_contact_point *c = &patch->point[patch->count++];
    tg_init_point(c, sphere->x - d * v4_splat(0.5 * (distance + r)), -d, distance - r, margin, feature);
    c->surface[0].round = r;
    c->surface[1] = surface;
}

/* ---- flat faces ---- */

static double size_of(const tg_placed *p)
{
    return fabs(p->size[0]) + fabs(p->size[1]) + fabs(p->size[2]);
}

static double deepest(const tg_gather *g)
{
    double least = INFINITY;
    for (int i = 0; i < g->count; i++)
        least = tg_least(least, g->point[i].distance);
    return least;
}

/* How far a face may look away from the normal of the search and still be the one that holds it. */
#define FLAT 3e-2

/* Gathers the points over the flat region of shape `reference` that looks along n, if there is one. Returns the
 * separation along its normal, -INFINITY where there is no such region or where the nearest point of the other shape
 * is not over it. */
static double gather_over(const tg_query *q, v4 n, int reference, tg_gather *gather)
{
    tg_region region;
    v4 outward = reference == 0 ? n : -n;
    if (!tg_region_towards(&q->shape[reference], outward, &region))
        return -INFINITY;
    v4 off = region.normal - outward;
    if (v4_dot(off, off) > FLAT * FLAT)
        return -INFINITY;
    gather->count = 0;
    tg_points_over(q, &region, 1 - reference, gather);
    double separation = tg_separation(&q->shape[0], &q->shape[1], reference == 0 ? region.normal : -region.normal);
    double slack = tg_parallel_over(q, &region, 1 - reference) ? 2e-5 : 1e-9;
    bool over = deepest(gather) - separation <= slack * (size_of(&q->shape[0]) + size_of(&q->shape[1]));
    return over ? separation : -INFINITY;
}

/* A patch whose normal is that of a flat face near n. */
static bool add_flat(const tg_query *q, v4 n, tg_patch *patch)
{
    tg_gather gather[2];
    double first = gather_over(q, n, 0, &gather[0]), second = gather_over(q, n, 1, &gather[1]);
    if (first == -INFINITY && second == -INFINITY)
        return false;
    tg_take_points(&gather[first > second ? 0 : 1], patch);
    return true;
}

/* Two faces that are nearly parallel while rims, edges or corners are nearest: the points over the second's face,
 * beside the exact one and not deeper than it, so that the patch is already there when the faces become parallel. */
#define NEARLY_FLAT 0.05

static void add_nearly_flat(const tg_query *q, v4 n, double exact, tg_patch *patch)
{
    tg_region region[2];
    for (int i = 0; i < 2; i++)
    {
        v4 outward = i == 0 ? n : -n;
        if (!tg_region_towards(&q->shape[i], outward, &region[i]))
            return;
        v4 off = region[i].normal - outward;
        if (v4_dot(off, off) > NEARLY_FLAT * NEARLY_FLAT)
            return;
    }
    tg_gather gather;
    gather.count = 0;
    tg_points_over(q, &region[1], 0, &gather);
    int kept = 0;
    for (int i = 0; i < gather.count; i++)
        if (gather.point[i].distance >= exact)
            gather.point[kept++] = gather.point[i];
    gather.count = kept;
    tg_take_points(&gather, patch);
}

/* ---- the pairs ---- */

static bool has_side(const tg_placed *p)
{
    return p->type == TG_GEOM_CAPSULE || p->type == TG_GEOM_CYLINDER;
}

static bool exactly_parallel(const tg_query *q)
{
    v4 across = v4_cross(q->shape[0].R.c[2], q->shape[1].R.c[2]);
    return v4_dot(across, across) < 1e-10;
}

/* Sides that touch along a line, or a side and an edge. *all: there is nothing else. */
static bool add_sides(const tg_query *q, v4 n, bool *all, tg_patch *patch)
{
    if (!has_side(&q->shape[0]) || fabs(v4_dot(n, q->shape[0].R.c[2])) > 3e-2)
        return false;
    if (tg_has_polygons(&q->shape[1]))
        return tg_add_parallel_edge(q, n, all, patch);
    if (!has_side(&q->shape[1]) || fabs(v4_dot(n, q->shape[1].R.c[2])) > 3e-2)
        return false;
    *all = exactly_parallel(q);
    return tg_add_parallel(q, patch);
}

/* From an approximate normal to the patch. False where no exact answer was found. The exact normal of rims and edges
 * can be that of a face to rounding: then the face is tried again. */
static bool polish(const tg_query *q, v4 n, tg_patch *patch)
{
    if (add_flat(q, n, patch))
        return true;
    bool all = false, sides = add_sides(q, n, &all, patch);
    if (sides && all)
        return true;
    tg_witness w;
    if (!tg_exact_witness(q, n, &w))
        return sides;
    if (!sides && add_flat(q, w.normal, patch))
        return true;
    tg_add_witness(q, patch, &w, 0);
    if (!sides)
        add_nearly_flat(q, w.normal, w.distance, patch);
    return true;
}

void tg_cylinder_cylinder(const tg_query *q, tg_patch *patch)
{
    if (!tg_axes_clear(q))
        tg_search_patch(q, polish, patch);
}

void tg_cylinder_polytope(const tg_query *q, tg_patch *patch)
{
    tg_search_patch(q, polish, patch);
}

static double point_distance(const tg_placed *cylinder, v4 p, v4 *d)
{
    tg_surface surface;
    uint32_t feature;
    double margin;
    return nearest_on_cylinder(cylinder, p, d, &surface, &feature, &margin);
}

void tg_capsule_cylinder(const tg_query *q, tg_patch *patch)
{
    v4 n;
    if (tg_axes_clear(q))
        return;
    double distance = tg_capsule_start(&q->shape[0], &q->shape[1], point_distance, &n);
    if (distance < INFINITY && distance - q->shape[0].size[0] >= q->reach)
    {
        tg_remember(q, n);
        return;
    }
    if (distance < INFINITY && polish(q, n, patch))
        return;
    tg_search_patch(q, polish, patch);
}
