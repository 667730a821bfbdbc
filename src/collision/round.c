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
/* rad: how far an edge's normals may be from that of the search */
#define NEAR_EDGE 1e-2

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

/* A line of contact can be on it: what holds a normal along it, and at its two ends (at -axis, at +axis). */
typedef struct contact_line
{
    tg_piece side, end[2];
} contact_line;

static contact_line side_line(const tg_placed *p)
{
    return (contact_line){side_piece(p), {end_piece(p, -1), end_piece(p, 1)}};
}

static contact_line edge_line(const tg_piece *edge)
{
    contact_line line = {.side = *edge};
    for (int i = 0; i < 2; i++)
        line.end[i] = (tg_piece){.kind = TG_PIECE_POINT,
                                 .feature = edge->feature + (uint32_t)i + 1,
                                 .centre = edge->centre + edge->axis * v4_splat(i == 0 ? -edge->half : edge->half)};
    return line;
}

static double sine_between(const contact_line *a, const contact_line *b)
{
    v4 across = v4_cross(a->side.axis, b->side.axis);
    return sqrt(v4_dot(across, across));
}

/* Whether the shapes are as far apart along the witness's normal as it says. Otherwise the line is not where they are
 * nearest: another edge of the same face. */
static bool is_nearest(const tg_query *q, const tg_witness *w, double slack)
{
    return fabs(w->distance - tg_separation(&q->shape[0], &q->shape[1], w->normal)) <= slack;
}

/* The two ends of the stretch that two lines share, which are nearly parallel: each is an end of one against the side
 * of the other. n: about the normal; judge: only ends where the shapes are nearest. */
static bool add_stretch(const tg_query *q, const contact_line *a, const contact_line *b, v4 n, bool judge,
                        tg_patch *patch)
{
    double sine = sine_between(a, b), middle = v4_dot(b->side.centre - a->side.centre, a->side.axis);
    double half_a = a->side.half, half_b = b->side.half;
    double low = tg_most(-half_a, middle - half_b), high = tg_least(half_a, middle + half_b);
    /* Ends of lines that are not quite parallel differ by sine times the stretch. The second term covers the search's
     * rounding; it is the length below which a stretch does not count. Another edge is off by the size of a face. */
    double slack = sine * (high - low) + 1e-6 * (half_a + half_b);
    bool turned = v4_dot(a->side.axis, b->side.axis) < 0;
    if (sine > PARALLEL || !(high - low > 1e-6 * (half_a + half_b)))
        return false;
    for (int i = 0; i < 2; i++)
    {
        bool end_of_a = i == 0 ? low == -half_a : high == half_a;
        const tg_piece *first = end_of_a ? &a->end[i] : &a->side;
        const tg_piece *second = end_of_a ? &b->side : &b->end[turned ? 1 - i : i];
        tg_witness w;
        if (!tg_piece_witness(first, second, n, &w) || (judge && !is_nearest(q, &w, slack)))
            continue;
        w.margin = tg_least(high - low, (PARALLEL - sine) * tg_least(half_a, half_b));
        tg_add_witness(q, patch, &w, 16 * (uint32_t)(i + 1));
    }
    return true;
}

bool tg_add_parallel(const tg_query *q, tg_patch *patch)
{
    contact_line a = side_line(&q->shape[0]), b = side_line(&q->shape[1]);
    return add_stretch(q, &a, &b, between_axes(q), false, patch);
}

bool tg_add_parallel_edge(const tg_query *q, v4 n, bool *exactly, tg_patch *patch)
{
    tg_piece piece[TG_PIECES_MAX];
    contact_line a = side_line(&q->shape[0]);
    int count = tg_pieces(&q->shape[1], -n, NEAR_EDGE, piece);
    for (int i = 0; i < count; i++)
    {
        if (piece[i].kind != TG_PIECE_LINE)
            continue;
        contact_line b = edge_line(&piece[i]);
        int before = patch->count;
        if (add_stretch(q, &a, &b, n, true, patch) && patch->count > before)
        {
            *exactly = sine_between(&a, &b) < ALIGNED;
            return true;
        }
    }
    return false;
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
