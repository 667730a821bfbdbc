/* Contacts of a model: which geoms touch at a configuration, where, and how that changes with it.
 *
 * The conventions of a contact point are those of tangere/collision.h: the normal points from geom1 to geom2, the
 * distance is signed and without margins, the point is the middle of the two witness points; world frame. */
#ifndef TANGERE_CONTACT_H
#define TANGERE_CONTACT_H

#include "tangere/collision.h"
#include "tangere/dynamics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Contact points at q (nq) of every candidate pair with distance < the pair's own margin + margin (m). The margin of
 * a pair is the sum of its two geoms' margins, or its own where a pair is declared. Pairs come in the order of
 * (geom1, geom2). Writes at most capacity points and the full count. TG_ERR_CAPACITY if more pairs are near than the
 * workspace can hold. */
TG_API tg_status tg_collide(const tg_model *m, tg_work *w, const double *q, double margin, tg_contact *contact,
                            int capacity, int *count);

/* The same, and how each point moves with q, features held fixed: dpoint and dnormal (3 x nv per contact), ddistance
 * (nv per contact). Arrays hold capacity contacts; any may be NULL. */
TG_API tg_status tg_collide_derivatives(const tg_model *m, tg_work *w, const double *q, double margin,
                                        tg_contact *contact, int capacity, int *count, double *dpoint, double *dnormal,
                                        double *ddistance);

#ifdef __cplusplus
}
#endif

#endif
