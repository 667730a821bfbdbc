/* backward = unrolled: the derivative of a fixed number of alternations of solver "staggered" against differences of
 * the same step, cold and from the impulses of the step before, and its distance from the derivative of the law. */
#include "step_test.h"

enum
{
    MOST = 16,    /* nv, nq */
    CONTACTS = 8, /* of the cache */
    COUNTS = 5,
    STATES = 6
};

static const int alternations[COUNTS] = {1, 2, 3, 5, 10};

/* a box on a slope, a ball with rolling friction, a finger with dry friction and a limit that drags over the floor */
static const char *const models[] = {
    "<mujoco><option timestep='0.002'/><default><geom friction='0.31'/></default><worldbody>"
    "<geom name='floor' type='plane' size='5 5 0.1' euler='4 3 0' friction='0.3'/><body pos='0 0 0.1'><freejoint/>"
    "<geom type='box' size='0.1 0.1 0.1' mass='1'/></body></worldbody></mujoco>",

    "<mujoco><option timestep='0.002'/><default><geom friction='0.4 0.01 0.02' condim='6'/></default><worldbody>"
    "<geom name='floor' type='plane' size='5 5 0.1' euler='4 3 0' friction='0.3 0.009 0.01'/><body pos='0 0 0.1'>"
    "<freejoint/><geom type='ellipsoid' size='0.1 0.12 0.1' mass='1'/></body></worldbody></mujoco>",

    "<mujoco><option timestep='0.002'/><default><geom friction='0.5'/><joint axis='0 1 0' damping='0.1'/></default>"
    "<worldbody><geom name='floor' type='plane' size='5 5 0.1' friction='0.4'/><body pos='0 0 0.4'>"
    "<joint type='slide' axis='1 0 0' frictionloss='0.5'/><joint frictionloss='0.2'/>"
    "<geom type='capsule' size='0.02' fromto='0 0 0 0.2 0 -0.2' mass='0.5'/><body pos='0.2 0 -0.2'>"
    "<joint range='-30 0.05' limited='true'/><geom type='capsule' size='0.02' fromto='0 0 0 0.1 0 -0.18' mass='0.3'/>"
    "</body></body></worldbody></mujoco>"};

typedef struct probe
{
    sim *s;
    tg_params *params;
    double q[MOST], v[MOST];
    tg_cache_entry entry[CONTACTS];
    tg_cache cache;
} probe;

static void step_once(probe *p, const double *q, const double *v, const double *tau, double *next)
{
    sim *s = p->s;
    double out_q[MOST];
    tg_state in = {(double *)q, (double *)v, NULL, &p->cache}, out = {out_q, next, NULL, NULL};
    if (tg_step(s->m, s->w, &s->options, &in, &(tg_control){.tau = tau}, &out, &s->info) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
}

/* number k of q, v, tau or the parameters is moved by h; g . v+ */
static double moved(probe *p, int block, int k, double h, const double *g)
{
    sim *s = p->s;
    double q[MOST], v[MOST], tau[MOST], dq[MOST] = {0}, next[MOST], sum = 0, *params = tg_params_data(p->params);
    double kept = block == 3 ? params[k] : 0;
    memcpy(v, p->v, sizeof v);
    memcpy(tau, s->tau, sizeof(double) * (size_t)s->n.nv);
    memcpy(q, p->q, sizeof q);
    if (block == 0)
    {
        dq[k] = h;
        assert_int_equal(tg_integrate(s->m, p->q, dq, q, NULL), TG_OK);
    }
    if (block == 1)
        v[k] += h;
    if (block == 2)
        tau[k] += h;
    if (block == 3)
        params[k] += h;
    assert_int_equal(tg_params_changed(p->params, NULL), TG_OK);
    step_once(p, q, v, tau, next);
    if (block == 3)
        params[k] = kept;
    assert_int_equal(tg_params_changed(p->params, NULL), TG_OK);
    for (int i = 0; i < s->n.nv; i++)
        sum += g[i] * next[i];
    return sum;
}

/* spread: how far three consecutive sizes of the step disagree, at best. Two may agree by chance where the inner solves
 * of the alternations end elsewhere at every step. */
static double difference(probe *p, int block, int k, const double *g, double *spread)
{
    static const double steps[] = {1e-4, 1e-5, 1e-6, 1e-7};
    double best = NAN, d[4];
    *spread = INFINITY;
    for (int i = 0; i < 4; i++)
    {
        double h = steps[i] * (block == 2 ? 10 : 1);
        d[i] = (8 * (moved(p, block, k, h, g) - moved(p, block, k, -h, g)) -
                (moved(p, block, k, 2 * h, g) - moved(p, block, k, -2 * h, g))) /
               (12 * h);
        double off = i < 2 ? INFINITY : fmax(fabs(d[i] - d[i - 1]), fabs(d[i - 1] - d[i - 2]));
        if (off < *spread)
        {
            *spread = off;
            best = d[i - 1];
        }
    }
    return best;
}

typedef struct totals
{
    int compared, skipped;
    double error, largest, agreement;
} totals;

/* parameters that move the step smoothly: masses, friction, dry friction, damping, radii */
static bool counts(const tg_model *m, int k)
{
    static const char *const parts[] = {".mass", "friction", "frictionloss", "damping", ".size"};
    char name[128];
    assert_int_equal(tg_param_name(m, k, false, name, sizeof name, NULL), TG_OK);
    bool any = false;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        any = any || strstr(name, parts[i]) != NULL;
    return any;
}

static void compare(probe *p, totals *t)
{
    sim *s = p->s;
    int nv = s->n.nv, count[4] = {nv, nv, nv, s->n.nparams};
    double g[MOST], next[MOST], q[MOST], v[MOST], tau[MOST], direction[MOST], out_v[MOST], *params = numbers(count[3]);
    double *found[4] = {q, v, tau, params}, forward = 0, reverse = 0, size = 1;
    tg_cotangent in = {.q = q, .v = v, .tau = tau, .params = params};
    tg_label label;
    for (int i = 0; i < nv; i++)
    {
        g[i] = noise();
        direction[i] = noise();
    }
    step_once(p, p->q, p->v, s->tau, next);
    if (tg_step_vjp(s->m, s->w, &(tg_cotangent){.v = g}, &in, &label) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
    assert_int_equal(label.kind, TG_LABEL_REGULARISED);
    assert_int_equal(tg_step_jvp(s->m, s->w, &(tg_cotangent){.q = direction}, &(tg_cotangent){.v = out_v}, NULL),
                     TG_OK);
    for (int i = 0; i < nv; i++)
    {
        forward += g[i] * out_v[i];
        reverse += direction[i] * q[i];
        size += fabs(g[i] * out_v[i]) + fabs(direction[i] * q[i]);
    }
    t->agreement = fmax(t->agreement, fabs(forward - reverse) / size);
    for (int block = 0; block < 4; block++)
        for (int k = 0; k < count[block]; k++)
        {
            double spread, a = found[block][k];
            assert_true(isfinite(a));
            if (block == 3 && (!counts(s->m, k) || tg_params_view(p->params)[k] < 1e-3)) /* at the edge of its domain */
                continue;
            double b = difference(p, block, k, g, &spread), scale = fmax(1, fabs(b));
            if (!(spread < 2e-7 * scale)) /* a change of mode within the steps */
            {
                t->skipped++;
                continue;
            }
            t->compared++;
            t->largest = fmax(t->largest, fabs(a));
            if (fabs(a - b) > 1e-6 * scale)
                print_message("block %d number %d: %.10g, differences %.10g (%d alternations)\n", block, k, a, b,
                              s->options.staggered_steps);
            t->error = fmax(t->error, fabs(a - b) / scale);
        }
    free(params);
}

static probe open_probe(const char *model, int steps, bool warm)
{
    probe p = {.s = sim_open(model)};
    sim *s = p.s;
    assert_true(s->n.nq <= MOST && s->n.nv <= MOST);
    assert_int_equal(tg_params_create(s->m, &p.params, NULL), TG_OK);
    assert_int_equal(tg_work_set_params(s->w, p.params), TG_OK);
    for (int i = 0; i < 60; i++) /* comes to lie on the floor */
        sim_step(s);
    for (int i = 0; i < s->n.nv; i++)
    {
        s->v[i] += 0.3 * noise();
        s->tau[i] = 0.3 * noise();
    }
    memcpy(p.q, s->q, sizeof(double) * (size_t)s->n.nq);
    memcpy(p.v, s->v, sizeof(double) * (size_t)s->n.nv);
    p.cache = (tg_cache){.capacity = CONTACTS};
    for (int i = 0; warm && i < s->cache.count && i < CONTACTS; i++)
        p.entry[p.cache.count++] = s->cache.entry[i];
    s->options.solver = "staggered";
    s->options.staggered_steps = steps;
    s->options.backward = TG_BACKWARD_UNROLLED;
    s->options.tolerance = 1e-13;
    return p;
}

static void unrolled(void **state)
{
    (void)state;
    for (int warm = 0; warm < 2; warm++)
        for (size_t model = 0; model < sizeof models / sizeof models[0]; model++)
        {
            totals t = {0};
            for (int c = 0; c < COUNTS; c++)
                for (int i = 0; i < STATES; i++)
                {
                    probe p = open_probe(models[model], alternations[c], warm);
                    p.cache.entry = p.entry;
                    compare(&p, &t);
                    tg_work_set_params(p.s->w, NULL);
                    tg_params_destroy(p.params);
                    sim_close(p.s);
                }
            print_message(
                "model %zu, %s: %d compared, %d skipped, error %.1e, largest %.2g, forward and reverse %.1e\n", model,
                warm ? "warm" : "cold", t.compared, t.skipped, t.error, t.largest, t.agreement);
            check_below("error", t.error, 1e-6);
            check_below("forward and reverse mode", t.agreement, 1e-10);
            assert_true(t.skipped * 20 <= t.compared && t.compared > 500);
            assert_true(t.largest > 0.5);
        }
}

static void refused(void **state)
{
    (void)state;
    sim *s = sim_open(models[0]);
    tg_state at = {s->q, s->v, NULL, NULL};
    const struct
    {
        const char *solver, *part;
        int steps;
        tg_restitution restitution;
        tg_impact impact;
    } bad[] = {{"newton", "solver = staggered", 3, TG_RESTITUTION_NEWTON, TG_IMPACT_END},
               {"staggered", "staggered_steps > 0", 0, TG_RESTITUTION_NEWTON, TG_IMPACT_END},
               {"staggered", "Poisson", 3, TG_RESTITUTION_POISSON, TG_IMPACT_END},
               {"staggered", "within", 3, TG_RESTITUTION_NEWTON, TG_IMPACT_WITHIN}};
    s->options.backward = TG_BACKWARD_UNROLLED;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    {
        s->options.solver = bad[i].solver;
        s->options.staggered_steps = bad[i].steps;
        s->options.restitution = bad[i].restitution;
        s->options.impact = bad[i].impact;
        assert_int_equal(tg_step(s->m, s->w, &s->options, &at, NULL, &at, NULL), TG_ERR_UNSUPPORTED);
        if (strstr(tg_work_message(s->w), bad[i].part) == NULL)
            fail_msg("'%s' is not in '%s'", bad[i].part, tg_work_message(s->w));
    }
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unrolled), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
