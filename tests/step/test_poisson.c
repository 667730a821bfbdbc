/* Poisson's law of restitution (option restitution): known answers, and the law itself on random impacts.
 *
 * The impulses of compression are those of the same step with e = 0: the bodies start in touch, where both stop the
 * approach. What the step adds to them must obey the law by itself. */
#include "step_test.h"

/* A box on the floor by four corners, with a ball in its back; e by name. */
static sim *open_scene(double mu, double e_box, double e_ball)
{
    sim *s = sim_open(
        text("<mujoco><option timestep='0.001' gravity='0 0 0'/><default><geom friction='%.17g'/></default><worldbody>"
             "<geom type='plane' size='5 5 0.1'/>"
             "<body pos='0 0 0.1'><freejoint/><geom name='box' type='box' size='0.1 0.1 0.1' mass='1'/></body>"
             "<body pos='0.03 -0.02 0.25'><freejoint/><geom name='ball' type='sphere' size='0.05' mass='0.5'/></body>"
             "</worldbody><custom><numeric name='tangere:geom.box.restitution' data='%.17g'/>"
             "<numeric name='tangere:geom.ball.restitution' data='%.17g'/></custom></mujoco>",
             mu, e_box, e_ball));
    s->options.restitution = TG_RESTITUTION_POISSON;
    return s;
}

static double random_number(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 23) - 1;
}

static void throw_down(sim *s, unsigned seed)
{
    sim_reset(s);
    for (int i = 0; i < 12; i++)
        s->v[i] = 1.5 * random_number(&seed);
    s->v[2] -= 1.5;
    s->v[8] -= 3;
}

/* velocity of body 2 against body 1 at a contact, along its normal and across it */
static void contact_velocity(const sim *s, const tg_step_contact *c, double *normal, double tangent[3])
{
    double u[3] = {0}, along = 0;
    for (int body = 0; body < 2; body++)
    {
        const double *q = s->q + 7 * body, *v = s->v + 6 * body;
        bool first = c->at.geom1 == body + 1;
        if (!first && c->at.geom2 != body + 1)
            continue;
        /* before the step: bodies are not turned, so local and world axes agree */
        double r[3] = {c->at.point[0] - q[0], c->at.point[1] - q[1], c->at.point[2] - q[2]};
        double w[3] = {v[4] * r[2] - v[5] * r[1], v[5] * r[0] - v[3] * r[2], v[3] * r[1] - v[4] * r[0]};
        for (int i = 0; i < 3; i++)
            u[i] += (first ? -1 : 1) * (v[i] + w[i]);
    }
    for (int i = 0; i < 3; i++)
        along += u[i] * c->at.normal[i];
    for (int i = 0; i < 3; i++)
        tangent[i] = u[i] - along * c->at.normal[i];
    *normal = along;
}

/* L^r = L - L^c of one contact against the velocities after the step. The impulses of a patch of four points that stick
 * repeat to 1e-6 only, and L^c comes from another step. */
static void check_law(const sim *s, const tg_step_contact *c, const tg_step_contact *compression, double e, double mu)
{
    double Lr[3], normal, tangent[3], along = 0, dot = 0, square = 0;
    for (int i = 0; i < 3; i++)
    {
        Lr[i] = 1e-3 * (c->force[i] - compression->force[i]);
        along += Lr[i] * c->at.normal[i];
        square += Lr[i] * Lr[i];
    }
    contact_velocity(s, c, &normal, tangent);
    for (int i = 0; i < 3; i++)
        dot += Lr[i] * tangent[i];
    double least = e * 1e-3 * compression->local[0], size = sqrt(fmax(square - along * along, 0));
    check_below("e L_N^c - L_N^r", least - along, 1e-6);
    check_below("-sigma_N", -normal, 1e-9);
    check_near("(L_N^r - e L_N^c) sigma_N", (along - least) * normal, 0, 1e-6);
    check_below("|L_T^r| - mu L_N^r", size - mu * along, 1e-6);
    check_near("L_T^r . sigma_T + mu L_N^r |sigma_T|", dot + mu * along * norm(3, tangent), 0, 1e-6);
}

static void test_law_on_random_impacts(void **state)
{
    (void)state;
    tg_step_contact with[SIM_CONTACTS], without[SIM_CONTACTS];
    int leaving = 0, closed = 0, sliding = 0;
    for (unsigned k = 0; k < 300 / TEST_EFFORT; k++)
    {
        double mu = 0.1 + 0.3 * (k % 4), e_box = 0.2 * (k % 6), e_ball = 0.25 * (k % 5);
        sim *a = open_scene(mu, 0, 0), *b = open_scene(mu, e_box, e_ball);
        throw_down(a, 7 * k);
        throw_down(b, 7 * k);
        double before = sim_energy(b);
        double q[14];
        memcpy(q, b->q, sizeof q);
        sim_step(a);
        sim_step(b);
        int count = sim_contacts(a, without);
        assert_int_equal(sim_contacts(b, with), count);
        assert_int_equal(count, 5);
        memcpy(b->q, q, sizeof q);
        for (int i = 0; i < count; i++)
        {
            double speed, tangent[3], approach, e = with[i].at.geom1 == 0 ? e_box : fmax(e_box, e_ball);
            assert_true(with[i].at.id == without[i].at.id);
            contact_velocity(b, &with[i], &speed, tangent);
            double v[12];
            memcpy(v, b->v, sizeof v);
            throw_down(b, 7 * k);
            contact_velocity(b, &with[i], &approach, tangent);
            memcpy(b->v, v, sizeof v);
            check_law(b, &with[i], &without[i], approach < -0.01 ? e : 0, mu);
            leaving += speed > 1e-6 && with[i].local[0] > 0;
            closed += speed <= 1e-6;
            contact_velocity(b, &with[i], &speed, tangent);
            sliding += norm(3, tangent) > 1e-6;
        }
        check_below("energy", b->info.kinetic, before + 1e-12);
        sim_close(a);
        sim_close(b);
    }
    assert_true(leaving > 0 && closed > 0 && sliding > 0);
}

/* Straight down on the floor: compression takes |v| + g dt, restitution gives e times it. */
static void test_ball(void **state)
{
    (void)state;
    sim *s =
        sim_open("<mujoco><option timestep='0.001'/><worldbody><geom type='plane' size='5 5 0.1'/>"
                 "<body pos='0 0 0.1'><freejoint/><geom name='ball' type='sphere' size='0.1' mass='2'/></body>"
                 "</worldbody><custom><numeric name='tangere:geom.ball.restitution' data='0.6'/></custom></mujoco>");
    s->options.restitution = TG_RESTITUTION_POISSON;
    s->v[2] = -2;
    sim_step(s);
    check_near("speed", s->v[2], 0.6 * (2 + gravity * 1e-3), 1e-12);
    sim_close(s);
}

/* A limit and dry friction in the same island as an impact: a hinged bar that hits the floor with a ball at its end. */
static void test_bar_with_dry_friction(void **state)
{
    (void)state;
    double r = 0.01, inertia = 0.5;
    sim *s = sim_open(
        text("<mujoco><option timestep='0.001' gravity='0 0 0'/><default><geom friction='0'/></default><worldbody>"
             "<geom type='plane' size='5 5 0.1'/><body pos='0 0 %g'><joint axis='0 1 0' frictionloss='100'/>"
             "<inertial pos='0 0 0' mass='1' diaginertia='0.5 0.5 0.5'/>"
             "<geom name='tip' type='sphere' size='%g' pos='1 0 0' mass='0'/></body></worldbody>"
             "<custom><numeric name='tangere:geom.tip.restitution' data='0.5'/></custom></mujoco>",
             r, r));
    s->options.restitution = TG_RESTITUTION_POISSON;
    s->v[0] = 1; /* the tip goes down */
    sim_step(s);
    /* compression: -1 = -(L^c - F)/I with dry friction F = -0.1 helping; L^c = I - 0.1, and then L^r = L^c / 2 against
     * dry friction, which has 0.2 left on its way from -0.1 to 0.1 */
    double Lc = inertia - 0.1, w = (0.5 * Lc - 0.2) / inertia;
    check_near("rate", s->v[0], -fmax(w, 0), 1e-12);
    sim_close(s);
}

/* Three balls in touch: compression (1/3, 1/3, 1/3), and the first contact restitutes. */
static void test_three_balls(void **state)
{
    (void)state;
    sim *s = sim_open(
        "<mujoco><option timestep='0.001' gravity='0 0 0'/><default><geom type='sphere' size='0.1' mass='1' "
        "condim='1'/>"
        "<joint type='slide' axis='1 0 0'/></default><worldbody><body><joint/><geom name='a'/></body>"
        "<body pos='0.2 0 0'><joint/><geom name='b'/></body><body pos='0.4 0 0'><joint/><geom name='c'/></body>"
        "</worldbody><custom><numeric name='tangere:geom.a.restitution' data='1'/>"
        "<numeric name='tangere:geom.c.restitution' data='1'/></custom></mujoco>");
    s->options.restitution = TG_RESTITUTION_POISSON;
    s->v[0] = 1;
    sim_step(s);
    check_near("first", s->v[0], -1. / 3, 1e-12);
    check_near("second", s->v[1], 2. / 3, 1e-12);
    check_near("third", s->v[2], 2. / 3, 1e-12);
    sim_close(s);
}

/* Boxes and a capsule thrown at the floor and at each other: every step certified, and no impulse does work. */
static void check_pile(int condim)
{
    sim *s = sim_open(text(
        "<mujoco><option timestep='0.001'/><default><geom friction='0.6 0.02 0.01' condim='%d'/></default><worldbody>"
        "<geom type='plane' size='5 5 0.1'/>"
        "<body pos='0 0 0.3'><freejoint/><geom name='a' type='box' size='0.1 0.12 0.08' mass='1'/></body>"
        "<body pos='0 0 0.55'><freejoint/><geom name='b' type='box' size='0.1 0.1 0.1' mass='0.5'/></body>"
        "<body pos='0.3 0 0.5'><freejoint/><geom name='c' type='capsule' size='0.05 0.1' "
        "mass='0.5'/></body></worldbody>"
        "<custom><numeric name='tangere:geom.a.restitution' data='0.7'/>"
        "<numeric name='tangere:geom.b.restitution' data='0.9'/><numeric name='tangere:geom.c.restitution' data='0.5'/>"
        "</custom></mujoco>",
        condim));
    s->options.restitution = TG_RESTITUTION_POISSON;
    for (int k = 0; k < 20 / TEST_EFFORT; k++)
    {
        sim_reset(s);
        for (int i = 0; i < 18; i++)
            s->v[i] = 3 * sin(1 + 1.3 * k + 2.7 * (i / 6) + 0.9 * (i % 6) * (i % 6)) * (i % 6 < 3 ? 1 : 2);
        sim_run(s, 500);
        check_below("work of impulses", s->excess, 1e-9);
    }
    sim_close(s);
}

static void test_piles(void **state)
{
    (void)state;
    check_pile(1);
    check_pile(3);
    check_pile(6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_law_on_random_impacts),
        cmocka_unit_test(test_ball),
        cmocka_unit_test(test_bar_with_dry_friction),
        cmocka_unit_test(test_three_balls),
        cmocka_unit_test(test_piles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
