/* Geoms that overlap in the reference pose, as those of neighbouring links do when they are coarser than the links. */
#ifndef TG_CHECK_OVERLAP_H
#define TG_CHECK_OVERLAP_H

#include <stdbool.h>

#include "tangere/check.h"

typedef struct tg_overlap
{
    int geom1, geom2;
    double depth;           /* m */
    bool declared, terrain; /* why it stays: a pair declares it; one is a plane or a height field */
} tg_overlap;

/* All of them. The memory is the model's allocator's, also after a failure. */
tg_status tg_overlaps_find(const tg_model *m, tg_work *w, tg_overlap **overlap, int *count, tg_error *error);

#endif
