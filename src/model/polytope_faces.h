/* The faces of a convex hull over the points that it was made of: what a polytope (polytope.h) is put together from. */
#ifndef TG_MODEL_POLYTOPE_FACES_H
#define TG_MODEL_POLYTOPE_FACES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/simd.h"
#include "tangere/base.h"

typedef struct tg_edge
{
    int low, high, place; /* place: 3 * triangle + k */
} tg_edge;

typedef struct tg_link
{
    int point, polygon;
} tg_link;

typedef struct tg_faces
{
    v4 axis[3]; /* of flat hulls: along the line; in the plane across it; normal */
    const tg_allocator *allocator;
    tg_error *error;
    const double *point; /* npoint x 3 */
    const int *face;     /* nface x 3: triangles of a mesh */
    double extent;

    int *start;     /* npolygon + 1 */
    int *corner;    /* polygons over point indices */
    double *normal; /* npolygon x 4 */
    tg_link *link;  /* points of a polygon that are no corners of it, but of others */
    tg_edge *inner; /* sides of the triangles that a polygon is made of */
    int *kept;      /* npoint: vertex of the polytope, or -1 */
    double *welded; /* the points once those that are one are; or NULL */
    int npoint, nface;
    int npolygon, nlink, ninner; /* so far */
} tg_faces;

static inline v4 tg_face_point(const tg_faces *b, int i)
{
    return v4_load3(b->point + 3 * (size_t)i);
}

/* count x size bytes, zeroed, from the allocator; NULL and a status where there are none, or where one was set before
 */
void *tg_faces_take(tg_faces *b, size_t count, size_t size, tg_status *status);

/* Polygons of the hull of the points: start, corner, normal, npolygon; links, inner. A point or a segment has none:
 * kept is then 1 at its ends. Takes for `point` the points that are left, in the same order: of those that are one the
 * first, and of hulls with a volume no other than corners. The caller frees welded, and calls tg_drop_faces, whatever
 * the status. */
tg_status tg_find_faces(tg_faces *b);
void tg_drop_faces(tg_faces *b);

/* Sorts edges by their ends, then by place. start: one number more than there are points. */
void tg_sort_edges(const tg_edge *e, int count, tg_edge *sorted, int *start, int npoint);

#endif
