/* A pair that is apart and about to close gets the normal of where it will be, not of where it is: otherwise a body
 * is stopped by a side or a corner that it passes. The candidates are two, the normal now and the normal after dt.
 *
 * A normal that a flat face holds moves with the face, and its points are those that come over the face, brought
 * back to where they are now. Any other normal is taken as it is, with the support points of both shapes, and held
 * by the first shape where the derivative is concerned; its margin is zero. */
#include "collision/ahead.h"

#include <math.h>

#include "collision/curved.h"
#include "collision/polytope.h"
#include "collision/surface.h"

#define STILL_APART (-1e-4) /* m: shapes that overlap by less along a normal now are apart along it */
#define SAME 1e-6           /* rad: normals that differ by less are one */

static const tg_contact_point *deepest(const tg_patch *patch)
{
    const tg_contact_point *best = &patch->point[0];
    for (int i = 1; i < patch->count; i++)
        if (patch->point[i].distance < best->distance)
            best = &patch->point[i];
    return best;
}

/* which shape's flat face holds the normal of a point, -1: none */
static int held_by(const tg_contact_point *c)
{
    if (c->kind != TG_POINT_WITNESS)
        return c->reference;
    return c->surface[0].flat == 2 ? 0 : c->surface[1].flat == 2 ? 1 : -1;
}

/* from where shape p will be to where it is */
static v4 turn_back(const tg_placed *now, const tg_placed *then, v4 direction)
{
    return mat3_mul(now->R, mat3_mul_t(then->R, direction));
}

static v4 bring_back(const tg_placed *now, const tg_placed *then, v4 point)
{
    return now->x + turn_back(now, then, point - then->x);
}

tg_surface tg_support_surface(const tg_placed *p, v4 d)
{
    switch (p->type)
    {
    case TG_GEOM_SPHERE:
    case TG_GEOM_CAPSULE:
        return tg_surface_round(d, p->size[0]);
    case TG_GEOM_ELLIPSOID:
        return tg_surface_ellipsoid(p, d);
    case TG_GEOM_CYLINDER:
    {
        v4 axis = p->R.c[2], radial = d - axis * v4_splat(v4_dot(d, axis));
        double length = sqrt(v4_dot(radial, radial));
        return length > 1e-5 ? tg_surface_rim(axis, radial * v4_splat(1 / length), d, p->size[0]) : tg_surface_vertex();
    }
    default:
        return tg_surface_vertex();
    }
}

static bool is_vertex(const tg_surface *s)
{
    return s->flat == 0 &&
           v4_dot(s->S.c[0], s->S.c[0]) + v4_dot(s->S.c[1], s->S.c[1]) + v4_dot(s->S.c[2], s->S.c[2]) == 0;
}

static v4 rounded_support(const tg_placed *p, v4 d)
{
    return tg_support(p, d, NULL) + d * v4_splat(tg_rounding(p));
}

/* x on shape 1 - face, m and origin the plane of shape `face`, all as they are now */
static void add_over_face(const tg_query *q, int face, v4 m, v4 origin, v4 x, tg_surface surface, uint32_t feature,
                          tg_patch *patch)
{
    double distance = v4_dot(m, x - origin);
    if (!(distance < q->reach) || patch->count == TG_PATCH_MAX)
        return;
    tg_contact_point *c = &patch->point[patch->count++];
    *c = (tg_contact_point){.point = x - m * v4_splat(0.5 * distance),
                            .normal = face == 0 ? m : -m,
                            .distance = distance,
                            .margin = 0,
                            .feature = feature,
                            .kind = TG_POINT_WITNESS};
    c->surface[face] = tg_surface_face();
    c->surface[1 - face] = surface;
}

/* Points that come over a face, now. */
static void face_points(const tg_query *q, const tg_placed then[2], const tg_patch *ahead, int face, v4 n,
                        tg_patch *patch)
{
    const tg_placed *other = &q->shape[1 - face];
    v4 m = face == 0 ? n : -n;
    bool support = false;
    for (int i = 0; i < ahead->count; i++)
    {
        const tg_contact_point *c = &ahead->point[i];
        if (held_by(c) != face)
            continue;
        double side = face == 0 ? 0.5 : -0.5;
        v4 gap = c->normal * v4_splat(side * c->distance);
        v4 origin = bring_back(&q->shape[face], &then[face], c->point - gap);
        bool material = c->kind != TG_POINT_WITNESS || is_vertex(&c->surface[1 - face]);
        if (!material && support)
            continue;
        v4 x = material ? bring_back(other, &then[1 - face], c->point + gap) : rounded_support(other, -m);
        support = support || !material;
        add_over_face(q, face, m, origin, x, material ? tg_surface_vertex() : tg_support_surface(other, -m), c->feature,
                      patch);
    }
}

static void support_point(const tg_query *q, v4 n, uint32_t feature, tg_patch *patch)
{
    v4 a = rounded_support(&q->shape[0], n), b = rounded_support(&q->shape[1], -n);
    double distance = v4_dot(n, b - a);
    if (!(distance < q->reach))
        return;
    patch->point[patch->count++] =
        (tg_contact_point){.point = (a + b) * v4_splat(0.5),
                           .normal = n,
                           .distance = distance,
                           .margin = 0,
                           .feature = feature,
                           .kind = TG_POINT_WITNESS,
                           .surface = {tg_surface_face(), tg_support_surface(&q->shape[1], -n)}};
}

void tg_look_ahead(const tg_query *q, tg_narrow_function *find, tg_patch *patch)
{
    if (!(q->dt > 0) || patch->count == 0)
        return;
    const tg_contact_point *now = deepest(patch);
    tg_query then = *q;
    then.shape[0] = tg_advanced(q, 0);
    then.shape[1] = tg_advanced(q, 1);
    then.reach = INFINITY;
    then.dt = 0;
    then.hint = NULL;
    double after = tg_separation(&then.shape[0], &then.shape[1], now->normal);
    if (now->distance < STILL_APART || after >= 0)
        return;
    tg_patch ahead;
    ahead.count = 0;
    find(&then, &ahead);
    if (ahead.count == 0)
        return;
    const tg_contact_point *c = deepest(&ahead);
    int face = held_by(c);
    v4 n = face < 0 ? c->normal : turn_back(&q->shape[face], &then.shape[face], c->normal), off = n - now->normal;
    if (v4_dot(off, off) < SAME * SAME || !(c->distance > after))
        return;
    if (tg_separation(&q->shape[0], &q->shape[1], n) < STILL_APART)
        return;
    patch->count = 0;
    if (face >= 0)
        face_points(q, then.shape, &ahead, face, n, patch);
    else
        support_point(q, n, c->feature, patch);
}
