/* The solver "admm" on recorded problems: how many it solves, that it claims no other, and that it finds what newton
 * finds. */
#include "contact_test.h"
#include "problems.h"

typedef struct outcome
{
    int problems, solved, wrong, tight, same;
    double iterations;
} outcome;

static tg_solve_result run(const tg_island *island, const char *solver, double tolerance, int most, double *L,
                           double *sigma)
{
    tg_solve_options options = tg_solve_default();
    tg_arena scratch = {.capacity = tg_island_scratch(
                            (tg_island_size){.rows = island->rows, .dofs = island->dofs, .trees = island->trees})};
    tg_solve_result result;
    tg_error error;
    options.solver = solver;
    options.tolerance = tolerance;
    options.max_sweeps = most;
    options.select = strcmp(solver, "newton") == 0;
    scratch.base = tg_alloc(NULL, scratch.capacity);
    assert_non_null(scratch.base);
    assert_int_equal(tg_island_solve(island, &options, &scratch, L, sigma, &result, &error), TG_OK);
    tg_free(NULL, scratch.base);
    return result;
}

static void look(tg_island island, bool cold, outcome *o)
{
    size_t n = (size_t)island.rows;
    double *L = calloc(3 * n + 1, sizeof *L), *sigma = L + n, *other = L + 2 * n, worst = 0;
    assert_non_null(L);
    island.warm = cold ? NULL : island.warm;
    tg_solve_result result = run(&island, "admm", 1e-6, 500, L, sigma);
    tg_residual residual = tg_island_residual(&island, L, true, sigma);
    o->problems++;
    o->solved += result.status == TG_SOLVE_SOLVED;
    o->wrong += result.status == TG_SOLVE_SOLVED && tg_residual_max(&residual) > 1.001e-6;
    o->iterations += result.sweeps;
    if (run(&island, "admm", 1e-9, 20000, L, sigma).status == TG_SOLVE_SOLVED)
    {
        run(&island, "newton", 1e-8, 1000, L, other);
        for (size_t i = 0; i < n; i++)
            worst = fmax(worst, fabs(sigma[i] - other[i]));
        o->tight++;
        o->same += worst <= 1e-6;
    }
    free(L);
}

static outcome file_of(const char *name, bool cold)
{
    char path[1024];
    outcome o = {0};
    problem p;
    snprintf(path, sizeof path, "%s/bench/problems/%s.tgp", TANGERE_ROOT, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    while (problem_read(file, &p) == 1)
    {
        look(p.island, cold, &o);
        problem_free(&p);
    }
    fclose(file);
    printf("%s, %s: %d problems, %d solved to 1e-6, %.0f iterations; %d to 1e-9, %d as newton\n", name,
           cold ? "cold" : "warm", o.problems, o.solved, o.iterations / o.problems, o.tight, o.same);
    return o;
}

/* 98 % of robots, feet, grippers and piles within 500 iterations; what is solved to 1e-9 moves as newton's solution in
 * 99.5 % */
static void recorded(void **state)
{
    (void)state;
    static const char *const names[] = {"robots", "feet", "grippers", "piles"};
    int tight = 0, same = 0;
    for (int k = 0; k < 4; k++)
        for (int cold = 0; cold < 2; cold++)
        {
            outcome o = file_of(names[k], cold == 1);
            assert_int_equal(o.wrong, 0);
            assert_true(o.solved >= 0.98 * o.problems);
            tight += cold == 0 ? o.tight : 0;
            same += cold == 0 ? o.same : 0;
        }
    assert_true(tight > 200 && same >= 0.995 * tight);
}

/* mass ratios and problems that are hard for everyone: reported, and labelled where they are not solved */
static void reported(void **state)
{
    (void)state;
    static const char *const names[] = {"stacks", "creeping", "stalled"};
    for (int k = 0; k < 3; k++)
        assert_int_equal(file_of(names[k], false).wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recorded), cmocka_unit_test(reported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
