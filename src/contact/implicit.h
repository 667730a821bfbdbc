/* Derivatives of a solved island: how the impulses follow the problem.
 *
 * The impulses L of an island (problem.h) satisfy equations that the modes of its blocks select. Differentiated at the
 * solution they are linear: with w the change of sigma = G L + g at frozen L,
 *     dL = D w,     dsigma = w + G dL.
 * D is kept factored: dL for many right-hand sides, and z = D^T Lbar for one cotangent, so that
 *     Lbar . dL = z . w.
 * Parameters of the laws move L also at frozen equations: dL = l + D w (tg_implicit_mu, tg_implicit_bound).
 *
 * Redundant rows. S L_R = z = J_R p (held.c, limit.c) ties L_R to the range of J_R; a parameter that changes J turns it:
 *     dz = Q^T dd + Z Z^T (dJ p),   p = M^-1 J^T spread.
 * n = dJ p, the change of relative velocities of the motion p at frozen p, is the second input of tg_implicit_forward; NULL
 * when J does not change or nothing is redundant (rank == held). v+ needs it only where a redundant patch slides. */
#ifndef TG_CONTACT_IMPLICIT_H
#define TG_CONTACT_IMPLICIT_H

#include "contact/problem.h"

typedef enum tg_gradient_kind
{
    TG_GRADIENT_EXACT,
    TG_GRADIENT_ONE_SIDED,   /* a block is at a change of mode: the derivative of the side that its mode names */
    TG_GRADIENT_REGULARISED, /* the equations do not determine it, or the solution was not selected */
    TG_GRADIENT_KINDS
} tg_gradient_kind;

typedef struct tg_implicit
{
    const tg_island *island;
    const double *L, *sigma;
    tg_gradient_kind kind;
    double margin;    /* smallest margin of a block (tg_block_mode) */
    double condition; /* ratio of the largest to the smallest pivot of the equations */
    int held, rank;
    double *spread; /* rows: impulses y with G_RR y = z on held rows, zero elsewhere; rank == held: zero */

    int unknowns;
    double *B; /* unknowns x rows: equations of velocities */
    double *C; /* unknowns x rows: impulses of every unknown */
    double *A; /* B G C^T + diagonal, factored */
    int *pivot;
    int *row;      /* held: rows of the island */
    double *range; /* rank x held: Q */
    double *turn;  /* held x rows: impulses that follow a change of z */
    double *work;  /* 3 rows */
    bool *slides;  /* blocks that slide, joint friction at its bound */
} tg_implicit;

/* Bytes of arena that tg_implicit_factor takes for so many rows; more than half are given back before it returns. */
size_t tg_implicit_bytes(int rows);

/* Factors the equations at a solution (L, sigma) of the island whose modes are `mode` (tg_island_modes). The result
 * lives in the arena, and refers to island, L and sigma. */
tg_status tg_implicit_factor(const tg_island *island, const double *L, const double *sigma, const tg_block_mode *mode,
                             tg_selection selection, tg_arena *arena, tg_implicit *out, tg_error *error);

/* dL (rows x columns, leading dimension ldl) for columns w and, where J changes, n (rows x columns, ldw; NULL: zero). Takes
 * scratch for unknowns + 2 rows times columns numbers from the arena and gives it back. */
tg_status tg_implicit_forward(const tg_implicit *f, int columns, const double *w, const double *n, int ldw,
                              tg_arena *scratch, double *dL, int ldl, tg_error *error);

/* z (rows) with Lbar . dL = z . w + turn . n for all w and n; turn NULL: not wanted. */
void tg_implicit_transpose(const tg_implicit *f, const double *Lbar, double *z, double *turn);

/* Friction coefficient mu[axis] of a contact: w (rows) and l (rows) of its derivative, dL/dmu = l + D w. */
void tg_implicit_mu(const tg_implicit *f, int block, int axis, double *w, double *l);
/* its gradient from Lbar and z: Lbar . (l + D w) */
double tg_implicit_mu_gradient(const tg_implicit *f, int block, int axis, const double *Lbar, const double *z);

/* the same for the bound of joint friction */
void tg_implicit_bound(const tg_implicit *f, int block, double *w, double *l);
double tg_implicit_bound_gradient(const tg_implicit *f, int block, const double *Lbar, const double *z);

#endif
