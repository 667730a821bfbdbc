/* From points to the faces of their hull: triangles, merged into polygons; or a flat hull. */
#include "model/polytope_faces.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "model/hull.h"

#define MERGE_ANGLE 1e-4 /* rad */
#define NEAR 1e-7    /* of the extent: points as near to each other, to a plane or to a line are one, or lie in it */
#define CONVEX 1e-12 /* of the extent: a neighbour that rises less above a plane does not rise */

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
        if (distance <= NEAR * b->extent)
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
    double above; /* how far points that were left out before it may lie outside */
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

/* b lies right of the line from a to c by so much */
static double height_of(const flat_point *a, const flat_point *b, const flat_point *c)
{
    double x = c->x - a->x, y = c->y - a->y, length = sqrt(x * x + y * y);
    return length > 0 ? (y * (b->x - a->x) - x * (b->y - a->y)) / length : 0;
}

/* Counter-clockwise; writes corner[], at most count + 1 entries are touched. Corners are left out as long as no point
 * is farther than `height` outside of the polygon. */
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
            p[at].above = 0;
            for (; n >= base + 2; n--)
            {
                const flat_point *last = &p[stack[n - 1]];
                double rise = height_of(&p[stack[n - 2]], last, &p[at]), above = last->above + fmax(rise, 0);
                if (rise > 0 && above > height)
                    break;
                p[at].above = fmax(p[at].above, above);
            }
            stack[n++] = at;
        }
        n--; /* the end of a chain is the start of the other */
    }
    for (int i = 0; i < n; i++)
        corner[i] = p[stack[i]].index;
    return n;
}

/* the same, with all corners where nothing but a segment would be left */
static int polygon_of(const tg_faces *b, flat_point *p, int count, int *corner, int *stack)
{
    int corners = convex_polygon(p, count, NEAR * b->extent, corner, stack);
    return corners >= 3 ? corners : convex_polygon(p, count, 0, corner, stack);
}

static void project(const tg_faces *b, flat_point *p, int index, v4 x, v4 y)
{
    v4 at = tg_face_point(b, index);
    *p = (flat_point){.x = v4_dot(at, x), .y = v4_dot(at, y), .index = index};
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
        v4 normal = v4_cross(b->axis[0], b->axis[1]), origin = tg_face_point(b, 0);
        for (int i = 0; i < b->npoint; i++)
        {
            v4 x = tg_face_point(b, i);
            v4_store3(b->welded + 3 * (size_t)i, x - normal * v4_splat(v4_dot(normal, x - origin)));
            project(b, &p[i], i, b->axis[0], b->axis[1]);
        }
        int count = polygon_of(b, p, b->npoint, b->corner, stack);
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
    double value; /* the largest comes first */
    int index;
} ranked;

static int by_value(const void *a, const void *b)
{
    const ranked *p = a, *q = b;
    if (p->value != q->value)
        return p->value > q->value ? -1 : 1;
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
    qsort(r, (size_t)t->count, sizeof *r, by_value);
    for (int i = 0; i < t->count; i++)
        t->order[i] = r[i].index;
}

/* too thin to have a normal, or an edge */
static bool is_sliver(const tg_faces *b, const triangles *t, int i, int *longest)
{
    const int *c = t->corner + 3 * (size_t)i;
    double most = 0; /* squared */
    *longest = 0;
    for (int k = 0; k < 3; k++)
    {
        v4 side = tg_face_point(b, c[(k + 1) % 3]) - tg_face_point(b, c[k]);
        double square = v4_dot(side, side);
        *longest = square > most ? k : *longest;
        most = fmax(most, square);
    }
    return v4_length(t->area[i]) <= NEAR * b->extent * sqrt(most);
}

/* Triangle i belongs to the plane n.x = offset: its corners do, and its normal, if it has one. */
static bool belongs(const tg_faces *b, const triangles *t, int i, v4 n, double offset)
{
    int longest;
    for (int k = 0; k < 3; k++)
        if (fabs(v4_dot(n, tg_face_point(b, t->corner[3 * (size_t)i + (size_t)k])) - offset) > NEAR * b->extent)
            return false;
    return is_sliver(b, t, i, &longest) || v4_length(v4_unit(t->area[i]) - n) < MERGE_ANGLE;
}

/* Floods from the triangle over its neighbours. */
static void flood(const tg_faces *b, triangles *t, int seed, int group)
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
}

/* Every triangle gets a group: from the largest on; then slivers that none took, that of the triangle across their
 * longest side. A needle may have nothing but slivers. */
static int group_triangles(const tg_faces *b, triangles *t)
{
    int count = 0, longest;
    for (int thin = 0; thin < 2 && count == 0; thin++)
        for (int i = 0; i < t->count; i++)
        {
            int seed = t->order[i];
            if (t->group[seed] < 0 && v4_length(t->area[seed]) > 0 && is_sliver(b, t, seed, &longest) == (thin == 1))
                flood(b, t, seed, count++);
        }
    for (bool changed = true; changed;)
    {
        changed = false;
        for (int i = 0; i < t->count; i++)
        {
            if (t->group[i] >= 0)
                continue;
            is_sliver(b, t, i, &longest);
            for (int k = 0; k < 3 && t->group[i] < 0; k++)
            {
                int next = t->across[3 * (size_t)i + (size_t)((longest + k) % 3)];
                t->group[i] = next >= 0 ? t->group[next] : -1;
            }
            changed = changed || t->group[i] >= 0;
        }
    }
    return count;
}

/* Triangles by group, those of group g at queue[first[g]] to queue[first[g + 1] - 1]. */
static void sort_by_group(triangles *t, int count, int *first)
{
    memset(first, 0, ((size_t)count + 2) * sizeof *first);
    for (int i = 0; i < t->count; i++)
        if (t->group[i] >= 0)
            first[t->group[i] + 2]++;
    for (int g = 0; g < count; g++)
        first[g + 2] += first[g + 1];
    for (int i = 0; i < t->count; i++)
        if (t->group[i] >= 0)
            t->queue[first[t->group[i] + 1]++] = i;
}

/* The boundary of triangles is the polygon of their corners. */
static int outline(const tg_faces *b, triangles *t, const int *list, int count, v4 n, int *corner)
{
    if (count == 1)
    {
        memcpy(corner, t->corner + 3 * (size_t)list[0], 3 * sizeof *corner);
        return 3;
    }
    v4 x = across(n), y = v4_cross(n, x);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 3; k++)
            project(b, &t->flat[3 * i + k], t->corner[3 * (size_t)list[i] + k], x, y);
    return polygon_of(b, t->flat, 3 * count, corner, t->stack);
}

/* The triangles in a polygon. A corner of one polygon may lie on the side of another, which has it as a corner of
 * triangles alone. */
static void link_points(tg_faces *b, const triangles *t, int first, int last, int *mark)
{
    int p = b->npolygon;
    for (int i = b->start[p]; i < b->start[p + 1]; i++)
        mark[b->corner[i]] = p + 1;
    if (last - first == 1)
        return;
    for (int i = 3 * first; i < 3 * last; i++)
    {
        const int *corner = t->corner + 3 * (size_t)t->queue[i / 3];
        int c = corner[i % 3];
        b->inner[b->ninner++] = (tg_edge){c, corner[(i + 1) % 3], 0};
        if (mark[c] == p + 1)
            continue;
        mark[c] = p + 1;
        b->link[b->nlink++] = (tg_link){c, p};
    }
}

static void make_polygons(tg_faces *b, triangles *t, int *first, int *mark)
{
    int count = group_triangles(b, t);
    sort_by_group(t, count, first);
    for (int g = 0; g < count; g++)
    {
        v4 sum = v4_zero();
        for (int i = first[g]; i < first[g + 1]; i++)
            sum += t->area[t->queue[i]];
        v4 n = v4_unit(sum);
        int start = b->start[b->npolygon];
        int corners = outline(b, t, t->queue + first[g], first[g + 1] - first[g], n, b->corner + start);
        if (corners < 3)
            continue;
        b->start[b->npolygon + 1] = start + corners;
        link_points(b, t, first[g], first[g + 1], mark);
        set_plane(b, b->npolygon++, n);
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
    b->link = tg_faces_take(b, 3 * n, sizeof *b->link, &status);
    b->inner = tg_faces_take(b, 3 * n, sizeof *b->inner, &status);
    int *first = tg_faces_take(b, n + 2, sizeof *first, &status);
    int *mark = tg_faces_take(b, (size_t)b->npoint, sizeof *mark, &status);
    if (status == TG_OK)
    {
        link_triangles(&t, b, e, start);
        order_triangles(b, &t, r);
        make_polygons(b, &t, first, mark);
    }
    void *const temporary[] = {e, start, r, t.area, t.across, t.group, t.order, t.queue, t.flat, t.stack, first, mark};
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

/* Turns triangles round where they look to the mean of the points; false if one is a sliver. */
static bool turn_outwards(const tg_faces *b, triangles *t, int *corner, v4 *mean)
{
    v4 centre = v4_zero();
    for (int i = 0; i < b->npoint; i++)
        centre += tg_face_point(b, i);
    *mean = centre *= v4_splat(1.0 / b->npoint);
    int longest;
    for (int i = 0; i < t->count; i++)
    {
        int *c = corner + 3 * (size_t)i;
        v4 a = tg_face_point(b, c[0]);
        t->area[i] = v4_cross(tg_face_point(b, c[1]) - a, tg_face_point(b, c[2]) - a);
        if (is_sliver(b, t, i, &longest))
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

void tg_drop_faces(tg_faces *b)
{
    void *const made[] = {b->start, b->corner, b->normal, b->link, b->inner};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        tg_free(b->allocator, made[i]);
    b->start = b->corner = NULL;
    b->normal = NULL;
    b->link = NULL;
    b->inner = NULL;
    b->npolygon = b->nlink = b->ninner = 0;
}

/* Points of triangles that are corners of no polygon go: true if there were any. */
static bool drop_points(tg_faces *b)
{
    int count = 0, most = b->npoint;
    memset(b->kept, 0, (size_t)b->npoint * sizeof *b->kept);
    for (int i = 0; i < b->nlink; i++)
        b->kept[b->link[i].point] = -1;
    for (int i = 0; i < b->start[b->npolygon]; i++)
        b->kept[b->corner[i]] = 1;
    bool any = false;
    for (int i = 0; i < most; i++)
        any = any || b->kept[i] < 0;
    if (any)
    {
        for (int i = 0; i < most; i++)
            if (b->kept[i] > 0)
                memmove(b->welded + 3 * (size_t)count++, b->welded + 3 * (size_t)i, 3 * sizeof *b->welded);
        b->npoint = count;
        b->nface = 0;
        tg_drop_faces(b);
    }
    memset(b->kept, 0, (size_t)most * sizeof *b->kept);
    return any;
}

/* Polygons of a hull with a volume; of one that the hull code finds too thin, as of a flat one. */
static tg_status make_once(tg_faces *b)
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
    bool thin = status == TG_ERR_MODEL || (status == TG_OK && b->npolygon == 0);
    if (thin)
        tg_drop_faces(b);
    if (thin)
        status = flat_polygons(b);
    else if (status != TG_OK)
        status = tg_fail(b->error, status, "%s", reason.message);
    tg_free(b->allocator, face);
    return status;
}

static tg_status make_solid(tg_faces *b)
{
    tg_status status = make_once(b);
    while (status == TG_OK && drop_points(b))
        status = make_once(b);
    return status;
}

/* ---- points that are one ---- */

/* Removes points that are NEAR one before them: in order along a line, those are found among few. */
static int weld(const tg_faces *b, ranked *r, int *at, double *point)
{
    const v4 line = v4_set(0.5377, 0.3188, -0.7805, 0); /* along no axis */
    const double reach = NEAR * b->extent;
    int count = 0;
    for (int i = 0; i < b->npoint; i++)
        r[i] = (ranked){v4_dot(line, tg_face_point(b, i)), i};
    qsort(r, (size_t)b->npoint, sizeof *r, by_value);
    for (int k = 0; k < b->npoint; k++)
        at[r[k].index] = k;
    for (int i = 0; i < b->npoint; i++)
    {
        if (at[i] < 0)
            continue;
        v4 x = tg_face_point(b, i);
        v4_store3(point + 3 * (size_t)count++, x);
        for (int way = -1; way < 2; way += 2)
            for (int k = at[i] + way; k >= 0 && k < b->npoint && fabs(r[k].value - r[at[i]].value) <= reach; k += way)
                if (r[k].index > i && v4_length(tg_face_point(b, r[k].index) - x) <= reach)
                    at[r[k].index] = -1;
    }
    return count;
}

static tg_status weld_points(tg_faces *b)
{
    tg_status status = TG_OK;
    size_t n = (size_t)b->npoint;
    ranked *r = tg_faces_take(b, n, sizeof *r, &status);
    int *at = tg_faces_take(b, n, sizeof *at, &status);
    b->welded = tg_faces_take(b, 3 * n, sizeof *b->welded, &status);
    if (status == TG_OK)
    {
        int count = weld(b, r, at, b->welded);
        b->nface = count == b->npoint ? b->nface : 0; /* its triangles number other points */
        b->npoint = count;
        b->point = b->welded;
    }
    tg_free(b->allocator, r);
    tg_free(b->allocator, at);
    return status;
}

tg_status tg_find_faces(tg_faces *b)
{
    int dimension = find_dimension(b);
    tg_status status = dimension >= 2 ? weld_points(b) : TG_OK;
    if (status != TG_OK)
        return status;
    switch (dimension)
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
