/* Known answers of derivatives through contact. */
#include "flight.h"

#define BALL                                                                                                           \
    "<mujoco><option timestep='0.001' gravity='0 0 %g'/><worldbody>"                                                   \
    "<geom name='floor' type='plane' size='5 5 0.1'/><body pos='0 0 0.1'>"                                             \
    "<joint type='slide' axis='0 0 1'/><geom name='ball' type='sphere' size='0.1' mass='1'/></body>"                   \
    "</worldbody><custom><numeric name='tangere:geom.ball.restitution' data='%g'/></custom></mujoco>"

#define TWO_BALLS                                                                                                      \
    "<mujoco><option timestep='0.001' gravity='0 0 0'/><worldbody>"                                                    \
    "<body><joint type='slide' axis='1 0 0'/><geom name='a' type='sphere' size='0.1' mass='1'/></body>"                \
    "<body><joint type='slide' axis='1 0 0'/><geom name='b' type='sphere' size='0.1' mass='1'/></body>"                \
    "</worldbody><custom><numeric name='tangere:geom.a.restitution' data='1'/></custom></mujoco>"

/* ---- known answers ---- */

/* way = dt sum of (v0 - i mu g dt) over 203 steps, d(way)/d(mu) = -dt^2 g 203 204 / 2 */
static void test_stopping_distance(void **state)
{
    (void)state;
    sim *s = sim_open(text(BLOCK, 0.5));
    flight f = take_off(s, 210, true);
    s->v[0] = 1;
    fly_for(&f, 0);
    double slope = with_respect_to(&f, "geom.floor.friction") + with_respect_to(&f, "geom.box.friction");
    check_near("way", f.q[210 * 7], 0.10143707, 1e-9);
    check_near("d(way)/d(mu)", slope, -0.20312586, 1e-9);
    check_near("d(way)/d(v0)", f.dv[0], 0.203, 1e-9);
    check_near("d(way)/d(q0)", f.dq[0], 1, 1e-9);
    land(&f);
    sim_close(s);
}

/* The derivative of the steps as they are: the time of the impact does not move with x0, so d(x_T)/d(x0) = +1. */
static void test_ball(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
    {
        sim *s = sim_open(text(BALL, 0.0, k == 0 ? 1.0 : 0.5));
        flight f = take_off(s, 1000, false);
        s->q[0] = 1.001;
        s->v[0] = -2;
        fly_for(&f, 0);
        check_near("speed after", f.v[1000], k == 0 ? 2 : 1, 1e-12);
        check_near("d(x_T)/d(x0)", f.dq[0], 1, 1e-9);
        assert_int_equal(f.label.kind, TG_LABEL_EXACT);
        land(&f);
        sim_close(s);
    }
}

/* Ball 1 hits ball 2 in step 321 and stands; ball 2 then goes for 680 steps with the speed of ball 1. */
static void test_two_balls(void **state)
{
    (void)state;
    sim *s = sim_open(TWO_BALLS);
    static const double slope[4] = {0, 1, 0.680, 0.320};
    flight f = take_off(s, 1000, true);
    s->q[1] = 0.5205;
    s->v[0] = 1;
    fly_for(&f, 1);
    for (int i = 0; i < 2; i++)
    {
        check_near("d(x2)/d(x)", f.dq[i], slope[i], 1e-8);
        check_near("d(x2)/d(v)", f.dv[i], slope[2 + i], 1e-8);
    }
    land(&f);
    sim_close(s);
}

/* v+ = v - dt (g / l) sin q, q+ = q + dt v+: the sensitivities of the recursion itself */
static void test_pendulum(void **state)
{
    (void)state;
    sim *s = sim_open("<mujoco><option timestep='0.001'/><worldbody><body><joint type='hinge' axis='0 1 0'/>"
                      "<inertial pos='0 0 -0.5' mass='1' diaginertia='1e-9 1e-9 1e-9'/></body></worldbody></mujoco>");
    const int steps = 1000;
    const double dt = 1e-3, length = 0.5, inertia = 0.25 + 1e-9;
    flight f = take_off(s, steps, true);
    s->q[0] = 1;
    fly_for(&f, 0);
    double q = 1, v = 0, q_q = 1, v_q = 0, q_v = 0, v_v = 1;
    for (int i = 0; i < steps; i++)
    {
        double stiffness = gravity * length / inertia;
        v_q -= dt * stiffness * cos(q) * q_q;
        v_v -= dt * stiffness * cos(q) * q_v;
        v -= dt * stiffness * sin(q);
        q += dt * v;
        q_q += dt * v_q;
        q_v += dt * v_v;
    }
    check_near("q", f.q[steps], q, 1e-10);
    check_near("dq/dq0", f.dq[0], q_q, 1e-9);
    check_near("dq/dv0", f.dv[0], q_v, 1e-9);
    land(&f);
    sim_close(s);
}

/* ---- one step ---- */

static tg_label step_gradient(sim *s, const double *gv, tg_cotangent *in)
{
    tg_label label;
    if (tg_step_vjp(s->m, s->w, &(tg_cotangent){.v = (double *)gv}, in, &label) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
    return label;
}

/* Every column of dv+/dq, dv+/dv and dv+/dtau of one step of the cube against differences with h = 1e-6 (1e-7 for q);
 * returns the largest entry of dv+/dv. */
static double compare_step(const double v0[6], double tolerance_q)
{
    sim *s = sim_open(text(BLOCK, 0.5));
    double q0[7], largest = 0;
    tg_differences *d;
    assert_int_equal(tg_differences_create(s->m, 0, &d, NULL), TG_OK);
    memcpy(s->v, v0, sizeof(double) * 6);
    memcpy(q0, s->q, sizeof q0);
    sim_step(s);
    for (int row = 0; row < 6; row++)
    {
        double gv[6] = {0}, q[6], v[6], tau[6], fd_q[6], fd_v[6], fd_tau[6];
        gv[row] = 1;
        tg_label label = step_gradient(s, gv, &(tg_cotangent){.q = q, .v = v, .tau = tau});
        assert_int_equal(label.kind, TG_LABEL_EXACT);
        tg_differences_request request = {.options = &s->options, .state = &(tg_state){q0, (double *)v0, NULL, NULL}};
        assert_int_equal(tg_step_differences(s->m, d, &request, &(tg_cotangent){.v = gv},
                                             &(tg_cotangent){.q = fd_q, .v = fd_v, .tau = fd_tau}, NULL),
                         TG_OK);
        for (int k = 0; k < 6; k++)
        {
            if (!isnan(fd_q[k]))
                check_near("dv+/dq", q[k], fd_q[k], tolerance_q * fmax(1, fabs(fd_q[k])));
            check_near("dv+/dv", v[k], fd_v[k], 1e-8);
            check_near("dv+/dtau", tau[k], fd_tau[k], 1e-8);
            largest = fmax(largest, fabs(v[k]));
        }
    }
    tg_differences_destroy(d);
    sim_close(s);
    return largest;
}

/* Four points that stick hold all six velocities. */
static void test_patch_sticks(void **state)
{
    (void)state;
    check_below("dv+/dv", compare_step((const double[6]){1e-3, 5e-4, 0, 0, 0, 2e-3}, 1e-6), 1e-9);
}

/* The patch slides with spin. */
static void test_cube_slides_and_spins(void **state)
{
    (void)state;
    assert_true(compare_step((const double[6]){1, 0.3, 0, 0, 0, 4}, 1e-6) > 0.9);
}

/* A box that leaves the ground is free: dv+/dv is one. */
static void test_box_leaves_the_ground(void **state)
{
    (void)state;
    sim *s = sim_open(text(BLOCK, 0.5));
    s->v[2] = 1;
    sim_step(s);
    for (int row = 0; row < 3; row++)
    {
        double gv[6] = {0}, v[6], q[6];
        gv[row] = 1;
        tg_label label = step_gradient(s, gv, &(tg_cotangent){.v = v, .q = q});
        assert_int_equal(label.kind, TG_LABEL_EXACT);
        for (int k = 0; k < 6; k++)
        {
            check_near("dv+/dv", v[k], k == row, 1e-12);
            check_near("dv+/dq", q[k], 0, 1e-9);
        }
    }
    sim_close(s);
}

static void check_finite(const char *what, const double *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i]))
            fail_msg("%s[%d] = %g", what, i, x[i]);
}

static tg_label finite_step(sim *s)
{
    double gv[12], q[12], v[12], tau[12], *params = numbers(s->n.nparams);
    for (int i = 0; i < s->n.nv; i++)
        gv[i] = 1 + 0.1 * i;
    sim_step(s);
    tg_label label = step_gradient(s, gv, &(tg_cotangent){.q = q, .v = v, .tau = tau, .params = params});
    check_finite("q", q, s->n.nv);
    check_finite("v", v, s->n.nv);
    check_finite("tau", tau, s->n.nv);
    check_finite("params", params, s->n.nparams);
    free(params);
    return label;
}

/* Without friction the sliding velocity goes through. */
static void test_no_friction(void **state)
{
    (void)state;
    sim *s = sim_open(text(BLOCK, 0.0));
    const double gv[6] = {1, 0, 0, 0, 0, 0};
    double v[6];
    s->v[0] = 1;
    finite_step(s);
    step_gradient(s, gv, &(tg_cotangent){.v = v});
    check_near("dvx+/dvx", v[0], 1, 1e-12);
    sim_reset(s);
    finite_step(s);
    sim_close(s);
}

/* Two feet at the same place: forces are not unique, velocities are. */
static void test_coincident_contacts(void **state)
{
    (void)state;
    const char *one = "<geom type='sphere' size='0.1' mass='%s' friction='0.5'/>";
    double dv[2][6], gv[6] = {1, 0.3, 0.2, 0.1, -0.2, 0.4};
    for (int k = 0; k < 2; k++)
    {
        char feet[256];
        int length = snprintf(feet, sizeof feet, one, "1");
        if (k == 1)
            snprintf(feet + length, sizeof feet - (size_t)length, one, "0");
        sim *s = sim_open(
            text("<mujoco><option timestep='0.001'/><worldbody><geom type='plane' size='5 5 0.1' friction='0.4'/>"
                 "<body pos='0 0 0.1'><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='0.004 0.004 0.004'/>"
                 "%s</body></worldbody></mujoco>",
                 feet));
        s->v[0] = 1;
        finite_step(s);
        step_gradient(s, gv, &(tg_cotangent){.v = dv[k]});
        sim_close(s);
    }
    for (int i = 0; i < 6; i++)
        check_near("dv+/dv with two feet", dv[1][i], dv[0][i], 1e-9);
}

/* The speed after the step goes to zero: from sliding through the last moment of it to sticking, always finite. */
static void test_towards_no_slip(void **state)
{
    (void)state;
    sim *s = sim_open(text(BLOCK, 0.5));
    const double loss = 0.5 * gravity * 1e-3;
    for (double slip = 1e-2; slip > 1e-17; slip /= 10)
    {
        sim_reset(s);
        s->v[0] = loss + slip;
        tg_label label = finite_step(s);
        assert_true(isfinite(label.condition) && label.margin >= 0);
        if (slip >= 1e-6)
            assert_int_equal(label.kind, TG_LABEL_EXACT);
    }
    sim_reset(s);
    s->v[0] = loss;
    assert_true(finite_step(s).kind != TG_LABEL_EXACT);
    sim_reset(s);
    assert_int_equal(finite_step(s).kind, TG_LABEL_EXACT);
    sim_close(s);
}

/* Coulomb friction and weight are both proportional to the mass. */
static void test_mass_of_a_sliding_box(void **state)
{
    (void)state;
    sim *s = sim_open(text(BLOCK, 0.5));
    double *params = numbers(s->n.nparams);
    int mass, gravity_at, size;
    assert_int_equal(tg_param_find(s->m, "body.block.mass", &mass, &size, NULL), TG_OK);
    assert_int_equal(tg_param_find(s->m, "gravity", &gravity_at, &size, NULL), TG_OK);
    s->v[0] = 1;
    sim_step(s);
    for (int row = 0; row < 6; row++)
    {
        double gv[6] = {0};
        gv[row] = 1;
        step_gradient(s, gv, &(tg_cotangent){.params = params});
        check_near("dv+/dmass", params[mass], 0, 1e-13);
        if (row == 0)
            check_near("dvx+/dgz", params[gravity_at + 2], 0.5e-3, 1e-12);
    }
    free(params);
    sim_close(s);
}

/* ---- a cube that is tossed ---- */

static double toss(flight *f, const double v[6], int dof)
{
    sim_reset(f->s);
    f->s->q[2] = 0.5;
    memcpy(f->s->v, v, sizeof(double) * 6);
    fly(f);
    return f->q[f->steps * 7 + dof];
}

/* the largest change of any velocity of any state for a unit of v[k] at the start */
static double sensitivity(flight *f, int k)
{
    double unit[6] = {0}, *q = numbers((f->steps + 1) * 6), *v = numbers((f->steps + 1) * 6), largest = 0;
    unit[k] = 1;
    tg_trajectory out = {.q = q, .v = v};
    if (tg_rollout_jvp(f->s->m, f->s->w, f->tape, 1, &(tg_rollout_gradient){.v = unit}, &out, NULL) != TG_OK)
        fail_msg("%s", tg_work_message(f->s->w));
    for (int i = 0; i < (f->steps + 1) * 6; i++)
        largest = fmax(largest, fabs(v[i]));
    free(q);
    free(v);
    return largest;
}

/* The final position with respect to the initial velocity, over 1 s of flight, impacts, sliding and rest, against
 * differences whose h is below the smallest margin on the way divided by the sensitivity there. */
static void test_tossed_cube(void **state)
{
    (void)state;
    sim *s = sim_open(text(BLOCK, 0.5));
    flight f = take_off(s, 1000, false);
    const double v0[6] = {0.7, 0.2, 0, 0.9, 0.4, 0.6};
    double gradient[2][6], largest[2] = {1, 1}, worst[2] = {0, 0};
    for (int dof = 0; dof < 2; dof++)
    {
        toss(&f, v0, dof);
        fly_for(&f, dof);
        memcpy(gradient[dof], f.dv, sizeof gradient[dof]);
    }
    double margin = f.label.margin, per_unit[6];
    assert_int_equal(f.label.kind, TG_LABEL_EXACT);
    for (int k = 0; k < 6; k++)
        per_unit[k] = sensitivity(&f, k);
    for (int k = 0; k < 6; k++)
    {
        double h = 0.1 * margin / per_unit[k], value[4][2];
        const double at[4] = {h, -h, h / 2, -h / 2};
        for (int i = 0; i < 4; i++)
        {
            double v[6];
            memcpy(v, v0, sizeof v);
            v[k] += at[i];
            toss(&f, v, 0);
            memcpy(value[i], f.q + f.steps * 7, sizeof value[i]);
        }
        for (int dof = 0; dof < 2; dof++)
        {
            double wide = (value[0][dof] - value[1][dof]) / (2 * h), narrow = (value[2][dof] - value[3][dof]) / h;
            double difference = narrow + (narrow - wide) / 3;
            printf("d(x%d)/d(v%d): %.10g, differences %.10g (margin %.2g, sensitivity %.2g, h %.1e)\n", dof, k,
                   gradient[dof][k], difference, margin, per_unit[k], h);
            largest[dof] = fmax(largest[dof], fabs(difference));
            worst[dof] = fmax(worst[dof], fabs(gradient[dof][k] - difference));
        }
    }
    for (int dof = 0; dof < 2; dof++)
        check_below("error of the gradient", worst[dof] / largest[dof], 1e-6);
    land(&f);
    sim_close(s);
}

/* ---- the time of impact ---- */

/* A ball that starts dx higher comes late by dx / |v| and is then e dx lower. */
static void test_ball_with_time_of_impact(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
    {
        double e = k == 0 ? 1 : 0.5;
        sim *s = sim_open(text(BALL, 0.0, e));
        flight f = take_off(s, 1000, false);
        s->options.backward = TG_BACKWARD_TOI;
        s->q[0] = 1.001;
        s->v[0] = -2;
        fly_for(&f, 0);
        check_near("d(x_T)/d(x0)", f.dq[0], -e, 1e-12);
        check_near("d(x_T)/d(radius)", with_respect_to(&f, "geom.ball.size"), 1 + e, 1e-9);
        assert_int_equal(f.label.kind, TG_LABEL_EXACT);
        land(&f);
        sim_close(s);
    }
}

/* Ball 2 leaves with the speed of ball 1 when that arrives: x2(T) = x1 + v1 T + 2 r. */
static void test_two_balls_with_time_of_impact(void **state)
{
    (void)state;
    sim *s = sim_open(TWO_BALLS);
    static const double slope[4] = {1, 0, 1, 0};
    flight f = take_off(s, 1000, true);
    s->options.backward = TG_BACKWARD_TOI;
    s->q[1] = 0.5205;
    s->v[0] = 1;
    fly_for(&f, 1);
    for (int i = 0; i < 2; i++)
    {
        check_near("d(x2)/d(x)", f.dq[i], slope[i], 1e-9);
        check_near("d(x2)/d(v)", f.dv[i], slope[2 + i], 1e-9);
    }
    land(&f);
    sim_close(s);
}

/* Dropped from h: t1 = sqrt(2 h / g), x(T) = e v1 (T - t1) - g (T - t1)^2 / 2, and with dt1/dh = 1 / (g t1)
 *     dx/dh = dt1/dh ((1 + e) g (T - t1) - e v1),
 * to the order of the time step. Higher means later, and faster. */
static void test_dropped_ball_with_time_of_impact(void **state)
{
    (void)state;
    const double e = 0.8, T = 0.7, h = 1;
    double t1 = sqrt(2 * h / gravity), v1 = gravity * t1;
    double slope = ((1 + e) * gravity * (T - t1) - e * v1) / v1;
    sim *s = sim_open(text(BALL, -gravity, e));
    flight f = take_off(s, 700, true);
    s->options.backward = TG_BACKWARD_TOI;
    s->q[0] = h;
    fly_for(&f, 0);
    printf("d(x_T)/d(h): %.6f, of the continuous motion %.6f\n", f.dq[0], slope);
    check_near("d(x_T)/d(h)", f.dq[0], slope, 0.01);
    s->options.backward = TG_BACKWARD_EXACT;
    fly_for(&f, 0);
    check_near("d(x_T)/d(h) of the steps", f.dq[0], 1, 1e-9);
    land(&f);
    sim_close(s);
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Of the step that was taken: reverse mode, forward mode and matrices are the same derivative. One free body. */
static void check_modes_agree(sim *s)
{
    int np = s->n.nparams;
    double *direction = numbers(np), *gradient = numbers(np), *dv_dparams = numbers(6 * np);
    int *all = malloc(sizeof(int) * (size_t)np);
    assert_non_null(all);
    double gq[6], gv[6], dq[6], dv[6], bq[6], bv[6], aq[6], av[6], dv_dq[36], dv_dv[36], ddt = 1e-3, bdt;
    for (int i = 0; i < np; i++)
    {
        all[i] = i;
        direction[i] = 0.01 * sin(i);
    }
    for (int i = 0; i < 6; i++)
    {
        gq[i] = cos(3 * i);
        gv[i] = sin(2 * i + 1);
        dq[i] = sin(5 * i);
        dv[i] = cos(7 * i);
    }
    tg_cotangent in = {.q = dq, .v = dv, .dt = &ddt, .params = direction}, out = {.q = aq, .v = av};
    tg_cotangent back = {.q = bq, .v = bv, .dt = &bdt, .params = gradient};
    assert_int_equal(tg_step_vjp(s->m, s->w, &(tg_cotangent){.q = gq, .v = gv}, &back, NULL), TG_OK);
    assert_int_equal(tg_step_jvp(s->m, s->w, &in, &out, NULL), TG_OK);
    tg_jacobian J = {.dv_dq = dv_dq, .dv_dv = dv_dv, .index = all, .nindex = np, .dv_dparams = dv_dparams};
    assert_int_equal(tg_step_jacobian(s->m, s->w, &J), TG_OK);
    double forward = dot(6, gq, aq) + dot(6, gv, av);
    double reverse = dot(6, bq, dq) + dot(6, bv, dv) + bdt * ddt + dot(np, gradient, direction);
    check_near("out . (J in)", reverse, forward, 1e-10 * fmax(1, fabs(forward)));
    in.dt = NULL;
    assert_int_equal(tg_step_jvp(s->m, s->w, &in, &out, NULL), TG_OK);
    for (int i = 0; i < 6; i++)
    {
        double row = dot(6, dv_dq + 6 * i, dq) + dot(6, dv_dv + 6 * i, dv) + dot(np, dv_dparams + i * np, direction);
        check_near("dv+", row, av[i], 1e-10 * fmax(1, fabs(row)));
    }
    free(direction);
    free(gradient);
    free(dv_dparams);
    free(all);
}

/* an impact with friction and spin */
static void test_modes_agree_with_time_of_impact(void **state)
{
    (void)state;
    sim *s =
        sim_open("<mujoco><option timestep='0.001'/><worldbody><geom name='floor' type='plane' size='5 5 0.1'/>"
                 "<body pos='0 0 0.1004'><freejoint/><geom name='ball' type='sphere' size='0.1' mass='1'/></body>"
                 "</worldbody><custom><numeric name='tangere:geom.ball.restitution' data='0.7'/></custom></mujoco>");
    const double v0[6] = {0.5, -0.2, -1.5, 1, 2, 3};
    s->options.backward = TG_BACKWARD_TOI;
    memcpy(s->v, v0, sizeof v0);
    sim_step(s);
    check_modes_agree(s);
    sim_close(s);
}

/* ---- the smoothed law ---- */

/* A ball that would come to the floor in a step with v to spare: L = m a, a (a + v) = v^2 on the path, and of a unit of
 * velocity v^2 / (a^2 + v^2) is left, (1 + 1 / sqrt 5) / 2. */
static void test_smoothed_ball(void **state)
{
    (void)state;
    sim *s = sim_open(text(BALL, 0.0, 0.0));
    double gv = 1, v, q;
    s->options.backward = TG_BACKWARD_SMOOTHED;
    s->q[0] = 2e-3;
    s->v[0] = -2 + s->options.smooth_speed;
    sim_step(s);
    tg_label label = step_gradient(s, &gv, &(tg_cotangent){.v = &v, .q = &q});
    check_near("dv+/dv", v, (1 + 1 / sqrt(5)) / 2, 1e-12);
    double gap = 2e-3, scale = s->options.smooth_speed * 1e-3; /* the gap counts as far as it is open */
    check_near("dv+/dq", q, (v - 1) / 1e-3 * gap * gap / (gap * gap + scale * scale), 1e-9);
    assert_int_equal(label.kind, TG_LABEL_REGULARISED);
    sim_close(s);
}

#define ROLLING                                                                                                        \
    "<mujoco><option timestep='0.001'/><worldbody><geom name='floor' type='plane' size='5 5 0.1'/><body pos='0 0 "     \
    "0.1'>"                                                                                                            \
    "<freejoint/><geom name='ball' type='sphere' size='0.1' mass='1' friction='0.5'/></body></worldbody></mujoco>"

static void take_step(sim *s, const double v0[6], tg_backward backward, double speed, double width)
{
    sim_reset(s);
    memcpy(s->v, v0, sizeof(double) * 6);
    s->options.backward = backward;
    s->options.smooth_speed = speed;
    s->options.smooth_width = width;
    sim_step(s);
}

/* With little smoothing the derivative is that of the law, for a ball that slides and a cube that sticks; with any, all
 * modes agree, also where a patch slides (whose redundant points then share their load in another way). */
static void test_smoothed_law(void **state)
{
    (void)state;
    static const double starts[3][6] = {{1, 0.3, 0, 2, 1, 4}, {1e-3, 5e-4, 0, 0, 0, 2e-3}, {1, 0.3, 0, 0, 0, 4}};
    for (int k = 0; k < 3; k++)
    {
        double dv[2][6], gv[6] = {1, 0.3, 0.2, 0.1, -0.2, 0.4};
        sim *s = sim_open(k == 0 ? ROLLING : text(BLOCK, 0.5));
        for (int smoothed = 0; smoothed < 2 && k < 2; smoothed++)
        {
            take_step(s, starts[k], smoothed ? TG_BACKWARD_SMOOTHED : TG_BACKWARD_EXACT, 1e-6, 0);
            step_gradient(s, gv, &(tg_cotangent){.v = dv[smoothed]});
        }
        for (int i = 0; i < 6 && k < 2; i++)
            check_near("dv+/dv", dv[1][i], dv[0][i], 1e-5);
        take_step(s, starts[k], TG_BACKWARD_SMOOTHED, 0.01, 0.001);
        check_modes_agree(s);
        sim_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stopping_distance),
        cmocka_unit_test(test_ball),
        cmocka_unit_test(test_two_balls),
        cmocka_unit_test(test_pendulum),
        cmocka_unit_test(test_patch_sticks),
        cmocka_unit_test(test_cube_slides_and_spins),
        cmocka_unit_test(test_box_leaves_the_ground),
        cmocka_unit_test(test_no_friction),
        cmocka_unit_test(test_coincident_contacts),
        cmocka_unit_test(test_towards_no_slip),
        cmocka_unit_test(test_mass_of_a_sliding_box),
        cmocka_unit_test(test_tossed_cube),
        cmocka_unit_test(test_ball_with_time_of_impact),
        cmocka_unit_test(test_two_balls_with_time_of_impact),
        cmocka_unit_test(test_dropped_ball_with_time_of_impact),
        cmocka_unit_test(test_modes_agree_with_time_of_impact),
        cmocka_unit_test(test_smoothed_ball),
        cmocka_unit_test(test_smoothed_law),
    };
    return cmocka_run_group_tests_name("gradient_known", tests, NULL, NULL);
}
