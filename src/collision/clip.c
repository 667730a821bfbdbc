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

enum
{
    POLYGON_MAX = 128,
    OUTLINE_MAX = 2 * POLYGON_MAX + 4
};

#define ON_SIDE 1e-11 /* of the extent */

/* labels of the edges of the outline: k >= 0 the incident edge k, ~j < 0 the side j of the reference */
typedef struct outline
{
    int count;
    bool closed;
    v4 at[OUTLINE_MAX];                          /* x y in the face, height above it */
    double slack[OUTLINE_MAX];                   /* m: how far the corner is from another choice */
    int before[OUTLINE_MAX], after[OUTLINE_MAX]; /* edges that meet here */
    int vertex[OUTLINE_MAX];                     /* corner of the incident polygon, -1: made by a cut */
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
    if (p->size[0] == p->size[1] && p->size[1] == p->size[2]) /* a negative scale turns all normals over */
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

static void place_incident(scene *s, outline *o)
{
    mat3 to_face = mat3_transpose(s->frame), R = mat3_product(to_face, s->inc->R);
    v4 x = mat3_mul(to_face, s->inc->x - s->origin);
    o->count = s->ninc;
    o->closed = s->ninc > 2;
    for (int k = 0; k < s->ninc; k++)
    {
        o->at[k] = x + mat3_mul(R, tg_core_local(s->inc, incident_vertex(s, k)));
        o->slack[k] = INFINITY;
        o->before[k] = o->closed && k == 0 ? s->ninc - 1 : k > 0 ? k - 1 : 0;
        o->after[k] = k;
        o->vertex[k] = k;
    }
    if (s->ninc == 2) /* the one edge of a segment */
        o->after[1] = 0;
}

/* ---- cutting ---- */

static void copy_corner(const outline *from, int i, outline *to)
{
    int k = to->count++;
    to->at[k] = from->at[i];
    to->slack[k] = from->slack[i];
    to->before[k] = from->before[i];
    to->after[k] = from->after[i];
    to->vertex[k] = from->vertex[i];
}

/* where the edge from corner i to j crosses the side, at signed distances di, dj from it */
static void add_crossing(const outline *from, int i, int j, double di, double dj, int side, outline *to)
{
    int k = to->count++;
    to->at[k] = from->at[i] + (from->at[j] - from->at[i]) * v4_splat(di / (di - dj));
    to->slack[k] = tg_least(fabs(di), fabs(dj));
    to->before[k] = di < 0 ? from->after[i] : ~side;
    to->after[k] = di < 0 ? ~side : from->after[i];
    to->vertex[k] = -1;
}

static double beside(v4 side, v4 at)
{
    return side[0] * at[0] + side[1] * at[1] - side[3];
}

/* Cuts by one side into *to; returns where the outline is then. */
static outline *cut(const scene *s, int side, bool widen, outline *from, outline *to)
{
    double d[OUTLINE_MAX], least = INFINITY, most = -INFINITY, next_corner = INFINITY, on = ON_SIDE * s->extent;
    for (int i = 0; i < from->count; i++)
    {
        d[i] = beside(s->side[side], from->at[i]);
        least = tg_least(least, d[i]);
        most = tg_most(most, d[i]);
    }
    double shift = widen && least > 0 ? least : 0;
    for (int i = 0; i < from->count; i++)
    {
        d[i] -= shift;
        if (d[i] > on)
            next_corner = tg_least(next_corner, d[i]);
    }
    for (int i = 0; i < from->count; i++) /* what a widened side goes through stays inside until another is nearer */
        if (d[i] <= on)
            from->slack[i] = tg_least(from->slack[i], shift > 0 ? next_corner : fabs(d[i]));
    if (most - shift <= on)
        return from;
    to->count = 0;
    to->closed = from->closed;
    for (int i = 0; i < from->count; i++)
    {
        int j = i + 1 < from->count ? i + 1 : 0;
        bool inside = d[i] <= on, edge = j > 0 || from->closed, next = edge && d[j] <= on;
        if (inside)
            copy_corner(from, i, to);
        if (inside && edge && !next && d[i] >= -on && shift == 0)
            to->after[to->count - 1] = ~side;
        if (edge && inside != next && (inside ? d[i] : d[j]) < -on)
            add_crossing(from, i, j, d[i], d[j], side, to);
    }
    return to;
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

static int extreme(const v4 *at, int count, v4 d)
{
    int best = 0;
    double most = -INFINITY;
    for (int i = 0; i < count; i++)
    {
        double along = v4_dot(d, at[i]);
        if (along > most)
        {
            most = along;
            best = i;
        }
    }
    return best;
}

int tg_select(const v4 *at, int count, int which[TG_PATCH_MAX])
{
    if (count <= TG_PATCH_MAX)
    {
        for (int i = 0; i < count; i++)
            which[i] = i;
        return count;
    }
    /* cosine and sine of 0.3 + 2 pi k / 7: no side of a usual polygon is orthogonal to one */
    static const double direction[7][2] = {
        {0.955336489125606, 0.295520206661340},   {0.364595557040049, 0.931165978645406},
        {-0.500693265890657, 0.865624776385096},  {-0.988949847324385, 0.148250461979303},
        {-0.732507022822354, -0.680759474055214}, {0.075528530285104, -0.997143641163585},
        {0.826689559586636, -0.562658308452345},
    };
    double low = INFINITY, extent = 0;
    int n = 0;
    for (int k = 0; k < 7; k++)
    {
        int i = extreme(at, count, v4_set(direction[k][0], direction[k][1], 0, 0));
        v4 d = at[i] - at[0];
        n = insert(which, n, i);
        low = tg_least(low, at[i][2]);
        extent = tg_most(extent, fabs(d[0]) + fabs(d[1]));
    }
    int lowest = extreme(at, count, v4_set(0, 0, -1, 0));
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

static void describe(const scene *s, const outline *o, int i, tg_contact_point *c)
{
    int before = o->before[i], after = o->after[i];
    if (o->vertex[i] >= 0)
    {
        c->surface[s->reference] = tg_surface_face();
        c->surface[1 - s->reference] = incident_vertex_surface(s);
        c->feature = tg_vertex_feature(s->reference, incident_vertex(s, o->vertex[i]));
    }
    else if (before < 0 && after < 0)
        describe_corner(s, ~before, ~after, c);
    else
        describe_crossing(s, before < 0 ? after : before, before < 0 ? ~before : ~after, c);
}

/* Two corners that come together are another choice, unless both are the incident polygon's own. */
static double room_around(const outline *o, int i)
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
        if (o->vertex[i] >= 0 && o->vertex[j] >= 0)
            continue;
        v4 d = o->at[i] - o->at[j];
        least = tg_least(least, d[0] * d[0] + d[1] * d[1]);
    }
    return sqrt(least);
}

static void add_points(const scene *s, const outline *o, double margin, tg_patch *patch)
{
    double r = tg_rounding(s->inc), limit = s->q->reach + r;
    v4 within[OUTLINE_MAX];
    int place[OUTLINE_MAX], which[TG_PATCH_MAX], count = 0;
    for (int i = 0; i < o->count; i++)
        if (o->at[i][2] < limit)
        {
            within[count] = o->at[i];
            place[count++] = i;
        }
    int kept = tg_select(within, count, which);
    v4 up = s->frame.c[2], normal = s->reference == 0 ? up : -up;
    for (int k = 0; k < kept; k++)
    {
        int i = place[which[k]];
        double distance = o->at[i][2] - r;
        tg_contact_point *c = &patch->point[patch->count++];
        double next = tg_least(tg_least(margin, s->turn), tg_least(o->slack[i], room_around(o, i)));
        tg_init_point(c, s->origin + to_world(s, o->at[i]) - up * v4_splat(r + 0.5 * distance), normal, distance, next,
                      0);
        c->reference = s->reference;
        describe(s, o, i, c);
    }
}

double tg_clip(const tg_query *q, const tg_axis *axis, int reference, int polygon, bool widen, tg_patch *patch)
{
    scene s; /* fixed storage; only what is counted is ever read */
    outline space[2], *o = &space[0];
    s.q = q;
    s.reference = reference;
    s.ref = &q->shape[reference];
    s.inc = &q->shape[1 - reference];
    place_reference(&s, polygon);
    choose_incident(&s, axis->vertex[1 - reference][0]);
    place_incident(&s, o);
    for (int side = 0; side < s.nref && o->count > 0; side++)
        o = cut(&s, side, widen, o, o == &space[0] ? &space[1] : &space[0]);
    if (o->count == 0)
        return INFINITY;
    double least = INFINITY;
    for (int i = 0; i < o->count; i++)
        least = tg_least(least, o->at[i][2]);
    add_points(&s, o, axis->margin, patch);
    return least - tg_rounding(s.inc);
}
