/* tangere check: derivatives of steps against central differences, along a trajectory that lifts, drops and pushes the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"

enum
{
    OPTION_SAMPLES,
    OPTION_PARAMS,
    OPTION_JSON,
    GROUPS = 7,
    SWEEP = 5,
    PHASE = 160, /* steps from one start to the next */
    EVERY = 16,  /* steps from one sample to the next */
    MOST_PARAMS = 24,
    MORE_ROOM = -1 /* not a code of the process */
};

static const char *const group_name[GROUPS] = {"q", "v", "act", "u", "tau", "dt", "params"};
static const double tolerance = 1e-6, agreement = 1e-10;
static const double sweep[SWEEP] = {1, 8, 64, 0.125, 0.015625};

/* Numbers with respect to which steps are differentiated: behind g, one allocation. */
typedef struct gradient
{
    tg_cotangent g;
    double *value[GROUPS];
} gradient;

typedef struct result
{
    double error[GROUPS], largest[GROUPS], found[GROUPS], expected[GROUPS];
    char entry[GROUPS][256];
    double disagreement; /* forward mode against reverse mode */
    long taken, switched, tied, outside, modes[TG_CONTACT_MODES];
    int states, labels[3];
} result;

typedef struct check
{
    const tg_model *m;
    tg_sizes n;
    int size[GROUPS];
    tg_work *w;
    tg_differences *d;
    tg_cache cache, cache_start;
    double *q, *v, *act, *u, *tau, *q_start, *v_start, *act_start, *acceleration, *gq, *gv, *gact;
    gradient exact, fd[SWEEP], along;
    const int *chosen;
    int nchosen, index[MOST_PARAMS], nindex;
    tg_step_contact *contact;
    int ncontact;
    uint64_t seed;
    result r;
} check;

/* ---- memory ---- */

static double *numbers(int n)
{
    return tg_cli_alloc((size_t)n + 1, sizeof(double));
}

static gradient new_gradient(const check *c)
{
    gradient g;
    for (int i = 0; i < GROUPS; i++)
        g.value[i] = numbers(c->size[i]);
    g.g = (tg_cotangent){.q = g.value[0],
                         .v = g.value[1],
                         .act = g.value[2],
                         .u = g.value[3],
                         .tau = g.value[4],
                         .dt = g.value[5],
                         .params = g.value[6]};
    return g;
}

static void free_gradient(gradient *g)
{
    for (int i = 0; i < GROUPS; i++)
        free(g->value[i]);
}

/* contacts: room for them; 0: chosen by the model */
static int open_check(check *c, const tg_model *m, int contacts)
{
    tg_error error;
    *c = (check){.m = m, .n = tg_model_sizes(m), .seed = 1};
    const int size[GROUPS] = {c->n.nv, c->n.nv, c->n.na, c->n.nu, c->n.nv, 1, c->n.nparams};
    memcpy(c->size, size, sizeof size);
    tg_status status = contacts > 0 ? tg_work_create_for(m, contacts, &c->w, &error) : tg_work_create(m, &c->w, &error);
    if (status != TG_OK || tg_differences_create(m, contacts, &c->d, &error) != TG_OK)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "%s", error.message);
    double **const vector[] = {&c->q,  &c->q_start, &c->v,   &c->v_start, &c->tau,  &c->acceleration,
                               &c->gq, &c->gv,      &c->act, &c->u,       &c->gact, &c->act_start};
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        *vector[i] = numbers(c->n.nq + c->n.nv + c->n.na + c->n.nu);
    int room;
    tg_work_contacts(c->w, &room, NULL);
    room += c->n.nequality + c->n.nv + 2 * c->n.njoint + 3 * c->n.ntendon;
    c->contact = tg_cli_alloc((size_t)room + 1, sizeof *c->contact);
    c->ncontact = room;
    c->cache = (tg_cache){.capacity = room, .entry = tg_cli_alloc((size_t)room + 1, sizeof(tg_cache_entry))};
    c->cache_start = (tg_cache){.capacity = room, .entry = tg_cli_alloc((size_t)room + 1, sizeof(tg_cache_entry))};
    c->exact = new_gradient(c);
    c->along = new_gradient(c);
    for (int k = 0; k < SWEEP; k++)
        c->fd[k] = new_gradient(c);
    return TG_CLI_OK;
}

static void close_check(check *c)
{
    double *const vector[] = {c->q,  c->q_start, c->v,   c->v_start, c->tau,  c->acceleration,
                              c->gq, c->gv,      c->act, c->u,       c->gact, c->act_start};
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        free(vector[i]);
    free(c->contact);
    free(c->cache.entry);
    free(c->cache_start.entry);
    if (c->exact.value[0] != NULL)
    {
        free_gradient(&c->exact);
        free_gradient(&c->along);
        for (int k = 0; k < SWEEP; k++)
            free_gradient(&c->fd[k]);
    }
    tg_work_destroy(c->w);
    tg_differences_destroy(c->d);
}

/* ---- the trajectory ---- */

/* The message of a workspace; none where there was no room for the contacts of a step, which is tried again with more. */
static int failure(const check *c)
{
    int room, found;
    tg_work_contacts(c->w, &room, &found);
    return found > room ? MORE_ROOM : tg_cli_fail(TG_CLI_FAILED, NULL, "%s", tg_work_message(c->w));
}

static double noise(check *c)
{
    c->seed = c->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(c->seed >> 11) / 4503599627370496.0 - 1;
}

static void fill(check *c, double *x, int n, double size)
{
    for (int i = 0; i < n; i++)
        x[i] = size * noise(c);
}

/* Lies, is lifted a little, is dropped: with more and more velocity. */
static tg_status begin_phase(check *c, int phase)
{
    static const double lift[3] = {0, 0.01, 0.1}, speed[3] = {0.05, 0.3, 1};
    tg_error error;
    tg_status status = tg_model_sizes(c->m).nkey > 0 && phase % 2 == 0
                           ? tg_key_get(c->m, 0, NULL, c->q, c->v, c->act, c->u, &error)
                           : tg_default_q(c->m, c->q, &error);
    fill(c, c->v, c->n.nv, speed[phase % 3]);
    c->cache.count = 0;
    for (int j = 0; j < c->n.njoint && status == TG_OK; j++)
    {
        tg_joint_info joint;
        status = tg_joint_get(c->m, j, &joint, &error);
        if (status == TG_OK && joint.type == TG_JOINT_FREE)
            c->q[joint.q + 2] += lift[phase % 3];
    }
    return status;
}

static void keep_start(check *c)
{
    memcpy(c->q_start, c->q, sizeof(double) * (size_t)c->n.nq);
    memcpy(c->v_start, c->v, sizeof(double) * (size_t)c->n.nv);
    memcpy(c->act_start, c->act, sizeof(double) * (size_t)c->n.na);
    c->cache_start.count = c->cache.count;
    memcpy(c->cache_start.entry, c->cache.entry, sizeof(tg_cache_entry) * (size_t)c->cache.count);
}

/* random controls, and forces that would accelerate every joint by up to 2 units */
static tg_status push(check *c)
{
    fill(c, c->u, c->n.nu, 0.5);
    fill(c, c->acceleration, c->n.nv, 2);
    tg_status status = tg_rnea(c->m, c->w, c->q, c->v, c->acceleration, c->tau);
    memset(c->acceleration, 0, sizeof(double) * (size_t)c->n.nv);
    if (status == TG_OK)
        status = tg_rnea(c->m, c->w, c->q, c->v, c->acceleration, c->gq);
    for (int k = 0; k < c->n.nv; k++)
        c->tau[k] -= c->gq[k];
    return status;
}

static tg_status step(check *c)
{
    tg_state state = {c->q, c->v, c->act, &c->cache};
    return tg_step(c->m, c->w, NULL, &state, &(tg_control){.u = c->u, .tau = c->tau}, &state, NULL);
}

/* ---- one state ---- */

static void choose_params(check *c)
{
    c->nindex = c->nchosen < MOST_PARAMS ? c->nchosen : MOST_PARAMS;
    for (int i = 0; i < c->nindex; i++)
        c->index[i] = c->chosen[c->nchosen <= MOST_PARAMS ? i : (int)(fabs(noise(c)) * c->nchosen) % c->nchosen];
}

static double largest_of(const double *F, int n)
{
    double largest = 0;
    for (int i = 0; i < n; i++)
        largest = isfinite(F[i]) ? fmax(largest, fabs(F[i])) : largest;
    return largest;
}

/* the error of one number for the best displacement */
static double error_of(const check *c, int group, int i, double scale)
{
    double error = INFINITY;
    for (int k = 0; k < SWEEP; k++)
        if (isfinite(c->fd[k].value[group][i]))
            error = fmin(error, fabs(c->exact.value[group][i] - c->fd[k].value[group][i]) / fmax(1, scale));
    return error;
}

static double worst_of(const check *c)
{
    double worst = 0;
    for (int group = 0; group < GROUPS; group++)
    {
        const double *F = c->fd[0].value[group];
        double scale = largest_of(F, c->size[group]);
        for (int i = 0; i < c->size[group]; i++)
            worst = isfinite(F[i]) ? fmax(worst, error_of(c, group, i, scale)) : worst;
    }
    return worst;
}

static void name_entry(const check *c, int group, int i, char *name, size_t size)
{
    snprintf(name, size, "%d", i);
    if (group == GROUPS - 1)
        tg_param_name(c->m, i, false, name, size, NULL);
    else if (group == 3)
        snprintf(name, size, "%s", tg_cli_label_of(c->m, TG_ACTUATOR, i).text);
    else if (group == 5)
        snprintf(name, size, "dt");
    for (int j = 0; (group < 2 || group == 4) && j < c->n.njoint; j++)
    {
        tg_joint_info joint;
        if (tg_joint_get(c->m, j, &joint, NULL) == TG_OK && joint.dof <= i)
            snprintf(name, size, "%.200s[%d]", tg_cli_label_of(c->m, TG_JOINT, j).text, i - joint.dof);
    }
}

static void note_errors(check *c)
{
    result *r = &c->r;
    for (int group = 0; group < GROUPS; group++)
    {
        const double *F = c->fd[0].value[group];
        double scale = largest_of(F, c->size[group]);
        r->largest[group] = fmax(r->largest[group], scale);
        for (int i = 0; i < c->size[group]; i++)
        {
            double error = isfinite(F[i]) ? error_of(c, group, i, scale) : 0;
            if (error <= r->error[group])
                continue;
            r->error[group] = error;
            r->found[group] = c->exact.value[group][i];
            r->expected[group] = F[i];
            name_entry(c, group, i, r->entry[group], sizeof r->entry[group]);
        }
    }
}

static tg_status difference(check *c, const tg_cotangent *out)
{
    tg_state start = {c->q_start, c->v_start, c->act_start, &c->cache_start};
    tg_control control = {.u = c->u, .tau = c->tau};
    for (int k = 0; k < SWEEP; k++)
        for (int group = 0; group < GROUPS; group++)
            for (int i = 0; i < c->size[group]; i++)
                c->fd[k].value[group][i] = NAN;
    for (int k = 0; k < SWEEP && (k == 0 || worst_of(c) > tolerance); k++)
    {
        tg_differences_count count;
        tg_differences_request request = {
            .state = &start, .control = &control, .index = c->index, .nindex = c->nindex, .scale = sweep[k]};
        tg_status status = tg_step_differences(c->m, c->d, &request, out, &c->fd[k].g, &count);
        if (status != TG_OK)
            return status;
        if (k > 0)
            continue;
        c->r.taken += count.taken;
        c->r.switched += count.switched;
        c->r.tied += count.tied;
        c->r.outside += count.outside;
    }
    return TG_OK;
}

/* out . (J in) forwards and backwards */
static tg_status compare_modes(check *c, const tg_cotangent *out)
{
    tg_cotangent change = {.q = c->acceleration, .v = c->fd[0].value[1], .act = c->fd[0].value[2]};
    double reverse = 0, forward = 0, size = 1;
    for (int group = 0; group < GROUPS; group++)
    {
        fill(c, c->along.value[group], c->size[group], group == 5 ? 1e-3 : 1);
        for (int i = 0; i < c->size[group]; i++)
        {
            double term = c->along.value[group][i] * c->exact.value[group][i];
            reverse += term;
            size += fabs(term);
        }
    }
    tg_status status = tg_step_jvp(c->m, c->w, &c->along.g, &change, NULL);
    for (int k = 0; k < c->n.nv && status == TG_OK; k++)
        forward += out->q[k] * change.q[k] + out->v[k] * change.v[k];
    for (int k = 0; k < c->n.na && status == TG_OK; k++)
        forward += out->act[k] * change.act[k];
    c->r.disagreement = fmax(c->r.disagreement, fabs(forward - reverse) / size);
    return status;
}

static void count_modes(check *c)
{
    int count = 0;
    if (tg_step_contacts(c->m, c->w, c->contact, c->ncontact, &count) != TG_OK)
        return;
    for (int i = 0; i < count && i < c->ncontact; i++)
        c->r.modes[c->contact[i].mode]++;
}

/* a step, its derivatives and their differences */
static int sample(check *c)
{
    tg_label label;
    keep_start(c);
    tg_status status = step(c);
    fill(c, c->gq, c->n.nv, 1);
    fill(c, c->gv, c->n.nv, 1);
    fill(c, c->gact, c->n.na, 1);
    choose_params(c);
    tg_cotangent out = {.q = c->gq, .v = c->gv, .act = c->gact};
    if (status == TG_OK)
        status = tg_step_vjp(c->m, c->w, &out, &c->exact.g, &label);
    if (status != TG_OK)
        return failure(c);
    count_modes(c);
    c->r.states++;
    c->r.labels[label.kind]++;
    if (label.kind != TG_LABEL_EXACT)
        return TG_CLI_OK;
    if (difference(c, &out) != TG_OK)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "%s", tg_differences_message(c->d));
    note_errors(c);
    return compare_modes(c, &out) == TG_OK ? TG_CLI_OK : tg_cli_fail(TG_CLI_FAILED, NULL, "%s", tg_work_message(c->w));
}

static int follow(check *c, int samples)
{
    tg_cli_progress progress = tg_cli_progress_begin("states");
    int code = TG_CLI_OK;
    for (int i = 0; c->r.states < samples && code == TG_CLI_OK; i++)
    {
        tg_status status = i % PHASE == 0 ? begin_phase(c, i / PHASE) : TG_OK;
        if (status == TG_OK)
            status = push(c);
        if (status == TG_OK && i % EVERY == EVERY - 1)
        {
            code = sample(c);
            tg_cli_progress_show(&progress, c->r.states, samples);
        }
        else if (status == TG_OK)
            status = step(c);
        if (status != TG_OK)
            code = failure(c);
    }
    tg_cli_progress_end(&progress);
    return code;
}

/* ---- shown ---- */

static bool passes(const result *r)
{
    bool good = r->taken > 0 && r->disagreement <= agreement && (double)r->switched < 0.05 * (double)r->taken;
    for (int group = 0; group < GROUPS; group++)
        good = good && r->error[group] <= tolerance;
    return good;
}

static void print_result(const tg_cli_output *out, const tg_cli_model *model, const check *c)
{
    const result *r = &c->r;
    tg_cli_print(out, TG_CLI_TITLE, "%s", tg_model_name(model->m));
    fprintf(out->file,
            "  %s\n%d states: %d exact, %d one-sided, %d regularised; contacts: %ld breaking, %ld sticking, %ld "
            "sliding\n\n  ",
            model->path, r->states, r->labels[0], r->labels[1], r->labels[2], r->modes[0], r->modes[1], r->modes[2]);
    tg_cli_print(out, TG_CLI_TITLE, "%-8s %10s %12s  %s\n", "by", "error", "largest",
                 "worst entry: derivative, differences");
    for (int group = 0; group < GROUPS; group++)
    {
        if (c->size[group] == 0)
            continue;
        fprintf(out->file, "  %-8s ", group_name[group]);
        tg_cli_print(out, r->error[group] <= tolerance ? TG_CLI_GOOD : TG_CLI_BAD, "%10.2g", r->error[group]);
        fprintf(out->file, " %12.5g  %s: %.9g, %.9g\n", r->largest[group], r->entry[group], r->found[group],
                r->expected[group]);
    }
    fprintf(
        out->file,
        "\n%ld numbers compared; skipped: %ld where a mode changes, %ld of two equal coefficients, %ld at the edge of "
        "their domain\nforward and reverse mode agree to %.2g\n",
        r->taken, r->switched, r->tied, r->outside, r->disagreement);
    tg_cli_print(out, passes(r) ? TG_CLI_GOOD : TG_CLI_BAD, "%s\n", passes(r) ? "passed" : "failed");
}

static void write_result(FILE *file, const tg_cli_model *model, const check *c)
{
    const result *r = &c->r;
    tg_cli_json json = {.file = file};
    tg_cli_json_open(&json, NULL, '{');
    tg_cli_json_text(&json, "model", tg_model_name(model->m));
    tg_cli_json_flag(&json, "passed", passes(r));
    tg_cli_json_integer(&json, "states", r->states);
    for (int kind = 0; kind < 3; kind++)
        tg_cli_json_integer(&json, tg_label_string((tg_label_kind)kind), r->labels[kind]);
    for (int mode = 0; mode < TG_CONTACT_MODES; mode++)
        tg_cli_json_integer(&json, tg_contact_mode_string((tg_contact_mode)mode), (int)r->modes[mode]);
    tg_cli_json_integer(&json, "compared", (int)r->taken);
    tg_cli_json_integer(&json, "switched", (int)r->switched);
    tg_cli_json_integer(&json, "tied", (int)r->tied);
    tg_cli_json_integer(&json, "outside", (int)r->outside);
    tg_cli_json_number(&json, "disagreement", r->disagreement);
    for (int group = 0; group < GROUPS; group++)
    {
        tg_cli_json_open(&json, group_name[group], '{');
        tg_cli_json_number(&json, "error", r->error[group]);
        tg_cli_json_number(&json, "largest", r->largest[group]);
        tg_cli_json_text(&json, "entry", r->entry[group]);
        tg_cli_json_number(&json, "derivative", r->found[group]);
        tg_cli_json_number(&json, "differences", r->expected[group]);
        tg_cli_json_close(&json, '}');
    }
    tg_cli_json_close(&json, '}');
}

/* ---- the command ---- */

static int match_params(const tg_cli_call *call, const tg_model *m, int *chosen, int *count)
{
    const char *pattern = call->option[OPTION_PARAMS] != NULL ? call->option[OPTION_PARAMS] : "*";
    tg_error error;
    if (tg_param_match(m, pattern, chosen, tg_model_sizes(m).nparams, count, &error) == TG_OK)
        return TG_CLI_OK;
    return tg_cli_fail(TG_CLI_FAILED, "names and patterns: tangere params MODEL", "%s", error.message);
}

/* The whole check with room for so many contacts; MORE_ROOM, and how many there should be, if they do not fit. */
static int check_with(const tg_cli_call *call, const tg_cli_model *model, int samples, const int *chosen, int nchosen,
                      int *contacts)
{
    check c;
    int code = open_check(&c, model->m, *contacts);
    c.chosen = chosen;
    c.nchosen = nchosen;
    if (code == TG_CLI_OK)
        code = follow(&c, samples);
    if (code == MORE_ROOM)
    {
        tg_work_contacts(c.w, NULL, contacts);
        *contacts += *contacts / 2;
    }
    if (code == TG_CLI_OK)
    {
        if (call->option[OPTION_JSON] != NULL)
            write_result(call->out.file, model, &c);
        else
            print_result(&call->out, model, &c);
        code = passes(&c.r) ? TG_CLI_OK : TG_CLI_FAILED;
    }
    close_check(&c);
    return code;
}

static int check_model(const tg_cli_call *call, const tg_cli_model *model, int samples)
{
    int nchosen = 0, contacts = 0;
    int *chosen = tg_cli_alloc((size_t)tg_model_sizes(model->m).nparams + 1, sizeof *chosen);
    int code = match_params(call, model->m, chosen, &nchosen);
    if (code == TG_CLI_OK)
        do
            code = check_with(call, model, samples, chosen, nchosen, &contacts);
        while (code == MORE_ROOM);
    free(chosen);
    return code;
}

static int run(const tg_cli_call *call)
{
    int samples = 100;
    tg_cli_model model;
    int code = TG_CLI_OK;
    if (call->option[OPTION_SAMPLES] != NULL)
        code = tg_cli_count("--samples", call->option[OPTION_SAMPLES], 1000000, &samples);
    if (code == TG_CLI_OK)
        code = tg_cli_open(call->argument[0], &call->reading, &model);
    if (code != TG_CLI_OK)
        return code;
    code = check_model(call, &model, samples);
    tg_cli_close(&model);
    return code;
}

const tg_cli_command tg_cli_check_command = {
    .name = "check",
    .usage = "MODEL [OPTIONS]",
    .summary = "derivatives against differences",
    .details =
        "Compares the derivatives of steps with central differences, along a trajectory that lifts, drops and\n"
        "pushes the model, and prints the worst entry by name. States whose derivative has two sides are counted,\n"
        "not compared. Exit code 1 if an error is past 1e-6, or if 5 % of the numbers had to be skipped.",
    .required = 1,
    .allowed = 1,
    .options = {[OPTION_SAMPLES] = {"--samples", "N", "states to compare (100)"},
                [OPTION_PARAMS] = {"--params", "PATTERN", "parameters to draw from ('*')"},
                [OPTION_JSON] = {"--json", NULL, "the result as an object"}},
    .run = run,
};
