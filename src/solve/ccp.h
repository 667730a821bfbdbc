/* The convex contact law (CCP) in two phases, for bare problems: numbers only, no model.
 *
 * A contact is a cone of rows n, t1, ...; K = { f : |f_t / mu| <= f_n }, K* its dual. With A = G + eps I
 *     compression   min 1/2 f^T A f + f^T g                  f in K
 *     restitution   min 1/2 f^T A f + f^T (g + G f^c - v*)   f in K,  f_n >= e f^c_n   (Poisson's bound)
 * The impulse is f = f^c + f^r, the relative velocity G f + g: eps is in the two problems only. v* is the target that
 * undoes penetration. Optimality: f in K, A f + g = s + w n, s in K*, f . s = 0, w >= 0, w (f_n - e f^c_n) = 0. That is
 * Signorini and Coulomb without De Saxce's term: sliding contacts separate with mu |sigma_t|.
 *
 * Newton's method on the natural map f = P(f - D (A f + g)) is tried first; P projects on K and { f_n >= bound }. Where
 * it does not end, an interior point does (Nesterov-Todd scaling), and Newton ends it. The problem is convex: a point
 * whose residual is 0 is the solution, however it was found.
 *
 * Redundant rows: sigma is unique, f is not. The impulse of least norm is returned (the limit eps -> 0 of the law with
 * eps), which matters where e > 0: Poisson's bound sees how the rows share the load. */
#ifndef TG_SOLVE_CCP_H
#define TG_SOLVE_CCP_H

#include <stdbool.h>

#include "solve/problem.h"
#include "tangere/base.h"

enum
{
    TG_CCP_ROWS = TG_CONE_MAX
};

typedef struct tg_ccp_cone
{
    int row, rows;              /* cones follow each other without holes; 1 row: a limit, or no friction */
    double mu[TG_CCP_ROWS - 1]; /* of row 1 + i, >= 0 */
    double e;                   /* Poisson's coefficient of restitution, >= 0 */
} tg_ccp_cone;

typedef struct tg_ccp_problem
{
    int rows, cones;
    const tg_ccp_cone *cone;
    const double *G; /* rows x rows, symmetric, positive semidefinite, leading dimension ldg */
    int ldg;
    const double *g;      /* relative velocity before the impact */
    const double *target; /* v*; NULL: zero */
    double eps;           /* >= 0 */
    bool compression;     /* the first phase alone: f^r = 0 */
} tg_ccp_problem;

/* where a cone is at the solution of a phase */
typedef enum tg_ccp_normal
{
    TG_CCP_OPEN,    /* f = 0 */
    TG_CCP_CLAMPED, /* f_n = e f^c_n > 0 */
    TG_CCP_CLOSED   /* f_n is found by the problem */
} tg_ccp_normal;

typedef struct tg_ccp_mode
{
    tg_ccp_normal normal;
    bool slides; /* f is on the cone */
} tg_ccp_mode;

/* A cone as the solver sees it: rows with mu > 0 only, scaled so that it is the unit cone |x_t| <= x_n. */
typedef struct tg_ccp_unit
{
    int row, dim;
    bool has_bound; /* in the phase that the interior point solves */
} tg_ccp_unit;

/* One phase: f = scale x, H = scale A scale, q = scale g, s = H x + q. Rows of cones without friction are left out. */
typedef struct tg_ccp_phase
{
    double *f;         /* rows */
    double *x, *s;     /* unit rows */
    tg_ccp_mode *mode; /* cones */
    double *bound;     /* cones: x_n >= bound */
    bool redundant;    /* the held rows depend on each other: `ridge` is part of A */
    int newton, interior;
    double best;     /* residual of the natural map, scaled */
    double residual; /* the same in m/s (rows of friction times mu) */
} tg_ccp_phase;

typedef struct tg_ccp
{
    int room; /* rows */
    /* of the last solve */
    int rows, cones, units;
    tg_ccp_unit *unit; /* one per cone */
    int *source;       /* unit row -> row of the problem */
    double *scale;     /* unit row: mu (1 for n) times the size of its cone */
    double *size;      /* cones: x_n = f_n / size */
    double speed;      /* largest scaled velocity: s = scale sigma / speed^2 */
    double ridge;      /* what redundant problems add to eps */
    tg_ccp_phase phase[2];
    double *f;     /* f^c + f^r */
    double *sigma; /* G f + g */
    /* scratch */
    double *H, *q, *K, *V, *y, *dx, *ds, *r, *aux, *basis, *lambda, *wbar, *eta, *w, *p, *dw, *dp, *scaled;
    int *column;
    tg_ccp_mode *tried;
} tg_ccp;

/* Takes room for problems of so many rows; false when the arena was too small. A counting arena counts. */
bool tg_ccp_take(tg_ccp *c, int rows, tg_arena *arena);

/* Solves both phases: c->f, c->sigma, c->phase. TG_ERR_VALUE: a number that is not finite or outside its domain,
 * TG_ERR_NUMERIC:
 * * not solved (f is the best point met, residual says how good it is). Nothing is allocated. */
tg_status tg_ccp_solve(tg_ccp *c, const tg_ccp_problem *problem, tg_error *error);

/* ---- derivatives of the last solve, which must have been of the same problem (ccp_deriv.c) ---- */

/* Changes of the problem. G changes by dG, of which only the products with the impulses of both phases are needed. */
typedef struct tg_ccp_change
{
    const double *Gc, *Gr; /* dG f^c, dG f^r (rows) */
    const double *g;       /* dg (rows) */
    const double *target;  /* rows; NULL: 0 */
    const double *mu, *e;  /* per cone (all rows of a cone have the same dmu); NULL: 0 */
    double eps;
} tg_ccp_change;

/* df (rows) of f^c + f^r */
void tg_ccp_jvp(tg_ccp *c, const tg_ccp_problem *problem, const tg_ccp_change *change, double *df);

/* From the gradient with respect to f^c + f^r the gradient with respect to everything else, as two vectors yc, yr
 * (rows):
 *     dL = -yc . (dG f^c + dg) - yr . (dG (f^c + f^r) + dg - dv*) + mu . dmu + e . de + eps deps,
 * so that the gradient of G is -yc f^c^T - yr (f^c + f^r)^T, that of g is -yc - yr, that of v* is yr. */
void tg_ccp_vjp(tg_ccp *c, const tg_ccp_problem *problem, const double *f_bar, double *yc, double *yr, double *mu,
                double *e, double *eps);

/* ---- shared by ccp.c, ccp_pseudo.c and ccp_deriv.c ---- */

extern const double tg_ccp_redundant_pivot;

/* Columns N of the directions in which x can move within the modes of a phase, and K = N^T H N + C (C: the curvature of
 * the cone times s). Returns their number; c->basis, c->column, c->K. */
int tg_ccp_reduce(tg_ccp *c, const tg_ccp_phase *phase);

/* K = L L^T; false when the directions depend on each other (redundant: a ridge makes them independent). */
bool tg_ccp_factor(tg_ccp *c, int n, bool redundant);

/* K = V diag(c->aux) V^T, for the pseudo-inverse of a redundant K; V: c->V */
void tg_ccp_diagonalise(tg_ccp *c, int n);

/* r = K^-1 r; after tg_ccp_diagonalise K^+ r: directions that are redundant do not move */
void tg_ccp_apply(const tg_ccp *c, int n, bool redundant, double *r);

/* H = scale (G + eps I) scale / speed^2 */
void tg_ccp_scale(tg_ccp *c, const tg_ccp_problem *problem, double eps);

/* x += N z, and z = N^T r */
void tg_ccp_expand(const tg_ccp *c, int n, const double *z, double *x);
void tg_ccp_gather(const tg_ccp *c, int n, const double *r, double *z);

#endif
