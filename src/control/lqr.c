/* The discrete algebraic Riccati equation by doubling (Chu, Fan, Lin and Wang, 2004).
 *
 * With N = 0, G = B R^-1 B', H = Q and W = I + G H, each iteration doubles the number of steps that are looked ahead:
 *     A <- A W^-1 A,   G <- G + A W^-1 G A',   H <- H + A' H W^-1 A.
 * H tends to P and A, which is a power of the closed loop, to zero: quadratically, where there is a stabilising gain.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "math/dense.h"
#include "model/check.h"
#include "tangere/control.h"

enum
{
    DOUBLINGS = 60 /* 2^60 steps: a closed loop that has not decayed by then has a radius of 1 to rounding */
};

typedef struct riccati
{
    int n, nu;
    double *A, *G, *H;     /* [n, n] */
    double *W, *X, *Y, *Z; /* [n, n] */
    double *R, *T, *S;     /* factors of R [nu, nu]; [nu, n] twice */
    int *pivot;
} riccati;

static void place(riccati *r, tg_arena *arena)
{
    size_t n = (size_t)r->n, nu = (size_t)r->nu;
    double **squares[] = {&r->A, &r->G, &r->H, &r->W, &r->X, &r->Y, &r->Z};
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++)
        *squares[i] = TG_TAKE(arena, double, n *n, "square");
    r->R = TG_TAKE(arena, double, nu *nu, "R");
    r->T = TG_TAKE(arena, double, nu *n, "T");
    r->S = TG_TAKE(arena, double, nu *n, "S");
    r->pivot = TG_TAKE(arena, int, n, "pivot");
}

static double largest(int n, const double *x)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = isfinite(x[i]) ? fmax(most, fabs(x[i])) : INFINITY;
    return most;
}

static void symmetrise(int n, double *x)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            x[i * n + j] = x[j * n + i] = 0.5 * (x[i * n + j] + x[j * n + i]);
}

/* T (nu x n) = the transpose of B (n x nu) */
static void transpose(int n, int nu, const double *B, double *T)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < nu; j++)
            T[j * n + i] = B[i * nu + j];
}

/* A, G, H of the problem without N: A - B R^-1 N', B R^-1 B', Q - N R^-1 N'. */
static tg_status start(riccati *r, const double *A, const double *B, const double *Q, const double *R, const double *N,
                       tg_error *error)
{
    int n = r->n, nu = r->nu;
    memcpy(r->A, A, sizeof(double) * (size_t)(n * n));
    memcpy(r->H, Q, sizeof(double) * (size_t)(n * n));
    memcpy(r->R, R, sizeof(double) * (size_t)(nu * nu));
    int bad = tg_chol(nu, r->R, nu);
    if (bad >= 0)
        return tg_fail(error, TG_ERR_NUMERIC, "tg_lqr: R is not positive definite (pivot %d)", bad);
    transpose(n, nu, B, r->T);
    tg_chol_solve(nu, r->R, nu, n, r->T, n);
    tg_gemm_nn(n, n, nu, B, nu, r->T, n, TG_GEMM_SET, r->G, n);
    symmetrise(n, r->G);
    if (N == NULL)
        return TG_OK;
    transpose(n, nu, N, r->T);
    tg_chol_solve(nu, r->R, nu, n, r->T, n);
    tg_gemm_nn(n, n, nu, B, nu, r->T, n, TG_GEMM_SUB, r->A, n);
    tg_gemm_nn(n, n, nu, N, nu, r->T, n, TG_GEMM_SUB, r->H, n);
    symmetrise(n, r->H);
    return TG_OK;
}

/* One doubling; false: W is singular, or a number overflowed. change: of H, relative. */
static bool redouble(riccati *r, double *change)
{
    int n = r->n, nn = n * n;
    size_t bytes = sizeof(double) * (size_t)nn;
    tg_gemm_nn(n, n, n, r->G, n, r->H, n, TG_GEMM_SET, r->W, n);
    for (int i = 0; i < n; i++)
        r->W[i * n + i] += 1;
    if (tg_lu(n, r->W, n, r->pivot) >= 0)
        return false;
    memcpy(r->X, r->A, bytes);
    tg_lu_solve(n, r->W, n, r->pivot, n, r->X, n); /* X = W^-1 A */
    memcpy(r->Y, r->G, bytes);
    tg_lu_solve(n, r->W, n, r->pivot, n, r->Y, n); /* Y = W^-1 G */
    tg_gemm_nn(n, n, n, r->A, n, r->Y, n, TG_GEMM_SET, r->Z, n);
    tg_gemm_nt(n, n, n, r->Z, n, r->A, n, TG_GEMM_ADD, r->G, n);
    tg_gemm_nn(n, n, n, r->H, n, r->X, n, TG_GEMM_SET, r->Y, n);
    tg_gemm_tn(n, n, n, r->A, n, r->Y, n, TG_GEMM_SET, r->Z, n);
    tg_gemm_nn(n, n, n, r->A, n, r->X, n, TG_GEMM_SET, r->Y, n);
    memcpy(r->A, r->Y, bytes);
    for (int i = 0; i < nn; i++)
        r->H[i] += r->Z[i];
    symmetrise(n, r->G);
    symmetrise(n, r->H);
    *change = largest(nn, r->Z) / fmax(largest(nn, r->H), DBL_MIN);
    return isfinite(largest(nn, r->H)) && isfinite(largest(nn, r->A));
}

/* S = (R + B'PB)^-1 (B'PA + N'), P in H */
static tg_status gain(riccati *r, const double *A, const double *B, const double *R, const double *N, tg_error *error)
{
    int n = r->n, nu = r->nu;
    tg_gemm_tn(nu, n, n, B, nu, r->H, n, TG_GEMM_SET, r->T, n); /* B'P */
    memcpy(r->R, R, sizeof(double) * (size_t)(nu * nu));
    tg_gemm_nn(nu, nu, n, r->T, n, B, nu, TG_GEMM_ADD, r->R, nu);
    if (tg_chol(nu, r->R, nu) >= 0)
        return tg_fail(error, TG_ERR_NUMERIC, "tg_lqr: R + B'PB is not positive definite");
    if (N != NULL)
        transpose(n, nu, N, r->S);
    tg_gemm_nn(nu, n, n, r->T, n, A, n, N != NULL ? TG_GEMM_ADD : TG_GEMM_SET, r->S, n);
    tg_chol_solve(nu, r->R, nu, n, r->S, n);
    return TG_OK;
}

/* One step of Newton's method (Kleinman, 1968) takes away the rounding that doubling has gathered: P of the gain S is
 * the sum over steps of F'^k C F^k with F = A - B S and C = Q - N S - S'N' + S'R S, by doubling again: P <- P + F'P F,
 * F <- F F. */
static void refine(riccati *r, const double *A, const double *B, const double *Q, const double *R, const double *N)
{
    int n = r->n, nu = r->nu;
    size_t bytes = sizeof(double) * (size_t)(n * n);
    memcpy(r->A, A, bytes);
    tg_gemm_nn(n, n, nu, B, nu, r->S, n, TG_GEMM_SUB, r->A, n);
    memcpy(r->H, Q, bytes);
    tg_gemm_nn(nu, n, nu, R, nu, r->S, n, TG_GEMM_SET, r->T, n);
    tg_gemm_tn(n, n, nu, r->S, n, r->T, n, TG_GEMM_ADD, r->H, n);
    if (N != NULL)
    {
        tg_gemm_nn(n, n, nu, N, nu, r->S, n, TG_GEMM_SET, r->X, n);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                r->H[i * n + j] -= r->X[i * n + j] + r->X[j * n + i];
    }
    for (int i = 0; i < DOUBLINGS && largest(n * n, r->A) > DBL_EPSILON; i++)
    {
        tg_gemm_nn(n, n, n, r->H, n, r->A, n, TG_GEMM_SET, r->X, n);
        tg_gemm_tn(n, n, n, r->A, n, r->X, n, TG_GEMM_ADD, r->H, n);
        symmetrise(n, r->H);
        tg_gemm_nn(n, n, n, r->A, n, r->A, n, TG_GEMM_SET, r->X, n);
        memcpy(r->A, r->X, bytes);
    }
}

static tg_status solve(riccati *r, const double *A, const double *B, const double *Q, const double *R, const double *N,
                       tg_error *error)
{
    double change = INFINITY;
    TG_TRY(start(r, A, B, Q, R, N, error));
    for (int i = 0; i < DOUBLINGS; i++)
    {
        if (!redouble(r, &change))
            break;
        if (change > DBL_EPSILON || largest(r->n * r->n, r->A) > 0.5)
            continue;
        TG_TRY(gain(r, A, B, R, N, error));
        refine(r, A, B, Q, R, N);
        return gain(r, A, B, R, N, error);
    }
    return tg_fail(error, TG_ERR_NUMERIC,
                   "tg_lqr: no stabilising gain was found: a mode does not decay and either no control moves it or it "
                   "costs nothing");
}

static tg_status check(int n, int nu, const double *A, const double *B, const double *Q, const double *R,
                       const double *N, const double *K, tg_error *error)
{
    if (n < 1 || nu < 1)
        return tg_fail(error, TG_ERR_VALUE, "tg_lqr: n = %d, nu = %d; must be at least 1", n, nu);
    if (A == NULL || B == NULL || Q == NULL || R == NULL || K == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_lqr: %s is NULL",
                       A == NULL   ? "A"
                       : B == NULL ? "B"
                       : Q == NULL ? "Q"
                       : R == NULL ? "R"
                                   : "K");
    TG_TRY(tg_check_numbers("A", A, n * n, error));
    TG_TRY(tg_check_numbers("B", B, n * nu, error));
    TG_TRY(tg_check_numbers("Q", Q, n * n, error));
    TG_TRY(tg_check_numbers("R", R, nu * nu, error));
    return N != NULL ? tg_check_numbers("N", N, n * nu, error) : TG_OK;
}

tg_status tg_lqr(int n, int nu, const double *A, const double *B, const double *Q, const double *R, const double *N,
                 double *K, double *P, tg_error *error)
{
    TG_TRY(check(n, nu, A, B, Q, R, N, K, error));
    riccati r = {.n = n, .nu = nu};
    tg_arena counting = {0};
    place(&r, &counting);
    void *memory = counting.failed ? NULL : tg_alloc(NULL, counting.used);
    if (memory == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "tg_lqr: no memory for %d states", n);
    tg_arena arena = {.base = memory, .capacity = counting.used};
    place(&r, &arena);
    tg_status status = solve(&r, A, B, Q, R, N, error);
    if (status == TG_OK)
    {
        memcpy(K, r.S, sizeof(double) * (size_t)(nu * n));
        if (P != NULL)
            memcpy(P, r.H, sizeof(double) * (size_t)(n * n));
    }
    tg_arena_close(&arena);
    tg_free(NULL, memory);
    return status;
}
