/* The alternation of staggered.h as a solver: a fixed number of them, or until the residual of the law is small. */
#include <math.h>
#include <string.h>

#include "contact/solver.h"
#include "contact/staggered.h"

static double residual(tg_solve_work *w)
{
    tg_cones_velocity(&w->cones, w->x, w->s);
    return tg_cones_residual(&w->cones, w->x, w->s);
}

void tg_solver_staggered(tg_solve_work *w)
{
    const tg_solve_options *o = w->options;
    tg_staggered memory = {.matrices = w->range,
                           .vectors = w->interior,
                           .indices = w->active,
                           .sets = (tg_set *)(void *)w->frames},
                 *s = &memory;
    int steps = o->staggered_steps;
    double aim = 0.1 * o->tolerance; /* what one problem may leave of the residual of both */
    tg_staggered_start(s, &w->cones, w->x);
    for (int k = 0; steps > 0 ? k < steps : s->iterations < o->max_sweeps; k++)
    {
        tg_staggered_step(s, aim, w->x);
        if (steps == 0 && residual(w) <= o->tolerance)
            break;
    }
    w->sweeps += s->iterations;
    double left = residual(w);
    if (steps == 0)
    {
        tg_solve_accept(w);
        return;
    }
    /* as published: what so many alternations give, and no more */
    memcpy(w->kept, w->x, sizeof(double) * (size_t)w->cones.rows);
    w->kept_residual = left;
    w->kept_selection = TG_SELECT_UNSELECTED;
}
