/* What the subcommands share: the table of commands, parsed arguments, output, messages and loading.
 *
 * Results go to standard output, everything else to standard error. */
#ifndef TG_CLI_CLI_H
#define TG_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "tangere/tangere.h"

enum
{
    TG_CLI_OK = 0,
    TG_CLI_FAILED = 1, /* the work could not be done, or a check did not pass */
    TG_CLI_USAGE = 2   /* the command line is wrong */
};

/* ---- output ---- */

typedef enum tg_cli_style
{
    TG_CLI_PLAIN,
    TG_CLI_TITLE,
    TG_CLI_NAME,
    TG_CLI_KIND,
    TG_CLI_QUIET,
    TG_CLI_GOOD,
    TG_CLI_WARNING,
    TG_CLI_BAD,
    TG_CLI_STYLE_COUNT
} tg_cli_style;

/* A stream, and what its reader can show. */
typedef struct tg_cli_output
{
    FILE *file;
    bool terminal;
    bool colour; /* a terminal that has colours, and NO_COLOR is not set */
    bool utf8;   /* the locale's characters are UTF-8 */
} tg_cli_output;

tg_cli_output tg_cli_output_of(FILE *file);

/* Formatted text in a style. */
void tg_cli_print(const tg_cli_output *out, tg_cli_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* text in a style, then spaces up to width characters. */
void tg_cli_column(const tg_cli_output *out, tg_cli_style style, const char *text, int width);

/* The shortest decimal that reads back as x. */
typedef struct tg_cli_number
{
    char text[32];
} tg_cli_number;

tg_cli_number tg_cli_number_of(double x);

/* Characters (not bytes) of a UTF-8 string. */
int tg_cli_width(const char *text);

/* ---- the command line ---- */

enum
{
    TG_CLI_MAX_ARGUMENTS = 1024, /* a model and many logs */
    TG_CLI_MAX_OPTIONS = 24,
    TG_CLI_MAX_FOLDERS = 32 /* of packages */
};

typedef struct tg_cli_option
{
    const char *name;  /* "--json"; NULL ends a list */
    const char *value; /* how help calls its value; NULL: it takes none */
    const char *help;
    bool list; /* may be given several times: the values are joined with commas */
} tg_cli_option;

/* How a model is to be read: options that all commands with a MODEL have. */
typedef struct tg_cli_reading
{
    bool strict, floating_base, keep_fixed, exclude_overlaps, ignore_missing_meshes;
    const char *srdf;                             /* NULL: none */
    const char *package_path[TG_CLI_MAX_FOLDERS]; /* in the order in which they were given */
    int npackage_path;
} tg_cli_reading;

/* A command line that was understood. */
typedef struct tg_cli_call
{
    tg_cli_reading reading;
    tg_cli_output out;
    const char *argument[TG_CLI_MAX_ARGUMENTS]; /* NULL: not given */
    const char *option[TG_CLI_MAX_OPTIONS];     /* its value, "" where it takes none; NULL: not given */
} tg_cli_call;

typedef struct tg_cli_command
{
    const char *name;
    const char *usage; /* "MODEL [PATTERN]" */
    const char *summary;
    const char *details;
    int required, allowed; /* numbers of arguments */
    bool no_model;         /* reads no MODEL: options of reading one do not exist */
    tg_cli_option options[TG_CLI_MAX_OPTIONS + 1];
    int (*run)(const tg_cli_call *call);
} tg_cli_command;

extern const tg_cli_command tg_cli_info, tg_cli_params, tg_cli_collide, tg_cli_convert, tg_cli_sim, tg_cli_grad,
    tg_cli_check_command, tg_cli_fit, tg_cli_mpc, tg_cli_view, tg_cli_learn, tg_cli_tensegrity, tg_cli_demo,
    tg_cli_doctor;

/* The options of reading a model, of a command that reads one; of others an empty list. */
const tg_cli_option *tg_cli_reading_options(const tg_cli_command *command);

/* Understands the words behind a command's name. A status of the process, with a message if it is not TG_CLI_OK. */
int tg_cli_parse(const tg_cli_command *command, int argc, char **argv, tg_cli_call *call);

/* A positive number as the value of an option; TG_CLI_USAGE, with a message, if it is not one. */
int tg_cli_count(const char *option, const char *value, int largest, int *count);

/* A number from smallest to largest as the value of an option; TG_CLI_USAGE, with a message, if it is not one. */
int tg_cli_real(const char *option, const char *value, double smallest, double largest, double *number);

/* One of the names that list(0), list(1), ... are, NULL behind the last; what: what they are names of. */
int tg_cli_choose(const char *what, const char *(*list)(int), const char *name, const char **choice);

/* The word of a list (n of them) that `word` probably stood for, or NULL. */
const char *tg_cli_nearest(const char *word, const char *const *list, int n);

/* ---- messages ---- */

/* "tangere: error: ..." and, unless it is NULL, "  hint: ...". Returns code. */
int tg_cli_fail(int code, const char *hint, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* "tangere: warning: ..." */
void tg_cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Shows on a terminal how far a long work is, from its third second on. */
typedef struct tg_cli_progress
{
    const char *what;
    double start, last; /* s */
} tg_cli_progress;

tg_cli_progress tg_cli_progress_begin(const char *what);
void tg_cli_progress_show(tg_cli_progress *progress, int done, int total);
void tg_cli_progress_end(const tg_cli_progress *progress);

/* Seconds of a clock that never jumps. */
double tg_cli_clock(void);

/* ---- models ---- */

/* Zeroed memory; without memory, a message and the end of the process. */
void *tg_cli_alloc(size_t count, size_t size);

/* A file that was read, and where it was found. Freed with tg_cli_close. */
typedef struct tg_cli_model
{
    tg_model *m;
    char *path;
    double seconds; /* that reading took */
} tg_cli_model;

/* Reads the model of a file, or one of the models that come with the command ("quadruped"). A message if it cannot. */
int tg_cli_open(const char *name, const tg_cli_reading *reading, tg_cli_model *model);
void tg_cli_close(tg_cli_model *model);

/* Numbers of a field of an element (gravity: TG_ELEMENT_COUNT), and how many; NULL if there is no such field. */
const double *tg_cli_field(const tg_model *m, tg_element element, int index, const char *field, int *size);

/* The keyframe of that name; a message if there is none. */
int tg_cli_find_key(const tg_model *m, const char *name, int *key);

/* The name of an element, "#3" if it has none. */
typedef struct tg_cli_label
{
    char text[256];
} tg_cli_label;

tg_cli_label tg_cli_label_of(const tg_model *m, tg_element element, int index);

const char *tg_cli_joint_type(tg_joint_type type);
const char *tg_cli_transmission(tg_transmission transmission);
const char *tg_cli_dynamics(tg_dynamics_type dynamics);
const char *tg_cli_report_kind(tg_report_kind kind);

/* ---- parts of what is shown ---- */

/* An empty line, then a title. */
void tg_cli_print_title(const tg_cli_output *out, const char *title);

/* The kinematic tree as a drawing, a body a line. */
void tg_cli_draw_tree(const tg_cli_output *out, const tg_model *m);

/* "nq 19  nv 18 ...", then the counts of elements, and mass. */
void tg_cli_print_sizes(const tg_cli_output *out, const tg_model *m);

/* Everything of `tangere info` as one JSON object. */
void tg_cli_info_json(FILE *file, const tg_cli_model *model);

#endif
