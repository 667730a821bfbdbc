/* Derivatives of points that depend on where the shapes will be: kinds TG_POINT_AHEAD and TG_POINT_SLIDING. */
#ifndef TG_COLLISION_AHEAD_MOTION_H
#define TG_COLLISION_AHEAD_MOTION_H

#include "collision/narrow_deriv.h"

/* As tg_motion_by_twist and tg_motion_by_size. */
tg_point_motion tg_ahead_by_twist(const tg_contact_point *c, v4 shift, v4 turn);
tg_point_motion tg_ahead_by_size(const tg_query *query, const tg_contact_point *c, int which, int k);

/* Fills c->course but for the offset: c was made from the contact `there` between the shapes at `then`. */
void tg_set_course(const tg_query *query, const tg_placed then[2], const tg_contact_point *there, tg_contact_point *c);

#endif
