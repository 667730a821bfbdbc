/* Known answers of joints: loops with and without projection, energy of a pendulum, limits, dry friction, couplings. */
#include "step_test.h"

/* ---- a four-bar linkage ---- */

/* Ground 1.0, crank 0.4, coupler 0.9, rocker 0.7 m, in the x-z plane; the crank starts upright. The coupler's end and
 * the rocker's are held together; "extra" adds equalities. */
static sim *four_bar(const char *extra)
{
    /* end C of coupler and rocker: |C - B| = 0.9, |C - D| = 0.7, B = (0, 0.4), D = (1, 0) */
    double dx = 1, dz = -0.4, d = hypot(dx, dz), along = (d * d + 0.81 - 0.49) / (2 * d);
    double height = sqrt(0.81 - along * along), x = (along * dx - height * dz) / d,
           z = 0.4 + (along * dz + height * dx) / d;
    return sim_open(
        text("<mujoco><option timestep='0.001'/><default><geom type='capsule' size='0.02' mass='1' contype='0' "
             "conaffinity='0'/>"
             "<joint type='hinge' axis='0 1 0'/></default><worldbody>"
             "<body name='crank'><joint name='crank' damping='1e4'/><geom fromto='0 0 0 0 0 0.4'/>"
             "<body name='coupler' pos='0 0 0.4'><joint name='coupler'/><geom fromto='0 0 0 %.17g 0 %.17g'/>"
             "<site name='c1' pos='%.17g 0 %.17g'/></body></body>"
             "<body name='rocker' pos='1 0 0'><joint name='rocker'/><geom fromto='0 0 0 %.17g 0 %.17g'/>"
             "<site name='c2' pos='%.17g 0 %.17g'/></body></worldbody>"
             "<equality><connect body1='coupler' body2='rocker' anchor='%.17g 0 %.17g'/>%s</equality></mujoco>",
             x, z - 0.4, x, z - 0.4, x - 1, z, x - 1, z, x, z - 0.4, extra));
}

static double loop_error(sim *s)
{
    double a[3], b[3], quat[4];
    assert_int_equal(tg_kinematics(s->m, s->w, s->q, NULL), TG_OK);
    assert_int_equal(tg_site_pose(s->m, s->w, 0, a, quat), TG_OK);
    assert_int_equal(tg_site_pose(s->m, s->w, 1, b, quat), TG_OK);
    return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
}

/* The crank is driven at 5 rad/s for a while, by a torque against a strong damper; the largest loop error. Kinematics
 * alone, 0.4 u(a) + 0.9 u(b) - 0.7 u(c) after a step along the tangent, gives at most 9.1236e-6 m in a turn. */
static double run_four_bar(bool project, double seconds, const char *extra)
{
    sim *s = four_bar(extra);
    double worst = 0;
    s->options.project = project;
    for (int i = 0; i < (int)(1e3 * seconds); i++)
    {
        s->tau[0] = 5e4;
        sim_step(s);
        worst = fmax(worst, loop_error(s));
    }
    check_near("turns of the crank", s->q[0] / (5 * seconds), 1, 1e-3);
    sim_close(s);
    return worst;
}

static void test_four_bar(void **state)
{
    (void)state;
    check_below("loop error", run_four_bar(false, 60.0 / TEST_EFFORT, ""), 1e-5);
}

static void test_four_bar_projected(void **state)
{
    (void)state;
    check_below("loop error", run_four_bar(true, 60.0 / TEST_EFFORT, ""), 1e-12);
}

/* The same loop closed twice: all rows of the second are redundant. */
static void test_redundant_loops_projected(void **state)
{
    (void)state;
    check_below(
        "loop error",
        run_four_bar(true, 5.0 / TEST_EFFORT, "<connect site1='c1' site2='c2'/><connect site1='c2' site2='c1'/>"),
        1e-12);
}

/* Without equalities, and with closed ones, the projection changes nothing that can be seen. */
static void test_projection_leaves_velocities(void **state)
{
    (void)state;
    sim *a = four_bar(""), *b = four_bar("");
    a->tau[0] = b->tau[0] = 5e4;
    b->options.project = true;
    sim_step(a);
    sim_step(b);
    for (int i = 0; i < 3; i++)
    {
        assert_true(a->v[i] == b->v[i]);
        check_near("q", b->q[i], a->q[i], 1e-5);
    }
    assert_true(a->info.work == b->info.work);
    sim_close(a);
    sim_close(b);
}

/* A loop that starts 10 cm open: the projection closes it in one step, without it v_push closes it in time. */
static void test_open_loop(void **state)
{
    (void)state;
    sim *s = four_bar("");
    for (int project = 0; project < 2; project++)
    {
        sim_reset(s);
        s->options.project = project == 1;
        s->q[2] += 0.15;
        assert_true(loop_error(s) > 0.1);
        sim_step(s);
        double first = loop_error(s);
        if (project == 1)
            check_below("loop error after one step", first, 1e-12);
        else
            check_near("loop error after one step", first, 0.7 * 2 * sin(0.075) - 5e-5, 1e-5);
        sim_run(s, 3000);
        check_below("loop error", loop_error(s), project == 1 ? 1e-12 : 1e-5);
    }
    sim_close(s);
}

/* ---- other equalities, projected ---- */

/* A weld between two free bodies, a coupling of two hinges by a polynomial, one of a joint alone, tendons in step. */
static void test_all_equalities_projected(void **state)
{
    (void)state;
    sim *s = sim_open(
        "<mujoco><option timestep='0.001'/><default><geom contype='0' conaffinity='0'/></default><worldbody>"
        "<body name='a'><freejoint/><geom type='box' size='0.1 0.2 0.3' mass='1'/></body>"
        "<body name='b' pos='0.5 0.1 0.2' euler='20 30 40'><freejoint/><geom type='box' size='0.2 0.1 0.1' "
        "mass='2'/></body>"
        "<body pos='3 0 0'><joint name='h1' axis='0 1 0'/><geom type='sphere' size='0.1' pos='0.3 0 0' mass='1'/>"
        "<body pos='0.6 0 0'><joint name='h2' axis='0 1 0'/><geom type='sphere' size='0.1' pos='0.3 0 0' mass='1'/>"
        "<body pos='0.6 0 0'><joint name='h3' axis='0 1 0'/><geom type='sphere' size='0.1' pos='0.3 0 0' "
        "mass='1'/></body>"
        "</body></body></worldbody><tendon><fixed name='t1'><joint joint='h1' coef='1'/></fixed>"
        "<fixed name='t2'><joint joint='h3' coef='-0.5'/></fixed></tendon>"
        "<equality><weld body1='a' body2='b'/><joint joint1='h1' joint2='h2' polycoef='0 0.5 0.3 0 0'/>"
        "<tendon tendon1='t1' tendon2='t2'/></equality></mujoco>");
    s->options.project = true;
    for (int i = 0; i < s->n.nv; i++)
        s->v[i] = 3 * sin(1 + 2.1 * i);
    double pos[2][3], quat[2][4], first[3] = {0};
    for (int step = 0; step < 500; step++)
    {
        sim_step(s);
        double h1 = s->q[14], h2 = s->q[15], h3 = s->q[16];
        check_near("coupling", h1, 0.5 * h2 + 0.3 * h2 * h2, 1e-12);
        check_near("tendons", h1, -0.5 * h3, 1e-12);
        assert_int_equal(tg_kinematics(s->m, s->w, s->q, NULL), TG_OK);
        for (int k = 0; k < 2; k++)
            assert_int_equal(tg_body_pose(s->m, s->w, 1 + k, pos[k], quat[k]), TG_OK);
        double dot = 0, gap[3];
        for (int i = 0; i < 3; i++)
            gap[i] = pos[1][i] - pos[0][i];
        check_near("distance of welded bodies", norm(3, gap), sqrt(0.3), 1e-12);
        for (int i = 0; i < 4; i++)
            dot += quat[0][i] * quat[1][i];
        if (step == 0)
            first[0] = fabs(dot);
        check_near("angle of welded bodies", fabs(dot), first[0], 1e-12);
    }
    sim_close(s);
}

/* ---- a double pendulum ---- */

/* Largest error of the energy over a minute (J), at 1 and 0.5 ms, from 0.5 rad. */
static void pendulum_errors(double seconds, double error[2], double *height, double *range)
{
    sim *s = sim_open("<mujoco><default><geom type='capsule' size='0.02' mass='1' contype='0' conaffinity='0'/>"
                      "<joint type='hinge' axis='0 1 0'/></default><worldbody>"
                      "<body><joint/><geom fromto='0 0 0 0 0 -1'/>"
                      "<body pos='0 0 -1'><joint/><geom fromto='0 0 0 0 0 -1'/></body></body>"
                      "</worldbody></mujoco>");
    for (int k = 0; k < 2; k++)
    {
        sim_reset(s);
        double hanging = sim_energy(s);
        s->q[0] = PI;
        *range = sim_energy(s) - hanging;
        s->q[0] = 0.5;
        double start = sim_energy(s);
        *height = start - hanging;
        s->options.dt = k == 0 ? 1e-3 : 5e-4;
        error[k] = 0;
        for (int i = 0; i < (int)(seconds / s->options.dt + 0.5); i++)
        {
            sim_step(s);
            error[k] = fmax(error[k], fabs(s->info.kinetic + s->info.potential - start));
        }
    }
    sim_close(s);
}

/* First order, and not symplectic. The error is that of the scheme: MuJoCo's Euler integrator has 0.009938 and 0.004964
 * of the initial height in the same minute. */
static void test_double_pendulum(void **state)
{
    (void)state;
    double error[2], height, range;
    pendulum_errors(60, error, &height, &range);
    check_below("error at 1 ms, of the range of the potential", error[0] / range, 1e-3);
    check_near("error at 1 ms, of the initial height", error[0] / height, 0.009938, 2e-6);
    check_near("error at 0.5 ms, of the initial height", error[1] / height, 0.004964, 2e-6);
    check_near("error at 1 ms over error at 0.5 ms", error[0] / error[1], 2, 0.01);
}

/* ---- limits ---- */

static sim *arm(void)
{
    return sim_open("<mujoco><option timestep='0.001'/><default>"
                    "<geom type='capsule' size='0.02' mass='1' contype='0' conaffinity='0'/>"
                    "<joint type='hinge' axis='0 1 0' limited='true'/></default><worldbody>"
                    "<body><joint range='-90 30'/><geom fromto='0 0 0 0.5 0 0'/>"
                    "<body pos='0.5 0 0'><joint range='-45 20'/><geom fromto='0 0 0 0.5 0 0'/></body></body>"
                    "</worldbody></mujoco>");
}

/* Falls for three seconds; returns how far a joint was past its limit at most. */
static double fall_onto_limits(sim *s)
{
    double over = -INFINITY;
    for (int i = 0; i < 3000; i++)
    {
        sim_step(s);
        over = fmax(over, fmax(s->q[0] - PI / 6, s->q[1] - PI / 9));
    }
    check_near("q1", s->q[0], PI / 6, 1e-12);
    check_near("q2", s->q[1], PI / 9, 1e-12);
    check_below("speed at rest", norm(2, s->v), 1e-12);
    return over;
}

/* The second joint is at its limit when the first arrives at its own. */
static void test_arm_at_its_limits(void **state)
{
    (void)state;
    sim *s = arm();
    s->q[0] = -0.5;
    s->q[1] = PI / 9;
    check_below("past the limit", fall_onto_limits(s), 1e-12);
    close_passive(s);
}

/* The stop of the first joint throws the second past its limit for one step, by less than dt times its speed; it is
 * pushed back. */
static void test_arm_thrown_at_its_limits(void **state)
{
    (void)state;
    sim *s = arm();
    s->q[0] = -0.5;
    check_below("past the limit", fall_onto_limits(s), 1e-2);
    sim_close(s);
}

/* ---- dry friction ---- */

/* A wheel with dry friction 1.5 N m: holds up to it, and turns with (tau - 1.5) / I above it. */
static void test_dry_friction(void **state)
{
    (void)state;
    sim *s = sim_open("<mujoco><option timestep='0.001' gravity='0 0 0'/><worldbody>"
                      "<body><joint axis='0 0 1' frictionloss='1.5'/>"
                      "<inertial pos='0 0 0' mass='1' diaginertia='0.5 0.5 0.25'/></body></worldbody></mujoco>");
    for (int side = -1; side <= 1; side += 2)
    {
        sim_reset(s);
        s->tau[0] = side * (1.5 - 1e-9);
        sim_run(s, 100);
        check_below("speed while held", fabs(s->v[0]), 1e-12);
        check_below("way while held", fabs(s->q[0]), 1e-12);
        s->tau[0] = side * 1.6;
        sim_run(s, 100);
        check_near("speed", s->v[0], side * 0.1 * 0.1 / 0.25, 1e-12);
        s->tau[0] = 0;
        sim_run(s, 6);
        check_near("speed, slowing", s->v[0], side * (0.04 - 6e-3 * 1.5 / 0.25), 1e-12);
        sim_run(s, 2);
        check_below("speed at rest", fabs(s->v[0]), 1e-12);
    }
    close_passive(s);
}

/* An equality that asks a joint to go beyond its limit, in either direction: the joint stays where it is, and the step
 * is solved. */
static void test_equality_beyond_a_limit(void **state)
{
    (void)state;
    for (int side = -1; side <= 1; side += 2)
    {
        char mjcf[1024];
        snprintf(mjcf, sizeof mjcf,
                 "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='a' type='slide' axis='1 0 0' "
                 "limited='true' range='%d %d'/><geom size='0.1'/></body></worldbody>"
                 "<equality><joint joint1='a' polycoef='%g 0 0 0 0'/></equality></mujoco>",
                 side > 0 ? -1 : 0, side > 0 ? 0 : 1, 0.1 * side);
        sim *s = sim_open(mjcf);
        sim_run(s, 3);
        check_near("position", s->q[0], 0, 1e-12);
        sim_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_bar),
        cmocka_unit_test(test_four_bar_projected),
        cmocka_unit_test(test_redundant_loops_projected),
        cmocka_unit_test(test_projection_leaves_velocities),
        cmocka_unit_test(test_open_loop),
        cmocka_unit_test(test_all_equalities_projected),
        cmocka_unit_test(test_double_pendulum),
        cmocka_unit_test(test_arm_at_its_limits),
        cmocka_unit_test(test_arm_thrown_at_its_limits),
        cmocka_unit_test(test_dry_friction),
        cmocka_unit_test(test_equality_beyond_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
