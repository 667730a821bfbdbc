/* What the tests of the math stage share: a random source with a fixed seed, comparison, finite differences. */
#ifndef TG_TESTS_MATH_TEST_H
#define TG_TESTS_MATH_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* xorshift64* (Vigna 2016): uniform in [-1, 1) */
typedef struct test_random
{
    uint64_t state;
} test_random;

static inline double random_unit(test_random *r)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return (double)(int64_t)(r->state * 0x2545F4914F6CDD1DULL) / 9223372036854775808.0;
}

static inline void random_fill(test_random *r, double *a, int n)
{
    for (int i = 0; i < n; i++)
        a[i] = random_unit(r);
}

/* a direction that is uniform enough, times length */
static inline void random_vector(test_random *r, double length, double w[3])
{
    double norm;
    do
    {
        random_fill(r, w, 3);
        norm = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    } while (norm < 0.1 || norm > 1);
    for (int i = 0; i < 3; i++)
        w[i] *= length / norm;
}

/* fails, and says where, unless |a - b| <= tolerance for every entry (NaN fails) */
#define assert_close(a, b, n, tolerance) check_close(a, b, n, tolerance, #a " and " #b, __FILE__, __LINE__)

static inline void check_close(const double *a, const double *b, int n, double tolerance, const char *what,
                               const char *file, int line)
{
    for (int i = 0; i < n; i++)
    {
        if (!(fabs(a[i] - b[i]) <= tolerance))
        {
            print_error("%s differ at %d: %.17g, %.17g, by %.3g > %.3g\n", what, i, a[i], b[i], a[i] - b[i], tolerance);
            _fail(file, line);
        }
    }
}

#define assert_near(a, b, tolerance)                                                                                   \
    do                                                                                                                 \
    {                                                                                                                  \
        double near_a = (a), near_b = (b);                                                                             \
        check_close(&near_a, &near_b, 1, tolerance, #a " and " #b, __FILE__, __LINE__);                                \
    } while (0)

/* f: R^n -> R^m at x = 0, central differences with one Richardson step: (4 D(h/2) - D(h)) / 3, error O(h^4).
 * J is m x n, row-major; n, m <= 36. */
typedef void test_function(const double *x, double *f, const void *context);

static inline void evaluate(test_function *f, const void *context, int j, double step, double *value)
{
    double x[36] = {0};
    x[j] = step;
    f(x, value, context);
}

static inline void richardson(test_function *f, const void *context, int n, int m, double h, double *J)
{
    for (int j = 0; j < n; j++)
    {
        double plus[36], minus[36], half_plus[36], half_minus[36];
        evaluate(f, context, j, h, plus);
        evaluate(f, context, j, -h, minus);
        evaluate(f, context, j, h / 2, half_plus);
        evaluate(f, context, j, -h / 2, half_minus);
        for (int i = 0; i < m; i++)
            J[n * i + j] = (4 * (half_plus[i] - half_minus[i]) / h - (plus[i] - minus[i]) / (2 * h)) / 3;
    }
}

/* C = A B, all n x n row-major */
static inline void product(int n, const double *A, const double *B, double *C)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
        {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += A[n * i + k] * B[n * k + j];
            C[n * i + j] = sum;
        }
}

static inline void identity(int n, double *A)
{
    for (int i = 0; i < n * n; i++)
        A[i] = i % (n + 1) == 0;
}

#endif
