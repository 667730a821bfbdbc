/* Explicit laws of contact: known answers, rest, derivatives against differences, refusals. */
#include "flight.h"
#include "support/dynamics_case.h"
#include "tangere/check.h"

/* the ball of the tensegrity paper's appendix: K 1e4, k 100, m 10, 1 ms */
#define BALL                                                                                                           \
    "<mujoco><option timestep='0.001' gravity='0 0 0'/><worldbody><geom name='floor' type='plane' size='1 1 1'/>"      \
    "<body pos='0 0 0.1'><joint type='slide' axis='0 0 1'/><geom name='ball' type='sphere' size='0.1' mass='10'/>"     \
    "</body></worldbody><custom><numeric name='tangere:geom.floor.compliance' data='1e-4'/>"                           \
    "<numeric name='tangere:geom.ball.damping' data='100'/></custom></mujoco>"

static void test_known_answer(void **state)
{
    (void)state;
    const double K = 1e4, k = 100, m = 10, dt = 1e-3, x0 = -1e-3, v0 = -0.5;
    double v1 = v0 - dt * (K * x0 + k * v0) / m, x1 = x0 + dt * v1, v2 = v1 - dt * (K * x1 + k * v1) / m;
    /* d x_1 / d K = -x_0 dt^2 / m,  d x_2 / d K = (2 - K dt^2 / m - k dt / m) d x_1 / d K - x_1 dt^2 / m */
    double d1 = -x0 * dt * dt / m, d2 = (2 - K * dt * dt / m - k * dt / m) * d1 - x1 * dt * dt / m;
    double e1 = -v0 * dt * dt / m, e2 = (2 - K * dt * dt / m - k * dt / m) * e1 - v1 * dt * dt / m;
    double detached = (2 - K * dt * dt / m) * d1 - x1 * dt * dt / m;
    check_near("the paper's", d2, 3.483e-10, 5e-14);
    for (int i = 0; i < 2; i++)
    {
        sim *s = sim_open(BALL);
        s->options.law = "compliant";
        s->options.backward = i == 0 ? TG_BACKWARD_EXACT : TG_BACKWARD_DETACH;
        s->q[0] = x0;
        s->v[0] = v0;
        flight f = take_off(s, 2, false);
        fly_for(&f, 0);
        check_near("v", f.v[2], v2, 1e-14);
        check_near("x", f.q[2], x1 + dt * v2, 1e-16);
        double by_K = -with_respect_to(&f, "geom.floor.compliance") / (K * K);
        check_near("d x / d K", by_K, i == 0 ? d2 : detached, 1e-21);
        if (i == 0)
            check_near("d x / d k", with_respect_to(&f, "geom.ball.damping"), e2, 1e-20);
        assert_int_equal(f.label.kind, i == 0 ? TG_LABEL_EXACT : TG_LABEL_REGULARISED);
        tg_trajectory change = {.q = numbers(3), .v = numbers(3)};
        double *along = numbers(s->n.nparams);
        int offset, size;
        assert_int_equal(tg_param_find(s->m, "geom.floor.compliance", &offset, &size, NULL), TG_OK);
        along[offset] = 1;
        assert_int_equal(tg_rollout_jvp(s->m, s->w, f.tape, 1, &(tg_rollout_gradient){.params = along}, &change, NULL),
                         TG_OK);
        check_near("forward mode", -change.q[2] / (K * K), by_K, 1e-21);
        free(along);
        free(change.q);
        free(change.v);
        land(&f);
        sim_close(s);
    }
}

/* ---- the impulse form ---- */

#define SPHERE                                                                                                         \
    "<mujoco><option timestep='0.001' gravity='0 0 0'/><worldbody><geom name='floor' type='plane' size='1 1 1' "       \
    "friction='0.3'/><body pos='0 0 0.0999'><freejoint/><geom name='ball' type='sphere' size='0.1' mass='2' "          \
    "friction='0.3'/></body></worldbody><custom><numeric name='tangere:geom.floor.restitution' data='0.5'/>"           \
    "</custom></mujoco>"

static void test_impulse_form(void **state)
{
    (void)state;
    const double e = 0.5, beta = 0.2, eta = 0.8, mu = 0.3, dt = 1e-3, depth = 1e-4, mass = 2;
    static const double slips[2] = {0.1, 5}; /* friction stops a share of it, or is at its bound */
    for (int i = 0; i < 2; i++)
    {
        sim *s = sim_open(SPHERE);
        s->options.law = "impulse";
        s->options.push_gain = beta;
        s->options.friction_share = eta;
        s->v[0] = slips[i];
        s->v[2] = -1;
        double normal = mass * ((1 + e) * 1 + beta * depth / dt), tangent;
        double arm = 0.1 - depth / 2; /* of the contact point; inertia 2/5 m r^2 */
        tangent = eta * slips[i] / (1 / mass + arm * arm / (0.4 * mass * 0.01));
        tangent = fmin(tangent, mu * normal);
        sim_step(s);
        check_near("v_z", s->v[2], -1 + normal / mass, 1e-12);
        check_near("v_x", s->v[0], slips[i] - tangent / mass, 1e-12);
        tg_step_contact contact[SIM_CONTACTS];
        assert_int_equal(sim_contacts(s, contact), 1);
        assert_int_equal(contact[0].mode, i == 0 ? TG_CONTACT_STICKING : TG_CONTACT_SLIDING);
        check_near("force", contact[0].force[2], normal / dt, 1e-8);
        /* reverse mode by restitution */
        double g[6] = {0, 0, 1, 0, 0, 0}, *params = numbers(s->n.nparams);
        tg_label label;
        assert_int_equal(tg_step_vjp(s->m, s->w, &(tg_cotangent){.v = g}, &(tg_cotangent){.params = params}, &label),
                         TG_OK);
        int offset, size;
        assert_int_equal(tg_param_find(s->m, "geom.floor.restitution", &offset, &size, NULL), TG_OK);
        check_near("d v / d e", params[offset], 1, 1e-12);
        assert_int_equal(label.kind, TG_LABEL_REGULARISED);
        free(params);
        sim_close(s);
    }
}

/* ---- rest and sliding with the spring ---- */

static const char *const bodies[4] = {
    "<body pos='0 0 0.1'><freejoint/><geom name='a' type='box' size='0.1 0.12 0.1' mass='1'/></body>",
    "<body pos='0 0 0.1'><freejoint/><geom name='b' type='sphere' size='0.1' mass='2'/></body>",
    "<body pos='0 0 0.05'><freejoint/><geom name='c' type='capsule' size='0.05 0.2' euler='0 90 0' mass='0.5'/></body>",
    "<body pos='0 0 0.3'><joint type='slide' axis='0 1 0'/><joint name='j' axis='0 1 0' limited='true' range='-1 1'/>"
    "<geom name='d' type='capsule' fromto='0 0 0 0 0 -0.253' size='0.05' mass='1'/></body>",
};

static sim *open_bodies(double friction, double tilt, int first, int last)
{
    char chosen[2000] = "";
    for (int i = first; i <= last; i++)
        strcat(chosen, bodies[i]);
    sim *s = sim_open(text("<mujoco><option timestep='0.001'/><default><geom friction='%g'/></default><worldbody>"
                           "<geom name='floor' type='plane' size='5 5 0.1' euler='%g 2 0' friction='0'/>%s"
                           "</worldbody><custom><numeric name='tangere:geom.floor.compliance' data='1e-4'/>"
                           "<numeric name='tangere:geom.floor.damping' data='60'/></custom></mujoco>",
                           friction, tilt, chosen));
    s->options.law = "compliant";
    return s;
}

/* a box settles, and what carries it is its weight */
static void test_rest(void **state)
{
    (void)state;
    sim *s = open_bodies(0.8, 1, 0, 0);
    sim_run(s, 1000);
    tg_step_contact contact[SIM_CONTACTS];
    int count = sim_contacts(s, contact);
    double force = 0;
    for (int i = 0; i < count; i++)
        force += contact[i].at.geom2 == tg_find(s->m, TG_GEOM, "a") ? contact[i].force[2] : 0;
    check_near("weight", force, gravity, 1e-2);
    check_below("sinks in by", s->info.penetration, 5e-3);
    sim_close(s);
}

typedef struct outcome
{
    double worst, agree, largest[4];
    int exact, sticking, samples, capped, limited;
} outcome;

static void sample(sim *s, tg_differences *d, outcome *o)
{
    static const char *const pattern[] = {"geom.*.compliance", "geom.*.damping", "geom.*.friction", "body.*.mass"};
    int nv = s->n.nv, np = s->n.nparams, nindex = 0, index[64], kind[64];
    double *q = numbers(s->n.nq), *v = numbers(nv), *gq = numbers(nv), *gv = numbers(nv), *g = numbers(3 * nv + np + 1),
           *f = numbers(3 * nv + np + 1), *dq = numbers(nv), *dv = numbers(nv);
    for (int k = 0; k < 4; k++)
    {
        int found;
        assert_int_equal(tg_param_match(s->m, pattern[k], index + nindex, 64 - nindex, &found, NULL), TG_OK);
        for (int i = 0; i < found; i++)
            kind[nindex + i] = k;
        nindex += found;
    }
    memcpy(q, s->q, sizeof *q * (size_t)s->n.nq);
    memcpy(v, s->v, sizeof *v * (size_t)nv);
    for (int k = 0; k < nv; k++)
    {
        gq[k] = sin(2 * k + 1);
        gv[k] = cos(3 * k + 1);
    }
    tg_label label;
    tg_step_contact contact[SIM_CONTACTS];
    tg_cotangent out = {.q = gq, .v = gv};
    tg_cotangent in = {.q = g, .v = g + nv, .tau = g + 2 * nv, .params = g + 3 * nv, .dt = g + 3 * nv + np};
    sim_step(s);
    int count = sim_contacts(s, contact);
    assert_int_equal(tg_step_vjp(s->m, s->w, &out, &in, &label), TG_OK);
    assert_int_equal(
        tg_step_jvp(s->m, s->w, &(tg_cotangent){.q = gq, .v = gv}, &(tg_cotangent){.q = dq, .v = dv}, NULL), TG_OK);
    double forward = 0, reverse = 0, size = 1;
    for (int k = 0; k < nv; k++)
    {
        forward += gq[k] * dq[k] + gv[k] * dv[k];
        reverse += g[k] * gq[k] + g[nv + k] * gv[k];
        size += fabs(g[k] * gq[k]) + fabs(g[nv + k] * gv[k]);
    }
    o->agree = fmax(o->agree, fabs(forward - reverse) / size);
    o->samples++;
    /* friction below its bound: without how effective masses change with q and with masses */
    bool part = label.kind == TG_LABEL_REGULARISED;
    if ((label.kind == TG_LABEL_EXACT || part) && count > 0)
    {
        o->exact += !part;
        o->sticking += part;
        for (int i = 0; i < count; i++)
            o->capped += contact[i].mode == TG_CONTACT_SLIDING;
        o->limited += s->info.rows > 3 * count;
        tg_cotangent fd = {.q = f, .v = f + nv, .tau = f + 2 * nv, .params = f + 3 * nv, .dt = f + 3 * nv + np};
        tg_differences_request request = {
            .options = &s->options, .state = &(tg_state){q, v, s->act, NULL}, .index = index, .nindex = nindex};
        assert_int_equal(tg_step_differences(s->m, d, &request, &out, &fd, NULL), TG_OK);
        double scale = 1;
        for (int i = 0; i < 2 * nv; i++)
            scale = fmax(scale, fabs(g[i]));
        for (int i = 0; i < 3 * nv + nindex + 1; i++)
        {
            int at = i < 3 * nv ? i : i < 3 * nv + nindex ? 3 * nv + index[i - 3 * nv] : 3 * nv + np;
            bool mass = i >= 3 * nv && i < 3 * nv + nindex && kind[i - 3 * nv] == 3;
            if (isnan(f[at]) || (part && (i < nv || mass)))
                continue;
            /* parameters by their own size, down to what differences resolve: 1e-15 of v+ over displacements of 3e-8 */
            double error = fabs(g[at] - f[at]) / fmax(i < 3 * nv ? scale : 0.1, fabs(f[at]));
            o->worst = fmax(o->worst, error);
            if (error > 1e-6)
                fail_msg("number %d: %.10g, differences %.10g", i, g[at], f[at]);
            if (i >= 3 * nv && i < 3 * nv + nindex)
                o->largest[kind[i - 3 * nv]] = fmax(o->largest[kind[i - 3 * nv]], fabs(g[at]));
        }
    }
    double *owned[] = {q, v, gq, gv, g, f, dq, dv};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

static void test_derivatives(void **state)
{
    (void)state;
    outcome o = {0};
    unsigned seed = 4;
    for (int run = 0; run < 36; run++)
    {
        static const double friction[3] = {0.03, 0.1, 0.8}; /* the last one: mostly below its bound */
        sim *s = open_bodies(friction[run % 3], 3, run % 4, run % 4);
        tg_differences *d = NULL;
        assert_int_equal(tg_differences_create(s->m, 0, &d, NULL), TG_OK);
        for (int k = 0; k < s->n.nv; k++)
            s->v[k] = k % 6 < 2 && run % 3 < 2 ? 2 + test_uniform(&seed) : 0.2 * test_uniform(&seed);
        for (int step = 0; step < 60; step++)
            if (step % 6 == 5)
                sample(s, d, &o);
            else
                sim_step(s);
        tg_differences_destroy(d);
        sim_close(s);
    }
    printf("%d exact and %d sticking of %d, %d contacts at their bound, %d with a limit, worst %.1e, agreement %.1e\n",
           o.exact, o.sticking, o.samples, o.capped, o.limited, o.worst, o.agree);
    printf("largest by compliance, damping, friction, mass: %.1e %.1e %.1e %.1e\n", o.largest[0], o.largest[1],
           o.largest[2], o.largest[3]);
    assert_true(o.exact > o.samples / 4 && o.sticking > 20 && o.capped > 50 && o.limited > 5);
    for (int i = 0; i < 4; i++)
        assert_true(o.largest[i] > 1e-6);
    check_below("forward and reverse mode", o.agree, 1e-10);
}

/* ---- refusals ---- */

static void refused(sim *s, const char *message)
{
    tg_state at = {s->q, s->v, s->act, NULL};
    assert_int_not_equal(tg_step(s->m, s->w, &s->options, &at, NULL, &at, NULL), TG_OK);
    if (strstr(tg_work_message(s->w), message) == NULL)
        fail_msg("'%s' is not in '%s'", message, tg_work_message(s->w));
}

static void test_refusals(void **state)
{
    (void)state;
    sim *s = sim_open(SPHERE);
    s->options.law = "compliant";
    refused(s, "law = compliant: geoms 0 and 1 touch with compliance 0");
    s->options.impact = TG_IMPACT_WITHIN;
    refused(s, "law 'compliant' with impacts within a step");
    s->options.impact = TG_IMPACT_END;
    s->options.law = "impulse";
    s->options.backward = TG_BACKWARD_TOI;
    refused(s, "law 'impulse' with toi derivatives");
    s->options.backward = TG_BACKWARD_EXACT;
    s->options.friction_share = 1.5;
    refused(s, "friction_share = 1.5 must be in (0, 1]");
    s->options.law = "springy";
    refused(s, "unknown law 'springy'");
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_answer), cmocka_unit_test(test_impulse_form),
                                       cmocka_unit_test(test_rest), cmocka_unit_test(test_derivatives),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
