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

/* Flat directions of both surfaces, and what the change of the normal must be along each. */
typedef struct held
{
    int count;
    v4 direction[2];
    double value[2];
    int surface[2]; /* whose direction it is */
} held;

static void hold(held *h, int surface, v4 direction, double value)
{
    if (h->count == 2)
        return;
    if (h->count == 1) /* parallel edges hold one direction only */
    {
        v4 d = h->direction[0];
        if (1 - fabs(v4_dot(d, direction)) < 1e-12)
            return;
    }
    h->direction[h->count] = direction;
    h->surface[h->count] = surface;
    h->value[h->count++] = value;
}

static held flat_directions(const tg_contact_point *c, const sources *s)
{
    held h = {0};
    for (int i = 0; i < 2; i++)
    {
        const tg_surface *f = &c->surface[i];
        if (f->flat == 1)
            hold(&h, i, f->edge, v4_dot(f->edge, s->turn[i]));
        if (f->flat == 2)
        {
            v4 t = tg_orthogonal(c->normal), u = v4_cross(c->normal, t);
            h.count = 0;
            hold(&h, i, t, v4_dot(t, s->turn[i]));
            hold(&h, i, u, v4_dot(u, s->turn[i]));
        }
    }
    return h;
}

/* (S1 + S2 + Phi) x */
static v4 stiffness(const tg_contact_point *c, v4 x)
{
    return tg_bend(&c->surface[0], x) + tg_bend(&c->surface[1], x) + x * v4_splat(c->distance);
}

/* x = alpha t + beta u with given products along two directions p, q of the tangent plane */
static v4 from_products(v4 p, double along_p, v4 q, double along_q)
{
    double pq = v4_dot(p, q), pp = v4_dot(p, p), qq = v4_dot(q, q), det = pp * qq - pq * pq;
    if (!(fabs(det) > 1e-300))
        return v4_zero();
    double alpha = (along_p * qq - along_q * pq) / det, beta = (along_q * pp - along_p * pq) / det;
    return p * v4_splat(alpha) + q * v4_splat(beta);
}

/* Two sharp features that touch (a vertex on a rim, two points in one place) have any normal: its change is then
 * zero. */
static v4 change_of_normal(const tg_contact_point *c, const held *h, v4 rhs)
{
    if (h->count == 2)
        return from_products(h->direction[0], h->value[0], h->direction[1], h->value[1]);
    if (h->count == 1) /* known along e; across it from t.(S + Phi) d = t.rhs */
    {
        v4 e = h->direction[0], t = v4_cross(c->normal, e), known = e * v4_splat(h->value[0]);
        double k = v4_dot(t, stiffness(c, t));
        if (!(fabs(k) > 1e-300))
            return known;
        return known + t * v4_splat((v4_dot(t, rhs) - v4_dot(t, stiffness(c, known))) / k);
    }
    v4 t = tg_orthogonal(c->normal), u = v4_cross(c->normal, t), kt = stiffness(c, t), ku = stiffness(c, u);
    double tt = v4_dot(t, kt), tu = v4_dot(t, ku), uu = v4_dot(u, ku), det = tt * uu - tu * tu;
    double rt = v4_dot(t, rhs), ru = v4_dot(u, rhs);
    if (!(fabs(det) > 1e-300))
        return v4_zero();
    return t * v4_splat((uu * rt - tu * ru) / det) + u * v4_splat((tt * ru - tu * rt) / det);
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

static tg_point_motion witness_motion(const tg_contact_point *c, const sources *s)
{
    v4 n = c->normal;
    v4 rhs = tangential(s->shift, n) + tg_bend(&c->surface[1], s->rotation);
    held h = flat_directions(c, s);
    tg_point_motion m;
    m.normal = change_of_normal(c, &h, rhs);
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

tg_point_motion tg_motion_by_twist(const tg_contact_point *c, v4 shift, v4 turn)
{
    if (tg_has_course(c))
        return tg_ahead_by_twist(c, shift, turn);
    if (c->kind != TG_POINT_WITNESS)
        return patch_by_twist(c, shift, turn);
    v4 b = c->normal * v4_splat(0.5 * c->distance); /* second witness relative to the middle */
    v4 W = v4_cross(turn, c->normal);
    sources s = {.shift = shift + v4_cross(turn, b), .shift_a = v4_zero(), .rotation = W};
    s.turn[0] = v4_zero();
    s.turn[1] = W;
    return witness_motion(c, &s);
}

/* ---- transpose ---- */

/* the two products of from_products from the gradient of what it makes */
static void products_reverse(v4 p, v4 q, v4 g, double along[2])
{
    double pq = v4_dot(p, q), pp = v4_dot(p, p), qq = v4_dot(q, q), det = pp * qq - pq * pq;
    double gp = v4_dot(p, g), gq = v4_dot(q, g);
    along[0] = fabs(det) > 1e-300 ? (gp * qq - gq * pq) / det : 0;
    along[1] = fabs(det) > 1e-300 ? (gq * pp - gp * pq) / det : 0;
}

/* change_of_normal: from the gradient g of the normal to that of the right-hand side and of the held values */
static v4 normal_reverse(const tg_contact_point *c, const held *h, v4 g, double value[2])
{
    value[0] = value[1] = 0;
    if (h->count == 2)
    {
        products_reverse(h->direction[0], h->direction[1], g, value);
        return v4_zero();
    }
    if (h->count == 1)
    {
        v4 e = h->direction[0], t = v4_cross(c->normal, e), kt = stiffness(c, t);
        double k = v4_dot(t, kt), across = fabs(k) > 1e-300 ? v4_dot(t, g) / k : 0;
        value[0] = v4_dot(e, g) - v4_dot(e, kt) * across;
        return t * v4_splat(across);
    }
    v4 t = tg_orthogonal(c->normal), u = v4_cross(c->normal, t), kt = stiffness(c, t), ku = stiffness(c, u);
    double tt = v4_dot(t, kt), tu = v4_dot(t, ku), uu = v4_dot(u, ku), det = tt * uu - tu * tu;
    double gt = v4_dot(t, g), gu = v4_dot(u, g);
    if (!(fabs(det) > 1e-300))
        return v4_zero();
    return t * v4_splat((uu * gt - tu * gu) / det) + u * v4_splat((tt * gu - tu * gt) / det);
}

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

/* witness_motion backwards, for a displacement of the second shape */
static tg_twist_gradient witness_reverse(const tg_contact_point *c, tg_point_motion g)
{
    static const sources none = {.rotation = {0, 0, 0, 0}};
    v4 n = c->normal, rest = sliding_reverse(c, g.point);
    held h = flat_directions(c, &none);
    v4 normal =
        g.normal + tg_bend(&c->surface[0], g.point) + g.point * v4_splat(0.5 * c->distance) - stiffness(c, rest);
    double value[2], distance = g.distance + 0.5 * v4_dot(n, g.point);
    v4 rhs = rest + normal_reverse(c, &h, normal, value), W = tg_bend(&c->surface[1], rhs);
    for (int i = 0; i < h.count; i++)
        if (h.surface[i] == 1)
            W += h.direction[i] * v4_splat(value[i]);
    v4 shift = tangential(rhs, n) + n * v4_splat(distance);
    return (tg_twist_gradient){shift, v4_cross(n, W + shift * v4_splat(0.5 * c->distance))};
}

tg_twist_gradient tg_twist_reverse(const tg_contact_point *c, tg_point_motion g)
{
    if (c->kind == TG_POINT_WITNESS)
        return witness_reverse(c, g);
    tg_twist_gradient out = {v4_zero(), v4_zero()};
    for (int i = 0; i < 3; i++)
    {
        v4 unit = v4_zero();
        unit[i] = 1;
        tg_point_motion by_shift = tg_motion_by_twist(c, unit, v4_zero()),
                        by_turn = tg_motion_by_twist(c, v4_zero(), unit);
        out.shift[i] =
            v4_dot(g.point, by_shift.point) + v4_dot(g.normal, by_shift.normal) + g.distance * by_shift.distance;
        out.turn[i] = v4_dot(g.point, by_turn.point) + v4_dot(g.normal, by_turn.normal) + g.distance * by_turn.distance;
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
    return witness_motion(c, &s);
}
