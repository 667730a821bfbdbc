/* bench_step: tg_step beside mj_step, along recorded trajectories.
 *
 * A trajectory is simulated with MuJoCo: every two seconds a new start, lifted 0.2 m, velocities within 0.3; controls = those of the first
 * keyframe (or the middle of their ranges) + 10 % of half the range times filtered noise; a robot on a fixed base is sent to random targets. Then both engines take one
 * step from each recorded state, each with the warm start that its own step from the state before left behind. Two settings of MuJoCo: the
 * model's own, and `strict` (elliptic cone, Newton, tolerance 1e-10, 100 iterations). Protocol: measure.c. */
#include <math.h>
#include <mujoco/mujoco.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tangere/step.h"

enum
{
    CACHE = 256,
    RESET_SECONDS = 2
};

_Noreturn void bench_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "bench_step: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

void *bench_alloc(size_t count, size_t size)
{
    size_t bytes = (count * size + 63) / 64 * 64;
    void *memory = aligned_alloc(64, bytes > 0 ? bytes : 64);
    if (memory == NULL)
        bench_die("no memory for %zu bytes", bytes);
    return memset(memory, 0, bytes);
}

/* ---- one robot in both engines ---- */

typedef struct scene
{
    const char *name;
    tg_model *m;
    tg_work *w;
    mjModel *mj;
    mjData *data;
    double dt;
    int nstate, nq, nv, na, nu, width; /* of a recorded state: q, v, act, u */
    double *states;
    tg_cache cache;
    double *q, *v, *act;
    tg_info info;
} scene;

/* condim-3 feet: the pairs of the floor take it from the geoms */
static void set_condim(scene *s, int condim)
{
    for (int i = 0; i < s->mj->ngeom; i++)
        s->mj->geom_condim[i] = condim;
}

static void open_scene(scene *s, const char *path)
{
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
    if (s->nq != n.nq || s->nv != n.nv || s->na != n.na || s->nu != n.nu || tg_work_create(s->m, &s->w, &error) != TG_OK)
        bench_die("%s: not the same model, or no memory", path);
    s->data = mj_makeData(s->mj);
    s->cache = (tg_cache){CACHE, 0, bench_alloc(CACHE, sizeof(tg_cache_entry))};
    s->q = bench_alloc((size_t)s->nq + 1, sizeof(double));
    s->v = bench_alloc((size_t)s->nv + 1, sizeof(double));
    s->act = bench_alloc((size_t)s->na + 1, sizeof(double));
}

static void close_scene(scene *s)
{
    mj_deleteData(s->data);
    mj_deleteModel(s->mj);
    tg_work_destroy(s->w);
    tg_model_destroy(s->m);
    free(s->states);
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

static void restart(scene *s, unsigned *seed)
{
    mjModel *mj = s->mj;
    mj_resetData(mj, s->data);
    if (mj->nkey > 0)
        mj_resetDataKeyframe(mj, s->data, 0);
    if (mj->jnt_type[0] == mjJNT_FREE)
        s->data->qpos[2] += 0.2;
    else if (mj->jnt_type[0] == mjJNT_SLIDE && mj->njnt > 1)
        s->data->qpos[1] += 0.2;
    for (int i = 0; i < mj->nv; i++)
        s->data->qvel[i] = 0.3 * uniform(seed);
}

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

static void record(scene *s, int nstate)
{
    unsigned seed = 1;
    int period = (int)(RESET_SECONDS / s->mj->opt.timestep);
    double *noise = bench_alloc((size_t)s->nu + 1, sizeof *noise);
    s->nstate = nstate;
    s->states = bench_alloc((size_t)nstate * (size_t)s->width, sizeof(double));
    for (int i = 0; i < nstate; i++)
    {
        if (i % period == 0)
            restart(s, &seed);
        steer(s, i % period, period, noise, &seed);
        double *x = state_of(s, i);
        memcpy(x, s->data->qpos, sizeof(double) * (size_t)s->nq);
        memcpy(x + s->nq, s->data->qvel, sizeof(double) * (size_t)s->nv);
        memcpy(x + s->nq + s->nv, s->data->act, sizeof(double) * (size_t)s->na);
        memcpy(x + s->nq + s->nv + s->na, s->data->ctrl, sizeof(double) * (size_t)s->nu);
        mj_step(s->mj, s->data);
    }
    free(noise);
}

/* ---- the calls ---- */

typedef struct sums
{
    double contacts, iterations, residual; /* mean, mean, worst */
    int most, partial;
} sums;

static void peer_pass(scene *s, double *smallest, sums *sum)
{
    mj_resetData(s->mj, s->data);
    for (int i = 0; i < s->nstate; i++)
    {
        const double *x = state_of(s, i);
        memcpy(s->data->qpos, x, sizeof(double) * (size_t)s->nq);
        memcpy(s->data->qvel, x + s->nq, sizeof(double) * (size_t)s->nv);
        memcpy(s->data->act, x + s->nq + s->nv, sizeof(double) * (size_t)s->na);
        memcpy(s->data->ctrl, x + s->nq + s->nv + s->na, sizeof(double) * (size_t)s->nu);
        double start = bench_clock();
        mj_step(s->mj, s->data);
        double time = 1e6 * (bench_clock() - start);
        smallest[i] = smallest[i] == 0 || time < smallest[i] ? time : smallest[i];
        int iterations = 0;
        for (int k = 0; k < s->data->nisland || k < 1; k++)
            iterations += k < mjNISLAND ? s->data->solver_niter[k] : 0;
        sum->contacts += (double)s->data->ncon / s->nstate;
        sum->iterations += (double)iterations / s->nstate;
        sum->most = iterations > sum->most ? iterations : sum->most;
    }
}

static void own_pass(scene *s, double *smallest, sums *sum)
{
    tg_options options = tg_default_options();
    options.dt = s->dt;
    s->cache.count = 0;
    for (int i = 0; i < s->nstate; i++)
    {
        double *x = state_of(s, i);
        tg_state in = {x, x + s->nq, x + s->nq + s->nv, &s->cache}, out = {s->q, s->v, s->act, &s->cache};
        tg_control control = {.u = x + s->nq + s->nv + s->na};
        double start = bench_clock();
        tg_status status = tg_step(s->m, s->w, &options, &in, &control, &out, &s->info);
        double time = 1e6 * (bench_clock() - start);
        if (status != TG_OK)
            bench_die("%s, state %d: %s", s->name, i, tg_work_message(s->w));
        smallest[i] = smallest[i] == 0 || time < smallest[i] ? time : smallest[i];
        sum->contacts += (double)s->info.contacts / s->nstate;
        sum->iterations += (double)s->info.iterations / s->nstate;
        sum->most = s->info.iterations > sum->most ? s->info.iterations : sum->most;
        sum->residual = fmax(sum->residual, s->info.residual);
        sum->partial += s->info.status != TG_STEP_SOLVED;
    }
}

static double mean(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] / n;
    return sum;
}

static void set_strict(scene *s)
{
    s->mj->opt.cone = mjCONE_ELLIPTIC;
    s->mj->opt.solver = mjSOL_NEWTON;
    s->mj->opt.tolerance = 1e-10;
    s->mj->opt.iterations = 100;
}

static void measure(scene *s, int repetitions)
{
    size_t n = (size_t)s->nstate;
    double *time[3];
    sums sum[3];
    mjOption own = s->mj->opt;
    for (int k = 0; k < 3; k++)
        time[k] = bench_alloc(n, sizeof(double));
    for (int r = 0; r < repetitions; r++)
    {
        memset(sum, 0, sizeof sum);
        own_pass(s, time[0], &sum[0]);
        s->mj->opt = own;
        peer_pass(s, time[1], &sum[1]);
        set_strict(s);
        peer_pass(s, time[2], &sum[2]);
        s->mj->opt = own;
    }
    double average[3], median[3];
    for (int k = 0; k < 3; k++)
    {
        average[k] = mean(time[k], s->nstate);
        median[k] = bench_median(time[k], n);
    }
    printf("| %s | %.2f | %.2f | %.2f | **%.2f** | %.2f | %.2f | %.2f | %.2f | %.1f / %.1f | %.2f (%d) / %.2f (%d) / %.2f (%d) | %.1e "
           "(%d) |\n",
           s->name, median[0], median[1], median[2], median[0] / median[1], median[0] / median[2], average[0],
           average[1], average[2], sum[0].contacts, sum[1].contacts, sum[0].iterations, sum[0].most, sum[1].iterations,
           sum[1].most, sum[2].iterations, sum[2].most, sum[0].residual, sum[0].partial);
    fflush(stdout);
    for (int k = 0; k < 3; k++)
        free(time[k]);
}

static const struct
{
    const char *name, *file;
} robots[] = {
    {"half-cheetah", "gymnasium/half_cheetah.xml"}, {"humanoid", "mujoco_humanoid/humanoid.xml"},
    {"UR5e", "universal_robots_ur5e/scene.xml"},    {"Go1", "unitree_go1/scene.xml"},
    {"H1", "unitree_h1/scene.xml"},                 {"Atlas", "atlas/scene.xml"},
};

int main(int argc, char **argv)
{
    const char *shared = getenv("TANGERE_SHARED");
    int repetitions = argc > 1 ? atoi(argv[1]) : 7, nstate = argc > 2 ? atoi(argv[2]) : 5000;
    const char *only = argc > 3 ? argv[3] : NULL;
    if (argc > 4 || repetitions < 1 || nstate < 1)
        bench_die("usage: bench_step [REPETITIONS [STATES [ROBOT]]]; robots are read from $TANGERE_SHARED/robots");
    int cpu = bench_pin(-1);
    printf("Tangere %s, MuJoCo %s, core %d, %d repetitions, %d states; us, quiet\n\n", tg_version(), mj_versionString(),
           cpu, repetitions, nstate);
    printf("| robot | Tangere | MuJoCo | strict | ratio | to strict | mean: Tangere | MuJoCo | strict | contacts | "
           "iterations, mean (most) | residual (not solved) |\n|" );
    for (int i = 0; i < 12; i++)
        printf(" --- |");
    printf("\n");
    for (size_t i = 0; i < sizeof robots / sizeof *robots; i++)
    {
        scene s = {.name = robots[i].name};
        char path[1024];
        if (only != NULL && strcmp(only, s.name) != 0)
            continue;
        snprintf(path, sizeof path, "%s/robots/%s", shared != NULL ? shared : "../shared", robots[i].file);
        open_scene(&s, path);
        s.dt = s.mj->opt.timestep;
        record(&s, nstate);
        measure(&s, repetitions);
        close_scene(&s);
    }
    (void)set_condim;
    return 0;
}
