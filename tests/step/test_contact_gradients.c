/* Derivatives of contact forces and points: reverse mode against central differences, matrices against reverse mode. */
#include "flight.h"
#include "support/dynamics_case.h"

enum
{
    MOST = 64 /* contacts */
};

typedef struct scene
{
    const char *name, *file, *mjcf;
    double speed, push;
    int steps, every;
} scene;

#define BODIES                                                                                                         \
    "<mujoco><option timestep='0.002'/><default><geom friction='0.6 0.01 0.01'/></default><worldbody>"                 \
    "<geom name='floor' type='plane' size='5 5 0.1' euler='3 2 0'/>"                                                   \
    "<body name='box' pos='0 0 0.1'><freejoint/><geom name='a' type='box' size='0.1 0.12 0.1' mass='1'/></body>"       \
    "<body name='ball' pos='0.5 0 0.1'><freejoint/><geom name='b' type='sphere' size='0.1' mass='2' "                  \
    "condim='6'/></body>"                                                                                              \
    "<body name='rod' pos='0 0.6 0.06'><freejoint/><geom name='c' type='capsule' size='0.05 0.2' euler='0 90 0' "      \
    "mass='0.5' condim='4'/></body>"                                                                                   \
    "<body name='top' pos='0 0 0.29'><freejoint/><geom name='d' type='box' size='0.05 0.06 0.08' mass='0.3'/></body>"  \
    "</worldbody></mujoco>"

static const scene scenes[] = {
    {"bodies that stand", NULL, BODIES, 0, 0.2, 120, 7},
    {"bodies that slide", NULL, BODIES, 1, 1, 60, 3},
    {"quadruped", "models/quadruped.xml", NULL, 0.5, 1, 200, 12},
    {"walker", "models/planar_walker.xml", NULL, 0.5, 1, 200, 12},
};

/* the scalar: weights of forces, torques and points of the contacts */
typedef struct weights
{
    double force[3 * MOST], torque[3 * MOST], point[3 * MOST];
} weights;

/* One step from a displaced state. */
typedef struct probe
{
    sim *s;
    const weights *k;
    double *q, *v, *tau, *next_q, *next_v, *moved, *d;
    double dt;
    uint64_t signature;
    int contacts;
} probe;

/* false: the step differs by more than numbers */
static bool take(probe *p, double *value, bool first)
{
    sim *s = p->s;
    tg_cache_entry entry[MOST];
    tg_cache cache = {.capacity = MOST, .entry = entry};
    tg_options options = s->options;
    tg_step_contact contact[MOST];
    uint64_t signature;
    int count;
    options.dt = p->dt;
    tg_state in = {p->moved, p->v, NULL, NULL}, out = {p->next_q, p->next_v, NULL, &cache};
    if (tg_step(s->m, s->w, &options, &in, &(tg_control){.tau = p->tau, .u = s->u}, &out, NULL) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
    assert_int_equal(tg_step_signature(s->m, s->w, &signature), TG_OK);
    assert_int_equal(tg_step_contacts(s->m, s->w, contact, MOST, &count), TG_OK);
    assert_true(count <= MOST);
    if (first)
    {
        p->signature = signature;
        p->contacts = count;
    }
    *value = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 3; k++)
            *value += p->k->force[3 * i + k] * contact[i].force[k] + p->k->torque[3 * i + k] * contact[i].torque[k] +
                      p->k->point[3 * i + k] * contact[i].at.point[k];
    return signature == p->signature;
}

/* inputs: q, v, tau, dt */
static void displace(probe *p, int input, double h, double sign)
{
    int nv = p->s->n.nv;
    memset(p->d, 0, sizeof(double) * (size_t)nv);
    if (input < nv)
        p->d[input] = sign * h;
    assert_int_equal(tg_integrate(p->s->m, p->q, p->d, p->moved, NULL), TG_OK);
    if (input >= nv && input < 2 * nv)
        p->v[input - nv] += sign * h;
    else if (input >= 2 * nv && input < 3 * nv)
        p->tau[input - 2 * nv] += sign * h;
    else if (input == 3 * nv)
        p->dt += sign * h;
}

static bool central(probe *p, int input, double h, double *slope)
{
    double f[2];
    bool same = true;
    for (int i = 0; i < 2; i++)
    {
        double sign = i == 0 ? 1 : -1;
        displace(p, input, h, sign);
        same = take(p, &f[i], false) && same;
        displace(p, input, h, input < p->s->n.nv ? 0 : -sign);
    }
    *slope = (f[0] - f[1]) / (2 * h);
    return same;
}

typedef struct outcome
{
    double worst, largest[4], agree;
    int compared, skipped, samples, contacts;
} outcome;

static const char *const input_name[4] = {"q", "v", "tau", "dt"};

static void compare(probe *p, const double *g, double scale, outcome *o)
{
    int nv = p->s->n.nv;
    for (int i = 0; i <= 3 * nv; i++)
    {
        int kind = i < 3 * nv ? i / nv : 3;
        /* a box that turns by h is off its patch's plane by h^2: forces that redundant points share follow that at
         * larger h */
        double h = kind == 0 ? 3e-8 : kind == 1 ? 1e-5 : kind == 2 ? 1e-4 : 1e-6 * p->dt, a, b;
        if (!central(p, i, h, &a) || !central(p, i, h / 2, &b))
        {
            o->skipped++;
            continue;
        }
        double slope = (4 * b - a) / 3, error = fabs(slope - g[i]) / fmax(scale, fabs(slope));
        o->compared++;
        o->largest[kind] = fmax(o->largest[kind], fabs(g[i]));
        if (error > o->worst)
            o->worst = error;
        if (error > 1e-5)
            fail_msg("d / d %s[%d] is %.10g, differences say %.10g", input_name[kind], i % nv, g[i], slope);
    }
}

/* out J of forces and points against reverse mode */
static void compare_matrices(probe *p, const double *g, double scale, outcome *o)
{
    sim *s = p->s;
    int nv = s->n.nv, rows = 3 * p->contacts;
    double *J[6];
    for (int i = 0; i < 6; i++)
        J[i] = numbers(rows * nv);
    tg_jacobian j = {.ncontact = p->contacts,
                     .dforce_dq = J[0],
                     .dforce_dv = J[1],
                     .dforce_dtau = J[2],
                     .dpoint_dq = J[3],
                     .dpoint_dv = J[4],
                     .dpoint_dtau = J[5]};
    assert_int_equal(tg_step_jacobian(s->m, s->w, &j), TG_OK);
    for (int kind = 0; kind < 3; kind++)
        for (int k = 0; k < nv; k++)
        {
            double sum = 0;
            for (int row = 0; row < rows; row++)
                sum += p->k->force[row] * J[kind][row * nv + k] + p->k->point[row] * J[3 + kind][row * nv + k];
            o->agree = fmax(o->agree, fabs(sum - g[kind * nv + k]) / fmax(scale, fabs(sum)));
        }
    for (int i = 0; i < 6; i++)
        free(J[i]);
}

static void sample(sim *s, const double *tau, weights *k, outcome *o)
{
    int nv = s->n.nv;
    double *g = numbers(3 * nv + 1), value, scale = 1;
    probe p = {.s = s, .k = k, .dt = 0.002, .q = numbers(s->n.nq), .v = numbers(nv), .tau = numbers(nv)};
    p.next_q = numbers(s->n.nq);
    p.next_v = numbers(nv);
    p.moved = numbers(s->n.nq);
    p.d = numbers(nv);
    memcpy(p.q, s->q, sizeof(double) * (size_t)s->n.nq);
    memcpy(p.moved, s->q, sizeof(double) * (size_t)s->n.nq);
    memcpy(p.v, s->v, sizeof(double) * (size_t)nv);
    memcpy(p.tau, tau, sizeof(double) * (size_t)nv);
    take(&p, &value, true);
    tg_label label;
    tg_cotangent out = {.force = k->force, .torque = k->torque, .point = k->point};
    tg_cotangent in = {.q = g, .v = g + nv, .tau = g + 2 * nv, .dt = g + 3 * nv};
    if (tg_step_vjp(s->m, s->w, &out, &in, &label) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
    if (p.contacts > 0 && label.kind == TG_LABEL_EXACT)
    {
        for (int i = 0; i < 3 * nv; i++)
            scale = fmax(scale, 1e-3 * fabs(g[i]));
        double torque[3 * MOST];
        memcpy(torque, k->torque, sizeof torque);
        compare(&p, g, scale, o);
        memset(k->torque, 0, sizeof k->torque); /* which has no matrices */
        take(&p, &value, true);
        assert_int_equal(tg_step_vjp(s->m, s->w, &out, &in, NULL), TG_OK);
        compare_matrices(&p, g, scale, o);
        memcpy(k->torque, torque, sizeof torque);
        o->samples++;
        o->contacts += p.contacts;
    }
    double *owned[] = {p.q, p.v, p.tau, p.next_q, p.next_v, p.moved, p.d, g};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
}

static void run_scene(const scene *x)
{
    sim *s = x->file != NULL ? open_file(x->file) : sim_open(x->mjcf);
    unsigned seed = 5;
    outcome o = {0};
    weights k;
    s->options.dt = 0.002;
    double *tau = numbers(s->n.nv);
    for (int i = 0; i < 3 * MOST; i++)
    {
        k.force[i] = test_uniform(&seed);
        k.torque[i] = test_uniform(&seed);
        k.point[i] = 100 * test_uniform(&seed);
    }
    for (int i = 0; i < s->n.nv; i++)
        s->v[i] = x->speed * test_uniform(&seed);
    for (int step = 0; step < x->steps; step++)
    {
        for (int i = 0; i < s->n.nv; i++)
            tau[i] = x->push * test_uniform(&seed);
        if (step > x->steps / 6 && step % x->every == 0)
            sample(s, tau, &k, &o);
        sim_step(s);
    }
    printf("%s: %d samples, %d contacts, %d compared, %d skipped, worst %.1e, matrices %.1e\n", x->name, o.samples,
           o.contacts, o.compared, o.skipped, o.worst, o.agree);
    assert_true(o.samples >= 5 && o.contacts >= o.samples);
    for (int i = 0; i < 4; i++)
        assert_true(o.largest[i] > 1e-6);
    check_below("skipped", (double)o.skipped / (o.compared + o.skipped), 0.05);
    check_below("matrices against reverse mode", o.agree, 1e-10);
    free(tau);
    sim_close(s);
}

static void test_scenes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        run_scene(&scenes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scenes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
