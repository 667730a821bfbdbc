/* The normal of pairs that are apart, chosen for where they will be. */
#ifndef TG_COLLISION_AHEAD_H
#define TG_COLLISION_AHEAD_H

#include "collision/narrow.h"

/* Takes the patch of two curved shapes (or a curved one and a polytope) between their nearest points, found by
 * `find`, and replaces it where the pair is apart, would close within q->dt, and a better normal exists: that of the
 * nearest points after dt, if the shapes are apart along it now and farther apart (or overlap less) along it then. */
void tg_look_ahead(const tg_query *q, tg_narrow_function *find, tg_patch *patch);

/* Adds the point of a pair whose normal, after dt, will be that of `there` (a witness point between the shapes at
 * `then`, held by no face). margin: how far the next choice is. */
void tg_add_ahead(const tg_query *q, const tg_placed then[2], const tg_contact_point *there, double margin,
                  tg_patch *patch);

/* The same with the normal of `there` in any case; tg_add_ahead takes that of two lines as they are now, unless these
 * are nearly parallel. */
void tg_add_as_there(const tg_query *q, const tg_placed then[2], const tg_contact_point *there, double margin,
                     tg_patch *patch);

/* By how much (m) shapes that come `closer` along a normal in dt pass along each other, and do not meet: below zero
 * they do. What passes keeps its normal, so that what lies on a tile keeps it until it is beside the tile, and does not
 * lose it to rounding. */
double tg_passing(const tg_query *q, double closer);

/* How the surface of a shape looks at its support point along the unit vector d. */
tg_surface tg_support_surface(const tg_placed *p, v4 d);

#endif
