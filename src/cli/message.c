/* Messages, progress and the clock. */
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "cli/cli.h"

int tg_cli_fail(int code, const char *hint, const char *format, ...)
{
    tg_cli_output out = tg_cli_output_of(stderr);
    va_list arguments;
    fflush(stdout);
    tg_cli_print(&out, TG_CLI_TITLE, "tangere: ");
    tg_cli_print(&out, TG_CLI_BAD, "error: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    if (hint != NULL)
    {
        tg_cli_print(&out, TG_CLI_TITLE, "  hint: ");
        fprintf(stderr, "%s\n", hint);
    }
    return code;
}

void tg_cli_warn(const char *format, ...)
{
    tg_cli_output out = tg_cli_output_of(stderr);
    va_list arguments;
    fflush(stdout);
    tg_cli_print(&out, TG_CLI_TITLE, "tangere: warning: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void *tg_cli_alloc(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL)
        exit(tg_cli_fail(TG_CLI_FAILED, NULL, "no memory for %zu times %zu bytes", count, size));
    return memory;
}

double tg_cli_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- progress ---- */

enum
{
    PROGRESS_DELAY = 2, /* s before the first line */
    PROGRESS_WIDTH = 60 /* characters that are cleared */
};
#define PROGRESS_INTERVAL 0.2 /* s between two */

tg_cli_progress tg_cli_progress_begin(const char *what)
{
    double now = tg_cli_clock();
    return (tg_cli_progress){.what = what, .start = now, .last = now + PROGRESS_DELAY};
}

static bool was_shown(const tg_cli_progress *progress)
{
    return progress->last > progress->start + PROGRESS_DELAY;
}

void tg_cli_progress_show(tg_cli_progress *progress, int done, int total)
{
    double now = tg_cli_clock();
    if (now < progress->last + (was_shown(progress) ? PROGRESS_INTERVAL : 0) || !tg_cli_output_of(stderr).terminal)
        return;
    fprintf(stderr, "\r%s: %d of %d, %.0f s ", progress->what, done, total, now - progress->start);
    fflush(stderr);
    progress->last = now;
}

void tg_cli_progress_end(const tg_cli_progress *progress)
{
    if (was_shown(progress))
        fprintf(stderr, "\r%*s\r", PROGRESS_WIDTH, "");
}
