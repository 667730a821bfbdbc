/* What `tangere check` found: whether it is good, as a table, as JSON. */
#include <math.h>

#include "cli/check_step.h"
#include "cli/json.h"

const double tg_cli_check_tolerance = 1e-6;  /* relative error of a derivative */
const double tg_cli_check_agreement = 1e-10; /* of forward mode and matrices with reverse mode */
const double tg_cli_check_share = 0.05;      /* of states, and of numbers, that are skipped */

int tg_cli_check_left_out(const tg_cli_gradient_check *r)
{
    return r->left_out[TG_LABEL_ONE_SIDED] + r->left_out[TG_LABEL_REGULARISED] + r->unsolved + r->refused;
}

double tg_cli_check_states_skipped(const tg_cli_gradient_check *r)
{
    return r->states == 0 ? 0 : (double)tg_cli_check_left_out(r) / r->states;
}

static void add_up(const tg_cli_gradient_check *r, long *compared, long *unresolved)
{
    *compared = *unresolved = 0;
    for (int i = 0; i < r->ngroup; i++)
    {
        *compared += r->group[i].compared;
        *unresolved += r->group[i].unresolved;
    }
}

/* Of parameters at the edge of their domain, and of two equal coefficients, the derivative has two sides: not counted here. */
double tg_cli_check_skipped(const tg_cli_gradient_check *r)
{
    long compared, unresolved;
    add_up(r, &compared, &unresolved);
    double skipped = (double)(r->switched + r->kinked + unresolved + r->beside);
    return skipped == 0 ? 0 : skipped / (skipped + (double)compared);
}

int tg_cli_check_rare(const tg_cli_gradient_check *r, double share)
{
    int rare = -1;
    for (int mode = 0; mode < TG_CONTACT_MODES && r->touching; mode++)
        if ((mode != TG_CONTACT_SLIDING || r->sliding) && r->with_mode[mode] < share * r->states &&
            (rare < 0 || r->with_mode[mode] < r->with_mode[rare]))
            rare = mode;
    return rare;
}

bool tg_cli_check_passes(const tg_cli_gradient_check *r)
{
    long compared, unresolved;
    add_up(r, &compared, &unresolved);
    bool good = compared > 0 && r->infinite == 0 && r->jvp <= tg_cli_check_agreement &&
                r->jacobian <= tg_cli_check_agreement && tg_cli_check_states_skipped(r) < tg_cli_check_share &&
                tg_cli_check_skipped(r) < tg_cli_check_share;
    for (int i = 0; i < r->ngroup; i++)
        good = good && r->group[i].error <= tg_cli_check_tolerance;
    return good;
}

/* ---- shown ---- */

static void print_states(const tg_cli_output *out, const tg_cli_gradient_check *r)
{
    fprintf(out->file, "%d states: %d exact, %d one-sided, %d regularised", r->states, r->labels[TG_LABEL_EXACT],
            r->labels[TG_LABEL_ONE_SIDED], r->labels[TG_LABEL_REGULARISED]);
    if (r->refused > 0)
        fprintf(out->file, ", %d without derivatives", r->refused);
    if (r->states > r->labels[TG_LABEL_EXACT])
        fprintf(out->file, " (with own, nudged, soft parameters: %d, %d, %d not exact)", r->loose[TG_CLI_WALK_OWN],
                r->loose[TG_CLI_WALK_NUDGED], r->loose[TG_CLI_WALK_SOFT]);
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
    if (r->implicit)
        fprintf(out->file, "actuators have damping of their own: it acts on v+ (implicit_actuators)\n");
    if (r->overlaps > 0)
        tg_cli_print(
            out, TG_CLI_WARNING,
            "%d pair%s of geoms overlap%s in the reference configuration, by up to %.2g m, and push each other apart "
            "(with --exclude-overlaps they do not collide)\n",
            r->overlaps, r->overlaps == 1 ? "" : "s", r->overlaps == 1 ? "s" : "", r->deepest);
    int rare = tg_cli_check_rare(r, 0.1);
    if (rare >= 0)
        tg_cli_print(out, TG_CLI_WARNING, "fewer than a tenth of the states have a %s contact\n",
                     tg_contact_mode_string((tg_contact_mode)rare));
}

static void print_groups(const tg_cli_output *out, const tg_cli_gradient_check *r)
{
    fputs("\n  ", out->file);
    tg_cli_print(out, TG_CLI_TITLE, "%-22s %8s %9s %10s %12s  %s\n", "by", "compared", "skipped", "error", "largest",
                 "worst entry: derivative, differences");
    for (int i = 0; i < r->ngroup; i++)
    {
        const tg_cli_group *g = &r->group[i];
        if (g->compared + g->skipped + g->unresolved == 0)
            continue;
        fprintf(out->file, "  %-22s %8ld %9ld ", g->name, g->compared, g->skipped + g->unresolved);
        tg_cli_print(out, g->error <= tg_cli_check_tolerance ? TG_CLI_GOOD : TG_CLI_BAD, "%10.2g", g->error);
        fprintf(out->file, " %12.5g", g->largest);
        if (g->error > 0)
            fprintf(out->file, "  %s: %.9g, %.9g", g->entry, g->found, g->expected);
        if (g->error > tg_cli_check_tolerance)
            fprintf(out->file, " (state %d, %s parameters, condition %.1g)", g->state, tg_cli_walk_set(g->set),
                    g->condition);
        fputc('\n', out->file);
    }
}

void tg_cli_check_print(const tg_cli_output *out, const tg_cli_model *model, const tg_cli_gradient_check *r)
{
    long compared, unresolved;
    add_up(r, &compared, &unresolved);
    tg_cli_print(out, TG_CLI_TITLE, "%s", tg_model_name(model->m));
    fprintf(out->file, "  %s\n", model->path);
    print_states(out, r);
    print_groups(out, r);
    fprintf(out->file,
            "\n%ld numbers compared, %ld of them with several displacements; skipped: %ld where a mode changes, %ld at "
            "other "
            "kinks,\n%ld where differences do not agree among themselves, %ld of two equal coefficients, %ld at the "
            "edge of "
            "their domain\n"
            "forward mode and matrices agree with reverse mode to %.2g and %.2g",
            compared, r->refined, r->switched, r->kinked, unresolved, r->tied, r->outside, r->jvp, r->jacobian);
    if (fmax(r->jvp, r->jacobian) > tg_cli_check_agreement)
        fprintf(out->file, " (state %d, %s parameters, %s)", r->apart_state, tg_cli_walk_set(r->apart_set),
                tg_label_string(r->apart_label));
    fputc('\n', out->file);
    if (r->infinite > 0)
        tg_cli_print(out, TG_CLI_BAD, "%ld derivatives are not finite\n", r->infinite);
    if (tg_cli_check_states_skipped(r) >= tg_cli_check_share)
        tg_cli_print(out, TG_CLI_BAD, "%.1f %% of the states were skipped\n", 100 * tg_cli_check_states_skipped(r));
    if (tg_cli_check_skipped(r) >= tg_cli_check_share)
        tg_cli_print(out, TG_CLI_BAD, "%.1f %% of the numbers could not be compared\n", 100 * tg_cli_check_skipped(r));
    bool passes = tg_cli_check_passes(r);
    tg_cli_print(out, passes ? TG_CLI_GOOD : TG_CLI_BAD, "%s\n", passes ? "passed" : "failed");
}

/* ---- JSON ---- */

static void write_modes(tg_cli_json *json, const tg_cli_gradient_check *r)
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

static void write_group(tg_cli_json *json, const tg_cli_group *g)
{
    tg_cli_json_open(json, g->name, '{');
    tg_cli_json_integer(json, "compared", (int)g->compared);
    tg_cli_json_integer(json, "skipped", (int)g->skipped);
    tg_cli_json_integer(json, "unresolved", (int)g->unresolved);
    tg_cli_json_number(json, "error", g->error);
    tg_cli_json_number(json, "largest", g->largest);
    tg_cli_json_text(json, "entry", g->entry);
    tg_cli_json_number(json, "derivative", g->found);
    tg_cli_json_number(json, "differences", g->expected);
    tg_cli_json_integer(json, "state", g->state);
    tg_cli_json_text(json, "parameters", tg_cli_walk_set(g->set));
    tg_cli_json_number(json, "condition", g->condition);
    tg_cli_json_close(json, '}');
}

/* states that are not exact, by parameters; states that were skipped, by reason */
static void write_labels(tg_cli_json *json, const tg_cli_gradient_check *r)
{
    tg_cli_json_open(json, "not_exact", '{');
    for (int set = 0; set < TG_CLI_WALK_SETS; set++)
        tg_cli_json_integer(json, tg_cli_walk_set(set), r->loose[set]);
    tg_cli_json_close(json, '}');
    tg_cli_json_open(json, "states_skipped", '{');
    for (int kind = TG_LABEL_ONE_SIDED; kind <= TG_LABEL_REGULARISED; kind++)
        tg_cli_json_integer(json, tg_label_string((tg_label_kind)kind), r->left_out[kind]);
    tg_cli_json_integer(json, "unsolved", r->unsolved);
    tg_cli_json_integer(json, "refused", r->refused);
    tg_cli_json_integer(json, "numbers", (int)r->beside);
    tg_cli_json_number(json, "share", tg_cli_check_states_skipped(r));
    tg_cli_json_close(json, '}');
}

void tg_cli_check_json(FILE *file, const tg_cli_model *model, const tg_cli_gradient_check *r)
{
    long compared, unresolved;
    add_up(r, &compared, &unresolved);
    tg_cli_json json = {.file = file};
    tg_cli_json_open(&json, NULL, '{');
    tg_cli_json_text(&json, "model", tg_model_name(model->m));
    tg_cli_json_flag(&json, "passed", tg_cli_check_passes(r));
    tg_cli_json_integer(&json, "states", r->states);
    for (int kind = 0; kind < 3; kind++)
        tg_cli_json_integer(&json, tg_label_string((tg_label_kind)kind), r->labels[kind]);
    tg_cli_json_flag(&json, "implicit_actuators", r->implicit);
    tg_cli_json_integer(&json, "overlaps", r->overlaps);
    write_labels(&json, r);
    write_modes(&json, r);
    tg_cli_json_integer(&json, "compared", (int)compared);
    tg_cli_json_integer(&json, "refined", (int)r->refined);
    tg_cli_json_integer(&json, "switched", (int)r->switched);
    tg_cli_json_integer(&json, "unresolved", (int)unresolved);
    tg_cli_json_integer(&json, "tied", (int)r->tied);
    tg_cli_json_integer(&json, "outside", (int)r->outside);
    tg_cli_json_integer(&json, "kinked", (int)r->kinked);
    tg_cli_json_integer(&json, "infinite", (int)r->infinite);
    tg_cli_json_number(&json, "skipped_share", tg_cli_check_skipped(r));
    tg_cli_json_number(&json, "jvp", r->jvp);
    tg_cli_json_number(&json, "jacobian", r->jacobian);
    tg_cli_json_open(&json, "apart", '{');
    tg_cli_json_integer(&json, "state", r->apart_state);
    tg_cli_json_text(&json, "parameters", tg_cli_walk_set(r->apart_set));
    tg_cli_json_text(&json, "label", tg_label_string(r->apart_label));
    tg_cli_json_close(&json, '}');
    tg_cli_json_open(&json, "by", '{');
    for (int i = 0; i < r->ngroup; i++)
        if (r->group[i].compared + r->group[i].skipped + r->group[i].unresolved > 0)
            write_group(&json, &r->group[i]);
    tg_cli_json_close(&json, '}');
    tg_cli_json_close(&json, '}');
}
