/* A batch with its arrays, and controls and starts that differ from environment to environment: what the tests of
 * batches share. */
#ifndef TG_TEST_FLEET_H
#define TG_TEST_FLEET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tangere/tangere.h"

typedef struct fleet
{
    tg_model *m;
    tg_sizes n;
    int count, steps, k;
    tg_batch *b;
    double *q, *v, *act; /* states */
    double *u, *tau;     /* [count, steps, ...] */
    double *params;      /* [count, k] */
    int index[8];        /* of the named parameters */
} fleet;

static inline double *numbers(size_t n)
{
    double *x = malloc(sizeof *x * (n > 0 ? n : 1));
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
    return x;
}

static inline double noise(int a, int b)
{
    uint64_t x = (uint64_t)a * 0x9E3779B97F4A7C15u + (uint64_t)b * 0xD1B54A32D192ED03u + 1;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return (double)((x ^ (x >> 31)) >> 11) / 4503599627370496.0 - 1;
}

static inline tg_model *load_model(const char *file)
{
    char path[512];
    tg_model *m = NULL;
    tg_error error;
    snprintf(path, sizeof path, "%s/%s", TANGERE_ROOT, file);
    if (tg_load(path, NULL, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    return m;
}

/* Environments that start where the model does, each with velocities, controls and parameters of its own. Pattern: the
 * named parameters. */
static inline void fill_fleet(fleet *f)
{
    tg_batch_state state = {f->q, f->v, f->act};
    assert_int_equal(tg_batch_reset(f->b, NULL, 0, f->n.nkey > 0 ? 0 : -1, &state), TG_OK);
    for (int i = 0; i < f->count; i++)
    {
        for (int j = 0; j < f->n.nv; j++)
            f->v[i * f->n.nv + j] += 0.3 * noise(i, j);
        for (int j = 0; j < f->steps * f->n.nu; j++)
            f->u[i * f->steps * f->n.nu + j] = noise(i + 1000, j);
        for (int j = 0; j < f->steps * f->n.nv; j++)
            f->tau[i * f->steps * f->n.nv + j] = noise(i + 2000, j);
        for (int j = 0; j < f->k; j++)
            f->params[i * f->k + j] =
                tg_params_view(tg_model_params(f->m))[f->index[j]] * (i % 3 == 0 ? 1 : 1 + 0.2 * noise(i + 3000, j));
    }
}

static inline fleet open_fleet(const char *file, const char *pattern, int count, int threads, int steps)
{
    fleet f = {.m = load_model(file), .count = count, .steps = steps};
    tg_error error;
    f.n = tg_model_sizes(f.m);
    size_t n = (size_t)count, rows = n * (size_t)steps;
    f.q = numbers(n * (size_t)f.n.nq);
    f.v = numbers(n * (size_t)f.n.nv);
    f.act = numbers(n * (size_t)f.n.na);
    f.u = numbers(rows * (size_t)f.n.nu);
    f.tau = numbers(rows * (size_t)f.n.nv);
    f.params = numbers(n * 8);
    tg_batch_def def = tg_default_batch();
    def.n = count;
    def.threads = threads;
    if (tg_batch_create(f.m, &def, &f.b, &error) != TG_OK)
        fail_msg("%s", error.message);
    if (pattern != NULL)
    {
        assert_int_equal(tg_param_match(f.m, pattern, f.index, 8, &f.k, NULL), TG_OK);
        f.k = f.k < 8 ? f.k : 8;
    }
    assert_int_equal(tg_batch_name(f.b, f.index, f.k), TG_OK);
    fill_fleet(&f);
    return f;
}

static inline void close_fleet(fleet *f)
{
    double *owned[] = {f->q, f->v, f->act, f->u, f->tau, f->params};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
    tg_batch_destroy(f->b);
    tg_model_destroy(f->m);
}

/* input of a step (or rollout) with everything */
static inline tg_batch_input input_of(const fleet *f)
{
    return (tg_batch_input){.count = f->count,
                            .steps = f->steps,
                            .q = f->q,
                            .v = f->v,
                            .act = f->act,
                            .u = f->u,
                            .tau = f->tau,
                            .params = f->k > 0 ? f->params : NULL};
}

static inline void check_ok(const fleet *f, tg_status status)
{
    if (status != TG_OK)
        fail_msg("%s", tg_batch_message(f->b));
}

/* the same bits */
static inline void check_same(const char *what, const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0)
            fail_msg("%s[%zu]: %.17g and %.17g", what, i, a[i], b[i]);
}

#endif
