/* Dense kernels against long double, on unaligned matrices whose memory ends with their last entry, with padding that
 * must not be touched. */
#include "math_test.h"

#include "math/dense.h"

static const double guard = 12345.678;

/* rows x columns with leading dimension ld, starting `offset` doubles into memory that is no longer than needed */
typedef struct matrix
{
    int rows, columns, ld;
    size_t size;
    double *memory, *a;
} matrix;

static matrix make(int rows, int columns, int ld, int offset)
{
    matrix m = {rows, columns, ld, 0, NULL, NULL};
    m.size = (size_t)offset + (rows > 0 ? (size_t)(rows - 1) * (size_t)ld + (size_t)columns : 0);
    m.memory = malloc((m.size + 1) * sizeof(double));
    assert_non_null(m.memory);
    m.memory = realloc(m.memory, (m.size > 0 ? m.size : 1) * sizeof(double));
    for (size_t i = 0; i < m.size; i++)
        m.memory[i] = guard;
    m.a = m.memory + offset;
    return m;
}

/* a different leading dimension and alignment each time */
static matrix make_random(test_random *r, int rows, int columns)
{
    int padding = (int)(4 * fabs(random_unit(r))), offset = (int)(4 * fabs(random_unit(r)));
    matrix m = make(rows, columns, columns + padding > 0 ? columns + padding : 1, offset);
    for (int i = 0; i < rows; i++)
        random_fill(r, m.a + i * m.ld, columns);
    return m;
}

static matrix copy_of(matrix m)
{
    matrix c = m;
    c.memory = malloc((m.size > 0 ? m.size : 1) * sizeof(double));
    assert_non_null(c.memory);
    memcpy(c.memory, m.memory, m.size * sizeof(double));
    c.a = c.memory + (m.a - m.memory);
    return c;
}

static double at(matrix m, int i, int j)
{
    return m.a[i * m.ld + j];
}

static void check_padding(matrix m)
{
    for (size_t n = 0; n < m.size; n++)
    {
        ptrdiff_t place = (ptrdiff_t)n - (m.a - m.memory);
        if (place < 0 || place % m.ld >= m.columns)
            assert_true(m.memory[n] == guard);
    }
}

static void finish(matrix m)
{
    check_padding(m);
    free(m.memory);
}

/* ---- products ---- */

typedef void gemm(int m, int n, int k, const double *A, int lda, const double *B, int ldb, tg_gemm_mode mode, double *C,
                  int ldc);

static void check_product(test_random *r, gemm *f, int transpose_a, int transpose_b, int m, int n, int k)
{
    for (int mode = TG_GEMM_SET; mode <= TG_GEMM_SUB; mode++)
    {
        matrix A = transpose_a ? make_random(r, k, m) : make_random(r, m, k);
        matrix B = transpose_b ? make_random(r, n, k) : make_random(r, k, n);
        matrix C = make_random(r, m, n), before = copy_of(C);
        f(m, n, k, A.a, A.ld, B.a, B.ld, (tg_gemm_mode)mode, C.a, C.ld);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++)
            {
                long double sum = 0, start = mode == TG_GEMM_SET ? 0 : at(before, i, j);
                for (int p = 0; p < k; p++)
                    sum += (long double)(transpose_a ? at(A, p, i) : at(A, i, p)) *
                           (transpose_b ? at(B, j, p) : at(B, p, j));
                assert_near(at(C, i, j), (double)(mode == TG_GEMM_SUB ? start - sum : start + sum), 2e-16 * (k + 2));
            }
        finish(A);
        finish(B);
        finish(C);
        finish(before);
    }
}

static const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 23, 24, 25, 31, 33, 36, 47, 70};

enum
{
    SIZES = sizeof sizes / sizeof sizes[0]
};

static void test_products(void **state)
{
    (void)state;
    test_random r = {1};
    gemm *const functions[] = {tg_gemm_nn, tg_gemm_tn, tg_gemm_nt};
    for (int f = 0; f < 3; f++)
    {
        for (int a = 0; a < SIZES; a++)
            for (int b = 0; b < SIZES; b++)
                check_product(&r, functions[f], f == 1, f == 2, sizes[a], sizes[b], sizes[(5 * a + 7 * b) % 20]);
        for (int k = 0; k < 12; k++)
            check_product(&r, functions[f], f == 1, f == 2, 7, 9, k);
        check_product(&r, functions[f], f == 1, f == 2, 0, 5, 3);
        check_product(&r, functions[f], f == 1, f == 2, 5, 0, 3);
    }
}

static void test_symmetric_products(void **state)
{
    (void)state;
    test_random r = {2};
    for (int s = 0; s < SIZES; s++)
        for (int variant = 0; variant < 6; variant++)
        {
            int n = sizes[s], k = sizes[(3 * s + variant) % 18], transposed = variant % 2, mode = variant / 2;
            matrix A = transposed ? make_random(&r, k, n) : make_random(&r, n, k);
            matrix C = make_random(&r, n, n), before = copy_of(C);
            for (int i = 0; i < n; i++) /* the upper triangle does not matter */
                for (int j = i + 1; j < n; j++)
                    C.a[i * C.ld + j] = NAN;
            (transposed ? tg_syrk_t : tg_syrk_n)(n, k, A.a, A.ld, (tg_gemm_mode)mode, C.a, C.ld);
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                {
                    int low = i > j ? i : j, high = i > j ? j : i;
                    long double sum = 0, start = mode == TG_GEMM_SET ? 0 : at(before, low, high);
                    for (int p = 0; p < k; p++)
                        sum += (long double)(transposed ? at(A, p, i) : at(A, i, p)) *
                               (transposed ? at(A, p, j) : at(A, j, p));
                    assert_near(at(C, i, j), (double)(mode == TG_GEMM_SUB ? start - sum : start + sum),
                                2e-16 * (k + 2));
                    assert_true(at(C, i, j) == at(C, j, i));
                }
            finish(A);
            finish(C);
            finish(before);
        }
}

/* ---- triangular ---- */

static void check_triangular(test_random *r, int flags, int n, int columns)
{
    int upper = (flags & TG_TRI_UPPER) != 0, transposed = (flags & TG_TRI_TRANSPOSED) != 0;
    matrix T = make_random(r, n, n), X = make_random(r, n, columns);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
        {
            double *t = &T.a[i * T.ld + j];
            if (i == j) /* diagonally dominant; what must not be read is NaN */
                *t = flags & TG_TRI_UNIT ? NAN : copysign(1 + fabs(*t), *t);
            else
                *t = (j > i) == upper ? *t / n : NAN;
        }
    matrix B = copy_of(X);
    tg_trsm(flags, n, T.a, T.ld, columns, X.a, X.ld);
    for (int c = 0; c < columns; c++)
        for (int i = 0; i < n; i++)
        {
            long double sum = 0;
            for (int j = 0; j < n; j++)
            {
                int row = transposed ? j : i, column = transposed ? i : j;
                double t = row == column ? (flags & TG_TRI_UNIT ? 1 : at(T, row, column))
                                         : ((column > row) == upper ? at(T, row, column) : 0);
                sum += (long double)t * at(X, j, c);
            }
            assert_near((double)sum, at(B, i, c), 2e-15);
        }
    finish(T);
    finish(X);
    finish(B);
}

static void test_triangular_solves(void **state)
{
    (void)state;
    test_random r = {3};
    for (int flags = 0; flags < 8; flags++)
        for (int s = 0; s < SIZES; s++)
        {
            for (int columns = 0; columns < 20; columns++)
                check_triangular(&r, flags, sizes[s], columns);
            check_triangular(&r, flags, sizes[s], 36);
        }
}

/* one contiguous column takes a path of its own */
static void test_triangular_solve_of_a_vector(void **state)
{
    (void)state;
    test_random r = {4};
    for (int flags = 0; flags < 8; flags++)
        for (int n = 1; n <= 70; n++)
        {
            matrix T = make_random(&r, n, n), x = make(n, 1, 1, 1), X = make(n, 1, 3, 0);
            for (int i = 0; i < n; i++)
            {
                T.a[i * T.ld + i] += T.a[i * T.ld + i] > 0 ? n : -n;
                x.a[i] = X.a[3 * i] = random_unit(&r);
            }
            if (flags & TG_TRI_UNIT)
                for (int i = 0; i < n * n; i++)
                    T.a[i / n * T.ld + i % n] /= n;
            tg_trsm(flags, n, T.a, T.ld, 1, x.a, 1);
            tg_trsm(flags, n, T.a, T.ld, 1, X.a, X.ld);
            for (int i = 0; i < n; i++)
                assert_near(x.a[i], X.a[3 * i], 1e-14);
            finish(T);
            finish(x);
            finish(X);
        }
}

/* ---- factorisations ---- */

/* B B^T / n + I */
static matrix make_positive(test_random *r, int n)
{
    matrix A = make_random(r, n, n), B = make_random(r, n, n);
    tg_syrk_n(n, n, B.a, B.ld, TG_GEMM_SET, A.a, A.ld);
    for (int i = 0; i < n * n; i++)
        A.a[i / n * A.ld + i % n] = at(A, i / n, i % n) / n + (i / n == i % n);
    finish(B);
    return A;
}

/* |op(A) X - B| <= tolerance, entry by entry */
static void check_solution(matrix A, int transposed, matrix X, matrix B, double tolerance)
{
    for (int i = 0; i < A.rows; i++)
        for (int c = 0; c < X.columns; c++)
        {
            long double sum = 0;
            for (int j = 0; j < A.rows; j++)
                sum += (long double)(transposed ? at(A, j, i) : at(A, i, j)) * at(X, j, c);
            assert_near((double)sum, at(B, i, c), tolerance);
        }
}

static void test_cholesky(void **state)
{
    (void)state;
    test_random r = {5};
    for (int n = 1; n <= 70; n++)
    {
        matrix A = make_positive(&r, n), L = copy_of(A), X = make_random(&r, n, n % 11 + 1), B = copy_of(X);
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++)
                L.a[i * L.ld + j] = guard; /* neither read nor written */
        assert_int_equal(tg_chol(n, L.a, L.ld), -1);
        for (int i = 0; i < n; i++)
        {
            for (int j = 0; j <= i; j++)
            {
                long double sum = 0;
                for (int p = 0; p <= j; p++)
                    sum += (long double)at(L, i, p) * at(L, j, p);
                assert_near((double)sum, at(A, i, j), 2e-15);
            }
            for (int j = i + 1; j < n; j++)
                assert_true(at(L, i, j) == guard);
        }
        tg_chol_solve(n, L.a, L.ld, X.columns, X.a, X.ld);
        check_solution(A, 0, X, B, 1e-14);
        finish(A);
        finish(L);
        finish(X);
        finish(B);
    }
}

static void test_cholesky_names_the_bad_pivot(void **state)
{
    (void)state;
    test_random r = {6};
    const double bad_values[] = {-1, 0, NAN, INFINITY};
    for (int n = 1; n <= 30; n++)
        for (int bad = 0; bad < n; bad++)
        {
            matrix A = make_positive(&r, n);
            for (int j = 0; j < n; j++) /* decoupled, so that the pivot is what we write */
                A.a[bad * A.ld + j] = A.a[j * A.ld + bad] = 0;
            A.a[bad * A.ld + bad] = bad_values[(n + bad) % 4];
            assert_int_equal(tg_chol(n, A.a, A.ld), bad);
            finish(A);
        }
    double rank_one[] = {4, 2, 2, 1};
    assert_int_equal(tg_chol(2, rank_one, 2), 1);
    assert_int_equal(tg_chol(0, NULL, 1), -1);
}

/* A = U^T U, and solves with the inverses of its diagonal */
static void test_cholesky_upper(void **state)
{
    (void)state;
    test_random r = {15};
    for (int n = 1; n <= 80; n++)
    {
        int columns = 4 * (n % 5 + 1);
        matrix A = make_positive(&r, n), U = copy_of(A), X = make_random(&r, n, columns), B = copy_of(X);
        double inverse[80], x[80];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++)
                U.a[i * U.ld + j] = guard; /* neither read nor written */
        assert_int_equal(tg_chol_upper(n, U.a, U.ld), -1);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
            {
                long double sum = 0;
                for (int p = 0; p <= i && i <= j; p++)
                    sum += (long double)at(U, p, i) * at(U, p, j);
                if (i <= j)
                    assert_near((double)sum, at(A, i, j), 2e-15);
                else
                    assert_true(at(U, i, j) == guard);
            }
        tg_upper_inverse(n, U.a, U.ld, inverse);
        for (int i = 0; i < n; i++)
            x[i] = at(B, i, 0);
        tg_upper_half_many(n, U.a, U.ld, inverse, columns, X.a, X.ld);
        tg_upper_half(n, U.a, U.ld, inverse, x);
        for (int i = 0; i < n; i++)
            assert_near(x[i], at(X, i, 0), 1e-14);
        tg_trsm(TG_TRI_UPPER, n, U.a, U.ld, columns, X.a, X.ld);
        check_solution(A, 0, X, B, 1e-14);
        tg_upper_other_half(n, U.a, U.ld, inverse, x);
        for (int i = 0; i < n; i++)
            assert_near(x[i], at(X, i, 0), 1e-14);
        finish(A);
        finish(U);
        finish(X);
        finish(B);
    }
}

static void test_cholesky_upper_names_the_bad_pivot(void **state)
{
    (void)state;
    test_random r = {16};
    const double bad_values[] = {-1, 0, NAN, INFINITY};
    for (int n = 1; n <= 30; n++)
        for (int bad = 0; bad < n; bad++)
        {
            matrix A = make_positive(&r, n);
            for (int j = 0; j < n; j++)
                A.a[bad * A.ld + j] = A.a[j * A.ld + bad] = 0;
            A.a[bad * A.ld + bad] = bad_values[(n + bad) % 4];
            assert_int_equal(tg_chol_upper(n, A.a, A.ld), bad);
            finish(A);
        }
}

static void test_lu(void **state)
{
    (void)state;
    test_random r = {8};
    for (int n = 1; n <= 110; n = n < 70 ? n + 1 : n + 13)
    {
        matrix A = make_random(&r, n, n), F = copy_of(A), P = copy_of(A);
        matrix X = make_random(&r, n, n % 10 + 1), B = copy_of(X), Y = copy_of(X);
        matrix x = make(n, 1, 1, 0), b = make(n, 1, 1, 0);
        int pivot[128];
        assert_int_equal(tg_lu(n, F.a, F.ld, pivot), -1);
        for (int k = 0; k < n; k++) /* P A = L U, and no multiplier beyond one */
        {
            assert_in_range(pivot[k], k, n - 1);
            for (int j = 0; j < n; j++)
            {
                double t = at(P, k, j);
                P.a[k * P.ld + j] = at(P, pivot[k], j);
                P.a[pivot[k] * P.ld + j] = t;
            }
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
            {
                long double sum = 0;
                for (int p = 0; p <= i && p <= j; p++)
                    sum += (long double)(p == i ? 1 : at(F, i, p)) * at(F, p, j);
                assert_near((double)sum, at(P, i, j), 2e-14);
                assert_true(j >= i || fabs(at(F, i, j)) <= 1 + 1e-15);
            }
        /* a random matrix can be ill-conditioned: residual relative to |A| |X| */
        tg_lu_solve(n, F.a, F.ld, pivot, X.columns, X.a, X.ld);
        tg_lu_solve_t(n, F.a, F.ld, pivot, Y.columns, Y.a, Y.ld);
        double largest = 1;
        for (int i = 0; i < n * X.columns; i++)
        {
            largest = fmax(largest, fabs(at(X, i / X.columns, i % X.columns)));
            largest = fmax(largest, fabs(at(Y, i / X.columns, i % X.columns)));
        }
        check_solution(A, 0, X, B, 1e-14 * n * largest);
        check_solution(A, 1, Y, B, 1e-14 * n * largest);
        for (int transposed = 0; transposed < 2; transposed++)
        {
            for (int i = 0; i < n; i++)
                x.a[i] = b.a[i] = at(B, i, 0);
            (transposed ? tg_lu_solve_t : tg_lu_solve)(n, F.a, F.ld, pivot, 1, x.a, 1);
            check_solution(A, transposed, x, b, 1e-14 * n * largest);
        }
        finish(A);
        finish(F);
        finish(P);
        finish(X);
        finish(B);
        finish(Y);
        finish(x);
        finish(b);
    }
}

static void test_lu_names_the_bad_pivot(void **state)
{
    (void)state;
    test_random r = {9};
    int pivot[64];
    for (int n = 1; n <= 50; n++)
    {
        int bad = n * 7 % n;
        bad = (3 * n + 1) % n;
        matrix A = make_random(&r, n, n);
        for (int i = 0; i < n; i++)
            A.a[i * A.ld + bad] = 0;
        assert_int_equal(tg_lu(n, A.a, A.ld, pivot), bad);
        finish(A);
        A = make_random(&r, n, n);
        A.a[(n / 2) * A.ld + bad] = NAN;
        assert_true(tg_lu(n, A.a, A.ld, pivot) >= 0);
        finish(A);
    }
    double infinite[] = {INFINITY};
    assert_int_equal(tg_lu(1, infinite, 1, pivot), 0);
    double needs_exchange[] = {0, 1, 1, 0};
    assert_int_equal(tg_lu(2, needs_exchange, 2, pivot), -1);
    assert_int_equal(pivot[0], 1);
    assert_int_equal(tg_lu(0, NULL, 1, pivot), -1);
}

/* ---- QR ---- */

static void check_qr(test_random *r, int m, int n, int exchanges)
{
    matrix A = make_random(r, m, n), F = copy_of(A), Q = make(m, m, m, 0);
    double tau[80], work[80];
    int order[80], count = m < n ? m : n;
    assert_int_equal(tg_qr(m, n, F.a, F.ld, tau, exchanges ? order : NULL, 1e-13, work), count);
    for (int i = 0; i < m * m; i++)
        Q.a[i] = i % (m + 1) == 0;
    tg_qr_apply_t(m, count, F.a, F.ld, tau, m, Q.a, Q.ld, work); /* Q^T 1 */
    for (int i = 0; i < m; i++)
    {
        for (int j = 0; j < m; j++)
        {
            long double sum = 0;
            for (int p = 0; p < m; p++)
                sum += (long double)at(Q, i, p) * at(Q, j, p);
            assert_near((double)sum, i == j, 1e-14);
        }
        for (int j = 0; j < n; j++)
        {
            long double sum = 0;
            for (int p = 0; p <= j && p < m; p++)
                sum += (long double)at(Q, p, i) * at(F, p, j);
            assert_near((double)sum, at(A, i, exchanges ? order[j] : j), 1e-14);
        }
    }
    for (int k = 1; exchanges && k < count; k++)
        assert_true(fabs(at(F, k, k)) <= fabs(at(F, k - 1, k - 1)) * (1 + 1e-14));
    finish(A);
    finish(F);
    finish(Q);
}

static void test_qr(void **state)
{
    (void)state;
    test_random r = {10};
    for (int m = 1; m <= 40; m = m < 14 ? m + 1 : m + 9)
        for (int n = 1; n <= 40; n = n < 14 ? n + 1 : n + 9)
            for (int exchanges = 0; exchanges < 2; exchanges++)
                check_qr(&r, m, n, exchanges);
}

/* x minimises |A x - b| if and only if A^T (A x - b) = 0 */
static void check_least_squares(matrix A, matrix X, matrix B, double tolerance)
{
    for (int c = 0; c < X.columns; c++)
        for (int j = 0; j < A.columns; j++)
        {
            long double gradient = 0;
            for (int i = 0; i < A.rows; i++)
            {
                long double residual = -at(B, i, c);
                for (int p = 0; p < A.columns; p++)
                    residual += (long double)at(A, i, p) * at(X, p, c);
                gradient += at(A, i, j) * residual;
            }
            assert_near((double)gradient, 0, tolerance);
        }
}

static void test_least_squares(void **state)
{
    (void)state;
    test_random r = {11};
    for (int m = 1; m <= 30; m++)
        for (int rank = 1; rank <= m && rank <= 12; rank++)
            for (int extra = 0; extra < 3; extra++)
            {
                /* n columns of which `extra` depend on the others */
                int n = rank + extra, columns = m % 6 + 1, rows = m > n ? m : n, order[80];
                double tau[80], work[80];
                matrix U = make_random(&r, m, rank), V = make_random(&r, rank, n), A = make_random(&r, m, n);
                for (int i = 0; i < rank * rank; i++)
                    V.a[i / rank * V.ld + i % rank] += i % (rank + 1) == 0 ? 3 : 0;
                for (int i = 0; i < m * rank; i++)
                    U.a[i / rank * U.ld + i % rank] += i / rank == i % rank ? 3 : 0;
                tg_gemm_nn(m, n, rank, U.a, U.ld, V.a, V.ld, TG_GEMM_SET, A.a, A.ld);
                matrix F = copy_of(A), X = make_random(&r, rows, columns), B = copy_of(X);
                assert_int_equal(tg_qr(m, n, F.a, F.ld, tau, order, 1e-12, work), rank);
                tg_qr_solve(m, n, rank, F.a, F.ld, tau, order, columns, X.a, X.ld, work);
                check_least_squares(A, X, B, 1e-11);
                for (int k = rank; k < n; k++)
                    for (int c = 0; c < columns; c++)
                        assert_true(at(X, order[k], c) == 0);
                finish(U);
                finish(V);
                finish(A);
                finish(F);
                finish(X);
                finish(B);
            }
}

static void test_least_squares_without_exchanges(void **state)
{
    (void)state;
    test_random r = {12};
    for (int m = 2; m <= 25; m++)
    {
        int n = m / 2;
        double tau[80], work[80];
        matrix A = make_random(&r, m, n), F = copy_of(A), X = make_random(&r, m, 3), B = copy_of(X);
        assert_int_equal(tg_qr(m, n, F.a, F.ld, tau, NULL, 1e-13, work), n);
        tg_qr_solve(m, n, n, F.a, F.ld, tau, NULL, 3, X.a, X.ld, work);
        check_least_squares(A, X, B, 1e-11);
        finish(A);
        finish(F);
        finish(X);
        finish(B);
    }
    double zero[6] = {0}, tau[2], work[3];
    int order[3];
    assert_int_equal(tg_qr(2, 3, zero, 3, tau, order, 1e-12, work), 0);
    assert_true(tau[0] == 0 && tau[1] == 0);
    double dependent[] = {1, 1, 0, 0, 0, 1}; /* 2 x 3, the second column repeats the first */
    assert_int_equal(tg_qr(2, 3, dependent, 3, tau, NULL, 1e-12, work), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_symmetric_products),
        cmocka_unit_test(test_triangular_solves),
        cmocka_unit_test(test_triangular_solve_of_a_vector),
        cmocka_unit_test(test_cholesky),
        cmocka_unit_test(test_cholesky_names_the_bad_pivot),
        cmocka_unit_test(test_cholesky_upper),
        cmocka_unit_test(test_cholesky_upper_names_the_bad_pivot),
        cmocka_unit_test(test_lu),
        cmocka_unit_test(test_lu_names_the_bad_pivot),
        cmocka_unit_test(test_qr),
        cmocka_unit_test(test_least_squares),
        cmocka_unit_test(test_least_squares_without_exchanges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
