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
} arrays;

static int corners_of(const tg_faces *b)
{
    return b->npolygon > 0 ? b->start[b->npolygon] : 0;
}

/* an upper bound: sides of polygons and of triangles in them, both ways; the two of a segment */
static size_t most_edges(const tg_faces *b)
{
    return 2 * ((size_t)corners_of(b) + (size_t)b->ninner) + 2;
}

/* an upper bound: every vertex may leave a block unfilled */
static size_t most_blocks(int nvertex, const tg_faces *b)
{
    return nvertex <= TG_SCAN ? ((size_t)nvertex + 7) / 8 : most_edges(b) / 8 + (size_t)nvertex;
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
    a->neighbour = TG_TAKE(arena, int, 2 * (size_t)ncorner + 2, "neighbour");
    a->polygon_start = TG_TAKE(arena, int, npolygon + 1, "polygon_start");
    a->polygon = TG_TAKE(arena, int, ncorner, "polygon");
    a->around_start = TG_TAKE(arena, int, nvertex + 1, "around_start");
    a->around = TG_TAKE(arena, int, ncorner + b->nlink, "around");
    size_t blocks = most_blocks(nvertex, b);
    a->ring_start = TG_TAKE(arena, int, nvertex + 1, "ring_start");
    a->ring = TG_TAKE(arena, double, 24 * blocks, "ring");
    a->ring_vertex = TG_TAKE(arena, int, 8 * blocks, "ring_vertex");
    a->start = TG_TAKE(arena, int, 2 * cells_for(nvertex) * cells_for(nvertex), "start");
}

/* Polygons around each vertex, those of which it is no corner last: counted, then placed. */
static void fill_around(const tg_polytope *t, arrays *a, const tg_faces *b)
{
    int ncorner = t->polygon_start[t->npolygon];
    for (int i = 0; i < ncorner; i++)
        a->around_start[t->polygon[i] + 1]++;
    for (int i = 0; i < b->nlink; i++)
        a->around_start[b->kept[b->link[i].point] + 1]++;
    for (int v = 0; v < t->nvertex; v++)
        a->around_start[v + 1] += a->around_start[v];
    for (int i = b->nlink - 1; i >= 0; i--) /* backwards: an end moves down to its start */
        a->around[--a->around_start[b->kept[b->link[i].point] + 1]] = b->link[i].polygon;
    for (int p = t->npolygon - 1; p >= 0; p--)
        for (int i = t->polygon_start[p]; i < t->polygon_start[p + 1]; i++)
            a->around[--a->around_start[t->polygon[i] + 1]] = p;
    for (int v = 0; v < t->nvertex; v++)
        a->around_start[v] = a->around_start[v + 1];
    a->around_start[t->nvertex] = ncorner + b->nlink;
}

/* Both ways, sorted, once: list[start[v]] .. are joined to v. */
static void fill_lists(tg_edge *e, int count, tg_edge *sorted, int *bucket, int nvertex, int *start, int *list)
{
    tg_sort_edges(e, count, sorted, bucket, nvertex);
    int n = 0;
    for (int i = 0; i < count; i++)
    {
        if (i > 0 && sorted[i].low == sorted[i - 1].low && sorted[i].high == sorted[i - 1].high)
            continue;
        list[n++] = sorted[i].high;
        start[sorted[i].low + 1] = n;
    }
}

static int join(tg_edge *e, int count, int u, int v)
{
    e[count] = (tg_edge){u, v, 0};
    e[count + 1] = (tg_edge){v, u, 0};
    return count + 2;
}

/* the sides of polygons */
static int add_sides(const tg_polytope *t, tg_edge *e)
{
    int count = 0;
    for (int p = 0; p < t->npolygon; p++)
        for (int i = t->polygon_start[p]; i < t->polygon_start[p + 1]; i++)
            count = join(e, count, t->polygon[i],
                         t->polygon[i + 1 < t->polygon_start[p + 1] ? i + 1 : t->polygon_start[p]]);
    return t->npolygon == 0 && t->nvertex == 2 ? join(e, count, 0, 1) : count;
}

/* The sides of the triangles in polygons: triangles are a convex surface, polygons only nearly so, and a corner of one
 * may lie on the side of another. */
static int add_inner(const tg_faces *b, tg_edge *e, int count)
{
    for (int i = 0; i < b->ninner; i++)
        count = join(e, count, b->kept[b->inner[i].low], b->kept[b->inner[i].high]);
    return count;
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

static void fill_rings(const tg_polytope *t, arrays *a, const int *start, const int *list)
{
    if (t->nvertex <= TG_SCAN)
    {
        a->ring_start[1] = fill_ring(t, a, 0, NULL, t->nvertex);
        return;
    }
    for (int v = 0; v < t->nvertex; v++)
        a->ring_start[v + 1] = fill_ring(t, a, a->ring_start[v], list + start[v], start[v + 1] - start[v]);
}

/* the farthest vertex along d, from a start */
static int climb(const tg_polytope *t, v4 d, int start)
{
    for (int best = start;; start = best)
    {
        double most = v4_dot(d, v4_load(t->vertex + 4 * (size_t)start));
        for (int i = 8 * t->ring_start[start]; i < 8 * t->ring_start[start + 1]; i++)
        {
            double along = v4_dot(d, v4_load(t->vertex + 4 * (size_t)t->ring_vertex[i]));
            if (along > most)
            {
                most = along;
                best = t->ring_vertex[i];
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
    int *start = tg_faces_take(b, 2 * (size_t)nvertex + 2, sizeof *start, &status);
    int *list = tg_faces_take(b, nedge, sizeof *list, &status);
    if (status != TG_OK)
    {
        tg_free(b->allocator, arena.base);
        tg_free(b->allocator, e);
        tg_free(b->allocator, start);
        tg_free(b->allocator, list);
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
                       .start = a.start};
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
    int *bucket = start + nvertex + 1, count = add_sides(t, e);
    fill_around(t, &a, b);
    fill_lists(e, count, e + nedge, bucket, nvertex, a.neighbour_start, a.neighbour);
    fill_lists(e, add_inner(b, e, count), e + nedge, bucket, nvertex, start, list);
    fill_rings(t, &a, start, list);
    fill_starts(t, &a);
    tg_free(b->allocator, e);
    tg_free(b->allocator, start);
    tg_free(b->allocator, list);
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
    tg_drop_faces(&b);
    tg_free(allocator, b.kept);
    tg_free(allocator, b.welded);
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
