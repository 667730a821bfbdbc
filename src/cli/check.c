/* tangere check: what tg_check finds, as a table or as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"

enum
{
    OPTION_SAMPLES,
    OPTION_SEED,
    OPTION_PARAMS,
    OPTION_IMPACT,
    OPTION_LAW,
    OPTION_JSON
};

/* ---- shown ---- */

static void print_states(const tg_cli_output *out, const tg_check_result *r)
{
    fprintf(out->file, "%d states: %d exact, %d one-sided, %d regularised", r->states, r->labels[TG_LABEL_EXACT],
            r->labels[TG_LABEL_ONE_SIDED], r->labels[TG_LABEL_REGULARISED]);
    if (r->refused > 0)
        fprintf(out->file, ", %d without derivatives", r->refused);
    if (r->states > r->labels[TG_LABEL_EXACT])
        fprintf(out->file, " (with own, nudged, soft parameters: %d, %d, %d not exact)", r->not_exact[TG_CHECK_OWN],
                r->not_exact[TG_CHECK_NUDGED], r->not_exact[TG_CHECK_SOFT]);
    if (!r->touching)
        fprintf(out->file, "; no two of its geoms can touch");
    fputc('\n', out->file);
    if (r->states > r->labels[TG_LABEL_EXACT])
        fprintf(out->file,
                "states skipped: %d one-sided and %d regularised, as their labels say, where differences do not agree "
                "(%ld numbers), %d not solved, %d without derivatives\n",
                r->left_out[TG_LABEL_ONE_SIDED], r->left_out[TG_LABEL_REGULARISED], r->beside, r->unsolved, r->refused);
    if (r->touching)
        fprintf(out->file, "contacts: %ld breaking, %ld sticking, %ld sliding, in %d, %d, %d of the states\n",
                r->contacts[0], r->contacts[1], r->contacts[2], r->with_mode[0], r->with_mode[1], r->with_mode[2]);
    if (r->touching && !r->sliding)
        fprintf(out->file, "none of its contacts has friction: none can slide\n");
    if (r->implicit_actuators)
        fprintf(out->file, "actuators have damping of their own: it acts on v+ (implicit_actuators)\n");
    if (r->overlaps > 0)
        tg_cli_print(
            out, TG_CLI_WARNING,
            "%d pair%s of geoms overlap%s in the reference configuration, by up to %.2g m, and push each other apart "
            "(with --exclude-overlaps they do not collide)\n",
            r->overlaps, r->overlaps == 1 ? "" : "s", r->overlaps == 1 ? "s" : "", r->deepest);
    if (r->rare >= 0)
        tg_cli_print(out, TG_CLI_WARNING, "fewer than a tenth of the states have a %s contact\n",
                     tg_contact_mode_string((tg_contact_mode)r->rare));
}

/* parameters that cannot matter */
static void print_masked(const tg_cli_output *out, const tg_model *m, const tg_check_result *r)
{
    char name[256], by[256];
    for (int i = 0; i < r->masked && i < 2; i++)
    {
        tg_param_name(m, r->masked_index[i], false, name, sizeof name, NULL);
        tg_param_name(m, r->masked_by[i], false, by, sizeof by, NULL);
        fprintf(out->file, "%s cannot matter: in every contact of its geom another counts (%s)\n", name, by);
    }
    if (r->masked > 2)
        fprintf(out->file, "... and %d more parameters cannot matter\n", r->masked - 2);
}

static void print_groups(const tg_cli_output *out, const tg_check_result *r)
{
    fputs("\n  ", out->file);
    tg_cli_print(out, TG_CLI_TITLE, "%-22s %8s %9s %10s %12s  %s\n", "by", "compared", "skipped", "error", "largest",
                 "worst entry: derivative, differences");
    for (int i = 0; i < r->ngroup; i++)
    {
        const tg_check_group *g = &r->group[i];
        if (g->compared + g->skipped + g->unresolved == 0)
            continue;
        fprintf(out->file, "  %-22s %8ld %9ld ", g->name, g->compared, g->skipped + g->unresolved);
        tg_cli_print(out, g->error <= TG_CHECK_TOLERANCE ? TG_CLI_GOOD : TG_CLI_BAD, "%10.2g", g->error);
        fprintf(out->file, " %12.5g", g->largest);
        if (g->error > 0)
            fprintf(out->file, "  %s: %.9g, %.9g", g->entry, g->derivative, g->differences);
        if (g->error > TG_CHECK_TOLERANCE)
            fprintf(out->file, " (state %d, %s parameters, condition %.1g)", g->state,
                    tg_check_params_string(g->params), g->condition);
        fputc('\n', out->file);
    }
}

static void print_result(const tg_cli_output *out, const tg_cli_model *model, const tg_check_result *r)
{
    tg_cli_print(out, TG_CLI_TITLE, "%s", tg_model_name(model->m));
    fprintf(out->file, "  %s\n", model->path);
    print_states(out, r);
    print_masked(out, model->m, r);
    print_groups(out, r);
    fprintf(out->file,
            "\n%ld numbers compared, %ld of them with several displacements; skipped: %ld where a mode changes, %ld at "
            "other "
            "kinks,\n%ld where differences do not agree among themselves, %ld of two equal coefficients, %ld at the "
            "edge of "
            "their domain\n"
            "forward mode and matrices agree with reverse mode to %.2g and %.2g",
            r->compared, r->refined, r->switched, r->kinked, r->unresolved, r->tied, r->outside, r->jvp, r->jacobian);
    if (fmax(r->jvp, r->jacobian) > TG_CHECK_AGREEMENT)
        fprintf(out->file, " (state %d, %s parameters, %s)", r->apart_state, tg_check_params_string(r->apart_params),
                tg_label_string(r->apart_label));
    fputc('\n', out->file);
    if (r->infinite > 0)
        tg_cli_print(out, TG_CLI_BAD, "%ld derivatives are not finite\n", r->infinite);
    if (r->states_skipped >= TG_CHECK_SHARE)
        tg_cli_print(out, TG_CLI_BAD, "%.1f %% of the states were skipped\n", 100 * r->states_skipped);
    if (r->skipped >= TG_CHECK_SHARE)
        tg_cli_print(out, TG_CLI_BAD, "%.1f %% of the numbers could not be compared\n", 100 * r->skipped);
    tg_cli_print(out, r->passed ? TG_CLI_GOOD : TG_CLI_BAD, "%s\n", r->passed ? "passed" : "failed");
}

/* ---- JSON ---- */

static void write_modes(tg_cli_json *json, const tg_check_result *r)
{
    tg_cli_json_open(json, "modes", '{');
    for (int mode = 0; mode < TG_CONTACT_MODES; mode++)
    {
        tg_cli_json_open(json, tg_contact_mode_string((tg_contact_mode)mode), '{');
        tg_cli_json_integer(json, "states", r->with_mode[mode]);
        tg_cli_json_integer(json, "contacts", (int)r->contacts[mode]);
        tg_cli_json_flag(json, "possible", r->touching && (mode != TG_CONTACT_SLIDING || r->sliding));
        tg_cli_json_close(json, '}');
    }
    tg_cli_json_close(json, '}');
}

static void write_group(tg_cli_json *json, const tg_check_group *g)
{
    tg_cli_json_open(json, g->name, '{');
    tg_cli_json_integer(json, "compared", (int)g->compared);
    tg_cli_json_integer(json, "skipped", (int)g->skipped);
    tg_cli_json_integer(json, "unresolved", (int)g->unresolved);
    tg_cli_json_number(json, "error", g->error);
    tg_cli_json_number(json, "largest", g->largest);
    tg_cli_json_text(json, "entry", g->entry);
    tg_cli_json_number(json, "derivative", g->derivative);
    tg_cli_json_number(json, "differences", g->differences);
    tg_cli_json_integer(json, "state", g->state);
    tg_cli_json_text(json, "parameters", tg_check_params_string(g->params));
    tg_cli_json_number(json, "condition", g->condition);
    tg_cli_json_close(json, '}');
}

/* states that are not exact, by parameters; states that were skipped, by reason */
static void write_labels(tg_cli_json *json, const tg_check_result *r)
{
    tg_cli_json_open(json, "not_exact", '{');
    for (int set = 0; set < TG_CHECK_PARAM_SETS; set++)
        tg_cli_json_integer(json, tg_check_params_string((tg_check_params)set), r->not_exact[set]);
    tg_cli_json_close(json, '}');
    tg_cli_json_open(json, "states_skipped", '{');
    for (int kind = TG_LABEL_ONE_SIDED; kind <= TG_LABEL_REGULARISED; kind++)
        tg_cli_json_integer(json, tg_label_string((tg_label_kind)kind), r->left_out[kind]);
    tg_cli_json_integer(json, "unsolved", r->unsolved);
    tg_cli_json_integer(json, "refused", r->refused);
    tg_cli_json_integer(json, "numbers", (int)r->beside);
    tg_cli_json_number(json, "share", r->states_skipped);
    tg_cli_json_close(json, '}');
}

static void write_result(FILE *file, const tg_cli_model *model, const tg_check_result *r)
{
    tg_cli_json json = {.file = file};
    tg_cli_json_open(&json, NULL, '{');
    tg_cli_json_text(&json, "model", tg_model_name(model->m));
    tg_cli_json_flag(&json, "passed", r->passed);
    tg_cli_json_integer(&json, "states", r->states);
    for (int kind = 0; kind < TG_CHECK_LABELS; kind++)
        tg_cli_json_integer(&json, tg_label_string((tg_label_kind)kind), r->labels[kind]);
    tg_cli_json_flag(&json, "implicit_actuators", r->implicit_actuators);
    tg_cli_json_integer(&json, "overlaps", r->overlaps);
    tg_cli_json_integer(&json, "masked", r->masked);
    write_labels(&json, r);
    write_modes(&json, r);
    tg_cli_json_integer(&json, "compared", (int)r->compared);
    tg_cli_json_integer(&json, "refined", (int)r->refined);
    tg_cli_json_integer(&json, "switched", (int)r->switched);
    tg_cli_json_integer(&json, "unresolved", (int)r->unresolved);
    tg_cli_json_integer(&json, "tied", (int)r->tied);
    tg_cli_json_integer(&json, "outside", (int)r->outside);
    tg_cli_json_integer(&json, "kinked", (int)r->kinked);
    tg_cli_json_integer(&json, "infinite", (int)r->infinite);
    tg_cli_json_number(&json, "skipped_share", r->skipped);
    tg_cli_json_number(&json, "jvp", r->jvp);
    tg_cli_json_number(&json, "jacobian", r->jacobian);
    tg_cli_json_open(&json, "apart", '{');
    tg_cli_json_integer(&json, "state", r->apart_state);
    tg_cli_json_text(&json, "parameters", tg_check_params_string(r->apart_params));
    tg_cli_json_text(&json, "label", tg_label_string(r->apart_label));
    tg_cli_json_close(&json, '}');
    tg_cli_json_open(&json, "by", '{');
    for (int i = 0; i < r->ngroup; i++)
        if (r->group[i].compared + r->group[i].skipped + r->group[i].unresolved > 0)
            write_group(&json, &r->group[i]);
    tg_cli_json_close(&json, '}');
    tg_cli_json_close(&json, '}');
}

/* ---- the command ---- */

static bool show(void *user, int done, int states)
{
    tg_cli_progress_show(user, done, states);
    return true;
}

static int match_params(const tg_cli_call *call, const tg_model *m, int *chosen, int *count)
{
    const char *pattern = call->option[OPTION_PARAMS] != NULL ? call->option[OPTION_PARAMS] : "*";
    tg_error error;
    if (tg_param_match(m, pattern, chosen, tg_model_sizes(m).nparams, count, &error) == TG_OK)
        return TG_CLI_OK;
    return tg_cli_fail(TG_CLI_FAILED, "names and patterns: tangere params MODEL", "%s", error.message);
}

static int check_model(const tg_cli_call *call, const tg_cli_model *model, tg_check_options *options)
{
    tg_cli_progress progress = tg_cli_progress_begin("states");
    tg_check_result result;
    tg_error error;
    options->progress = show;
    options->user = &progress;
    tg_status status = tg_check(model->m, options, &result, &error);
    tg_cli_progress_end(&progress);
    if (status != TG_OK)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "%s", error.message);
    if (call->option[OPTION_JSON] != NULL)
        write_result(call->out.file, model, &result);
    else
        print_result(&call->out, model, &result);
    return result.passed ? TG_CLI_OK : TG_CLI_FAILED;
}

static int read_impact(const char *name, tg_impact *impact)
{
    *impact = strcmp(name, "within") == 0 ? TG_IMPACT_WITHIN : TG_IMPACT_END;
    if (*impact == TG_IMPACT_WITHIN || strcmp(name, "end") == 0)
        return TG_CLI_OK;
    return tg_cli_fail(TG_CLI_USAGE, "end, within", "--impact: unknown value '%s'", name);
}

static int run(const tg_cli_call *call)
{
    tg_check_options options = tg_default_check_options();
    tg_cli_model model;
    int code = TG_CLI_OK;
    if (call->option[OPTION_SAMPLES] != NULL)
        code = tg_cli_count("--samples", call->option[OPTION_SAMPLES], 1000000, &options.states);
    if (code == TG_CLI_OK && call->option[OPTION_SEED] != NULL)
        code = tg_cli_count("--seed", call->option[OPTION_SEED], 1000000, &options.seed);
    if (code == TG_CLI_OK && call->option[OPTION_IMPACT] != NULL)
        code = read_impact(call->option[OPTION_IMPACT], &options.impact);
    if (code == TG_CLI_OK && call->option[OPTION_LAW] != NULL)
        code = tg_cli_choose("law", tg_law_name, call->option[OPTION_LAW], &options.law);
    if (code == TG_CLI_OK)
        code = tg_cli_open(call->argument[0], &call->reading, &model);
    if (code != TG_CLI_OK)
        return code;
    int *chosen = tg_cli_alloc((size_t)tg_model_sizes(model.m).nparams + 1, sizeof *chosen);
    code = match_params(call, model.m, chosen, &options.nindex);
    options.index = chosen;
    if (code == TG_CLI_OK)
        code = check_model(call, &model, &options);
    free(chosen);
    tg_cli_close(&model);
    return code;
}

const tg_cli_command tg_cli_check_command = {
    .name = "check",
    .usage = "MODEL [OPTIONS]",
    .summary = "derivatives against differences",
    .details =
        "Compares the derivatives of steps with central differences, along a trajectory that lifts, drops, drives\n"
        "and presses the model until every contact mode has occurred, for random entries at every state. It\n"
        "prints the worst entry of every kind of input by name, and what was skipped, and why: numbers across a\n"
        "change of mode, at other kinks, and where differences do not agree among themselves; and whole states whose\n"
        "label says one-sided or regularised where differences do not agree with the derivative. Exit code 1 if an\n"
        "error is past 1e-6, if forward mode, reverse mode and matrices differ by more than 1e-10, or if 5 % of the\n"
        "states or 5 % of the numbers had to be skipped.",
    .required = 1,
    .allowed = 1,
    .options = {[OPTION_SAMPLES] = {"--samples", "N", "states to compare (100)"},
                [OPTION_SEED] = {"--seed", "N", "of the trajectory and the random entries (1)"},
                [OPTION_PARAMS] = {"--params", "PATTERN", "parameters to draw from ('*')"},
                [OPTION_IMPACT] = {"--impact", "WHEN", "when impacts happen: 'end' of a step, or 'within' it"},
                [OPTION_LAW] = {"--law", "L",
                                "law of contacts: ncp (default), ccp, lcp-box, lcp-diamond, compliant, impulse"},
                [OPTION_JSON] = {"--json", NULL, "the result as an object"}},
    .run = run,
};
