/* The table of solvers, their options, and one solve from the island to its certificate. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/lanes.h"
#include "solve/soft.h"

/* a new solver: one file with its function, and one line here */
static const tg_solver table[] = {
    {"newton", tg_solver_newton, true, false},
    {"ipm", tg_solver_interior, false, false},
    {"pgs", tg_solver_pgs, false, true},
    {"admm", tg_solver_admm, false, true},
    {"staggered", tg_solver_staggered, false, true},
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
    if (o->max_sweeps < 1 || o->effort < 0)
        return tg_fail(error, TG_ERR_VALUE, "solver options: max_sweeps %d must be positive, effort %d not negative",
                       o->max_sweeps, o->effort);
    return TG_OK;
}

static bool rows_fit(const tg_block *block)
{
    switch (block->kind)
    {
    case TG_BLOCK_CONTACT:
        return tg_is_condim(block->rows);
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
    const double *G = island->G == NULL ? NULL : island->G + (size_t)row * (size_t)island->ldg;
    if (G != NULL && (!v4_all_finite(island->rows, G) || !(G[row] >= 0)))
        return tg_fail(error, TG_ERR_VALUE,
                       "row %d: the Delassus matrix has an entry that is not finite, or diagonal %g", row, G[row]);
    if (!isfinite(island->g[row]))
        return tg_fail(error, TG_ERR_VALUE, "row %d: the free velocity is %g", row, island->g[row]);
    if (island->warm != NULL && !isfinite(island->warm[row]))
        return tg_fail(error, TG_ERR_VALUE, "row %d: the impulse to start from is %g", row, island->warm[row]);
    return TG_OK;
}

/* Numbers of all rows that are as they should be: most. 0 x is 0, or NaN. */
static bool rows_are_valid(const tg_island *island)
{
    v4 sum = v4_zero();
    bool negative = false;
    const double *G = island->G;
    for (int i = 0; i < island->rows && G != NULL; i++, G += island->ldg)
    {
        int k = 0;
        TG_NO_UNROLL
        for (; k + V4_LANES <= island->rows; k += V4_LANES)
            sum += 0 * v4_loadu(G + k);
        if (k < island->rows)
            sum += 0 * (k > 0 ? v4_loadu(G + island->rows - V4_LANES) : v4_load_part(G, island->rows));
        negative = negative || !(G[i] >= 0);
    }
    return v4_sum(sum) == 0 && !negative && v4_all_finite(island->rows, island->g) &&
           (island->warm == NULL || v4_all_finite(island->rows, island->warm));
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
    bool valid = rows_are_valid(island);
    for (int i = 0; i < island->rows && !valid; i++)
    {
        tg_status status = check_row(island, i, error);
        if (status != TG_OK)
            return status;
    }
    return TG_OK;
}

/* ---- one solve ---- */

size_t tg_island_scratch(tg_island_size size)
{
    tg_arena count = {0};
    tg_soft p;
    tg_solve_work w;
    tg_soft_take(&p, &size, &count);
    size_t soft = count.used;
    if (size.columns > 0)
        return soft;
    count = (tg_arena){0};
    tg_solve_work_take(&w, size.rows, &count);
    return soft > count.used ? soft : count.used;
}

void tg_soft_offer(tg_soft *p, tg_selection selection, tg_solve_stage stage)
{
    tg_offer *best = &p->offer;
    const tg_solve_options *o = p->options;
    tg_soft_scatter(p, p->all_L);
    tg_residual residual = tg_island_residual(p->island, p->all_L, o->long_double, p->all_sigma);
    double worst = tg_residual_max(&residual);
    bool chosen = selection != TG_SELECT_UNSELECTED && worst <= o->tolerance;
    if (!chosen && !(worst < best->residual))
        return;
    best->residual = worst;
    best->parts = residual;
    best->selection = selection;
    best->stage = worst <= o->tolerance ? stage : TG_ENDED_NONE;
    memcpy(best->L, p->all_L, sizeof(double) * (size_t)p->island->rows);
    memcpy(best->sigma, p->all_sigma, sizeof(double) * (size_t)p->island->rows);
}

/* ---- results that are cut short ---- */

/* A small residual does not make impulses safe: huge ones may cancel each other, and start the next step. Whether they
 * add energy, or are far larger than velocities ask for. */
static bool is_unsafe(const tg_soft *p)
{
    double work = 0;
    for (int i = 0; i < p->rows; i++)
    {
        int row = p->source[i];
        work += p->offer.L[row] * p->offer.sigma[row];
        if (p->own[i] * fabs(p->offer.L[row]) > TG_MOST_IMPULSE * p->speed)
            return true;
    }
    return work > 0;
}

/* A sweep from nothing costs less than a factorisation: it is what counts instead of unsafe impulses, and wherever it
 * is better than what was met. */
static void offer_sweep(tg_soft *p, bool unsafe)
{
    tg_soft_build(p);
    tg_soft_cones(p);
    memset(p->L, 0, sizeof(double) * (size_t)p->rows);
    memset(p->u, 0, sizeof(double) * (size_t)p->dims);
    tg_soft_sweep(p);
    if (unsafe)
        p->offer.residual = INFINITY;
    tg_soft_offer(p, TG_SELECT_UNSELECTED, TG_ENDED_NONE);
}

/* no impulses at all */
static void offer_nothing(tg_soft *p)
{
    memset(p->L, 0, sizeof(double) * (size_t)p->rows);
    tg_soft_offer(p, TG_SELECT_UNSELECTED, TG_ENDED_SOFT);
}

static int most_factorisations(const tg_solve_options *o)
{
    return o->effort > 0 ? o->effort : INT_MAX;
}

/* ---- the warm start ---- */

/* warm.c from the impulses in L, which what it finds replaces if it has its certificate; false when it has none. Counts
 * in `result`. */
static bool solve_near(const tg_island *island, const tg_solve_options *o, tg_arena *scratch, const double *from,
                       double *L, double *sigma, tg_solve_result *result)
{
    size_t bytes = sizeof(double) * (size_t)island->rows, mark = tg_arena_mark(scratch);
    tg_island here = *island;
    tg_solve_work w = {.island = &here};
    tg_selection selection = TG_SELECT_UNSELECTED;
    if (island->G == NULL || !o->select || !tg_solver_find(o->solver)->warm)
        return false;
    if (!tg_solve_work_take(&w, island->rows, scratch))
    {
        tg_arena_release(scratch, mark);
        scratch->failed = false;
        return false;
    }
    here.warm = from;
    w.inner = o->inner;
    /* Not with twice as many rows as dofs, whose matrices are larger than those that come next; not from a solution. */
    w.sweeps_too = from == island->warm && (island->tree == NULL || island->rows <= 2 * island->dofs);
    w.most = most_factorisations(o) - result->newton - result->interior;
    if (o->warm_effort > 0 && o->warm_effort < w.most)
        w.most = o->warm_effort;
    tg_warm found = tg_solve_warm(&w, o->tolerance, &selection);
    tg_residual residual = {.primal = INFINITY};
    if (found != TG_WARM_NONE)
        residual = tg_island_residual(island, w.L, o->long_double, w.s);
    result->newton += w.newton;
    result->sweeps += w.sweeps;
    bool chosen = found == TG_WARM_CHOSEN, solved = tg_residual_max(&residual) <= o->tolerance;
    bool better =
        result->selection == TG_SELECT_UNSELECTED && tg_residual_max(&residual) < tg_residual_max(&result->residual);
    if (solved && (chosen || better))
    {
        memcpy(L, w.L, bytes);
        memcpy(sigma, w.s, bytes);
        result->selection = selection;
        result->residual = residual;
    }
    tg_arena_release(scratch, mark);
    return solved && chosen;
}

/* ---- one solve ---- */

static tg_island_size size_of(const tg_island *island)
{
    bool trees = island->tree != NULL;
    return (tg_island_size){.rows = island->rows,
                            .dofs = trees ? island->dofs : 0,
                            .trees = trees ? island->trees : 0,
                            .columns = trees ? island->columns : 0,
                            .tree_dofs = trees ? island->tree_dofs : 0};
}

/* False: there is no room for its factors. */
static bool run_solver(tg_soft *p, const tg_solver *solver, const tg_solve_options *options)
{
    tg_soft_rows(p);
    if (!solver->dense && !tg_soft_build(p))
        return false;
    p->resumed = p->again;
    p->again = false;
    if (p->rows > 0)
    {
        solver->run(p, options);
        return true;
    }
    offer_nothing(p);
    p->offer.selection = TG_SELECT_INDEPENDENT;
    return true;
}

static tg_status solve_soft(const tg_island *island, const tg_solve_options *options, tg_arena *scratch, double *L,
                            double *sigma, tg_solve_result *result, tg_error *error)
{
    size_t bytes = sizeof(double) * (size_t)island->rows, mark = tg_arena_mark(scratch);
    tg_island_size size = size_of(island);
    tg_island here = *island;
    tg_soft p = {.island = &here, .options = options, .limit = most_factorisations(options)};
    if (!tg_soft_take(&p, &size, scratch))
    {
        tg_arena_release(scratch, mark);
        scratch->failed = false;
        return tg_fail(error, TG_ERR_CAPACITY, "contact problem of %d rows: needs %zu bytes of scratch", island->rows,
                       tg_island_scratch(size));
    }
    p.factorisations = result->newton;
    p.sweeps = result->sweeps;
    const tg_solver *solver = tg_solver_find(options->solver);
    p.offer.residual = INFINITY;
    if (solver->warm && !p.sparse && !options->steep) /* multipliers work on the whole problem */
        tg_soft_leave_open(&p);
    bool fits = run_solver(&p, solver, options);
    bool easier = options->relaxable || options->droppable; /* comes next */
    while (fits && (p.again || (p.partial && !p.contradicts && !easier && p.offer.residual > options->tolerance)))
    {
        if (p.again)
            memcpy(p.from, p.all_L, bytes);
        else
            tg_soft_take_back(&p);
        here.warm = p.again ? p.from : island->warm;
        here.warm_z = p.again ? NULL : island->warm_z;
        fits = run_solver(&p, solver, options);
    }
    if (!fits)
    {
        tg_arena_release(scratch, mark);
        return tg_fail(error, TG_ERR_CAPACITY, "contact problem of %d rows: no room for its factors", island->rows);
    }
    if (!(p.offer.residual <= options->tolerance))
        offer_nothing(&p);
    bool solved = p.offer.residual <= options->tolerance, cut = !solved && options->effort > 0;
    bool guarded = cut && is_unsafe(&p);
    if (cut)
        offer_sweep(&p, guarded);
    memcpy(L, p.offer.L, bytes);
    memcpy(sigma, p.offer.sigma, bytes);
    *result = (tg_solve_result){.status = solved ? TG_SOLVE_SOLVED : TG_SOLVE_PARTIAL,
                                .selection = solved ? p.offer.selection : TG_SELECT_UNSELECTED,
                                .stage = p.offer.stage,
                                .guarded = guarded,
                                .sweeps = p.sweeps,
                                .newton = p.factorisations - p.interior_steps,
                                .interior = p.interior_steps,
                                .z = solved && p.kept,
                                .refined = p.refined,
                                .began = p.began,
                                .steep = p.steep,
                                .residual = p.offer.parts};
    tg_arena_release(scratch, mark);
    return TG_OK;
}

/* What either of the two needs; false when there is no room. Counts what was done before. */
static bool open_soft(tg_soft *p, tg_arena *scratch, const tg_solve_result *result)
{
    tg_island_size size = size_of(p->island);
    if (!tg_soft_take(p, &size, scratch))
        return false;
    p->limit = most_factorisations(p->options);
    p->factorisations = result->newton + result->interior;
    p->sweeps = result->sweeps;
    p->offer.residual = INFINITY;
    p->offer.selection = TG_SELECT_UNSELECTED;
    tg_soft_rows(p);
    return p->rows > 0 && tg_soft_build(p);
}

static void close_soft(tg_soft *p, tg_arena *scratch, size_t mark, tg_solve_result *result)
{
    result->newton = p->factorisations - result->interior;
    result->sweeps = p->sweeps;
    tg_arena_release(scratch, mark);
    scratch->failed = false;
}

bool tg_island_first(const tg_island *island, const tg_solve_options *options, tg_arena *scratch, double *L,
                     double *sigma, tg_solve_result *result)
{
    size_t bytes = sizeof(double) * (size_t)island->rows, mark = tg_arena_mark(scratch);
    tg_soft p = {.island = island, .options = options};
    *result = (tg_solve_result){.status = TG_SOLVE_PARTIAL, .residual.primal = INFINITY};
    bool found = open_soft(&p, scratch, result) && tg_soft_first(&p, options);
    memcpy(L, p.offer.residual < INFINITY ? p.offer.L : island->warm, bytes);
    if (p.offer.residual < INFINITY)
    {
        memcpy(sigma, p.offer.sigma, bytes);
        result->status = p.offer.residual <= options->tolerance ? TG_SOLVE_SOLVED : TG_SOLVE_PARTIAL;
        result->selection = p.offer.selection;
        result->stage = p.offer.stage;
        result->residual = p.offer.parts;
        result->z = found && p.kept;
    }
    close_soft(&p, scratch, mark, result);
    return found;
}

void tg_island_select(const tg_island *island, const tg_solve_options *options, tg_arena *scratch, double *L,
                      double *sigma, tg_solve_result *result)
{
    size_t bytes = sizeof(double) * (size_t)island->rows, mark = tg_arena_mark(scratch);
    tg_island here = *island;
    tg_soft p = {.island = &here, .options = options};
    here.warm = L;
    if (open_soft(&p, scratch, result))
        tg_soft_choose(&p, options, result->stage);
    if (p.offer.selection != TG_SELECT_UNSELECTED && p.offer.residual <= options->tolerance)
    {
        memcpy(L, p.offer.L, bytes);
        memcpy(sigma, p.offer.sigma, bytes);
        result->selection = p.offer.selection;
        result->residual = p.offer.parts;
        result->z = p.kept;
    }
    close_soft(&p, scratch, mark, result);
}

bool tg_island_is_wide(const tg_island *island)
{
    int most = island->dofs + island->dofs / 2, rows = 0;
    if (island->rows <= most)
        return false;
    for (const tg_block *b = island->block; b < island->block + island->blocks; b++)
        rows += island->warm[b->row] != 0 || b->kind == TG_BLOCK_EQUALITY ? b->rows : 0;
    return rows > most;
}

/* The warm start ends most problems. What is solved otherwise and not selected moves with its compliance: the warm
 * start from there makes it exact. */
tg_status tg_island_solve(const tg_island *island, const tg_solve_options *options, tg_arena *scratch, double *L,
                          double *sigma, tg_solve_result *result, tg_error *error)
{
    tg_status status = check_options(options, error);
    if (status == TG_OK)
        status = check_island(island, error);
    if (status != TG_OK)
        return status;
    *result = (tg_solve_result){.stage = TG_ENDED_WARM, .residual.primal = 0};
    if (!options->skip_warm && solve_near(island, options, scratch, island->warm, L, sigma, result))
        return TG_OK;
    int before = result->newton;
    status = solve_soft(island, options, scratch, L, sigma, result, error);
    result->beside_warm = result->newton + result->interior - before;
    bool easier = options->relaxable || options->droppable || options->effort > 0; /* comes next, or nothing may */
    bool solved = result->status == TG_SOLVE_SOLVED;
    bool exact = result->selection == TG_SELECT_COMPLIANT && tg_residual_max(&result->residual) <= options->inner;
    if (status == TG_OK && (solved ? result->selection != TG_SELECT_PROJECTED && !exact : !easier))
        solve_near(island, options, scratch, L, L, sigma, result);
    if (status == TG_OK && !solved && tg_residual_max(&result->residual) <= options->tolerance)
    {
        result->status = TG_SOLVE_SOLVED;
        result->stage = TG_ENDED_WARM;
    }
    return status;
}
