/* Springs and dampers of joints and tendons. */
#ifndef TG_DYNAMICS_PASSIVE_H
#define TG_DYNAMICS_PASSIVE_H

#include "dynamics/cable.h"

/* force: nv; springs of tendons act at length + ahead rate. After the position stage and tg_cables. */
void tg_passive_force(const tg_model *m, tg_work *w, const double *q, const double *v, double ahead, double *force);

/* The same with the forces of the actuators on tendons, each tendon once. After tg_cables with their drives. */
void tg_passive_and_driven(const tg_model *m, tg_work *w, const double *q, const double *v, double ahead,
                           double *force);

/* Adds the derivatives to dq and dv (nv x nv each, either may be NULL). when: tendons act; where that is not at v, dv
 * gets -(stiffness ahead + damping) moment moment^T all the same (step/forward.h). After tg_cables. */
void tg_add_passive_derivatives(const tg_model *m, tg_work *w, const double *q, tg_tendon_when when, double *dq,
                                double *dv);

/* ---- shared with the derivatives ---- */

/* The rotation of a ball (or free) joint away from its spring's rest, in body axes; derivative with respect to q (both
 * in body axes) and to the rest orientation (its own body axes), 3 x 3, either may be NULL. */
void tg_ball_deflection(const tg_model *m, const tg_work *w, int joint, const double *q, double r[3], double *dr_dq,
                        double *dr_drest);

/* The energy where the position stage, the twists V of v and tg_tendons of q are already there; either may be NULL.
 * (energy.c) */
void tg_energy_here(const tg_model *m, tg_work *w, const double *q, const double *v, double *kinetic,
                    double *potential);

#endif
