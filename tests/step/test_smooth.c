/* The smooth part of a step in closed form: springs, dampers, actuators, activations, wrenches, tendons. */
#include "step_test.h"

static const double dt = 1e-3;

/* mass 2, spring k, damper d, on a slide without gravity */
static sim *oscillator(double k, double d)
{
    return sim_open(text("<mujoco><option timestep='0.001' gravity='0 0 0'/><worldbody><body>"
                         "<joint type='slide' axis='1 0 0' stiffness='%g' damping='%g'/>"
                         "<geom type='sphere' size='0.1' mass='2'/></body></worldbody></mujoco>",
                         k, d));
}

static void test_springs_and_dampers(void **state)
{
    (void)state;
    double k = 300, d = 40, m = 2, q = 0.3, v = -0.7;
    for (int option = 0; option < 4; option++)
    {
        sim *s = oscillator(k, d);
        s->options.implicit_damping = option & 1;
        s->options.implicit_springs = option & 2;
        s->q[0] = q;
        s->v[0] = v;
        sim_step(s);
        /* m (v+ - v) = -dt (k x + d u): x = q or q + dt v+, u = v or v+ */
        double mass = m + (option & 1 ? dt * d : 0) + (option & 2 ? dt * dt * k : 0);
        double expected = (m * v - dt * k * q - (option & 1 ? 0 : dt * d * v)) / mass;
        check_near("v", s->v[0], expected, 1e-14);
        check_near("q", s->q[0], q + dt * expected, 1e-15);
        sim_close(s);
    }
}

/* A stiff spring that explicit steps blow up is stable when it is implicit. */
static void test_stiff_spring(void **state)
{
    (void)state;
    sim *s = oscillator(1e8, 0);
    s->options.implicit_springs = true;
    s->q[0] = 0.01;
    sim_run(s, 1000);
    check_below("place", fabs(s->q[0]), 1e-6);
    sim_close(s);
}

/* A wrench at a body's centre of mass, and the same as generalised force of a free body. */
static void test_wrench(void **state)
{
    (void)state;
    static const char *const scene = "<mujoco><option timestep='0.001'/><worldbody><body pos='0 0 1' euler='10 20 30'>"
                                     "<freejoint/><geom type='box' size='0.1 0.2 0.3' pos='0.1 0 0.2' mass='2'/></body>"
                                     "</worldbody></mujoco>";
    sim *s = sim_open(scene);
    const double force[6] = {1, -2, 25, 0, 0, 0};
    memcpy(s->wrench + 6, force, sizeof force);
    double before[3], after[3];
    assert_int_equal(tg_com(s->m, s->w, s->q, before, NULL), TG_OK);
    sim_run(s, 100);
    assert_int_equal(tg_com(s->m, s->w, s->q, after, NULL), TG_OK);
    /* a force alone does not turn the body: its centre of mass moves by a t (t + dt) / 2 */
    check_below("turning", norm(3, s->v + 3), 1e-12);
    for (int i = 0; i < 3; i++)
        check_near("centre of mass", after[i] - before[i],
                   (force[i] / 2 - (i == 2 ? gravity : 0)) * 0.1 * (0.1 + dt) / 2, 1e-12);
    sim_reset(s);
    s->wrench[6 + 5] = 0.4;
    double momentum[6];
    sim_step(s);
    assert_int_equal(tg_momentum(s->m, s->w, s->q, s->v, momentum), TG_OK);
    check_near("angular momentum", momentum[5], dt * 0.4, 1e-9);
    sim_close(s);
}

/* Activation of a filter: d act / dt = (u - act) / tau; the force of the step comes from act at its start. */
static void test_activation(void **state)
{
    (void)state;
    sim *s = sim_open(
        "<mujoco><option timestep='0.001' gravity='0 0 0'/><worldbody><body>"
        "<joint name='j' type='slide' axis='1 0 0'/><geom type='sphere' size='0.1' mass='2'/></body></worldbody>"
        "<actuator><general joint='j' dyntype='filter' dynprm='0.05' gainprm='3' biastype='none'/>"
        "<motor joint='j' gear='2'/></actuator></mujoco>");
    double act = 0.2, v = 0;
    s->act[0] = act;
    s->u[0] = 1;
    s->u[1] = 0.5;
    for (int i = 0; i < 100; i++)
    {
        v += dt * (3 * act + 2 * 0.5) / 2;
        act += dt * (1 - act) / 0.05;
        sim_step(s);
        check_near("v", s->v[0], v, 1e-13);
        check_near("act", s->act[0], act, 1e-14);
    }
    sim_close(s);
}

/* ---- limits of ball joints and tendons ---- */

/* A rod on a ball joint, limited to 40 degrees, falls onto its limit and rests there. */
static void test_ball_joint_limit(void **state)
{
    (void)state;
    sim *s = sim_open("<mujoco><option timestep='0.001'/><worldbody><body pos='0 0 2'>"
                      "<joint type='ball' range='0 40' limited='true' damping='0.3'/>"
                      "<geom type='capsule' size='0.02' fromto='0 0 0 0 0 0.5' mass='1' contype='0' "
                      "conaffinity='0'/></body></worldbody></mujoco>");
    double angle = 0.1, worst = 0;
    s->q[0] = cos(angle / 2);
    s->q[1] = sin(angle / 2) * 0.6;
    s->q[2] = sin(angle / 2) * 0.8;
    for (int i = 0; i < 4000; i++)
    {
        sim_step(s);
        worst = fmax(worst, 2 * acos(fmin(1, fabs(s->q[0]))));
    }
    check_below("past the limit", worst, 40 * PI / 180 + 1e-4);
    check_near("angle", 2 * acos(s->q[0]), 40 * PI / 180, 1e-9);
    check_below("speed at rest", norm(3, s->v), 1e-9);
    sim_close(s);
}

/* A weight on a fixed tendon of coefficient -2: the limit of its length holds the weight. */
static void test_tendon_limit(void **state)
{
    (void)state;
    sim *s = sim_open(
        "<mujoco><option timestep='0.001'/><worldbody><body pos='0 0 2'>"
        "<joint name='j' type='slide' axis='0 0 1'/><geom type='sphere' size='0.1' mass='1'/></body></worldbody>"
        "<tendon><fixed name='t' limited='true' range='-1 0.5'><joint joint='j' coef='-2'/></fixed></tendon></mujoco>");
    sim_run(s, 600);
    check_near("height", s->q[0], -0.25, 1e-12);
    check_below("speed at rest", fabs(s->v[0]), 1e-12);
    check_below("work of impulses", s->excess, 1e-12);
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_springs_and_dampers),
        cmocka_unit_test(test_stiff_spring),
        cmocka_unit_test(test_wrench),
        cmocka_unit_test(test_activation),
        cmocka_unit_test(test_ball_joint_limit),
        cmocka_unit_test(test_tendon_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
