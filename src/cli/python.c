/* Runs modules of the Python package. */
#define _GNU_SOURCE /* mkstemps */
#include "cli/python.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- words ---- */

void tg_cli_add_word(tg_cli_words *words, const char *word)
{
    if (words->count < TG_CLI_MOST_WORDS)
        words->word[words->count++] = word;
}

void tg_cli_add_option(tg_cli_words *words, const char *option, const char *value)
{
    if (value == NULL)
        return;
    size_t size = strlen(option) + strlen(value) + 2; /* one word: a value may start with '-' */
    char *joined = tg_cli_alloc(size, 1);             /* lives as long as the program */
    snprintf(joined, size, "%s=%s", option, value);
    tg_cli_add_word(words, joined);
}

void tg_cli_add_options(tg_cli_words *words, const tg_cli_command *command, const tg_cli_call *call)
{
    for (int i = 0; command->options[i].name != NULL; i++)
        if (command->options[i].value != NULL)
            tg_cli_add_option(words, command->options[i].name, call->option[i]);
        else if (call->option[i] != NULL)
            tg_cli_add_word(words, command->options[i].name);
}

void tg_cli_add_reading(tg_cli_words *words, const tg_cli_reading *reading)
{
    const struct
    {
        bool on;
        const char *word;
    } flags[] = {{reading->strict, "--strict"},
                 {reading->floating_base, "--floating-base"},
                 {reading->keep_fixed, "--keep-fixed"},
                 {reading->exclude_overlaps, "--exclude-overlaps"},
                 {reading->ignore_missing_meshes, "--ignore-missing-meshes"}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].on)
            tg_cli_add_word(words, flags[i].word);
    tg_cli_add_option(words, "--srdf", reading->srdf);
    for (int i = 0; i < reading->npackage_path; i++)
        tg_cli_add_option(words, "--package-path", reading->package_path[i]);
}

/* ---- the interpreter ---- */

/* Cuts the last part off a path; false at the root. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path)
        return false;
    *slash = '\0';
    return true;
}

static bool try_interpreter(const char *folder, const char *name, char path[PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return n > 0 && n < PATH_MAX && access(path, X_OK) == 0;
}

static const char *find_interpreter(char path[PATH_MAX])
{
    char folder[PATH_MAX];
    const char *chosen = getenv("TANGERE_PYTHON");
    if (chosen != NULL && chosen[0] != '\0')
        return chosen;
    ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[n > 0 ? n : 0] = '\0';
    if (go_up(folder) && try_interpreter(folder, "python3", path))
        return path;
    do
    {
        if (try_interpreter(folder, ".venv/bin/python3", path))
            return path;
    } while (go_up(folder));
    return "python3";
}

/* ---- running ---- */

/* The child's status; -1 with errno set if there is none. Ctrl-C is for the child, which ends by itself. */
static int run_and_wait(const char *const *argv)
{
    struct sigaction quiet = {.sa_handler = SIG_IGN}, before;
    int status = 0;
    fflush(NULL);
    sigaction(SIGINT, &quiet, &before);
    pid_t child = fork();
    if (child == 0)
    {
        sigaction(SIGINT, &before, NULL);
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    pid_t ended = child;
    while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR)
        continue;
    sigaction(SIGINT, &before, NULL);
    if (child < 0 || ended < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Whether the interpreter can import the package and what the extra brings. */
static bool can_import(const char *interpreter, const char *extra)
{
    static const char probe[] = "import sys\n"
                                "try:\n"
                                "    import tangere, importlib\n"
                                "    if sys.argv[1]:\n"
                                "        importlib.import_module(dict(view='viser', plot='matplotlib', learn='torch',\n"
                                "                                     mujoco='mujoco')[sys.argv[1]])\n"
                                "except ImportError:\n"
                                "    sys.exit(3)\n";
    const char *const argv[] = {interpreter, "-c", probe, extra != NULL ? extra : "", NULL};
    return run_and_wait(argv) == 0;
}

int tg_cli_run_python(const char *module, const char *extra, const tg_cli_words *words)
{
    char path[PATH_MAX], name[64], hint[PATH_MAX + 200];
    const char *argv[TG_CLI_MOST_WORDS + 4] = {find_interpreter(path), "-m", name};
    snprintf(name, sizeof name, "tangere.%s", module);
    if (!can_import(argv[0], extra))
    {
        bool none = extra == NULL;
        snprintf(hint, sizeof hint,
                 "'%.300s' -m pip install 'tangere%s%s%s', or name another interpreter in TANGERE_PYTHON", argv[0],
                 none ? "" : "[", none ? "" : extra, none ? "" : "]");
        if (none)
            return tg_cli_fail(TG_CLI_FAILED, hint, "this needs Python with tangere");
        return tg_cli_fail(TG_CLI_FAILED, hint, "this needs Python with tangere and its extra '%s'", extra);
    }
    memcpy(argv + 3, words->word, (size_t)words->count * sizeof *argv);
    argv[3 + words->count] = NULL;
    int code = run_and_wait(argv);
    if (code < 0)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "cannot run '%.200s': %s", argv[0], strerror(errno));
    return code == 0 ? TG_CLI_OK : code == 2 ? TG_CLI_USAGE : TG_CLI_FAILED;
}

int tg_cli_run_script(const char *script)
{
    char path[PATH_MAX];
    const char *const argv[] = {find_interpreter(path), "-c", script, NULL};
    return run_and_wait(argv);
}

char *tg_cli_temporary(const char *ending)
{
    const char *folder = getenv("TMPDIR");
    size_t size = PATH_MAX;
    char *path = tg_cli_alloc(size, 1);
    snprintf(path, size, "%.3000s/tangere-XXXXXX%s", folder != NULL && folder[0] != '\0' ? folder : "/tmp", ending);
    int file = mkstemps(path, (int)strlen(ending));
    if (file >= 0)
    {
        close(file);
        return path;
    }
    tg_cli_fail(TG_CLI_FAILED, NULL, "cannot make a temporary file '%.300s': %s", path, strerror(errno));
    free(path);
    return NULL;
}

/* ---- parts of a command ---- */

static const tg_cli_part *find_part(const char *name, const tg_cli_part *part, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name, part[i].name) == 0)
            return &part[i];
    return NULL;
}

static int unknown_part(const char *command, const char *name, const tg_cli_part *part, int count, const char *all)
{
    const char *names[TG_CLI_MAX_OPTIONS], *near;
    int n = count < TG_CLI_MAX_OPTIONS ? count : TG_CLI_MAX_OPTIONS;
    for (int i = 0; i < n; i++)
        names[i] = part[i].name;
    near = tg_cli_nearest(name, names, n);
    return tg_cli_fail(TG_CLI_USAGE, all, "%s: unknown word '%s'%s%s%s", command, name,
                       near != NULL ? ", did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
}

int tg_cli_choose_part(const tg_cli_command *command, const tg_cli_call *call, const tg_cli_part *part, int count,
                       const char *all, const tg_cli_part **chosen)
{
    const tg_cli_part *p = find_part(call->argument[0], part, count);
    int arguments = 0;
    if (p == NULL)
        return unknown_part(command->name, call->argument[0], part, count, all);
    while (call->argument[1 + arguments] != NULL)
        arguments++;
    if (arguments < p->least)
        return tg_cli_fail(TG_CLI_USAGE, p->hint, "%s %s: %s", command->name, p->name, p->missing);
    if (arguments > p->most)
        return tg_cli_fail(TG_CLI_USAGE, p->hint, "%s %s: '%s' is too much", command->name, p->name,
                           call->argument[1 + p->most]);
    for (int i = 0; command->options[i].name != NULL; i++)
        if (call->option[i] != NULL && (p->allowed & (1U << i)) == 0)
            return tg_cli_fail(TG_CLI_USAGE, p->hint, "%s %s has no option %s", command->name, p->name,
                               command->options[i].name);
    *chosen = p;
    return TG_CLI_OK;
}
