/* Derivatives of smoothed shapes: what a contact would do if its corners and edges were a little round. */
#ifndef TG_COLLISION_SMOOTHING_H
#define TG_COLLISION_SMOOTHING_H

#include "collision/narrow_deriv.h"

/* How the smoothed surface of a shape looks where its outward normal is the unit vector d; width in m. Not for planes
 * and height fields, which stay as they are. */
tg_surface tg_smooth_surface(const tg_placed *p, v4 d, double width);

/* The point as one of two smoothed surfaces. */
tg_contact_point tg_smooth_point(const tg_query *q, const tg_contact_point *c, double width);

/* The next of a sequence of numbers with the standard normal distribution. */
double tg_next_normal(uint64_t *state);

#endif
