/* Height fields: every cell is two triangular prisms, from the surface down to the base, each a small polytope
 * against the other shape.
 *
 *     (row + 1, col) C ---- D (row + 1, col + 1)      triangle 0: A B C, triangle 1: D C B,
 *                    | \  |                           counter-clockwise from above;
 *         (row, col) A ---- B (row, col + 1)          columns along x, rows along y
 *
 * Where prisms meet there is no edge and no wall. A contact counts only if the whole surface has its normal at its
 * point x: if n.(y - x) <= 0 for all corners y of all triangles that meet there. On a face that leaves its own
 * normal; on an edge those between the two triangles, if it is convex, and none if it is hollow; at a corner those
 * of the cone. A point on a wall counts only if the wall is the border's; one on the base does not.
 *
 * A prism with contacts that do not count still holds what lies over it: the points that the shape has over the
 * triangle's plane, if they are over the triangle. So a shape that slides over a flat field meets vertical normals
 * only, one that is deep inside it is pushed up, and one that is tilted rests on as many corners as on a plane. */
#include <math.h>

#include "collision/ahead.h"
#include "collision/curved.h"
#include "collision/patch.h"
#include "collision/polytope.h"
#include "collision/surface.h"

typedef struct prism
{
    int row, col, half; /* half: triangle 0 or 1 */
    v4 normal;          /* of the triangle, the field's frame */
    _Alignas(32) double vertex[6][4];
    _Alignas(32) double plane[5][4];
    _Alignas(32) double ring[3][8]; /* x, y, z of the vertices, the first again where it is not full */
    tg_polytope polytope;
} prism;

/* ---- the surface ---- */

static int clamp_index(double x, int last)
{
    return x < 0 ? 0 : x > last ? last : (int)x;
}

static v4 grid_point(const tg_terrain *t, int row, int col)
{
    double x = t->size[0] * (2.0 * col / (t->ncol - 1) - 1), y = t->size[1] * (2.0 * row / (t->nrow - 1) - 1);
    return v4_set(x, y, t->size[2] * t->elevation[(size_t)row * (size_t)t->ncol + (size_t)col], 0);
}

/* row and column of the corners of the two triangles */
static const int corner_offset[2][3][2] = {{{0, 0}, {0, 1}, {1, 0}}, {{1, 1}, {1, 0}, {0, 1}}};

static void triangle(const tg_terrain *t, int row, int col, int half, v4 corner[3])
{
    for (int i = 0; i < 3; i++)
        corner[i] = grid_point(t, row + corner_offset[half][i][0], col + corner_offset[half][i][1]);
}

static v4 normal_of(const v4 corner[3])
{
    return tg_unit(v4_cross(corner[1] - corner[0], corner[2] - corner[0]));
}

/* The triangle beyond edge k (from corner k to the next); false at the border. */
static bool beyond_edge(const tg_terrain *t, const prism *p, int k, v4 corner[3])
{
    static const int step[2][3][2] = {{{-1, 0}, {0, 0}, {0, -1}}, {{1, 0}, {0, 0}, {0, 1}}};
    int row = p->row + step[p->half][k][0], col = p->col + step[p->half][k][1];
    if (row < 0 || col < 0 || row >= t->nrow - 1 || col >= t->ncol - 1)
        return false;
    triangle(t, row, col, 1 - p->half, corner);
    return true;
}

/* ---- a prism as a polytope ---- */

static const int prism_neighbour_start[7] = {0, 3, 6, 9, 12, 15, 18};
static const int prism_neighbour[18] = {1, 2, 3, 0, 2, 4, 0, 1, 5, 4, 5, 0, 3, 5, 1, 3, 4, 2};
static const int prism_polygon_start[6] = {0, 3, 6, 10, 14, 18};
static const int prism_polygon[18] = {0, 1, 2, 3, 5, 4, 0, 3, 4, 1, 1, 4, 5, 2, 2, 5, 3, 0};
static const int prism_around_start[7] = {0, 3, 6, 9, 12, 15, 18};
static const int prism_ring_start[2] = {0, 1};
static const int prism_ring_vertex[8] = {0, 1, 2, 3, 4, 5, 0, 0};
static const int prism_around[18] = {0, 2, 4, 0, 2, 3, 0, 3, 4, 1, 2, 4, 1, 2, 3, 1, 3, 4};

static void set_plane(prism *p, int i, v4 n, v4 at)
{
    n[3] = 0;
    double offset = v4_dot(n, at);
    v4_store(p->plane[i], v4_set(n[0], n[1], n[2], offset));
}

static void make_prism(const tg_terrain *t, int row, int col, int half, prism *p)
{
    v4 corner[3], down = v4_set(0, 0, -1, 0);
    triangle(t, row, col, half, corner);
    p->row = row;
    p->col = col;
    p->half = half;
    p->normal = normal_of(corner);
    for (int i = 0; i < 3; i++)
    {
        v4_store(p->vertex[i], corner[i]);
        v4_store(p->vertex[i + 3], v4_set(corner[i][0], corner[i][1], -t->size[3], 0));
    }
    set_plane(p, 0, p->normal, corner[0]);
    set_plane(p, 1, down, v4_load(p->vertex[3]));
    for (int i = 0; i < 3; i++)
    {
        v4 e = corner[i == 2 ? 0 : i + 1] - corner[i];
        set_plane(p, 2 + i, tg_unit(v4_set(e[1], -e[0], 0, 0)), corner[i]);
    }
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 3; k++)
            p->ring[k][i] = p->vertex[prism_ring_vertex[i]][k];
    p->polytope = (tg_polytope){.nvertex = 6,
                                .npolygon = 5,
                                .vertex = p->vertex[0],
                                .neighbour_start = prism_neighbour_start,
                                .neighbour = prism_neighbour,
                                .polygon_start = prism_polygon_start,
                                .polygon = prism_polygon,
                                .normal = p->plane[0],
                                .around_start = prism_around_start,
                                .around = prism_around,
                                .ring_start = prism_ring_start,
                                .ring = p->ring[0],
                                .ring_vertex = prism_ring_vertex};
}

static tg_placed place_prism(const tg_placed *field, const prism *p)
{
    return (tg_placed){
        .R = field->R, .x = field->x, .size = {1, 1, 1, 0}, .type = TG_GEOM_MESH, .polytope = &p->polytope};
}

/* ---- which contacts count ---- */

#define SIDEWAYS 1e-6 /* rad: rounding of a normal */
#define NEAR 1e-6     /* of a cell: rounding of a point */
#define LEVEL 0.01    /* rad: a face that is tilted by less lies on a ridge (polytope.c has the same) */

/* direction in the triangle's plane across edge a b, outwards */
static v4 across_edge(v4 a, v4 b, v4 normal)
{
    return tg_unit(v4_cross(b - a, normal));
}

/* y does not rise above the plane through x with normal n */
static bool stays_below(v4 x, v4 y, v4 n)
{
    v4 d = y - x;
    return v4_dot(n, d) <= SIDEWAYS * sqrt(v4_dot(d, d));
}

/* All corners that share a triangle with corner (row, col), along the rows, the columns and the diagonals of the cells,
 * are below the plane through it with normal n. Where a face lies on it, from which the surface falls off to some side,
 * they are if the face is tilted a little: else a face over a ridge or the edge of a step would have one point only. */
static bool below_around(const tg_terrain *t, int row, int col, v4 x, v4 n, bool face)
{
    static const int step[6][2] = {{0, 1}, {1, 0}, {1, -1}, {0, -1}, {-1, 0}, {-1, 1}};
    double most = -1, least = 1; /* sines of the slopes from the plane to the corners */
    for (int i = 0; i < 6; i++)
    {
        int r = row + step[i][0], c = col + step[i][1];
        bool inside = r >= 0 && c >= 0 && r < t->nrow && c < t->ncol;
        v4 d = inside ? grid_point(t, r, c) - x : v4_set(0, 0, -1, 0);
        double slope = v4_dot(n, d) / sqrt(v4_dot(d, d));
        most = tg_most(most, slope);
        least = tg_least(least, slope);
    }
    return most <= SIDEWAYS || (face && most < LEVEL && least < -2 * LEVEL);
}

/* The sides of the prism (bits 0 .. 2) that x is at. */
static int sides_at(const prism *p, v4 x, double near)
{
    int sides = 0;
    for (int k = 0; k < 3; k++)
    {
        v4 wall = v4_load(p->plane[2 + k]);
        wall[3] = 0;
        if (v4_dot(wall, v4_load(p->vertex[k]) - x) < near)
            sides |= 1 << k;
    }
    return sides;
}

/* below the surface: only the border's walls count */
static bool wall_counts(const tg_terrain *t, const prism *p, int sides)
{
    v4 other[3];
    for (int k = 0; k < 3; k++)
        if ((sides >> k & 1) != 0 && beyond_edge(t, p, k, other))
            return false;
    return sides != 0;
}

/* x on the prism and n, both in the field's frame; size: of the cell; face: of the shape, with normal n */
static bool counts(const tg_terrain *t, const prism *p, v4 x, v4 n, double size, bool face)
{
    int sides = sides_at(p, x, NEAR * size);
    if (v4_dot(p->normal, v4_load(p->vertex[0]) - x) > NEAR * size)
        return wall_counts(t, p, sides);
    for (int k = 0; k < 3; k++)
    {
        v4 corner = v4_load(p->vertex[k]), d = x - corner, other[3];
        if (v4_dot(d, d) < NEAR * NEAR * size * size)
            return below_around(t, p->row + corner_offset[p->half][k][0], p->col + corner_offset[p->half][k][1], corner,
                                n, face);
        if (!stays_below(x, corner, n))
            return false;
        if ((sides >> k & 1) == 0)
            continue;
        if (!beyond_edge(t, p, k, other))
        {
            if (n[2] < -SIDEWAYS)
                return false;
            continue;
        }
        for (int i = 0; i < 3; i++)
            if (!stays_below(x, other[i], n))
                return false;
    }
    return true;
}

/* ---- gathering ---- */

typedef struct sweep
{
    const tg_query *q;
    const tg_terrain *terrain;
    double size;            /* of a cell */
    double low[3], high[3]; /* of the shape, the field's frame */
    double best;            /* smallest distance so far */
    double slope;           /* of the choice of points: one at q->reach counts as nearer by the size of the shape */
    tg_gather gather;
} sweep;

static void keep(sweep *s, const tg_contact_point *c, const prism *p)
{
    tg_gather *g = &s->gather;
    for (int i = 0; i < g->count; i++)
    {
        v4 d = g->point[i].point - c->point, off = g->point[i].normal - c->normal;
        if (v4_dot(d, d) < 1e-16 * s->size * s->size && v4_dot(off, off) < SIDEWAYS * SIDEWAYS)
            return;
    }
    if (g->count == TG_GATHER_MAX)
        g->count = tg_choose_points(g->point, g->count, TG_GATHER_MAX / 2, s->slope);
    uint32_t cell = (uint32_t)((p->row * s->terrain->ncol + p->col) * 2 + p->half);
    g->point[g->count] = *c;
    g->point[g->count++].feature += cell * 0x9E3779B1u;
    s->best = tg_least(s->best, c->distance);
}

/* from a point over the triangle to its nearest edge, negative beyond one; the field's frame */
static double room_over(const prism *p, v4 x)
{
    double room = INFINITY;
    for (int k = 0; k < 3; k++)
    {
        v4 a = v4_load(p->vertex[k]), b = v4_load(p->vertex[k == 2 ? 0 : k + 1]);
        room = tg_least(room, v4_dot(across_edge(a, b, p->normal), a - x));
    }
    return room;
}

/* Whether x, below the triangle's plane by `depth`, is below the surface, too: in a valley, but not beyond a ridge. */
static bool is_inside(const sweep *s, const prism *p, v4 x, double depth)
{
    const tg_terrain *t = s->terrain;
    v4 corner[3];
    double u = 0.5 * (x[0] / t->size[0] + 1) * (t->ncol - 1), v = 0.5 * (x[1] / t->size[1] + 1) * (t->nrow - 1);
    int col = clamp_index(u, t->ncol - 2), row = clamp_index(v, t->nrow - 2);
    if (u < -NEAR || v < -NEAR || u > t->ncol - 1 + NEAR || v > t->nrow - 1 + NEAR)
        return false;
    triangle(t, row, col, u - col + v - row > 1, corner);
    v4 n = normal_of(corner);
    return v4_dot(n, corner[0] - x) / n[2] >= depth / p->normal[2] - NEAR * s->size;
}

/* keeps a point over the triangle's plane if it is over the triangle */
static bool keep_if_over(sweep *s, const prism *p, tg_contact_point *c)
{
    const tg_placed *field = &s->q->shape[0];
    v4 x = mat3_mul_t(field->R, c->point + c->normal * v4_splat(0.5 * c->distance) - field->x);
    double room = room_over(p, x);
    if (room < -1e-9 * s->size || (c->distance < 0 && !is_inside(s, p, x, -c->distance)))
        return false;
    c->margin = tg_least(c->margin, fabs(room));
    keep(s, c, p);
    return true;
}

/* of the points that the shape has over the triangle's plane those that are over the triangle; returns how many */
static int keep_over(sweep *s, const prism *p)
{
    const tg_placed *field = &s->q->shape[0];
    tg_query q = *s->q;
    tg_patch patch;
    int kept = 0;
    q.shape[0] = (tg_placed){.type = TG_GEOM_PLANE, .x = field->x + mat3_mul(field->R, v4_load(p->vertex[0]))};
    q.shape[0].R.c[2] = mat3_mul(field->R, p->normal);
    tg_narrow(&q, &patch);
    for (int i = 0; i < patch.count; i++)
        kept += keep_if_over(s, p, &patch.point[i]);
    return kept;
}

/* Corners below the triangle: of a face that does not look along its normal, that of a step's side for example. */
static void keep_corners(sweep *s, const prism *p)
{
    const tg_placed *field = &s->q->shape[0], *shape = &s->q->shape[1];
    v4 n = mat3_mul(field->R, p->normal), on = field->x + mat3_mul(field->R, v4_load(p->vertex[0]));
    for (int i = 0; i < shape->polytope->nvertex; i++)
    {
        tg_contact_point c;
        v4 x = shape->x + mat3_mul(shape->R, tg_core_local(shape, i));
        double distance = v4_dot(n, x - on);
        if (distance >= 0)
            continue;
        tg_init_point(&c, x - n * v4_splat(0.5 * distance), n, distance, INFINITY, (uint32_t)i);
        c.surface[0] = tg_surface_face();
        keep_if_over(s, p, &c);
    }
}

/* distance of the boxes around the prism and the shape: no more than that of the two */
static double lower_bound(const sweep *s, const prism *p)
{
    double squared = 0;
    for (int k = 0; k < 3; k++)
    {
        double low = INFINITY, high = -INFINITY;
        for (int i = 0; i < 6; i++)
        {
            low = tg_least(low, p->vertex[i][k]);
            high = tg_most(high, p->vertex[i][k]);
        }
        double gap = tg_most(0, tg_most(low - s->high[k], s->low[k] - high));
        squared += gap * gap;
    }
    return sqrt(squared);
}

static void visit(sweep *s, int row, int col, int half)
{
    prism p;
    make_prism(s->terrain, row, col, half, &p);
    double bound = lower_bound(s, &p);
    if (bound >= s->q->reach || (s->q->reach == INFINITY && bound > tg_most(0, s->best)))
        return;
    tg_query q = *s->q;
    q.shape[0] = place_prism(&s->q->shape[0], &p);
    q.dt = 0;
    q.hint = NULL;
    tg_patch patch;
    tg_narrow(&q, &patch);
    int kept = 0;
    bool overlap = false;
    for (int i = 0; i < patch.count; i++)
    {
        const tg_contact_point *c = &patch.point[i];
        v4 on = c->point - c->normal * v4_splat(0.5 * c->distance), n = mat3_mul_t(q.shape[0].R, c->normal);
        bool face = c->surface[1].flat == 2;
        overlap = overlap || c->distance < 0;
        if (!counts(s->terrain, &p, mat3_mul_t(q.shape[0].R, on - q.shape[0].x), n, s->size, face))
            continue;
        keep(s, c, &p);
        kept++;
    }
    if (patch.count > 0) /* else nothing of the shape is so near to the prism */
        kept += keep_over(s, &p);
    if (kept == 0 && overlap && s->q->shape[1].polytope != NULL)
        keep_corners(s, &p);
}

/* box of the shape in the field's frame */
static void bound_shape(sweep *s)
{
    const tg_placed *field = &s->q->shape[0], *shape = &s->q->shape[1];
    for (int k = 0; k < 3; k++)
    {
        v4 axis = field->R.c[k];
        double r = tg_rounding(shape);
        s->low[k] = v4_dot(axis, tg_support(shape, -axis, NULL) - field->x) - r;
        s->high[k] = v4_dot(axis, tg_support(shape, axis, NULL) - field->x) + r;
        if (s->q->reach > 0)
            s->slope = tg_most(s->slope, (s->high[k] - s->low[k]) / s->q->reach);
    }
}

static void sweep_cells(sweep *s)
{
    const tg_terrain *t = s->terrain;
    double dx = 2 * t->size[0] / (t->ncol - 1), dy = 2 * t->size[1] / (t->nrow - 1), reach = s->q->reach;
    int col[2] = {clamp_index((s->low[0] - reach + t->size[0]) / dx, t->ncol - 2),
                  clamp_index((s->high[0] + reach + t->size[0]) / dx, t->ncol - 2)};
    int row[2] = {clamp_index((s->low[1] - reach + t->size[1]) / dy, t->nrow - 2),
                  clamp_index((s->high[1] + reach + t->size[1]) / dy, t->nrow - 2)};
    if (reach == INFINITY) /* the cell below the shape first: it bounds what the others can add */
        for (int half = 0; half < 2; half++)
            visit(s, clamp_index((0.5 * (s->low[1] + s->high[1]) + t->size[1]) / dy, t->nrow - 2),
                  clamp_index((0.5 * (s->low[0] + s->high[0]) + t->size[0]) / dx, t->ncol - 2), half);
    for (int i = row[0]; i <= row[1]; i++)
        for (int j = col[0]; j <= col[1]; j++)
            for (int half = 0; half < 2; half++)
                visit(s, i, j, half);
}

void tg_terrain_convex(const tg_query *q, tg_patch *patch)
{
    const tg_terrain *t = q->shape[0].terrain;
    sweep s;
    s.q = q;
    s.terrain = t;
    s.size = tg_most(2 * t->size[0] / (t->ncol - 1), 2 * t->size[1] / (t->nrow - 1));
    s.best = INFINITY;
    s.slope = 0;
    s.gather.count = 0;
    bound_shape(&s);
    sweep_cells(&s);
    patch->count = tg_choose_points(s.gather.point, s.gather.count, TG_PATCH_MAX, s.slope);
    for (int i = 0; i < patch->count; i++)
        patch->point[i] = s.gather.point[i];
}
