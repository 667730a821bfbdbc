/* Nearest points of two convex shapes: Gilbert, Johnson and Keerthi (1988), on the Minkowski difference b - a.
 *
 * v is the point of the current simplex nearest to the origin; the support point w along -v either proves that v is the answer
 * (v.v - v.w small: v.w / |v| bounds the distance from below) or joins the simplex. The nearest point of a simplex is found region by region (Ericson, Real-Time
 * Collision Detection, 5.1), which drops corners that do not carry it. For polytopes the simplex at the end holds the features, and the answer
 * computed from them is exact to rounding. */
#include "collision/gjk.h"

#include <math.h>

enum
{
    MAX_ITERATIONS = 128
};

#define RELATIVE_GAP 1e-14 /* of the squared distance: the end of what doubles resolve */
#define TOUCHING 1e-10     /* relative to the size of the difference: closer than that, directions come from EPA */

tg_corner tg_minkowski_support(const tg_placed *a, const tg_placed *b, v4 d, const int start[2])
{
    tg_corner c;
    c.vertex[0] = start[0];
    c.vertex[1] = start[1];
    c.point[0] = tg_support(a, -d, &c.vertex[0]);
    c.point[1] = tg_support(b, d, &c.vertex[1]);
    c.y = c.point[1] - c.point[0];
    return c;
}

/* ---- nearest point of a simplex to the origin: keeps the corners that carry it, sets their weights ---- */

static void keep(tg_simplex *s, const int *which, const double *weight, int count)
{
    tg_simplex old = *s;
    s->count = count;
    for (int i = 0; i < count; i++)
    {
        s->corner[i] = old.corner[which[i]];
        s->weight[i] = weight[i];
    }
}

static v4 nearest_segment(tg_simplex *s, int i, int j, double *squared, int which[2], double weight[2], int *count)
{
    v4 a = s->corner[i].y, e = s->corner[j].y - a;
    double ee = v4_dot(e, e), t = ee > 0 ? -v4_dot(a, e) / ee : 0;
    if (t <= 0 || t >= 1)
    {
        int end = t <= 0 ? i : j;
        v4 p = s->corner[end].y;
        *squared = v4_dot(p, p);
        which[0] = end;
        weight[0] = 1;
        *count = 1;
        return p;
    }
    v4 p = a + e * v4_splat(t);
    *squared = v4_dot(p, p);
    which[0] = i;
    which[1] = j;
    weight[0] = 1 - t;
    weight[1] = t;
    *count = 2;
    return p;
}

typedef struct nearest
{
    v4 point;
    double squared;
    int count, which[3];
    double weight[3];
} nearest;

static void try_segment(tg_simplex *s, int i, int j, nearest *best)
{
    nearest n;
    n.point = nearest_segment(s, i, j, &n.squared, n.which, n.weight, &n.count);
    if (n.squared < best->squared)
        *best = n;
}

/* Triangle i j k: inside its prism the projection on its plane, otherwise the best of its edges. */
static void try_triangle(tg_simplex *s, int i, int j, int k, nearest *best)
{
    v4 a = s->corner[i].y, b = s->corner[j].y, c = s->corner[k].y;
    v4 n = v4_cross(b - a, c - a);
    double nn = v4_dot(n, n);
    if (nn > 0)
    {
        double wa = v4_dot(n, v4_cross(b, c)) / nn, wb = v4_dot(n, v4_cross(c, a)) / nn, wc = 1 - wa - wb;
        if (wa > 0 && wb > 0 && wc > 0)
        {
            v4 p = n * v4_splat(v4_dot(n, a) / nn);
            double squared = v4_dot(p, p);
            if (squared < best->squared)
                *best = (nearest){p, squared, 3, {i, j, k}, {wa, wb, wc}};
            return;
        }
    }
    try_segment(s, i, j, best);
    try_segment(s, j, k, best);
    try_segment(s, k, i, best);
}

/* the origin is on the same side of face (a, b, c) as the opposite corner d */
static bool inside_face(v4 a, v4 b, v4 c, v4 d)
{
    v4 n = v4_cross(b - a, c - a);
    double origin = -v4_dot(n, a), opposite = v4_dot(n, d - a);
    return opposite == 0 ? false : origin * opposite >= 0;
}

/* False when the origin lies inside a tetrahedron. */
static bool reduce(tg_simplex *s, v4 *v)
{
    nearest best = {.squared = INFINITY};
    const tg_corner *c = s->corner;
    switch (s->count)
    {
    case 1:
        s->weight[0] = 1;
        *v = c[0].y;
        return true;
    case 2:
        try_segment(s, 0, 1, &best);
        break;
    case 3:
        try_triangle(s, 0, 1, 2, &best);
        break;
    default:
    {
        static const int face[4][4] = {{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}, {1, 2, 3, 0}};
        bool inside = true;
        for (int f = 0; f < 4; f++)
        {
            const int *i = face[f];
            if (inside_face(c[i[0]].y, c[i[1]].y, c[i[2]].y, c[i[3]].y))
                continue;
            inside = false;
            try_triangle(s, i[0], i[1], i[2], &best);
        }
        if (inside)
            return false;
        break;
    }
    }
    keep(s, best.which, best.weight, best.count);
    *v = best.point;
    return true;
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

static double extent(const tg_simplex *s)
{
    double most = 0;
    for (int i = 0; i < s->count; i++)
        most = fmax(most, v4_dot(s->corner[i].y, s->corner[i].y));
    return sqrt(most);
}

static void fill_points(const tg_simplex *s, tg_gjk_result *r)
{
    r->point[0] = r->point[1] = v4_zero();
    r->count = s->count;
    for (int i = 0; i < s->count; i++)
        for (int k = 0; k < 2; k++)
        {
            r->point[k] += s->corner[i].point[k] * v4_splat(s->weight[i]);
            r->vertex[k][i] = s->corner[i].vertex[k];
        }
}

static v4 first_direction(const tg_placed *a, const tg_placed *b, const tg_hint *hint)
{
    if (hint != NULL)
    {
        v4 d = mat3_mul(a->R, v4_set(hint->direction[0], hint->direction[1], hint->direction[2], 0));
        if (v4_dot(d, d) > 0.5)
            return -d;
    }
    v4 d = a->x - b->x;
    return v4_dot(d, d) > 0 ? d : v4_set(1, 0, 0, 0);
}

static void remember(const tg_placed *a, tg_hint *hint, v4 normal, const int vertex[2])
{
    if (hint == NULL)
        return;
    v4 d = mat3_mul_t(a->R, normal);
    for (int i = 0; i < 3; i++)
        hint->direction[i] = (float)d[i];
    for (int i = 0; i < 2; i++)
        hint->vertex[i] = (uint16_t)(vertex[i] > 0 ? vertex[i] : 0);
}

tg_gjk_result tg_gjk(const tg_placed *a, const tg_placed *b, double reach, tg_hint *hint)
{
    tg_gjk_result r = {.status = TG_GJK_LIMIT};
    tg_simplex s = {0};
    int start[2] = {hint != NULL ? hint->vertex[0] : -1, hint != NULL ? hint->vertex[1] : -1};
    s.corner[0] = tg_minkowski_support(a, b, first_direction(a, b, hint), start);
    s.count = 1;
    s.weight[0] = 1;
    v4 v = s.corner[0].y;
    bool overlap = false;
    for (r.iterations = 1; r.iterations < MAX_ITERATIONS; r.iterations++)
    {
        double vv = v4_dot(v, v);
        if (vv <= TOUCHING * TOUCHING * extent(&s) * extent(&s))
        {
            overlap = true;
            break;
        }
        tg_corner w = tg_minkowski_support(a, b, -v, s.corner[0].vertex);
        double vw = v4_dot(v, w.y);
        r.tolerance = (vv - vw) / sqrt(vv);
        if (vw > 0 && vw > reach * sqrt(vv) && reach >= 0)
        {
            r.status = TG_GJK_APART;
            break;
        }
        if (vv - vw <= RELATIVE_GAP * vv || known(&s, &w))
        {
            r.status = TG_GJK_APART;
            break;
        }
        s.corner[s.count++] = w;
        if (!reduce(&s, &v))
        {
            overlap = true;
            break;
        }
        if (v4_dot(v, v) >= vv && r.iterations > 4) /* rounding: no nearer any more */
        {
            r.status = TG_GJK_APART;
            break;
        }
    }
    if (overlap)
        tg_epa(a, b, &s, &r);
    else
    {
        r.distance = sqrt(v4_dot(v, v));
        r.normal = v * v4_splat(1 / r.distance);
        fill_points(&s, &r);
    }
    int last[2] = {r.vertex[0][0], r.vertex[1][0]};
    remember(a, hint, r.normal, last);
    return r;
}
