/* tangere demo: loads a model, and shows what the library computes on it, how fast, and that the derivatives are right.
 */
#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/demo_check.h"

enum
{
    DEFAULT_STATES = 100,
    MOST_STATES = 100000,
    CHECKED_STATES = 3,
    CALLS = 10, /* calls between two looks at the clock */
    ROUNDS = 5  /* of which the fastest counts, for each state */
};
#define TOLERANCE 1e-7          /* of a derivative against differences */
#define ADJOINT_TOLERANCE 1e-10 /* of reverse mode against the matrices */

static const char built_in[] = "quadruped";

/* ---- what is timed ---- */

typedef struct bench
{
    const tg_model *m;
    tg_work *w;
    int nstate;
    tg_cli_state *state;
    double *vector;    /* nv */
    double *matrix[3]; /* nv x nv */
    double *gradient;  /* nparams */
    tg_status status;  /* of the first call that failed */
} bench;

typedef tg_status task_function(bench *b, const tg_cli_state *s);

static tg_status kinematics(bench *b, const tg_cli_state *s)
{
    return tg_kinematics(b->m, b->w, s->q, s->v);
}

static tg_status rnea(bench *b, const tg_cli_state *s)
{
    return tg_rnea(b->m, b->w, s->q, s->v, s->a, b->vector);
}

static tg_status mass_matrix(bench *b, const tg_cli_state *s)
{
    return tg_mass_matrix(b->m, b->w, s->q, b->matrix[0]);
}

static tg_status forward_dynamics(bench *b, const tg_cli_state *s)
{
    return tg_forward_dynamics(b->m, b->w, s->q, s->v, s->tau, b->vector);
}

static tg_status rnea_derivatives(bench *b, const tg_cli_state *s)
{
    return tg_rnea_derivatives(b->m, b->w, s->q, s->v, s->a, b->matrix[0], b->matrix[1], b->matrix[2]);
}

static tg_status forward_derivatives(bench *b, const tg_cli_state *s)
{
    return tg_forward_dynamics_derivatives(b->m, b->w, s->q, s->v, s->tau, b->matrix[0], b->matrix[1], b->matrix[2]);
}

static tg_status rnea_vjp(bench *b, const tg_cli_state *s)
{
    return tg_rnea_vjp(b->m, b->w, s->q, s->v, s->a, s->y, b->matrix[0], b->matrix[1], b->matrix[2], b->gradient);
}

static const struct
{
    const char *name, *what;
    task_function *run;
} tasks[] = {
    {"kinematics", "poses and velocities of all bodies", kinematics},
    {"RNEA", "tau = M a + bias, inverse dynamics", rnea},
    {"mass matrix", "M, by composite bodies", mass_matrix},
    {"forward dynamics", "a = M^-1 (tau + passive - bias)", forward_dynamics},
    {"RNEA derivatives", "d tau / d q, v, a", rnea_derivatives},
    {"forward dynamics derivatives", "d a / d q, v, tau", forward_derivatives},
    {"RNEA VJP", "gradient by q, v, a and every parameter", rnea_vjp},
};

enum
{
    TASK_COUNT = sizeof tasks / sizeof *tasks
};

/* ---- the clock ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return n % 2 == 1 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

/* Seconds of one call at one state: the fastest of several rounds, because others on the machine only add time. */
static double time_at(bench *b, task_function *run, const tg_cli_state *s)
{
    double fastest = INFINITY;
    for (int r = 0; r < ROUNDS; r++)
    {
        double start = tg_cli_clock();
        for (int i = 0; i < CALLS && b->status == TG_OK; i++)
            b->status = run(b, s);
        fastest = fmin(fastest, (tg_cli_clock() - start) / CALLS);
    }
    return fastest;
}

static double median_time(bench *b, task_function *run, tg_cli_progress *progress, int done)
{
    double *times = tg_cli_alloc((size_t)b->nstate, sizeof *times);
    for (int i = 0; i < b->nstate; i++)
    {
        times[i] = time_at(b, run, &b->state[i]);
        tg_cli_progress_show(progress, done + i + 1, TASK_COUNT * b->nstate);
    }
    double result = median(times, b->nstate);
    free(times);
    return result;
}

static void print_times(const tg_cli_output *out, bench *b)
{
    tg_cli_progress progress = tg_cli_progress_begin("timing");
    char title[100];
    snprintf(title, sizeof title, "time of a call, median over %d random states", b->nstate);
    tg_cli_print_title(out, title);
    for (int i = 0; i < TASK_COUNT && b->status == TG_OK; i++)
    {
        double seconds = median_time(b, tasks[i].run, &progress, i * b->nstate);
        tg_cli_progress_end(&progress);
        if (b->status != TG_OK)
            return;
        fprintf(out->file, "  ");
        tg_cli_column(out, TG_CLI_NAME, tasks[i].name, 30);
        tg_cli_column(out, TG_CLI_QUIET, tasks[i].what, 42);
        fprintf(out->file, "%8.2f us\n", 1e6 * seconds);
        fflush(out->file);
    }
}

/* ---- the check ---- */

static bool print_error(const tg_cli_output *out, const char *what, double error, double tolerance, const char *block)
{
    bool good = error < tolerance;
    fprintf(out->file, "  ");
    tg_cli_column(out, TG_CLI_NAME, what, 46);
    fprintf(out->file, "%.1e  ", error);
    tg_cli_print(out, good ? TG_CLI_GOOD : TG_CLI_BAD, "%s", good ? "they agree" : "THEY DISAGREE");
    tg_cli_print(out, TG_CLI_QUIET, "%s%s", block[0] != '\0' ? "  worst: " : "", block);
    fputc('\n', out->file);
    return good;
}

static bool print_check(const tg_cli_output *out, bench *b)
{
    tg_cli_check worst = {.block = ""};
    char title[100];
    tg_cli_progress progress = tg_cli_progress_begin("checking derivatives");
    int n = b->nstate < CHECKED_STATES ? b->nstate : CHECKED_STATES;
    for (int i = 0; i < n && b->status == TG_OK; i++)
    {
        b->status = tg_cli_check_state(b->m, b->w, &b->state[i], &worst);
        tg_cli_progress_show(&progress, i + 1, n);
    }
    tg_cli_progress_end(&progress);
    if (b->status != TG_OK)
        return false;
    snprintf(title, sizeof title, "derivatives, worst relative error over %d states", n);
    tg_cli_print_title(out, title);
    bool good = print_error(out, "against central differences on the manifold", worst.error, TOLERANCE, worst.block);
    good &= print_error(out, "RNEA VJP against the matrices", worst.adjoint, ADJOINT_TOLERANCE, "");
    return good;
}

/* ---- */

static void print_model(const tg_cli_output *out, const tg_cli_model *model)
{
    tg_sizes n = tg_model_sizes(model->m);
    tg_cli_print(out, TG_CLI_TITLE, "tangere %s", tg_version());
    fprintf(out->file, "\nloaded ");
    tg_cli_print(out, TG_CLI_NAME, "%s", tg_model_name(model->m));
    fprintf(out->file, " from %s in %.1f ms\n", model->path, 1e3 * model->seconds);
    tg_cli_print_sizes(out, model->m);
    fprintf(out->file, "  %d parameters in %d named fields\n\n", n.nparams, tg_param_slice_count(model->m));
    tg_cli_draw_tree(out, model->m);
}

static bench begin(const tg_model *m, tg_work *w, int nstate)
{
    tg_sizes n = tg_model_sizes(m);
    size_t nv = (size_t)n.nv;
    bench b = {.m = m, .w = w, .nstate = nstate};
    b.state = tg_cli_alloc((size_t)nstate, sizeof *b.state);
    for (int i = 0; i < nstate; i++)
        b.state[i] = tg_cli_random(m, (unsigned)i);
    b.vector = tg_cli_alloc(nv + 3 * nv * nv + (size_t)n.nparams, sizeof *b.vector);
    for (size_t i = 0; i < 3; i++)
        b.matrix[i] = b.vector + nv + i * nv * nv;
    b.gradient = b.vector + nv + 3 * nv * nv;
    return b;
}

static void end(bench *b)
{
    for (int i = 0; i < b->nstate; i++)
        free(b->state[i].q);
    free(b->state);
    free(b->vector);
    tg_work_destroy(b->w);
}

/* Times and check; a model in which nothing moves has neither. */
static int show_dynamics(const tg_cli_output *out, const tg_model *m, int nstate)
{
    tg_error error;
    tg_work *w = NULL;
    if (tg_model_sizes(m).nv == 0)
    {
        fprintf(out->file, "\nnothing in this model can move: there is no dynamics to show\n");
        return TG_CLI_OK;
    }
    if (tg_work_create(m, &w, &error) != TG_OK)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "%s", error.message);
    bench b = begin(m, w, nstate);
    print_times(out, &b);
    bool good = b.status == TG_OK && print_check(out, &b);
    int code = good ? TG_CLI_OK : TG_CLI_FAILED;
    if (b.status != TG_OK)
        tg_cli_fail(code, "check the joint or the body that the message names", "%s", tg_work_message(w));
    else if (!good)
        tg_cli_fail(code, "a kink near a state (a spring's rest band) can be the reason: try other models",
                    "the derivatives do not pass their check");
    end(&b);
    return code;
}

enum
{
    OPTION_STATES
};

static int run(const tg_cli_call *call)
{
    tg_cli_model model;
    int nstate = DEFAULT_STATES;
    const char *states = call->option[OPTION_STATES];
    if (states != NULL && tg_cli_count("--states", states, MOST_STATES, &nstate) != TG_CLI_OK)
        return TG_CLI_USAGE;
    const char *name = call->argument[0] != NULL ? call->argument[0] : built_in;
    int code = tg_cli_open(name, &call->reading, &model);
    if (code != TG_CLI_OK)
        return code;
    print_model(&call->out, &model);
    code = show_dynamics(&call->out, model.m, nstate);
    tg_cli_close(&model);
    return code;
}

const tg_cli_command tg_cli_demo = {
    .name = "demo",
    .usage = "[MODEL] [--states N]",
    .summary = "loads a model, times its dynamics and derivatives, checks them",
    .details =
        "Loads a model (a built-in quadruped by default), draws its tree, times the dynamics and its derivatives on\n"
        "random states, and compares the derivatives with central differences on the manifold.",
    .required = 0,
    .allowed = 1,
    .options = {[OPTION_STATES] = {"--states", "N", "number of random states (100)"}},
    .run = run,
};
