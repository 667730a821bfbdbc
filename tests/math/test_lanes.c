/* Products of vectorised loops against long double, for all sizes up to forty. */
#include "math_test.h"

#include "math/lanes.h"

enum
{
    MOST = 40
};

typedef struct factors
{
    int m, n, lda;
    double A[MOST * MOST], x[MOST], y[MOST];
} factors;

/* padding: what is behind the numbers of a row */
static void make(factors *p, test_random *r, int m, int n, int lda, double padding)
{
    p->m = m;
    p->n = n;
    p->lda = lda;
    random_fill(r, p->x, MOST);
    for (int i = 0; i < MOST * MOST; i++)
        p->A[i] = padding;
    for (int i = 0; i < m; i++)
        random_fill(r, p->A + (ptrdiff_t)i * lda, n);
}

static void check(const factors *p, bool transposed)
{
    int outer = transposed ? p->n : p->m, inner = transposed ? p->m : p->n;
    for (int i = 0; i < outer; i++)
    {
        long double sum = 0;
        for (int k = 0; k < inner; k++)
            sum += (long double)p->A[transposed ? k * p->lda + i : i * p->lda + k] * p->x[k];
        assert_true(fabsl(sum - p->y[i]) <= 1e-14L);
    }
}

/* rows without padding, and with padding that must not be used */
static void test_multiply(void **state)
{
    static factors p;
    test_random r = {7};
    (void)state;
    for (int m = 0; m <= MOST; m++)
        for (int n = 0; n <= MOST; n++)
            for (int padded = 0; padded < 2; padded++)
            {
                make(&p, &r, m, n, padded ? v4_pad(n) : n, NAN);
                v4_multiply(m, n, p.A, p.lda, p.x, p.y);
                check(&p, false);
            }
}

static void test_multiply_transposed(void **state)
{
    static factors p;
    test_random r = {8};
    (void)state;
    for (int m = 0; m <= MOST; m++)
        for (int n = 0; n <= MOST; n++)
        {
            make(&p, &r, m, n, v4_pad(n), 0);
            v4_multiply_transposed(m, n, p.A, p.lda, p.x, p.y);
            check(&p, true);
        }
}

static void test_most(void **state)
{
    double a[MOST], b[MOST];
    test_random r = {9};
    (void)state;
    for (int n = 0; n <= MOST; n++)
    {
        double most = 0;
        random_fill(&r, a, n);
        random_fill(&r, b, n);
        for (int i = 0; i < n; i++)
            most = fmax(most, fabs(a[i] * b[i]));
        assert_true(v4_most(n, a, b) == most);
        for (int i = 0; i < n; i++)
        {
            double kept = a[i];
            a[i] = i % 2 == 0 ? NAN : INFINITY;
            assert_true(isnan(v4_most(n, a, b)));
            a[i] = kept;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_multiply), cmocka_unit_test(test_multiply_transposed),
                                       cmocka_unit_test(test_most)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
