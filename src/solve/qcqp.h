/* One quadratic program over a product of balls, half-lines and lines: what its parts share.
 *
 *     minimise 1/2 x'Gx + g'x,   x_i in C_i,   s = G x + g
 *     ball      |x_i| <= r_i     KKT: s_i + lambda_i x_i = 0, lambda_i >= 0, lambda_i (r_i - |x_i|) = 0
 *     positive  x_i >= 0              s_i >= 0, x_i s_i = 0
 *     free      no constraint         s_i = 0
 *
 * A face is a choice, for every block, of inside (all of its rows move), on the boundary (its tangents move, with
 * curvature lambda_i) or pinned. With T the orthonormal basis of what moves, the equations of a face are
 *     A = T'GT + diag(lambda),   A y = -T's,   d = T y.
 * Newton's method on a face (qcqp_newton.c), its fallback (qcqp_interior.c) and the derivatives (qcqp_deriv.c) use it.
 */
#ifndef TG_SOLVE_QCQP_H
#define TG_SOLVE_QCQP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "tangere/qcqp.h"

enum
{
    TG_QCQP_SIZE_MAX = 5
};

/* pivots of a factor below this part of their diagonal are the shift below, times how rows depend on others */
#define TG_QCQP_NULL 1e-11
/* part of the diagonal added in a Newton step: below every pivot that counts */
#define TG_QCQP_SHIFT 1e-14
/* the same where A is singular: rounding moves the null space by DBL_EPSILON over it, the rest converges by it over the
 * smallest eigenvalue per step */
#define TG_QCQP_SHIFT_SINGULAR 1e-9

typedef enum tg_qcqp_set
{
    TG_QCQP_SET_BALL,
    TG_QCQP_SET_POSITIVE,
    TG_QCQP_SET_FREE,
    TG_QCQP_SET_PINNED /* x_i stays */
} tg_qcqp_set;

typedef enum tg_qcqp_at
{
    TG_QCQP_INSIDE, /* all rows move */
    TG_QCQP_ON,     /* on the sphere, pressed outwards: tangents move. Positive: at zero, nothing moves */
    TG_QCQP_PINNED  /* nothing moves */
} tg_qcqp_at;

typedef struct tg_qcqp_block
{
    tg_qcqp_set set;
    int row, rows;
    double radius; /* of a ball */
} tg_qcqp_block;

/* a problem; G has leading dimension n, both triangles are read */
typedef struct tg_qcqp_problem
{
    int n, blocks;
    const tg_qcqp_block *block;
    const double *G, *g;
    double tolerance;
} tg_qcqp_problem;

/* the scratch of one solve */
typedef struct tg_qcqp_work
{
    double *x, *s;           /* n: the iterate, and G x + g */
    double *trial, *ds;      /* n: another point; G times a step */
    double *d, *best, *kept; /* n */
    double *last;            /* n: the last iterate of the descent */
    double *y, *r;           /* n: right side and solution of the equations of a face; scratch */
    double *c;               /* blocks: largest row sum of |G_ii|; gradient steps are 1 / c */
    double *lambda;          /* blocks */
    bool *touching;          /* blocks: x is on the boundary */
    tg_qcqp_at *at;          /* blocks: the face */
    int *first;              /* blocks + 1: the first of a block's rows in A */
    double *basis;           /* n x TG_QCQP_SIZE_MAX: row of x by column of its block in T */
    double *A;               /* moving x moving, leading dimension ld: A, then its factor */
    double *H, *shifted;     /* n x n, n: matrix and linear term of the selection by norm */
    tg_qcqp_block *block;    /* blocks of the selection */
    int moving, ld;
    double scale;  /* max |g| */
    int null;      /* dimension of the null space of A */
    bool factored; /* the factor is that of the face in at */
    int newton, interior;
} tg_qcqp_work;

/* Takes the arrays of a problem of this size. */
void tg_qcqp_work_take(tg_qcqp_work *w, int n, int blocks, tg_arena *arena);

/* w->scale and w->c */
void tg_qcqp_measure(const tg_qcqp_problem *p, tg_qcqp_work *w);

/* Solves from w->x (projected first): leaves the solution in w->x, s in w->s. */
void tg_qcqp_solve_one(const tg_qcqp_problem *p, tg_qcqp_work *w, tg_qcqp_info *info);

/* ---- qcqp_newton.c ---- */

/* x_i to the nearest point of C_i; true: it is on the boundary. A block without a radius is at its centre. */
bool tg_qcqp_project(const tg_qcqp_block *block, double *x);

/* the natural residual of (w->x, w->s), in units of g */
double tg_qcqp_residual(const tg_qcqp_problem *p, const tg_qcqp_work *w);

/* what rounding can leave of it */
double tg_qcqp_rounding(const tg_qcqp_problem *p, const double *x);

/* s = G x + g */
void tg_qcqp_gradient(const tg_qcqp_problem *p, const double *x, double *s);

/* Sweeps and Newton steps until the residual is at rounding or `steps` factorisations are done; true: solved. */
bool tg_qcqp_descend(const tg_qcqp_problem *p, tg_qcqp_work *w, int steps);

/* ---- qcqp_face.c ---- */

/* w->at and w->lambda from (w->x, w->s, w->touching); true: the face is the one before */
bool tg_qcqp_classify(const tg_qcqp_problem *p, tg_qcqp_work *w);

/* T, A, the factor of A and the dimension of its null space, w->null. Where there is one, the factor is that of
 * A + shift max(A_ii). */
void tg_qcqp_factor(const tg_qcqp_problem *p, tg_qcqp_work *w, double shift);

/* y = T'x and x = T y */
void tg_qcqp_restrict(const tg_qcqp_problem *p, const tg_qcqp_work *w, const double *x, double *y);
void tg_qcqp_extend(const tg_qcqp_problem *p, const tg_qcqp_work *w, const double *y, double *x);

/* ---- qcqp_interior.c ---- */

/* From the inside of the sets; leaves a point near the solution in w->x, with w->touching. */
void tg_qcqp_interior(const tg_qcqp_problem *p, tg_qcqp_work *w);

/* ---- qcqp_norm.c ---- */

/* Of all solutions with the same G x, w->x becomes the one of least norm; false: it was not found to rounding, and w->x
 * stays. */
bool tg_qcqp_least_norm(const tg_qcqp_problem *p, tg_qcqp_work *w);

#endif
