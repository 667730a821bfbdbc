/* Contacts from outside: the same step as with our own collision, derivatives by all that is given, refusals. */
#include "flight.h"
#include "support/dynamics_case.h"
#include "support/heap_watch.h"

enum
{
    MOST = 64, /* contacts */
    NUMBERS = TG_GIVEN_NUMBERS
};

/* ---- our own contacts, given back ---- */

#define BODIES                                                                                                         \
    "<mujoco><option timestep='0.002'/><default><geom friction='0.6 0.01 0.01'/></default>"                            \
    "<custom><numeric name='tangere:geom.b.restitution' data='0.6'/></custom><worldbody>"                              \
    "<geom name='floor' type='plane' size='5 5 0.1' euler='3 2 0'/>"                                                   \
    "<body name='box' pos='0 0 0.1'><freejoint/><geom name='a' type='box' size='0.1 0.12 0.1' mass='1'/></body>"       \
    "<body name='ball' pos='0.5 0 0.2'><freejoint/><geom name='b' type='sphere' size='0.1' mass='2' "                  \
    "condim='6'/></body>"                                                                                              \
    "<body name='rod' pos='0 0.6 0.06'><freejoint/><geom name='c' type='capsule' size='0.05 0.2' euler='0 90 0' "      \
    "mass='0.5' condim='4' margin='0.001'/></body>"                                                                    \
    "<body name='top' pos='0 0 0.29'><freejoint/><geom name='d' type='box' size='0.05 0.06 0.08' mass='0.3'/></body>"  \
    "</worldbody></mujoco>"

typedef struct scene
{
    const char *name, *file, *mjcf;
    double speed;
    int steps;
    tg_impact impact;
    tg_restitution restitution;
} scene;

static const scene scenes[] = {
    {"bodies", NULL, BODIES, 0.5, 150, TG_IMPACT_END, TG_RESTITUTION_NEWTON},
    {"bodies, impacts within", NULL, BODIES, 0.5, 150, TG_IMPACT_WITHIN, TG_RESTITUTION_NEWTON},
    {"bodies, Poisson", NULL, BODIES, 0.5, 150, TG_IMPACT_END, TG_RESTITUTION_POISSON},
    {"quadruped", "models/quadruped.xml", NULL, 0.5, 200, TG_IMPACT_END, TG_RESTITUTION_NEWTON},
    {"walker", "models/planar_walker.xml", NULL, 0.5, 200, TG_IMPACT_END, TG_RESTITUTION_NEWTON},
    {"superball", "models/superball.xml", NULL, 0.5, 300, TG_IMPACT_END, TG_RESTITUTION_NEWTON},
};

static int give_back(sim *s, tg_given_contact given[MOST])
{
    tg_step_contact contact[SIM_CONTACTS];
    int count = sim_contacts(s, contact);
    assert_true(count <= MOST);
    for (int i = 0; i < count; i++)
        assert_int_equal(tg_give_contact(s->m, s->w, &contact[i].at, &given[i]), TG_OK);
    return count;
}

/* in another order where contacts were given in the order of their islands */
static void same_entries(const tg_cache *a, const tg_cache *b)
{
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++)
    {
        int k = 0;
        while (k < b->count && b->entry[k].id != a->entry[i].id)
            k++;
        assert_true(k < b->count);
        assert_memory_equal(&a->entry[i], &b->entry[k], sizeof a->entry[i]);
    }
}

static void run_scene(const scene *x)
{
    sim *s = x->file != NULL ? open_file(x->file) : sim_open(x->mjcf);
    tg_work *other = NULL;
    tg_error error;
    unsigned seed = 3;
    long contacts = 0;
    int nq = s->n.nq, nv = s->n.nv;
    double *q = numbers(nq), *v = numbers(nv), *act = numbers(s->n.na), *q1 = numbers(nq), *v1 = numbers(nv);
    tg_cache_entry *entry = calloc((size_t)s->cache.capacity, sizeof *entry);
    assert_int_equal(tg_work_create_for(s->m, MOST, &other, &error), TG_OK);
    s->options.impact = x->impact;
    s->options.restitution = x->restitution;
    for (int i = 0; i < nv; i++)
        s->v[i] = x->speed * test_uniform(&seed);
    for (int step = 0; step < x->steps; step++)
    {
        tg_given_contact given[MOST];
        memcpy(q, s->q, sizeof(double) * (size_t)nq);
        memcpy(v, s->v, sizeof(double) * (size_t)nv);
        memcpy(act, s->act, sizeof(double) * (size_t)s->n.na);
        memcpy(entry, s->cache.entry, sizeof *entry * (size_t)s->cache.count);
        tg_cache cache = {s->cache.capacity, s->cache.count, entry};
        sim_step(s);
        tg_given_contacts list = {give_back(s, given), given};
        tg_state in = {q, v, act, &cache}, out = {q1, v1, act, &cache};
        tg_control control = {.u = s->u, .contacts = &list};
        if (tg_step(s->m, other, &s->options, &in, &control, &out, NULL) != TG_OK)
            fail_msg("%s, step %d: %s", x->name, step, tg_work_message(other));
        assert_memory_equal(q1, s->q, sizeof(double) * (size_t)nq);
        assert_memory_equal(v1, s->v, sizeof(double) * (size_t)nv);
        same_entries(&cache, &s->cache);
        contacts += list.count;
    }
    printf("%s: %ld contacts\n", x->name, contacts);
    assert_true(contacts > x->steps);
    double *owned[] = {q, v, act, q1, v1};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
    free(entry);
    tg_work_destroy(other);
    sim_close(s);
}

static void test_own_contacts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        run_scene(&scenes[i]);
}

/* ---- derivatives ---- */

/* bodies without shapes: whatever touches is given */
#define BARE                                                                                                           \
    "<mujoco><option timestep='0.002'/><worldbody>"                                                                    \
    "<body name='a' pos='0 0 0.1'><freejoint/><inertial pos='0.01 0 0' mass='1' diaginertia='0.01 0.012 0.008'/>"      \
    "</body><body name='b' pos='0.4 0 0.1'><freejoint/><inertial pos='0 0 0.02' mass='2' "                             \
    "diaginertia='0.02 0.01 0.015'/></body>"                                                                           \
    "<body name='c' pos='0 0.5 0.3'><joint axis='1 0 0'/><joint axis='0 1 0'/><inertial pos='0 0 -0.1' mass='0.7' "    \
    "diaginertia='0.01 0.01 0.002'/>"                                                                                  \
    "<body name='d' pos='0 0 -0.2'><joint axis='0 1 0'/><joint type='slide' axis='0 0 1'/>"                            \
    "<inertial pos='0 0.02 -0.1' mass='0.5' diaginertia='0.004 0.005 0.002'/></body></body>"                           \
    "</worldbody></mujoco>"

typedef struct probe
{
    tg_model *m;
    tg_work *w;
    tg_sizes n;
    tg_options options;
    bool soft; /* law compliant */
    int count; /* contacts */
    tg_given_contact given[MOST];
    double q[32], v[32], q0[32], moved[32], d[32], next_q[32], next_v[32], wq[32], wv[32];
    double base_q[32]; /* q+ of the step itself */
} probe;

static double between(unsigned *seed, double low, double high)
{
    return low + (high - low) * 0.5 * (test_uniform(seed) + 1);
}

static tg_given_contact draw_contact(unsigned *seed, int body)
{
    static const int dims[4] = {1, 3, 4, 6};
    tg_given_contact c = tg_default_given_contact();
    c.body1 = test_uniform(seed) > 0.4 ? (body == 1 ? 2 : 1) : 0;
    c.body2 = body;
    c.condim = dims[(int)between(seed, 0, 3.999)];
    for (int k = 0; k < 3; k++)
    {
        c.point[k] = 0.3 * test_uniform(seed);
        c.normal[k] = test_uniform(seed) + (k == 2 ? 1.5 : 0);
        c.friction[k] = between(seed, 0.1, 0.9) * (k == 0 ? 1 : 0.02);
    }
    c.gap = between(seed, -2e-4, 8e-4);
    c.kinetic = between(seed, 0.5, 0.9);
    c.slip_speed = between(seed, 0.05, 0.5);
    c.restitution = test_uniform(seed) > 0 ? between(seed, 0.2, 0.8) : 0;
    c.compliance = test_uniform(seed) > 0.6 ? between(seed, 1e-6, 1e-4) : 0;
    return c;
}

static void draw(probe *p, unsigned *seed)
{
    assert_int_equal(tg_default_q(p->m, p->q0, NULL), TG_OK);
    double fast = test_uniform(seed) > 0 ? 0.5 : 0.05;
    for (int i = 0; i < p->n.nv; i++)
    {
        p->d[i] = 0.3 * test_uniform(seed);
        p->v[i] = fast * test_uniform(seed);
        p->wq[i] = 100 * test_uniform(seed);
        p->wv[i] = test_uniform(seed);
    }
    assert_int_equal(tg_integrate(p->m, p->q0, p->d, p->q, NULL), TG_OK);
    p->count = 1 + (int)between(seed, 0, 2.999);
    for (int i = 0; i < p->count; i++)
    {
        p->given[i] = draw_contact(seed, 1 + i + (i == 2));
        if (!p->soft)
            continue;
        p->given[i].compliance = between(seed, 1e-5, 1e-4);
        p->given[i].damping = between(seed, 10, 100);
        p->given[i].friction[0] *= 0.1;
    }
}

/* wq . (q+ less that of the step itself) + wv . v+ */
static double value_of(probe *p, const double *q, uint64_t *signature)
{
    tg_state in = {(double *)q, p->v, NULL, NULL}, out = {p->next_q, p->next_v, NULL, NULL};
    tg_given_contacts list = {p->count, p->given};
    heap.asked = 0;
    heap.armed = true;
    tg_status status = tg_step(p->m, p->w, &p->options, &in, &(tg_control){.contacts = &list}, &out, NULL);
    heap.armed = false;
    if (status != TG_OK)
        fail_msg("%s", tg_work_message(p->w));
    assert_int_equal(heap.asked, 0);
    assert_int_equal(tg_step_signature(p->m, p->w, signature), TG_OK);
    double sum = 0, change[32];
    assert_int_equal(tg_difference(p->m, p->base_q, p->next_q, change, NULL), TG_OK);
    for (int i = 0; i < p->n.nv; i++)
        sum += p->wq[i] * change[i] + p->wv[i] * p->next_v[i];
    return sum;
}

/* Inputs: q, v, then the numbers of the contacts. */
static double *place_of(probe *p, int input)
{
    int nv = p->n.nv;
    return input < nv       ? &p->d[input]
           : input < 2 * nv ? &p->v[input - nv]
                            : &p->given[(input - 2 * nv) / NUMBERS].point[0] + (input - 2 * nv) % NUMBERS;
}

static bool central(probe *p, int input, double h, uint64_t mode, double *slope)
{
    double f[2], *at = place_of(p, input), kept = *at;
    uint64_t signature[2];
    for (int i = 0; i < 2; i++)
    {
        *at = kept + (i == 0 ? h : -h);
        assert_int_equal(tg_integrate(p->m, p->q, p->d, p->moved, NULL), TG_OK);
        f[i] = value_of(p, p->moved, &signature[i]);
        *at = kept;
    }
    *slope = (f[0] - f[1]) / (2 * h);
    return signature[0] == mode && signature[1] == mode;
}

typedef struct outcome
{
    double worst, largest[2 + NUMBERS], agree;
    int compared, skipped, samples, exact, mode[TG_CONTACT_MODES];
} outcome;

static void compare(probe *p, const double *g, uint64_t mode, outcome *o)
{
    int nv = p->n.nv, all = 2 * nv + NUMBERS * p->count;
    double scale = 1;
    for (int i = 0; i < all; i++)
        scale = fmax(scale, 1e-3 * fabs(g[i]));
    memset(p->d, 0, sizeof p->d);
    for (int i = 0; i < all; i++)
    {
        int kind = i < 2 * nv ? i / nv : 2 + (i - 2 * nv) % NUMBERS;
        double value = *place_of(p, i), a, b;
        /* point, normal, gap; coefficients by their sizes */
        double h = kind < 2 ? 1e-6 : kind < 8 ? 1e-6 : kind == 8 ? 1e-7 : 1e-3 * value;
        if (kind > 8 && value == 0)
            continue;
        if (!central(p, i, h, mode, &a) || !central(p, i, h / 2, mode, &b))
        {
            o->skipped++;
            continue;
        }
        double slope = (4 * b - a) / 3, error = fabs(slope - g[i]) / fmax(scale, fabs(slope));
        o->compared++;
        o->largest[kind] = fmax(o->largest[kind], fabs(g[i]));
        o->worst = fmax(o->worst, error);
        if (error > 1e-6)
            fail_msg("input %d (kind %d) is %.10g, differences say %.10g", i, kind, g[i], slope);
    }
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* forward mode along everything, and the matrices by the contacts, against reverse mode; the workspace holds the step
 */
static void agree(probe *p, double *g, unsigned *seed, outcome *o)
{
    int nv = p->n.nv, numbers_given = NUMBERS * p->count;
    double along[64 + NUMBERS * MOST], dq[32], dv[32],
        *J[2] = {numbers(nv * numbers_given), numbers(nv * numbers_given)};
    for (int i = 0; i < 2 * nv + numbers_given; i++)
        along[i] = test_uniform(seed);
    tg_cotangent in = {.q = along, .v = along + nv, .contact = along + 2 * nv}, out = {.q = dq, .v = dv};
    assert_int_equal(tg_step_jvp(p->m, p->w, &in, &out, NULL), TG_OK);
    double forward = dot(nv, p->wq, dq) + dot(nv, p->wv, dv), reverse = dot(2 * nv + numbers_given, g, along), size = 1;
    for (int i = 0; i < 2 * nv + numbers_given; i++)
        size += fabs(g[i] * along[i]);
    o->agree = fmax(o->agree, fabs(forward - reverse) / size);
    tg_jacobian j = {.dq_dcontact = J[0], .dv_dcontact = J[1]};
    assert_int_equal(tg_step_jacobian(p->m, p->w, &j), TG_OK);
    for (int k = 0; k < numbers_given; k++)
    {
        double sum = 0;
        for (int i = 0; i < nv; i++)
            sum += p->wq[i] * J[0][i * numbers_given + k] + p->wv[i] * J[1][i * numbers_given + k];
        o->agree = fmax(o->agree, fabs(sum - g[2 * nv + k]) / size);
    }
    free(J[0]);
    free(J[1]);
}

static void sample(probe *p, unsigned *seed, outcome *o)
{
    double g[64 + NUMBERS * MOST], unused[32];
    uint64_t mode;
    int nv = p->n.nv, count;
    tg_label label;
    tg_step_contact contact[MOST];
    draw(p, seed);
    memcpy(p->base_q, p->q, sizeof p->base_q);
    value_of(p, p->q, &mode);
    memcpy(p->base_q, p->next_q, sizeof p->base_q);
    for (size_t i = 0; i < sizeof g / sizeof g[0]; i++)
        g[i] = NAN;
    tg_cotangent out = {.q = p->wq, .v = p->wv}, in = {.q = g, .v = g + nv, .tau = unused, .contact = g + 2 * nv};
    if (tg_step_vjp(p->m, p->w, &out, &in, &label) != TG_OK)
        fail_msg("%s", tg_work_message(p->w));
    agree(p, g, seed, o);
    assert_int_equal(tg_step_contacts(p->m, p->w, contact, MOST, &count), TG_OK);
    assert_int_equal(count, p->count);
    o->samples++;
    if (label.kind != TG_LABEL_EXACT)
        return;
    o->exact++;
    for (int i = 0; i < count; i++)
        o->mode[contact[i].mode]++;
    compare(p, g, mode, o);
}

static void run_derivatives(const char *name, tg_impact impact, tg_restitution restitution, const char *law,
                            int samples)
{
    enum
    {
        AT_RESTITUTION = 14,
        AT_SPIN = 10,
        AT_ROLL = 11,
        AT_DAMPING = 16
    };
    probe p = {.options = tg_default_options(), .soft = strcmp(law, "compliant") == 0};
    tg_error error;
    outcome o = {0};
    unsigned seed = 11;
    tg_load_options load = tg_default_load_options();
    load.allocator = &watched_allocator;
    if (tg_load_string(BARE, strlen(BARE), NULL, &load, &p.m, &error) != TG_OK)
        fail_msg("%s", error.message);
    p.n = tg_model_sizes(p.m);
    assert_int_equal(tg_work_create_for(p.m, 8, &p.w, &error), TG_OK);
    p.options.impact = impact;
    p.options.restitution = restitution;
    p.options.law = law;
    p.options.tolerance = 1e-12; /* differences see what is left of the residual */
    for (int i = 0; i < samples; i++)
        sample(&p, &seed, &o);
    printf("%s: %d exact of %d, modes %d %d %d, %d compared, %d skipped, worst %.1e, agreement %.1e\n", name, o.exact,
           o.samples, o.mode[0], o.mode[1], o.mode[2], o.compared, o.skipped, o.worst, o.agree);
    for (int i = 0; i < TG_CONTACT_MODES; i++)
        assert_true(o.mode[i] > samples / 20);
    for (int i = 0; i < 2 + NUMBERS; i++)
    {
        bool idle = p.soft ? i == AT_RESTITUTION || i == AT_SPIN || i == AT_ROLL : i == AT_DAMPING;
        if (o.largest[i] > 1e-6 ? idle : !idle)
            fail_msg("%s: input %d has %s derivative", name, i, idle ? "a" : "no");
    }
    assert_true(o.exact > samples / (p.soft ? 4 : 2));
    check_below("skipped", (double)o.skipped / (o.compared + o.skipped), 0.02);
    check_below("modes of derivatives agree", o.agree, 1e-10);
    tg_work_destroy(p.w);
    tg_model_destroy(p.m);
}

static void test_derivatives(void **state)
{
    (void)state;
    run_derivatives("end", TG_IMPACT_END, TG_RESTITUTION_NEWTON, "ncp", 300);
    run_derivatives("within", TG_IMPACT_WITHIN, TG_RESTITUTION_NEWTON, "ncp", 300);
    run_derivatives("Poisson", TG_IMPACT_END, TG_RESTITUTION_POISSON, "ncp", 300);
    run_derivatives("ccp", TG_IMPACT_END, TG_RESTITUTION_NEWTON, "ccp", 300);
    run_derivatives("compliant", TG_IMPACT_END, TG_RESTITUTION_NEWTON, "compliant", 300);
}

/* ---- the chain rule with our own collision ---- */

#define BALLS                                                                                                          \
    "<mujoco><option timestep='0.002'/><worldbody><geom name='floor' type='plane' size='5 5 0.1' euler='3 2 0'/>"      \
    "<body pos='0 0 0.0999'><freejoint/><geom type='sphere' size='0.1' mass='1'/></body>"                              \
    "<body pos='0.5 0.1 0.08'><freejoint/><geom type='ellipsoid' size='0.1 0.12 0.11' mass='2' condim='4'/></body>"    \
    "<body pos='0 0.4 0.05'><freejoint/><geom type='sphere' pos='0.02 0 0' size='0.06' mass='1' condim='6'/></body>"   \
    "</worldbody></mujoco>"

/* d(v+)/dq of our own contacts = that at contacts that stay + d(v+)/d(contacts) d(contacts)/dq */
static void test_chain_rule(void **state)
{
    (void)state;
    sim *s = sim_open(BALLS);
    int nv = s->n.nv, found, matched = 0;
    unsigned seed = 8;
    double worst = 0, moved = 0;
    for (int step = 0; step < 200; step++)
    {
        double *own = numbers(nv * nv), *still = numbers(nv * nv), *q = numbers(s->n.nq), *v = numbers(nv);
        tg_given_contact given[MOST];
        tg_contact at[MOST];
        for (int i = 0; i < nv; i++)
            s->v[i] += 0.02 * test_uniform(&seed);
        memcpy(q, s->q, sizeof(double) * (size_t)s->n.nq);
        memcpy(v, s->v, sizeof(double) * (size_t)nv);
        sim_step(s);
        assert_int_equal(tg_step_jacobian(s->m, s->w, &(tg_jacobian){.dv_dq = own}), TG_OK);
        tg_given_contacts list = {give_back(s, given), given};
        int columns = NUMBERS * list.count;
        double *J = numbers(nv * columns + 1), *dp = numbers(3 * nv * MOST), *dn = numbers(3 * nv * MOST),
               *dd = numbers(nv * MOST), *q1 = numbers(s->n.nq), *v1 = numbers(nv);
        tg_state in = {q, v, NULL, NULL}, out = {q1, v1, NULL, NULL};
        assert_int_equal(tg_step(s->m, s->w, &s->options, &in, &(tg_control){.contacts = &list}, &out, NULL), TG_OK);
        assert_int_equal(tg_step_jacobian(s->m, s->w, &(tg_jacobian){.dv_dq = still, .dv_dcontact = J}), TG_OK);
        assert_int_equal(tg_collide_derivatives(s->m, s->w, q, 0.1, at, MOST, &found, dp, dn, dd), TG_OK);
        for (int c = 0; c < list.count; c++)
            for (int k = 0; k < found; k++)
            {
                if (at[k].id != given[c].id)
                    continue;
                matched++;
                for (int i = 0; i < nv; i++)
                    for (int j = 0; j < nv; j++)
                    {
                        const double *row = J + i * columns + NUMBERS * c;
                        double sum = row[6] * dd[k * nv + j];
                        for (int x = 0; x < 3; x++)
                            sum += row[x] * dp[(3 * k + x) * nv + j] + row[3 + x] * dn[(3 * k + x) * nv + j];
                        still[i * nv + j] += sum;
                        moved = fmax(moved, fabs(sum));
                    }
            }
        double size = 1;
        for (int i = 0; i < nv * nv; i++)
            size = fmax(size, fabs(own[i]));
        for (int i = 0; i < nv * nv; i++)
            worst = fmax(worst, fabs(own[i] - still[i]) / size);
        double *owned[] = {own, still, q, v, J, dp, dn, dd, q1, v1};
        for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
            free(owned[i]);
    }
    printf("chain rule: %d contacts, worst %.1e, the contacts' part up to %.1e\n", matched, worst, moved);
    assert_true(matched > 200 && moved > 1);
    check_below("chain rule", worst, 1e-10);
    sim_close(s);
}

/* ---- refusals ---- */

static void refused(sim *s, const tg_given_contact *c, const char *message)
{
    double q[32], v[32];
    tg_given_contact list[2] = {tg_default_given_contact(), *c};
    list[0].body2 = 1;
    tg_state in = {s->q, s->v, NULL, NULL}, out = {q, v, NULL, NULL};
    tg_status status =
        tg_step(s->m, s->w, &s->options, &in, &(tg_control){.contacts = &(tg_given_contacts){2, list}}, &out, NULL);
    assert_int_not_equal(status, TG_OK);
    if (strstr(tg_work_message(s->w), message) == NULL)
        fail_msg("'%s' is not in '%s'", message, tg_work_message(s->w));
}

static void test_refusals(void **state)
{
    (void)state;
    sim *s = sim_open(BALLS);
    tg_given_contact good = tg_default_given_contact(), c;
    good.body2 = 1;
#define REFUSED(change, message) (c = good, change, refused(s, &c, message))
    REFUSED(c.normal[2] = 0, "contacts[1].normal = (0, 0, 0) has length 0");
    REFUSED(c.point[1] = INFINITY, "contacts[1].point[1] = inf: must be finite");
    REFUSED(c.normal[0] = NAN, "contacts[1].normal[0] = nan");
    REFUSED(c.gap = -INFINITY, "contacts[1].gap = -inf");
    REFUSED(c.body2 = 4, "contacts[1].body2 = 4: the model has bodies 0 .. 3");
    REFUSED(c.body1 = -1, "contacts[1].body1 = -1");
    REFUSED(c.body1 = 1, "body1 = 1 and body2 = 1 cannot move against each other");
    REFUSED(c.condim = 2, "contacts[1].condim = 2");
    REFUSED(c.friction[1] = -0.5, "contacts[1].friction[1] = -0.5: must be >= 0");
    REFUSED(c.kinetic = 0, "contacts[1].kinetic = 0: must be in (0, 1]");
    REFUSED(c.slip_speed = 0, "contacts[1].slip_speed = 0: must be > 0");
    REFUSED(c.restitution = 1.5, "contacts[1].restitution = 1.5: must be in [0, 1]");
    REFUSED(c.compliance = -1, "contacts[1].compliance = -1: must be >= 0");
#undef REFUSED
    s->options.backward = TG_BACKWARD_TOI;
    refused(s, &good, "toi with contacts from outside");
    s->options.backward = TG_BACKWARD_EXACT;
    double q[32], v[32];
    tg_state in = {s->q, s->v, NULL, NULL}, out = {q, v, NULL, NULL};
    tg_given_contacts many = {100000, &good}, nowhere = {1, NULL};
    assert_int_equal(tg_step(s->m, s->w, NULL, &in, &(tg_control){.contacts = &many}, &out, NULL), TG_ERR_CAPACITY);
    assert_int_equal(tg_step(s->m, s->w, NULL, &in, &(tg_control){.contacts = &nowhere}, &out, NULL), TG_ERR_ARGUMENT);
    tg_contact none = {.geom1 = 0, .geom2 = 9};
    assert_int_not_equal(tg_give_contact(s->m, s->w, &none, &c), TG_OK);
    assert_non_null(strstr(tg_work_message(s->w), "geom2"));
    /* an empty list: nothing touches */
    tg_info info;
    tg_given_contacts empty = {0, NULL};
    assert_int_equal(tg_step(s->m, s->w, NULL, &in, &(tg_control){.contacts = &empty}, &out, &info), TG_OK);
    assert_int_equal(info.contacts, 0);
    assert_int_equal(tg_step(s->m, s->w, NULL, &in, NULL, &out, &info), TG_OK);
    assert_int_equal(info.contacts, 3);
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_own_contacts), cmocka_unit_test(test_derivatives),
                                       cmocka_unit_test(test_chain_rule), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
