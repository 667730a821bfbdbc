/* Small dense kernels: products, factorisations, triangular solves, for matrices of 1 to a few hundred rows.
 *
 * A matrix is row-major: entry (i, j) of A is A[i * lda + j], lda >= number of columns. Rows need no alignment
 * (measured on 36 x 36 x 72: odd leading dimensions and addresses cost 1 to 4 % against aligned ones). Sizes of zero
 * are allowed and do nothing. Nothing is allocated: scratch comes from the caller. Arguments of one call must not
 * overlap unless the comment says so; only the entries named are read or written.
 *
 * A vector is a matrix with one column, ld 1: y = A x is tg_gemm_nt(m, 1, n, A, lda, x, n, ..., y, 1),
 * y^T = x^T A is tg_gemm_nn(1, n, m, x, m, A, lda, ..., y, n). */
#ifndef TG_MATH_DENSE_H
#define TG_MATH_DENSE_H

/* what becomes of the product P: C = P, C + P or C - P */
typedef enum tg_gemm_mode
{
    TG_GEMM_SET,
    TG_GEMM_ADD,
    TG_GEMM_SUB
} tg_gemm_mode;

/* C (m x n) from A (m x k) B (k x n) */
void tg_gemm_nn(int m, int n, int k, const double *A, int lda, const double *B, int ldb, tg_gemm_mode mode, double *C,
                int ldc);
/* C (m x n) from A^T B, A (k x m), B (k x n) */
void tg_gemm_tn(int m, int n, int k, const double *A, int lda, const double *B, int ldb, tg_gemm_mode mode, double *C,
                int ldc);
/* C (m x n) from A B^T, A (m x k), B (n x k) */
void tg_gemm_nt(int m, int n, int k, const double *A, int lda, const double *B, int ldb, tg_gemm_mode mode, double *C,
                int ldc);

/* C (n x n, symmetric) from A A^T, A (n x k). The lower triangle is computed and copied to the upper one, whose old
 * entries do not matter. */
void tg_syrk_n(int n, int k, const double *A, int lda, tg_gemm_mode mode, double *C, int ldc);
/* C (n x n, symmetric) from A^T A, A (k x n); triangles as above. */
void tg_syrk_t(int n, int k, const double *A, int lda, tg_gemm_mode mode, double *C, int ldc);

/* the dot product of n numbers, one after the other */
static inline double tg_dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* flags of a triangular matrix T; of T only the triangle named is read, and not its diagonal with TG_TRI_UNIT */
enum
{
    TG_TRI_LOWER = 0,
    TG_TRI_UPPER = 1,
    TG_TRI_TRANSPOSED = 2, /* solve with T^T; LOWER or UPPER say what is stored */
    TG_TRI_UNIT = 4        /* ones on the diagonal */
};

/* X (n x columns) <- op(T)^-1 X, T (n x n). Zero on the diagonal gives infinities: the factorisations below say so
 * before. */
void tg_trsm(int flags, int n, const double *T, int ldt, int columns, double *X, int ldx);

/* Rows i .. i + 3 of X <- U^-T X, those before being done; U upper, X (rows x columns). */
void tg_trsm_rows(const double *U, int ldu, int i, int columns, double *X, int ldx);

/* Cholesky: A = L L^T, A symmetric positive definite. L replaces the lower triangle; the strict upper triangle is
 * neither read nor written. Returns -1, or the index of the first pivot that is not positive and finite (A is then half
 * done). */
int tg_chol(int n, double *A, int lda);

/* about how many multiplications that takes */
static inline double tg_chol_work(double n)
{
    return n * n * n / 3;
}

/* X (n x columns) <- A^-1 X */
void tg_chol_solve(int n, const double *L, int ldl, int columns, double *X, int ldx);

/* The same with A = U^T U in the upper triangle; the strict lower one is neither read nor written. Rows of U are
 * contiguous, so that it runs in the wide tiles: 1.2 times as fast at 200 rows, 1.7 at 400; up to 64 in one sweep. */
int tg_chol_upper(int n, double *A, int lda);
void tg_chol_upper_solve(int n, const double *U, int ldu, int columns, double *X, int ldx);

/* Many solves with one U: inverse (n) = 1 / its diagonal, then x <- U^-T x, x <- U^-1 x, and X <- U^-T X, a multiple of
 * four columns. */
void tg_upper_inverse(int n, const double *U, int ldu, double *inverse);
void tg_upper_half(int n, const double *U, int ldu, const double *inverse, double *x);
void tg_upper_other_half(int n, const double *U, int ldu, const double *inverse, double *x);
void tg_upper_half_many(int n, const double *U, int ldu, const double *inverse, int columns, double *X, int ldx);

/* P A = L U with partial pivoting: unit L below the diagonal, U on and above. pivot[k] >= k is the row that was
 * exchanged with row k in step k. Returns -1, or the index of the first pivot that is zero or not finite (the
 * factorisation stops there). */
int tg_lu(int n, double *A, int lda, int *pivot);
/* X <- A^-1 X and X <- A^-T X, X (n x columns) */
void tg_lu_solve(int n, const double *LU, int ld, const int *pivot, int columns, double *X, int ldx);
void tg_lu_solve_t(int n, const double *LU, int ld, const int *pivot, int columns, double *X, int ldx);

/* A (m x n) = Q R by Householder reflections H_k = I - tau_k v v^T, v_k = 1: R replaces the upper triangle, v the part
 * below the diagonal. tau has min(m, n) entries, work n.
 * order == NULL: no column exchanges. Otherwise column k of Q R is column order[k] of A (n entries), chosen for the
 * largest remaining norm. Returns the rank: how many leading |R_kk| exceed tolerance times the largest column norm of A
 * (without exchanges: that were met before the first that does not). */
int tg_qr(int m, int n, double *A, int lda, double *tau, int *order, double tolerance, double *work);
/* X (m x columns) <- Q^T X, with count = min(m, n) reflections; work has `columns` entries */
void tg_qr_apply_t(int m, int count, const double *QR, int ld, const double *tau, int columns, double *X, int ldx,
                   double *work);
/* Least squares: for every column b of B (max(m, n) x columns, b in the first m rows) the x that minimises |A x - b|
 * replaces it (first n rows). With rank < n the basic solution: zero in the n - rank columns that were not chosen.
 * m >= rank. order as in tg_qr (NULL: no exchanges). work has max(n, columns) entries. */
void tg_qr_solve(int m, int n, int rank, const double *QR, int ld, const double *tau, const int *order, int columns,
                 double *B, int ldb, double *work);

#endif
