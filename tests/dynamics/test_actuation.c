/* Actuators: every transmission and every activation dynamics with its clamps, by hand. */
#include "dynamics_test.h"
#include "tangere/algebra.h"

#define TOLERANCE 1e-14

/* One body on one joint, and actuators on it. */
static small_model one_joint(tg_joint_def def)
{
    small_model s = small_begin();
    small_joint(&s, def, small_body(&s, 0, 0, 0, 1));
    return s;
}

static tg_actuator_def motor_on(tg_transmission transmission, int target)
{
    tg_actuator_def def = tg_default_actuator();
    def.transmission = transmission;
    def.target = target;
    return def;
}

static void set3(double *out, double a, double b, double c)
{
    out[0] = a;
    out[1] = b;
    out[2] = c;
}

static void expect_force(small_model *s, const double *q, const double *v, const double *act, const double *u,
                         const double *expected, const double *expected_rate)
{
    tg_sizes size = tg_model_sizes(s->m);
    double force[12], rate[12];
    memset(force, 0xff, sizeof force);
    memset(rate, 0xff, sizeof rate);
    small_ok(s, tg_actuation(s->m, s->w, q, v, act, u, force, rate));
    check_numbers(force, expected, size.nv, TOLERANCE);
    if (expected_rate != NULL)
        check_numbers(rate, expected_rate, size.na, TOLERANCE);
}

/* ---- transmissions ---- */

/* force = gain s + bias, both with length = gear q and rate = gear v; on the joint: gear force */
static void test_hinge_and_slide(void **state)
{
    (void)state;
    for (int type = TG_JOINT_SLIDE; type <= TG_JOINT_HINGE; type++)
    {
        tg_joint_def joint = plain_joint((tg_joint_type)type, 0, 1, 0);
        joint.ref = 0.4; /* does not count */
        small_model s = one_joint(joint);
        tg_actuator_def def = motor_on(TG_TRANSMISSION_JOINT, 0);
        def.gear[0] = -2;
        set3(def.gain, 1, 2, 3);
        set3(def.bias, 4, -5, -6);
        small_actuator(&s, def);
        small_build(&s);
        const double q = 0.5, v = 0.25, u = 1.5, length = -1, rate = -0.5;
        const double force = (1 + 2 * length + 3 * rate) * u + 4 - 5 * length - 6 * rate, expected = -2 * force;
        expect_force(&s, &q, &v, NULL, &u, &expected, NULL);
        small_end(&s);
    }
}

/* length = gear . Log(q), rate = gear . v, body axes */
static void test_ball_joint(void **state)
{
    (void)state;
    small_model s = one_joint(plain_joint(TG_JOINT_BALL, 0, 0, 1));
    tg_actuator_def def = motor_on(TG_TRANSMISSION_JOINT, 0);
    set3(def.gear, 1, 2, -0.5);
    set3(def.bias, 0, -3, -7);
    small_actuator(&s, def);
    small_build(&s);
    const double turn[3] = {0.2, 0.1, -0.4}, v[3] = {1, 0.5, 2}, u = 2;
    double q[4];
    tg_quat_exp(turn, q);
    const double length = 0.2 + 0.2 + 0.2, rate = 1 + 1 - 1, force = u - 3 * length - 7 * rate;
    const double expected[3] = {force, 2 * force, -0.5 * force};
    expect_force(&s, q, v, NULL, &u, expected, NULL);
    for (int i = 0; i < 4; i++)
        q[i] *= -1.0005; /* the same rotation */
    expect_force(&s, q, v, NULL, &u, expected, NULL);
    small_end(&s);
}

/* forces in world axes, torques in body axes, as v; no length */
static void test_free_joint(void **state)
{
    (void)state;
    small_model s = one_joint(plain_joint(TG_JOINT_FREE, 0, 0, 1));
    tg_actuator_def def = motor_on(TG_TRANSMISSION_JOINT, 0);
    for (int i = 0; i < 6; i++)
        def.gear[i] = i + 1;
    set3(def.bias, 0, 100, -1);
    small_actuator(&s, def);
    small_build(&s);
    const double q[7] = {1, 2, 3, 0.5, -0.5, 0.5, 0.5}, v[6] = {1, 0, 0, 0, 0, 2}, u = 20, force = 20 - (1 + 6 * 2);
    double expected[6];
    for (int i = 0; i < 6; i++)
        expected[i] = (i + 1) * force;
    expect_force(&s, q, v, NULL, &u, expected, NULL);
    small_end(&s);
}

/* length = gear (2 q0 - q1) */
static void test_tendon(void **state)
{
    (void)state;
    const tg_path path[] = {{TG_PATH_JOINT, 0, 2}, {TG_PATH_JOINT, 1, -1}};
    small_model s = one_joint(plain_joint(TG_JOINT_HINGE, 0, 0, 1));
    small_joint(&s, plain_joint(TG_JOINT_SLIDE, 0, 0, 1), small_body(&s, 0, 1, 0, 0));
    tg_tendon_def tendon = tg_default_tendon();
    tendon.type = TG_TENDON_FIXED;
    tendon.path = path;
    tendon.npath = 2;
    small_tendon(&s, tendon);
    tg_actuator_def def = motor_on(TG_TRANSMISSION_TENDON, 0);
    def.gear[0] = 3;
    def.gear[1] = 17; /* does not count */
    set3(def.bias, 1, -2, -4);
    small_actuator(&s, def);
    small_build(&s);
    const double q[2] = {0.5, 0.25}, v[2] = {1, 3}, u = 0.5, length = 3 * 0.75, rate = 3 * (2 - 3);
    const double force = u + 1 - 2 * length - 4 * rate, expected[2] = {6 * force, -3 * force};
    expect_force(&s, q, v, NULL, &u, expected, NULL);
    small_end(&s);
}

/* A wrench in the axes of a site, which is turned by 90 degrees about z in its body (its x is the body's y), at
 * (0.5, 0, 0) of a body on a hinge about z. Force gear (1, 0, 0) points along y at q = 0: torque 0.5; gear torque
 * (0, 0, 3): 3. */
static void test_site(void **state)
{
    (void)state;
    small_model s = one_joint(plain_joint(TG_JOINT_HINGE, 0, 0, 1));
    tg_site_def site = tg_default_site();
    site.body = 1;
    site.pos[0] = 0.5;
    site.quat[0] = site.quat[3] = sqrt(0.5);
    small_ok(&s, tg_builder_site(s.b, &site, NULL));
    small_site(&s, 0, 1, 1, 1);
    tg_actuator_def def = motor_on(TG_TRANSMISSION_SITE, 0);
    const double gear[6] = {1, 20, 30, 0, 0, 3}; /* y of the site goes through the axis, z is along it */
    memcpy(def.gear, gear, sizeof gear);
    set3(def.bias, 0, 1000, -2); /* no length, but a rate: the moment arm times v */
    small_actuator(&s, def);
    def.target = 1; /* on the world: nothing moves */
    small_actuator(&s, def);
    small_build(&s);
    const double u[2] = {4, 5};
    for (int i = 0; i < 3; i++)
    {
        const double q = 0.7 * i, v = 0.1 * i, expected = 3.5 * (4 - 2 * 3.5 * v);
        expect_force(&s, &q, &v, NULL, u, &expected, NULL);
    }
    small_end(&s);
}

/* ---- clamps ---- */

static void test_control_range(void **state)
{
    (void)state;
    small_model s = one_joint(plain_joint(TG_JOINT_HINGE, 0, 0, 1));
    tg_actuator_def def = motor_on(TG_TRANSMISSION_JOINT, 0);
    def.ctrl_limited = true;
    def.ctrl_range[0] = -1;
    def.ctrl_range[1] = 2;
    set3(def.gain, 10, 0, 0);
    small_actuator(&s, def);
    small_build(&s);
    static const double table[][2] = {{-5, -10}, {-1, -10}, {0.5, 5}, {2, 20}, {1e300, 20}};
    for (int i = 0; i < 5; i++)
    {
        const double q = 0, v = 0;
        expect_force(&s, &q, &v, NULL, &table[i][0], &table[i][1], NULL);
    }
    small_end(&s);
}

/* the force is clamped before the gear */
static void test_force_range(void **state)
{
    (void)state;
    small_model s = one_joint(plain_joint(TG_JOINT_HINGE, 0, 0, 1));
    tg_actuator_def def = motor_on(TG_TRANSMISSION_JOINT, 0);
    def.gear[0] = 2;
    def.force_limited = true;
    def.force_range[0] = -3;
    def.force_range[1] = 4;
    set3(def.bias, 1, 0, 0);
    small_actuator(&s, def);
    small_build(&s);
    static const double table[][2] = {{-50, -6}, {-2, -2}, {1, 4}, {50, 8}};
    for (int i = 0; i < 4; i++)
    {
        const double q = 0, v = 0;
        expect_force(&s, &q, &v, NULL, &table[i][0], &table[i][1], NULL);
    }
    small_end(&s);
}

/* the sum of all actuators on a joint is clamped, after gears */
static void test_joint_force_range(void **state)
{
    (void)state;
    tg_joint_def joint = plain_joint(TG_JOINT_HINGE, 0, 0, 1);
    joint.force_limited = true;
    joint.force_range[0] = -1;
    joint.force_range[1] = 5;
    small_model s = one_joint(joint);
    tg_actuator_def def = motor_on(TG_TRANSMISSION_JOINT, 0);
    def.gear[0] = 3;
    small_actuator(&s, def);
    def.gear[0] = -2;
    small_actuator(&s, def);
    small_build(&s);
    static const struct
    {
        double u[2], expected;
    } table[] = {{{1, 1}, 1}, {{4, 1}, 5}, {{4, 5}, 2}, {{0, 5}, -1}};
    for (int i = 0; i < 4; i++)
    {
        const double q = 0, v = 0;
        expect_force(&s, &q, &v, NULL, table[i].u, &table[i].expected, NULL);
    }
    small_end(&s);
}

/* ---- activation ---- */

#define DT 0.01

/* gain 10, controls within 3; tau 0.05; activations within 0.8 for act_early */
static small_model activated(tg_dynamics_type dynamics, bool early)
{
    small_model s = one_joint(plain_joint(TG_JOINT_HINGE, 0, 0, 1));
    small_ok(&s, tg_builder_timestep(s.b, DT));
    tg_actuator_def def = motor_on(TG_TRANSMISSION_JOINT, 0);
    def.dynamics = dynamics;
    def.tau = 0.05;
    def.act_early = early;
    set3(def.gain, 10, 0, 0);
    def.ctrl_limited = true;
    def.ctrl_range[0] = -3;
    def.ctrl_range[1] = 3;
    def.act_limited = true;
    def.act_range[0] = -0.8;
    def.act_range[1] = 0.8;
    small_actuator(&s, def);
    small_build(&s);
    assert_int_equal(tg_model_sizes(s.m).na, 1);
    return s;
}

static void check_activation(tg_dynamics_type dynamics, bool early, double act, double u, double signal, double rate)
{
    small_model s = activated(dynamics, early);
    const double q = 0.3, v = 0.2, expected = 10 * signal;
    expect_force(&s, &q, &v, &act, &u, &expected, &rate);
    small_end(&s);
}

static void test_integrator(void **state)
{
    (void)state;
    check_activation(TG_DYNAMICS_INTEGRATOR, false, 0.4, 2, 0.4, 2);
    check_activation(TG_DYNAMICS_INTEGRATOR, false, 0.4, 7, 0.4, 3); /* control clamped */
    check_activation(TG_DYNAMICS_INTEGRATOR, true, 0.4, 2, 0.4 + DT * 2, 2);
    check_activation(TG_DYNAMICS_INTEGRATOR, true, 0.79, 2, 0.8, 2); /* activation clamped */
}

static void test_filter(void **state)
{
    (void)state;
    check_activation(TG_DYNAMICS_FILTER, false, 0.4, 2, 0.4, (2 - 0.4) / 0.05);
    check_activation(TG_DYNAMICS_FILTER, false, -0.4, -9, -0.4, (-3 + 0.4) / 0.05);
    check_activation(TG_DYNAMICS_FILTER, true, 0.4, 0.9, 0.4 + DT * (0.9 - 0.4) / 0.05, (0.9 - 0.4) / 0.05);
    check_activation(TG_DYNAMICS_FILTER, true, -0.4, -3, -0.8, (-3 + 0.4) / 0.05);
}

/* after dt: u + (act - u) exp(-dt / tau) */
static void test_exact_filter(void **state)
{
    (void)state;
    check_activation(TG_DYNAMICS_FILTEREXACT, false, 0.4, 2, 0.4, (2 - 0.4) / 0.05);
    check_activation(TG_DYNAMICS_FILTEREXACT, true, 0.4, 0.9, 0.9 + (0.4 - 0.9) * exp(-DT / 0.05), (0.9 - 0.4) / 0.05);
    check_activation(TG_DYNAMICS_FILTEREXACT, true, 0.4, 3, 0.8, (3 - 0.4) / 0.05);
}

/* Activations are numbered in the order of the actuators that have one; the rates may be left out. */
static void test_several(void **state)
{
    (void)state;
    small_model s = one_joint(plain_joint(TG_JOINT_HINGE, 0, 0, 1));
    tg_actuator_def def = motor_on(TG_TRANSMISSION_JOINT, 0);
    small_actuator(&s, def);
    def.dynamics = TG_DYNAMICS_FILTER;
    def.tau = 0.5;
    set3(def.gain, 10, 0, 0);
    small_actuator(&s, def);
    def.dynamics = TG_DYNAMICS_NONE;
    set3(def.gain, 100, 0, 0);
    small_actuator(&s, def);
    def.dynamics = TG_DYNAMICS_INTEGRATOR;
    set3(def.gain, 1000, 0, 0);
    small_actuator(&s, def);
    small_build(&s);
    const double q = 0, v = 0, act[2] = {2, 4}, u[4] = {1, 5, 3, 6};
    const double expected = 1 + 20 + 300 + 4000, rate[2] = {(5 - 2) / 0.5, 6};
    expect_force(&s, &q, &v, act, u, &expected, rate);
    double force = NAN;
    small_ok(&s, tg_actuation(s.m, s.w, &q, &v, act, u, &force, NULL));
    check_numbers(&force, &expected, 1, TOLERANCE);
    small_end(&s);
}

/* A model without actuators has no force; u, act and rates are not looked at. */
static void test_no_actuators(void **state)
{
    (void)state;
    small_model s = one_joint(plain_joint(TG_JOINT_HINGE, 0, 0, 1));
    small_build(&s);
    const double q = 0, v = 0;
    double force = NAN;
    small_ok(&s, tg_actuation(s.m, s.w, &q, &v, NULL, NULL, &force, NULL));
    assert_true(force == 0);
    small_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hinge_and_slide),
        cmocka_unit_test(test_ball_joint),
        cmocka_unit_test(test_free_joint),
        cmocka_unit_test(test_tendon),
        cmocka_unit_test(test_site),
        cmocka_unit_test(test_control_range),
        cmocka_unit_test(test_force_range),
        cmocka_unit_test(test_joint_force_range),
        cmocka_unit_test(test_integrator),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_exact_filter),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_no_actuators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
