/* The contact points of a model at a configuration. */
#ifndef TG_CONTACT_COLLIDE_H
#define TG_CONTACT_COLLIDE_H

#include "contact/space.h"
#include "tangere/contact.h"

/* The query of a near pair; points with distance < reach are wanted. No motion. */
void tg_pair_query(const tg_work *w, tg_geom_pair pair, double reach, tg_query *query);

/* A near pair surely has no points within this (m): what separated it in an earlier call still does. */
double tg_pair_distance(const tg_work *w, tg_geom_pair pair);

/* A point as the user sees it. */
tg_contact tg_as_contact(const tg_model *m, tg_geom_pair pair, const tg_contact_point *c);

/* Derivatives of a contact point by q: 3 x nv, 3 x nv and nv. Any of them may be NULL. */
typedef struct tg_contact_motion
{
    double *point, *normal, *distance;
} tg_contact_motion;

/* Adds to them what the two bodies of a pair do. After tg_place. (collide_deriv.c) */
void tg_move_contact(const tg_model *m, tg_work *w, tg_geom_pair pair, const tg_contact_point *c,
                     const tg_contact_motion *out);

#endif
