/* bench_cables: steps and derivatives of models/superball.xml on the ground, beside mj_step.
 *
 * Both engines roll from the same start with the same controls, each along its own trajectory, one core, dt of the file
 * (1 ms). The same trajectories are run many times, engines in turn; each step keeps the smallest of its times.
 *
 *     bench_cables [--repetitions N] [--steps N] [--model FILE] */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "step_scene.h"

enum
{
    ROOM = 64,     /* contact points */
    STARTS = 4,    /* trajectories */
    HOLD = 100,    /* steps with the same controls */
    RODS_DOFS = 6, /* of a free body */
    RODS_Q = 7
};

typedef enum engine
{
    PEER,
    STEP,
    STEP_VJP,        /* with gradients of q, v, act, u */
    STEP_VJP_PARAMS, /* and of all parameters */
    IMPLICIT,
    IMPLICIT_VJP,
    ENGINES
} engine;

static const char *const engine_name[ENGINES] = {"mj_step",
                                                 "tg_step",
                                                 "tg_step + VJP",
                                                 "tg_step + VJP, with parameters",
                                                 "tg_step, implicit tendons",
                                                 "tg_step + VJP, implicit tendons"};

typedef struct runner
{
    scene s;
    int steps;
    double *u, *gradient, *cotangent, *params;
    double contacts[ENGINES];
    int unsolved;
} runner;

static double uniform(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)*seed / 2147483648.0 - 1;
}

/* free bodies move together, each trajectory in a direction of its own */
static void begin(runner *r, int start)
{
    scene *s = &r->s;
    double angle = 2 * start, speed = 1 + 0.5 * start;
    mj_resetData(s->mj, s->data);
    for (int b = 0; b < s->nv / RODS_DOFS; b++)
    {
        s->data->qvel[RODS_DOFS * b] = speed * cos(angle);
        s->data->qvel[RODS_DOFS * b + 1] = speed * sin(angle);
    }
    memcpy(s->q, s->data->qpos, sizeof(double) * (size_t)s->nq);
    memcpy(s->v, s->data->qvel, sizeof(double) * (size_t)s->nv);
    memset(s->act, 0, sizeof(double) * (size_t)s->na);
    s->cache.count = 0;
}

static void steer(runner *r, int step, unsigned *seed)
{
    for (int i = 0; i < r->s.nu && step % HOLD == 0; i++)
        r->u[i] = 20 * uniform(seed);
}

static double peer_step(runner *r)
{
    scene *s = &r->s;
    memcpy(s->data->ctrl, r->u, sizeof(double) * (size_t)s->nu);
    double start = bench_clock();
    mj_step(s->mj, s->data);
    return bench_clock() - start;
}

static double own_step(runner *r, engine e)
{
    scene *s = &r->s;
    tg_options options = tg_default_options();
    options.dt = s->dt;
    options.implicit_tendons = e >= IMPLICIT ? TG_ON : TG_OFF;
    tg_state at = {s->q, s->v, s->act, &s->cache};
    tg_control control = {.u = r->u};
    int nv = s->nv;
    double *g = r->gradient;
    tg_cotangent out = {.q = r->cotangent, .v = r->cotangent + nv, .act = r->cotangent + 2 * nv};
    tg_cotangent in = {.q = g, .v = g + nv, .act = g + 2 * nv, .u = g + 2 * nv + s->na};
    in.params = e == STEP_VJP_PARAMS ? r->params : NULL;
    bool reverse = e == STEP_VJP || e == STEP_VJP_PARAMS || e == IMPLICIT_VJP;
    double start = bench_clock();
    tg_status status = tg_step(s->m, s->w, &options, &at, &control, &at, &s->info);
    if (status == TG_OK && reverse)
        status = tg_step_vjp(s->m, s->w, &out, &in, NULL);
    double time = bench_clock() - start;
    if (status != TG_OK)
        bench_die("%s", tg_work_message(s->w));
    r->unsolved += s->info.status != TG_STEP_SOLVED;
    return time;
}

static void pass(runner *r, engine e, double *smallest)
{
    r->contacts[e] = 0;
    for (int start = 0; start < STARTS; start++)
    {
        unsigned seed = 1 + (unsigned)start;
        begin(r, start);
        for (int i = 0; i < r->steps; i++)
        {
            double *best = &smallest[start * r->steps + i];
            steer(r, i, &seed);
            double time = 1e6 * (e == PEER ? peer_step(r) : own_step(r, e));
            *best = *best == 0 || time < *best ? time : *best;
            r->contacts[e] += (double)(e == PEER ? r->s.data->ncon : r->s.info.contacts) / (r->steps * STARTS);
        }
    }
}

static void print_times(const runner *r, double *const smallest[ENGINES])
{
    double mean[ENGINES] = {0}, median[ENGINES];
    size_t count = (size_t)r->steps * STARTS;
    for (int e = 0; e < ENGINES; e++)
    {
        for (size_t i = 0; i < count; i++)
            mean[e] += smallest[e][i] / (double)count;
        median[e] = bench_median(smallest[e], count);
    }
    printf("| | median, us | mean | to mj_step: median | mean | contacts |\n| --- | --- | --- | --- | --- | --- |\n");
    for (int e = 0; e < ENGINES; e++)
        printf("| %s | %.2f | %.2f | %.3f | %.3f | %.2f |\n", engine_name[e], median[e], mean[e],
               median[e] / median[PEER], mean[e] / mean[PEER], r->contacts[e]);
    printf("\nImplicit to explicit step: %.3f (median), %.3f (mean). Steps that were not solved: %d.\n",
           median[IMPLICIT] / median[STEP], mean[IMPLICIT] / mean[STEP], r->unsolved);
}

int main(int argc, char **argv)
{
    int repetitions = 7, steps = 1000;
    const char *model = "models/superball.xml";
    for (int i = 1; i < argc; i++)
        if (i + 1 < argc && strcmp(argv[i], "--repetitions") == 0)
            repetitions = atoi(argv[++i]);
        else if (i + 1 < argc && strcmp(argv[i], "--steps") == 0)
            steps = atoi(argv[++i]);
        else if (i + 1 < argc && strcmp(argv[i], "--model") == 0)
            model = argv[++i];
        else
            bench_die("usage: bench_cables [--repetitions N] [--steps N] [--model FILE]");
    if (repetitions < 1 || steps < 1)
        bench_die("repetitions and steps must be positive");
    runner r = {.steps = steps};
    double *smallest[ENGINES];
    bench_pin(-1);
    scene_open(&r.s, "superball", model, ROOM);
    int width = 2 * r.s.nv + r.s.na + r.s.nu + 1;
    r.u = bench_alloc((size_t)r.s.nu + 1, sizeof(double));
    r.gradient = bench_alloc((size_t)width, sizeof(double));
    r.cotangent = bench_alloc((size_t)width, sizeof(double));
    r.params = bench_alloc((size_t)tg_model_sizes(r.s.m).nparams, sizeof(double));
    for (int i = 0; i < width; i++)
        r.cotangent[i] = sin(1 + i);
    for (int e = 0; e < ENGINES; e++)
        smallest[e] = bench_alloc((size_t)steps * STARTS, sizeof(double));
    for (int k = 0; k < repetitions; k++)
        for (int e = 0; e < ENGINES; e++)
            pass(&r, e, smallest[e]);
    bench_moment now = bench_now();
    printf("%s, MuJoCo %s, dt %g s, %d trajectories of %d steps, %d repetitions; %s, load %s\n\n", model,
           mj_versionString(), r.s.dt, STARTS, steps, repetitions, now.date, now.load);
    print_times(&r, smallest);
    for (int e = 0; e < ENGINES; e++)
        free(smallest[e]);
    free(r.u);
    free(r.gradient);
    free(r.cotangent);
    free(r.params);
    scene_close(&r.s);
    return 0;
}
