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
    ROUNDS = 8,            /* changes of phase */
    LIMIT_STEPS = 16,      /* Newton steps of one round, when rows are redundant and x is a solution */
    LIMIT_STEPS_EARLY = 3, /* while x is only near one */
    UNIQUE_STEPS = 1,      /* when rows are independent */
    NEAR_ROUNDS = 3,       /* the same from a solution */
    NEAR_STEPS = 16,
    WARM_ROUNDS = 8,      /* changes of phase between the impulses of the step before and a solution */
    SOFT_STEPS = 8,       /* Newton steps behind the interior point, with compliance */
    SOFT_STEPS_NEAR = 3,  /* the same from where the rule was not reached, */
    SOFT_STEPS_DOWN = 24, /* and on the way to less compliance */
    WARM_PROBLEMS = 3     /* how often blocks that were left out may come back */
};

static const double no_slip = 1e-7;         /* m/s: slower than this a contact neither slides nor opens */
static const double nearly_still = 1e-5;    /* m/s: slower than this at the impulses of the step before, it is still */
static const double on_cone = 1 - 1e-6;     /* |x_T| of x_N */
static const double slides_on = 1e-3;       /* m/s: faster than this a contact that slid goes on */
static const double soft_aim = 1e-15;       /* m/s: the compliance times an impulse is hardly more */
static const double found_soft = 1e-13;     /* m/s: of a compliant solution that Newton found */
static const double compliance = 1e-8;      /* of mean G_ii */
static const double more_compliance = 1e-6; /* where its phases are not those of the rule */
static const double most_compliance = 1e-4; /* where these are too stiff for the interior point */
static const double largest_step = 10, smallest_step = 1.1; /* from one compliance to the next */
static const double violated = 1e-9; /* m/s: G_ii times how far outside of its cone a held contact may be */

static double diagonal(const tg_cones *cones, int row)
{
    return cones->G[(size_t)row * (size_t)(cones->ld + 1)];
}

static double mean_diagonal(const tg_cones *cones)
{
    double trace = 0;
    for (int i = 0; i < cones->rows; i++)
        trace += diagonal(cones, i) / (cones->scale[i] * cones->scale[i]);
    return trace / cones->rows;
}

/* ---- phases ---- */

static double slip(const tg_cones *cones, const tg_cone *cone, const double *s)
{
    double sum = 0;
    for (int i = cone->row + 1; i < cone->row + cone->dim; i++)
        sum += (s[i] / cones->scale[i]) * (s[i] / cones->scale[i]);
    return sqrt(sum);
}

/* does not slip: sticks, whatever its cone says; does not open: is held, whatever it carries. Dry friction that gives way, however
 * slowly, carries its bound: to hold it would contradict the contacts before which it gives way. */
static void hold_if_still(const tg_solve_work *w, const tg_cone *cone, tg_cone_state *state, double still)
{
    if (cone->kind == TG_CONE_BOX && !state->opened && fabs(w->s[cone->row]) < w->options->inner)
        state->phase = TG_PHASE_STICK;
    if (cone->kind != TG_CONE_UNIT || state->phase == TG_PHASE_STICK)
        return;
    if (state->phase == TG_PHASE_BREAK && (state->opened || w->s[cone->row] >= still))
        return;
    if (slip(&w->cones, cone, w->s) < still)
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

/* The phase of the Alart-Curnier point; friction that gave way before others does not hold against them, it turns round. */
static void reconsider(const tg_solve_work *w, const tg_cone *cone, tg_cone_state *state)
{
    if (cone->kind == TG_CONE_BOX && state->opened && state->phase == TG_PHASE_SLIDE)
        state->direction[0] = -state->direction[0];
    else
        tg_newton_classify_block(cone, w->x, w->s, state);
}

/* New phases where the old ones do not hold; what moves less than `still` (m/s) is held. Returns whether any changed. */
static bool revise_phases(tg_solve_work *w, double still)
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
            hold_if_still(w, cone, state, still);
        if (state->phase == before.phase && !phase_holds(w, cone, state))
            reconsider(w, cone, state);
        bool turned =
            cone->kind == TG_CONE_BOX && state->phase == TG_PHASE_SLIDE && state->direction[0] != before.direction[0];
        changed = changed || state->phase != before.phase || turned;
    }
    return changed;
}

/* ---- what gives way ---- */

/* How far an impulse can go along -Z Z^T g_R, which does nothing to the bodies, until its block is at its bound, or open. */
static double way_to_bound(const tg_solve_work *w, const tg_cone *cone)
{
    int at = w->held.at[cone->row];
    double x = w->x[cone->row], along = at < 0 ? 0 : -w->held.gap[at];
    if (fabs(along) <= tg_held_least_gap(w) || cone->kind == TG_CONE_FREE || (cone->kind == TG_CONE_UNIT && along > 0))
        return INFINITY;
    double bound = cone->kind == TG_CONE_UNIT ? 0 : copysign(cone->bound, along);
    return tg_larger((bound - x) / along, 0);
}

/* Held rows that contradict each other a little, dry friction among them: with compliance eps their impulses would grow along -Z Z^T g_R / eps, until the
 * first friction gives way, or the first contact opens. False when nothing does. */
static bool give_way(tg_solve_work *w)
{
    int first = -1;
    double least = INFINITY;
    for (int b = 0; b < w->cones.blocks; b++)
    {
        double here = way_to_bound(w, &w->cones.block[b]);
        first = here < least ? b : first;
        least = tg_smaller(here, least);
    }
    if (first < 0)
        return false;
    const tg_cone *cone = &w->cones.block[first];
    tg_cone_state *state = &w->state[first];
    state->phase = cone->kind == TG_CONE_BOX ? TG_PHASE_SLIDE : TG_PHASE_BREAK;
    state->opened = true;
    state->direction[0] = w->held.gap[w->held.at[cone->row]] < 0 ? 1 : -1;
    return true;
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

/* Solves the equations of the phases in w->state (changed: since w->held was built) and revises these until they hold;
 * false when they do not settle. */
static bool settle(tg_solve_work *w, tg_limit_way way, int rounds, int limit_steps, bool changed)
{
    for (int k = 0, yields = 0; k < rounds + yields; k++)
    {
        if (changed)
            tg_held_build(w);
        bool unique = w->held.rank == w->held.count;
        bool solved = tg_limit_newton(w, way, unique ? UNIQUE_STEPS : limit_steps, aim(w));
        changed = revise_phases(w, no_slip);
        if (solved && !changed)
        {
            if (!w->held.yields || yields == w->cones.blocks || !give_way(w))
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

/* Its impulse is on the cone against a slip: it slid, and goes on. (When the normal impulse must grow, the Alart-Curnier
 * point is inside of the cone.) */
static void slide_on(const tg_solve_work *w, const tg_cone *cone, tg_cone_state *state)
{
    const double *x = w->x + cone->row, *s = w->s + cone->row;
    double along = 0;
    if (cone->kind != TG_CONE_UNIT || state->phase != TG_PHASE_STICK || slip(&w->cones, cone, w->s) < slides_on)
        return;
    for (int i = 1; i < cone->dim; i++)
        along += x[i] * s[i];
    if (along >= 0 || tg_cone_tangent(cone->dim, x) < on_cone * x[0])
        return;
    state->phase = TG_PHASE_SLIDE;
    tg_newton_direction(cone, x, s, state);
}

/* the phases that x and s suggest; what moves less than `still` (m/s) is held */
static void suggest_phases(tg_solve_work *w, double still)
{
    tg_newton_classify(&w->cones, w->x, w->s, w->state);
    for (int b = 0; b < w->cones.blocks; b++)
    {
        w->state[b].opened = false;
        hold_if_still(w, &w->cones.block[b], &w->state[b], still);
        slide_on(w, &w->cones.block[b], &w->state[b]);
    }
}

/* Replaces w->x, near a solution, by the solution of the rule; false when the phases do not settle. */
static bool select_solution(tg_solve_work *w, bool early)
{
    suggest_phases(w, no_slip);
    if (early)
        return settle(w, TG_LIMIT_FAR, ROUNDS, LIMIT_STEPS_EARLY, true);
    memcpy(w->L, w->x, (size_t)w->cones.rows * sizeof *w->L);
    if (settle(w, TG_LIMIT_NEAR, NEAR_ROUNDS, NEAR_STEPS, true))
        return true;
    memcpy(w->x, w->L, (size_t)w->cones.rows * sizeof *w->L);
    tg_cones_velocity(&w->cones, w->x, w->s);
    suggest_phases(w, no_slip);
    return settle(w, TG_LIMIT_FAR, ROUNDS, LIMIT_STEPS, true);
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
        return TG_SELECT_INDEPENDENT;
    return has_immaterial(w) ? TG_SELECT_COMPLIANT : TG_SELECT_PROJECTED;
}

double tg_solve_quality(const tg_solve_work *w, const double *x)
{
    double tolerance = w->options->tolerance, equations = tg_newton_residual(&w->cones, x, w->s);
    if (equations < 0.1 * tolerance)
        return equations;
    double certificate = tg_cones_residual(&w->cones, x, w->s);
    return certificate <= tolerance ? tg_smaller(equations, tolerance) : tg_larger(equations, certificate);
}

static void keep(tg_solve_work *w, tg_selection selection)
{
    if (!v4_all_finite(w->cones.rows, w->x) || !v4_all_finite(w->cones.rows, w->s))
        return;
    double here = tg_solve_quality(w, w->x), tolerance = w->options->tolerance;
    bool chosen = selection != TG_SELECT_UNSELECTED && here < tolerance;
    bool kept_chosen = w->kept_selection != TG_SELECT_UNSELECTED && w->kept_residual < tolerance;
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
    return selected && w->kept_residual < w->options->tolerance;
}

/* Newton steps; the best of all. Far from a solution, or where phases are not yet found, the violation grows on the way. */
static double polish_soft(tg_solve_work *w, int steps)
{
    size_t bytes = (size_t)w->cones.rows * sizeof *w->x;
    double best = tg_newton_residual(&w->cones, w->x, w->s);
    memcpy(w->sigma, w->x, bytes);
    for (int k = 0; k < steps && best > soft_aim; k++)
    {
        tg_newton_classify(&w->cones, w->x, w->s, w->state);
        tg_newton_step(w, 0);
        double here = tg_newton_residual(&w->cones, w->x, w->s);
        if (!(here < INFINITY) || (best <= found_soft && !(here < best)))
            break;
        if (here < best)
            memcpy(w->sigma, w->x, bytes);
        best = tg_smaller(here, best);
    }
    memcpy(w->x, w->sigma, bytes);
    tg_cones_velocity(&w->cones, w->x, w->s);
    return best;
}

/* a compliance more, or less, of every row */
static void soften(tg_solve_work *w, double eps)
{
    tg_cones *cones = &w->cones;
    for (int i = 0; i < cones->rows; i++)
        cones->G[(size_t)i * (size_t)(cones->ld + 1)] += eps * cones->scale[i] * cones->scale[i];
    w->softness += eps;
}

/* G as it was */
static void harden(tg_solve_work *w, const double *rigid)
{
    tg_cones *cones = &w->cones;
    for (int i = 0; i < cones->rows; i++)
        cones->G[(size_t)i * (size_t)(cones->ld + 1)] = rigid[i];
    tg_cones_velocity(cones, w->x, w->s);
}

/* From a solution with compliance to those with less and less, as long as Newton follows; x is the last of them. */
static void follow_down(tg_solve_work *w, double least)
{
    double *before = w->L, factor = largest_step;
    size_t bytes = (size_t)w->cones.rows * sizeof *before;
    while (w->softness > 1.01 * least && factor > smallest_step)
    {
        double less = tg_smaller((1 - 1 / factor) * w->softness, w->softness - least);
        memcpy(before, w->x, bytes);
        soften(w, -less);
        tg_cones_velocity(&w->cones, w->x, w->s);
        if (polish_soft(w, SOFT_STEPS_DOWN) <= found_soft)
        {
            factor = tg_smaller(factor * factor, largest_step);
            continue;
        }
        memcpy(w->x, before, bytes);
        soften(w, less);
        tg_cones_velocity(&w->cones, w->x, w->s);
        factor = sqrt(factor);
    }
}

/* G with compliance; rigid: its diagonal as it was */
static void begin_soft(tg_solve_work *w, double eps, double *rigid)
{
    for (int i = 0; i < w->cones.rows; i++)
        rigid[i] = diagonal(&w->cones, i);
    w->softness = 0;
    soften(w, eps);
}

/* The solution of the problem with compliance, as exact as rounding lets it be: Newton, or interior point, then Newton; and on to less compliance. Returns its residual. */
static double solve_soft(tg_solve_work *w, double eps, double least, double *rigid)
{
    begin_soft(w, eps, rigid);
    tg_cones_velocity(&w->cones, w->x, w->s);
    double left = polish_soft(w, SOFT_STEPS_NEAR);
    if (!(left <= found_soft))
    {
        tg_interior_brief(w, 1e-4 * w->options->tolerance);
        left = polish_soft(w, SOFT_STEPS);
    }
    if (left <= found_soft)
        follow_down(w, least);
    harden(w, rigid);
    return left;
}

/* the same by Newton from w->x */
static bool solve_near(tg_solve_work *w, double eps, double *rigid)
{
    begin_soft(w, eps, rigid);
    tg_cones_velocity(&w->cones, w->x, w->s);
    bool found = polish_soft(w, SOFT_STEPS_DOWN) <= found_soft;
    harden(w, rigid);
    return found;
}

static double largest_impulse(const tg_solve_work *w)
{
    double largest = 0;
    for (int i = 0; i < w->cones.rows; i++)
        largest = tg_larger(largest, w->cones.scale[i] * fabs(w->x[i]));
    return largest;
}

/* dry friction that gave way to its compliance goes on doing so */
static void open_friction(tg_solve_work *w)
{
    for (int b = 0; b < w->cones.blocks; b++)
        if (w->cones.block[b].kind == TG_CONE_BOX && w->state[b].phase == TG_PHASE_SLIDE)
            w->state[b].opened = true;
}

/* from the compliant solution, in w->L and w->sigma, to its limit; every change of phase starts there again. still: what moves less (m/s) is held */
static bool settle_soft(tg_solve_work *w, double still)
{
    size_t bytes = (size_t)w->cones.rows * sizeof *w->x;
    memcpy(w->x, w->L, bytes);
    memcpy(w->s, w->sigma, bytes);
    suggest_phases(w, still);
    open_friction(w);
    for (int k = 0; k < ROUNDS; k++)
    {
        memcpy(w->x, w->L, bytes);
        memcpy(w->s, w->sigma, bytes);
        tg_held_build(w);
        bool solved = tg_limit_newton(w, TG_LIMIT_SOFT, NEAR_STEPS, aim(w));
        if (!solved)
            return false;
        if (!revise_phases(w, still) && (!w->held.yields || !give_way(w)))
            return true;
    }
    return false;
}

/* Contacts that do not slip creep by the compliance times their impulse. What slips as slowly as others count as still, but faster than that, slides all the same. */
static bool settle_limit(tg_solve_work *w)
{
    size_t bytes = (size_t)w->cones.rows * sizeof *w->x;
    memcpy(w->L, w->x, bytes);
    memcpy(w->sigma, w->s, bytes);
    double creep = 10 * w->softness * largest_impulse(w);
    return settle_soft(w, tg_larger(no_slip, creep)) || (creep < no_slip && settle_soft(w, creep));
}

/* With a compliance of so many mean G_ii; *left: how far (m/s) the compliant solution is from one. */
static bool select_compliant(tg_solve_work *w, double share, double *left)
{
    double mean = mean_diagonal(&w->cones);
    *left = solve_soft(w, share * mean, compliance * mean, w->held.gap);
    return settle_limit(w);
}

static bool keep_selected(tg_solve_work *w, bool selected)
{
    keep(w, selected ? selection_kind(w) : TG_SELECT_UNSELECTED);
    return selected && w->kept_residual < w->options->tolerance;
}

bool tg_solve_least_compliant(tg_solve_work *w)
{
    double left;
    return keep_selected(w, select_compliant(w, compliance, &left));
}

bool tg_solve_most_compliant(tg_solve_work *w)
{
    double left;
    return keep_selected(w, select_compliant(w, most_compliance, &left));
}

bool tg_solve_near_compliant(tg_solve_work *w)
{
    double eps = compliance * mean_diagonal(&w->cones);
    tg_cones_gather(&w->cones, w->island->warm, w->x);
    return keep_selected(w, solve_near(w, eps, w->held.gap) && settle_limit(w));
}

bool tg_solve_compliant(tg_solve_work *w)
{
    bool selected = false;
    double left = 0, most = more_compliance;
    /* where the rule is not reached from nearby, the least compliance was tried before anything else */
    for (double share = w->unselectable ? more_compliance : compliance; share < 2 * most && !selected; share *= 1e2)
    {
        selected = select_compliant(w, share, &left);
        most = left <= w->options->tolerance ? more_compliance : most_compliance;
    }
    if (!selected)
    {
        memcpy(w->x, w->L, (size_t)w->cones.rows * sizeof *w->x);
        tg_cones_velocity(&w->cones, w->x, w->s);
        selected = select_solution(w, false);
    }
    return keep_selected(w, selected);
}

/* ---- from the impulses of the step before ---- */

static double normal_velocity(const tg_island *island, int row, const double *L)
{
    return island->g[row] + v4_dot_of(island->rows, island->G + (size_t)row * (size_t)island->ldg, L);
}

/* contacts and limits that were open and still are: most stay so, and the rest is a smaller problem */
bool tg_solve_leave_out(tg_solve_work *w)
{
    const tg_island *island = w->island;
    bool any = false;
    for (int b = 0; b < island->blocks; b++)
    {
        const tg_block *block = &island->block[b];
        bool unilateral = block->kind == TG_BLOCK_CONTACT || block->kind == TG_BLOCK_LIMIT;
        w->left_out[b] =
            unilateral && w->L[block->row] <= 0 && normal_velocity(island, block->row, w->L) >= nearly_still;
        any = any || w->left_out[b];
    }
    return any;
}

/* phases of the Alart-Curnier point; returns whether any changed */
static bool reclassify(tg_solve_work *w)
{
    bool changed = false;
    for (int b = 0; b < w->cones.blocks; b++)
    {
        tg_phase before = w->state[b].phase;
        tg_newton_classify_block(&w->cones.block[b], w->x, w->s, &w->state[b]);
        changed = changed || w->state[b].phase != before;
    }
    return changed;
}

/* A solution from the phases in w->state, near w->x: Newton steps that leave Z^T L_R as it is, with new phases after
 * every step. */
static bool find_phases(tg_solve_work *w)
{
    bool changed = true;
    for (int k = 0; k < WARM_ROUNDS; k++)
    {
        if (changed)
            tg_held_build(w);
        bool solved = tg_limit_newton(w, TG_LIMIT_LINEAR, 1, aim(w));
        /* on their cones blocks change phase by rounding: that is no reason to go on */
        if (solved && tg_newton_residual(&w->cones, w->x, w->s) <= violated)
            return true;
        changed = reclassify(w);
        if (solved && !changed && w->held.rank < w->held.count)
            return false; /* held rows contradict each other: the next step is the same */
    }
    return false;
}

bool tg_solve_take_back(tg_solve_work *w)
{
    const tg_island *island = w->island;
    bool all_open = true;
    for (int b = 0; b < island->blocks; b++)
        if (w->left_out[b] && !(normal_velocity(island, island->block[b].row, w->L) >= no_slip))
            all_open = w->left_out[b] = false;
    return all_open;
}

/* ---- the impulses of the step before ---- */

/* a solution near the impulses in w->L; a second time after one block Gauss-Seidel sweep */
static bool find_solution(tg_solve_work *w, double still)
{
    for (int k = 0; k < 2; k++)
    {
        tg_cones_gather(&w->cones, w->L, w->x);
        if (k > 0)
            tg_cones_sweep(&w->cones, w->x);
        w->sweeps += k;
        tg_cones_velocity(&w->cones, w->x, w->s);
        suggest_phases(w, still);
        if (find_phases(w))
            return true;
    }
    return false;
}

void tg_solve_polish(tg_solve_work *w)
{
    memcpy(w->x, w->kept, (size_t)w->cones.rows * sizeof *w->x);
    tg_cones_velocity(&w->cones, w->x, w->s);
    if (tg_newton_residual(&w->cones, w->x, w->s) <= w->options->inner)
        tg_newton_classify(&w->cones, w->x, w->s, w->state);
    else
        suggest_phases(w, no_slip);
    if (find_phases(w))
        keep(w, w->held.rank == w->held.count ? TG_SELECT_INDEPENDENT : TG_SELECT_UNSELECTED);
}

/* from a solution to the one of the rule */
static bool refine_solution(tg_solve_work *w)
{
    bool changed = revise_phases(w, no_slip), redundant = w->held.rank < w->held.count;
    return (!changed && !redundant) || settle(w, TG_LIMIT_NEAR, NEAR_ROUNDS, NEAR_STEPS, changed);
}

void tg_solve_load(tg_solve_work *w)
{
    size_t bytes = (size_t)w->island->rows * sizeof *w->L;
    if (w->island->warm != NULL)
        memcpy(w->L, w->island->warm, bytes);
    else
        memset(w->L, 0, bytes);
}

void tg_solve_keep_near(tg_solve_work *w)
{
    tg_cones_gather(&w->cones, w->near, w->x);
    tg_cones_velocity(&w->cones, w->x, w->s);
    keep(w, TG_SELECT_UNSELECTED);
}

bool tg_solve_warm(tg_solve_work *w)
{
    tg_solve_load(w);
    bool smaller = tg_solve_leave_out(w);
    double still = nearly_still;
    for (int k = 0; k < WARM_PROBLEMS; k++, still = no_slip)
    {
        tg_cones_build(&w->cones, w->island, smaller ? w->left_out : NULL);
        if (!find_solution(w, still))
            return false;
        tg_cones_scatter(&w->cones, w->x, w->island->rows, w->near);
        w->unselectable = !refine_solution(w);
        if (w->unselectable)
            return false;
        tg_cones_scatter(&w->cones, w->x, w->island->rows, w->L);
        if (smaller && !tg_solve_take_back(w))
            continue;
        keep(w, selection_kind(w));
        return w->kept_residual < w->options->tolerance;
    }
    return false;
}
