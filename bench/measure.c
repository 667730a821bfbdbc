/* The clock and the protocol.
 *
 * Neighbours on a shared machine only ever add time. So the same list of states is run many times, each state keeps its
 * smallest time, and the median is taken over states. Repetitions are the outermost loop, so that a noisy spell hits
 * every function of every engine alike; every second repetition runs the engines in reverse order. */
#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

_Noreturn void bench_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

void *bench_alloc(size_t count, size_t size)
{
    size_t bytes = (count * size + 63) / 64 * 64;
    void *memory = aligned_alloc(64, bytes > 0 ? bytes : 64);
    if (memory == NULL)
        bench_die("no memory for %zu bytes", bytes);
    return memset(memory, 0, bytes);
}

int bench_pin(int cpu)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        bench_die("sched_getaffinity failed");
    for (int i = 0; cpu < 0 && i < CPU_SETSIZE; i++)
        if (CPU_ISSET(CPU_SETSIZE - 1 - i, &set))
            cpu = CPU_SETSIZE - 1 - i;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        bench_die("cannot run on processor %d", cpu);
    return cpu;
}

bench_moment bench_now(void)
{
    bench_moment m = {.load = "unknown"};
    time_t now = time(NULL);
    strftime(m.date, sizeof m.date, "%Y-%m-%d", gmtime(&now));
    FILE *file = fopen("/proc/loadavg", "r");
    if (file != NULL && fscanf(file, "%63s", m.load) != 1)
        snprintf(m.load, sizeof m.load, "unknown");
    if (file != NULL)
        fclose(file);
    return m;
}

double bench_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The same in nanoseconds, without rounding. */
static int64_t ticks(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, ascending);
    return n % 2 == 1 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

/* One pass over the states: times in nanoseconds to out. */
static void pass(const bench_engine *engine, bench_function function, int nstate, double *out)
{
    void (*run)(void *) = engine->run[function];
    for (int i = 0; i < nstate; i++)
    {
        engine->load(engine->self, i);
        int64_t start = ticks();
        run(engine->self);
        out[i] = (double)(ticks() - start);
    }
}

/* times: repetitions x states, nanoseconds; overwritten. */
static bench_time summarise(double *times, int repetitions, int nstate)
{
    size_t n = (size_t)nstate;
    double *smallest = bench_alloc(n, sizeof(double));
    for (size_t i = 0; i < n; i++)
    {
        smallest[i] = times[i];
        for (size_t r = 1; r < (size_t)repetitions; r++)
            if (times[r * n + i] < smallest[i])
                smallest[i] = times[r * n + i];
    }
    bench_time t = {.quiet = 1e-3 * bench_median(smallest, n),
                    .raw = 1e-3 * bench_median(times, n * (size_t)repetitions)};
    free(smallest);
    return t;
}

static void show_progress(const char *label, int repetition, int repetitions)
{
    if (!isatty(STDERR_FILENO))
        return;
    if (repetition < repetitions)
        fprintf(stderr, "\r%s: repetition %d of %d ", label, repetition + 1, repetitions);
    else
        fprintf(stderr, "\r%*s\r", 60, "");
}

void bench_measure(const bench_engine *engines, int nengine, const bench_states *states, int repetitions,
                   const char *label, bench_times *times)
{
    size_t block = (size_t)states->n * (size_t)repetitions;
    double *all = bench_alloc(block * (size_t)nengine * BENCH_FUNCTION_COUNT, sizeof(double));
#define AT(engine, function) (all + block * ((size_t)(engine)*BENCH_FUNCTION_COUNT + (size_t)(function)))
    for (int r = 0; r < repetitions; r++)
    {
        show_progress(label, r, repetitions);
        for (int f = 0; f < BENCH_FUNCTION_COUNT; f++)
            for (int i = 0; i < nengine; i++)
            {
                int e = r % 2 == 0 ? i : nengine - 1 - i;
                if (engines[e].run[f] != NULL)
                    pass(&engines[e], (bench_function)f, states->n, AT(e, f) + (size_t)r * (size_t)states->n);
            }
    }
    show_progress(label, repetitions, repetitions);
    for (int e = 0; e < nengine; e++)
        for (int f = 0; f < BENCH_FUNCTION_COUNT; f++)
            if (engines[e].run[f] != NULL)
                times->time[e][f] = summarise(AT(e, f), repetitions, states->n);
    /* what remains is the work alone; the engines' empty calls are the same code */
    times->clock = times->time[0][BENCH_EMPTY];
    for (int e = 0; e < nengine; e++)
        for (int f = BENCH_EMPTY + 1; f < BENCH_FUNCTION_COUNT; f++)
            if (engines[e].run[f] != NULL)
            {
                times->time[e][f].quiet -= times->clock.quiet;
                times->time[e][f].raw -= times->clock.raw;
            }
    free(all);
#undef AT
}

static void keep_smaller(bench_time *best, bench_time other)
{
    if (other.quiet < best->quiet)
        *best = other;
}

void bench_merge(bench_run *best, const bench_run *other)
{
    if (best->nengine == 0)
    {
        *best = *other;
        return;
    }
    for (int e = 0; e < best->nengine; e++)
        for (int f = 0; f < BENCH_FUNCTION_COUNT; f++)
            keep_smaller(&best->times.time[e][f], other->times.time[e][f]);
    keep_smaller(&best->times.clock, other->times.clock);
    for (int s = 0; s < best->stages.n; s++)
        if (other->stages.quiet[s] < best->stages.quiet[s])
            best->stages.quiet[s] = other->stages.quiet[s];
    if (other->difference > best->difference)
        best->difference = other->difference;
}

/* ---- the machine ---- */

void bench_cpu_field(const char *key, char *value, size_t size)
{
    char line[512];
    snprintf(value, size, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file == NULL)
        return;
    size_t length = strlen(key);
    while (fgets(line, sizeof line, file) != NULL)
    {
        const char *colon = strchr(line, ':');
        if (strncmp(line, key, length) != 0 || colon == NULL || !isspace((unsigned char)line[length]))
            continue;
        snprintf(value, size, "%s", colon + 1 + strspn(colon + 1, " "));
        value[strcspn(value, "\n")] = 0;
        break;
    }
    fclose(file);
}

void bench_processor(char *name, size_t size)
{
    char text[128];
    bench_cpu_field("model name", text, sizeof text);
    size_t n = 0;
    for (const char *c = text; *c != 0 && n + 1 < size; c++)
        if (isalnum((unsigned char)*c))
            name[n++] = (char)tolower((unsigned char)*c);
        else if (n > 0 && name[n - 1] != '_')
            name[n++] = '_';
    while (n > 0 && name[n - 1] == '_')
        n--;
    name[n] = 0;
}
