/* Held rows of a solution and what they answer: for modes and derivatives. */
#ifndef TG_SOLVE_HELD_H
#define TG_SOLVE_HELD_H

#include "solve/cone.h"

/* what a block does, in the sense of the equations that are solved for it */
typedef enum tg_phase
{
    TG_PHASE_BREAK, /* x = 0 */
    TG_PHASE_STICK, /* s = 0 */
    TG_PHASE_SLIDE  /* s_N = 0, x_T = x_N direction; box: x = direction bound */
} tg_phase;

typedef struct tg_cone_state
{
    tg_phase phase;
    double ratio;                      /* slide: y_N / |y_T| of the Alart-Curnier point */
    double direction[TG_CONE_MAX - 1]; /* slide: unit; box: +-1 */
} tg_cone_state;

/* Rows held at zero and how they answer (held.c); rank == count: nothing is redundant. */
typedef struct tg_held
{
    int count, rank;
    int *row;             /* count: rows of the scaled problem in the order of their pivots */
    int *at;              /* row of the scaled problem -> index of its held row, or -1 */
    double *size;         /* count: G_ii^-1/2 */
    double *factor;       /* rank x count, leading dimension ld: U; redundant: V S */
    double *range;        /* redundant: rank x count, Q S^-1 */
    double *chol;         /* redundant: rank x rank, C */
    double *square;       /* redundant: rank, L^2 */
    double *part;         /* scratch of a vector */
    double *gap;          /* redundant: Z Z^T g_R, how held rows contradict each other (m/s) */
    double inconsistency; /* its norm */
} tg_held;

typedef struct tg_solve_work
{
    const tg_island *island;
    tg_cones cones;
    double *x, *s; /* scaled impulses, s = G x + g */
    double *best, *L;
    tg_cone_state *state;
    tg_held held;
    bool *left_out;
    double *A, *rhs; /* a linear system */
    int *active;
    double *d, *z, *range; /* implicit_limit.c */
} tg_solve_work;

/* Takes all vectors and matrices of a problem of this size from scratch; false when that was too small. */
bool tg_solve_work_take(tg_solve_work *w, int rows, tg_arena *scratch);

/* ---- phase.c ---- */

/* Phase of a block from the Alart-Curnier point x - rho s; x and s are those of the whole problem. */
void tg_newton_classify_block(const tg_cone *cone, const double *x, const double *s, tg_cone_state *state);

/* direction and ratio of a sliding block whose phase is kept */
void tg_newton_direction(const tg_cone *cone, const double *x, const double *s, tg_cone_state *state);

/* ---- held.c ---- */

/* The rows held by the phases in w->state, the factor of their part of G, and its rank. */
int tg_held_rank(tg_solve_work *w);

/* the same, and what redundant rows need; rows whose pivot is below a share of their size count as redundant */
void tg_held_build(tg_solve_work *w);
void tg_held_build_to(tg_solve_work *w, double threshold);

/* the smallest pivot of redundant rows, rows normalised */
double tg_held_smallest_pivot(const tg_solve_work *w);

/* q (n entries) minus its part along the first k rows of Q, which are orthonormal (twice: cancellation), then of unit length or zero;
 * returns the length before. part: k entries. */
double tg_orthogonalise(int n, int k, const double *Q, int ld, double *q, double *part);

/* redundant rows: X <- L^2 C^-T X (rank x columns), velocities Q sigma_R to what V S x_R must be */
void tg_held_precondition(const tg_cones *cones, const tg_held *held, int columns, double *X, int ldx);

/* below this inconsistency held rows agree (m/s): a patch that turns by h is off its plane by h^2 */
#define TG_CONSISTENT 1e-9

#endif
