/* A pair that is apart and about to close gets the normal of where it will be, not of where it is: otherwise a body
 * is stopped by a side or a corner that it passes. The candidates are two, the normal now and the normal after dt.
 *
 * A normal that a flat face holds moves with the face, and its points are those that come over the face, brought
 * back to where they are now: points of the material (vertices, points where edges and rims cross the face's sides,
 * points over its corners), rounded or bent by the shape as it is now.
 *
 * Two lines (edges, sides of capsules and cylinders) hold a normal as well: it is that of the lines as they are now.
 * Any other normal is taken as it will be. Its points now are the support points of the two shapes along it; on a
 * line, which has no one support point, the point opposite to that of the other shape. */
#include "collision/ahead.h"

#include <math.h>

#include "collision/ahead_motion.h"
#include "collision/curved.h"
#include "collision/polytope.h"
#include "collision/surface.h"

#define PASSING 0.1 /* of the slack: ten times the offsets of a floor's tiles that count as none */
#define SLOPE 0.1   /* of the way in dt */
#define SAME 1e-6   /* rad: normals that differ by less are one */
#define LEVEL 0.03  /* rad: lines that are closer to parallel cross too far away */

static const tg_contact_point *deepest(const tg_patch *patch)
{
    const tg_contact_point *best = &patch->point[0];
    for (int i = 1; i < patch->count; i++)
        if (patch->point[i].distance < best->distance)
            best = &patch->point[i];
    return best;
}

/* by how much the other points of a patch are less deep */
static double lead_of(const tg_patch *patch, const tg_contact_point *c)
{
    double lead = INFINITY;
    for (int i = 0; i < patch->count; i++)
        if (&patch->point[i] != c)
            lead = tg_least(lead, patch->point[i].distance - c->distance);
    return lead;
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
        return tg_surface_round(p->size[0]);
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

static v4 outward(const tg_contact_point *c, int i)
{
    return i == 0 ? c->normal : -c->normal;
}

static v4 rounded_support(const tg_placed *p, v4 d)
{
    return tg_support(p, d, NULL) + d * v4_splat(tg_rounding(p));
}

/* ---- a normal that a face holds ---- */

/* The unit vector of a cylinder's side that looks along d; false where its axis does, to 1e-5. */
static bool radial_towards(const tg_placed *p, v4 d, v4 *radial)
{
    v4 across = d - p->R.c[2] * v4_splat(v4_dot(d, p->R.c[2]));
    double length = sqrt(v4_dot(across, across));
    *radial = across * v4_splat(1 / length);
    return length > 1e-5;
}

/* A surface point x of a shape there with outward normal d, as it is now with outward normal e: rounded shapes and the
 * side of a cylinder turn under it (their axis is what is brought back), an ellipsoid has its support point, all other
 * points are material. */
static v4 surface_now(const tg_placed *now, const tg_placed *then, v4 x, v4 d, bool side, v4 e, tg_surface *surface)
{
    v4 there, here;
    double r = now->size[0];
    if (now->type == TG_GEOM_CYLINDER && side && radial_towards(then, d, &there) && radial_towards(now, e, &here))
    {
        *surface = tg_surface_rim(now->R.c[2], here, e, r);
        return bring_back(now, then, x - there * v4_splat(r)) + here * v4_splat(r);
    }
    if (now->type == TG_GEOM_SPHERE || now->type == TG_GEOM_CAPSULE)
    {
        *surface = tg_surface_round(r);
        return bring_back(now, then, x - d * v4_splat(r)) + e * v4_splat(r);
    }
    *surface = now->type == TG_GEOM_ELLIPSOID ? tg_surface_ellipsoid(now, e) : tg_surface_vertex();
    return now->type == TG_GEOM_ELLIPSOID ? rounded_support(now, e) : bring_back(now, then, x);
}

/* The point that comes over a face of normal n, now. */
static void add_over_face(const tg_query *q, const tg_placed then[2], const tg_contact_point *there, int face, v4 n,
                          double margin, tg_patch *patch)
{
    int other = 1 - face;
    v4 m = face == 0 ? n : -n, gap = outward(there, face) * v4_splat(0.5 * there->distance);
    v4 origin = bring_back(&q->shape[face], &then[face], there->point - gap);
    tg_surface surface;
    v4 x = surface_now(&q->shape[other], &then[other], there->point + gap, outward(there, other),
                       there->surface[other].bend != 0, -m, &surface);
    double distance = v4_dot(m, x - origin);
    if (!(distance < q->reach) || patch->count == TG_PATCH_MAX)
        return;
    tg_contact_point *c = &patch->point[patch->count++];
    tg_init_point(c, x - m * v4_splat(0.5 * distance), n, distance, tg_least(margin, there->margin), there->feature);
    c->reference = face;
    c->surface[face] = tg_surface_face();
    c->surface[other] = surface;
    if (!(there->kind == TG_POINT_WITNESS && (there->surface[other].bend == 0 || surface.bend != 0)))
        c->kind = TG_POINT_SLIDING; /* otherwise its place in its shape does not depend on where the shapes will be */
    tg_set_course(q, then, there, c);
}

/* ---- a normal that no face holds ---- */

/* A line that holds the normal, now: the axis of a capsule or cylinder of radius r, or an edge, r = 0. */
typedef struct held_line
{
    bool is;
    v4 x, axis;
    double r;
} held_line;

static held_line line_of(const tg_query *q, const tg_placed then[2], const tg_contact_point *there, int i)
{
    const tg_surface *s = &there->surface[i];
    double r = s->round;
    v4 d = outward(there, i), core = there->point - d * v4_splat(0.5 * there->distance + r);
    return (held_line){s->flat == 1, bring_back(&q->shape[i], &then[i], core),
                       turn_back(&q->shape[i], &then[i], s->edge), r};
}

/* Whether a point of a line is one of the shape: lines end. Beyond, a shape that turns far until it comes close would
 * be met where it is not. */
static bool is_on_shape(const tg_query *q, int i, v4 axis, v4 x)
{
    const tg_placed *p = &q->shape[i];
    double at = v4_dot(axis, x), high = v4_dot(axis, tg_support(p, axis, NULL)),
           low = v4_dot(axis, tg_support(p, -axis, NULL));
    return at <= high + q->slack && at >= low - q->slack;
}

/* Two lines that are not parallel, now: their common normal, and where they cross seen along it. */
static bool add_crossing(const tg_query *q, const tg_placed then[2], const held_line line[2],
                         const tg_contact_point *there, double margin, tg_patch *patch)
{
    v4 N = v4_cross(line[0].axis, line[1].axis), D = line[1].x - line[0].x;
    double det = v4_dot(N, N), sign = v4_dot(N, there->normal) < 0 ? -1 : 1;
    if (det < LEVEL * LEVEL)
        return false;
    v4 n = N * v4_splat(sign / sqrt(det));
    v4 a = line[0].x + line[0].axis * v4_splat(v4_dot(v4_cross(D, line[1].axis), N) / det) + n * v4_splat(line[0].r);
    double distance = v4_dot(n, D) - line[0].r - line[1].r;
    if (!is_on_shape(q, 0, line[0].axis, a) || !is_on_shape(q, 1, line[1].axis, a + n * v4_splat(distance)))
        return false;
    if (distance < q->reach)
    {
        tg_contact_point *c = &patch->point[patch->count++];
        tg_init_point(c, a + n * v4_splat(0.5 * distance), n, distance, margin, there->feature);
        for (int i = 0; i < 2; i++)
            c->surface[i] = tg_surface_edge(line[i].axis, line[i].r);
        tg_set_course(q, then, there, c);
    }
    return true;
}

/* The points of two surfaces along the normal there, of which one may be on a line: then opposite to the other. */
static void surface_points(const tg_query *q, const held_line line[2], const tg_contact_point *there, v4 x[2],
                           tg_surface surface[2])
{
    for (int i = 0; i < 2; i++)
    {
        v4 d = outward(there, i);
        surface[i] = line[i].is ? tg_surface_round(line[i].r) : tg_support_surface(&q->shape[i], d);
        x[i] = line[i].is ? line[i].x + d * v4_splat(line[i].r) : rounded_support(&q->shape[i], d);
    }
    int i = line[0].is ? 0 : 1;
    if (!line[i].is)
        return;
    x[i] += line[i].axis * v4_splat(v4_dot(line[i].axis, x[1 - i] - x[i]));
    surface[i].flat = 1;
    surface[i].edge = line[i].axis;
    if (line[1 - i].is)
        surface[1 - i].edge = line[1 - i].axis;
}

static void add_as_there(const tg_query *q, const tg_placed then[2], const held_line line[2],
                         const tg_contact_point *there, double margin, tg_patch *patch)
{
    tg_contact_point c = {.normal = there->normal, .margin = margin, .feature = there->feature, .kind = TG_POINT_AHEAD};
    v4 x[2];
    surface_points(q, line, there, x, c.surface);
    for (int i = 0; i < 2; i++)
        if (line[i].is && !is_on_shape(q, i, line[i].axis, x[i]))
        {
            surface_points(q, (const held_line[2]){{.is = false}, {.is = false}}, there, x, c.surface);
            break;
        }
    c.distance = v4_dot(c.normal, x[1] - x[0]);
    c.point = (x[0] + x[1]) * v4_splat(0.5);
    if (!(c.distance < q->reach))
        return;
    c.course.offset = x[1] - x[0] - c.normal * v4_splat(c.distance);
    tg_set_course(q, then, there, &c);
    patch->point[patch->count++] = c;
}

void tg_add_ahead(const tg_query *q, const tg_placed then[2], const tg_contact_point *there, double margin,
                  tg_patch *patch)
{
    held_line line[2] = {line_of(q, then, there, 0), line_of(q, then, there, 1)};
    margin = tg_least(margin, there->margin);
    if (!(line[0].is && line[1].is && add_crossing(q, then, line, there, margin, patch)))
        add_as_there(q, then, line, there, margin, patch);
}

void tg_add_as_there(const tg_query *q, const tg_placed then[2], const tg_contact_point *there, double margin,
                     tg_patch *patch)
{
    held_line line[2] = {line_of(q, then, there, 0), line_of(q, then, there, 1)};
    add_as_there(q, then, line, there, tg_least(margin, there->margin), patch);
}

/* ---- the choice ---- */

double tg_passing(const tg_query *q, double closer)
{
    v4 way = (q->velocity[1] - q->velocity[0]) * v4_splat(q->dt);
    return tg_least(PASSING * q->slack, SLOPE * sqrt(v4_dot(way, way))) - closer;
}

static void limit_margins(tg_patch *patch, double margin)
{
    for (int i = 0; i < patch->count; i++)
        patch->point[i].margin = tg_least(patch->point[i].margin, margin);
}

void tg_look_ahead(const tg_query *q, tg_narrow_function *find, tg_patch *patch)
{
    if (!(q->dt > 0) || patch->count == 0)
        return;
    const tg_contact_point *now = deepest(patch);
    if (now->distance < -q->slack)
        return;
    tg_query then = *q;
    then.shape[0] = tg_advanced(q, 0);
    then.shape[1] = tg_advanced(q, 1);
    then.reach = INFINITY;
    then.dt = 0;
    then.hint = NULL;
    double after = tg_separation(&then.shape[0], &then.shape[1], now->normal);
    double stays = tg_most(after, tg_passing(q, now->distance - after));
    if (stays >= TG_AT_EDGE * q->slack)
    {
        limit_margins(patch, stays); /* beyond it another normal might be chosen */
        return;
    }
    tg_patch ahead;
    ahead.count = 0;
    find(&then, &ahead);
    if (ahead.count == 0)
        return;
    const tg_contact_point *c = deepest(&ahead);
    int face = tg_held_by(c);
    v4 n = face < 0 ? c->normal : turn_back(&q->shape[face], &then.shape[face], c->normal), off = n - now->normal;
    if (v4_dot(off, off) < SAME * SAME || !(c->distance > after))
        return;
    double apart = tg_separation(&q->shape[0], &q->shape[1], n) + q->slack, margin = tg_least(fabs(stays), fabs(apart));
    if (stays >= 0 || apart < 0)
    {
        limit_margins(patch, margin);
        return;
    }
    patch->count = 0;
    if (face < 0)
        tg_add_ahead(q, then.shape, c, tg_least(margin, lead_of(&ahead, c)), patch);
    for (int i = 0; i < ahead.count && face >= 0; i++)
        if (tg_held_by(&ahead.point[i]) == face)
            add_over_face(q, then.shape, &ahead.point[i], face, n, margin, patch);
}
