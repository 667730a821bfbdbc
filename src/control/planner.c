/* Planners: definition, memory, and what the methods share. */
#include "control/planner.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "model/check.h"
#include "model/params.h"

static const uint32_t planner_cookie = 0x7467504cu;

const char *tg_plan_method_string(tg_plan_method method)
{
    static const char *const names[] = {"random", "cem", "mppi", "ilqr", "ilqg"};
    _Static_assert(sizeof names / sizeof *names == TG_PLAN_METHODS, "a name for every method");
    return (unsigned)method < TG_PLAN_METHODS ? names[method] : "unknown method";
}

tg_planner_def tg_default_planner(void)
{
    return (tg_planner_def){.method = TG_PLAN_MPPI,
                            .rows = 20,
                            .hold = 1,
                            .options = tg_default_options(),
                            .speed = INFINITY,
                            .iterations = 5,
                            .samples = 64,
                            .elite = 0.1,
                            .floor = 0.01,
                            .temperature = 0.2,
                            .regularisation = 1e-6,
                            .searches = 10,
                            .tolerance = 1e-6,
                            .kl = 1,
                            .cookie = planner_cookie};
}

static bool by_derivatives(const tg_planner_def *def)
{
    return def->method == TG_PLAN_ILQR || def->method == TG_PLAN_ILQG;
}

/* ---- checks ---- */

static tg_status check_numbers(const tg_planner_def *d, tg_error *error)
{
    const struct
    {
        const char *name;
        double value, least, most; /* least is allowed, most is not */
    } numbers[] = {{"correlation", d->correlation, 0, 1},
                   {"elite", d->elite, 0, 1.0000001},
                   {"smoothing", d->smoothing, 0, 1},
                   {"floor", d->floor, 0, INFINITY},
                   {"temperature", d->temperature, 0, INFINITY},
                   {"regularisation", d->regularisation, 0, INFINITY},
                   {"tolerance", d->tolerance, 0, INFINITY},
                   {"kl", d->kl, 0, INFINITY}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!(numbers[i].value >= numbers[i].least && numbers[i].value < numbers[i].most))
            return tg_fail(error, TG_ERR_VALUE, "%s = %g must be in [%g, %g)", numbers[i].name, numbers[i].value,
                           numbers[i].least, numbers[i].most);
    if (!(d->speed > 0))
        return tg_fail(error, TG_ERR_VALUE, "speed = %g must be positive", d->speed);
    if (d->method == TG_PLAN_ILQG && !(d->temperature > 0 && d->kl > 0))
        return tg_fail(error, TG_ERR_VALUE, "temperature = %g, kl = %g must be positive for ilqg", d->temperature,
                       d->kl);
    return TG_OK;
}

static tg_status check_def(const tg_model *m, const tg_planner_def *d, tg_planner **out, tg_error *error)
{
    if (m == NULL || d == NULL || out == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_planner_create: %s is NULL",
                       m == NULL   ? "m"
                       : d == NULL ? "def"
                                   : "p");
    if (d->cookie != planner_cookie)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_planner_create: def was not made with tg_default_planner()");
    if ((unsigned)d->method >= TG_PLAN_METHODS)
        return tg_fail(error, TG_ERR_ARGUMENT, "method = %d is unknown", (int)d->method);
    if (m->nu < 1)
        return tg_fail(error, TG_ERR_MODEL, "the model has no actuators: nothing to plan");
    const struct
    {
        const char *name;
        int value;
    } counts[] = {{"rows", d->rows},
                  {"hold", d->hold},
                  {"iterations", d->iterations},
                  {"samples", d->samples},
                  {"searches", d->searches}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].value < 1)
            return tg_fail(error, TG_ERR_VALUE, "%s = %d must be at least 1", counts[i].name, counts[i].value);
    TG_TRY(check_numbers(d, error));
    return tg_plan_cost_check(m, &d->cost, d->rows, error);
}

/* Bounds and noise of each control, as given or from the ranges of the actuators. */
static tg_status fill_controls(tg_planner *p, tg_error *error)
{
    const tg_planner_def *d = &p->def;
    const tg_model *m = p->m;
    bool samples = d->method != TG_PLAN_ILQR;
    for (int i = 0; i < m->nu; i++)
    {
        const double *range = TG_PARAM(m->params, actuator_ctrl_range) + 2 * (size_t)i;
        bool limited = m->actuator_ctrl_limited[i];
        p->lower[i] = d->lower != NULL ? d->lower[i] : limited ? range[0] : -INFINITY;
        p->upper[i] = d->upper != NULL ? d->upper[i] : limited ? range[1] : INFINITY;
        if (!(p->lower[i] <= p->upper[i]))
            return tg_fail(error, TG_ERR_VALUE, "lower[%d] = %g is above upper[%d] = %g", i, p->lower[i], i,
                           p->upper[i]);
        double width = p->upper[i] - p->lower[i];
        p->noise[i] = d->noise != NULL ? d->noise[i] : width / 4;
        if (d->method == TG_PLAN_RANDOM && !isfinite(width))
            return tg_fail(error, TG_ERR_VALUE, "control %d has no bounds: random shooting draws within them", i);
        if (samples && !(isfinite(p->noise[i]) && p->noise[i] >= 0))
            return tg_fail(error, TG_ERR_VALUE, "noise[%d] = %g%s", i, p->noise[i],
                           d->noise != NULL ? " must be finite and not negative"
                                            : ": control has no bounds, so its noise must be given");
        if (d->method == TG_PLAN_ILQG && !(p->noise[i] > 0))
            return tg_fail(error, TG_ERR_VALUE, "noise[%d] = %g must be positive for ilqg", i, p->noise[i]);
    }
    return TG_OK;
}

/* ---- memory ---- */

static void place(tg_planner *p, tg_arena *arena)
{
    const tg_model *m = p->m;
    const tg_planner_def *d = &p->def;
    size_t nu = (size_t)m->nu, n = (size_t)tg_tangent_size(m), rows = (size_t)d->rows, samples = (size_t)d->samples;
    p->lower = TG_TAKE(arena, double, nu, "lower");
    p->upper = TG_TAKE(arena, double, nu, "upper");
    p->noise = TG_TAKE(arena, double, nu, "noise");
    p->u = TG_TAKE(arena, double, (rows + 1) * nu, "u");
    p->q = TG_TAKE(arena, double, (rows + 1) * (size_t)m->nq, "q");
    p->v = TG_TAKE(arena, double, (rows + 1) * (size_t)m->nv, "v");
    p->act = TG_TAKE(arena, double, (rows + 1) * (size_t)m->na, "act");
    p->number = TG_TAKE(arena, double, rows *nu, "number");
    p->mean = TG_TAKE(arena, double, rows *nu, "mean");
    p->spread = TG_TAKE(arena, double, rows *nu, "spread");
    p->weight = TG_TAKE(arena, double, samples, "weight");
    p->order = TG_TAKE(arena, int, samples, "order");
    tg_rolls_place(&p->rolls, arena);
    if (!by_derivatives(d))
        return;
    p->K = TG_TAKE(arena, double, rows *nu *n, "K");
    tg_expansion_place(&p->expansion, m, d->rows, p->callback, arena);
    tg_gains_place(&p->gains, m, d->rows, arena);
    if (d->method == TG_PLAN_ILQG)
        tg_ilqg_place(p, arena);
}

/* What place() and the batch need to know. */
static void settle(tg_planner *p)
{
    const tg_planner_def *d = &p->def;
    p->callback = d->cost.points != NULL;
    p->nominal = d->method == TG_PLAN_ILQR ? d->searches : d->samples;
    p->rolls = (tg_rolls){.m = p->m,
                          .batch = p->batch,
                          .speed = d->speed,
                          .rows = d->rows,
                          .hold = d->hold,
                          .most = by_derivatives(d) ? p->nominal + 1 : d->samples,
                          .keep = by_derivatives(d)};
}

tg_status tg_planner_create(const tg_model *m, const tg_planner_def *def, tg_planner **out, tg_error *error)
{
    TG_TRY(check_def(m, def, out, error));
    tg_batch_def crew = tg_default_batch();
    crew.threads = def->threads;
    crew.options = def->options;
    tg_planner counted = {.m = m, .def = *def};
    TG_TRY(tg_batch_create(m, &crew, &counted.batch, error));
    settle(&counted);
    tg_arena counting = {0};
    tg_arena_take(&counting, 1, sizeof counted, "planner");
    place(&counted, &counting);
    void *memory = counting.failed ? NULL : tg_alloc(&m->allocator, counting.used);
    if (memory == NULL)
    {
        tg_batch_destroy(counted.batch);
        return tg_fail(error, TG_ERR_MEMORY, "tg_planner_create: no memory for %zu bytes", counting.used);
    }
    tg_arena arena = {.base = memory, .capacity = counting.used};
    tg_planner *p = TG_TAKE(&arena, tg_planner, 1, "planner");
    *p = (tg_planner){.m = m, .allocator = m->allocator, .def = *def, .batch = counted.batch};
    settle(p);
    place(p, &arena);
    tg_rolls_fill(&p->rolls);
    p->rolls.lower = p->lower;
    p->rolls.upper = p->upper;
    p->rolls.cost = &p->def.cost;
    tg_planner_reset(p);
    tg_status status = fill_controls(p, error);
    if (status == TG_OK)
        *out = p;
    else
        tg_planner_destroy(p);
    return status;
}

void tg_planner_destroy(tg_planner *p)
{
    if (p == NULL)
        return;
    tg_allocator allocator = p->allocator;
    tg_batch_destroy(p->batch);
    tg_free(&allocator, p);
}

/* ---- changes ---- */

tg_status tg_planner_set_cost(tg_planner *p, const tg_plan_cost *cost, tg_error *error)
{
    if (p == NULL || cost == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_planner_set_cost: %s is NULL", p == NULL ? "p" : "cost");
    if (cost->points != NULL && !p->callback)
        return tg_fail(error, TG_ERR_UNSUPPORTED, "tg_planner_set_cost: the planner was created without a callback");
    TG_TRY(tg_plan_cost_check(p->m, cost, p->def.rows, error));
    p->def.cost = *cost;
    return TG_OK;
}

tg_status tg_planner_set_params(tg_planner *p, const tg_params *params, tg_error *error)
{
    if (p == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_planner_set_params: p is NULL");
    tg_status status = tg_batch_set_params(p->batch, params);
    return status == TG_OK ? TG_OK : tg_fail(error, status, "%s", tg_batch_message(p->batch));
}

void tg_planner_reset(tg_planner *p)
{
    if (p == NULL)
        return;
    p->plans = 0;
    p->policy = false;
    p->damping = p->def.regularisation;
}

/* ---- a plan ---- */

static size_t bytes_of(int rows, int n)
{
    return sizeof(double) * (size_t)rows * (size_t)n;
}

/* The result, for the caller, for the next plan, and for those who ask for states and gains. */
static void hand_over(tg_planner *p, int found, double *u)
{
    tg_rolls *r = &p->rolls;
    const tg_model *m = p->m;
    int rows = p->def.rows, n = tg_tangent_size(m);
    memcpy(p->u, tg_rolls_at(r, r->u, found, 0, m->nu), bytes_of(rows + 1, m->nu));
    memcpy(p->q, tg_rolls_at(r, r->q, found, 0, m->nq), bytes_of(rows + 1, m->nq));
    memcpy(p->v, tg_rolls_at(r, r->v, found, 0, m->nv), bytes_of(rows + 1, m->nv));
    if (m->na > 0)
        memcpy(p->act, tg_rolls_at(r, r->act, found, 0, m->na), bytes_of(rows + 1, m->na));
    memcpy(u, p->u, bytes_of(rows, m->nu));
    if (p->K != NULL)
        memcpy(p->K, p->gains.K, bytes_of(rows * m->nu, n));
    p->policy = p->K != NULL;
}

tg_status tg_plan(tg_planner *p, const tg_state *now, double *u, tg_plan_result *result, tg_error *error)
{
    if (p == NULL || u == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_plan: %s is NULL", p == NULL ? "p" : "u");
    if (!p->batch->params->ready)
        return tg_fail(error, TG_ERR_STALE, "tg_plan: the parameters were changed without tg_params_changed");
    tg_plan_result out = {.stop = TG_STOP_ITERATIONS};
    int found = 0;
    TG_TRY(tg_check_numbers("u", u, p->def.rows * p->m->nu, error));
    TG_TRY(tg_rolls_start(&p->rolls, now, error));
    memcpy(p->rolls.given, u, bytes_of(p->def.rows, p->m->nu));
    p->rolls.rollouts = p->rolls.blown = 0;
    tg_status status = p->def.method == TG_PLAN_ILQR   ? tg_plan_ilqr(p, &found, &out, error)
                       : p->def.method == TG_PLAN_ILQG ? tg_plan_ilqg(p, &found, &out, error)
                                                       : tg_plan_shooting(p, &found, &out, error);
    TG_TRY(status);
    p->plans++;
    out.cost = p->rolls.total[found];
    out.rollouts = p->rolls.rollouts;
    out.blown = p->rolls.blown;
    hand_over(p, found, u);
    if (result != NULL)
        *result = out;
    return TG_OK;
}

/* Rows move up by one; the last one is repeated. */
static void shift_rows(double *x, int rows, int n)
{
    if (x != NULL && rows > 1)
        memmove(x, x + n, sizeof(double) * (size_t)(rows - 1) * (size_t)n);
}

tg_status tg_plan_shift(tg_planner *p, double *u, tg_error *error)
{
    if (p == NULL || u == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_plan_shift: %s is NULL", p == NULL ? "p" : "u");
    const tg_model *m = p->m;
    int rows = p->def.rows;
    shift_rows(u, rows, m->nu);
    shift_rows(p->u, rows, m->nu);
    shift_rows(p->q, rows + 1, m->nq);
    shift_rows(p->v, rows + 1, m->nv);
    shift_rows(p->act, rows + 1, m->na);
    shift_rows(p->K, rows, m->nu * tg_tangent_size(m));
    return TG_OK;
}

tg_trajectory tg_planner_states(const tg_planner *p)
{
    return p == NULL ? (tg_trajectory){0} : (tg_trajectory){.q = p->q, .v = p->v, .act = p->act};
}

const double *tg_planner_gains(const tg_planner *p)
{
    return p == NULL || !p->policy ? NULL : p->K;
}
