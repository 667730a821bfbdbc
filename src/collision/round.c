/* Spheres and capsules among each other: a point or a segment, rounded.
 *
 * Coincident centres (or crossing segments) have no direction between the nearest points: the normal is then any direction of smallest translation, chosen as
 * the first shape's x axis for spheres, and the common normal of the two axes for segments. */
#include <math.h>

#include "collision/narrow.h"
#include "collision/surface.h"

/* Capsules whose axes are closer to parallel than this (sine of the angle) touch along a line: a patch of two points. */
#define PARALLEL 1e-3

/* One point between cores a (rounded by r[0]) and b (r[1]). */
static tg_contact_point *add(const tg_query *q, tg_patch *patch, v4 a, v4 b, v4 fallback, const double r[2],
                             uint32_t feature)
{
    v4 d = b - a;
    double length = sqrt(v4_dot(d, d)), distance = length - r[0] - r[1];
    if (!(distance < q->reach))
        return NULL;
    v4 n = length > 1e-12 * (r[0] + r[1]) && length > 0 ? d * v4_splat(1 / length) : fallback;
    tg_contact_point *c = &patch->point[patch->count++];
    *c = (tg_contact_point){
        .point = a + n * v4_splat(0.5 * (length + r[0] - r[1])),
        .normal = n,
        .distance = distance,
        .margin = INFINITY,
        .feature = feature,
        .kind = TG_POINT_WITNESS,
        .surface = {tg_surface_round(n, r[0]), tg_surface_round(n, r[1])},
    };
    return c;
}

void tg_sphere_sphere(const tg_query *q, tg_patch *patch)
{
    const double r[2] = {q->shape[0].size[0], q->shape[1].size[0]};
    add(q, patch, q->shape[0].x, q->shape[1].x, q->shape[0].R.c[0], r, 0);
}

/* ---- segments ---- */

typedef struct segment
{
    v4 centre, axis; /* axis: unit */
    double half;
} segment;

static segment axis_of(const tg_placed *p)
{
    return (segment){p->x, p->R.c[2], p->size[1]};
}

static double clamp(double x, double bound)
{
    return x < -bound ? -bound : x > bound ? bound : x;
}

/* 0: the end at -half, 1: at +half, 2: between */
static uint32_t feature_at(const segment *s, double t)
{
    return t <= -s->half ? 0 : t >= s->half ? 1 : 2;
}

static v4 point_at(const segment *s, double t)
{
    return s->centre + s->axis * v4_splat(t);
}

/* a surface of a capsule: an end's sphere, or its side, where the axis is a flat direction */
static tg_surface capsule_surface(const segment *s, double t, v4 n, double r)
{
    return feature_at(s, t) == 2 ? tg_surface_edge(n, s->axis, r) : tg_surface_round(n, r);
}

/* how far the nearest point is from the next end, where end and side change places */
static double end_margin(const segment *s, double free)
{
    return fabs(fabs(free) - s->half);
}

void tg_sphere_capsule(const tg_query *q, tg_patch *patch)
{
    segment s = axis_of(&q->shape[1]);
    const double r[2] = {q->shape[0].size[0], q->shape[1].size[0]};
    double free = v4_dot(q->shape[0].x - s.centre, s.axis), t = clamp(free, s.half);
    tg_contact_point *c = add(q, patch, q->shape[0].x, point_at(&s, t), q->shape[1].R.c[0], r, feature_at(&s, t));
    if (c == NULL)
        return;
    c->surface[1] = capsule_surface(&s, t, c->normal, r[1]);
    c->margin = end_margin(&s, free);
}

/* Nearest parameters of two segments: free minimum, clamped on one, then on the other (Lumelsky 1985). */
static void nearest_parameters(const segment *a, const segment *b, double *s, double *t)
{
    v4 d = b->centre - a->centre;
    double e = v4_dot(a->axis, b->axis), da = v4_dot(d, a->axis), db = v4_dot(d, b->axis), det = 1 - e * e;
    *s = det > 1e-14 ? clamp((da - e * db) / det, a->half) : 0;
    *t = clamp(e * *s - db, b->half);
    *s = clamp(da + e * *t, a->half);
    *t = clamp(e * *s - db, b->half);
}

static void add_capsules(const tg_query *q, tg_patch *patch, const segment *a, const segment *b, double s, double t,
                         uint32_t base)
{
    const double r[2] = {q->shape[0].size[0], q->shape[1].size[0]};
    v4 fallback = v4_cross(a->axis, b->axis);
    double length = sqrt(v4_dot(fallback, fallback));
    fallback = length > 1e-9 ? fallback * v4_splat(1 / length) : q->shape[0].R.c[0];
    tg_contact_point *c = add(q, patch, point_at(a, s), point_at(b, t), fallback, r,
                              base + 3 * feature_at(a, s) + feature_at(b, t));
    if (c == NULL)
        return;
    c->surface[0] = capsule_surface(a, s, c->normal, r[0]);
    c->surface[1] = capsule_surface(b, t, c->normal, r[1]);
    v4 d = b->centre - a->centre;
    double e = v4_dot(a->axis, b->axis);
    c->margin = fmin(end_margin(a, v4_dot(d, a->axis) + e * t), end_margin(b, e * s - v4_dot(d, b->axis)));
}

/* Nearly parallel axes: the two ends of the stretch that they share, each an end of one capsule against the side of the other. */
static bool add_parallel(const tg_query *q, tg_patch *patch, const segment *a, const segment *b)
{
    double e = v4_dot(a->axis, b->axis), sine2 = 1 - e * e;
    if (sine2 > PARALLEL * PARALLEL)
        return false;
    double middle = v4_dot(b->centre - a->centre, a->axis), sign = e > 0 ? 1 : -1;
    double low = fmax(-a->half, middle - b->half), high = fmin(a->half, middle + b->half);
    if (!(high - low > 1e-6 * (a->half + b->half)))
        return false;
    double stretch[2] = {low, high};
    for (int i = 0; i < 2; i++)
    {
        bool end_of_a = fabs(stretch[i]) >= a->half;
        double s = end_of_a ? stretch[i] : 0, t = end_of_a ? 0 : sign * (i == 0 ? -b->half : b->half);
        v4 d = b->centre - a->centre;
        if (end_of_a)
            t = clamp(e * s - v4_dot(d, b->axis), b->half);
        else
            s = clamp(v4_dot(d, a->axis) + e * t, a->half);
        add_capsules(q, patch, a, b, s, t, 16 * (uint32_t)(i + 1));
    }
    for (int i = 0; i < patch->count; i++)
        patch->point[i].margin = fmin(patch->point[i].margin, (PARALLEL - sqrt(fmax(0, sine2))) * a->half);
    return true;
}

void tg_capsule_capsule(const tg_query *q, tg_patch *patch)
{
    segment a = axis_of(&q->shape[0]), b = axis_of(&q->shape[1]);
    if (add_parallel(q, patch, &a, &b))
        return;
    double s, t;
    nearest_parameters(&a, &b, &s, &t);
    add_capsules(q, patch, &a, &b, s, t, 0);
}
