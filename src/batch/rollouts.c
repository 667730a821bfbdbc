/* Rollouts of all environments and their derivatives: on tapes that the caller keeps, on a tape of the thread where
 * derivatives are taken at once, and without one where none are wanted. */
#include "batch/batch.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"

struct tg_batch_tape
{
    const tg_model *m;
    tg_allocator allocator;
    int count, capacity; /* environments, steps */
    tg_tape **tape;      /* one per environment */
    bool *there;         /* whether its rollout was taken */

    /* of the last rollout */
    int steps; /* 0: there is none */
    int hold;
    double *u, *tau, *wrench, *params;
    bool has_u, has_tau, has_wrench, has_params;
    tg_names names;
    size_t nwrench, nparams; /* numbers for which wrench and params have room */
    const tg_params *shared;
    uint64_t generation;
};

typedef struct rollouts
{
    tg_batch *b;
    const tg_batch_input *in; /* NULL: derivatives of what is on the tape */
    tg_batch_tape *tape;      /* NULL: a lane's, or none */
    const tg_trajectory *out;
    const tg_batch_state *last;
    const tg_batch_rollout_request *request;
    tg_param_source params;
    int steps, hold;
    double *rows; /* gradients of the named parameters, [count, k] */

    /* progress */
    atomic_llong done;
    atomic_bool cancelled;
    int64_t total;
    struct timespec called; /* when progress was called last */
} rollouts;

/* Rows of controls of one environment. */
static int control_rows(int steps, int hold)
{
    return hold > 1 ? (steps + hold - 1) / hold : steps;
}

/* What a tape calls after each step. */
typedef struct watch
{
    rollouts *r;
    bool caller; /* the lane of the calling thread */
} watch;

/* ---- tapes ---- */

tg_status tg_batch_tape_create(const tg_batch *b, int count, int steps, bool checkpoints, tg_batch_tape **out,
                               tg_error *error)
{
    if (b == NULL || out == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_batch_tape_create: %s is NULL", b == NULL ? "b" : "tape");
    if (count < 1 || steps < 1)
        return tg_fail(error, TG_ERR_VALUE, "tg_batch_tape_create: %d steps of %d environments", steps, count);
    const tg_model *m = b->m;
    size_t n = (size_t)count, all = n * (size_t)steps;
    tg_batch_tape *t = tg_alloc(&m->allocator, sizeof *t);
    if (t == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "tg_batch_tape_create: no memory");
    *t = (tg_batch_tape){.m = m, .allocator = m->allocator, .count = count, .capacity = steps};
    t->tape = tg_alloc(&m->allocator, sizeof(tg_tape *) * n);
    t->there = tg_alloc(&m->allocator, n);
    t->u = tg_alloc(&m->allocator, sizeof(double) * all * (size_t)m->nu);
    t->tau = tg_alloc(&m->allocator, sizeof(double) * all * (size_t)m->nv);
    tg_status status = t->tape != NULL && t->there != NULL && t->u != NULL && t->tau != NULL
                           ? TG_OK
                           : tg_fail(error, TG_ERR_MEMORY,
                                     "tg_batch_tape_create: no memory for %d steps of %d environments", steps, count);
    for (int i = 0; i < count && status == TG_OK; i++)
        status = tg_tape_create(m, steps, checkpoints ? TG_TAPE_CHECKPOINTS : TG_TAPE_ALL, &t->tape[i], error);
    if (status != TG_OK)
        tg_batch_tape_destroy(t);
    else
        *out = t;
    return status;
}

void tg_batch_tape_destroy(tg_batch_tape *t)
{
    if (t == NULL)
        return;
    for (int i = 0; t->tape != NULL && i < t->count; i++)
        tg_tape_destroy(t->tape[i]);
    tg_allocator allocator = t->allocator;
    void *arrays[] = {t->tape, t->there, t->u, t->tau, t->wrench, t->params, t->names.index, t};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        tg_free(&allocator, arrays[i]);
}

size_t tg_batch_tape_bytes(const tg_batch_tape *t)
{
    if (t == NULL)
        return 0;
    size_t steps = (size_t)t->count * (size_t)t->capacity;
    size_t bytes = sizeof *t + sizeof(double) * (steps * (size_t)(t->m->nu + t->m->nv) + t->nwrench + t->nparams) +
                   (size_t)t->count * (sizeof(tg_tape *) + 1) + sizeof(int) * (size_t)t->names.k;
    for (int i = 0; i < t->count; i++)
        bytes += tg_tape_bytes(t->tape[i]);
    return bytes;
}

static void keep_numbers(double *to, const double *from, size_t n, bool *has)
{
    *has = from != NULL;
    if (from != NULL && n > 0)
        memcpy(to, from, sizeof(double) * n);
}

/* Room for so many numbers, where they are wanted; what was there is lost. */
static tg_status make_room(tg_batch_tape *t, double **numbers, size_t *room, size_t wanted)
{
    if (*room >= wanted)
        return TG_OK;
    tg_free(&t->allocator, *numbers);
    *numbers = tg_alloc(&t->allocator, sizeof(double) * wanted);
    *room = *numbers != NULL ? wanted : 0;
    return *numbers != NULL ? TG_OK : TG_ERR_MEMORY;
}

/* Controls and parameters go onto the tape. */
static tg_status begin_tape(tg_batch *b, tg_batch_tape *t, const tg_batch_input *in)
{
    size_t rows = (size_t)in->count * (size_t)control_rows(in->steps, in->hold);
    size_t wrenches = rows * 6 * (size_t)b->m->nbody, values = (size_t)in->count * (size_t)b->names.k;
    t->steps = 0;
    memset(t->there, 0, (size_t)t->count);
    if (make_room(t, &t->params, &t->nparams, in->params != NULL ? values : 0) != TG_OK ||
        tg_names_copy(&t->allocator, &t->names, &b->names) != TG_OK)
        return tg_fail(&b->message, TG_ERR_MEMORY, "tg_batch_rollout: no memory for %d parameters", b->names.k);
    if (make_room(t, &t->wrench, &t->nwrench, in->wrench != NULL ? wrenches : 0) != TG_OK)
        return tg_fail(&b->message, TG_ERR_MEMORY, "tg_batch_rollout: no memory for wrenches of %d steps", in->steps);
    keep_numbers(t->u, in->u, rows * (size_t)b->m->nu, &t->has_u);
    keep_numbers(t->tau, in->tau, rows * (size_t)b->m->nv, &t->has_tau);
    keep_numbers(t->wrench, in->wrench, wrenches, &t->has_wrench);
    keep_numbers(t->params, in->params, values, &t->has_params);
    t->shared = b->params;
    t->generation = b->params->generation;
    t->steps = in->steps;
    t->hold = in->hold;
    return TG_OK;
}

/* ---- progress ---- */

static const double period = 0.1; /* s between two calls of progress */

static bool is_due(rollouts *r)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    double since = (double)(now.tv_sec - r->called.tv_sec) + 1e-9 * (double)(now.tv_nsec - r->called.tv_nsec);
    if (since < period)
        return false;
    r->called = now;
    return true;
}

static bool tick(void *user)
{
    const watch *w = user;
    rollouts *r = w->r;
    long long done = atomic_fetch_add_explicit(&r->done, 1, memory_order_relaxed) + 1;
    if (w->caller && is_due(r) && !r->in->progress(r->in->user, done, r->total))
        atomic_store_explicit(&r->cancelled, true, memory_order_relaxed);
    return !atomic_load_explicit(&r->cancelled, memory_order_relaxed);
}

/* ---- forward ---- */

static void no_numbers(double *to, size_t n)
{
    for (size_t i = 0; to != NULL && i < n; i++)
        to[i] = NAN;
}

/* An environment's rows; NaN until they are written. */
static tg_trajectory trajectory_row(const rollouts *r, int i)
{
    const tg_model *m = r->b->m;
    size_t rows = (size_t)r->steps + 1;
    if (r->out == NULL)
        return (tg_trajectory){0};
    tg_trajectory t = {.q = tg_row(r->out->q, i, rows * (size_t)m->nq),
                       .v = tg_row(r->out->v, i, rows * (size_t)m->nv),
                       .act = tg_row(r->out->act, i, rows * (size_t)m->na),
                       .residual = tg_row(r->out->residual, i, (size_t)r->steps),
                       .info = r->out->info == NULL ? NULL : r->out->info + (size_t)i * (size_t)r->steps};
    no_numbers(t.q, rows * (size_t)m->nq);
    no_numbers(t.v, rows * (size_t)m->nv);
    no_numbers(t.act, rows * (size_t)m->na);
    no_numbers(t.residual, (size_t)r->steps);
    return t;
}

/* Where an environment starts, in the lane's memory. The cache has as many entries as a tape's. */
static tg_state *begin(const rollouts *r, tg_lane *lane, int i)
{
    const tg_model *m = r->b->m;
    const tg_cache *cache = r->in->cold ? NULL : &r->b->cache[i];
    int entries = tg_tape_entries(m), count = cache == NULL ? 0 : cache->count;
    tg_copy_row(lane->state.q, r->in->q + (size_t)i * (size_t)m->nq, m->nq);
    tg_copy_row(lane->state.v, r->in->v + (size_t)i * (size_t)m->nv, m->nv);
    tg_copy_row(lane->state.act, tg_const_row(r->in->act, i, (size_t)m->na), m->na);
    lane->cache.count = count < entries ? count : entries;
    if (lane->cache.count > 0)
        memcpy(lane->cache.entry, cache->entry, sizeof *cache->entry * (size_t)lane->cache.count);
    return &lane->state;
}

/* From the tape where there is one: they must outlive the call. */
static tg_controls controls_of(const rollouts *r, int i)
{
    const tg_model *m = r->b->m;
    const tg_batch_tape *t = r->tape;
    size_t rows = (size_t)control_rows(r->steps, r->hold);
    const double *u = t == NULL ? r->in->u : t->has_u ? t->u : NULL;
    const double *tau = t == NULL ? r->in->tau : t->has_tau ? t->tau : NULL;
    const double *wrench = t == NULL ? r->in->wrench : t->has_wrench ? t->wrench : NULL;
    return (tg_controls){.steps = r->steps,
                         .hold = r->hold,
                         .u = tg_const_row(u, i, rows * (size_t)m->nu),
                         .tau = tg_const_row(tau, i, rows * (size_t)m->nv),
                         .wrench = tg_const_row(wrench, i, rows * 6 * (size_t)m->nbody)};
}

static tg_status roll(rollouts *r, tg_lane *lane, tg_tape *tape, const tg_state *state, tg_trajectory *out,
                      const tg_controls *controls, watch *w)
{
    tg_tape_watch(tape, r->in->progress != NULL ? tick : NULL, w);
    tg_status status = tg_rollout(r->b->m, lane->work, tape, &r->b->options, state, controls, out, NULL);
    tg_tape_watch(tape, NULL, NULL);
    return status;
}

static void take_last(const tg_model *m, tg_lane *lane, const tg_state *last)
{
    tg_copy_row(lane->state.q, last->q, m->nq);
    tg_copy_row(lane->state.v, last->v, m->nv);
    tg_copy_row(lane->state.act, last->act, m->na);
    lane->cache.count = last->cache->count;
    if (lane->cache.count > 0)
        memcpy(lane->cache.entry, last->cache->entry, sizeof(tg_cache_entry) * (size_t)lane->cache.count);
}

static tg_status end(const rollouts *r, tg_lane *lane, int i, const tg_state *last)
{
    const tg_model *m = r->b->m;
    if (!r->in->cold)
    {
        TG_TRY(tg_copy_cache(r->b, &r->b->cache[i], last->cache, &lane->error));
        r->b->kept.there[i] = false;
    }
    if (r->last != NULL)
    {
        tg_copy_row(tg_row(r->last->q, i, (size_t)m->nq), last->q, m->nq);
        tg_copy_row(tg_row(r->last->v, i, (size_t)m->nv), last->v, m->nv);
        tg_copy_row(tg_row(r->last->act, i, (size_t)m->na), last->act, m->na);
    }
    return TG_OK;
}

/* ---- derivatives ---- */

/* all but params */
static tg_rollout_gradient gradient_row(const rollouts *r, const tg_rollout_gradient *all, int i)
{
    const tg_model *m = r->b->m;
    size_t rows = (size_t)control_rows(r->steps, r->hold);
    return (tg_rollout_gradient){.q = tg_row(all->q, i, (size_t)m->nv),
                                 .v = tg_row(all->v, i, (size_t)m->nv),
                                 .act = tg_row(all->act, i, (size_t)m->na),
                                 .u = tg_row(all->u, i, rows * (size_t)m->nu),
                                 .tau = tg_row(all->tau, i, rows * (size_t)m->nv),
                                 .wrench = tg_row(all->wrench, i, rows * 6 * (size_t)m->nbody),
                                 .dt = tg_row(all->dt, i, 1)};
}

static tg_trajectory change_row(const rollouts *r, const tg_trajectory *all, int i)
{
    const tg_model *m = r->b->m;
    size_t rows = (size_t)r->steps + 1;
    return (tg_trajectory){.q = tg_row(all->q, i, rows * (size_t)m->nv),
                           .v = tg_row(all->v, i, rows * (size_t)m->nv),
                           .act = tg_row(all->act, i, rows * (size_t)m->na)};
}

static tg_status reverse(const rollouts *r, tg_lane *lane, tg_tape *tape, int i, tg_label *label)
{
    const tg_model *m = r->b->m;
    const tg_names *names = r->params.names;
    tg_trajectory out = change_row(r, r->request->vjp_out, i);
    tg_rollout_gradient in = gradient_row(r, r->request->vjp_in, i);
    in.params = r->rows != NULL ? lane->gradient : NULL;
    tg_status status = tg_rollout_vjp(m, lane->work, tape, &out, &in, label);
    if (r->rows != NULL)
        tg_pick_named(names, lane->gradient, m->nparams, tg_row(r->rows, i, (size_t)names->k));
    return status;
}

static size_t forward_bytes(const rollouts *r)
{
    const tg_batch_rollout_request *q = r->request;
    size_t count = q == NULL || q->jvp_in == NULL ? 0 : (size_t)q->directions;
    size_t vector = count > 0 && q->jvp_in->params != NULL ? sizeof(double) * (size_t)r->b->m->nparams : 0;
    return count * (sizeof(tg_rollout_gradient) + sizeof(tg_trajectory) + vector);
}

static tg_status forward(const rollouts *r, tg_lane *lane, tg_tape *tape, int i, tg_label *label)
{
    const tg_names *names = r->params.names;
    int count = r->request->directions;
    tg_rollout_gradient *in = lane->scratch;
    tg_trajectory *out = (tg_trajectory *)(void *)(in + count);
    double *vector = (double *)(void *)(out + count);
    size_t n = (size_t)r->b->m->nparams;
    if (r->request->jvp_in->params != NULL)
        memset(vector, 0, sizeof(double) * n * (size_t)count);
    for (int j = 0; j < count; j++)
    {
        int at = i * count + j;
        in[j] = gradient_row(r, r->request->jvp_in, at);
        out[j] = change_row(r, r->request->jvp_out, at);
        if (r->request->jvp_in->params == NULL)
            continue;
        in[j].params = vector + n * (size_t)j;
        tg_spread_named(names, tg_row(r->request->jvp_in->params, at, (size_t)names->k), in[j].params);
    }
    return tg_rollout_jvp(r->b->m, lane->work, tape, count, in, out, label);
}

static tg_status answer(const rollouts *r, tg_lane *lane, tg_tape *tape, int i)
{
    const tg_batch_rollout_request *q = r->request;
    tg_label label = {TG_LABEL_EXACT, INFINITY, 1, 0, false};
    if (q == NULL)
        return TG_OK;
    if (q->vjp_out != NULL)
        TG_TRY(reverse(r, lane, tape, i, &label));
    if (q->jvp_in != NULL)
        TG_TRY(forward(r, lane, tape, i, &label));
    if (q->label != NULL)
        q->label[i] = label;
    return TG_OK;
}

/* ---- one environment ---- */

static tg_status roll_one(void *context, tg_lane *lane, int i)
{
    rollouts *r = context;
    tg_batch_tape *t = r->tape;
    watch w = {r, lane == r->b->lane};
    TG_TRY(tg_lane_params(lane, &r->params, i));
    tg_state *state = begin(r, lane, i);
    tg_trajectory out = trajectory_row(r, i);
    tg_tape *tape = t != NULL ? t->tape[i] : r->request != NULL ? lane->tape : lane->no_tape;
    tg_controls controls = controls_of(r, i);
    TG_TRY(roll(r, lane, tape, state, &out, &controls, &w));
    take_last(r->b->m, lane, tg_tape_last(tape)); /* derivatives may use its memory */
    TG_TRY(answer(r, lane, tape, i));
    TG_TRY(end(r, lane, i, state));
    if (t != NULL)
        t->there[i] = true;
    return TG_OK;
}

static tg_status derive_one(void *context, tg_lane *lane, int i)
{
    const rollouts *r = context;
    if (!r->tape->there[i])
        return tg_fail(&lane->error, TG_ERR_STALE, "its rollout failed");
    TG_TRY(tg_lane_params(lane, &r->params, i));
    tg_tape_adopt(r->tape->tape[i], lane->work);
    return answer(r, lane, r->tape->tape[i], i);
}

/* ---- the calls ---- */

static tg_status check_request(tg_batch *b, const tg_batch_rollout_request *r, const char *name)
{
    if (r == NULL)
        return TG_OK;
    if ((r->vjp_out == NULL) != (r->vjp_in == NULL) || (r->jvp_in == NULL) != (r->jvp_out == NULL))
        return tg_fail(&b->message, TG_ERR_ARGUMENT, "%s: reverse and forward mode need both in and out", name);
    if (r->params_sum != NULL && r->vjp_in == NULL)
        return tg_fail(&b->message, TG_ERR_ARGUMENT, "%s: params_sum is a sum of vjp_in.params", name);
    if (r->jvp_in != NULL && (r->directions < 1 || r->jvp_out->q == NULL || r->jvp_out->v == NULL))
        return tg_fail(&b->message, TG_ERR_ARGUMENT, "%s: %d directions; jvp_out needs q and v", name, r->directions);
    return TG_OK;
}

/* Everything that is allocated is, before threads start. */
static tg_status make_ready(rollouts *r, int count)
{
    tg_batch *b = r->b;
    const tg_batch_rollout_request *q = r->request;
    if (r->params.values != NULL)
        TG_TRY(tg_batch_ready_params(b, r->params.names));
    if (q != NULL && q->vjp_in != NULL)
        TG_TRY(tg_batch_rows(b, count, r->params.names->k, q->vjp_in->params, q->params_sum, &r->rows));
    TG_TRY(tg_batch_scratch(b, forward_bytes(r)));
    for (int i = 0; q != NULL && r->tape == NULL && i < b->threads; i++)
    {
        tg_lane *lane = &b->lane[i];
        if (lane->tape_steps >= r->steps)
            continue;
        tg_tape_destroy(lane->tape);
        lane->tape = NULL;
        lane->tape_steps = 0;
        TG_TRY(tg_tape_create(b->m, r->steps, TG_TAPE_ALL, &lane->tape, &b->message));
        lane->tape_steps = r->steps;
    }
    return TG_OK;
}

static tg_status run(rollouts *r, int count, tg_batch_task *task)
{
    tg_batch *b = r->b;
    TG_TRY(make_ready(r, count));
    tg_status status = tg_batch_run(b, count, task, r);
    if (b->called > 0 && r->request != NULL)
        TG_TRY(tg_batch_sum(b, count, r->params.names->k, r->rows, r->request->params_sum));
    return status;
}

tg_status tg_batch_rollout(tg_batch *b, const tg_batch_input *in, tg_batch_tape *tape, const tg_trajectory *out,
                           const tg_batch_state *last, const tg_batch_rollout_request *request)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    if (in != NULL && in->hold < 0)
        return tg_fail(&b->message, TG_ERR_VALUE, "tg_batch_rollout: in.hold = %d is negative", in->hold);
    TG_TRY(tg_batch_check_input(b, in, in == NULL ? 0 : control_rows(in->steps, in->hold), "tg_batch_rollout"));
    TG_TRY(check_request(b, request, "tg_batch_rollout"));
    if (tape != NULL && (tape->m != b->m || tape->count != in->count || tape->capacity < in->steps))
        return tg_fail(&b->message, TG_ERR_CAPACITY,
                       "tg_batch_rollout: %d steps of %d environments; the tape is for %d steps of %d%s", in->steps,
                       in->count, tape->capacity, tape->count, tape->m != b->m ? " of another model" : "");
    if (tape != NULL)
        TG_TRY(begin_tape(b, tape, in));
    rollouts r = {.b = b,
                  .in = in,
                  .tape = tape,
                  .out = out,
                  .last = last,
                  .request = request,
                  .params = {b->params, &b->names, in->params},
                  .steps = in->steps,
                  .hold = in->hold,
                  .total = (int64_t)in->count * in->steps};
    timespec_get(&r.called, TIME_UTC);
    return run(&r, in->count, roll_one);
}

tg_status tg_batch_rollout_derivatives(tg_batch *b, tg_batch_tape *t, const tg_batch_rollout_request *request)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    if (t == NULL || request == NULL)
        return tg_fail(&b->message, TG_ERR_ARGUMENT, "tg_batch_rollout_derivatives: %s is NULL",
                       t == NULL ? "tape" : "request");
    TG_TRY(check_request(b, request, "tg_batch_rollout_derivatives"));
    if (t->m != b->m || t->steps == 0)
        return tg_fail(&b->message, TG_ERR_STALE,
                       "tg_batch_rollout_derivatives: the tape holds no rollout of this model");
    if (t->generation != t->shared->generation)
        return tg_fail(&b->message, TG_ERR_STALE,
                       "tg_batch_rollout_derivatives: the shared parameters have changed since the rollout");
    rollouts r = {.b = b,
                  .tape = t,
                  .request = request,
                  .params = {t->shared, &t->names, t->has_params ? t->params : NULL},
                  .steps = t->steps,
                  .hold = t->hold};
    return run(&r, t->count, derive_one);
}
