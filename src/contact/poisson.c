/* Restitution by Poisson's law, after the impulses of compression L^c were found (with b_N = 0 at the contacts whose
 * gate is on, law.c): a second, separate impulse L^r, in the cone by itself, with
 *     0 <= L^r_N - p   complementary to   sigma_N >= 0,     p = e L^c_N at the gated contacts, 0 at the others,
 *     L^r_T against sigma_T (maximum dissipation),          sigma = G (L^c + L^r) + J v_free + b.
 * Limits are contacts without friction, equalities have sigma = 0, dry friction keeps |L^c + L^r| within its bound.
 *
 * A gated contact either leaves with L^r_N = p, or stays closed with sigma_N = 0 and L^r_N >= p. Which one each does is
 * searched for, all of them leaving at first; given that, it is a problem of the usual kind, solved by the usual
 * solver: a contact that stays closed obeys the usual law, and one that leaves is a contact whose normal row touches
 * nothing but itself,
 *     G_NN L_N - G_NN p = 0,
 * while what p does to the other rows is part of their free velocity. */
#include <math.h>

#include "contact/rows.h"

enum
{
    ROUNDS = 64
};

static const double rounding = 1e-12; /* m/s: sigma_N of a contact that leaves may be below zero by so much */

typedef struct restitution
{
    const tg_rows *r;
    const tg_rows_island *island;
    tg_island compression; /* the island as it was solved */
    const double *Lc;      /* impulses, velocities */
    const double *sigma_c;
    tg_selection selection;
    bool *leaves; /* by block */
    double *p;    /* by block: e L^c_N; -1: the gate is off */
    double *G, *g;
    double *L, *sigma; /* of restitution; velocities after it */
} restitution;

static bool take(restitution *x, tg_arena *scratch)
{
    size_t rows = (size_t)x->island->rows, blocks = (size_t)x->island->blocks;
    x->G = TG_TAKE(scratch, double, rows *(size_t)x->compression.ldg, "restitution: matrix");
    x->g = TG_TAKE(scratch, double, rows, "restitution: free velocity");
    x->L = TG_TAKE(scratch, double, rows, "restitution: impulses");
    x->sigma = TG_TAKE(scratch, double, rows, "restitution: velocities");
    x->p = TG_TAKE(scratch, double, blocks, "restitution: least impulses");
    x->leaves = TG_TAKE(scratch, bool, blocks, "restitution: contacts that leave");
    return !scratch->failed;
}

size_t tg_poisson_scratch(int rows)
{
    tg_arena count = {0};
    tg_rows_island island = {.rows = rows, .blocks = rows};
    restitution x = {.island = &island, .compression = {.ldg = v4_pad(rows)}};
    take(&x, &count);
    return count.used;
}

static const double *row_of(const restitution *x, int row)
{
    return x->compression.G + (ptrdiff_t)row * x->compression.ldg;
}

static void set_least(restitution *x, const tg_params *params)
{
    const tg_rows *r = x->r;
    for (int b = 0; b < x->island->blocks; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[x->island->block + b]];
        const tg_touch *t = c->source == TG_SOURCE_CONTACT ? &r->touch[c->index] : NULL;
        x->leaves[b] = t != NULL && t->impact;
        x->p[b] = x->leaves[b]
                      ? tg_law_number(params, &t->law, t->law.restitution) * fmax(x->Lc[x->compression.block[b].row], 0)
                      : -1;
    }
}

/* ---- the problem, given which contacts leave ---- */

/* adds what an impulse of one row does to all */
static void add_impulse(const restitution *x, int row, double impulse, double *sigma)
{
    const double *G = row_of(x, row);
    for (int i = 0; i < x->island->rows; i++)
        sigma[i] += impulse * G[i];
}

static void part_row(restitution *x, int row, double p)
{
    int ld = x->compression.ldg;
    for (int i = 0; i < x->island->rows; i++)
        if (i != row)
            x->G[(ptrdiff_t)row * ld + i] = x->G[(ptrdiff_t)i * ld + row] = 0;
    x->g[row] = -row_of(x, row)[row] * p;
}

/* Dry friction is solved for its total impulse, so that its bounds are the usual ones. */
static tg_island set_problem(restitution *x)
{
    const tg_block *block = x->compression.block;
    int n = x->island->rows;
    memcpy(x->G, x->compression.G, sizeof(double) * (size_t)n * (size_t)x->compression.ldg);
    memcpy(x->g, x->sigma_c, sizeof(double) * (size_t)n);
    for (int b = 0; b < x->island->blocks; b++)
        if (x->leaves[b])
            add_impulse(x, block[b].row, x->p[b], x->g);
        else if (block[b].kind == TG_BLOCK_FRICTION)
            add_impulse(x, block[b].row, -x->Lc[block[b].row], x->g);
    for (int b = 0; b < x->island->blocks; b++)
        if (x->leaves[b])
            part_row(x, block[b].row, x->p[b]);
    tg_island problem = x->compression;
    problem.G = x->G;
    problem.g = x->g;
    problem.warm = NULL;
    problem.tree = NULL;
    return problem;
}

/* impulses of restitution alone, and the velocities after it */
static void finish(restitution *x)
{
    for (int b = 0; b < x->island->blocks; b++)
        if (x->compression.block[b].kind == TG_BLOCK_FRICTION)
            x->L[x->compression.block[b].row] -= x->Lc[x->compression.block[b].row];
    memcpy(x->sigma, x->sigma_c, sizeof(double) * (size_t)x->island->rows);
    for (int i = 0; i < x->island->rows; i++)
        add_impulse(x, i, x->L[i], x->sigma);
}

/* ---- which contacts leave ---- */

/* How far a contact is from what was assumed of it (m/s); above zero: it should do the other thing. */
static double error_of(const restitution *x, int b)
{
    int row = x->compression.block[b].row;
    if (x->p[b] < 0)
        return 0;
    return x->leaves[b] ? -x->sigma[row] : row_of(x, row)[row] * (x->p[b] - x->L[row]);
}

static double largest_error(const restitution *x)
{
    double largest = 0;
    for (int b = 0; b < x->island->blocks; b++)
        largest = fmax(largest, error_of(x, b));
    return largest;
}

/* All that are wrong change; in later rounds the first alone, which cannot go round in circles as easily. */
static void change(restitution *x, int round)
{
    for (int b = 0; b < x->island->blocks; b++)
        if (error_of(x, b) > rounding)
        {
            x->leaves[b] = !x->leaves[b];
            if (round > ROUNDS / 4)
                return;
        }
}

static void add_result(const tg_solve_result *last, double error, double tolerance, tg_solve_result *sum)
{
    sum->sweeps += last->sweeps;
    sum->newton += last->newton;
    sum->interior += last->interior;
    sum->residual.primal = fmax(sum->residual.primal, last->residual.primal);
    sum->residual.dual = fmax(sum->residual.dual, fmax(last->residual.dual, error));
    sum->residual.complementarity = fmax(sum->residual.complementarity, last->residual.complementarity);
    if (last->status != TG_SOLVE_SOLVED || error > tolerance)
        sum->status = TG_SOLVE_PARTIAL;
}

static tg_status search(restitution *x, const tg_solve_options *options, tg_arena *scratch, tg_solve_result *sum,
                        tg_error *error)
{
    tg_solve_result result = {0};
    for (int round = 0; round < ROUNDS; round++)
    {
        tg_island problem = set_problem(x);
        int spent[3] = {result.sweeps, result.newton, result.interior};
        TG_TRY(tg_island_solve(&problem, options, scratch, x->L, x->sigma, &result, error));
        finish(x);
        result.sweeps += spent[0];
        result.newton += spent[1];
        result.interior += spent[2];
        if (largest_error(x) <= rounding)
            break;
        change(x, round);
    }
    x->selection = result.selection;
    add_result(&result, largest_error(x), options->tolerance, sum);
    return TG_OK;
}

/* both phases, and their sum */
static void keep(const restitution *x, tg_rows *r, tg_rows_island *island)
{
    double *L = r->L + island->row, *sigma = r->sigma + island->row;
    size_t bytes = sizeof(double) * (size_t)island->rows;
    memcpy(r->compressed + island->row, L, bytes);
    memcpy(r->compressed_sigma + island->row, sigma, bytes);
    memcpy(r->leaves + island->block, x->leaves, sizeof *x->leaves * (size_t)island->blocks);
    for (int i = 0; i < island->rows; i++)
        L[i] += x->L[i];
    memcpy(sigma, x->sigma, bytes);
    island->restituted = true;
    island->restitution = x->selection;
}

tg_status tg_poisson_restitution(tg_work *w, tg_rows_island *island, const char *solver, double tolerance)
{
    tg_rows *r = w->rows;
    tg_solve_options options = tg_solve_default();
    options.solver = solver;
    options.tolerance = tolerance;
    double *L = r->L + island->row, *sigma = r->sigma + island->row;
    restitution x = {.r = r, .island = island, .Lc = L, .sigma_c = sigma};
    size_t mark = tg_arena_mark(&r->scratch);
    tg_need_delassus(w->model, w, island);
    x.compression = tg_island_problem(r, island);
    if (!tg_island_is_dense(r, island) || !take(&x, &r->scratch))
    {
        tg_arena_release(&r->scratch, mark);
        r->scratch.failed = false;
        return tg_fail(&w->error, TG_ERR_CAPACITY, "Poisson's law: %d constraint rows are coupled; at most %d",
                       island->rows, r->capacity.island_rows);
    }
    set_least(&x, w->params);
    tg_status status = search(&x, &options, &r->scratch, &island->result, &w->error);
    if (status == TG_OK)
        keep(&x, r, island);
    tg_arena_release(&r->scratch, mark);
    return status;
}

/* ---- for derivatives ---- */

/* Dry friction is solved for both phases together, and the normal row of a contact that leaves stands by itself. */
static void as_problem(restitution *x, const double *L)
{
    for (int b = 0; b < x->island->blocks; b++)
    {
        const tg_block *block = &x->compression.block[b];
        if (block->kind == TG_BLOCK_FRICTION)
            x->L[block->row] = L[block->row];
        if (x->leaves[b])
            x->sigma[block->row] = 0;
    }
}

tg_status tg_poisson_problem(tg_work *w, const tg_rows_island *island, tg_arena *arena, tg_restitution_problem *out)
{
    const tg_rows *r = w->rows;
    restitution x = {.r = r, .island = island, .Lc = r->compressed + island->row};
    x.sigma_c = r->compressed_sigma + island->row;
    x.compression = tg_island_problem(r, island);
    if (!take(&x, arena))
        return tg_fail(&w->error, TG_ERR_CAPACITY, "derivatives of Poisson's law: no room for %d rows", island->rows);
    set_least(&x, w->params);
    memcpy(x.leaves, r->leaves + island->block, sizeof *x.leaves * (size_t)island->blocks);
    *out = (tg_restitution_problem){set_problem(&x), x.L, x.sigma, INFINITY};
    for (int i = 0; i < island->rows; i++)
    {
        x.L[i] = r->L[island->row + i] - x.Lc[i];
        x.sigma[i] = r->sigma[island->row + i];
    }
    for (int b = 0; b < island->blocks; b++)
        out->margin = x.p[b] < 0 ? out->margin : fmin(out->margin, -error_of(&x, b));
    as_problem(&x, r->L + island->row);
    return TG_OK;
}
