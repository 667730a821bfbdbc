/* Support points: the farthest point of a shape along a direction, roundings taken off. */
#include <math.h>

#include "collision/narrow.h"

enum
{
    SCAN_BELOW = 16 /* polytopes with fewer vertices are scanned instead of climbed */
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

/* On a convex polytope a vertex that no neighbour beats is the farthest. */
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

static v4 support_mesh(const tg_placed *s, v4 local, int *vertex)
{
    const tg_polytope *t = s->polytope;
    v4 size = v4_load(s->size);
    v4 d = local * size;
    int start = vertex != NULL && *vertex >= 0 && *vertex < t->nvertex ? *vertex : 0;
    int best = t->nvertex < SCAN_BELOW || t->neighbour_start[t->nvertex] == 0 ? scan(t, d) : climb(t, d, start);
    if (vertex != NULL)
        *vertex = best;
    return v4_load(t->vertex + 4 * best) * size;
}

/* vertex i of the unit cube is + along x, y, z where its bits 0, 1, 2 are set */
static v4 support_box(const tg_placed *s, v4 local, int *vertex)
{
    if (vertex != NULL)
        *vertex = (local[0] > 0) | (local[1] > 0) << 1 | (local[2] > 0) << 2;
    return v4_set(copysign(s->size[0], local[0] > 0 ? 1 : -1), copysign(s->size[1], local[1] > 0 ? 1 : -1),
                  copysign(s->size[2], local[2] > 0 ? 1 : -1), 0);
}

static v4 support_cylinder(const tg_placed *s, v4 local)
{
    double radial = sqrt(local[0] * local[0] + local[1] * local[1]);
    double scale = radial > 0 ? s->size[0] / radial : 0;
    return v4_set(scale * local[0], scale * local[1], local[2] > 0 ? s->size[1] : -s->size[1], 0);
}

static v4 support_ellipsoid(const tg_placed *s, v4 local)
{
    v4 r = v4_load(s->size), scaled = local * r;
    double h = sqrt(v4_dot(scaled, scaled));
    return h > 0 ? scaled * r * v4_splat(1 / h) : v4_set(s->size[0], 0, 0, 0);
}

v4 tg_support(const tg_placed *s, v4 d, int *vertex)
{
    v4 local = mat3_mul_t(s->R, d), p;
    int none = -1;
    switch (s->type)
    {
    case TG_GEOM_CAPSULE:
        p = v4_set(0, 0, local[2] > 0 ? s->size[1] : -s->size[1], 0);
        none = local[2] > 0;
        break;
    case TG_GEOM_ELLIPSOID:
        p = support_ellipsoid(s, local);
        break;
    case TG_GEOM_CYLINDER:
        p = support_cylinder(s, local);
        break;
    case TG_GEOM_BOX:
        return s->x + mat3_mul(s->R, support_box(s, local, vertex));
    case TG_GEOM_MESH:
        return s->x + mat3_mul(s->R, support_mesh(s, local, vertex));
    default: /* a sphere's centre */
        p = v4_zero();
        none = 0;
        break;
    }
    if (vertex != NULL)
        *vertex = none;
    return s->x + mat3_mul(s->R, p);
}
