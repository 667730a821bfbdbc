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

#include "contact/solver.h"
#include "math/dense.h"
#include "math/lanes.h"

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

/* ---- one step ---- */

static bool is_active(const tg_cone *cone, const tg_cone_state *state)
{
    return state->phase == TG_PHASE_STICK || (state->phase == TG_PHASE_SLIDE && cone->kind == TG_CONE_UNIT);
}

/* Gives blocks that leave the system their impulse and lists the rows of the others; returns how many. */
static int list_active(tg_solve_work *w)
{
    int count = 0;
    bool moved = false;
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        const tg_cone_state *state = &w->state[b];
        bool active = is_active(cone, state);
        for (int i = cone->row; i < cone->row + cone->dim; i++)
        {
            w->position[i] = active ? count : -1;
            if (active)
            {
                w->active[count++] = i;
                continue;
            }
            double value = state->phase == TG_PHASE_BREAK ? 0 : state->direction[0] * cone->bound;
            moved = moved || w->x[i] != value;
            w->x[i] = value;
        }
    }
    if (moved)
        tg_cones_velocity(&w->cones, w->x, w->s);
    return count;
}

/* A = G of the active rows */
static void copy_active(tg_solve_work *w, int count)
{
    const tg_cones *cones = &w->cones;
    bool whole = count == cones->rows;
    for (int i = 0; i < count; i++)
    {
        const double *from = cones->G + (size_t)w->active[i] * (size_t)cones->ld;
        double *to = w->A + (size_t)i * (size_t)cones->ld;
        if (whole)
            memcpy(to, from, (size_t)count * sizeof *to);
        else
            for (int j = 0; j < count; j++)
                to[j] = from[w->active[j]];
    }
}

/* compliance proximal / rho of every active row: relative to the block's own stiffness, so that light and heavy bodies
 * are treated alike */
static void add_proximal(tg_solve_work *w, double proximal)
{
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        for (int i = 0; i < cone->dim && w->position[cone->row] >= 0; i++)
        {
            int at = w->position[cone->row + i];
            w->A[(size_t)at * (size_t)(w->cones.ld + 1)] += proximal / (i == 0 ? cone->rho_n : cone->rho_t);
        }
    }
}

/* rows of the tangents of a sliding block, A_T holding G_T */
static void slide_rows(tg_solve_work *w, const tg_cone *cone, const tg_cone_state *state, int count)
{
    int ld = w->cones.ld, m = cone->dim - 1, at = w->position[cone->row];
    double *A = w->A + (size_t)(at + 1) * (size_t)ld, ratio = state->ratio, stiffness = 1 / cone->rho_t;
    const double *e = state->direction;
    /* r (I - e e^T) G_T, column by column */
    for (int j = 0; j < count; j++)
    {
        double along = 0;
        for (int i = 0; i < m; i++)
            along += e[i] * A[i * ld + j];
        for (int i = 0; i < m; i++)
            A[i * ld + j] = ratio * (A[i * ld + j] - e[i] * along);
    }
    for (int i = 0; i < m; i++)
    {
        double *row = A + i * ld + at;
        row[0] -= stiffness * e[i];
        row[1 + i] += stiffness * (1 - ratio);
        for (int j = 0; j < m; j++)
            row[1 + j] += stiffness * ratio * e[i] * e[j];
    }
}

/* F: s of held rows, (x_T - e x_N) / rho_T of sliding tangents */
static void residual_rows(tg_solve_work *w, int count)
{
    for (int i = 0; i < count; i++)
        w->rhs[i] = w->s[w->active[i]];
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        const tg_cone_state *state = &w->state[b];
        const double *x = w->x + cone->row;
        for (int i = 1; state->phase == TG_PHASE_SLIDE && i < cone->dim; i++)
            w->rhs[w->position[cone->row] + i] = (x[i] - state->direction[i - 1] * x[0]) / cone->rho_t;
    }
}

static double violation(const tg_solve_work *w)
{
    double worst = 0;
    for (int b = 0; b < w->cones.blocks; b++)
    {
        double here = block_residual(&w->cones, &w->cones.block[b], &w->state[b], w->x, w->s);
        worst = here > worst || isnan(here) ? here : worst;
    }
    return worst;
}

/* x -= A^-1 F with the factors in w->A */
static void advance(tg_solve_work *w, int count)
{
    residual_rows(w, count);
    tg_lu_solve(count, w->A, w->cones.ld, w->pivot, 1, w->rhs, 1);
    for (int i = 0; i < count; i++)
        w->x[w->active[i]] -= w->rhs[i];
    tg_cones_velocity(&w->cones, w->x, w->s);
}

double tg_newton_step(tg_solve_work *w, double proximal)
{
    int count = w->active_count = list_active(w);
    copy_active(w, count);
    if (proximal > 0)
        add_proximal(w, proximal);
    for (int b = 0; b < w->cones.blocks; b++)
        if (w->state[b].phase == TG_PHASE_SLIDE && w->cones.block[b].dim > 1)
            slide_rows(w, &w->cones.block[b], &w->state[b], count);
    w->newton++;
    if (tg_lu(count, w->A, w->cones.ld, w->pivot) >= 0)
        return INFINITY;
    advance(w, count);
    return violation(w);
}
