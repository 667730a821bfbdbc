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

#include "collision/patch.h"
#include "collision/polytope.h"
#include "collision/surface.h"

#define LITTLE 1e-4 /* rad */
#define SAME 1e-9   /* rad: rounding */
#define LEANS 1e-3  /* rad: normals that differ by less are one: what lies on several tiles has a part on each */
#define FLAT 5e-11  /* 1 - cosine of 1e-5 rad (TG_PARALLEL): the normal of a face */
#define NEARLY 5e-5 /* 1 - cosine of 0.01 rad, what counts as lying on a face (polytope.c) */

/* ---- where a shape is met ---- */

static v4 turned(const tg_placed *from, const tg_placed *to, v4 d)
{
    return mat3_mul(to->R, mat3_mul_t(from->R, d));
}

static v4 carried(const tg_placed *from, const tg_placed *to, v4 x)
{
    return to->x + turned(from, to, x - from->x);
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
        v4 out = i == 0 ? t->normal : -t->normal, foot = t->point - out * v4_splat(0.5 * t->distance);
        return (tg_footing){shape, carried(&then, shape, foot), turned(&then, shape, out), q->slack};
    }
    v4 half = d * v4_splat(0.5 * c->distance), foot = c->point - half;
    if (c->when == TG_WHEN_OVER)
    {
        tg_placed then = tg_advanced(q, i), other = tg_advanced(q, 1 - i);
        v4 way = carried(&then, shape, surface_then(q, 1 - i, c->point + half, -d)) - foot;
        if (tg_held_by(c) == i)
            foot += way - d * v4_splat(v4_dot(d, way));
        else /* a face of the other shape comes over it, and will have turned */
            d = turned(&then, shape, turned(&q->shape[1 - i], &other, d));
    }
    return (tg_footing){shape, foot, d, q->slack};
}

/* ---- what covers it ---- */

/* The normal of the flat face of its shape that looks most along a footing's normal, and by how much that is tilted
 * from it, as 1 - cosine; false where the shape has none. */
static bool face_of(const tg_footing *f, v4 *normal, double *tilt)
{
    tg_region region = {.normal = f->normal};
    if (f->shape->type != TG_GEOM_PLANE && !tg_region_towards(f->shape, f->normal, &region))
        return false;
    *normal = region.normal;
    *tilt = 1 - v4_dot(region.normal, f->normal);
    return true;
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

/* A contact that is nearly on a face, on its edge, has a normal of its own: what stands on the face is above the
 * face. */
bool tg_is_below(const tg_footing *f, const tg_footing *face, v4 *m)
{
    double tilt, own;
    v4 other;
    if (!face_of(face, m, &tilt) || v4_dot(f->normal, *m) < -LITTLE)
        return false;
    if (!(tilt < FLAT || (tilt < NEARLY && (!face_of(f, &other, &own) || tilt < own))))
        return false;
    v4 direction = f->normal + *m * v4_splat(LITTLE);
    v4 highest = tg_support(f->shape, direction, NULL) + tg_unit(direction) * v4_splat(tg_rounding(f->shape));
    return v4_dot(*m, highest - face->point) <= f->slack;
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

/* ---- what takes its place ---- */

/* of two cores: what clips them has the ids that any other contact of the pair has */
static void clipped_points(const tg_query *q, int i, const tg_region *face, tg_patch *patch)
{
    tg_axis axis = {.normal = i == 0 ? face->normal : -face->normal, .margin = INFINITY};
    int vertex[2] = {0, 0};
    axis.separation = tg_separation_along(&q->shape[0], &q->shape[1], axis.normal, vertex);
    for (int k = 0; k < 2; k++)
        axis.vertex[k][0] = vertex[k];
    tg_clip(q, &axis, i, face->polygon, false, patch);
}

void tg_level_points(const tg_query *q, int i, v4 m, tg_patch *patch)
{
    const tg_placed *other = &q->shape[1 - i];
    tg_region face;
    if (!tg_region_towards(&q->shape[i], m, &face))
        return;
    v4 off = face.normal - m;
    if (v4_dot(off, off) > TG_PARALLEL * TG_PARALLEL)
        return;
    tg_gather gather;
    gather.count = 0;
    if (face.polygon >= 0 && tg_is_polytope(other))
        clipped_points(q, i, &face, patch);
    else if (other->type != TG_GEOM_SPHERE && other->type != TG_GEOM_ELLIPSOID)
        tg_points_over(q, &face, 1 - i, &gather);
    tg_take_points(&gather, patch);
}
