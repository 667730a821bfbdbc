/* The contact problem of one island, what is asked of a solver, and what it gives back.
 *
 * Rows carry impulses L (N s; N m s for rows of an angular velocity) and relative velocities
 *     sigma = G L + g,    G = J M^-1 J^T (n x n, symmetric, positive semidefinite, often of low rank),
 *                         g = J v_free + b.
 * Rows come in blocks, one law a block:
 *     contact     rows n, t1, t2, spin, roll1, roll2 (dimension 1, 3, 4 or 6); sigma_N > 0 separates (Signorini),
 *                 sum_i (L_i / mu_i)^2 <= L_N^2 (Coulomb), maximum dissipation
 *     limit       one row: 0 <= L, 0 <= sigma, L sigma = 0
 *     equality    any number of rows: sigma = 0
 *     friction    one row: |L| <= bound; L = -sign(sigma) bound when sigma != 0 (dry friction of a joint)
 *
 * Redundant rows make L, and sometimes sigma, not unique; warm.c and select.c says which solution is returned. */
#ifndef TG_SOLVE_PROBLEM_H
#define TG_SOLVE_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "math/vec3.h"
#include "tangere/base.h"

enum
{
    TG_CONE_MAX = TWIST /* rows of the largest contact: n, t1, t2, spin, roll1, roll2 */
};

/* whether a contact may have so many rows */
static inline bool tg_is_condim(int rows)
{
    return rows == 1 || rows == DIM || rows == DIM + 1 || rows == TG_CONE_MAX;
}

/* Of an equality's rows, how many belong together: three of a velocity or of an angular velocity. Axes of the world
 * mean nothing to a loop. */
static inline int tg_rows_together(int rows)
{
    return rows < DIM ? 1 : DIM;
}

typedef enum tg_block_kind
{
    TG_BLOCK_CONTACT,
    TG_BLOCK_LIMIT,
    TG_BLOCK_EQUALITY,
    TG_BLOCK_FRICTION,
    TG_BLOCK_KINDS
} tg_block_kind;

typedef struct tg_block
{
    tg_block_kind kind;
    int row;                    /* its first row; blocks follow each other without holes */
    int rows;                   /* contact: 1, 3, 4, 6; limit, friction: 1; equality: at least 1 */
    double mu[TG_CONE_MAX - 1]; /* contact: coefficient of row 1 + i (m for rows of an angular velocity), >= 0 */
    double bound;               /* friction: the largest |L| (N s or N m s), >= 0 */
    uint64_t pair;              /* contact: the same for all between the same two rigid bodies; 0: not known */
    bool alone;                 /* contact: its rows need not stay consistent with others between the same bodies, which
                                   have fewer than six dofs between them, so that rows of one point may be redundant
                                   already, or still move against each other; known where derivatives are taken */
    bool parted;                /* contact: its normal row stands by itself, friction dissipates as much as it can */
} tg_block;

/* One tree's part of J in coordinates in which its mass matrix is one: Y = D^-1/2 L^-T J^T (M = L^T D L), dofs x
 * columns. */
typedef struct tg_tree_rows
{
    int dofs, columns, ld; /* ld: columns with padding, at least four */
    const int *row;        /* of the columns, counted as tg_island.first_row is */
    const double *Y;
    const uint64_t *support; /* where it is not zero (math/support.h); NULL: not known */
} tg_tree_rows;

/* G, or the trees that make it: G = sum of Y^T Y, in the rows of the columns, and `give` on its diagonal. */
typedef struct tg_island
{
    int rows, blocks;
    const tg_block *block;
    const double *G; /* rows x rows, row-major, leading dimension ldg; both triangles are read. NULL: not there */
    int ldg;
    const tg_tree_rows *tree;
    int trees, dofs, first_row; /* dofs: of all trees */
    int columns, tree_dofs;     /* 0, or rows are too many for dense matrices: as in tg_island_size */
    const double *give;         /* m/s per N s: the law's own compliance */
    const double *diagonal;     /* G_ii, where there are trees; 0: nothing moves the row */
    int loops,
        redundant; /* rows loop_row of equalities count without their part along Z (loops x redundant, orthonormal */
    const int *loop_row; /* columns): J <- (1 - Z Z^T) J */
    const double *Z;
    const double *speed, *bias; /* relative velocities before the step, b of g = J v_free + b; NULL: not known */
    const double *g;            /* free relative velocity with bias (m/s, rad/s) */
    const double *warm;         /* impulses to start from; NULL: zero. Changes the time, not the result. */
    const double *warm_z;       /* the same before their bounds, as z was; NULL: not known */
    double *z;                  /* NULL, or receives what the next problem like this one starts from as warm_z (soft.h):
                                   impulses; where friction at its bound hardly slips, or a contact without load hardly
                                   opens, what they would be without the bound */
} tg_island;

/* Which solver, and when it stops. Make it with tg_solve_default(). */
typedef struct tg_solve_options
{
    uint32_t cookie;
    const char *solver;  /* a name of the table in solvers.c */
    double tolerance;    /* certificate: the residual of the unrelaxed law (m/s), 1e-8 */
    double inner;        /* what iterations aim at (m/s), 1e-12; never below 1e-15 max |G| |L| */
    int max_sweeps;      /* solver "pgs": block Gauss-Seidel sweeps; "admm", "staggered": iterations of ADMM */
    int staggered_steps; /* solver "staggered": so many alternations; 0: until the residual is within the tolerance */
    int effort;          /* most factorisations; 0: as many as it takes */
    bool select;         /* apply the selection rule (warm.c and select.c) */
    bool relaxable;      /* an easier problem can take its place: one that only a long search solves is left */
    bool droppable;      /* the same, but this one is likely to have a solution */
    bool skip_warm;      /* not from the phases of the previous step (warm.c): that failed there */
    int warm_effort;     /* most factorisations of that; 0: as effort */
    double refined;      /* in an earlier problem like this one rows that hold against each other gave way at this
                            compliance: try this first; below 0: they did not, not again; 0: not known */
    bool steep;          /* as in the result of a problem like this one: multipliers come before the ladder */
    bool long_double;    /* the certificate accumulates sigma in long double */
} tg_solve_options;

tg_solve_options tg_solve_default(void);

typedef enum tg_solve_status
{
    TG_SOLVE_SOLVED,  /* residual <= tolerance */
    TG_SOLVE_PARTIAL, /* not solved: the best impulses that were met, with their residual */
} tg_solve_status;

/* How the returned solution was chosen among the solutions. */
typedef enum tg_selection
{
    TG_SELECT_INDEPENDENT, /* held rows are known to be independent: no rule to choose by */
    TG_SELECT_PROJECTED,   /* Z^T L_R = 0, or nothing was redundant */
    TG_SELECT_COMPLIANT,   /* some cones forbid it: null component of the eps-compliant solution */
    TG_SELECT_UNSELECTED,  /* not requested, or the rule found no certified solution: the solver's result */
    TG_SELECT_KINDS
} tg_selection;

/* what ended a solve */
typedef enum tg_solve_stage
{
    TG_ENDED_NONE,        /* nothing: not solved */
    TG_ENDED_WARM,        /* the phases of the previous step, with few changes */
    TG_ENDED_SOFT,        /* Newton with the least compliance from its impulses */
    TG_ENDED_LADDER,      /* from a larger compliance to a smaller one */
    TG_ENDED_MULTIPLIERS, /* rounds of the method of multipliers */
    TG_ENDED_INTERIOR,    /* the interior point */
    TG_ENDED_PATH,        /* its path, followed by length */
    TG_ENDED_SWEEPS,      /* block Gauss-Seidel */
    TG_ENDED_KINDS
} tg_solve_stage;

/* Residual of the unrelaxed law, the largest over all blocks, in m/s (facts of each part: residual.c). */
typedef struct tg_residual
{
    double primal;          /* G_ii times how far L is from its cone */
    double dual;            /* how far sigma, with De Saxce's term, is from the dual cone; |sigma| of equalities */
    double complementarity; /* |L . gamma| / max(L_N, L_ref) */
    double work;            /* largest |L . gamma| without scaling (J) */
} tg_residual;

static inline double tg_residual_max(const tg_residual *r)
{
    double a = r->primal > r->dual ? r->primal : r->dual;
    return a > r->complementarity ? a : r->complementarity;
}

typedef struct tg_solve_result
{
    tg_solve_status status;
    tg_selection selection;
    tg_solve_stage stage; /* that ended it */
    bool guarded;         /* cut short with impulses that were not safe: one sweep instead */
    int sweeps;           /* block Gauss-Seidel sweeps */
    int newton;           /* Newton steps, those of the selection rule included: one factorisation each */
    int interior;         /* interior-point iterations: one factorisation each */
    int beside_warm;      /* of both, what came after the warm start */
    bool z;               /* island->z was written */
    double refined;       /* the compliance at which rows that hold against each other gave way; below 0: they did not;
                             0: there were none */
    bool began;           /* what the options say about this was of use */
    bool steep;           /* Newton did not end on top of the ladder */
    tg_residual residual;
} tg_solve_result;

typedef struct tg_island_size
{
    int rows, dofs, trees; /* 0 dofs, 0 trees: it has none */
    int columns;   /* of all trees, if rows are too many for dense matrices: then a row has at most two trees; */
    int tree_dofs; /* of the largest of them */
} tg_island_size;

/* L from z of a block (both block->rows numbers): z within the bounds of its law, friction shortened to them. Where all
 * tangents have one coefficient this is P(z) of soft.h; otherwise P turns friction a little, and this does not. */
void tg_block_bound(const tg_block *block, const double *z, double *L);

/* Bytes of scratch that tg_island_solve takes for a problem of this size, and those that are smaller. */
size_t tg_island_scratch(tg_island_size size);

/* Impulses of what is cut short are replaced (tg_solve_result.guarded) when G_ii L_i is more than so many times the
 * largest free velocity. */
#define TG_MOST_IMPULSE 1e2

/* Solves one island. Of one that is too large for dense matrices TG_ERR_CAPACITY also says that it has no room for its
 * factors, or rows of more than two trees. L (rows) receives the impulses, sigma (rows) the relative velocities G L +
 * g. A problem that the solver could not certify is TG_OK with result->status TG_SOLVE_PARTIAL; an error means that the
 * problem or the options were refused (L and sigma are then untouched). Nothing is allocated: scratch is taken and
 * given back. */
tg_status tg_island_solve(const tg_island *island, const tg_solve_options *options, tg_arena *scratch, double *L,
                          double *sigma, tg_solve_result *result, tg_error *error);

/* Newton on the problem with compliance from the impulses in island->warm, or from sweeps, without a longer search: for
 * islands of many trees, whose matrices are sparse. True when the selected solution is found; L, sigma and result are
 * the best that was met. */
bool tg_island_first(const tg_island *island, const tg_solve_options *options, tg_arena *scratch, double *L,
                     double *sigma, tg_solve_result *result);

/* From a solution in L, which has its certificate, to the one that is selected (docs/contact.md section 5), if that is
 * found; otherwise L and sigma stay. Adds to the counts of result. */
void tg_island_select(const tg_island *island, const tg_solve_options *options, tg_arena *scratch, double *L,
                      double *sigma, tg_solve_result *result);

/* Whether the warm start is not worth its matrices over rows: rows that carried something in the previous step are more
 * than half again as many as dofs. The share was set on bench/wide.py, seeds 0 to 7 and hard robots with 0 and 1: of 1,
 * 1.5 and 2 it takes the least time, 3 % less than 1. Chains gain most, a hand that holds loses. */
bool tg_island_is_wide(const tg_island *island);

/* sigma = G L + g (rows) */
void tg_island_velocity(const tg_island *island, const double *L, bool long_double, double *sigma);

/* The one residual all solvers end in: recomputed from the problem and L alone. sigma (rows) is scratch and receives
 * G L + g. */
tg_residual tg_island_residual(const tg_island *island, const double *L, bool long_double, double *sigma);

/* The same from velocities that are known: G is not read, its diagonal is diagonal[i * step]. */
tg_residual tg_residual_of(const tg_island *island, const double *diagonal, int step, const double *L,
                           const double *sigma);

/* ---- modes ---- */

typedef enum tg_mode
{
    TG_MODE_BREAKING, /* L = 0 */
    TG_MODE_STICKING, /* strictly inside the cone; held row of a limit, an equality, a joint with friction */
    TG_MODE_SLIDING,  /* on the cone and slipping; joint friction at its bound */
    TG_MODES
} tg_mode;

typedef struct tg_block_mode
{
    tg_mode mode;
    bool immaterial; /* on the cone without slip, or closed with no force, while the strictly held rows have the rank
                        of all held rows: counts as sticking, has no margin */
    double margin;   /* how far the nearest change of mode is (m/s; sticking: 1 - |L_T| / (mu L_N)); infinite for
                        equalities and immaterial blocks */
} tg_block_mode;

/* Modes and margins of a solution. Takes scratch (tg_island_scratch is enough) and gives it back. */
tg_status tg_island_modes(const tg_island *island, const double *L, const double *sigma, tg_arena *scratch,
                          tg_block_mode *mode, tg_error *error);

/* The same for blocks that another law judges. */
typedef struct tg_mode_law
{
    /* Mode and margin of one block by itself; L and sigma are its own. immaterial: it may be, if other rows hold what
     * it holds, and is what the rest says if they do not. */
    tg_block_mode (*mode)(const void *user, const tg_island *island, const tg_block *block, const double *L,
                          const double *sigma);
    const void *user;
    bool closed;  /* what slides has s_N = 0 */
    bool pointed; /* friction is bounded by the sum of its components */
} tg_mode_law;

tg_status tg_island_modes_by(const tg_mode_law *law, const tg_island *island, const double *L, const double *sigma,
                             tg_arena *scratch, tg_block_mode *mode, tg_error *error);

/* m/s: by how much the normals of contacts that carry something move, all of them together. */
double tg_island_unrest(const tg_island *island, const double *L, const double *sigma);

/* Whether a contact with these impulses and velocities is on its cone, and slips against its impulse: rounding has any
 * direction. Also far slower than what counts as a slip. off: unrest. */
bool tg_block_creeps(const tg_block *block, const double *L, const double *sigma, double off);

/* Whether two points of the same two rigid bodies stick: then held rows depend on each other. */
bool tg_island_sticks_twice(const tg_island *island, const double *L, const double *sigma, const tg_block_mode *mode);

#endif
