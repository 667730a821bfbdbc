/* Understanding the words of a command line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* ---- guesses ---- */

enum
{
    LONGEST_GUESS = 32
};

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance: how many letters must be put in, taken out or changed. */
static int distance(const char *a, const char *b)
{
    int row[LONGEST_GUESS + 1];
    int nb = (int)strlen(b);
    for (int j = 0; j <= nb; j++)
        row[j] = j;
    for (int i = 1; a[i - 1] != '\0'; i++)
    {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= nb; j++)
        {
            int changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = smaller(changed, smaller(row[j], row[j - 1]) + 1);
        }
    }
    return row[nb];
}

const char *tg_cli_nearest(const char *word, const char *const *list, int n)
{
    const char *best = NULL;
    int best_distance = 3;
    if (strlen(word) > LONGEST_GUESS)
        return NULL;
    for (int i = 0; i < n; i++)
    {
        int d = strlen(list[i]) <= LONGEST_GUESS ? distance(word, list[i]) : best_distance;
        if (d < best_distance && d < (int)strlen(list[i]))
        {
            best = list[i];
            best_distance = d;
        }
    }
    return best;
}

/* ---- options ---- */

static int usage_failure(const tg_cli_command *command, const char *problem, const char *word)
{
    char hint[200];
    snprintf(hint, sizeof hint, "tangere %s %s; more with: tangere help %s", command->name, command->usage,
             command->name);
    return tg_cli_fail(TG_CLI_USAGE, hint, "%s: %s%s%s%s", command->name, problem, word != NULL ? " '" : "",
                       word != NULL ? word : "", word != NULL ? "'" : "");
}

static int unknown_option(const tg_cli_command *command, const char *word)
{
    const char *names[TG_CLI_MAX_OPTIONS + 1];
    char hint[200];
    int n = 0;
    for (; command->options[n].name != NULL; n++)
        names[n] = command->options[n].name;
    names[n++] = "--help";
    const char *guess = tg_cli_nearest(word, names, n);
    if (guess == NULL)
        return usage_failure(command, "unknown option", word);
    snprintf(hint, sizeof hint, "did you mean '%s'? All options: tangere help %s", guess, command->name);
    return tg_cli_fail(TG_CLI_USAGE, hint, "%s: unknown option '%s'", command->name, word);
}

/* An option at argv[*i], with its value in the same word after '=' or in the next one. */
static int take_option(const tg_cli_command *command, int argc, char **argv, int *i, tg_cli_call *call)
{
    const char *word = argv[*i], *equals = strchr(word, '=');
    size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    for (int k = 0; command->options[k].name != NULL; k++)
    {
        const tg_cli_option *option = &command->options[k];
        if (strlen(option->name) != length || strncmp(option->name, word, length) != 0)
            continue;
        if (option->value == NULL && equals != NULL)
            return usage_failure(command, "option takes no value:", word);
        if (option->value != NULL && equals == NULL && *i + 1 >= argc)
            return usage_failure(command, "option needs a value:", word);
        call->option[k] = option->value == NULL ? "" : equals != NULL ? equals + 1 : argv[++*i];
        return TG_CLI_OK;
    }
    return unknown_option(command, word);
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
