/* Islands in parts: contacts that stay open do not join bodies, and those that close after all do. */
#include "contact/parts.h"
#include "heap.h"
#include "step/step.h"

typedef struct tally
{
    int solved, whole;
} tally;

/* The parts of an island that was solved, once more: the same numbers, which are a solution of the whole island by its
 * Delassus matrix. Where there are no parts nothing is written. */
static void check_parts(sim *s, tg_rows_island *island, tally *count)
{
    tg_rows *r = s->w->rows;
    int n = island->rows;
    double *kept = numbers(2 * n), *sigma = numbers(n), *L = r->L + island->row;
    tg_solve_options options = tg_solve_default();
    tg_solve_result before = island->result;
    memcpy(kept, L, sizeof(double) * (size_t)n);
    memcpy(kept + n, r->sigma + island->row, sizeof(double) * (size_t)n);
    for (int i = 0; i < n; i++)
        L[i] = r->sigma[island->row + i] = NAN;
    tg_need_delassus(s->m, s->w, island);
    tg_parts found = tg_solve_parts(s->m, s->w, island, s->w->step->v_free, &options);
    if (found == TG_PARTS_SOLVED)
    {
        tg_island problem = tg_island_problem(r, island);
        assert_non_null(problem.G);
        tg_residual residual = tg_island_residual(&problem, L, true, sigma);
        check_below("residual of the island", tg_residual_max(&residual), 1e-8);
        for (int i = 0; i < n; i++)
        {
            check_near("impulse", L[i], kept[i], 0);
            check_near("velocity of a row", r->sigma[island->row + i], sigma[i], 1e-12);
        }
    }
    for (int i = 0; i < n && found == TG_PARTS_NONE && island->result.newton == 0; i++)
        assert_true(isnan(L[i]));
    count->solved += found == TG_PARTS_SOLVED;
    count->whole += found == TG_PARTS_NONE;
    memcpy(L, kept, sizeof(double) * (size_t)n);
    memcpy(r->sigma + island->row, kept + n, sizeof(double) * (size_t)n);
    island->result = before;
    free(kept);
    free(sigma);
}

/* Five balls in a row, 1 kg each. The first runs into the second; gaps of less than a millimetre to the third and the
 * fourth, which are at rest, look open until the second moves; the fifth leaves. With gaps d_i and without restitution
 * v_i - v_i+1 = d_i / dt where balls meet, and momentum stays: 4 v_4 + (0.27 + 0.17 + 0.09) = 2. */
static void test_open_contacts_that_close(void **state)
{
    (void)state;
    static const double gap[] = {1e-3, 0.8e-3, 0.9e-3, 0.9e-3}, start[] = {2, 0, 0, 0, 1};
    static const double expected[] = {0.6375, 0.5375, 0.4575, 0.3675, 1};
    char scene[2000];
    double x = 0;
    int at = sprintf(scene, "<mujoco><option timestep='0.01' gravity='0 0 0'/><worldbody>");
    for (int i = 0; i < 5; i++)
    {
        at += sprintf(scene + at,
                      "<body pos='%.17g 0 0'><joint type='slide' axis='1 0 0'/>"
                      "<geom size='0.1' mass='1' condim='1'/></body>",
                      x);
        x += i < 4 ? 0.2 + gap[i] : 0;
    }
    sprintf(scene + at, "</worldbody></mujoco>");
    sim *s = sim_open(scene);
    memcpy(s->v, start, sizeof start);
    sim_step(s);
    assert_int_equal(s->info.islands, 1);
    assert_int_equal(s->info.contacts, 4);
    for (int i = 0; i < 5; i++)
        check_near("velocity", s->v[i], expected[i], 1e-12);
    tally count = {0};
    check_parts(s, &s->w->rows->island[0], &count);
    assert_int_equal(count.solved, 1);
    sim_close(s);
}

static void test_parts_of_a_heap(void **state)
{
    (void)state;
    sim *s = open_heap(16, "<geom type='box' size='0.05 0.06 0.04' mass='1' friction='0.9'/>");
    tally count = {0};
    for (int step = 0; step < 400 / TEST_EFFORT; step++)
    {
        sim_step(s);
        tg_rows *r = s->w->rows;
        for (int i = 0; i < r->nisland; i++)
            if (r->island[i].tree < 0 && tg_island_is_dense(r, &r->island[i]))
                check_parts(s, &r->island[i], &count);
    }
    printf("%d islands solved in parts, %d as a whole\n", count.solved, count.whole);
    assert_true(count.solved > 100 / TEST_EFFORT);
    assert_true(count.whole > 0);
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_open_contacts_that_close),
                                       cmocka_unit_test(test_parts_of_a_heap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
