/* tangere info: what is in a model. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

void tg_cli_print_title(const tg_cli_output *out, const char *title)
{
    fputc('\n', out->file);
    tg_cli_print(out, TG_CLI_TITLE, "%s", title);
    fputc('\n', out->file);
}

/* ---- sizes ---- */

static void print_counts(const tg_cli_output *out, const tg_sizes *n)
{
    const struct
    {
        int count;
        const char *one, *many;
    } rows[] = {
        {n->nbody - 1, "body", "bodies"},
        {n->ntree, "tree", "trees"},
        {n->njoint, "joint", "joints"},
        {n->ngeom, "geom", "geoms"},
        {n->nsite, "site", "sites"},
        {n->ntendon, "tendon", "tendons"},
        {n->nu, "actuator", "actuators"},
        {n->nequality, "equality", "equalities"},
        {n->npair, "pair", "pairs"},
        {n->nexclude, "exclude", "excludes"},
        {n->nkey, "keyframe", "keyframes"},
        {n->nmesh, "mesh", "meshes"},
        {n->nhfield, "height field", "height fields"},
    };
    const char *separator = "  ";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    {
        if (rows[i].count == 0)
            continue;
        fprintf(out->file, "%s%d %s", separator, rows[i].count, rows[i].count == 1 ? rows[i].one : rows[i].many);
        separator = ", ";
    }
    fputc('\n', out->file);
}

void tg_cli_print_sizes(const tg_cli_output *out, const tg_model *m)
{
    tg_sizes n = tg_model_sizes(m);
    fprintf(out->file, "  nq %d, nv %d, nu %d, na %d\n", n.nq, n.nv, n.nu, n.na);
    print_counts(out, &n);
    fprintf(out->file, "  %d candidate pair%s of geoms, mass %.6g kg\n", n.ncandidate, n.ncandidate == 1 ? "" : "s",
            tg_model_mass(m));
}

static void print_options(const tg_cli_output *out, const tg_model *m)
{
    int size = 0;
    const double *gravity = tg_cli_field(m, TG_ELEMENT_COUNT, 0, "gravity", &size);
    if (gravity != NULL)
        fprintf(out->file, "  gravity %g %g %g m/s^2, time step %g s\n", gravity[0], gravity[1], gravity[2],
                tg_model_timestep(m));
}

/* ---- parameters ---- */

/* The slices of a field follow one another: prints "field (numbers)" for each field of a kind of element. */
static void print_parameters(const tg_cli_output *out, const tg_model *m)
{
    int nslice = tg_param_slice_count(m), i = 0;
    tg_param_slice slice, next;
    while (i < nslice && tg_param_slice_get(m, i, &slice, NULL) == TG_OK)
    {
        tg_element kind = slice.element;
        fprintf(out->file, "  ");
        tg_cli_column(out, TG_CLI_NAME, kind == TG_ELEMENT_COUNT ? "model" : tg_element_string(kind), 10);
        int total = 0, first = i;
        while (i < nslice && tg_param_slice_get(m, i, &next, NULL) == TG_OK && next.element == kind)
        {
            total += next.size;
            i++;
        }
        fprintf(out->file, "%6d ", total);
        const char *field = "", *separator = " ";
        for (int k = first; k < i && tg_param_slice_get(m, k, &next, NULL) == TG_OK; k++)
        {
            if (strcmp(next.field, field) == 0)
                continue;
            field = next.field;
            tg_cli_print(out, TG_CLI_QUIET, "%s%s", separator, field);
            separator = ", ";
        }
        fputc('\n', out->file);
    }
}

/* ---- actuators, keyframes ---- */

static void print_range(const tg_cli_output *out, const tg_model *m, int actuator, const char *field, bool limited)
{
    int size = 0;
    const double *range = limited ? tg_cli_field(m, TG_ACTUATOR, actuator, field, &size) : NULL;
    if (range != NULL)
        tg_cli_print(out, TG_CLI_QUIET, "  %s [%g, %g]", field, range[0], range[1]);
}

static tg_element target_kind(tg_transmission transmission)
{
    return transmission == TG_TRANSMISSION_JOINT    ? TG_JOINT
           : transmission == TG_TRANSMISSION_TENDON ? TG_TENDON
                                                    : TG_SITE;
}

static void print_actuators(const tg_cli_output *out, const tg_model *m, int nu)
{
    int width = 0;
    for (int i = 0; i < nu; i++)
    {
        int length = tg_cli_width(tg_cli_label_of(m, TG_ACTUATOR, i).text);
        width = length > width ? length : width;
    }
    for (int i = 0; i < nu; i++)
    {
        tg_actuator_info info;
        if (tg_actuator_get(m, i, &info, NULL) != TG_OK)
            continue;
        fprintf(out->file, "  ");
        tg_cli_column(out, TG_CLI_NAME, tg_cli_label_of(m, TG_ACTUATOR, i).text, width + 2);
        tg_cli_print(out, TG_CLI_KIND, "%s", tg_cli_transmission(info.transmission));
        fprintf(out->file, " %s", tg_cli_label_of(m, target_kind(info.transmission), info.target).text);
        if (info.act >= 0)
            fprintf(out->file, "  %s act[%d]", tg_cli_dynamics(info.dynamics), info.act);
        print_range(out, m, i, "ctrl_range", info.ctrl_limited);
        print_range(out, m, i, "force_range", info.force_limited);
        fputc('\n', out->file);
    }
}

static void print_keys(const tg_cli_output *out, const tg_model *m, int nkey)
{
    for (int i = 0; i < nkey; i++)
    {
        double time = 0;
        tg_key_get(m, i, &time, NULL, NULL, NULL, NULL, NULL);
        fprintf(out->file, "  ");
        tg_cli_print(out, TG_CLI_NAME, "%s", tg_cli_label_of(m, TG_KEY, i).text);
        fprintf(out->file, "  time %g s\n", time);
    }
}

/* ---- report ---- */

static tg_cli_style style_of(tg_report_kind kind)
{
    static const tg_cli_style styles[] = {[TG_REPORT_HONOURED] = TG_CLI_GOOD,
                                          [TG_REPORT_APPROXIMATED] = TG_CLI_WARNING,
                                          [TG_REPORT_IGNORED_PHYSICS] = TG_CLI_BAD,
                                          [TG_REPORT_NOTED] = TG_CLI_QUIET};
    return styles[kind];
}

static void print_line(const tg_cli_output *out, const tg_report_entry *e)
{
    bool attribute = e->attribute[0] != '\0';
    fprintf(out->file, "  ");
    tg_cli_column(out, style_of(e->kind), tg_cli_report_kind(e->kind), 17);
    if (e->line > 0)
        fprintf(out->file, "%s:%d  ", e->file, e->line);
    fprintf(out->file, "%s%s%s: %s\n", e->element, attribute ? " " : "", e->attribute, e->note);
}

/* How many lines of each kind there are; ignored physics is always listed, the rest if everything is requested. */
static void print_report(const tg_cli_output *out, const tg_model *m, bool all)
{
    int n = tg_report_count(m), count[TG_REPORT_NOTED + 1] = {0};
    for (int i = 0; i < n; i++)
    {
        tg_report_entry e;
        if (tg_report_get(m, i, &e, NULL) != TG_OK)
            continue;
        count[e.kind]++;
        if (all || e.kind == TG_REPORT_IGNORED_PHYSICS)
            print_line(out, &e);
    }
    const char *separator = "  ";
    for (int kind = 0; kind <= TG_REPORT_NOTED; kind++)
    {
        fprintf(out->file, "%s", separator);
        tg_cli_print(out, count[kind] > 0 ? style_of((tg_report_kind)kind) : TG_CLI_QUIET, "%d %s", count[kind],
                     tg_cli_report_kind((tg_report_kind)kind));
        separator = ", ";
    }
    if (!all && n > count[TG_REPORT_IGNORED_PHYSICS])
        tg_cli_print(out, TG_CLI_QUIET, "; --report lists them");
    fputc('\n', out->file);
}

/* ---- */

static void print_info(const tg_cli_output *out, const tg_cli_model *model, bool whole_report)
{
    const tg_model *m = model->m;
    tg_sizes n = tg_model_sizes(m);
    tg_cli_print(out, TG_CLI_NAME, "%s", tg_model_name(m));
    tg_cli_print(out, TG_CLI_QUIET, "  %s", model->path);
    fputc('\n', out->file);
    tg_cli_print_sizes(out, m);
    print_options(out, m);
    tg_cli_print_title(out, "tree");
    tg_cli_draw_tree(out, m);
    tg_cli_print_title(out, "parameters");
    print_parameters(out, m);
    fprintf(out->file, "  %-10s%6d  in %d named fields\n", "all", n.nparams, tg_param_slice_count(m));
    if (n.nu > 0)
    {
        tg_cli_print_title(out, "actuators");
        print_actuators(out, m, n.nu);
    }
    if (n.nkey > 0)
    {
        tg_cli_print_title(out, "keyframes");
        print_keys(out, m, n.nkey);
    }
    if (tg_report_count(m) > 0)
    {
        tg_cli_print_title(out, "report of the reader");
        print_report(out, m, whole_report);
    }
}

enum
{
    OPTION_JSON,
    OPTION_REPORT
};

static int run(const tg_cli_call *call)
{
    tg_cli_model model;
    int code = tg_cli_open(call->argument[0], &call->reading, &model);
    if (code != TG_CLI_OK)
        return code;
    if (call->option[OPTION_JSON] != NULL)
        tg_cli_info_json(call->out.file, &model);
    else
        print_info(&call->out, &model, call->option[OPTION_REPORT] != NULL);
    tg_cli_close(&model);
    return TG_CLI_OK;
}

const tg_cli_command tg_cli_info = {
    .name = "info",
    .usage = "MODEL [--json] [--report]",
    .summary = "contents of a model, and the reader's report",
    .details = "Reads a model and prints its contents: sizes, mass, the tree with its joints, parameters by kind,\n"
               "actuators, keyframes, and how much the reader honoured, approximated or left out; with --report, each\n"
               "element and attribute of the file, with its line.",
    .required = 1,
    .allowed = 1,
    .options = {[OPTION_JSON] = {"--json", NULL, "the same, and more, as JSON, with the whole report"},
                [OPTION_REPORT] = {"--report", NULL, "the whole report of the reader"}},
    .run = run,
};
