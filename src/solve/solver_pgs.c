/* Block Gauss-Seidel with exact solutions of every block: simple, monotone on easy problems, slow on stiff ones. u =
 * J^T L is kept. */
#include <math.h>
#include <string.h>

#include "math/lanes.h"
#include "solve/cone.h"
#include "solve/soft.h"

enum
{
    CHECK_EVERY = 4 /* sweeps between two looks at the residual */
};

static const double *row_of(const tg_soft *p, const tg_soft_group *g, int row)
{
    return p->J + g->J + (size_t)(row - g->row) * (size_t)g->ld;
}

/* G of a block in scaled variables (dim x dim), and its velocity without its own impulse x; u of the group's dofs is in
 * p->at */
static void block_problem(const tg_soft *p, const tg_soft_group *g, const tg_soft_block *b, const double *x, double *G,
                          double *c)
{
    const double *mu = p->mu + b->row;
    int d = b->dim;
    for (int i = 0; i < d; i++)
    {
        const double *J = row_of(p, g, b->row + i);
        c[i] = mu[i] * (p->g[b->row + i] + v4_dot_of(g->ld, J, p->at));
        for (int j = 0; j <= i; j++)
            G[d * i + j] = G[d * j + i] = mu[i] * mu[j] * v4_dot_of(g->ld, J, row_of(p, g, b->row + j));
    }
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++)
            c[i] -= G[d * i + j] * x[j];
    G[0] += p->give[b->row];
}

static void sweep_block(tg_soft *p, const tg_soft_group *g, const tg_soft_block *b, const tg_cone *cone)
{
    double G[TG_CONE_MAX * TG_CONE_MAX], c[TG_CONE_MAX], x[TG_CONE_MAX];
    for (int i = 0; i < b->dim; i++)
        x[i] = p->L[b->row + i] / p->mu[b->row + i];
    block_problem(p, g, b, x, G, c);
    tg_cone_solve(cone, G, b->dim, c, x);
    for (int i = 0; i < b->dim; i++)
    {
        double L = p->mu[b->row + i] * x[i], change = L - p->L[b->row + i];
        p->L[b->row + i] = L;
        if (change != 0)
            v4_subtract_scaled(g->ld, -change, row_of(p, g, b->row + i), p->at);
    }
}

void tg_soft_sweep(tg_soft *p)
{
    for (const tg_soft_group *g = p->group; g < p->group + p->groups; g++)
    {
        const int *support = p->support + g->support;
        for (int k = 0; k < g->ld; k++)
            p->at[k] = k < g->size ? p->u[support[k]] : 0;
        for (int k = g->block; k < g->block + g->blocks; k++)
            sweep_block(p, g, &p->block[k], &p->cones.block[k]);
        for (int k = 0; k < g->size; k++)
            p->u[support[k]] = p->at[k];
    }
    p->sweeps++;
}

void tg_solver_pgs(tg_soft *p, const tg_solve_options *o)
{
    tg_soft_cones(p);
    for (int i = 0; i < p->rows; i++)
        p->L[i] = p->island->warm != NULL ? p->island->warm[p->source[i]] : 0;
    tg_soft_push(p, p->L, p->u);
    while (p->sweeps < o->max_sweeps)
    {
        tg_soft_sweep(p);
        if (p->sweeps % CHECK_EVERY != 0)
            continue;
        tg_soft_offer(p, TG_SELECT_UNSELECTED, TG_ENDED_SWEEPS);
        if (p->offer.residual <= 1e-2 * o->tolerance)
            break;
    }
    if (o->select)
        tg_soft_finish(p, o, TG_ENDED_SWEEPS);
}
