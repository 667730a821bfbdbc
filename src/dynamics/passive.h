/* Springs and dampers of joints and tendons. */
#ifndef TG_DYNAMICS_PASSIVE_H
#define TG_DYNAMICS_PASSIVE_H

#include "dynamics/work.h"

/* force: nv. After the position stage. */
void tg_passive_force(const tg_model *m, tg_work *w, const double *q, const double *v, double *force);

/* Adds the derivatives to dq and dv (nv x nv each, either may be NULL). After tg_passive_force. */
void tg_add_passive_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v, double *dq,
                                double *dv);

/* ---- shared with the derivatives ---- */

/* How far a tendon is outside its rest band: negative when too long, positive when too short; *end says which rest
 * length counts (0, 1), -1 for none. */
double tg_tendon_stretch(const tg_work *w, int tendon, int *end);

/* The rotation of a ball (or free) joint away from its spring's rest, in body axes; derivative with respect to q (both in body axes) and
 * to the rest orientation (its own body axes), 3 x 3, either may be NULL. */
void tg_ball_deflection(const tg_model *m, const tg_work *w, int joint, const double *q, double r[3], double *dr_dq,
                        double *dr_drest);

#endif
