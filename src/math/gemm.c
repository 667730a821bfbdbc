/* Products of small matrices in register tiles.
 *
 * A B and A^T B: a tile of up to 6 x 8 entries of C stays in 12 vectors while k runs; every step loads 8 numbers of a
 * row of B and broadcasts 6 of A. Twelve independent sums cover the latency of the multiply-add (4 cycles, 2 a cycle),
 * and with the two rows of B and one broadcast they fit the 16 registers of AVX2.
 * A B^T: both operands run along k, so a tile of 3 x 4 dot products keeps 12 vectors of partial sums, added up at the
 * end. */
#include <stddef.h>

#include "math/dense.h"
#include "math/lanes.h"

enum
{
    TILE_ROWS = 6,
    TILE_VECTORS = 2,
    TILE_COLUMNS = TILE_VECTORS * V4_LANES,
    STRIP = V4_LANES * V4_LANES /* of a single row: four sums hide half of the latency of the multiply-add */
};

/* one operand with its strides: entry (i, p) is data[i * row + p * step] */
typedef struct strided
{
    const double *data;
    ptrdiff_t row, step;
} strided;

TG_INLINE v4 combine(v4 c, v4 product, tg_gemm_mode mode)
{
    return mode == TG_GEMM_SET ? product : mode == TG_GEMM_ADD ? c + product : c - product;
}

/* C (rows x 4 vectors) from sum over p of A(:, p) B(p, :); lanes of the last vector outside of keep stay as they are */
TG_INLINE void tile(int rows, int vectors, int k, strided A, const double *B, ptrdiff_t ldb, tg_gemm_mode mode,
                    double *C, ptrdiff_t ldc, v4i keep)
{
    v4 sum[TILE_ROWS][V4_LANES];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < vectors; j++)
            sum[i][j] = v4_zero();
    const double *a = A.data;
    TG_NO_UNROLL
    for (int p = 0; p < k; p++, a += A.step, B += ldb)
    {
        v4 b[V4_LANES];
        for (int j = 0; j < vectors; j++)
            b[j] = v4_loadu(B + V4_LANES * j);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < vectors; j++)
                sum[i][j] += a[i * A.row] * b[j];
    }
    for (int i = 0; i < rows; i++, C += ldc)
        for (int j = 0; j < vectors; j++)
        {
            v4 old = v4_loadu(C + V4_LANES * j);
            v4 result = combine(old, sum[i][j], mode);
            v4_storeu(C + V4_LANES * j, vectors == 1 ? v4_select(keep, result, old) : result);
        }
}

TG_INLINE void tile_of(int rows, int vectors, int k, strided A, const double *B, ptrdiff_t ldb, tg_gemm_mode mode,
                       double *C, ptrdiff_t ldc, v4i keep)
{
    TG_SIZED(rows, TILE_ROWS, tile, vectors, k, A, B, ldb, mode, C, ldc, keep);
}

/* fewer than four columns: one entry at a time */
static void narrow(int m, int n, int k, strided A, const double *B, ptrdiff_t ldb, tg_gemm_mode mode, double *C,
                   ptrdiff_t ldc)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
        {
            double sum = 0;
            for (int p = 0; p < k; p++)
                sum += A.data[i * A.row + p * A.step] * B[p * ldb + j];
            double *c = &C[i * ldc + j];
            *c = mode == TG_GEMM_SET ? sum : mode == TG_GEMM_ADD ? *c + sum : *c - sum;
        }
}

static void panel(int vectors, int m, int k, strided A, const double *B, ptrdiff_t ldb, tg_gemm_mode mode, double *C,
                  ptrdiff_t ldc, v4i keep)
{
    for (int i = 0; i < m; i += TILE_ROWS)
    {
        int rows = m - i < TILE_ROWS ? m - i : TILE_ROWS;
        strided Ai = {A.data + i * A.row, A.row, A.step};
        if (vectors == TILE_VECTORS)
            tile_of(rows, TILE_VECTORS, k, Ai, B, ldb, mode, C + i * ldc, ldc, keep);
        else
            tile_of(rows, 1, k, Ai, B, ldb, mode, C + i * ldc, ldc, keep);
    }
}

/* as many columns of a single row as are in strips; returns how many */
static int row(int n, int k, strided A, const double *B, ptrdiff_t ldb, tg_gemm_mode mode, double *C)
{
    int j = 0;
    for (; j + STRIP <= n; j += STRIP)
        tile(1, V4_LANES, k, A, B + j, ldb, mode, C + j, 0, v4_lanes_from(0));
    return j;
}

static void gemm(int m, int n, int k, strided A, const double *B, ptrdiff_t ldb, tg_gemm_mode mode, double *C,
                 ptrdiff_t ldc)
{
    const v4i all = v4_lanes_from(0);
    if (n < V4_LANES)
    {
        narrow(m, n, k, A, B, ldb, mode, C, ldc);
        return;
    }
    int j = m == 1 && n >= STRIP ? row(n, k, A, B, ldb, mode, C) : 0;
    for (; j + TILE_COLUMNS <= n; j += TILE_COLUMNS)
        panel(TILE_VECTORS, m, k, A, B + j, ldb, mode, C + j, ldc, all);
    for (; j + V4_LANES <= n; j += V4_LANES)
        panel(1, m, k, A, B + j, ldb, mode, C + j, ldc, all);
    if (j < n)
        panel(1, m, k, A, B + n - V4_LANES, ldb, mode, C + n - V4_LANES, ldc, v4_lanes_from(V4_LANES - (n - j)));
}

void tg_gemm_nn(int m, int n, int k, const double *A, int lda, const double *B, int ldb, tg_gemm_mode mode, double *C,
                int ldc)
{
    gemm(m, n, k, (strided){A, lda, 1}, B, ldb, mode, C, ldc);
}

void tg_gemm_tn(int m, int n, int k, const double *A, int lda, const double *B, int ldb, tg_gemm_mode mode, double *C,
                int ldc)
{
    gemm(m, n, k, (strided){A, 1, lda}, B, ldb, mode, C, ldc);
}

/* ---- A B^T ---- */

enum
{
    DOT_ROWS = 3,
    DOT_COLUMNS = V4_LANES
};

typedef v4 dot_sums[DOT_ROWS][DOT_COLUMNS];

/* four (or, in the last step, count) terms of every dot product */
TG_INLINE void dot_step(int rows, int columns, int count, const double *A, ptrdiff_t lda, const double *B,
                        ptrdiff_t ldb, dot_sums sum)
{
    v4 a[DOT_ROWS];
    for (int i = 0; i < rows; i++)
        a[i] = v4_load_part(A + i * lda, count);
    for (int j = 0; j < columns; j++)
    {
        v4 b = v4_load_part(B + j * ldb, count);
        for (int i = 0; i < rows; i++)
            sum[i][j] += a[i] * b;
    }
}

/* C (rows x columns): dot products of `rows` rows of A with `columns` rows of B */
TG_INLINE void dots(int rows, int columns, int k, const double *A, ptrdiff_t lda, const double *B, ptrdiff_t ldb,
                    tg_gemm_mode mode, double *C, ptrdiff_t ldc)
{
    dot_sums sum;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < DOT_COLUMNS; j++)
            sum[i][j] = v4_zero();
    int p = 0;
    TG_NO_UNROLL
    for (; p + V4_LANES <= k; p += V4_LANES)
        dot_step(rows, columns, V4_LANES, A + p, lda, B + p, ldb, sum);
    if (p < k)
        dot_step(rows, columns, k - p, A + p, lda, B + p, ldb, sum);
    for (int i = 0; i < rows; i++, C += ldc)
        v4_store_part(C, combine(v4_load_part(C, columns), v4_sums(sum[i]), mode), columns);
}

TG_INLINE void dots_of(int columns, int m, int k, const double *A, ptrdiff_t lda, const double *B, ptrdiff_t ldb,
                       tg_gemm_mode mode, double *C, ptrdiff_t ldc)
{
    int i = 0;
    for (; i + DOT_ROWS <= m; i += DOT_ROWS)
        dots(DOT_ROWS, columns, k, A + i * lda, lda, B, ldb, mode, C + i * ldc, ldc);
    for (; i < m; i++)
        dots(1, columns, k, A + i * lda, lda, B, ldb, mode, C + i * ldc, ldc);
}

void tg_gemm_nt(int m, int n, int k, const double *A, int lda, const double *B, int ldb, tg_gemm_mode mode, double *C,
                int ldc)
{
    for (ptrdiff_t j = 0; j < n; j += DOT_COLUMNS)
    {
        const double *Bj = B + j * ldb;
        TG_SIZED(n - j < DOT_COLUMNS ? n - j : DOT_COLUMNS, DOT_COLUMNS, dots_of, m, k, A, lda, Bj, ldb, mode, C + j,
                 ldc);
    }
}

/* ---- symmetric ---- */

enum
{
    SYMMETRIC_ROWS = 2 * TILE_ROWS /* height of a row block: the product covers the diagonal block of this size twice */
};

static void mirror(int n, double *C, ptrdiff_t ldc)
{
    for (int i = 1; i < n; i++)
        for (int j = 0; j < i; j++)
            C[j * ldc + i] = C[i * ldc + j];
}

void tg_syrk_n(int n, int k, const double *A, int lda, tg_gemm_mode mode, double *C, int ldc)
{
    for (ptrdiff_t i = 0; i < n; i += SYMMETRIC_ROWS)
    {
        int rows = n - (int)i < SYMMETRIC_ROWS ? n - (int)i : SYMMETRIC_ROWS;
        tg_gemm_nt(rows, (int)i + rows, k, A + i * lda, lda, A, lda, mode, C + i * ldc, ldc);
    }
    mirror(n, C, ldc);
}

void tg_syrk_t(int n, int k, const double *A, int lda, tg_gemm_mode mode, double *C, int ldc)
{
    for (ptrdiff_t i = 0; i < n; i += SYMMETRIC_ROWS)
    {
        int rows = n - (int)i < SYMMETRIC_ROWS ? n - (int)i : SYMMETRIC_ROWS;
        tg_gemm_tn(rows, (int)i + rows, k, A + i, lda, A, lda, mode, C + i * ldc, ldc);
    }
    mirror(n, C, ldc);
}
