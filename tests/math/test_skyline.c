/* Factorisations of matrices that are sparse as trees are, against the dense ones. */
#include "math/dense.h"
#include "math/skyline.h"
#include "math_test.h"

enum
{
    LARGEST = 61,
    LARGEST_PADDED = 64,
    LIMBS = 6,
    ROWS = 8 /* of an element, at most */
};

typedef struct problem
{
    int n;
    double A[LARGEST * LARGEST];
    tg_skyline s;
    void *memory;
} problem;

static void open_problem(problem *p, int n)
{
    tg_arena count = {0};
    p->n = n;
    memset(p->A, 0, sizeof p->A);
    tg_skyline_place(&p->s, LARGEST, &count);
    size_t bytes = (count.used + 63) / 64 * 64;
    p->memory = aligned_alloc(64, bytes);
    assert_non_null(p->memory);
    tg_arena arena = {.base = p->memory, .capacity = bytes};
    tg_skyline_place(&p->s, LARGEST, &arena);
    for (int i = 0; i < n; i++)
        p->A[(n + 1) * i] = 1;
    tg_skyline_begin(&p->s, n);
}

/* The same in both: E = J^T P, J has a one in each row, in the column of row[i]. */
static void add(problem *p, int count, const int *row, const double *E)
{
    static double J[LARGEST * LARGEST_PADDED], P[LARGEST * LARGEST_PADDED];
    bool symmetric = true;
    int wide[LARGEST], size = tg_skyline_widen(p->n, count, row, wide), column[LARGEST];
    memset(J, 0, sizeof J);
    memset(P, 0, sizeof P);
    for (int i = 0, c = 0; i < count; i++)
    {
        while (wide[c] != row[i])
            c++;
        column[i] = c;
    }
    for (int i = 0; i < count; i++)
    {
        J[LARGEST_PADDED * i + column[i]] = 1;
        for (int j = 0; j < count; j++)
        {
            P[LARGEST_PADDED * i + column[j]] = E[count * i + j];
            symmetric = symmetric && E[count * i + j] == E[count * j + i];
        }
    }
    tg_skyline_add(&p->s, size, wide, count, J, P, LARGEST_PADDED, symmetric);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            p->A[p->n * row[i] + row[j]] += E[count * i + j];
}

/* J^T D J of random rows; `coupled` adds what is not symmetric */
static void random_element(test_random *r, int count, double size, double coupled, double *E)
{
    double J[ROWS][LARGEST];
    int rows = 1 + (int)(ROWS * 0.499 * (1 + random_unit(r)));
    for (int k = 0; k < rows; k++)
        random_fill(r, J[k], count);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
        {
            double sum = 0;
            for (int k = 0; k < rows; k++)
                sum += J[k][i] * (J[k][j] + coupled * J[(k + 1) % rows][j]);
            E[count * i + j] = size * sum;
        }
}

/* Rows of a limb and of the trunk, which is last; sometimes of two limbs. */
static int random_rows(test_random *r, int n, int *row)
{
    int trunk = n / 4 + 1, limb = (n - trunk) / LIMBS, count = 0;
    int a = (int)(LIMBS * 0.499 * (1 + random_unit(r))), b = (int)(LIMBS * 0.499 * (1 + random_unit(r)));
    bool two = random_unit(r) > 0.8, far = random_unit(r) > 0;
    for (int i = 0; i < n; i++)
    {
        bool in_limb = limb > 0 && (i / limb == a || (two && i / limb == b));
        if (i >= n - trunk || (in_limb && (far || i % limb >= limb / 2)))
            row[count++] = i;
    }
    return count;
}

static void check(test_random *r, int n, double size, double coupled)
{
    static problem p;
    int row[ROWS][LARGEST], count[ROWS], elements = 1 + (int)(ROWS * 0.499 * (1 + random_unit(r)));
    double E[LARGEST * LARGEST], x[LARGEST], b[LARGEST] = {0}, y[LARGEST];
    int pivot[LARGEST];
    open_problem(&p, n);
    for (int k = 0; k < elements; k++)
    {
        count[k] = random_rows(r, n, row[k]);
        tg_skyline_couple(&p.s, count[k], row[k]);
    }
    tg_skyline_end(&p.s);
    tg_skyline_set_one(&p.s, true);
    for (int k = 0; k < elements; k++)
    {
        int kept = elements / 2; /* these are symmetric */
        if (k == kept)
        {
            tg_skyline_keep(&p.s);
            if (k > 0)
                assert_true(tg_skyline_factor(&p.s));
            tg_skyline_set_kept(&p.s, coupled == 0);
        }
        random_element(r, count[k], size, k < kept ? 0 : coupled, E);
        add(&p, count[k], row[k], E);
    }
    random_fill(r, x, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b[i] += p.A[n * i + j] * x[j];
    bool good = tg_skyline_factor(&p.s);
    if (coupled == 0)
        assert_true(good);
    if (good)
    {
        memcpy(y, b, sizeof y);
        tg_skyline_solve(&p.s, y);
        for (int i = 0; i < n; i++) /* what is left of b */
            for (int j = 0; j < n; j++)
                b[i] -= p.A[n * i + j] * y[j];
        double left = 0, most = 0;
        for (int i = 0; i < n; i++)
        {
            left = fmax(left, fabs(b[i]));
            most = fmax(most, fabs(y[i]));
        }
        assert_true(left <= 1e-11 * size * most * n);
    }
    else
        assert_true(tg_lu(n, p.A, n, pivot) < 0); /* which the caller has for such */
    free(p.memory);
}

static void test_solutions(void **state)
{
    (void)state;
    test_random r = {7};
    for (int n = 1; n <= LARGEST; n++)
        for (int trial = 0; trial < 6; trial++)
        {
            check(&r, n, 1, 0);
            check(&r, n, 1e10, 0);
            check(&r, n, 1, 0.5);
            check(&r, n, 1e6, 0.3);
        }
}

/* nothing is coupled: only the diagonal blocks are there */
static void test_diagonal(void **state)
{
    (void)state;
    static problem p;
    double x[LARGEST], b[LARGEST], E[1] = {3};
    for (int symmetric = 0; symmetric < 2; symmetric++)
    {
        open_problem(&p, LARGEST);
        tg_skyline_end(&p.s);
        tg_skyline_set_one(&p.s, symmetric);
        for (int i = 0; i < LARGEST; i++)
        {
            add(&p, 1, &i, E);
            b[i] = i;
            x[i] = i / 4.0;
        }
        assert_true(tg_skyline_factor(&p.s));
        tg_skyline_solve(&p.s, b);
        assert_close(b, x, LARGEST, 1e-14);
        free(p.memory);
    }
}

/* pivots that are zero on the diagonal but not beside it; growth; what is not positive definite or not a number */
static void test_what_it_says(void **state)
{
    (void)state;
    static problem p;
    const int far[2] = {0, 5}, near[2] = {0, 1};
    const double swap[4] = {-1, 1, 1, -1}, small[4] = {-1 + 1e-9, 1, 1, 0}, negative[4] = {-3, 0, 0, 0},
                 bad[4] = {NAN, 0, 0, 0};
    const struct
    {
        const int *row;
        const double *E;
        bool symmetric, good;
    } cases[] = {{near, swap, false, true},     {far, swap, false, false},     {far, small, false, false},
                 {near, negative, true, false}, {near, negative, false, true}, {near, bad, true, false},
                 {near, bad, false, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    {
        open_problem(&p, 6);
        tg_skyline_couple(&p.s, 2, cases[k].row);
        tg_skyline_end(&p.s);
        tg_skyline_set_one(&p.s, cases[k].symmetric);
        add(&p, 2, cases[k].row, cases[k].E);
        assert_int_equal(tg_skyline_factor(&p.s), cases[k].good);
        free(p.memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solutions),
        cmocka_unit_test(test_diagonal),
        cmocka_unit_test(test_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
