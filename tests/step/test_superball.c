/* SUPERball: statics, its soft mode, activations, rest on the ground, steps that are longer than explicit cables allow,
 * gradients of rollouts. */
#include "flight.h"

#include "support/heap_watch.h"

enum
{
    RODS = 6,
    CABLES = 24
};

static const int cable_end[CABLES][2] = {{0, 10}, {1, 4}, {2, 6},  {3, 1},  {4, 8}, {5, 2},  {6, 5},  {7, 11},
                                         {8, 7},  {9, 0}, {10, 9}, {11, 3}, {0, 8}, {0, 4},  {10, 1}, {10, 3},
                                         {9, 11}, {9, 7}, {2, 4},  {2, 1},  {6, 3}, {6, 11}, {5, 7},  {5, 8}};

static void set(sim *s, const char *pattern, double value, tg_params *p)
{
    int index[64], count;
    tg_error error;
    if (tg_param_match(s->m, pattern, index, 64, &count, &error) != TG_OK)
        fail_msg("%s", error.message);
    for (int i = 0; i < count; i++)
        tg_params_data(p)[index[i]] = value;
    if (tg_params_changed(p, &error) != TG_OK)
        fail_msg("%s", error.message);
}

static tg_params *own_params(sim *s)
{
    tg_params *p;
    assert_int_equal(tg_params_create(s->m, &p, NULL), TG_OK);
    assert_int_equal(tg_work_set_params(s->w, p), TG_OK);
    return p;
}

/* far from the ground, without gravity */
static tg_params *float_free(sim *s)
{
    tg_params *p = own_params(s);
    set(s, "gravity", 0, p);
    for (int b = 0; b < RODS; b++)
        s->q[7 * b + 2] += 10;
    return p;
}

/* a node: site 0.842 m from the middle of its rod, along z of it */
static void node_of(const sim *s, int node, double out[3])
{
    const double *q = s->q + 7 * (node / 2), *r = q + 3, h = node % 2 == 0 ? -0.842 : 0.842;
    out[0] = q[0] + 2 * h * (r[1] * r[3] + r[0] * r[2]);
    out[1] = q[1] + 2 * h * (r[2] * r[3] - r[0] * r[1]);
    out[2] = q[2] + h * (1 - 2 * (r[1] * r[1] + r[2] * r[2]));
}

static double cable_length(const sim *s, int cable, double along[3])
{
    double a[3], b[3], sum = 0;
    node_of(s, cable_end[cable][0], a);
    node_of(s, cable_end[cable][1], b);
    for (int i = 0; i < 3; i++)
        sum += (b[i] - a[i]) * (b[i] - a[i]);
    for (int i = 0; i < 3; i++)
        along[i] = (b[i] - a[i]) / sqrt(sum);
    return sqrt(sum);
}

static double centre(const sim *s)
{
    double sum = 0;
    for (int b = 0; b < RODS; b++)
        sum += s->q[7 * b + 2] / RODS;
    return sum;
}

static void test_statics(void **state)
{
    (void)state;
    sim *s = open_file("models/superball.xml");
    double axis[3], low[3], high[3], along[3], compression = 0, potential;
    assert_int_equal(s->n.nq, 42);
    assert_int_equal(s->n.nv, 36);
    assert_int_equal(s->n.na, 24);
    for (int c = 0; c < CABLES; c++)
        check_near("cable", cable_length(s, c, along), 1.0312351817, 1e-6);
    check_near("tension", 1e4 * (cable_length(s, 0, along) - 0.95), 812.3518, 1e-4);
    node_of(s, 0, low);
    node_of(s, 1, high);
    for (int i = 0; i < 3; i++)
        axis[i] = (high[i] - low[i]) / 1.684;
    for (int c = 0; c < CABLES; c++)
        for (int e = 0; e < 2; e++)
            if (cable_end[c][e] == 0)
            {
                double tension = 1e4 * (cable_length(s, c, along) - 0.95);
                for (int i = 0; i < 3; i++)
                    compression += tension * (e == 0 ? 1 : -1) * along[i] * axis[i];
            }
    check_near("compression", compression, 1989.8474, 1e-4);
    tg_params *p = float_free(s);
    double *force = numbers(s->n.nv);
    assert_int_equal(tg_energy(s->m, s->w, s->q, s->v, NULL, &potential), TG_OK);
    check_near("energy", potential, 791.8986, 1e-4);
    assert_int_equal(tg_passive(s->m, s->w, s->q, s->v, force), TG_OK);
    check_below("balance of forces", norm(s->n.nv, force), 1e-9);
    free(force);
    tg_params_destroy(p);
    sim_close(s);
}

/* all rods in and out along their distance from the middle: no cable changes its length to first order, and tension
 * alone holds it */
static void test_breathing(void **state)
{
    (void)state;
    sim *s = open_file("models/superball.xml");
    tg_params *p = float_free(s);
    double last = 0, before = 0, length = 0, crossing[2] = {0, 0};
    int count = 0;
    set(s, "tendon.*.damping", 0, p);
    s->options.dt = 2e-4;
    double middle = centre(s);
    for (int b = 0; b < RODS; b++)
        for (int i = 0; i < 3; i++)
            s->q[7 * b + i] += 1e-5 * (s->q[7 * b + i] - (i == 2 ? middle : 0));
    for (int i = 0; i < 3; i++)
        length += pow(s->q[i] - (i == 2 ? middle : 0), 2);
    double rest = sqrt(length) / (1 + 1e-5);
    for (int k = 1; k < 20000 && count < 9; k++)
    {
        sim_step(s);
        length = 0;
        for (int i = 0; i < 3; i++)
            length += pow(s->q[i] - (i == 2 ? middle : 0), 2);
        last = sqrt(length) - rest;
        if (k > 1 && before < 0 && last >= 0)
        {
            double at = (k - last / (last - before)) * s->options.dt;
            crossing[count > 0] = at;
            count++;
        }
        before = last;
    }
    check_near("frequency", (count - 1) / (crossing[1] - crossing[0]), 3.99538, 2e-4);
    tg_params_destroy(p);
    sim_close(s);
}

static void test_activation(void **state)
{
    (void)state;
    sim *s = open_file("models/superball.xml");
    tg_params *p = float_free(s);
    s->u[0] = -0.5;
    sim_run(s, 100);
    check_near("after 0.1 s", s->act[0], -0.0476039, 5e-8);
    sim_run(s, 900);
    check_near("after 1 s", s->act[0], -0.3161523, 5e-8);
    tg_params_destroy(p);
    sim_close(s);
}

static void test_settled(void **state)
{
    (void)state;
    sim *s = open_file("models/superball.xml");
    static tg_step_contact contact[SIM_CONTACTS];
    double force = 0;
    sim_run(s, 5000);
    int count = sim_contacts(s, contact);
    for (int i = 0; i < count; i++)
        force += contact[i].force[2];
    check_near("normal force", fabs(force), 588.6, 1e-3);
    check_near("centre", centre(s), 0.75981, 1e-5);
    check_below("speed", norm(s->n.nv, s->v), 1e-11);
    sim_close(s);
}

/* Loose cables: two-sided ones prop it up, cables that only pull let it sag. MuJoCo's heights. */
static void test_loose(void **state)
{
    (void)state;
    for (int band = 0; band < 2; band++)
    {
        sim *s = open_file("models/superball.xml");
        tg_params *p = own_params(s);
        set(s, "tendon.*.rest[1]", 1.2, p);
        set(s, "tendon.*.rest[0]", band ? 0 : 1.2, p);
        sim_run(s, 5000);
        check_near(band ? "band" : "two-sided", centre(s), band ? 0.4059 : 0.5811, 0.015);
        tg_params_destroy(p);
        sim_close(s);
    }
}

/* ---- longer steps ---- */

/* a flight of 1 s with controls of +-100 that are drawn anew every 0.1 s; the middles of the rods at the end */
static void fly_driven(int seed, double dt, bool late, double out[3 * RODS], double momentum[6])
{
    sim *s = open_file("models/superball.xml");
    tg_params *p = float_free(s);
    noise_seed = (uint64_t)seed;
    for (int i = 0; i < 5; i++)
        noise();
    s->options.dt = dt;
    s->options.energy = false;
    s->options.implicit_tendons = late ? TG_ON : TG_OFF;
    int steps = (int)(0.1 / dt + 0.5);
    for (int k = 0; k < 10; k++)
    {
        for (int i = 0; i < s->n.nu; i++)
            s->u[i] = 100 * noise();
        for (int i = 0; i < steps;
             i++) /* at 0.1 s the soft mode, whose stiffness is the tension's, is unstable: steps may say so */
        {
            tg_state at = {s->q, s->v, s->act, &s->cache};
            if (tg_step(s->m, s->w, &s->options, &at, &(tg_control){.u = s->u}, &at, NULL) != TG_OK)
                fail_msg("%s", tg_work_message(s->w));
        }
    }
    for (int b = 0; b < RODS; b++)
        memcpy(out + 3 * b, s->q + 7 * b, 3 * sizeof(double));
    assert_int_equal(tg_momentum(s->m, s->w, s->q, s->v, momentum), TG_OK);
    tg_params_destroy(p);
    sim_close(s);
}

/* errors against steps of 0.1 ms, the mean over several draws of controls */
static void test_longer_steps(void **state)
{
    (void)state;
    enum
    {
        SEEDS = TEST_EFFORT > 1 ? 2 : 6,
        STEPS = 5
    };
    static const double dt[STEPS] = {0.001, 0.01, 0.02, 0.05, 0.1}, usual[STEPS] = {3e-4, 3e-3, 6e-3, 1e-2, 6e-2};
    double exact[3 * RODS], found[3 * RODS], momentum[6], mean[STEPS] = {0};
    for (int seed = 1; seed <= SEEDS; seed++)
    {
        fly_driven(seed, 1e-4, false, exact, momentum);
        for (int i = 0; i < STEPS; i++)
        {
            double error = 0;
            fly_driven(seed, dt[i], true, found, momentum);
            for (int b = 0; b < RODS; b++)
            {
                double d[3] = {found[3 * b] - exact[3 * b], found[3 * b + 1] - exact[3 * b + 1],
                               found[3 * b + 2] - exact[3 * b + 2]};
                error = fmax(error, norm(3, d));
            }
            mean[i] += error / SEEDS;
            check_below("linear momentum", norm(3, momentum), 1e-12 * 60 * 10); /* of 60 kg at 10 m/s */
        }
    }
    for (int i = 0; i < STEPS; i++)
    {
        print_message("dt %g: error %.3g m\n", dt[i], mean[i]);
        check_below("error", mean[i], 2 * usual[i]);
    }
}

static void test_on_the_ground(void **state)
{
    (void)state;
    sim *s = open_file("models/superball.xml");
    noise_seed = 4;
    s->options.dt = 0.01;
    s->options.implicit_tendons = TG_ON;
    for (int b = 0; b < RODS; b++)
        s->v[6 * b] = 1;
    for (int k = 0; k < 500; k++)
    {
        for (int i = 0; i < s->n.nu && k % 10 == 0; i++)
            s->u[i] = 20 * noise();
        sim_step(s); /* solved */
        assert_int_equal(s->info.status, TG_STEP_SOLVED);
        check_below("speed", norm(s->n.nv, s->v), 100);
    }
    sim_close(s);
}

/* Explicit cables at 2 ms explode. This is said while they are still slow, and no step that creates energy says that it
 * is solved. (One that creates none may be, however fast.) */
static void test_unstable_is_said(void **state)
{
    (void)state;
    sim *s = open_file("models/superball.xml");
    double dt, fastest = 0;
    assert_int_equal(tg_stable_dt(s->m, s->w, &s->options, &dt), TG_OK);
    check_near("largest stable dt", dt, 1.197e-3, 0.005e-3); /* dt/2 1661 + dt^2/4 16610 = 1, of the stiffest mode */
    s->options.implicit_tendons = TG_ON;
    assert_int_equal(tg_stable_dt(s->m, s->w, &s->options, &dt), TG_OK);
    assert_true(dt > 0.1);
    s->options.implicit_tendons = TG_OFF;
    s->options.dt = 0.002;
    s->options.energy = false;
    bool said = false;
    for (int k = 0; k < 1000; k++)
    {
        tg_info info;
        tg_state at = {s->q, s->v, s->act, &s->cache};
        double before = sim_energy(s);
        tg_status status = tg_step(s->m, s->w, &s->options, &at, NULL, &at, &info);
        if (status != TG_OK)
            break;
        fastest = fmax(fastest, norm(s->n.nv, s->v));
        said = said || info.status == TG_STEP_UNSTABLE;
        assert_true(said || fastest < 3); /* m/s: ten times what it is when the first step says so */
        if (fastest > 1e3 && info.status == TG_STEP_SOLVED)
            check_below("energy", sim_energy(s), 1.5 * before);
    }
    assert_true(said && fastest > 1e3);
    sim_close(s);
}

/* ---- gradients of rollouts ---- */

/* a coordinate of a rod's middle after so many steps of a roll, driven */
static double roll(flight *f, const double *u, bool late)
{
    sim *s = f->s;
    sim_reset(s);
    s->options.implicit_tendons = late ? TG_ON : TG_OFF;
    s->options.dt = late ? 0.004 : 0.001;
    for (int b = 0; b < RODS; b++)
        s->v[6 * b] = 1.5;
    f->u = u;
    fly(f);
    return f->q[f->steps * s->n.nq] + 0.5 * f->q[f->steps * s->n.nq + 9];
}

static void check_rollout(bool late)
{
    static const char *const names[] = {"tendon.c3.stiffness", "tendon.c3.damping",      "tendon.c3.length",
                                        "body.rod1.mass",      "geom.floor.friction[0]", "actuator.a5.gain[0]"};
    enum
    {
        STEPS = 100
    };
    sim *s = open_file("models/superball.xml");
    s->options.energy = false;
    flight f = take_off(s, STEPS, false);
    tg_params *p = own_params(s);
    double *u = numbers(STEPS * s->n.nu), *du = numbers(STEPS * s->n.nu);
    noise_seed = 9;
    for (int i = 0; i < STEPS * s->n.nu; i++)
        u[i] = 10 * noise();
    set(s, "geom.rod*.friction[0]", 0.4, p);
    set(s, "geom.floor.friction[0]", 0.45, p);
    roll(&f, u, late);
    f.gq[STEPS * s->n.nv] = 1;
    f.gq[STEPS * s->n.nv + 8] = 0.5;
    tg_rollout_gradient in = {.q = f.dq, .v = f.dv, .params = f.dpar, .u = du};
    if (tg_rollout_vjp(s->m, s->w, f.tape, &(tg_trajectory){.q = f.gq, .v = f.gv}, &in, &f.label) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    {
        int offset, size;
        assert_int_equal(tg_param_find(s->m, names[i], &offset, &size, NULL), TG_OK);
        double value = tg_params_view(p)[offset], best = INFINITY, found = 0;
        for (double h = 1e-3; h > 1e-7; h /= 4) /* the best of many displacements: none is right for all */
        {
            double by[2], step = h * fmax(fabs(value), 0.01);
            for (int k = 0; k < 2; k++)
            {
                double slope[2];
                for (int side = 0; side < 2; side++)
                {
                    tg_params_data(p)[offset] = value + (side == 0 ? 1 : -1) * step / (1 + k);
                    assert_int_equal(tg_params_changed(p, NULL), TG_OK);
                    slope[side] = roll(&f, u, late);
                }
                by[k] = (slope[0] - slope[1]) / (2 * step / (1 + k));
            }
            double richardson = (4 * by[1] - by[0]) / 3, error = fabs(richardson - f.dpar[offset]);
            if (error < best)
            {
                best = error;
                found = richardson;
            }
        }
        tg_params_data(p)[offset] = value;
        assert_int_equal(tg_params_changed(p, NULL), TG_OK);
        print_message("%s: %.10g, differences %.10g\n", names[i], f.dpar[offset], found);
        assert_true(f.dpar[offset] != 0);
        check_near(names[i], f.dpar[offset], found, 1e-6 * fabs(found));
    }
    for (int k = 0; k < 3; k++)
    {
        int at = k * 24 * 20 + 7 * k;
        double value = u[at], by[2];
        for (int half = 0; half < 2; half++)
        {
            double side[2], h = 0.1 / (1 + half);
            for (int i = 0; i < 2; i++)
            {
                u[at] = value + (i == 0 ? h : -h);
                side[i] = roll(&f, u, late);
            }
            by[half] = (side[0] - side[1]) / (2 * h);
        }
        u[at] = value;
        double found = (4 * by[1] - by[0]) / 3;
        assert_true(du[at] != 0);
        check_near("control", du[at], found, 1e-6 * fabs(found) + 1e-14);
    }
    free(u);
    free(du);
    land(&f);
    tg_params_destroy(p);
    sim_close(s);
}

static void test_rollout_gradients(void **state)
{
    (void)state;
    check_rollout(false);
}

static void test_late_rollout_gradients(void **state)
{
    (void)state;
    check_rollout(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statics),           cmocka_unit_test(test_breathing),
        cmocka_unit_test(test_activation),        cmocka_unit_test(test_longer_steps),
        cmocka_unit_test(test_on_the_ground),     cmocka_unit_test(test_unstable_is_said),
        cmocka_unit_test(test_rollout_gradients), cmocka_unit_test(test_late_rollout_gradients),
        cmocka_unit_test(test_settled),           cmocka_unit_test(test_loose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
