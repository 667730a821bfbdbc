/* Rows of limits and contacts that hold a motion by a small lever: the solution without compliance is reached, not that
 * of the compliance which the solver begins with. A round of the limit (select.c) leaves eps / (eps + lever^2) of what
 * they move.
 *
 * Three limits, rows J = U diag(1, 0.5, lever) V^T with random rotations U and V. The problem is made for impulses L >
 * 0, g = -J J^T L, and has no other solution. The change of velocities u = J^T L is compared, in which the motion along
 * the lever is not weighed by it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "solve/problem.h"

enum
{
    ROWS = 3,
    LD = 4,
    PROBLEMS = 50
};

static uint64_t seed = 1;

static double noise(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 4503599627370496.0 - 1;
}

/* orthonormal rows, by Gram and Schmidt */
static void random_rotation(double R[ROWS][ROWS])
{
    for (int k = 0; k < ROWS; k++)
    {
        for (int i = 0; i < ROWS; i++)
            R[k][i] = noise();
        for (int j = 0; j < 2 * k; j++) /* twice */
        {
            const double *other = R[j % k];
            double along = R[k][0] * other[0] + R[k][1] * other[1] + R[k][2] * other[2];
            for (int i = 0; i < ROWS; i++)
                R[k][i] -= along * other[i];
        }
        double length = sqrt(R[k][0] * R[k][0] + R[k][1] * R[k][1] + R[k][2] * R[k][2]);
        for (int i = 0; i < ROWS; i++)
            R[k][i] /= length;
    }
}

static void random_rows(double lever, double J[ROWS][ROWS])
{
    const double size[ROWS] = {1, 0.5, lever};
    double U[ROWS][ROWS], V[ROWS][ROWS];
    random_rotation(U);
    random_rotation(V);
    for (int i = 0; i < ROWS; i++)
        for (int d = 0; d < ROWS; d++)
            J[i][d] = U[0][i] * size[0] * V[0][d] + U[1][i] * size[1] * V[1][d] + U[2][i] * size[2] * V[2][d];
}

/* u = J^T L */
static void push(double J[ROWS][ROWS], const double *L, double *u)
{
    for (int d = 0; d < ROWS; d++)
        u[d] = J[0][d] * L[0] + J[1][d] * L[1] + J[2][d] * L[2];
}

static void solve(const double *G, const double *g, double *L)
{
    const tg_block block[ROWS] = {{.kind = TG_BLOCK_LIMIT, .row = 0, .rows = 1},
                                  {.kind = TG_BLOCK_LIMIT, .row = 1, .rows = 1},
                                  {.kind = TG_BLOCK_LIMIT, .row = 2, .rows = 1}};
    tg_island island = {.rows = ROWS, .blocks = ROWS, .block = block, .G = G, .ldg = LD, .g = g};
    tg_solve_options options = tg_solve_default();
    options.skip_warm = true;
    size_t bytes = tg_island_scratch((tg_island_size){.rows = ROWS});
    tg_arena scratch = {.base = tg_alloc(NULL, bytes), .capacity = bytes};
    double sigma[ROWS];
    tg_solve_result result;
    tg_error error;
    assert_int_equal(tg_island_solve(&island, &options, &scratch, L, sigma, &result, &error), TG_OK);
    assert_int_equal(result.status, TG_SOLVE_SOLVED);
    tg_free(NULL, scratch.base);
}

/* the largest error of u, of a random problem */
static double error_of(double lever)
{
    double J[ROWS][ROWS], G[ROWS * LD] = {0}, g[ROWS] = {0}, u[ROWS], found[ROWS], worst = 0;
    double L[ROWS] = {1 + fabs(noise()), 1 + fabs(noise()), 1 + fabs(noise())};
    random_rows(lever, J);
    push(J, L, u);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++)
        {
            G[i * LD + j] = J[i][0] * J[j][0] + J[i][1] * J[j][1] + J[i][2] * J[j][2];
            g[i] -= J[i][j] * u[j];
        }
    solve(G, g, L);
    push(J, L, found);
    for (int d = 0; d < ROWS; d++)
        worst = fmax(worst, fabs(found[d] - u[d]));
    return worst;
}

/* Along the lever u is at most lever |L|, of which six digits are asked for. G has lever^2 to rounding, 1e-16, which
 * leaves 1e-16 / lever of it. */
static void test_small_levers(void **state)
{
    (void)state;
    for (double lever = 0.1; lever > 5e-6; lever *= 0.5)
        for (int k = 0; k < PROBLEMS; k++)
        {
            double error = error_of(lever), bound = 1e-6 * lever + 1e-15 / lever;
            if (!(error < bound))
                fail_msg("lever %g, problem %d: velocities are off by %g, expected below %g", lever, k, error, bound);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small_levers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
