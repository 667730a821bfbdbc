/* What a block does: the Alart-Curnier equations (Alart and Curnier 1991), in scaled variables.
 *
 * With y_N = x_N - rho_N s_N, y_T = x_T - rho_T s_T a contact
 *     breaks if y_N <= 0:         x = 0
 *     sticks if |y_T| <= y_N:     s = 0
 *     slides otherwise:           s_N = 0,  x_T = y_N e,  e = y_T / |y_T|. */
#include <math.h>
#include <string.h>

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
    double inverse = 1 / tangent;
    state->ratio = tg_smaller(tg_larger(x[0] - cone->rho_n * s[0], 0) * inverse, 1);
    for (int i = 1; i < cone->dim; i++)
        state->direction[i - 1] = y[i] * inverse;
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

void tg_newton_classify(const tg_cones *cones, const double *x, const double *s, tg_cone_state *state)
{
    for (int b = 0; b < cones->blocks; b++)
        tg_newton_classify_block(&cones->block[b], x, s, &state[b]);
}

/* the velocity that an impulse of this size gives its own row: G_ii |dL_i| */
static double own_velocity(const tg_cones *cones, int row, double dx)
{
    return fabs(dx) * cones->G[(size_t)row * (size_t)(cones->ld + 1)] / cones->scale[row];
}

double tg_newton_slide_violation(const tg_cones *cones, const tg_cone *cone, const tg_cone_state *state,
                                 const double *x)
{
    double worst = 0;
    for (int i = 1; i < cone->dim; i++)
    {
        double off = x[cone->row + i] - state->direction[i - 1] * x[cone->row];
        worst = tg_larger(worst, own_velocity(cones, cone->row + i, off));
    }
    return worst;
}

/* the violation of one block whose phase is given: velocities of held rows, G_ii times errors of impulses */
static double block_residual(const tg_cones *cones, const tg_cone *cone, const tg_cone_state *state, const double *x,
                             const double *s)
{
    const double *scale = cones->scale + cone->row;
    int row = cone->row;
    double worst = 0;
    x += row;
    s += row;
    switch (state->phase)
    {
    case TG_PHASE_BREAK:
        for (int i = 0; i < cone->dim; i++)
            worst = tg_larger(worst, own_velocity(cones, row + i, x[i]));
        return tg_larger(worst, -s[0]);
    case TG_PHASE_STICK:
        for (int i = 0; i < cone->dim; i++)
            worst = tg_larger(worst, fabs(s[i]) / scale[i]);
        return worst;
    default:
        if (cone->kind == TG_CONE_BOX)
            return own_velocity(cones, row, x[0] - state->direction[0] * cone->bound);
        return tg_larger(fabs(s[0]), tg_newton_slide_violation(cones, cone, state, x - row));
    }
}

double tg_newton_residual(const tg_cones *cones, const double *x, const double *s)
{
    double worst = 0;
    for (int b = 0; b < cones->blocks; b++)
    {
        const tg_cone *cone = &cones->block[b];
        tg_cone_state state;
        tg_newton_classify_block(cone, x, s, &state);
        double here = block_residual(cones, cone, &state, x, s);
        worst = here > worst || isnan(here) ? here : worst;
    }
    return worst;
}
