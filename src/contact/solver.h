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
    bool opened;                       /* selection.c: breaks, or gives way, because held rows contradict each other */
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
    bool yields;          /* dry friction is among those that do, by more than rounding */
} tg_held;

/* a sliding contact in the equations of limit.c */
typedef struct tg_slide
{
    int block, tangent, m; /* its first tangent row, and how many there are */
    int first;             /* of its m unknowns */
    double *frame;         /* m x m: [e t_1 .. t_{m-1}] */
} tg_slide;

typedef struct tg_solve_work
{
    const tg_island *island;
    const tg_solve_options *options;
    tg_cones cones;
    double *x, *s; /* the iterate and s = G x + g */
    double *best;  /* the best iterate of an interior-point run */

    double *kept;      /* the best solution so far, its residual (m/s) and how it was selected */
    double *spare;     /* the best solution before the interior point */
    bool unselectable; /* near the impulses of the step before is a solution from which the rule is not reached, */
    double *near;      /* this one, impulses of the island */
    double kept_residual;
    double softness; /* compliance of a solution (m/s per N s) */
    tg_selection kept_selection;
    tg_cone_state *state;
    tg_held held;
    bool *left_out;    /* blocks of the island that a smaller problem does without */
    double *L, *sigma; /* of the island, for its certificate */
    double *A, *rhs;   /* the linear system */
    int *active, *pivot, active_count;
    int *position;    /* row of the scaled problem -> row of the linear system, or -1 */
    double *interior; /* vectors of solver_ipm.c and limit.c */
    double *range;    /* TG_LIMIT_MATRICES x rows x ld: matrices of limit.c */
    double *frames;   /* TG_CONE_MAX - 1 vectors: frames of sliding contacts */
    tg_slide *slide;
    int sweeps, newton, interior_steps;
} tg_solve_work;

enum
{
    TG_PATH_VECTORS = 12,
    TG_INTERIOR_VECTORS = 9 + TG_PATH_VECTORS, /* how many vectors of ld entries w->interior has */
    TG_LIMIT_MATRICES = 3
};

typedef struct tg_solver
{
    const char *name;
    void (*run)(tg_solve_work *w);
    bool warm; /* tries tg_solve_warm first */
} tg_solver;

void tg_solver_newton(tg_solve_work *w);
void tg_solver_ipm(tg_solve_work *w);
void tg_solver_pgs(tg_solve_work *w);
void tg_solver_admm(tg_solve_work *w);
void tg_solver_staggered(tg_solve_work *w);

/* the solver of that name, or NULL */
const tg_solver *tg_solver_find(const char *name);

/* entry of the table, from 0 on; NULL behind the last */
const tg_solver *tg_solver_at(int index);

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

/* How much the tangents of a sliding block violate x_T = x_N e, in m/s; x is that of the whole problem. */
double tg_newton_slide_violation(const tg_cones *cones, const tg_cone *cone, const tg_cone_state *state,
                                 const double *x);

/* One Newton step with the phases in w->state: w->x and w->s are replaced. proximal: every block gets the compliance
 * proximal / rho, centred at the current x. Returns the largest violation of the equations after the step (m/s, phases
 * as given), or INFINITY when the matrix is singular (blocks that leave the system have their impulse, the others keep
 * theirs). */
double tg_newton_step(tg_solve_work *w, double proximal);

/* Interior point from a cold start (solver_ipm.c), until the residual is below aim (m/s) or it makes no progress, then with `path` along the length of its
 * path (path.c); leaves its best x in w->x. Returns its residual. */
double tg_interior_run(tg_solve_work *w, double aim, bool path);

/* A short form of it, from a cold start and then from near zero. Ends where rounding slows it down; Newton goes on from there. */
double tg_interior_brief(tg_solve_work *w, double aim);

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

/* m/s: how much of Z Z^T g_R rows have that contradict others; INFINITY where that is rounding */
double tg_held_least_gap(const tg_solve_work *w);

/* independent rows: X <- G_RR^-1 X (count x columns) */
void tg_held_solve(const tg_cones *cones, const tg_held *held, int columns, double *X, int ldx);

/* redundant rows: X <- L^2 C^-T X (rank x columns), velocities Q sigma_R to what V S x_R must be */
void tg_held_precondition(const tg_cones *cones, const tg_held *held, int columns, double *X, int ldx);

/* ---- limit.c ---- */

/* where redundant rows start, and what they answer */
typedef enum tg_limit_way
{
    TG_LIMIT_FAR,   /* w->x is any point: responses are stiff only in the end */
    TG_LIMIT_NEAR,  /* w->x is a solution, or nearly */
    TG_LIMIT_SOFT,  /* w->x is the solution with compliance w->softness, w->s = G w->x + g without it */
    TG_LIMIT_LINEAR /* cones do not matter: the nearest solution, Z^T L_R stays as it is */
} tg_limit_way;

/* Newton for the equations of the phases in w->state with the held rows in w->held, from w->x; redundant rows: for the
 * limit of compliant solutions. True when they hold to aim (m/s) after at most so many factorisations. */
bool tg_limit_newton(tg_solve_work *w, tg_limit_way way, int steps, double aim);

/* Redundant rows at the solution w->x: d (rank) of its z = Q^T d, E = (dx / dd)^T (rank x count, leading dimension of the
 * cones), K = (dx / dz)^T (count x count, z not scaled). slope: of responses outside of their cones. w->x is replaced by the
 * response to z. Returns whether one is outside of its cone. */
bool tg_limit_derivative(tg_solve_work *w, double slope, double *d, double *E, double *K);

/* ---- selection.c ---- */

/* below this inconsistency held rows agree (m/s): a patch that turns by h is off its plane by h^2 */
#define TG_CONSISTENT 1e-9

/* How good x is (m/s); w->s = Gs x + gs. Below the tolerance: so well hold the Alart-Curnier equations, and the certificate too. The equations say
 * more: an impulse that is a little inside of its cone with a little slip has a certificate, and solves another problem. Where they
 * cannot be had, the certificate counts, as the tolerance. */
double tg_solve_quality(const tg_solve_work *w, const double *x);

/* Offers w->x as a solution: applies the selection rule (unless it is switched off) and keeps the better of what is kept
 * and what came out. True when nothing more needs to be done: selected, with a residual within the tolerance. */
bool tg_solve_accept(tg_solve_work *w);

/* The rule from the impulses of the step before (none: from zero), with what was open left out, before anything else is tried: builds
 * w->cones for it. False when that gave no solution. */
bool tg_solve_warm(tg_solve_work *w);

/* Keeps the solution from which that did not reach the rule. */
void tg_solve_keep_near(tg_solve_work *w);

/* The same for the solution of the problem with compliance: its phases are those of the rule, or near them. It is found with 1e-8 mean G_ii (least), with 1e-4 (most), from
 * where Newton goes on to less, or with more and more, where the rule is not reached from there (compliant). */
bool tg_solve_least_compliant(tg_solve_work *w);
bool tg_solve_most_compliant(tg_solve_work *w);
bool tg_solve_near_compliant(tg_solve_work *w); /* from the impulses of the step before */
bool tg_solve_compliant(tg_solve_work *w);

/* What no rule could select, as exactly as rounding lets it be: the solution next to w->kept with the same phases, or nearly the same. Where its held rows are
 * independent there is nothing to select. */
void tg_solve_polish(tg_solve_work *w);

/* Leaves out (w->left_out) contacts and limits that are open at the impulses in w->L and have none; false when there are none. */
bool tg_solve_leave_out(tg_solve_work *w);

/* Takes back what does not open at the impulses in w->L; true when nothing had to be. */
bool tg_solve_take_back(tg_solve_work *w);

/* the impulses to start from, into w->L */
void tg_solve_load(tg_solve_work *w);

/* ---- feasible.c ---- */

/* Whether equalities and the normals of blocks that do not break in w->state contradict each other so that no impulses solve the problem. Replaces w->state and
 * w->held. */
bool tg_solve_infeasible(tg_solve_work *w);

/* The same with the tangents of contacts that stick: then there is hardly a solution. */
bool tg_solve_jammed(tg_solve_work *w);

#endif
