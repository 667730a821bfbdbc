/* Steps of all environments, and what is wanted of them while the workspace still holds them. */
#include "batch/batch.h"

#include <math.h>
#include <string.h>

/* Where the impulses come from that a step starts from. */
typedef enum start
{
    START_CACHE,  /* the environment's: the step is the batch's last one */
    START_EMPTY,  /* a function of its arguments: nothing is kept */
    START_BEFORE, /* those before the last step, which is taken once more */
} start;

typedef struct steps
{
    tg_batch *b;
    const tg_batch_input *in;
    const tg_batch_state *out;
    const tg_batch_request *request;
    tg_param_source params;
    start start;
    double *rows; /* gradients of the named parameters, [count, k]; NULL: not wanted */
} steps;

/* ---- derivatives ---- */

static tg_jacobian jacobian_row(const tg_batch *b, const tg_jacobian *all, int i)
{
    const tg_model *m = b->m;
    const size_t n = (size_t)m->nv, na = (size_t)m->na, nu = (size_t)m->nu, k = (size_t)b->names.k;
#define ROWS(x, rows)                                                                                                  \
    .x##_dq = tg_row(all->x##_dq, i, (rows)*n), .x##_dv = tg_row(all->x##_dv, i, (rows)*n),                            \
    .x##_dact = tg_row(all->x##_dact, i, (rows)*na), .x##_du = tg_row(all->x##_du, i, (rows)*nu),                      \
    .x##_dtau = tg_row(all->x##_dtau, i, (rows)*n), .x##_ddt = tg_row(all->x##_ddt, i, (rows)),                        \
    .x##_dparams = tg_row(all->x##_dparams, i, (rows)*k)
    return (tg_jacobian){.index = b->names.index, .nindex = b->names.k, ROWS(dq, n), ROWS(dv, n), ROWS(dact, na)};
#undef ROWS
}

/* all but params */
static tg_cotangent cotangent_row(const tg_model *m, const tg_cotangent *all, int i)
{
    return (tg_cotangent){.q = tg_row(all->q, i, (size_t)m->nv),
                          .v = tg_row(all->v, i, (size_t)m->nv),
                          .act = tg_row(all->act, i, (size_t)m->na),
                          .u = tg_row(all->u, i, (size_t)m->nu),
                          .tau = tg_row(all->tau, i, (size_t)m->nv),
                          .wrench = tg_row(all->wrench, i, 6 * (size_t)m->nbody),
                          .dt = tg_row(all->dt, i, 1)};
}

static tg_status reverse(const steps *s, tg_lane *lane, int i, tg_label *label)
{
    const tg_names *names = &s->b->names;
    const tg_model *m = s->b->m;
    tg_cotangent out = cotangent_row(m, s->request->vjp_out, i), in = cotangent_row(m, s->request->vjp_in, i);
    in.params = s->rows != NULL ? lane->gradient : NULL;
    tg_status status = tg_step_vjp(m, lane->work, &out, &in, label);
    if (s->rows != NULL)
        tg_pick_named(names, lane->gradient, m->nparams, tg_row(s->rows, i, (size_t)names->k));
    return status;
}

static tg_status forward(const steps *s, tg_lane *lane, int i, tg_label *label)
{
    const tg_names *names = &s->b->names;
    const tg_model *m = s->b->m;
    tg_cotangent in = cotangent_row(m, s->request->jvp_in, i), out = cotangent_row(m, s->request->jvp_out, i);
    const double *along = tg_row(s->request->jvp_in->params, i, (size_t)names->k);
    if (along != NULL)
    {
        tg_spread_named(names, along, lane->gradient);
        in.params = lane->gradient;
    }
    tg_status status = tg_step_jvp(m, lane->work, &in, &out, label);
    if (along != NULL)
        tg_clear_named(names, lane->gradient);
    return status;
}

static tg_status answer(const steps *s, tg_lane *lane, int i)
{
    const tg_batch_request *r = s->request;
    const tg_model *m = s->b->m;
    tg_label label = {TG_LABEL_EXACT, INFINITY, 1, 0, false};
    if (r == NULL)
        return TG_OK;
    if (r->contacts != NULL)
        TG_TRY(tg_step_contacts(m, lane->work, r->contact == NULL ? NULL : r->contact + (size_t)i * (size_t)r->room,
                                r->contact == NULL ? 0 : r->room, &r->contacts[i]));
    if (r->jacobian != NULL)
    {
        tg_jacobian j = jacobian_row(s->b, r->jacobian, i);
        TG_TRY(tg_step_jacobian(m, lane->work, &j));
        label = j.label;
    }
    if (r->vjp_out != NULL && r->vjp_in != NULL)
        TG_TRY(reverse(s, lane, i, &label));
    if (r->jvp_in != NULL && r->jvp_out != NULL)
        TG_TRY(forward(s, lane, i, &label));
    if (r->label != NULL)
        r->label[i] = label;
    return TG_OK;
}

/* ---- one environment ---- */

static void keep_vector(double *rows, int i, int n, const double *from)
{
    double *to = rows + (size_t)i * (size_t)n;
    if (from != NULL)
        tg_copy_row(to, from, n);
    else if (n > 0)
        memset(to, 0, sizeof(double) * (size_t)n);
}

static void keep_input(tg_batch *b, int i, const tg_state *in, const tg_control *control, const double *params)
{
    const tg_model *m = b->m;
    tg_kept *k = &b->kept;
    keep_vector(k->q, i, m->nq, in->q);
    keep_vector(k->v, i, m->nv, in->v);
    keep_vector(k->act, i, m->na, in->act);
    keep_vector(k->u, i, m->nu, control->u);
    keep_vector(k->tau, i, m->nv, control->tau);
    if (control->wrench != NULL)
        keep_vector(k->wrench, i, 6 * m->nbody, control->wrench);
    if (params != NULL)
        keep_vector(k->params, i, b->names.k, params);
}

/* The caches change places: the one before the step stays for its derivatives. */
static tg_status go_on(const steps *s, tg_lane *lane, int i, const tg_state *in, const tg_control *control)
{
    tg_batch *b = s->b;
    TG_TRY(tg_copy_cache(b, &b->before[i], &lane->cache, &lane->error));
    tg_cache after = b->before[i];
    b->before[i] = b->cache[i];
    b->cache[i] = after;
    keep_input(b, i, in, control, tg_const_row(s->in->params, i, (size_t)b->names.k));
    b->kept.there[i] = true;
    return TG_OK;
}

static void hand_over(const steps *s, const tg_lane *lane, int i)
{
    const tg_model *m = s->b->m;
    if (s->out == NULL)
        return;
    tg_copy_row(tg_row(s->out->q, i, (size_t)m->nq), lane->state.q, m->nq);
    tg_copy_row(tg_row(s->out->v, i, (size_t)m->nv), lane->state.v, m->nv);
    tg_copy_row(tg_row(s->out->act, i, (size_t)m->na), lane->state.act, m->na);
}

/* A row for a tg_state that is only read: its pointers are not const, because states also come out. */
static double *read_row(const double *rows, int i, size_t n)
{
    union
    {
        const double *from;
        double *to;
    } row = {.from = tg_const_row(rows, i, n)};
    return row.to;
}

static tg_status step_one(void *context, tg_lane *lane, int i)
{
    const steps *s = context;
    tg_batch *b = s->b;
    const tg_model *m = b->m;
    const tg_batch_input *in = s->in;
    tg_cache *caches[] = {[START_CACHE] = b->cache, [START_EMPTY] = NULL, [START_BEFORE] = b->before};
    if (s->start == START_BEFORE && !b->kept.there[i])
        return tg_fail(&lane->error, TG_ERR_STALE, "there was no step since its state was set, or it failed");
    tg_state from = {.q = read_row(in->q, i, (size_t)m->nq),
                     .v = read_row(in->v, i, (size_t)m->nv),
                     .act = read_row(in->act, i, (size_t)m->na),
                     .cache = caches[s->start] == NULL ? NULL : &caches[s->start][i]};
    tg_control control = {.u = tg_const_row(in->u, i, (size_t)m->nu),
                          .tau = tg_const_row(in->tau, i, (size_t)m->nv),
                          .wrench = tg_const_row(in->wrench, i, 6 * (size_t)m->nbody)};
    tg_info info;
    TG_TRY(tg_lane_params(lane, &s->params, i));
    TG_TRY(tg_step(m, lane->work, &b->options, &from, &control, &lane->state, &info));
    TG_TRY(answer(s, lane, i));
    if (s->start == START_CACHE)
        TG_TRY(go_on(s, lane, i, &from, &control));
    hand_over(s, lane, i);
    if (s->request != NULL && s->request->info != NULL)
        s->request->info[i] = info;
    return TG_OK;
}

/* ---- the calls ---- */

static tg_status check_request(tg_batch *b, const tg_batch_request *r, const char *name)
{
    if (r == NULL)
        return TG_OK;
    if ((r->vjp_out == NULL) != (r->vjp_in == NULL) || (r->jvp_in == NULL) != (r->jvp_out == NULL))
        return tg_fail(&b->message, TG_ERR_ARGUMENT, "%s: reverse and forward mode need both in and out", name);
    if (r->params_sum != NULL && r->vjp_in == NULL)
        return tg_fail(&b->message, TG_ERR_ARGUMENT, "%s: params_sum is a sum of vjp_in.params", name);
    if (r->contact != NULL && (r->contacts == NULL || r->room < 0))
        return tg_fail(&b->message, TG_ERR_ARGUMENT, "%s: contacts need their counts, room = %d", name, r->room);
    return TG_OK;
}

static tg_status run(steps *s)
{
    tg_batch *b = s->b;
    const tg_batch_request *r = s->request;
    int count = s->in->count, k = b->names.k;
    if (s->in->params != NULL)
        TG_TRY(tg_batch_ready_params(b, &b->names));
    if (r != NULL && r->vjp_in != NULL)
        TG_TRY(tg_batch_rows(b, count, k, r->vjp_in->params, r->params_sum, &s->rows));
    s->params = (tg_param_source){b->params, &b->names, s->in->params};
    tg_status status = tg_batch_run(b, count, step_one, s);
    if (b->called > 0 && r != NULL)
        TG_TRY(tg_batch_sum(b, count, k, s->rows, r->params_sum));
    return status;
}

tg_status tg_batch_step(tg_batch *b, const tg_batch_input *in, const tg_batch_state *out,
                        const tg_batch_request *request)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    TG_TRY(tg_batch_check_input(b, in, 1, "tg_batch_step"));
    TG_TRY(check_request(b, request, "tg_batch_step"));
    if (!in->cold)
    {
        tg_kept *k = &b->kept;
        memset(k->there, 0, (size_t)b->n);
        k->has_wrench = in->wrench != NULL;
        k->has_params = in->params != NULL;
        k->shared = b->params;
        k->generation = b->params->generation;
    }
    return run(
        &(steps){.b = b, .in = in, .out = out, .request = request, .start = in->cold ? START_EMPTY : START_CACHE});
}

/* of the environments whose step was taken */
static bool same_values(const tg_batch *b, const double *params)
{
    const tg_kept *kept = &b->kept;
    size_t k = (size_t)b->names.k;
    if (kept->has_params != (params != NULL))
        return false;
    for (int i = 0; params != NULL && i < b->n; i++)
        if (kept->there[i] && memcmp(params + (size_t)i * k, kept->params + (size_t)i * k, sizeof(double) * k) != 0)
            return false;
    return true;
}

tg_status tg_batch_derivatives(tg_batch *b, const double *params, const tg_batch_request *request)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    const tg_kept *k = &b->kept;
    if (request == NULL)
        return tg_fail(&b->message, TG_ERR_ARGUMENT, "tg_batch_derivatives: request is NULL");
    TG_TRY(check_request(b, request, "tg_batch_derivatives"));
    if (k->shared != b->params || k->generation != b->params->generation || !same_values(b, params))
        return tg_fail(&b->message, TG_ERR_STALE, "tg_batch_derivatives: %s",
                       k->shared == NULL ? "there was no step" : "the parameters have changed since the step");
    tg_batch_input in = {.count = b->n,
                         .q = k->q,
                         .v = k->v,
                         .act = k->act,
                         .u = k->u,
                         .tau = k->tau,
                         .wrench = k->has_wrench ? k->wrench : NULL,
                         .params = k->has_params ? k->params : NULL};
    return run(&(steps){.b = b, .in = &in, .request = request, .start = START_BEFORE});
}
