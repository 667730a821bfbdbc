/* Which geoms can collide at all. */
#ifndef TG_MODEL_CANDIDATES_H
#define TG_MODEL_CANDIDATES_H

#include "model/model.h"

/* The filters by body: not the same body nor welded together (so not both fixed to the world), not parent and child
 * unless one is fixed to the world, not excluded. */
bool tg_bodies_may_collide(const tg_model *m, int body1, int body2);

/* The filters by geom: contype of one fits conaffinity of the other, not excluded. */
bool tg_geoms_fit(const tg_model *m, int geom1, int geom2);

/* Whether two geoms pass the filters, or are a declared pair. */
bool tg_geoms_may_meet(const tg_model *m, int geom1, int geom2);

/* Fills next_collider and next_mover. */
void tg_chain_colliders(tg_model *m);

/* Two geoms that may collide, geom1 < geom2; pair is the declared pair that says how, -1: none. */
typedef struct tg_candidate
{
    int geom1, geom2, pair;
} tg_candidate;

/* Declared pairs first, then what passes the filters and is not declared, ordered by geom1. Writes at most capacity of
 * them (list may be NULL with capacity 0) and returns how many there are. */
int tg_list_candidates(const tg_model *m, tg_candidate *list, int capacity);

#endif
