/* The problem with a small compliance eps on every row, in velocity space.
 *
 * In coordinates in which the mass matrix is one, J (rows x dims) with G = J J^T, the unknowns are u = J^T L (how much
 * the impulses change the velocities) and one number z for each row:
 *     u = J^T P(z),     eps z + J u + g = 0.
 * P is the response of one block (response.c): L = P(z) obeys its cone, and eps z is minus its velocity. As eps -> 0
 * the solution becomes the one that docs/contact.md section 5 selects, so solving and selecting are one problem. Its
 * Newton matrix
 *     H = 1 + J^T D J / eps,     D = dP / dz,
 * has as many rows as there are dofs, however many contacts there are.
 *
 * z is never computed from u once Newton runs: (J u + g) / eps would be rounding divided by eps. It is accumulated, dz
 * = -J du / eps.
 *
 * Rows that nothing moves, or that carry nothing (mu = 0, a bound of zero), are left out. Blocks with the same bodies
 * have their numbers in the same dofs: they form a group, whose part of J is a small dense matrix. */
#ifndef TG_SOLVE_SOFT_H
#define TG_SOLVE_SOFT_H

#include <limits.h>

#include "math/fronts.h"
#include "math/lanes.h"
#include "math/skyline.h"
#include "solve/admm.h"
#include "solve/held.h"
#include "solve/interior.h"

#define TG_SOFT_LEAST 0x1p-50 /* of the largest G_ii: less compliance would be lost in H */

enum
{
    TG_SOFT_MANY = 40 /* dofs of several trees: fewer are not worth the search for an order */
};

typedef struct tg_soft_block
{
    tg_cone_kind kind;
    int row, dim;
    int slope;    /* where its dim x dim numbers of D are */
    bool round;   /* its tangents have one coefficient */
    bool contact; /* not a limit */
    tg_phase phase;
    bool closed, still;   /* select.c: its normal, its tangents do not move in the limit, */
    bool normal, tangent; /* up to what redundant rows may contradict each other by */
    double bound;         /* box */
    double multiplier;    /* response.c: of the last point on its ellipse; 0: none yet */
} tg_soft_block;

typedef struct tg_soft_group
{
    int row, rows;
    int block, blocks;
    int support, size, ld; /* its dofs: support[support] .., and how far the rows of its part of J are apart */
    size_t J;
    uint64_t bits; /* its dofs (soft_spread.c) */
    double own;    /* its largest G_ii */
} tg_soft_group;

/* where a row is in a tree: a column of its Y */
typedef struct tg_soft_part
{
    int tree, column;
    int dof; /* the tree's first, counted in all trees */
} tg_soft_part;

/* the best that was met: impulses and velocities of the island */
typedef struct tg_offer
{
    double *L, *sigma;
    double residual; /* m/s */
    tg_residual parts;
    tg_selection selection;
    tg_solve_stage stage;
} tg_offer;

typedef struct tg_soft
{
    const tg_island *island;
    const tg_solve_options *options;
    tg_offer offer;
    int rows, blocks, groups, dims, ld;
    int free; /* rows of the first equalities, each a block: L = z, D = 1 */
    tg_soft_block *block;
    tg_soft_group *group;
    int *source;            /* row of the island, */
    int *row_of;            /* and for each of these the row here; -1: left out */
    int *support;           /* dofs of the groups */
    int *dof;               /* of the trees -> place in vectors, -1: nothing moves it; */
    int *dof_at;            /* and back */
    bool spread;            /* there are few dofs: J^T of all rows over all of them is there */
    double *J, *transposed; /* of groups; J^T */
    double *mu;             /* coefficient of a contact's tangent */
    double *give;           /* the law's own compliance */
    double *g, *own;        /* own: G_ii */
    double *diagonal;       /* G_ii of all rows of the island */
    double speed;           /* the largest |g| */
    double size;            /* a power of two near the geometric mean of G_ii */
    double least;           /* the compliance from which the limit is reached (solver_newton.c), */
    double pace;            /* and how fast the largest impulse moves its contact with it (m/s) */
    bool gives;             /* select.c: some row has its own compliance */
    bool boxes;             /* dry friction is among the blocks */
    bool built;             /* groups and J are there */
    bool *left_out;         /* blocks of the island that stay open (soft_open.c), */
    bool partial;           /* if there are any, */
    bool again;             /* and some of them would close: the problem with these is next, */
    bool resumed;           /* now; */
    bool swept;             /* they close after sweeps already: Newton from the previous step has failed */
    bool whole;             /* they are back because the short search failed without them */
    bool steep;             /* Newton did not end on top of the ladder */
    bool contradicts;       /* there is no solution, or none that is worth the search */
    bool kept;              /* island->z was written */
    double refined;         /* as in tg_solve_result, */
    bool began;             /* this too */
    double *from;           /* the impulses that it starts from */

    /* the iterate */
    double eps;
    double creep; /* m/s: how fast what holds moved on top of the ladder; INFINITY: not known */
    double *u, *z, *L, *D;
    double violation;     /* a bound of |J r|, r = J^T L - u (m/s), */
    double rounding;      /* and what rounding leaves of it */
    double contradiction; /* select.c: velocity of rows that hold against each other (m/s) */

    /* the factor of H and the phases it was made with */
    tg_skyline skyline;
    double kept_eps; /* compliance of the part of H that the skyline keeps; 0: none */
    bool dense;      /* that was not enough: LU with exchanges of all rows, in H */
    double *H;
    int *pivot;
    tg_phase *factored;
    bool sparse; /* many trees: its fronts, over trees, with an element for every tree and every group */
    bool narrow; /* there is no room for anything else */
    int widest;  /* dofs of a group that there is room for */
    int *part_start, most_parts;
    tg_soft_part *part; /* of row i: part[part_start[i]] .. */
    tg_fronts fronts;
    int *tree_of; /* dof -> tree; -1: none */

    /* a few of the trees alone (soft_local.c); NULL: no room */
    struct tg_soft *few;
    tg_island_size room; /* what there is room for, if it is one of these */
    bool *local, *near;  /* trees that are in it, and that will be */
    double *square_of;   /* |r|^2 of each tree, */
    int *place_of;       /* how far its dofs are shifted there; INT_MIN: it is not there */
    int *place;          /* scratch: of a group's dofs in the matrix of a front; dofs of a block */
    bool symmetric, regular;

    /* named scratch */
    double *r, *step;       /* dims: the residual, the Newton step */
    double *trial;          /* dims: the residual after a step that may be taken */
    double *Jstep, *dz;     /* rows: J times the Newton step, and what it does to z */
    double *row, *force;    /* rows */
    double *c;              /* rows, select.c: impulses of the limit */
    int *turning, turnings; /* blocks that do not answer a step linearly, how many; the gain of the others */
    double gain;
    double *kept_u, *kept_z;       /* where a jump started */
    double *packed, *product, *at; /* one group: D J, J^T D J, a vector of its dofs */
    double *full;                  /* rows of J over all dims, while J is built; rows of a group */
    int *in_full;                  /* of a row: which of these it is; -1: none */

    /* the interior point's */
    tg_cones cones;                    /* blocks and rows alone */
    double *interior, *rhs, *best, *E; /* its vectors; E^-1 of the blocks */
    double *square;                    /* mu^2 of the compliance of scaled rows */
    double *all_L, *all_sigma;         /* of the island */
    tg_set *set;                       /* blocks as sets of ADMM */
    int *index;                        /* two for each row */

    int factorisations, limit, interior_steps, sweeps;
} tg_soft;

/* Takes the arrays of a problem of this size from scratch, or counts; false when scratch was too small. */
bool tg_soft_take(tg_soft *p, const tg_island_size *size, tg_arena *scratch);

/* ---- soft_build.c ---- */

/* Rows of the island; then their groups and J, if these are not there: false when there is no room for them. */
void tg_soft_rows(tg_soft *p);
bool tg_soft_build(tg_soft *p);

/* Operations of J^T D J of a group: a product, and its place in H is filled and read as often as a few rows are. */
static inline double tg_soft_group_cost(int rows, int size)
{
    return (double)(rows + TG_CONE_MAX) * size * size;
}

/* ---- soft_spread.c ---- */

/* J^T of all rows over all dofs, at most 64 of these; from it groups and their J */
void tg_soft_spread(tg_soft *p);

/* ---- soft.c ---- */

/* out = J x (rows), and x = J^T L (dims); written up to a whole number of v4 */
void tg_soft_velocity(const tg_soft *p, const double *x, double *out);
void tg_soft_push(const tg_soft *p, const double *L, double *x);

/* A bound of |J x|: |J_i x| <= sqrt(G_ii) |x|, x at the dofs of the row's group. J x itself hides what is along a small
 * lever. */
double tg_soft_bound(const tg_soft *p, const double *x);

/* compliance of a row */
static inline double tg_soft_eps(const tg_soft *p, int row)
{
    return p->eps + p->give[row];
}

/* H from D, and its factor; false when it is singular, or no more may be made. Not coupled: what the normals of sliding
 * contacts do to their tangents is taken out of D, and H is symmetric. */
bool tg_soft_factor(tg_soft *p, bool coupled);
void tg_soft_solve(const tg_soft *p, double *x);

/* impulses of the island: L of the rows, zero of those that were left out */
void tg_soft_scatter(const tg_soft *p, double *L);

/* ---- response.c ---- */

/* L and phases from z; the same and D */
void tg_soft_respond(tg_soft *p);
void tg_soft_slopes(tg_soft *p);

/* x = D x (rows), with the slopes of now */
void tg_soft_slope(const tg_soft *p, double *x);

/* L = P(z) of a block, with mu of its rows. Returns what it does. */
tg_phase tg_soft_response(const tg_soft_block *b, const double *mu, const double *z, double *L);

/* (P(z(t)) - L) . J du after a part t of the step du, z(t) = z - t J du / eps: of the whole step, t = 1, first. This
 * lists the blocks that slide or change their phase; what the others gain is linear in t. */
double tg_soft_whole_gain(tg_soft *p);
double tg_soft_gain(const tg_soft *p, double t);

/* ---- soft_open.c ---- */

/* Leaves out what carried nothing and opens at the impulses of the previous step. */
void tg_soft_leave_open(tg_soft *p);

/* Whether p->L closes some of it; what closes is left out no longer. */
bool tg_soft_closes(tg_soft *p);

/* nothing is left out */
void tg_soft_take_back(tg_soft *p);

/* ---- soft_newton.c ---- */

typedef struct tg_soft_run
{
    int steps;   /* most factorisations */
    int idle;    /* how many steps may fail to halve |r|; 0: any number */
    int uphill;  /* and which step that does not descend is the last: friction is not monotone there; 0: none */
    bool fresh;  /* u is not known yet: the first step takes it from z */
    bool sharp;  /* continue beyond the goal while the current factor converges */
    double goal; /* m/s */
} tg_soft_run;

/* Newton at compliance p->eps from p->z (and p->u). True when the violation is at most the goal. */
bool tg_soft_newton(tg_soft *p, const tg_soft_run *run);

/* whether the last factor is that of the phases of now */
bool tg_soft_same_phases(const tg_soft *p);

/* r, a bound of |J r|, and what rounding leaves of it */
void tg_soft_measure(tg_soft *p);

/* ---- soft_local.c ---- */

typedef enum tg_soft_end
{
    TG_SOFT_AS_BEFORE,
    TG_SOFT_NEARER, /* |r| is less than half of what it was */
    TG_SOFT_STUCK   /* as many steps as all may take do not solve them */
} tg_soft_end;

/* Newton's steps of the trees that hold most of r (tg_soft_measure comes before); u, z, L and r of all follow. They do
 * not count as factorisations. After tg_soft_build with room for a part. */
tg_soft_end tg_soft_local(tg_soft *p, const tg_soft_run *run);

/* z for another compliance: velocities of rows that open or slide stay as they are */
void tg_soft_rescale(tg_soft *p, double eps);

/* ---- soft_interior.c ---- */

/* The interior point from a cold start on the problem without compliance, along its path where it turns back. Leaves z
 * of compliance p->eps in p->z. Returns the residual of its best point (m/s). */
double tg_soft_interior(tg_soft *p, const tg_solve_options *options);

/* its cones; dense: with G, in p->packed: the island's, or from J */
void tg_soft_cones(tg_soft *p);
void tg_soft_dense_cones(tg_soft *p);

/* ---- select.c ---- */

/* From the solution at p->eps to its limit; false when Newton does not find it. */
bool tg_soft_select(tg_soft *p, const tg_solve_options *options);

/* How impulses of the limit are chosen: by projection alone, or some contacts are on their cones without slip, or
 * closed without force. */
tg_selection tg_soft_selection(const tg_soft *p, const tg_solve_options *options);

/* ---- solvers: they offer what they meet ---- */

/* Offers p->L: keeps the better of what is kept and this; what is selected and has its certificate wins. (solvers.c) */
void tg_soft_offer(tg_soft *p, tg_selection selection, tg_solve_stage stage);

/* One block Gauss-Seidel sweep; p->u = J^T p->L before and after. After tg_soft_cones. (solver_pgs.c) */
void tg_soft_sweep(tg_soft *p);

/* So many, with blocks that are solved nearly (cone.h): a start for Newton. Writes p->D and p->row. */
void tg_soft_sweeps(tg_soft *p, int count);

/* p->L and p->u after a few of these from the impulses of the previous step (solver_newton.c) */
void tg_soft_sweep_warm(tg_soft *p);

typedef struct tg_solver
{
    const char *name;
    void (*run)(tg_soft *p, const tg_solve_options *options);
    bool warm;  /* warm.c comes first */
    bool dense; /* works on G: J is built where it asks for it */
} tg_solver;

void tg_solver_newton(tg_soft *p, const tg_solve_options *options);
void tg_solver_interior(tg_soft *p, const tg_solve_options *options);
void tg_solver_pgs(tg_soft *p, const tg_solve_options *options);
void tg_solver_admm(tg_soft *p, const tg_solve_options *options);
void tg_solver_staggered(tg_soft *p, const tg_solve_options *options);

/* Newton and the rule from p->L, near a solution; offers what comes of it. (solver_newton.c) */
void tg_soft_finish(tg_soft *p, const tg_solve_options *options, tg_solve_stage stage);

/* The same at the least compliance from the impulses in island->warm, or from what sweeps make of them. True when a
 * solution is selected. */
bool tg_soft_first(tg_soft *p, const tg_solve_options *options);

/* The same where these are a solution; then from the ladder. */
void tg_soft_choose(tg_soft *p, const tg_solve_options *options, tg_solve_stage stage);

/* Rounds of the method of multipliers from island->warm; offers what it meets. True when that has its certificate.
 * (multipliers.c) */
bool tg_soft_multipliers(tg_soft *p, const tg_solve_options *options);

/* the solver of that name, or NULL */
const tg_solver *tg_solver_find(const char *name);

/* entry of the table, from 0 on; NULL behind the last */
const tg_solver *tg_solver_at(int index);

#endif
