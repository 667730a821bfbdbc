/* Implicit bias forces: stable where explicit ones explode, and differentiated. */
#include "support/random_scene.h"

#include "flight.h"

#define TUMBLING                                                                                                       \
    "<mujoco><option gravity='0 0 0' integrator='%s'/><worldbody><body><freejoint/>"                                   \
    "<geom type='box' size='0.1 0.2 0.3' mass='1'/></body></worldbody></mujoco>"

/* 1,100 rad/s and 5 ms: explicit bias forces explode, and say so before the box is ten times as fast. */
static void test_tumbling_box(void **state)
{
    (void)state;
    for (int implicit = 0; implicit < 2; implicit++)
    {
        sim *s = sim_open(text(TUMBLING, implicit ? "implicit" : "Euler"));
        s->options.dt = 0.005;
        s->v[3] = 300, s->v[4] = 1000, s->v[5] = 250;
        double first = sim_energy(s), most = first, said = INFINITY;
        for (int t = 0; t < 2000 && most < 1e6 * first; t++)
        {
            tg_state x = {s->q, s->v, s->act, &s->cache};
            assert_int_equal(tg_step(s->m, s->w, &s->options, &x, NULL, &x, &s->info), TG_OK);
            most = fmax(most, s->info.kinetic);
            if (s->info.status == TG_STEP_UNSTABLE)
                said = fmin(said, s->info.kinetic);
        }
        if (implicit)
            check_below("energy", most, (1 + 1e-12) * first);
        else
            assert_true(most > 100 * first && said < 100 * first);
        assert_int_equal(isfinite(said), !implicit);
        sim_close(s);
    }
}

/* e to a random power between low and high */
static double drawn(double low, double high)
{
    return low * pow(high / low, 0.5 * (noise() + 1));
}

/* Any box, speed and time step: no free step gains energy, and what it loses is x . I x / 2. */
static void test_no_gain(void **state)
{
    (void)state;
    for (int k = 0; k < 400 / TEST_EFFORT; k++)
    {
        sim *s = sim_open(text("<mujoco><option gravity='0 0 0' integrator='implicit'/><worldbody><body><freejoint/>"
                               "<geom type='box' size='%g %g %g' mass='%g'/></body></worldbody></mujoco>",
                               drawn(0.01, 0.5), drawn(0.01, 0.5), drawn(0.01, 0.5), drawn(0.01, 10)));
        double speed = drawn(1, 1e4), energy;
        s->options.dt = drawn(5e-4, 1e-2);
        for (int i = 3; i < 6; i++)
            s->v[i] = speed * noise();
        energy = sim_energy(s);
        for (int t = 0; t < 100; t++)
        {
            double before[3] = {s->v[3], s->v[4], s->v[5]};
            sim_step(s);
            assert_int_equal(s->info.status, TG_STEP_SOLVED);
            double now = s->info.kinetic, M[36], lost = 0;
            assert_int_equal(tg_mass_matrix(s->m, s->w, s->q, M), TG_OK);
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    lost += 0.5 * M[6 * (i + 3) + j + 3] * (s->v[3 + i] - before[i]) * (s->v[3 + j] - before[j]);
            check_near("energy", now, energy - lost, 1e-11 * energy);
            energy = now;
        }
        sim_close(s);
    }
}

/* as the model asks */
static void test_default(void **state)
{
    (void)state;
    static const char *const integrator[] = {"Euler", "implicitfast", "implicit"};
    double v[3][3];
    for (int i = 0; i < 3; i++)
        for (int asked = 0; asked < 2; asked++)
        {
            sim *s = sim_open(text(TUMBLING, integrator[i]));
            assert_int_equal(tg_model_implicit_gyroscopic(s->m), i == 2);
            if (asked)
                s->options.implicit_gyroscopic = i == 2 ? TG_ON : TG_OFF;
            s->v[3] = 3, s->v[4] = 1, s->v[5] = 2;
            sim_step(s);
            if (asked)
                assert_memory_equal(s->v + 3, v[i], sizeof v[i]);
            memcpy(v[i], s->v + 3, sizeof v[i]);
            sim_close(s);
        }
    assert_memory_equal(v[0], v[1], sizeof v[0]);
    assert_true(fabs(v[0][0] - v[2][0]) > 1e-6);
}

/* ---- derivatives ---- */

typedef struct gradient
{
    double *q, *v, *act, *u, *tau, *params, dt;
} gradient;

static gradient gradient_for(const sim *s)
{
    return (gradient){numbers(s->n.nv),
                      numbers(s->n.nv),
                      numbers(s->n.na),
                      numbers(s->n.nu),
                      numbers(s->n.nv),
                      numbers(s->n.nparams),
                      0};
}

static void gradient_free(gradient *g)
{
    double *owned[] = {g->q, g->v, g->act, g->u, g->tau, g->params};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
}

static tg_cotangent as_cotangent(gradient *g)
{
    return (tg_cotangent){
        .q = g->q, .v = g->v, .act = g->act, .u = g->u, .tau = g->tau, .dt = &g->dt, .params = g->params};
}

/* the largest difference over the largest entry; NaN: not differenced */
static double apart(int n, const double *a, const double *b, int *compared)
{
    double worst = 0, size = 1;
    for (int i = 0; i < n; i++)
        size = isnan(b[i]) ? size : fmax(size, fabs(b[i]));
    for (int i = 0; i < n; i++)
    {
        if (isnan(b[i]))
            continue;
        worst = fmax(worst, fabs(a[i] - b[i]) / size);
        *compared += b[i] != 0;
    }
    return worst;
}

/* Reverse mode against forward mode along a random change, and how far it is from differences; 0 where it is not
 * labelled exact. */
static double error_of(sim *s, const char *name, int *compared)
{
    enum
    {
        INDICES = 24
    };
    gradient a = gradient_for(s), b = gradient_for(s), d = gradient_for(s), o = gradient_for(s), j = gradient_for(s);
    int index[INDICES];
    tg_label label;
    for (int i = 0; i < s->n.nv; i++)
    {
        o.q[i] = noise(), o.v[i] = noise();
        d.q[i] = noise(), d.v[i] = noise(), d.tau[i] = noise();
    }
    for (int i = 0; i < s->n.nu; i++)
        d.u[i] = noise();
    for (int i = 0; i < INDICES; i++)
        index[i] = (int)((noise() + 1) / 2 * s->n.nparams);
    tg_state in = {s->q, s->v, s->act, NULL}, out = {numbers(s->n.nq), numbers(s->n.nv), numbers(s->n.na), NULL};
    tg_control control = {.u = s->u};
    if (tg_step(s->m, s->w, &s->options, &in, &control, &out, NULL) != TG_OK)
        fail_msg("%s: %s", name, tg_work_message(s->w));
    tg_cotangent from = {.q = o.q, .v = o.v}, back = as_cotangent(&a),
                 along = {.q = d.q, .v = d.v, .u = d.u, .tau = d.tau}, change = {.q = j.q, .v = j.v};
    assert_int_equal(tg_step_vjp(s->m, s->w, &from, &back, &label), TG_OK);
    assert_int_equal(tg_step_jvp(s->m, s->w, &along, &change, NULL), TG_OK);
    double forward = 0, reverse = 0, size = 1;
    for (int i = 0; i < s->n.nv; i++)
    {
        forward += o.q[i] * j.q[i] + o.v[i] * j.v[i];
        reverse += a.q[i] * d.q[i] + a.v[i] * d.v[i] + a.tau[i] * d.tau[i];
        size = fmax(size, fmax(fabs(a.q[i]), fmax(fabs(a.v[i]), fabs(a.tau[i]))));
    }
    for (int i = 0; i < s->n.nu; i++)
        reverse += a.u[i] * d.u[i];
    check_near("forward mode", forward, reverse, 1e-10 * size);
    tg_differences *judge_of = NULL;
    assert_int_equal(tg_differences_create(s->m, 0, &judge_of, NULL), TG_OK);
    tg_differences_request request = {
        .options = &s->options, .state = &in, .control = &control, .index = index, .nindex = INDICES};
    for (int i = 0; i < s->n.nparams; i++)
        b.params[i] = NAN;
    tg_cotangent there = as_cotangent(&b);
    assert_int_equal(tg_step_differences(s->m, judge_of, &request, &from, &there, NULL), TG_OK);
    double worst = fmax(apart(s->n.nv, a.q, b.q, compared), apart(s->n.nv, a.v, b.v, compared));
    worst = fmax(worst, fmax(apart(s->n.nu, a.u, b.u, compared), apart(s->n.nv, a.tau, b.tau, compared)));
    worst = fmax(worst, fmax(apart(1, &a.dt, &b.dt, compared), apart(s->n.nparams, a.params, b.params, compared)));
    tg_differences_destroy(judge_of);
    gradient *all[] = {&a, &b, &d, &o, &j};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        gradient_free(all[i]);
    free(out.q), free(out.v), free(out.act);
    return label.kind == TG_LABEL_EXACT ? worst : 0;
}

static void judge(sim *s, const char *name, int *compared)
{
    double off = error_of(s, name, compared), bound = 2e-6;
    if (off > bound)
        fail_msg("%s: %g off", name, off);
}

static void judge_model(sim *s, const char *name, int states, int *compared)
{
    s->options.energy = false;
    s->options.implicit_gyroscopic = TG_ON;
    for (int k = 0; k < states; k++)
    {
        sim_reset(s);
        for (int i = 0; i < s->n.nv; i++)
            s->v[i] = 10 * noise();
        for (int i = 0; i < s->n.nu; i++)
            s->u[i] = 0.3 * noise();
        judge(s, name, compared);
    }
}

static void test_derivatives(void **state)
{
    (void)state;
    static const char *const file[] = {"models/arm.xml",           "models/cable_toy.xml", "models/cube.xml",
                                       "models/planar_walker.xml", "models/quadruped.xml", "models/humanoid36.xml"};
    int compared = 0;
    size_t most = sizeof file / sizeof file[0] - (TEST_EFFORT > 1 ? 2 : 0); /* these take minutes with sanitizers */
    for (size_t i = 0; i < most; i++)
    {
        sim *s = open_file(file[i]);
        judge_model(s, file[i], 2, &compared);
        sim_close(s);
    }
    for (unsigned seed = 51; seed < 51 + 10 / TEST_EFFORT; seed++) /* 50: a state that takes half a minute */
    {
        char *scene = random_scene(seed);
        sim *s = sim_open(scene);
        judge_model(s, text("scene %u", seed), 1, &compared);
        sim_close(s);
        free(scene);
    }
    assert_true(compared > 500 / TEST_EFFORT);
}

/* Boxes that turn by radians in a step. */
static void test_fast_derivatives(void **state)
{
    (void)state;
    int compared = 0;
    for (int k = 0; k < 60 / TEST_EFFORT; k++)
    {
        sim *s = sim_open(text("<mujoco><option integrator='implicit'/><worldbody><body><freejoint/>"
                               "<geom type='box' size='%g %g %g' mass='%g'/></body></worldbody></mujoco>",
                               drawn(0.02, 0.5), drawn(0.02, 0.5), drawn(0.02, 0.5), drawn(0.01, 10)));
        double speed = drawn(100, 4000);
        s->options.energy = false;
        s->options.dt = drawn(1e-3, 5e-3);
        for (int i = 3; i < 6; i++)
            s->v[i] = speed * noise();
        judge(s, text("%g rad/s, %g s", speed, s->options.dt), &compared);
        sim_close(s);
    }
    assert_true(compared > 600 / TEST_EFFORT);
}

/* a bounce by Poisson's law: the velocities after compression have the same bias forces in them */
static void test_poisson(void **state)
{
    (void)state;
    int compared = 0;
    sim *s = sim_open("<mujoco><custom><numeric name='tangere:geom.ball.restitution' data='0.7'/></custom><worldbody>"
                      "<geom type='plane' size='5 5 1'/><body pos='0 0 0.099'><freejoint/>"
                      "<geom name='ball' type='ellipsoid' size='0.1 0.12 0.1' mass='1'/></body></worldbody></mujoco>");
    s->options.implicit_gyroscopic = TG_ON;
    s->options.restitution = TG_RESTITUTION_POISSON;
    s->options.energy = false;
    s->v[0] = 1, s->v[2] = -2, s->v[3] = 30, s->v[4] = 5, s->v[5] = -20;
    judge(s, "Poisson", &compared);
    assert_true(compared > 15);
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tumbling_box),     cmocka_unit_test(test_no_gain),
                                       cmocka_unit_test(test_default),          cmocka_unit_test(test_derivatives),
                                       cmocka_unit_test(test_fast_derivatives), cmocka_unit_test(test_poisson)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
