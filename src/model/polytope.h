/* Convex polytopes: the hull of a mesh, or the unit cube. */
#ifndef TG_MODEL_POLYTOPE_H
#define TG_MODEL_POLYTOPE_H

/* Combinatorics do not change when the vertices are scaled along the axes by numbers that are not zero, so one polytope serves every
 * scale; an odd number of negative factors turns the polygons around. */
typedef struct tg_polytope
{
    int nvertex, npolygon;
    const double *vertex;      /* nvertex x 4 (x y z 0), unscaled; only vertices of the hull */
    const int *neighbour_start; /* nvertex + 1 */
    const int *neighbour;       /* vertices that share an edge */
    const int *polygon_start;   /* npolygon + 1 */
    const int *polygon;         /* vertices of a face, counter-clockwise from outside; coplanar triangles are merged */
    const double *normal;       /* npolygon x 4: unit outward normal (unscaled), and offset n.x in the last place */
    const int *around_start;    /* nvertex + 1 */
    const int *around;          /* polygons at a vertex */
} tg_polytope;

#endif
