/* The solvers "admm" and "staggered" by set of recorded problems.
 *
 *     bench_family FILE ...
 *
 * For every file: how many problems admm solves to 1e-6 m/s within 500 iterations, from the impulses of the previous
 * step and from zero; how many staggered solves to 1e-6, run to its end; and the residual after 3, 5 and 10
 * alternations (median, 99th percentile, worst). Then, of those that each solves to 1e-9, the share that moves as
 * newton's solution (relative velocities within 1e-6 m/s), bare and with the selection rule as in a step; how many
 * have another solution, which the shared residual certifies as it does newton's; and how many differ from a newton
 * without certificate. Claims that the recomputed residual does not support are counted as wrong. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problems.h"
#include "solve/soft.h"

enum
{
    COUNTS = 3,
    MOST_ADMM = 500,
    MOST = 20000 /* iterations of ADMM, where it may run to its end */
};

static const int alternations[COUNTS] = {3, 5, 10};
static const double close_to = 1e-6; /* m/s */

/* the two solvers, bare and with the selection rule */
enum
{
    ADMM,
    STAGGERED,
    SOLVERS,
    WAYS = 2 * SOLVERS
};

typedef struct space
{
    tg_arena scratch;
    double *L, *sigma, *other;
} space;

typedef struct outcome
{
    size_t problems, capacity, warm, cold, staggered, wrong;
    size_t tight[WAYS], same[WAYS], another[WAYS], unsure[WAYS]; /* selected ones behind the others */
    double iterations[SOLVERS];
    double *left[COUNTS];
} outcome;

static void *grow(void *memory, size_t count, size_t size)
{
    void *more = realloc(memory, count * size);
    if (more == NULL)
    {
        fprintf(stderr, "bench_family: out of memory\n");
        exit(1);
    }
    return more;
}

static void make_space(space *s, int rows)
{
    if (s->scratch.base != NULL)
        tg_free(NULL, s->scratch.base);
    s->scratch = (tg_arena){.capacity = tg_island_scratch((tg_island_size){.rows = rows})};
    s->scratch.base = tg_alloc(NULL, s->scratch.capacity);
    if (s->scratch.base == NULL)
        exit(1);
    s->L = grow(s->L, (size_t)rows + 1, sizeof *s->L);
    s->sigma = grow(s->sigma, (size_t)rows + 1, sizeof *s->sigma);
    s->other = grow(s->other, (size_t)rows + 1, sizeof *s->other);
}

/* Whether it says that it solved; *left: the residual, recomputed. */
static bool run(space *s, const tg_island *island, tg_solve_options options, double *left, double *iterations)
{
    tg_solve_result result;
    tg_error error;
    if (tg_island_solve(island, &options, &s->scratch, s->L, s->sigma, &result, &error) != TG_OK)
    {
        fprintf(stderr, "bench_family: %s\n", error.message);
        exit(1);
    }
    tg_residual residual = tg_island_residual(island, s->L, true, s->sigma);
    *left = tg_residual_max(&residual);
    if (iterations != NULL)
        *iterations += result.sweeps;
    return result.status == TG_SOLVE_SOLVED;
}

static tg_solve_options options_of(const char *solver, double tolerance, int most, int steps)
{
    tg_solve_options o = tg_solve_default();
    o.solver = solver;
    o.tolerance = tolerance;
    o.max_sweeps = most;
    o.staggered_steps = steps;
    o.select = strcmp(solver, "newton") == 0;
    return o;
}

/* s->other: newton's velocities; sure: they are certified */
static void compare(space *s, const tg_island *island, int way, bool sure, outcome *o)
{
    double left, apart = 0;
    tg_solve_options options = options_of(way % SOLVERS == ADMM ? "admm" : "staggered", 1e-9, MOST, 0);
    options.select = way >= SOLVERS;
    if (!run(s, island, options, &left, NULL))
        return;
    for (int i = 0; i < island->rows; i++)
        apart = fmax(apart, fabs(s->sigma[i] - s->other[i]));
    o->wrong += left > 1.001e-9;
    o->tight[way]++;
    o->same[way] += apart <= close_to;
    o->another[way] += apart > close_to && sure && left <= 1.001e-9;
    o->unsure[way] += apart > close_to && !(sure && left <= 1.001e-9);
}

static void look(space *s, tg_island island, outcome *o)
{
    double left;
    bool good;
    for (int k = 0; k < COUNTS; k++)
    {
        run(s, &island, options_of("staggered", 1e-6, MOST, alternations[k]), &left, NULL);
        o->left[k][o->problems] = left;
    }
    o->problems++;
    good = run(s, &island, options_of("staggered", 1e-6, MOST, 0), &left, &o->iterations[STAGGERED]);
    o->staggered += good;
    o->wrong += good && left > 1.001e-6;
    good = run(s, &island, options_of("admm", 1e-6, MOST_ADMM, 0), &left, &o->iterations[ADMM]);
    o->warm += good;
    o->wrong += good && left > 1.001e-6;
    bool sure = run(s, &island, options_of("newton", 1e-8, 1000, 0), &left, NULL) && left <= 1e-8;
    memcpy(s->other, s->sigma, sizeof *s->other * (size_t)island.rows);
    for (int way = 0; way < WAYS; way++)
        compare(s, &island, way, sure, o);
    island.warm = NULL;
    good = run(s, &island, options_of("admm", 1e-6, MOST_ADMM, 0), &left, NULL);
    o->cold += good;
    o->wrong += good && left > 1.001e-6;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void print(const char *path, outcome *o)
{
    static const char *const ways[WAYS] = {"admm", "staggered", "admm, selected", "staggered, selected"};
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    size_t n = o->problems;
    double share = 100.0 / (double)n;
    printf("%.*s: %zu problems, %zu wrong claims\n\n", (int)strcspn(name, "."), name, n, o->wrong);
    printf("| solver | to 1e-6 | from zero | iterations |\n| --- | --- | --- | --- |\n");
    printf("| admm | %.2f %% | %.2f %% | %.0f |\n", share * (double)o->warm, share * (double)o->cold,
           o->iterations[ADMM] / (double)n);
    printf("| staggered | %.2f %% | - | %.0f |\n\n", share * (double)o->staggered,
           o->iterations[STAGGERED] / (double)n);
    printf("| solver | to 1e-9 | as newton | share | another solution | newton not certified |\n"
           "| --- | --- | --- | --- | --- | --- |\n");
    for (int way = 0; way < WAYS; way++)
        printf("| %s | %zu | %zu | %.2f %% | %zu | %zu |\n", ways[way], o->tight[way], o->same[way],
               100 * (double)o->same[way] / fmax((double)o->tight[way], 1), o->another[way], o->unsure[way]);
    printf("\n| alternations | median | 99th percentile | worst (m/s) |\n| --- | --- | --- | --- |\n");
    for (int k = 0; k < COUNTS; k++)
    {
        qsort(o->left[k], n, sizeof(double), by_size);
        printf("| %d | %.0e | %.0e | %.0e |\n", alternations[k], o->left[k][n / 2], o->left[k][n - 1 - n / 100],
               o->left[k][n - 1]);
    }
    printf("\n");
    fflush(stdout);
}

static bool look_at(space *s, const char *path)
{
    FILE *file = fopen(path, "rb");
    outcome o = {0};
    problem p;
    int rows = 0, got = -1;
    while (file != NULL && (got = problem_read(file, &p)) == 1)
    {
        if (o.problems == o.capacity)
        {
            o.capacity = o.capacity == 0 ? 1024 : 2 * o.capacity;
            for (int k = 0; k < COUNTS; k++)
                o.left[k] = grow(o.left[k], o.capacity, sizeof(double));
        }
        if (p.island.rows > rows)
            make_space(s, rows = p.island.rows);
        look(s, p.island, &o);
        problem_free(&p);
    }
    if (file != NULL)
        fclose(file);
    if (got == 0 && o.problems > 0)
        print(path, &o);
    for (int k = 0; k < COUNTS; k++)
        free(o.left[k]);
    return got == 0;
}

int main(int argc, char **argv)
{
    space s = {0};
    for (int i = 1; i < argc; i++)
        if (!look_at(&s, argv[i]))
        {
            fprintf(stderr, "bench_family: %s: cannot be opened, not a file of problems, or damaged\n", argv[i]);
            return 1;
        }
    tg_free(NULL, s.scratch.base);
    free(s.L);
    free(s.sigma);
    free(s.other);
    return argc > 1 ? 0 : 1;
}
