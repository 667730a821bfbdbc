/* The surface of two shapes of one rigid body together is not the sum of theirs: what lies between them cannot be met.
 * Let B and B' be tiles of a floor, side by side, and a shape X stand on the face of B' with normal m. Its contact with
 * B, with normal n at the point a of B, is one of B's edge or of its side, as B is not below X. With the part of n that
 * leans out of m,
 *
 *     l = n - (n . m) m,
 *
 * the union has no such normal at a if B' has material at a and at a + l (a small step along l): there the union goes
 * on, in the direction in which B alone ends. And X, which stays above the face of B', meets nothing of B that does not
 * stand out above it: of B's points that n supports, the highest along m, the support point along n + (little) m, is
 * not above the face. A wall on a floor stands out. So does a step, of which no more than the slack (0.1 mm) is left
 * out. */
#include "collision/cover.h"

#include <math.h>

#include "collision/polytope.h"
#include "collision/surface.h"

#define LITTLE 1e-4 /* rad */
#define SAME 1e-9   /* rad: rounding */
#define LEANS 1e-3  /* rad: normals that differ by less are one: what lies on several tiles has a part on each */
#define FLAT 5e-11  /* 1 - cosine of 1e-5 rad (TG_PARALLEL): the normal of a face */
#define NEARLY 5e-5 /* 1 - cosine of 0.01 rad, what counts as lying on a face (polytope.c) */

/* ---- where a shape is met ---- */

static v4 carried(const tg_placed *from, const tg_placed *to, v4 x)
{
    return to->x + mat3_mul(to->R, mat3_mul_t(from->R, x - from->x));
}

/* The surface point x of shape i with outward unit normal d, after dt: what is round turns under it. */
static v4 surface_then(const tg_query *q, int i, v4 x, v4 d)
{
    const tg_placed *now = &q->shape[i];
    tg_placed then = tg_advanced(q, i);
    if (now->type == TG_GEOM_ELLIPSOID)
        return tg_support(&then, d, NULL);
    v4 axis = now->R.c[2], across = d - axis * v4_splat(v4_dot(d, axis));
    double side = sqrt(v4_dot(across, across)), r = tg_rounding(now);
    v4 round = d * v4_splat(r);
    if (now->type == TG_GEOM_CYLINDER && side > 0.5)
        round = across * v4_splat(now->size[0] / side);
    return carried(now, &then, x - round) + round;
}

tg_footing tg_footing_of(const tg_query *q, const tg_contact_point *c, int i)
{
    const tg_placed *shape = &q->shape[i];
    v4 d = i == 0 ? c->normal : -c->normal;
    if (c->when == TG_WHEN_THERE)
    {
        const tg_there *t = &c->course.there;
        tg_placed then = tg_advanced(q, i);
        v4 half = t->normal * v4_splat(i == 0 ? -0.5 * t->distance : 0.5 * t->distance);
        return (tg_footing){shape, carried(&then, shape, t->point + half), d, q->slack};
    }
    v4 half = d * v4_splat(0.5 * c->distance), foot = c->point - half;
    if (c->when == TG_WHEN_OVER)
    {
        tg_placed then = tg_advanced(q, i);
        v4 way = carried(&then, shape, surface_then(q, 1 - i, c->point + half, -d)) - foot;
        foot += way - d * v4_splat(v4_dot(d, way));
    }
    return (tg_footing){shape, foot, d, q->slack};
}

/* ---- what covers it ---- */

static double mesh_tilt(const tg_placed *p, v4 normal, v4 local)
{
    int vertex = 0;
    double cosine = -1, second;
    tg_support(p, normal, &vertex);
    if (tg_has_polygons(p))
        tg_facing_polygon(p, vertex, local, &cosine, &second);
    return 1 - cosine;
}

/* How far the normal of a footing is from that of a flat face of its shape, as 1 - cosine; 1 where it has none. */
static double tilt_of(const tg_footing *f)
{
    const tg_placed *p = f->shape;
    v4 local = mat3_mul_t(p->R, f->normal);
    switch (p->type)
    {
    case TG_GEOM_PLANE:
        return 0;
    case TG_GEOM_BOX:
        return 1 - tg_most(tg_most(fabs(local[0]), fabs(local[1])), fabs(local[2]));
    case TG_GEOM_CYLINDER:
        return 1 - fabs(local[2]);
    case TG_GEOM_MESH:
        return mesh_tilt(p, f->normal, local);
    default:
        return 1;
    }
}

/* With n0 . x <= h for a polygon and S the scale, n ~ S^-1 n0: x is above it by (n0 . S^-1 x - h) / |S^-1 n0|. */
static bool mesh_holds(const tg_placed *p, v4 x, double slack)
{
    const tg_polytope *t = p->polytope;
    v4 inverse = v4_set(1 / p->size[0], 1 / p->size[1], 1 / p->size[2], 0), at = x * inverse;
    at[3] = -1;
    for (int i = 0; i < t->npolygon; i++)
    {
        v4 plane = v4_load(t->normal + 4 * i), m = plane * inverse;
        double above = v4_dot(plane, at);
        if (above > 0 && above > slack * sqrt(v4_dot(m, m)))
            return false;
    }
    return t->npolygon > 0;
}

bool tg_holds(const tg_placed *p, v4 x, double slack)
{
    v4 local = mat3_mul_t(p->R, x - p->x);
    switch (p->type)
    {
    case TG_GEOM_PLANE:
        return local[2] <= slack;
    case TG_GEOM_BOX:
        return fabs(local[0]) <= p->size[0] + slack && fabs(local[1]) <= p->size[1] + slack &&
               fabs(local[2]) <= p->size[2] + slack;
    case TG_GEOM_CYLINDER:
        return sqrt(local[0] * local[0] + local[1] * local[1]) <= p->size[0] + slack &&
               fabs(local[2]) <= p->size[1] + slack;
    case TG_GEOM_MESH:
        break;
    default:
        return false;
    }
    return mesh_holds(p, local, slack);
}

bool tg_is_below(const tg_footing *f, const tg_footing *face)
{
    double tilt = tilt_of(face);
    if (!(tilt < FLAT || (tilt < NEARLY && tilt < tilt_of(f))) || v4_dot(f->normal, face->normal) < -LITTLE)
        return false;
    v4 direction = f->normal + face->normal * v4_splat(LITTLE);
    v4 highest = tg_support(f->shape, direction, NULL) + tg_unit(direction) * v4_splat(tg_rounding(f->shape));
    return v4_dot(face->normal, highest - face->point) <= f->slack;
}

static v4 leaning(const tg_footing *f, v4 m)
{
    return f->normal - m * v4_splat(v4_dot(f->normal, m));
}

bool tg_leans(const tg_footing *f, v4 m)
{
    v4 lean = leaning(f, m);
    return v4_dot(lean, lean) > LEANS * LEANS;
}

bool tg_goes_on(const tg_footing *f, v4 m, const tg_placed *neighbour)
{
    v4 lean = leaning(f, m);
    double length = sqrt(v4_dot(lean, lean));
    return length > SAME && tg_holds(neighbour, f->point, f->slack) &&
           tg_holds(neighbour, f->point + lean * v4_splat(f->slack / length), f->slack);
}
