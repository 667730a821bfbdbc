/* Proximal ADMM on the unrelaxed law (solve/admm.h): the cones of the scaled problem with De Saxce's shift. */
#include <string.h>

#include "contact/cone_law.h"
#include "contact/solver.h"
#include "solve/admm.h"

/* The method in the memory of a solve. */
static tg_admm set_up(tg_solve_work *w, tg_set *set)
{
    const tg_cone_law *law = tg_cone_law_at(0);
    double *vector = w->interior;
    tg_admm a = {.H = w->range, .factor = w->A};
    double **place[] = {&a.q, &a.d, &a.x, &a.z, &a.u, &a.before, &a.right};
    for (size_t i = 0; i < sizeof place / sizeof place[0]; i++, vector += w->cones.ld)
        *place[i] = vector;
    tg_cone_law_sets(law, &w->cones, set, &a);
    tg_admm_start(&a, w->x);
    return a;
}

/* z into w->x, and the residual of the law there (m/s) */
static double residual(const tg_admm *a, tg_solve_work *w)
{
    tg_admm_point(a, w->x);
    tg_cones_velocity(&w->cones, w->x, w->s);
    return tg_cones_residual(&w->cones, w->x, w->s);
}

void tg_solver_admm(tg_solve_work *w)
{
    _Static_assert(sizeof(tg_set) <= (TG_CONE_MAX - 1) * sizeof(double),
                   "sets fit where frames of sliding contacts lie");
    tg_admm a = set_up(w, (tg_set *)(void *)w->frames);
    while (a.good && w->sweeps < w->options->max_sweeps)
    {
        tg_admm_run(&a, TG_ADMM_CHECK);
        w->sweeps += TG_ADMM_CHECK;
        if (residual(&a, w) <= w->options->tolerance)
            break;
    }
    residual(&a, w);
    tg_solve_accept(w);
}
