/* Reading a model: a file, or one of those that come with the command. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* ---- the folder of the models that come with the command ---- */

enum
{
    PATH_BYTES = 4096
};

/* folder/name, or an empty string where that is too long */
static void join(char path[PATH_BYTES], const char *folder, const char *name)
{
    int length = snprintf(path, PATH_BYTES, "%s/%s", folder, name);
    if (length < 0 || length >= PATH_BYTES)
        path[0] = '\0';
}

/* The folder of the running program. */
static bool find_program(char folder[PATH_BYTES])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_BYTES - 1);
    if (length <= 0)
        return false;
    folder[length] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

/* TANGERE_MODELS; or beside the program: in a build folder, in an installed tree. */
static bool find_folder(char folder[PATH_BYTES])
{
    static const char *const places[] = {"models", TG_CLI_DATA_FROM_BIN "/tangere/models"};
    const char *chosen = getenv("TANGERE_MODELS");
    char program[PATH_BYTES];
    if (chosen != NULL && chosen[0] != '\0')
    {
        snprintf(folder, PATH_BYTES, "%s", chosen);
        return true;
    }
    if (!find_program(program))
        return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    {
        char place[PATH_BYTES];
        join(place, program, places[i]);
        char *path = realpath(place, NULL); /* without links and dots; NULL if there is nothing */
        if (path == NULL)
            continue;
        snprintf(folder, PATH_BYTES, "%s", path);
        free(path);
        return true;
    }
    return false;
}

static int is_model(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');
    return end != NULL && end != entry->d_name && strcmp(end, ".xml") == 0;
}

/* " quadruped, pendulum" of the folder, into a hint */
static void list_models(char *hint, size_t size)
{
    char folder[PATH_BYTES];
    struct dirent **entries = NULL;
    int n = find_folder(folder) ? scandir(folder, &entries, is_model, alphasort) : -1;
    if (n <= 0)
        snprintf(hint, size, "give a file, or set TANGERE_MODELS to the folder that holds the models");
    else
        snprintf(hint, size, "give a file, or one of the models that are here:");
    for (int i = 0; i < n; i++)
    {
        size_t used = strlen(hint);
        int name = (int)(strlen(entries[i]->d_name) - strlen(".xml"));
        snprintf(hint + used, size - used, "%s %.*s", i > 0 ? "," : "", name, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

/* ---- opening ---- */

static char *copy(const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(tg_cli_alloc(bytes, 1), text, bytes);
}

/* The file that a user means: the one of that name, else <folder>/<name>.xml. */
static char *find_file(const char *name)
{
    char folder[PATH_BYTES], file[PATH_BYTES], path[PATH_BYTES];
    if (access(name, F_OK) == 0 || strpbrk(name, "/.") != NULL || !find_folder(folder))
        return copy(name);
    int length = snprintf(file, sizeof file, "%s.xml", name);
    if (length < 0 || length >= PATH_BYTES)
        return copy(name);
    join(path, folder, file);
    return copy(access(path, F_OK) == 0 ? path : name);
}

static const char *hint_of(tg_status status, const char *path, char *list, size_t size)
{
    switch (status)
    {
    case TG_ERR_FILE:
        if (access(path, R_OK) == 0)
            return "the model names a file that cannot be read";
        list_models(list, size);
        return list;
    case TG_ERR_PARSE:
        return "is it a model file, and whole? The message says where reading stopped";
    case TG_ERR_UNSUPPORTED:
        return "replace or remove the element that the message names";
    case TG_ERR_MEMORY:
        return NULL;
    default:
        return "correct the element that the message names";
    }
}

static tg_status exclude_overlaps(tg_cli_model *model, tg_error *error)
{
    tg_model *without = NULL;
    tg_status status = tg_exclude_overlaps(model->m, &without, error);
    if (status != TG_OK)
        return status;
    tg_model_destroy(model->m);
    model->m = without;
    return TG_OK;
}

/* What of the file would change the motion and is not there: the first such line, and how many. */
static void warn_of_ignored(const tg_cli_model *model)
{
    tg_report_entry entry, first = {0};
    int count = 0;
    for (int i = 0; i < tg_report_count(model->m); i++)
    {
        if (tg_report_get(model->m, i, &entry, NULL) != TG_OK || entry.kind != TG_REPORT_IGNORED_PHYSICS)
            continue;
        if (count++ == 0)
            first = entry;
    }
    if (count > 0)
        tg_cli_warn("%s: physics that is left out: %d, the first is %s%s%s: %s; all: tangere info --report %s",
                    model->path, count, first.element, first.attribute[0] != '\0' ? " " : "", first.attribute,
                    first.note, model->path);
}

/* where springs, dampers or servos are too stiff for the model's own time step */
static void warn_of_timestep(const tg_cli_model *model)
{
    double stable = 0, dt = tg_model_timestep(model->m);
    if (tg_model_stable_dt(model->m, &stable, NULL) == TG_OK && stable < dt)
        tg_cli_warn("timestep = %g s: springs, dampers or servos of the model are stable up to %.4g s", dt, stable);
}

int tg_cli_open(const char *name, const tg_cli_reading *reading, tg_cli_model *model)
{
    tg_error error;
    char list[1000];
    tg_load_options options = tg_default_load_options();
    options.strict = reading->strict;
    options.floating_base = reading->floating_base;
    options.keep_fixed = reading->keep_fixed;
    options.srdf = reading->srdf;
    options.ignore_missing_meshes = reading->ignore_missing_meshes;
    options.package_path = reading->package_path;
    options.npackage_path = reading->npackage_path;
    *model = (tg_cli_model){.path = find_file(name)};
    double start = tg_cli_clock();
    tg_status status = tg_load(model->path, &options, &model->m, &error);
    if (status == TG_OK && reading->exclude_overlaps)
        status = exclude_overlaps(model, &error);
    model->seconds = tg_cli_clock() - start;
    if (status == TG_OK)
    {
        warn_of_ignored(model);
        warn_of_timestep(model);
        return TG_CLI_OK;
    }
    const char *hint = reading->strict && status == TG_ERR_UNSUPPORTED
                           ? "without --strict it is read without the elements that the message names"
                           : hint_of(status, model->path, list, sizeof list);
    tg_cli_fail(TG_CLI_FAILED, hint, "%s", error.message);
    tg_cli_close(model);
    return TG_CLI_FAILED;
}

void tg_cli_close(tg_cli_model *model)
{
    tg_model_destroy(model->m);
    free(model->path);
    *model = (tg_cli_model){0};
}

/* ---- asking a model ---- */

const double *tg_cli_field(const tg_model *m, tg_element element, int index, const char *field, int *size)
{
    char name[64];
    int offset = 0;
    if (element == TG_ELEMENT_COUNT)
        snprintf(name, sizeof name, "%s", field);
    else
        snprintf(name, sizeof name, "%s.#%d.%s", tg_element_string(element), index, field);
    if (tg_param_find(m, name, &offset, size, NULL) != TG_OK)
        return NULL;
    return tg_params_view(tg_model_params(m)) + offset;
}

static int unknown_key(const tg_model *m, const char *name)
{
    int n = tg_model_sizes(m).nkey;
    const char **names = tg_cli_alloc((size_t)n + 1, sizeof *names);
    char hint[300];
    for (int i = 0; i < n; i++)
        names[i] = tg_name(m, TG_KEY, i);
    const char *guess = tg_cli_nearest(name, names, n);
    if (n == 0)
        snprintf(hint, sizeof hint, "the model has no keyframes; without --key it is the reference configuration");
    else if (guess != NULL && guess[0] != '\0')
        snprintf(hint, sizeof hint, "did you mean '%.100s'?", guess);
    else
        snprintf(hint, sizeof hint, "the model has %d, '#0' is the first; tangere info lists them", n);
    free(names);
    return tg_cli_fail(TG_CLI_FAILED, hint, "no keyframe '%s'", name);
}

int tg_cli_find_key(const tg_model *m, const char *name, int *key)
{
    *key = tg_find(m, TG_KEY, name);
    return *key < 0 ? unknown_key(m, name) : TG_CLI_OK;
}

tg_cli_label tg_cli_label_of(const tg_model *m, tg_element element, int index)
{
    tg_cli_label label;
    const char *name = tg_name(m, element, index);
    if (name != NULL && name[0] != '\0')
        snprintf(label.text, sizeof label.text, "%s", name);
    else
        snprintf(label.text, sizeof label.text, "#%d", index);
    return label;
}

const char *tg_cli_joint_type(tg_joint_type type)
{
    static const char *const names[] = {"free", "ball", "slide", "hinge"};
    _Static_assert(sizeof names / sizeof *names == TG_JOINT_TYPE_COUNT, "one name a type");
    return names[type];
}

const char *tg_cli_transmission(tg_transmission transmission)
{
    static const char *const names[] = {"joint", "tendon", "site"};
    return names[transmission];
}

const char *tg_cli_dynamics(tg_dynamics_type dynamics)
{
    static const char *const names[] = {"none", "integrator", "filter", "filterexact"};
    return names[dynamics];
}

const char *tg_cli_report_kind(tg_report_kind kind)
{
    static const char *const names[] = {"honoured", "approximated", "ignored physics", "noted"};
    return names[kind];
}
