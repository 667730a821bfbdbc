/* From the free velocities to the impulses: constraints, islands, Delassus matrices, laws, one solve an island. */
#include "contact/collide.h"
#include "dynamics/tendon.h"
#include "step/step.h"

tg_status tg_step_problem(const tg_model *m, tg_work *w, const tg_cache *cache)
{
    tg_step_work *s = w->step;
    TG_TRY(tg_list_constraints(m, w, s->q, s->v, s->v_free, &s->settings));
    tg_make_islands(m, w);
    if (w->rows->nrow == 0)
        return TG_OK;
    tg_fill_jacobian(m, w, s->q);
    tg_fill_delassus(m, w, s->options.dt);
    tg_apply_laws(m, w, s->v, s->v_free, &s->settings);
    tg_cache_read(w, cache);
    return TG_OK;
}

static tg_status solve_island(tg_work *w, tg_rows_island *island)
{
    tg_rows *r = w->rows;
    tg_solve_options options = tg_solve_default();
    options.solver = w->step->options.solver;
    options.tolerance = w->step->options.tolerance;
    if (!tg_island_is_dense(r, island))
        return tg_fail(&w->error, TG_ERR_CAPACITY,
                       "%d constraint rows are coupled with each other; dense problems have at most %d", island->rows,
                       r->capacity.island_rows);
    tg_island problem = tg_island_problem(r, island);
    return tg_island_solve(&problem, &options, &r->scratch, r->L + island->row, r->sigma + island->row, &island->result,
                           &w->error);
}

tg_status tg_step_solve(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    tg_rows *r = w->rows;
    for (int i = 0; i < r->nisland; i++)
        TG_TRY(solve_island(w, &r->island[i]));
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
