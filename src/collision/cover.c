/* The surface of two shapes of one rigid body together is not the sum of theirs: what lies between them cannot be met. Let B and B' be tiles of a floor, side by side, and
 * a shape X stand on the face of B' with normal m. Its contact with B, with normal n at the point a of B, is one of B's edge or of its side, as B is not below X. With the part
 * of n that leans out of m,
 *
 *     l = n - (n . m) m,
 *
 * the union has no such normal at a if B' has material at a and at a + l (a small step along l): there the union goes on, in the direction in which B alone ends. And X, which stays above the face
 * of B', meets nothing of B that does not stand out above it: of B's points that n supports, the highest along m, the support point along n + (little) m, is not above the face.
 * A wall on a floor stands out. So does a step, of which no more than JOINED is left out. */
#include "collision/cover.h"

#include <math.h>

#include "collision/narrow.h"
#include "collision/surface.h"

#define JOINED 1e-4 /* m: what is nearer counts as touching; the overlap at which a pair counts as apart (ahead.c) */
#define LITTLE 1e-4 /* rad */
#define FLAT 5e-11  /* 1 - cosine of 1e-5 rad (TG_PARALLEL): the normal of a face */
#define NEARLY 5e-5 /* 1 - cosine of 0.01 rad, what counts as lying on a face (polytope.c) */

tg_footing tg_footing_of(const tg_contact_point *c, const tg_placed *shape, int i)
{
    v4 way = c->normal * v4_splat(c->distance);
    if (c->kind == TG_POINT_AHEAD)
        way += c->course.offset;
    v4 half = way * v4_splat(0.5);
    return (tg_footing){shape, i == 0 ? c->point - half : c->point + half, i == 0 ? c->normal : -c->normal};
}

static double mesh_tilt(const tg_placed *p, v4 local)
{
    double most = -1;
    for (int i = 0; i < p->polytope->npolygon; i++)
        most = tg_most(most, v4_dot(tg_scaled_normal(p, i), local));
    return 1 - most;
}

double tg_tilt(const tg_footing *f)
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
        return mesh_tilt(p, local);
    default:
        return 1;
    }
}

/* x is in the shape, or nearer than JOINED to its faces. */
static bool holds(const tg_placed *p, v4 x)
{
    v4 local = mat3_mul_t(p->R, x - p->x);
    switch (p->type)
    {
    case TG_GEOM_PLANE:
        return local[2] <= JOINED;
    case TG_GEOM_BOX:
        return fabs(local[0]) <= p->size[0] + JOINED && fabs(local[1]) <= p->size[1] + JOINED &&
               fabs(local[2]) <= p->size[2] + JOINED;
    case TG_GEOM_CYLINDER:
        return hypot(local[0], local[1]) <= p->size[0] + JOINED && fabs(local[2]) <= p->size[1] + JOINED;
    case TG_GEOM_MESH:
        break;
    default:
        return false;
    }
    const tg_polytope *t = p->polytope;
    for (int i = 0; i < t->npolygon; i++)
    {
        v4 corner = v4_load(t->vertex + 4 * t->polygon[t->polygon_start[i]]) * v4_load(p->size);
        if (v4_dot(tg_scaled_normal(p, i), local - corner) > JOINED)
            return false;
    }
    return t->npolygon > 0;
}

bool tg_is_covered(const tg_footing *f, double tilt, const tg_footing *cover, double cover_tilt)
{
    bool face = cover_tilt < FLAT, flatter = cover_tilt < NEARLY && cover_tilt < tilt;
    v4 n = f->normal, m = cover->normal, lean = n - m * v4_splat(v4_dot(n, m));
    double length = sqrt(v4_dot(lean, lean));
    if (!(face || flatter) || v4_dot(n, m) < -LITTLE || length < LITTLE * LITTLE)
        return false;
    v4 beside = f->point + lean * v4_splat(JOINED / length);
    if (!holds(cover->shape, f->point) || !holds(cover->shape, beside))
        return false;
    v4 direction = n + m * v4_splat(LITTLE);
    v4 highest = tg_support(f->shape, direction, NULL) + tg_unit(direction) * v4_splat(tg_rounding(f->shape));
    return v4_dot(m, highest - cover->point) <= JOINED;
}
