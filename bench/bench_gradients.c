/* bench_gradients: derivatives of a step beside the step itself, finite differences, MuJoCo's mjd_transitionFD and
 * Pinocchio's computeABADerivatives.
 *
 * Along the recorded states of bench_step every derivative is taken after a step from the state, whose time is not
 * counted; every one gets a step of its own, so that none finds what another one has computed. Quiet: each state keeps
 * the smallest of its times. Before anything is timed the Jacobian is compared with central differences; if they
 * differ, the program ends. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rollouts.h"
#include "step_scene.h"

enum
{
    ROOM = 256,          /* contact points of a robot */
    STRIDE = 5,          /* every so many states are timed */
    DIFFERENCE_EVERY = 5 /* of those that are timed, every so many by finite differences too */
};

static const double agreement = 1e-5; /* relative, of the Jacobian and central differences */

/* what is timed */
typedef enum call
{
    STEP,
    JACOBIAN,   /* d(q+, v+) / d(q, v, tau) */
    VJP,        /* gradients of q, v, tau from those of q+, v+ */
    VJP_PARAMS, /* and of all parameters */
    OWN_FD,     /* the same Jacobian by central differences of tg_step */
    PEER_STEP,  /* mj_step */
    PEER_FD,    /* mjd_transitionFD, centred: d(q+, v+, act+) / d(q, v, act, u) */
    ABA_DERIVATIVES,
    CALLS
} call;

/* ---- to the terminal, and to the file of results if there is one ---- */

static FILE *results;

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void put(const char *format, ...)
{
    for (int k = 0; k < (results != NULL ? 2 : 1); k++)
    {
        FILE *out = k == 0 ? stdout : results;
        va_list arguments;
        va_start(arguments, format);
        vfprintf(out, format, arguments);
        va_end(arguments);
        fflush(out);
    }
}

/* ---- one robot ---- */

typedef struct robot
{
    scene *s;
    tg_options options;
    tg_cache before;                /* the warm start of the step that is differentiated */
    double *tau;                    /* nv, zero */
    double *jacobian, *differences; /* 2 nv x 3 nv, in six blocks: q+ by q, v, tau; v+ by q, v, tau */
    double *cotangent, *gradient;   /* 2 nv; 3 nv */
    double *params;
    double *dq, *turn, *q_moved, *next[2]; /* differences: what is displaced, and the two states (q, v) */
    double *peer_a, *peer_b;               /* of mjd_transitionFD */
    double *time[CALLS];                   /* us: smallest at each timed state */
    double contacts;
    int samples;  /* compared with differences */
    int inexact;  /* of them, not because of their label */
    int switched; /* columns left out */
    double disagreement;
} robot;

static tg_state state_at(const robot *r, int i)
{
    scene *s = r->s;
    double *x = s->states + (size_t)i * (size_t)s->width;
    return (tg_state){x, x + s->nq, x + s->nq + s->nv, &s->cache};
}

static const double *control_at(const robot *r, int i)
{
    const scene *s = r->s;
    return s->states + (size_t)i * (size_t)s->width + s->nq + s->nv + s->na;
}

static void copy_cache(tg_cache *to, const tg_cache *from)
{
    to->count = from->count;
    memcpy(to->entry, from->entry, sizeof *from->entry * (size_t)from->count);
}

/* the step from state i with the warm start that the step before has left; its time, us */
static double take_step(robot *r, int i)
{
    scene *s = r->s;
    copy_cache(&s->cache, &r->before);
    tg_state in = state_at(r, i), out = {s->q, s->v, s->act, &s->cache};
    tg_control control = {.u = control_at(r, i), .tau = r->tau};
    double start = bench_clock();
    tg_status status = tg_step(s->m, s->w, &r->options, &in, &control, &out, &s->info);
    double time = 1e6 * (bench_clock() - start);
    if (status != TG_OK)
        bench_die("%s, state %d: %s", s->name, i, tg_work_message(s->w));
    return time;
}

/* ---- derivatives ---- */

static double *block(const robot *r, double *matrix, int index)
{
    return matrix + (size_t)index * (size_t)r->s->nv * (size_t)r->s->nv;
}

static void need(const robot *r, tg_status status, const char *what)
{
    if (status != TG_OK)
        bench_die("%s, %s: %s", r->s->name, what, tg_work_message(r->s->w));
}

static tg_label take_jacobian(robot *r)
{
    double *j = r->jacobian;
    tg_jacobian jacobian = {.dq_dq = block(r, j, 0),
                            .dq_dv = block(r, j, 1),
                            .dq_dtau = block(r, j, 2),
                            .dv_dq = block(r, j, 3),
                            .dv_dv = block(r, j, 4),
                            .dv_dtau = block(r, j, 5)};
    need(r, tg_step_jacobian(r->s->m, r->s->w, &jacobian), "Jacobian");
    return jacobian.label;
}

static void take_vjp(robot *r, double *params)
{
    int nv = r->s->nv;
    tg_cotangent out = {.q = r->cotangent, .v = r->cotangent + nv};
    tg_cotangent in = {.q = r->gradient, .v = r->gradient + nv, .tau = r->gradient + 2 * nv, .params = params};
    need(r, tg_step_vjp(r->s->m, r->s->w, &out, &in, NULL), "VJP");
}

/* one displaced step, its state to next[side] */
static void take_moved(robot *r, int i, int kind, int column, double h, int side)
{
    scene *s = r->s;
    tg_state in = state_at(r, i), out = {r->next[side], r->next[side] + s->nq, s->act, NULL};
    tg_control control = {.u = control_at(r, i), .tau = r->tau};
    double kept = 0, *x = kind == 1 ? &in.v[column] : kind == 2 ? &r->tau[column] : &kept;
    if (kind == 0)
    {
        r->dq[column] = h;
        (void)tg_integrate(s->m, in.q, r->dq, r->q_moved, NULL);
        r->dq[column] = 0;
        in.q = r->q_moved;
    }
    kept = *x;
    *x = kept + h;
    need(r, tg_step(s->m, s->w, &r->options, &in, &control, &out, NULL), "displaced step");
    *x = kept;
}

/* Central differences of (q+, v+) by (q, v, tau), displaced by scale times 1e-7, 1e-6, 1e-5; every step is warm-started
 * from the impulses of the step itself. same: NULL, or, for every column, false where the step is not smooth between
 * the two sides. */
static void take_differences(robot *r, int i, double scale, bool *same)
{
    static const double displacement[3] = {1e-7, 1e-6, 1e-5};
    scene *s = r->s;
    size_t nv = (size_t)s->nv;
    uint64_t own = 0, signature[2] = {0};
    if (same != NULL)
        need(r, tg_step_signature(s->m, s->w, &own), "signature");
    for (size_t k = 0; k < 3 * nv; k++)
    {
        size_t kind = k / nv, column = k % nv;
        double h = scale * displacement[kind];
        double *dq = block(r, r->differences, (int)kind), *dv = block(r, r->differences, 3 + (int)kind);
        for (int side = 0; side < 2; side++)
        {
            take_moved(r, i, (int)kind, (int)column, side == 0 ? -h : h, side);
            if (same != NULL)
                need(r, tg_step_signature(s->m, s->w, &signature[side]), "signature");
        }
        (void)tg_difference(s->m, r->next[0], r->next[1], r->turn, NULL);
        for (size_t row = 0; row < nv; row++)
        {
            dq[row * nv + column] = r->turn[row] / (2 * h);
            dv[row * nv + column] = (r->next[1][s->nq + (int)row] - r->next[0][s->nq + (int)row]) / (2 * h);
        }
        if (same != NULL)
            same[k] = same[k] && signature[0] == own && signature[1] == own;
    }
}

/* ---- the comparison ---- */

/* max |J - F| / max(1, max |F|) over the columns of a block that were differenced */
static double block_error(const robot *r, int index, const bool *same)
{
    size_t nv = (size_t)r->s->nv;
    const double *j = block(r, r->jacobian, index), *f = block(r, r->differences, index);
    double error = 0, most = 1;
    for (size_t k = 0; k < nv * nv; k++)
        if (same[(size_t)(index % 3) * nv + k % nv])
        {
            error = fmax(error, fabs(j[k] - f[k]));
            most = fmax(most, fabs(f[k]));
        }
    return error / most;
}

/* Richardson's combination (4 D(h/2) - D(h)) / 3 of the differences at a state, to r->differences */
static void extrapolate(robot *r, int i, double *wide, bool *same)
{
    size_t nv = (size_t)r->s->nv;
    for (size_t k = 0; k < 3 * nv; k++)
        same[k] = true;
    take_step(r, i);
    take_differences(r, i, 1, same);
    memcpy(wide, r->differences, sizeof(double) * 6 * nv * nv);
    take_step(r, i);
    take_differences(r, i, 0.5, same);
    for (size_t k = 0; k < 6 * nv * nv; k++)
        r->differences[k] += (r->differences[k] - wide[k]) / 3;
}

/* At every `every`-th state; states whose label is not exact, and columns across a change of mode, are left out. */
static void compare(robot *r, int every)
{
    scene *s = r->s;
    size_t nv = (size_t)s->nv;
    bool *same = bench_alloc(3 * nv, sizeof *same);
    double *wide = bench_alloc(6 * nv * nv, sizeof *wide);
    r->before.count = 0;
    for (int i = 0; i < s->nstate; i++, copy_cache(&r->before, &s->cache))
    {
        take_step(r, i);
        if (i % every != 0)
            continue;
        tg_label label = take_jacobian(r);
        r->samples++;
        r->inexact += label.kind != TG_LABEL_EXACT;
        if (label.kind != TG_LABEL_EXACT)
            continue;
        extrapolate(r, i, wide, same);
        for (int k = 0; k < 3 * s->nv; k++)
            r->switched += !same[k];
        for (int b = 0; b < 6; b++)
        {
            double error = block_error(r, b, same);
            r->disagreement = fmax(r->disagreement, error);
            if (!(error <= agreement))
                bench_die(
                    "%s, state %d: d%s/d%s differs from central differences by %.2e (at most %.0e; condition %.1e)",
                    s->name, i, b < 3 ? "q" : "v",
                    b % 3 == 0   ? "q"
                    : b % 3 == 1 ? "v"
                                 : "tau",
                    error, agreement, label.condition);
        }
    }
    free(same);
    free(wide);
    if (2 * r->inexact > r->samples)
        bench_die("%s: %d of %d samples have no exact derivative", s->name, r->inexact, r->samples);
}

/* ---- times ---- */

/* Seconds that this thread has worked: finite differences take milliseconds, in which other programs get their turn. */
static double work_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void keep_time(robot *r, call c, int sample, double time)
{
    double *smallest = &r->time[c][sample];
    *smallest = *smallest == 0 || time < *smallest ? time : *smallest;
}

/* all calls of Tangere at one state */
static void own_times(robot *r, int i, int sample, bool difference)
{
    double start;
    keep_time(r, STEP, sample, take_step(r, i));
    start = bench_clock();
    take_jacobian(r);
    keep_time(r, JACOBIAN, sample, 1e6 * (bench_clock() - start));
    take_step(r, i);
    start = bench_clock();
    take_vjp(r, NULL);
    keep_time(r, VJP, sample, 1e6 * (bench_clock() - start));
    take_step(r, i);
    start = bench_clock();
    take_vjp(r, r->params);
    keep_time(r, VJP_PARAMS, sample, 1e6 * (bench_clock() - start));
    if (!difference)
        return;
    start = work_clock();
    take_differences(r, i, 1, NULL);
    keep_time(r, OWN_FD, sample / DIFFERENCE_EVERY, 1e6 * (work_clock() - start));
    take_step(r, i);
}

static void own_pass(robot *r, bool peers)
{
    r->before.count = 0;
    r->contacts = 0;
    for (int i = 0; i < r->s->nstate; i++, copy_cache(&r->before, &r->s->cache))
    {
        int sample = i / STRIDE;
        if (i % STRIDE == 0)
            own_times(r, i, sample, peers && sample % DIFFERENCE_EVERY == 0);
        else
            take_step(r, i);
        r->contacts += (double)r->s->info.contacts / r->s->nstate;
    }
}

static void peer_pass(robot *r)
{
    scene *s = r->s;
    mjData *data = s->data;
    mj_resetData(s->mj, data);
    for (int i = 0; i < s->nstate; i++)
    {
        tg_state x = state_at(r, i);
        memcpy(data->qpos, x.q, sizeof(double) * (size_t)s->nq);
        memcpy(data->qvel, x.v, sizeof(double) * (size_t)s->nv);
        memcpy(data->act, x.act, sizeof(double) * (size_t)s->na);
        memcpy(data->ctrl, control_at(r, i), sizeof(double) * (size_t)s->nu);
        double start = work_clock();
        if (i % (STRIDE * DIFFERENCE_EVERY) == 0)
        {
            mjd_transitionFD(s->mj, data, 1e-6, 1, r->peer_a, r->peer_b, NULL, NULL);
            keep_time(r, PEER_FD, i / (STRIDE * DIFFERENCE_EVERY), 1e6 * (work_clock() - start));
        }
        start = bench_clock();
        mj_step(s->mj, data);
        if (i % STRIDE == 0)
            keep_time(r, PEER_STEP, i / STRIDE, 1e6 * (bench_clock() - start));
    }
}

static void pinocchio_pass(robot *r, const bench_engine *engine, double *time)
{
    for (int i = 0; i < r->s->nstate; i += STRIDE)
    {
        engine->load(engine->self, i);
        double start = bench_clock();
        engine->run[BENCH_FORWARD_DYNAMICS_DERIVATIVES](engine->self);
        double t = 1e6 * (bench_clock() - start);
        time[i / STRIDE] = time[i / STRIDE] == 0 || t < time[i / STRIDE] ? t : time[i / STRIDE];
    }
}

static int samples_of(const robot *r, call c)
{
    int step = c == OWN_FD || c == PEER_FD ? STRIDE * DIFFERENCE_EVERY : STRIDE;
    return (r->s->nstate + step - 1) / step;
}

/* Of the ways to tell the tree to Pinocchio (engine.h) the fastest counts. */
static void measure_pinocchio(robot *r, int repetitions)
{
    const scene *s = r->s;
    size_t n = (size_t)s->nstate, nq = (size_t)s->nq, nv = (size_t)s->nv,
           count = (size_t)samples_of(r, ABA_DERIVATIVES);
    double *zeros = bench_alloc(n * nv, sizeof(double)), *sorted = bench_alloc(count, sizeof(double)), least = INFINITY;
    bench_states states = {
        s->nstate, s->nq, s->nv, bench_alloc(n * nq, sizeof(double)), bench_alloc(n * nv, sizeof(double)),
        zeros,     zeros};
    for (size_t i = 0; i < n; i++)
    {
        tg_state x = state_at(r, (int)i);
        memcpy(states.q + i * nq, x.q, sizeof(double) * nq);
        memcpy(states.v + i * nv, x.v, sizeof(double) * nv);
    }
    bench_tree tree = bench_describe(s->m);
    int settings[8], nsetting = bench_pinocchio_settings(&tree, settings);
    for (int k = 0; k < nsetting; k++)
    {
        bench_engine engine;
        const char *message = "";
        if (!bench_pinocchio_create(&tree, &states, settings[k], &engine, &message))
            bench_die("Pinocchio: %s", message);
        double *time = bench_alloc(count, sizeof(double));
        for (int repetition = 0; engine.run[BENCH_FORWARD_DYNAMICS_DERIVATIVES] != NULL && repetition < repetitions;
             repetition++)
            pinocchio_pass(r, &engine, time);
        memcpy(sorted, time, sizeof(double) * count);
        double median = bench_median(sorted, count);
        if (median > 0 && median < least)
        {
            least = median;
            memcpy(r->time[ABA_DERIVATIVES], time, sizeof(double) * count);
        }
        free(time);
        engine.destroy(engine.self);
    }
    bench_tree_free(&tree);
    free(states.q);
    free(states.v);
    free(zeros);
    free(sorted);
}

static void measure(robot *r, int repetitions, bool peers)
{
    for (int k = 0; k < repetitions; k++)
    {
        own_pass(r, peers);
        if (peers)
            peer_pass(r);
    }
    if (peers)
        measure_pinocchio(r, repetitions);
}

/* ---- memory ---- */

static void open_robot(robot *r, scene *s)
{
    size_t nv = (size_t)s->nv, nq = (size_t)s->nq, nx = 2 * nv + (size_t)s->na;
    *r = (robot){.s = s, .options = tg_default_options()};
    r->options.dt = s->dt;
    r->before = (tg_cache){s->cache.capacity, 0, bench_alloc((size_t)s->cache.capacity, sizeof(tg_cache_entry))};
    r->jacobian = bench_alloc(6 * nv * nv, sizeof(double));
    r->differences = bench_alloc(6 * nv * nv, sizeof(double));
    r->cotangent = bench_alloc(2 * nv, sizeof(double));
    r->gradient = bench_alloc(3 * nv, sizeof(double));
    r->params = bench_alloc((size_t)tg_model_sizes(s->m).nparams, sizeof(double));
    r->tau = bench_alloc(nv, sizeof(double));
    r->dq = bench_alloc(nv, sizeof(double));
    r->turn = bench_alloc(nv, sizeof(double));
    r->q_moved = bench_alloc(nq, sizeof(double));
    r->peer_a = bench_alloc(nx * nx, sizeof(double));
    r->peer_b = bench_alloc(nx * (size_t)s->nu, sizeof(double));
    for (int side = 0; side < 2; side++)
        r->next[side] = bench_alloc(nq + nv, sizeof(double));
    for (int c = 0; c < CALLS; c++)
        r->time[c] = bench_alloc((size_t)s->nstate, sizeof(double));
    for (size_t k = 0; k < 2 * nv; k++)
        r->cotangent[k] = sin(1 + 2.3 * (double)k);
}

static void close_robot(robot *r)
{
    double *all[] = {r->jacobian, r->differences, r->cotangent, r->gradient, r->params,  r->tau,    r->dq,
                     r->turn,     r->q_moved,     r->peer_a,    r->peer_b,   r->next[0], r->next[1]};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
    for (int c = 0; c < CALLS; c++)
        free(r->time[c]);
    free(r->before.entry);
}

/* ---- tables ---- */

typedef struct summary
{
    const char *name;
    int nv;
    double contacts, median[CALLS], mean[CALLS], deviation[CALLS];
    int samples, inexact, switched;
    double disagreement;
    double jacobian_there; /* median of the Jacobian at the states where finite differences are timed */
} summary;

static summary summarise(robot *r)
{
    summary out = {r->s->name, r->s->nv,    r->contacts,     {0}, {0}, {0}, r->samples,
                   r->inexact, r->switched, r->disagreement, 0};
    int there = samples_of(r, OWN_FD);
    double *some = bench_alloc((size_t)there, sizeof *some);
    for (int i = 0; i < there; i++)
        some[i] = r->time[JACOBIAN][i * DIFFERENCE_EVERY];
    out.jacobian_there = bench_median(some, (size_t)there);
    free(some);
    for (int c = 0; c < CALLS; c++)
    {
        int n = samples_of(r, (call)c);
        double squares = 0;
        for (int i = 0; i < n; i++)
            out.mean[c] += r->time[c][i] / n;
        for (int i = 0; i < n; i++)
            squares += (r->time[c][i] - out.mean[c]) * (r->time[c][i] - out.mean[c]) / n;
        out.deviation[c] = sqrt(squares);
        out.median[c] = bench_median(r->time[c], (size_t)n); /* sorts */
    }
    return out;
}

/* a ratio with its bounds: bold where the goal is met, "!" where the floor is not */
static void put_ratio(double ratio, double floor, double goal)
{
    const char *mark = ratio <= goal ? "**" : ratio <= floor ? "" : "!";
    put(" %s%.3g%s |", mark, ratio, ratio <= goal ? "**" : "");
}

static bool small_robot(const char *name)
{
    return strcmp(name, "half-cheetah") == 0 || strcmp(name, "UR5e") == 0;
}

static void put_medians(const summary *t, int n)
{
    put("## Quiet medians, us\n\n| robot | nv | contacts | step | Jacobian | VJP | VJP, parameters | own differences | "
        "mj_step "
        "| mjd_transitionFD | computeABADerivatives |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (int i = 0; i < n; i++)
    {
        put("| %s | %d | %.1f |", t[i].name, t[i].nv, t[i].contacts);
        for (int c = 0; c < CALLS; c++)
            put(" %.2f |", t[i].median[c]);
        put("\n");
    }
}

static void put_ratios(const summary *t, int n)
{
    put("\n## Ratios\n\n| robot | Jacobian / step | VJP / step | VJP with parameters / step | mjd_transitionFD / "
        "Jacobian | "
        "Jacobian / computeABADerivatives | own differences / Jacobian |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| *floor (goal)* | 1.5 (1.0) | 0.7 (0.5) | | 100; 40 where nv < 10 | 2.0 (1.5) | |\n");
    for (int i = 0; i < n; i++)
    {
        const double *m = t[i].median;
        double least = small_robot(t[i].name) ? 40 : 100, there = t[i].jacobian_there;
        put("| %s |", t[i].name);
        put_ratio(m[JACOBIAN] / m[STEP], 1.5, 1.0);
        put_ratio(m[VJP] / m[STEP], 0.7, 0.5);
        put(" %.3g |", m[VJP_PARAMS] / m[STEP]);
        put(" %s%.3g%s |", m[PEER_FD] >= least * there ? "**" : "!", m[PEER_FD] / there,
            m[PEER_FD] >= least * there ? "**" : "");
        put_ratio(m[JACOBIAN] / m[ABA_DERIVATIVES], 2.0, 1.5);
        put(" %.3g |\n", m[OWN_FD] / there);
    }
    put("\nBold: the goal is met. !: the floor is missed.\n");
}

static void put_means(const summary *t, int n)
{
    put("\n## Means and standard deviations over states, us\n\n| robot | step | Jacobian | VJP | own differences | "
        "mjd_transitionFD |\n| --- | ---: | ---: | ---: | ---: | ---: |\n");
    static const call shown[] = {STEP, JACOBIAN, VJP, OWN_FD, PEER_FD};
    for (int i = 0; i < n; i++)
    {
        put("| %s |", t[i].name);
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
            put(" %.1f +- %.1f |", t[i].mean[shown[k]], t[i].deviation[shown[k]]);
        put("\n");
    }
}

/* Table 3 of Le Lidec et al., End-to-End and Highly-Efficient Differentiable Simulation for Robotics: means +-
 * deviations, us */
typedef struct published
{
    const char *name, *step, *jacobian, *differences, *peer, *peer_differences;
} published;

static const published paper[] = {
    {"half-cheetah", "15.8 +- 7.1", "14.7 +- 7.0", "1100 +- 500", "5.5 +- 2.0", "340 +- 130"},
    {"humanoid", "42.6 +- 24.7", "47.9 +- 23.8", "5500 +- 3500", "40.3 +- 40.1", "2900 +- 800"},
    {"UR5e", "12.3 +- 6.1", "4.1 +- 3.8", "400 +- 200", "12.3 +- 4.0", "390 +- 100"},
    {"Go1", "62.6 +- 18.5", "93.0 +- 32.0", "6600 +- 1800", "15.8 +- 7.0", "9900 +- 160"},
    {"H1", "139.3 +- 125.4", "54.3 +- 34.5", "17600 +- 14600", "59.3 +- 31.0", "5900 +- 1400"},
    {"Atlas", "127.3 +- 32.9", "95.2 +- 37.6", "26700 +- 6000", "85.1 +- 34.4", "54300 +- 1400"},
};

static void put_beside(const char *there, const summary *t, call c)
{
    put(" %s / %.1f +- %.1f |", there, t->mean[c], t->deviation[c]);
}

/* Their gradients are d(v+) / d(q, v, tau) along trajectories of their own, on an Apple M3; "UR5e" is a UR5 there. */
static void put_paper(const summary *t, int n)
{
    put("\n## Beside the paper: mean +- standard deviation, us, paper (one core of an Apple M3) / here\n\n| robot | "
        "step | "
        "Jacobian | own differences | MuJoCo's step | MuJoCo's differences |\n| --- | ---: | ---: | ---: | ---: | ---: "
        "|\n");
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof paper / sizeof *paper; k++)
            if (strcmp(paper[k].name, t[i].name) == 0)
            {
                put("| %s |", t[i].name);
                put_beside(paper[k].step, &t[i], STEP);
                put_beside(paper[k].jacobian, &t[i], JACOBIAN);
                put_beside(paper[k].differences, &t[i], OWN_FD);
                put_beside(paper[k].peer, &t[i], PEER_STEP);
                put_beside(paper[k].peer_differences, &t[i], PEER_FD);
                put("\n");
            }
    put("\nPaper: Le Lidec et al., End-to-End and Highly-Efficient Differentiable Simulation for Robotics, Table 3. "
        "Other "
        "trajectories, another machine; there d(v+) alone, and a UR5.\n");
}

static void put_agreement(const summary *t, int n)
{
    put("\n## The Jacobian against central differences\n\n| robot | states | not exact | columns across a change of "
        "mode | "
        "largest relative difference |\n| --- | ---: | ---: | ---: | ---: |\n");
    for (int i = 0; i < n; i++)
        put("| %s | %d | %d | %.1f %% | %.1e |\n", t[i].name, t[i].samples, t[i].inexact,
            100.0 * t[i].switched / fmax(1, (t[i].samples - t[i].inexact) * 3 * t[i].nv), t[i].disagreement);
}

/* ---- rollouts ---- */

static void put_rollouts(int repetitions)
{
    const char *path = "models/quadruped.xml";
    const int steps = 1000;
    put("\n## A rollout of %d steps and its way back\n\n`%s` stands and sways. Processor time a step, medians of %d; "
        "backward: gradients of the start and of all controls; with checkpoints the steps of all segments but the "
        "last are taken again.\n\n"
        "| tape | contacts | KB | forward, us | backward, us | with all parameters, us | backward / forward | with "
        "parameters / forward |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        steps, path, repetitions);
    for (int checkpoints = 0; checkpoints < 2; checkpoints++)
    {
        bench_rollout r = bench_rollout_of(path, steps, checkpoints == 1, repetitions);
        put("| %s | %.0f | %zu | %.2f | %.2f | %.2f | %.3g | %.3g |\n", checkpoints ? "checkpoints" : "every step",
            r.contacts, r.bytes / 1024, r.forward, r.backward, r.params, r.backward / r.forward, r.params / r.forward);
    }
}

/* ---- the run ---- */

static const struct
{
    const char *name, *file;
} robots[] = {
    {"half-cheetah", "gymnasium/half_cheetah.xml"},
    {"humanoid", "mujoco_humanoid/humanoid.xml"},
    {"UR5e", "universal_robots_ur5e/scene.xml"},
    {"Go1", "unitree_go1/scene.xml"},
    {"H1", "unitree_h1/scene.xml"},
    {"Atlas", "atlas/scene.xml"},
};

typedef struct arguments
{
    int repetitions, states, compared;
    bool own; /* no peers, no differences */
    const char *only, *out;
} arguments;

static arguments read_arguments(int argc, char **argv)
{
    arguments a = {.repetitions = 5, .states = 5000, .compared = 100};
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--own") == 0)
            a.own = true;
        else if (i + 1 < argc && strcmp(argv[i], "--repetitions") == 0)
            a.repetitions = atoi(argv[++i]);
        else if (i + 1 < argc && strcmp(argv[i], "--states") == 0)
            a.states = atoi(argv[++i]);
        else if (i + 1 < argc && strcmp(argv[i], "--compared") == 0)
            a.compared = atoi(argv[++i]);
        else if (i + 1 < argc && strcmp(argv[i], "--robot") == 0)
            a.only = argv[++i];
        else if (i + 1 < argc && strcmp(argv[i], "--out") == 0)
            a.out = argv[++i];
        else
            bench_die(
                "usage: bench_gradients [--repetitions N] [--states N] [--compared N] [--robot NAME] [--own] [--out "
                "FOLDER]");
    if (a.repetitions < 1 || a.states < 1 || a.compared < 0)
        bench_die("repetitions and states must be positive");
    return a;
}

static summary run_robot(const arguments *a, const char *name, const char *path)
{
    scene s;
    robot r;
    scene_open(&s, name, path, ROOM);
    scene_record(&s, 0, a->states, 0.2, 0.3);
    open_robot(&r, &s);
    if (a->compared > 0)
        compare(&r, a->states > a->compared ? a->states / a->compared : 1);
    measure(&r, a->repetitions, !a->own);
    summary out = summarise(&r);
    close_robot(&r);
    scene_close(&s);
    return out;
}

static void put_title(const arguments *a, int cpu)
{
    char processor[128];
    bench_moment now = bench_now();
    bench_cpu_field("model name", processor, sizeof processor);
    put("# Derivatives of a step\n\n- Date: %s. %s, one core (%d); load of the machine at the start: %s. Tangere %s, "
        "MuJoCo %s "
        "(pip package), Pinocchio %s.\n"
        "- The recorded states of bench_step, %d a robot; every %dth is timed, %d times; by finite differences every "
        "%dth (in processor time). quiet: each state keeps its smallest time.\n"
        "- Jacobian: d(q+, v+) / d(q, v, tau). VJP: gradients of q, v, tau (and all parameters) from those of q+, v+. "
        "Both after a "
        "step whose time is not counted. Own differences: the same Jacobian by 6 nv steps. mjd_transitionFD: centred, "
        "d(q+, v+, act+) "
        "/ d(q, v, act, u).\n\n",
        now.date, processor, cpu, now.load, tg_version(), mj_versionString(), bench_pinocchio_version(), a->states,
        STRIDE, a->repetitions, STRIDE * DIFFERENCE_EVERY);
}

int main(int argc, char **argv)
{
    arguments a = read_arguments(argc, argv);
    char processor[128], path[1024];
    const char *shared = getenv("TANGERE_SHARED");
    summary table[sizeof robots / sizeof *robots];
    int n = 0;
    bench_processor(processor, sizeof processor);
    snprintf(path, sizeof path, "%s/gradients_%s.md", a.out != NULL ? a.out : "", processor);
    if (a.out != NULL && (results = fopen(path, "w")) == NULL)
        bench_die("cannot write %s", path);
    put_title(&a, bench_pin(-1));
    for (size_t i = 0; i < sizeof robots / sizeof *robots; i++)
    {
        if (a.only != NULL && strcmp(a.only, robots[i].name) != 0)
            continue;
        snprintf(path, sizeof path, "%s/robots/%s", shared != NULL ? shared : "../shared", robots[i].file);
        table[n++] = run_robot(&a, robots[i].name, path);
    }
    if (n == 0)
        bench_die("no robot is called %s", a.only);
    put_medians(table, n);
    put_ratios(table, n);
    put_means(table, n);
    put_paper(table, n);
    put_agreement(table, n);
    put_rollouts(4 * a.repetitions + 1);
    if (results != NULL && fclose(results) != 0)
        bench_die("cannot write the results");
    return 0;
}
