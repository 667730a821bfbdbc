/* Subcommands and options that are written in Python. */
#ifndef TG_CLI_PYTHON_H
#define TG_CLI_PYTHON_H

#include "cli/cli.h"

enum
{
    TG_CLI_MOST_WORDS = TG_CLI_MAX_ARGUMENTS + 160
};

/* The words of a command line under construction. */
typedef struct tg_cli_words
{
    const char *word[TG_CLI_MOST_WORDS + 1];
    int count;
} tg_cli_words;

/* Words behind "python3 -m MODULE"; an option without a value (NULL) is left out. */
void tg_cli_add_word(tg_cli_words *words, const char *word);
void tg_cli_add_option(tg_cli_words *words, const char *option, const char *value);

/* The options of a command as they were given. */
void tg_cli_add_options(tg_cli_words *words, const tg_cli_command *command, const tg_cli_call *call);

/* The options with which the model was read. */
void tg_cli_add_reading(tg_cli_words *words, const tg_cli_reading *reading);

/* Runs a module of the package with these words, and waits for it. Interpreter: TANGERE_PYTHON; that of the environment
 * in which the program lies (bin/python3 beside it, or .venv in a folder above it); python3. A message that names the
 * extra (NULL: none is needed) when the package or what the module needs cannot be imported. Returns the status of the
 * process. */
int tg_cli_run_python(const char *module, const char *extra, const tg_cli_words *words);

/* Runs a script with the same interpreter; returns the status of the process, -1 if it cannot be run. */
int tg_cli_run_script(const char *script);

/* A new file in the folder for temporary files, whose name ends as given; NULL with a message if there is none. The
 * caller removes the file and frees the name. */
char *tg_cli_temporary(const char *ending);

/* One of the words that may follow a command whose work is done by the Python package ("train" of `tangere learn`). */
typedef struct tg_cli_part
{
    const char *name, *hint;
    int least, most;     /* arguments behind it */
    unsigned allowed;    /* a bit per option of the command */
    const char *needs;   /* the extra of the Python package; NULL: none */
    const char *missing; /* what too few arguments lack */
} tg_cli_part;

/* The part that the first argument of a call names, with the right number of arguments behind it and no option of
 * another part. all: the names, for the hint. TG_CLI_USAGE, with a message, if there is none. */
int tg_cli_choose_part(const tg_cli_command *command, const tg_cli_call *call, const tg_cli_part *part, int count,
                       const char *all, const tg_cli_part **chosen);

#endif
