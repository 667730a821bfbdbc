#include "rollouts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "tangere/tangere.h"

enum
{
    SETTLE = 100, /* steps before the rollout starts */
    ROOM = 256    /* entries of the cache */
};

/* One rollout with everything it needs. */
typedef struct flight
{
    tg_model *m;
    tg_work *w;
    tg_tape *tape;
    tg_sizes n;
    int steps;
    tg_state start;
    tg_cache cache;
    double *controls, *gradient;     /* of every step; with respect to every state's q */
    double *dq, *dv, *du, *dt, *par; /* with respect to what went in */
} flight;

static void need(const flight *f, tg_status status)
{
    if (status != TG_OK)
        bench_die("rollout: %s", tg_work_message(f->w));
}

/* Seconds that this thread has worked. */
static double work_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double *numbers(int count)
{
    return bench_alloc((size_t)count + 1, sizeof(double));
}

static void stand(flight *f)
{
    double *u = numbers(f->n.nu);
    tg_error error;
    if (tg_key_get(f->m, 0, NULL, f->start.q, f->start.v, f->start.act, u, &error) != TG_OK)
        bench_die("%s", error.message);
    for (int i = 0; i < SETTLE; i++)
        need(f, tg_step(f->m, f->w, NULL, &f->start, &(tg_control){.u = u}, &f->start, NULL));
    for (int i = 0; i < f->steps * f->n.nu; i++)
        f->controls[i] = u[i % f->n.nu] + 0.01 * sin(i);
    for (int t = 0; t <= f->steps; t += 10)
        for (int i = 0; i < f->n.nv; i++)
            f->gradient[t * f->n.nv + i] = cos(7 * i);
    free(u);
}

static flight take_off(const char *path, int steps, bool checkpoints)
{
    flight f = {.steps = steps};
    tg_error error;
    if (tg_load(path, NULL, &f.m, &error) != TG_OK || tg_work_create(f.m, &f.w, &error) != TG_OK ||
        tg_tape_create(f.m, steps, checkpoints, &f.tape, &error) != TG_OK)
        bench_die("%s", error.message);
    f.n = tg_model_sizes(f.m);
    f.cache = (tg_cache){.capacity = ROOM, .entry = bench_alloc(ROOM, sizeof(tg_cache_entry))};
    f.start = (tg_state){numbers(f.n.nq), numbers(f.n.nv), numbers(f.n.na), NULL};
    f.controls = numbers(steps * f.n.nu);
    f.gradient = numbers((steps + 1) * f.n.nv);
    f.dq = numbers(f.n.nv);
    f.dv = numbers(f.n.nv);
    f.du = numbers(steps * f.n.nu);
    f.dt = numbers(1);
    f.par = numbers(f.n.nparams);
    f.start.cache = &f.cache;
    return f;
}

static void land(flight *f)
{
    double *owned[] = {f->start.q, f->start.v, f->start.act, f->controls, f->gradient,
                       f->dq,      f->dv,      f->du,        f->dt,       f->par};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    free(f->cache.entry);
    tg_tape_destroy(f->tape);
    tg_work_destroy(f->w);
    tg_model_destroy(f->m);
}

static double fly(flight *f, double *contacts)
{
    tg_controls controls = {.steps = f->steps, .u = f->controls};
    tg_info worst;
    double start = work_clock();
    need(f, tg_rollout(f->m, f->w, f->tape, NULL, &f->start, &controls, NULL, &worst));
    *contacts = worst.contacts;
    return work_clock() - start;
}

static double fly_back(flight *f, bool params)
{
    tg_rollout_gradient in = {.q = f->dq, .v = f->dv, .u = f->du};
    tg_trajectory out = {.q = f->gradient};
    if (params)
    {
        in.dt = f->dt;
        in.params = f->par;
    }
    double start = work_clock();
    need(f, tg_rollout_vjp(f->m, f->w, f->tape, &out, &in, NULL));
    return work_clock() - start;
}

bench_rollout bench_rollout_of(const char *path, int steps, bool checkpoints, int repetitions)
{
    flight f = take_off(path, steps, checkpoints);
    size_t n = (size_t)repetitions;
    double *time[3] = {numbers(repetitions), numbers(repetitions), numbers(repetitions)}, us = 1e6 / steps;
    bench_rollout out = {.nv = f.n.nv};
    stand(&f);
    for (size_t k = 0; k < n; k++)
    {
        time[0][k] = fly(&f, &out.contacts);
        time[1][k] = fly_back(&f, false);
        if (checkpoints) /* so that both ways back start from the last segment */
            fly(&f, &out.contacts);
        time[2][k] = fly_back(&f, true);
    }
    out.forward = us * bench_median(time[0], n);
    out.backward = us * bench_median(time[1], n);
    out.params = us * bench_median(time[2], n);
    out.bytes = tg_tape_bytes(f.tape);
    for (int i = 0; i < 3; i++)
        free(time[i]);
    land(&f);
    return out;
}
