/* Proximal ADMM on the unrelaxed law (admm.h): the cones of the scaled problem with De Saxce's shift. */
#include "solve/admm.h"
#include "solve/soft.h"

/* The method in the memory of a solve, from the impulses of the previous step. */
static tg_admm set_up(tg_soft *p, tg_anderson *speed)
{
    double *vector = p->interior;
    tg_admm a = {.H = p->product, .factor = p->H, .norm = TG_NORM_TWO, .shift = true, .acceleration = speed};
    double **place[] = {&a.q,     &a.d,     &a.x,      &a.z,      &a.u,         &a.before,
                        &a.right, &a.point, &speed->y, &speed->f, &speed->image};
    tg_soft_dense_cones(p);
    for (size_t i = 0; i < sizeof place / sizeof place[0]; i++, vector += p->cones.ld)
        *place[i] = vector;
    speed->n = p->rows;
    speed->ld = p->cones.ld;
    speed->memory = p->rows < TG_ANDERSON_MEMORY ? p->rows : TG_ANDERSON_MEMORY;
    speed->dy = p->packed; /* G, which is not needed once the method has its scaled copy */
    speed->df = p->full;
    tg_cones_sets(&p->cones, p->set, &a);
    for (int i = 0; i < p->rows; i++)
        p->best[i] = p->island->warm != NULL ? p->island->warm[p->source[i]] / p->mu[i] : 0;
    tg_admm_start(&a, p->best);
    return a;
}

/* offers z; returns the residual of the law there (m/s), or that of the best so far if it is less */
static double offer(const tg_admm *a, tg_soft *p)
{
    tg_admm_point(a, p->L);
    for (int i = 0; i < p->rows; i++)
        p->L[i] *= p->mu[i];
    tg_soft_offer(p, TG_SELECT_UNSELECTED, TG_ENDED_SWEEPS);
    return p->offer.residual;
}

void tg_solver_admm(tg_soft *p, const tg_solve_options *o)
{
    tg_anderson speed;
    tg_admm a = set_up(p, &speed);
    while (a.good && p->sweeps < o->max_sweeps)
    {
        tg_admm_run(&a, TG_ADMM_CHECK);
        p->sweeps += TG_ADMM_CHECK;
        if (offer(&a, p) <= o->tolerance)
            break;
    }
    offer(&a, p);
    if (o->select)
        tg_soft_finish(p, o, TG_ENDED_SWEEPS);
}
