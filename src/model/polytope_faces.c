/* From points to the faces of their hull: triangles, merged into polygons; or a flat hull. */
#include "model/polytope_faces.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "model/hull.h"

#define FLAT 1e-9         /* of the extent: thinner than that is flat */
#define MERGE_ANGLE 1e-4  /* rad */
#define MERGE_HEIGHT 1e-7 /* of the extent */
#define COLLINEAR 1e-10   /* of the extent: a corner nearer to the line between its neighbours is no corner */
#define CONVEX 1e-12      /* of the extent: a neighbour that rises less above a plane does not rise */

void *tg_faces_take(tg_faces *b, size_t count, size_t size, tg_status *status)
{
    if (*status != TG_OK)
        return NULL;
    void *memory = count <= SIZE_MAX / size ? tg_alloc(b->allocator, count * size) : NULL;
    if (memory == NULL)
        *status = tg_fail(b->error, TG_ERR_MEMORY, "out of memory for the polytope of %d points", b->npoint);
    return memory;
}

/* ---- dimension: 0 a point, 1 a segment, 2 a flat polygon, 3 ---- */

static int farthest(const tg_faces *b, v4 from, int across, double *distance)
{
    int best = 0;
    *distance = -1;
    for (int i = 0; i < b->npoint; i++)
    {
        v4 d = tg_face_point(b, i) - from;
        for (int k = 0; k < across; k++) /* what is left beside the axes found so far */
            d -= b->axis[k] * v4_splat(v4_dot(b->axis[k], d));
        double far = v4_dot(d, d);
        if (far > *distance)
        {
            *distance = far;
            best = i;
        }
    }
    *distance = sqrt(*distance);
    return best;
}

static int find_dimension(tg_faces *b)
{
    double distance;
    int first = farthest(b, tg_face_point(b, 0), 0, &distance); /* an end of the set */
    v4 origin = tg_face_point(b, first);
    for (int dimension = 0; dimension < 3; dimension++)
    {
        int next = farthest(b, origin, dimension, &distance);
        if (dimension == 0)
            b->extent = distance;
        if (distance <= FLAT * b->extent)
            return dimension;
        v4 d = tg_face_point(b, next) - origin;
        for (int k = 0; k < dimension; k++)
            d -= b->axis[k] * v4_splat(v4_dot(b->axis[k], d));
        b->axis[dimension] = v4_unit(d);
    }
    return 3;
}

/* ---- convex polygon of points in a plane: Andrew's monotone chain ---- */

typedef struct flat_point
{
    double x, y;
    int index;
} flat_point;

static int by_place(const void *a, const void *b)
{
    const flat_point *p = a, *q = b;
    if (p->x != q->x)
        return p->x < q->x ? -1 : 1;
    if (p->y != q->y)
        return p->y < q->y ? -1 : 1;
    return p->index - q->index;
}

/* b is no corner between a and c: left of the line a c, or within `height` of it */
static bool no_corner(const flat_point *a, const flat_point *b, const flat_point *c, double height)
{
    double x = c->x - a->x, y = c->y - a->y;
    return x * (b->y - a->y) - y * (b->x - a->x) >= -height * sqrt(x * x + y * y);
}

/* Counter-clockwise; writes corner[], at most count + 1 entries are touched. */
static int convex_polygon(flat_point *p, int count, double height, int *corner, int *stack)
{
    qsort(p, (size_t)count, sizeof *p, by_place);
    int n = 0;
    for (int pass = 0; pass < 2; pass++) /* lower chain, then upper */
    {
        int base = n;
        for (int i = 0; i < count; i++)
        {
            int at = pass == 0 ? i : count - 1 - i;
            while (n >= base + 2 && no_corner(&p[stack[n - 2]], &p[stack[n - 1]], &p[at], height))
                n--;
            stack[n++] = at;
        }
        n--; /* the end of a chain is the start of the other */
    }
    for (int i = 0; i < n; i++)
        corner[i] = p[stack[i]].index;
    return n;
}

static void project(const tg_faces *b, flat_point *p, int index, v4 x, v4 y)
{
    v4 at = tg_face_point(b, index);
    *p = (flat_point){v4_dot(at, x), v4_dot(at, y), index};
}

/* any unit vector orthogonal to the unit vector n */
static v4 across(v4 n)
{
    v4 axis = fabs(n[0]) < 0.6 ? v4_set(1, 0, 0, 0) : v4_set(0, 1, 0, 0);
    return v4_unit(v4_cross(n, axis));
}

/* ---- polygons ---- */

static void set_plane(tg_faces *b, int polygon, v4 n)
{
    double offset = -INFINITY;
    for (int i = b->start[polygon]; i < b->start[polygon + 1]; i++)
        offset = fmax(offset, v4_dot(n, tg_face_point(b, b->corner[i])));
    v4_store(b->normal + 4 * (size_t)polygon, v4_set(n[0], n[1], n[2], offset));
}

static tg_status flat_polygons(tg_faces *b)
{
    tg_status status = TG_OK;
    size_t n = (size_t)b->npoint;
    flat_point *p = tg_faces_take(b, n, sizeof *p, &status);
    int *stack = tg_faces_take(b, 2 * n + 2, sizeof *stack, &status);
    b->start = tg_faces_take(b, 3, sizeof *b->start, &status);
    b->corner = tg_faces_take(b, 2 * n + 2, sizeof *b->corner, &status);
    b->normal = tg_faces_take(b, 8, sizeof *b->normal, &status);
    if (status == TG_OK)
    {
        v4 normal = v4_cross(b->axis[0], b->axis[1]);
        for (int i = 0; i < b->npoint; i++)
            project(b, &p[i], i, b->axis[0], b->axis[1]);
        int count = convex_polygon(p, b->npoint, COLLINEAR * b->extent, b->corner, stack);
        for (int i = 0; i < count; i++)
            b->corner[count + i] = b->corner[count - 1 - i];
        b->npolygon = 2;
        b->start[1] = count;
        b->start[2] = 2 * count;
        set_plane(b, 0, normal);
        set_plane(b, 1, -normal);
    }
    tg_free(b->allocator, p);
    tg_free(b->allocator, stack);
    return status;
}

/* ---- merging triangles ---- */

typedef struct triangles
{
    int count;
    const int *corner; /* count x 3 */
    v4 *area;          /* twice the area along the normal */
    int *across;       /* count x 3: triangle on the other side of edge k, or -1 */
    int *group;        /* its polygon, or -1 */
    int *order;        /* largest first */
    int *queue;
    flat_point *flat;
    int *stack;
    bool closed; /* every edge has two triangles */
} triangles;

static int by_ends(const void *a, const void *b)
{
    const tg_edge *p = a, *q = b;
    if (p->high != q->high)
        return p->high < q->high ? -1 : 1;
    return p->place - q->place;
}

static void insert(tg_edge *e, int count)
{
    for (int i = 1; i < count; i++)
    {
        tg_edge x = e[i];
        int k = i;
        for (; k > 0 && e[k - 1].high > x.high; k--)
            e[k] = e[k - 1];
        e[k] = x;
    }
}

/* Into buckets by the lower end, and in these, which are short as a rule. */
void tg_sort_edges(const tg_edge *e, int count, tg_edge *sorted, int *start, int npoint)
{
    enum
    {
        SHORT = 32
    };
    memset(start, 0, ((size_t)npoint + 1) * sizeof *start);
    for (int i = 0; i < count; i++)
        start[e[i].low + 1]++;
    for (int i = 0; i < npoint; i++)
        start[i + 1] += start[i];
    for (int i = 0; i < count; i++)
        sorted[start[e[i].low]++] = e[i]; /* start moves to the end of its bucket */
    for (int i = 0, first = 0; i < npoint; first = start[i++])
    {
        if (start[i] - first <= SHORT)
            insert(sorted + first, start[i] - first);
        else
            qsort(sorted + first, (size_t)(start[i] - first), sizeof *sorted, by_ends);
    }
}

/* e: room for six edges a triangle */
static void link_triangles(triangles *t, const tg_faces *b, tg_edge *e, int *start)
{
    tg_edge *sorted = e + 3 * (size_t)t->count;
    t->closed = true;
    for (int i = 0; i < 3 * t->count; i++)
    {
        int u = t->corner[i], v = t->corner[i % 3 == 2 ? i - 2 : i + 1];
        e[i] = (tg_edge){u < v ? u : v, u < v ? v : u, i};
        t->across[i] = -1;
    }
    tg_sort_edges(e, 3 * t->count, sorted, start, b->npoint);
    e = sorted;
    for (int i = 0, run; i < 3 * t->count; i += run)
    {
        for (run = 1; i + run < 3 * t->count && e[i].low == e[i + run].low && e[i].high == e[i + run].high; run++)
        {
            t->across[e[i + run - 1].place] = e[i + run].place / 3;
            t->across[e[i + run].place] = e[i + run - 1].place / 3;
        }
        t->closed = t->closed && run == 2;
    }
}

typedef struct ranked
{
    double area;
    int index;
} ranked;

static int by_area(const void *a, const void *b)
{
    const ranked *p = a, *q = b;
    if (p->area != q->area)
        return p->area > q->area ? -1 : 1;
    return p->index - q->index;
}

static void order_triangles(const tg_faces *b, triangles *t, ranked *r)
{
    for (int i = 0; i < t->count; i++)
    {
        const int *c = t->corner + 3 * (size_t)i;
        v4 a = tg_face_point(b, c[0]);
        t->area[i] = v4_cross(tg_face_point(b, c[1]) - a, tg_face_point(b, c[2]) - a);
        t->group[i] = -1;
        r[i] = (ranked){v4_length(t->area[i]), i};
    }
    qsort(r, (size_t)t->count, sizeof *r, by_area);
    for (int i = 0; i < t->count; i++)
        t->order[i] = r[i].index;
}

/* Triangle i belongs to the plane n.x = offset: its corners do, and its normal, unless it is too thin to have one. */
static bool belongs(const tg_faces *b, const triangles *t, int i, v4 n, double offset)
{
    const int *c = t->corner + 3 * (size_t)i;
    double longest = 0; /* squared */
    for (int k = 0; k < 3; k++)
    {
        v4 a = tg_face_point(b, c[k]);
        if (fabs(v4_dot(n, a) - offset) > MERGE_HEIGHT * b->extent)
            return false;
        v4 side = tg_face_point(b, c[(k + 1) % 3]) - a;
        double square = v4_dot(side, side);
        longest = square > longest ? square : longest;
    }
    double area = v4_length(t->area[i]);
    if (area <= 2 * MERGE_HEIGHT * b->extent * sqrt(longest))
        return true;
    v4 d = t->area[i] * v4_splat(1 / area) - n;
    return v4_length(d) < MERGE_ANGLE;
}

/* Floods from the triangle over its neighbours; the queue holds the group. */
static int flood(const tg_faces *b, triangles *t, int seed, int group)
{
    v4 n = v4_unit(t->area[seed]);
    double offset = v4_dot(n, tg_face_point(b, t->corner[3 * (size_t)seed]));
    int count = 1;
    t->queue[0] = seed;
    t->group[seed] = group;
    for (int at = 0; at < count; at++)
        for (int k = 0; k < 3; k++)
        {
            int next = t->across[3 * (size_t)t->queue[at] + k];
            if (next < 0 || t->group[next] >= 0 || !belongs(b, t, next, n, offset))
                continue;
            t->group[next] = group;
            t->queue[count++] = next;
        }
    return count;
}

/* The boundary of the first `count` triangles of the queue is the polygon of their corners. */
static int merge_group(const tg_faces *b, triangles *t, int count, v4 n, int *corner)
{
    if (count == 1)
    {
        memcpy(corner, t->corner + 3 * (size_t)t->queue[0], 3 * sizeof *corner);
        return 3;
    }
    v4 x = across(n), y = v4_cross(n, x);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 3; k++)
            project(b, &t->flat[3 * i + k], t->corner[3 * (size_t)t->queue[i] + k], x, y);
    return convex_polygon(t->flat, 3 * count, COLLINEAR * b->extent, corner, t->stack);
}

static void merge_triangles(tg_faces *b, triangles *t)
{
    for (int i = 0; i < t->count; i++)
    {
        int seed = t->order[i];
        if (t->group[seed] >= 0 || !(v4_length(t->area[seed]) > 0))
            continue;
        int count = flood(b, t, seed, b->npolygon), first = b->start[b->npolygon];
        v4 sum = v4_zero();
        for (int k = 0; k < count; k++)
            sum += t->area[t->queue[k]];
        v4 n = v4_unit(sum);
        int corners = merge_group(b, t, count, n, b->corner + first);
        if (corners < 3) /* a sliver that nothing took so far */
        {
            for (int k = 0; k < count; k++)
                t->group[t->queue[k]] = -1;
            continue;
        }
        b->start[b->npolygon + 1] = first + corners;
        set_plane(b, b->npolygon++, n);
    }
}

/* ---- points of polygons of which they are no corner ---- */

/* Triangles by polygon, those of polygon p at queue[first[p]] to queue[first[p + 1] - 1]. */
static void sort_by_polygon(const tg_faces *b, triangles *t, int *first)
{
    memset(first, 0, ((size_t)b->npolygon + 2) * sizeof *first);
    for (int i = 0; i < t->count; i++)
        if (t->group[i] >= 0)
            first[t->group[i] + 2]++;
    for (int p = 0; p < b->npolygon; p++)
        first[p + 2] += first[p + 1];
    for (int i = 0; i < t->count; i++)
        if (t->group[i] >= 0)
            t->queue[first[t->group[i] + 1]++] = i;
}

/* Points with three polygons around them are vertices, whether or not they are corners of one, and so are the corners of
 * slivers in no polygon. */
static void keep_points(tg_faces *b, const triangles *t, const int *first, int *mark, int *polygons)
{
    for (int i = 0; i < b->start[b->npolygon]; i++)
        b->kept[b->corner[i]] = 1;
    for (int p = 0; p < b->npolygon; p++)
        for (int i = 3 * first[p]; i < 3 * first[p + 1]; i++)
        {
            int c = t->corner[3 * (size_t)t->queue[i / 3] + (size_t)(i % 3)];
            polygons[c] += mark[c] != p + 1;
            mark[c] = p + 1;
        }
    for (int c = 0; c < b->npoint; c++)
        if (polygons[c] >= 2)
            b->kept[c] = 1;
    for (int i = 0; i < 3 * t->count; i++)
        if (t->group[i / 3] < 0)
            b->kept[t->corner[i]] = 1;
    double shortest = MERGE_HEIGHT / MERGE_ANGLE * b->extent;
    for (int i = 0; i < 3 * t->count; i++)
    {
        int u = t->corner[i], v = t->corner[i % 3 == 2 ? i - 2 : i + 1];
        if (b->kept[u] && b->kept[v] && (t->group[i / 3] < 0 || v4_length(tg_face_point(b, u) - tg_face_point(b, v)) < shortest))
        {
            int *edge = b->loose + 2 * (size_t)b->nloose++;
            edge[0] = u;
            edge[1] = v;
        }
    }
}

/* Where points are one but for rounding, or triangles are nearly in one plane, the outline of a polygon leaves out
 * points that are corners of its neighbours. Without links these would be apart from it, and a climb would end there. */
static void link_points(tg_faces *b, triangles *t, int *first, int *mark, int *polygons)
{
    sort_by_polygon(b, t, first);
    keep_points(b, t, first, mark, polygons);
    for (int p = 0; p < b->npolygon; p++)
    {
        for (int i = b->start[p]; i < b->start[p + 1]; i++)
            mark[b->corner[i]] = -1 - p;
        for (int i = 3 * first[p]; i < 3 * first[p + 1]; i++)
        {
            int c = t->corner[3 * (size_t)t->queue[i / 3] + (size_t)(i % 3)], *link = b->link + 2 * (size_t)b->nlink;
            if (b->kept[c] == 0 || mark[c] == -1 - p)
                continue;
            mark[c] = -1 - p;
            link[0] = c;
            link[1] = p;
            b->nlink++;
        }
    }
}

static tg_status solid_polygons(tg_faces *b, const int *face, int nface)
{
    tg_status status = TG_OK;
    size_t n = (size_t)nface;
    triangles t = {.count = nface, .corner = face};
    tg_edge *e = tg_faces_take(b, 6 * n, sizeof *e, &status);
    int *start = tg_faces_take(b, (size_t)b->npoint + 1, sizeof *start, &status);
    ranked *r = tg_faces_take(b, n, sizeof *r, &status);
    t.area = tg_faces_take(b, n, sizeof *t.area, &status);
    t.across = tg_faces_take(b, 3 * n, sizeof *t.across, &status);
    t.group = tg_faces_take(b, n, sizeof *t.group, &status);
    t.order = tg_faces_take(b, n, sizeof *t.order, &status);
    t.queue = tg_faces_take(b, n, sizeof *t.queue, &status);
    t.flat = tg_faces_take(b, 3 * n, sizeof *t.flat, &status);
    t.stack = tg_faces_take(b, 6 * n + 2, sizeof *t.stack, &status);
    b->start = tg_faces_take(b, n + 1, sizeof *b->start, &status);
    b->corner = tg_faces_take(b, 6 * n + 2, sizeof *b->corner, &status);
    b->normal = tg_faces_take(b, 4 * n, sizeof *b->normal, &status);
    b->link = tg_faces_take(b, 6 * n, sizeof *b->link, &status);
    b->loose = tg_faces_take(b, 6 * n, sizeof *b->loose, &status);
    int *mark = tg_faces_take(b, (size_t)b->npoint, sizeof *mark, &status);
    int *polygons = tg_faces_take(b, (size_t)b->npoint, sizeof *polygons, &status);
    if (status == TG_OK)
    {
        link_triangles(&t, b, e, start);
        order_triangles(b, &t, r);
        merge_triangles(b, &t);
        link_points(b, &t, t.stack, mark, polygons);
    }
    void *const temporary[] = {e,       start,   r,      t.area,  t.across, t.group,
                               t.order, t.queue, t.flat, t.stack, mark,     polygons};
    for (size_t i = 0; i < sizeof temporary / sizeof *temporary; i++)
        tg_free(b->allocator, temporary[i]);
    return status;
}

/* the two ends of points on a line */
static void keep_ends(tg_faces *b)
{
    int low = 0, high = 0;
    for (int i = 1; i < b->npoint; i++)
    {
        double along = v4_dot(b->axis[0], tg_face_point(b, i));
        if (along < v4_dot(b->axis[0], tg_face_point(b, low)))
            low = i;
        if (along > v4_dot(b->axis[0], tg_face_point(b, high)))
            high = i;
    }
    b->kept[low] = b->kept[high] = 1;
}

/* ---- meshes that are their own hull ---- */

/* Turns triangles round where they look to the mean of the points; false if one has no area. */
static bool turn_outwards(const tg_faces *b, triangles *t, int *corner, v4 *mean)
{
    v4 centre = v4_zero();
    for (int i = 0; i < b->npoint; i++)
        centre += tg_face_point(b, i);
    *mean = centre *= v4_splat(1.0 / b->npoint);
    for (int i = 0; i < t->count; i++)
    {
        int *c = corner + 3 * (size_t)i;
        v4 a = tg_face_point(b, c[0]);
        t->area[i] = v4_cross(tg_face_point(b, c[1]) - a, tg_face_point(b, c[2]) - a);
        if (!(v4_dot(t->area[i], t->area[i]) > 0))
            return false;
        if (v4_dot(t->area[i], centre - a) <= 0)
            continue;
        int swap = c[1];
        c[1] = c[2];
        c[2] = swap;
        t->area[i] = -t->area[i];
    }
    return true;
}

/* No neighbour of a triangle rises above its plane. */
static bool has_convex_edges(const tg_faces *b, const triangles *t)
{
    for (int i = 0; i < t->count; i++)
    {
        v4 n = v4_unit(t->area[i]), a = tg_face_point(b, t->corner[3 * (size_t)i]);
        for (int k = 0; k < 3; k++)
        {
            const int *c = t->corner + 3 * (size_t)t->across[3 * (size_t)i + (size_t)k];
            for (int j = 0; j < 3; j++)
                if (v4_dot(n, tg_face_point(b, c[j]) - a) > CONVEX * b->extent)
                    return false;
        }
    }
    return true;
}

/* Two triangles run along their common edge in opposite senses. */
static bool has_one_sense(const triangles *t)
{
    for (int i = 0; i < 3 * t->count; i++)
    {
        int u = t->corner[i], v = t->corner[i % 3 == 2 ? i - 2 : i + 1];
        const int *c = t->corner + 3 * (size_t)t->across[i];
        bool opposite = (c[0] == v && c[1] == u) || (c[1] == v && c[2] == u) || (c[2] == v && c[0] == u);
        if (!opposite)
            return false;
    }
    return true;
}

/* A ray from the centre, around which all triangles look outwards, meets one of them. */
static bool goes_round_once(const tg_faces *b, const triangles *t, v4 centre)
{
    const v4 ray = v4_set(0.5377, 0.3188, -0.7805, 0);
    int count = 0;
    for (int i = 0; i < t->count; i++)
    {
        const int *c = t->corner + 3 * (size_t)i;
        v4 p = tg_face_point(b, c[0]) - centre, q = tg_face_point(b, c[1]) - centre,
           r = tg_face_point(b, c[2]) - centre;
        count +=
            v4_dot(v4_cross(p, q), ray) >= 0 && v4_dot(v4_cross(q, r), ray) >= 0 && v4_dot(v4_cross(r, p), ray) >= 0;
    }
    return count == 1;
}

/* A closed surface that goes round a point once, looks away from it everywhere and is convex at every edge is convex.
 * With Euler's number 2 it has all points. */
static tg_status is_hull(tg_faces *b, int *face, int nface, bool *hull)
{
    tg_status status = TG_OK;
    size_t n = (size_t)nface;
    triangles t = {.count = nface, .corner = face};
    tg_edge *e = tg_faces_take(b, 6 * n, sizeof *e, &status);
    int *start = tg_faces_take(b, (size_t)b->npoint + 1, sizeof *start, &status);
    v4 centre = v4_zero();
    t.area = tg_faces_take(b, n, sizeof *t.area, &status);
    t.across = tg_faces_take(b, 3 * n, sizeof *t.across, &status);
    *hull = status == TG_OK && nface % 2 == 0 && b->npoint - nface / 2 == 2 && turn_outwards(b, &t, face, &centre);
    if (*hull)
    {
        link_triangles(&t, b, e, start);
        *hull = t.closed && has_one_sense(&t) && has_convex_edges(b, &t) && goes_round_once(b, &t, centre);
    }
    void *const temporary[] = {e, start, t.area, t.across};
    for (size_t i = 0; i < sizeof temporary / sizeof *temporary; i++)
        tg_free(b->allocator, temporary[i]);
    return status;
}

/* Polygons of a mesh that is its own hull; *done is false for others. */
static tg_status mesh_polygons(tg_faces *b, bool *done)
{
    tg_status status = TG_OK;
    *done = false;
    if (b->nface < 4)
        return TG_OK;
    int *face = tg_faces_take(b, 3 * (size_t)b->nface, sizeof *face, &status);
    if (status != TG_OK)
        return status;
    memcpy(face, b->face, 3 * (size_t)b->nface * sizeof *face);
    status = is_hull(b, face, b->nface, done);
    if (status == TG_OK && *done)
        status = solid_polygons(b, face, b->nface);
    tg_free(b->allocator, face);
    return status;
}

/* Polygons of a hull with a volume; of one that the hull code finds too thin, as of a flat one. */
static tg_status make_solid(tg_faces *b)
{
    int *face = NULL, nface = 0;
    bool done;
    tg_error reason = {0};
    tg_status status = mesh_polygons(b, &done);
    if (status != TG_OK || done)
        return status;
    status = tg_convex_hull(b->allocator, b->point, b->npoint, &face, &nface, &reason);
    if (status == TG_OK)
        status = solid_polygons(b, face, nface);
    else if (status == TG_ERR_MODEL)
        status = flat_polygons(b);
    else
        status = tg_fail(b->error, status, "%s", reason.message);
    tg_free(b->allocator, face);
    return status;
}

tg_status tg_find_faces(tg_faces *b)
{
    switch (find_dimension(b))
    {
    case 0:
        b->kept[0] = 1;
        return TG_OK;
    case 1:
        keep_ends(b);
        return TG_OK;
    case 2:
        return flat_polygons(b);
    default:
        return make_solid(b);
    }
}
