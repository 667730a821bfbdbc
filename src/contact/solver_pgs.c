/* Block Gauss-Seidel with exact solves of every block: simple, monotone on easy problems, slow on stiff ones. */
#include "contact/solver.h"

enum
{
    CHECK_EVERY = 4 /* sweeps between two looks at the residual */
};

void tg_solver_pgs(tg_solve_work *w)
{
    while (w->sweeps < w->options->max_sweeps)
    {
        tg_cones_sweep(&w->cones, w->x);
        w->sweeps++;
        if (w->sweeps % CHECK_EVERY != 0)
            continue;
        tg_cones_velocity(&w->cones, w->x, w->s);
        if (tg_newton_residual(&w->cones, w->x, w->s) <= 1e-2 * w->options->tolerance)
            break;
    }
    tg_solve_accept(w);
}
