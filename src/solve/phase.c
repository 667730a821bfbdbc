/* Newton's method on the Alart-Curnier equations (Alart and Curnier 1991), in scaled variables.
 *
 * With y_N = x_N - rho_N s_N, y_T = x_T - rho_T s_T a contact
 *     breaks if y_N <= 0:         x = 0
 *     sticks if |y_T| <= y_N:     s = 0
 *     slides otherwise:           s_N = 0,  x_T = y_N e,  e = y_T / |y_T|
 * and the derivative of the last, multiplied by 1 / rho_T and with s_N = 0 used, is the row
 *     (dx_T - e dx_N - r (I - e e^T) dx_T) / rho_T + r (I - e e^T) ds_T = -(x_T - e x_N) / rho_T,   r = y_N / |y_T|.
 * Rows are velocities, columns impulses. Broken blocks and boxes at their bound leave the system. The matrix is not
 * symmetric when something slides: LU with pivoting. */
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "math/lanes.h"
#include "solve/held.h"

static void classify_contact(const tg_cone *cone, const double *x, const double *s, tg_cone_state *state)
{
    int d = cone->dim;
    double y[TG_CONE_MAX];
    y[0] = x[0] - cone->rho_n * s[0];
    for (int i = 1; i < d; i++)
        y[i] = x[i] - cone->rho_t * s[i];
    if (y[0] <= 0)
    {
        state->phase = TG_PHASE_BREAK;
        return;
    }
    double tangent = tg_cone_tangent(d, y);
    if (tangent <= y[0])
    {
        state->phase = TG_PHASE_STICK;
        return;
    }
    state->phase = TG_PHASE_SLIDE;
    state->ratio = y[0] / tangent;
    for (int i = 1; i < d; i++)
        state->direction[i - 1] = y[i] / tangent;
}

void tg_newton_direction(const tg_cone *cone, const double *x, const double *s, tg_cone_state *state)
{
    double y[TG_CONE_MAX];
    for (int i = 1; i < cone->dim; i++)
        y[i] = x[i] - cone->rho_t * s[i];
    double tangent = tg_cone_tangent(cone->dim, y);
    if (!(tangent > 0))
        return;
    state->ratio = tg_smaller(tg_larger(x[0] - cone->rho_n * s[0], 0) / tangent, 1);
    for (int i = 1; i < cone->dim; i++)
        state->direction[i - 1] = y[i] / tangent;
}

void tg_newton_classify_block(const tg_cone *cone, const double *x, const double *s, tg_cone_state *state)
{
    x += cone->row;
    s += cone->row;
    if (cone->kind == TG_CONE_UNIT)
    {
        classify_contact(cone, x, s, state);
        return;
    }
    double y = x[0] - cone->rho_n * s[0];
    bool stick = cone->kind == TG_CONE_FREE || fabs(y) <= cone->bound;
    state->phase = stick ? TG_PHASE_STICK : TG_PHASE_SLIDE;
    state->direction[0] = y > 0 ? 1 : -1;
}
