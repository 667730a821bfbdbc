/* The contact points of a model at a configuration. */
#ifndef TG_CONTACT_COLLIDE_H
#define TG_CONTACT_COLLIDE_H

#include "contact/space.h"
#include "tangere/contact.h"

/* The query of a near pair; points with distance < reach are wanted. No motion. */
void tg_pair_query(const tg_work *w, tg_geom_pair pair, double reach, tg_query *query);

/* A near pair is known to have no points within reach: what separated it in an earlier call still does. */
bool tg_pair_apart(const tg_work *w, tg_geom_pair pair, double reach);

/* A point as the user sees it. */
tg_contact tg_as_contact(const tg_model *m, tg_geom_pair pair, const tg_contact_point *c);

#endif
