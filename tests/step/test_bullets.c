/* Fast bodies of any shape: an impact that turns them far in one step leaves no overlap, and nothing comes out on the
 * other side.
 *
 * TANGERE_BULLETS=first:count in the environment draws other shots than those of the test, 1,280 per seed (make
 * bullets). */
#include "step_test.h"

static const char *const shape[] = {"type='capsule' size='0.02 0.05'",
                                    "type='box' size='0.02 0.03 0.06'",
                                    "type='cylinder' size='0.02 0.05'",
                                    "type='ellipsoid' size='0.02 0.03 0.06'",
                                    "type='mesh' mesh='m'",
                                    "type='sphere' size='0.03'",
                                    "type='capsule' size='0.004 0.02'",
                                    "type='box' size='0.1 0.1 0.005'"};
static const char *const target[] = {
    "<geom type='plane' size='5 5 1'/>", "<geom type='box' size='50 50 0.01' pos='0 0 -0.01'/>",
    "<body pos='0 0 -0.05'><freejoint/><geom type='box' size='0.3 0.3 0.05' mass='2'/></body>",
    "<geom type='mesh' mesh='slab' pos='0 0 -0.02'/>"};

enum
{
    SHAPES = sizeof shape / sizeof shape[0],
    TARGETS = sizeof target / sizeof target[0]
};

static sim *range_of(int s, int t)
{
    return sim_open(
        text("<mujoco><option gravity='0 0 0' integrator='implicit'/><asset>"
             "<mesh name='m' vertex='0.02 0 0  -0.02 0 0  0 0.03 0.01  0 -0.03 0.01  0.01 0 0.07  -0.01 0.01 -0.05  0 "
             "0 -0.06'/>"
             "<mesh name='slab' vertex='-50 -50 -0.02  50 -50 -0.02  50 50 -0.02  -50 50 -0.02  -50 -50 0.02  50 -50 "
             "0.02  50 50 0.02  -50 50 0.02'/>"
             "</asset><worldbody><body pos='0 0 1'><freejoint/><geom %s mass='0.1'/></body>%s</worldbody></mujoco>",
             shape[s], target[t]));
}

static double drawn(double low, double high)
{
    return low * pow(high / low, 0.5 * (noise() + 1));
}

/* m */
static double deepest(sim *s)
{
    tg_contact c[SIM_CONTACTS];
    int count;
    double most = 0;
    assert_int_equal(tg_collide(s->m, s->w, s->q, 0, c, SIM_CONTACTS, &count), TG_OK);
    for (int i = 0; i < count && i < SIM_CONTACTS; i++)
        most = fmax(most, -c[i].distance);
    return most;
}

/* At the body, which is up to two steps away. */
static void shoot(sim *s, double speed, double spin)
{
    double length = 0;
    sim_reset(s);
    for (int i = 3; i < 7; i++)
    {
        s->q[i] = noise();
        length += s->q[i] * s->q[i];
    }
    for (int i = 3; i < 7; i++)
        s->q[i] /= sqrt(length);
    s->q[0] = s->q[1] = 0;
    s->q[2] = 0.15 + speed * s->options.dt * (1 + noise());
    for (int i = 0; i < 3; i++)
        s->v[i] = speed * (i == 2 ? -1 : 0.3 * noise());
    for (int i = 3; i < 6; i++)
        s->v[i] = spin * noise();
}

/* The deepest overlap of a shot, m; INFINITY: it passes through. */
static double hit(sim *s, const char *name, double speed, double spin)
{
    shoot(s, speed, spin);
    double most = 0, side = s->n.nq > 7 ? s->q[9] : 0; /* of the target's top, at the start */
    for (int t = 0; t < 12; t++)
    {
        tg_state x = {s->q, s->v, s->act, &s->cache};
        if (tg_step(s->m, s->w, &s->options, &x, NULL, &x, &s->info) != TG_OK)
            fail_msg("%s: %s", name, tg_work_message(s->w));
        most = fmax(most, deepest(s));
    }
    return s->n.nq == 7 && !(s->q[2] > side) ? INFINITY : most;
}

/* Every shape on every target, 1 to 1,000 m/s, 0.5 to 10 ms, turning at up to 2,000 rad/s or not: how many of the shots
 * overlap by more than the reach. */
static int shoot_all(int shots, int *all)
{
    int bad = 0;
    for (int i = 0; i < SHAPES; i++)
        for (int t = 0; t < TARGETS; t++)
        {
            sim *s = range_of(i, t);
            for (int k = 0; k < shots; k++, ++*all)
            {
                double speed = drawn(1, 1000), spin = k % 2 == 0 ? 0 : drawn(1, 2000);
                s->options.dt = drawn(5e-4, 1e-2);
                char name[256];
                snprintf(name, sizeof name, "%s on target %d, %g m/s, %g rad/s, %g s", shape[i], t, speed, spin,
                         s->options.dt);
                double deep = hit(s, name, speed, spin);
                if (deep <= s->options.reach)
                    continue;
                print_message("%s: %g m deep\n", name, deep);
                bad++;
            }
            sim_close(s);
        }
    return bad;
}

static void test_overlap(void **state)
{
    (void)state;
    int first = 1, count = 1, bad = 0, all = 0;
    const char *asked = getenv("TANGERE_BULLETS");
    if (asked != NULL)
        assert_int_equal(sscanf(asked, "%d:%d", &first, &count), 2);
    for (int i = first; i < first + count; i++)
    {
        noise_seed = (uint64_t)i;
        bad += shoot_all(40 / TEST_EFFORT, &all);
    }
    if (asked != NULL || bad > 0)
        print_message("%d of %d shots overlap by more than the reach\n", bad, all);
    assert_int_equal(bad, 0);
}

/* Arms of three links that swing onto a floor: what turns is a chain, and the deepest overlap of a swing, m. */
static double swing(int seed)
{
    static const char *const link[] = {"type='capsule' size='0.01' fromto='0 0 0 0.15 0 0'",
                                       "type='box' size='0.075 0.02 0.01' pos='0.075 0 0'",
                                       "type='cylinder' size='0.01' fromto='0 0 0 0.15 0 0'",
                                       "type='ellipsoid' size='0.075 0.02 0.03' pos='0.075 0 0'"};
    noise_seed = (uint64_t)seed * 7919u;
    const char *shape_of = link[seed % 4];
    double high = 0.1 + 0.1 * (1 + noise()), most = 0;
    sim *s = sim_open(
        text("<mujoco><worldbody>%s<body pos='0 0 %g'><joint axis='0.1 1 0'/><geom %s mass='0.2'/><body pos='0.15 0 "
             "0'><joint "
             "axis='0 1 0.2'/><geom %s mass='0.1'/><body pos='0.15 0 0'><joint axis='0 1 0'/><geom %s mass='0.1'/>"
             "</body></body></body></worldbody></mujoco>",
             target[seed % 2], high, shape_of, shape_of, shape_of));
    double speed = drawn(1, 50);
    s->options.dt = drawn(5e-4, 1e-2);
    s->q[0] = -1;
    for (int i = 0; i < 3; i++)
    {
        s->q[i] += 0.5 * noise();
        s->v[i] = speed * (1 + 0.5 * noise());
    }
    bool starts_above = deepest(s) == 0;
    for (int t = 0; t < 30 && starts_above; t++)
    {
        tg_state x = {s->q, s->v, s->act, &s->cache};
        if (tg_step(s->m, s->w, &s->options, &x, NULL, &x, &s->info) != TG_OK)
            fail_msg("arm %d: %s", seed, tg_work_message(s->w));
        if (s->info.status == TG_STEP_UNSTABLE) /* explicit bias forces of a chain that turns by a radian per step */
            break;
        most = fmax(most, deepest(s));
    }
    if (most > s->options.reach)
        print_message("arm %d, %g rad/s, %g s: %g m deep\n", seed, speed, s->options.dt, most);
    sim_close(s);
    return most;
}

static void test_arms(void **state)
{
    (void)state;
    int first = 1, count = 1, swings = 200, bad = 0;
    const char *asked = getenv("TANGERE_BULLETS");
    if (asked != NULL)
        assert_int_equal(sscanf(asked, "%d:%d", &first, &count), 2);
    for (int i = swings * first; i < swings * (first + count); i += TEST_EFFORT)
        bad += swing(i) > 1e-3;
    if (asked != NULL || bad > 0)
        print_message("%d of %d arms overlap by more than the reach\n", bad, swings * count);
    assert_int_equal(bad, 0);
}

/* 300 m/s, e = 0: overlapped by 3 mm. */
static void test_capsule(void **state)
{
    (void)state;
    sim *s = range_of(0, 0);
    for (int k = 0; k < 200 / TEST_EFFORT; k++)
    {
        double dt[] = {0.001, 0.002, 0.005};
        s->options.dt = dt[k % 3];
        shoot(s, 300, 0);
        for (int t = 0; t < 12; t++)
        {
            sim_step(s);
            check_below("overlap", deepest(s), s->options.reach);
        }
    }
    sim_close(s);
}

/* One behind the other at one speed, the way of a step to the floor, 3 mm apart: they do not close, and have no
 * contact. When the floor stops the first the second, which nothing stops but the first, stands on it. */
static void test_one_behind_the_other(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++)
    {
        sim *s = sim_open(
            text("<mujoco><option gravity='0 0 0'/><asset><mesh name='m' vertex='0.02 0 0  -0.02 0 0  0 0.03 0.01  0 "
                 "-0.03 0.01  0.01 0 0.07  -0.01 0.01 -0.05  0 0 -0.06'/></asset><worldbody>"
                 "<geom type='plane' size='5 5 1'/><body pos='0 0 0.2'><freejoint/><geom type='sphere' size='0.05' "
                 "mass='1'/></body><body pos='0 0 0.4'><freejoint/><geom %s mass='1'/></body></worldbody></mujoco>",
                 shape[i]));
        tg_contact c[SIM_CONTACTS];
        int count;
        assert_int_equal(tg_collide(s->m, s->w, s->q, 0.2, c, SIM_CONTACTS, &count), TG_OK);
        for (int k = 0; k < count; k++)
            if (c[k].geom1 == 1)
                s->q[9] -= c[k].distance - 0.003;
        s->options.dt = 0.002;
        s->v[2] = s->v[8] = -20; /* 40 mm a step */
        for (int t = 0; t < 8; t++)
        {
            double high = s->q[2];
            sim_step(s);
            check_below("overlap", deepest(s), 1e-6);
            assert_true(s->info.contacts == 0 || high < 0.1); /* one with the floor, from 0.09 m on */
        }
        check_near("floor", s->q[2], 0.05, 1e-6);
        sim_close(s);
    }
}

/* What is held goes on: a stick that falls over at 100 rad/s lies down, and steps whose gaps hold are whole. */
static void test_goes_on(void **state)
{
    (void)state;
    sim *s = sim_open("<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 0.08'><freejoint/>"
                      "<geom type='capsule' size='0.02 0.05' mass='0.1'/></body></worldbody></mujoco>");
    s->options.dt = 0.005;
    s->v[4] = 100;
    for (int t = 0; t < 400; t++)
        sim_step(s);
    check_below("speed", norm(6, s->v), 2);
    double z = s->q[2];
    check_near("height", z, 0.02, 2e-3);
    sim_close(s);
}

/* Parts that a model lets overlap by centimetres: what turns about a fixed axis and moves along the surface goes all of
 * its way, though that takes it deeper, by theta^2 R / 2. */
static void test_overlap_by_design(void **state)
{
    (void)state;
    int turned = 0;
    for (int k = 0; k < SHAPES; k++)
    {
        sim *s = sim_open(text(
            "<mujoco><option gravity='0 0 0'/><asset><mesh name='m' vertex='0.02 0 0  -0.02 0 0  0 0.03 0.01  0 -0.03 "
            "0.01  0.01 0 0.07  -0.01 0.01 -0.05  0 0 -0.06'/></asset><worldbody><geom type='box' size='0.1 0.2 0.2' "
            "condim='1'/><body><joint axis='0 0 1'/><geom %s pos='0.05 0 0' mass='1' condim='1'/></body></worldbody>"
            "</mujoco>",
            shape[k]));
        s->options.dt = 0.002;
        s->v[0] = 10;
        assert_true(deepest(s) > 0.05);
        sim_step(s);
        turned += s->v[0] > 9;
        check_near(shape[k], s->q[0], s->options.dt * s->v[0], 1e-15);
        sim_close(s);
    }
    assert_true(turned >= 5); /* corners stop the others */
}

/* out . (q+, v+) of a cold step from (q, v), displaced by h along d, less that of the reference outcome */
static double outcome_along(sim *s, const double q[7], const double v[6], const double d[12], double h,
                            const double out[12], const double q_reference[7])
{
    double step[6], apart[6], sum = 0;
    for (int i = 0; i < 6; i++)
    {
        step[i] = h * d[i];
        s->v[i] = v[i] + h * d[6 + i];
    }
    assert_int_equal(tg_integrate(s->m, q, step, s->q, NULL), TG_OK);
    s->cache.count = 0;
    sim_step(s);
    assert_int_equal(tg_difference(s->m, q_reference, s->q, apart, NULL), TG_OK);
    for (int i = 0; i < 6; i++)
        sum += out[i] * apart[i] + out[6 + i] * s->v[i];
    return sum;
}

/* The share of a held step does not change with the state, but for jumps: the derivative at that share is that of the
 * step. Both modes agree on it. */
static void test_label(void **state)
{
    (void)state;
    sim *s = range_of(0, 0);
    int held = 0, exact = 0, wrong = 0;
    s->options.dt = 0.002;
    for (int k = 0; k < 60; k++)
    {
        shoot(s, 300, 0);
        double q[7], v[6], q_next[7], v_next[6], gq[6] = {0}, gv[6] = {0}, dq[6], dv[6], jq[6], jv[6];
        for (int t = 0; t < 4; t++)
        {
            memcpy(q, s->q, sizeof q), memcpy(v, s->v, sizeof v);
            sim_step(s);
            double ideal[7], step[6];
            for (int i = 0; i < 6; i++)
                step[i] = s->options.dt * s->v[i];
            assert_int_equal(tg_integrate(s->m, q, step, ideal, NULL), TG_OK);
            bool whole = true;
            for (int i = 0; i < 3; i++)
                whole = whole && fabs(ideal[i] - s->q[i]) < 1e-12;
            if (whole)
                continue;
            held++;
            double o[12], d[12], forward = 0, reverse = 0, size = 1;
            for (int i = 0; i < 12; i++)
                o[i] = noise(), d[i] = noise();
            tg_label label;
            assert_int_equal(
                tg_step_vjp(s->m, s->w, &(tg_cotangent){.q = o, .v = o + 6}, &(tg_cotangent){.q = gq, .v = gv}, &label),
                TG_OK);
            memcpy(dq, d, sizeof dq), memcpy(dv, d + 6, sizeof dv);
            assert_int_equal(
                tg_step_jvp(s->m, s->w, &(tg_cotangent){.q = dq, .v = dv}, &(tg_cotangent){.q = jq, .v = jv}, NULL),
                TG_OK);
            for (int i = 0; i < 6; i++)
            {
                forward += o[i] * jq[i] + o[6 + i] * jv[i];
                reverse += gq[i] * dq[i] + gv[i] * dv[i];
                size = fmax(size, fmax(fabs(gq[i]), fabs(gv[i])));
            }
            check_near("forward mode", forward, reverse, 1e-10 * size);
            const double h = 1e-7;
            memcpy(q_next, s->q, sizeof q_next), memcpy(v_next, s->v, sizeof v_next);
            double right = outcome_along(s, q, v, d, h, o, q_next), left = outcome_along(s, q, v, d, -h, o, q_next);
            memcpy(s->q, q_next, sizeof q_next), memcpy(s->v, v_next, sizeof v_next);
            exact += label.kind == TG_LABEL_EXACT;
            wrong += label.kind == TG_LABEL_EXACT && fabs((right - left) / (2 * h) - forward) > 1e-5 * size;
        }
    }
    assert_true(held > 20);
    assert_true(2 * exact > held);
    assert_int_equal(wrong, 0);
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_overlap), cmocka_unit_test(test_arms),
                                       cmocka_unit_test(test_capsule), cmocka_unit_test(test_one_behind_the_other),
                                       cmocka_unit_test(test_goes_on), cmocka_unit_test(test_overlap_by_design),
                                       cmocka_unit_test(test_label)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
