/* Rollouts and their reverse mode: known answers of derivatives through contact, and tapes with and without checkpoints. */
#include "step_test.h"

#define BLOCK                                                                                                          \
    "<mujoco><option timestep='0.001'/><default><geom friction='%g'/></default><worldbody>"                            \
    "<geom name='floor' type='plane' size='5 5 0.1'/>"                                                                 \
    "<body name='block' pos='0 0 0.1'><freejoint name='j'/><geom name='box' type='box' size='0.1 0.1 0.1' mass='1'/>"  \
    "</body></worldbody></mujoco>"

/* ---- a rollout and the gradient of one number of its last state ---- */

typedef struct flight
{
    sim *s;
    tg_tape *tape;
    int steps;
    double *q, *v;                 /* states */
    double *gq, *gv;               /* gradients with respect to them */
    double *dq, *dv, *dtau, *dpar; /* with respect to what went in */
    const double *u;               /* controls of every step, or NULL */
    double dt;
    tg_label label;
} flight;

static double *numbers(int n)
{
    double *x = calloc((size_t)n + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

static flight take_off(sim *s, int steps, bool checkpoints)
{
    flight f = {.s = s, .steps = steps};
    int nv = s->n.nv, rows = steps + 1;
    tg_error error;
    if (tg_tape_create(s->m, steps, checkpoints, &f.tape, &error) != TG_OK)
        fail_msg("%s", error.message);
    f.q = numbers(rows * s->n.nq);
    f.v = numbers(rows * nv);
    f.gq = numbers(rows * nv);
    f.gv = numbers(rows * nv);
    f.dq = numbers(nv);
    f.dv = numbers(nv);
    f.dtau = numbers(steps * nv);
    f.dpar = numbers(s->n.nparams);
    return f;
}

static void land(flight *f)
{
    double *owned[] = {f->q, f->v, f->gq, f->gv, f->dq, f->dv, f->dtau, f->dpar};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
    tg_tape_destroy(f->tape);
}

/* from the state of the sim, without cache and controls */
static void fly(flight *f)
{
    sim *s = f->s;
    tg_info worst;
    tg_trajectory out = {f->q, f->v, NULL};
    if (tg_rollout(s->m, s->w, f->tape, &s->options, &(tg_state){s->q, s->v, s->act, NULL},
                   &(tg_controls){.steps = f->steps, .u = f->u}, &out, &worst) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
    assert_int_equal(worst.status, TG_STEP_SOLVED);
}

static void fly_back(flight *f)
{
    sim *s = f->s;
    tg_rollout_gradient in = {.q = f->dq, .v = f->dv, .tau = f->dtau, .params = f->dpar, .dt = &f->dt};
    if (tg_rollout_vjp(s->m, s->w, f->tape, &(tg_trajectory){f->gq, f->gv, NULL}, &in, &f->label) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
}

/* the gradient of q[dof] after the last step */
static void fly_for(flight *f, int dof)
{
    fly(f);
    f->gq[f->steps * f->s->n.nv + dof] = 1;
    fly_back(f);
    f->gq[f->steps * f->s->n.nv + dof] = 0;
}

static double with_respect_to(const flight *f, const char *parameter)
{
    int offset, size;
    assert_int_equal(tg_param_find(f->s->m, parameter, &offset, &size, NULL), TG_OK);
    return f->dpar[offset];
}

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
        sim *s = sim_open(
            text("<mujoco><option timestep='0.001' gravity='0 0 0'/><worldbody>"
                 "<geom name='floor' type='plane' size='5 5 0.1'/><body pos='0 0 0.1'>"
                 "<joint type='slide' axis='0 0 1'/><geom name='ball' type='sphere' size='0.1' mass='1'/></body>"
                 "</worldbody><custom><numeric name='tangere:geom.ball.restitution' data='%g'/></custom>"
                 "</mujoco>",
                 k == 0 ? 1.0 : 0.5));
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
    sim *s =
        sim_open("<mujoco><option timestep='0.001' gravity='0 0 0'/><worldbody>"
                 "<body><joint type='slide' axis='1 0 0'/><geom name='a' type='sphere' size='0.1' mass='1'/></body>"
                 "<body><joint type='slide' axis='1 0 0'/><geom name='b' type='sphere' size='0.1' mass='1'/></body>"
                 "</worldbody><custom><numeric name='tangere:geom.a.restitution' data='1'/></custom></mujoco>");
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

/* The patch slides with spin: every column of dv+/dv, dv+/dtau against differences with h = 1e-6. */
static void test_cube_slides_and_spins(void **state)
{
    (void)state;
    sim *s = sim_open(text(BLOCK, 0.5));
    const double v0[6] = {1, 0.3, 0, 0, 0, 4};
    double q0[7], largest = 0;
    tg_differences *d;
    assert_int_equal(tg_differences_create(s->m, 0, &d, NULL), TG_OK);
    memcpy(s->v, v0, sizeof v0);
    memcpy(q0, s->q, sizeof q0);
    sim_step(s);
    for (int row = 0; row < 6; row++)
    {
        double gv[6] = {0}, v[6], tau[6], fd_v[6], fd_tau[6];
        gv[row] = 1;
        tg_label label = step_gradient(s, gv, &(tg_cotangent){.v = v, .tau = tau});
        assert_int_equal(label.kind, TG_LABEL_EXACT);
        tg_differences_request request = {.options = &s->options, .state = &(tg_state){q0, (double *)v0, NULL, NULL}};
        assert_int_equal(tg_step_differences(s->m, d, &request, &(tg_cotangent){.v = gv},
                                             &(tg_cotangent){.v = fd_v, .tau = fd_tau}, NULL),
                         TG_OK);
        for (int k = 0; k < 6; k++)
        {
            check_near("dv+/dv", v[k], fd_v[k], 1e-8);
            check_near("dv+/dtau", tau[k], fd_tau[k], 1e-8);
            largest = fmax(largest, fabs(v[k]));
        }
    }
    assert_true(largest > 0.9);
    tg_differences_destroy(d);
    sim_close(s);
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

/* The final position with respect to the initial velocity, over 1 s of flight, impacts, sliding and rest, against differences
 * that stay between the changes of mode. */
static void test_tossed_cube(void **state)
{
    (void)state;
    sim *s = sim_open(text(BLOCK, 0.5));
    flight f = take_off(s, 1000, true);
    const double v0[6] = {0.7, 0.2, 0, 0.9, 0.4, 0.6};
    for (int dof = 0; dof < 2; dof++)
    {
        toss(&f, v0, dof);
        double gradient[6];
        fly_for(&f, dof);
        memcpy(gradient, f.dv, sizeof gradient);
        double largest = 0, worst = 0, h = 1e-9;
        for (int k = 0; k < 6; k++)
        {
            double v[6], value[4];
            const double at[4] = {h, -h, h / 2, -h / 2};
            for (int i = 0; i < 4; i++)
            {
                memcpy(v, v0, sizeof v);
                v[k] += at[i];
                value[i] = toss(&f, v, dof);
            }
            double wide = (value[0] - value[1]) / (2 * h), narrow = (value[2] - value[3]) / h;
            double difference = narrow + (narrow - wide) / 3;
            printf("d(x%d)/d(v%d): %.10g, differences %.10g\n", dof, k, gradient[k], difference);
            largest = fmax(largest, fabs(difference));
            worst = fmax(worst, fabs(gradient[k] - difference));
        }
        printf("margin %.3g, %s\n", f.label.margin, tg_label_string(f.label.kind));
        check_below("error of the gradient", worst / fmax(1, largest), 1e-4);
    }
    land(&f);
    sim_close(s);
}

/* ---- tapes ---- */

static sim *open_file(const char *file)
{
    char path[512];
    tg_model *m = NULL;
    tg_error error;
    snprintf(path, sizeof path, "%s/%s", TANGERE_ROOT, file);
    if (tg_load(path, NULL, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    return sim_open_model(m);
}

/* Checkpoints change how much is kept, not one bit of what comes out. */
static void test_checkpoints(void **state)
{
    (void)state;
    const int steps = 100;
    sim *s = open_file("models/quadruped.xml");
    flight f[2] = {take_off(s, steps, false), take_off(s, steps, true)};
    int nv = s->n.nv;
    for (int k = 0; k < 2; k++)
    {
        sim_reset(s);
        for (int i = 0; i < nv; i++)
            s->v[i] = 0.1 * sin(i);
        for (int i = 0; i < (steps + 1) * nv; i++)
        {
            f[k].gq[i] = sin(3 * i);
            f[k].gv[i] = 0.01 * cos(2 * i);
        }
        fly(&f[k]);
        fly_back(&f[k]);
    }
    assert_memory_equal(f[0].q, f[1].q, sizeof(double) * (size_t)((steps + 1) * s->n.nq));
    assert_memory_equal(f[0].dq, f[1].dq, sizeof(double) * (size_t)nv);
    assert_memory_equal(f[0].dv, f[1].dv, sizeof(double) * (size_t)nv);
    assert_memory_equal(f[0].dtau, f[1].dtau, sizeof(double) * (size_t)(steps * nv));
    assert_memory_equal(f[0].dpar, f[1].dpar, sizeof(double) * (size_t)s->n.nparams);
    assert_true(norm(nv, f[0].dv) > 1e-3);
    assert_true(tg_tape_bytes(f[1].tape) < tg_tape_bytes(f[0].tape) / 3);
    land(&f[0]);
    land(&f[1]);
    sim_close(s);
}

/* The last configuration of a walking machine that stands and sways, along a random direction. */
static void test_quadruped(void **state)
{
    (void)state;
    const int steps = 60;
    sim *s = open_file("models/quadruped.xml");
    int nv = s->n.nv, nq = s->n.nq;
    double *u = numbers(steps * s->n.nu), *weight = numbers(nv), *turn = numbers(nv), *q = numbers(nq),
           *v = numbers(nv);
    assert_int_equal(tg_key_get(s->m, 0, NULL, s->q, s->v, s->act, s->u, NULL), TG_OK);
    sim_run(s, 100);
    for (int i = 0; i < steps * s->n.nu; i++)
        u[i] = s->u[i % s->n.nu] + 0.01 * sin(i);
    for (int i = 0; i < nv; i++)
        weight[i] = cos(7 * i);
    flight f = take_off(s, steps, true);
    f.u = u;
    fly(&f);
    memcpy(q, f.q + steps * nq, sizeof(double) * (size_t)nq);
    memcpy(v, s->v, sizeof(double) * (size_t)nv);
    memcpy(f.gq + steps * nv, weight, sizeof(double) * (size_t)nv);
    fly_back(&f);
    assert_int_equal(f.label.kind, TG_LABEL_EXACT);
    double value[2], h = 1e-6, slope = 0;
    for (int k = 0; k < 2; k++)
    {
        for (int i = 0; i < nv; i++)
            s->v[i] = v[i] + (k == 0 ? h : -h) * sin(5 * i);
        fly(&f);
        assert_int_equal(tg_difference(s->m, q, f.q + steps * nq, turn, NULL), TG_OK);
        value[k] = 0;
        for (int i = 0; i < nv; i++)
            value[k] += weight[i] * turn[i];
    }
    for (int i = 0; i < nv; i++)
        slope += f.dv[i] * sin(5 * i);
    check_near("slope", slope, (value[0] - value[1]) / (2 * h), 1e-5 * fmax(1, fabs(slope)));
    assert_true(fabs(slope) > 1e-3);
    free(u);
    free(weight);
    free(turn);
    free(q);
    free(v);
    land(&f);
    sim_close(s);
}

/* Memory with checkpoints grows like the root of the number of steps. */
static void test_tape_memory(void **state)
{
    (void)state;
    sim *s = open_file("models/quadruped.xml");
    size_t bytes[2];
    for (int k = 0; k < 2; k++)
    {
        tg_tape *tape;
        assert_int_equal(tg_tape_create(s->m, k == 0 ? 100 : 10000, true, &tape, NULL), TG_OK);
        bytes[k] = tg_tape_bytes(tape);
        tg_tape_destroy(tape);
    }
    assert_true(bytes[1] < 11 * bytes[0]);
    sim_close(s);
}

static void test_refusals(void **state)
{
    (void)state;
    sim *s = sim_open(text(BLOCK, 0.5));
    flight f = take_off(s, 3, false);
    tg_rollout_gradient in = {.q = f.dq};
    tg_trajectory out = {0};
    tg_state start = {s->q, s->v, s->act, NULL};
    assert_int_equal(tg_rollout_vjp(s->m, s->w, f.tape, &out, &in, NULL), TG_ERR_STALE);
    assert_int_equal(tg_rollout(s->m, s->w, f.tape, NULL, &start, &(tg_controls){.steps = 4}, NULL, NULL),
                     TG_ERR_CAPACITY);
    assert_non_null(strstr(tg_work_message(s->w), "4 steps; the tape has room for 3"));
    assert_int_equal(tg_rollout(s->m, s->w, NULL, NULL, &start, &(tg_controls){.steps = 1}, NULL, NULL),
                     TG_ERR_ARGUMENT);
    fly(&f);
    tg_params *params;
    assert_int_equal(tg_params_create(s->m, &params, NULL), TG_OK);
    assert_int_equal(tg_work_set_params(s->w, params), TG_OK);
    assert_int_equal(tg_rollout_vjp(s->m, s->w, f.tape, &out, &in, NULL), TG_ERR_STALE);
    assert_int_equal(tg_work_set_params(s->w, NULL), TG_OK);
    tg_params_destroy(params);
    tg_error error;
    tg_tape *tape;
    assert_int_equal(tg_tape_create(s->m, 0, false, &tape, &error), TG_ERR_VALUE);
    land(&f);
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stopping_distance),
        cmocka_unit_test(test_ball),
        cmocka_unit_test(test_two_balls),
        cmocka_unit_test(test_pendulum),
        cmocka_unit_test(test_cube_slides_and_spins),
        cmocka_unit_test(test_box_leaves_the_ground),
        cmocka_unit_test(test_no_friction),
        cmocka_unit_test(test_coincident_contacts),
        cmocka_unit_test(test_towards_no_slip),
        cmocka_unit_test(test_mass_of_a_sliding_box),
        cmocka_unit_test(test_tossed_cube),
        cmocka_unit_test(test_checkpoints),
        cmocka_unit_test(test_quadruped),
        cmocka_unit_test(test_tape_memory),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("rollout", tests, NULL, NULL);
}
