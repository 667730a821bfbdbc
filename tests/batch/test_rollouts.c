/* Rollouts of a batch: bit by bit those of single environments, on tapes, at once and without; parameters on the tape;
 * progress. */
#include "fleet.h"

enum
{
    COUNT = 7,
    STEPS = 20,
    DIRECTIONS = 2
};

/* Everything that rollouts and their derivatives give, [COUNT, ...]. */
typedef struct flights
{
    tg_trajectory out;         /* states */
    tg_trajectory given;       /* gradients with respect to them */
    tg_rollout_gradient in;    /* and with respect to what went in */
    tg_rollout_gradient along; /* directions */
    tg_trajectory change;
    tg_label label[COUNT];
    double sum[8];
} flights;

static flights new_flights(const fleet *f)
{
    size_t n = COUNT, rows = STEPS + 1, nv = (size_t)f->n.nv, na = (size_t)f->n.na, nu = (size_t)f->n.nu,
           k = (size_t)f->k, d = DIRECTIONS;
    flights r = {.out = {.q = numbers(n * rows * (size_t)f->n.nq),
                         .v = numbers(n * rows * nv),
                         .act = numbers(n * rows * na),
                         .residual = numbers(n * STEPS)},
                 .given = {.q = numbers(n * rows * nv), .v = numbers(n * rows * nv)},
                 .in = {.q = numbers(n * nv),
                        .v = numbers(n * nv),
                        .act = numbers(n * na),
                        .u = numbers(n * STEPS * nu),
                        .tau = numbers(n * STEPS * nv),
                        .dt = numbers(n),
                        .params = numbers(n * k)},
                 .along = {.q = numbers(n * d * nv), .u = numbers(n * d * STEPS * nu), .params = numbers(n * d * k)},
                 .change = {.q = numbers(n * d * rows * nv),
                            .v = numbers(n * d * rows * nv),
                            .act = numbers(n * d * rows * na)}};
    for (size_t i = 0; i < n * rows * nv; i++)
    {
        r.given.q[i] = noise((int)i, 1);
        r.given.v[i] = noise((int)i, 2);
    }
    for (size_t i = 0; i < n * d * nv; i++)
        r.along.q[i] = noise((int)i, 3);
    for (size_t i = 0; i < n * d * STEPS * nu; i++)
        r.along.u[i] = noise((int)i, 4);
    for (size_t i = 0; i < n * d * k; i++)
        r.along.params[i] = noise((int)i, 5);
    return r;
}

static void drop_flights(flights *r)
{
    double *owned[] = {r->out.q,        r->out.v,    r->out.act,   r->out.residual, r->given.q,
                       r->given.v,      r->in.q,     r->in.v,      r->in.act,       r->in.u,
                       r->in.tau,       r->in.dt,    r->in.params, r->along.q,      r->along.u,
                       r->along.params, r->change.q, r->change.v,  r->change.act};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
}

static tg_batch_rollout_request request_of(flights *r)
{
    return (tg_batch_rollout_request){.vjp_out = &r->given,
                                      .vjp_in = &r->in,
                                      .params_sum = r->sum,
                                      .directions = DIRECTIONS,
                                      .jvp_in = &r->along,
                                      .jvp_out = &r->change,
                                      .label = r->label};
}

static void check_states(const fleet *f, const flights *a, const flights *b)
{
    size_t n = COUNT, rows = STEPS + 1;
    check_same("q", a->out.q, b->out.q, n * rows * (size_t)f->n.nq);
    check_same("v", a->out.v, b->out.v, n * rows * (size_t)f->n.nv);
    check_same("act", a->out.act, b->out.act, n * rows * (size_t)f->n.na);
    check_same("residual", a->out.residual, b->out.residual, n * STEPS);
}

static void check_gradients(const fleet *f, const flights *a, const flights *b)
{
    size_t n = COUNT, rows = STEPS + 1, nv = (size_t)f->n.nv;
    check_same("gq", a->in.q, b->in.q, n * nv);
    check_same("gv", a->in.v, b->in.v, n * nv);
    check_same("gact", a->in.act, b->in.act, n * (size_t)f->n.na);
    check_same("gu", a->in.u, b->in.u, n * STEPS * (size_t)f->n.nu);
    check_same("gtau", a->in.tau, b->in.tau, n * STEPS * nv);
    check_same("gdt", a->in.dt, b->in.dt, n);
    check_same("gparams", a->in.params, b->in.params, n * (size_t)f->k);
    check_same("sum", a->sum, b->sum, (size_t)f->k);
    check_same("dq", a->change.q, b->change.q, n * DIRECTIONS * rows * nv);
    check_same("dv", a->change.v, b->change.v, n * DIRECTIONS * rows * nv);
    for (int i = 0; i < COUNT; i++)
        check_same("margin", &a->label[i].margin, &b->label[i].margin, 1);
}

/* ---- each alone, with workspaces and tapes of their own ---- */

static void fly_alone(const fleet *f, flights *r)
{
    const tg_sizes *n = &f->n;
    double *all = numbers((size_t)n->nparams), *along = calloc((size_t)(DIRECTIONS * n->nparams), sizeof(double));
    double *rows = numbers((size_t)(COUNT * f->k));
    for (int i = 0; i < COUNT; i++)
    {
        tg_work *w = NULL;
        tg_params *params = NULL;
        tg_tape *tape = NULL;
        assert_int_equal(tg_work_create(f->m, &w, NULL), TG_OK);
        assert_int_equal(tg_params_create(f->m, &params, NULL), TG_OK);
        assert_int_equal(tg_tape_create(f->m, STEPS, TG_TAPE_ALL, &tape, NULL), TG_OK);
        double *vector = tg_params_data(params);
        for (int j = 0; j < f->k; j++)
            vector[f->index[j]] = f->params[i * f->k + j];
        assert_int_equal(tg_params_changed(params, NULL), TG_OK);
        assert_int_equal(tg_work_set_params(w, params), TG_OK);
        tg_state start = {f->q + i * n->nq, f->v + i * n->nv, f->act + i * n->na, NULL};
        tg_controls controls = {.steps = STEPS, .u = f->u + i * STEPS * n->nu, .tau = f->tau + i * STEPS * n->nv};
        int at = i * (STEPS + 1);
        tg_trajectory out = {.q = r->out.q + at * n->nq,
                             .v = r->out.v + at * n->nv,
                             .act = r->out.act + at * n->na,
                             .residual = r->out.residual + i * STEPS};
        assert_int_equal(tg_rollout(f->m, w, tape, NULL, &start, &controls, &out, NULL), TG_OK);
        tg_trajectory given = {.q = r->given.q + at * n->nv, .v = r->given.v + at * n->nv};
        tg_rollout_gradient in = {.q = r->in.q + i * n->nv,
                                  .v = r->in.v + i * n->nv,
                                  .act = r->in.act + i * n->na,
                                  .u = r->in.u + i * STEPS * n->nu,
                                  .tau = r->in.tau + i * STEPS * n->nv,
                                  .dt = r->in.dt + i,
                                  .params = all};
        assert_int_equal(tg_rollout_vjp(f->m, w, tape, &given, &in, NULL), TG_OK);
        for (int j = 0; j < f->k; j++)
            rows[i * f->k + j] = r->in.params[i * f->k + j] = all[f->index[j]];
        tg_rollout_gradient move[DIRECTIONS];
        tg_trajectory change[DIRECTIONS];
        memset(along, 0, sizeof(double) * (size_t)(DIRECTIONS * n->nparams));
        for (int d = 0; d < DIRECTIONS; d++)
        {
            int row = i * DIRECTIONS + d;
            for (int j = 0; j < f->k; j++)
                along[d * n->nparams + f->index[j]] += r->along.params[row * f->k + j];
            move[d] = (tg_rollout_gradient){
                .q = r->along.q + row * n->nv, .u = r->along.u + row * STEPS * n->nu, .params = along + d * n->nparams};
            int first = row * (STEPS + 1);
            change[d] = (tg_trajectory){.q = r->change.q + first * n->nv,
                                        .v = r->change.v + first * n->nv,
                                        .act = r->change.act + first * n->na};
        }
        assert_int_equal(tg_rollout_jvp(f->m, w, tape, DIRECTIONS, move, change, &r->label[i]), TG_OK);
        tg_tape_destroy(tape);
        tg_work_destroy(w);
        tg_params_destroy(params);
    }
    for (int stride = 1; stride < COUNT; stride *= 2)
        for (int i = 0; i + stride < COUNT; i += 2 * stride)
            for (int j = 0; j < f->k; j++)
                rows[i * f->k + j] += rows[(i + stride) * f->k + j];
    memcpy(r->sum, rows, sizeof(double) * (size_t)f->k);
    free(rows);
    free(all);
    free(along);
}

static const struct
{
    const char *file, *pattern;
} models[] = {{"models/quadruped.xml", "geom.*.friction[0]"}, {"models/planar_walker.xml", "body.*.mass"}};

/* On tapes that are kept (with and without checkpoints), at once, and states alone: always the same bits, for any
 * number of threads. */
static void test_same_as_singles(void **state)
{
    (void)state;
    const int threads[] = {1, 2, 3, 8};
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++)
    {
        fleet f = open_fleet(models[m].file, models[m].pattern, COUNT, 1, STEPS);
        flights alone = new_flights(&f);
        fly_alone(&f, &alone);
        close_fleet(&f);
        for (int way = 0; way < 4; way++)
        {
            f = open_fleet(models[m].file, models[m].pattern, COUNT, threads[way], STEPS);
            flights r = new_flights(&f);
            tg_batch_input in = input_of(&f);
            tg_batch_rollout_request request = request_of(&r);
            tg_batch_tape *tape = NULL;
            in.cold = true;
            check_ok(&f, tg_batch_rollout(f.b, &in, NULL, &r.out, NULL, NULL));
            check_states(&f, &alone, &r);
            check_ok(&f, tg_batch_rollout(f.b, &in, NULL, &r.out, NULL, &request));
            check_states(&f, &alone, &r);
            check_gradients(&f, &alone, &r);
            drop_flights(&r);
            r = new_flights(&f);
            request = request_of(&r);
            assert_int_equal(tg_batch_tape_create(f.b, COUNT, STEPS, way % 2 == 1, &tape, NULL), TG_OK);
            check_ok(&f, tg_batch_rollout(f.b, &in, tape, &r.out, NULL, NULL));
            /* values and names of now do not matter to what is on the tape */
            memset(f.params, 0, sizeof(double) * (size_t)(COUNT * f.k));
            memset(f.u, 0, sizeof(double) * (size_t)(COUNT * STEPS * f.n.nu));
            assert_int_equal(tg_batch_name(f.b, NULL, 0), TG_OK);
            check_ok(&f, tg_batch_rollout_derivatives(f.b, tape, &request));
            check_states(&f, &alone, &r);
            check_gradients(&f, &alone, &r);
            assert_true(tg_batch_tape_bytes(tape) > 1000);
            tg_batch_tape_destroy(tape);
            drop_flights(&r);
            close_fleet(&f);
        }
        drop_flights(&alone);
    }
}

/* A rollout goes from where the environments are to where as many steps would have brought them, caches included. */
static void test_rollout_is_steps(void **state)
{
    (void)state;
    fleet a = open_fleet("models/humanoid36.xml", "body.*.mass", COUNT, 2, STEPS),
          b = open_fleet("models/humanoid36.xml", "body.*.mass", COUNT, 2, STEPS);
    tg_batch_state at = {a.q, a.v, a.act}, bt = {b.q, b.v, b.act};
    for (int round = 0; round < 3; round++)
    {
        tg_batch_input in = input_of(&a);
        tg_batch_tape *tape = NULL;
        if (round > 0)
            assert_int_equal(tg_batch_tape_create(a.b, COUNT, STEPS, round == 2, &tape, NULL), TG_OK);
        check_ok(&a, tg_batch_rollout(a.b, &in, tape, NULL, &at, NULL));
        tg_batch_tape_destroy(tape);
        double *u = numbers((size_t)(COUNT * b.n.nu)), *tau = numbers((size_t)(COUNT * b.n.nv));
        for (int step = 0; step < STEPS; step++)
        {
            for (int i = 0; i < COUNT; i++)
            {
                memcpy(u + i * b.n.nu, b.u + (i * STEPS + step) * b.n.nu, sizeof(double) * (size_t)b.n.nu);
                memcpy(tau + i * b.n.nv, b.tau + (i * STEPS + step) * b.n.nv, sizeof(double) * (size_t)b.n.nv);
            }
            tg_batch_input one = input_of(&b);
            one.u = u;
            one.tau = tau;
            check_ok(&b, tg_batch_step(b.b, &one, &bt, NULL));
        }
        free(u);
        free(tau);
        check_same("q", a.q, b.q, (size_t)(COUNT * a.n.nq));
        check_same("v", a.v, b.v, (size_t)(COUNT * a.n.nv));
        for (int i = 0; i < COUNT; i++)
        {
            assert_int_equal(tg_batch_cache(a.b, i)->count, tg_batch_cache(b.b, i)->count);
            assert_memory_equal(tg_batch_cache(a.b, i)->entry, tg_batch_cache(b.b, i)->entry,
                                sizeof(tg_cache_entry) * (size_t)tg_batch_cache(a.b, i)->count);
        }
    }
    close_fleet(&a);
    close_fleet(&b);
}

/* ---- rows that are held, and wrenches ---- */

static void check_refused(const fleet *f, tg_status status, tg_status expected, const char *message)
{
    assert_int_equal(status, expected);
    if (strstr(tg_batch_message(f->b), message) == NULL)
        fail_msg("'%s' does not say '%s'", tg_batch_message(f->b), message);
}

enum
{
    HOLD = 3,
    ROWS = (STEPS + HOLD - 1) / HOLD
};

/* Gradients with respect to the controls, and a change along them. */
typedef struct held
{
    double *q, *gu, *gwrench, *dq, *dv, *dact;
} held;

static held new_held(const tg_sizes *n)
{
    size_t all = COUNT * (STEPS + 1);
    return (held){.q = numbers(all * (size_t)n->nq),
                  .gu = numbers(COUNT * ROWS * (size_t)n->nu),
                  .gwrench = numbers(COUNT * ROWS * 6 * (size_t)n->nbody),
                  .dq = numbers(all * (size_t)n->nv),
                  .dv = numbers(all * (size_t)n->nv),
                  .dact = numbers(all * (size_t)n->na)};
}

static void drop_held(held *h)
{
    double *owned[] = {h->q, h->gu, h->gwrench, h->dq, h->dv, h->dact};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
}

static void hold_alone(const fleet *f, double *wrench, const double *g, held *h)
{
    const tg_sizes *n = &f->n;
    for (int i = 0; i < COUNT; i++)
    {
        tg_work *w = NULL;
        tg_tape *tape = NULL;
        int at = i * (STEPS + 1), row = i * ROWS;
        assert_int_equal(tg_work_create(f->m, &w, NULL), TG_OK);
        assert_int_equal(tg_tape_create(f->m, STEPS, TG_TAPE_ALL, &tape, NULL), TG_OK);
        tg_state start = {f->q + i * n->nq, f->v + i * n->nv, f->act + i * n->na, NULL};
        tg_controls controls = {
            .steps = STEPS, .hold = HOLD, .u = f->u + row * n->nu, .wrench = wrench + row * 6 * n->nbody};
        tg_trajectory out = {.q = h->q + at * n->nq}, given = {.q = (double *)g + at * n->nv};
        tg_rollout_gradient in = {.u = h->gu + row * n->nu, .wrench = h->gwrench + row * 6 * n->nbody},
                            along = {.wrench = wrench + row * 6 * n->nbody};
        tg_trajectory change = {.q = h->dq + at * n->nv, .v = h->dv + at * n->nv, .act = h->dact + at * n->na};
        assert_int_equal(tg_rollout(f->m, w, tape, NULL, &start, &controls, &out, NULL), TG_OK);
        assert_int_equal(tg_rollout_vjp(f->m, w, tape, &given, &in, NULL), TG_OK);
        assert_int_equal(tg_rollout_jvp(f->m, w, tape, 1, &along, &change, NULL), TG_OK);
        tg_tape_destroy(tape);
        tg_work_destroy(w);
    }
}

/* With a tape that is kept, and at once. */
static void test_holds_and_wrenches(void **state)
{
    (void)state;
    fleet f = open_fleet("models/quadruped.xml", NULL, COUNT, 3, STEPS);
    const tg_sizes *n = &f.n;
    size_t pushes = COUNT * ROWS * 6 * (size_t)n->nbody, tangents = COUNT * (STEPS + 1) * (size_t)n->nv;
    double *wrench = numbers(pushes), *g = numbers(tangents);
    for (size_t i = 0; i < pushes; i++)
        wrench[i] = noise((int)i, 7);
    for (size_t i = 0; i < tangents; i++)
        g[i] = noise((int)i, 8);
    held alone = new_held(n);
    hold_alone(&f, wrench, g, &alone);
    for (int way = 0; way < 2; way++)
    {
        held h = new_held(n);
        tg_trajectory out = {.q = h.q}, given = {.q = g}, change = {.q = h.dq, .v = h.dv, .act = h.dact};
        tg_rollout_gradient in = {.u = h.gu, .wrench = h.gwrench}, along = {.wrench = wrench};
        tg_batch_rollout_request request = {
            .vjp_out = &given, .vjp_in = &in, .directions = 1, .jvp_in = &along, .jvp_out = &change};
        tg_batch_input input = input_of(&f);
        tg_batch_tape *tape = NULL;
        input.tau = NULL;
        input.wrench = wrench;
        input.hold = HOLD;
        input.cold = true;
        input.strict = true;
        if (way == 1)
            assert_int_equal(tg_batch_tape_create(f.b, COUNT, STEPS, false, &tape, NULL), TG_OK);
        check_ok(&f, tg_batch_rollout(f.b, &input, tape, &out, NULL, tape == NULL ? &request : NULL));
        if (tape != NULL)
            check_ok(&f, tg_batch_rollout_derivatives(f.b, tape, &request));
        check_same("q", alone.q, h.q, COUNT * (STEPS + 1) * (size_t)n->nq);
        check_same("gu", alone.gu, h.gu, COUNT * ROWS * (size_t)n->nu);
        check_same("gwrench", alone.gwrench, h.gwrench, pushes);
        check_same("dq", alone.dq, h.dq, tangents);
        check_same("dv", alone.dv, h.dv, tangents);
        assert_true(fabs(h.gwrench[6]) > 0 && fabs(h.dv[(size_t)(STEPS * n->nv)]) > 0);
        wrench[pushes - 1] += NAN;
        check_refused(&f, tg_batch_rollout(f.b, &input, NULL, &out, NULL, NULL), TG_ERR_VALUE,
                      "environment 6: wrench[");
        wrench[pushes - 1] = noise((int)pushes - 1, 7);
        tg_batch_tape_destroy(tape);
        drop_held(&h);
    }
    drop_held(&alone);
    free(wrench);
    free(g);
    close_fleet(&f);
}

/* ---- progress and failures ---- */

typedef struct log
{
    int calls;
    int64_t last, total;
    int most;
} log_;

static bool note(void *user, int64_t done, int64_t total)
{
    log_ *l = user;
    assert_true(done > l->last && done <= total);
    l->last = done;
    l->total = total;
    return ++l->calls < l->most;
}

static void test_progress_and_stop(void **state)
{
    (void)state;
    enum
    {
        LONG = 5000000 /* ten seconds and more: nobody arrives before the third call, after 0.3 s */
    };
    fleet f = open_fleet("models/quadruped.xml", NULL, 4, 2, 1);
    log_ l = {.most = 3};
    double *q = numbers((size_t)(4 * f.n.nq));
    memcpy(q, f.q, sizeof(double) * (size_t)(4 * f.n.nq));
    tg_batch_state last = {f.q, f.v, f.act};
    tg_batch_input in = {.count = 4, .steps = LONG, .q = f.q, .v = f.v, .act = f.act, .progress = note, .user = &l};
    assert_int_equal(tg_batch_rollout(f.b, &in, NULL, NULL, &last, NULL), TG_ERR_CANCELLED);
    assert_non_null(strstr(tg_batch_message(f.b), "stopped after"));
    assert_int_equal(l.calls, 3);
    assert_int_equal(l.total, 4 * LONG);
    check_same("q", q, f.q, (size_t)(4 * f.n.nq));
    free(q);
    close_fleet(&f);
}

/* One environment gets a NaN in the middle: its rows end there, it stays where it was, the others arrive. */
static void test_one_fails(void **state)
{
    (void)state;
    fleet f = open_fleet("models/quadruped.xml", "body.*.mass", COUNT, 2, STEPS);
    flights r = new_flights(&f);
    tg_batch_rollout_request request = request_of(&r);
    tg_batch_tape *tape = NULL;
    size_t nq = (size_t)f.n.nq;
    double *q = numbers(COUNT * nq);
    memcpy(q, f.q, sizeof(double) * COUNT * nq);
    f.u[(3 * STEPS + 11) * f.n.nu] = NAN;
    tg_batch_input in = input_of(&f);
    tg_batch_state last = {f.q, f.v, f.act};
    assert_int_equal(tg_batch_tape_create(f.b, COUNT, STEPS, false, &tape, NULL), TG_OK);
    check_refused(&f, tg_batch_rollout(f.b, &in, tape, &r.out, &last, NULL), TG_ERR_VALUE,
                  "environment 3: control.u[0]");
    check_same("q", q + 3 * nq, f.q + 3 * nq, nq);
    const double *rows = r.out.q + 3 * (STEPS + 1) * nq;
    assert_true(!isnan(rows[11 * nq]) && isnan(rows[12 * nq]) && isnan(rows[STEPS * nq]));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(memcmp(q + (size_t)i * nq, f.q + (size_t)i * nq, sizeof(double) * nq) == 0, i == 3);
    check_refused(&f, tg_batch_rollout_derivatives(f.b, tape, &request), TG_ERR_STALE,
                  "environment 3: its rollout failed");
    assert_true(isnan(r.in.q[3 * f.n.nv]) && isfinite(r.in.q[4 * f.n.nv]) && isfinite(r.sum[0]));
    in.strict = true;
    check_refused(&f, tg_batch_rollout(f.b, &in, tape, NULL, NULL, NULL), TG_ERR_VALUE, "environment 3: u[");
    tg_batch_tape_destroy(tape);
    free(q);
    drop_flights(&r);
    close_fleet(&f);
}

static void test_refusals(void **state)
{
    (void)state;
    fleet f = open_fleet("models/quadruped.xml", NULL, COUNT, 1, STEPS);
    flights r = new_flights(&f);
    tg_batch_rollout_request request = request_of(&r);
    tg_batch_tape *tape = NULL;
    tg_batch_input in = input_of(&f);
    assert_int_equal(tg_batch_tape_create(f.b, 0, STEPS, false, &tape, NULL), TG_ERR_VALUE);
    assert_int_equal(tg_batch_tape_create(f.b, COUNT, STEPS - 1, false, &tape, NULL), TG_OK);
    check_refused(&f, tg_batch_rollout_derivatives(f.b, tape, &request), TG_ERR_STALE, "no rollout");
    check_refused(&f, tg_batch_rollout(f.b, &in, tape, NULL, NULL, NULL), TG_ERR_CAPACITY,
                  "the tape is for 19 steps of 7");
    in.steps = 0;
    check_refused(&f, tg_batch_rollout(f.b, &in, NULL, NULL, NULL, NULL), TG_ERR_VALUE, "0 steps");
    in.steps = STEPS;
    in.hold = -1;
    check_refused(&f, tg_batch_rollout(f.b, &in, NULL, NULL, NULL, NULL), TG_ERR_VALUE, "in.hold = -1");
    tg_batch_tape_destroy(tape);
    drop_flights(&r);
    close_fleet(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_singles),   cmocka_unit_test(test_rollout_is_steps),
        cmocka_unit_test(test_progress_and_stop), cmocka_unit_test(test_one_fails),
        cmocka_unit_test(test_refusals),          cmocka_unit_test(test_holds_and_wrenches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
