/* Differentiable quadratic programs of contact, batched:
 *
 *     minimise 1/2 x'Gx + g'x    subject to  x >= 0              (TG_QCQP_NONNEGATIVE: normal impulses)
 *                                or to  |x_i| <= mu_i l_i       (TG_QCQP_BALLS: friction, blocks of 1 to 5 rows)
 *
 * G is symmetric and positive semidefinite. Arrays belong to the caller: [count, ...], row-major, problem by
 * problem. Results are bitwise independent of the number of threads and of the other problems of a batch.
 * Memory is allocated when the workspace is created, never later. One call at a time per workspace.
 *
 * Where G is singular on the rows that are free to move, G x is unique and x is not: the x of least norm is returned
 * (tg_qcqp_info.redundant > 0). docs/qcqp.md has the equations, and what the derivative is there. */
#ifndef TANGERE_QCQP_H
#define TANGERE_QCQP_H

#include <stdbool.h>

#include "tangere/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_qcqp tg_qcqp;

typedef enum tg_qcqp_kind
{
    TG_QCQP_NONNEGATIVE,
    TG_QCQP_BALLS
} tg_qcqp_kind;

/* What a workspace is made for. Make it with tg_default_qcqp(). */
typedef struct tg_qcqp_def
{
    tg_qcqp_kind kind; /* TG_QCQP_BALLS */
    int blocks;        /* constraints: balls, or rows of a nonnegative problem; at least 1 */
    int size;          /* rows of every ball, 1 to 5; 2 */
    const int *sizes;  /* [blocks]: rows of each ball; NULL: `size` for all. Copied. */
    int threads;       /* 0: as many as the machine has processors */
    double tolerance;  /* solved: residual <= tolerance max |g|, or below what rounding leaves; 1e-8 */
    bool
        semidefinite; /* the caller vouches that every G is positive semidefinite: not checked, saves a factorisation */
    const tg_allocator *allocator; /* NULL: the C library's */
    uint32_t cookie;
} tg_qcqp_def;

TG_API tg_qcqp_def tg_default_qcqp(void);

TG_API tg_status tg_qcqp_create(const tg_qcqp_def *def, tg_qcqp **q, tg_error *error);
TG_API void tg_qcqp_destroy(tg_qcqp *q); /* NULL is allowed */

TG_API int tg_qcqp_rows(const tg_qcqp *q);   /* n; 0 if q is NULL */
TG_API int tg_qcqp_blocks(const tg_qcqp *q); /* 0 if q is NULL */

/* What the last call refused; "" if nothing. */
TG_API const char *tg_qcqp_message(const tg_qcqp *q);

typedef struct tg_qcqp_data
{
    int count;        /* problems */
    const double *G;  /* [count, n, n]; symmetric to 1e-12 of its largest entry; the symmetric part is used */
    const double *g;  /* [count, n] */
    const double *mu; /* [count, blocks], >= 0; not read by a nonnegative problem */
    const double *l;  /* [count, blocks], >= 0; not read by a nonnegative problem */
} tg_qcqp_data;

typedef enum tg_qcqp_status
{
    TG_QCQP_SOLVED,
    TG_QCQP_PARTIAL,  /* the best iterate, with its residual */
    TG_QCQP_UNBOUNDED /* x >= 0 only: G d = 0 (to 1e-11 of G) and g'd < 0 along a d >= 0. x is some feasible point */
} tg_qcqp_status;

typedef struct tg_qcqp_info
{
    tg_qcqp_status status;
    int newton;      /* factorisations of Newton steps on a face */
    int interior;    /* factorisations of the interior point, if Newton steps did not converge */
    int redundant;   /* dimension of the null space of G on the rows that are free to move; 0: x is unique */
    bool least_norm; /* x is unique, or the solution of least norm */
    /* max over blocks of |x_i - P(x_i - s_i / c_i)| c_i, s = G x + g, c_i = largest row sum of |G_ii|; in units of g */
    double residual;
    double rounding; /* the part of it that rounding of G x may cause */
    double value;    /* 1/2 x'Gx + g'x */
} tg_qcqp_info;

/* Solves. x [count, n]: receives the solutions; warm [count, n] may be NULL and may be x: where to start from. info
 * [count] may be NULL. An input that is refused changes nothing; a problem that is not solved is TG_OK with its
 * status. */
TG_API tg_status tg_qcqp_solve(tg_qcqp *q, const tg_qcqp_data *data, const double *warm, double *x, tg_qcqp_info *info);

/* ---- derivatives at a solution ----
 *
 * By the KKT equations of the constraints that are active at x, which must be the solution of data. Nothing is kept
 * between calls; G is not checked again for being semidefinite. */

typedef enum tg_qcqp_label_kind
{
    TG_QCQP_EXACT,
    /* a constraint is active without a force, or mu l = 0: the derivative on one side (docs/qcqp.md) */
    TG_QCQP_ONE_SIDED,
    TG_QCQP_REGULARISED /* G is singular on the free rows: the least-norm solution of the KKT equations, which is the
                           derivative of x along changes that keep the null space */
} tg_qcqp_label_kind;

typedef struct tg_qcqp_label
{
    tg_qcqp_label_kind kind;
    /* smallest distance to a change of the active set: 1 - |x_i| / (mu_i l_i), |s_i| / max |g|, x / max |x| */
    double margin;
    double condition; /* ratio of the pivots of the KKT matrix */
    double residual;  /* of the linear system after refinement, relative to its right side */
} tg_qcqp_label;

/* Changes of, or gradients with respect to, the input data; NULL: zero in forward mode, not wanted in reverse mode. */
typedef struct tg_qcqp_tangent
{
    double *G, *g, *mu, *l; /* as tg_qcqp_data. Gradients with respect to G are symmetric, as are its changes. */
} tg_qcqp_tangent;

/* Forward mode: dx [count, n] along a change of the data. label [count] may be NULL. */
TG_API tg_status tg_qcqp_jvp(tg_qcqp *q, const tg_qcqp_data *data, const double *x, const tg_qcqp_tangent *in,
                             double *dx, tg_qcqp_label *label);

/* Reverse mode: from dx [count, n], the gradient with respect to x, those with respect to the data. */
TG_API tg_status tg_qcqp_vjp(tg_qcqp *q, const tg_qcqp_data *data, const double *x, const double *dx,
                             const tg_qcqp_tangent *out, tg_qcqp_label *label);

/* Dense matrices; NULL fields are skipped. */
typedef struct tg_qcqp_jacobian
{
    double
        *dx_dG; /* [count, n, n, n]: entry (i, j, k) is d x_i / d G_jk for a symmetric change, as in tg_qcqp_tangent */
    double *dx_dg;  /* [count, n, n] */
    double *dx_dmu; /* [count, n, blocks] */
    double *dx_dl;  /* [count, n, blocks] */
} tg_qcqp_jacobian;

TG_API tg_status tg_qcqp_jacobians(tg_qcqp *q, const tg_qcqp_data *data, const double *x, const tg_qcqp_jacobian *out,
                                   tg_qcqp_label *label);

#ifdef __cplusplus
}
#endif

#endif
