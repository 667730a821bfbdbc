/* What the laws make of one sliding point: the convex law lifts it, the unrelaxed law does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "solve/ccp.h"
#include "solve/problem.h"

/* 1 kg on the floor at 1 m/s, mu 0.5, 1 ms, g 9.81, after one step: (tangential, normal) velocities of both laws */
static void sliding_point(void **state)
{
    (void)state;
    const double G[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, g[3] = {-9.81e-3, 1, 0};
    tg_ccp_cone cone = {.row = 0, .rows = 3, .mu = {0.5, 0.5}};
    tg_ccp_problem convex = {.rows = 3, .cones = 1, .cone = &cone, .G = G, .ldg = 3, .g = g, .compression = true};
    tg_arena count = {0};
    tg_ccp c;
    tg_ccp_take(&c, 3, &count);
    tg_arena arena = {.base = tg_alloc(NULL, count.used), .capacity = count.used};
    assert_true(tg_ccp_take(&c, 3, &arena));
    assert_int_equal(tg_ccp_solve(&c, &convex, NULL), TG_OK);
    assert_true(fabs(c.sigma[1] - 0.796076) < 1e-9 && fabs(c.sigma[0] - 0.398038) < 1e-9);
    tg_free(NULL, arena.base);

    tg_block block = {.kind = TG_BLOCK_CONTACT, .rows = 3, .mu = {0.5, 0.5}};
    tg_island island = {.rows = 3, .blocks = 1, .block = &block, .G = G, .ldg = 3, .g = g};
    tg_solve_options options = tg_solve_default();
    double L[3], sigma[3];
    tg_solve_result result;
    for (int k = 0; k < 2; k++)
    {
        tg_arena scratch = {.capacity = tg_island_scratch((tg_island_size){.rows = 3})};
        scratch.base = tg_alloc(NULL, scratch.capacity);
        options.solver = k == 0 ? "newton" : "admm";
        assert_int_equal(tg_island_solve(&island, &options, &scratch, L, sigma, &result, NULL), TG_OK);
        assert_true(fabs(sigma[1] - 0.995095) < 1e-8 && fabs(sigma[0]) < 1e-8);
        tg_free(NULL, scratch.base);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sliding_point)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
