/* tangere sim: steps a model, and says how that went. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/python.h"
#include "cli/sim.h"

#define DEFAULT_TIME 5.0 /* s */
#define MOST_STEPS 1e9

enum
{
    MOST_CONTACTS = 100000 /* room that is made by itself */
};

/* ---- one simulation ---- */

typedef struct simulation
{
    const tg_model *m;
    tg_work *w;
    tg_options options;
    tg_sizes n;
    tg_state state;
    tg_cache cache;
    const char *key;         /* NULL: the reference configuration */
    double *held;            /* nu, where there is no file of controls */
    tg_cli_controls *follow; /* NULL: none */
    double lift, time;       /* m, s */
    int steps;
} simulation;

/* What the steps told. */
typedef struct totals
{
    int steps, unsolved, unstable;
    double seconds; /* that the steps took */
    double contacts, iterations;
    int most_contacts, most_iterations, last_contacts;
    double residual, unrelaxed, penetration, last_penetration;
    double residual_time, penetration_time;
    double energy[2]; /* J, at the start and at the end */
    tg_cli_profile profile;
} totals;

/* Free joints of a model go up by lift. */
static void lift_state(const tg_model *m, double lift, double *q)
{
    for (int j = 0; j < tg_model_sizes(m).njoint; j++)
    {
        tg_joint_info joint;
        if (tg_joint_get(m, j, &joint, NULL) == TG_OK && joint.type == TG_JOINT_FREE)
            q[joint.q + 2] += lift;
    }
}

static int choose_start(simulation *s)
{
    tg_error error;
    double time = 0;
    int key = -1;
    if (s->key != NULL && tg_cli_find_key(s->m, s->key, &key) != TG_CLI_OK)
        return TG_CLI_FAILED;
    tg_status status = key < 0 ? tg_default_q(s->m, s->state.q, &error)
                               : tg_key_get(s->m, key, &time, s->state.q, s->state.v, s->state.act, s->held, &error);
    if (status != TG_OK)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "%s", error.message);
    s->time = time;
    lift_state(s->m, s->lift, s->state.q);
    return TG_CLI_OK;
}

/* A place in the cache for every constraint that can be there at once. */
static void make_cache(simulation *s)
{
    int room;
    tg_work_contacts(s->w, &room, NULL);
    free(s->cache.entry);
    s->cache = (tg_cache){.capacity = room + s->n.nequality + s->n.nv + 2 * s->n.njoint + 3 * s->n.ntendon};
    s->cache.entry = tg_cli_alloc((size_t)s->cache.capacity, sizeof *s->cache.entry);
    s->state.cache = &s->cache;
}

static void allocate(simulation *s)
{
    s->n = tg_model_sizes(s->m);
    s->state.q = tg_cli_alloc((size_t)s->n.nq, sizeof(double));
    s->state.v = tg_cli_alloc((size_t)s->n.nv, sizeof(double));
    s->state.act = tg_cli_alloc((size_t)s->n.na, sizeof(double));
    s->held = tg_cli_alloc((size_t)s->n.nu, sizeof(double));
}

static void release(simulation *s)
{
    free(s->state.q);
    free(s->state.v);
    free(s->state.act);
    free(s->held);
    free(s->cache.entry);
    tg_work_destroy(s->w);
}

/* A larger workspace, with the impulses of the last step kept. */
static bool make_room(simulation *s)
{
    int room, found;
    tg_work *larger = NULL;
    tg_work_contacts(s->w, &room, &found);
    if (found <= room || found > MOST_CONTACTS || tg_work_create_for(s->m, found + found / 2, &larger, NULL) != TG_OK)
        return false;
    tg_work_destroy(s->w);
    s->w = larger;
    tg_cache old = s->cache;
    s->cache.entry = NULL;
    make_cache(s);
    memcpy(s->cache.entry, old.entry, (size_t)old.count * sizeof *old.entry);
    s->cache.count = old.count;
    free(old.entry);
    return true;
}

static tg_status step_once(simulation *s, const double *u, tg_info *info)
{
    tg_control control = {.u = u};
    tg_status status = tg_step(s->m, s->w, &s->options, &s->state, &control, &s->state, info);
    while (status == TG_ERR_CAPACITY && make_room(s))
        status = tg_step(s->m, s->w, &s->options, &s->state, &control, &s->state, info);
    return status;
}

static void add_step(totals *t, const tg_info *info, double time)
{
    t->steps++;
    t->unsolved += info->status == TG_STEP_PARTIAL;
    t->unstable += info->status == TG_STEP_UNSTABLE;
    t->contacts += info->contacts;
    t->iterations += info->iterations;
    t->last_contacts = info->contacts;
    t->last_penetration = info->penetration;
    t->most_contacts = info->contacts > t->most_contacts ? info->contacts : t->most_contacts;
    t->most_iterations = info->iterations > t->most_iterations ? info->iterations : t->most_iterations;
    t->unrelaxed = fmax(t->unrelaxed, info->unrelaxed);
    if (info->residual > t->residual)
    {
        t->residual = info->residual;
        t->residual_time = time;
    }
    if (info->penetration > t->penetration)
    {
        t->penetration = info->penetration;
        t->penetration_time = time;
    }
}

static int energy_now(simulation *s, double *kinetic, double *potential)
{
    return tg_energy(s->m, s->w, s->state.q, s->state.v, kinetic, potential) == TG_OK
               ? TG_CLI_OK
               : tg_cli_fail(TG_CLI_FAILED, NULL, "%s", tg_work_message(s->w));
}

static int step_failed(const simulation *s, tg_status status, int step)
{
    return tg_cli_fail(TG_CLI_FAILED, status == TG_ERR_NUMERIC ? "a smaller --dt may help" : NULL,
                       "step %d, at %g s: %s", step, s->time, tg_work_message(s->w));
}

/* All steps, and the record of them where one is wanted. */
static int simulate(simulation *s, tg_cli_record *record, totals *t)
{
    tg_cli_progress progress = tg_cli_progress_begin("step");
    tg_info info = {.status = TG_STEP_SOLVED};
    double start = s->time;
    if (energy_now(s, &info.kinetic, &info.potential) != TG_CLI_OK)
        return TG_CLI_FAILED;
    t->energy[0] = info.kinetic + info.potential;
    if (record != NULL)
        tg_cli_record_add(record, s->time, &s->state, NULL, &info);
    for (int i = 0; i < s->steps; i++)
    {
        const double *u = s->follow != NULL ? tg_cli_controls_at(s->follow, i, s->time) : s->held;
        double before = tg_cli_clock();
        tg_status status = step_once(s, u, &info);
        t->seconds += tg_cli_clock() - before;
        if (status != TG_OK)
        {
            tg_cli_progress_end(&progress);
            return step_failed(s, status, i);
        }
        s->time = start + (i + 1) * s->options.dt;
        add_step(t, &info, s->time);
        if (s->options.profile)
            tg_cli_profile_add(&t->profile, s->m, s->w, &info.profile, s->time);
        if (record != NULL)
            tg_cli_record_add(record, s->time, &s->state, u, &info);
        tg_cli_progress_show(&progress, i + 1, s->steps);
    }
    tg_cli_progress_end(&progress);
    int code = energy_now(s, &info.kinetic, &info.potential);
    t->energy[1] = info.kinetic + info.potential;
    return code;
}

/* ---- shown ---- */

static double share(double sum, const totals *t)
{
    return t->steps > 0 ? sum / t->steps : 0;
}

static void print_label(const tg_cli_output *out, const char *label)
{
    fprintf(out->file, "  ");
    tg_cli_column(out, TG_CLI_NAME, label, 14);
}

static void print_start(const tg_cli_output *out, const tg_cli_model *model, const simulation *s)
{
    tg_cli_print(out, TG_CLI_NAME, "%s", tg_model_name(s->m));
    tg_cli_print(out, TG_CLI_QUIET, "  %s", model->path);
    if (s->key != NULL)
        fprintf(out->file, "\nfrom keyframe '%s'", s->key);
    else
        fprintf(out->file, "\nfrom the reference configuration");
    if (s->lift != 0)
        fprintf(out->file, ", %g m above it", s->lift);
    if (s->n.nu > 0)
        fprintf(out->file, "; controls %s",
                s->follow != NULL ? "of the file"
                : s->key != NULL  ? "of the keyframe held"
                                  : "zero");
    fputc('\n', out->file);
}

/* Where a body with a free joint ends: that is what one wants to see of a robot that was dropped. */
static void print_bodies(const tg_cli_output *out, const simulation *s)
{
    enum
    {
        SHOWN = 4
    };
    int shown = 0;
    for (int j = 0; j < s->n.njoint && shown < SHOWN; j++)
    {
        tg_joint_info joint;
        if (tg_joint_get(s->m, j, &joint, NULL) != TG_OK || joint.type != TG_JOINT_FREE)
            continue;
        const double *q = s->state.q + joint.q, *v = s->state.v + joint.dof;
        double upright = 1 - 2 * (q[4] * q[4] + q[5] * q[5]);
        print_label(out, shown++ == 0 ? "ends at" : "");
        fprintf(out->file, "%s: height %.4f m, speed %.1e m/s, tilt %.1f deg\n",
                tg_cli_label_of(s->m, TG_BODY, joint.body).text, q[2], sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]),
                acos(fmax(-1, fmin(1, upright))) * 180 / acos(-1));
    }
}

static void print_speed(const tg_cli_output *out, const simulation *s, const totals *t)
{
    double simulated = t->steps * s->options.dt;
    fprintf(out->file, "%d steps of %g ms with '%s'", t->steps, 1e3 * s->options.dt, s->options.solver);
    if (strcmp(s->options.law, tg_law_name(0)) != 0)
        fprintf(out->file, ", law '%s'", s->options.law);
    fprintf(out->file, ": %g s in %.3g s, ", simulated, t->seconds);
    tg_cli_print(out, TG_CLI_TITLE, "%.3g times real time", t->seconds > 0 ? simulated / t->seconds : 0);
    fprintf(out->file, ", %.1f us per step\n\n", 1e6 * share(t->seconds, t));
}

/* " at 0.25 s", where there is something to look at */
static void print_when(const tg_cli_output *out, double value, double time)
{
    if (value > 0)
        fprintf(out->file, " at %g s", time);
}

static void print_residual(const tg_cli_output *out, const simulation *s, const totals *t)
{
    print_label(out, "residual");
    fprintf(out->file, "worst %.1e m/s", t->residual);
    print_when(out, t->residual, t->residual_time);
    if (t->unsolved == 0)
        tg_cli_print(out, TG_CLI_GOOD, "; all steps solved to %g", s->options.tolerance);
    else
        tg_cli_print(out, TG_CLI_BAD, "; %d steps NOT solved to %g", t->unsolved, s->options.tolerance);
    if (t->unstable > 0)
        tg_cli_print(out, TG_CLI_BAD, "; %d steps UNSTABLE: they create energy", t->unstable);
    if (strcmp(s->options.law, tg_law_name(0)) != 0)
        fprintf(out->file, "; of the unrelaxed law %.1e m/s", t->unrelaxed);
    fputc('\n', out->file);
}

static void print_summary(const tg_cli_output *out, const simulation *s, totals *t)
{
    print_speed(out, s, t);
    print_label(out, "contacts");
    fprintf(out->file, "mean %.1f, most %d, at the end %d\n", share(t->contacts, t), t->most_contacts,
            t->last_contacts);
    print_label(out, "iterations");
    fprintf(out->file, "mean %.2f, most %d per step\n", share(t->iterations, t), t->most_iterations);
    print_residual(out, s, t);
    print_label(out, "penetration");
    fprintf(out->file, "worst %.2e m", t->penetration);
    print_when(out, t->penetration, t->penetration_time);
    fprintf(out->file, ", at the end %.2e m\n", t->last_penetration);
    print_label(out, "energy");
    fprintf(out->file, "%.6g J at the start, %.6g J at the end, drift %+.3g J\n", t->energy[0], t->energy[1],
            t->energy[1] - t->energy[0]);
    print_bodies(out, s);
    if (s->options.profile)
        tg_cli_profile_print(out, &t->profile, s->m);
}

static void write_totals(tg_cli_json *json, const totals *t)
{
    tg_cli_json_open(json, "contacts", '{');
    tg_cli_json_number(json, "mean", share(t->contacts, t));
    tg_cli_json_integer(json, "most", t->most_contacts);
    tg_cli_json_integer(json, "last", t->last_contacts);
    tg_cli_json_close(json, '}');
    tg_cli_json_open(json, "iterations", '{');
    tg_cli_json_number(json, "mean", share(t->iterations, t));
    tg_cli_json_integer(json, "most", t->most_iterations);
    tg_cli_json_close(json, '}');
    tg_cli_json_number(json, "residual", t->residual);
    tg_cli_json_number(json, "unrelaxed", t->unrelaxed);
    tg_cli_json_integer(json, "unsolved", t->unsolved);
    tg_cli_json_integer(json, "unstable", t->unstable);
    tg_cli_json_open(json, "penetration", '{');
    tg_cli_json_number(json, "most", t->penetration);
    tg_cli_json_number(json, "last", t->last_penetration);
    tg_cli_json_close(json, '}');
    tg_cli_json_open(json, "energy", '{');
    tg_cli_json_number(json, "start", t->energy[0]);
    tg_cli_json_number(json, "end", t->energy[1]);
    tg_cli_json_number(json, "drift", t->energy[1] - t->energy[0]);
    tg_cli_json_close(json, '}');
}

static void write_json(FILE *file, const tg_cli_model *model, const simulation *s, totals *t)
{
    tg_cli_json json = {.file = file};
    tg_cli_json_open(&json, NULL, '{');
    tg_cli_json_text(&json, "name", tg_model_name(s->m));
    tg_cli_json_text(&json, "path", model->path);
    if (s->key != NULL)
        tg_cli_json_text(&json, "key", s->key);
    tg_cli_json_text(&json, "solver", s->options.solver);
    tg_cli_json_text(&json, "law", s->options.law);
    tg_cli_json_number(&json, "dt", s->options.dt);
    tg_cli_json_integer(&json, "steps", t->steps);
    tg_cli_json_number(&json, "time", s->time);
    tg_cli_json_number(&json, "seconds", t->seconds);
    tg_cli_json_number(&json, "real_time_factor", t->seconds > 0 ? t->steps * s->options.dt / t->seconds : 0);
    write_totals(&json, t);
    if (s->options.profile)
        tg_cli_profile_write(&json, &t->profile, s->m);
    tg_cli_json_numbers(&json, "q", s->state.q, s->n.nq, false);
    tg_cli_json_numbers(&json, "v", s->state.v, s->n.nv, false);
    tg_cli_json_numbers(&json, "act", s->state.act, s->n.na, false);
    tg_cli_json_close(&json, '}');
}

/* ---- */

enum
{
    OPTION_TIME,
    OPTION_DT,
    OPTION_KEY,
    OPTION_LIFT,
    OPTION_SOLVER,
    OPTION_LAW,
    OPTION_PROJECT,
    OPTION_COLD,
    OPTION_CTRL,
    OPTION_OUT,
    OPTION_PROFILE,
    OPTION_JSON,
    OPTION_PLOT,
    OPTION_HTML
};

/* Numbers and names that need no model to be wrong. */
static int read_options(const tg_cli_call *call, simulation *s, double *length)
{
    const char *const *option = call->option;
    int code = TG_CLI_OK;
    s->options = tg_default_options();
    s->options.project = option[OPTION_PROJECT] != NULL;
    s->options.cold = option[OPTION_COLD] != NULL;
    s->options.profile = option[OPTION_PROFILE] != NULL;
    s->key = option[OPTION_KEY];
    *length = DEFAULT_TIME;
    if (option[OPTION_TIME] != NULL)
        code = tg_cli_real("--time", option[OPTION_TIME], 0, 1e9, length);
    if (code == TG_CLI_OK && option[OPTION_DT] != NULL)
        code = tg_cli_real("--dt", option[OPTION_DT], 1e-9, 1, &s->options.dt);
    if (code == TG_CLI_OK && option[OPTION_LIFT] != NULL)
        code = tg_cli_real("--lift", option[OPTION_LIFT], -1e6, 1e6, &s->lift);
    if (code == TG_CLI_OK && option[OPTION_OUT] != NULL)
        code = tg_cli_check_record_path(option[OPTION_OUT]);
    if (code == TG_CLI_OK && option[OPTION_SOLVER] != NULL)
        code = tg_cli_choose("solver", tg_solver_name, option[OPTION_SOLVER], &s->options.solver);
    if (code == TG_CLI_OK && option[OPTION_LAW] != NULL)
        code = tg_cli_choose("law", tg_law_name, option[OPTION_LAW], &s->options.law);
    return code;
}

/* The number of steps, from the time step that counts. */
static int count_steps(simulation *s, double length)
{
    if (s->options.dt == 0)
        s->options.dt = tg_model_timestep(s->m);
    double steps = rint(length / s->options.dt);
    if (!(steps <= MOST_STEPS))
        return tg_cli_fail(TG_CLI_USAGE, NULL, "%g steps are too many; at most %g", steps, MOST_STEPS);
    s->steps = (int)steps;
    return TG_CLI_OK;
}

/* path: of the record, NULL: none */
static int run_recorded(const tg_cli_call *call, const tg_cli_model *model, simulation *s, const char *path)
{
    tg_cli_record record = tg_cli_record_begin(s->m);
    totals t = {0};
    tg_error error;
    s->options.energy = path != NULL;
    int code = choose_start(s);
    if (code == TG_CLI_OK && tg_work_create(s->m, &s->w, &error) != TG_OK)
        code = tg_cli_fail(TG_CLI_FAILED, NULL, "%s", error.message);
    if (code != TG_CLI_OK)
        return code;
    make_cache(s);
    code = simulate(s, path != NULL ? &record : NULL, &t);
    if (path != NULL && record.rows > 0)
    {
        int written = tg_cli_write_record(path, &record); /* after a failure too: up to it */
        code = code == TG_CLI_OK ? written : code;
    }
    tg_cli_record_end(&record);
    if (code == TG_CLI_OK && call->option[OPTION_JSON] != NULL)
        write_json(call->out.file, model, s, &t);
    else if (code == TG_CLI_OK)
    {
        print_start(&call->out, model, s);
        print_summary(&call->out, s, &t);
    }
    tg_cli_profile_end(&t.profile);
    return code;
}

/* Plots and page of the record, by Python. */
static int show_record(const tg_cli_call *call, const tg_cli_model *model, const simulation *s, const char *path)
{
    const char *plot = call->option[OPTION_PLOT], *html = call->option[OPTION_HTML];
    int code = TG_CLI_OK;
    tg_cli_words words = {.count = 0};
    tg_cli_add_word(&words, model->path);
    tg_cli_add_word(&words, path);
    tg_cli_add_option(&words, "--dt", tg_cli_number_of(s->options.dt).text);
    tg_cli_add_reading(&words, &call->reading);
    tg_cli_words page = words;
    tg_cli_add_option(&words, "--out", plot);
    tg_cli_add_option(&page, "--html", html);
    if (plot != NULL)
        code = tg_cli_run_python("plot", "plot", &words);
    return code == TG_CLI_OK && html != NULL ? tg_cli_run_python("viewer", "view", &page) : code;
}

static int run_model(const tg_cli_call *call, const tg_cli_model *model, simulation *s)
{
    const char *path = call->option[OPTION_OUT];
    bool show = call->option[OPTION_PLOT] != NULL || call->option[OPTION_HTML] != NULL;
    char *temporary = show && path == NULL ? tg_cli_temporary(".npz") : NULL;
    int code = show && path == NULL && temporary == NULL ? TG_CLI_FAILED : TG_CLI_OK;
    path = path != NULL ? path : temporary;
    if (code == TG_CLI_OK)
        code = run_recorded(call, model, s, path);
    if (code == TG_CLI_OK && show)
        code = show_record(call, model, s, path);
    if (temporary != NULL)
        remove(temporary);
    free(temporary);
    return code;
}

static int run(const tg_cli_call *call)
{
    tg_cli_model model;
    tg_cli_controls controls = {0};
    simulation s = {0};
    double length;
    int code = read_options(call, &s, &length);
    if (code == TG_CLI_OK)
        code = tg_cli_open(call->argument[0], &call->reading, &model);
    if (code != TG_CLI_OK)
        return code;
    s.m = model.m;
    allocate(&s);
    code = count_steps(&s, length);
    if (code == TG_CLI_OK && call->option[OPTION_CTRL] != NULL)
    {
        code = tg_cli_read_controls(call->option[OPTION_CTRL], s.n.nu, &controls);
        s.follow = &controls;
    }
    if (code == TG_CLI_OK)
        code = run_model(call, &model, &s);
    free(controls.value);
    release(&s);
    tg_cli_close(&model);
    return code;
}

const tg_cli_command tg_cli_sim = {
    .name = "sim",
    .usage = "MODEL [--time T] [OPTIONS]",
    .summary = "simulates a model with contact and friction, and prints a summary",
    .details = "Steps a model from a keyframe, or from the reference configuration at rest, with the keyframe's "
               "controls\n"
               "(zero without one), and prints speed, contacts, iterations, the worst residual of the contact laws,\n"
               "penetration and energy. --out writes the trajectory: time, q, v, act, u, and the info of every step.",
    .required = 1,
    .allowed = 1,
    .options = {[OPTION_TIME] = {"--time", "T", "seconds to simulate (5)"},
                [OPTION_DT] = {"--dt", "DT", "time step in s (the model's)"},
                [OPTION_KEY] = {"--key", "NAME", "the initial keyframe; #0 is the first"},
                [OPTION_LIFT] = {"--lift", "H", "raise bodies with a free joint by H m at the start"},
                [OPTION_SOLVER] = {"--solver", "S", "solver of the contact problem: newton (default), ipm, pgs, ..."},
                [OPTION_LAW] = {"--law", "L",
                                "law of contacts: ncp (default), ccp, lcp-box, lcp-diamond, compliant, impulse"},
                [OPTION_PROJECT] = {"--project", NULL, "closes loops to rounding after every step"},
                [OPTION_COLD] = {"--cold", NULL, "cold start in every step: slower, and a function of the state alone"},
                [OPTION_CTRL] = {"--ctrl", "FILE", "controls: one row of numbers per step, or time and numbers"},
                [OPTION_OUT] = {"--out", "FILE", "the trajectory as .csv or .npz"},
                [OPTION_PROFILE] = {"--profile", NULL, "time of each stage, and the costliest island"},
                [OPTION_JSON] = {"--json", NULL, "the summary as JSON, with the last state"},
                [OPTION_PLOT] = {"--plot", "FILE", "plots of the trajectory: .png, .pdf, .svg (Python, tangere[plot])"},
                [OPTION_HTML] = {"--html", "FILE", "a page that plays the trajectory (Python, tangere[view])"}},
    .run = run,
};
