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
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_a_model_passes),
        cmocka_unit_test(test_hard_states), cmocka_unit_test(test_laws_with_redundant_rows),
        cmocka_unit_test(test_it_repeats),  cmocka_unit_test(test_progress_can_end_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
