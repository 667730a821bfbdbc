/* What tendons, and actuators on sites, couple. */
#ifndef TG_MODEL_COUPLING_H
#define TG_MODEL_COUPLING_H

#include "model/model.h"

/* The most dofs of a group of trees whose matrix is factored as a whole. Beyond, tendons act explicitly only: the
 * matrix is dense, and grows with the square. */
enum
{
    TG_GROUP_DOFS = 512
};

/* Dofs of the tendons; groups of trees that tendons couple. After tg_topology_fill. */
void tg_coupling_fill(tg_model *m);

/* Whether the groups are small enough to be factored; else *group is the first that is not. */
bool tg_groups_fit(const tg_model *m, int *group);

#endif
