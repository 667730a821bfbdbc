/* Samples over threads (tangere/cartesian.h). */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "cartesian/field.h"
#include "cartesian/jump.h"
#include "cartesian/lemke.h"
#include "cartesian/saddle.h"
#include "cartesian/step.h"
#include "cartesian/touch.h"

static const uint32_t cookie = 0x43415254;
enum
{
    MOST_ROWS = 256 /* default capacity: two square matrices of 0.5 MB per thread */
};

/* ---- making ---- */

tg_cartesian_options tg_cartesian_default_options(void)
{
    return (tg_cartesian_options){.dt = 0.01, .cookie = cookie};
}

static bool lay_out_lane(tg_cartesian_lane *lane, tg_arena *arena)
{
    size_t n = (size_t)lane->n, E = (size_t)lane->E, R = (size_t)lane->room, P = (size_t)lane->c->params;
#define X(name, count) lane->name = TG_TAKE(arena, double, count, #name);
    TG_LANE_ARRAYS(X)
#undef X
    lane->tableau =
        lane->options->law == TG_CARTESIAN_LCP ? TG_TAKE(arena, double, tg_lemke_room(lane->room), "tableau") : NULL;
    lane->touch = TG_TAKE(arena, tg_touch, R + 1, "touch"); /* one more: where the next is tried */
    lane->change = TG_TAKE(arena, tg_touch, R + 1, "change");
    lane->cone = TG_TAKE(arena, tg_ccp_cone, R, "cone");
    tg_ccp_take(&lane->ccp, lane->room, arena);
    return !arena->failed;
}

static tg_status check_options(const tg_cartesian *c, const tg_cartesian_options *o, tg_error *error)
{
    if (o == NULL || o->cookie != cookie)
        return tg_fail(error, TG_ERR_ARGUMENT, "%s: options not made with tg_cartesian_default_options", c->name);
    if (!(o->dt > 0) || isinf(o->dt))
        return tg_fail(error, TG_ERR_VALUE, "%s: options.dt is %g, must be positive", c->name, o->dt);
    if ((int)o->integrator < 0 || o->integrator > TG_CARTESIAN_EULER)
        return tg_fail(error, TG_ERR_VALUE, "%s: options.integrator is %d", c->name, (int)o->integrator);
    if ((int)o->law < 0 || o->law > TG_CARTESIAN_LCP)
        return tg_fail(error, TG_ERR_VALUE, "%s: options.law is %d", c->name, (int)o->law);
    if (o->threads < 0 || o->rows < 0)
        return tg_fail(error, TG_ERR_VALUE, "%s: options.%s is negative", c->name, o->threads < 0 ? "threads" : "rows");
    return TG_OK;
}

static const tg_allocator *allocator_of(const tg_cartesian *c)
{
    return c->own_allocator ? &c->allocator : NULL;
}

tg_status tg_cartesian_work_create(const tg_cartesian *c, const tg_cartesian_options *options, tg_cartesian_work **out,
                                   tg_error *error)
{
    if (c == NULL || out == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "cartesian: system or out is NULL");
    TG_TRY(check_options(c, options, error));
    int threads = options->threads > 0 ? options->threads : tg_processors();
    int room = options->rows > 0 ? options->rows : c->contact_rows < MOST_ROWS ? c->contact_rows : MOST_ROWS;
    tg_cartesian_work *w = tg_alloc(allocator_of(c), sizeof *w + sizeof(tg_cartesian_lane) * (size_t)threads);
    if (w == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "%s: no memory", c->name);
    *w = (tg_cartesian_work){.c = c, .options = *options, .threads = threads, .lane = (tg_cartesian_lane *)(w + 1)};
    for (int pass = 0; pass < 2; pass++)
    {
        for (int i = 0; i < threads; i++)
        {
            w->lane[i] = (tg_cartesian_lane){
                .c = c, .options = &w->options, .n = c->points * c->dim, .E = c->rows, .room = room};
            lay_out_lane(&w->lane[i], &w->arena);
        }
        if (pass == 1)
            break;
        w->block = w->arena.failed ? NULL : tg_alloc(allocator_of(c), w->arena.used);
        if (w->block == NULL)
        {
            tg_free(allocator_of(c), w);
            return tg_fail(error, TG_ERR_MEMORY, "%s: no memory for %d rows of contacts", c->name, room);
        }
        w->arena = (tg_arena){.base = w->block, .capacity = w->arena.used};
    }
    tg_status status = tg_threads_create(threads, allocator_of(c), &w->pool, error);
    if (status != TG_OK)
    {
        tg_cartesian_work_destroy(w);
        return status;
    }
    *out = w;
    return TG_OK;
}

void tg_cartesian_work_destroy(tg_cartesian_work *w)
{
    if (w == NULL)
        return;
    const tg_allocator *allocator = allocator_of(w->c);
    tg_threads_destroy(w->pool);
    tg_arena_close(&w->arena);
    tg_free(allocator, w->block);
    tg_free(allocator, w);
}

const char *tg_cartesian_message(const tg_cartesian_work *w)
{
    return w == NULL ? "" : w->error.message;
}

int tg_cartesian_regularised(const tg_cartesian_work *w)
{
    int sum = 0;
    for (int i = 0; w != NULL && i < w->threads; i++)
        sum += w->lane[i].regularised;
    return sum;
}

/* ---- sharing out ---- */

/* What a call does with sample i. */
typedef struct call
{
    tg_cartesian_work *w;
    const double *theta;
    int steps;
    const double *x, *v, *states, *in, *dx, *dv, *dtheta, *force;
    double *out, *x_bar, *v_bar, *force_bar, *theta_bar, *residual;
    int *contacts;
    tg_status (*sample)(const struct call *call, tg_cartesian_lane *lane, int i);
} call;

static void run_samples(void *context, int worker, int first, int end)
{
    call *k = context;
    tg_cartesian_lane *lane = &k->w->lane[worker];
    for (int i = first; i < end; i++)
    {
        tg_error kept = lane->error;
        tg_status status = k->sample(k, lane, i);
        bool earlier = kept.status == TG_OK || i < lane->failed;
        if (status != TG_OK && earlier)
        {
            lane->failed = i;
            lane->error.status = status;
        }
        else
            lane->error = kept;
    }
}

static tg_status run(call *k, int count)
{
    tg_cartesian_work *w = k->w;
    int chunk = count / (8 * w->threads);
    w->error = (tg_error){0};
    for (int i = 0; i < w->threads; i++)
    {
        w->lane[i].error = (tg_error){0};
        w->lane[i].regularised = 0;
    }
    TG_TRY(tg_threads_run(w->pool, count, chunk < 1 ? 1 : chunk > 16 ? 16 : chunk, run_samples, k, &w->error));
    const tg_cartesian_lane *first = NULL;
    for (int i = 0; i < w->threads; i++)
        if (w->lane[i].error.status != TG_OK && (first == NULL || w->lane[i].failed < first->failed))
            first = &w->lane[i];
    if (first == NULL)
        return TG_OK;
    return tg_fail(&w->error, first->error.status, "%s: trajectory %d: %.400s", w->c->name, first->failed,
                   first->error.message);
}

/* ---- what goes in ---- */

static tg_status check_array(tg_cartesian_work *w, const char *name, const double *array, int count)
{
    int d = w->c->dim, n = w->c->points * d;
    if (array == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "%s: %s is NULL", w->c->name, name);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < n; k++)
            if (!isfinite(array[(size_t)i * (size_t)n + (size_t)k]))
                return tg_fail(&w->error, TG_ERR_VALUE,
                               "%s: trajectory %d: row %d of %s (point %d, coordinate %d) is %g", w->c->name, i, k / d,
                               name, k / d, k % d, array[(size_t)i * (size_t)n + (size_t)k]);
    return TG_OK;
}

static tg_status check_params(tg_cartesian_work *w, const double *p)
{
    const tg_cartesian *c = w->c;
    for (int i = 0; p != NULL && i < c->params; i++)
    {
        bool mass = i < c->bodies, lambda = !mass && i < tg_at_mu(c);
        bool used = !lambda || c->body[(i - c->bodies) / c->dim].points > 1;
        if (!isfinite(p[i]) || ((mass || lambda) && used && !(p[i] > 0)) || (!mass && !lambda && p[i] < 0))
            return tg_fail(&w->error, TG_ERR_VALUE, "%s: row %d of params (%s) is %g", c->name, i,
                           mass               ? "mass"
                           : lambda           ? "lambda"
                           : i < tg_at_e(c)   ? "mu"
                           : i < tg_at_eps(c) ? "e"
                                              : "eps",
                           p[i]);
    }
    return TG_OK;
}

static tg_status start(call *k, tg_cartesian_work *w, int count, const double *params)
{
    if (w == NULL)
        return TG_ERR_ARGUMENT;
    if (count < 0)
        return tg_fail(&w->error, TG_ERR_VALUE, "%s: %d trajectories", w->c->name, count);
    k->w = w;
    k->theta = params != NULL ? params : w->c->value;
    return check_params(w, params);
}

static size_t at(const call *k, int i)
{
    return (size_t)i * (size_t)(k->w->c->points * k->w->c->dim);
}

static size_t state_at(const call *k, int i, int step)
{
    return ((size_t)i * (size_t)(k->steps + 1) + (size_t)step) * 2 * (size_t)(k->w->c->points * k->w->c->dim);
}

/* ---- rollouts ---- */

static tg_status finite_state(const tg_cartesian_lane *lane, const double *state, int step, tg_error *error)
{
    for (int i = 0; i < 2 * lane->n; i++)
        if (!isfinite(state[i]))
            return tg_fail(error, TG_ERR_NUMERIC, "step %d: row %d of %s is %g", step, i % lane->n / lane->c->dim,
                           i < lane->n ? "x" : "v", state[i]);
    return TG_OK;
}

static tg_status rollout_sample(const call *k, tg_cartesian_lane *lane, int i)
{
    size_t size = sizeof(double) * (size_t)lane->n;
    memcpy(k->out + state_at(k, i, 0), k->x + at(k, i), size);
    memcpy(k->out + state_at(k, i, 0) + lane->n, k->v + at(k, i), size);
    for (int s = 0; s <= k->steps; s++)
    {
        if (s > 0)
        {
            TG_TRY(tg_cartesian_advance(lane, k->theta, k->out + state_at(k, i, s - 1), k->out + state_at(k, i, s)));
            TG_TRY(finite_state(lane, k->out + state_at(k, i, s), s, &lane->error));
        }
        if (k->contacts != NULL)
            k->contacts[(size_t)i * (size_t)(k->steps + 1) + (size_t)s] = s > 0 ? lane->touches : 0;
        if (k->residual != NULL)
            k->residual[(size_t)i * (size_t)(k->steps + 1) + (size_t)s] = s > 0 ? lane->residual : 0;
    }
    return TG_OK;
}

tg_status tg_cartesian_rollout(tg_cartesian_work *w, int count, int steps, const double *params, const double *x,
                               const double *v, double *states, int *contacts, double *residual)
{
    call k = {.steps = steps,
              .x = x,
              .v = v,
              .out = states,
              .contacts = contacts,
              .residual = residual,
              .sample = rollout_sample};
    TG_TRY(start(&k, w, count, params));
    TG_TRY(check_array(w, "x", x, count));
    TG_TRY(check_array(w, "v", v, count));
    return run(&k, count);
}

static tg_status rollout_vjp_sample(const call *k, tg_cartesian_lane *lane, int i)
{
    int n = lane->n, P = lane->c->params;
    double *bar = lane->bar, *next = lane->next, *theta_bar = k->theta_bar + (size_t)i * (size_t)P;
    memset(theta_bar, 0, sizeof *theta_bar * (size_t)P);
    memcpy(next, k->in + state_at(k, i, k->steps), sizeof *next * (size_t)(2 * n));
    for (int s = k->steps - 1; s >= 0; s--)
    {
        memcpy(bar, k->in + state_at(k, i, s), sizeof *bar * (size_t)(2 * n));
        TG_TRY(tg_cartesian_advance_vjp(lane, k->theta, k->states + state_at(k, i, s), next, bar, theta_bar));
        memcpy(next, bar, sizeof *next * (size_t)(2 * n));
    }
    memcpy(k->x_bar + at(k, i), next, sizeof *next * (size_t)n);
    memcpy(k->v_bar + at(k, i), next + n, sizeof *next * (size_t)n);
    return TG_OK;
}

tg_status tg_cartesian_rollout_vjp(tg_cartesian_work *w, int count, int steps, const double *params,
                                   const double *states, const double *states_bar, double *x_bar, double *v_bar,
                                   double *params_bar)
{
    call k = {.steps = steps,
              .states = states,
              .in = states_bar,
              .x_bar = x_bar,
              .v_bar = v_bar,
              .theta_bar = params_bar,
              .sample = rollout_vjp_sample};
    TG_TRY(start(&k, w, count, params));
    TG_TRY(check_array(w, "states", states, 2 * count * (steps + 1)));
    TG_TRY(check_array(w, "states_bar", states_bar, 2 * count * (steps + 1)));
    return run(&k, count);
}

static tg_status rollout_jvp_sample(const call *k, tg_cartesian_lane *lane, int i)
{
    size_t size = sizeof(double) * (size_t)lane->n;
    memcpy(k->out + state_at(k, i, 0), k->dx + at(k, i), size);
    memcpy(k->out + state_at(k, i, 0) + lane->n, k->dv + at(k, i), size);
    for (int s = 1; s <= k->steps; s++)
        TG_TRY(tg_cartesian_advance_jvp(lane, k->theta, k->states + state_at(k, i, s - 1),
                                        k->out + state_at(k, i, s - 1), k->dtheta + (size_t)i * (size_t)lane->c->params,
                                        k->out + state_at(k, i, s)));
    return TG_OK;
}

tg_status tg_cartesian_rollout_jvp(tg_cartesian_work *w, int count, int steps, const double *params,
                                   const double *states, const double *dx, const double *dv, const double *dparams,
                                   double *dstates)
{
    call k = {.steps = steps,
              .states = states,
              .dx = dx,
              .dv = dv,
              .dtheta = dparams,
              .out = dstates,
              .sample = rollout_jvp_sample};
    TG_TRY(start(&k, w, count, params));
    TG_TRY(check_array(w, "states", states, 2 * count * (steps + 1)));
    TG_TRY(check_array(w, "dx", dx, count));
    TG_TRY(check_array(w, "dv", dv, count));
    return run(&k, count);
}

/* ---- parts ---- */

static const double *force_of(const call *k, tg_cartesian_lane *lane, int i)
{
    if (k->force != NULL)
        return k->force + at(k, i);
    tg_force(lane->c, k->theta, k->x + at(k, i), lane->force);
    return lane->force;
}

static tg_status acceleration_sample(const call *k, tg_cartesian_lane *lane, int i)
{
    return tg_acceleration(lane, k->theta, k->x + at(k, i), k->v + at(k, i), force_of(k, lane, i), k->out + at(k, i));
}

tg_status tg_cartesian_acceleration(tg_cartesian_work *w, int count, const double *params, const double *x,
                                    const double *v, const double *force, double *a)
{
    call k = {.x = x, .v = v, .force = force, .out = a, .sample = acceleration_sample};
    TG_TRY(start(&k, w, count, params));
    TG_TRY(check_array(w, "x", x, count));
    TG_TRY(check_array(w, "v", v, count));
    if (force != NULL)
        TG_TRY(check_array(w, "force", force, count));
    return run(&k, count);
}

static double *cleared(double *v, size_t n)
{
    memset(v, 0, sizeof *v * n);
    return v;
}

/* F_bar goes to the force that was given, or through gravity and springs */
static tg_status force_back(const call *k, const tg_cartesian_lane *lane, int i, const double *F_bar, double *x_bar,
                            double *theta_bar)
{
    if (k->force == NULL)
        tg_force_vjp(lane->c, k->x + at(k, i), F_bar, x_bar, theta_bar);
    else if (k->force_bar != NULL)
        memcpy(k->force_bar + at(k, i), F_bar, sizeof(double) * (size_t)lane->n);
    return TG_OK;
}

static tg_status acceleration_vjp_sample(const call *k, tg_cartesian_lane *lane, int i)
{
    size_t n = (size_t)lane->n, P = (size_t)lane->c->params;
    double *x_bar = cleared(k->x_bar + at(k, i), n), *v_bar = cleared(k->v_bar + at(k, i), n);
    double *theta_bar = cleared(k->theta_bar + (size_t)i * P, P);
    TG_TRY(tg_acceleration_vjp(lane, k->theta, k->x + at(k, i), k->v + at(k, i), force_of(k, lane, i), k->in + at(k, i),
                               x_bar, v_bar, lane->n2, theta_bar));
    return force_back(k, lane, i, lane->n2, x_bar, theta_bar);
}

tg_status tg_cartesian_acceleration_vjp(tg_cartesian_work *w, int count, const double *params, const double *x,
                                        const double *v, const double *force, const double *a_bar, double *x_bar,
                                        double *v_bar, double *force_bar, double *params_bar)
{
    call k = {.x = x,
              .v = v,
              .force = force,
              .in = a_bar,
              .x_bar = x_bar,
              .v_bar = v_bar,
              .force_bar = force_bar,
              .theta_bar = params_bar,
              .sample = acceleration_vjp_sample};
    TG_TRY(start(&k, w, count, params));
    TG_TRY(check_array(w, "x", x, count));
    TG_TRY(check_array(w, "v", v, count));
    TG_TRY(check_array(w, "a_bar", a_bar, count));
    return run(&k, count);
}

static tg_status hamiltonian_sample(const call *k, tg_cartesian_lane *lane, int i)
{
    return tg_hamiltonian(lane, k->theta, k->x + at(k, i), k->v + at(k, i), force_of(k, lane, i), k->x_bar + at(k, i),
                          k->v_bar + at(k, i));
}

tg_status tg_cartesian_hamiltonian(tg_cartesian_work *w, int count, const double *params, const double *x,
                                   const double *p, const double *force, double *xdot, double *pdot)
{
    call k = {.x = x, .v = p, .force = force, .x_bar = xdot, .v_bar = pdot, .sample = hamiltonian_sample};
    TG_TRY(start(&k, w, count, params));
    TG_TRY(check_array(w, "x", x, count));
    TG_TRY(check_array(w, "p", p, count));
    if (force != NULL)
        TG_TRY(check_array(w, "force", force, count));
    return run(&k, count);
}

static tg_status hamiltonian_vjp_sample(const call *k, tg_cartesian_lane *lane, int i)
{
    size_t n = (size_t)lane->n, P = (size_t)lane->c->params;
    double *x_bar = cleared(k->x_bar + at(k, i), n), *p_bar = cleared(k->v_bar + at(k, i), n);
    double *theta_bar = cleared(k->theta_bar + (size_t)i * P, P), *F_bar = lane->n8;
    TG_TRY(tg_hamiltonian_vjp(lane, k->theta, k->x + at(k, i), k->v + at(k, i), force_of(k, lane, i), k->dx + at(k, i),
                              k->dv + at(k, i), x_bar, p_bar, F_bar, theta_bar));
    return force_back(k, lane, i, F_bar, x_bar, theta_bar);
}

tg_status tg_cartesian_hamiltonian_vjp(tg_cartesian_work *w, int count, const double *params, const double *x,
                                       const double *p, const double *force, const double *xdot_bar,
                                       const double *pdot_bar, double *x_bar, double *p_bar, double *force_bar,
                                       double *params_bar)
{
    call k = {.x = x,
              .v = p,
              .force = force,
              .dx = xdot_bar,
              .dv = pdot_bar,
              .x_bar = x_bar,
              .v_bar = p_bar,
              .force_bar = force_bar,
              .theta_bar = params_bar,
              .sample = hamiltonian_vjp_sample};
    TG_TRY(start(&k, w, count, params));
    TG_TRY(check_array(w, "x", x, count));
    TG_TRY(check_array(w, "p", p, count));
    TG_TRY(check_array(w, "xdot_bar", xdot_bar, count));
    TG_TRY(check_array(w, "pdot_bar", pdot_bar, count));
    return run(&k, count);
}

static tg_status jump_sample(const call *k, tg_cartesian_lane *lane, int i)
{
    lane->residual = 0;
    if (k->out == NULL)
        TG_TRY(tg_touch_find(lane, k->x + at(k, i)));
    else
    {
        TG_TRY(tg_jump(lane, k->theta, k->x + at(k, i), k->v + at(k, i), lane->v1));
        memcpy(k->out + at(k, i), lane->v1, sizeof(double) * (size_t)lane->n);
    }
    if (k->contacts != NULL)
        k->contacts[i] = lane->touches;
    if (k->residual != NULL)
        k->residual[i] = lane->residual;
    return TG_OK;
}

tg_status tg_cartesian_jump(tg_cartesian_work *w, int count, const double *params, const double *x, const double *v,
                            double *v1, int *contacts, double *residual)
{
    call k = {.x = x, .v = v, .out = v1, .contacts = contacts, .residual = residual, .sample = jump_sample};
    TG_TRY(start(&k, w, count, params));
    TG_TRY(check_array(w, "x", x, count));
    if (v1 != NULL)
        TG_TRY(check_array(w, "v", v, count));
    return run(&k, count);
}

static tg_status jump_vjp_sample(const call *k, tg_cartesian_lane *lane, int i)
{
    size_t n = (size_t)lane->n, P = (size_t)lane->c->params;
    TG_TRY(tg_jump(lane, k->theta, k->x + at(k, i), k->v + at(k, i), lane->v1));
    return tg_jump_vjp(lane, k->theta, k->x + at(k, i), k->v + at(k, i), k->in + at(k, i),
                       cleared(k->x_bar + at(k, i), n), cleared(k->v_bar + at(k, i), n),
                       cleared(k->theta_bar + (size_t)i * P, P));
}

tg_status tg_cartesian_jump_vjp(tg_cartesian_work *w, int count, const double *params, const double *x, const double *v,
                                const double *v1_bar, double *x_bar, double *v_bar, double *params_bar)
{
    call k = {.x = x,
              .v = v,
              .in = v1_bar,
              .x_bar = x_bar,
              .v_bar = v_bar,
              .theta_bar = params_bar,
              .sample = jump_vjp_sample};
    TG_TRY(start(&k, w, count, params));
    TG_TRY(check_array(w, "x", x, count));
    TG_TRY(check_array(w, "v", v, count));
    TG_TRY(check_array(w, "v1_bar", v1_bar, count));
    return run(&k, count);
}

static tg_status energy_sample(const call *k, tg_cartesian_lane *lane, int i)
{
    const double *x = k->x + at(k, i), *v = k->v + at(k, i);
    tg_mass(lane->c, k->theta, v, lane->n1);
    k->out[2 * i] = 0.5 * tg_dot(lane->n, v, lane->n1);
    k->out[2 * i + 1] = tg_potential(lane->c, k->theta, x);
    if (k->residual == NULL)
        return TG_OK;
    tg_phi(lane->c, x, lane->l);
    k->residual[i] = 0;
    for (int r = 0; r < lane->E; r++)
        k->residual[i] = fmax(k->residual[i], fabs(lane->l[r]));
    return TG_OK;
}

tg_status tg_cartesian_energy(tg_cartesian_work *w, int count, const double *params, const double *x, const double *v,
                              double *energy, double *violation)
{
    call k = {.x = x, .v = v, .out = energy, .residual = violation, .sample = energy_sample};
    TG_TRY(start(&k, w, count, params));
    TG_TRY(check_array(w, "x", x, count));
    TG_TRY(check_array(w, "v", v, count));
    return run(&k, count);
}

tg_status tg_cartesian_problem(tg_cartesian_work *w, const double *params, const double *x, const double *v, int room,
                               int *rows, double *G, double *g, double *target, double *J, int *slot, double *f)
{
    call k = {0};
    TG_TRY(start(&k, w, 1, params));
    TG_TRY(check_array(w, "x", x, 1));
    TG_TRY(check_array(w, "v", v, 1));
    tg_cartesian_lane *lane = &w->lane[0];
    size_t n = (size_t)lane->n;
    lane->error = (tg_error){0};
    tg_status status = tg_jump(lane, k.theta, x, v, lane->v1);
    if (status != TG_OK)
        return tg_fail(&w->error, status, "%.400s", lane->error.message);
    size_t R = (size_t)lane->rows;
    *rows = lane->rows;
    if (lane->rows > room)
        return tg_fail(&w->error, TG_ERR_CAPACITY, "%s: %d rows, room for %d", w->c->name, lane->rows, room);
    if (G != NULL)
        memcpy(G, lane->G, sizeof *G * R * R);
    if (g != NULL)
        memcpy(g, lane->g, sizeof *g * R);
    if (target != NULL)
        memcpy(target, lane->target, sizeof *target * R);
    if (f != NULL)
        memcpy(f, lane->ccp.f, sizeof *f * R);
    for (int i = 0; i < lane->touches; i++)
        for (int r = 0; r < lane->touch[i].rows; r++)
        {
            const tg_touch *t = &lane->touch[i];
            size_t row = (size_t)(t->row + r);
            if (slot != NULL)
                slot[row] = t->slot;
            if (J == NULL)
                continue;
            memset(J + row * n, 0, sizeof *J * n);
            for (int p = 0; p < t->points; p++)
                for (int a = 0; a < w->c->dim; a++)
                    J[row * n + (size_t)(t->point[p] * w->c->dim + a)] = t->coefficient[r][p][a];
        }
    return TG_OK;
}
