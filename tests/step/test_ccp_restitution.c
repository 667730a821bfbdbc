/* The convex law with Poisson's bound and eps in a step: known answers, and the bare law (solve/ccp.h) on the problems
 * of random impacts. */
#include "step_test.h"

#include "contact/rows.h"
#include "dynamics/work.h"
#include "solve/ccp.h"
#include "step/work.h"

static sim *open_convex(const char *xml, double eps)
{
    sim *s = sim_open(xml);
    s->options.law = "ccp";
    s->options.eps = eps;
    s->options.restitution = TG_RESTITUTION_POISSON;
    return s;
}

/* One contact without friction: e u, and u (a e - eps) / (a + eps) with eps, a = 1 / m. */
static void test_one_contact(void **state)
{
    (void)state;
    static const double eps[] = {0, 0.01}, speed[] = {1.2, 1.1904287138};
    for (int i = 0; i < 2; i++)
    {
        sim *s = open_convex("<mujoco><option timestep='0.001' gravity='0 0 0'/><worldbody><geom type='plane' "
                             "size='5 5 0.1'/><body pos='0 0 0.1'><freejoint/><geom name='ball' type='sphere' "
                             "size='0.1' mass='0.3' condim='1'/></body></worldbody><custom><numeric "
                             "name='tangere:geom.ball.restitution' data='0.6'/></custom></mujoco>",
                             eps[i]);
        s->v[2] = -2;
        sim_step(s);
        check_near("speed", s->v[2], speed[i], 1e-10);
        check_near("work", s->info.work, 0.5 * 0.3 * (speed[i] * speed[i] - 4), 1e-10);
        sim_close(s);
    }
}

/* A uniform rod at 45 degrees, m 1, half-length 1, whose tip meets the floor with (0.5, -1) m/s, mu 0.5, e 1. */
static void check_rod(double side, double tangent, double normal, double gain)
{
    double h = sqrt(0.5);
    sim *s =
        open_convex(text("<mujoco><option timestep='0.001' gravity='0 0 0'/><default><geom friction='0.5'/></default>"
                         "<worldbody><geom type='plane' size='5 5 0.1'/><body pos='0 0 %.17g'>"
                         "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/><joint axis='0 -1 0'/>"
                         "<inertial pos='0 0 0' mass='1' diaginertia='1 0.33333333333333333 1'/>"
                         "<geom name='tip' type='sphere' size='1e-9' pos='%.17g 0 %.17g' mass='0'/></body></worldbody>"
                         "<custom><numeric name='tangere:geom.tip.restitution' data='1'/></custom></mujoco>",
                         h + 1e-9, side * h, -h),
                    0);
    tg_step_contact contact[SIM_CONTACTS];
    s->v[0] = 0.5;
    s->v[1] = -1;
    s->options.energy = true;
    sim_step(s);
    assert_int_equal(sim_contacts(s, contact), 1);
    check_near("normal impulse", 1e-3 * contact[0].local[0], normal, 1e-5);
    check_near("friction", 1e-3 * hypot(contact[0].local[1], contact[0].local[2]), fabs(tangent), 1e-5);
    check_near("energy", s->info.kinetic / 0.625 - 1, gain, 1e-4);
    check_near("energy kept", fmin(gain, 0), gain, 1e-9);
    sim_close(s);
}

static void test_rod(void **state)
{
    (void)state;
    check_rod(-1, 0.28125, 0.875, -0.0762);
    check_rod(1, -0.76923, 1.53846, 0);
}

/* ---- beside the bare law ---- */

static double uniform(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 23) - 1;
}

/* the same problem to the bare law; the largest difference of G f (m/s) */
static double compare_island(const sim *s, const tg_rows_island *island, double eps)
{
    const tg_rows *r = s->w->rows;
    tg_island problem = tg_island_problem(r, island);
    int n = island->rows;
    double *G = numbers(n * n), *memory, worst = 0;
    tg_ccp_cone *cone = calloc((size_t)island->blocks, sizeof *cone);
    for (int b = 0; b < island->blocks; b++)
    {
        const tg_block *block = &problem.block[b];
        const tg_touch *t = &r->touch[r->constraint[r->order[island->block + b]].index];
        cone[b] = (tg_ccp_cone){.row = block->row, .rows = block->rows};
        cone[b].e = t->impact ? tg_law_number(s->w->params, &t->law, t->law.restitution) : 0;
        memcpy(cone[b].mu, block->mu, sizeof cone[b].mu);
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            G[i * n + k] = problem.G[(ptrdiff_t)i * problem.ldg + k] - (i == k ? eps : 0);
    tg_ccp c;
    tg_arena arena = {0};
    tg_error error;
    tg_ccp_take(&c, n, &arena);
    size_t bytes = (arena.used + TG_ALIGN - 1) / TG_ALIGN * TG_ALIGN;
    memory = aligned_alloc(TG_ALIGN, bytes);
    arena = (tg_arena){.base = (void *)memory, .capacity = bytes};
    assert_true(tg_ccp_take(&c, n, &arena));
    tg_ccp_problem bare = {
        .rows = n, .cones = island->blocks, .cone = cone, .G = G, .ldg = n, .g = problem.g, .eps = eps};
    if (tg_ccp_solve(&c, &bare, &error) != TG_OK)
        fail_msg("%s", error.message);
    for (int i = 0; i < n; i++)
    {
        double sum = 0;
        for (int k = 0; k < n; k++)
            sum += G[i * n + k] * (c.f[k] - r->L[island->row + k]);
        worst = fmax(worst, fabs(sum));
    }
    free(G);
    free(cone);
    free(memory);
    return worst;
}

/* a capsule and two balls on the floor and against each other: rows that do not depend on each other, where Poisson's
 * bound does not see how they share the load */
static void test_random_impacts(void **state)
{
    (void)state;
    double worst = 0;
    int restituted = 0, several = 0;
    for (unsigned k = 0; k < 400 / TEST_EFFORT; k++)
    {
        unsigned seed = 11 * k + 1;
        double eps = k % 2 == 0 ? 0 : 0.02;
        sim *s = open_convex(
            text(
                "<mujoco><option timestep='0.001' gravity='0 0 0'/><default><geom friction='%g 0.02 0.01' condim='%d'/>"
                "</default><worldbody><geom type='plane' size='5 5 0.1'/>"
                "<body pos='0 0 0.1'><freejoint/><geom name='a' type='capsule' size='0.1 0.2' euler='0 90 0' "
                "mass='1'/></body>"
                "<body pos='0.03 -0.02 0.27'><freejoint/><geom name='b' type='sphere' size='0.07' mass='0.5'/></body>"
                "<body pos='0 0.2 0.1'><freejoint/><geom name='c' type='sphere' size='0.1' mass='2'/></body>"
                "</worldbody><custom><numeric name='tangere:geom.a.restitution' data='%g'/>"
                "<numeric name='tangere:geom.b.restitution' data='%g'/><numeric name='tangere:geom.c.restitution' "
                "data='%g'/></custom></mujoco>",
                0.1 + 0.2 * (k % 5), k % 3 == 0 ? 4 : 3, 0.2 * (k % 6), 0.25 * (k % 5), 0.3 * (k % 4)),
            eps);
        for (int i = 0; i < s->n.nv; i++)
            s->v[i] = 1.5 * uniform(&seed) - (i % 6 == 2 ? 1.5 : 0);
        sim_step(s);
        for (int i = 0; i < s->w->rows->nisland; i++)
        {
            const tg_rows_island *island = &s->w->rows->island[i];
            worst = fmax(worst, compare_island(s, island, eps));
            restituted += island->restituted;
            several += island->restituted && island->blocks > 2;
        }
        sim_close(s);
    }
    print_message("%d islands with restitution, %d of several contacts: worst %.2g m/s\n", restituted, several, worst);
    assert_true(restituted > 200 / TEST_EFFORT && several > 100 / TEST_EFFORT);
    check_below("beside the bare law", worst, 1e-7);
}

static void refused(sim *s, const char *message)
{
    tg_state at = {s->q, s->v, s->act, NULL};
    assert_int_not_equal(tg_step(s->m, s->w, &s->options, &at, NULL, &at, NULL), TG_OK);
    if (strstr(tg_work_message(s->w), message) == NULL)
        fail_msg("'%s' is not in '%s'", message, tg_work_message(s->w));
}

static void test_refusals(void **state)
{
    (void)state;
    sim *s = open_convex("<mujoco><worldbody><body><freejoint/><geom size='0.1'/></body></worldbody></mujoco>", -1);
    refused(s, "eps = -1");
    s->options.eps = 0.01;
    s->options.law = "ncp";
    refused(s, "eps = 0.01 with law 'ncp'");
    s->options.eps = 0;
    s->options.law = "lcp-box";
    refused(s, "law 'lcp-box' with Poisson's restitution");
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_contact), cmocka_unit_test(test_rod),
                                       cmocka_unit_test(test_random_impacts), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
