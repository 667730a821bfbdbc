/* Convex hulls. */
#ifndef TG_MODEL_HULL_H
#define TG_MODEL_HULL_H

#include "tangere/base.h"

/* The triangles of the convex hull of nvertex x 3 numbers, counter-clockwise from outside. *face is nface x 3 ints from
 * the allocator. The message does not say whose vertices they are. */
tg_status tg_convex_hull(const tg_allocator *allocator, const double *vertex, int nvertex, int **face, int *nface,
                         tg_error *error);

#endif
