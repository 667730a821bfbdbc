/* The default: one block Gauss-Seidel sweep finds most phases, Newton on the Alart-Curnier equations finishes.
 *
 * The proximal compliance (1e-4 of each block's own, centred at the current point) makes the matrix regular whatever
 * the rank of G, and leaves the solution alone; phases that repeat are handed to the selection rule, whose equations
 * are exact. Stages of rising cost; every one ends by offering what it has (tg_solve_accept). */
#include <math.h>
#include <string.h>

#include "contact/solver.h"

enum
{
    COLD_PROBLEMS = 3 /* how often contacts that were left out may come back */
};

static const double proximal = 1e-4;
static const double near = 1e-6; /* m/s: far from a solution there is nothing to select */

static void sweeps(tg_solve_work *w, int count)
{
    for (int k = 0; k < count; k++)
        tg_cones_sweep(&w->cones, w->x);
    w->sweeps += count;
    tg_cones_velocity(&w->cones, w->x, w->s);
}

static bool same_phases(const tg_solve_work *w)
{
    for (int b = 0; b < w->cones.blocks; b++)
    {
        tg_cone_state now;
        tg_newton_classify_block(&w->cones.block[b], w->x, w->s, &now);
        if (now.phase != w->state[b].phase)
            return false;
    }
    return true;
}

/* Newton until the residual is small; with `early` until phases repeat, which is when the selection rule can take over.
 * Phases that repeat need little regularisation. */
static void newton(tg_solve_work *w, int steps, bool early)
{
    double aim = 0.1 * w->options->tolerance, compliance = proximal;
    for (int k = 0; k < steps; k++)
    {
        if (tg_newton_residual(&w->cones, w->x, w->s) <= aim)
            return;
        tg_newton_classify(&w->cones, w->x, w->s, w->state);
        if (!(tg_newton_step(w, compliance) < INFINITY))
            return;
        bool same = same_phases(w);
        if (early && same)
            return;
        compliance = same ? 1e-3 * proximal : proximal;
    }
}

/* goes on from the best solution so far */
static void restore(tg_solve_work *w)
{
    memcpy(w->x, w->kept, (size_t)w->cones.rows * sizeof *w->x);
    tg_cones_velocity(&w->cones, w->x, w->s);
}

/* selected, or at least certified */
static bool offer(tg_solve_work *w)
{
    if (tg_solve_accept(w) || (w->options->select && w->kept_residual <= near && tg_solve_compliant(w)))
        return true;
    return tg_solve_certified(w);
}

/* From nothing: the interior point, and Newton from where it ends. */
static bool cold(tg_solve_work *w)
{
    memset(w->state, 0, (size_t)w->cones.blocks * sizeof *w->state);
    tg_interior_run(w, 1e-2 * w->options->tolerance, !w->options->relaxable);
    if (offer(w))
        return true;
    restore(w);
    newton(w, 6, false);
    return tg_solve_accept(w) || tg_solve_certified(w);
}

/* What the rule could not select is solved from a cold start, which makes it a function of the problem alone. The
 * earlier solution comes back only when that fails. */
static void unselected(tg_solve_work *w)
{
    size_t bytes = (size_t)w->cones.rows * sizeof *w->x;
    double before = w->kept_residual;
    memcpy(w->spare, w->kept, bytes);
    w->kept_residual = INFINITY;
    if (cold(w) || !(before < w->kept_residual))
        return;
    memcpy(w->kept, w->spare, bytes);
    w->kept_residual = before;
    w->kept_selection = TG_SELECT_UNSELECTED;
}

/* From nothing, without the contacts that are left out: they are most of a robot's that tumbles, and the interior point's steps cost the cube of the
 * rows. True when what it ends at is the solution of the rule; *solved: whether it solved what was left. */
static bool cold_without_open(tg_solve_work *w, bool path, bool *solved)
{
    bool found = false;
    *solved = true;
    for (int k = 0; k < COLD_PROBLEMS && *solved && !found; k++)
    {
        tg_cones_build(&w->cones, w->island, w->left_out);
        *solved = tg_interior_run(w, 1e-2 * w->options->tolerance, path) <= w->options->tolerance;
        tg_cones_scatter(&w->cones, w->x, w->island->rows, w->L);
        found = *solved && tg_solve_take_back(w);
    }
    tg_cones_build(&w->cones, w->island, NULL);
    tg_cones_gather(&w->cones, w->L, w->x);
    return found && tg_solve_accept(w);
}

/* Phases of the best impulses so far. */
static void classify_kept(tg_solve_work *w)
{
    restore(w);
    tg_newton_classify(&w->cones, w->x, w->s, w->state);
}

static bool is_infeasible(tg_solve_work *w)
{
    classify_kept(w);
    return tg_solve_infeasible(w);
}

static bool is_jammed(tg_solve_work *w)
{
    classify_kept(w);
    return tg_solve_jammed(w);
}

/* Nothing near is a solution. Where held rows contradict each other there is hardly one: then the path is followed without the contacts that are open at the best
 * impulses so far, and no more; not even that where an easier problem can take its place. */
static void search(tg_solve_work *w)
{
    bool jammed = !w->options->relaxable && is_jammed(w), solved = true;
    tg_cones_scatter(&w->cones, w->kept, w->island->rows, w->L);
    if (tg_solve_leave_out(w) && cold_without_open(w, jammed, &solved))
        return;
    if (solved || !(jammed || w->options->relaxable))
        unselected(w);
}

/* the rule by way of compliant solutions: near the impulses of the step before, or from nothing */
static bool select_softly(tg_solve_work *w)
{
    return (w->island->warm != NULL && tg_solve_near_compliant(w)) || tg_solve_most_compliant(w);
}

void tg_solver_newton(tg_solve_work *w)
{
    if (w->unselectable)
    {
        /* from another solution nearby the rule would not be reached either */
        if (!tg_solve_least_compliant(w))
            unselected(w);
        return;
    }
    sweeps(w, 1);
    if (tg_solve_accept(w))
        return;
    restore(w);
    newton(w, 4, w->options->select);
    if (tg_solve_accept(w))
        return;
    restore(w);
    newton(w, 6, false);
    if (tg_solve_accept(w))
        return;
    bool solved = w->kept_residual <= w->options->tolerance;
    if (!solved && is_infeasible(w))
        return;
    if (w->options->select && (solved || !w->options->relaxable) && select_softly(w))
        return;
    if (w->kept_residual <= w->options->tolerance)
        unselected(w);
    else
        search(w);
}
