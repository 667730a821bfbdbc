/* How contacts that depend on where the shapes will be follow them, by the chain rule: from the motion of the contact
 * there (narrow_deriv.c) to that of the contact now.
 *
 * Points ahead. n is the normal there; a and b are support points along it, b - a = Phi n + o:
 *
 *     da = S1 dn,  db = z(b) - S2 (dn - W),  dPhi = n . z(b) + o . dn
 *
 * A point on a line (axis e) is the one opposite to the other shape's, e . (b - a) = 0, and slides along e. Where both
 * are on lines, the other one has its place on its line from there, and slides as it does there.
 *
 * Sliding points. x, on the incident shape, will come over the reference face. There it is a crossing of an edge or a
 * rim with a side, or lies over a corner: a point that slides over its own material, by y. With B the rotation of the
 * incident shape from there to now, d its outward normal, m the normal of the face now, f a point of it:
 *
 *     dx = z(x) + S (dd - W x d) + B y,  Phi = m . (x - f)
 *
 * y is how the point there moves, less what moves by the material and, where the point now has a curvature of its own,
 * by the curvature there. */
#include "collision/ahead_motion.h"

#include <math.h>

#include "collision/polytope.h"
#include "collision/surface.h"

/* ---- the contact there ---- */

/* The shape whose point has its place from there; -1: none. */
static int placed_shape(const tg_contact_point *c, const tg_surface there[2])
{
    if (c->kind == TG_POINT_SLIDING)
        return 1 - c->reference;
    bool lines = there[0].flat == 1 && there[1].flat == 1;
    return !lines ? -1 : c->surface[0].flat == 1 ? 1 : 0;
}

void tg_set_course(const tg_query *q, const tg_placed then[2], const tg_contact_point *there, tg_contact_point *c)
{
    c->when = TG_WHEN_THERE;
    c->course.there = (tg_there){.point = there->point,
                                 .normal = there->normal,
                                 .distance = there->distance,
                                 .kind = there->kind,
                                 .reference = there->reference,
                                 .surface = {there->surface[0], there->surface[1]},
                                 .incident_edge = there->incident_edge,
                                 .side_normal = there->side_normal};
    int which = placed_shape(c, there->surface);
    c->course.back = which < 0 ? mat3_identity() : mat3_product(q->shape[which].R, mat3_transpose(then[which].R));
}

static tg_contact_point contact_there(const tg_contact_point *c)
{
    const tg_there *t = &c->course.there;
    return (tg_contact_point){.point = t->point,
                              .normal = t->normal,
                              .distance = t->distance,
                              .kind = t->kind,
                              .reference = t->reference,
                              .surface = {t->surface[0], t->surface[1]},
                              .incident_edge = t->incident_edge,
                              .side_normal = t->side_normal};
}

static v4 outward(const tg_contact_point *c, int which)
{
    return which == 0 ? c->normal : -c->normal;
}

/* the surface point of shape `which`; not of kind AHEAD */
static v4 surface_point(const tg_contact_point *c, int which)
{
    return c->point - outward(c, which) * v4_splat(0.5 * c->distance);
}

/* What a contact has from there: the change of the normal, and how the point that has its place from there slides over
 * its material, turned back to now. */
typedef struct change_there
{
    v4 normal, slide;
} change_there;

/* When the contact there moves by m, the material at the surface point of the placed shape by `material`, and this
 * shape turns by `turn`. */
static change_there change_of(const tg_contact_point *c, const tg_contact_point *there, const tg_point_motion *m,
                              v4 material, v4 turn)
{
    int which = placed_shape(c, there->surface);
    if (which < 0)
        return (change_there){m->normal, v4_zero()};
    double sign = which == 0 ? -0.5 : 0.5;
    v4 d = outward(there, which), dd = which == 0 ? m->normal : -m->normal;
    v4 dx = m->point + (there->normal * v4_splat(m->distance) + m->normal * v4_splat(there->distance)) * v4_splat(sign);
    v4 slide = dx - material;
    if (c->surface[which].round != 0 || c->surface[which].bend != 0)
        slide -= tg_bend(&there->surface[which], dd - v4_cross(turn, d));
    return (change_there){m->normal, mat3_mul(c->course.back, slide)};
}

/* When where the second shape will be is displaced by `shift` at the contact point c->point and by the rotation `turn`,
 * that of the first held. */
static change_there change_by_twist(const tg_contact_point *c, v4 shift, v4 turn)
{
    tg_contact_point there = contact_there(c);
    tg_point_motion m = tg_motion_by_twist(&there, shift + v4_cross(turn, there.point - c->point), turn);
    if (placed_shape(c, there.surface) != 1)
        return change_of(c, &there, &m, v4_zero(), v4_zero());
    return change_of(c, &there, &m, shift + v4_cross(turn, surface_point(&there, 1) - c->point), turn);
}

/* When size k of shape `which` grows. */
static change_there change_by_size(const tg_query *then, const tg_contact_point *c, int which, int k)
{
    tg_contact_point there = contact_there(c);
    tg_point_motion m = tg_motion_by_size(then, &there, which, k);
    v4 material = v4_zero();
    if (placed_shape(c, there.surface) == which)
        material = tg_size_shift(&then->shape[which], surface_point(&there, which), outward(&there, which), k);
    return change_of(c, &there, &m, material, v4_zero());
}

/* ---- points ahead ---- */

/* half of the way from the first surface point to the second */
static v4 half_way(const tg_contact_point *c)
{
    return (c->normal * v4_splat(c->distance) + c->course.offset) * v4_splat(0.5);
}

/* What changes now: displacements of the material at the two points; the second shape turns by `turn`; bend: the change
 * of the direction of the line that is flat. */
typedef struct change_now
{
    v4 shift[2], turn, bend;
} change_now;

static tg_point_motion ahead_motion(const tg_contact_point *c, const change_there *t, const change_now *d)
{
    v4 n = c->normal, way = half_way(c) * v4_splat(2), dx[2] = {d->shift[0], d->shift[1]};
    tg_point_motion m = {.normal = t->normal, .distance = v4_dot(t->normal, c->course.offset)};
    dx[0] += tg_bend(&c->surface[0], t->normal);
    dx[1] -= tg_bend(&c->surface[1], t->normal - v4_cross(d->turn, n));
    for (int i = 0; i < 2; i++)
        if (c->surface[i].flat == 1)
        {
            v4 e = c->surface[i].edge, f = c->surface[1 - i].edge;
            dx[1 - i] += f * v4_splat(v4_dot(f, t->slide));
            double apart = v4_dot(e, dx[1] - dx[0]) + v4_dot(d->bend, way);
            dx[i] += e * v4_splat(i == 0 ? apart : -apart);
        }
    m.distance += v4_dot(n, dx[1] - dx[0]);
    m.point = (dx[0] + dx[1]) * v4_splat(0.5);
    return m;
}

static tg_point_motion point_ahead_by_twist(const tg_contact_point *c, v4 shift, v4 turn)
{
    change_there t = change_by_twist(c, shift, turn);
    change_now d = {.shift[1] = shift + v4_cross(turn, half_way(c)), .turn = turn};
    if (c->surface[1].flat == 1)
        d.bend = v4_cross(turn, c->surface[1].edge);
    return ahead_motion(c, &t, &d);
}

static tg_point_motion point_ahead_by_size(const tg_query *q, const tg_contact_point *c, const change_there *t,
                                           int which, int k)
{
    change_now d = {.turn = v4_zero()};
    v4 at = c->point + (which == 0 ? -half_way(c) : half_way(c));
    d.shift[which] = tg_size_shift(&q->shape[which], at, outward(c, which), k);
    if (c->surface[which].flat == 1)
        d.bend = tg_size_strain(&q->shape[which], c->surface[which].edge, k);
    return ahead_motion(c, t, &d);
}

/* ---- sliding points ---- */

/* Seen from the reference shape: the incident point moves by dx, the face by `base` at the point's foot, its outward
 * normal by turn. */
static tg_point_motion over_face(const tg_contact_point *c, v4 dx, v4 base, v4 turn)
{
    v4 m = outward(c, c->reference);
    double rise = v4_dot(m, dx - base);
    return (tg_point_motion){.point = dx - (m * v4_splat(rise) + turn * v4_splat(c->distance)) * v4_splat(0.5),
                             .normal = c->reference == 0 ? turn : -turn,
                             .distance = rise};
}

static tg_point_motion sliding_by_twist(const tg_contact_point *c, v4 shift, v4 turn)
{
    int incident = 1 - c->reference;
    v4 W = v4_cross(turn, c->normal), at = shift + v4_cross(turn, surface_point(c, incident) - c->point);
    v4 slide = change_by_twist(c, shift, turn).slide + tg_bend(&c->surface[incident], W);
    if (incident == 1)
        return over_face(c, at + slide, v4_zero(), v4_zero());
    tg_point_motion m =
        over_face(c, slide - at, v4_zero(), v4_zero()); /* the first shape moves against the reference */
    m.point += shift;                                   /* then all with it */
    m.normal += W;
    return m;
}

static tg_point_motion sliding_by_size(const tg_query *q, const tg_contact_point *c, v4 slide, int which, int k)
{
    const tg_placed *shape = &q->shape[which];
    int incident = 1 - c->reference;
    v4 m = outward(c, c->reference);
    if (which == incident)
        return over_face(c, tg_size_shift(shape, surface_point(c, incident), -m, k) + slide, v4_zero(), v4_zero());
    v4 strain = tg_size_strain(shape, m, k), turn = m * v4_splat(v4_dot(m, strain)) - strain;
    v4 base = tg_size_shift(shape, surface_point(c, which), m, k);
    return over_face(c, slide - tg_bend(&c->surface[incident], turn), base, turn);
}

/* ---- both ---- */

tg_point_motion tg_ahead_by_twist(const tg_contact_point *c, v4 shift, v4 turn)
{
    return c->kind == TG_POINT_SLIDING ? sliding_by_twist(c, shift, turn) : point_ahead_by_twist(c, shift, turn);
}

tg_point_motion tg_ahead_by_size(const tg_query *q, const tg_contact_point *c, int which, int k)
{
    tg_query then = *q;
    then.shape[0] = tg_advanced(q, 0);
    then.shape[1] = tg_advanced(q, 1);
    change_there t = change_by_size(&then, c, which, k);
    return c->kind == TG_POINT_SLIDING ? sliding_by_size(q, c, t.slide, which, k)
                                       : point_ahead_by_size(q, c, &t, which, k);
}

/* Where the first shape will be is displaced: all there with it, the second back. */
tg_point_motion tg_motion_by_course(const tg_contact_point *c, int which, v4 shift, v4 turn)
{
    if (!tg_has_course(c))
        return (tg_point_motion){0};
    change_there t = which == 1 ? change_by_twist(c, shift, turn) : change_by_twist(c, -shift, -turn);
    if (c->kind == TG_POINT_SLIDING)
        return over_face(c, t.slide, v4_zero(), v4_zero());
    if (which == 0)
        t.normal += v4_cross(turn, c->normal);
    change_now none = {.turn = v4_zero()};
    return ahead_motion(c, &t, &none);
}
