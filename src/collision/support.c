/* Support points: the farthest point of a shape along a direction, roundings taken off. */
#include <math.h>

#include "collision/gjk.h"

enum
{
    SCAN_BELOW = 12 /* polytopes with fewer vertices are scanned instead of climbed */
};

static int scan(const tg_polytope *t, v4 d)
{
    int best = 0;
    double most = -INFINITY;
    for (int i = 0; i < t->nvertex; i++)
    {
        double along = v4_dot(v4_load(t->vertex + 4 * i), d);
        if (along > most)
        {
            most = along;
            best = i;
        }
    }
    return best;
}

/* On a convex polytope a vertex that no neighbour beats is the farthest. Every move goes up, so no vertex is met twice. */
static int climb(const tg_polytope *t, v4 d, int start)
{
    int best = start;
    double most = v4_dot(v4_load(t->vertex + 4 * best), d);
    for (;;)
    {
        int from = best;
        for (int i = t->neighbour_start[from]; i < t->neighbour_start[from + 1]; i++)
        {
            double along = v4_dot(v4_load(t->vertex + 4 * t->neighbour[i]), d);
            if (along > most)
            {
                most = along;
                best = t->neighbour[i];
            }
        }
        if (best == from)
            return best;
    }
}

/* bits 0, 1, 2: d is positive along x, y, z */
static int octant(v4 d)
{
    return (d[0] > 0) | (d[1] > 0) << 1 | (d[2] > 0) << 2;
}

static v4 support_mesh(const tg_placed *s, v4 local, int *vertex)
{
    const tg_polytope *t = s->polytope;
    v4 size = v4_load(s->size);
    v4 d = local * size;
    int best;
    if (t->nvertex < SCAN_BELOW)
        best = scan(t, d);
    else
        best = climb(t, d, *vertex >= 0 && *vertex < t->nvertex ? *vertex : t->octant[octant(d)]);
    *vertex = best;
    return v4_load(t->vertex + 4 * best) * size;
}

/* vertex i of the unit cube is + along x, y, z where its bits 0, 1, 2 are set */
static v4 support_box(const tg_placed *s, v4 local, int *vertex)
{
    *vertex = octant(local);
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
