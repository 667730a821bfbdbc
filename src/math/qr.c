/* QR by Householder reflections, with or without column exchanges (Golub and Van Loan, Matrix Computations, 5.1 - 5.4).
 *
 * H = I - tau v v^T with v_0 = 1 takes x to (beta, 0, ..., 0), beta = -sign(x_0) |x|, v = x / (x_0 - beta),
 * tau = (beta - x_0) / beta. */
#include <math.h>
#include <stddef.h>

#include "math/dense.h"

/* The reflection of the column x (m entries, stride ld): v replaces x below its first entry, beta the first; returns
 * tau. */
static double reflection(int m, double *x, ptrdiff_t ld)
{
    double below = 0;
    for (int i = 1; i < m; i++)
        below += x[i * ld] * x[i * ld];
    if (below == 0)
        return 0;
    double beta = -copysign(sqrt(x[0] * x[0] + below), x[0]);
    double scale = 1 / (x[0] - beta), tau = (beta - x[0]) / beta;
    for (int i = 1; i < m; i++)
        x[i * ld] *= scale;
    x[0] = beta;
    return tau;
}

/* X (m x columns) <- (I - tau v v^T) X, v = (1, v[ldv], v[2 ldv], ...): w = tau v^T X, X -= v w */
static void reflect(int m, const double *v, int ldv, double tau, int columns, double *X, int ldx, double *w)
{
    if (tau == 0 || columns == 0)
        return;
    const double *v1 = v + ldv;
    double *X1 = X + ldx;
    for (int j = 0; j < columns; j++)
        w[j] = X[j];
    if (m > 1)
        tg_gemm_tn(1, columns, m - 1, v1, ldv, X1, ldx, TG_GEMM_ADD, w, columns);
    for (int j = 0; j < columns; j++)
    {
        w[j] *= tau;
        X[j] -= w[j];
    }
    if (m > 1)
        tg_gemm_nn(m - 1, columns, 1, v1, ldv, w, columns, TG_GEMM_SUB, X1, ldx);
}

/* squares of the norms of the columns of A (m x n); returns the index of the largest, the first of equals */
static int column_norms(int m, int n, const double *A, ptrdiff_t lda, double *square)
{
    for (int j = 0; j < n; j++)
        square[j] = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            square[j] += A[i * lda + j] * A[i * lda + j];
    int best = 0;
    for (int j = 1; j < n; j++)
        if (square[j] > square[best])
            best = j;
    return best;
}

static void exchange_columns(int m, double *A, ptrdiff_t lda, int *order, int j, int k)
{
    for (int i = 0; i < m; i++)
    {
        double t = A[i * lda + j];
        A[i * lda + j] = A[i * lda + k];
        A[i * lda + k] = t;
    }
    int t = order[j];
    order[j] = order[k];
    order[k] = t;
}

int tg_qr(int m, int n, double *A, int lda, double *tau, int *order, double tolerance, double *work)
{
    int count = m < n ? m : n, rank = 0;
    if (count <= 0)
        return 0;
    double threshold = tolerance * sqrt(work[column_norms(m, n, A, lda, work)]);
    for (int j = 0; order != NULL && j < n; j++)
        order[j] = j;
    for (int k = 0; k < count; k++)
    {
        double *corner = A + (ptrdiff_t)k * lda + k;
        if (order != NULL)
            exchange_columns(m, A, lda, order, k, k + column_norms(m - k, n - k, corner, lda, work));
        tau[k] = reflection(m - k, corner, lda);
        reflect(m - k, corner, lda, tau[k], n - k - 1, corner + 1, lda, work);
        if (rank == k && fabs(*corner) > threshold)
            rank++;
    }
    return rank;
}

/* Q = H_0 H_1 ... H_{count-1} */
void tg_qr_apply_t(int m, int count, const double *QR, int ld, const double *tau, int columns, double *X, int ldx,
                   double *work)
{
    for (int k = 0; k < count; k++)
        reflect(m - k, QR + (ptrdiff_t)k * ld + k, ld, tau[k], columns, X + (ptrdiff_t)k * ldx, ldx, work);
}

/* row order[k] of X <- row k */
static void scatter_rows(int n, const int *order, int columns, double *X, ptrdiff_t ldx, double *work)
{
    for (int j = 0; j < columns; j++)
    {
        for (int k = 0; k < n; k++)
            work[k] = X[k * ldx + j];
        for (int k = 0; k < n; k++)
            X[order[k] * ldx + j] = work[k];
    }
}

void tg_qr_solve(int m, int n, int rank, const double *QR, int ld, const double *tau, const int *order, int columns,
                 double *B, int ldb, double *work)
{
    tg_qr_apply_t(m, m < n ? m : n, QR, ld, tau, columns, B, ldb, work);
    tg_trsm(TG_TRI_UPPER, rank, QR, ld, columns, B, ldb);
    for (int i = rank; i < n; i++)
        for (int j = 0; j < columns; j++)
            B[(ptrdiff_t)i * ldb + j] = 0;
    if (order != NULL)
        scatter_rows(n, order, columns, B, ldb, work);
}
