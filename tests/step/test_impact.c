/* Known answers of impacts: balls that bounce, balls in a row, a rod that hits with its tip. */
#include "step_test.h"

/* ---- a ball on the floor ---- */

static sim *ball(double restitution, double height)
{
    return sim_open(
        text("<mujoco><worldbody><geom name='floor' type='plane' size='5 5 0.1'/>"
             "<body pos='0 0 %.17g'><freejoint/><geom name='ball' type='sphere' size='0.1' mass='1'/></body>"
             "</worldbody><custom><numeric name='tangere:geom.ball.restitution' data='%.17g'/></custom>"
             "</mujoco>",
             0.1 + height, restitution));
}

/* Speed after the step over speed at its start is e, at every bounce faster than v_rest = max(2 g dt, 1 cm/s). */
static void check_bounces(double restitution, double dt, double time, int least)
{
    sim *s = ball(restitution, 1);
    double rest = fmax(2 * gravity * dt, 0.01);
    int bounces = 0;
    s->options.dt = dt;
    for (int i = 0; i < (int)(time / dt); i++)
    {
        double before = s->v[2];
        sim_step(s);
        if (before < -rest && s->v[2] > 0)
        {
            check_near("restitution", -s->v[2] / before, restitution, 1e-12);
            bounces++;
        }
    }
    assert_true(bounces >= least);
    sim_close(s);
}

static void test_bounces_at_1_ms(void **state)
{
    (void)state;
    check_bounces(1, 1e-3, 5, 5);
    check_bounces(0.8, 1e-3, 5, 10);
    check_bounces(0.5, 1e-3, 3, 5);
}

static void test_bounces_at_10_ms(void **state)
{
    (void)state;
    check_bounces(1, 1e-2, 5, 5);
    check_bounces(0.8, 1e-2, 5, 8);
    check_bounces(0.5, 1e-2, 3, 3);
}

/* At e < 1 the ball comes to rest. */
static void test_bounces_end(void **state)
{
    (void)state;
    sim *s = ball(0.5, 1);
    s->options.dt = 1e-3;
    sim_run(s, 3000);
    check_below("speed at rest", norm(6, s->v), 1e-12);
    check_near("height at rest", s->q[2], 0.1, 1e-12);
    sim_close(s);
}

/* e = 1: the way down is run backwards on the way up, height by height. */
static void test_elastic_ball_comes_back(void **state)
{
    (void)state;
    sim *s = ball(1, 1);
    s->options.dt = 1e-3;
    double top[3] = {0};
    for (int i = 0, bounces = 0; i < 2900; i++)
    {
        double before = s->v[2];
        sim_step(s);
        bounces += before < 0 && s->v[2] > 0;
        if (bounces > 0 && bounces <= 3)
            top[bounces - 1] = fmax(top[bounces - 1], s->q[2] - 0.1);
    }
    for (int k = 0; k < 3; k++)
        check_near("height", top[k], 1, 1e-9);
    sim_close(s);
}

/* ---- three balls in a row ---- */

/* Balls of radius 0.1 and mass 1 on a line without friction and gravity, with gaps between them. */
static sim *row(double gap)
{
    char balls[2048] = "";
    for (int i = 0; i < 3; i++)
    {
        size_t length = strlen(balls);
        snprintf(balls + length, sizeof balls - length,
                 "<body pos='%.17g 0 0'><joint type='slide' axis='1 0 0'/>"
                 "<geom name='b%d' type='sphere' size='0.1' mass='1' condim='1'/></body>",
                 i * (0.2 + gap), i);
    }
    return sim_open(text("<mujoco><option timestep='0.001' gravity='0 0 0'/><worldbody>%s</worldbody><custom>"
                         "<numeric name='tangere:geom.b0.restitution' data='1'/>"
                         "<numeric name='tangere:geom.b1.restitution' data='1'/>"
                         "<numeric name='tangere:geom.b2.restitution' data='1'/></custom></mujoco>",
                         balls));
}

static void check_row(double gap, double first, double second, double third, tg_restitution law)
{
    const double expected[3] = {first, second, third};
    sim *s = row(gap);
    s->options.restitution = law;
    s->v[0] = 1;
    sim_run(s, 20);
    for (int i = 0; i < 3; i++)
        check_near("speed", s->v[i], expected[i], 1e-9);
    sim_close(s);
}

static void test_three_balls(void **state)
{
    (void)state;
    check_row(0, -1. / 3, 2. / 3, 2. / 3, TG_RESTITUTION_NEWTON);
    check_row(5e-3, 0, 0, 1, TG_RESTITUTION_NEWTON);
    check_row(5e-4, -1. / 6, 1. / 3, 5. / 6, TG_RESTITUTION_NEWTON);
}

/* The middle ball separates from the third while the first hits it: Moreau's rule keeps the energy. */
static void test_separating_contacts_keep_energy(void **state)
{
    (void)state;
    sim *s = row(1e-6);
    s->v[0] = 1;
    s->v[2] = 0.3;
    double energy = 0.5 * (1 + 0.3 * 0.3);
    for (int i = 0; i < 50; i++)
    {
        sim_step(s);
        check_near("energy", s->info.kinetic, energy, 1e-9);
    }
    check_near("momentum", s->v[0] + s->v[1] + s->v[2], 1.3, 1e-12);
    assert_true(s->v[0] <= s->v[1] + 1e-9 && s->v[1] <= s->v[2] + 1e-9);
    sim_close(s);
}

/* ---- a rod that hits with its tip ---- */

/* Uniform, mass 1, half-length 1, at 45 degrees, tip (0.5, -1) m/s, mu 0.5, e 1, no gravity. */
static sim *rod(tg_restitution law)
{
    double c = sqrt(0.5), radius = 1e-3;
    sim *s = sim_open(
        text("<mujoco><option timestep='0.001' gravity='0 0 0'/><default><geom friction='0.5'/></default><worldbody>"
             "<geom type='plane' size='5 5 0.1'/><body pos='0 0 %.17g'><joint type='slide' axis='1 0 0'/>"
             "<joint type='slide' axis='0 0 1'/><joint type='hinge' axis='0 1 0'/>"
             "<inertial pos='0 0 0' mass='1' diaginertia='0.333333333333333333 0.333333333333333333 0.01'/>"
             "<geom name='tip' type='sphere' size='%g' pos='%.17g 0 %.17g' mass='0'/></body></worldbody>"
             "<custom><numeric name='tangere:geom.tip.restitution' data='1'/></custom></mujoco>",
             c, radius, -c, -c + radius));
    s->options.restitution = law;
    s->v[0] = 0.5;
    s->v[1] = -1;
    return s;
}

static void check_rod(tg_restitution law, const double v[3], double gain)
{
    sim *s = rod(law);
    double before = 0.5 * 1.25;
    sim_step(s);
    for (int i = 0; i < 3; i++)
        check_near("v+", s->v[i], v[i], 1e-12);
    check_near("gain of energy", s->info.kinetic / before - 1, gain, 1e-12);
    check_near("work of impulses", s->info.work, gain * before, 1e-12);
    sim_close(s);
}

/* Newton: it sticks, with J_N v+ = 1: L = (7/16, 17/16). */
static void test_rod_newton(void **state)
{
    (void)state;
    const double v[3] = {15. / 16, 1. / 16, 15. / 16 * sqrt(2)};
    check_rod(TG_RESTITUTION_NEWTON, v, 0.175);
}

/* Poisson: compression (1/16, 7/16) sticks; restitution (7/32, 7/16) slides. */
static void test_rod_poisson(void **state)
{
    (void)state;
    const double v[3] = {25. / 32, -1. / 8, 57. / 64 * sqrt(2)};
    check_rod(TG_RESTITUTION_POISSON, v, -0.076171875);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounces_at_1_ms), cmocka_unit_test(test_bounces_at_10_ms),
        cmocka_unit_test(test_bounces_end),     cmocka_unit_test(test_elastic_ball_comes_back),
        cmocka_unit_test(test_three_balls),     cmocka_unit_test(test_separating_contacts_keep_energy),
        cmocka_unit_test(test_rod_newton),      cmocka_unit_test(test_rod_poisson),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
