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

/* Two cores, a point each, and what is around them. */
typedef struct cores
{
    v4 point[2], fallback; /* fallback: normal of points that coincide */
    double round[2], margin;
    tg_surface surface[2];
    uint32_t feature;
} cores;

/* The one point between two cores, if it is within reach. Through the other core the normal turns over: margin. */
static inline void add(const tg_query *q, tg_patch *patch, const cores *k)
{
    v4 d = k->point[1] - k->point[0];
    double length = sqrt(v4_dot(d, d)), around = k->round[0] + k->round[1], distance = length - around;
    if (!(distance < q->reach))
        return;
    v4 n = length > 1e-12 * around && length > 0 ? d * v4_splat(1 / length) : k->fallback;
    tg_contact_point *c = &patch->point[patch->count++];
    tg_init_point(c, k->point[0] + n * v4_splat(0.5 * (length + k->round[0] - k->round[1])), n, distance,
                  tg_least(length, k->margin), k->feature);
    c->surface[0] = k->surface[0];
    c->surface[1] = k->surface[1];
}

void tg_sphere_sphere(const tg_query *q, tg_patch *patch)
{
    double r = q->shape[0].size[0], s = q->shape[1].size[0];
    add(q, patch,
        &(cores){.point = {q->shape[0].x, q->shape[1].x},
                 .fallback = q->shape[0].R.c[0],
                 .round = {r, s},
                 .margin = INFINITY,
                 .surface = {tg_surface_round(r), tg_surface_round(s)}});
}

/* ---- segments ---- */

/* 0: the end at -half, 1: at +half, 2: between */
static inline uint32_t feature_at(const tg_segment *s, double t)
{
    bool low = t <= -s->half, high = t >= s->half;
    return (uint32_t)(2 * !(low | high) + (high & !low));
}

/* the surface of a capsule: an end's sphere, or its side, where the axis is a flat direction; without a branch */
static inline tg_surface capsule_surface(const tg_segment *s, uint32_t feature, double r)
{
    int side = (int)(feature >> 1);
    return (tg_surface){.flat = side, .edge = s->axis * v4_splat(side), .round = r, .bend = -r * side};
}

/* how far the nearest point is from the next end, where end and side change places */
static inline double end_margin(const tg_segment *s, double free)
{
    return fabs(fabs(free) - s->half);
}

void tg_sphere_capsule(const tg_query *q, tg_patch *patch)
{
    tg_segment s = tg_axis_of(&q->shape[1]);
    double r[2] = {q->shape[0].size[0], q->shape[1].size[0]};
    double free = v4_dot(q->shape[0].x - s.centre, s.axis), t = tg_clamp(free, s.half);
    uint32_t feature = feature_at(&s, t);
    add(q, patch,
        &(cores){.point = {q->shape[0].x, tg_along(&s, t)},
                 .fallback = q->shape[1].R.c[0],
                 .round = {r[0], r[1]},
                 .margin = end_margin(&s, free),
                 .surface = {tg_surface_round(r[0]), capsule_surface(&s, feature, r[1])},
                 .feature = feature});
}

/* Nearest parameters of two segments: free minimum, clamped on one, then on the other (Lumelsky 1985). */
typedef struct parameters
{
    double s, t;           /* along the first and the second */
    double free_s, free_t; /* where the point nearest to the other's is on the line */
} parameters;

static inline parameters nearest_parameters(const tg_segment *a, const tg_segment *b)
{
    v4 d = b->centre - a->centre;
    double e = v4_dot(a->axis, b->axis), da = v4_dot(d, a->axis), db = v4_dot(d, b->axis), det = 1 - e * e;
    parameters p;
    p.s = det > 1e-14 ? tg_clamp((da - e * db) / det, a->half) : 0;
    p.t = tg_clamp(e * p.s - db, b->half);
    p.s = tg_clamp(da + e * p.t, a->half);
    p.free_t = e * p.s - db;
    p.t = tg_clamp(p.free_t, b->half);
    p.free_s = da + e * p.t;
    return p;
}

bool tg_axes_clear(const tg_query *q)
{
    tg_segment a = tg_axis_of(&q->shape[0]), b = tg_axis_of(&q->shape[1]);
    double clear = q->reach + q->shape[0].size[0] + q->shape[1].size[0];
    parameters p = nearest_parameters(&a, &b);
    v4 d = tg_along(&b, p.t) - tg_along(&a, p.s);
    return clear <= 0 || v4_dot(d, d) >= clear * clear;
}

/* of two axes; of parallel ones x of the first */
static v4 common_normal(const tg_query *q)
{
    v4 n = v4_cross(q->shape[0].R.c[2], q->shape[1].R.c[2]);
    double length = sqrt(v4_dot(n, n));
    return length > 1e-9 ? n * v4_splat(1 / length) : q->shape[0].R.c[0];
}

static inline void add_capsules(const tg_query *q, tg_patch *patch)
{
    tg_segment a = tg_axis_of(&q->shape[0]), b = tg_axis_of(&q->shape[1]);
    const double r[2] = {q->shape[0].size[0], q->shape[1].size[0]};
    parameters p = nearest_parameters(&a, &b);
    uint32_t first = feature_at(&a, p.s), second = feature_at(&b, p.t);
    v4 from = tg_along(&a, p.s), to = tg_along(&b, p.t), way = to - from;
    bool cross = v4_dot(way, way) < 1e-20 * (r[0] + r[1]) * (r[0] + r[1]);
    add(q, patch,
        &(cores){.point = {from, to},
                 .fallback = cross ? common_normal(q) : way,
                 .round = {r[0], r[1]},
                 .margin = tg_least(end_margin(&a, p.free_s), end_margin(&b, p.free_t)),
                 .surface = {capsule_surface(&a, first, r[0]), capsule_surface(&b, second, r[1])},
                 .feature = 3 * first + second});
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

/* of the angle between the axes */
static inline double squared_sine(const tg_query *q)
{
    v4 across = v4_cross(q->shape[0].R.c[2], q->shape[1].R.c[2]);
    return v4_dot(across, across);
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
    double sine2 = squared_sine(q), sign = v4_dot(a->R.c[2], b->R.c[2]) > 0 ? 1 : -1;
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

/* the point where the axes cross, beside the two ends of the stretch */
static void add_third(const tg_query *q, tg_patch *patch)
{
    tg_patch third;
    third.count = 0;
    add_capsules(q, &third);
    if (third.count == 1 && third.point[0].feature == 8)
        patch->point[patch->count++] = third.point[0];
}

void tg_capsule_capsule(const tg_query *q, tg_patch *patch)
{
    double sine2 = squared_sine(q);
    if (sine2 > PARALLEL * PARALLEL || !tg_add_parallel(q, patch))
        add_capsules(q, patch);
    else if (sine2 >= ALIGNED * ALIGNED)
        add_third(q, patch);
}
