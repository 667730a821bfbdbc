/* Derivatives of impacts with Poisson's restitution: compression and restitution, one behind the other, against central
 * differences. */
#include "flight.h"
#include "support/dynamics_case.h"

typedef struct scene
{
    const char *name, *xml;
    const char *bounces; /* the restitution that counts */
    int states;
    double linear, angular; /* size of random velocities */
    double down;            /* speed of every body towards the floor */
    bool patch;             /* redundant rows: Poisson's bound sees how these share the load, so none is exact by the
                             * convex law without eps */
} scene;

static const scene scenes[] = {
    {"ball",
     "<mujoco><option timestep='0.001'/><worldbody><geom name='floor' type='plane' size='5 5 0.1' friction='0.4'/>"
     "<body name='ball' pos='0 0 0.1'><freejoint/><geom name='ball' type='sphere' size='0.1' mass='2' friction='0.3'/>"
     "</body></worldbody><custom><numeric name='tangere:geom.ball.restitution' data='0.6'/></custom></mujoco>",
     "geom.ball.restitution", 30, 1, 20, 2, false},
    {"box on an edge",
     "<mujoco><option timestep='0.001'/><worldbody><geom name='floor' type='plane' size='5 5 0.1' friction='0.3'/>"
     "<body name='box' pos='0 0 0.1562' quat='0.94 0.2 0.27 0.05'><freejoint/><geom name='box' type='box' "
     "size='0.1 0.12 0.08' mass='1' friction='0.5'/></body></worldbody>"
     "<custom><numeric name='tangere:geom.box.restitution' data='0.8'/></custom></mujoco>",
     "geom.box.restitution", 30, 1, 3, 1.5, false},
    {"box on four corners, a ball in its back",
     "<mujoco><option timestep='0.001'/><worldbody><geom name='floor' type='plane' size='5 5 0.1' "
     "friction='0.2'/><body name='box' pos='0 0 0.1'><freejoint/><geom name='box' type='box' size='0.1 0.1 0.1' "
     "mass='1' "
     "friction='0.3'/></body><body name='ball' pos='0.03 -0.02 0.25'><freejoint/><geom name='ball' type='sphere' "
     "size='0.05' mass='0.5' friction='0.6'/></body></worldbody><custom>"
     "<numeric name='tangere:geom.box.restitution' data='0.4'/><numeric name='tangere:geom.ball.restitution' "
     "data='0.7'/>"
     "</custom></mujoco>",
     "geom.box.restitution", 20, 1, 1, 2, true},
    {"bar with dry friction",
     "<mujoco><option timestep='0.001'/><worldbody><geom name='floor' type='plane' size='5 5 0.1' "
     "friction='0.1'/><body name='bar' pos='0 0 0.2'><joint axis='0 1 0' frictionloss='30'/>"
     "<inertial pos='0.1 0 0' mass='1' diaginertia='0.5 0.5 0.5'/><body pos='0.5 0 0'><joint axis='0 1 0' "
     "damping='0.1' "
     "frictionloss='5'/><geom name='tip' type='sphere' size='0.2' pos='0.5 0 0' mass='0.3' friction='0.2'/></body>"
     "</body></worldbody><custom><numeric name='tangere:geom.tip.restitution' data='0.5'/></custom></mujoco>",
     "geom.tip.restitution", 30, 2, 2, 0, false},
};

typedef struct tally
{
    int compared, inexact, numbers, skipped;
    int bounced; /* states where the restitution counts */
    double worst, largest[5];
} tally;

/* max |a - b| / max(1, max |b|), numbers that could not be differenced left out */
static void compare(tally *t, const char *scene_name, const char *what, int group, int n, const double *a,
                    const double *b)
{
    double worst = 0, size = 1;
    for (int i = 0; i < n; i++)
        size = fmax(size, isnan(b[i]) ? 0 : fabs(b[i]));
    for (int i = 0; i < n; i++)
    {
        t->numbers++;
        t->skipped += isnan(b[i]);
        if (!isnan(b[i]))
        {
            worst = fmax(worst, fabs(a[i] - b[i]) / size);
            t->largest[group] = fmax(t->largest[group], fabs(b[i]));
        }
    }
    t->worst = fmax(t->worst, worst);
    if (worst > 1e-6)
        fail_msg("%s, %s: off by %.2e", scene_name, what, worst);
}

static void throw(sim * s, const scene *c, unsigned *seed)
{
    sim_reset(s);
    for (int i = 0; i < s->n.nv; i++)
        s->v[i] = (s->n.nv < 6 || i % 6 < 3 ? c->linear : c->angular) * test_uniform(seed);
    for (int i = 2; i < s->n.nv; i += 6)
        s->v[i] -= c->down * (1 + i / 6);
}

/* rows of the matrices and forward mode come from reverse mode, row by row: they must agree with it */
static void check_forward(sim *s, const double *gv, const double *g)
{
    int nv = s->n.nv;
    double *J = numbers(nv * nv), *dq = numbers(nv), *dv = numbers(nv), *along = numbers(nv), sum = 0, back = 0;
    assert_int_equal(tg_step_jacobian(s->m, s->w, &(tg_jacobian){.dv_dv = J}), TG_OK);
    for (int k = 0; k < nv; k++)
    {
        double column = 0;
        for (int i = 0; i < nv; i++)
            column += gv[i] * J[i * nv + k];
        check_near("matrix", column, g[k], 1e-10 * fmax(1, fabs(g[k])));
        along[k] = sin(k);
        back += g[k] * along[k];
    }
    assert_int_equal(tg_step_jvp(s->m, s->w, &(tg_cotangent){.v = along}, &(tg_cotangent){.q = dq, .v = dv}, NULL),
                     TG_OK);
    for (int i = 0; i < nv; i++)
        sum += gv[i] * dv[i];
    check_near("forward mode", sum, back, 1e-10 * fmax(1, fabs(back)));
    double *owned[] = {J, dq, dv, along};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
}

static void check_state(sim *s, tg_differences *d, const scene *c, unsigned *seed, tally *t)
{
    int nv = s->n.nv, np = s->n.nparams, size = 3 * nv + 1 + np;
    double *out = numbers(2 * nv), *g = numbers(size), *f = numbers(size), *q = numbers(s->n.nq), *v = numbers(nv);
    for (int i = 0; i < nv; i++)
        out[nv + i] = test_uniform(seed);
    tg_state at = {s->q, s->v, s->act, NULL}, next = {q, v, NULL, NULL};
    tg_cotangent of = {.v = out + nv};
    tg_cotangent in = {.q = g, .v = g + nv, .tau = g + 2 * nv, .dt = g + 3 * nv, .params = g + 3 * nv + 1};
    tg_cotangent fd = {.q = f, .v = f + nv, .tau = f + 2 * nv, .dt = f + 3 * nv, .params = f + 3 * nv + 1};
    tg_label label;
    assert_int_equal(tg_step(s->m, s->w, &s->options, &at, NULL, &next, NULL), TG_OK);
    if (tg_step_vjp(s->m, s->w, &of, &in, &label) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
    for (int i = 0; i < size; i++)
        assert_true(isfinite(g[i]));
    check_forward(s, out + nv, g + nv);
    t->inexact += label.kind != TG_LABEL_EXACT;
    if (label.kind == TG_LABEL_EXACT)
    {
        tg_differences_request request = {.options = &s->options, .state = &at};
        if (tg_step_differences(s->m, d, &request, &of, &fd, NULL) != TG_OK)
            fail_msg("%s", tg_differences_message(d));
        t->compared++;
        compare(t, c->name, "q", 0, nv, g, f);
        compare(t, c->name, "v", 1, nv, g + nv, f + nv);
        compare(t, c->name, "tau", 2, nv, g + 2 * nv, f + 2 * nv);
        compare(t, c->name, "dt", 3, 1, g + 3 * nv, f + 3 * nv);
        compare(t, c->name, "parameters", 4, np, g + 3 * nv + 1, f + 3 * nv + 1);
        int at_bounce, count;
        assert_int_equal(tg_param_find(s->m, c->bounces, &at_bounce, &count, NULL), TG_OK);
        t->bounced += fabs(in.params[at_bounce]) > 1e-3;
    }
    double *owned[] = {out, g, f, q, v};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
}

static void check_scenes(const char *law, double eps)
{
    bool unrelaxed = strcmp(law, "ncp") == 0;
    for (size_t k = 0; k < sizeof scenes / sizeof scenes[0]; k++)
    {
        const scene *c = &scenes[k];
        sim *s = sim_open(c->xml);
        tg_differences *d = NULL;
        tg_error error;
        unsigned seed = 5;
        tally t = {0};
        s->options.restitution = TG_RESTITUTION_POISSON;
        s->options.law = law;
        s->options.eps = eps;
        if (!unrelaxed) /* differences see what is left of the residual */
            s->options.tolerance = 1e-12;
        assert_int_equal(tg_differences_create(s->m, 0, &d, &error), TG_OK);
        for (int i = 0; i < c->states / (TEST_EFFORT > 1 ? 4 : 1); i++)
        {
            throw(s, c, &seed);
            check_state(s, d, c, &seed, &t);
        }
        printf("%s, eps %g, %s: %d states, %d not exact, %d of %d numbers not differenced, worst %.1e\n", law, eps,
               c->name, t.compared, t.inexact, t.skipped, t.numbers, t.worst);
        tg_differences_destroy(d);
        sim_close(s);
        if (c->patch && !unrelaxed && eps == 0)
        {
            assert_int_equal(t.compared, 0);
            continue;
        }
        assert_true(t.inexact <= t.compared);
        assert_true(4 * t.bounced >= t.compared);
        for (int i = 0; i < 5; i++)
            assert_true(t.largest[i] > 1e-4);
    }
}

static void test_scenes(void **state)
{
    (void)state;
    check_scenes("ncp", 0);
}

static void test_convex_scenes(void **state)
{
    (void)state;
    check_scenes("ccp", 0);
    check_scenes("ccp", 0.01);
}

/* A ball that bounces four times: how its last velocities follow those of the start, which do not move the impacts,
 * with a tape of all steps and with checkpoints. */
static void test_rollout(void **state)
{
    (void)state;
    const int steps = 400, along[] = {0, 1, 3, 4, 5};
    double gradient[2][5];
    for (int checkpoints = 0; checkpoints < 2; checkpoints++)
    {
        sim *s = sim_open(scenes[0].xml);
        s->options.restitution = TG_RESTITUTION_POISSON;
        flight f = take_off(s, steps, checkpoints == 1);
        sim_reset(s);
        const double start[6] = {0.3, -0.2, -1, 25, -18, 7};
        memcpy(s->v, start, sizeof start);
        for (int i = 0; i < 6; i++)
            f.gv[steps * 6 + i] = sin(2 + i);
        fly(&f);
        fly_back(&f);
        assert_int_equal(f.label.kind, TG_LABEL_EXACT);
        int bounces = 0;
        for (int t = 0; t < steps; t++)
            bounces += f.v[6 * t + 2] < 0 && f.v[6 * (t + 1) + 2] > 0;
        assert_true(bounces >= 2);
        for (int k = 0; k < 5; k++)
        {
            double value[2], h = 1e-5;
            gradient[checkpoints][k] = f.dv[along[k]];
            for (int side = 0; side < 2; side++)
            {
                sim_reset(s);
                memcpy(s->v, start, sizeof start);
                s->v[along[k]] += side == 0 ? h : -h;
                sim_run(s, steps);
                value[side] = 0;
                for (int i = 0; i < 6; i++)
                    value[side] += sin(2 + i) * s->v[i];
            }
            check_near("slope", gradient[checkpoints][k], (value[0] - value[1]) / (2 * h), 1e-6);
            assert_true(fabs(gradient[checkpoints][k]) > 1e-3);
        }
        land(&f);
        sim_close(s);
    }
    assert_memory_equal(gradient[0], gradient[1], sizeof gradient[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scenes), cmocka_unit_test(test_convex_scenes),
                                       cmocka_unit_test(test_rollout)};
    return cmocka_run_group_tests_name("poisson_gradient", tests, NULL, NULL);
}
