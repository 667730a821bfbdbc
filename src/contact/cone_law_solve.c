/* One island under a law that is not the unrelaxed one (cone_law.h).
 *
 * Newton's method on the equations that the law selects at the iterate,
 *     (E_s (G + p D) + E_x) dx = -F,   D = diag G,
 * ends in a few steps where it starts near enough. p is a proximal compliance centred at the iterate: redundant rows
 * have a step, and the solution does not change. It is started from the impulses of the previous step, and then from
 * iterates of ADMM, after 10, 20, 40, ... iterations: ADMM converges for the convex law from anywhere, and for the
 * pyramids, whose shift makes them no convex problem, as it does for Coulomb's cone. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "contact/cone_law.h"
#include "math/dense.h"
#include "math/lanes.h"

enum
{
    NEWTON_STEPS = 15, /* modes of a few contacts settle within that; more iterations of ADMM cost as much */
    MOST_POLISH = 150, /* iterations of ADMM for what is within the tolerance, but has not ended */
    FIRST_CHUNK = 10   /* iterations of ADMM before Newton's method is tried again; then twice as many */
};

static const double proximal = 1e-6; /* p: redundant rows converge by that factor per step, others hardly notice */

typedef struct work
{
    const tg_cone_law *law;
    const tg_island *island;
    const tg_solve_options *options;
    tg_cones cones;
    tg_admm admm;
    tg_set *set;
    double *x, *s, *best, *A, *rhs, *L, *sigma;
    double *size, *tau, *part; /* of the last steps */
    int *pivot;
    double residual; /* of best (m/s) */
    int newton;
} work;

static bool take(work *w, int rows, tg_arena *scratch)
{
    size_t n = (size_t)rows, ld = (size_t)v4_pad(rows);
    double **vector[] = {&w->x, &w->s, &w->best, &w->rhs, &w->L, &w->sigma, &w->size, &w->tau, &w->part};
    tg_cones_take(&w->cones, rows, scratch);
    tg_admm_take(&w->admm, rows, scratch);
    w->set = TG_TAKE(scratch, tg_set, n, "law: sets");
    for (size_t i = 0; i < sizeof vector / sizeof vector[0]; i++)
        *vector[i] = TG_TAKE(scratch, double, ld, "law: vector");
    w->A = TG_TAKE(scratch, double, n *n, "law: matrix");
    w->pivot = TG_TAKE(scratch, int, n, "law: pivots");
    return !scratch->failed;
}

size_t tg_cone_law_scratch(int rows)
{
    tg_arena count = {0};
    work w;
    take(&w, rows, &count);
    return count.used;
}

static void keep(work *w, double residual)
{
    w->residual = residual;
    memcpy(w->best, w->x, sizeof(double) * (size_t)w->cones.rows);
}

/* Residual of the law at x, which is kept where it is the best. */
static double judge(work *w)
{
    tg_cones_scatter(&w->cones, w->x, w->island->rows, w->L);
    tg_residual all = tg_cone_law_residual(w->law, w->island, w->L, w->sigma);
    double residual = tg_residual_max(&all);
    if (residual < w->residual)
        keep(w, residual);
    return residual;
}

/* A = E_s (G + p D) + E_x, rhs = -F */
static void fill_system(work *w, double p)
{
    const tg_cones *c = &w->cones;
    ptrdiff_t n = c->rows;
    memset(w->A, 0, sizeof(double) * (size_t)(n * n));
    for (int b = 0; b < c->blocks; b++)
    {
        const tg_cone *cone = &c->block[b];
        tg_block_equations e = tg_cone_law_equations(w->law, cone, w->x, w->s);
        for (int i = 0; i < e.dim; i++)
        {
            double *A = w->A + (cone->row + i) * n;
            w->rhs[cone->row + i] = -e.f[i];
            for (int j = 0; j < e.dim; j++)
            {
                const double *G = c->G + (ptrdiff_t)(cone->row + j) * c->ld;
                for (int k = 0; k < n && e.s[i][j] != 0; k++)
                    A[k] += e.s[i][j] * G[k];
                A[cone->row + j] += e.x[i][j] + e.s[i][j] * p * G[cone->row + j];
            }
        }
    }
}

/* rhs <- A^-1 rhs with p; false when A is singular */
static bool step_far(work *w)
{
    int n = w->cones.rows;
    fill_system(w, proximal);
    if (tg_lu(n, w->A, n, w->pivot) >= 0)
        return false;
    tg_lu_solve(n, w->A, n, w->pivot, 1, w->rhs, 1);
    return true;
}

/* The same without p, redundant directions left out: in unknowns for which G_ii = 1, and equations with coefficients up
 * to 1. */
static void step_near(work *w)
{
    const tg_cones *c = &w->cones;
    ptrdiff_t n = c->rows;
    fill_system(w, 0);
    for (ptrdiff_t k = 0; k < n; k++)
        w->size[k] = 1 / sqrt(tg_larger(c->G[k * (c->ld + 1)], c->least[k]));
    for (ptrdiff_t i = 0; i < n; i++)
    {
        double *A = w->A + i * n, largest = 0;
        for (ptrdiff_t k = 0; k < n; k++)
        {
            A[k] *= w->size[k];
            largest = tg_larger(largest, fabs(A[k]));
        }
        for (ptrdiff_t k = 0; k < n; k++)
            A[k] /= largest;
        w->rhs[i] /= largest;
    }
    int rank = tg_qr(c->rows, c->rows, w->A, c->rows, w->tau, w->pivot, TG_LAW_PIVOT, w->part);
    tg_qr_solve(c->rows, c->rows, rank, w->A, c->rows, w->tau, w->pivot, 1, w->rhs, 1, w->part);
    for (ptrdiff_t k = 0; k < n; k++)
        w->rhs[k] *= w->size[k];
}

/* From x; true when it ended: within the tolerance, and as small as rounding lets it be. A step near a solution that
 * leads away from it says that its modes are different: then it continues. It returns what the last step gave, not the
 * least residual: where held rows contradict each other (a foot that turns by h is off its plane by h^2) the point it
 * started from may have less, and the least-squares step is a function of the problem alone. */
static bool newton(work *w)
{
    double before = INFINITY;
    bool near = false;
    for (int k = 0; k <= NEWTON_STEPS; k++)
    {
        double residual = judge(w);
        bool solved = residual <= w->options->tolerance;
        if (residual == 0 || (near && solved && residual >= 0.5 * before))
        {
            keep(w, residual);
            return true;
        }
        before = residual;
        near = solved;
        tg_cones_velocity(&w->cones, w->x, w->s);
        if (!(residual < INFINITY))
            break;
        if (near)
            step_near(w);
        else if (!step_far(w))
            break;
        for (int i = 0; i < w->cones.rows; i++)
            w->x[i] += w->rhs[i];
        w->newton++;
    }
    return false;
}

static void search(work *w)
{
    bool alone = strcmp(w->options->solver, "admm") == 0, done = !alone && newton(w);
    if (w->island->warm != NULL)
        tg_cones_gather(&w->cones, w->island->warm, w->x);
    else
        memset(w->x, 0, sizeof(double) * (size_t)w->cones.rows);
    if (done)
        return;
    tg_cone_law_sets(w->law, &w->cones, w->set, &w->admm);
    tg_admm_start(&w->admm, w->x);
    int chunk = alone ? TG_ADMM_CHECK : FIRST_CHUNK;
    while (!done && w->admm.good && w->admm.iterations < w->options->max_sweeps)
    {
        int left = w->residual <= w->options->tolerance ? MOST_POLISH : w->options->max_sweeps;
        if (!alone && w->admm.iterations >= left)
            break;
        tg_admm_run(&w->admm, chunk);
        tg_admm_point(&w->admm, w->x);
        done = alone ? judge(w) <= w->options->tolerance : newton(w);
        chunk = alone ? chunk : 2 * chunk;
    }
}

static tg_status check(const tg_island *island, tg_error *error)
{
    for (int i = 0; i < island->rows; i++)
        if (!v4_all_finite(island->rows, island->G + (ptrdiff_t)i * island->ldg) || !isfinite(island->g[i]))
            return tg_fail(error, TG_ERR_VALUE,
                           "row %d: the Delassus matrix or the free velocity %g has an entry that is not finite", i,
                           island->g[i]);
    return TG_OK;
}

tg_status tg_cone_law_solve(const tg_cone_law *law, const tg_island *island, const tg_solve_options *options,
                            tg_arena *scratch, double *L, double *sigma, tg_solve_result *result, tg_error *error)
{
    TG_TRY(check(island, error));
    size_t mark = tg_arena_mark(scratch);
    work w = {.law = law, .island = island, .options = options, .residual = INFINITY};
    if (!take(&w, island->rows, scratch))
    {
        tg_arena_release(scratch, mark);
        scratch->failed = false;
        return tg_fail(error, TG_ERR_CAPACITY, "contact problem of %d rows: needs %zu bytes of scratch", island->rows,
                       tg_cone_law_scratch(island->rows));
    }
    tg_cones_build(&w.cones, island, NULL);
    memset(w.x, 0, sizeof(double) * (size_t)w.cones.ld);
    memset(w.best, 0, sizeof(double) * (size_t)w.cones.ld);
    if (island->warm != NULL)
        tg_cones_gather(&w.cones, island->warm, w.x);
    if (w.cones.rows > 0)
        search(&w);
    tg_cones_scatter(&w.cones, w.best, island->rows, L);
    tg_residual residual = tg_cone_law_residual(law, island, L, sigma);
    *result = (tg_solve_result){.status = tg_residual_max(&residual) <= options->tolerance ? TG_SOLVE_SOLVED
                                                                                           : TG_SOLVE_PARTIAL,
                                .selection = TG_SELECT_UNSELECTED,
                                .sweeps = w.cones.rows > 0 ? w.admm.iterations : 0,
                                .newton = w.newton,
                                .residual = residual};
    tg_arena_release(scratch, mark);
    return TG_OK;
}
