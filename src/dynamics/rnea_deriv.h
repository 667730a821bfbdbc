/* The matrices of the derivatives of inverse dynamics, for the functions that build on them. */
#ifndef TG_DYNAMICS_RNEA_DERIV_H
#define TG_DYNAMICS_RNEA_DERIV_H

#include "dynamics/work.h"

/* After tg_newton_euler (V, A, F summed over subtrees) and tg_composites: sign (1 or -1) times the derivatives is added to dtau_dq and dtau_dv,
 * nv x nv each, or written. */
void tg_add_newton_euler_derivatives(const tg_model *m, tg_work *w, double sign, double *dtau_dq, double *dtau_dv);
void tg_newton_euler_derivatives(const tg_model *m, tg_work *w, double sign, double *dtau_dq, double *dtau_dv);

#endif
