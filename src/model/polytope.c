/* Convex polytopes: the unit cube; and hulls, whose faces (polytope_faces.c) are put together with what searches need:
 * polygons around vertices, neighbours, rings, where climbs start. */
#include "model/polytope.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "model/polytope_faces.h"

enum
{
    CELLS_MAX = 128
};

/* ---- the unit cube ---- */

static const _Alignas(32) double cube_vertex[] = {
    -1, -1, -1, 0, 1, -1, -1, 0, -1, 1, -1, 0, 1, 1, -1, 0, -1, -1, 1, 0, 1, -1, 1, 0, -1, 1, 1, 0, 1, 1, 1, 0,
};
static const _Alignas(32) double cube_normal[] = {
    -1, 0, 0, 1, 1, 0, 0, 1, 0, -1, 0, 1, 0, 1, 0, 1, 0, 0, -1, 1, 0, 0, 1, 1,
};
static const _Alignas(32) double cube_ring[] = {
    -1, 1, -1, 1, -1, 1, -1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1, -1, -1, 1, 1, 1, 1,
};
static const int cube_ring_start[] = {0, 1};
static const int cube_ring_vertex[] = {0, 1, 2, 3, 4, 5, 6, 7};
static const int cube_neighbour_start[] = {0, 3, 6, 9, 12, 15, 18, 21, 24};
static const int cube_neighbour[] = {1, 2, 4, 0, 3, 5, 3, 0, 6, 2, 1, 7, 5, 6, 0, 4, 7, 1, 7, 4, 2, 6, 5, 3};
static const int cube_polygon_start[] = {0, 4, 8, 12, 16, 20, 24};
static const int cube_polygon[] = {0, 4, 6, 2, 1, 3, 7, 5, 0, 1, 5, 4, 2, 6, 7, 3, 0, 2, 3, 1, 4, 5, 7, 6};
static const int cube_around_start[] = {0, 3, 6, 9, 12, 15, 18, 21, 24};
static const int cube_around[] = {0, 2, 4, 1, 2, 4, 0, 3, 4, 1, 3, 4, 0, 2, 5, 1, 2, 5, 0, 3, 5, 1, 3, 5};

const tg_polytope tg_unit_cube = {
    .nvertex = 8,
    .npolygon = 6,
    .vertex = cube_vertex,
    .neighbour_start = cube_neighbour_start,
    .neighbour = cube_neighbour,
    .polygon_start = cube_polygon_start,
    .polygon = cube_polygon,
    .normal = cube_normal,
    .around_start = cube_around_start,
    .around = cube_around,
    .ring_start = cube_ring_start,
    .ring = cube_ring,
    .ring_vertex = cube_ring_vertex,
};

/* ---- the result ---- */

/* what is filled through pointers that the polytope declares const */
typedef struct arrays
{
    double *vertex, *normal, *ring;
    int *neighbour_start, *neighbour, *polygon_start, *polygon, *around_start, *around, *ring_start, *ring_vertex,
        *start;
    uint64_t *open;
} arrays;

static int corners_of(const tg_faces *b)
{
    return b->npolygon > 0 ? b->start[b->npolygon] : 0;
}

/* an upper bound: both ways, three for a link; the two of a segment */
static size_t most_edges(const tg_faces *b)
{
    return 2 * ((size_t)corners_of(b) + 3 * (size_t)b->nlink + (size_t)b->nloose + 1);
}

/* an upper bound: every vertex may leave a block unfilled */
static size_t most_blocks(int nvertex, size_t nedge)
{
    return nvertex <= TG_SCAN ? ((size_t)nvertex + 7) / 8 : nedge / 8 + (size_t)nvertex;
}

/* about eight cells a vertex, and as many that are not on the octahedron */
static int cells_for(int nvertex)
{
    int cells = (int)sqrt(8.0 * nvertex);
    return nvertex <= TG_SCAN ? 0 : cells < CELLS_MAX ? cells : CELLS_MAX;
}

static void place(tg_arena *arena, tg_polytope **polytope, arrays *a, int nvertex, const tg_faces *b)
{
    int npolygon = b->npolygon, ncorner = corners_of(b);
    *polytope = TG_TAKE(arena, tg_polytope, 1, "polytope");
    a->vertex = TG_TAKE(arena, double, 4 * (size_t)nvertex, "vertex");
    a->normal = TG_TAKE(arena, double, 4 * (size_t)npolygon, "normal");
    a->neighbour_start = TG_TAKE(arena, int, nvertex + 1, "neighbour_start");
    a->neighbour = TG_TAKE(arena, int, most_edges(b), "neighbour");
    a->polygon_start = TG_TAKE(arena, int, npolygon + 1, "polygon_start");
    a->polygon = TG_TAKE(arena, int, ncorner, "polygon");
    a->around_start = TG_TAKE(arena, int, nvertex + 1, "around_start");
    a->around = TG_TAKE(arena, int, ncorner + b->nlink, "around");
    size_t blocks = most_blocks(nvertex, most_edges(b));
    a->ring_start = TG_TAKE(arena, int, nvertex + 1, "ring_start");
    a->ring = TG_TAKE(arena, double, 24 * blocks, "ring");
    a->ring_vertex = TG_TAKE(arena, int, 8 * blocks, "ring_vertex");
    a->start = TG_TAKE(arena, int, 2 * cells_for(nvertex) * cells_for(nvertex), "start");
    a->open = TG_TAKE(arena, uint64_t, nvertex / 64 + 1, "open");
}

/* Polygons around each vertex, of which it is a corner, then those that it is linked to: counted, then placed. */
static void fill_around(const tg_polytope *t, arrays *a, const tg_faces *b)
{
    int ncorner = t->polygon_start[t->npolygon];
    for (int i = 0; i < ncorner; i++)
        a->around_start[t->polygon[i] + 1]++;
    for (int i = 0; i < b->nlink; i++)
        a->around_start[b->kept[b->link[2 * i]] + 1]++;
    for (int v = 0; v < t->nvertex; v++)
        a->around_start[v + 1] += a->around_start[v];
    for (int i = b->nlink - 1; i >= 0; i--) /* backwards: an end moves down to its start */
        a->around[--a->around_start[b->kept[b->link[2 * i]] + 1]] = b->link[2 * i + 1];
    for (int p = t->npolygon - 1; p >= 0; p--)
        for (int i = t->polygon_start[p]; i < t->polygon_start[p + 1]; i++)
            a->around[--a->around_start[t->polygon[i] + 1]] = p;
    for (int v = 0; v < t->nvertex; v++)
        a->around_start[v] = a->around_start[v + 1];
    a->around_start[t->nvertex] = ncorner + b->nlink;
}

/* how far x is inside of the side from a to b, seen along n */
static double inside(v4 n, v4 a, v4 b, v4 x)
{
    v4 side = v4_cross(n, b - a);
    double length = v4_length(side);
    return length > 0 ? v4_dot(side, x - a) / length : 0;
}

/* The triangle between three corners of a polygon, the first corner and two that follow each other, that x lies in. */
static void triangle_at(const tg_polytope *t, int polygon, v4 x, int corner[3])
{
    const int *list = t->polygon + t->polygon_start[polygon];
    int count = t->polygon_start[polygon + 1] - t->polygon_start[polygon];
    v4 n = v4_load(t->normal + 4 * (size_t)polygon), a = v4_load(t->vertex + 4 * (size_t)list[0]);
    double best = -INFINITY;
    int at = 1;
    n[3] = 0;
    for (int i = 1; i + 1 < count; i++)
    {
        v4 b = v4_load(t->vertex + 4 * (size_t)list[i]), c = v4_load(t->vertex + 4 * (size_t)list[i + 1]);
        double least = fmin(inside(n, a, b, x), fmin(inside(n, b, c, x), inside(n, c, a, x)));
        at = least > best ? i : at;
        best = fmax(best, least);
    }
    corner[0] = list[0];
    corner[1] = list[at];
    corner[2] = list[at + 1];
}

static int add_edge(tg_edge *e, int count, int u, int v)
{
    e[count] = (tg_edge){u, v, 0};
    e[count + 1] = (tg_edge){v, u, 0};
    return count + 2;
}

/* Every edge of a polygon both ways, sorted, once. A climb must find up from a vertex into every polygon that the vertex
 * lies in. From a corner it does along the outline, which is convex. A vertex that is no corner has three corners
 * around it as neighbours: whichever way is up, one of them is. */
static void fill_neighbours(const tg_polytope *t, arrays *a, const tg_faces *b, tg_edge *e, tg_edge *sorted, int *start)
{
    int count = 0;
    for (int p = 0; p < t->npolygon; p++)
        for (int i = t->polygon_start[p]; i < t->polygon_start[p + 1]; i++)
            count = add_edge(e, count, t->polygon[i],
                             t->polygon[i + 1 < t->polygon_start[p + 1] ? i + 1 : t->polygon_start[p]]);
    for (int i = 0; i < b->nlink; i++)
    {
        int corner[3], vertex = b->kept[b->link[2 * i]];
        triangle_at(t, b->link[2 * i + 1], v4_load(t->vertex + 4 * (size_t)vertex), corner);
        for (int k = 0; k < 3; k++)
            count = add_edge(e, count, vertex, corner[k]);
    }
    for (int i = 0; i < b->nloose; i++)
        count = add_edge(e, count, b->kept[b->loose[2 * i]], b->kept[b->loose[2 * i + 1]]);
    if (t->npolygon == 0 && t->nvertex == 2)
        count = add_edge(e, count, 0, 1);
    tg_sort_edges(e, count, sorted, start, t->nvertex);
    e = sorted;
    int n = 0;
    for (int i = 0; i < count; i++)
    {
        if (i > 0 && e[i].low == e[i - 1].low && e[i].high == e[i - 1].high)
            continue;
        a->neighbour[n++] = e[i].high;
        a->neighbour_start[e[i].low + 1] = n;
    }
}

/* Appends the vertices list[0 .. count - 1] (NULL: 0, 1, ...) as blocks of eight; returns the number of blocks. */
static int fill_ring(const tg_polytope *t, arrays *a, int block, const int *list, int count)
{
    for (int i = 0; i < count; i += 8, block++)
        for (int lane = 0; lane < 8; lane++)
        {
            int at = i + lane < count ? i + lane : i, v = list != NULL ? list[at] : at;
            for (int k = 0; k < 3; k++)
                a->ring[24 * (size_t)block + 8 * (size_t)k + (size_t)lane] = t->vertex[4 * (size_t)v + (size_t)k];
            a->ring_vertex[8 * (size_t)block + (size_t)lane] = v;
        }
    return block;
}

static void fill_rings(const tg_polytope *t, arrays *a)
{
    if (t->nvertex <= TG_SCAN)
    {
        a->ring_start[1] = fill_ring(t, a, 0, NULL, t->nvertex);
        return;
    }
    for (int v = 0; v < t->nvertex; v++)
    {
        const int *list = t->neighbour + t->neighbour_start[v];
        a->ring_start[v + 1] =
            fill_ring(t, a, a->ring_start[v], list, t->neighbour_start[v + 1] - t->neighbour_start[v]);
    }
}

/* the farthest vertex along d, from a start */
static int climb(const tg_polytope *t, v4 d, int start)
{
    for (int best = start;; start = best)
    {
        double most = v4_dot(d, v4_load(t->vertex + 4 * (size_t)start));
        for (int i = t->neighbour_start[start]; i < t->neighbour_start[start + 1]; i++)
        {
            double along = v4_dot(d, v4_load(t->vertex + 4 * (size_t)t->neighbour[i]));
            if (along > most)
            {
                most = along;
                best = t->neighbour[i];
            }
        }
        if (best == start)
            return best;
    }
}

static void fill_starts(const tg_polytope *t, arrays *a)
{
    int n = t->cells, vertex = 0;
    for (int i = 0; i < 2 * n * n; i++)
    {
        double x = (2 * (i / n % n) + 1.0) / n - 1, y = (2 * (i % n) + 1.0) / n - 1, z = 1 - fabs(x) - fabs(y);
        v4 d = v4_set(x, y, z <= 0 ? 0 : i < n * n ? -z : z, 0);
        a->start[i] = vertex = climb(t, d, vertex);
    }
}

/* Around a closed vertex there are as many polygons as edges. */
static void fill_open(const tg_polytope *t, arrays *a)
{
    for (int v = 0; v < t->nvertex; v++)
        if (t->neighbour_start[v + 1] - t->neighbour_start[v] != t->around_start[v + 1] - t->around_start[v])
            a->open[v / 64] |= (uint64_t)1 << v % 64;
}

/* Numbers the points that are corners of a polygon (or, without polygons, those marked), in the order of the input. */
static int number_vertices(tg_faces *b)
{
    int ncorner = corners_of(b), count = 0;
    for (int i = 0; i < ncorner; i++)
        b->kept[b->corner[i]] = 1;
    for (int i = 0; i < b->npoint; i++)
        b->kept[i] = b->kept[i] != 0 ? count++ : -1;
    return count;
}

static tg_status assemble(tg_faces *b, tg_polytope **polytope)
{
    int nvertex = number_vertices(b), ncorner = corners_of(b);
    arrays a;
    tg_arena arena = {0};
    place(&arena, polytope, &a, nvertex, b);
    tg_status status = TG_OK;
    arena = (tg_arena){.capacity = arena.used, .base = tg_faces_take(b, arena.used, 1, &status)};
    size_t nedge = most_edges(b);
    tg_edge *e = tg_faces_take(b, 2 * nedge, sizeof *e, &status);
    int *start = tg_faces_take(b, (size_t)nvertex + 1, sizeof *start, &status);
    if (status != TG_OK)
    {
        tg_free(b->allocator, arena.base);
        tg_free(b->allocator, e);
        tg_free(b->allocator, start);
        return status;
    }
    place(&arena, polytope, &a, nvertex, b);
    tg_polytope *t = *polytope;
    *t = (tg_polytope){.nvertex = nvertex,
                       .npolygon = b->npolygon,
                       .vertex = a.vertex,
                       .neighbour_start = a.neighbour_start,
                       .neighbour = a.neighbour,
                       .polygon_start = a.polygon_start,
                       .polygon = a.polygon,
                       .normal = a.normal,
                       .around_start = a.around_start,
                       .around = a.around,
                       .ring_start = a.ring_start,
                       .ring = a.ring,
                       .ring_vertex = a.ring_vertex,
                       .cells = cells_for(nvertex),
                       .start = a.start,
                       .open = a.open};
    for (int i = 0; i < b->npoint; i++)
        if (b->kept[i] >= 0)
        {
            v4 x = tg_face_point(b, i);
            v4_store(a.vertex + 4 * (size_t)b->kept[i], x);
            t->radius = fmax(t->radius, sqrt(v4_dot(x, x)));
        }
    for (int i = 0; i < ncorner; i++)
        a.polygon[i] = b->kept[b->corner[i]];
    if (b->npolygon > 0)
    {
        memcpy(a.polygon_start, b->start, ((size_t)b->npolygon + 1) * sizeof *b->start);
        memcpy(a.normal, b->normal, 4 * (size_t)b->npolygon * sizeof *b->normal);
    }
    fill_around(t, &a, b);
    fill_neighbours(t, &a, b, e, e + nedge, start);
    fill_rings(t, &a);
    fill_starts(t, &a);
    fill_open(t, &a);
    tg_free(b->allocator, e);
    tg_free(b->allocator, start);
    return TG_OK;
}

static tg_status check_points(const double *vertex, int nvertex, tg_error *error)
{
    if (nvertex < 1)
        return tg_fail(error, TG_ERR_ARGUMENT, "a hull needs at least one point, got %d", nvertex);
    for (int i = 0; i < nvertex; i++)
        for (int k = 0; k < 3; k++)
            if (!(fabs(vertex[3 * (size_t)i + (size_t)k]) <= 1e100))
                return tg_fail(error, TG_ERR_VALUE, "point %d of a hull: coordinate %d is %g", i, k,
                               vertex[3 * (size_t)i + (size_t)k]);
    return TG_OK;
}

tg_status tg_polytope_of_mesh(const tg_allocator *allocator, const double *vertex, int nvertex, const int *face,
                              int nface, tg_polytope **polytope, tg_error *error)
{
    *polytope = NULL;
    tg_status status = check_points(vertex, nvertex, error);
    if (status != TG_OK)
        return status;
    tg_faces b = {
        .allocator = allocator, .error = error, .point = vertex, .npoint = nvertex, .face = face, .nface = nface};
    b.kept = tg_faces_take(&b, (size_t)nvertex, sizeof *b.kept, &status);
    if (status == TG_OK)
        status = tg_find_faces(&b);
    if (status == TG_OK)
        status = assemble(&b, polytope);
    void *const temporary[] = {b.start, b.corner, b.normal, b.link, b.loose, b.kept};
    for (size_t i = 0; i < sizeof temporary / sizeof *temporary; i++)
        tg_free(allocator, temporary[i]);
    return status;
}

tg_status tg_polytope_create(const tg_allocator *allocator, const double *vertex, int nvertex, tg_polytope **polytope,
                             tg_error *error)
{
    return tg_polytope_of_mesh(allocator, vertex, nvertex, NULL, 0, polytope, error);
}

void tg_polytope_destroy(const tg_allocator *allocator, tg_polytope *polytope)
{
    tg_free(allocator, polytope);
}
