/* Recorded contact problems (bench/problems): the default solver solves every one, from the impulses of the step before
 * and from nothing, with a certificate that holds in long double, within a bounded number of factorisations. hard.tgp
 * has problems whose path turns back (path.c) and light bodies that carry heavy ones: what Newton and the interior
 * point do not solve. stalled.tgp has problems with a solution at hand from which the selection rule is hard to reach,
 * or is not reached, and such of which most contacts are open: these must not cost hundreds of factorisations.
 * creeping.tgp has those to which the rule comes by compliant solutions (selection.c). */
#include "contact_test.h"
#include "problems.h"
#include "support/effort.h"

enum
{
    MOST_FACTORISATIONS = 2000,
    MOST_STALLED = 150
};

typedef struct outcome
{
    int problems, unsolved, wrong, most, unselected;
} outcome;

static void solve_from(const problem *p, const double *warm, double *L, double *sigma, tg_solve_result *result)
{
    tg_solve_options options = tg_solve_default();
    tg_arena scratch = {.capacity = tg_island_scratch((tg_island_size){.rows = p->island.rows})};
    tg_island island = p->island;
    tg_error error;
    island.warm = warm;
    scratch.base = tg_alloc(NULL, scratch.capacity);
    assert_non_null(scratch.base);
    assert_int_equal(tg_island_solve(&island, &options, &scratch, L, sigma, result, &error), TG_OK);
    tg_free(NULL, scratch.base);
}

static void count(const problem *p, const double *warm, outcome *o)
{
    size_t n = (size_t)p->island.rows;
    double *L = calloc(2 * n + 1, sizeof *L);
    tg_solve_result result;
    assert_non_null(L);
    solve_from(p, warm, L, L + n, &result);
    tg_residual residual = tg_island_residual(&p->island, L, true, L + n);
    int factorisations = result.newton + result.interior;
    o->problems++;
    o->unsolved += result.status != TG_SOLVE_SOLVED;
    o->wrong += result.status == TG_SOLVE_SOLVED && tg_residual_max(&residual) > 1e-8;
    o->most = factorisations > o->most ? factorisations : o->most;
    o->unselected += result.selection == TG_SELECT_UNSELECTED;
    free(L);
}

/* cold: from nothing, too */
static outcome count_file(const char *name, int every, bool cold)
{
    char path[1024];
    outcome o = {0};
    problem p;
    int got;
    snprintf(path, sizeof path, "%s/bench/problems/%s", TANGERE_ROOT, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (int k = 0; (got = problem_read(file, &p)) == 1; k++)
    {
        if (k % every == 0)
        {
            count(&p, p.island.warm, &o);
            if (cold)
                count(&p, NULL, &o);
        }
        problem_free(&p);
    }
    fclose(file);
    assert_int_equal(got, 0);
    return o;
}

static void check_file(const char *name, int least, int every)
{
    outcome o = count_file(name, every, true);
    assert_true(o.problems >= 2 * least / every);
    assert_int_equal(o.unsolved, 0);
    assert_int_equal(o.wrong, 0);
    assert_true(o.most <= MOST_FACTORISATIONS);
}

static void families(void **state)
{
    (void)state;
    static const char *const name[] = {"robots.tgp", "piles.tgp", "grippers.tgp", "stacks.tgp", "feet.tgp"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        check_file(name[i], 40, TEST_EFFORT);
}

static void hard(void **state)
{
    (void)state;
    check_file("hard.tgp", 20, TEST_EFFORT);
}

static void stalled(void **state)
{
    (void)state;
    outcome o = count_file("stalled.tgp", 1, false);
    assert_true(o.problems == 8);
    assert_int_equal(o.unsolved, 0);
    assert_int_equal(o.wrong, 0);
    print_message("  %d factorisations at most\n", o.most);
    assert_true(o.most <= MOST_STALLED);
}

/* Limbs that lie flat on a floor and are pushed over it by their springs: sixteen points share the load, and slip by
 * 1e-8 to 1e-2 m/s. The rule selects most of them; from the rigid problem alone it selects none. */
static void creeping(void **state)
{
    (void)state;
    outcome o = count_file("creeping.tgp", 1, true);
    print_message("  %d of %d not selected, %d factorisations at most\n", o.unselected, o.problems, o.most);
    assert_true(o.problems >= 12);
    assert_int_equal(o.unsolved + o.wrong, 0);
    assert_true(2 * o.unselected < o.problems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(families), cmocka_unit_test(hard), cmocka_unit_test(stalled),
                                       cmocka_unit_test(creeping)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
