/* Spheres and capsules among each other: a point or a segment, rounded; and the lines along which sides of capsules
 * and cylinders touch.
 *
 * Coincident centres (or crossing segments) have no direction between the nearest points: the normal is then a
 * direction of smallest translation, chosen as the first shape's x axis for spheres, x of the capsule for a sphere
 * on a capsule's axis, the common normal of the two axes for crossing segments, and x of the first for two on one
 * line. */
#include <math.h>

#include "collision/curved.h"
#include "collision/surface.h"

/* Sides whose axes are closer to parallel than this (sine of the angle) touch along a line: a patch of two points. */
#define PARALLEL 1e-3
/* Between this and PARALLEL the point where the axes cross, which lies between the two, is deeper than both: a third
 * point. */
#define ALIGNED 1e-5

/* One point between cores a (rounded by r[0]) and b (r[1]), without its surfaces. NULL: beyond reach. */
static inline tg_contact_point *add(const tg_query *q, tg_patch *patch, v4 a, v4 b, v4 fallback, const double r[2],
                                    uint32_t feature)
{
    v4 d = b - a;
    double length = sqrt(v4_dot(d, d)), distance = length - r[0] - r[1];
    if (!(distance < q->reach))
        return NULL;
    v4 n = length > 1e-12 * (r[0] + r[1]) && length > 0 ? d * v4_splat(1 / length) : fallback;
    tg_contact_point *c = &patch->point[patch->count++]; /* through the other core the normal turns over: margin */
    tg_init_point(c, a + n * v4_splat(0.5 * (length + r[0] - r[1])), n, distance, length, feature);
    return c;
}

void tg_sphere_sphere(const tg_query *q, tg_patch *patch)
{
    const double r[2] = {q->shape[0].size[0], q->shape[1].size[0]};
    tg_contact_point *c = add(q, patch, q->shape[0].x, q->shape[1].x, q->shape[0].R.c[0], r, 0);
    for (int i = 0; c != NULL && i < 2; i++)
        c->surface[i].S = tg_tangent_projector(c->normal, v4_zero(), r[i]);
}

/* ---- segments ---- */

/* 0: the end at -half, 1: at +half, 2: between */
static uint32_t feature_at(const tg_segment *s, double t)
{
    return t <= -s->half ? 0 : t >= s->half ? 1 : 2;
}

/* the surface of a capsule: an end's sphere, or its side, where the axis is a flat direction */
static void set_surface(tg_contact_point *c, int i, const tg_segment *s, double t, double r)
{
    bool side = feature_at(s, t) == 2;
    v4 e = side ? s->axis : v4_zero();
    c->surface[i].flat = side;
    c->surface[i].edge = e;
    c->surface[i].S = tg_tangent_projector(c->normal, e, r);
}

/* how far the nearest point is from the next end, where end and side change places */
static double end_margin(const tg_segment *s, double free)
{
    return fabs(fabs(free) - s->half);
}

void tg_sphere_capsule(const tg_query *q, tg_patch *patch)
{
    tg_segment s = tg_axis_of(&q->shape[1]);
    const double r[2] = {q->shape[0].size[0], q->shape[1].size[0]};
    double free = v4_dot(q->shape[0].x - s.centre, s.axis), t = tg_clamp(free, s.half);
    tg_contact_point *c = add(q, patch, q->shape[0].x, tg_along(&s, t), q->shape[1].R.c[0], r, feature_at(&s, t));
    if (c == NULL)
        return;
    c->surface[0].S = tg_tangent_projector(c->normal, v4_zero(), r[0]);
    set_surface(c, 1, &s, t, r[1]);
    c->margin = tg_least(c->margin, end_margin(&s, free));
}

/* Nearest parameters of two segments: free minimum, clamped on one, then on the other (Lumelsky 1985). */
static void nearest_parameters(const tg_segment *a, const tg_segment *b, double *s, double *t)
{
    v4 d = b->centre - a->centre;
    double e = v4_dot(a->axis, b->axis), da = v4_dot(d, a->axis), db = v4_dot(d, b->axis), det = 1 - e * e;
    *s = det > 1e-14 ? tg_clamp((da - e * db) / det, a->half) : 0;
    *t = tg_clamp(e * *s - db, b->half);
    *s = tg_clamp(da + e * *t, a->half);
    *t = tg_clamp(e * *s - db, b->half);
}

bool tg_axes_clear(const tg_query *q)
{
    tg_segment a = tg_axis_of(&q->shape[0]), b = tg_axis_of(&q->shape[1]);
    double s, t, clear = q->reach + q->shape[0].size[0] + q->shape[1].size[0];
    nearest_parameters(&a, &b, &s, &t);
    v4 d = tg_along(&b, t) - tg_along(&a, s);
    return clear <= 0 || v4_dot(d, d) >= clear * clear;
}

/* of two axes; of parallel ones x of the first */
static v4 common_normal(const tg_query *q)
{
    v4 n = v4_cross(q->shape[0].R.c[2], q->shape[1].R.c[2]);
    double length = sqrt(v4_dot(n, n));
    return length > 1e-9 ? n * v4_splat(1 / length) : q->shape[0].R.c[0];
}

static void add_capsules(const tg_query *q, tg_patch *patch)
{
    tg_segment a = tg_axis_of(&q->shape[0]), b = tg_axis_of(&q->shape[1]);
    const double r[2] = {q->shape[0].size[0], q->shape[1].size[0]};
    double s, t;
    nearest_parameters(&a, &b, &s, &t);
    v4 from = tg_along(&a, s), to = tg_along(&b, t), way = to - from;
    bool cross = v4_dot(way, way) < 1e-20 * (r[0] + r[1]) * (r[0] + r[1]);
    tg_contact_point *c =
        add(q, patch, from, to, cross ? common_normal(q) : way, r, 3 * feature_at(&a, s) + feature_at(&b, t));
    if (c == NULL)
        return;
    set_surface(c, 0, &a, s, r[0]);
    set_surface(c, 1, &b, t, r[1]);
    v4 d = b.centre - a.centre;
    double e = v4_dot(a.axis, b.axis);
    c->margin = tg_least(
        c->margin, tg_least(end_margin(&a, v4_dot(d, a.axis) + e * t), end_margin(&b, e * s - v4_dot(d, b.axis))));
}

/* ---- lines of contact ---- */

/* The end of a side at `sign`, and the side itself, as pieces. */
static tg_piece end_piece(const tg_placed *p, double sign)
{
    tg_segment s = tg_axis_of(p);
    return (tg_piece){.kind = p->type == TG_GEOM_CAPSULE ? TG_PIECE_POINT : TG_PIECE_RIM,
                      .feature = sign > 0,
                      .centre = tg_along(&s, sign * s.half),
                      .axis = s.axis,
                      .radius = p->size[0]};
}

static tg_piece side_piece(const tg_placed *p)
{
    return (tg_piece){.kind = TG_PIECE_LINE,
                      .feature = 2,
                      .centre = p->x,
                      .axis = p->R.c[2],
                      .half = p->size[1],
                      .radius = p->size[0]};
}

/* from the first axis to the second, orthogonal to the first */
static v4 between_axes(const tg_query *q)
{
    v4 axis = q->shape[0].R.c[2], d = q->shape[1].x - q->shape[0].x;
    d -= axis * v4_splat(v4_dot(d, axis));
    double length = sqrt(v4_dot(d, d));
    return length > 1e-12 * (q->shape[0].size[0] + q->shape[1].size[0]) ? d * v4_splat(1 / length) : q->shape[0].R.c[0];
}

/* Each end of the stretch is an end of one shape against the side of the other. */
bool tg_add_parallel(const tg_query *q, tg_patch *patch)
{
    const tg_placed *a = &q->shape[0], *b = &q->shape[1];
    v4 across = v4_cross(a->R.c[2], b->R.c[2]);
    double sine2 = v4_dot(across, across), sign = v4_dot(a->R.c[2], b->R.c[2]) > 0 ? 1 : -1;
    if (sine2 > PARALLEL * PARALLEL)
        return false;
    double middle = v4_dot(b->x - a->x, a->R.c[2]), half_a = a->size[1], half_b = b->size[1];
    double low = tg_most(-half_a, middle - half_b), high = tg_least(half_a, middle + half_b);
    if (!(high - low > 1e-6 * (half_a + half_b)))
        return false;
    v4 n = between_axes(q);
    for (int i = 0; i < 2; i++)
    {
        double end = i == 0 ? -1 : 1;
        bool end_of_a = i == 0 ? low == -half_a : high == half_a;
        tg_piece first = end_of_a ? end_piece(a, end) : side_piece(a);
        tg_piece second = end_of_a ? side_piece(b) : end_piece(b, sign * end);
        tg_witness w;
        if (!tg_piece_witness(&first, &second, n, &w))
            continue;
        w.margin = tg_least(high - low, (PARALLEL - sqrt(sine2)) * tg_least(half_a, half_b));
        tg_add_witness(q, patch, &w, 16 * (uint32_t)(i + 1));
    }
    return true;
}

void tg_capsule_capsule(const tg_query *q, tg_patch *patch)
{
    if (!tg_add_parallel(q, patch))
    {
        add_capsules(q, patch);
        return;
    }
    v4 across = v4_cross(q->shape[0].R.c[2], q->shape[1].R.c[2]);
    if (v4_dot(across, across) < ALIGNED * ALIGNED)
        return;
    tg_patch third;
    third.count = 0;
    add_capsules(q, &third);
    if (third.count == 1 && third.point[0].feature == 8)
        patch->point[patch->count++] = third.point[0];
}
