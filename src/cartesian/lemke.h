/* Data of another contact model: Coulomb's friction in 2 (dim - 1) directions with Newton's restitution, as a linear
 * complementarity problem
 *     w = A z + q >= 0,  z >= 0,  w . z = 0
 * in z = (normal impulse a, b_j >= 0 along each direction D_j, slip speed s) of each contact:
 *     J_n v+ - max(v*, -e J_n v) ,   D_j . v+ + s ,   mu a - sum b_j.     Limits have a alone. Lemke's pivoting. */
#ifndef TG_CARTESIAN_LEMKE_H
#define TG_CARTESIAN_LEMKE_H

#include "cartesian/system.h"

/* numbers of scratch for so many rows of contacts */
size_t tg_lemke_room(int rows);

/* TG_ERR_NUMERIC: it ended on a ray */
tg_status tg_lcp_impulse(tg_cartesian_lane *lane, const tg_ccp_problem *p, double *f);

#endif
