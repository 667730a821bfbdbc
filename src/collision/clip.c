/* Points over a face: the incident polygon is cut by the sides of the reference polygon (Sutherland and Hodgman,
 * 1974), seen along the reference normal.
 *
 * Every corner of the outline knows where it comes from: a vertex of the incident polygon; one of its edges and a
 * side; or two sides, a corner of the reference polygon. A corner within 1e-11 of the extent of a side counts as
 * inside, so that aligned faces give their own corners, once. A segment or a point (the core of a capsule or a
 * sphere, a flat hull) is an open outline. Polygons of more than 128 corners are replaced by those through every
 * second, third, ... of them. */
#include <math.h>

#include "collision/polytope.h"
#include "collision/surface.h"
#include "math/lanes.h"

enum
{
    POLYGON_MAX = 128,
    OUTLINE_MAX = 2 * POLYGON_MAX + 4,
    MADE_MAX = POLYGON_MAX + 2 * POLYGON_MAX + 4 /* corners that there ever are: a side cuts two edges */
};

#define ON_SIDE 1e-11 /* of the extent */

/* Corners: those of the incident polygon, then those that cuts make. Labels of the edges of the outline: k >= 0 the
 * incident edge k, ~j < 0 the side j of the reference. */
typedef struct corners
{
    int count;
    v4 at[MADE_MAX];                       /* x y in the face, height above it */
    int before[MADE_MAX], after[MADE_MAX]; /* edges that meet here */
    int side[MADE_MAX];                    /* that made it, -1: a corner of the incident polygon. Where the edge that
                                            * it cut lies in another side, `after` becomes that side */
    double slack[MADE_MAX];                /* m: how far it was from another choice when it was made */
} corners;

/* Corners in order, and where they are in the face: a cut copies no more than that. */
typedef struct outline
{
    int count;
    bool closed;
    int corner[OUTLINE_MAX];
    double x[OUTLINE_MAX], y[OUTLINE_MAX];
} outline;

/* The reference face and the incident shape in it. */
typedef struct scene
{
    const tg_query *q;
    const tg_placed *ref, *inc;
    int reference;
    mat3 frame; /* columns: two directions in the face, outward normal; world */
    v4 origin;  /* a point of the face, world */
    int nref, ninc, ref_step, inc_step;
    const int *ref_vertex, *inc_vertex; /* corners; NULL: 0, 1, ... */
    v4 inc_normal;                      /* of the incident polygon, world */
    double turn;                        /* m: how much the incident shape may turn before another of its faces counts */
    v4 corner[POLYGON_MAX];             /* of the reference polygon, in the face */
    v4 side[POLYGON_MAX];               /* outward normal (x y), and offset in the last place */
    double shift[POLYGON_MAX];          /* m: by how much a side was moved out; where it was, how far from it ... */
    double next[POLYGON_MAX];           /* ... the next corner is that is then outside */
    double extent;
} scene;

/* ---- choosing faces ---- */

/* The same for normals that scaling leaves as they are. */
static int facing_unscaled(const tg_polytope *t, int vertex, v4 local, double *cosine, double *second)
{
    int best = -1;
    double most = -1, next = -1;
    for (int i = t->around_start[vertex]; i < t->around_start[vertex + 1]; i++)
    {
        double c = v4_dot(v4_load(t->normal + 4 * t->around[i]), local);
        next = c > most ? most : tg_most(c, next);
        best = c > most ? t->around[i] : best;
        most = tg_most(c, most);
    }
    *cosine = most;
    *second = next;
    return best;
}

int tg_facing_polygon(const tg_placed *p, int vertex, v4 local, double *cosine, double *second)
{
    const tg_polytope *t = p->polytope;
    bool even = p->size[0] == p->size[1] && p->size[1] == p->size[2]; /* a negative scale turns all normals over */
    if (even || p->type == TG_GEOM_BOX)
        return facing_unscaled(t, vertex, p->size[0] < 0 ? -local : local, cosine, second);
    int best = -1;
    v4 inverse = v4_set(1 / p->size[0], 1 / p->size[1], 1 / p->size[2], 0);
    double most = -1, next = -1; /* cosines squared, with their signs */
    for (int i = t->around_start[vertex]; i < t->around_start[vertex + 1]; i++)
    {
        v4 m = v4_load(t->normal + 4 * t->around[i]) * inverse;
        double along = v4_dot(m, local), c = along * fabs(along) / v4_dot(m, m);
        next = c > most ? most : c > next ? c : next;
        best = c > most ? t->around[i] : best;
        most = c > most ? c : most;
    }
    *cosine = copysign(sqrt(fabs(most)), most);
    *second = copysign(sqrt(fabs(next)), next);
    return best;
}

static int thin_out(int count)
{
    return (count + POLYGON_MAX - 1) / POLYGON_MAX;
}

/* The incident polygon: at the vertex lowest over the face, the one that looks down most. */
static void choose_incident(scene *s, int vertex)
{
    const tg_placed *p = s->inc;
    v4 down = -s->frame.c[2];
    s->inc_vertex = NULL;
    s->inc_step = 1;
    s->turn = INFINITY;
    s->inc_normal = v4_zero();
    if (!tg_has_polygons(p))
    {
        s->ninc = tg_core_vertices(p);
        return;
    }
    tg_support(p, down, &vertex);
    double cosine, second;
    int polygon = tg_facing_polygon(p, vertex, mat3_mul_t(p->R, down), &cosine, &second);
    const tg_polytope *t = p->polytope;
    int first = t->polygon_start[polygon], count = t->polygon_start[polygon + 1] - first;
    s->inc_vertex = t->polygon + first;
    s->inc_step = thin_out(count);
    s->ninc = count / s->inc_step;
    s->inc_normal = mat3_mul(p->R, tg_scaled_normal(p, polygon));
    v4 arm = tg_core_local(p, vertex);
    s->turn = (cosine - second) * sqrt(v4_dot(arm, arm));
}

/* ---- the reference face ---- */

static int reference_vertex(const scene *s, int k)
{
    return s->ref_vertex[(k % s->nref) * s->ref_step];
}

static int incident_vertex(const scene *s, int k)
{
    return s->inc_vertex == NULL ? k : s->inc_vertex[(k % s->ninc) * s->inc_step];
}

static void place_reference(scene *s, int polygon)
{
    const tg_placed *p = s->ref;
    const tg_polytope *t = p->polytope;
    int first = t->polygon_start[polygon], count = t->polygon_start[polygon + 1] - first;
    s->ref_vertex = t->polygon + first;
    s->ref_step = thin_out(count);
    s->nref = count / s->ref_step;
    v4 n = tg_scaled_normal(p, polygon), o = tg_core_local(p, reference_vertex(s, 0));
    v4 u = tg_core_local(p, reference_vertex(s, 1)) - o;
    u -= n * v4_splat(v4_dot(u, n));
    u = u * v4_splat(1 / sqrt(v4_dot(u, u)));
    mat3 local = {{u, v4_cross(n, u), n}}, to_face = mat3_transpose(local);
    s->frame = mat3_product(p->R, local);
    s->origin = p->x + mat3_mul(p->R, o);
    s->extent = 0;
    for (int k = 0; k < s->nref; k++)
    {
        v4 c = mat3_mul(to_face, tg_core_local(p, reference_vertex(s, k)) - o);
        s->corner[k] = c;
        s->extent = tg_most(s->extent, fabs(c[0]) + fabs(c[1]));
    }
    double around = p->size[0] * p->size[1] * p->size[2] < 0 ? -1 : 1; /* a mirrored polygon runs the other way */
    for (int k = 0; k < s->nref; k++)
    {
        v4 a = s->corner[k], e = s->corner[k + 1 < s->nref ? k + 1 : 0] - a;
        double scale = around / sqrt(e[0] * e[0] + e[1] * e[1]);
        v4 m = v4_set(e[1] * scale, -e[0] * scale, 0, 0);
        m[3] = m[0] * a[0] + m[1] * a[1];
        s->side[k] = m;
    }
}

static void place_incident(const scene *s, corners *c, outline *o)
{
    mat3 to_face = mat3_transpose(s->frame), R = mat3_product(to_face, s->inc->R);
    v4 x = mat3_mul(to_face, s->inc->x - s->origin);
    c->count = o->count = s->ninc;
    o->closed = s->ninc > 2;
    for (int k = 0; k < s->ninc; k++)
    {
        c->at[k] = x + mat3_mul(R, tg_core_local(s->inc, incident_vertex(s, k)));
        c->before[k] = o->closed && k == 0 ? s->ninc - 1 : k > 0 ? k - 1 : 0;
        c->after[k] = k;
        c->side[k] = -1;
        c->slack[k] = INFINITY;
        o->corner[k] = k;
        o->x[k] = c->at[k][0];
        o->y[k] = c->at[k][1];
    }
    if (s->ninc == 2) /* the one edge of a segment */
        c->after[1] = 0;
}

/* ---- cutting ---- */

/* corners first .. last - 1 */
static void keep_corners(const outline *restrict from, int first, int last, outline *restrict to)
{
    for (int i = first, k = to->count; i < last; i++, k++)
    {
        to->corner[k] = from->corner[i];
        to->x[k] = from->x[i];
        to->y[k] = from->y[i];
    }
    to->count += last - first;
}

/* where the edge from corner i to j crosses the side, at signed distances di, dj from it */
static void add_crossing(corners *c, int i, int j, double di, double dj, int side, outline *to)
{
    int made = c->count++, k = to->count++;
    v4 at = c->at[i] + (c->at[j] - c->at[i]) * v4_splat(di / (di - dj));
    c->at[made] = at;
    c->before[made] = di < 0 ? c->after[i] : ~side;
    c->after[made] = di < 0 ? ~side : c->after[i];
    c->side[made] = side;
    c->slack[made] = tg_least(fabs(di), fabs(dj));
    to->corner[k] = made;
    to->x[k] = at[0];
    to->y[k] = at[1];
}

/* How far the corners of an outline are beyond a side; returns for how many that is more than `on`. */
static int64_t beyond(const outline *restrict o, v4 side, double on, double *restrict d)
{
    double x = side[0], y = side[1], offset = side[3];
    int64_t count = 0;
    for (int i = 0; i < o->count; i++)
    {
        d[i] = x * o->x[i] + y * o->y[i] - offset;
        count += d[i] > on;
    }
    return count;
}

/* Moves a side out to the nearest corner, where all are beyond it; false: then none is. */
static bool move_out(scene *s, int side, int count, double on, double *d)
{
    double least = INFINITY, next = INFINITY;
    for (int i = 0; i < count; i++)
        least = tg_least(least, d[i]);
    s->shift[side] = tg_most(least, 0);
    for (int i = 0; i < count; i++)
    {
        d[i] -= s->shift[side];
        next = d[i] > on ? tg_least(next, d[i]) : next;
    }
    s->next[side] = next;
    return next < INFINITY;
}

/* Cuts by one side into *to; returns where the outline is then. */
static outline *cut(scene *s, int side, bool widen, corners *c, outline *from, outline *to)
{
    double d[OUTLINE_MAX], on = ON_SIDE * s->extent;
    if (beyond(from, s->side[side], on, d) == 0 || (widen && !move_out(s, side, from->count, on, d)))
        return from;
    to->count = 0;
    to->closed = from->closed;
    for (int i = 0, last; i < from->count; i = last + 1) /* i .. last are on one side */
    {
        bool inside = d[i] <= on;
        for (last = i; last + 1 < from->count && (d[last + 1] <= on) == inside;)
            last++;
        int j = last + 1 < from->count ? last + 1 : 0;
        bool edge = j > 0 || from->closed, next = edge && d[j] <= on;
        if (inside)
            keep_corners(from, i, last + 1, to);
        if (inside && edge && !next && d[last] >= -on && s->shift[side] == 0)
            c->after[from->corner[last]] = ~side;
        if (edge && inside != next && (inside ? d[last] : d[j]) < -on && c->count < MADE_MAX)
            add_crossing(c, from->corner[last], from->corner[j], d[last], d[j], side, to);
    }
    return to;
}

/* m: how far a corner of the last outline is from another choice: from those of the sides that did not make it, or come
 * after that. What a widened side goes through stays inside until another corner is nearer. */
static double slack_of(const scene *s, const corners *c, int k)
{
    double least = c->slack[k];
    for (int side = c->side[k] + 1; side < s->nref; side++)
    {
        v4 m = s->side[side];
        double d = m[0] * c->at[k][0] + m[1] * c->at[k][1] - m[3];
        least = tg_least(least, s->shift[side] > 0 ? s->next[side] : fabs(d));
    }
    return least;
}

/* ---- choosing at most eight ---- */

/* ascending, each once */
static int insert(int *which, int n, int i)
{
    int k = n;
    while (k > 0 && which[k - 1] >= i)
        k--;
    if (k < n && which[k] == i)
        return n;
    for (int m = n; m > k; m--)
        which[m] = which[m - 1];
    which[k] = i;
    return n + 1;
}

int tg_select(const v4 *at, int count, int which[TG_PATCH_MAX])
{
    if (count <= TG_PATCH_MAX)
    {
        for (int i = 0; i < count; i++)
            which[i] = i;
        return count;
    }
    /* cosine and sine of 0.3 + 2 pi k / 7: no side of a usual polygon is orthogonal to one; and down */
    static const v4 x[2] = {{0.955336489125606, 0.364595557040049, -0.500693265890657, -0.988949847324385},
                            {-0.732507022822354, 0.075528530285104, 0.826689559586636, 0}},
                    y[2] = {{0.295520206661340, 0.931165978645406, 0.865624776385096, 0.148250461979303},
                            {-0.680759474055214, -0.997143641163585, -0.562658308452345, 0}},
                    z[2] = {{0, 0, 0, 0}, {0, 0, 0, -1}};
    v4 most[2] = {v4_splat(-INFINITY), v4_splat(-INFINITY)};
    v4i best[2] = {{0}, {0}};
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 2; k++)
        {
            v4 along = x[k] * v4_splat(at[i][0]) + y[k] * v4_splat(at[i][1]) + z[k] * v4_splat(at[i][2]);
            v4i better = along > most[k], here = {i, i, i, i};
            most[k] = v4_select(better, along, most[k]);
            best[k] = (here & better) | (best[k] & ~better);
        }
    double low = INFINITY, extent = 0;
    int n = 0;
    for (int k = 0; k < 7; k++)
    {
        int i = (int)best[k / 4][k % 4];
        v4 d = at[i] - at[0];
        n = insert(which, n, i);
        low = tg_least(low, at[i][2]);
        extent = tg_most(extent, fabs(d[0]) + fabs(d[1]));
    }
    int lowest = (int)best[1][3];
    return at[lowest][2] < low - 1e-7 * extent ? insert(which, n, lowest) : n;
}

/* ---- points ---- */

static uint32_t mix(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t h = a * 0x9E3779B1u ^ (b * 0x85EBCA77u + 0x165667B1u) ^ (c * 0xC2B2AE3Du + 0x27D4EB2Fu);
    h ^= h >> 15;
    return h * 0x2C1B3C6Du;
}

/* kind, which shape is the reference, and what tells the features apart */
static uint32_t feature_id(tg_point_kind kind, int reference, uint32_t features)
{
    return (uint32_t)kind << 30 | (uint32_t)reference << 29 | (features & 0x1FFFFFFFu);
}

uint32_t tg_vertex_feature(int reference, int vertex)
{
    return feature_id(TG_POINT_WITNESS, reference, (uint32_t)vertex);
}

static v4 to_world(const scene *s, v4 d)
{
    return mat3_mul(s->frame, d);
}

static v4 unit_difference(v4 a, v4 b)
{
    v4 d = a - b;
    return d * v4_splat(1 / sqrt(v4_dot(d, d)));
}

static tg_surface incident_vertex_surface(const scene *s)
{
    double r = tg_rounding(s->inc);
    return r > 0 ? tg_surface_round(r) : tg_surface_vertex();
}

/* made by a cut: a crossing of an incident edge and a side */
static void describe_crossing(const scene *s, int edge, int side, tg_contact_point *c)
{
    const tg_placed *p = s->inc;
    int a = incident_vertex(s, edge), b = incident_vertex(s, edge + 1), low = a < b ? a : b;
    v4 e = mat3_mul(p->R, unit_difference(tg_core_local(p, b), tg_core_local(p, a)));
    double r = tg_rounding(p);
    c->kind = TG_POINT_CLIPPED;
    c->incident_edge = e;
    c->side_normal = to_world(s, v4_set(s->side[side][0], s->side[side][1], 0, 0));
    if (r > 0)
        c->surface[1 - s->reference] = tg_surface_edge(e, r);
    c->feature = feature_id(TG_POINT_CLIPPED, s->reference,
                            mix((uint32_t)low, (uint32_t)(a + b), (uint32_t)reference_vertex(s, side)));
}

/* made by two cuts: the corner that two neighbouring sides share */
static void describe_corner(const scene *s, int first, int second, tg_contact_point *c)
{
    int later = (first + 1) % s->nref == second ? second : first;
    c->kind = TG_POINT_CORNER;
    c->side_normal = s->inc_normal;
    c->feature = feature_id(TG_POINT_CORNER, s->reference, (uint32_t)reference_vertex(s, later));
}

static void describe(const scene *s, const corners *all, int k, tg_contact_point *c)
{
    int before = all->before[k], after = all->after[k];
    if (all->side[k] < 0)
    {
        c->surface[s->reference] = tg_surface_face();
        c->surface[1 - s->reference] = incident_vertex_surface(s);
        c->feature = tg_vertex_feature(s->reference, incident_vertex(s, k));
    }
    else if (before < 0 && after < 0)
        describe_corner(s, ~before, ~after, c);
    else
        describe_crossing(s, before < 0 ? after : before, all->side[k], c);
}

/* Two corners that come together are another choice, unless both are the incident polygon's own. */
static double room_around(const corners *c, const outline *o, int i)
{
    double least = INFINITY;
    for (int step = -1; step <= 1; step += 2)
    {
        int j = i + step;
        if (j < 0 || j >= o->count)
        {
            if (!o->closed)
                continue;
            j = j < 0 ? o->count - 1 : 0;
        }
        if (j == i) /* all that a widened side has left */
            continue;
        if (c->side[o->corner[i]] < 0 && c->side[o->corner[j]] < 0)
            continue;
        double dx = o->x[i] - o->x[j], dy = o->y[i] - o->y[j];
        least = tg_least(least, dx * dx + dy * dy);
    }
    return sqrt(least);
}

static void add_points(const scene *s, const corners *all, const outline *o, double margin, tg_patch *patch)
{
    double r = tg_rounding(s->inc), limit = s->q->reach + r;
    v4 within[OUTLINE_MAX];
    int place[OUTLINE_MAX], which[TG_PATCH_MAX], count = 0;
    for (int i = 0; i < o->count; i++)
        if (all->at[o->corner[i]][2] < limit)
        {
            within[count] = all->at[o->corner[i]];
            place[count++] = i;
        }
    int kept = tg_select(within, count, which);
    v4 up = s->frame.c[2], normal = s->reference == 0 ? up : -up;
    for (int k = 0; k < kept; k++)
    {
        int i = place[which[k]], corner = o->corner[i];
        v4 at = within[which[k]];
        double distance = at[2] - r, room = room_around(all, o, i);
        tg_contact_point *c = &patch->point[patch->count++];
        double next = tg_least(tg_least(margin, s->turn), tg_least(slack_of(s, all, corner), room));
        tg_init_point(c, s->origin + to_world(s, at) - up * v4_splat(r + 0.5 * distance), normal, distance, next, 0);
        c->reference = s->reference;
        describe(s, all, corner, c);
    }
}

/* Sides beyond which a circle around the outline does not reach cut nothing. */
static outline *cut_all(scene *s, bool widen, corners *c, outline space[2])
{
    outline *o = &space[0];
    double x = 0, y = 0, squared = 0;
    for (int i = 0; i < o->count; i++)
    {
        x += o->x[i] / o->count;
        y += o->y[i] / o->count;
    }
    for (int i = 0; i < o->count; i++)
    {
        double dx = o->x[i] - x, dy = o->y[i] - y;
        squared = tg_most(squared, dx * dx + dy * dy);
    }
    double radius = sqrt(squared);
    for (int side = 0; side < s->nref && o->count > 0; side++)
    {
        v4 m = s->side[side];
        s->shift[side] = 0;
        if (m[0] * x + m[1] * y + radius > m[3])
            o = cut(s, side, widen, c, o, o == &space[0] ? &space[1] : &space[0]);
    }
    return o;
}

double tg_clip(const tg_query *q, const tg_axis *axis, int reference, int polygon, bool widen, tg_patch *patch)
{
    scene s; /* fixed storage; only what is counted is ever read */
    corners c;
    outline space[2];
    s.q = q;
    s.reference = reference;
    s.ref = &q->shape[reference];
    s.inc = &q->shape[1 - reference];
    place_reference(&s, polygon);
    choose_incident(&s, axis->vertex[1 - reference][0]);
    place_incident(&s, &c, &space[0]);
    const outline *o = cut_all(&s, widen, &c, space);
    if (o->count == 0)
        return INFINITY;
    double least = INFINITY;
    for (int i = 0; i < o->count; i++)
        least = tg_least(least, c.at[o->corner[i]][2]);
    add_points(&s, &c, o, axis->margin, patch);
    return least - tg_rounding(s.inc);
}
