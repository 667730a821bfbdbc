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

/* What is done with each contact point, in order; number counts them from 0. */
typedef void tg_visit_function(const tg_model *m, tg_work *w, tg_geom_pair pair, const tg_contact_point *c, int number,
                               void *context);

/* Places everything at q and visits the contact points with distance < the pair's margin + margin. */
tg_status tg_visit_contacts(const tg_model *m, tg_work *w, const double *q, double margin, tg_visit_function *visit,
                            void *context, int *count);

/* The arguments of tg_collide. */
tg_status tg_check_collide(const tg_model *m, tg_work *w, const double *q, double margin, const tg_contact *contact,
                           int capacity, const int *count);

#endif
