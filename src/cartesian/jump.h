/* The velocity jump at x: v+ = v + Mhat^-1 J^T f, Mhat^-1 z = a of solve(z, 0) (saddle.h), f of the convex law with
 *     G = J Mhat^-1 J^T,  g = J v,  v* = depth / (8 dt) in rows of a normal, made reachable:
 *     w = J^T (J J^T)^-1 v*,  w' = w - Je^T (Je Je^T)^-1 Je w,  v*_c = J w'   where G is singular; otherwise v* itself.
 * The derivative is that of all of it, v* included. */
#ifndef TG_CARTESIAN_JUMP_H
#define TG_CARTESIAN_JUMP_H

#include "cartesian/system.h"

/* v1 may be v. lane->touches says how many contacts were active. The lane then holds what the derivatives need. */
tg_status tg_jump(tg_cartesian_lane *lane, const double *theta, const double *x, const double *v, double *v1);

/* After tg_jump with the same arguments, v the velocity before: adds to x_bar, v_bar and theta_bar. v_bar may not be
 * v1_bar. */
tg_status tg_jump_vjp(tg_cartesian_lane *lane, const double *theta, const double *x, const double *v,
                      const double *v1_bar, double *x_bar, double *v_bar, double *theta_bar);

/* After tg_jump: dv1 */
tg_status tg_jump_jvp(tg_cartesian_lane *lane, const double *theta, const double *x, const double *v, const double *dx,
                      const double *dv, const double *dtheta, double *dv1);

/* Derivatives of the position at the end of a step as if it moved with the new velocity from the time of impact
 * (options.toi): after tg_jump, in place; reverse before tg_jump_vjp, forward after tg_jump_jvp. */
void tg_jump_toi_vjp(tg_cartesian_lane *lane, double *x_bar);
void tg_jump_toi_jvp(tg_cartesian_lane *lane, double *dx);

#endif
