/* How a contact point moves with its two shapes.
 *
 * Witness points. a on the first surface, b on the second, b = a + Phi n. Seen from the first shape, with z the
 * displacement of the second shape's material, w = z(b), W = (its rotation) x n, and d = the change of n, all
 * tangential parts:
 *
 *     da = y1,  db = w - y2,  y1 = S1 d + E1 f1,  y2 = S2 (d - W) + E2 f2    (support points slide over their surfaces)
 *     b - a = Phi n   =>   (S1 + S2 + Phi) d + E1 f1 + E2 f2 = w + S2 W      (tangential)
 *     E1^T d = 0,  E2^T (d - W) = 0                                          (a flat direction holds the normal)
 *     dPhi = n . w
 *
 * E are the flat directions (faces two, edges one), f the sliding along them. With F = flat directions of both
 * together: none, and d comes from the first line; one, and d is known along it and comes from the first line across
 * it; two, and d is known.
 *
 * Clipped points. x = a point of an incident edge e where it meets a side plane (normal m) of the reference face:
 * seen from the reference shape dx = z(x) + S W + k e with m . dx = 0, and n is held (S: the curvature of the
 * incident surface, a cylinder that lies; zero for polytopes).
 *
 * Corners. w = a corner of the reference face, x = w + s Phi n (s = 1 where the first shape is the reference, -1
 * where it is the second) on the incident face of normal k: seen from the reference shape k . (s dPhi n - z(x)) = 0.
 *
 * Changed sizes move the material by a linear map x -> A x (its own frame); a face turns with it, dn = -A n,
 * tangential part, and stretches heights above it by n . A n. */
#include "collision/narrow_deriv.h"

#include <math.h>

#include "collision/ahead_motion.h"
#include "collision/surface.h"

/* What displaces and turns the two surfaces, seen from the first shape. */
typedef struct sources
{
    v4 shift;    /* of the second witness relative to the first, by material motion alone */
    v4 shift_a;  /* of the first witness (sizes) */
    v4 turn[2];  /* change of the normal that each surface's flat directions ask for */
    v4 rotation; /* W: what the second surface's curvature sees as a turned normal */
} sources;

static v4 tangential(v4 x, v4 n)
{
    return x - n * v4_splat(v4_dot(x, n));
}

/* How the normal follows: d = sum of to (of . rhs) over what is free + sum of held_to (held_of . turn of its surface).
 */
typedef struct normal_answer
{
    v4 to[2], of[2], held_to[2], held_of[2];
    int free, held, surface[2];
} normal_answer;

/* A flat direction of a surface, along which the change of the normal is known. */
static void hold(normal_answer *a, int surface, v4 direction)
{
    if (a->held == 2)
        return;
    if (a->held == 1) /* parallel edges hold one direction only */
    {
        v4 d = a->held_of[0];
        if (1 - fabs(v4_dot(d, direction)) < 1e-12)
            return;
    }
    a->held_of[a->held] = direction;
    a->surface[a->held++] = surface;
}

static void hold_flat_directions(const tg_contact_point *c, normal_answer *a)
{
    a->held = 0;
    for (int i = 0; i < 2; i++)
    {
        const tg_surface *f = &c->surface[i];
        if (f->flat == 1)
            hold(a, i, f->edge);
        if (f->flat == 2)
        {
            tg_tangents(c->normal, &a->held_of[0], &a->held_of[1]);
            a->surface[0] = a->surface[1] = i;
            a->held = 2;
        }
    }
}

/* (S1 + S2 + Phi) x */
static v4 stiffness(const tg_contact_point *c, v4 x)
{
    return tg_bend(&c->surface[0], x) + tg_bend(&c->surface[1], x) + x * v4_splat(c->distance);
}

/* to[i] such that sum of to[i] x_i has the products x_i with of[i]; zero where these are parallel */
static void dual_vectors(const v4 of[2], v4 to[2])
{
    v4 p = of[0], q = of[1];
    double pq = v4_dot(p, q), pp = v4_dot(p, p), qq = v4_dot(q, q), det = pp * qq - pq * pq;
    double inverse = fabs(det) > 1e-300 ? 1 / det : 0;
    to[0] = (p * v4_splat(qq) - q * v4_splat(pq)) * v4_splat(inverse);
    to[1] = (q * v4_splat(pp) - p * v4_splat(pq)) * v4_splat(inverse);
}

/* known along e; across it from t.(S + Phi) d = t.rhs */
static void answer_across(const tg_contact_point *c, v4 e, normal_answer *a)
{
    v4 t = v4_cross(c->normal, e), kt = stiffness(c, t);
    double k = v4_dot(t, kt), inverse = fabs(k) > 1e-300 ? 1 / k : 0;
    a->free = 1;
    a->of[0] = t;
    a->to[0] = t * v4_splat(inverse);
    a->held_to[0] = e - t * v4_splat(v4_dot(e, kt) * inverse);
}

static void answer_freely(const tg_contact_point *c, normal_answer *a)
{
    v4 t, u;
    tg_tangents(c->normal, &t, &u);
    v4 kt = stiffness(c, t), ku = stiffness(c, u);
    double tt = v4_dot(t, kt), tu = v4_dot(t, ku), uu = v4_dot(u, ku), det = tt * uu - tu * tu;
    double inverse = fabs(det) > 1e-300 ? 1 / det : 0;
    a->free = 2;
    a->of[0] = t;
    a->of[1] = u;
    a->to[0] = (t * v4_splat(uu) - u * v4_splat(tu)) * v4_splat(inverse);
    a->to[1] = (u * v4_splat(tt) - t * v4_splat(tu)) * v4_splat(inverse);
}

/* Two sharp features that touch (a vertex on a rim, two points in one place) have any normal: its change is then
 * zero. */
static void answer_of(const tg_contact_point *c, normal_answer *a)
{
    a->free = 0;
    hold_flat_directions(c, a);
    if (a->held == 2)
        dual_vectors(a->held_of, a->held_to);
    else if (a->held == 1)
        answer_across(c, a->held_of[0], a);
    else
        answer_freely(c, a);
}

static v4 change_of_normal(const normal_answer *a, v4 rhs, const v4 turn[2])
{
    v4 d = v4_zero();
    for (int i = 0; i < a->free; i++)
        d += a->to[i] * v4_splat(v4_dot(a->of[i], rhs));
    for (int i = 0; i < a->held; i++)
        d += a->held_to[i] * v4_splat(v4_dot(a->held_of[i], turn[a->surface[i]]));
    return d;
}

/* the part of x along the flat directions of one surface: the sliding that makes up the difference */
static void split_sliding(const tg_contact_point *c, v4 rest, v4 *slide_a)
{
    const tg_surface *a = &c->surface[0], *b = &c->surface[1];
    *slide_a = v4_zero();
    if (a->flat == 0)
        return;
    if (b->flat == 0) /* only a slides; rest lies along its flat directions */
        *slide_a = rest;
    else if (a->flat == 1 && b->flat == 1) /* rest = alpha e_a + beta e_b */
    {
        v4 nb = v4_cross(c->normal, b->edge);
        double det = v4_dot(nb, a->edge);
        if (fabs(det) > 1e-12)
            *slide_a = a->edge * v4_splat(v4_dot(nb, rest) / det);
    }
}

static tg_point_motion witness_motion(const tg_contact_point *c, const normal_answer *a, const sources *s)
{
    v4 n = c->normal;
    v4 rhs = tangential(s->shift, n) + tg_bend(&c->surface[1], s->rotation);
    tg_point_motion m;
    m.normal = change_of_normal(a, rhs, s->turn);
    m.distance = v4_dot(n, s->shift);
    v4 slide;
    split_sliding(c, rhs - stiffness(c, m.normal), &slide);
    v4 da = s->shift_a + tg_bend(&c->surface[0], m.normal) + slide;
    m.point = da + (n * v4_splat(m.distance) + m.normal * v4_splat(c->distance)) * v4_splat(0.5);
    return m;
}

/* Which side of the middle point the incident surface is on, in units of the distance along the normal. */
static double incident_side(const tg_contact_point *c)
{
    return c->reference == 0 ? 0.5 : -0.5;
}

static v4 incident_point(const tg_contact_point *c)
{
    return c->point + c->normal * v4_splat(incident_side(c) * c->distance);
}

/* Seen from the reference shape, whose material at the incident point moves by `base` and its normal by `turn`:
 * shift = displacement of the incident surface there. */
static tg_point_motion patch_motion(const tg_contact_point *c, v4 shift, v4 base, v4 turn)
{
    v4 n = c->normal, m = c->side_normal, relative = shift - base;
    double half = incident_side(c), sign = 2 * half;
    tg_point_motion motion = {.normal = turn};
    if (c->kind == TG_POINT_CORNER)
    {
        motion.distance = sign * v4_dot(m, relative) / v4_dot(m, n);
        motion.point = base + n * v4_splat(half * motion.distance);
        return motion;
    }
    double k = -v4_dot(m, relative) / v4_dot(m, c->incident_edge);
    v4 dx = relative + c->incident_edge * v4_splat(k);
    motion.distance = sign * v4_dot(n, dx);
    motion.point = base + dx - n * v4_splat(half * motion.distance);
    return motion;
}

static tg_point_motion patch_by_twist(const tg_contact_point *c, v4 shift, v4 turn)
{
    v4 at = shift + v4_cross(turn, incident_point(c) - c->point), W = v4_cross(turn, c->normal);
    int incident = 1 - c->reference;
    v4 slide = tg_bend(&c->surface[incident], W);
    if (c->reference == 0)
        return patch_motion(c, at + slide, v4_zero(), v4_zero());
    tg_point_motion m =
        patch_motion(c, slide - at, v4_zero(), v4_zero()); /* the first shape moves against the reference */
    m.point += shift;                                      /* then all with it */
    m.normal += W;
    return m;
}

static tg_point_motion witness_by_twist(const tg_contact_point *c, const normal_answer *a, v4 shift, v4 turn)
{
    v4 b = c->normal * v4_splat(0.5 * c->distance); /* second witness relative to the middle */
    v4 W = v4_cross(turn, c->normal);
    sources s = {.shift = shift + v4_cross(turn, b), .shift_a = v4_zero(), .rotation = W};
    s.turn[0] = v4_zero();
    s.turn[1] = W;
    return witness_motion(c, a, &s);
}

tg_point_motion tg_motion_by_twist(const tg_contact_point *c, v4 shift, v4 turn)
{
    if (tg_has_course(c))
        return tg_ahead_by_twist(c, shift, turn);
    if (c->kind != TG_POINT_WITNESS)
        return patch_by_twist(c, shift, turn);
    normal_answer a;
    answer_of(c, &a);
    return witness_by_twist(c, &a, shift, turn);
}

static const v4 zero = {0}, unit[3] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}};

/* The normal is that of a face of the first shape, whatever the second does: d = 0, and what is left of the relative
 * displacement is sliding over the face (two flat surfaces: it is open over which, and counts for the second). */
static bool is_on_face(const tg_contact_point *c)
{
    return c->kind == TG_POINT_WITNESS && c->surface[0].flat == 2 && c->surface[1].flat < 2;
}

static void motion_on_face(const tg_contact_point *c, tg_point_motion out[6])
{
    v4 n = c->normal, half = v4_splat(0.5 * c->distance);
    bool slides = c->surface[1].flat == 0;
    for (int i = 0; i < 3; i++)
    {
        v4 W = v4_cross(unit[i], n), along = unit[i] - n * v4_splat(n[i]),
           turned = half * W + tg_bend(&c->surface[1], W);
        out[i] = (tg_point_motion){(slides ? along : zero) + n * v4_splat(0.5 * n[i]), zero, n[i]};
        out[3 + i] = (tg_point_motion){slides ? turned : zero, zero, 0};
    }
}

void tg_motion_by_units(const tg_contact_point *c, tg_point_motion out[6])
{
    bool witness = c->kind == TG_POINT_WITNESS;
    if (is_on_face(c))
    {
        motion_on_face(c, out);
        return;
    }
    normal_answer a;
    if (witness)
        answer_of(c, &a);
    for (int i = 0; i < 3; i++)
    {
        out[i] = witness ? witness_by_twist(c, &a, unit[i], zero) : tg_motion_by_twist(c, unit[i], zero);
        out[3 + i] = witness ? witness_by_twist(c, &a, zero, unit[i]) : tg_motion_by_twist(c, zero, unit[i]);
    }
}

/* ---- transpose ---- */

/* split_sliding: from the gradient of slide_a to that of rest */
static v4 sliding_reverse(const tg_contact_point *c, v4 g)
{
    const tg_surface *a = &c->surface[0], *b = &c->surface[1];
    if (a->flat > 0 && b->flat == 0)
        return tangential(g, c->normal);
    if (a->flat != 1 || b->flat != 1)
        return v4_zero();
    v4 nb = v4_cross(c->normal, b->edge);
    double det = v4_dot(nb, a->edge);
    return fabs(det) > 1e-12 ? nb * v4_splat(v4_dot(a->edge, g) / det) : v4_zero();
}

/* shift and turn from the gradients of rhs, of W beside it, and of the distance */
static tg_twist_gradient gather_twist(const tg_contact_point *c, v4 rhs, v4 W, double distance)
{
    v4 n = c->normal, shift = tangential(rhs, n) + n * v4_splat(distance);
    return (tg_twist_gradient){shift,
                               v4_cross(n, W + tg_bend(&c->surface[1], rhs) + shift * v4_splat(0.5 * c->distance))};
}

/* witness_motion backwards, for a displacement of the second shape */
static tg_twist_gradient witness_reverse(const tg_contact_point *c, tg_point_motion g)
{
    v4 rest = sliding_reverse(c, g.point), rhs = rest, W = v4_zero();
    double distance = g.distance + 0.5 * v4_dot(c->normal, g.point);
    if (is_on_face(c))
        return gather_twist(c, rhs, W, distance);
    normal_answer a;
    answer_of(c, &a);
    v4 normal =
        g.normal + tg_bend(&c->surface[0], g.point) + g.point * v4_splat(0.5 * c->distance) - stiffness(c, rest);
    for (int i = 0; i < 2 && i < a.free; i++)
        rhs += a.of[i] * v4_splat(v4_dot(a.to[i], normal));
    for (int i = 0; i < 2 && i < a.held; i++)
        if (a.surface[i] == 1)
            W += a.held_of[i] * v4_splat(v4_dot(a.held_to[i], normal));
    return gather_twist(c, rhs, W, distance);
}

tg_twist_gradient tg_twist_reverse(const tg_contact_point *c, tg_point_motion g)
{
    if (c->kind == TG_POINT_WITNESS)
        return witness_reverse(c, g);
    tg_twist_gradient out = {v4_zero(), v4_zero()};
    tg_point_motion by[6];
    tg_motion_by_units(c, by);
    for (int i = 0; i < 3; i++)
    {
        out.shift[i] = v4_dot(g.point, by[i].point) + v4_dot(g.normal, by[i].normal) + g.distance * by[i].distance;
        out.turn[i] =
            v4_dot(g.point, by[3 + i].point) + v4_dot(g.normal, by[3 + i].normal) + g.distance * by[3 + i].distance;
    }
    return out;
}

/* ---- sizes ---- */

/* The diagonal of A, the linear map by which the material moves when size k grows: polytopes and cylinders. */
static v4 size_map(const tg_placed *p, int k)
{
    v4 A = v4_zero();
    switch (p->type)
    {
    case TG_GEOM_CYLINDER:
        if (k == 0)
            A = v4_set(1 / p->size[0], 1 / p->size[0], 0, 0);
        if (k == 1)
            A[2] = 1 / p->size[1];
        break;
    case TG_GEOM_BOX:
    case TG_GEOM_MESH:
        A[k] = 1 / p->size[k];
        break;
    case TG_GEOM_HFIELD: /* the base (k = 3) is flat below the surface */
        if (k < 3)
            A[k] = 1 / p->terrain->size[k];
        break;
    default:
        break;
    }
    return A;
}

/* d s / d r_k of the support point s = D d / h, D = diag(r^2), h = sqrt(d.D d) */
static v4 ellipsoid_size_shift(const tg_placed *p, v4 d, int k)
{
    v4 r = v4_load3(p->size), D = r * r;
    double h = sqrt(v4_dot(D * d, d));
    v4 u = D * d * v4_splat(-p->size[k] * d[k] * d[k] / (h * h * h));
    u[k] += 2 * p->size[k] * d[k] / h;
    return u;
}

/* Roundings move along the normal; a capsule's ends along its axis. */
v4 tg_size_shift(const tg_placed *p, v4 point, v4 outward, int k)
{
    v4 local = mat3_mul_t(p->R, point - p->x), d = mat3_mul_t(p->R, outward), u = v4_zero();
    switch (p->type)
    {
    case TG_GEOM_SPHERE:
        return k == 0 ? outward : v4_zero();
    case TG_GEOM_CAPSULE:
        if (k == 0)
            return outward;
        if (k == 1)
            u[2] = (local[2] - p->size[0] * d[2]) / p->size[1];
        break;
    case TG_GEOM_ELLIPSOID:
        u = ellipsoid_size_shift(p, d, k);
        break;
    default:
        u = size_map(p, k) * local;
        break;
    }
    return mat3_mul(p->R, u);
}

v4 tg_size_strain(const tg_placed *p, v4 n, int k)
{
    return mat3_mul(p->R, size_map(p, k) * mat3_mul_t(p->R, n));
}

static tg_point_motion patch_by_size(const tg_query *q, const tg_contact_point *c, int which, int k)
{
    const tg_placed *shape = &q->shape[which];
    v4 n = c->normal, outward = which == 0 ? n : -n, x = incident_point(c);
    if (which != c->reference)
        return patch_motion(c, tg_size_shift(shape, x, outward, k), v4_zero(), v4_zero());
    /* the reference stretches under x: its foot moves by `base`, its normal turns */
    v4 strain = tg_size_strain(shape, n, k), turn = -tangential(strain, n);
    double half = incident_side(c);
    v4 height = n * v4_splat(2 * half * c->distance), foot = x - height, base = tg_size_shift(shape, foot, outward, k);
    v4 lift = turn * v4_splat(2 * half * c->distance); /* how the turned normal moves the point above the foot */
    v4 slide = tg_bend(&c->surface[1 - which], turn) * v4_splat(-2 * half); /* and over the incident surface */
    if (c->kind == TG_POINT_CORNER)
    {
        tg_point_motion m = patch_motion(c, -lift, base, turn);
        m.point += lift * v4_splat(0.5);
        return m;
    }
    /* the incident point must stay on the side plane, which moves by base at the foot and turns with the normal */
    tg_point_motion m = patch_motion(c, slide - base - lift, v4_zero(), turn);
    m.point += base + lift * v4_splat(0.5);
    return m;
}

tg_point_motion tg_motion_by_size(const tg_query *q, const tg_contact_point *c, int which, int k)
{
    if (tg_has_course(c))
        return tg_ahead_by_size(q, c, which, k);
    if (c->kind != TG_POINT_WITNESS)
        return patch_by_size(q, c, which, k);
    const tg_placed *shape = &q->shape[which];
    double side = which == 0 ? -0.5 : 0.5;
    v4 at = c->point + c->normal * v4_splat(side * c->distance);
    v4 u = tg_size_shift(shape, at, which == 0 ? c->normal : -c->normal, k);
    sources s = {.shift = which == 0 ? -u : u, .shift_a = which == 0 ? u : v4_zero(), .rotation = v4_zero()};
    s.turn[0] = s.turn[1] = v4_zero();
    if (c->surface[which].flat > 0)
        s.turn[which] = -tangential(tg_size_strain(shape, c->normal, k), c->normal);
    normal_answer a;
    answer_of(c, &a);
    return witness_motion(c, &a, &s);
}
