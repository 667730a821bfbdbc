/* Steps that create energy say so, and no others; what comes to rest does so in normal numbers. */
#include "flight.h"

#define TUMBLING                                                                                                       \
    "<mujoco><option gravity='0 0 0' timestep='0.005'/><worldbody><body><freejoint/>"                                  \
    "<geom type='box' size='%g %g %g' mass='1'/></body></worldbody></mujoco>"

/* a mass between cables, some of them dampers: n ways to be too stiff */
#define CABLES                                                                                                         \
    "<mujoco><option timestep='%g'/><worldbody><site name='a' pos='0 0 1'/><site name='c' pos='0.5 0 0'/>"             \
    "<body pos='0 0 0.5'><freejoint/><geom size='0.05' mass='0.1'/><site name='b'/></body></worldbody>"                \
    "<tendon><spatial stiffness='%g' damping='%g'><site site='a'/><site site='b'/></spatial>"                          \
    "<spatial stiffness='%g'><site site='c'/><site site='b'/></spatial></tendon></mujoco>"

static double fastest(const sim *s)
{
    double most = 0;
    for (int k = 0; k < s->n.nv; k++)
        most = fmax(most, fabs(s->v[k]));
    return most;
}

/* steps until the first that is unstable, -1: none; *grown: how often |v| is what it was at its largest in the stable
 * model by then */
static int first_unstable(sim *s, int steps, double scale, double *grown)
{
    for (int t = 0; t < steps; t++)
    {
        tg_state x = {s->q, s->v, s->act, &s->cache};
        if (tg_step(s->m, s->w, &s->options, &x, NULL, &x, &s->info) != TG_OK)
            fail_msg("%s", tg_work_message(s->w));
        *grown = fastest(s) / scale;
        if (s->info.status == TG_STEP_UNSTABLE)
            return t;
    }
    return -1;
}

static void test_tumbling(void **state)
{
    (void)state;
    for (int k = 0; k < 20; k++)
    {
        sim *s = sim_open(text(TUMBLING, 0.1, 0.2, 0.3));
        double grown;
        s->options.energy = false;
        for (int i = 3; i < 6; i++)
            s->v[i] = 1000 * (0.2 + 0.8 * fabs(noise()));
        assert_true(first_unstable(s, 100, fastest(s), &grown) >= 0);
        check_below("speed by then", grown, 10);
        sim_close(s);
    }
}

/* Boxes of any shape: some need many steps, of which none creates half of their energy. */
static void test_boxes(void **state)
{
    (void)state;
    for (int k = 0; k < 400 / TEST_EFFORT; k++)
    {
        double a[3], w[3], grown;
        for (int i = 0; i < 3; i++)
        {
            a[i] = 0.16 + 0.14 * noise();
            w[i] = noise();
        }
        sim *s = sim_open(text(TUMBLING, a[0], a[1], a[2]));
        s->options.energy = false;
        for (int i = 0; i < 3; i++)
            s->v[3 + i] = 1000 * w[i] / sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
        first_unstable(s, 400, 1000, &grown);
        check_below("speed before it is unstable", grown, 10);
        sim_close(s);
    }
}

/* A servo of velocity whose damping is too much for dt: its speed grows by |1 - dt kv / I| per step. Within the stable
 * time step it says nothing, also where the controls change all the time. */
static void test_servos(void **state)
{
    (void)state;
    for (int k = 0; k < 100 / TEST_EFFORT; k++)
    {
        double dt = pow(10, -3 + 0.5 * noise()), inertia = pow(10, -3 + 2 * noise()), ratio = 2 + 2 * noise(), grown;
        sim *s = sim_open(text("<mujoco><option gravity='0 0 0' timestep='%.17g'/><worldbody><body>"
                               "<joint name='j' axis='0 1 0'/><inertial pos='0 0 0' mass='1' "
                               "diaginertia='%.17g %.17g %.17g'/></body></worldbody><actuator>"
                               "<velocity joint='j' kv='%.17g'/></actuator></mujoco>",
                               dt, inertia, inertia, inertia, ratio * inertia / dt));
        s->options.energy = false;
        s->v[0] = 1;
        if (ratio < 2)
            assert_int_equal(first_unstable(s, 300, 1, &grown), -1);
        else if (ratio > 2.2) /* 1.2 times as fast in every step: 100 steps are enough for 10^7 */
        {
            assert_true(first_unstable(s, 100, 1 / dt, &grown) >= 0);
            check_below("rad per step before it is unstable", grown, 10);
        }
        sim_close(s);
    }
}

/* beyond the largest stable time step it explodes and says so, below it does neither */
static void test_cables(void **state)
{
    (void)state;
    for (int k = 0; k < 12; k++)
    {
        double stiffness = pow(10, 2 + 2 * fabs(noise())), damping = k % 2 * 0.1 * sqrt(stiffness), most = 0, grown;
        sim *s = sim_open(text(CABLES, 1e-4, stiffness, damping, stiffness / 2));
        double stable;
        assert_int_equal(tg_stable_dt(s->m, s->w, &s->options, &stable), TG_OK);
        s->options.energy = false;
        s->options.dt = 0.3 * stable;
        for (int t = 0; t < 400; t++)
        {
            assert_int_equal(first_unstable(s, 1, 1, &grown), -1);
            most = fmax(most, fastest(s));
        }
        sim_reset(s);
        s->options.dt = 2 * stable;
        assert_true(first_unstable(s, 400, most, &grown) >= 0);
        check_below("speed by then", grown, 10);
        sim_close(s);
    }
}

static void test_superball(void **state)
{
    (void)state;
    tg_model *m = NULL;
    double grown;
    if (tg_load(TANGERE_SHARED "/facts/superball/superball.xml", NULL, &m, NULL) != TG_OK)
        skip();
    sim *s = sim_open_model(m);
    s->options.energy = false;
    s->options.dt = 0.001;
    assert_int_equal(first_unstable(s, 1000, 1, &grown), -1);
    sim_reset(s);
    s->options.dt = 0.002;
    assert_true(first_unstable(s, 100, 0.138, &grown) >= 0); /* m/s: its fastest at 1 ms */
    check_below("speed by then", grown, 10);
    sim_close(s);
}

/* Newton's restitution with friction creates energy by its impulses, which is their work: not the step's */
static void test_bounces(void **state)
{
    (void)state;
    for (int k = 0; k < 40 / TEST_EFFORT; k++)
    {
        double e = fabs(noise()), mu = fabs(noise()), grown;
        sim *s = sim_open(text(
            "<mujoco><option timestep='%g'/><custom><numeric name='tangere:geom.rod.restitution' data='%g'/></custom>"
            "<worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 %g' euler='%g %g 0'><freejoint/>"
            "<geom name='rod' type='%s' size='0.1 0.2 0.05' friction='%g' mass='1'/></body></worldbody></mujoco>",
            k % 3 == 0 ? 0.01 : 0.002, e, 0.3 + fabs(noise()), 90 * noise(), 90 * noise(), k % 2 ? "box" : "capsule",
            mu));
        for (int i = 0; i < 6; i++)
            s->v[i] = 2 * noise();
        assert_int_equal(first_unstable(s, 500, 1, &grown), -1); /* energy is on: every step has a balance */
        sim_close(s);
    }
}

/* no robot moves so fast, or is so stiff */
static void test_models(void **state)
{
    (void)state;
    static const char *const file[] = {"models/arm.xml", "models/cable_toy.xml", "models/humanoid36.xml",
                                       "models/planar_walker.xml", "models/quadruped.xml"};
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++)
    {
        sim *s = open_file(file[i]);
        double grown;
        assert_int_equal(first_unstable(s, 300, 1, &grown), -1);
        sim_close(s);
    }
}

/* rolling friction, dampers and filters lose a share of what is left in every step */
static void test_rest(void **state)
{
    (void)state;
    sim *s = sim_open("<mujoco><option timestep='0.01' gravity='0 0 0'/><worldbody><body><freejoint name='f'/><geom "
                      "size='0.1' mass='1'/></body>"
                      "<body pos='1 0 0'><joint name='j' damping='100'/><geom size='0.1' mass='1'/></body></worldbody>"
                      "<actuator><general joint='j' dyntype='filter' dynprm='0.02' gainprm='0'/></actuator></mujoco>");
    int dof = sim_v(s, "j");
    s->v[dof] = 1;
    s->act[0] = 1;
    for (int t = 0; t < 3000; t++)
    {
        sim_step(s);
        for (int k = 0; k < s->n.nv; k++)
            assert_true(s->v[k] == 0 || fabs(s->v[k]) > 1e-151);
        assert_true(s->act[0] == 0 || fabs(s->act[0]) > 1e-151);
    }
    assert_true(s->v[dof] == 0 && s->act[0] == 0);
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tumbling), cmocka_unit_test(test_boxes),     cmocka_unit_test(test_servos),
        cmocka_unit_test(test_cables),   cmocka_unit_test(test_superball), cmocka_unit_test(test_bounces),
        cmocka_unit_test(test_models),   cmocka_unit_test(test_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
