/* Proximal ADMM for quadratic programs over simple sets, and for the contact laws that are such a program with a shift.
 *
 *     minimise 1/2 x'Gx + (g + c)'x,   x in its sets,   c_N = |s_T|_* where `shift` asks for it (De Saxce), s = G x + g
 * with a copy z of x in the sets and the multiplier u = -(s + c) of x = z, rows scaled by the size d of their set:
 *     (G + (rho + eta) I) x = rho z - u - g - c + eta x
 *     z <- P(x + u / rho),   u <- u + rho (x - z),   c_N = |u_T|_*
 * (staggered_projections, appendix; the shift as in Pinocchio's solver). rho starts at sqrt(L eta) (L / eta)^0.4, L the
 * largest eigenvalue of G, and is multiplied or divided by (L / eta)^0.15 when the residuals rho_0 |x - z| and rho |z -
 * z_before| differ by more than ten (rho_0, not rho: two velocities that rho moves apart). Each time that it turns
 * back, the exponent is halved. Without a shift it converges for every G that is semidefinite.
 *
 * Over-relaxation: 1.6 x - 0.6 z, with z of the previous iteration, replaces x after the first line. It makes De
 * Saxce's shift oscillate on some problems (12 of 61 recorded grippers, from a cold start), so it is turned off for
 * good once the residuals fall by less than half between two checks.
 *
 * Acceleration (anderson.h): an iteration is a map of y = z + u / rho, since z = P(y) and u = rho (y - z). On the face
 * where it ends it is affine, with factors up to 1 - sqrt(l / L), l the smallest eigenvalue of G that counts: 1e5 times
 * below L in contact of many redundant points. Ten differences take out the slowest of these. A change of rho or of the
 * over-relaxation changes the map: the differences are forgotten. */
#ifndef TG_SOLVE_ADMM_H
#define TG_SOLVE_ADMM_H

#include <stdbool.h>

#include "base/arena.h"
#include "solve/anderson.h"
#include "solve/cone.h"
#include "solve/norm_cone.h"

typedef enum tg_set_kind
{
    TG_SET_FREE,
    TG_SET_POSITIVE, /* one row: x >= 0 */
    TG_SET_BALL,     /* |x| <= bound, two-norm; one row: an interval */
    TG_SET_CONE      /* |x_T| <= x_N */
} tg_set_kind;

typedef struct tg_set
{
    tg_set_kind kind;
    int row, dim; /* sets follow each other without holes */
    double bound;
    bool shift; /* cone: has the shift whatever the problem has */
} tg_set;

typedef struct tg_admm
{
    /* the problem: the caller's, valid while the method runs */
    int n, sets;
    const tg_set *set;
    const double *G; /* n x n, leading dimension ldg */
    int ldg;
    const double *g;
    tg_norm norm; /* of cones */
    bool shift;

    double *H, *factor; /* n x n, scaled; factor of H + (rho + eta) I */
    double *q, *d;      /* n: scaled g; size of the set of a row */
    double *x, *z, *u, *before, *right;
    tg_anderson *acceleration; /* the caller's; NULL: none */
    double *point;             /* n, with acceleration: z + u / rho */
    double eta, rho, first;    /* first: where rho started */
    double relax;              /* over-relaxation at present */
    double residual;           /* at the last look */
    double change;             /* the next factor of rho */
    int direction;             /* of the last change */
    int iterations;
    double primal, dual; /* residuals of the last one (m/s, scaled) */
    bool good;           /* the matrix could be factored */
} tg_admm;

enum
{
    TG_ADMM_CHECK = 5 /* iterations between two looks at the residuals */
};

/* Takes memory for n rows; false when the arena was too small. A counting arena counts. */
bool tg_admm_take(tg_admm *a, int n, tg_arena *arena);

/* The sets, G and g of scaled cones; set: as many as blocks. */
void tg_cones_sets(const tg_cones *cones, tg_set *set, tg_admm *a);

/* Scales and factors the problem, and starts from the point of the sets next to x (NULL: zero), u = 0. */
void tg_admm_start(tg_admm *a, const double *x);

/* After g or bounds have changed: continues from z and u with the same matrix. */
void tg_admm_change(tg_admm *a);

/* So many iterations; rho follows every TG_ADMM_CHECK of them. */
void tg_admm_run(tg_admm *a, int count);

/* z, unscaled: a point of the sets */
void tg_admm_point(const tg_admm *a, double *x);

#endif
