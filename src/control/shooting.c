/* Plans from samples: random shooting, the cross-entropy method (Rubinstein, 1999) and MPPI (Williams et al., 2017).
 * The first sample of an iteration is the plan so far. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "control/planner.h"

/* ---- samples ---- */

static tg_draw draw_of(const tg_planner *p, int iteration, int sample)
{
    return (tg_draw){p->def.seed, p->plans, (uint32_t)iteration, (uint32_t)sample};
}

/* e_0 = n_0, e_t = c e_(t-1) + sqrt(1 - c^2) n_t: of unit variance in every row */
void tg_plan_noise(tg_planner *p, int iteration, int sample)
{
    int nu = p->m->nu, count = p->def.rows * nu;
    double c = p->def.correlation, s = sqrt(1 - c * c);
    tg_draw draw = draw_of(p, iteration, sample);
    tg_draw_normal(&draw, count, p->number);
    for (int i = nu; i < count; i++)
        p->number[i] = c * p->number[i - nu] + s * p->number[i];
}

static double clip(const tg_planner *p, int i, double u)
{
    int j = i % p->m->nu;
    return fmin(fmax(u, p->lower[j]), p->upper[j]);
}

/* Sample 0 is the mean itself. */
static void fill_samples(tg_planner *p, int iteration)
{
    tg_rolls *r = &p->rolls;
    int nu = p->m->nu, count = p->def.rows * nu;
    for (int s = 0; s < p->def.samples; s++)
    {
        double *given = tg_rolls_at(r, r->given, s, 0, nu);
        bool uniform = p->def.method == TG_PLAN_RANDOM;
        if (s > 0 && uniform)
        {
            tg_draw draw = draw_of(p, iteration, s);
            tg_draw_uniform(&draw, count, p->number);
        }
        else if (s > 0)
            tg_plan_noise(p, iteration, s);
        for (int i = 0; i < count; i++)
        {
            double lower = p->lower[i % nu], upper = p->upper[i % nu];
            given[i] = s == 0    ? p->mean[i]
                       : uniform ? lower + (upper - lower) * p->number[i]
                                 : clip(p, i, p->mean[i] + p->spread[i] * p->number[i]);
        }
    }
}

/* ---- what becomes of them ---- */

static void take_best(tg_planner *p, int best, tg_plan_result *result)
{
    tg_rolls *r = &p->rolls;
    result->share = 1.0 / p->def.samples;
    memcpy(p->mean, tg_rolls_at(r, r->u, best, 0, p->m->nu), sizeof(double) * (size_t)(p->def.rows * p->m->nu));
}

/* order: samples by cost; equal ones by number */
static void sort_samples(tg_planner *p)
{
    const double *total = p->rolls.total;
    for (int i = 0; i < p->def.samples; i++)
    {
        int at = i;
        for (; at > 0 && total[p->order[at - 1]] > total[i]; at--)
            p->order[at] = p->order[at - 1];
        p->order[at] = i;
    }
}

/* Mean and deviation of the cheapest. */
static void fit_elite(tg_planner *p, int elite)
{
    tg_rolls *r = &p->rolls;
    int nu = p->m->nu;
    double keep = p->def.smoothing;
    for (int i = 0; i < p->def.rows * nu; i++)
    {
        double mean = 0, square = 0;
        for (int e = 0; e < elite; e++)
            mean += tg_rolls_at(r, r->u, p->order[e], 0, nu)[i] / elite;
        for (int e = 0; e < elite; e++)
        {
            double d = tg_rolls_at(r, r->u, p->order[e], 0, nu)[i] - mean;
            square += d * d / elite;
        }
        p->mean[i] = keep * p->mean[i] + (1 - keep) * mean;
        p->spread[i] = fmax(keep * p->spread[i] + (1 - keep) * sqrt(square), p->def.floor * p->noise[i % nu]);
    }
}

static void update_cem(tg_planner *p, tg_plan_result *result)
{
    int finite = 0, elite = (int)ceil(p->def.elite * p->def.samples);
    sort_samples(p);
    for (int i = 0; i < p->def.samples; i++)
        finite += isfinite(p->rolls.total[i]);
    elite = elite < 2 ? 2 : elite;
    elite = elite < finite ? elite : finite;
    result->share = (double)elite / p->def.samples;
    if (elite > 0)
        fit_elite(p, elite);
}

/* The standard deviation of the finite costs. */
static double cost_spread(const tg_planner *p)
{
    const double *total = p->rolls.total;
    double mean = 0, square = 0;
    int count = 0;
    for (int i = 0; i < p->def.samples; i++)
        count += isfinite(total[i]);
    for (int i = 0; i < p->def.samples; i++)
        mean += isfinite(total[i]) ? total[i] / count : 0;
    for (int i = 0; i < p->def.samples; i++)
        square += isfinite(total[i]) ? (total[i] - mean) * (total[i] - mean) / count : 0;
    return sqrt(square);
}

/* sum u' Sigma^-1 e over the rows, e = what was applied - mean */
static double cross_term(const tg_planner *p, int sample)
{
    const tg_rolls *r = &p->rolls;
    int nu = p->m->nu;
    const double *u = tg_rolls_at(r, r->u, sample, 0, nu);
    double sum = 0;
    for (int i = 0; i < p->def.rows * nu; i++)
        if (p->spread[i] > 0)
            sum += p->mean[i] * (u[i] - p->mean[i]) / (p->spread[i] * p->spread[i]);
    return sum;
}

/* w = exp(-(S - min S) / temperature) / sum; the mean moves to sum w u, which is mean + sum w e with the noise as it
 * was clipped. */
static void update_mppi(tg_planner *p, tg_plan_result *result)
{
    tg_rolls *r = &p->rolls;
    int nu = p->m->nu, samples = p->def.samples;
    double temperature = p->def.temperature * (p->def.absolute ? 1 : cost_spread(p)), least = INFINITY, sum = 0,
           squares = 0;
    for (int i = 0; i < samples; i++)
    {
        p->weight[i] = r->total[i] + (p->def.importance ? temperature * cross_term(p, i) : 0);
        least = fmin(least, p->weight[i]);
    }
    if (!isfinite(least)) /* all of them blew up */
        return;
    for (int i = 0; i < samples; i++)
    {
        double above = p->weight[i] - least;
        p->weight[i] = above == 0 ? 1 : temperature > 0 ? exp(-above / temperature) : 0;
        sum += p->weight[i];
    }
    for (int i = 0; i < p->def.rows * nu; i++)
        p->mean[i] = 0;
    for (int s = 0; s < samples; s++)
    {
        const double *u = tg_rolls_at(r, r->u, s, 0, nu);
        double w = p->weight[s] / sum;
        squares += w * w;
        for (int i = 0; i < p->def.rows * nu && w > 0; i++)
            p->mean[i] += w * u[i];
    }
    result->share = 1 / (samples * squares);
}

/* ---- the plan ---- */

static void start(tg_planner *p)
{
    int nu = p->m->nu;
    for (int i = 0; i < p->def.rows * nu; i++)
    {
        p->mean[i] = clip(p, i, p->rolls.given[i]);
        p->spread[i] = p->noise[i % nu];
    }
}

tg_status tg_plan_shooting(tg_planner *p, int *found, tg_plan_result *result, tg_error *error)
{
    tg_rolls *r = &p->rolls;
    start(p);
    for (int iteration = 0; iteration < p->def.iterations; iteration++)
    {
        fill_samples(p, iteration);
        TG_TRY(tg_rolls_run(r, p->def.samples, NULL, error));
        if (iteration == 0)
            result->first_cost = r->total[0];
        if (p->def.method == TG_PLAN_RANDOM)
            take_best(p, tg_rolls_cheapest(r, p->def.samples), result);
        else if (p->def.method == TG_PLAN_CEM)
            update_cem(p, result);
        else
            update_mppi(p, result);
        result->iterations++;
    }
    memcpy(r->given, p->mean, sizeof(double) * (size_t)(p->def.rows * p->m->nu));
    *found = 0;
    result->stop = TG_STOP_ITERATIONS;
    return tg_rolls_run(r, 1, NULL, error); /* what the plan itself costs */
}
