/* Labels and derivatives of controls, forces and activations at and near the bounds at which they are clamped; steps
 * that do not depend on their cache. */
#include "flight.h"

#define ACTUATED                                                                                                       \
    "<mujoco><worldbody><body><joint name='j'%s/><geom size='0.1' mass='1' pos='0 0 -0.5'/></body></worldbody>"        \
    "<actuator><general joint='j' %s/></actuator></mujoco>"

typedef struct bound
{
    const char *joint, *actuator;
    double u, act; /* exactly on a bound */
} bound;

static const bound cases[] = {
    {"", "ctrllimited='true' ctrlrange='-0.4 0.7'", 0.7, 0},
    {"", "ctrllimited='true' ctrlrange='-0.4 0.7'", -0.4, 0},
    {"", "gainprm='2' forcelimited='true' forcerange='-1 1'", 0.5, 0},
    {" actuatorfrclimited='true' actuatorfrcrange='-3 1'", "gainprm='2'", 0.5, 0},
    {"", "dyntype='integrator' actlimited='true' actrange='-1 1'", 0, 1},
};

/* d v+ (activations: d act+) / d of what is clamped, by the label's derivative and by differences of both sides */
static double response(sim *s, double u, double act, tg_label *label, double *slope)
{
    double q[1] = {0}, v[1] = {0}, a[1] = {act}, qn[1], vn[1], an[1] = {0}, gu, ga, one = 1;
    tg_state in = {q, v, s->n.na ? a : NULL, NULL}, out = {qn, vn, s->n.na ? an : NULL, NULL};
    assert_int_equal(tg_step(s->m, s->w, &s->options, &in, &(tg_control){.u = &u}, &out, NULL), TG_OK);
    tg_cotangent from = s->n.na ? (tg_cotangent){.act = &one} : (tg_cotangent){.v = &one},
                 back = {.u = &gu, .act = &ga};
    assert_int_equal(tg_step_vjp(s->m, s->w, &from, &back, label), TG_OK);
    *slope = s->n.na ? ga : gu;
    return s->n.na ? an[0] : vn[0];
}

static void test_bounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        const bound *c = &cases[i];
        sim *s = sim_open(text(ACTUATED, c->joint, c->actuator));
        tg_label label;
        bool act = s->n.na > 0;
        double inward = (act ? c->act : c->u) > 0 ? -1 : 1, h = 1e-4, slope, away, none, near;
        double at = response(s, c->u, c->act, &label, &slope);
        assert_int_equal(label.kind, TG_LABEL_ONE_SIDED);
        check_near("margin", label.margin, 0, 0);
        double in = response(s, c->u + (act ? 0 : inward * h), c->act + (act ? inward * h : 0), &label, &away);
        assert_int_equal(label.kind, TG_LABEL_EXACT);
        check_below("margin", fabs(label.margin - (i == 2 || i == 3 ? 2 * h : h)), 1e-12);
        check_near("slope of the inner side", slope, (in - at) / (inward * h), 1e-8);
        check_near("slope inside", away, slope, 1e-12);
        assert_true(fabs(slope) > 1e-4);
        response(s, c->u - (act ? 0 : inward * h), c->act - (act ? inward * h : 0), &label, &none);
        assert_int_equal(label.kind, TG_LABEL_EXACT);
        assert_true(none == 0 && label.margin < 1e-3);
        if (!act) /* a policy in single precision */
        {
            response(s, (double)(float)c->u, c->act, &label, &near);
            assert_int_equal(label.kind, TG_LABEL_ONE_SIDED);
            check_near("slope in single precision", near, slope, 1e-12);
        }
        sim_close(s);
    }
}

/* the cache changes no bit of a cold step, nor of the cache that it leaves; it does of others */
static void test_cold(void **state)
{
    (void)state;
    bool differs = false;
    for (int cold = 0; cold < 2; cold++)
    {
        sim *s = open_file("models/humanoid36.xml");
        double *q = numbers(s->n.nq), *v = numbers(s->n.nv);
        tg_cache_entry entry[SIM_CONTACTS];
        tg_cache cache = {.capacity = SIM_CONTACTS, .entry = entry};
        s->options.cold = cold;
        for (int i = 0; i < s->n.nv; i++)
            s->v[i] = noise();
        for (int t = 0; t < 300; t++)
        {
            tg_state in = {s->q, s->v, s->act, NULL}, out = {q, v, s->act, &cache};
            assert_int_equal(tg_step(s->m, s->w, &s->options, &in, NULL, &out, NULL), TG_OK);
            sim_step(s);
            bool same = memcmp(v, s->v, sizeof(double) * (size_t)s->n.nv) == 0 && cache.count == s->cache.count &&
                        memcmp(entry, s->cache.entry, sizeof *entry * (size_t)cache.count) == 0;
            assert_true(same || !cold);
            differs = differs || !same;
        }
        free(q);
        free(v);
        sim_close(s);
    }
    assert_true(differs);
}

/* a tolerance that nothing meets, a lever at which nothing turns: numbers all the same, and those of other steps */
static void test_extreme_units(void **state)
{
    (void)state;
    const double tolerance[] = {1e-8, 1e-300, 1e-16}, lever[] = {1, 1, 1e-300};
    double usual = 0;
    for (int i = 0; i < 3; i++)
    {
        sim *s = open_file("models/humanoid36.xml");
        s->options.tolerance = tolerance[i];
        s->options.lever = lever[i];
        for (int t = 0; t < 60; t++)
        {
            tg_state x = {s->q, s->v, s->act, &s->cache};
            assert_int_equal(tg_step(s->m, s->w, &s->options, &x, NULL, &x, &s->info), TG_OK);
            check_below("residual", s->info.residual, 1e-8);
        }
        usual = i == 0 ? s->q[2] : usual;
        check_near("height", s->q[2], usual, 1e-6);
        sim_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds), cmocka_unit_test(test_cold),
                                       cmocka_unit_test(test_extreme_units)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
