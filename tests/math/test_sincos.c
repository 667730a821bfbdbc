/* Sine and cosine of four angles at once, against the C library in long double. */
#include "math/sincos.h"

#include <stdbool.h>

#include "math_test.h"

/* Largest error seen of sine and of cosine: absolute, and in units in the last place of the result. */
typedef struct sincos_error
{
    double absolute, ulps;
} sincos_error;

/* valgrind computes long double as double: then the C library's double is the better judge, and its own half unit
 * counts. */
static bool long_double_is_longer(void)
{
    volatile long double one = 1, little = 0x1p-60L;
    volatile long double sum = one + little;
    return sum != one;
}

static double unit_in_last_place(double x)
{
    x = fabs(x);
    return fmax(nextafter(x, INFINITY) - x, 0x1p-1074);
}

static void judge(double got, long double exact, sincos_error *worst)
{
    double error = (double)fabsl((long double)got - exact);
    if (!(error <= 1))
        fail_msg("%.17g is not %.17Lg", got, exact);
    worst->absolute = fmax(worst->absolute, error);
    worst->ulps = fmax(worst->ulps, error / unit_in_last_place((double)exact));
}

/* Through sincos_many, in groups of four. */
static void measure(const double *x, int n, sincos_error *worst)
{
    double a[4] __attribute__((aligned(32))), s[4] __attribute__((aligned(32))), c[4] __attribute__((aligned(32)));
    bool longer = long_double_is_longer();
    for (int i = 0; i < n; i += 4)
    {
        for (int k = 0; k < 4; k++)
            a[k] = i + k < n ? x[i + k] : 0;
        sincos_many(a, s, c, 4);
        for (int k = 0; k < 4; k++)
        {
            judge(s[k], longer ? sinl(a[k]) : (long double)sin(a[k]), worst);
            judge(c[k], longer ? cosl(a[k]) : (long double)cos(a[k]), worst);
        }
    }
}

/* The bounds: 1.7e-16, which is 1.5 units in the last place of a result between 1/2 and 1; and 4 units in the last
 * place of any result, small ones near a zero too. */
static void check(const char *what, sincos_error e)
{
    const double absolute = 1.7e-16, ulps = 4;
    print_message("  %s: %.3g absolute, %.3g units in the last place\n", what, e.absolute, e.ulps);
    double more = long_double_is_longer() ? 0 : 1;
    assert_true(e.absolute <= absolute + more * 1.2e-16);
    assert_true(e.ulps <= ulps + more);
}

static void test_ranges(void **state)
{
    (void)state;
    static const double limits[] = {1e-8, 1e-3, 0.8, 3.2, 100, 1e4, 1e6};
    test_random r = {11};
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++)
    {
        enum
        {
            COUNT = 20000
        };
        static double x[COUNT];
        sincos_error worst = {0, 0};
        char what[40];
        for (int i = 0; i < COUNT; i++)
            x[i] = limits[k] * random_unit(&r);
        measure(x, COUNT, &worst);
        snprintf(what, sizeof what, "up to %g", limits[k]);
        check(what, worst);
    }
}

/* Both sides of every multiple of pi/4, where quadrants meet or one of the two is zero. */
static void test_quadrants(void **state)
{
    (void)state;
    sincos_error odd = {0, 0}, even = {0, 0};
    for (int k = -2000; k <= 2000; k++)
    {
        double at = k * 0.78539816339744830962, x[4];
        x[0] = at;
        x[1] = nextafter(at, INFINITY);
        x[2] = nextafter(at, -INFINITY);
        x[3] = at + 1e-9;
        measure(x, 4, k % 2 != 0 ? &odd : &even);
    }
    check("odd multiples of pi/4", odd);
    check("multiples of pi/2", even);
}

/* The nearest doubles to the multiples of pi/2 up to 1e6: what is left after the reduction is as small as 1e-16 /
 * 1e6. */
static void test_near_zeros(void **state)
{
    (void)state;
    sincos_error worst = {0, 0};
    for (int k = 1; k < 636000; k += 7)
    {
        double x = k * 1.57079632679489661923;
        measure(&x, 1, &worst);
    }
    check("nearest to multiples of pi/2", worst);
}

/* Beyond the fast reduction the C library takes over; at the border both agree. */
static void test_huge_angles(void **state)
{
    (void)state;
    const double x[] = {SINCOS_MAX_ANGLE,
                        -SINCOS_MAX_ANGLE,
                        nextafter(SINCOS_MAX_ANGLE, 0),
                        nextafter(SINCOS_MAX_ANGLE, INFINITY),
                        1.5e6,
                        -1e7,
                        1e15,
                        1e22,
                        -1e100,
                        1.7976931348623157e308,
                        -12345678.9};
    sincos_error worst = {0, 0};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        measure(&x[i], 1, &worst);            /* beside zeros */
    measure(x, sizeof x / sizeof *x, &worst); /* beside each other */
    check("huge", worst);
}

static void test_exact_values(void **state)
{
    (void)state;
    double a[4] __attribute__((aligned(32))) = {0, -0.0, 1e-300, -5e-324};
    double s[4] __attribute__((aligned(32))), c[4] __attribute__((aligned(32)));
    sincos_many(a, s, c, 4);
    for (int i = 0; i < 4; i++)
    {
        assert_true(s[i] == a[i]);
        assert_true(c[i] == 1);
    }
}

/* sin(-x) = -sin(x) and cos(-x) = cos(x), to the bit; a lane does not see its neighbours */
static void test_symmetry_and_lanes(void **state)
{
    (void)state;
    test_random r = {5};
    for (int i = 0; i < 5000; i++)
    {
        double a[8] __attribute__((aligned(32))), s[8] __attribute__((aligned(32))), c[8] __attribute__((aligned(32)));
        for (int k = 0; k < 4; k++)
        {
            a[k] = 1000 * random_unit(&r);
            a[7 - k] = -a[k];
        }
        sincos_many(a, s, c, 8);
        for (int k = 0; k < 4; k++)
        {
            assert_true(s[7 - k] == -s[k]);
            assert_true(c[7 - k] == c[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),       cmocka_unit_test(test_quadrants),
        cmocka_unit_test(test_near_zeros),   cmocka_unit_test(test_huge_angles),
        cmocka_unit_test(test_exact_values), cmocka_unit_test(test_symmetry_and_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
