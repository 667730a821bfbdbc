/* Masses and constraints: M, Phi(x) = 0 with Je = dPhi/dx, and the system [M Je^T; Je 0] [a; l] = [f; b] in which all
 * of the motion is written.
 *
 * Phi is quadratic: Je(x) z = Q(x, z) + (what does not depend on x), Q symmetric and bilinear. So d(l^T Je(x) z)/dx =
 * Q(., z)^T l. */
#ifndef TG_CARTESIAN_SADDLE_H
#define TG_CARTESIAN_SADDLE_H

#include "cartesian/system.h"

/* y = M z, y = M^-1 z */
void tg_mass(const tg_cartesian *c, const double *theta, const double *z, double *y);
void tg_mass_inverse(const tg_cartesian *c, const double *theta, const double *z, double *y);
/* of one body: its points alone are read and written */
void tg_mass_inverse_body(const tg_cartesian *c, const double *theta, int body, const double *z, double *y);

/* theta_bar += factor d(a^T M b)/dtheta; y += dM z along dtheta */
void tg_mass_gradient(const tg_cartesian *c, const double *theta, double factor, const double *a, const double *b,
                      double *theta_bar);
void tg_mass_change(const tg_cartesian *c, const double *theta, const double *dtheta, double factor, const double *z,
                    double *y);

/* y = Je(x) z; y += factor Je(x)^T l */
void tg_phi_x(const tg_cartesian *c, const double *x, const double *z, double *y);
void tg_phi_x_t(const tg_cartesian *c, const double *x, double factor, const double *l, double *y);

/* y = Q(a, z) (rows); y += factor Q(a, .)^T l (n) */
void tg_phi_xx(const tg_cartesian *c, const double *a, const double *z, double *y);
void tg_phi_xx_t(const tg_cartesian *c, const double *a, double factor, const double *l, double *y);

/* Phi(x) */
void tg_phi(const tg_cartesian *c, const double *x, double *y);

/* Factors at x; TG_ERR_NUMERIC: the constraints depend on each other */
tg_status tg_saddle_factor(tg_cartesian_lane *lane, const double *theta, const double *x);

/* a, l from f, b (b NULL: 0); a may be f. Uses lane->rhs. */
void tg_saddle_solve(tg_cartesian_lane *lane, const double *f, const double *b, double *a, double *l);

/* Reverse of a solve that gave a, l: A, L is the solve of its gradients. x_bar and theta_bar are added to. */
void tg_saddle_gradient(const tg_cartesian_lane *lane, const double *a, const double *l, const double *A,
                        const double *L, double *x_bar, double *theta_bar);

/* Forward: f += -dM a - Q(dx, .)^T l, b += -Q(dx, a); the solve of these gives da, dl. */
void tg_saddle_change(const tg_cartesian_lane *lane, const double *dx, const double *dtheta, const double *a,
                      const double *l, double *f, double *b);

#endif
