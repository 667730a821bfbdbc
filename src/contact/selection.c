/* Which of several solutions is returned: the limit eps -> 0 of the solution with compliance eps (G + eps I in place of
 * G), without eps.
 *
 * R: the rows held at zero (normals of closed contacts, all rows of those that do not slip, active limits, equalities,
 * joints that friction holds); Z: an orthonormal basis of the null space of G_RR (impulses, not scaled), so that
 * Z^T J_R = 0. A compliant solution has sigma_R + eps L_R = 0 with sigma_R = J_R v+ + b_R, hence eps Z^T L_R = -Z^T b_R:
 * with consistent b_R, Z^T L_R = 0 for every eps (up to 1e-9 m/s b_R counts as consistent; beyond, contacts must open,
 * which large z = -Z Z^T b_R / eps decide). Where cones forbid that, some contacts of the compliant solution creep
 * on their cones or lift by O(eps), and the limit shares their impulses out accordingly; sigma stays exact. limit.c has
 * the equations, in coordinates of the range Q of G_RR (Q Q^T = I - Z Z^T), which comes from a pivoted Cholesky
 * factorisation; Z itself is never formed. When nothing is redundant the Alart-Curnier equations alone decide. */
#include <math.h>
#include <string.h>

#include "contact/solver.h"
#include "math/dense.h"
#include "math/lanes.h"

enum
{
    ROUNDS = 8,           /* changes of phase */
    LIMIT_STEPS = 16,     /* Newton steps of one round, when rows are redundant and x is a solution */
    LIMIT_STEPS_EARLY = 3 /* while x is only near one */
};

static const double rank_threshold = 1e-10; /* of the largest pivot, rows normalised */
static const double no_slip = 1e-7;         /* m/s: slower than this a contact neither slides nor opens */
static const double compliance = 1e-8;      /* of mean G_ii */
static const double violated = 1e-9;        /* m/s: G_ii times how far outside of its cone a held contact may be */

/* ---- held rows and their range ---- */

static void add_held_rows(tg_held *held, int row, int count)
{
    for (int i = 0; i < count; i++)
        held->row[held->count++] = row + i;
}

static void list_held(tg_solve_work *w)
{
    w->held.count = 0;
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        if (w->state[b].phase == TG_PHASE_STICK)
            add_held_rows(&w->held, cone->row, cone->dim);
        else if (w->state[b].phase == TG_PHASE_SLIDE && cone->kind == TG_CONE_UNIT)
            add_held_rows(&w->held, cone->row, 1);
    }
}

static double diagonal(const tg_cones *cones, int row)
{
    return cones->G[(size_t)row * (size_t)(cones->ld + 1)];
}

/* Pivoted Cholesky of D G_RR D, D = diag(G_RR)^-1/2: the columns, one a row of basis. Returns the rank. */
static int pivoted_cholesky(const tg_cones *cones, tg_held *held, double *left, double *size, double *factor)
{
    int n = held->count, ld = cones->ld, rank = 0;
    for (int i = 0; i < n; i++)
    {
        size[i] = 1 / sqrt(diagonal(cones, held->row[i]));
        left[i] = 1;
    }
    for (; rank < n; rank++)
    {
        int p = 0;
        for (int i = 1; i < n; i++)
            p = left[i] > left[p] ? i : p;
        if (!(left[p] > rank_threshold))
            break;
        double *column = held->basis + (size_t)rank * (size_t)ld;
        const double *row = cones->G + (size_t)held->row[p] * (size_t)ld;
        for (int i = 0; i < n; i++)
            column[i] = row[held->row[i]] * size[i] * size[p];
        for (int j = 0; j < rank; j++)
            factor[j] = held->basis[(size_t)j * (size_t)ld + (size_t)p];
        tg_gemm_nn(1, n, rank, factor, rank, held->basis, ld, TG_GEMM_SUB, column, n);
        double inverse = 1 / sqrt(left[p]);
        for (int i = 0; i < n; i++)
        {
            column[i] *= inverse;
            left[i] -= column[i] * column[i];
        }
        left[p] = 0;
    }
    return rank;
}

/* q minus its part along the rows before; returns its norm */
static double orthogonalise(int n, int rows, const double *basis, int ld, double *q, double *part)
{
    tg_gemm_nt(1, rows, n, q, n, basis, ld, TG_GEMM_SET, part, rows);
    tg_gemm_nn(1, n, rows, part, rows, basis, ld, TG_GEMM_SUB, q, n);
    return sqrt(v4_dot_of(n, q, q));
}

/* Rows of basis, columns of the factor of D G D, become an orthonormal basis of the range of G_RR: times D^-1 S^-1, then
 * Gram-Schmidt, a second time where cancellation calls for it. */
static void orthonormalise(const tg_cones *cones, tg_held *held, double *size, double *part)
{
    int n = held->count, ld = cones->ld;
    for (int i = 0; i < n; i++)
        size[i] = 1 / (size[i] * cones->scale[held->row[i]]);
    for (int k = 0; k < held->rank; k++)
    {
        double *q = held->basis + (size_t)k * (size_t)ld;
        for (int i = 0; i < n; i++)
            q[i] *= size[i];
        double before = sqrt(v4_dot_of(n, q, q)), norm = orthogonalise(n, k, held->basis, ld, q, part);
        if (norm < 0.7 * before)
            norm = orthogonalise(n, k, held->basis, ld, q, part);
        double inverse = 1 / norm;
        for (int i = 0; i < n; i++)
            q[i] *= inverse;
    }
}

/* |Z^T g_R| = |g_R - Q Q^T g_R| */
static double inconsistency(const tg_cones *cones, const tg_held *held, double *g)
{
    int n = held->count;
    for (int i = 0; i < n; i++)
        g[i] = cones->g[held->row[i]] / cones->scale[held->row[i]];
    for (int k = 0; k < held->rank; k++)
    {
        const double *q = held->basis + (size_t)k * (size_t)cones->ld;
        v4_subtract_scaled(n, v4_dot_of(n, q, g), q, g);
    }
    return sqrt(v4_dot_of(n, g, g));
}

static double mean_diagonal(const tg_cones *cones)
{
    double trace = 0;
    for (int i = 0; i < cones->rows; i++)
        trace += diagonal(cones, i) / (cones->scale[i] * cones->scale[i]);
    return trace / cones->rows;
}

int tg_held_rank(tg_solve_work *w)
{
    list_held(w);
    w->held.inconsistency = 0;
    w->held.rank = pivoted_cholesky(&w->cones, &w->held, w->rhs, w->best, w->held.gap);
    return w->held.rank;
}

static void build_held(tg_solve_work *w)
{
    tg_held *held = &w->held;
    if (tg_held_rank(w) == held->count)
        return;
    orthonormalise(&w->cones, held, w->best, held->gap);
    held->inconsistency = inconsistency(&w->cones, held, held->gap);
}

/* ---- phases ---- */

static double slip(const tg_cones *cones, const tg_cone *cone, const double *s)
{
    double sum = 0;
    for (int i = cone->row + 1; i < cone->row + cone->dim; i++)
        sum += (s[i] / cones->scale[i]) * (s[i] / cones->scale[i]);
    return sqrt(sum);
}

/* does not slip: sticks, whatever its cone says; does not open: is held, whatever it carries */
static void hold_if_still(const tg_solve_work *w, const tg_cone *cone, tg_cone_state *state)
{
    if (cone->kind != TG_CONE_UNIT || state->phase == TG_PHASE_STICK)
        return;
    if (state->phase == TG_PHASE_BREAK && (state->opened || w->s[cone->row] >= no_slip))
        return;
    if (slip(&w->cones, cone, w->s) < no_slip)
        state->phase = TG_PHASE_STICK;
    else
    {
        state->phase = TG_PHASE_SLIDE;
        tg_newton_direction(cone, w->x + cone->row, w->s + cone->row, state);
    }
}

/* largest G_ii times how far the impulse of a held contact is outside of its cone */
static double outside(const tg_solve_work *w, const tg_cone *cone)
{
    const double *x = w->x + cone->row;
    double y[TG_CONE_MAX], worst = 0;
    memcpy(y, x, (size_t)cone->dim * sizeof *y);
    tg_cone_project(cone->dim, y);
    for (int i = 0; i < cone->dim; i++)
        worst =
            tg_larger(worst, fabs(y[i] - x[i]) * diagonal(&w->cones, cone->row + i) / w->cones.scale[cone->row + i]);
    return worst;
}

/* does the solution obey the inequalities that its phase leaves open? */
static bool phase_holds(const tg_solve_work *w, const tg_cone *cone, const tg_cone_state *state)
{
    const double *x = w->x + cone->row, *s = w->s + cone->row;
    if (cone->kind == TG_CONE_FREE)
        return true;
    if (cone->kind == TG_CONE_BOX && state->phase == TG_PHASE_STICK)
        return (fabs(x[0]) - cone->bound) / cone->rho_n <= violated;
    if (cone->kind == TG_CONE_BOX)
        return s[0] * state->direction[0] <= w->options->inner;
    if (state->phase == TG_PHASE_BREAK)
        return s[0] >= -w->options->inner;
    if (state->phase == TG_PHASE_STICK)
        return outside(w, cone) <= violated;
    double along = 0;
    for (int i = 1; i < cone->dim; i++)
        along += x[i] * s[i];
    return x[0] / cone->rho_n > violated ? along <= 0 : x[0] / cone->rho_n >= -violated;
}

/* held rows contradict each other, and this contact is the one to open */
static bool must_open(const tg_solve_work *w, const tg_cone *cone, const tg_cone_state *state)
{
    return w->held.rank < w->held.count && w->held.inconsistency >= TG_CONSISTENT && cone->kind == TG_CONE_UNIT &&
           state->phase != TG_PHASE_BREAK && w->x[cone->row] <= 0 && w->s[cone->row] > 0;
}

/* New phases where the old ones do not hold; returns whether any changed. */
static bool revise_phases(tg_solve_work *w)
{
    bool changed = false;
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        tg_cone_state *state = &w->state[b], before = *state;
        if (must_open(w, cone, state))
        {
            state->phase = TG_PHASE_BREAK;
            state->opened = true;
        }
        else
            hold_if_still(w, cone, state);
        if (state->phase == before.phase && !phase_holds(w, cone, state))
            tg_newton_classify_block(cone, w->x, w->s, state);
        changed = changed || state->phase != before.phase;
    }
    return changed;
}

static void update_directions(tg_solve_work *w)
{
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        if (w->state[b].phase == TG_PHASE_SLIDE && cone->dim > 1)
            tg_newton_direction(cone, w->x + cone->row, w->s + cone->row, &w->state[b]);
    }
}

/* ---- the rule ---- */

/* 1e-12 m/s, or what rounding leaves of the largest term */
static double aim(const tg_solve_work *w)
{
    double largest = 0;
    for (int i = 0; i < w->cones.rows; i++)
        largest = tg_larger(largest, diagonal(&w->cones, i) * fabs(w->x[i]) / w->cones.scale[i]);
    return tg_larger(w->options->inner, 1e-15 * largest * w->cones.rows);
}

/* One Newton step, and when that was enough one more with the same factors: Newton is quadratic, so this ends in
 * rounding. */
static bool solve_unique(tg_solve_work *w)
{
    if (!(tg_newton_step(w, 0) < INFINITY))
        return false;
    update_directions(w);
    if (!(tg_newton_violation(w) <= aim(w)))
        return false;
    tg_newton_chord(w);
    update_directions(w);
    return true;
}

/* Replaces w->x, near a solution, by the solution of the rule; false when the phases do not settle. */
static bool select_solution(tg_solve_work *w, bool early)
{
    bool changed = true;
    tg_newton_classify(&w->cones, w->x, w->s, w->state);
    for (int b = 0; b < w->cones.blocks; b++)
    {
        w->state[b].opened = false;
        hold_if_still(w, &w->cones.block[b], &w->state[b]);
    }
    for (int k = 0; k < ROUNDS; k++)
    {
        if (changed)
            build_held(w);
        bool unique = w->held.rank == w->held.count;
        bool solved = unique ? solve_unique(w) : tg_limit_newton(w, early ? LIMIT_STEPS_EARLY : LIMIT_STEPS, aim(w));
        changed = revise_phases(w);
        if (solved && !changed)
            return true;
        if (!solved && !unique)
            return false;
    }
    return false;
}

/* whether a held contact is on its cone, or closed without force */
static bool has_immaterial(const tg_solve_work *w)
{
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        const double *x = w->x + cone->row;
        bool held = w->state[b].phase == TG_PHASE_STICK || (w->state[b].phase == TG_PHASE_SLIDE && x[0] <= 0);
        if (cone->kind == TG_CONE_UNIT && held && tg_cone_tangent(cone->dim, x) >= x[0] * (1 - 1e-12))
            return true;
    }
    return false;
}

static tg_selection selection_kind(const tg_solve_work *w)
{
    if (w->held.rank == w->held.count)
        return TG_SELECT_UNIQUE;
    return has_immaterial(w) ? TG_SELECT_COMPLIANT : TG_SELECT_PROJECTED;
}

static bool is_finite(const tg_solve_work *w)
{
    double sum = 0;
    for (int i = 0; i < w->cones.rows; i++)
        sum += 0 * w->x[i] + 0 * w->s[i];
    return sum == 0;
}

static void keep(tg_solve_work *w, tg_selection selection)
{
    if (!is_finite(w))
        return;
    double here = tg_newton_residual(&w->cones, w->x, w->s), tolerance = w->options->tolerance;
    bool chosen = selection != TG_SELECT_UNSELECTED && here <= tolerance;
    bool kept_chosen = w->kept_selection != TG_SELECT_UNSELECTED && w->kept_residual <= tolerance;
    if (!chosen && (kept_chosen || !(here < w->kept_residual)))
        return;
    memcpy(w->kept, w->x, (size_t)w->cones.rows * sizeof *w->kept);
    w->kept_residual = here;
    w->kept_selection = selection;
}

bool tg_solve_accept(tg_solve_work *w)
{
    tg_cones_velocity(&w->cones, w->x, w->s);
    keep(w, TG_SELECT_UNSELECTED);
    if (!w->options->select)
        return w->kept_residual <= 0.1 * w->options->tolerance;
    bool selected = select_solution(w, w->kept_residual > w->options->tolerance);
    keep(w, selected ? selection_kind(w) : TG_SELECT_UNSELECTED);
    return selected && w->kept_residual <= w->options->tolerance;
}

bool tg_solve_compliant(tg_solve_work *w)
{
    tg_cones *cones = &w->cones;
    double eps = compliance * mean_diagonal(cones), *rigid = w->held.gap;
    for (int i = 0; i < cones->rows; i++)
    {
        rigid[i] = diagonal(cones, i);
        cones->G[(size_t)i * (size_t)(cones->ld + 1)] += eps * cones->scale[i] * cones->scale[i];
    }
    tg_interior_run(w, 1e-4 * w->options->tolerance);
    for (int i = 0; i < cones->rows; i++)
        cones->G[(size_t)i * (size_t)(cones->ld + 1)] = rigid[i];
    tg_cones_velocity(cones, w->x, w->s);
    bool selected = select_solution(w, false);
    keep(w, selected ? selection_kind(w) : TG_SELECT_UNSELECTED);
    return selected && w->kept_residual <= w->options->tolerance;
}
