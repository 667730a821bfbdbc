/* The solver "staggered": how many recorded problems it solves run to its end, what 3, 5 and 10 alternations leave, and
 * that it finds what newton finds. */
#include "contact/contact_test.h"
#include "problems.h"

enum
{
    COUNTS = 3
};

static const int alternations[COUNTS] = {3, 5, 10};

typedef struct outcome
{
    int problems, solved, wrong, compared, same;
    double iterations;
    double left[COUNTS][128]; /* residuals after so many alternations */
} outcome;

static tg_solve_result run(const tg_island *island, const char *solver, int steps, double tolerance, double *L,
                           double *sigma)
{
    tg_solve_options options = tg_solve_default();
    tg_arena scratch = {.capacity = tg_island_scratch(
                            (tg_island_size){.rows = island->rows, .dofs = island->dofs, .trees = island->trees})};
    tg_solve_result result;
    tg_error error;
    options.solver = solver;
    options.tolerance = tolerance;
    options.staggered_steps = steps;
    options.max_sweeps = 20000;
    options.select = strcmp(solver, "newton") == 0;
    scratch.base = tg_alloc(NULL, scratch.capacity);
    assert_non_null(scratch.base);
    assert_int_equal(tg_island_solve(island, &options, &scratch, L, sigma, &result, &error), TG_OK);
    tg_free(NULL, scratch.base);
    return result;
}

static void look(const tg_island *island, outcome *o)
{
    size_t n = (size_t)island->rows;
    double *L = calloc(3 * n + 1, sizeof *L), *sigma = L + n, *other = L + 2 * n, worst = 0;
    assert_non_null(L);
    for (int k = 0; k < COUNTS; k++)
    {
        run(island, "staggered", alternations[k], 1e-6, L, sigma);
        tg_residual residual = tg_island_residual(island, L, true, sigma);
        o->left[k][o->problems] = tg_residual_max(&residual);
    }
    tg_solve_result result = run(island, "staggered", 0, 1e-6, L, sigma);
    tg_residual residual = tg_island_residual(island, L, true, sigma);
    bool solved = result.status == TG_SOLVE_SOLVED;
    o->problems++;
    o->solved += solved;
    o->wrong += solved && tg_residual_max(&residual) > 1.001e-6;
    o->iterations += result.sweeps;
    if (run(island, "staggered", 0, 1e-9, L, sigma).status == TG_SOLVE_SOLVED)
    {
        run(island, "newton", 0, 1e-8, L, other);
        for (size_t i = 0; i < n; i++)
            worst = fmax(worst, fabs(sigma[i] - other[i]));
        o->compared++;
        o->same += worst <= 1e-6;
    }
    free(L);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static outcome file_of(const char *name)
{
    char path[1024];
    static outcome o;
    problem p;
    memset(&o, 0, sizeof o);
    snprintf(path, sizeof path, "%s/bench/problems/%s.tgp", TANGERE_ROOT, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    while (o.problems < 128 && problem_read(file, &p) == 1)
    {
        look(&p.island, &o);
        problem_free(&p);
    }
    fclose(file);
    print_message("| %-8s | %d | %d | %.0f | %d of %d |", name, o.problems, o.solved, o.iterations / o.problems, o.same,
                  o.compared);
    for (int k = 0; k < COUNTS; k++)
    {
        qsort(o.left[k], (size_t)o.problems, sizeof(double), by_size);
        print_message(" %.1e, %.1e |", o.left[k][o.problems / 2], o.left[k][o.problems - 1]);
    }
    print_message("\n");
    return o;
}

/* 93 % of each set, to 1e-6; what is solved to 1e-9 moves as newton's solution in 99.5 % */
static void recorded(void **state)
{
    (void)state;
    static const char *const names[] = {"robots", "feet", "grippers", "piles"};
    int compared = 0, same = 0;
    print_message("| set | problems | solved | iterations | as newton | residual after 3: median, worst | 5 | 10 |\n");
    for (int k = 0; k < 4; k++)
    {
        outcome o = file_of(names[k]);
        assert_int_equal(o.wrong, 0);
        assert_true(o.solved >= 0.93 * o.problems);
        compared += o.compared;
        same += o.same;
    }
    assert_true(compared > 200 && same >= 0.995 * compared);
}

/* mass ratios and problems that are hard for everyone: reported, and labelled where they are not solved */
static void reported(void **state)
{
    (void)state;
    static const char *const names[] = {"stacks", "creeping", "stalled"};
    for (int k = 0; k < 3; k++)
        assert_int_equal(file_of(names[k]).wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recorded), cmocka_unit_test(reported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
