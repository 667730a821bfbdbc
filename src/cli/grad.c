/* tangere grad: the derivatives of one step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/python.h"
#include "cli/sim.h"

enum
{
    OPTION_KEY,
    OPTION_PARAMS,
    OPTION_OUT,
    OPTION_PLOT,
    OPTION_HTML,
    BLOCKS = 21
};

/* One matrix, by the name of the field of tg_jacobian. */
typedef struct matrix
{
    const char *name;
    double **at;
    int rows, columns;
} matrix;

typedef struct derivatives
{
    tg_jacobian j;
    matrix block[BLOCKS];
    int *index;
    tg_info info;
    double step_time, jacobian_time; /* us; the Jacobian of (q+, v+) by (q, v, tau) alone */
    double error;                    /* of these matrices against central differences: |J - F| / max(1, max |F|) */
    tg_differences_count count;
} derivatives;

/* ---- the step ---- */

static int choose_params(const tg_cli_call *call, const tg_model *m, derivatives *d)
{
    const char *pattern = call->option[OPTION_PARAMS];
    int n = tg_model_sizes(m).nparams;
    tg_error error;
    d->index = tg_cli_alloc((size_t)n + 1, sizeof *d->index);
    d->j.index = d->index;
    if (pattern != NULL && tg_param_match(m, pattern, d->index, n, &d->j.nindex, &error) != TG_OK)
        return tg_cli_fail(TG_CLI_FAILED, "names and patterns: tangere params MODEL", "%s", error.message);
    return TG_CLI_OK;
}

static void make_blocks(const tg_model *m, derivatives *d)
{
    tg_sizes n = tg_model_sizes(m);
    tg_jacobian *j = &d->j;
    int np = j->nindex;
    const matrix block[BLOCKS] = {{"dq_dq", &j->dq_dq, n.nv, n.nv},
                                  {"dq_dv", &j->dq_dv, n.nv, n.nv},
                                  {"dq_dact", &j->dq_dact, n.nv, n.na},
                                  {"dq_du", &j->dq_du, n.nv, n.nu},
                                  {"dq_dtau", &j->dq_dtau, n.nv, n.nv},
                                  {"dq_ddt", &j->dq_ddt, n.nv, 1},
                                  {"dq_dparams", &j->dq_dparams, n.nv, np},
                                  {"dv_dq", &j->dv_dq, n.nv, n.nv},
                                  {"dv_dv", &j->dv_dv, n.nv, n.nv},
                                  {"dv_dact", &j->dv_dact, n.nv, n.na},
                                  {"dv_du", &j->dv_du, n.nv, n.nu},
                                  {"dv_dtau", &j->dv_dtau, n.nv, n.nv},
                                  {"dv_ddt", &j->dv_ddt, n.nv, 1},
                                  {"dv_dparams", &j->dv_dparams, n.nv, np},
                                  {"dact_dq", &j->dact_dq, n.na, n.nv},
                                  {"dact_dv", &j->dact_dv, n.na, n.nv},
                                  {"dact_dact", &j->dact_dact, n.na, n.na},
                                  {"dact_du", &j->dact_du, n.na, n.nu},
                                  {"dact_dtau", &j->dact_dtau, n.na, n.nv},
                                  {"dact_ddt", &j->dact_ddt, n.na, 1},
                                  {"dact_dparams", &j->dact_dparams, n.na, np}};
    memcpy(d->block, block, sizeof block);
    for (int i = 0; i < BLOCKS; i++)
        *block[i].at = tg_cli_alloc((size_t)block[i].rows * (size_t)block[i].columns + 1, sizeof(double));
}

static void free_blocks(derivatives *d)
{
    for (int i = 0; i < BLOCKS; i++)
        if (d->block[i].at != NULL)
            free(*d->block[i].at);
    free(d->index);
}

/* the state before the step, what acts in it, and room for the state behind it */
typedef struct start
{
    double *memory, *q, *v, *act, *u, *q1, *v1, *act1;
} start;

static start new_start(const tg_sizes *n)
{
    start s = {.memory = tg_cli_alloc((size_t)(2 * (n->nq + n->nv + n->na) + n->nu) + 1, sizeof(double))};
    s.q = s.memory;
    s.v = s.q + n->nq;
    s.act = s.v + n->nv;
    s.u = s.act + n->na;
    s.q1 = s.u + n->nu;
    s.v1 = s.q1 + n->nq;
    s.act1 = s.v1 + n->nv;
    return s;
}

static tg_status take_step(const tg_model *m, tg_work *w, const start *s, tg_info *info)
{
    tg_state in = {s->q, s->v, s->act, NULL}, out = {s->q1, s->v1, s->act1, NULL};
    return tg_step(m, w, NULL, &in, &(tg_control){.u = s->u}, &out, info);
}

/* The smallest of many times: other programs only ever add to it. */
static tg_status measure(const tg_model *m, tg_work *w, const start *s, derivatives *d)
{
    enum
    {
        TIMES = 200
    };
    const tg_jacobian *j = &d->j;
    tg_status status = TG_OK;
    d->step_time = d->jacobian_time = INFINITY;
    for (int i = 0; i < TIMES && status == TG_OK; i++)
    {
        tg_jacobian plain = {.dq_dq = j->dq_dq,
                             .dq_dv = j->dq_dv,
                             .dq_dtau = j->dq_dtau,
                             .dv_dq = j->dv_dq,
                             .dv_dv = j->dv_dv,
                             .dv_dtau = j->dv_dtau};
        double begin = tg_cli_clock(), middle;
        status = take_step(m, w, s, NULL);
        middle = tg_cli_clock();
        if (status == TG_OK)
            status = tg_step_jacobian(m, w, &plain);
        d->step_time = fmin(d->step_time, 1e6 * (middle - begin));
        d->jacobian_time = fmin(d->jacobian_time, 1e6 * (tg_cli_clock() - middle));
    }
    return status;
}

/* x J of the rows of q+ and v+ against F, n columns; the error relative to the largest of them */
static double difference_of(const double *x, int nv, const double *dq, const double *dv, const double *F, int n)
{
    double worst = 0, size = 1;
    for (int k = 0; k < n; k++)
    {
        double sum = 0;
        for (int i = 0; i < nv; i++)
            sum += x[i] * dq[i * n + k] + x[nv + i] * dv[i * n + k];
        size = isfinite(F[k]) ? fmax(size, fabs(F[k])) : size;
        worst = isfinite(F[k]) ? fmax(worst, fabs(sum - F[k])) : worst;
    }
    return worst / size;
}

/* The matrices of (q, v, tau) against central differences along one direction of (q+, v+). */
static int compare(const tg_model *m, const start *s, derivatives *d)
{
    int nv = tg_model_sizes(m).nv, code = TG_CLI_OK;
    tg_error error;
    tg_differences *judge = NULL;
    double *x = tg_cli_alloc(5 * (size_t)nv + 1, sizeof *x), *F = x + 2 * nv;
    for (int i = 0; i < 2 * nv; i++)
        x[i] = cos(1 + 2.3 * i);
    tg_cotangent out = {.q = x, .v = x + nv}, in = {.q = F, .v = F + nv, .tau = F + 2 * nv};
    tg_state state = {s->q, s->v, s->act, NULL};
    tg_differences_request request = {.state = &state, .control = &(tg_control){.u = s->u}};
    if (tg_differences_create(m, 0, &judge, &error) != TG_OK)
        code = tg_cli_fail(TG_CLI_FAILED, NULL, "%s", error.message);
    else if (tg_step_differences(m, judge, &request, &out, &in, &d->count) != TG_OK)
        code = tg_cli_fail(TG_CLI_FAILED, NULL, "%s", tg_differences_message(judge));
    const tg_jacobian *j = &d->j;
    d->error = fmax(difference_of(x, nv, j->dq_dq, j->dv_dq, in.q, nv),
                    fmax(difference_of(x, nv, j->dq_dv, j->dv_dv, in.v, nv),
                         difference_of(x, nv, j->dq_dtau, j->dv_dtau, in.tau, nv)));
    tg_differences_destroy(judge);
    free(x);
    return code;
}

/* one step from a keyframe with its controls, or from the reference configuration at rest, and its matrices */
static int differentiate(const tg_cli_call *call, const tg_model *m, derivatives *d)
{
    tg_sizes n = tg_model_sizes(m);
    tg_error error;
    tg_work *w = NULL;
    int key = -1, code = TG_CLI_OK;
    if (call->option[OPTION_KEY] != NULL && (code = tg_cli_find_key(m, call->option[OPTION_KEY], &key)) != TG_CLI_OK)
        return code;
    start s = new_start(&n);
    tg_status status = key < 0 ? tg_default_q(m, s.q, &error) : tg_key_get(m, key, NULL, s.q, s.v, s.act, s.u, &error);
    if (status == TG_OK)
        status = tg_work_create(m, &w, &error);
    if (status != TG_OK)
        code = tg_cli_fail(TG_CLI_FAILED, NULL, "%s", error.message);
    else
    {
        status = measure(m, w, &s, d);
        if (status == TG_OK)
            status = take_step(m, w, &s, &d->info);
        if (status == TG_OK)
            status = tg_step_jacobian(m, w, &d->j);
        code = status != TG_OK ? tg_cli_fail(TG_CLI_FAILED, NULL, "%s", tg_work_message(w)) : compare(m, &s, d);
    }
    tg_work_destroy(w);
    free(s.memory);
    return code;
}

/* ---- shown and written ---- */

static void print_summary(const tg_cli_call *call, const tg_cli_model *model, const derivatives *d)
{
    const tg_cli_output *out = &call->out;
    tg_cli_print(out, TG_CLI_TITLE, "%s", tg_model_name(model->m));
    fprintf(out->file, "  %s\n%s %s, dt %s s: %d contacts, residual %.2g m/s\n", model->path,
            call->option[OPTION_KEY] != NULL ? "keyframe" : "reference",
            call->option[OPTION_KEY] != NULL ? call->option[OPTION_KEY] : "configuration",
            tg_cli_number_of(tg_model_timestep(model->m)).text, d->info.contacts, d->info.residual);
    fprintf(out->file, "label ");
    tg_cli_print(out, d->j.label.kind == TG_LABEL_EXACT ? TG_CLI_GOOD : TG_CLI_WARNING, "%s",
                 tg_label_string(d->j.label.kind));
    fprintf(out->file, ", margin %.3g, condition %.3g\n", d->j.label.margin, d->j.label.condition);
    fprintf(out->file, "step %.1f us, Jacobian of (q, v, tau) %.1f us; it agrees with central differences to ",
            d->step_time, d->jacobian_time);
    tg_cli_print(out, d->error <= 1e-6 ? TG_CLI_GOOD : TG_CLI_WARNING, "%.2g", d->error);
    fprintf(out->file, " (%d numbers, %d across a change of mode)\n\n  ", d->count.taken, d->count.switched);
    tg_cli_print(out, TG_CLI_TITLE, "%-14s %11s %12s %12s\n", "matrix", "size", "largest", "norm");
    for (int i = 0; i < BLOCKS; i++)
    {
        const matrix *b = &d->block[i];
        double largest = 0, sum = 0;
        size_t count = (size_t)b->rows * (size_t)b->columns;
        for (size_t k = 0; k < count; k++)
        {
            largest = fmax(largest, fabs((*b->at)[k]));
            sum += (*b->at)[k] * (*b->at)[k];
        }
        if (count > 0)
            fprintf(out->file, "  %-14s %5d x %3d %12.5g %12.5g\n", b->name, b->rows, b->columns, largest, sqrt(sum));
    }
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

static void write_csv(FILE *file, const derivatives *d)
{
    fprintf(file, "matrix,row,column,value\n");
    for (int i = 0; i < BLOCKS; i++)
        for (int r = 0; r < d->block[i].rows; r++)
            for (int c = 0; c < d->block[i].columns; c++)
                fprintf(file, "%s,%d,%d,%s\n", d->block[i].name, r, c,
                        tg_cli_number_of((*d->block[i].at)[(size_t)r * (size_t)d->block[i].columns + (size_t)c]).text);
}

static bool write_npz(FILE *file, const derivatives *d)
{
    tg_cli_array array[BLOCKS];
    int count = 0;
    for (int i = 0; i < BLOCKS; i++)
        if (d->block[i].rows > 0 && d->block[i].columns > 0)
            array[count++] = (tg_cli_array){.name = d->block[i].name,
                                            .value = *d->block[i].at,
                                            .rows = (size_t)d->block[i].rows,
                                            .stride = (size_t)d->block[i].columns,
                                            .columns = d->block[i].columns};
    return tg_cli_write_npz(file, array, count);
}

static int write_file(const char *path, const derivatives *d)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "cannot write '%s'", path);
    bool good = true;
    if (ends_with(path, ".csv"))
        write_csv(file, d);
    else
        good = write_npz(file, d);
    good = !ferror(file) && good;
    good = fclose(file) == 0 && good;
    return good ? TG_CLI_OK : tg_cli_fail(TG_CLI_FAILED, "is the disk full?", "cannot write '%s'", path);
}

/* Heat maps of the matrices, by Python. */
static int plot(const tg_cli_call *call, const tg_cli_model *model, const derivatives *d)
{
    char *file = tg_cli_temporary(".npz");
    int code = file != NULL ? write_file(file, d) : TG_CLI_FAILED;
    tg_cli_words words = {.count = 0};
    tg_cli_add_word(&words, model->path);
    tg_cli_add_word(&words, file);
    tg_cli_add_option(&words, "--out", call->option[OPTION_PLOT]);
    tg_cli_add_option(&words, "--params", call->option[OPTION_PARAMS]);
    tg_cli_add_reading(&words, &call->reading);
    if (code == TG_CLI_OK)
        code = tg_cli_run_python("plot", "plot", &words);
    if (file != NULL)
        remove(file);
    free(file);
    return code;
}

static int show_page(const tg_cli_call *call, const tg_cli_model *model)
{
    tg_cli_words words = {.count = 0};
    tg_cli_add_word(&words, model->path);
    tg_cli_add_option(&words, "--key", call->option[OPTION_KEY]);
    tg_cli_add_option(&words, "--html", call->option[OPTION_HTML]);
    tg_cli_add_option(&words, "--gradient", "com.z@50");
    tg_cli_add_option(&words, "--time", "0.5");
    tg_cli_add_reading(&words, &call->reading);
    return tg_cli_run_python("viewer", "view", &words);
}

static int run(const tg_cli_call *call)
{
    const char *path = call->option[OPTION_OUT];
    if (path != NULL && !ends_with(path, ".csv") && !ends_with(path, ".npz"))
        return tg_cli_fail(TG_CLI_USAGE, "a name that ends in .csv or .npz", "--out: '%s' is of no known kind", path);
    tg_cli_model model;
    derivatives d = {0};
    int code = tg_cli_open(call->argument[0], &call->reading, &model);
    if (code != TG_CLI_OK)
        return code;
    code = choose_params(call, model.m, &d);
    if (code == TG_CLI_OK)
    {
        make_blocks(model.m, &d);
        code = differentiate(call, model.m, &d);
    }
    if (code == TG_CLI_OK)
        print_summary(call, &model, &d);
    if (code == TG_CLI_OK && path != NULL)
        code = write_file(path, &d);
    if (code == TG_CLI_OK && call->option[OPTION_PLOT] != NULL)
        code = plot(call, &model, &d);
    if (code == TG_CLI_OK && call->option[OPTION_HTML] != NULL)
        code = show_page(call, &model);
    free_blocks(&d);
    tg_cli_close(&model);
    return code;
}

const tg_cli_command tg_cli_grad = {
    .name = "grad",
    .usage = "MODEL [OPTIONS]",
    .summary = "derivatives of one step",
    .details = "Takes one step from a keyframe with its controls, or from the reference configuration at rest, and\n"
               "differentiates q+, v+ and act+ with respect to all inputs. q is in the tangent space (nv numbers).",
    .required = 1,
    .allowed = 1,
    .options = {[OPTION_KEY] = {"--key", "NAME", "start from this keyframe"},
                [OPTION_PARAMS] = {"--params", "PATTERN", "parameters to differentiate by: 'body.*.mass', '*'"},
                [OPTION_OUT] = {"--out", "FILE", "write the matrices: .npz, or .csv (matrix, row, column, value)"},
                [OPTION_PLOT] = {"--plot", "FILE",
                                 "heat maps of the matrices: .png, .pdf, .svg (Python, tangere[plot])"},
                [OPTION_HTML] = {"--html", "FILE",
                                 "a page with the gradient of com.z after 50 steps (Python, tangere[view])"}},
    .run = run,
};
