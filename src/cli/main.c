/* tangere: the command. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const tg_cli_command *const commands[] = {
    &tg_cli_info,  &tg_cli_params,        &tg_cli_collide, &tg_cli_convert, &tg_cli_sim,
    &tg_cli_grad,  &tg_cli_check_command, &tg_cli_fit,     &tg_cli_mpc,     &tg_cli_view,
    &tg_cli_learn, &tg_cli_tensegrity,    &tg_cli_demo,    &tg_cli_doctor,
};

enum
{
    COMMAND_COUNT = sizeof commands / sizeof *commands
};

static const tg_cli_command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[COMMAND_COUNT + 3] = {"help", "--help", "--version"};
    char hint[100];
    for (int i = 0; i < COMMAND_COUNT; i++)
        names[i + 3] = commands[i]->name;
    const char *guess = tg_cli_nearest(name, names, COMMAND_COUNT + 3);
    if (guess != NULL)
        snprintf(hint, sizeof hint, "did you mean '%s'? All subcommands: tangere help", guess);
    else
        snprintf(hint, sizeof hint, "all subcommands: tangere help");
    return tg_cli_fail(TG_CLI_USAGE, hint, "unknown %s '%s'", name[0] == '-' ? "option" : "subcommand", name);
}

/* ---- help ---- */

/* A column of this width that starts at `indent`, then the help; on the next line if the column is full. */
static void print_entry(const tg_cli_output *out, tg_cli_style style, const char *text, int indent, int width,
                        const char *help)
{
    tg_cli_column(out, style, text, width);
    if (tg_cli_width(text) >= width)
        fprintf(out->file, "\n%*s", indent + width, "");
    fprintf(out->file, "%s\n", help);
}

static void print_overview(const tg_cli_output *out)
{
    tg_cli_print(out, TG_CLI_TITLE, "tangere %s", tg_version());
    fprintf(out->file, ": differentiable rigid-body simulation\n\nusage: tangere SUBCOMMAND [ARGUMENTS] [OPTIONS]\n\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
    {
        fprintf(out->file, "  ");
        tg_cli_column(out, TG_CLI_NAME, commands[i]->name, 11);
        print_entry(out, TG_CLI_PLAIN, commands[i]->usage, 13, 29, commands[i]->summary);
    }
    fprintf(out->file, "  ");
    tg_cli_column(out, TG_CLI_NAME, "help", 11);
    print_entry(out, TG_CLI_PLAIN, "[SUBCOMMAND]", 13, 29, "this text, or that of a subcommand\n");
    fprintf(
        out->file,
        "MODEL is a file (MJCF, URDF), or the name of a model that comes with the command: pendulum, quadruped, ...\n"
        "Their folder is next to the command; the variable TANGERE_MODELS names another one.\n"
        "Exit codes: 0 done, 1 failed, 2 wrong usage.\n");
}

static void print_option(const tg_cli_output *out, const char *name, const char *value, const char *help)
{
    char words[64];
    snprintf(words, sizeof words, "%s%s%s", name, value != NULL ? " " : "", value != NULL ? value : "");
    fprintf(out->file, "  ");
    print_entry(out, TG_CLI_NAME, words, 2, 21, help);
}

static int print_help(const tg_cli_output *out, const tg_cli_command *command)
{
    fprintf(out->file, "usage: ");
    tg_cli_print(out, TG_CLI_TITLE, "tangere %s", command->name);
    fprintf(out->file, "%s%s\n\n%s\n\n", command->usage[0] != '\0' ? " " : "", command->usage, command->details);
    for (const tg_cli_option *option = command->options; option->name != NULL; option++)
        print_option(out, option->name, option->value, option->help);
    for (const tg_cli_option *option = tg_cli_reading_options(command); option->name != NULL; option++)
        print_option(out, option->name, option->value, option->help);
    print_option(out, "--help", NULL, "this text");
    return TG_CLI_OK;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run_help(const tg_cli_output *out, int argc, char **argv)
{
    if (argc == 0 || strcmp(argv[0], "help") == 0 || is_help(argv[0]))
    {
        print_overview(out);
        return TG_CLI_OK;
    }
    if (argc > 1)
        return tg_cli_fail(TG_CLI_USAGE, "tangere help [SUBCOMMAND]", "help: one argument too many: '%s'", argv[1]);
    const tg_cli_command *command = find_command(argv[0]);
    return command != NULL ? print_help(out, command) : unknown_command(argv[0]);
}

/* ---- */

static int run_command(const tg_cli_output *out, const tg_cli_command *command, int argc, char **argv)
{
    tg_cli_call call = {.out = *out};
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is_help(argv[i]))
            return print_help(out, command);
    int code = tg_cli_parse(command, argc, argv, &call);
    return code == TG_CLI_OK ? command->run(&call) : code;
}

static int run(const tg_cli_output *out, int argc, char **argv)
{
    if (argc < 2)
        return tg_cli_fail(TG_CLI_USAGE, "try: tangere demo, or: tangere help", "a subcommand is missing");
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
    {
        fprintf(out->file, "tangere %s\n", tg_version());
        return TG_CLI_OK;
    }
    if (is_help(word) || strcmp(word, "help") == 0)
        return run_help(out, argc - 2, argv + 2);
    const tg_cli_command *command = find_command(word);
    return command != NULL ? run_command(out, command, argc - 2, argv + 2) : unknown_command(word);
}

int main(int argc, char **argv)
{
    tg_cli_output out = tg_cli_output_of(stdout);
    int code = run(&out, argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout))
        return tg_cli_fail(TG_CLI_FAILED, "is the disk full, or the pipe closed?", "cannot write the output");
    return code;
}
