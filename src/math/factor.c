/* Cholesky, L D L^T and LU of small dense matrices (Golub and Van Loan, Matrix Computations, chapters 3 and 4). */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "math/dense.h"
#include "math/lanes.h"

enum
{
    PANEL = V4_LANES, /* columns that Cholesky takes at a time */
    LAST = PANEL - 1,
    STRIP = 12,        /* rows of two tiles of tg_gemm_tn: twice as fast as rows of one (measured) */
    UPPER_VECTORS = 3, /* v4 of four rows that Cholesky of an upper triangle takes at a time: twelve registers */
    FLAT = 64,         /* rows that stay in the first cache: Cholesky in one sweep */
    LU_PANEL = 32 /* up to this width LU eliminates row by row (measured against 48, 64: even at 36, ahead at 48) */
};

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* ---- Cholesky ---- */

/* D (n <= 4, lower triangle, ld 4) = L L^T in place */
static int chol_block(int n, double D[PANEL * PANEL])
{
    for (int j = 0; j < n; j++)
    {
        double pivot = D[PANEL * j + j];
        for (int p = 0; p < j; p++)
            pivot -= D[PANEL * j + p] * D[PANEL * j + p];
        if (!(pivot > 0) || !isfinite(pivot))
            return j;
        D[PANEL * j + j] = sqrt(pivot);
        for (int i = j + 1; i < n; i++)
        {
            double sum = D[PANEL * i + j];
            for (int p = 0; p < j; p++)
                sum -= D[PANEL * i + p] * D[PANEL * j + p];
            D[PANEL * i + j] = sum / D[PANEL * j + j];
        }
    }
    return -1;
}

/* X L^T = X, rows x n: forward substitution along every row */
static void divide_rows(int rows, int n, const double L[PANEL * PANEL], double *X, ptrdiff_t ldx)
{
    double inverse[PANEL];
    for (int j = 0; j < n; j++)
        inverse[j] = 1 / L[PANEL * j + j];
    for (int i = 0; i < rows; i++, X += ldx)
        for (int j = 0; j < n; j++)
        {
            double sum = X[j];
            for (int p = 0; p < j; p++)
                sum -= L[PANEL * j + p] * X[p];
            X[j] = sum * inverse[j];
        }
}

/* Four columns at a time, left-looking: subtract what the columns before contribute, factor the block on the diagonal,
 * divide the rows below it. */
int tg_chol(int n, double *A, int lda)
{
    for (int j = 0; j < n; j += PANEL)
    {
        int width = smaller(PANEL, n - j), below = n - j - width;
        double *row = A + (ptrdiff_t)j * lda, *rows_below = row + (ptrdiff_t)width * lda;
        double D[PANEL * PANEL] = {0};
        for (int i = 0; i < width; i++)
            for (int p = 0; p <= i; p++)
                D[PANEL * i + p] = row[i * lda + j + p];
        if (j > 0)
        {
            tg_gemm_nt(width, width, j, row, lda, row, lda, TG_GEMM_SUB, D, PANEL);
            tg_gemm_nt(below, width, j, rows_below, lda, row, lda, TG_GEMM_SUB, rows_below + j, lda);
        }
        int bad = chol_block(width, D);
        if (bad >= 0)
            return j + bad;
        for (int i = 0; i < width; i++)
            for (int p = 0; p <= i; p++)
                row[i * lda + j + p] = D[PANEL * i + p];
        if (width == PANEL)
            divide_rows(below, PANEL, D, rows_below + j, lda);
    }
    return -1;
}

void tg_chol_solve(int n, const double *L, int ldl, int columns, double *X, int ldx)
{
    tg_trsm(TG_TRI_LOWER, n, L, ldl, columns, X, ldx);
    tg_trsm(TG_TRI_LOWER | TG_TRI_TRANSPOSED, n, L, ldl, columns, X, ldx);
}

/* ---- Cholesky, upper triangle ---- */

/* n <= 4. The next pivot waits for one division alone: what is left of a row is
 * subtracted by way of row / pivot, and roots are taken beside. */
TG_INLINE int chol_upper_block(int n, double *A, ptrdiff_t lda)
{
    for (int j = 0; j < n; j++)
    {
        double pivot = A[j * lda + j], inverse = 1 / pivot, share[PANEL];
        if (!(pivot > 0) || !isfinite(pivot))
            return j;
        for (int i = j + 1; i < n; i++)
            share[i] = A[j * lda + i] * inverse;
        for (int i = j + 1; i < n; i++)
            for (int k = i; k < n; k++)
                A[i * lda + k] -= share[i] * A[j * lda + k];
        double root = sqrt(pivot);
        A[j * lda + j] = root;
        for (int i = j + 1; i < n; i++)
            A[j * lda + i] = share[i] * root;
    }
    return -1;
}

/* X (n x columns) <- U^-T X: the rows of the first half, their part in the others, those */
static void divide_upper(int n, const double *U, int ldu, int columns, double *X, int ldx)
{
    if (n <= STRIP)
    {
        tg_trsm(TG_TRI_UPPER | TG_TRI_TRANSPOSED, n, U, ldu, columns, X, ldx);
        return;
    }
    int half = (n / 2 + PANEL - 1) / PANEL * PANEL;
    double *below = X + (ptrdiff_t)half * ldx;
    divide_upper(half, U, ldu, columns, X, ldx);
    tg_gemm_tn(n - half, columns, half, U + half, ldu, X, ldx, TG_GEMM_SUB, below, ldx);
    divide_upper(n - half, U + (ptrdiff_t)half * ldu + half, ldu, columns, below, ldx);
}

/* upper triangle of C (n x n) -= B^T B, B (k x n) */
static void subtract_upper(int n, int k, const double *B, int ldb, double *C, int ldc)
{
    double D[STRIP * STRIP];
    for (ptrdiff_t i = 0; i < n; i += STRIP)
    {
        int rows = smaller(STRIP, n - (int)i), right = n - (int)i - rows;
        double *row = C + i * ldc + i;
        tg_gemm_tn(rows, right, k, B + i, ldb, B + i + rows, ldb, TG_GEMM_SUB, row + rows, ldc);
        tg_gemm_tn(rows, rows, k, B + i, ldb, B + i, ldb, TG_GEMM_SET, D, STRIP);
        for (int r = 0; r < rows; r++)
            for (int c = r; c < rows; c++)
                row[r * ldc + c] -= D[STRIP * r + c];
    }
}

/* `vectors` v4 of four rows at column `column`, less what the rows before row j contribute */
TG_INLINE void less_rows_above(int vectors, int j, int column, const double *A, ptrdiff_t lda,
                               v4 x[PANEL][UPPER_VECTORS])
{
    const double *own = A + j * lda + column;
    for (int r = 0; r < PANEL; r++)
        for (int c = 0; c < vectors; c++)
            x[r][c] = v4_loadu(own + r * lda + V4_LANES * c);
    TG_NO_UNROLL
    for (int p = 0; p < j; p++, A += lda)
    {
        v4 above[UPPER_VECTORS];
        for (int c = 0; c < vectors; c++)
            above[c] = v4_loadu(A + column + V4_LANES * c);
        for (int r = 0; r < PANEL; r++)
        {
            v4 each = v4_splat(A[j + r]);
            for (int c = 0; c < vectors; c++)
                x[r][c] -= each * above[c];
        }
    }
}

/* the rows of a block whose 4 x 4 on the diagonal is factored: D, and 1 / its diagonal */
TG_INLINE void divide_four(int first, int vectors, double D[PANEL][PANEL], const double inverse[PANEL],
                           v4 x[PANEL][UPPER_VECTORS])
{
    for (int r = 0; r < PANEL; r++)
    {
        for (int p = 0; p < r; p++)
            for (int c = first; c < vectors; c++)
                x[r][c] -= v4_splat(D[p][r]) * x[p][c];
        for (int c = first; c < vectors; c++)
            x[r][c] *= v4_splat(inverse[r]);
    }
}

TG_INLINE void store_four(int first, int vectors, v4 x[PANEL][UPPER_VECTORS], double *to, ptrdiff_t lda)
{
    for (int r = 0; r < PANEL; r++)
        for (int c = first; c < vectors; c++)
            v4_storeu(to + r * lda + V4_LANES * c, x[r][c]);
}

/* The first v4 of four rows factored, D its rows, inverse 1 / its diagonal, as chol_upper_block: number by number, so
 * that a pivot waits for a quotient and two products. What is before the diagonal has no meaning. */
TG_INLINE int chol_upper_four(v4 x[PANEL][UPPER_VECTORS], double D[PANEL][PANEL], double inverse[PANEL])
{
    for (int r = 0; r < PANEL; r++)
        v4_storeu(D[r], x[r][0]);
    double a01 = D[0][1], a02 = D[0][2], a03 = D[0][LAST], a11 = D[1][1], a12 = D[1][2], a13 = D[1][LAST],
           a22 = D[2][2], a23 = D[2][LAST];
    double a33 = D[LAST][LAST], by0 = 1 / D[0][0], s1 = a01 * by0, s2 = a02 * by0, s3 = a03 * by0;
    a11 -= s1 * a01;
    a12 -= s1 * a02;
    a13 -= s1 * a03;
    double by1 = 1 / a11, t2 = a12 * by1, t3 = a13 * by1;
    a22 = (a22 - s2 * a02) - t2 * a12;
    a23 = (a23 - s2 * a03) - t2 * a13;
    double by2 = 1 / a22, r3 = a23 * by2;
    a33 = ((a33 - s3 * a03) - t3 * a13) - r3 * a23;
    double pivot[PANEL] = {D[0][0], a11, a22, a33}, by3 = 1 / a33, by[PANEL] = {by0, by1, by2, by3};
    for (int r = 0; r < PANEL; r++)
        if (!(pivot[r] > 0) || !isfinite(pivot[r]))
            return r;
    for (int r = 0; r < PANEL; r++)
        inverse[r] = by[r] * sqrt(pivot[r]);
    v4_storeu(D[0], x[0][0] * v4_splat(inverse[0]));
    D[1][1] = a11 * inverse[1];
    D[1][2] = a12 * inverse[1];
    D[1][LAST] = a13 * inverse[1];
    D[2][2] = a22 * inverse[2];
    D[2][LAST] = a23 * inverse[2];
    D[LAST][LAST] = a33 * inverse[LAST];
    return -1;
}

/* The block of four rows on the diagonal with the columns beside it, `vectors` v4 in all: less what the rows before
 * contribute, the first factored, the others divided by it. */
TG_INLINE int chol_upper_first(int vectors, int j, double *A, ptrdiff_t lda, double D[PANEL][PANEL],
                               double inverse[PANEL])
{
    v4 x[PANEL][UPPER_VECTORS];
    double *block = A + j * (lda + 1);
    less_rows_above(vectors, j, j, A, lda, x);
    int bad = chol_upper_four(x, D, inverse);
    if (bad >= 0)
        return j + bad;
    v4_storeu(block, v4_loadu(D[0])); /* one by one: a loop becomes calls */
    block[lda + 1] = D[1][1];
    block[lda + 2] = D[1][2];
    block[lda + LAST] = D[1][LAST];
    block[2 * lda + 2] = D[2][2];
    block[2 * lda + LAST] = D[2][LAST];
    block[LAST * lda + LAST] = D[LAST][LAST];
    divide_four(1, vectors, D, inverse, x);
    store_four(1, vectors, x, block, lda);
    return -1;
}

TG_INLINE void chol_upper_next(int vectors, int j, int column, double *A, ptrdiff_t lda, double D[PANEL][PANEL],
                               const double inverse[PANEL])
{
    v4 x[PANEL][UPPER_VECTORS];
    less_rows_above(vectors, j, column, A, lda, x);
    divide_four(0, vectors, D, inverse, x);
    store_four(0, vectors, x, A + j * lda + column, lda);
}

/* rows j .. j + 4 */
static int chol_upper_rows(int n, int j, double *A, ptrdiff_t lda)
{
    double D[PANEL][PANEL], inverse[PANEL];
    int vectors = (n - j) / PANEL, column = j + PANEL * smaller(vectors, UPPER_VECTORS), bad;
    bad = vectors >= UPPER_VECTORS ? chol_upper_first(UPPER_VECTORS, j, A, lda, D, inverse)
          : vectors == 2           ? chol_upper_first(2, j, A, lda, D, inverse)
                                   : chol_upper_first(1, j, A, lda, D, inverse);
    for (; bad < 0 && column + PANEL <= n; column += PANEL * UPPER_VECTORS)
    {
        vectors = (n - column) / PANEL;
        if (vectors >= UPPER_VECTORS)
            chol_upper_next(UPPER_VECTORS, j, column, A, lda, D, inverse);
        else if (vectors == 2)
            chol_upper_next(2, j, column, A, lda, D, inverse);
        else
            chol_upper_next(1, j, column, A, lda, D, inverse);
    }
    int rest = n % PANEL;
    if (bad < 0 && rest > 0)
        tg_trsm_rows(A, (int)lda, j, rest, A + n - rest, (int)lda);
    return bad;
}

/* the last block, of fewer rows than four, less what the rows before contribute, factored */
TG_INLINE int chol_upper_last(int rows, int j, double *A, ptrdiff_t lda)
{
    double *block = A + j * (lda + 1), D[PANEL * PANEL];
    const double *u = A + j;
    v4 x[PANEL];
    for (int r = 0; r < rows; r++)
        x[r] = v4_load_part(block + r * lda, rows);
    for (int p = 0; p < j; p++, u += lda)
    {
        v4 row = v4_load_part(u, rows);
        for (int r = 0; r < rows; r++)
            x[r] -= u[r] * row;
    }
    for (int r = 0; r < rows; r++)
        v4_storeu(D + PANEL * r, x[r]);
    int bad = chol_upper_block(rows, D, PANEL);
    for (int r = 0; r < rows; r++)
        for (int c = r; c < rows; c++)
            block[r * lda + c] = D[PANEL * r + c];
    return bad < 0 ? -1 : j + bad;
}

/* Four rows at a time: the block on the diagonal and the columns to its right. */
static int chol_upper_flat(int n, double *A, int lda)
{
    int j = 0, bad = -1;
    for (; j + PANEL <= n && bad < 0; j += PANEL)
        bad = chol_upper_rows(n, j, A, lda);
    if (bad >= 0 || j == n)
        return bad;
    return n - j == 1   ? chol_upper_last(1, j, A, lda)
           : n - j == 2 ? chol_upper_last(2, j, A, lda)
                        : chol_upper_last(LAST, j, A, lda);
}

/* [A11 A12; . A22]: U11 from A11, U12 = U11^-T A12, U22 from A22 - U12^T U12 */
int tg_chol_upper(int n, double *A, int lda)
{
    if (n <= FLAT)
        return chol_upper_flat(n, A, lda);
    int half = (n / 2 + PANEL - 1) / PANEL * PANEL, rest = n - half;
    double *A12 = A + half, *A22 = A + (ptrdiff_t)half * lda + half;
    int bad = tg_chol_upper(half, A, lda);
    if (bad >= 0)
        return bad;
    divide_upper(half, A, lda, rest, A12, lda);
    subtract_upper(rest, half, A12, lda, A22, lda);
    bad = tg_chol_upper(rest, A22, lda);
    return bad >= 0 ? half + bad : -1;
}

void tg_chol_upper_solve(int n, const double *U, int ldu, int columns, double *X, int ldx)
{
    tg_trsm(TG_TRI_UPPER | TG_TRI_TRANSPOSED, n, U, ldu, columns, X, ldx);
    tg_trsm(TG_TRI_UPPER, n, U, ldu, columns, X, ldx);
}

/* ---- LU ---- */

static inline void exchange_rows(int columns, double *a, double *b)
{
    int j = 0;
    for (; j + V4_LANES <= columns; j += V4_LANES)
    {
        v4 t = v4_loadu(a + j);
        v4_storeu(a + j, v4_loadu(b + j));
        v4_storeu(b + j, t);
    }
    for (; j < columns; j++)
    {
        double t = a[j];
        a[j] = b[j];
        b[j] = t;
    }
}

static void exchange_all(int count, const int *pivot, int columns, double *X, ptrdiff_t ldx)
{
    for (int k = 0; k < count; k++)
        if (pivot[k] != k)
            exchange_rows(columns, X + k * ldx, X + pivot[k] * ldx);
}

/* The largest |a(i)| seen so far. Bits of numbers without their sign are in the order of the numbers (NaN beyond
 * infinity: such a pivot is refused), and whole numbers are chosen without branches, which a random column would
 * mispredict. */
typedef struct candidate
{
    int64_t size;
    int row;
} candidate;

TG_INLINE candidate larger(candidate best, double a, int row)
{
    int64_t size;
    memcpy(&size, &a, sizeof size);
    size &= INT64_MAX;
    best.row = size > best.size ? row : best.row;
    best.size = size > best.size ? size : best.size;
    return best;
}

/* the row with the largest |a(i)|; a has stride lda */
static int largest(int m, const double *a, ptrdiff_t lda)
{
    candidate best = {-1, 0};
    for (int i = 0; i < m; i++)
        best = larger(best, a[i * lda], i);
    return best.row;
}

/* One step of elimination: the pivot row starts at u, in column `lane` of its group of four, and m - 1 rows follow;
 * `columns` counts from the first of the group. For every row l = a / pivot, the columns after the pivot -= l u, a = l.
 * Returns which row has the largest entry in the column after the pivot, the next pivot. */
TG_INLINE int eliminate_rows(int lane, int m, int columns, double *u, ptrdiff_t lda)
{
    const v4i here = v4_lanes_from(lane) & ~v4_lanes_from(lane + 1);
    const v4 first = v4_keep(v4_lanes_from(lane + 1), v4_loadu(u));
    const double inverse = 1 / u[lane];
    candidate best = {-1, 1};
    double *a = u + lda;
    for (int i = 1; i < m; i++, a += lda)
    {
        v4 head = v4_loadu(a);
        double factor = head[lane] * inverse;
        v4 l = v4_splat(factor);
        v4_storeu(a, v4_select(here, l, head - l * first));
        v4_subtract_scaled(columns - V4_LANES, factor, u + V4_LANES, a + V4_LANES);
        if (lane + 1 < columns)
            best = larger(best, a[lane + 1], i);
    }
    return best.row;
}

/* the same for a pivot in the last, incomplete group */
static int eliminate_narrow(int lane, int m, int columns, double *u, ptrdiff_t lda)
{
    candidate best = {-1, 1};
    double *a = u + lda;
    for (int i = 1; i < m; i++, a += lda)
    {
        a[lane] /= u[lane];
        for (int j = lane + 1; j < columns; j++)
            a[j] -= a[lane] * u[j];
        if (lane + 1 < columns)
            best = larger(best, a[lane + 1], i);
    }
    return best.row;
}

/* step k of m x n; returns the pivot row of the next step */
static int eliminate(int k, int m, int n, double *A, ptrdiff_t lda)
{
    int lane = k % V4_LANES, columns = n - k + lane;
    double *u = A + k * lda + k - lane;
    if (columns < V4_LANES)
        return k + eliminate_narrow(lane, m - k, columns, u, lda);
    switch (lane)
    {
    case 0:
        return k + eliminate_rows(0, m - k, columns, u, lda);
    case 1:
        return k + eliminate_rows(1, m - k, columns, u, lda);
    case 2:
        return k + eliminate_rows(2, m - k, columns, u, lda);
    default:
        return k + eliminate_rows(V4_LANES - 1, m - k, columns, u, lda);
    }
}

/* P A = L U of m x n, m >= n, row by row */
static int lu_panel(int m, int n, double *A, ptrdiff_t lda, int *pivot)
{
    int row = largest(m, A, lda);
    for (int k = 0; k < n; k++)
    {
        double value = A[row * lda + k];
        if (value == 0 || !isfinite(value))
            return k;
        pivot[k] = row;
        if (row != k)
            exchange_rows(n, A + k * lda, A + row * lda);
        row = eliminate(k, m, n, A, lda);
    }
    return -1;
}

/* P A = L U of m x n, m >= n, by halves (Toledo 1997): left half, exchange, U12 = L11^-1 A12, A22 -= L21 U12, right
 * half. Almost all of the work is in the product, whatever the size. */
static int lu_recursive(int m, int n, double *A, ptrdiff_t lda, int *pivot)
{
    if (n <= LU_PANEL)
        return lu_panel(m, n, A, lda, pivot);
    int left = v4_pad(n / 2), right = n - left;
    double *A12 = A + left, *A21 = A + left * lda, *A22 = A21 + left;
    int bad = lu_recursive(m, left, A, lda, pivot);
    if (bad >= 0)
        return bad;
    exchange_all(left, pivot, right, A12, lda);
    tg_trsm(TG_TRI_LOWER | TG_TRI_UNIT, left, A, (int)lda, right, A12, (int)lda);
    tg_gemm_nn(m - left, right, left, A21, (int)lda, A12, (int)lda, TG_GEMM_SUB, A22, (int)lda);
    bad = lu_recursive(m - left, right, A22, lda, pivot + left);
    if (bad >= 0)
        return left + bad;
    exchange_all(right, pivot + left, left, A21, lda);
    for (int k = left; k < n; k++)
        pivot[k] += left;
    return -1;
}

int tg_lu(int n, double *A, int lda, int *pivot)
{
    return n > 0 ? lu_recursive(n, n, A, lda, pivot) : -1;
}

/* one vector of a few numbers: a tile would be emptier than full */
static void solve_few(int n, const double *LU, ptrdiff_t ld, double *x)
{
    const double *row = LU + ld;
    double inverse[STRIP]; /* ahead of the sums, which then wait for products alone */
    for (int i = 0; i < n; i++)
        inverse[i] = 1 / LU[i * (ld + 1)];
    for (int i = 1; i < n; i++, row += ld)
    {
        double sum = x[i];
        for (int k = 0; k < i; k++)
            sum -= row[k] * x[k];
        x[i] = sum;
    }
    for (int i = n - 1; i >= 0; i--)
    {
        row -= ld;
        double sum = x[i];
        for (int k = i + 1; k < n; k++)
            sum -= row[k] * x[k];
        x[i] = sum * inverse[i];
    }
}

void tg_lu_solve(int n, const double *LU, int ld, const int *pivot, int columns, double *X, int ldx)
{
    if (columns == 1 && ldx == 1 && n < STRIP)
    {
        exchange_all(n, pivot, 1, X, 1);
        solve_few(n, LU, ld, X);
        return;
    }
    exchange_all(n, pivot, columns, X, ldx);
    tg_trsm(TG_TRI_LOWER | TG_TRI_UNIT, n, LU, ld, columns, X, ldx);
    tg_trsm(TG_TRI_UPPER, n, LU, ld, columns, X, ldx);
}

/* A^T = U^T L^T P */
void tg_lu_solve_t(int n, const double *LU, int ld, const int *pivot, int columns, double *X, int ldx)
{
    tg_trsm(TG_TRI_UPPER | TG_TRI_TRANSPOSED, n, LU, ld, columns, X, ldx);
    tg_trsm(TG_TRI_LOWER | TG_TRI_UNIT | TG_TRI_TRANSPOSED, n, LU, ld, columns, X, ldx);
    for (int k = n - 1; k >= 0; k--)
        if (pivot[k] != k)
            exchange_rows(columns, X + (ptrdiff_t)k * ldx, X + (ptrdiff_t)pivot[k] * ldx);
}
