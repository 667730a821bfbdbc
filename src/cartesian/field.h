/* The motion between contacts: forces and the derivative of the state with respect to time.
 *
 * Lagrangian, z = (x, v):    zdot = (v, a),  (a, l) = solve(F, -Q(v, v)). Hamiltonian, z = (x, p):   with v = M^-1 p,
 * (y, b) = solve(p, 0), (a, l) = solve(F + Q(v, .)^T b, -Q(v, y)):  zdot = (y, M a). The second is [I - J D (D^T J
 * D)^-1 D^T] J grad H with D the gradients of Phi and dPhi/dt: on the constraints they agree. */
#ifndef TG_CARTESIAN_FIELD_H
#define TG_CARTESIAN_FIELD_H

#include "cartesian/system.h"

/* F: gravity and springs */
void tg_force(const tg_cartesian *c, const double *theta, const double *x, double *F);
/* x_bar and theta_bar from F_bar, added; dF along dx, dtheta (F written) */
void tg_force_vjp(const tg_cartesian *c, const double *x, const double *F_bar, double *x_bar, double *theta_bar);
void tg_force_jvp(const tg_cartesian *c, const double *x, const double *dx, const double *dtheta, double *dF);
double tg_potential(const tg_cartesian *c, const double *theta, const double *x);

/* a at x, v under F; vjp: x_bar, v_bar, F_bar, theta_bar are written or added to as named */
tg_status tg_acceleration(tg_cartesian_lane *lane, const double *theta, const double *x, const double *v,
                          const double *F, double *a);
/* adds to x_bar, v_bar and theta_bar; writes F_bar */
tg_status tg_acceleration_vjp(tg_cartesian_lane *lane, const double *theta, const double *x, const double *v,
                              const double *F, const double *a_bar, double *x_bar, double *v_bar, double *F_bar,
                              double *theta_bar);

/* xdot and pdot at x, p under F */
tg_status tg_hamiltonian(tg_cartesian_lane *lane, const double *theta, const double *x, const double *p,
                         const double *F, double *xdot, double *pdot);
/* adds to x_bar, p_bar and theta_bar; writes F_bar */
tg_status tg_hamiltonian_vjp(tg_cartesian_lane *lane, const double *theta, const double *x, const double *p,
                             const double *F, const double *xdot_bar, const double *pdot_bar, double *x_bar,
                             double *p_bar, double *F_bar, double *theta_bar);

/* zdot at z; its reverse (adds to z_bar, theta_bar); its change along dz, dtheta */
tg_status tg_field(tg_cartesian_lane *lane, const double *theta, const double *z, double *zdot);
tg_status tg_field_vjp(tg_cartesian_lane *lane, const double *theta, const double *z, const double *zdot_bar,
                       double *z_bar, double *theta_bar);
tg_status tg_field_jvp(tg_cartesian_lane *lane, const double *theta, const double *z, const double *dz,
                       const double *dtheta, double *dzdot);

#endif
