/* Steps and rollouts of one sample: Runge-Kutta between contacts, then the jump (algorithm 1 of the method). A state is
 * (x, v), 2 n numbers. */
#ifndef TG_CARTESIAN_STEP_H
#define TG_CARTESIAN_STEP_H

#include "cartesian/system.h"

tg_status tg_cartesian_advance(tg_cartesian_lane *lane, const double *theta, const double *state, double *next);
/* adds to state_bar (2 n) and theta_bar */
tg_status tg_cartesian_advance_vjp(tg_cartesian_lane *lane, const double *theta, const double *state,
                                   const double *next_bar, double *state_bar, double *theta_bar);
tg_status tg_cartesian_advance_jvp(tg_cartesian_lane *lane, const double *theta, const double *state,
                                   const double *dstate, const double *dtheta, double *dnext);

#endif
