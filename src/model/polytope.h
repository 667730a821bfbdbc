/* Convex polytopes: the hull of a mesh, or the unit cube. */
#ifndef TG_MODEL_POLYTOPE_H
#define TG_MODEL_POLYTOPE_H

#include "tangere/base.h"

/* Combinatorics do not change when the vertices are scaled along the axes by numbers that are not zero, so one polytope serves every
 * scale; an odd number of negative factors turns the polygons around.
 *
 * Flat hulls are polytopes too: one vertex and no polygon; two vertices, neighbours of each other, and no polygon; a flat
 * polygon twice, back to back, with opposite normals. */
typedef struct tg_polytope
{
    int nvertex, npolygon;
    const double *vertex;       /* nvertex x 4 (x y z 0), unscaled, 32-byte aligned; only vertices of the hull */
    const int *neighbour_start; /* nvertex + 1 */
    const int *neighbour;       /* vertices that share an edge */
    const int *polygon_start;   /* npolygon + 1 */
    const int *polygon;         /* vertices of a face, counter-clockwise from outside; coplanar triangles are merged */
    const double *normal; /* npolygon x 4: unit outward normal (unscaled), and the largest n.x of its vertices in the last place */
    const int *around_start; /* nvertex + 1 */
    const int *around;       /* polygons at a vertex */

    /* What a search for the farthest vertex compares, four at a time: of polytopes with up to TG_SCAN vertices all of them, one ring; of others a ring for
     * each vertex, its neighbours. The last block of a ring repeats a vertex where it is not full. */
    const int *ring_start;  /* blocks of ring i: ring_start[i] .. ring_start[i + 1] */
    const double *ring;     /* block x 12: x of four vertices, y, z; 32-byte aligned */
    const int *ring_vertex; /* block x 4 */

    /* Where a climb starts: the vertex farthest along the middle of a cell, of directions sorted into cells x cells squares on each face of a cube (0 where there is
     * one ring). See tg_polytope_cell. */
    int cells;
    const int *start; /* 6 x cells x cells */
} tg_polytope;

enum
{
    TG_SCAN = 48
};

/* The cell of a direction that is not zero: face 2 k (+ 1: positive) of the cube for its largest component k, then the squares of the next two. */
static inline int tg_polytope_cell(const tg_polytope *t, const double d[3])
{
    double x = d[0] < 0 ? -d[0] : d[0], y = d[1] < 0 ? -d[1] : d[1], z = d[2] < 0 ? -d[2] : d[2];
    int k = x >= y ? (x >= z ? 0 : 2) : (y >= z ? 1 : 2), last = t->cells - 1;
    double largest = x >= y ? (x >= z ? x : z) : (y >= z ? y : z), half = 0.5 * t->cells, scale = half / largest;
    int u = (int)(d[k == 2 ? 0 : k + 1] * scale + half), v = (int)(d[k == 0 ? 2 : k - 1] * scale + half);
    return ((2 * k + (d[k] > 0)) * t->cells + (u < last ? u : last)) * t->cells + (v < last ? v : last);
}

/* Half lengths 1. Vertex i is + along x, y, z where bits 0, 1, 2 of i are set; polygon 2 k + 1 looks along + axis k, 2 k along - axis k. */
extern const tg_polytope tg_unit_cube;

/* The hull of nvertex x 3 numbers, in one block from the allocator. Points that are within 1e-9 of their extent of a plane, a line or a
 * point give a flat hull. Triangles are one polygon where their normals agree to 1e-4 rad and their corners lie within 1e-7 of the extent in one plane
 * (slivers: the corners alone decide); what that moves is below those 1e-7. */
tg_status tg_polytope_create(const tg_allocator *allocator, const double *vertex, int nvertex, tg_polytope **polytope,
                             tg_error *error);
void tg_polytope_destroy(const tg_allocator *allocator, tg_polytope *polytope); /* NULL is allowed */

#endif
