/* tg_check as a function: what it refuses, that it repeats, what it finds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tangere/tangere.h"

static tg_model *load(const char *name)
{
    char path[512];
    tg_model *m = NULL;
    tg_error error;
    snprintf(path, sizeof path, "%s/models/%s.xml", TANGERE_ROOT, name);
    if (tg_load(path, NULL, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    return m;
}

static void expect(tg_status expected, tg_status status, const tg_error *error, const char *says)
{
    assert_int_equal(status, expected);
    if (strstr(error->message, says) == NULL)
        fail_msg("'%s' does not say '%s'", error->message, says);
}

static void test_refusals(void **unused)
{
    (void)unused;
    tg_model *m = load("pendulum"), *other = load("pendulum");
    tg_check_options options = {0};
    tg_check_result result;
    tg_error error;
    expect(TG_ERR_ARGUMENT, tg_check(NULL, NULL, &result, &error), &error, "m is NULL");
    expect(TG_ERR_ARGUMENT, tg_check(m, NULL, NULL, &error), &error, "result is NULL");
    expect(TG_ERR_ARGUMENT, tg_check(m, &options, &result, &error), &error, "tg_default_check_options");
    options = tg_default_check_options();
    options.states = 0;
    expect(TG_ERR_VALUE, tg_check(m, &options, &result, &error), &error, "states = 0");
    options = tg_default_check_options();
    options.seed = -3;
    expect(TG_ERR_VALUE, tg_check(m, &options, &result, &error), &error, "seed = -3");
    options = tg_default_check_options();
    options.params = tg_model_params(other);
    expect(TG_ERR_ARGUMENT, tg_check(m, &options, &result, &error), &error, "another model");
    options = tg_default_check_options();
    options.index = (const int[]){0, 1 << 20};
    options.nindex = 2;
    expect(TG_ERR_ARGUMENT, tg_check(m, &options, &result, &error), &error, "index[1] = 1048576");
    tg_model_destroy(other);
    tg_model_destroy(m);
}

static tg_check_result check(const tg_model *m, int states, int seed)
{
    tg_check_options options = tg_default_check_options();
    tg_check_result result;
    tg_error error;
    options.states = states;
    options.seed = seed;
    memset(&result, 0xff, sizeof result);
    if (tg_check(m, &options, &result, &error) != TG_OK)
        fail_msg("%s", error.message);
    return result;
}

static void test_a_model_passes(void **unused)
{
    (void)unused;
    tg_model *m = load("arm");
    tg_check_result r = check(m, 40, 1);
    long compared = 0;
    assert_true(r.passed);
    assert_int_equal(r.states, 40);
    assert_int_equal(r.labels[TG_LABEL_EXACT] + r.labels[TG_LABEL_ONE_SIDED] + r.labels[TG_LABEL_REGULARISED], 40);
    for (int i = 0; i < r.ngroup; i++)
    {
        compared += r.group[i].compared;
        assert_true(r.group[i].error <= TG_CHECK_TOLERANCE);
    }
    assert_int_equal(compared, r.compared);
    assert_true(compared > 500);
    assert_true(r.group[0].largest > 0.1);
    assert_string_equal(r.group[0].name, "q");
    assert_true(r.jvp <= TG_CHECK_AGREEMENT && r.jacobian <= TG_CHECK_AGREEMENT);
    assert_true(r.contacts[TG_CONTACT_SLIDING] > 0 && r.contacts[TG_CONTACT_STICKING] > 0);
    tg_model_destroy(m);
}

/* Where labels and scales are at their limits: a box that lies on a floor as impacts happen within the step, a planar
 * walker whose feet could slip across its plane, flat feet that hold while they still turn, or slip so slowly that what
 * held rows contradict each other by is a part of it. */
static void test_hard_states(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *model;
        tg_impact impact;
        int seed;
    } cases[] = {
        {"cube", TG_IMPACT_WITHIN, 16},        {"cube", TG_IMPACT_WITHIN, 36},
        {"cube", TG_IMPACT_WITHIN, 61},        {"planar_walker", TG_IMPACT_END, 16},
        {"planar_walker", TG_IMPACT_END, 60},  {"humanoid36", TG_IMPACT_WITHIN, 8},
        {"humanoid36", TG_IMPACT_WITHIN, 304},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    {
        tg_model *m = load(cases[k].model);
        tg_check_options options = tg_default_check_options();
        tg_check_result r;
        tg_error error;
        options.states = 60;
        options.seed = cases[k].seed;
        options.impact = cases[k].impact;
        if (tg_check(m, &options, &r, &error) != TG_OK)
            fail_msg("%s", error.message);
        for (int i = 0; i < r.ngroup; i++)
            if (!(r.group[i].error <= TG_CHECK_TOLERANCE))
                fail_msg("%s, seed %d: %s %s is off by %g at state %d", cases[k].model, cases[k].seed, r.group[i].name,
                         r.group[i].entry, r.group[i].error, r.group[i].state);
        assert_true(r.jvp <= TG_CHECK_AGREEMENT && r.jacobian <= TG_CHECK_AGREEMENT);
        assert_true(r.labels[TG_LABEL_EXACT] >= 0.75 * r.states);
        tg_model_destroy(m);
    }
}

/* Two feet on a floor have many impulses, and so has a joint with dry friction at its limit. Where others hold what is
 * on its cone, nothing changes there: few numbers are skipped, few states are one-sided. What is labelled exact is
 * right. */
static void test_laws_with_redundant_rows(void **unused)
{
    (void)unused;
    const char *const law[] = {"ccp", "lcp-box", "lcp-diamond"};
    tg_model *m = load("planar_walker");
    double skipped = 0;
    for (int k = 0; k < 3; k++)
    {
        tg_check_options options = tg_default_check_options();
        tg_check_result r;
        tg_error error;
        options.law = law[k];
        if (tg_check(m, &options, &r, &error) != TG_OK)
            fail_msg("%s", error.message);
        print_message("%s: %.1f %% of the numbers skipped, %d of %d states exact\n", law[k], 100 * r.skipped,
                      r.labels[TG_LABEL_EXACT], r.states);
        assert_true(r.labels[TG_LABEL_EXACT] >= 0.75 * r.states);
        skipped += r.skipped / 3;
        assert_true(r.with_mode[TG_CONTACT_STICKING] > 10 && r.with_mode[TG_CONTACT_SLIDING] > 10);
        for (int i = 0; i < r.ngroup; i++)
            if (!(r.group[i].error <= TG_CHECK_TOLERANCE))
                fail_msg("%s: %s %s is off by %g at state %d", law[k], r.group[i].name, r.group[i].entry,
                         r.group[i].error, r.group[i].state);
    }
    tg_model_destroy(m);
    assert_true(skipped < 0.05); /* builds differ by rounding, and walk differently: the mean of the laws */
}

/* A shape that turns about the normal of a face and slides along it, on a body with any pose: no dof moves the contact
 * along its surface, but rounding does, by 1e-16. Such a row has no part in the derivative, and no mode differs from
 * the others. */
static tg_model *turning_slider(int kind)
{
    static const char *const geom[] = {"type='capsule' size='0.03 0.05'", "type='sphere' size='0.05'",
                                       "type='cylinder' size='0.04 0.05'", "type='box' size='0.05 0.07 0.04'"};
    static const char *const axis[] = {"0 0 1", "1 0 0", "0 1 0"}, *const pos[] = {"0 0 0.2", "0.2 0 0", "0 0.2 0"};
    char text[1024];
    tg_model *m = NULL;
    tg_error error;
    const char *along = axis[kind % 3];
    snprintf(text, sizeof text,
             "<mujoco><worldbody><body quat='1 %g %g %g'><joint type='hinge' axis='0.3 0.5 0.2' damping='0.1'/>"
             "<geom type='box' size='0.1 0.1 0.1'/><body><inertial pos='0 0 0' mass='0.1' diaginertia='0.001 0.001 "
             "0.001'/><joint type='hinge' axis='%s' range='-6 6' damping='0.01'/><body pos='%s'><joint type='slide' "
             "axis='%s' "
             "range='-0.3 0.3'/><geom mass='1' %s/></body></body></body></worldbody></mujoco>",
             sin(1 + kind), sin(2 + 3 * kind), sin(3 + 7 * kind), along, pos[kind % 3], along, geom[kind / 3]);
    if (tg_load_string(text, strlen(text), NULL, NULL, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    return m;
}

static void test_rows_that_nothing_moves(void **unused)
{
    (void)unused;
    for (int kind = 0; kind < 12; kind++)
    {
        tg_model *m = turning_slider(kind);
        tg_check_result r = check(m, 60, 5);
        if (!(r.jvp <= TG_CHECK_AGREEMENT && r.jacobian <= TG_CHECK_AGREEMENT))
            fail_msg("slider %d: forward mode and matrices differ from reverse mode by %g and %g", kind, r.jvp,
                     r.jacobian);
        for (int i = 0; i < r.ngroup; i++)
            if (!(r.group[i].error <= TG_CHECK_TOLERANCE))
                fail_msg("slider %d: %s %s is off by %g at state %d", kind, r.group[i].name, r.group[i].entry,
                         r.group[i].error, r.group[i].state);
        tg_model_destroy(m);
    }
}

/* Two bars that a loop holds 8 mm apart, and a box 4 cm beside them that would fall for ever: the bars cannot be
 * brought together, the box can be brought to them. */
static void test_pairs_that_a_loop_holds_apart(void **unused)
{
    (void)unused;
    static const char scene[] =
        "<mujoco><option timestep='0.002'/><worldbody><body name='left' pos='-0.1 0 0'><joint axis='0 1 0' "
        "damping='0.01'/><geom type='capsule' fromto='0 0 0 0.086 0 0.15' size='0.01' mass='0.1'/></body>"
        "<body name='right' pos='0.1 0 0'><joint axis='0 1 0' damping='0.01'/>"
        "<geom type='capsule' fromto='0 0 0 -0.086 0 0.15' size='0.01' mass='0.1'/></body>"
        "<body pos='0.17 0 0'><freejoint/><geom type='box' size='0.02 0.02 0.02' mass='0.05'/></body></worldbody>"
        "<equality><connect body1='right' body2='left' anchor='-0.1 0 0.1744'/></equality></mujoco>";
    tg_model *m = NULL;
    tg_error error;
    int sticking = 0, sliding = 0;
    if (tg_load_string(scene, strlen(scene), NULL, NULL, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    for (int seed = 1; seed <= 4; seed++)
    {
        tg_check_result r = check(m, 100, seed);
        sticking += r.with_mode[TG_CONTACT_STICKING];
        sliding += r.with_mode[TG_CONTACT_SLIDING];
    }
    tg_model_destroy(m);
    print_message("of 400 states %d have a sticking contact, %d a sliding one\n", sticking, sliding);
    assert_true(sticking >= 15 && sliding >= 15);
}

static void test_it_repeats(void **unused)
{
    (void)unused;
    tg_model *m = load("cube");
    tg_check_result a = check(m, 12, 1), b = check(m, 12, 1), c = check(m, 12, 2);
    bool same = true;
    for (int i = 0; i < a.ngroup; i++)
    {
        assert_true(a.group[i].error == b.group[i].error && a.group[i].compared == b.group[i].compared);
        assert_string_equal(a.group[i].entry, b.group[i].entry);
        same = same && a.group[i].error == c.group[i].error;
    }
    assert_false(same);
    tg_model_destroy(m);
}

static bool stop_at_three(void *user, int done, int states)
{
    int *calls = user;
    assert_int_equal(done, ++*calls);
    assert_int_equal(states, 50);
    return done < 3;
}

static void test_progress_can_end_it(void **unused)
{
    (void)unused;
    tg_model *m = load("cube");
    tg_check_options options = tg_default_check_options();
    tg_check_result result;
    int calls = 0;
    options.states = 50;
    options.progress = stop_at_three;
    options.user = &calls;
    assert_int_equal(tg_check(m, &options, &result, NULL), TG_OK);
    assert_int_equal(calls, 3);
    assert_int_equal(result.states, 3);
    tg_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_a_model_passes),
        cmocka_unit_test(test_hard_states),
        cmocka_unit_test(test_laws_with_redundant_rows),
        cmocka_unit_test(test_rows_that_nothing_moves),
        cmocka_unit_test(test_pairs_that_a_loop_holds_apart),
        cmocka_unit_test(test_it_repeats),
        cmocka_unit_test(test_progress_can_end_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
