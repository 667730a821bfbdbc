/* Block Gauss-Seidel with exact solutions of every block: simple, monotone on easy problems, slow on stiff ones. u =
 * J^T L is kept. */
#include <math.h>
#include <string.h>

#include "math/lanes.h"
#include "solve/cone.h"
#include "solve/soft.h"

enum
{
    CHECK_EVERY = 2 /* sweeps between two looks at the residual */
};

static const double *row_of(const tg_soft *p, const tg_soft_group *g, int row)
{
    return p->J + g->J + (size_t)(row - g->row) * (size_t)g->ld;
}

/* G of a block in scaled variables (dim x dim), without its own compliance */
static void block_matrix(const tg_soft *p, const tg_soft_group *g, const tg_soft_block *b, double *G)
{
    const double *mu = p->mu + b->row;
    int d = b->dim;
    for (int i = 0; i < d; i++)
        for (int j = 0; j <= i; j++)
            G[d * i + j] = G[d * j + i] =
                mu[i] * mu[j] * v4_dot_of(g->ld, row_of(p, g, b->row + i), row_of(p, g, b->row + j));
}

/* Solves a block, given all others: exactly, or nearly, from alpha (cone.h). u of the group's dofs is in p->at. */
static void sweep_block(tg_soft *p, const tg_soft_group *g, const tg_soft_block *b, const tg_cone *cone, double *G,
                        double *alpha)
{
    const double *mu = p->mu + b->row;
    double c[TG_CONE_MAX], x[TG_CONE_MAX], *L = p->L + b->row;
    int d = b->dim;
    for (int i = 0; i < d; i++)
    {
        x[i] = L[i] / mu[i];
        c[i] = mu[i] * (p->g[b->row + i] + v4_dot_of(g->ld, row_of(p, g, b->row + i), p->at));
    }
    for (int i = 0; i < d; i++) /* the velocity without its own impulse */
        for (int j = 0; j < d; j++)
            c[i] -= G[d * i + j] * x[j];
    G[0] += p->give[b->row];
    if (alpha != NULL)
        tg_cone_nearly(cone, G, d, c, alpha, x);
    else
        tg_cone_solve(cone, G, d, c, x);
    G[0] -= p->give[b->row];
    for (int i = 0; i < d; i++)
    {
        double change = mu[i] * x[i] - L[i];
        L[i] = mu[i] * x[i];
        if (change != 0)
            v4_subtract_scaled(g->ld, -change, row_of(p, g, b->row + i), p->at);
    }
}

/* G of all blocks, one after the other as slopes are, where nothing has slopes yet */
static void block_matrices(tg_soft *p)
{
    for (const tg_soft_group *g = p->group; g < p->group + p->groups; g++)
        for (int k = g->block; k < g->block + g->blocks; k++)
            block_matrix(p, g, &p->block[k], p->D + p->block[k].slope);
}

/* One sweep; matrices: of the blocks, NULL: made here; alpha: one of each block, NULL: every block is solved exactly */
static void sweep(tg_soft *p, double *matrices, double *alpha)
{
    double own[TG_CONE_MAX * TG_CONE_MAX];
    for (const tg_soft_group *g = p->group; g < p->group + p->groups; g++)
    {
        const int *support = p->support + g->support;
        for (int k = 0; k < g->ld; k++)
            p->at[k] = k < g->size ? p->u[support[k]] : 0;
        for (int k = g->block; k < g->block + g->blocks; k++)
        {
            const tg_soft_block *b = &p->block[k];
            double *G = matrices != NULL ? matrices + b->slope : own;
            if (matrices == NULL)
                block_matrix(p, g, b, G);
            sweep_block(p, g, b, &p->cones.block[k], G, alpha != NULL ? alpha + k : NULL);
        }
        for (int k = 0; k < g->size; k++)
            p->u[support[k]] = p->at[k];
    }
    p->sweeps++;
}

void tg_soft_sweep(tg_soft *p)
{
    sweep(p, NULL, NULL);
}

void tg_soft_sweeps(tg_soft *p, int count)
{
    double *alpha = p->row;
    memset(alpha, 0, sizeof(double) * (size_t)p->blocks);
    block_matrices(p);
    for (int k = 0; k < count; k++)
        sweep(p, p->D, alpha);
}

/* Whether a sweep over G takes less than one over J: rows^2 against 2 rows times dofs, where all rows have the same. */
static bool is_dense(const tg_island *island)
{
    bool one = island->tree == NULL || (island->trees == 1 && island->rows <= 2 * island->dofs);
    return one && island->G != NULL && island->loops == 0;
}

/* impulses to start from, and what sweeps need */
static void start(tg_soft *p, bool dense)
{
    for (int i = 0; i < p->rows; i++)
        p->L[i] = p->island->warm != NULL ? p->island->warm[p->source[i]] : 0;
    if (dense)
    {
        tg_soft_dense_cones(p);
        for (int i = 0; i < p->rows; i++)
            p->best[i] = p->L[i] / p->mu[i];
        return;
    }
    tg_soft_build(p);
    tg_soft_cones(p);
    block_matrices(p);
    tg_soft_push(p, p->L, p->u);
}

void tg_solver_pgs(tg_soft *p, const tg_solve_options *o)
{
    bool dense = is_dense(p->island);
    double aim = (o->select ? 1e-2 : 1) * o->tolerance; /* Newton starts from what is well within it */
    start(p, dense);
    while (p->sweeps < o->max_sweeps)
    {
        if (dense)
            tg_cones_sweep(&p->cones, p->best);
        else
            sweep(p, p->D, NULL);
        p->sweeps += dense;
        if (p->sweeps % CHECK_EVERY != 0)
            continue;
        for (int i = 0; i < p->rows && dense; i++)
            p->L[i] = p->mu[i] * p->best[i];
        tg_soft_offer(p, TG_SELECT_UNSELECTED, TG_ENDED_SWEEPS);
        if (p->offer.residual <= aim)
            break;
    }
    if (o->select)
        tg_soft_finish(p, o, TG_ENDED_SWEEPS);
}
