/* Rollouts whose contacts come from outside: the same as with our own collision, derivatives by every number of every
 * contact, both kinds of tape. */
#include "flight.h"
#include "support/dynamics_case.h"

enum
{
    MOST = 16, /* contacts of a step */
    STEPS = 40,
    NUMBERS = TG_GIVEN_NUMBERS
};

typedef struct given_flight
{
    sim *s;
    tg_params *params;
    tg_tape *tape;
    tg_given_contact contact[STEPS * MOST];
    tg_given_contacts list[STEPS];
    int count; /* of all steps */
    double *q0, *v0, *act0, *u;
    double *q, *v, *gq, *gv;
} given_flight;

static void lower_friction(const sim *s, tg_params *p, const char *pattern)
{
    int index[16], count;
    assert_int_equal(tg_param_match(s->m, pattern, index, 16, &count, NULL), TG_OK);
    for (int i = 0; i < count; i++)
        tg_params_data(p)[index[i]] = 0.3;
    assert_int_equal(tg_params_changed(p, NULL), TG_OK);
}

/* our own contacts of every step, from a start with random velocities */
static given_flight *record(const char *file, double speed, double dt, bool late)
{
    given_flight *f = calloc(1, sizeof *f);
    sim *s = f->s = open_file(file);
    tg_step_contact contact[SIM_CONTACTS];
    unsigned seed = 5;
    int nq = s->n.nq, nv = s->n.nv;
    assert_int_equal(tg_params_create(s->m, &f->params, NULL), TG_OK);
    assert_int_equal(tg_work_set_params(s->w, f->params), TG_OK);
    f->q0 = numbers(nq);
    f->v0 = numbers(nv);
    f->act0 = numbers(s->n.na);
    f->u = numbers(STEPS * s->n.nu);
    f->q = numbers((STEPS + 1) * nq);
    f->v = numbers((STEPS + 1) * nv);
    f->gq = numbers((STEPS + 1) * nv);
    f->gv = numbers((STEPS + 1) * nv);
    s->options.dt = dt;
    s->options.implicit_tendons = late ? TG_ON : TG_OFF;
    s->options.tolerance = 1e-12; /* differences see what is left of the residual */
    for (int i = 0; i < nv; i++)
        s->v[i] += speed * (i % 6 == 0 ? 3 : test_uniform(&seed)); /* it slides */
    for (int k = 0; k < 2; k++)
        lower_friction(s, f->params, k == 0 ? "geom.rod*.friction[0]" : "geom.floor.friction[0]");
    for (int i = 0; i < STEPS * s->n.nu; i++)
        f->u[i] = test_uniform(&seed);
    for (int i = 0; i < (STEPS + 1) * nv; i++)
    {
        f->gq[i] = test_uniform(&seed);
        f->gv[i] = 0.1 * test_uniform(&seed);
    }
    memcpy(f->q0, s->q, sizeof(double) * (size_t)nq);
    memcpy(f->v0, s->v, sizeof(double) * (size_t)nv);
    memcpy(f->act0, s->act, sizeof(double) * (size_t)s->n.na);
    s->cache.count = 0;
    for (int step = 0; step < STEPS; step++)
    {
        tg_state at = {s->q, s->v, s->act, &s->cache};
        if (tg_step(s->m, s->w, &s->options, &at, &(tg_control){.u = f->u + step * s->n.nu}, &at, NULL) != TG_OK)
            fail_msg("%s", tg_work_message(s->w));
        int found = sim_contacts(s, contact);
        assert_true(found <= MOST);
        f->list[step] = (tg_given_contacts){found, &f->contact[f->count]};
        for (int i = 0; i < found; i++)
            assert_int_equal(tg_give_contact(s->m, s->w, &contact[i].at, &f->contact[f->count++]), TG_OK);
    }
    return f;
}

static void drop(given_flight *f)
{
    double *own[] = {f->q0, f->v0, f->act0, f->u, f->q, f->v, f->gq, f->gv};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        free(own[i]);
    tg_tape_destroy(f->tape);
    sim_close(f->s);
    tg_params_destroy(f->params);
    free(f);
}

/* the sum of gq . q and gv . v over the states; the modes of all steps are left in signature where it is asked for */
static double roll(given_flight *f, tg_tape_kind kind)
{
    sim *s = f->s;
    int nq = s->n.nq, nv = s->n.nv;
    if (f->tape == NULL)
        assert_int_equal(tg_tape_create(s->m, STEPS, kind, &f->tape, NULL), TG_OK);
    tg_controls controls = {.steps = STEPS, .u = f->u, .contacts = f->list};
    tg_trajectory out = {.q = f->q, .v = f->v};
    if (tg_rollout(s->m, s->w, f->tape, &s->options, &(tg_state){f->q0, f->v0, f->act0, NULL}, &controls, &out, NULL) !=
        TG_OK)
        fail_msg("%s", tg_work_message(s->w));
    double sum = 0, *d = numbers(nv);
    for (int k = 0; k <= STEPS; k++)
    {
        assert_int_equal(tg_difference(s->m, f->q0, f->q + k * nq, d, NULL), TG_OK);
        for (int i = 0; i < nv; i++) /* gradients of q hold for small turns: only places count */
            sum += f->gv[k * nv + i] * f->v[k * nv + i] + (i % 6 < 3 ? f->gq[k * nv + i] * d[i] : 0);
    }
    free(d);
    return sum;
}

static void take_gradient(given_flight *f, double *g, tg_label *label)
{
    sim *s = f->s;
    int nv = s->n.nv;
    double *gq = numbers((STEPS + 1) * nv);
    for (int i = 0; i < (STEPS + 1) * nv; i++)
        gq[i] = i % nv % 6 < 3 ? f->gq[i] : 0;
    tg_rollout_gradient in = {.contact = g};
    if (tg_rollout_vjp(s->m, s->w, f->tape, &(tg_trajectory){.q = gq, .v = f->gv}, &in, label) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
    free(gq);
}

/* the rollout is that of our own collision, bit for bit */
static void check_states(given_flight *f)
{
    sim *s = f->s;
    int nq = s->n.nq, nv = s->n.nv;
    double *q = numbers((STEPS + 1) * nq), *v = numbers((STEPS + 1) * nv);
    tg_controls controls = {.steps = STEPS, .u = f->u};
    roll(f, TG_TAPE_ALL);
    assert_int_equal(tg_rollout(s->m, s->w, f->tape, &s->options, &(tg_state){f->q0, f->v0, f->act0, NULL}, &controls,
                                &(tg_trajectory){.q = q, .v = v}, NULL),
                     TG_OK);
    assert_memory_equal(q, f->q, sizeof(double) * (size_t)((STEPS + 1) * nq));
    assert_memory_equal(v, f->v, sizeof(double) * (size_t)((STEPS + 1) * nv));
    free(q);
    free(v);
}

/* checkpoints give the same gradient bit for bit, forward mode the same product */
static void check_modes(given_flight *f, const double *g)
{
    sim *s = f->s;
    int nv = s->n.nv, all = NUMBERS * f->count;
    double *again = numbers(all), *along = numbers(all), *dq = numbers((STEPS + 1) * nv),
           *dv = numbers((STEPS + 1) * nv), *dact = numbers((STEPS + 1) * s->n.na), forward = 0, reverse = 0, size = 1;
    unsigned seed = 2;
    tg_label label;
    for (int i = 0; i < all; i++)
    {
        along[i] = test_uniform(&seed);
        reverse += g[i] * along[i];
        size += fabs(g[i] * along[i]);
    }
    tg_trajectory change = {.q = dq, .v = dv, .act = dact};
    if (tg_rollout_jvp(s->m, s->w, f->tape, 1, &(tg_rollout_gradient){.contact = along}, &change, NULL) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
    for (int i = 0; i < (STEPS + 1) * nv; i++)
        forward += f->gv[i] * dv[i] + (i % nv % 6 < 3 ? f->gq[i] * dq[i] : 0);
    check_below("forward and reverse mode", fabs(forward - reverse) / size, 1e-10);
    tg_tape_destroy(f->tape);
    f->tape = NULL;
    roll(f, TG_TAPE_CHECKPOINTS);
    take_gradient(f, again, &label);
    assert_memory_equal(again, g, sizeof(double) * (size_t)all);
    tg_tape_destroy(f->tape);
    f->tape = NULL;
    double *own[] = {again, along, dq, dv, dact};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        free(own[i]);
}

/* Richardson's difference by one number */
static double slope_by(given_flight *f, double *at, double h)
{
    double kept = *at, by[2];
    for (int k = 0; k < 2; k++)
    {
        double side[2];
        for (int i = 0; i < 2; i++)
        {
            *at = kept + (i == 0 ? h : -h) / (1 + k);
            side[i] = roll(f, TG_TAPE_NONE);
        }
        by[k] = (side[0] - side[1]) / (2 * h / (1 + k));
    }
    *at = kept;
    return (4 * by[1] - by[0]) / 3;
}

static void check_flight(const char *file, double speed, double dt, bool late)
{
    given_flight *f = record(file, speed, dt, late);
    int all = NUMBERS * f->count, compared = 0;
    double *g = numbers(all), most[NUMBERS] = {0}, worst = 0;
    tg_label label;
    check_states(f);
    roll(f, TG_TAPE_ALL);
    take_gradient(f, g, &label);
    for (int i = 0; i < all; i++)
        most[i % NUMBERS] = fmax(most[i % NUMBERS], fabs(g[i]));
    check_modes(f, g);
    for (int c = 0; c < f->count; c += 1 + f->count / 12)
        for (int k = 0; k < NUMBERS; k++)
        {
            double *at = &f->contact[c].point[0] + k, best = INFINITY;
            bool end = k >= 10 && (*at == 0 || *at == 1); /* of the range of a coefficient */
            for (double h = 1e-3; h > 1e-9 && !end; h /= 4)
                best = fmin(best, fabs(slope_by(f, at, h * fmax(1e-2, fabs(*at))) - g[NUMBERS * c + k]));
            compared += !end;
            worst = end ? worst : fmax(worst, best / fmax(1, most[k]));
        }
    printf("%s: %d contacts, %d compared, worst %.1e, label %s\n", file, f->count, compared, worst,
           tg_label_string(label.kind));
    assert_true(f->count >= STEPS && compared > 80);
    for (int k = 0; k < 8; k++) /* point, normal (along itself it does not count), gap, sliding friction */
        assert_true(k == 5 || most[k] > 1e-6);
    check_below("against differences", worst, 1e-6);
    free(g);
    drop(f);
}

static void test_superball(void **state)
{
    (void)state;
    check_flight("models/superball.xml", 0.6, 0.001, false);
}

static void test_superball_late(void **state)
{
    (void)state;
    check_flight("models/superball.xml", 0.6, 0.004, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_superball), cmocka_unit_test(test_superball_late)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
