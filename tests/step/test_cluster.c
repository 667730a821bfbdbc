/* A few blocks of a large island, solved alone: impulses that are taken away from a solution come back. */
#include "contact/large.h"
#include "contact/large_cluster.h"
#include "heap.h"
#include "step/step.h"

enum
{
    SEEDS = 3
};

typedef struct island_case
{
    tg_large p;
    bool *seed;
    double *L, *sigma;
} island_case;

/* the island in velocity space, at the solution of the step */
static island_case open_case(sim *s, tg_rows_island *island)
{
    tg_rows *r = s->w->rows;
    island_case c = {.p = {.m = s->m, .w = s->w, .r = r, .island = island}};
    tg_arena arena = {.base = r->large_memory, .capacity = r->capacity.large};
    tg_large_take(&c.p, s->m, &r->capacity, &arena);
    assert_true(tg_large_build(&c.p, s->w->step->v_free, s->w->step->options.dt));
    for (int k = 0; k < c.p.nblock; k++)
        for (int i = 0; i < c.p.block[k].cone.dim; i++)
        {
            const tg_large_block *b = &c.p.block[k];
            c.p.x[b->cone.row + i] = r->L[b->constraint->row + b->source[i]] / b->scale[i];
        }
    c.seed = calloc((size_t)c.p.nblock, sizeof *c.seed);
    c.L = numbers(island->rows);
    c.sigma = numbers(island->rows);
    return c;
}

static void close_case(island_case *c)
{
    free(c->seed);
    free(c->L);
    free(c->sigma);
}

/* m/s; p->s becomes the velocities of p->x */
static double residual_of(island_case *c)
{
    tg_large *p = &c->p;
    tg_large_velocity(p, p->x, p->s);
    for (int k = 0; k < p->nblock; k++)
        for (int i = 0; i < p->block[k].cone.dim; i++)
        {
            const tg_large_block *b = &p->block[k];
            int row = b->constraint->row + b->source[i] - p->island->row;
            c->L[row] = b->scale[i] * p->x[b->cone.row + i];
            c->sigma[row] = p->s[b->cone.row + i] / b->scale[i];
        }
    tg_island problem = tg_island_problem(p->r, p->island);
    tg_residual residual = tg_residual_of(&problem, p->diagonal, 1, c->L, c->sigma);
    return tg_residual_max(&residual);
}

/* the impulses of those that carry most */
static void take_impulses(island_case *c)
{
    tg_large *p = &c->p;
    for (int n = 0; n < SEEDS; n++)
    {
        int most = -1;
        for (int k = 0; k < p->nblock; k++)
            if (!c->seed[k] && (most < 0 || p->x[p->block[k].cone.row] > p->x[p->block[most].cone.row]))
                most = k;
        c->seed[most] = true;
        memset(p->x + p->block[most].cone.row, 0, sizeof(double) * (size_t)p->block[most].cone.dim);
    }
}

static void check_island(sim *s, tg_rows_island *island, int *restored)
{
    island_case c = open_case(s, island);
    check_below("residual of the step", residual_of(&c), 2e-8);
    take_impulses(&c);
    double without = residual_of(&c);
    assert_true(without > 1e-3);
    assert_true(tg_large_solve_cluster(&c.p, c.seed, 1e-10, 0));
    *restored += residual_of(&c) < 1e-5 * without;
    close_case(&c);
}

/* also where it is not solved */
static void step_anyway(sim *s)
{
    tg_state state = {s->q, s->v, s->act, &s->cache};
    assert_int_equal(tg_step(s->m, s->w, &s->options, &state, NULL, &state, &s->info), TG_OK);
}

/* Almost always: where a heap jams, another solution may be found, which those that stay as they are do not fit. */
static void test_lost_impulses_come_back(void **state)
{
    (void)state;
    int islands = 0, restored = 0;
    sim *s = open_heap(80, "<geom type='capsule' size='0.04 0.05' mass='1'/>");
    for (int step = 0; step < 400; step++)
        step_anyway(s);
    for (int step = 0; step < 60 / TEST_EFFORT; step++)
    {
        step_anyway(s);
        tg_rows *r = s->w->rows;
        for (int i = 0; i < r->nisland; i++)
            if (!tg_island_is_dense(r, &r->island[i]) && r->island[i].result.status == TG_SOLVE_SOLVED)
            {
                check_island(s, &r->island[i], &restored);
                islands++;
            }
    }
    printf("%d islands, %d restored\n", islands, restored);
    assert_true(islands > 30 / TEST_EFFORT);
    assert_true(restored > 0.8 * islands);
    sim_close(s);
}

/* whether such a cluster of an island is refused and changes nothing */
static void check_refused(sim *s, tg_rows_island *island)
{
    island_case c = open_case(s, island);
    memset(c.seed, true, (size_t)c.p.nblock * sizeof *c.seed);
    residual_of(&c);
    double *before = numbers(c.p.nx);
    memcpy(before, c.p.x, sizeof(double) * (size_t)c.p.nx);
    assert_false(tg_large_solve_cluster(&c.p, c.seed, 1e-10, 0));
    assert_memory_equal(before, c.p.x, sizeof(double) * (size_t)c.p.nx);
    free(before);
    close_case(&c);
}

/* More seeds than a dense problem has room for. Islands of a heap come and go: the first large one of a step. */
static void test_too_many(void **state)
{
    (void)state;
    sim *s = open_heap(60, "<geom size='0.06' mass='1'/>");
    for (int step = 0; step < 400; step++)
    {
        step_anyway(s);
        for (int i = 0; i < s->w->rows->nisland; i++)
            if (!tg_island_is_dense(s->w->rows, &s->w->rows->island[i]))
            {
                check_refused(s, &s->w->rows->island[i]);
                sim_close(s);
                return;
            }
    }
    fail_msg("no large island");
}

/* An island of many bodies has the solution of the rule although no dense matrix is made for it, and the dense solver
 * stays there, if it selects one. Newton alone ends most of these. */
static void test_selected(void **state)
{
    (void)state;
    sim *s = open_heap(12, "<geom type='box' size='0.05 0.06 0.04' mass='1' friction='0.9'/>");
    int islands = 0, selected = 0, same = 0, soft = 0;
    sim_run(s, 150);
    for (int step = 0; step < 150; step++)
    {
        sim_step(s);
        tg_rows *r = s->w->rows;
        for (int i = 0; i < r->nisland; i++)
        {
            tg_rows_island *island = &r->island[i];
            if (!island->sparse || !tg_island_is_dense(r, island))
                continue;
            double *L = numbers(2 * island->rows), *sigma = L + island->rows, apart = 0;
            tg_solve_options options = tg_solve_default();
            tg_solve_result result;
            tg_need_delassus(s->m, s->w, island);
            tg_island problem = tg_island_problem(r, island);
            problem.warm = r->L + island->row;
            assert_int_equal(tg_island_solve(&problem, &options, &r->scratch, L, sigma, &result, NULL), TG_OK);
            for (int k = 0; k < island->rows; k++)
                apart = fmax(apart, fabs(sigma[k] - r->sigma[island->row + k]));
            islands++;
            selected += island->result.selection != TG_SELECT_UNSELECTED;
            same += apart < 1e-7 || result.selection == TG_SELECT_UNSELECTED;
            soft += island->result.stage == TG_ENDED_SOFT;
            free(L);
        }
    }
    printf("%d islands, %d selected, %d as the dense solver, %d by Newton\n", islands, selected, same, soft);
    assert_true(islands > 100);
    assert_true(selected >= 0.98 * islands);
    assert_true(same >= 0.98 * islands);
    assert_true(soft >= 0.6 * islands);
    sim_close(s);
}

/* What is not solved soon in velocity space is left to the dense solver, which solves it. */
static void test_passed_on(void **state)
{
    (void)state;
    sim *s = open_heap(30, "<geom type='box' size='0.05 0.06 0.04' mass='1' friction='0.9'/>");
    int islands = 0, left = 0, sweeps = 0;
    sim_run(s, 100);
    for (int step = 0; step < 300; step++)
    {
        sim_step(s);
        tg_rows *r = s->w->rows;
        for (int i = 0; i < r->nisland; i++)
        {
            tg_rows_island *island = &r->island[i];
            if (!island->sparse || !tg_island_is_dense(r, island))
                continue;
            assert_int_equal(island->result.status, TG_SOLVE_SOLVED);
            tg_need_whole(s->m, s->w, island);
            tg_solve_large(s->m, s->w, island, s->w->step->v_free, s->w->step->options.dt,
                           s->w->step->options.tolerance, 0, NULL, NULL);
            islands++;
            left += island->result.status != TG_SOLVE_SOLVED;
            sweeps = island->result.sweeps > sweeps ? island->result.sweeps : sweeps;
        }
    }
    printf("%d islands, %d left, after at most %d sweeps\n", islands, left, sweeps);
    assert_true(left > 0);
    assert_true(sweeps < 10);
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lost_impulses_come_back), cmocka_unit_test(test_too_many),
                                       cmocka_unit_test(test_selected), cmocka_unit_test(test_passed_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
