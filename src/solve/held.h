/* Held rows of a solution and what they answer: for the warm start (warm.c), modes and derivatives. Matrices are over
 * rows. */
#ifndef TG_SOLVE_HELD_H
#define TG_SOLVE_HELD_H

#include "solve/cone.h"
#include "solve/tolerance.h"

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
    bool opened;                       /* warm.c: separates, or yields, because held rows contradict each other */
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
    double rest;          /* the largest pivot that is left, of its row */
    bool yields;          /* dry friction is among those that do, by more than rounding */
    bool small, weak;     /* loops hold by small levers; by such that matrices over rows hardly resolve */
} tg_held;

/* a sliding contact in the equations of limit.c */
typedef struct tg_slide
{
    int block, tangent, m; /* its first tangent row, and how many there are */
    int first;             /* of its m unknowns */
    double *frame;         /* m x m: [e t_1 .. t_{m-1}] */
} tg_slide;

enum
{
    TG_LIMIT_VECTORS = 6,
    TG_LIMIT_MATRICES = 3
};

typedef struct tg_solve_work
{
    const tg_island *island;
    double inner;     /* what iterations aim at (m/s), */
    double exact;     /* and how well the equations of what is returned hold */
    double violation; /* warm.c: how well those of x do */
    tg_cones cones;
    double *x, *s; /* scaled impulses, s = G x + g */
    double *best, *L;
    tg_cone_state *state;
    tg_held held;
    bool *left_out;  /* blocks of the island that a smaller problem does without */
    double *A, *rhs; /* a linear system */
    int *active, *pivot;
    double *limit;  /* TG_LIMIT_VECTORS vectors of limit.c, */
    double *range;  /* TG_LIMIT_MATRICES matrices */
    double *frames; /* TG_CONE_MAX - 1 vectors: frames of sliding contacts */
    double *levers; /* NULL, or room for what resolves weak loops (held_levers.c) */
    tg_slide *slide;
    bool gave_way;   /* warm.c: a block is opened, */
    bool slow;       /* or slides slower than TG_NO_SLIP, or did so */
    bool sweeps_too; /* where phases are not found, again from where a sweep leads */
    int newton, sweeps;
    int most; /* factorisations */
} tg_solve_work;

/* Takes all vectors and matrices of a problem of this size from scratch; false when that was too small. */
bool tg_solve_work_take(tg_solve_work *w, int rows, tg_arena *scratch);

/* ---- phase.c ---- */

/* Phases of all blocks from the Alart-Curnier point x - rho s. */
void tg_newton_classify(const tg_cones *cones, const double *x, const double *s, tg_cone_state *state);

/* the same for one block; x and s are those of the whole problem */
void tg_newton_classify_block(const tg_cone *cone, const double *x, const double *s, tg_cone_state *state);

/* direction and ratio of a sliding block whose phase is kept */
void tg_newton_direction(const tg_cone *cone, const double *x, const double *s, tg_cone_state *state);

/* Largest violation of the Alart-Curnier equations at (x, s), in m/s. */
double tg_newton_residual(const tg_cones *cones, const double *x, const double *s);

/* How much the tangents of a sliding block violate x_T = x_N e, in m/s; x is that of the whole problem. */
double tg_newton_slide_violation(const tg_cones *cones, const tg_cone *cone, const tg_cone_state *state,
                                 const double *x);

/* ---- held.c ---- */

/* The rows held by the phases in w->state, the factor of their part of G, and its rank. */
int tg_held_rank(tg_solve_work *w);

/* the same, and what redundant rows need; rows whose pivot is below a share of their size count as redundant */
void tg_held_build(tg_solve_work *w);
void tg_held_build_to(tg_solve_work *w, double threshold);

/* Room for what resolves weak loops; false when there is none, or the island does not say what its rows move. */
bool tg_held_levers_take(tg_solve_work *w, tg_arena *scratch);

/* The factor in w->held once more, with the rank that it has, from the levers of the rows. */
void tg_held_resolve(tg_solve_work *w);

/* the smallest pivot of redundant rows, rows normalised */
double tg_held_smallest_pivot(const tg_solve_work *w);

/* q (n entries) minus its part along the first k rows of Q, which are orthonormal (twice: cancellation), then of unit
 * length or zero; returns the length before. part: k entries. */
double tg_orthogonalise(int n, int k, const double *Q, int ld, double *q, double *part);

/* m/s: how much of Z Z^T g_R rows have that contradict others; INFINITY where that is rounding */
double tg_held_least_gap(const tg_solve_work *w);

/* independent rows: X <- G_RR^-1 X (count x columns) */
void tg_held_solve(const tg_cones *cones, const tg_held *held, int columns, double *X, int ldx);

/* redundant rows: X <- L^2 C^-T X (rank x columns), velocities Q sigma_R to what V S x_R must be */
void tg_held_precondition(const tg_cones *cones, const tg_held *held, int columns, double *X, int ldx);

/* ---- limit.c ---- */

/* what redundant rows answer */
typedef enum tg_limit_way
{
    TG_LIMIT_NEAR,  /* Z^T L_R = 0; false where that is outside of a cone. w->x is a solution, or nearly */
    TG_LIMIT_LINEAR /* cones do not matter: the nearest solution, Z^T L_R stays as it is */
} tg_limit_way;

/* Newton for the equations of the phases in w->state with the held rows in w->held, from w->x; redundant rows: for the
 * limit of compliant solutions where no impulse leaves its cone. True when they hold to aim (m/s) after at most so many
 * factorisations. */
bool tg_limit_newton(tg_solve_work *w, tg_limit_way way, int steps, double aim);

/* Redundant rows at the solution w->x: d (rank) of its z = Q^T d, E = (dx / dd)^T (rank x count, leading dimension of
 * the cones), K = (dx / dz)^T (count x count, z not scaled). slope: of responses outside of their cones. w->x is
 * replaced by the response to z. Returns whether one is outside of its cone. */
bool tg_limit_derivative(tg_solve_work *w, double slope, double *d, double *E, double *K);

/* ---- warm.c ---- */

typedef enum tg_warm
{
    TG_WARM_NONE,  /* no solution near the impulses of the previous step */
    TG_WARM_NEAR,  /* w->L is one, but the rule is not reached from there */
    TG_WARM_CHOSEN /* w->L is the solution of the rule */
} tg_warm;

/* The rule from the impulses of the previous step (none: from zero), without open contacts. Builds w->cones for it;
 * they have all rows in the end. */
tg_warm tg_solve_warm(tg_solve_work *w, double tolerance, tg_selection *selection);

#endif
