/* Derivatives of a solved island: how the impulses follow the problem.
 *
 * The impulses L of an island (problem.h) satisfy equations that the modes of its blocks select. Differentiated at the
 * solution they are linear: with w the change of sigma = G L + g at frozen L,
 *     dL = D w,     dsigma = w + G dL.
 * D is kept factored: dL for many right-hand sides, and z = D^T Lbar for one cotangent, so that
 *     Lbar . dL = z . w.
 * Parameters of the laws move L also at frozen equations: dL = l + D w (tg_implicit_unit_impulse,
 * tg_implicit_bound_impulse).
 *
 * Redundant rows. S L_R = z = J_R p (held.c, limit.c) ties L_R to the range of J_R; a parameter that changes J turns
 * it:
 *     dz = Q^T dd + Z Z^T (dJ p),   p = M^-1 J^T spread.
 * The change n = dJ p of relative velocities of the motion p at frozen p is the input of tg_implicit_turned. v+ needs
 * it only where a redundant patch slides (turns). */
#ifndef TG_CONTACT_IMPLICIT_H
#define TG_CONTACT_IMPLICIT_H

#include "contact/cone_law.h"
#include "solve/problem.h"

#define TG_AT_SWITCH 1e-7 /* m/s, m: margins below are one-sided */

/* Derivatives are right to six digits: what impulses are off by, of the largest, or what rows cease to agree by (m/s by
 * m or rad), counts as nothing below. */
#define TG_NO_CHANGE 1e-6

/* How the equations are kept. */
typedef enum tg_implicit_form
{
    TG_IMPLICIT_INDEPENDENT, /* no held row is redundant: unknowns are held rows and directions across slips */
    TG_IMPLICIT_HELD,        /* redundant rows, nothing slides, and of dL only J^T dL is wanted */
    TG_IMPLICIT_REDUNDANT,   /* redundant rows in general */
    TG_IMPLICIT_LARGE        /* in velocity space (implicit_large.h) */
} tg_implicit_form;

/* A contact that slides: dL_T = along dL_N + sum_j across_j X_j. */
typedef struct tg_slider
{
    int normal;   /* unknown of its normal impulse */
    int first;    /* unknown of across_0 */
    int tangents; /* rows with friction; one less are across */
    int row[TG_CONE_MAX - 1];
    double along[TG_CONE_MAX - 1];                   /* S e */
    double across[TG_CONE_MAX - 2][TG_CONE_MAX - 1]; /* S t_j */
    double ratio, softness;                          /* r, (1 - r) / rho */
} tg_slider;

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
    const double *L, *sigma; /* the solution */
    const tg_cone_law *law;  /* NULL: the unrelaxed one */
    tg_gradient_kind kind;
    double fixed;     /* rows with a G_ii not above this carry nothing (tg_fixed_size) */
    double margin;    /* smallest margin of a block (tg_block_mode) */
    double condition; /* ratio of the largest to the smallest pivot of the equations */
    int held, rank;
    double conflict; /* how much held rows contradict each other (m/s) */
    bool redundant;  /* laws of cone_law.h: the equations determine v+, not the impulses */
    bool turns;      /* impulses follow a change of J p: spread and turn are valid */
    double *spread;  /* rows: impulses y with G_RR y = z on held rows, zero elsewhere */
    bool braced;     /* rows between different bodies hold against each other (implicit_braces.c): brace is valid */
    double *brace;   /* rows: impulses of length 1 that do nothing, J^T brace = 0 */
    bool yields;     /* dry friction among them gives way (implicit_yield.c): what the others do is */
    bool rests;      /* the same two, without friction that gives way: `braced` */
    double *rest;    /* and `brace` */
    bool bounded;    /* smoothed: friction follows normal impulses less than the law says (implicit_smoothed.c) */
    int ties, *tied; /* dry friction at its bound, held by other rows (implicit_ties.c): its rows, */
    double *tie;     /* ties x rows: impulses that do nothing, 1 in that row, 0 in the others of these */
    bool *borne;     /* whether other rows bear the load of such a friction when it acts the other way */

    tg_implicit_form form;
    int unknowns;
    double *A;      /* the equations, factored: LU; symmetric: Cholesky; held: Cholesky factor of Q V^T (held.c) */
    bool symmetric; /* nothing slides */
    int *pivot;
    int *row;  /* held: rows of the island */
    bool kept; /* forward and reverse mode use the matrices that the step keeps (step/forward.h) */
    int idles; /* rows that have no part in the motion (tg_implicit_leave_out) */
    int *idle;
    double *work; /* 4 rows */
    bool *slides; /* blocks that slide, joint friction at its bound */

    int sliders; /* independent rows */
    tg_slider *slider;
    double *range;       /* redundant rows: rank x held: Q */
    double *square;      /* held: rank */
    double *B;           /* redundant: unknowns x rows: equations of velocities */
    double *C;           /* redundant: unknowns x rows: impulses of every unknown */
    double *turn;        /* redundant: held x rows: impulses that follow a change of z */
    double *speed;       /* large: by which rows are smoothed; NULL: they are not */
    const double *total; /* Lbar + G z of the last transpose, by the caller; NULL: from G */
} tg_implicit;

/* What is asked of redundant rows: v+ alone, or impulses as the selection rule chooses them. Where nothing slides v+
 * does not depend on which impulses hold, and dL is then the smallest of those with the same J^T dL. */
typedef enum tg_implicit_use
{
    TG_IMPLICIT_MOTION,
    TG_IMPLICIT_FORCES
} tg_implicit_use;

/* Bytes of arena that tg_implicit_factor takes for so many rows; more than half are given back before it returns. */
size_t tg_implicit_bytes(int rows);

/* Factors the equations at a solution (L, sigma) of the island whose modes are `mode` (tg_island_modes). The result
 * lives in the arena, and refers to island, L and sigma. */
tg_status tg_implicit_factor(const tg_island *island, const double *L, const double *sigma, const tg_block_mode *mode,
                             tg_selection selection, tg_implicit_use use, tg_arena *arena, tg_implicit *out,
                             tg_error *error);

/* The same for the law smoothed by a speed of every row (m/s, > 0; implicit_smoothed.c): labelled regularised. */
tg_status tg_implicit_smoothed(const tg_island *island, const double *L, const double *sigma, const tg_block_mode *mode,
                               const double *speed, tg_arena *arena, tg_implicit *out, tg_error *error);

/* The same for a law that is not the unrelaxed one (cone_law.h), modes by tg_cone_law_modes: exact where its equations
 * determine v+. */
tg_status tg_implicit_law(const tg_island *island, const tg_cone_law *law, const double *L, const double *sigma,
                          const tg_block_mode *mode, tg_arena *arena, tg_implicit *out, tg_error *error);

/* A row that has no part in the motion: its z is zero from now on. */
void tg_implicit_leave_out(tg_implicit *f, int row);

/* dL = D w (rows) */
void tg_implicit_forward(const tg_implicit *f, const double *w, double *dL);

/* The pieces of D = -C^T A^-1 B, for matrices with many columns (implicit_columns.c): B, the equations of velocities,
 * or C, the impulses of every unknown. */
typedef enum tg_implicit_side
{
    TG_IMPLICIT_VELOCITIES, /* B */
    TG_IMPLICIT_IMPULSES    /* C */
} tg_implicit_side;

/* out (unknowns x columns) = B X or C X, X (rows x columns). work: rows x columns numbers. */
void tg_implicit_times(const tg_implicit *f, tg_implicit_side side, int columns, const double *X, int ldx, double *work,
                       double *out, int ldo);

/* X (unknowns x columns) <- -A^-1 X or -A^-T X */
void tg_implicit_solve(const tg_implicit *f, bool transposed, int columns, double *X, int ldx);

/* out (rows x columns) = B^T X or C^T X, X (unknowns x columns). work: rows x columns numbers. */
void tg_implicit_combine(const tg_implicit *f, tg_implicit_side side, int columns, const double *X, int ldx,
                         double *work, double *out, int ldo);

/* Another change of mode, so far away: it counts among the margins. */
void tg_implicit_restrict(tg_implicit *f, double margin);

/* Whether C = B and A is symmetric: nothing slides. */
static inline bool tg_implicit_is_symmetric(const tg_implicit *f)
{
    return f->form == TG_IMPLICIT_HELD || (f->form == TG_IMPLICIT_INDEPENDENT && f->symmetric);
}

/* The impulses l (rows x columns, ldl) that follow when redundant rows turn by n (rows x columns, ldn): dL = l + D (G l
 * + w). Where f turns. work: 2 rows x columns numbers. */
void tg_implicit_turned(const tg_implicit *f, int columns, const double *n, int ldn, double *work, double *l, int ldl);

/* z (rows) with Lbar . dL = z . w + turn . n for all w and n; turn NULL: not wanted. */
void tg_implicit_transpose(const tg_implicit *f, const double *Lbar, double *z, double *turn);

/* the gradient of n (rows) from Lbar + G z (rows) */
void tg_implicit_turn(const tg_implicit *f, const double *total, double *turn);

/* The impulse of a contact along a tangent a unit of its friction coefficient, at frozen equations, and what it adds to
 * that row of w (with L = S x, sigma scaled is S sigma); zero where coefficients do not matter. */
double tg_implicit_unit_impulse(const tg_implicit *f, int block, int axis);
double tg_implicit_slip_change(const tg_implicit *f, int block, int axis);

/* what it adds to the normal row of w: law "ccp" without friction */
double tg_implicit_normal_change(const tg_implicit *f, int block, int axis);

/* Friction coefficient mu[axis] of a contact: its gradient from Lbar and z, Lbar . dL/dmu with dL/dmu = l + D w. */
double tg_implicit_mu_gradient(const tg_implicit *f, int block, int axis, const double *Lbar, const double *z);

/* the same for the bound of joint friction; the impulse: which way friction at its bound acts, 0 when it holds */
double tg_implicit_bound_impulse(const tg_implicit *f, int block);
double tg_implicit_bound_gradient(const tg_implicit *f, int block, const double *Lbar, const double *z);

#endif
