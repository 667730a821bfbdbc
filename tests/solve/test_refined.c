/* Rows that hold against each other give way with less compliance, and the next problem like this one begins there.
 *
 * One dof of mass 1 with dry friction, bound 100, and a limit that asks for 1e-10 m/s: friction is at its bound, L =
 * (100, -100). With the compliance that the solver begins with, which a contact elsewhere determines (L = 10), it would
 * hold, and the limit as well. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "solve/problem.h"

enum
{
    ROWS = 3,
    LD = 4
};

static tg_solve_result solve(const double *warm, const double *warm_z, double refined, double *L, double *z)
{
    static const double G[ROWS * LD] = {1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0}, g[ROWS] = {-1e-10, 0, -10};
    static const tg_block block[ROWS] = {{.kind = TG_BLOCK_LIMIT, .row = 0, .rows = 1},
                                         {.kind = TG_BLOCK_FRICTION, .row = 1, .rows = 1, .bound = 100},
                                         {.kind = TG_BLOCK_CONTACT, .row = 2, .rows = 1}};
    tg_island island = {.rows = ROWS,
                        .blocks = ROWS,
                        .block = block,
                        .G = G,
                        .ldg = LD,
                        .g = g,
                        .warm = warm,
                        .warm_z = warm_z,
                        .z = z};
    tg_solve_options options = tg_solve_default();
    options.skip_warm = true;
    options.refined = refined;
    size_t bytes = tg_island_scratch((tg_island_size){.rows = ROWS});
    tg_arena scratch = {.base = tg_alloc(NULL, bytes), .capacity = bytes};
    double sigma[ROWS];
    tg_solve_result result;
    tg_error error;
    assert_int_equal(tg_island_solve(&island, &options, &scratch, L, sigma, &result, &error), TG_OK);
    assert_int_equal(result.status, TG_SOLVE_SOLVED);
    tg_free(NULL, scratch.base);
    return result;
}

static void test_begins_where_it_ended(void **state)
{
    double L[ROWS], z[ROWS], next_L[ROWS], next_z[ROWS];
    (void)state;
    tg_solve_result found = solve(NULL, NULL, 0, L, z);
    assert_true(found.refined > 0 && !found.began);
    tg_solve_result next = solve(L, z, found.refined, next_L, next_z);
    assert_true(next.refined == 0 && next.began);
    assert_true(2 * next.newton < found.newton);
    for (int i = 0; i < ROWS; i++)
        assert_true(fabs(next_L[i] - L[i]) < 1e-9);
    assert_true(fabs(L[1] + 100) < 1e-9); /* friction is at its bound */
}

/* where it is known to fail it is not tried */
static void test_is_left(void **state)
{
    double L[ROWS], z[ROWS];
    (void)state;
    tg_solve_result left = solve(NULL, NULL, -1, L, z);
    assert_true(left.refined == 0 && left.began);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_begins_where_it_ended), cmocka_unit_test(test_is_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
