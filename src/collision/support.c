/* Support points: the farthest point of a shape along a direction, roundings taken off. */
#include <math.h>

#include "collision/gjk.h"

/* lanes of a where the mask is set, of b elsewhere */
static inline v4 choose(v4i mask, v4 a, v4 b)
{
    return (v4)(((v4i)a & mask) | ((v4i)b & ~mask));
}

/* The farthest vertex of a ring, if it is farther than *most; -1: none is. Eight are compared at a time, without a
 * branch. */
static inline int farthest_in_ring(const tg_polytope *t, int ring, v4 d, double *most)
{
    int first = t->ring_start[ring], last = t->ring_start[ring + 1];
    v4 x = v4_splat(d[0]), y = v4_splat(d[1]), z = v4_splat(d[2]), best = v4_splat(-INFINITY);
    v4i place = {0, 0, 0, 0};
    for (int i = first; i < last; i++)
    {
        const double *p = t->ring + 24 * i;
        v4 low = v4_load(p) * x + v4_load(p + 8) * y + v4_load(p + 16) * z;
        v4 high = v4_load(p + 4) * x + v4_load(p + 12) * y + v4_load(p + 20) * z;
        v4i upper = high > low, here = {8 * i, 8 * i + 1, 8 * i + 2, 8 * i + 3};
        v4 along = choose(upper, high, low);
        v4i better = along > best;
        best = choose(better, along, best);
        place = ((here + (upper & 4)) & better) | (place & ~better);
    }
    int even = best[1] > best[0] ? 1 : 0, odd = best[3] > best[2] ? 3 : 2, lane = best[odd] > best[even] ? odd : even;
    if (!(best[lane] > *most))
        return -1;
    *most = best[lane];
    return t->ring_vertex[place[lane]];
}

/* On a convex polytope a vertex that no neighbour beats is the farthest. Every move goes up, so no vertex is met
 * twice. */
static int climb(const tg_polytope *t, v4 d, int start)
{
    double most = v4_dot(v4_load(t->vertex + 4 * start), d);
    for (int best = start;; start = best)
    {
        best = farthest_in_ring(t, start, d, &most);
        if (best < 0)
            return start;
    }
}

static int scan(const tg_polytope *t, v4 d)
{
    double most = -INFINITY;
    int best = farthest_in_ring(t, 0, d, &most);
    return best < 0 ? 0 : best;
}

#define ALONE 1e-6 /* of the radius: five times what merging triangles into polygons may move */

/* The vertex is farther than its neighbours by so much that every climb ends there: with a and b its neighbours in a
 * polygon, the other corners of that are x + s (a - x) + t (b - x), s + t >= 1, but for what merging moved. */
static bool is_farthest(const tg_polytope *t, v4 d, int vertex)
{
    v4 x = v4_load(t->vertex + 4 * vertex);
    double gap = ALONE * t->radius * sqrt(v4_dot(d, d)), most = v4_dot(x, d) - gap;
    return gap > 0 && gap < INFINITY && farthest_in_ring(t, vertex, d, &most) < 0;
}

static v4 support_mesh(const tg_placed *s, v4 local, int *vertex)
{
    const tg_polytope *t = s->polytope;
    v4 size = v4_load(s->size), d = local * size;
    double squared = v4_dot(d, d);
    if (t->cells == 0)
        *vertex = scan(t, d);
    else if (*vertex >= 0 && *vertex < t->nvertex && is_farthest(t, d, *vertex))
        return v4_load(t->vertex + 4 * *vertex) * size;
    else /* a direction without a cell, zero or not finite, starts anywhere */
        *vertex =
            climb(t, d, squared > 1e-300 && squared < INFINITY ? t->start[tg_polytope_cell(t, d[0], d[1], d[2])] : 0);
    return v4_load(t->vertex + 4 * *vertex) * size;
}

/* vertex i of the unit cube is + along x, y, z where its bits 0, 1, 2 are set */
static v4 support_box(const tg_placed *s, v4 local, int *vertex)
{
    *vertex = (local[0] > 0) | (local[1] > 0) << 1 | (local[2] > 0) << 2;
    return v4_load(s->polytope->vertex + 4 * *vertex) * v4_load(s->size);
}

static v4 support_cylinder(const tg_placed *s, v4 local)
{
    double radial = sqrt(local[0] * local[0] + local[1] * local[1]);
    double scale = radial > 0 ? s->size[0] / radial : 0;
    return v4_set(scale * local[0], scale * local[1], local[2] > 0 ? s->size[1] : -s->size[1], 0);
}

static v4 support_ellipsoid(const tg_placed *s, v4 local)
{
    v4 r = v4_load3(s->size), scaled = local * r;
    double h = sqrt(v4_dot(scaled, scaled));
    return h > 0 ? scaled * r * v4_splat(1 / h) : v4_set(s->size[0], 0, 0, 0);
}

v4 tg_support_local(const tg_placed *s, v4 d, int *vertex)
{
    switch (s->type)
    {
    case TG_GEOM_BOX:
        return support_box(s, d, vertex);
    case TG_GEOM_MESH:
        return support_mesh(s, d, vertex);
    case TG_GEOM_CAPSULE:
        *vertex = d[2] > 0;
        return v4_set(0, 0, d[2] > 0 ? s->size[1] : -s->size[1], 0);
    case TG_GEOM_ELLIPSOID:
        *vertex = -1;
        return support_ellipsoid(s, d);
    case TG_GEOM_CYLINDER:
        *vertex = -1;
        return support_cylinder(s, d);
    default: /* a sphere's centre */
        *vertex = 0;
        return v4_zero();
    }
}

v4 tg_support(const tg_placed *s, v4 d, int *vertex)
{
    int any = -1;
    return s->x + mat3_mul(s->R, tg_support_local(s, mat3_mul_t(s->R, d), vertex != NULL ? vertex : &any));
}
