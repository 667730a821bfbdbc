/* The method of multipliers: the problem without compliance by problems with much of it.
 *
 * A solution is a fixed point L of
 *     u = J^T P(z),     eps (z - L) + J u + g = 0,     L <- P(z)
 * for any eps: then J u + g = eps (L - z), and P(z) = L is the law. Each round is a problem of soft.h with g - eps L in
 * the place of g. With much compliance phases hardly matter and Newton converges, but a round takes out little: of what
 * impulses move by lambda it leaves eps / (eps + lambda). So the compliance halves with every round, and doubles where
 * Newton fails. (The ladder of solver_newton.c needs Newton to converge at the smallest compliance.)
 *
 * Friction is not monotone. Where lambda < 0, a round leads away from a solution unless eps < |lambda| / 2: residuals
 * rise until phases change. This is not stopped, because it mostly ends at another solution. Some runs go round in
 * circles. The next one starts elsewhere: from zero impulses, from the best point so far after Gauss-Seidel sweeps,
 * or from that disturbed. The first one, outside of large heaps, starts from a few sweeps from the previous step and
 * is quick; the others are careful. */
#include <math.h>
#include <string.h>

#include "math/random.h"
#include "solve/soft.h"

/* Set, with other starts than today's, on 103 steps of heaps of 100 mixed shapes and 300 boxes (`make unsolved`,
 * seeds 1 to 6) that other stages solved with more than 400 factorisations, or did not solve: 97 were solved, with
 * 480 on average. Newton may take long: with 20 steps per round, of which 6 may fail to halve the residual, four are
 * not solved. Of 210,000 random problems (seeds 7,000,000 and 8,000,000) 12, 8 and 8 are left with 20, 30 and 40
 * steps. */
enum
{
    ROUNDS = 100, /* of one run */
    STEPS = 30,   /* factorisations of one round */
    SWEEPS = 10   /* of a start that is disturbed: it is only to be plausible */
};

static void load(tg_soft *p, const double *L)
{
    for (int i = 0; i < p->rows; i++)
        p->L[i] = L != NULL ? L[p->source[i]] : 0;
}

/* Multiplies the impulses of each block by e^-2 to e^2. (With e or e^4 in place of e^2, and starts in another order,
 * one of the nine steps named below was left.) */
static void disturb(tg_soft *p, int seed)
{
    double *more = p->row;
    tg_random_numbers((uint64_t)seed, p->blocks, more);
    for (int b = 0; b < p->blocks; b++)
        for (int i = 0; i < p->block[b].dim; i++)
            p->L[p->block[b].row + i] *= exp(2 * more[b]);
}

static void sweep(tg_soft *p, int count)
{
    tg_soft_push(p, p->L, p->u);
    tg_soft_cones(p);
    tg_soft_sweeps(p, count);
}

/* z = L - (J u + g) / eps with u = J^T L; rows with their own compliance: (eps + give) z = eps L - J u - g */
static void centre(tg_soft *p)
{
    memcpy(p->c, p->L, sizeof(double) * (size_t)p->rows);
    tg_soft_push(p, p->L, p->u);
    tg_soft_velocity(p, p->u, p->row);
    for (int i = 0; i < p->rows; i++)
        p->z[i] = (p->eps * p->L[i] - p->row[i] - p->g[i]) / tg_soft_eps(p, i);
    p->regular = false; /* the factor is of another compliance */
}

/* Rounds from p->L; true when one has its certificate. Quick: where a round takes one factorisation the compliance
 * falls to a quarter, and below the least one the run ends: impulses that still grow there are of rows that contradict
 * each other. (If all runs ended there, 39 of 200,000 random problems were left instead of 4.) */
static bool run(tg_soft *p, double share, bool quick, const tg_solve_options *o)
{
    const tg_soft_run round = {.steps = STEPS, .goal = o->inner};
    p->eps = share * p->size;
    for (int k = 0; k < ROUNDS && p->factorisations < p->limit && !(quick && p->eps < p->least); k++)
    {
        int before = p->factorisations;
        centre(p);
        bool solved = tg_soft_newton(p, &round);
        tg_soft_offer(p, TG_SELECT_UNSELECTED, TG_ENDED_MULTIPLIERS);
        if (p->offer.residual <= o->tolerance)
            return true;
        if (!solved)
            memcpy(p->L, p->c, sizeof(double) * (size_t)p->rows);
        bool easy = quick && p->factorisations == before + 1;
        p->eps = ldexp(p->eps, !solved ? 1 : easy ? -2 : -1);
    }
    return false;
}

/* where a run starts */
typedef enum start
{
    FIRST,     /* sweeps from the previous step; in large heaps the best point */
    NOTHING,   /* zero impulses */
    SWEPT,     /* the best point, after many sweeps */
    DISTURBED, /* that with other impulses, after a few sweeps */
    SHAKEN,    /* the same, after many */
    KINDS
} start;

static void begin(tg_soft *p, start kind, int k)
{
    load(p, kind == NOTHING ? NULL : p->offer.L);
    if (kind == FIRST && !p->narrow)
        tg_soft_sweep_warm(p);
    if (kind == DISTURBED || kind == SHAKEN)
        disturb(p, k);
    if (kind >= SWEPT)
        sweep(p, kind == DISTURBED ? SWEEPS : ROUNDS * k);
}

/* Runs from a compliance at which contacts hardly interact (the mean G_ii), then from ever more. Some do without
 * steps of a few trees (soft_local.c): what goes round in circles there may be solved by steps of all. Zero impulses
 * solve most of what the first run leaves of robots (without them one step of ToddlerBot 2XC took 19,571
 * factorisations in vain, with them 107); the others nine steps of large heaps that zero impulses and the best point
 * itself did not solve with 7,500 to 32,000 factorisations: with 5,400 on average. */
bool tg_soft_multipliers(tg_soft *p, const tg_solve_options *o)
{
    bool solved = false;
    tg_soft *few = p->few;
    load(p, p->island->warm);
    tg_soft_offer(p, TG_SELECT_UNSELECTED, TG_ENDED_MULTIPLIERS);
    for (int k = 0; ldexp(1, (k + 1) / 2) < ROUNDS && p->factorisations < p->limit && !solved; k++)
    {
        start kind = k == 0 ? FIRST : (start)(1 + (k - 1) % (KINDS - 1));
        bool quick = kind == FIRST && !p->narrow;
        begin(p, kind, k);
        p->few = kind == FIRST || kind == DISTURBED ? few : NULL;
        solved = run(p, ldexp(1, (k + 1) / 2), quick, o);
    }
    p->few = few;
    return solved;
}
