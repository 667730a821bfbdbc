/* What solvers share: the work of one solve, the table, and the Newton step on the Alart-Curnier equations.
 *
 * A solver is one function that improves w->x, written in a file of its own and named in the table of solvers.c. It may
 * use everything here; the certificate, the selection rule and the scatter to L are not its business. */
#ifndef TG_CONTACT_SOLVER_H
#define TG_CONTACT_SOLVER_H

#include "contact/cone.h"

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
    bool opened;                       /* selection.c: breaks because held rows contradict each other */
    double ratio;                      /* slide: y_N / |y_T| of the Alart-Curnier point */
    double direction[TG_CONE_MAX - 1]; /* slide: unit; box: +-1 */
} tg_cone_state;

/* Rows held at zero and the range of their part of G (selection.c); rank == count: nothing is redundant. */
typedef struct tg_held
{
    int count, rank;
    int *row;             /* count, rows of the scaled problem */
    double *basis;        /* rank x count, leading dimension ld: orthonormal rows Q^T, range of G_RR (not scaled) */
    double *gap;          /* count: Z Z^T g_R, how held rows contradict each other (m/s) */
    double inconsistency; /* its norm */
} tg_held;

typedef struct tg_solve_work
{
    const tg_island *island;
    const tg_solve_options *options;
    tg_cones cones;
    double *x, *s; /* the iterate and s = G x + g */
    double *best;  /* the best iterate of an interior-point run */

    double *kept;  /* the best solution so far, its residual (m/s) and how it was selected */
    double *spare; /* the best solution before the interior point */
    double kept_residual;
    tg_selection kept_selection;
    tg_cone_state *state;
    tg_held held;
    double *L, *sigma; /* of the island, for its certificate */
    double *A, *rhs;   /* the linear system */
    int *active, *pivot, active_count;
    int *position;    /* row of the scaled problem -> row of the linear system, or -1 */
    double *interior; /* vectors of solver_ipm.c and limit.c */
    double *range;    /* 2 x rows x ld: matrices of limit.c */
    int sweeps, newton, interior_steps;
} tg_solve_work;

enum
{
    TG_INTERIOR_VECTORS = 8 /* how many vectors of ld entries w->interior has */
};

typedef struct tg_solver
{
    const char *name;
    void (*run)(tg_solve_work *w);
} tg_solver;

void tg_solver_newton(tg_solve_work *w);
void tg_solver_ipm(tg_solve_work *w);
void tg_solver_pgs(tg_solve_work *w);

/* the solver of that name, or NULL */
const tg_solver *tg_solver_find(const char *name);

/* Takes all vectors and matrices of a problem of this size from scratch; false when that was too small. */
bool tg_solve_work_take(tg_solve_work *w, int rows, tg_arena *scratch);

/* Whether w->kept has its certificate: the residual of the island itself is within the tolerance. */
bool tg_solve_certified(tg_solve_work *w);

/* ---- alart_curnier.c ---- */

/* Phases of all blocks from the Alart-Curnier point x - rho s. */
void tg_newton_classify(const tg_cones *cones, const double *x, const double *s, tg_cone_state *state);

/* the same for one block; x and s are those of the whole problem */
void tg_newton_classify_block(const tg_cone *cone, const double *x, const double *s, tg_cone_state *state);

/* direction and ratio of a sliding block whose phase is kept */
void tg_newton_direction(const tg_cone *cone, const double *x, const double *s, tg_cone_state *state);

/* Largest violation of the Alart-Curnier equations at (x, s), in m/s. */
double tg_newton_residual(const tg_cones *cones, const double *x, const double *s);

/* Largest violation of the equations of the phases in w->state at w->x, w->s, in m/s. */
double tg_newton_violation(const tg_solve_work *w);

/* One Newton step with the phases in w->state: w->x and w->s are replaced. proximal: every block gets the compliance
 * proximal / rho, centred at the current x. Returns the largest violation of the equations after the step (m/s, phases
 * as given), or INFINITY when the matrix is singular (blocks that leave the system have their impulse, the others keep
 * theirs). */
double tg_newton_step(tg_solve_work *w, double proximal);

/* One more step with the factors of the last one (same phases), directions as they are in w->state now. */
void tg_newton_chord(tg_solve_work *w);

/* Interior point from a cold start (solver_ipm.c), until the residual is below aim (m/s) or it makes no progress; leaves
 * its best x in w->x. Returns its residual. */
double tg_interior_run(tg_solve_work *w, double aim);

/* ---- limit.c ---- */

/* Newton for the limit of compliant solutions with the phases in w->state and the range in w->held, from w->x; true when
 * the equations hold to aim (m/s) after at most so many steps. */
bool tg_limit_newton(tg_solve_work *w, int steps, double aim);

/* ---- selection.c ---- */

/* The rows held by the phases in w->state (w->held.row, count), and the rank of their part of G. */
int tg_held_rank(tg_solve_work *w);

/* below this inconsistency held rows agree up to rounding (m/s) */
#define TG_CONSISTENT 1e-9

/* Offers w->x as a solution: applies the selection rule (unless it is switched off) and keeps the better of what is kept
 * and what came out. True when nothing more needs to be done: selected, with a residual within the tolerance. */
bool tg_solve_accept(tg_solve_work *w);

/* The same for the interior-point solution of the problem with compliance 1e-8 mean G_ii: its phases are those of the
 * rule, or near them. */
bool tg_solve_compliant(tg_solve_work *w);

#endif
