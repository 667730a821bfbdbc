/* Islands that are too large for dense matrices: the problem with compliance from lists of the rows' trees has the
 * solution that it has with room for dense matrices; a row of more trees than there is room for is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/simd.h"
#include "solve/problem.h"

enum
{
    TREES = 20,
    DOFS = 6,
    ROWS = 3 * TREES,
    MOST = 9, /* columns of a tree: its two contacts, and one that is added */
    LD = 12
};

typedef struct chain
{
    tg_block block[TREES];
    tg_tree_rows tree[TREES];
    int row[TREES][MOST];
    double Y[TREES][DOFS * LD], g[ROWS], give[ROWS], diagonal[ROWS];
    tg_island island;
} chain;

static double number(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return 2 * (double)(*seed >> 11) * 0x1p-53 - 1;
}

static void touch_tree(chain *c, int contact, int tree, uint64_t *seed)
{
    tg_tree_rows *t = &c->tree[tree];
    for (int i = 0; i < 3; i++, t->columns++)
    {
        c->row[tree][t->columns] = 3 * contact + i;
        for (int k = 0; k < DOFS; k++)
        {
            double y = number(seed);
            c->Y[tree][k * LD + t->columns] = y;
            c->diagonal[3 * contact + i] += y * y;
        }
    }
}

/* bodies one above the other, the first on the ground; wide: the last contact also touches the first body */
static void make_chain(chain *c, uint64_t seed, bool wide)
{
    memset(c, 0, sizeof *c);
    for (int t = 0; t < TREES; t++)
        c->tree[t] = (tg_tree_rows){.dofs = DOFS, .ld = LD, .row = c->row[t], .Y = c->Y[t]};
    for (int k = 0; k < TREES; k++)
    {
        c->block[k] = (tg_block){.kind = TG_BLOCK_CONTACT, .row = 3 * k, .rows = 3, .mu = {0.5, 0.5}};
        for (int i = 0; i < 3; i++)
            c->g[3 * k + i] = i == 0 ? -1 - number(&seed) : number(&seed);
        if (k > 0)
            touch_tree(c, k, k - 1, &seed);
        touch_tree(c, k, k, &seed);
    }
    if (wide)
        touch_tree(c, TREES - 1, 0, &seed);
    c->island = (tg_island){.rows = ROWS,
                            .blocks = TREES,
                            .block = c->block,
                            .ldg = v4_pad(ROWS),
                            .tree = c->tree,
                            .trees = TREES,
                            .dofs = TREES * DOFS,
                            .give = c->give,
                            .diagonal = c->diagonal,
                            .g = c->g};
}

static tg_status solve_chain(tg_island *island, bool narrow, double *L, double *sigma, tg_solve_result *result)
{
    tg_island_size size = {.rows = island->rows, .dofs = TREES * DOFS, .trees = TREES};
    for (int t = 0; t < TREES && narrow; t++)
        size.columns += island->tree[t].columns;
    size.tree_dofs = island->tree_dofs = narrow ? DOFS : 0;
    island->columns = size.columns;
    tg_arena scratch = {.capacity = tg_island_scratch(size)};
    scratch.base = aligned_alloc(64, (scratch.capacity + 63) / 64 * 64);
    assert_non_null(scratch.base);
    memset(scratch.base, 0xff, scratch.capacity); /* NaN: what is read was written */
    tg_solve_options options = tg_solve_default();
    tg_error error;
    tg_status status = tg_island_solve(island, &options, &scratch, L, sigma, result, &error);
    free(scratch.base);
    return status;
}

static void test_same_solution(void **state)
{
    (void)state;
    static chain c;
    for (uint64_t seed = 0; seed < 200; seed++)
    {
        double L[2][ROWS], sigma[2][ROWS];
        tg_solve_result result[2];
        make_chain(&c, seed, false);
        for (int k = 0; k < 2; k++)
        {
            assert_int_equal(solve_chain(&c.island, k == 1, L[k], sigma[k], &result[k]), TG_OK);
            assert_int_equal(result[k].status, TG_SOLVE_SOLVED);
        }
        assert_int_equal(result[0].selection, result[1].selection);
        for (int i = 0; i < ROWS; i++)
        {
            assert_float_equal(L[0][i], L[1][i], 1e-9);
            assert_float_equal(sigma[0][i], sigma[1][i], 1e-9);
        }
    }
}

/* Where few bodies hold most of the residual they take steps of their own (soft_local.c): steps of all are 12.6 on
 * average, 19.3 without. */
static void test_few_bodies_alone(void **state)
{
    (void)state;
    static chain c;
    enum
    {
        CASES = 200,
        MOST_STEPS = 16
    };
    int steps = 0;
    for (uint64_t seed = 0; seed < CASES; seed++)
    {
        double L[ROWS], sigma[ROWS];
        tg_solve_result result;
        make_chain(&c, seed, false);
        assert_int_equal(solve_chain(&c.island, true, L, sigma, &result), TG_OK);
        steps += result.newton;
    }
    printf("%g factorisations of all bodies\n", (double)steps / CASES);
    assert_true(steps < MOST_STEPS * CASES);
}

static void test_too_wide(void **state)
{
    (void)state;
    static chain c;
    double L[ROWS], sigma[ROWS];
    tg_solve_result result;
    make_chain(&c, 1, true);
    assert_int_equal(solve_chain(&c.island, true, L, sigma, &result), TG_ERR_CAPACITY);
    assert_int_equal(solve_chain(&c.island, false, L, sigma, &result), TG_OK);
    assert_int_equal(result.status, TG_SOLVE_SOLVED);
}

/* One contact moves all trees: a tendon through many bodies. Its list is longer than the usual one, and there is no
 * room for fronts; the dense problem has room. */
static void test_one_row_of_all_trees(void **state)
{
    (void)state;
    static chain c;
    double L[ROWS], sigma[ROWS];
    tg_solve_result result;
    uint64_t seed = 3;
    make_chain(&c, 1, false);
    memset(c.diagonal, 0, sizeof c.diagonal);
    for (int t = 0; t < TREES; t++)
    {
        c.tree[t].columns = 0;
        touch_tree(&c, 0, t, &seed);
    }
    c.island.rows = 3;
    c.island.blocks = 1;
    c.island.ldg = v4_pad(3);
    assert_int_equal(solve_chain(&c.island, false, L, sigma, &result), TG_OK);
    assert_int_equal(result.status, TG_SOLVE_SOLVED);
    assert_true(L[0] > 0);
    for (int i = 0; i < 3; i++) /* G L + g, product by product */
    {
        double sum = c.g[i];
        for (int t = 0; t < TREES; t++)
            for (int k = 0; k < DOFS; k++)
                for (int j = 0; j < 3; j++)
                    sum += c.Y[t][k * LD + i] * c.Y[t][k * LD + j] * L[j];
        assert_float_equal(sigma[i], sum, 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_solution), cmocka_unit_test(test_few_bodies_alone),
                                       cmocka_unit_test(test_too_wide), cmocka_unit_test(test_one_row_of_all_trees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
