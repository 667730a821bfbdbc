/* Contact laws beside the unrelaxed one, on the same problem (problem.h).
 *
 * A law is a norm and a shift. In scaled variables x = S^-1 L, s = S sigma (cone.h) a contact obeys
 *     x in K = { |x_T| <= x_N },   s + c n in K*,   x . (s + c n) = 0,   c = |s_T|_* with the shift (De Saxce), 0
 *         without
 *
 *     ncp           two-norm, shift     Signorini, Coulomb's cone, maximum dissipation: solvers.c
 *     ccp           two-norm, none      the convex relaxation: what slides separates with s_N = |s_T|
 *     lcp-box       max-norm, shift     friction pyramid: each component of friction is bounded by mu L_N
 *     lcp-diamond   sum-norm, shift     friction pyramid: their absolute sum is
 * With the shift that is s_N >= 0, x_N s_N = 0 and x_T = the point of |x_T| <= x_N with the least s_T . x_T. Limits,
 * equalities and dry friction of joints are the same in all laws. */
#ifndef TG_CONTACT_CONE_LAW_H
#define TG_CONTACT_CONE_LAW_H

#include "solve/admm.h"
#include "solve/cone.h"
#include "solve/problem.h"

typedef struct tg_cone_law
{
    const char *name;
    tg_norm norm;
    bool shift;
} tg_cone_law;

/* the law of that name, or NULL; entry of the table from 0 on, NULL behind the last */
const tg_cone_law *tg_cone_law_find(const char *name);
const tg_cone_law *tg_cone_law_at(int index);

/* Whether it is the unrelaxed law, which has solvers and derivatives of its own. */
static inline bool tg_cone_law_is_default(const tg_cone_law *law)
{
    return law == tg_cone_law_at(0);
}

/* The scaled problem as sets of ADMM (solve/admm.h): fills set (one per block) and the problem's part of a.
 * (cone_law.c) */
void tg_cone_law_sets(const tg_cone_law *law, const tg_cones *cones, tg_set *set, tg_admm *a);

/* Pivots below that share of the largest: redundant rows, to rounding. Rows that are nearly redundant count: four
 * corners that slide and hardly turn differ by 1e-9, and v+ follows them. A patch that turns by h is off its plane by
 * h^2, which asks for impulses without bound where exactly redundant rows count. */
#define TG_LAW_PIVOT 1e-12

/* The equations of one block of the scaled problem and their slopes: F(x, s) = 0, dF = E_s ds + E_x dx, all in m/s. */
typedef struct tg_block_equations
{
    int dim;
    double s[TG_CONE_MAX][TG_CONE_MAX], x[TG_CONE_MAX][TG_CONE_MAX];
    double f[TG_CONE_MAX];
} tg_block_equations;

/* Those that the point x - rho s selects; x and s are those of the whole problem. (cone_law.c) */
tg_block_equations tg_cone_law_equations(const tg_cone_law *law, const tg_cone *cone, const double *x, const double *s);

/* The residual of the law, as tg_island_residual for the unrelaxed one: recomputed from the problem and L. sigma (rows)
 * receives G L + g. Parts as in residual.c, with the norm and the shift of the law. (cone_law_residual.c) */
tg_residual tg_cone_law_residual(const tg_cone_law *law, const tg_island *island, const double *L, double *sigma);

/* Modes and margins of a solution, as tg_island_modes for the unrelaxed law. Takes scratch and gives it back.
 * (cone_law_modes.c) */
tg_status tg_cone_law_modes(const tg_cone_law *law, const tg_island *island, const double *L, const double *sigma,
                            tg_arena *scratch, tg_block_mode *mode, tg_error *error);

/* Bytes of scratch that tg_cone_law_solve takes for so many rows. */
size_t tg_cone_law_scratch(int rows);

/* Solves one island by this law, as tg_island_solve does: Newton's method on the equations above, started again from
 * iterates of ADMM (solve/admm.h) until it ends. options: tolerance, max_sweeps, and solver: "newton", or "admm" for
 * ADMM alone. result->residual is that of the law. Redundant rows: the impulses next to those it started from.
 * (cone_law_solve.c) */
tg_status tg_cone_law_solve(const tg_cone_law *law, const tg_island *island, const tg_solve_options *options,
                            tg_arena *scratch, double *L, double *sigma, tg_solve_result *result, tg_error *error);

/* Whether that solver solves problems of this law. */
bool tg_cone_law_takes(const tg_cone_law *law, const char *solver);

#endif
