/* What the tests of the step share. */
#ifndef TG_TESTS_STEP_TEST_H
#define TG_TESTS_STEP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/effort.h"
#include "support/numbers.h"
#include "support/sim.h"

#define PI 3.14159265358979323846

static const double gravity = 9.81;

/* |value - expected| <= tolerance, or the test fails and says what was found */
static inline void check_near(const char *what, double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%s = %.15g, expected %.15g within %g (off by %g)", what, value, expected, tolerance,
                 value - expected);
}

static inline void check_below(const char *what, double value, double bound)
{
    if (!(value < bound))
        fail_msg("%s = %.15g, expected below %g", what, value, bound);
}

static inline double norm(int n, const double *x)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* The end of a scene with e = 0: in no step did the impulses do more work than pushing overlaps out may. */
static inline void close_passive(sim *s)
{
    check_below("work of impulses", s->excess, 1e-11);
    sim_close(s);
}

/* between -1 and 1; the same numbers in every run */
static uint64_t noise_seed = 1;
static inline double noise(void)
{
    noise_seed = noise_seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(noise_seed >> 11) / 4503599627370496.0 - 1;
}

/* an MJCF text with numbers in it; the same buffer every time */
static inline const char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline const char *text(const char *format, ...)
{
    static char buffer[16384];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    assert_true(length > 0 && (size_t)length < sizeof buffer);
    return buffer;
}

#endif
