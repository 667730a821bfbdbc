/* Contacts that hold against each other: the warm start finds which of them slides, without compliance.
 *
 * One body of mass 1 that cannot turn, with two contacts (mu 0.5) whose tangents ask for velocities that differ by d,
 * as points of a foot that turns do. Both cannot stick. With compliance eps their friction would differ by d / eps, so
 * the limit has the second at its cone: the load is shared, L_N = 1/2 each, L_T = (0.15, -0.25) of -0.1 for d > 0. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "solve/problem.h"

enum
{
    ROWS = 6,
    LD = 8
};

static tg_solve_result solve(double d, bool warm, double *L, double *sigma)
{
    static const tg_block block[2] = {{.kind = TG_BLOCK_CONTACT, .row = 0, .rows = 3, .mu = {0.5, 0.5}},
                                      {.kind = TG_BLOCK_CONTACT, .row = 3, .rows = 3, .mu = {0.5, 0.5}}};
    double G[ROWS * LD] = {0}, g[ROWS] = {-1, 0.1, 0, -1, 0.1 + d, 0}, from[ROWS] = {0.5, -0.05, 0, 0.5, -0.05, 0};
    for (int i = 0; i < ROWS; i++)
        G[i * LD + i] = G[i * LD + (i + 3) % ROWS] = 1;
    tg_island island = {.rows = ROWS, .blocks = 2, .block = block, .G = G, .ldg = LD, .g = g, .warm = from};
    tg_solve_options options = tg_solve_default();
    options.skip_warm = !warm;
    size_t bytes = tg_island_scratch((tg_island_size){.rows = ROWS});
    tg_arena scratch = {.base = tg_alloc(NULL, bytes), .capacity = bytes};
    tg_solve_result result;
    tg_error error;
    for (int i = 0; i < ROWS; i++)
        L[i] = sigma[i] = NAN;
    assert_int_equal(tg_island_solve(&island, &options, &scratch, L, sigma, &result, &error), TG_OK);
    assert_int_equal(result.status, TG_SOLVE_SOLVED);
    tg_free(NULL, scratch.base);
    return result;
}

static void check(double d)
{
    double L[ROWS], sigma[ROWS], other_L[ROWS], other[ROWS];
    const double first = d > 0 ? 0.15 : -0.25, second = d > 0 ? -0.25 : 0.15 - d;
    const double expected[ROWS] = {0.5, first, 0, 0.5, second, 0};
    tg_solve_result found = solve(d, true, L, sigma);
    assert_int_equal(found.stage, TG_ENDED_WARM);
    assert_true(found.newton <= 3);
    assert_true(tg_residual_max(&found.residual) <= 1e-12);
    solve(d, false, other_L, other);
    for (int i = 0; i < ROWS; i++)
    {
        assert_true(fabs(L[i] - expected[i]) < 1e-9);
        assert_true(fabs(sigma[i] - other[i]) < 1e-12);
    }
    assert_true(fabs(sigma[d > 0 ? 4 : 1] - fabs(d)) < 1e-12); /* it slides against its friction */
}

static void test_one_slides(void **state)
{
    (void)state;
    for (double d = 2e-10; d < 4e-9; d *= 1.7) /* beyond, the next stage finds it */
    {
        check(d);
        check(-d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_slides)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
