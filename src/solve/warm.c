/* The warm start: the equations of the phases of the previous step are solved, then open contacts are checked.
 *
 * It ends most steps of most robots, with matrices over the rows that hold: what was open is left out. Which of several
 * solutions is returned is the limit eps -> 0 of the solution with compliance eps (G + eps I in place of G), as
 * everywhere (docs/contact.md section 5), without eps:
 *
 * R: the rows held at zero (normals of closed contacts, all rows of those that do not slip, active limits, equalities,
 * joints that friction holds); Z: an orthonormal basis of the null space of G_RR (impulses, not scaled), so that Z^T
 * J_R = 0. A compliant solution has sigma_R + eps L_R = 0 with sigma_R = J_R v+ + b_R, hence eps Z^T L_R = -Z^T b_R:
 * with consistent b_R, Z^T L_R = 0 for every eps. Where rows contradict each other, impulses grow along -Z Z^T b_R /
 * eps, until a contact is on its cone and slides, or opens (normals agree up to 1e-9 m/s). Where cones forbid Z^T L_R =
 * 0, some contacts of the compliant solution creep on their cones or lift by O(eps), and the limit shares their
 * impulses out accordingly; sigma stays exact. limit.c has the equations, in coordinates of the range Q of G_RR (Q Q^T
 * = I - Z Z^T), which comes from a pivoted Cholesky factorisation; Z itself is never formed. When nothing is redundant
 * the Alart-Curnier equations alone decide. */
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "math/lanes.h"
#include "solve/held.h"

/* How soon it gives up, set as in solver_newton.c. */
enum
{
    NEAR_STEPS = 16,  /* Newton steps of one round, when rows are redundant */
    NEAR_ROUNDS = 3,  /* changes of phase from a solution to that of the rule, */
    WARM_ROUNDS = 8,  /* and between the impulses of the previous step and a solution */
    WARM_PROBLEMS = 3 /* how often blocks that were left out may come back */
};

static const double slides_on = 1e-3; /* m/s: faster than this, a contact that slid keeps sliding */

static const double exact = 1e-2; /* of the tolerance: how well the equations hold */

static double diagonal(const tg_cones *cones, int row)
{
    return cones->G[(size_t)row * (size_t)(cones->ld + 1)];
}

/* ---- phases ---- */

static double slip(const tg_cones *cones, const tg_cone *cone, const double *s)
{
    double sum = 0;
    for (int i = cone->row + 1; i < cone->row + cone->dim; i++)
        sum += (s[i] / cones->scale[i]) * (s[i] / cones->scale[i]);
    return sqrt(sum);
}

/* A contact that does not slip sticks, even on its cone; one that does not open is held, even without a load. Dry
 * friction that slips, however slowly, is at its bound: holding it would contradict the contacts that make it slip. */
static void hold_if_still(tg_solve_work *w, const tg_cone *cone, tg_cone_state *state, double opening, double slow)
{
    if (cone->kind == TG_CONE_BOX && !state->opened && fabs(w->s[cone->row]) < w->inner)
        state->phase = TG_PHASE_STICK;
    if (cone->kind != TG_CONE_UNIT || state->phase == TG_PHASE_STICK)
        return;
    if (state->phase == TG_PHASE_BREAK && (state->opened || w->s[cone->row] >= opening))
        return;
    double speed = slip(&w->cones, cone, w->s);
    if (speed < (state->opened ? w->inner : slow))
        state->phase = TG_PHASE_STICK;
    else
    {
        w->slow = w->slow || speed < TG_NO_SLIP;
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
        return (fabs(x[0]) - cone->bound) / cone->rho_n <= TG_NO_FORCE;
    if (cone->kind == TG_CONE_BOX)
        return s[0] * state->direction[0] <= w->inner;
    if (state->phase == TG_PHASE_BREAK)
        return s[0] >= -w->inner;
    if (state->phase == TG_PHASE_STICK)
        return outside(w, cone) <= TG_NO_FORCE;
    double along = 0;
    for (int i = 1; i < cone->dim; i++)
        along += x[i] * s[i];
    return x[0] / cone->rho_n > TG_NO_FORCE ? along <= 0 : x[0] / cone->rho_n >= -TG_NO_FORCE;
}

/* held rows contradict each other, and this contact is the one to open */
static bool must_open(const tg_solve_work *w, const tg_cone *cone, const tg_cone_state *state)
{
    return w->held.rank < w->held.count && w->held.inconsistency >= TG_CONSISTENT && cone->kind == TG_CONE_UNIT &&
           state->phase != TG_PHASE_BREAK && w->x[cone->row] <= 0 && w->s[cone->row] > 0;
}

/* The phase of the Alart-Curnier point. Friction that has yielded is reversed, never re-stuck. */
static void reconsider(const tg_solve_work *w, const tg_cone *cone, tg_cone_state *state)
{
    if (cone->kind == TG_CONE_BOX && state->opened && state->phase == TG_PHASE_SLIDE)
        state->direction[0] = -state->direction[0];
    else
        tg_newton_classify_block(cone, w->x, w->s, state);
}

/* New phases where the old ones do not hold. Of solved equations a slip is known to less than TG_NO_SLIP. Returns
 * whether any changed. */
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
            state->opened = w->gave_way = true;
        }
        else
            hold_if_still(w, cone, state, TG_NO_SLIP, w->exact);
        if (state->phase == before.phase && !phase_holds(w, cone, state))
            reconsider(w, cone, state);
        bool turned =
            cone->kind == TG_CONE_BOX && state->phase == TG_PHASE_SLIDE && state->direction[0] != before.direction[0];
        changed = changed || state->phase != before.phase || turned;
    }
    return changed;
}

/* ---- rows that yield ---- */

/* how a held row of a block goes along p = -Z Z^T g_R, which does nothing to the bodies: its impulse, scaled */
static double along_gap(const tg_solve_work *w, int row)
{
    int at = w->held.at[row];
    return at < 0 ? 0 : -w->held.gap[at] / w->cones.scale[row];
}

/* t at which x + t p leaves the cone: the first root of |x_T + t p_T| = x_N + t p_N */
static double way_to_cone(const tg_cone *cone, const double *x, const double *p)
{
    double a = -p[0] * p[0], b = -x[0] * p[0], c = -x[0] * x[0];
    for (int i = 1; i < cone->dim; i++)
    {
        a += p[i] * p[i];
        b += x[i] * p[i];
        c += x[i] * x[i];
    }
    c = tg_smaller(c, 0);
    double root = b * b - a * c, below = root >= 0 ? b + sqrt(root) : 0;
    return below > 0 ? -c / below : INFINITY;
}

/* How far an impulse can go along p until its block is at its bound, or open; and what it does there. */
static double way_to_bound(const tg_solve_work *w, int b, tg_phase *phase)
{
    const tg_cone *cone = &w->cones.block[b];
    double p[TG_CONE_MAX], tangent, most = 0, x = w->x[cone->row];
    bool opens = w->held.yields || w->held.inconsistency >= TG_CONSISTENT;
    *phase = TG_PHASE_SLIDE;
    for (int i = 0; i < cone->dim; i++)
    {
        p[i] = along_gap(w, cone->row + i);
        most = tg_larger(most, fabs(p[i]) * w->cones.scale[cone->row + i]);
    }
    if (most <= tg_held_least_gap(w) || cone->kind == TG_CONE_FREE || w->state[b].phase == TG_PHASE_BREAK)
        return INFINITY;
    if (cone->kind == TG_CONE_BOX)
        return tg_larger((copysign(cone->bound, p[0]) - x) / p[0], 0);
    tangent = tg_cone_tangent(cone->dim, p);
    if (w->state[b].phase == TG_PHASE_SLIDE || tangent <= -p[0])
    {
        *phase = TG_PHASE_BREAK;
        return p[0] < 0 && opens ? tg_larger(x / -p[0], 0) : INFINITY;
    }
    return way_to_cone(cone, w->x + cone->row, p);
}

/* Held rows that contradict each other a little: with compliance eps their impulses would grow along -Z Z^T g_R / eps,
 * until the first block is at the bound of its friction and yields, or opens. False when nothing does. */
static bool give_way(tg_solve_work *w)
{
    int first = -1;
    double least = INFINITY;
    tg_phase then = TG_PHASE_BREAK;
    for (int b = 0; b < w->cones.blocks; b++)
    {
        tg_phase phase;
        double here = way_to_bound(w, b, &phase);
        first = here < least ? b : first;
        then = here < least ? phase : then;
        least = tg_smaller(here, least);
    }
    if (first < 0)
        return false;
    const tg_cone *cone = &w->cones.block[first];
    tg_cone_state *state = &w->state[first];
    state->phase = then;
    state->opened = w->gave_way = true;
    if (cone->kind == TG_CONE_BOX)
        state->direction[0] = w->held.gap[w->held.at[cone->row]] < 0 ? 1 : -1;
    for (int i = 0; i < w->held.count; i++)
        w->x[w->held.row[i]] += least * along_gap(w, w->held.row[i]);
    if (cone->kind == TG_CONE_UNIT && then == TG_PHASE_SLIDE)
        tg_newton_direction(cone, w->x + cone->row, w->s + cone->row, state);
    return true;
}

/* whether a contact slides or opens so slowly that it may count as held */
static bool moves_slowly(const tg_solve_work *w)
{
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        if (cone->kind != TG_CONE_UNIT || w->state[b].phase == TG_PHASE_STICK)
            continue;
        bool opens = w->state[b].phase == TG_PHASE_BREAK;
        int i = cone->row + !opens, last = opens ? i + 1 : cone->row + cone->dim;
        while (i < last && fabs(w->s[i]) < TG_NO_SLIP * w->cones.scale[i])
            i++;
        if (i == last)
            return true;
    }
    return false;
}

/* Whether held rows of solved equations contradict each other by more than a solution may, and so little that one of
 * them can give way. Once one has, the others follow to rounding: all that yields is decided by the same limit. */
static bool contradicts(const tg_solve_work *w, double residual)
{
    return w->held.rank < w->held.count && w->held.inconsistency < TG_NEARLY_STILL &&
           residual > (moves_slowly(w) ? w->inner : w->exact);
}

/* ---- the rule ---- */

/* 1e-12 m/s, or what rounding leaves of the largest term */
static double aim(const tg_solve_work *w)
{
    double largest = 0;
    for (int i = 0; i < w->cones.rows; i++)
        largest = tg_larger(largest, diagonal(&w->cones, i) * fabs(w->x[i]) / w->cones.scale[i]);
    return tg_larger(w->inner, TG_ROUNDING * largest * w->cones.rows);
}

/* Solves the equations of the phases in w->state (changed: since w->held was built) and revises these until they hold;
 * false when they do not settle. */
static bool settle(tg_solve_work *w, bool changed)
{
    for (int k = 0, yields = 0; k < NEAR_ROUNDS + yields; k++)
    {
        if (changed)
            tg_held_build(w);
        if (w->held.weak)
            return false;
        bool unique = w->held.rank == w->held.count;
        int most = unique ? 1 : NEAR_STEPS, left = w->most - w->newton;
        bool solved = tg_limit_newton(w, TG_LIMIT_NEAR, left < most ? left : most, aim(w));
        changed = revise_phases(w);
        if (solved && !changed)
        {
            bool wrong = contradicts(w, tg_newton_residual(&w->cones, w->x, w->s));
            if (!(w->held.yields || wrong) || yields == w->cones.blocks || !give_way(w))
                return true;
            yields++;
            changed = true;
            continue;
        }
        if (!solved && !unique)
            return false;
    }
    return false;
}

/* Its impulse is on the cone against a slip: it slid, and keeps sliding. (When the normal impulse must grow, the
 * Alart-Curnier point is inside of the cone.) */
static void slide_on(const tg_solve_work *w, const tg_cone *cone, tg_cone_state *state)
{
    const double *x = w->x + cone->row, *s = w->s + cone->row;
    double along = 0;
    if (cone->kind != TG_CONE_UNIT || state->phase != TG_PHASE_STICK || slip(&w->cones, cone, w->s) < slides_on)
        return;
    for (int i = 1; i < cone->dim; i++)
        along += x[i] * s[i];
    if (along >= 0 || tg_cone_tangent(cone->dim, x) < (1 - TG_ON_CONE) * x[0])
        return;
    state->phase = TG_PHASE_SLIDE;
    tg_newton_direction(cone, x, s, state);
}

/* m/s: what opens faster than this is open. `still`, or how much x violates the law, which tells how well s is known:
 * of a robot that stands still, what opens slowly is open. */
static double least_opening(const tg_solve_work *w, double still)
{
    for (int b = 0; b < w->cones.blocks; b++)
    {
        double s = w->s[w->cones.block[b].row];
        if (w->state[b].phase == TG_PHASE_BREAK && s >= TG_NO_SLIP && s < still)
            return tg_larger(tg_smaller(tg_newton_residual(&w->cones, w->x, w->s), still), TG_NO_SLIP);
    }
    return still;
}

/* the phases that x and s suggest; what moves less than `still` (m/s) is held */
static void suggest_phases(tg_solve_work *w, double still)
{
    tg_newton_classify(&w->cones, w->x, w->s, w->state);
    double opening = least_opening(w, still);
    w->gave_way = w->slow = false;
    for (int b = 0; b < w->cones.blocks; b++)
    {
        w->state[b].opened = false;
        hold_if_still(w, &w->cones.block[b], &w->state[b], opening, still);
        slide_on(w, &w->cones.block[b], &w->state[b]);
    }
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
    if ((w->slow || w->gave_way) && moves_slowly(w))
        return TG_SELECT_COMPLIANT;
    if (w->held.rank == w->held.count)
        return TG_SELECT_INDEPENDENT;
    return has_immaterial(w) ? TG_SELECT_COMPLIANT : TG_SELECT_PROJECTED;
}

/* ---- from the impulses of the previous step ---- */

static double normal_velocity(const tg_island *island, int row, const double *L)
{
    return island->g[row] + v4_dot_of(island->rows, island->G + (size_t)row * (size_t)island->ldg, L);
}

/* contacts and limits that were open and still are: most stay so, and the rest is a smaller problem */
static bool leave_out(tg_solve_work *w)
{
    const tg_island *island = w->island;
    bool any = false;
    for (int b = 0; b < island->blocks; b++)
    {
        const tg_block *block = &island->block[b];
        bool unilateral = block->kind == TG_BLOCK_CONTACT || block->kind == TG_BLOCK_LIMIT;
        w->left_out[b] =
            unilateral && w->L[block->row] <= 0 && normal_velocity(island, block->row, w->L) >= TG_NEARLY_STILL;
        any = any || w->left_out[b];
    }
    return any;
}

/* a number that tells sets of phases apart, and what gave way: they are its digits */
static uint64_t number_of_phases(const tg_solve_work *w)
{
    uint64_t number = 0;
    for (int b = 0; b < w->cones.blocks; b++)
        number = 2 * (TG_PHASE_SLIDE + 1) * number + 2 * (uint64_t)w->state[b].phase + w->state[b].opened;
    return number;
}

static bool any_slides(const tg_solve_work *w)
{
    bool any = false;
    for (int b = 0; b < w->cones.blocks && !any; b++)
        any = w->state[b].phase == TG_PHASE_SLIDE;
    return any;
}

/* the phases of the Alart-Curnier point; what gave way stays so while it carries something */
static void classify(tg_solve_work *w)
{
    if (!w->gave_way)
        tg_newton_classify(&w->cones, w->x, w->s, w->state);
    for (int b = 0; b < w->cones.blocks && w->gave_way; b++)
        if (!w->state[b].opened || !(w->x[w->cones.block[b].row] > 0))
            tg_newton_classify_block(&w->cones.block[b], w->x, w->s, &w->state[b]);
}

/* x without its part in the null space of redundant rows, which does nothing to the bodies: that is the solution of the
 * rule where cones allow it. Kept if it violates the law less than x does. Returns the violation. */
static double drop_null(tg_solve_work *w)
{
    const tg_held *held = &w->held;
    double before = tg_newton_residual(&w->cones, w->x, w->s), *L = w->limit, *d = w->rhs, *x = w->best;
    if (held->rank == held->count || before <= TG_NO_FORCE)
        return before;
    size_t bytes = sizeof *x * (size_t)w->cones.rows;
    memcpy(x, w->x, bytes);
    for (int i = 0; i < held->count; i++)
        L[i] = w->cones.scale[held->row[i]] * w->cones.scale[held->row[i]] * w->x[held->row[i]];
    tg_gemm_nt(held->rank, 1, held->count, held->range, w->cones.ld, L, held->count, TG_GEMM_SET, d, 1);
    tg_gemm_nn(1, held->count, held->rank, d, held->rank, held->range, w->cones.ld, TG_GEMM_SET, L, held->count);
    for (int i = 0; i < held->count; i++)
        w->x[held->row[i]] = L[i];
    double after = tg_newton_residual(&w->cones, w->x, w->s);
    if (after < before)
        return after;
    memcpy(w->x, x, bytes);
    return before;
}

/* A solution from the phases in w->state, near w->x: Newton steps that leave Z^T L_R as it is, with new phases after
 * every step. from: the phases of the last attempt; without slides, whose directions follow x, it would be repeated. */
static bool find_phases(tg_solve_work *w, uint64_t *from)
{
    uint64_t met[WARM_ROUNDS + 1] = {number_of_phases(w)};
    bool changed = true;
    if (*from == met[0] && !any_slides(w))
        return false;
    *from = met[0];
    for (int k = 0; k < WARM_ROUNDS && w->newton < w->most; k++)
    {
        if (changed)
            tg_held_build(w);
        if (w->held.weak)
            return false;
        bool solved = tg_limit_newton(w, TG_LIMIT_LINEAR, 1, aim(w));
        /* on their cones blocks change phase by rounding: that is no reason to continue */
        w->violation = solved ? drop_null(w) : INFINITY;
        bool near = solved && w->violation <= TG_NO_FORCE, wrong = solved && contradicts(w, w->violation);
        if (near && !wrong)
            return true;
        bool gave = wrong && w->violation <= w->held.inconsistency && give_way(w); /* no more than that is wrong */
        if (!gave && !near)
            classify(w);
        met[k + 1] = number_of_phases(w);
        changed = met[k + 1] != met[k];
        if (solved && !changed && w->held.rank < w->held.count)
        {
            if (!wrong || !give_way(w))
                return near; /* held rows contradict each other: the next step is the same */
            met[k + 1] = number_of_phases(w);
            changed = true;
        }
        for (int j = 0; j < k && changed; j++)
            if (met[j] == met[k + 1])
                return false; /* it goes round in circles */
    }
    return false;
}

/* Takes back what does not open at the impulses in w->L; true when nothing had to be. */
static bool take_back(tg_solve_work *w)
{
    const tg_island *island = w->island;
    bool all_open = true;
    for (int b = 0; b < island->blocks; b++)
        if (w->left_out[b] && !(normal_velocity(island, island->block[b].row, w->L) >= TG_NO_SLIP))
            all_open = w->left_out[b] = false;
    return all_open;
}

/* a solution near the impulses in w->L; a second time after one block Gauss-Seidel sweep, if w->sweeps_too */
static bool find_solution(tg_solve_work *w, double still)
{
    uint64_t from = UINT64_MAX;
    for (int k = 0; k <= w->sweeps_too; k++)
    {
        tg_cones_gather(&w->cones, w->L, w->x);
        if (k > 0)
            tg_cones_sweep(&w->cones, w->x);
        w->sweeps += k;
        tg_cones_velocity(&w->cones, w->x, w->s);
        suggest_phases(w, still);
        if (find_phases(w, &from))
            return true;
    }
    return false;
}

/* from a solution to the one of the rule */
static bool refine_solution(tg_solve_work *w)
{
    bool changed = revise_phases(w), redundant = w->held.rank < w->held.count;
    if (!changed && !redundant)
        return true;
    if (!settle(w, changed))
        return false;
    tg_cones_scatter(&w->cones, w->x, w->island->rows, w->L);
    w->violation = tg_newton_residual(&w->cones, w->x, w->s);
    return true;
}

static void begin(tg_solve_work *w)
{
    size_t bytes = (size_t)w->island->rows * sizeof *w->L;
    if (w->island->warm != NULL)
        memcpy(w->L, w->island->warm, bytes);
    else
        memset(w->L, 0, bytes);
    /* scratch comes with old contents: padding lanes and vectors read before they are written start at zero */
    size_t padded = sizeof(double) * (size_t)v4_pad(w->island->rows);
    memset(w->x, 0, padded);
    memset(w->s, 0, padded);
    memset(w->state, 0, (size_t)w->island->rows * sizeof *w->state);
    w->held.count = w->held.rank = w->newton = w->sweeps = 0;
    w->held.inconsistency = 0;
}

tg_warm tg_solve_warm(tg_solve_work *w, double tolerance, tg_selection *selection)
{
    double still = TG_NEARLY_STILL;
    w->exact = exact * tolerance;
    begin(w);
    bool smaller = leave_out(w);
    for (int k = 0; k < WARM_PROBLEMS; k++, still = TG_NO_SLIP)
    {
        tg_cones_build(&w->cones, w->island, smaller ? w->left_out : NULL);
        if (!find_solution(w, still))
            return TG_WARM_NONE;
        tg_cones_scatter(&w->cones, w->x, w->island->rows, w->L);
        if (!refine_solution(w))
            return TG_WARM_NEAR;
        if (smaller && !take_back(w))
            continue;
        *selection = selection_kind(w);
        return w->violation <= w->exact ? TG_WARM_CHOSEN : TG_WARM_NEAR;
    }
    return TG_WARM_NONE;
}
