/* The table of solvers, their options, and one solve from the island to its certificate. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "contact/solver.h"
#include "math/lanes.h"

/* a new solver: one file with its function, and one line here */
static const tg_solver table[] = {
    {"newton", tg_solver_newton, true},
    {"ipm", tg_solver_ipm, false},
    {"pgs", tg_solver_pgs, false},
    {"admm", tg_solver_admm, false},
    {"staggered", tg_solver_staggered, false},
};

enum
{
    SOLVERS = sizeof table / sizeof table[0]
};

static const uint32_t options_cookie = 0x74675356u;

const tg_solver *tg_solver_find(const char *name)
{
    for (int i = 0; i < SOLVERS; i++)
        if (name != NULL && strcmp(name, table[i].name) == 0)
            return &table[i];
    return NULL;
}

const tg_solver *tg_solver_at(int index)
{
    return index >= 0 && index < SOLVERS ? &table[index] : NULL;
}

tg_solve_options tg_solve_default(void)
{
    return (tg_solve_options){.cookie = options_cookie,
                              .solver = "newton",
                              .tolerance = 1e-8,
                              .inner = 1e-12,
                              .max_sweeps = 1000,
                              .max_interior = 50,
                              .select = true,
                              .long_double = false};
}

/* ---- refusals ---- */

static tg_status check_options(const tg_solve_options *o, tg_error *error)
{
    if (o->cookie != options_cookie)
        return tg_fail(error, TG_ERR_ARGUMENT, "solver options: not made with tg_solve_default()");
    if (tg_solver_find(o->solver) == NULL)
        return tg_fail(error, TG_ERR_NAME, "solver options: unknown solver '%s'", o->solver == NULL ? "" : o->solver);
    if (!(o->tolerance > 0) || !isfinite(o->tolerance))
        return tg_fail(error, TG_ERR_VALUE, "solver options: tolerance must be positive, got %g", o->tolerance);
    if (!(o->inner > 0) || !(o->inner <= o->tolerance))
        return tg_fail(error, TG_ERR_VALUE, "solver options: inner must be in (0, tolerance], got %g", o->inner);
    if (o->staggered_steps < 0)
        return tg_fail(error, TG_ERR_VALUE, "solver options: staggered_steps is %d, must be 0 or more",
                       o->staggered_steps);
    if (o->max_sweeps < 1 || o->max_interior < 1)
        return tg_fail(error, TG_ERR_VALUE, "solver options: max_sweeps %d and max_interior %d must be positive",
                       o->max_sweeps, o->max_interior);
    return TG_OK;
}

static bool rows_fit(const tg_block *block)
{
    switch (block->kind)
    {
    case TG_BLOCK_CONTACT:
        return block->rows == 1 || block->rows == 3 || block->rows == 4 || block->rows == 6;
    case TG_BLOCK_EQUALITY:
        return block->rows >= 1;
    default:
        return block->rows == 1;
    }
}

static tg_status check_block(const tg_block *block, int index, int row, tg_error *error)
{
    if ((unsigned)block->kind >= TG_BLOCK_KINDS || !rows_fit(block) || block->row != row)
        return tg_fail(error, TG_ERR_ARGUMENT,
                       "block %d: kind %d with %d rows from row %d does not fit (row %d expected)", index,
                       (int)block->kind, block->rows, block->row, row);
    for (int i = 0; block->kind == TG_BLOCK_CONTACT && i < block->rows - 1; i++)
        if (!(block->mu[i] >= 0) || !isfinite(block->mu[i]))
            return tg_fail(error, TG_ERR_VALUE, "block %d: friction coefficient %d is %g", index, i, block->mu[i]);
    if (block->kind == TG_BLOCK_FRICTION && (!(block->bound >= 0) || !isfinite(block->bound)))
        return tg_fail(error, TG_ERR_VALUE, "block %d: bound is %g", index, block->bound);
    return TG_OK;
}

static tg_status check_row(const tg_island *island, int row, tg_error *error)
{
    const double *G = island->G + (size_t)row * (size_t)island->ldg;
    if (!v4_all_finite(island->rows, G) || !(G[row] >= 0))
        return tg_fail(error, TG_ERR_VALUE,
                       "row %d: the Delassus matrix has an entry that is not finite, or diagonal %g", row, G[row]);
    if (!isfinite(island->g[row]))
        return tg_fail(error, TG_ERR_VALUE, "row %d: the free velocity is %g", row, island->g[row]);
    if (island->warm != NULL && !isfinite(island->warm[row]))
        return tg_fail(error, TG_ERR_VALUE, "row %d: the impulse to start from is %g", row, island->warm[row]);
    return TG_OK;
}

static tg_status check_island(const tg_island *island, tg_error *error)
{
    int row = 0;
    if (island->rows < 0 || island->blocks < 0 || island->ldg < island->rows)
        return tg_fail(error, TG_ERR_ARGUMENT, "island: %d rows, %d blocks, leading dimension %d", island->rows,
                       island->blocks, island->ldg);
    for (int b = 0; b < island->blocks; b++)
    {
        tg_status status = check_block(&island->block[b], b, row, error);
        if (status != TG_OK)
            return status;
        row += island->block[b].rows;
    }
    if (row != island->rows)
        return tg_fail(error, TG_ERR_ARGUMENT, "island: blocks have %d rows, the island %d", row, island->rows);
    for (int i = 0; i < island->rows; i++)
    {
        tg_status status = check_row(island, i, error);
        if (status != TG_OK)
            return status;
    }
    return TG_OK;
}

/* ---- one solve ---- */

/* the next count numbers of one block of memory; a block that is not there yet is only counted */
static double *next_doubles(double **block, size_t *used, size_t count)
{
    double *here = *block == NULL ? NULL : *block + *used;
    *used += (count + 7) & ~(size_t)7; /* 64 bytes */
    return here;
}

static size_t divide_doubles(tg_solve_work *w, size_t n, size_t ld, double *block)
{
    size_t used = 0;
    double **const vector[] = {&w->x,   &w->s,         &w->best,        &w->kept,      &w->spare, &w->held.gap, &w->L,
                               &w->rhs, &w->held.size, &w->held.square, &w->held.part, &w->sigma, &w->near};
    double **const matrix[] = {&w->A, &w->held.factor, &w->held.range, &w->held.chol};
    for (size_t i = 0; i < sizeof vector / sizeof vector[0]; i++)
        *vector[i] = next_doubles(&block, &used, ld);
    for (size_t i = 0; i < sizeof matrix / sizeof matrix[0]; i++)
        *matrix[i] = next_doubles(&block, &used, n * ld);
    w->interior = next_doubles(&block, &used, TG_INTERIOR_VECTORS * ld);
    w->frames = next_doubles(&block, &used, (TG_CONE_MAX - 1) * ld);
    w->range = next_doubles(&block, &used, TG_LIMIT_MATRICES * n * ld);
    return used;
}

bool tg_solve_work_take(tg_solve_work *w, int rows, tg_arena *scratch)
{
    size_t ld = (size_t)v4_pad(rows), n = (size_t)rows;
    tg_cones_take(&w->cones, rows, scratch);
    size_t count = divide_doubles(w, n, ld, NULL);
    divide_doubles(w, n, ld, TG_TAKE(scratch, double, count, "contact: vectors and matrices"));
    w->state = TG_TAKE(scratch, tg_cone_state, n, "contact: phases");
    w->slide = TG_TAKE(scratch, tg_slide, n, "contact: sliding contacts");
    w->left_out = TG_TAKE(scratch, bool, n, "contact: blocks left out");
    int *index = TG_TAKE(scratch, int, 5 * n, "contact: rows");
    if (scratch->failed || index == NULL)
        return false;
    w->held.row = index;
    w->held.at = index + n;
    w->active = index + 2 * n;
    w->pivot = index + 3 * n;
    w->position = index + 4 * n;
    return true;
}

size_t tg_island_scratch(int rows)
{
    tg_arena count = {0};
    tg_solve_work w;
    tg_solve_work_take(&w, rows, &count);
    return count.used;
}

/* scratch comes with old contents: padding lanes and vectors read before they are written start at zero */
static void clear_work(tg_solve_work *w)
{
    size_t bytes = (size_t)w->cones.ld * sizeof(double);
    memset(w->x, 0, bytes);
    memset(w->s, 0, bytes);
    memset(w->kept, 0, bytes);
    memset(w->state, 0, (size_t)w->island->rows * sizeof *w->state);
    w->held.count = w->held.rank = 0;
    w->held.inconsistency = 0;
    w->kept_residual = INFINITY;
    w->kept_selection = TG_SELECT_UNSELECTED;
}

bool tg_solve_certified(tg_solve_work *w)
{
    tg_cones_scatter(&w->cones, w->kept, w->island->rows, w->L);
    tg_residual residual = tg_island_residual(w->island, w->L, w->options->long_double, w->sigma);
    return tg_residual_max(&residual) <= w->options->tolerance;
}

/* The way from the impulses of the step before failed. Whether no other is asked for, or can help, because it ended at rows that contradict each other; then
 * its impulses are kept. */
static bool ends_here(tg_solve_work *w)
{
    bool contradiction = !w->options->brief && w->held.inconsistency > w->options->tolerance && tg_solve_infeasible(w);
    if (!w->options->brief && !contradiction)
        return false;
    if (contradiction && v4_all_finite(w->cones.rows, w->x))
        tg_cones_scatter(&w->cones, w->x, w->island->rows, w->L);
    else
        tg_solve_load(w);
    tg_cones_build(&w->cones, w->island, NULL);
    tg_cones_gather(&w->cones, w->L, w->kept);
    w->kept_selection = TG_SELECT_UNSELECTED;
    return true;
}

static void solve(tg_solve_work *w, const tg_island *island)
{
    const tg_solver *solver = tg_solver_find(w->options->solver);
    bool warm = solver->warm && w->options->select;
    clear_work(w);
    if ((warm && tg_solve_warm(w)) || ends_here(w))
        return;
    tg_cones_build(&w->cones, island, NULL);
    clear_work(w);
    if (w->unselectable)
        tg_solve_keep_near(w);
    else if (island->warm != NULL)
        tg_cones_gather(&w->cones, island->warm, w->x);
    if (w->cones.rows == 0)
        w->kept_selection = TG_SELECT_INDEPENDENT;
    else
        solver->run(w);
    if (w->options->select && w->kept_selection == TG_SELECT_UNSELECTED)
        tg_solve_polish(w);
}

static void report(const tg_solve_work *w, const tg_island *island, double *L, double *sigma, tg_solve_result *result)
{
    tg_cones_scatter(&w->cones, w->kept, island->rows, L);
    tg_residual residual = tg_island_residual(island, L, w->options->long_double, sigma);
    bool solved = tg_residual_max(&residual) <= w->options->tolerance;
    *result = (tg_solve_result){.status = solved ? TG_SOLVE_SOLVED : TG_SOLVE_PARTIAL,
                                .selection = w->kept_selection,
                                .sweeps = w->sweeps,
                                .newton = w->newton,
                                .interior = w->interior_steps,
                                .rank = w->held.rank,
                                .held = w->held.count,
                                .residual = residual};
}

tg_status tg_island_solve(const tg_island *island, const tg_solve_options *options, tg_arena *scratch, double *L,
                          double *sigma, tg_solve_result *result, tg_error *error)
{
    tg_status status = check_options(options, error);
    if (status == TG_OK)
        status = check_island(island, error);
    if (status != TG_OK)
        return status;
    size_t mark = tg_arena_mark(scratch);
    tg_solve_work w = {.island = island, .options = options};
    if (!tg_solve_work_take(&w, island->rows, scratch))
    {
        tg_arena_release(scratch, mark);
        scratch->failed = false;
        return tg_fail(error, TG_ERR_CAPACITY, "contact problem of %d rows: needs %zu bytes of scratch", island->rows,
                       tg_island_scratch(island->rows));
    }
    solve(&w, island);
    report(&w, island, L, sigma, result);
    tg_arena_release(scratch, mark);
    return TG_OK;
}
