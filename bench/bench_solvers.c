/* Every solver of the table on files of recorded contact problems.
 *
 *     bench_solvers [--repeat N] [--solver NAME] [--tolerance T] [--sweeps N] [--cold] [--plain] [--residuals] [--list]
 *         FILE ...
 *
 * --solver: this one only. --tolerance: m/s, 1e-8. --cold: from zero. --plain: without the selection rule. --sweeps:
 * most sweeps, or iterations of ADMM. --residuals: of every problem, one line each, and no table. --list: every problem
 * that it did not certify, by file and number.
 *
 * For every solver: how many problems it solved (residual of the unrelaxed law, recomputed in long double, at most 1e-8
 * m/s), how many it said it could not solve, how many it claimed and did not (there must be none), iterations
 * (factorisations: Newton and interior point; sweeps), microseconds of the processor for one problem (the smallest of N
 * runs; median, 99th percentile, slowest over problems), and how many of them the default solver did not reach through
 * its quick way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "problems.h"
#include "solve/soft.h"

typedef struct source
{
    const char *path;
    size_t number; /* in the file, from 0 on */
} source;

typedef struct problems
{
    problem *item;
    source *from;
    size_t count, capacity;
    int most_rows;
} problems;

typedef struct summary
{
    size_t solved, labelled, wrong, quick, selections[TG_SELECT_KINDS];
    double rows, factorisations, sweeps, worst;
    int most_factorisations, most_sweeps;
    double *time;
} summary;

static void *grow(void *memory, size_t count, size_t size)
{
    void *more = realloc(memory, count * size);
    if (more == NULL)
    {
        fprintf(stderr, "bench_solvers: out of memory\n");
        exit(1);
    }
    return more;
}

static void load(problems *all, const char *path)
{
    FILE *file = fopen(path, "rb");
    problem next;
    size_t number = 0;
    int got = -1;
    while (file != NULL && (got = problem_read(file, &next)) == 1)
    {
        if (all->count == all->capacity)
        {
            all->capacity = all->capacity == 0 ? 1024 : 2 * all->capacity;
            all->item = grow(all->item, all->capacity, sizeof *all->item);
            all->from = grow(all->from, all->capacity, sizeof *all->from);
        }
        all->from[all->count] = (source){path, number++};
        all->item[all->count++] = next;
        all->most_rows = next.island.rows > all->most_rows ? next.island.rows : all->most_rows;
    }
    if (file == NULL || got < 0)
    {
        fprintf(stderr, "bench_solvers: %s: %s\n", path,
                file == NULL ? "cannot be opened" : "not a file of problems, or damaged");
        exit(1);
    }
    fclose(file);
}

/* of the processor: other programs on the machine do not count */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* the last result, and the smallest time of `repeat` runs */
static double solve(const tg_island *island, const tg_solve_options *options, int repeat, tg_arena *scratch, double *L,
                    double *sigma, tg_solve_result *result)
{
    tg_error error;
    double best = INFINITY;
    for (int k = 0; k < repeat; k++)
    {
        double start = seconds();
        if (tg_island_solve(island, options, scratch, L, sigma, result, &error) != TG_OK)
        {
            fprintf(stderr, "bench_solvers: %s\n", error.message);
            exit(1);
        }
        best = fmin(best, seconds() - start);
    }
    return best;
}

static void count(summary *s, const tg_island *island, const double *L, double *sigma, const tg_solve_result *result)
{
    tg_residual residual = tg_island_residual(island, L, true, sigma);
    double left = tg_residual_max(&residual);
    bool holds = left <= 1e-8, claims = result->status == TG_SOLVE_SOLVED;
    int factorisations = result->newton + result->interior;
    s->solved += holds;
    s->labelled += !claims;
    s->wrong += claims && !holds;
    s->quick += result->sweeps == 0 && result->interior == 0;
    s->selections[result->selection]++;
    s->rows += island->rows;
    s->factorisations += factorisations;
    s->sweeps += result->sweeps;
    s->worst = fmax(s->worst, left);
    s->most_factorisations = factorisations > s->most_factorisations ? factorisations : s->most_factorisations;
    s->most_sweeps = result->sweeps > s->most_sweeps ? result->sweeps : s->most_sweeps;
}

static void print(const char *name, summary *s, size_t n)
{
    qsort(s->time, n, sizeof *s->time, by_size);
    printf("| %-7s | %8.4f %% | %6zu | %5zu | %8.1e | %6.2f | %5d | %7.2f | %5d | %8.2f | %8.1f | %9.1f | %5.1f %% | "
           "%zu %zu %zu %zu |\n",
           name, 100 * (double)s->solved / (double)n, s->labelled, s->wrong, s->worst, s->factorisations / (double)n,
           s->most_factorisations, s->sweeps / (double)n, s->most_sweeps, 1e6 * s->time[n / 2],
           1e6 * s->time[n - 1 - n / 100], 1e6 * s->time[n - 1], 100 * (double)s->quick / (double)n, s->selections[0],
           s->selections[1], s->selections[2], s->selections[3]);
    fflush(stdout);
}

static void list_unsolved(const char *solver, const source *from, const tg_solve_result *result)
{
    if (result->status != TG_SOLVE_SOLVED)
        printf("%s: not certified: %s, problem %zu, residual %.3g m/s\n", solver, from->path, from->number,
               tg_residual_max(&result->residual));
}

typedef struct arguments
{
    int repeat, first; /* first file */
    bool list, cold, plain, residuals;
    int sweeps; /* 0: as many as the solver takes */
    double tolerance;
    const char *solver; /* NULL: all */
} arguments;

static void run(const tg_solver *solver, const problems *all, const arguments *a, tg_arena *scratch, double *L,
                double *sigma)
{
    summary s = {0};
    tg_solve_options options = tg_solve_default();
    tg_solve_result result;
    options.solver = solver->name;
    options.tolerance = a->tolerance;
    options.select = !a->plain;
    options.max_sweeps = a->sweeps > 0 ? a->sweeps : options.max_sweeps;
    s.time = grow(NULL, all->count, sizeof *s.time);
    for (size_t k = 0; k < all->count; k++)
    {
        tg_island island = all->item[k].island;
        island.warm = a->cold ? NULL : island.warm;
        s.time[k] = solve(&island, &options, a->repeat, scratch, L, sigma, &result);
        count(&s, &island, L, sigma, &result);
        if (a->residuals)
            printf("%.3e\n", tg_residual_max(&result.residual));
        if (a->list)
            list_unsolved(solver->name, &all->from[k], &result);
    }
    if (!a->residuals)
        print(solver->name, &s, all->count);
    free(s.time);
}

static void describe(const problems *all)
{
    double rows = 0, blocks = 0;
    for (size_t k = 0; k < all->count; k++)
    {
        rows += all->item[k].island.rows;
        blocks += all->item[k].island.blocks;
    }
    double n = (double)all->count;
    printf("%zu problems: %.1f rows (most %d), %.1f blocks\n\n", all->count, rows / n, all->most_rows, blocks / n);
    printf("| solver  | to 1e-8    | said not | wrong | worst m/s | factorisations | most | sweeps | most | median us "
           "| p99 us | max us | "
           "quick way | unique projected compliant unselected |\n"
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
}

static arguments read_arguments(int argc, char **argv)
{
    arguments a = {.repeat = 3, .first = 1, .tolerance = 1e-8};
    for (; a.first < argc && strncmp(argv[a.first], "--", 2) == 0; a.first++)
        if (strcmp(argv[a.first], "--list") == 0)
            a.list = true;
        else if (strcmp(argv[a.first], "--cold") == 0)
            a.cold = true;
        else if (strcmp(argv[a.first], "--plain") == 0)
            a.plain = true;
        else if (strcmp(argv[a.first], "--residuals") == 0)
            a.residuals = true;
        else if (a.first + 1 < argc && strcmp(argv[a.first], "--sweeps") == 0)
            a.sweeps = atoi(argv[++a.first]);
        else if (a.first + 1 < argc && strcmp(argv[a.first], "--tolerance") == 0)
            a.tolerance = atof(argv[++a.first]);
        else if (a.first + 1 < argc && strcmp(argv[a.first], "--repeat") == 0)
            a.repeat = atoi(argv[++a.first]);
        else if (a.first + 1 < argc && strcmp(argv[a.first], "--solver") == 0)
            a.solver = argv[++a.first];
        else
            a.repeat = 0;
    return a;
}

int main(int argc, char **argv)
{
    problems all = {0};
    arguments a = read_arguments(argc, argv);
    for (int i = a.first; i < argc && a.repeat > 0; i++)
        load(&all, argv[i]);
    if (all.count == 0 || a.repeat < 1 || (a.solver != NULL && tg_solver_find(a.solver) == NULL))
    {
        fprintf(stderr,
                "usage: bench_solvers [--repeat N] [--solver NAME] [--tolerance T] [--sweeps N] [--cold] [--plain] "
                "[--residuals] [--list] FILE ...\n");
        return 1;
    }
    size_t rows = (size_t)all.most_rows + 1;
    tg_arena scratch = {.capacity = tg_island_scratch((tg_island_size){.rows = all.most_rows})};
    scratch.base = tg_alloc(NULL, scratch.capacity);
    double *L = grow(NULL, rows, sizeof *L), *sigma = grow(NULL, rows, sizeof *sigma);
    if (scratch.base == NULL)
        return 1;
    if (!a.residuals)
        describe(&all);
    for (int i = 0; tg_solver_at(i) != NULL; i++)
        if (a.solver == NULL || strcmp(a.solver, tg_solver_at(i)->name) == 0)
            run(tg_solver_at(i), &all, &a, &scratch, L, sigma);
    tg_free(NULL, scratch.base);
    free(L);
    free(sigma);
    for (size_t k = 0; k < all.count; k++)
        problem_free(&all.item[k]);
    free(all.item);
    free(all.from);
    return 0;
}
