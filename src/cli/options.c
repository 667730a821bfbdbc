/* Understanding the words of a command line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/cli.h"

/* ---- guesses ---- */

const char *tg_cli_nearest(const char *word, const char *const *list, int n)
{
    tg_nearest nearest = tg_nearest_begin(word);
    for (int i = 0; i < n; i++)
        tg_nearest_try(&nearest, list[i]);
    return nearest.name;
}

/* ---- options ---- */

enum
{
    READING_STRICT,
    READING_PACKAGE_PATH,
    READING_FLOATING_BASE,
    READING_KEEP_FIXED,
    READING_SRDF,
    READING_EXCLUDE_OVERLAPS,
    READING_IGNORE_MISSING_MESHES,
    READING_COUNT
};

static const tg_cli_option reading_options[] = {
    [READING_STRICT] = {"--strict", NULL, "refuse a file with physics that would be left out"},
    [READING_PACKAGE_PATH] = {"--package-path", "DIR", "URDF: a folder with packages; may be given several times"},
    [READING_FLOATING_BASE] = {"--floating-base", NULL, "URDF: the root link moves freely"},
    [READING_KEEP_FIXED] = {"--keep-fixed", NULL, "URDF: links on fixed joints stay bodies"},
    [READING_SRDF] = {"--srdf", "FILE", "URDF: pairs of links that do not collide"},
    [READING_EXCLUDE_OVERLAPS] = {"--exclude-overlaps", NULL,
                                  "geoms that overlap in the reference pose do not collide"},
    [READING_IGNORE_MISSING_MESHES] = {"--ignore-missing-meshes", NULL,
                                       "URDF: leave out collision meshes that cannot be read"},
    [READING_COUNT] = {0},
};

const tg_cli_option *tg_cli_reading_options(const tg_cli_command *command)
{
    return &reading_options[command->no_model ? READING_COUNT : 0];
}

static int usage_failure(const tg_cli_command *command, const char *problem, const char *word)
{
    char hint[200];
    snprintf(hint, sizeof hint, "tangere %s%s%s; more with: tangere help %s", command->name,
             command->usage[0] != '\0' ? " " : "", command->usage, command->name);
    return tg_cli_fail(TG_CLI_USAGE, hint, "%s: %s%s%s%s", command->name, problem, word != NULL ? " '" : "",
                       word != NULL ? word : "", word != NULL ? "'" : "");
}

static int unknown_option(const tg_cli_command *command, const char *word)
{
    const char *names[TG_CLI_MAX_OPTIONS + READING_COUNT + 1];
    char hint[200];
    int n = 0;
    for (; command->options[n].name != NULL; n++)
        names[n] = command->options[n].name;
    for (const tg_cli_option *option = tg_cli_reading_options(command); option->name != NULL; option++)
        names[n++] = option->name;
    names[n++] = "--help";
    const char *guess = tg_cli_nearest(word, names, n);
    if (guess == NULL)
        return usage_failure(command, "unknown option", word);
    snprintf(hint, sizeof hint, "did you mean '%s'? All options: tangere help %s", guess, command->name);
    return tg_cli_fail(TG_CLI_USAGE, hint, "%s: unknown option '%s'", command->name, word);
}

/* A word of the command line that starts with '-'. */
typedef struct word
{
    const char *text, *equals; /* equals: "=value" in the same word, NULL if there is none */
    size_t length;             /* of the name */
} word;

/* Whether the word is one of a list of options: which, or -1. */
static int find_option(const tg_cli_option *options, const word *w)
{
    for (int k = 0; options[k].name != NULL; k++)
    {
        if (strlen(options[k].name) == w->length && strncmp(options[k].name, w->text, w->length) == 0)
            return k;
    }
    return -1;
}

/* The value of an option, in the same word or in the next one; "" where it takes none. */
static int take_value(const tg_cli_command *command, const tg_cli_option *option, const word *w, int argc, char **argv,
                      int *i, const char **value)
{
    *value = "";
    if (option->value == NULL)
        return w->equals != NULL ? usage_failure(command, "option takes no value:", w->text) : TG_CLI_OK;
    if (w->equals == NULL && *i + 1 >= argc)
        return usage_failure(command, "option needs a value:", w->text);
    *value = w->equals != NULL ? w->equals + 1 : argv[++*i];
    return TG_CLI_OK;
}

static int set_reading(const tg_cli_command *command, int option, const char *value, tg_cli_reading *reading)
{
    switch (option)
    {
    case READING_STRICT:
        reading->strict = true;
        break;
    case READING_FLOATING_BASE:
        reading->floating_base = true;
        break;
    case READING_KEEP_FIXED:
        reading->keep_fixed = true;
        break;
    case READING_EXCLUDE_OVERLAPS:
        reading->exclude_overlaps = true;
        break;
    case READING_IGNORE_MISSING_MESHES:
        reading->ignore_missing_meshes = true;
        break;
    case READING_SRDF:
        reading->srdf = value;
        break;
    case READING_PACKAGE_PATH:
        if (reading->npackage_path == TG_CLI_MAX_FOLDERS)
            return usage_failure(command, "too many folders of packages:", value);
        reading->package_path[reading->npackage_path++] = value;
        break;
    default:
        break;
    }
    return TG_CLI_OK;
}

/* "a,b", which lives as long as the program. */
static const char *join(const char *a, const char *b)
{
    size_t size = strlen(a) + strlen(b) + 2;
    char *joined = tg_cli_alloc(size, 1);
    snprintf(joined, size, "%s,%s", a, b);
    return joined;
}

/* An option at argv[*i]. */
static int take_option(const tg_cli_command *command, int argc, char **argv, int *i, tg_cli_call *call)
{
    word w = {.text = argv[*i], .equals = strchr(argv[*i], '=')};
    w.length = w.equals != NULL ? (size_t)(w.equals - w.text) : strlen(w.text);
    const char *value;
    int own = find_option(command->options, &w), shared = find_option(tg_cli_reading_options(command), &w);
    if (own < 0 && shared < 0)
        return unknown_option(command, w.text);
    const tg_cli_option *option = own >= 0 ? &command->options[own] : &reading_options[shared];
    int code = take_value(command, option, &w, argc, argv, i, &value);
    if (code != TG_CLI_OK)
        return code;
    if (own < 0)
        return set_reading(command, shared, value, &call->reading);
    call->option[own] = option->list && call->option[own] != NULL ? join(call->option[own], value) : value;
    return TG_CLI_OK;
}

int tg_cli_parse(const tg_cli_command *command, int argc, char **argv, tg_cli_call *call)
{
    int given = 0;
    bool options_end = false;
    for (int i = 0; i < argc; i++)
    {
        if (!options_end && strcmp(argv[i], "--") == 0)
        {
            options_end = true;
            continue;
        }
        if (!options_end && argv[i][0] == '-' && argv[i][1] != '\0')
        {
            int code = take_option(command, argc, argv, &i, call);
            if (code != TG_CLI_OK)
                return code;
            continue;
        }
        if (given == command->allowed)
            return usage_failure(command, "one argument too many:", argv[i]);
        call->argument[given++] = argv[i];
    }
    return given < command->required ? usage_failure(command, "an argument is missing", NULL) : TG_CLI_OK;
}

int tg_cli_count(const char *option, const char *value, int largest, int *count)
{
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || number < 1 || number > largest)
        return tg_cli_fail(TG_CLI_USAGE, NULL, "%s needs a whole number from 1 to %d, got '%s'", option, largest,
                           value);
    *count = (int)number;
    return TG_CLI_OK;
}

int tg_cli_real(const char *option, const char *value, double smallest, double largest, double *number)
{
    char *end;
    double x = strtod(value, &end);
    if (end == value || *end != '\0' || !(x >= smallest && x <= largest))
        return tg_cli_fail(TG_CLI_USAGE, NULL, "%s needs a number from %g to %g, got '%s'", option, smallest, largest,
                           value);
    *number = x;
    return TG_CLI_OK;
}

int tg_cli_choose(const char *what, const char *(*list)(int), const char *name, const char **choice)
{
    enum
    {
        MOST_NAMES = 16
    };
    const char *names[MOST_NAMES];
    char hint[200] = "there are:";
    int n = 0;
    for (; n < MOST_NAMES && list(n) != NULL; n++)
    {
        names[n] = list(n);
        if (strcmp(names[n], name) == 0)
        {
            *choice = names[n];
            return TG_CLI_OK;
        }
        size_t used = strlen(hint);
        snprintf(hint + used, sizeof hint - used, "%s %s", n > 0 ? "," : "", names[n]);
    }
    const char *guess = tg_cli_nearest(name, names, n);
    if (guess != NULL)
        snprintf(hint, sizeof hint, "did you mean '%s'?", guess);
    return tg_cli_fail(TG_CLI_USAGE, hint, "unknown %s '%s'", what, name);
}
