/* First-order methods on minima that are known, bounds, and the transform of a body against differences. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/inertia.h"
#include "tangere/control.h"

/* 1/2 sum (k + 1)^2 (x_k - k)^2 + 1/4 (x_0 - x_1 + 1)^4: the minimum is x_k = k */
static tg_status bowl(void *user, const double *x, double *f, double *g)
{
    int n = *(int *)user;
    double a = x[0] - x[1] + 1;
    *f = 0.25 * a * a * a * a;
    for (int k = 0; k < n; k++)
    {
        *f += 0.5 * (k + 1) * (k + 1) * (x[k] - k) * (x[k] - k);
        if (g != NULL)
            g[k] = (k + 1) * (k + 1) * (x[k] - k);
    }
    if (g != NULL)
    {
        g[0] += a * a * a;
        g[1] -= a * a * a;
    }
    return TG_OK;
}

static tg_optimum minimise(tg_minimiser_def *def, double *x)
{
    tg_minimiser *s = NULL;
    tg_optimum found;
    tg_error error = {.message = ""};
    if (tg_minimiser_create(def, NULL, &s, &error) != TG_OK || tg_minimiser_run(s, x, &found, &error) != TG_OK)
        fail_msg("%s", error.message);
    tg_minimiser_destroy(s);
    return found;
}

static void every_method_finds_the_bottom(void **state)
{
    (void)state;
    int n = 6;
    for (tg_method method = 0; method < TG_METHOD_COUNT; method++)
    {
        double x[6] = {3, -3, 3, -3, 3, -3};
        tg_minimiser_def def = tg_default_minimiser();
        def.unknowns.n = n;
        def.cost = bowl;
        def.user = &n;
        def.method = method;
        def.iterations = 20000;
        def.decay = 0;
        tg_optimum found = minimise(&def, x);
        double near = method == TG_METHOD_ADAM || method == TG_METHOD_ADAMW ? 1e-4 : 1e-5;
        for (int k = 0; k < n; k++)
            assert_true(fabs(x[k] - k) < near);
        assert_true(found.cost < found.first_cost);
        if (method == TG_METHOD_LBFGS)
            assert_true(found.iterations < 60);
    }
}

/* 1e10 max(0, x - 1) + x^2 / 2: a cliff on the way to 0 */
static tg_status cliff(void *user, const double *x, double *f, double *g)
{
    (void)user;
    *f = 1e10 * fmax(0, x[0] - 1) + 0.5 * x[0] * x[0];
    if (g != NULL)
        g[0] = (x[0] > 1 ? 1e10 : 0) + x[0];
    return TG_OK;
}

static void clipping_gets_over_a_cliff(void **state)
{
    (void)state;
    for (int clipped = 0; clipped < 2; clipped++)
    {
        double x = 1.005;
        tg_minimiser_def def = tg_default_minimiser();
        def.unknowns.n = 1;
        def.cost = cliff;
        def.method = TG_METHOD_ADAM;
        def.clip = clipped ? 1 : 0;
        minimise(&def, &x);
        assert_true(clipped ? fabs(x) < 1e-3 : x > 0.9); /* without, the moments remember the cliff */
    }
}

static void clipping_shortens_a_step_of_descent(void **state)
{
    (void)state;
    int n = 6;
    double x[6] = {3, -3, 3, -3, 3, -3}, start[6], g[6], f, length = 0, moved = 0;
    tg_minimiser_def def = tg_default_minimiser();
    def.unknowns.n = n;
    def.cost = bowl;
    def.user = &n;
    def.method = TG_METHOD_DESCENT;
    def.iterations = 1;
    def.rate = 0.01;
    def.clip = 0.5;
    memcpy(start, x, sizeof x);
    bowl(&n, x, &f, g);
    minimise(&def, x);
    for (int k = 0; k < n; k++)
    {
        length = hypot(length, g[k]);
        moved = hypot(moved, x[k] - start[k]);
    }
    assert_true(fabs(moved - 0.01 * 0.5) < 1e-15);
    for (int k = 0; k < n; k++)
        assert_true(fabs(x[k] - start[k] + 0.01 * 0.5 * g[k] / length) < 1e-15);
    tg_minimiser *s = NULL;
    tg_error error;
    def.method = TG_METHOD_LBFGS;
    assert_int_equal(tg_minimiser_create(&def, NULL, &s, &error), TG_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "clip = 0.5 with L-BFGS"));
    def.clip = -1;
    assert_int_equal(tg_minimiser_create(&def, NULL, &s, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "clip = -1"));
}

static void decay_pulls_towards_zero(void **state)
{
    (void)state;
    int n = 6;
    double x[6] = {0};
    tg_minimiser_def def = tg_default_minimiser();
    def.unknowns.n = n;
    def.cost = bowl;
    def.user = &n;
    def.method = TG_METHOD_ADAMW;
    def.decay = 0.05;
    def.iterations = 5000;
    minimise(&def, x);
    assert_true(x[5] < 5 - 1e-4 && x[5] > 4);
}

static void bounds_hold_and_priors_count(void **state)
{
    (void)state;
    int n = 2;
    const double upper[] = {INFINITY, 0.5}, lower[] = {-INFINITY, -1}, prior[] = {0, 0}, spread[] = {1, INFINITY};
    for (tg_method method = 0; method < TG_METHOD_COUNT; method++)
    {
        double x[2] = {2, -0.5};
        tg_minimiser_def def = tg_default_minimiser();
        def.unknowns = (tg_unknowns){.n = n, .lower = lower, .upper = upper, .prior = prior, .spread = spread};
        def.cost = bowl;
        def.user = &n;
        def.method = method;
        def.iterations = 20000;
        def.decay = 0;
        minimise(&def, x);
        /* with x1 at its bound: 2 x0 + (x0 + 0.5)^3 = 0 */
        double slope = 2 * x[0] + pow(x[0] + 0.5, 3);
        assert_true(x[1] == 0.5 && fabs(slope) < 1e-3);
    }
}

static bool never(void *user, const tg_iteration *now)
{
    (void)user;
    return now->iteration < 3;
}

static void a_callback_stops_and_bad_definitions_are_refused(void **state)
{
    (void)state;
    int n = 6;
    double x[6] = {3, -3, 3, -3, 3, -3};
    tg_minimiser_def def = tg_default_minimiser();
    def.unknowns.n = n;
    def.cost = bowl;
    def.user = &n;
    def.progress = never;
    tg_optimum found = minimise(&def, x);
    assert_int_equal(found.stop, TG_STOP_ASKED);
    assert_int_equal(found.iterations, 3);
    tg_minimiser *s = NULL;
    tg_error error;
    def.rate = 0;
    assert_int_equal(tg_minimiser_create(&def, NULL, &s, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "rate = 0"));
    def = tg_default_minimiser();
    assert_int_equal(tg_minimiser_create(&def, NULL, &s, &error), TG_ERR_ARGUMENT);
    for (tg_stop stop = 0; stop <= TG_STOP_COUNT; stop++)
        assert_true(strlen(tg_stop_string(stop)) > 3);
}

/* x(z(x)) = x, and the slope is that of central differences. */
static void bodies_go_there_and_back(void **state)
{
    (void)state;
    srand(3);
    for (int trial = 0; trial < 200; trial++)
    {
        double z[10], x[10], back[10], slope[10][10], largest = 0;
        for (int k = 0; k < 10; k++)
            z[k] = 2.0 * rand() / RAND_MAX - 1;
        tg_inertia_to_x(z, x, slope);
        assert_true(tg_inertia_to_z(x, back));
        for (int k = 0; k < 10; k++)
            assert_true(fabs(back[k] - z[k]) < 1e-9);
        for (int j = 0; j < 10; j++)
        {
            const double h = 1e-5; /* error of central differences: h^2 */
            double up[10], down[10], moved[10];
            memcpy(moved, z, sizeof z);
            moved[j] = z[j] + h;
            tg_inertia_to_x(moved, up, NULL);
            moved[j] = z[j] - h;
            tg_inertia_to_x(moved, down, NULL);
            for (int i = 0; i < 10; i++)
            {
                double difference = (up[i] - down[i]) / (2 * h);
                assert_true(fabs(slope[i][j] - difference) < 1e-7 * (1 + fabs(difference)));
                largest = fmax(largest, fabs(slope[i][j]));
            }
        }
        assert_true(largest > 0.1);
    }
    double none[10] = {-1}, z[10];
    assert_false(tg_inertia_to_z(none, z));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_finds_the_bottom),
        cmocka_unit_test(clipping_gets_over_a_cliff),
        cmocka_unit_test(clipping_shortens_a_step_of_descent),
        cmocka_unit_test(decay_pulls_towards_zero),
        cmocka_unit_test(bounds_hold_and_priors_count),
        cmocka_unit_test(a_callback_stops_and_bad_definitions_are_refused),
        cmocka_unit_test(bodies_go_there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
