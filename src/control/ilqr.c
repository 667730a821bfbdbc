/* Iterative LQR with bounds (Tassa, Mansard and Todorov, 2014): expand around the nominal rollout, solve backwards, and
 * try the lengths 1, 1/2, 1/4, ... of du = length k + K dx until the cost falls by a share of what the expansion
 * promises. As many lengths as there are threads are rolled out at once; the longest that will do is taken, so the
 * answer does not depend on how many were tried. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "control/planner.h"

tg_status tg_plan_nominal(tg_planner *p, tg_plan_result *result, tg_error *error)
{
    tg_rolls *r = &p->rolls;
    TG_TRY(tg_rolls_run(r, 1, NULL, error));
    tg_rolls_copy(r, 0, p->nominal);
    result->first_cost = r->total[0];
    if (p->policy)
    {
        const tg_feedback last = {p->K, p->q, p->v, p->act};
        memcpy(r->given, p->u, sizeof(double) * (size_t)(p->def.rows * p->m->nu));
        TG_TRY(tg_rolls_run(r, 1, &last, error));
        if (r->total[0] < r->total[p->nominal])
            tg_rolls_copy(r, 0, p->nominal);
    }
    if (!isfinite(r->total[p->nominal]))
        return tg_fail(error, TG_ERR_NUMERIC, "the plan that was handed in has infinite cost: it blows up");
    return TG_OK;
}

static double length_of(int search)
{
    return ldexp(1, -search);
}

/* given of a sample = nominal + length k */
static void set_length(tg_planner *p, int sample, double length)
{
    tg_rolls *r = &p->rolls;
    int nu = p->m->nu;
    const double *u = tg_rolls_at(r, r->u, p->nominal, 0, nu);
    double *given = tg_rolls_at(r, r->given, sample, 0, nu);
    for (int i = 0; i < p->def.rows * nu; i++)
        given[i] = u[i] + length * p->gains.k[i];
}

/* The longest length whose cost falls by the least share of what is promised; -1: none. It is sample *found. */
static tg_status search(tg_planner *p, int *chosen, int *found, tg_error *error)
{
    const double least =
        0.1; /* a full step of a quadratic problem has 1; steps that hardly help are better taken shorter */
    tg_rolls *r = &p->rolls;
    const tg_model *m = p->m;
    int width = p->batch->threads < p->nominal ? p->batch->threads : p->nominal, most = p->def.searches;
    const tg_feedback feedback = {p->gains.K, tg_rolls_at(r, r->q, p->nominal, 0, m->nq),
                                  tg_rolls_at(r, r->v, p->nominal, 0, m->nv),
                                  tg_rolls_at(r, r->act, p->nominal, 0, m->na)};
    *chosen = -1;
    for (int tried = 0; tried < most && *chosen < 0; tried += width)
    {
        int count = most - tried < width ? most - tried : width;
        for (int i = 0; i < count; i++)
            set_length(p, i, length_of(tried + i));
        TG_TRY(tg_rolls_run(r, count, &feedback, error));
        for (int i = 0; i < count && *chosen < 0; i++)
        {
            double a = length_of(tried + i), promise = a * p->gains.slope + a * a * p->gains.curvature;
            double change = r->total[i] - r->total[p->nominal];
            if (change < 0 && change <= least * promise)
            {
                *chosen = tried + i;
                *found = i;
            }
        }
    }
    return TG_OK;
}

/* Levenberg and Marquardt's rule: ten times more where a step failed, ten times less where it held. Beyond `most` the
 * step is that of the gradient, and shorter than the shortest length. */
typedef struct damping
{
    double now, least, most;
} damping;

static bool back(tg_planner *p, damping *d)
{
    const tg_rolls *r = &p->rolls;
    const double *u = tg_rolls_at(r, r->u, p->nominal, 0, p->m->nu);
    for (; d->now <= d->most; d->now *= 10)
        if (tg_backward_pass(&p->gains, &p->expansion, d->now, u, p->lower, p->upper))
            return true;
    memset(p->gains.K, 0, sizeof(double) * (size_t)p->def.rows * (size_t)p->m->nu * (size_t)p->gains.n);
    return false;
}

tg_status tg_plan_ilqr(tg_planner *p, int *found, tg_plan_result *result, tg_error *error)
{
    tg_rolls *r = &p->rolls;
    double start = p->def.regularisation > 0 ? p->def.regularisation : 1e-12;
    damping d = {.now = p->damping, .least = start, .most = 1e10 * start};
    bool fresh = false; /* the expansion is that of the nominal rollout */
    *found = p->nominal;
    result->stop = TG_STOP_ITERATIONS;
    TG_TRY(tg_plan_nominal(p, result, error));
    for (; result->iterations < p->def.iterations && result->stop == TG_STOP_ITERATIONS; result->iterations++)
    {
        int chosen, sample = 0;
        if (!fresh)
            TG_TRY(tg_expand(&p->expansion, r, p->nominal, error));
        fresh = true;
        double before = r->total[p->nominal];
        if (!back(p, &d))
        {
            result->stop = TG_STOP_STUCK;
            d.now = p->def.regularisation;
            break;
        }
        double promise = -(p->gains.slope + p->gains.curvature);
        if (promise <= p->def.tolerance * fabs(before))
        {
            result->stop = TG_STOP_COST;
            break;
        }
        TG_TRY(search(p, &chosen, &sample, error));
        if (chosen < 0)
        {
            d.now = fmax(d.now, d.least) * 10;
            if (d.now > d.most)
            {
                result->stop = TG_STOP_STUCK;
                d.now = p->def.regularisation;
            }
            continue;
        }
        tg_rolls_copy(r, sample, p->nominal);
        fresh = false;
        result->share = length_of(chosen);
        d.now = d.now / 10 < d.least ? p->def.regularisation : d.now / 10;
        if (before - r->total[p->nominal] <= p->def.tolerance * fabs(before))
            result->stop = TG_STOP_COST;
    }
    p->damping = d.now; /* a loop with one iteration per plan continues with it */
    return TG_OK;
}
