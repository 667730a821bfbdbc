#include "step_scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum
{
    RESET_SECONDS = 2
};

void scene_open(scene *s, const char *name, const char *path, int room)
{
    *s = (scene){.name = name};
    char message[1000] = "";
    tg_error error;
    if (tg_load(path, NULL, &s->m, &error) != TG_OK)
        bench_die("%s", error.message);
    s->mj = mj_loadXML(path, NULL, message, sizeof message);
    if (s->mj == NULL)
        bench_die("MuJoCo: %s", message);
    s->nq = s->mj->nq;
    s->nv = s->mj->nv;
    s->na = s->mj->na;
    s->nu = s->mj->nu;
    s->width = s->nq + s->nv + s->na + s->nu;
    tg_sizes n = tg_model_sizes(s->m);
    if (s->nq != n.nq || s->nv != n.nv || s->na != n.na || s->nu != n.nu ||
        tg_work_create_for(s->m, room, &s->w, &error) != TG_OK)
        bench_die("%s: not the same model, or no memory", path);
    s->data = mj_makeData(s->mj);
    s->dt = s->mj->opt.timestep;
    s->cache = (tg_cache){room, 0, bench_alloc((size_t)room, sizeof(tg_cache_entry))};
    s->q = bench_alloc((size_t)s->nq + 1, sizeof(double));
    s->v = bench_alloc((size_t)s->nv + 1, sizeof(double));
    s->act = bench_alloc((size_t)s->na + 1, sizeof(double));
}

void scene_close(scene *s)
{
    mj_deleteData(s->data);
    mj_deleteModel(s->mj);
    tg_work_destroy(s->w);
    tg_model_destroy(s->m);
    free(s->states);
    free(s->own);
    free(s->cache.entry);
    free(s->q);
    free(s->v);
    free(s->act);
}

/* ---- states ---- */

static double uniform(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)*seed / 2147483648.0 - 1;
}

static void restart(scene *s, double lift, double speed, unsigned *seed)
{
    mjModel *mj = s->mj;
    mj_resetData(mj, s->data);
    if (mj->nkey > 0)
        mj_resetDataKeyframe(mj, s->data, 0);
    if (mj->jnt_type[0] == mjJNT_FREE)
        s->data->qpos[2] += lift;
    else if (mj->jnt_type[0] == mjJNT_SLIDE && mj->njnt > 1)
        s->data->qpos[1] += lift;
    for (int i = 0; i < mj->nv; i++)
        s->data->qvel[i] = speed * uniform(seed);
}

/* Controls: those of the first keyframe (or the middle of their ranges) + 10 % of half the range times filtered noise;
 * a robot on a fixed base is sent to random targets. */
static void steer(scene *s, int step, int period, double *noise, unsigned *seed)
{
    const mjModel *mj = s->mj;
    bool fixed = mj->jnt_type[0] == mjJNT_HINGE;
    for (int i = 0; i < mj->nu; i++)
    {
        const mjtNum *range = mj->actuator_ctrlrange + 2 * i;
        double half = mj->actuator_ctrllimited[i] ? 0.5 * (range[1] - range[0]) : 1;
        double middle = mj->actuator_ctrllimited[i] ? 0.5 * (range[0] + range[1]) : 0;
        if (fixed && step % (period / 4) == 0)
            s->data->ctrl[i] = middle + 0.5 * half * uniform(seed);
        noise[i] += 0.05 * (uniform(seed) - noise[i]);
        if (!fixed)
            s->data->ctrl[i] = (mj->nkey > 0 ? mj->key_ctrl[i] : middle) + 0.1 * half * 4 * noise[i];
    }
}

static double *state_of(const scene *s, int i)
{
    return s->states + (size_t)i * (size_t)s->width;
}

static void keep(scene *s, int i)
{
    double *x = state_of(s, i);
    memcpy(x, s->data->qpos, sizeof(double) * (size_t)s->nq);
    memcpy(x + s->nq, s->data->qvel, sizeof(double) * (size_t)s->nv);
    memcpy(x + s->nq + s->nv, s->data->act, sizeof(double) * (size_t)s->na);
    memcpy(x + s->nq + s->nv + s->na, s->data->ctrl, sizeof(double) * (size_t)s->nu);
}

void scene_record(scene *s, int skip, int nstate, double lift, double speed)
{
    unsigned seed = 1;
    int period = (int)(RESET_SECONDS / s->mj->opt.timestep);
    double *noise = bench_alloc((size_t)s->nu + 1, sizeof *noise);
    s->nstate = nstate;
    s->states = bench_alloc((size_t)nstate * (size_t)s->width, sizeof(double));
    for (int i = 0; i < skip + nstate; i++)
    {
        if (i % period == 0)
            restart(s, lift, speed, &seed);
        steer(s, i % period, period, noise, &seed);
        if (i >= skip)
            keep(s, i - skip);
        mj_step(s->mj, s->data);
    }
    free(noise);
}

void scene_record_own(scene *s, int skip, int nstate, double lift, double speed)
{
    unsigned seed = 1;
    tg_options options = tg_default_options();
    options.dt = s->dt;
    s->nstate = nstate;
    restart(s, lift, speed, &seed);
    memcpy(s->q, s->data->qpos, sizeof(double) * (size_t)s->nq);
    memcpy(s->v, s->data->qvel, sizeof(double) * (size_t)s->nv);
    s->own = bench_alloc((size_t)s->nstate * (size_t)s->width, sizeof(double));
    s->cache.count = 0;
    for (int i = 0; i < skip + s->nstate; i++)
    {
        tg_state state = {s->q, s->v, s->act, &s->cache};
        double *x = i < skip ? s->own : s->own + (size_t)(i - skip) * (size_t)s->width;
        memcpy(x, s->q, sizeof(double) * (size_t)s->nq);
        memcpy(x + s->nq, s->v, sizeof(double) * (size_t)s->nv);
        if (tg_step(s->m, s->w, &options, &state, NULL, &state, NULL) != TG_OK)
            bench_die("%s, step %d: %s", s->name, i, tg_work_message(s->w));
    }
}

/* ---- the calls ---- */

/* A reading of the processor's time of this thread costs 0.3 us, but what else runs on the machine does not count. */
static double scene_clock(const scene *s)
{
    struct timespec t;
    if (!s->processor_time)
        return bench_clock();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void peer_pass(scene *s, double *smallest, scene_times *sum)
{
    mj_resetData(s->mj, s->data);
    for (int i = 0; i < s->nstate; i++)
    {
        const double *x = state_of(s, i);
        memcpy(s->data->qpos, x, sizeof(double) * (size_t)s->nq);
        memcpy(s->data->qvel, x + s->nq, sizeof(double) * (size_t)s->nv);
        memcpy(s->data->act, x + s->nq + s->nv, sizeof(double) * (size_t)s->na);
        memcpy(s->data->ctrl, x + s->nq + s->nv + s->na, sizeof(double) * (size_t)s->nu);
        double start = scene_clock(s);
        mj_step(s->mj, s->data);
        double time = 1e6 * (scene_clock(s) - start);
        smallest[i] = smallest[i] == 0 || time < smallest[i] ? time : smallest[i];
        if (i < s->lead)
            continue;
        int iterations = 0;
        for (int k = 0; k < s->data->nisland || k < 1; k++)
            iterations += k < mjNISLAND ? s->data->solver_niter[k] : 0;
        sum->contacts += (double)s->data->ncon / (s->nstate - s->lead);
        sum->iterations += (double)iterations / (s->nstate - s->lead);
        sum->most_iterations = iterations > sum->most_iterations ? iterations : sum->most_iterations;
    }
}

static void own_pass(scene *s, double *smallest, scene_times *sum)
{
    tg_options options = tg_default_options();
    options.dt = s->dt;
    s->cache.count = 0;
    for (int i = 0; i < s->nstate; i++)
    {
        double *x = (s->own != NULL ? s->own : s->states) + (size_t)i * (size_t)s->width;
        tg_state in = {x, x + s->nq, x + s->nq + s->nv, &s->cache}, out = {s->q, s->v, s->act, &s->cache};
        tg_control control = {.u = x + s->nq + s->nv + s->na};
        double start = scene_clock(s);
        tg_status status = tg_step(s->m, s->w, &options, &in, &control, &out, &s->info);
        double time = 1e6 * (scene_clock(s) - start);
        if (status != TG_OK)
            bench_die("%s, state %d: %s", s->name, i, tg_work_message(s->w));
        smallest[i] = smallest[i] == 0 || time < smallest[i] ? time : smallest[i];
        if (i < s->lead)
            continue;
        sum->contacts += (double)s->info.contacts / (s->nstate - s->lead);
        sum->iterations += (double)s->info.iterations / (s->nstate - s->lead);
        sum->most_iterations = s->info.iterations > sum->most_iterations ? s->info.iterations : sum->most_iterations;
        sum->residual = fmax(sum->residual, s->info.residual);
        sum->unsolved += s->info.status == TG_STEP_PARTIAL;
    }
}

static void pass(scene *s, int engine, double *smallest, scene_times *sum)
{
    mjOption own = s->mj->opt;
    if (engine == SCENE_STRICT)
    {
        s->mj->opt.cone = mjCONE_ELLIPTIC;
        s->mj->opt.solver = mjSOL_NEWTON;
        s->mj->opt.tolerance = 1e-10;
        s->mj->opt.iterations = 100;
    }
    *sum = (scene_times){0};
    if (engine == SCENE_OWN)
        own_pass(s, smallest, sum);
    else
        peer_pass(s, smallest, sum);
    s->mj->opt = own;
}

void scene_measure(scene *s, int engines, int repetitions, scene_times times[SCENE_ENGINES])
{
    double *smallest[SCENE_ENGINES];
    for (int k = 0; k < engines; k++)
        smallest[k] = bench_alloc((size_t)s->nstate, sizeof(double));
    for (int r = 0; r < repetitions; r++)
        for (int k = 0; k < engines; k++)
            pass(s, k, smallest[k], &times[k]);
    for (int k = 0; k < engines; k++)
    {
        double *counted = smallest[k] + s->lead;
        int count = s->nstate - s->lead;
        for (int i = 0; i < count; i++)
            times[k].mean += counted[i] / count;
        times[k].median = bench_median(counted, (size_t)count); /* sorts */
        times[k].most = counted[count - 1];
        free(smallest[k]);
    }
}
