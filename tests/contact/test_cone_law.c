/* Contact laws on bare problems: projections, the residual against the unrelaxed one, recorded problems, and the convex
 * law against its own solver. */
#include "contact/cone_law.h"
#include "contact_test.h"
#include "problems.h"
#include "solve/ccp.h"

/* ---- projections ---- */

/* P(y) is in K, y - P(y) in the polar cone, and they are orthogonal: that is the nearest point. */
static void projections(void **state)
{
    (void)state;
    static const tg_norm norms[] = {TG_NORM_TWO, TG_NORM_MAX, TG_NORM_SUM};
    source r = {7};
    for (int k = 0; k < 30000; k++)
    {
        tg_norm norm = norms[k % 3];
        int d = 1 + below(&r, TG_NORM_ROWS);
        double y[TG_NORM_ROWS], p[TG_NORM_ROWS], away[TG_NORM_ROWS], product = 0;
        for (int i = 0; i < d; i++)
            p[i] = y[i] = below(&r, 5) == 0 ? 0 : uniform(&r, -1, 1);
        tg_norm_project(norm, d, p);
        for (int i = 0; i < d; i++)
        {
            away[i] = y[i] - p[i];
            product += away[i] * p[i];
        }
        assert_true(tg_norm_of(norm, d - 1, p + 1) <= p[0] + 1e-14);
        assert_true(tg_norm_dual(norm, d - 1, away + 1) <= -away[0] + 1e-14);
        assert_true(fabs(product) < 1e-14);
        double radius = uniform(&r, 0, 1), ball[TG_NORM_ROWS];
        memcpy(ball, y, sizeof ball);
        tg_norm_ball(norm, d, radius, ball);
        product = 0;
        for (int i = 0; i < d; i++)
        {
            away[i] = y[i] - ball[i];
            product += away[i] * ball[i];
        }
        assert_true(tg_norm_of(norm, d, ball) <= radius + 1e-14);
        assert_true(fabs(product - radius * tg_norm_dual(norm, d, away)) < 1e-14);
    }
}

/* ---- recorded problems ---- */

static const char *const files[] = {"robots", "feet", "grippers", "piles", "stacks"};

typedef struct outcome
{
    int problems, solved;
    double newton, sweeps, worst;
} outcome;

static tg_solve_result solve_law(const tg_cone_law *law, const tg_island *island, const char *solver, double *L,
                                 double *sigma)
{
    tg_solve_options options = tg_solve_default();
    tg_arena scratch = {.capacity = tg_cone_law_scratch(island->rows)};
    tg_solve_result result;
    tg_error error;
    options.solver = solver;
    scratch.base = tg_alloc(NULL, scratch.capacity);
    assert_non_null(scratch.base);
    assert_int_equal(tg_cone_law_solve(law, island, &options, &scratch, L, sigma, &result, &error), TG_OK);
    tg_free(NULL, scratch.base);
    return result;
}

/* sigma of the convex law by solve/ccp.h, where there are contacts and limits only; false: there are others */
static bool convex_velocity(const tg_island *island, double *sigma)
{
    tg_ccp_cone *cone = calloc((size_t)island->blocks + 1, sizeof *cone);
    tg_arena arena = {0};
    tg_ccp c;
    tg_error error;
    bool only = true;
    assert_non_null(cone);
    for (int b = 0; b < island->blocks; b++)
    {
        const tg_block *block = &island->block[b];
        only = only && (block->kind == TG_BLOCK_CONTACT || block->kind == TG_BLOCK_LIMIT);
        cone[b] = (tg_ccp_cone){.row = block->row, .rows = block->rows};
        for (int i = 0; i + 1 < block->rows; i++)
            cone[b].mu[i] = block->mu[i];
    }
    tg_ccp_take(&c, island->rows, &arena);
    arena = (tg_arena){.capacity = arena.used};
    arena.base = tg_alloc(NULL, arena.capacity);
    assert_non_null(arena.base);
    tg_ccp_take(&c, island->rows, &arena);
    tg_ccp_problem bare = {.rows = island->rows,
                           .cones = island->blocks,
                           .cone = cone,
                           .G = island->G,
                           .ldg = island->ldg,
                           .g = island->g,
                           .compression = true};
    only = only && tg_ccp_solve(&c, &bare, &error) == TG_OK;
    if (only)
        memcpy(sigma, c.sigma, sizeof(double) * (size_t)island->rows);
    tg_free(NULL, arena.base);
    free(cone);
    return only;
}

static void look(const tg_island *island, const tg_cone_law *law, const char *solver, outcome *o, outcome *same)
{
    size_t n = (size_t)island->rows;
    double *L = calloc(3 * n + 1, sizeof *L), *sigma = L + n, *other = L + 2 * n, apart = 0, size = 0;
    assert_non_null(L);
    tg_solve_result result = solve_law(law, island, solver, L, sigma);
    bool solved = result.status == TG_SOLVE_SOLVED;
    o->problems++;
    o->solved += solved;
    o->newton += result.newton;
    o->sweeps += result.sweeps;
    if (!law->shift && solved && convex_velocity(island, other))
    {
        for (size_t i = 0; i < n; i++)
        {
            apart = fmax(apart, fabs(sigma[i] - other[i]));
            size = fmax(size, fabs(island->g[i]));
        }
        same->problems++;
        same->worst = fmax(same->worst, apart / fmax(1, size));
    }
    free(L);
}

static void recorded(void **state)
{
    (void)state;
    for (int l = 1; tg_cone_law_at(l) != NULL; l++)
    {
        const tg_cone_law *law = tg_cone_law_at(l);
        outcome same = {0}, all = {0};
        for (size_t k = 0; k < sizeof files / sizeof files[0]; k++)
        {
            char path[1024];
            outcome o = {0};
            problem p;
            snprintf(path, sizeof path, "%s/bench/problems/%s.tgp", TANGERE_ROOT, files[k]);
            FILE *file = fopen(path, "rb");
            assert_non_null(file);
            while (problem_read(file, &p) == 1)
            {
                look(&p.island, law, "newton", &o, &same);
                problem_free(&p);
            }
            fclose(file);
            print_message("%-12s %-9s %4d problems, %4d solved, %.1f Newton steps, %.1f iterations\n", law->name,
                          files[k], o.problems, o.solved, o.newton / o.problems, o.sweeps / o.problems);
            all.problems += o.problems;
            all.solved += o.solved;
        }
        print_message("%-12s %d of %d; of %d convex ones the worst velocity is off by %.1e\n", law->name, all.solved,
                      all.problems, same.problems, same.worst);
        assert_true(all.solved >= 0.98 * all.problems);
        assert_true(law->shift || (same.problems > 100 && same.worst < 1e-6));
    }
}

/* With norm and shift of "ncp" the residual is that of tg_island_residual, whatever the impulses are. */
static void residual(void **state)
{
    (void)state;
    char path[1024];
    problem p;
    source r = {11};
    int looked = 0;
    snprintf(path, sizeof path, "%s/bench/problems/robots.tgp", TANGERE_ROOT);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    while (problem_read(file, &p) == 1)
    {
        size_t n = (size_t)p.island.rows;
        double *L = calloc(2 * n + 1, sizeof *L), *sigma = L + n;
        assert_non_null(L);
        for (size_t i = 0; i < n; i++)
            L[i] = (p.island.warm != NULL ? p.island.warm[i] : 0) + uniform(&r, -0.1, 0.1);
        tg_residual a = tg_cone_law_residual(tg_cone_law_find("ncp"), &p.island, L, sigma);
        tg_residual b = tg_island_residual(&p.island, L, false, sigma);
        assert_true(fabs(a.primal - b.primal) <= 1e-12 * fmax(1, b.primal));
        assert_true(fabs(a.dual - b.dual) <= 1e-12 * fmax(1, b.dual));
        assert_true(fabs(a.complementarity - b.complementarity) <= 1e-12 * fmax(1, b.complementarity));
        looked++;
        free(L);
        problem_free(&p);
    }
    fclose(file);
    assert_true(looked > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(projections), cmocka_unit_test(residual),
                                       cmocka_unit_test(recorded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
