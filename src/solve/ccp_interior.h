/* Interior point for the unit problem of a phase (ccp.h), a second-order cone program:
 *     min 1/2 x^T H x + q^T x,   |x_t| <= x_n per cone,   x_n >= bound where there is one. */
#ifndef TG_SOLVE_CCP_INTERIOR_H
#define TG_SOLVE_CCP_INTERIOR_H

#include "solve/ccp.h"

/* From c->H, c->q and phase->bound to phase->x; false when it did not end. */
bool tg_ccp_interior(tg_ccp *c, tg_ccp_phase *phase);

#endif
