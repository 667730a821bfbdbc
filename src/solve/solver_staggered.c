/* The alternation of staggered.h as a solver: a fixed number of them, or until the residual of the law is small. */
#include "solve/staggered.h"

#include <math.h>
#include <string.h>

#include "solve/soft.h"

/* offers x; returns the residual of the law there (m/s), or that of the best so far if it is less */
static double offer(tg_soft *p, const double *x)
{
    for (int i = 0; i < p->rows; i++)
        p->L[i] = p->mu[i] * x[i];
    tg_soft_offer(p, TG_SELECT_UNSELECTED, TG_ENDED_SWEEPS);
    return p->offer.residual;
}

void tg_solver_staggered(tg_soft *p, const tg_solve_options *o)
{
    tg_staggered s = {
        .matrix = {p->product, p->H, p->full}, .vectors = p->interior, .indices = p->index, .sets = p->set};
    int steps = o->staggered_steps;
    double aim = tg_staggered_aim(o->tolerance);
    double *x = p->best;
    tg_soft_dense_cones(p);
    for (int i = 0; i < p->rows; i++)
        x[i] = p->island->warm != NULL ? p->island->warm[p->source[i]] / p->mu[i] : 0;
    tg_staggered_start(&s, &p->cones, x);
    for (int k = 0; steps > 0 ? k < steps : s.iterations < o->max_sweeps; k++)
    {
        tg_staggered_step(&s, aim, x);
        if (steps == 0 && offer(p, x) <= o->tolerance)
            break;
    }
    p->sweeps += s.iterations;
    if (steps > 0) /* as published: what so many alternations give, and no more */
        p->offer.residual = INFINITY;
    offer(p, x);
    if (!o->select || steps > 0)
        return;
    tg_soft_finish(p, o, TG_ENDED_SWEEPS);
}
