/* Nearest points of two convex shapes: Gilbert, Johnson and Keerthi (1988), on the Minkowski difference b - a.
 *
 * v is the point of the current simplex nearest to the origin; the support point w along -v either proves that v is
 * the answer (v.w / |v| bounds the distance from below, so that v.v - v.w measures how far it may be) or joins the
 * simplex. The nearest point of a simplex is the nearest of its parts that contain the corner that came last: the
 * others cannot be nearer, or the search would have gone there before. For polytopes it ends at the features that
 * hold the nearest points, and what is computed from them is exact to rounding. */
#include "collision/gjk.h"

#include <math.h>

enum
{
    MAX_ITERATIONS = 128,
    ROUGH_ITERATIONS = 24
};

#define GAP 1e-14        /* relative to the squared distance: the end of what doubles resolve */
#define CURVED_GAIN 1e-9 /* of EPA, where a core is curved */
#define ROUGH_GAIN 1e-4
#define CURVED_GAP 1e-10 /* the same where a core is curved, and the answer is polished by others */
#define ROUGH_GAP 1e-2   /* relative to the distance, for tg_gjk_direction */
#define TOUCHING 1e-10   /* relative to the size of the shapes: closer than that, directions come from EPA */
#define DOUBT 1e-9       /* relative to the size of the shapes: more than a search could be wrong */

/* ---- the pair ---- */

static bool is_curved(const tg_placed *s)
{
    return s->type == TG_GEOM_ELLIPSOID || s->type == TG_GEOM_CYLINDER;
}

static tg_pair_frame frame_of(const tg_placed *a, const tg_placed *b)
{
    mat3 At = mat3_transpose(a->R), R = mat3_product(At, b->R);
    return (tg_pair_frame){.shape = {a, b},
                           .R = R,
                           .Rt = mat3_transpose(R),
                           .x = mat3_mul(At, b->x - a->x),
                           .curved = is_curved(a) || is_curved(b),
                           .gain = is_curved(a) || is_curved(b) ? CURVED_GAIN : 0};
}

/* A search mostly goes the way of the last one: where that went at the same point of it. */
static void read_trail(const tg_trail *t, int vertex[2])
{
    for (int i = 0; i < 2; i++)
        vertex[i] = t != NULL && t->at < t->count ? t->vertex[t->at][i] : -1;
}

static void write_trail(tg_trail *t, const int vertex[2])
{
    if (t == NULL || t->at == TG_TRAIL)
        return;
    for (int i = 0; i < 2; i++)
        t->vertex[t->at][i] = (uint16_t)vertex[i];
    t->at++;
}

tg_corner tg_minkowski_support(const tg_pair_frame *p, v4 d)
{
    tg_corner c;
    read_trail(p->trail, c.vertex);
    c.point[0] = tg_support_local(p->shape[0], -d, &c.vertex[0]);
    c.point[1] = p->x + mat3_mul(p->R, tg_support_local(p->shape[1], mat3_mul(p->Rt, d), &c.vertex[1]));
    c.y = c.point[1] - c.point[0];
    write_trail(p->trail, c.vertex);
    return c;
}

/* ---- nearest point of a simplex to the origin ---- */

typedef struct nearest
{
    v4 point;
    double squared;
    unsigned kept;    /* bits: the corners that carry it */
    double weight[4]; /* of these */
} nearest;

/* The segment from corner i to the new one k; its far end alone was looked at before. */
static inline void try_segment(const tg_simplex *s, int i, int k, nearest *best)
{
    v4 a = s->corner[k].y, e = s->corner[i].y - a;
    double ee = v4_dot(e, e), along = -v4_dot(a, e);
    bool alone = along <= 0 || ee == 0;
    double t = alone ? 0 : along < ee ? along / ee : 1;
    v4 p = a + e * v4_splat(t);
    double squared = v4_dot(p, p);
    if (squared < best->squared)
    {
        best->point = p;
        best->squared = squared;
        best->kept = alone ? 1u << k : 1u << k | 1u << i;
        best->weight[k] = 1 - t;
        best->weight[i] = t;
    }
}

/* Triangle i j k with k new: inside its prism the projection on its plane, otherwise the better of its new edges. */
static inline void try_triangle(const tg_simplex *s, int i, int j, int k, nearest *best)
{
    v4 a = s->corner[i].y, b = s->corner[j].y, c = s->corner[k].y;
    v4 n = v4_cross(a - c, b - c);
    double nn = v4_dot(n, n);
    double wa = v4_dot(n, v4_cross(b, c)), wb = v4_dot(n, v4_cross(c, a)), wc = nn - wa - wb;
    if (wa > 0 && wb > 0 && wc > 0)
    {
        double scale = 1 / nn, height = v4_dot(n, c), squared = height * height * scale;
        if (squared < best->squared)
        {
            best->point = n * v4_splat(height * scale);
            best->squared = squared;
            best->kept = 1u << i | 1u << j | 1u << k;
            best->weight[i] = wa * scale;
            best->weight[j] = wb * scale;
            best->weight[k] = wc * scale;
        }
        return;
    }
    if (wb <= 0 || wc <= 0)
        try_segment(s, i, k, best);
    if (wa <= 0 || wc <= 0)
        try_segment(s, j, k, best);
}

/* The origin is beyond face i j k, seen from the opposite corner o; or the four lie in one plane. */
static bool beyond(const tg_simplex *s, int i, int j, int k, int o)
{
    v4 a = s->corner[i].y, n = v4_cross(s->corner[j].y - a, s->corner[k].y - a);
    double origin = -v4_dot(n, a), opposite = v4_dot(n, s->corner[o].y - a);
    return origin * opposite < 0 || opposite == 0;
}

/* The last corner is new. False when the origin lies inside a tetrahedron. */
static bool find_nearest(const tg_simplex *s, nearest *best)
{
    best->squared = INFINITY;
    best->kept = 0;
    switch (s->count)
    {
    case 2:
        try_segment(s, 0, 1, best);
        return true;
    case 3:
        try_triangle(s, 0, 1, 2, best);
        return true;
    default:
        if (beyond(s, 0, 1, 3, 2))
            try_triangle(s, 0, 1, 3, best);
        if (beyond(s, 1, 2, 3, 0))
            try_triangle(s, 1, 2, 3, best);
        if (beyond(s, 2, 0, 3, 1))
            try_triangle(s, 2, 0, 3, best);
        return best->squared < INFINITY;
    }
}

/* Closes up the corners that are kept, and their weights. */
static void keep(tg_simplex *s, nearest *n)
{
    int count = 0;
    for (int i = 0; i < s->count; i++)
        if (n->kept >> i & 1)
        {
            if (count < i)
            {
                s->corner[count] = s->corner[i];
                n->weight[count] = n->weight[i];
            }
            count++;
        }
    s->count = count;
}

/* ---- the search ---- */

static bool known(const tg_simplex *s, const tg_corner *c)
{
    for (int i = 0; i < s->count; i++)
    {
        v4 d = s->corner[i].y - c->y;
        if (v4_dot(d, d) == 0)
            return true;
    }
    return false;
}

static void fill_points(const tg_simplex *s, const double *weight, tg_gjk_result *r)
{
    r->point[0] = r->point[1] = v4_zero();
    r->count = s->count;
    for (int i = 0; i < s->count; i++)
        for (int k = 0; k < 2; k++)
        {
            r->point[k] += s->corner[i].point[k] * v4_splat(weight[i]);
            r->vertex[k][i] = s->corner[i].vertex[k];
        }
}

static double squared(v4 a)
{
    return v4_dot(a, a);
}

/* The corner w along -v: nothing is nearer than v.w / |v|, which is beyond reach. */
static bool is_beyond(double vv, double vw, double reach)
{
    return vw > 0 && (reach <= 0 || vw * vw > reach * reach * vv);
}

/* It ends the search: it shows that all is beyond reach, or that nothing is nearer than |v|, to rounding. */
static bool ends(const tg_pair_frame *p, double vv, double vw, double reach, double extent)
{
    double gap = vv - vw;
    if (is_beyond(vv, vw, reach))
        return true;
    return gap <= (p->curved ? CURVED_GAP : GAP) * vv || gap * gap <= 1.6e-31 * vv * extent;
}

/* The shapes overlap, or nearly: EPA starts from the corners. Otherwise the simplex of the nearest points is left,
 * with their weights. */
static bool search(const tg_pair_frame *p, double reach, tg_simplex *s, nearest *best, tg_gjk_result *r)
{
    double extent = 0, vv = best->squared, vw = vv;
    nearest next;
    r->status = TG_GJK_APART;
    for (; r->iterations < MAX_ITERATIONS; r->iterations++)
    {
        const tg_corner *newest = &s->corner[s->count - 1];
        double size = squared(newest->y) + squared(newest->point[0]);
        extent = size > extent ? size : extent;
        if (vv <= TOUCHING * TOUCHING * extent)
            return true;
        tg_corner *w = &s->corner[s->count];
        *w = tg_minkowski_support(p, -best->point);
        vw = v4_dot(best->point, w->y);
        if (ends(p, vv, vw, reach, extent) || known(s, w))
            break;
        s->count++;
        if (!find_nearest(s, &next))
            return true;
        if (!(next.squared < vv)) /* rounding: no nearer any more */
        {
            s->count--;
            break;
        }
        keep(s, &next);
        *best = next;
        vv = best->squared;
    }
    r->tolerance = (vv - vw) / sqrt(vv);
    if (r->iterations == MAX_ITERATIONS)
        r->status = TG_GJK_LIMIT;
    return false;
}

/* A direction that passes between the frames. */
static v4 first_guess(const tg_pair_frame *p)
{
    return v4_dot(p->x, p->x) > 0 ? p->x : v4_set(1, 0, 0, 0);
}

/* All is beyond reach along d, by the corner farthest along -d, of which the distance is an upper bound. */
static tg_gjk_result out_of_reach(const tg_simplex *s, v4 d, double reach)
{
    const double one = 1;
    v4 y = s->corner[0].y;
    tg_gjk_result r = {.status = TG_GJK_APART, .margin = INFINITY};
    r.normal = d * v4_splat(1 / sqrt(squared(d)));
    r.distance = tg_most(sqrt(squared(y)), reach);
    r.tolerance = r.distance - v4_dot(r.normal, y);
    fill_points(s, &one, &r);
    return r;
}

/* in the frame of the first shape */
static tg_gjk_result run(const tg_pair_frame *p, double reach)
{
    tg_gjk_result r = {.status = TG_GJK_LIMIT, .margin = INFINITY};
    tg_simplex s;
    v4 guess = first_guess(p);
    s.corner[0] = tg_minkowski_support(p, -guess);
    s.count = 1;
    v4 y = s.corner[0].y;
    if (is_beyond(squared(guess), v4_dot(guess, y), reach))
        return out_of_reach(&s, guess, reach);
    nearest best = {y, v4_dot(y, y), 1, {1}};
    if (search(p, reach, &s, &best, &r))
        tg_epa(p, &s, &r);
    else
    {
        r.distance = sqrt(best.squared);
        r.normal = best.point * v4_splat(1 / r.distance);
        fill_points(&s, best.weight, &r);
    }
    return r;
}

double tg_sure_distance(const tg_placed *a, const tg_placed *b, tg_hint *hint)
{
    if (a->type > b->type)
        return tg_sure_distance(b, a, hint);
    v4 d = v4_set(hint->direction[0], hint->direction[1], hint->direction[2], 0), n = mat3_mul(a->R, d);
    double length = sqrt(squared(d));
    if (!(length > 0))
        return -INFINITY;
    int vertex[2] = {hint->vertex[0], hint->vertex[1]};
    v4 e = mat3_mul_t(b->R, n), way = b->x - a->x;
    v4 p = tg_support_local(a, d, &vertex[0]), q = tg_support_local(b, -e, &vertex[1]);
    v4 size = v4_root(v4_sum3(way * way, p * p, q * q)), along = v4_sum3(n * way, e * q, d * p);
    for (int i = 0; i < 2; i++)
        hint->vertex[i] = (uint16_t)vertex[i];
    double apart = (along[0] + along[1] - along[2]) / length;
    return apart - tg_rounding(a) - tg_rounding(b) - DOUBT * (size[0] + size[1] + size[2]);
}

static void remember(tg_hint *hint, const tg_gjk_result *r, double reach)
{
    v4 d = r->distance > 0 && r->distance >= reach ? r->normal : v4_zero();
    for (int i = 0; i < 3; i++)
        hint->direction[i] = (float)d[i];
}

static tg_gjk_result to_world(const tg_placed *a, tg_gjk_result r)
{
    r.normal = mat3_mul(a->R, r.normal);
    for (int i = 0; i < r.nother; i++)
        r.other[i] = mat3_mul(a->R, r.other[i]);
    for (int i = 0; i < 2; i++)
        r.point[i] = a->x + mat3_mul(a->R, r.point[i]);
    return r;
}

tg_gjk_result tg_gjk(const tg_placed *a, const tg_placed *b, double reach, tg_hint *hint)
{
    tg_pair_frame p = frame_of(a, b);
    if (hint != NULL)
    {
        p.trail = &hint->trail;
        p.trail->at = 0;
    }
    tg_gjk_result r = run(&p, reach);
    if (hint != NULL)
    {
        remember(hint, &r, reach);
        p.trail->count = p.trail->at;
    }
    return to_world(a, r);
}

tg_gjk_result tg_gjk_rough(const tg_placed *a, const tg_placed *b, double reach)
{
    tg_pair_frame p = frame_of(a, b);
    p.gain = ROUGH_GAIN;
    return to_world(a, run(&p, reach));
}

/* The same search, ended early: every corner w along -v shows how far apart the shapes are along v; the best of
 * these directions is kept. */
v4 tg_gjk_direction(const tg_placed *a, const tg_placed *b, double enough, double *separation)
{
    tg_pair_frame p = frame_of(a, b);
    tg_simplex s;
    s.corner[0] = tg_minkowski_support(&p, -first_guess(&p));
    s.count = 1;
    v4 y = s.corner[0].y, direction = y;
    nearest best = {y, v4_dot(y, y), 1, {1}}, next;
    *separation = -INFINITY;
    for (int i = 0; i < ROUGH_ITERATIONS && best.squared > 0; i++)
    {
        tg_corner *w = &s.corner[s.count];
        *w = tg_minkowski_support(&p, -best.point);
        double length = sqrt(best.squared), along = v4_dot(best.point, w->y) / length;
        if (along > *separation)
        {
            *separation = along;
            direction = best.point * v4_splat(1 / length);
        }
        if (along >= enough || length - along <= ROUGH_GAP * length || known(&s, w))
            break;
        s.count++;
        if (!find_nearest(&s, &next) || !(next.squared < best.squared))
            break;
        keep(&s, &next);
        best = next;
    }
    return mat3_mul(a->R, direction);
}
