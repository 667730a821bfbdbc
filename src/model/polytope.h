/* Convex polytopes: the hull of a mesh, or the unit cube. */
#ifndef TG_MODEL_POLYTOPE_H
#define TG_MODEL_POLYTOPE_H

#include "tangere/base.h"

/* Combinatorics do not change when the vertices are scaled along the axes by numbers that are not zero, so one
 * polytope serves every scale; an odd number of negative factors turns the polygons around.
 *
 * Flat hulls are polytopes too: one vertex and no polygon; two vertices, neighbours of each other, and no polygon; a
 * flat polygon twice, back to back, with opposite normals. */
typedef struct tg_polytope
{
    int nvertex, npolygon;
    const double *vertex;       /* nvertex x 4 (x y z 0), unscaled, 32-byte aligned; only vertices of the hull */
    const int *neighbour_start; /* nvertex + 1 */
    const int *neighbour;       /* vertices that share an edge */
    const int *polygon_start;   /* npolygon + 1 */
    const int *polygon;         /* vertices of a face, counter-clockwise from outside; coplanar triangles are merged */
    const double *normal;       /* npolygon x 4: unit outward normal (unscaled), and its largest n.x */
    const int *around_start;    /* nvertex + 1 */
    const int *around;          /* polygons at a vertex: it is a corner, or lies on a side */

    /* What a search for the farthest vertex compares, eight at a time: of polytopes with up to TG_SCAN vertices all
     * of them, one ring; of others a ring for each vertex, its neighbours and those along sides of the triangles that
     * polygons were made of. The last block of a ring repeats its first vertex where it is not full. */
    const int *ring_start;  /* blocks of ring i: ring_start[i] .. ring_start[i + 1] */
    const double *ring;     /* block x 24: x of eight vertices, y, z; 32-byte aligned */
    const int *ring_vertex; /* block x 8 */

    /* Where a climb starts: the vertex farthest along the middle of a cell of directions (0 cells where there is one
     * ring). See tg_polytope_cell. */
    int cells;
    const int *start; /* 2 x cells x cells */

    /* Where there are cells, what tells that a vertex is farther than all others because it is than its neighbours. */
    double radius; /* of the ball around the origin that holds all vertices */
} tg_polytope;

enum
{
    TG_SCAN = 48
};

/* The cell of a direction that is not zero: squares of x and y on the octahedron |x| + |y| + |z| = 1, for z < 0 and
 * z >= 0. */
static inline int tg_polytope_cell(const tg_polytope *t, double x, double y, double z)
{
    double half = 0.5 * t->cells, scale = half / (__builtin_fabs(x) + __builtin_fabs(y) + __builtin_fabs(z));
    int last = t->cells - 1, u = (int)(x * scale + half), v = (int)(y * scale + half);
    return ((z >= 0) * t->cells + (u < last ? u : last)) * t->cells + (v < last ? v : last);
}

/* Half lengths 1. Vertex i is + along x, y, z where bits 0, 1, 2 of i are set; polygon 2 k + 1 looks along + axis k,
 * 2 k along - axis k. */
extern const tg_polytope tg_unit_cube;

/* The hull of nvertex x 3 numbers, in one block from the allocator. Nothing is kept apart by less than 1e-7 of the
 * extent: of points as near to each other the first is taken; points that are as near to a plane, a line or a point
 * give a flat hull; a corner as near to the outline of a polygon, or of triangles that are one polygon, is none.
 * Triangles are one polygon where their normals agree to 1e-4 rad (those that are too thin to have one: wherever they
 * lie) and their corners lie in one plane. */
tg_status tg_polytope_create(const tg_allocator *allocator, const double *vertex, int nvertex, tg_polytope **polytope,
                             tg_error *error);

/* The same for points that are the vertices of a mesh. Triangles (nface x 3, in any sense) that are already the
 * hull, to 1e-9 of the extent, are taken as they are, which saves making one. */
tg_status tg_polytope_of_mesh(const tg_allocator *allocator, const double *vertex, int nvertex, const int *face,
                              int nface, tg_polytope **polytope, tg_error *error);
void tg_polytope_destroy(const tg_allocator *allocator, tg_polytope *polytope); /* NULL is allowed */

#endif
