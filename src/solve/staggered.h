/* Staggered projections (Le Lidec et al. 2021): the unrelaxed law as a fixed point of two convex problems.
 *
 *     normals    minimise 1/2 x_n' G_nn x_n + (g_n + G_nt x_t)' x_n,   x_n >= 0 (contacts, limits), free (equalities)
 *     friction   minimise 1/2 x_t' G_tt x_t + (g_t + G_tn x_n)' x_t,   |x_t,i| <= x_n,i (contacts), <= bound (dry
 *         friction of joints)
 * each given the solution of the other, in scaled variables (cone.h). Where both hold at once Signorini's law and
 * maximum dissipation hold. There is no proof that the alternation ends there; mostly it does, linearly. Both are
 * solved by ADMM (solve/admm.h) with one factor each, from the solution of the alternation before. */
#ifndef TG_SOLVE_STAGGERED_H
#define TG_SOLVE_STAGGERED_H

#include "solve/admm.h"
#include "solve/cone.h"

/* one of the two problems */
typedef struct tg_stagger
{
    int n, sets;
    int *row;      /* n: rows of the scaled problem */
    tg_set *set;   /* its sets; of friction: bounds follow the normals */
    int *normal;   /* sets: row of the scaled problem that bounds the set, or -1 */
    double *G;     /* n x n */
    double *g, *x; /* n */
    tg_admm admm;
} tg_stagger;

typedef struct tg_staggered
{
    /* memory, the caller's, for so many rows */
    double *matrix[3]; /* rows^2 each */
    double *vectors;   /* TG_STAGGERED_VECTORS rows */
    int *indices;      /* 2 rows */
    tg_set *sets;      /* rows */

    const tg_cones *cones;
    tg_stagger part[2]; /* normals, friction */
    int iterations;     /* of ADMM, of both */
} tg_staggered;

enum
{
    TG_STAGGERED_VECTORS = 9,
    TG_STAGGERED_WORK = 6
};

/* What one problem may leave of the residual of both. */
static inline double tg_staggered_aim(double tolerance)
{
    return 0.1 * tolerance;
}

/* Divides the scaled problem and starts from x: its friction counts. */
void tg_staggered_start(tg_staggered *s, const tg_cones *cones, const double *x);

/* One alternation: normals, then friction; each to `aim` (m/s, in the sense of its own residual). x: all rows. */
void tg_staggered_step(tg_staggered *s, double aim, double *x);

/* ---- the derivative of what was unrolled (staggered_deriv.c) ---- */

/* Each of the two problems is differentiated at its solution: as published, where a fixed number of alternations is
 * unrolled. It is the derivative of these alternations, and that of the law only where they have converged. */

/* Reverse mode of one alternation from `before` to `after`. xbar (all rows): of dx after it in, of dx before it out
 * (normals: 0). With w = dG x + dg (all rows of the scaled problem), w_n at the normals of `after` and the friction of
 * `before`, w_f at `after`, and db of the bounds of dry friction,
 *     xbar_after . dx_after = xbar_before . dx_before + z_normals . w_n + z_friction . w_f + radius . db
 * (rows each); radius is added to. work: rows (rows + TG_STAGGERED_WORK) numbers, order: rows. */
void tg_staggered_vjp(const tg_staggered *s, const double *before, const double *after, double *xbar, double *z_normals,
                      double *z_friction, double *radius, double *work, int *order);

#endif
