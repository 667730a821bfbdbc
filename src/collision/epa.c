/* The smallest translation that separates two overlapping convex shapes: the expanding polytope algorithm (van den
 * Bergen, 2001).
 *
 * A polytope inside the Minkowski difference b - a is grown at its face nearest to the origin: the support point
 * along that face's normal either lies on the face, which is then a face of the difference, or replaces the faces
 * that see it. Distances of faces are signed: a difference that just misses the origin (touching shapes, by
 * rounding) gives the face that it misses, with a small positive distance of the shapes, so that the answer is
 * continuous there.
 *
 * Differences without a volume (two points, crossing segments, a point in a flat polygon, ...) touch: distance 0,
 * the normal is the direction in which the difference is thin, on the side to which the second shape's frame lies
 * from the first's. A difference that is a segment or a point is thin in many: the one nearest to the line between
 * the frames, or, if these coincide too, nearest to the x axis of the first shape. */
#include <math.h>

#include "collision/gjk.h"

enum
{
    CORNERS = 96,
    FACES = 2 * CORNERS /* a closed surface of V corners has 2 V - 4 triangles */
};

#define GAIN 4e-15 /* of the extent: less is rounding */
#define THIN 1e-12 /* of the extent: a difference without a volume */

typedef struct face
{
    v4 normal; /* unit, outward */
    int corner[3];
    int next[3]; /* face beyond the edge from corner k to k + 1 */
    int back[3]; /* and that edge's place in it */
} face;

typedef struct hull
{
    const tg_pair_frame *pair;
    double extent;
    int ncorner, nface, nfree;
    bool broken;
    tg_corner corner[CORNERS];
    double distance[FACES]; /* of the face's plane from the origin; INFINITY: no face, or one without an area */
    face face[FACES];
    int unused[FACES]; /* places of faces that are gone */
    int horizon[FACES], nhorizon;
} hull;

static v4 corner_at(const hull *h, int i)
{
    return h->corner[i].y;
}

/* ---- faces ---- */

static int add_face(hull *h, int a, int b, int c)
{
    if (h->nfree == 0 && h->nface == FACES)
    {
        h->broken = true;
        return 0;
    }
    int at = h->nfree > 0 ? h->unused[--h->nfree] : h->nface++;
    face *f = &h->face[at];
    v4 p = corner_at(h, a), e = corner_at(h, b) - p, g = corner_at(h, c) - p, n = v4_cross(e, g);
    double area = v4_length(n), longest = tg_most(v4_dot(e, e), v4_dot(g, g));
    f->corner[0] = a;
    f->corner[1] = b;
    f->corner[2] = c;
    if (area > 1e-14 * longest)
    {
        f->normal = n * v4_splat(1 / area);
        h->distance[at] = v4_dot(f->normal, p);
    }
    else
    {
        f->normal = v4_zero();
        h->distance[at] = INFINITY;
    }
    return at;
}

static void join(hull *h, int f, int e, int g, int k)
{
    h->face[f].next[e] = g;
    h->face[f].back[e] = k;
    h->face[g].next[k] = f;
    h->face[g].back[k] = e;
}

static int nearest_face(const hull *h)
{
    int best = 0;
    for (int i = 1; i < h->nface; i++)
        if (h->distance[i] < h->distance[best])
            best = i;
    return best;
}

/* ---- growing ---- */

static void remove_face(hull *h, int f)
{
    h->distance[f] = INFINITY;
    h->face[f].corner[0] = -1;
    h->unused[h->nfree++] = f;
}

/* Walks over the faces that see the corner, entered across edge e of face f; what is left at the horizon is noted in
 * order, as 4 face + edge. */
static void walk(hull *h, v4 y, int f, int e)
{
    const face *g = &h->face[f];
    if (g->corner[0] < 0) /* gone already */
        return;
    if (v4_dot(g->normal, y - corner_at(h, g->corner[0])) <= GAIN * h->extent)
    {
        if (h->nhorizon < FACES)
            h->horizon[h->nhorizon++] = 4 * f + e;
        return;
    }
    int next[2] = {g->next[(e + 1) % 3], g->next[(e + 2) % 3]};
    int back[2] = {g->back[(e + 1) % 3], g->back[(e + 2) % 3]};
    remove_face(h, f);
    walk(h, y, next[0], back[0]);
    walk(h, y, next[1], back[1]);
}

/* Replaces what sees the corner by faces from the horizon to it. */
static void grow(hull *h, int f, const tg_corner *c)
{
    int at = h->ncorner++;
    h->corner[at] = *c;
    const face *g = &h->face[f];
    int next[3], back[3];
    for (int e = 0; e < 3; e++)
    {
        next[e] = g->next[e];
        back[e] = g->back[e];
    }
    h->nhorizon = 0;
    remove_face(h, f);
    for (int e = 0; e < 3; e++)
        walk(h, c->y, next[e], back[e]);
    int first = -1, last = -1;
    for (int i = 0; i < h->nhorizon && !h->broken; i++)
    {
        int beyond = h->horizon[i] / 4, e = h->horizon[i] % 4;
        const int *corner = h->face[beyond].corner;
        int made = add_face(h, corner[(e + 1) % 3], corner[e], at);
        join(h, made, 0, beyond, e);
        if (last >= 0) /* q -> new of the last is new -> p of this one */
        {
            join(h, last, 1, made, 2);
            h->broken |= h->face[last].corner[1] != h->face[made].corner[0];
        }
        else
            first = made;
        last = made;
    }
    if (h->nhorizon < 3 || h->broken || h->face[last].corner[1] != h->face[first].corner[0])
        h->broken = true;
    else
        join(h, last, 1, first, 2);
}

/* ---- the first tetrahedron ---- */

static void try_corner(hull *h, v4 direction, double *most, v4 line, v4 normal, tg_corner *best)
{
    tg_corner c = tg_minkowski_support(h->pair, direction);
    v4 d = c.y - corner_at(h, 0);
    h->extent = tg_most(h->extent, v4_length(d));
    double far;
    if (v4_dot(normal, normal) > 0)
        far = fabs(v4_dot(d, normal));
    else
        far = v4_length(d - line * v4_splat(v4_dot(d, line)));
    if (far > *most)
    {
        *most = far;
        *best = c;
    }
}

static v4 any_across(v4 u)
{
    v4 axis = fabs(u[0]) < 0.6 ? v4_set(1, 0, 0, 0) : v4_set(0, 1, 0, 0);
    v4 d = v4_cross(u, axis);
    return d * v4_splat(1 / v4_length(d));
}

/* Adds corners until there are four that span a volume; returns how many there are if there is none. *line, *normal:
 * of the flat difference. */
static int span(hull *h, v4 *line, v4 *normal)
{
    *line = *normal = v4_zero();
    if (h->ncorner >= 2)
        h->extent = tg_most(h->extent, v4_length(corner_at(h, 1) - corner_at(h, 0)));
    if (h->ncorner == 1)
    {
        double most = THIN * h->extent;
        tg_corner best;
        for (int k = 0; k < 6; k++)
        {
            v4 d = v4_zero();
            d[k / 2] = k % 2 == 0 ? 1 : -1;
            try_corner(h, d, &most, v4_zero(), v4_zero(), &best);
        }
        if (!(most > THIN * h->extent))
            return 1;
        h->corner[h->ncorner++] = best;
    }
    v4 e = corner_at(h, 1) - corner_at(h, 0);
    *line = e * v4_splat(1 / v4_length(e));
    if (h->ncorner == 2)
    {
        double most = THIN * h->extent;
        tg_corner best;
        v4 u = any_across(*line), w = v4_cross(*line, u);
        v4 direction[4] = {u, w, -u, -w};
        for (int k = 0; k < 4; k++)
            try_corner(h, direction[k], &most, *line, v4_zero(), &best);
        if (!(most > THIN * h->extent))
            return 2;
        h->corner[h->ncorner++] = best;
    }
    v4 n = v4_cross(e, corner_at(h, 2) - corner_at(h, 0));
    *normal = n * v4_splat(1 / v4_length(n));
    if (h->ncorner == 3)
    {
        double most = THIN * h->extent;
        tg_corner best;
        try_corner(h, *normal, &most, v4_zero(), *normal, &best);
        try_corner(h, -*normal, &most, v4_zero(), *normal, &best);
        if (!(most > THIN * h->extent))
            return 3;
        h->corner[h->ncorner++] = best;
    }
    return 4;
}

/* Corners of the simplex, without those that lie on the line or in the plane of the ones before them. */
static void take_simplex(hull *h, const tg_simplex *s)
{
    h->corner[0] = s->corner[0];
    h->ncorner = 1;
    for (int i = 0; i < s->count; i++)
        h->extent = tg_most(h->extent, v4_length(s->corner[i].y));
    double thin = THIN * h->extent;
    v4 line = v4_zero(), normal = v4_zero();
    for (int i = 1; i < s->count; i++)
    {
        v4 d = s->corner[i].y - corner_at(h, 0);
        if (h->ncorner == 1)
        {
            if (!(v4_length(d) > thin))
                continue;
            line = d * v4_splat(1 / v4_length(d));
        }
        else if (h->ncorner == 2)
        {
            v4 across = d - line * v4_splat(v4_dot(line, d));
            if (!(v4_length(across) > thin))
                continue;
            v4 n = v4_cross(line, across);
            normal = n * v4_splat(1 / v4_length(n));
        }
        else if (h->ncorner == 3 && !(fabs(v4_dot(normal, d)) > thin))
            continue;
        h->corner[h->ncorner++] = s->corner[i];
    }
}

static void make_tetrahedron(hull *h)
{
    v4 a = corner_at(h, 0);
    v4 n = v4_cross(corner_at(h, 1) - a, corner_at(h, 2) - a);
    bool flip = v4_dot(n, corner_at(h, 3) - a) > 0; /* face 0 1 2 must look away from 3 */
    int i = flip ? 2 : 1, j = flip ? 1 : 2;
    h->nface = h->nfree = 0;
    int f0 = add_face(h, 0, i, j), f1 = add_face(h, 0, 3, i), f2 = add_face(h, i, 3, j), f3 = add_face(h, j, 3, 0);
    join(h, f0, 0, f1, 2);
    join(h, f0, 1, f2, 2);
    join(h, f0, 2, f3, 2);
    join(h, f1, 1, f2, 0);
    join(h, f2, 1, f3, 0);
    join(h, f3, 1, f1, 0);
}

/* ---- the answer ---- */

/* Weights of the projection of the origin on a face; returns the smallest. */
static double weigh(const hull *h, const face *f, double weight[3])
{
    v4 a = corner_at(h, f->corner[0]), b = corner_at(h, f->corner[1]), c = corner_at(h, f->corner[2]);
    v4 n = v4_cross(b - a, c - a);
    double nn = v4_dot(n, n);
    weight[0] = v4_dot(n, v4_cross(b, c)) / nn;
    weight[1] = v4_dot(n, v4_cross(c, a)) / nn;
    weight[2] = 1 - weight[0] - weight[1];
    return tg_least(tg_least(weight[0], weight[1]), weight[2]);
}

/* A face of the difference may be several triangles: the one that holds the origin's projection. Also how far the
 * nearest other face is. */
static face face_of_origin(const hull *h, const face *found, double distance, double *margin)
{
    double weight[3], most = weigh(h, found, weight);
    face best = *found;
    *margin = INFINITY;
    for (int i = 0; i < h->nface; i++)
    {
        if (!(h->distance[i] < INFINITY))
            continue;
        v4 d = h->face[i].normal - found->normal;
        if (v4_dot(d, d) > 1e-16)
        {
            *margin = tg_least(*margin, h->distance[i] - distance);
            continue;
        }
        double least = weigh(h, &h->face[i], weight);
        if (least > most)
        {
            most = least;
            best = h->face[i];
        }
    }
    return best;
}

#define APART 0.1 /* rad: directions that differ by less lead to the same extremum */

static bool listed(const tg_gjk_result *r, v4 normal)
{
    bool found = false;
    for (int i = -1; i < r->nother; i++)
    {
        v4 d = (i < 0 ? r->normal : r->other[i]) - normal;
        found = found || v4_dot(d, d) < APART * APART;
    }
    return found;
}

/* Faces that are no farther than the smallest depth found: the answer is behind one of them. */
static void list_others(const hull *h, double distance, tg_gjk_result *r)
{
    for (int i = 0; i < h->nface && r->nother < TG_GJK_OTHERS; i++)
        if (h->distance[i] < distance + r->tolerance && !listed(r, -h->face[i].normal))
            r->other[r->nother++] = -h->face[i].normal;
}

static void answer(const hull *h, const face *found, double distance, tg_gjk_result *r)
{
    double weight[3];
    face f = face_of_origin(h, found, distance, &r->margin);
    weigh(h, &f, weight);
    r->distance = -distance;
    r->normal = -found->normal;
    r->point[0] = r->point[1] = v4_zero();
    r->count = 3;
    for (int i = 0; i < 3; i++)
    {
        const tg_corner *c = &h->corner[f.corner[i]];
        for (int k = 0; k < 2; k++)
        {
            r->point[k] += c->point[k] * v4_splat(weight[i]);
            r->vertex[k][i] = c->vertex[k];
        }
    }
}

/* A difference without a volume. */
static void flat_answer(const hull *h, int dimension, v4 line, v4 normal, const tg_simplex *s, tg_gjk_result *r)
{
    v4 x = h->pair->x;
    if (dimension < 3)
    {
        normal = v4_dot(x, x) > 0 ? x : v4_set(1, 0, 0, 0);
        normal -= line * v4_splat(v4_dot(normal, line));
        if (v4_length(normal) <= 1e-9 * v4_length(x) || v4_dot(normal, normal) == 0)
            normal = any_across(line);
        normal = normal * v4_splat(1 / v4_length(normal));
    }
    r->status = TG_GJK_TOUCH;
    r->distance = 0;
    r->normal = v4_dot(normal, x) < 0 ? -normal : normal;
    r->margin = 0;
    r->count = s->count < 3 ? s->count : 3;
    for (int k = 0; k < 2; k++)
    {
        r->point[k] = s->corner[0].point[k];
        for (int i = 0; i < r->count; i++)
            r->vertex[k][i] = s->corner[i].vertex[k];
    }
}

/* Grows at the nearest face until that is a face of the difference. */
static void expand(hull *h, tg_gjk_result *r)
{
    double least = tg_most(h->pair->gain, GAIN) * h->extent, distance = INFINITY;
    face found;
    r->status = TG_GJK_LIMIT;
    for (;;)
    {
        int f = nearest_face(h);
        found = h->face[f];
        distance = h->distance[f];
        tg_corner w = tg_minkowski_support(h->pair, found.normal);
        r->tolerance = v4_dot(found.normal, w.y) - distance;
        r->iterations++;
        if (!(r->tolerance > least))
        {
            double tiny = 1e-14 * h->extent;
            r->status = distance > tiny ? TG_GJK_OVERLAP : distance < -tiny ? TG_GJK_APART : TG_GJK_TOUCH;
            break;
        }
        if (h->ncorner == CORNERS)
            break;
        grow(h, f, &w);
        if (h->broken)
            break;
    }
    answer(h, &found, distance, r);
    if (h->pair->curved && !h->broken)
        list_others(h, distance, r);
}

void tg_epa(const tg_pair_frame *pair, const tg_simplex *simplex, tg_gjk_result *r)
{
    hull h; /* fixed storage; only what is counted is ever read */
    h.pair = pair;
    h.extent = 0;
    h.broken = false;
    take_simplex(&h, simplex);
    v4 line, normal;
    int dimension = span(&h, &line, &normal);
    if (dimension < 4)
    {
        flat_answer(&h, dimension, line, normal, simplex, r);
        return;
    }
    make_tetrahedron(&h);
    expand(&h, r);
}
