/* tangere collide: the contacts of a state. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"

/* A configuration and its contacts. */
typedef struct scene_state
{
    const char *key; /* NULL: the reference configuration */
    double *q;
    tg_contact *contact;
    int count;
} scene_state;

/* ---- the configuration ---- */

static int choose_state(const tg_model *m, const char *name, scene_state *s)
{
    tg_error error;
    s->q = tg_cli_alloc((size_t)tg_model_sizes(m).nq + 1, sizeof *s->q);
    int key = -1;
    if (name != NULL && tg_cli_find_key(m, name, &key) != TG_CLI_OK)
        return TG_CLI_FAILED;
    s->key = name;
    tg_status status =
        key < 0 ? tg_default_q(m, s->q, &error) : tg_key_get(m, key, NULL, s->q, NULL, NULL, NULL, &error);
    return status == TG_OK ? TG_CLI_OK : tg_cli_fail(TG_CLI_FAILED, NULL, "%s", error.message);
}

/* ---- its contacts ---- */

static int find_contacts(const tg_model *m, scene_state *s)
{
    tg_work *w = NULL;
    tg_error error;
    if (tg_work_create(m, &w, &error) != TG_OK)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "%s", error.message);
    tg_status status = tg_collide(m, w, s->q, 0, NULL, 0, &s->count);
    if (status == TG_OK)
    {
        int capacity = s->count;
        s->contact = tg_cli_alloc((size_t)capacity + 1, sizeof *s->contact);
        status = tg_collide(m, w, s->q, 0, s->contact, capacity, &s->count);
    }
    int code = status == TG_OK ? TG_CLI_OK : tg_cli_fail(TG_CLI_FAILED, NULL, "%s", tg_work_message(w));
    tg_work_destroy(w);
    return code;
}

static int pair_count(const scene_state *s)
{
    int pairs = 0;
    for (int i = 0; i < s->count; i++)
        pairs +=
            i == 0 || s->contact[i].geom1 != s->contact[i - 1].geom1 || s->contact[i].geom2 != s->contact[i - 1].geom2;
    return pairs;
}

/* ---- shown ---- */

/* The width of a column with names of geoms, its title included. */
static int label_width(const tg_model *m, const scene_state *s, bool second)
{
    int width = 5;
    for (int i = 0; i < s->count; i++)
    {
        int geom = second ? s->contact[i].geom2 : s->contact[i].geom1;
        int length = tg_cli_width(tg_cli_label_of(m, TG_GEOM, geom).text);
        width = length > width ? length : width;
    }
    return width + 2;
}

static void print_vector(const tg_cli_output *out, const double x[3])
{
    fprintf(out->file, " ");
    for (int k = 0; k < 3; k++)
        fprintf(out->file, " %9.5f", x[k] + 0.0); /* no -0 */
}

static void print_table(const tg_cli_output *out, const tg_model *m, const scene_state *s)
{
    int first = label_width(m, s, false), second = label_width(m, s, true);
    fprintf(out->file, "\n  ");
    tg_cli_column(out, TG_CLI_TITLE, "geom1", first);
    tg_cli_column(out, TG_CLI_TITLE, "geom2", second);
    tg_cli_print(out, TG_CLI_TITLE, "%13s  %29s  %29s", "distance (m)", "point", "normal");
    fputc('\n', out->file);
    for (int i = 0; i < s->count; i++)
    {
        const tg_contact *c = &s->contact[i];
        fprintf(out->file, "  ");
        tg_cli_column(out, TG_CLI_NAME, tg_cli_label_of(m, TG_GEOM, c->geom1).text, first);
        tg_cli_column(out, TG_CLI_NAME, tg_cli_label_of(m, TG_GEOM, c->geom2).text, second);
        tg_cli_print(out, c->distance < 0 ? TG_CLI_WARNING : TG_CLI_GOOD, "%13.6e", c->distance);
        print_vector(out, c->point);
        print_vector(out, c->normal);
        fputc('\n', out->file);
    }
}

static void print_contacts(const tg_cli_output *out, const tg_cli_model *model, const scene_state *s)
{
    tg_sizes n = tg_model_sizes(model->m);
    int pairs = pair_count(s);
    tg_cli_print(out, TG_CLI_NAME, "%s", tg_model_name(model->m));
    tg_cli_print(out, TG_CLI_QUIET, "  %s", model->path);
    if (s->key != NULL)
        fprintf(out->file, "\nkeyframe '%s'", s->key);
    else
        fprintf(out->file, "\nreference configuration");
    fprintf(out->file, ": %d contact%s of %d pair%s (%d geoms, %d pairs that may collide)\n", s->count,
            s->count == 1 ? "" : "s", pairs, pairs == 1 ? "" : "s", n.ngeom, n.ncandidate);
    if (s->count > 0)
        print_table(out, model->m, s);
}

static void write_contact(tg_cli_json *json, const tg_model *m, const tg_contact *c)
{
    char id[24];
    snprintf(id, sizeof id, "%" PRIu64, c->id);
    tg_cli_json_open(json, NULL, '{');
    tg_cli_json_integer(json, "geom1", c->geom1);
    tg_cli_json_integer(json, "geom2", c->geom2);
    tg_cli_json_text(json, "name1", tg_name(m, TG_GEOM, c->geom1));
    tg_cli_json_text(json, "name2", tg_name(m, TG_GEOM, c->geom2));
    tg_cli_json_numbers(json, "point", c->point, 3, false);
    tg_cli_json_numbers(json, "normal", c->normal, 3, false);
    tg_cli_json_number(json, "distance", c->distance);
    tg_cli_json_text(json, "id", id); /* 64 bits: more than a number of JSON keeps */
    tg_cli_json_close(json, '}');
}

static void write_json(FILE *file, const tg_cli_model *model, const scene_state *s)
{
    tg_cli_json json = {.file = file};
    tg_sizes n = tg_model_sizes(model->m);
    tg_cli_json_open(&json, NULL, '{');
    tg_cli_json_text(&json, "name", tg_model_name(model->m));
    tg_cli_json_text(&json, "path", model->path);
    if (s->key != NULL)
        tg_cli_json_text(&json, "key", s->key);
    tg_cli_json_numbers(&json, "q", s->q, n.nq, false);
    tg_cli_json_integer(&json, "ngeom", n.ngeom);
    tg_cli_json_integer(&json, "ncandidate", n.ncandidate);
    tg_cli_json_open(&json, "contacts", '[');
    for (int i = 0; i < s->count; i++)
        write_contact(&json, model->m, &s->contact[i]);
    tg_cli_json_close(&json, ']');
    tg_cli_json_close(&json, '}');
}

/* ---- */

enum
{
    OPTION_KEY,
    OPTION_JSON
};

static int run(const tg_cli_call *call)
{
    tg_cli_model model;
    scene_state state = {0};
    int code = tg_cli_open(call->argument[0], &call->reading, &model);
    if (code != TG_CLI_OK)
        return code;
    code = choose_state(model.m, call->option[OPTION_KEY], &state);
    if (code == TG_CLI_OK)
        code = find_contacts(model.m, &state);
    if (code == TG_CLI_OK && call->option[OPTION_JSON] != NULL)
        write_json(call->out.file, &model, &state);
    else if (code == TG_CLI_OK)
        print_contacts(&call->out, &model, &state);
    free(state.q);
    free(state.contact);
    tg_cli_close(&model);
    return code;
}

const tg_cli_command tg_cli_collide = {
    .name = "collide",
    .usage = "MODEL [--key NAME] [--json]",
    .summary = "which geoms of a model touch, and where",
    .details =
        "Prints the contacts of a keyframe, or of the reference configuration: every pair of geoms that may collide "
        "and is\n"
        "closer than its margin, with signed distance (negative: inside), point, and normal from geom1 to geom2.",
    .required = 1,
    .allowed = 1,
    .options = {[OPTION_KEY] = {"--key", "NAME", "the keyframe; #0 is the first"},
                [OPTION_JSON] = {"--json", NULL, "the same as JSON"}},
    .run = run,
};
