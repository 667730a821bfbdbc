/* bench_wide: tg_step beside mj_step on any model that both load, each engine along its own trajectory.
 *
 * Both start from the same state with the same controls and take their steps in turn, each timed by the processor time
 * of this thread, so that what else runs on the machine counts as little as possible. MuJoCo has the file's options,
 * Tangere its defaults. Of `--seconds` the second half counts. Both engines are deterministic: with `--repeat N` the
 * run is made N times and every step keeps its smallest time. One line of JSON per run; wide.py makes tables of them.
 *
 * Only public headers: the program links to the library of any version. With BENCH_STAGES (a library with
 * tg_options.profile) `--stages 1` makes another run in which both engines time their stages: mean us of ours, and of
 * MuJoCo's collision. */
#include <math.h>
#include <mujoco/mujoco.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tangere/tangere.h"

enum
{
    OURS,
    PEER,
    ENGINES,
    ROOM = 256,        /* contact points of any model */
    ROOM_PER_BODY = 24 /* and of each body; a step that needs more gets more */
};

#ifdef BENCH_STAGES
enum
{
    STAGES = TG_STEP_STAGES
};
#else
enum
{
    STAGES = 1
};
#endif

static const double redraw = 0.1; /* s: random controls are drawn anew */

/* ---- small things ---- */

static _Noreturn void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("bench_wide: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

static void *zeros(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (memory == NULL)
        die("no memory");
    return memory;
}

/* us of this thread */
static double clock_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What two readings of the clock cost: subtracted from every time. */
static double clock_cost(void)
{
    double cost[1001];
    for (int i = 0; i < 1001; i++)
    {
        double start = clock_us();
        cost[i] = clock_us() - start;
    }
    qsort(cost, 1001, sizeof *cost, ascending);
    return cost[500];
}

/* A clock that stands still while it is read: MuJoCo reads it up to five times within a stage, and counts that. */
static double still_cost;
static unsigned long long still_reads;

static double still_clock(void)
{
    return clock_us() - (double)++still_reads * still_cost;
}

/* splitmix64: uniform in [0, 1) */
static double uniform(unsigned long long *state)
{
    unsigned long long z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* ---- one model in both engines ---- */

typedef struct arguments
{
    double seconds;
    int repeat, key;
    bool random, stages;
    int first_seed, last_seed; /* of random controls: first <= seed < last */
    const char *steps;         /* a file with a line per step, or NULL */
} arguments;

typedef struct model
{
    const char *path;
    tg_model *own;
    tg_work *work;
    mjModel *mj;
    mjData *data;
    tg_sizes size;
    double *q, *v, *act, *u;
    tg_cache cache;
} model;

static void make_room(model *m, int room)
{
    tg_error error;
    tg_cache old = m->cache;
    tg_work_destroy(m->work);
    if (tg_work_create_for(m->own, room, &m->work, &error) != TG_OK)
        die("%s: %s", m->path, error.message);
    m->cache = (tg_cache){room, old.count, zeros((size_t)room, sizeof(tg_cache_entry))};
    if (old.count > 0)
        memcpy(m->cache.entry, old.entry, sizeof(tg_cache_entry) * (size_t)old.count);
    free(old.entry);
}

static void open_model(model *m, const char *path)
{
    char message[1000] = "";
    tg_error error;
    *m = (model){.path = path};
    if (tg_load(path, NULL, &m->own, &error) != TG_OK)
        die("%s", error.message);
    m->mj = mj_loadXML(path, NULL, message, sizeof message);
    if (m->mj == NULL)
        die("MuJoCo: %s: %s", path, message);
    m->size = tg_model_sizes(m->own);
    if (m->mj->nq != m->size.nq || m->mj->nv != m->size.nv || m->mj->na != m->size.na || m->mj->nu != m->size.nu)
        die("%s: the engines do not read the same model", path);
    m->data = mj_makeData(m->mj);
    if (m->data == NULL)
        die("%s: no memory", path);
    m->q = zeros((size_t)m->size.nq, sizeof(double));
    m->v = zeros((size_t)m->size.nv, sizeof(double));
    m->act = zeros((size_t)m->size.na, sizeof(double));
    m->u = zeros((size_t)m->size.nu, sizeof(double));
    make_room(m, ROOM + ROOM_PER_BODY * m->size.nbody);
}

static void close_model(model *m)
{
    mj_deleteData(m->data);
    mj_deleteModel(m->mj);
    tg_work_destroy(m->work);
    tg_model_destroy(m->own);
    free(m->cache.entry);
    free(m->q);
    free(m->v);
    free(m->act);
    free(m->u);
}

/* ---- a run ---- */

typedef struct run
{
    int steps, skip; /* in all, and before those that count */
    int done;        /* by both engines */
    double *time[ENGINES], *residual;
    int *iterations, *rows, *contacts[ENGINES];
    bool profile;                    /* stages are timed */
    double stage[STAGES], collision; /* us, sums over the steps that count: ours, and MuJoCo's */
    char stopped[400];               /* why the run ended early: "" if it did not */
} run;

static run make_run(const model *m, const arguments *a)
{
    run r = {.steps = (int)lround(a->seconds / m->mj->opt.timestep)};
    r.steps = r.steps < 2 ? 2 : r.steps;
    r.skip = r.steps / 2;
    for (int e = 0; e < ENGINES; e++)
    {
        r.time[e] = zeros((size_t)r.steps, sizeof(double));
        r.contacts[e] = zeros((size_t)r.steps, sizeof(int));
        for (int i = 0; i < r.steps; i++)
            r.time[e][i] = INFINITY;
    }
    r.residual = zeros((size_t)r.steps, sizeof(double));
    r.iterations = zeros((size_t)r.steps, sizeof(int));
    r.rows = zeros((size_t)r.steps, sizeof(int));
    return r;
}

static void free_run(run *r)
{
    for (int e = 0; e < ENGINES; e++)
    {
        free(r->time[e]);
        free(r->contacts[e]);
    }
    free(r->residual);
    free(r->iterations);
    free(r->rows);
}

/* The keyframe, or the reference where there is none, for both. */
static void restart(model *m, int key)
{
    mj_resetData(m->mj, m->data);
    if (m->mj->nkey > 0)
        mj_resetDataKeyframe(m->mj, m->data, key < m->mj->nkey ? key : 0);
    memcpy(m->q, m->data->qpos, sizeof(double) * (size_t)m->size.nq);
    memcpy(m->v, m->data->qvel, sizeof(double) * (size_t)m->size.nv);
    memcpy(m->act, m->data->act, sizeof(double) * (size_t)m->size.na);
    memcpy(m->u, m->data->ctrl, sizeof(double) * (size_t)m->size.nu);
    m->cache.count = 0;
}

/* Uniform in the ranges of the controls, +-1 where there is none. */
static void draw_controls(model *m, unsigned long long *seed)
{
    for (int i = 0; i < m->size.nu; i++)
    {
        bool limited = m->mj->actuator_ctrllimited[i];
        double low = limited ? m->mj->actuator_ctrlrange[2 * i] : -1;
        double high = limited ? m->mj->actuator_ctrlrange[2 * i + 1] : 1;
        m->u[i] = low + (high - low) * uniform(seed);
    }
    memcpy(m->data->ctrl, m->u, sizeof(double) * (size_t)m->size.nu);
}

static bool own_step(model *m, run *r, int i, double cost)
{
    tg_options options = tg_default_options();
    tg_state state = {m->q, m->v, m->act, &m->cache};
    tg_control control = {.u = m->u};
    tg_info info;
    options.dt = m->mj->opt.timestep;
#ifdef BENCH_STAGES
    options.profile = r->profile;
#endif
    double start = clock_us();
    tg_status status = tg_step(m->own, m->work, &options, &state, &control, &state, &info);
    double time = clock_us() - start - cost;
    if (status == TG_ERR_CAPACITY)
    {
        int found;
        tg_work_contacts(m->work, NULL, &found);
        make_room(m, 2 * (found > m->cache.capacity ? found : m->cache.capacity));
        return own_step(m, r, i, cost);
    }
    if (status != TG_OK)
    {
        snprintf(r->stopped, sizeof r->stopped, "Tangere, step %d: %s", i, tg_work_message(m->work));
        return false;
    }
#ifdef BENCH_STAGES
    for (int k = 0; k < STAGES && i >= r->skip; k++)
        r->stage[k] += 1e6 * info.profile.time[k];
#endif
    r->time[OURS][i] = fmin(r->time[OURS][i], time);
    r->residual[i] = info.residual;
    r->iterations[i] = info.iterations;
    r->rows[i] = info.rows;
    r->contacts[OURS][i] = info.contacts;
    return true;
}

static bool peer_step(model *m, run *r, int i, double cost)
{
    static const int unstable[] = {mjWARN_BADQPOS, mjWARN_BADQVEL, mjWARN_BADQACC};
    m->data->timer[mjTIMER_POS_COLLISION].duration = 0;
    double start = clock_us();
    mj_step(m->mj, m->data);
    r->collision += i >= r->skip ? m->data->timer[mjTIMER_POS_COLLISION].duration : 0;
    r->time[PEER][i] = fmin(r->time[PEER][i], clock_us() - start - cost);
    r->contacts[PEER][i] = m->data->ncon;
    for (int k = 0; k < 3; k++)
        if (m->data->warning[unstable[k]].number > 0)
        {
            snprintf(r->stopped, sizeof r->stopped, "MuJoCo, step %d: unstable", i);
            return false;
        }
    return true;
}

/* seed < 0: controls of the keyframe */
static void walk(model *m, run *r, const arguments *a, int seed)
{
    double cost = clock_cost();
    int period = (int)lround(redraw / m->mj->opt.timestep);
    unsigned long long draws = (unsigned long long)(seed + 1);
    period = period < 1 ? 1 : period;
    restart(m, a->key);
    for (r->done = 0; r->done < r->steps; r->done++)
    {
        if (seed >= 0 && r->done % period == 0)
            draw_controls(m, &draws);
        if (!own_step(m, r, r->done, cost) || !peer_step(m, r, r->done, cost))
            return;
    }
}

/* ---- what is printed ---- */

static void print_text(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\' || (unsigned char)*text < 0x20)
            printf("\\u%04x", (unsigned)*text);
        else
            putchar(*text);
    putchar('"');
}

static void print_times(const char *name, double *time, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += time[i];
    qsort(time, (size_t)n, sizeof *time, ascending);
    int last = (int)ceil(0.99 * n) - 1;
    printf(",\"%s\":{\"mean\":%.4f,\"median\":%.4f,\"p99\":%.4f,\"max\":%.4f}", name, sum / n, time[n / 2], time[last],
           time[n - 1]);
}

static void print_work(const run *r, int n)
{
    double contacts[ENGINES] = {0}, iterations = 0, rows = 0, residual = 0;
    int unsolved = 0, most = 0;
    for (int i = r->skip; i < r->done; i++)
    {
        contacts[OURS] += r->contacts[OURS][i];
        contacts[PEER] += r->contacts[PEER][i];
        iterations += r->iterations[i];
        rows += r->rows[i];
        most = r->iterations[i] > most ? r->iterations[i] : most;
    }
    for (int i = 0; i < r->done; i++) /* a failure before the steps that count is one, too */
    {
        residual = fmax(residual, r->residual[i]);
        unsolved += !(r->residual[i] <= tg_default_options().tolerance);
    }
    printf(",\"contacts\":[%.2f,%.2f],\"rows\":%.2f,\"factorisations\":{\"mean\":%.3f,\"max\":%d},\"residual\":%.3g,"
           "\"unsolved\":%d",
           contacts[OURS] / n, contacts[PEER] / n, rows / n, iterations / n, most, residual, unsolved);
}

#ifdef BENCH_STAGES
static void print_stages(const run *r)
{
    int n = r->done - r->skip;
    if (n <= 0)
        return;
    printf(",\"stages\":{");
    for (int k = 0; k < STAGES; k++)
        printf("\"%s\":%.3f,", tg_step_stage_string((tg_step_stage)k), r->stage[k] / n);
    printf("\"peer collision\":%.3f}", r->collision / n);
}
#endif

/* stages: of another run, or NULL */
static void print_run(const model *m, run *r, const run *stages, int seed)
{
    int n = r->done - r->skip;
    printf("{\"file\":");
    print_text(m->path);
    printf(",\"controls\":\"%s\",\"seed\":%d,\"nv\":%d,\"dt\":%g,\"steps\":%d,\"counted\":%d",
           seed < 0 ? "key" : "random", seed, m->size.nv, m->mj->opt.timestep, r->steps, n > 0 ? n : 0);
    if (n > 0)
    {
        print_work(r, n);
        print_times("ours", r->time[OURS] + r->skip, n); /* sorts */
        print_times("peer", r->time[PEER] + r->skip, n);
    }
#ifdef BENCH_STAGES
    if (stages != NULL)
        print_stages(stages);
#else
    (void)stages;
#endif
    printf(",\"stopped\":");
    print_text(r->stopped);
    printf("}\n");
    fflush(stdout);
}

static void write_steps(const char *path, const model *m, const run *r, int seed)
{
    FILE *file = fopen(path, "a");
    if (file == NULL)
        die("cannot write %s", path);
    for (int i = 0; i < r->done; i++)
        fprintf(file, "%s,%d,%d,%.3f,%.3f,%d,%d,%d,%.3g\n", m->path, seed, i, r->time[OURS][i], r->time[PEER][i],
                r->contacts[OURS][i], r->rows[i], r->iterations[i], r->residual[i]);
    fclose(file);
}

static void measure(model *m, const arguments *a, int seed)
{
    run r = make_run(m, a);
    for (int k = 0; k < a->repeat; k++)
        walk(m, &r, a, seed);
    if (a->steps != NULL)
        write_steps(a->steps, m, &r, seed);
    if (a->stages)
    {
        run timed = make_run(m, a);
        timed.profile = true;
        still_cost = clock_cost();
        mjcb_time = still_clock;
        walk(m, &timed, a, seed);
        mjcb_time = NULL;
        print_run(m, &r, &timed, seed);
        free_run(&timed);
    }
    else
        print_run(m, &r, NULL, seed);
    free_run(&r);
}

/* ---- arguments ---- */

static const char usage[] =
    "usage: bench_wide [--seconds S] [--repeat N] [--key K] [--controls key | random | both] [--seeds A:B] "
    "[--stages 0 | 1] [--steps FILE] MODEL...";

static int read_arguments(int argc, char **argv, arguments *a, bool *keyframe)
{
    int i = 1;
    *keyframe = true;
    *a = (arguments){.seconds = 0.6, .repeat = 1, .random = true, .last_seed = 1};
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2)
    {
        const char *name = argv[i], *value = argv[i + 1];
        if (strcmp(name, "--seconds") == 0)
            a->seconds = atof(value);
        else if (strcmp(name, "--repeat") == 0)
            a->repeat = atoi(value);
        else if (strcmp(name, "--key") == 0)
            a->key = atoi(value);
        else if (strcmp(name, "--stages") == 0)
            a->stages = atoi(value) != 0;
        else if (strcmp(name, "--steps") == 0)
            a->steps = value;
        else if (strcmp(name, "--controls") == 0)
        {
            *keyframe = strcmp(value, "random") != 0;
            a->random = strcmp(value, "key") != 0;
        }
        else if (strcmp(name, "--seeds") != 0 || sscanf(value, "%d:%d", &a->first_seed, &a->last_seed) != 2)
            die("%s", usage);
    }
    if (i == argc || a->repeat < 1 || !(a->seconds > 0) || a->key < 0 || a->first_seed < 0)
        die("%s", usage);
    return i;
}

int main(int argc, char **argv)
{
    arguments a;
    bool keyframe;
    for (int i = read_arguments(argc, argv, &a, &keyframe); i < argc; i++)
    {
        model m;
        open_model(&m, argv[i]);
        if (keyframe)
            measure(&m, &a, -1);
        for (int seed = a.first_seed; a.random && m.size.nu > 0 && seed < a.last_seed; seed++)
            measure(&m, &a, seed);
        close_model(&m);
    }
    return 0;
}
