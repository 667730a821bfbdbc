/* Inside of tg_builder_build: what its parts share. */
#ifndef TG_MODEL_BUILD_H
#define TG_MODEL_BUILD_H

#include "model/builder.h"
#include "model/model.h"
#include "model/order.h"

/* What a build works with. Messages are left in b->error. */
typedef struct tg_build
{
    tg_builder *b;
    tg_order order;
    int **hull;             /* nmesh: faces of the meshes that were given none; NULL: the mesh has its own */
    int *nhull;             /* nmesh: how many */
    tg_polytope **polytope; /* nmesh: hulls of the meshes that collide; NULL: none */
    tg_model *m;            /* under construction */
} tg_build;

/* The builder's id of a model index, and back; -1 stays -1. */
static inline int tg_build_id(const tg_build *w, tg_element element, int index)
{
    return tg_order_id(&w->order, element, index);
}

static inline int tg_build_index(const tg_build *w, tg_element element, int id)
{
    return id < 0 ? -1 : tg_order_of(&w->order, element, id);
}

/* Faces of meshes that have none, hulls of those that collide, and lines in the report for those that are not convex.
 */
tg_status tg_build_hulls(tg_build *w);
void tg_build_free_hulls(tg_build *w);

/* All that is no number of the vector: topology, references, kinds, meshes, slices. */
tg_status tg_build_structure(tg_build *w);

/* The vector, what is derived from it, and keyframes; validated. */
tg_status tg_build_parameters(tg_build *w);

#endif
