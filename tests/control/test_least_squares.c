/* Least squares: minima that are known, bounds, losses, priors, ties, transforms, groups, stops and refusals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tangere/control.h"

/* ---- allocators that count ---- */

typedef struct counter
{
    int given, back;
} counter;

static void *count_alloc(size_t size, size_t align, void *user)
{
    ((counter *)user)->given++;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void count_free(void *memory, void *user)
{
    ((counter *)user)->back += memory != NULL;
    free(memory);
}

static tg_optimum solve(const tg_least_squares_def *def, double *x)
{
    tg_least_squares *s = NULL;
    tg_optimum found;
    tg_error error = {.message = ""};
    counter memory = {0};
    tg_allocator allocator = {count_alloc, count_free, &memory};
    memset(&found, 0xff, sizeof found);
    if (tg_least_squares_create(def, &allocator, &s, &error) != TG_OK)
        fail_msg("%s", error.message);
    int given = memory.given;
    if (tg_least_squares_run(s, x, &found, &error) != TG_OK)
        fail_msg("%s", error.message);
    assert_int_equal(memory.given, given); /* a run allocates nothing */
    tg_least_squares_destroy(s);
    assert_int_equal(memory.given, memory.back);
    return found;
}

/* ---- Rosenbrock's valley ---- */

static tg_status valley(void *user, const double *x, double *r, double *J)
{
    int *calls = user;
    if (calls != NULL)
        ++*calls;
    r[0] = 10 * (x[1] - x[0] * x[0]);
    r[1] = 1 - x[0];
    if (J != NULL)
        memcpy(J, (double[]){-20 * x[0], 10, -1, 0}, 4 * sizeof *J);
    return TG_OK;
}

static tg_least_squares_def valley_def(void)
{
    static const int rows[] = {2};
    tg_least_squares_def def = tg_default_least_squares();
    def.unknowns.n = 2;
    def.shared = 2;
    def.rows = rows;
    def.residuals = valley;
    return def;
}

static void the_valley_is_walked_to_its_end(void **state)
{
    (void)state;
    int calls = 0;
    tg_least_squares_def def = valley_def();
    def.user = &calls;
    double x[] = {-1.2, 1};
    tg_optimum found = solve(&def, x);
    assert_true(fabs(x[0] - 1) < 1e-8 && fabs(x[1] - 1) < 1e-8);
    assert_true(found.cost < 1e-16 && found.first_cost > 12);
    assert_true(found.iterations < 40);
    assert_int_equal(found.evaluations, calls);
}

static void bounds_are_kept(void **state)
{
    (void)state;
    const double lower[] = {-2, -2}, upper[] = {0.5, 2};
    tg_least_squares_def def = valley_def();
    def.unknowns.lower = lower;
    def.unknowns.upper = upper;
    double x[] = {-1.2, 1};
    solve(&def, x);
    assert_true(x[0] == 0.5 && fabs(x[1] - 0.25) < 1e-8); /* the minimum over x1 where x0 is at its bound */
}

static bool stop_at_two(void *user, const tg_iteration *now)
{
    int *seen = user;
    *seen = now->iteration;
    return now->iteration < 2;
}

static void a_callback_stops(void **state)
{
    (void)state;
    int seen = -1;
    tg_least_squares_def def = valley_def();
    def.user = &seen;
    def.progress = stop_at_two;
    double x[] = {-1.2, 1};
    tg_optimum found = solve(&def, x);
    assert_int_equal(found.stop, TG_STOP_ASKED);
    assert_int_equal(found.iterations, 2);
    assert_int_equal(seen, 2);
}

/* ---- a line through points, of which one is wrong ---- */

enum
{
    POINTS = 20
};

static tg_status line(void *user, const double *x, double *r, double *J)
{
    const double *data = user;
    for (int i = 0; i < POINTS; i++)
    {
        r[i] = x[0] + x[1] * i - data[i];
        if (J != NULL)
        {
            J[2 * i] = 1;
            J[2 * i + 1] = i;
        }
    }
    return TG_OK;
}

static tg_least_squares_def line_def(double *data)
{
    static const int rows[] = {POINTS};
    tg_least_squares_def def = tg_default_least_squares();
    def.unknowns.n = 2;
    def.shared = 2;
    def.rows = rows;
    def.residuals = line;
    def.user = data;
    return def;
}

static void fill_line(double *data)
{
    for (int i = 0; i < POINTS; i++)
        data[i] = 2 - 0.5 * i + 0.01 * sin(7.0 * i);
}

static void robust_losses_pass_over_what_is_wrong(void **state)
{
    (void)state;
    double data[POINTS], clean[2] = {0, 0}, square[2] = {0, 0};
    fill_line(data);
    tg_least_squares_def def = line_def(data);
    solve(&def, clean);
    data[13] += 50;
    solve(&def, square);
    assert_true(fabs(square[1] - clean[1]) > 0.1);
    const tg_loss losses[] = {TG_LOSS_HUBER, TG_LOSS_CAUCHY};
    for (int k = 0; k < 2; k++)
    {
        double x[2] = {0, 0};
        def.loss = losses[k];
        def.width = 0.02;
        tg_optimum found = solve(&def, x);
        assert_true(fabs(x[1] - clean[1]) < 2e-3);
        /* a stationary point of the loss itself: sum of loss'(r) J is 0 */
        double slope[2] = {0, 0};
        for (int i = 0; i < POINTS; i++)
        {
            double r = x[0] + x[1] * i - data[i];
            double d = k == 0 ? (fabs(r) > 0.02 ? copysign(0.02, r) : r) : r / (1 + r * r / 4e-4);
            slope[0] += d;
            slope[1] += d * i;
        }
        assert_true(fabs(slope[0]) < 1e-6 && fabs(slope[1]) < 1e-6 && found.cost < found.first_cost);
    }
}

/* With priors the minimum of a linear problem is that of its normal equations. */
static void priors_are_one_more_measurement(void **state)
{
    (void)state;
    double data[POINTS], x[2] = {0, 0};
    const double prior[] = {5, 0.3}, spread[] = {0.2, INFINITY};
    fill_line(data);
    tg_least_squares_def def = line_def(data);
    def.unknowns.prior = prior;
    def.unknowns.spread = spread;
    solve(&def, x);
    double a = 1 / 0.04, b = 0, c = 0, p = 5 / 0.04, q = 0;
    for (int i = 0; i < POINTS; i++)
    {
        a += 1;
        b += i;
        c += (double)i * i;
        p += data[i];
        q += i * data[i];
    }
    double det = a * c - b * b;
    assert_true(fabs(x[0] - (c * p - b * q) / det) < 1e-9);
    assert_true(fabs(x[1] - (a * q - b * p) / det) < 1e-9);
}

static void tied_numbers_are_one(void **state)
{
    (void)state;
    double data[POINTS], x[2] = {1, -2}, information[4];
    const int tie[] = {-1, 0};
    const double factor[] = {1, -2};
    fill_line(data);
    tg_least_squares_def def = line_def(data);
    def.unknowns.tie = tie;
    def.unknowns.factor = factor;
    tg_least_squares *s = NULL;
    tg_error error;
    assert_int_equal(tg_least_squares_create(&def, NULL, &s, &error), TG_OK);
    assert_int_equal(tg_least_squares_information(s, information, &error), TG_ERR_STALE);
    assert_int_equal(tg_least_squares_run(s, x, NULL, &error), TG_OK);
    double top = 0, bottom = 0; /* minimum of sum (x (1 - 2 i) - d)^2 */
    for (int i = 0; i < POINTS; i++)
    {
        top += (1 - 2.0 * i) * data[i];
        bottom += (1 - 2.0 * i) * (1 - 2.0 * i);
    }
    assert_true(fabs(x[0] - top / bottom) < 1e-10 && x[1] == -2 * x[0]);
    assert_int_equal(tg_least_squares_information(s, information, &error), TG_OK);
    assert_true(fabs(information[0] - bottom) < 1e-6 * bottom && information[3] == 0);
    tg_least_squares_destroy(s);
}

/* ---- groups: a slope for all, an offset for each ---- */

enum
{
    GROUPS = 5,
    EACH = 6
};

static double seen(int g, int i)
{
    return 1.5 * i * i / 9.0 + 0.3 * g + 0.1 * cos(3.0 * i + g);
}

/* r = exp(k) i^2 / 9 + offset_g - data: the shared k; J for the solver with groups, or dense for the one without */
static tg_status ramps(void *user, const double *x, double *r, double *J)
{
    bool dense = *(bool *)user;
    int wide = dense ? 1 + GROUPS : 2;
    if (J != NULL)
        memset(J, 0, sizeof *J * (size_t)(GROUPS * EACH * wide));
    for (int g = 0, row = 0; g < GROUPS; g++)
        for (int i = 0; i < EACH; i++, row++)
        {
            r[row] = x[0] * x[0] * i * i / 9.0 + x[1 + g] - seen(g, i);
            if (J != NULL)
            {
                J[row * wide] = 2 * x[0] * i * i / 9.0;
                J[row * wide + (dense ? 1 + g : 1)] = 1;
            }
        }
    return TG_OK;
}

static void groups_give_what_one_system_gives(void **state)
{
    (void)state;
    const int whole[] = {GROUPS * EACH}, each[] = {EACH, EACH, EACH, EACH, EACH}, locals[] = {1, 1, 1, 1, 1};
    double x[2][1 + GROUPS], information[2][(1 + GROUPS) * (1 + GROUPS)];
    const double prior[1 + GROUPS] = {0, 0, 0, 0.5, 0, 0};
    const double spread[1 + GROUPS] = {INFINITY, INFINITY, INFINITY, 0.1, INFINITY, INFINITY};
    for (int k = 0; k < 2; k++)
    {
        bool dense = k == 0;
        tg_least_squares_def def = tg_default_least_squares();
        def.unknowns.n = 1 + GROUPS;
        def.unknowns.prior = prior;
        def.unknowns.spread = spread;
        def.shared = dense ? 1 + GROUPS : 1;
        def.groups = dense ? 1 : GROUPS;
        def.rows = dense ? whole : each;
        def.locals = dense ? NULL : locals;
        def.residuals = ramps;
        def.user = &dense;
        tg_least_squares *s = NULL;
        tg_error error;
        for (int i = 0; i <= GROUPS; i++)
            x[k][i] = 0.7;
        assert_int_equal(tg_least_squares_create(&def, NULL, &s, &error), TG_OK);
        assert_int_equal(tg_least_squares_run(s, x[k], NULL, &error), TG_OK);
        assert_int_equal(tg_least_squares_information(s, information[k], &error), TG_OK);
        tg_least_squares_destroy(s);
    }
    for (int i = 0; i <= GROUPS; i++)
        assert_true(fabs(x[0][i] - x[1][i]) < 1e-8);
    /* the Schur complement by hand: of each offset with information d and coupling b, b^2 / d goes */
    double left = information[0][0];
    for (int g = 1; g <= GROUPS; g++)
        left -= information[0][g] * information[0][g] / information[0][g * (1 + GROUPS) + g];
    assert_true(fabs(information[1][0] - left) < 1e-6 * left);
}

/* ---- transforms ---- */

/* the ten numbers of a body, each measured */
static tg_status measured(void *user, const double *x, double *r, double *J)
{
    const double *truth = user;
    for (int i = 0; i < 10; i++)
    {
        r[i] = x[i] - truth[i];
        for (int j = 0; J != NULL && j < 10; j++)
            J[10 * i + j] = i == j;
    }
    return TG_OK;
}

static void a_body_stays_one_that_can_be(void **state)
{
    (void)state;
    static const int rows[] = {10};
    const tg_transform transform[10] = {TG_TRANSFORM_INERTIA};
    double truth[10] = {2, 0.1, -0.2, 0.3, 0.5, 0.6, 0.7, 0.05, -0.1, 0.02};
    double x[10] = {0.1, 0, 0, 0, 0.01, 0.01, 0.01, 0, 0, 0};
    tg_least_squares_def def = tg_default_least_squares();
    def.unknowns.n = 10;
    def.unknowns.transform = transform;
    def.shared = 10;
    def.rows = rows;
    def.residuals = measured;
    def.user = truth;
    solve(&def, x);
    for (int i = 0; i < 10; i++)
        assert_true(fabs(x[i] - truth[i]) < 1e-7);
    truth[4] = 5; /* no body has xx > yy + zz: the nearest that can be is met, the limit of a flat one */
    memcpy(x, (double[]){2, 0.1, -0.2, 0.3, 0.5, 0.6, 0.7, 0.05, -0.1, 0.02}, sizeof x);
    solve(&def, x);
    assert_true(x[0] > 0 && x[4] <= x[5] + x[6] + 1e-12);
    double wrong[10] = {1, 0, 0, 0, 5, 1, 1, 0, 0, 0};
    tg_least_squares *s = NULL;
    tg_error error;
    assert_int_equal(tg_least_squares_create(&def, NULL, &s, &error), TG_OK);
    assert_int_equal(tg_least_squares_run(s, wrong, NULL, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "no body has this mass and inertia"));
    tg_least_squares_destroy(s);
}

static tg_status decay(void *user, const double *x, double *r, double *J)
{
    (void)user;
    for (int i = 0; i < 5; i++)
    {
        r[i] = exp(-x[0] * i) - exp(-0.4 * i);
        if (!(x[0] > 0))
            return TG_ERR_VALUE;
        if (J != NULL)
            J[i] = -i * exp(-x[0] * i);
    }
    return TG_OK;
}

static void logarithms_stay_positive_and_failures_are_walked_round(void **state)
{
    (void)state;
    static const int rows[] = {5};
    const tg_transform kinds[] = {TG_TRANSFORM_LOG, TG_TRANSFORM_NONE};
    for (int k = 0; k < 2; k++)
        for (double start = 1e-3; start < 9; start *= 3)
        {
            tg_least_squares_def def = tg_default_least_squares();
            def.unknowns.n = 1;
            def.unknowns.transform = kinds + k;
            def.shared = 1;
            def.rows = rows;
            def.residuals = decay;
            double x = start;
            solve(&def, &x);
            assert_true(fabs(x - 0.4) < 1e-7);
        }
}

/* ---- refusals ---- */

static void refused(const tg_least_squares_def *def, tg_status status, const char *words)
{
    tg_least_squares *s = NULL;
    tg_error error = {.message = ""};
    assert_int_equal(tg_least_squares_create(def, NULL, &s, &error), status);
    if (strstr(error.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, words);
    assert_null(s);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    const double low[] = {1, 1}, high[] = {2, 0.5}, negative[] = {-1, 1};
    const int chain[] = {1, 0}, far[] = {7, -1};
    tg_least_squares_def def = valley_def();
    def.unknowns.lower = low;
    def.unknowns.upper = high;
    refused(&def, TG_ERR_VALUE, "x[1]: the lower bound 1 is above the upper bound 0.5");
    def = valley_def();
    def.cookie = 0;
    refused(&def, TG_ERR_ARGUMENT, "tg_default_least_squares");
    def = valley_def();
    def.unknowns.tie = chain;
    refused(&def, TG_ERR_ARGUMENT, "tie[0] = 1 is not an unknown of its own");
    def.unknowns.tie = far;
    refused(&def, TG_ERR_ARGUMENT, "tie[0] = 7");
    def = valley_def();
    def.unknowns.spread = negative;
    refused(&def, TG_ERR_VALUE, "spread[0] = -1 must be positive");
    def = valley_def();
    def.shared = 1;
    refused(&def, TG_ERR_ARGUMENT, "shared and local unknowns are 1, n = 2");
    def = valley_def();
    def.width = 0;
    refused(&def, TG_ERR_VALUE, "width = 0");

    tg_least_squares *s = NULL;
    tg_error error;
    def = valley_def();
    def.unknowns.lower = low;
    assert_int_equal(tg_least_squares_create(&def, NULL, &s, &error), TG_OK);
    double x[] = {0.5, 3}, bad[] = {NAN, 3};
    assert_int_equal(tg_least_squares_run(s, x, NULL, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "x[0] = 0.5 is outside of its bounds 1 to inf"));
    assert_int_equal(tg_least_squares_run(s, bad, NULL, &error), TG_ERR_VALUE);
    assert_true(x[0] == 0.5);
    tg_least_squares_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_valley_is_walked_to_its_end),
        cmocka_unit_test(bounds_are_kept),
        cmocka_unit_test(a_callback_stops),
        cmocka_unit_test(robust_losses_pass_over_what_is_wrong),
        cmocka_unit_test(priors_are_one_more_measurement),
        cmocka_unit_test(tied_numbers_are_one),
        cmocka_unit_test(groups_give_what_one_system_gives),
        cmocka_unit_test(a_body_stays_one_that_can_be),
        cmocka_unit_test(logarithms_stay_positive_and_failures_are_walked_round),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
