/* From the free velocities to the impulses: constraints, islands, Delassus matrices, laws, one solve an island. */
#include <string.h>

#include "contact/large.h"
#include "step/step.h"

/* from the list of constraints to the problem of every island */
static void assemble(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    tg_make_islands(m, w);
    if (w->rows->nrow == 0)
        return;
    tg_fill_jacobian(m, w, s->q);
    tg_fill_delassus(m, w, s->options.dt, false);
    tg_apply_laws(m, w, s->v, s->v_free, &s->settings);
    if (m->nequality > 0)
        tg_make_consistent(m, w->rows);
}

tg_status tg_step_problem(const tg_model *m, tg_work *w, const tg_cache *cache)
{
    tg_step_work *s = w->step;
    TG_TRY(tg_list_constraints(m, w, s->q, s->v, s->v_free, &s->settings));
    tg_profile_stage(w, TG_STEP_STAGE_COLLISION);
    assemble(m, w);
    if (w->rows->nrow > 0)
        tg_cache_read(w, cache);
    tg_profile_stage(w, TG_STEP_STAGE_ASSEMBLY);
    return TG_OK;
}

static tg_status run_solver(const tg_model *m, tg_work *w, tg_rows_island *island)
{
    tg_rows *r = w->rows;
    const tg_options *o = &w->step->options;
    if (island->sparse)
    {
        tg_solve_large(m, w, island, w->step->v_free, o->dt, o->tolerance, o->effort);
        return TG_OK;
    }
    tg_solve_options options = tg_solve_default();
    options.solver = o->solver;
    options.tolerance = o->tolerance;
    options.inner *= o->tolerance / tg_solve_default().tolerance;
    options.effort = o->effort;
    options.relaxable = tg_island_can_relax(r, island);
    tg_island problem = tg_island_problem(r, island);
    return tg_island_solve(&problem, &options, &r->scratch, r->L + island->row, r->sigma + island->row, &island->result,
                           &w->error);
}

/* once more without the push where that was not solved; its factorisations count, too */
static tg_status solve_island(const tg_model *m, tg_work *w, tg_rows_island *island)
{
    tg_rows *r = w->rows;
    TG_TRY(run_solver(m, w, island));
    tg_solve_result before = island->result;
    if (before.status != TG_SOLVE_SOLVED && tg_island_relax(r, island))
    {
        TG_TRY(run_solver(m, w, island));
        island->result.newton += before.newton;
        island->result.interior += before.interior;
        island->result.sweeps += before.sweeps;
    }
    tg_select_consistent(m, r, island);
    return TG_OK;
}

tg_status tg_step_solve(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    tg_rows *r = w->rows;
    for (int i = 0; i < r->nisland; i++)
    {
        TG_TRY(solve_island(m, w, &r->island[i]));
        if (r->island[i].impact && s->settings.poisson)
            TG_TRY(tg_poisson_restitution(w, &r->island[i], s->options.solver, s->options.tolerance));
        tg_profile_island(w, i);
    }
    if (r->nrow == 0)
    {
        memcpy(s->v_next, s->v_free, sizeof(double) * (size_t)m->nv);
        return TG_OK;
    }
    tg_rows_response(m, w, r->L, s->v_next);
    for (int k = 0; k < m->nv; k++)
        s->v_next[k] += s->v_free[k];
    return TG_OK;
}
