/* Steps of a batch: bit by bit those of single environments, for any number of threads and any order; failures, resets,
 * parameters. */
#include "fleet.h"

#include <sys/wait.h>
#include <unistd.h>

/* All that a step and its derivatives give, of one environment. */
typedef struct result
{
    double *q, *v, *act; /* after the step */
    double *A, *B, *P;   /* dv+/d(q, v), dv+/du, dq+/dparams */
    double *gq, *gv, *gu, *gtau, *gdt, *gparams;
    double *jq, *jv; /* along a direction */
    double residual;
    int contacts;
    double force[3]; /* of the first contact */
    tg_label label;
} result;

static result new_result(const tg_sizes *n, int k)
{
    size_t nv = (size_t)n->nv;
    return (result){.q = numbers((size_t)n->nq),
                    .v = numbers(nv),
                    .act = numbers((size_t)n->na),
                    .A = numbers(2 * nv * nv),
                    .B = numbers(nv * (size_t)n->nu),
                    .P = numbers(nv * (size_t)k),
                    .gq = numbers(nv),
                    .gv = numbers(nv),
                    .gu = numbers((size_t)n->nu),
                    .gtau = numbers(nv),
                    .gdt = numbers(1),
                    .gparams = numbers((size_t)k),
                    .jq = numbers(nv),
                    .jv = numbers(nv)};
}

static void drop_result(result *r)
{
    double *owned[] = {r->q,  r->v,  r->act,  r->A,   r->B,       r->P,  r->gq,
                       r->gv, r->gu, r->gtau, r->gdt, r->gparams, r->jq, r->jv};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
}

static void check_results(const tg_sizes *n, int k, const result *a, const result *b)
{
    size_t nv = (size_t)n->nv;
    check_same("q", a->q, b->q, (size_t)n->nq);
    check_same("v", a->v, b->v, nv);
    check_same("act", a->act, b->act, (size_t)n->na);
    check_same("A", a->A, b->A, 2 * nv * nv);
    check_same("B", a->B, b->B, nv * (size_t)n->nu);
    check_same("P", a->P, b->P, nv * (size_t)k);
    check_same("gq", a->gq, b->gq, nv);
    check_same("gv", a->gv, b->gv, nv);
    check_same("gu", a->gu, b->gu, (size_t)n->nu);
    check_same("gtau", a->gtau, b->gtau, nv);
    check_same("gdt", a->gdt, b->gdt, 1);
    check_same("gparams", a->gparams, b->gparams, (size_t)k);
    check_same("jq", a->jq, b->jq, nv);
    check_same("jv", a->jv, b->jv, nv);
    check_same("residual", &a->residual, &b->residual, 1);
    check_same("force", a->force, b->force, 3);
    check_same("margin", &a->label.margin, &b->label.margin, 1);
    assert_int_equal(a->contacts, b->contacts);
    assert_int_equal(a->label.kind, b->label.kind);
}

/* gradients of what came out, and a direction: the same for everybody */
static double given(int j)
{
    return sin(1 + 3 * j);
}

/* ---- one environment alone ---- */

typedef struct single
{
    tg_work *w;
    tg_params *params;
    tg_cache cache;
    double *q, *v, *act, *g, *all;
} single;

static single open_single(const fleet *f, int i)
{
    single s = {.q = numbers((size_t)f->n.nq),
                .v = numbers((size_t)f->n.nv),
                .act = numbers((size_t)f->n.na),
                .g = numbers((size_t)f->n.nv),
                .all = numbers((size_t)f->n.nparams)};
    s.cache = (tg_cache){.capacity = 1000, .entry = calloc(1000, sizeof(tg_cache_entry))};
    memcpy(s.q, f->q + i * f->n.nq, sizeof(double) * (size_t)f->n.nq);
    memcpy(s.v, f->v + i * f->n.nv, sizeof(double) * (size_t)f->n.nv);
    memcpy(s.act, f->act + i * f->n.na, sizeof(double) * (size_t)f->n.na);
    assert_int_equal(tg_work_create(f->m, &s.w, NULL), TG_OK);
    assert_int_equal(tg_params_create(f->m, &s.params, NULL), TG_OK);
    double *vector = tg_params_data(s.params);
    for (int j = 0; j < f->k; j++)
        vector[f->index[j]] = f->params[i * f->k + j];
    assert_int_equal(tg_params_changed(s.params, NULL), TG_OK);
    assert_int_equal(tg_work_set_params(s.w, s.params), TG_OK);
    return s;
}

static void close_single(single *s)
{
    tg_work_destroy(s->w);
    tg_params_destroy(s->params);
    double *owned[] = {s->q, s->v, s->act, s->g, s->all};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
    free(s->cache.entry);
}

static void step_single(const fleet *f, single *s, int i, int step, result *r)
{
    const tg_model *m = f->m;
    int row = i * f->steps + step;
    tg_state state = {s->q, s->v, s->act, &s->cache};
    tg_control control = {.u = f->u + row * f->n.nu, .tau = f->tau + row * f->n.nv};
    tg_info info;
    if (tg_step(m, s->w, NULL, &state, &control, &state, &info) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
    memcpy(r->q, s->q, sizeof(double) * (size_t)f->n.nq);
    memcpy(r->v, s->v, sizeof(double) * (size_t)f->n.nv);
    memcpy(r->act, s->act, sizeof(double) * (size_t)f->n.na);
    r->residual = info.residual;
    tg_step_contact contact[400];
    assert_int_equal(tg_step_contacts(m, s->w, contact, 400, &r->contacts), TG_OK);
    for (int j = 0; j < 3; j++)
        r->force[j] = r->contacts > 0 ? contact[0].force[j] : 0;
    tg_jacobian j = {.dv_dq = r->A,
                     .dv_dv = r->A + f->n.nv * f->n.nv,
                     .dv_du = r->B,
                     .dq_dparams = r->P,
                     .index = f->index,
                     .nindex = f->k};
    assert_int_equal(tg_step_jacobian(m, s->w, &j), TG_OK);
    for (int d = 0; d < f->n.nv; d++)
        s->g[d] = given(d);
    tg_cotangent out = {.q = s->g, .v = s->g},
                 in = {.q = r->gq, .v = r->gv, .u = r->gu, .tau = r->gtau, .dt = r->gdt, .params = s->all};
    assert_int_equal(tg_step_vjp(m, s->w, &out, &in, &r->label), TG_OK);
    for (int p = 0; p < f->k; p++)
        r->gparams[p] = s->all[f->index[p]];
    memset(s->all, 0, sizeof(double) * (size_t)f->n.nparams);
    for (int p = 0; p < f->k; p++)
        s->all[f->index[p]] += given(p);
    tg_cotangent along = {.q = s->g, .v = s->g, .params = s->all}, change = {.q = r->jq, .v = r->jv};
    assert_int_equal(tg_step_jvp(m, s->w, &along, &change, NULL), TG_OK);
}

/* ---- the batch ---- */

typedef struct arrays
{
    result all; /* fields [count, ...] */
    double *gout, *along, *sum;
    tg_info *info;
    tg_step_contact *contact;
    int *contacts;
    tg_label *label;
    int room;
} arrays;

static arrays new_arrays(const fleet *f)
{
    size_t count = (size_t)f->count;
    tg_sizes n = f->n;
    n.nq *= f->count, n.nu *= f->count, n.na *= f->count;
    arrays a = {.room = 4};
    a.all = new_result(&n, f->k * f->count);
    size_t nv = (size_t)f->n.nv;
    double **resized[] = {&a.all.v, &a.all.gq, &a.all.gv, &a.all.gtau, &a.all.jq, &a.all.jv};
    for (size_t i = 0; i < sizeof resized / sizeof resized[0]; i++)
    {
        free(*resized[i]);
        *resized[i] = numbers(count * nv);
    }
    free(a.all.A);
    free(a.all.gdt);
    a.all.A = numbers(2 * count * nv * nv);
    a.all.gdt = numbers(count);
    a.gout = numbers(count * nv);
    a.along = numbers(count * (size_t)f->k);
    a.sum = numbers((size_t)f->k);
    a.info = calloc(count, sizeof *a.info);
    a.contact = calloc(count * 4, sizeof *a.contact);
    a.contacts = calloc(count, sizeof *a.contacts);
    a.label = calloc(count, sizeof *a.label);
    for (int i = 0; i < f->count; i++)
    {
        for (int j = 0; j < f->n.nv; j++)
            a.gout[i * f->n.nv + j] = given(j);
        for (int j = 0; j < f->k; j++)
            a.along[i * f->k + j] = given(j);
    }
    return a;
}

static void drop_arrays(arrays *a)
{
    drop_result(&a->all);
    free(a->gout);
    free(a->along);
    free(a->sum);
    free(a->info);
    free(a->contact);
    free(a->contacts);
    free(a->label);
}

/* One step, in place; derivatives either with it or afterwards. */
static void step_batch(fleet *f, arrays *a, int step, bool later)
{
    size_t nn = (size_t)f->count * (size_t)(f->n.nv * f->n.nv);
    double *u = numbers((size_t)(f->count * f->n.nu)), *tau = numbers((size_t)(f->count * f->n.nv));
    for (int i = 0; i < f->count; i++)
    {
        int row = i * f->steps + step;
        memcpy(u + i * f->n.nu, f->u + row * f->n.nu, sizeof(double) * (size_t)f->n.nu);
        memcpy(tau + i * f->n.nv, f->tau + row * f->n.nv, sizeof(double) * (size_t)f->n.nv);
    }
    tg_batch_input in = input_of(f);
    in.u = u;
    in.tau = tau;
    tg_jacobian j = {
        .dv_dq = a->all.A, .dv_dv = a->all.A + nn, .dv_du = a->all.B, .dq_dparams = f->k > 0 ? a->all.P : NULL};
    tg_cotangent out = {.q = a->gout, .v = a->gout},
                 back = {.q = a->all.gq,
                         .v = a->all.gv,
                         .u = a->all.gu,
                         .tau = a->all.gtau,
                         .dt = a->all.gdt,
                         .params = f->k > 0 ? a->all.gparams : NULL},
                 along = {.q = a->gout, .v = a->gout, .params = f->k > 0 ? a->along : NULL},
                 change = {.q = a->all.jq, .v = a->all.jv};
    tg_batch_request request = {.info = a->info,
                                .contact = a->contact,
                                .room = a->room,
                                .contacts = a->contacts,
                                .jacobian = &j,
                                .vjp_out = &out,
                                .vjp_in = &back,
                                .params_sum = f->k > 0 ? a->sum : NULL,
                                .jvp_in = &along,
                                .jvp_out = &change,
                                .label = a->label};
    tg_batch_state state = {f->q, f->v, f->act};
    check_ok(f, tg_batch_step(f->b, &in, &state, later ? NULL : &request));
    if (later)
        check_ok(f, tg_batch_derivatives(f->b, f->k > 0 ? f->params : NULL, &request));
    free(u);
    free(tau);
}

static result result_of(const fleet *f, const arrays *a, int i)
{
    const result *all = &a->all;
    int nv = f->n.nv;
    result r = {.q = f->q + i * f->n.nq,
                .v = f->v + i * nv,
                .act = f->act + i * f->n.na,
                .A = numbers((size_t)(2 * nv * nv)),
                .B = all->B + i * nv * f->n.nu,
                .P = all->P + i * nv * f->k,
                .gq = all->gq + i * nv,
                .gv = all->gv + i * nv,
                .gu = all->gu + i * f->n.nu,
                .gtau = all->gtau + i * nv,
                .gdt = all->gdt + i,
                .gparams = all->gparams + i * f->k,
                .jq = all->jq + i * nv,
                .jv = all->jv + i * nv,
                .residual = a->info[i].residual,
                .contacts = a->contacts[i],
                .label = a->label[i]};
    memcpy(r.A, all->A + i * nv * nv, sizeof(double) * (size_t)(nv * nv));
    memcpy(r.A + nv * nv, all->A + (f->count + i) * nv * nv, sizeof(double) * (size_t)(nv * nv));
    for (int j = 0; j < 3; j++)
        r.force[j] = a->contacts[i] > 0 ? a->contact[i * a->room].force[j] : 0;
    return r;
}

/* The sum over environments is the one of a tree over their numbers. */
static void check_sum(const fleet *f, const arrays *a)
{
    double *rows = numbers((size_t)(f->count * f->k));
    memcpy(rows, a->all.gparams, sizeof(double) * (size_t)(f->count * f->k));
    for (int stride = 1; stride < f->count; stride *= 2)
        for (int i = 0; i + stride < f->count; i += 2 * stride)
            for (int j = 0; j < f->k; j++)
                rows[i * f->k + j] += rows[(i + stride) * f->k + j];
    check_same("sum", a->sum, rows, (size_t)f->k);
    free(rows);
}

static const struct
{
    const char *file, *pattern;
} models[] = {{"models/quadruped.xml", "geom.*.friction[0]"},
              {"models/planar_walker.xml", "body.*.mass"},
              {"models/humanoid36.xml", "joint.*.damping"},
              {"models/cable_toy.xml", NULL}};

enum
{
    COUNT = 7,
    STEPS = 4
};

static void compare_with_singles(const char *file, const char *pattern, int threads)
{
    fleet f = open_fleet(file, pattern, COUNT, threads, STEPS);
    assert_int_equal(tg_batch_threads(f.b), threads);
    arrays a = new_arrays(&f);
    single s[COUNT];
    result r = new_result(&f.n, f.k);
    int contacts = 0;
    for (int i = 0; i < COUNT; i++)
        s[i] = open_single(&f, i);
    for (int step = 0; step < STEPS; step++)
    {
        step_batch(&f, &a, step, step % 2 == 1);
        for (int i = 0; i < COUNT; i++)
        {
            step_single(&f, &s[i], i, step, &r);
            result mine = result_of(&f, &a, i);
            check_results(&f.n, f.k, &r, &mine);
            free(mine.A);
            const tg_cache *cache = tg_batch_cache(f.b, i);
            assert_int_equal(cache->count, s[i].cache.count);
            assert_memory_equal(cache->entry, s[i].cache.entry, sizeof(tg_cache_entry) * (size_t)cache->count);
            contacts += r.contacts;
        }
        if (f.k > 0)
            check_sum(&f, &a);
    }
    assert_true(contacts > 0 || pattern == NULL);
    for (int i = 0; i < COUNT; i++)
        close_single(&s[i]);
    drop_result(&r);
    drop_arrays(&a);
    close_fleet(&f);
}

static void test_same_as_singles(void **state)
{
    (void)state;
    const int threads[] = {1, 2, 3, 8};
    size_t count = sizeof models / sizeof models[0];
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) /* slow, and the others have all that it has */
    count = 2;
#endif
    for (size_t m = 0; m < count; m++)
        for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++)
            compare_with_singles(models[m].file, models[m].pattern, threads[t]);
}

/* An environment does not know its place: in the opposite order everybody does what they did. */
static void test_order(void **state)
{
    (void)state;
    fleet a = open_fleet("models/quadruped.xml", "body.*.mass", COUNT, 2, STEPS),
          b = open_fleet("models/quadruped.xml", "body.*.mass", COUNT, 3, STEPS);
#define REVERSE(x, size)                                                                                               \
    for (int i = 0; i < COUNT; i++)                                                                                    \
    memcpy(b.x + i * (size), a.x + (COUNT - 1 - i) * (size), sizeof(double) * (size_t)(size))
    REVERSE(q, a.n.nq);
    REVERSE(v, a.n.nv);
    REVERSE(u, STEPS * a.n.nu);
    REVERSE(tau, STEPS * a.n.nv);
    REVERSE(params, a.k);
#undef REVERSE
    arrays x = new_arrays(&a), y = new_arrays(&b);
    for (int step = 0; step < STEPS; step++)
    {
        step_batch(&a, &x, step, false);
        step_batch(&b, &y, step, false);
        for (int i = 0; i < COUNT; i++)
        {
            result p = result_of(&a, &x, i), q = result_of(&b, &y, COUNT - 1 - i);
            check_results(&a.n, a.k, &p, &q);
            free(p.A);
            free(q.A);
        }
    }
    drop_arrays(&x);
    drop_arrays(&y);
    close_fleet(&a);
    close_fleet(&b);
}

/* ---- failures ---- */

/* One of a thousand has a NaN: it alone stays where it was, and says so; strictly nobody moves. */
static void test_one_refused(void **state)
{
    (void)state;
    enum
    {
        MANY = 1000,
        BAD = 417
    };
    fleet f = open_fleet("models/cube.xml", "body.*.mass", MANY, 2, 1);
    size_t nq = (size_t)f.n.nq, nv = (size_t)f.n.nv;
    double *q = numbers(MANY * nq), *v = numbers(MANY * nv);
    memcpy(q, f.q, sizeof(double) * MANY * nq);
    memcpy(v, f.v, sizeof(double) * MANY * nv);
    tg_batch_state out = {f.q, f.v, f.act};
    tg_batch_input in = input_of(&f);
    f.tau[BAD * nv + 2] = NAN;
    in.strict = true;
    assert_int_equal(tg_batch_step(f.b, &in, &out, NULL), TG_ERR_VALUE);
    assert_non_null(strstr(tg_batch_message(f.b), "environment 417: tau[2] = nan"));
    check_same("q", q, f.q, MANY * nq);
    check_same("v", v, f.v, MANY * nv);
    in.strict = false;
    assert_int_equal(tg_batch_step(f.b, &in, &out, NULL), TG_ERR_VALUE);
    assert_non_null(strstr(tg_batch_message(f.b), "environment 417: control.tau[2] = nan"));
    check_same("q", q + BAD * nq, f.q + BAD * nq, nq);
    check_same("v", v + BAD * nv, f.v + BAD * nv, nv);
    for (int i = 0; i < MANY; i++)
    {
        assert_int_equal(tg_batch_error(f.b, i)->status, i == BAD ? TG_ERR_VALUE : TG_OK);
        if (i != BAD)
            assert_true(memcmp(q + (size_t)i * nq, f.q + (size_t)i * nq, sizeof(double) * nq) != 0);
    }
    /* its derivatives are not there, those of the others are, and the sum is theirs */
    double *gv = numbers(MANY * nv), *back = numbers(MANY * nv), *par = numbers((size_t)(MANY * f.k)), sum[8] = {0};
    for (size_t i = 0; i < MANY * nv; i++)
        gv[i] = 1;
    tg_cotangent given_v = {.v = gv}, wanted = {.v = back, .params = par};
    tg_batch_request request = {.vjp_out = &given_v, .vjp_in = &wanted, .params_sum = sum};
    assert_int_equal(tg_batch_derivatives(f.b, f.params, &request), TG_ERR_STALE);
    assert_non_null(strstr(tg_batch_message(f.b), "environment 417"));
    assert_true(isnan(back[BAD * nv]) && !isnan(back[(BAD + 1) * nv]) && isfinite(sum[0]) &&
                fabs(sum[0]) + fabs(sum[1]) > 0);
    /* parameters that make no model */
    f.tau[BAD * nv + 2] = 0;
    f.params[3 * f.k] = -1;
    assert_int_equal(tg_batch_step(f.b, &in, &out, NULL), TG_ERR_VALUE);
    assert_non_null(strstr(tg_batch_message(f.b), "environment 3:"));
    assert_non_null(strstr(tg_batch_message(f.b), "mass"));
    free(q);
    free(v);
    free(gv);
    free(back);
    free(par);
    close_fleet(&f);
}

static void check_refused(const fleet *f, tg_status status, tg_status expected, const char *message)
{
    assert_int_equal(status, expected);
    if (strstr(tg_batch_message(f->b), message) == NULL)
        fail_msg("'%s' does not say '%s'", tg_batch_message(f->b), message);
}

static void test_refusals(void **state)
{
    (void)state;
    fleet f = open_fleet("models/cube.xml", "body.*.mass", 3, 1, 1);
    tg_error error;
    tg_batch *b = NULL;
    tg_batch_def def = tg_default_batch();
    def.n = 0;
    assert_int_equal(tg_batch_create(f.m, &def, &b, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "n = 0 environments"));
    def.n = 2;
    def.threads = -1;
    assert_int_equal(tg_batch_create(f.m, &def, &b, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "threads = -1"));
    def.threads = 1;
    def.options.solver = "nobody";
    assert_int_equal(tg_batch_create(f.m, &def, &b, &error), TG_ERR_NAME);
    assert_non_null(strstr(error.message, "nobody"));
    assert_int_equal(tg_batch_create(f.m, &(tg_batch_def){.n = 1}, &b, &error), TG_ERR_ARGUMENT);
    assert_null(b);

    tg_batch_state out = {f.q, f.v, f.act};
    tg_batch_input in = input_of(&f);
    tg_batch_request info = {0};
    check_refused(&f, tg_batch_derivatives(f.b, f.params, &info), TG_ERR_STALE, "there was no step");
    in.count = 2;
    check_refused(&f, tg_batch_step(f.b, &in, &out, NULL), TG_ERR_ARGUMENT, "2 environments; the batch has 3");
    in.count = 3;
    in.q = NULL;
    check_refused(&f, tg_batch_step(f.b, &in, &out, NULL), TG_ERR_ARGUMENT, "in.q is NULL");
    in.q = f.q;
    check_ok(&f, tg_batch_step(f.b, &in, &out, NULL));
    check_ok(&f, tg_batch_derivatives(f.b, f.params, &info));
    f.params[1] *= 2;
    check_refused(&f, tg_batch_derivatives(f.b, f.params, &info), TG_ERR_STALE, "parameters have changed");
    f.params[1] /= 2;
    check_ok(&f, tg_batch_derivatives(f.b, f.params, &info));
    tg_params *others = NULL;
    assert_int_equal(tg_params_create(f.m, &others, NULL), TG_OK);
    assert_int_equal(tg_batch_set_params(f.b, others), TG_OK);
    check_refused(&f, tg_batch_derivatives(f.b, f.params, &info), TG_ERR_STALE, "parameters have changed");
    check_ok(&f, tg_batch_step(f.b, &in, &out, NULL));
    tg_params_data(others)[0] += 0;
    check_refused(&f, tg_batch_step(f.b, &in, &out, NULL), TG_ERR_STALE, "without tg_params_changed");
    assert_int_equal(tg_params_changed(others, NULL), TG_OK);
    check_refused(&f, tg_batch_derivatives(f.b, f.params, &info), TG_ERR_STALE, "parameters have changed");
    assert_int_equal(tg_batch_set_params(f.b, NULL), TG_OK);
    tg_params_destroy(others);
    check_refused(&f, tg_batch_name(f.b, &(int){-1}, 1), TG_ERR_ARGUMENT, "index[0] = -1");
    check_refused(&f, tg_batch_reset(f.b, &(int){3}, 1, -1, NULL), TG_ERR_ARGUMENT, "environment 3 of 3");
    check_refused(&f, tg_batch_reset(f.b, NULL, 0, 99, NULL), TG_ERR_ARGUMENT, "key 99");
    assert_int_equal(tg_batch_step(NULL, &in, &out, NULL), TG_ERR_ARGUMENT);
    close_fleet(&f);
}

/* ---- states ---- */

/* A reset touches the chosen ones only; a cache that was taken and set back continues bit by bit. */
static void test_reset_and_caches(void **state)
{
    (void)state;
    fleet f = open_fleet("models/quadruped.xml", NULL, 4, 2, 1);
    tg_batch_state out = {f.q, f.v, f.act};
    tg_batch_input in = input_of(&f);
    size_t nq = (size_t)f.n.nq;
    for (int i = 0; i < 4; i++) /* they stand */
        assert_int_equal(tg_key_get(f.m, 0, NULL, NULL, NULL, NULL, f.u + i * f.n.nu, NULL), TG_OK);
    for (int i = 0; i < 100; i++)
        check_ok(&f, tg_batch_step(f.b, &in, &out, NULL));
    double *q = numbers(4 * nq), *start = numbers(nq);
    memcpy(q, f.q, sizeof(double) * 4 * nq);
    assert_true(tg_batch_cache(f.b, 2)->count > 0);
    tg_cache saved = {.capacity = 100, .entry = calloc(100, sizeof(tg_cache_entry))};
    saved.count = tg_batch_cache(f.b, 1)->count;
    memcpy(saved.entry, tg_batch_cache(f.b, 1)->entry, sizeof(tg_cache_entry) * (size_t)saved.count);
    assert_int_equal(tg_batch_reset(f.b, &(int){2}, 1, 0, &out), TG_OK);
    assert_int_equal(tg_key_get(f.m, 0, NULL, start, NULL, NULL, NULL, NULL), TG_OK);
    check_same("others", q, f.q, 2 * nq);
    check_same("q", start, f.q + 2 * nq, nq);
    assert_int_equal(tg_batch_cache(f.b, 2)->count, 0);
    tg_batch_request info = {0};
    check_refused(&f, tg_batch_derivatives(f.b, NULL, &info), TG_ERR_STALE, "environment 2: there was no step");

    double *v = numbers((size_t)f.n.nv);
    memcpy(v, f.v + f.n.nv, sizeof(double) * (size_t)f.n.nv);
    check_ok(&f, tg_batch_step(f.b, &in, &out, NULL));
    double *next = numbers(nq);
    memcpy(next, f.q + nq, sizeof(double) * nq);
    memcpy(f.q + nq, q + nq, sizeof(double) * nq);
    memcpy(f.v + f.n.nv, v, sizeof(double) * (size_t)f.n.nv);
    assert_int_equal(tg_batch_set_cache(f.b, 1, &saved), TG_OK);
    check_ok(&f, tg_batch_step(f.b, &in, &out, NULL));
    check_same("continued", next, f.q + nq, nq);
    free(saved.entry);
    free(q);
    free(v);
    free(start);
    free(next);
    close_fleet(&f);
}

/* Cold steps are functions of their arguments, for any number of them. */
static void test_cold(void **state)
{
    (void)state;
    fleet f = open_fleet("models/quadruped.xml", NULL, 6, 3, 1);
    size_t nq = (size_t)f.n.nq, nv = (size_t)f.n.nv;
    double *q = numbers(6 * nq), *v = numbers(6 * nv);
    tg_batch_state out = {q, v, NULL};
    tg_batch_input in = input_of(&f);
    in.cold = true;
    for (int count = 1; count <= 6; count++)
    {
        in.count = count;
        check_ok(&f, tg_batch_step(f.b, &in, &out, NULL));
        for (int i = 0; i < count; i++)
        {
            single s = open_single(&f, i);
            result r = new_result(&f.n, 0);
            step_single(&f, &s, i, 0, &r);
            check_same("q", r.q, q + (size_t)i * nq, nq);
            check_same("v", r.v, v + (size_t)i * nv, nv);
            drop_result(&r);
            close_single(&s);
        }
    }
    assert_int_equal(tg_batch_cache(f.b, 0)->count, 0);
    free(q);
    free(v);
    close_fleet(&f);
}

/* Room for contacts grows, for all threads alike; up to the limit. */
static void test_room_grows(void **state)
{
    (void)state;
    tg_model *m = load_model("models/quadruped.xml");
    tg_sizes n = tg_model_sizes(m);
    for (int limited = 0; limited < 2; limited++)
    {
        tg_batch_def def = tg_default_batch();
        tg_batch *b = NULL;
        def.n = 3;
        def.threads = 2;
        def.contacts = 1;
        def.max_contacts = limited ? 2 : 100;
        assert_int_equal(tg_batch_create(m, &def, &b, NULL), TG_OK);
        double *q = numbers((size_t)(3 * n.nq)), *v = numbers((size_t)(3 * n.nv));
        tg_batch_state out = {q, v, NULL};
        tg_batch_reset(b, NULL, 0, 0, &out);
        tg_batch_input in = {.count = 3, .q = q, .v = v};
        tg_status status = TG_OK;
        size_t bytes = tg_batch_bytes(b);
        for (int i = 0; i < 60 && status == TG_OK; i++)
            status = tg_batch_step(b, &in, &out, NULL);
        assert_int_equal(status, limited ? TG_ERR_CAPACITY : TG_OK);
        if (!limited)
            assert_true(tg_batch_cache(b, 0)->count > 1 && tg_batch_bytes(b) > bytes);
        free(q);
        free(v);
        tg_batch_destroy(b);
    }
    tg_model_destroy(m);
}

/* A child process steps on with threads of its own, to the same bits. */
static void test_fork(void **state)
{
    (void)state;
#if !defined(__SANITIZE_THREAD__)
    fleet f = open_fleet("models/quadruped.xml", NULL, 5, 3, 1);
    tg_batch_state out = {f.q, f.v, f.act};
    tg_batch_input in = input_of(&f);
    check_ok(&f, tg_batch_step(f.b, &in, &out, NULL));
    size_t bytes = sizeof(double) * (size_t)(5 * f.n.nq);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0)
    {
        bool ok = tg_batch_step(f.b, &in, &out, NULL) == TG_OK && write(ends[1], f.q, bytes) == (ssize_t)bytes;
        tg_batch_destroy(f.b);
        _exit(ok ? 7 : 1);
    }
    double *q = numbers((size_t)(5 * f.n.nq));
    assert_int_equal(read(ends[0], q, bytes), (ssize_t)bytes);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    check_ok(&f, tg_batch_step(f.b, &in, &out, NULL));
    check_same("q", q, f.q, (size_t)(5 * f.n.nq));
    close(ends[0]);
    close(ends[1]);
    free(q);
    close_fleet(&f);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_singles),  cmocka_unit_test(test_order),
        cmocka_unit_test(test_one_refused),      cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_reset_and_caches), cmocka_unit_test(test_cold),
        cmocka_unit_test(test_room_grows),       cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
