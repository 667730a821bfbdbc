/* Proximal ADMM on the unrelaxed law (staggered_projections, appendix; the De Saxce shift as in Pinocchio's solver).
 *
 * Scaled problem of cone.h, blocks scaled once more by their own size d_i = G_NN^-1/2 so that masses of all sizes look alike:
 *     minimise 1/2 x'Gx + (g + c)'x over the cones,   c_N = |s_T| (De Saxce's term), s = G x + g
 * with a copy z of x in the cones and the multiplier u = -(s + c) of x = z:
 *     (G + (rho + eta) I) x = rho z - u - g - c + eta x
 *     z <- P(a x + (1 - a) z + u / rho),   u <- u + rho (a x + (1 - a) z_before - z),   c_N = |u_T|
 * rho starts at sqrt(L eta) (L / eta)^0.4, L the largest eigenvalue of G, and is multiplied or divided by (L / eta)^0.15 when the
 * residuals rho_0 |x - z| and rho |z - z_before| differ by more than ten (rho_0, not rho: two velocities that rho moves apart). */
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "solve/cone.h"
#include "solve/soft.h"

enum
{
    POWER_STEPS = 10, /* L to some per cent is enough */
    CHECK_EVERY = 5   /* iterations between two looks at the residual, and changes of rho */
};

/* a: none. 1.5, usual in convex problems, makes De Saxce's shift swing: of recorded grippers 80 % were solved cold, not all */
static const double relaxation = 1;
static const double proximal = 1e-7;           /* eta / L: the paper's */
static const double exponents[] = {0.4, 0.15}; /* of the first rho, of its changes: the paper's, and its code's */

typedef struct admm
{
    const tg_cones *cones;
    int n;
    double *G, *factor; /* n x n, scaled; factor of G + (rho + eta) I */
    double *g, *d;      /* n: scaled; L = d x */
    double *x, *z, *u, *before, *right;
    double eta, rho, first; /* first: where rho started */
} admm;

/* d of every row, then G = d (J J^T + give) d, a column at a time */
static void scale(admm *a, tg_soft *p)
{
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        for (int i = b->row; i < b->row + b->dim; i++)
        {
            a->d[i] = p->mu[i] / sqrt(p->own[b->row]);
            a->g[i] = a->d[i] * p->g[i];
        }
    memset(p->L, 0, sizeof(double) * (size_t)a->n);
    for (ptrdiff_t j = 0; j < a->n; j++)
    {
        p->L[j] = a->d[j];
        tg_soft_push(p, p->L, p->u);
        tg_soft_velocity(p, p->u, p->row);
        p->L[j] = 0;
        for (ptrdiff_t i = 0; i < a->n; i++)
            a->G[j * a->n + i] = a->d[i] * p->row[i];
        a->G[j * (a->n + 1)] += a->d[j] * a->d[j] * p->give[j];
    }
}

/* the largest eigenvalue by power iterations, from a vector with no pattern */
static double largest_eigenvalue(admm *a)
{
    double size = 0;
    for (int i = 0; i < a->n; i++)
        a->x[i] = 1 + 0.5 * sin((double)(i * i));
    for (int k = 0; k < POWER_STEPS; k++)
    {
        tg_gemm_nt(a->n, 1, a->n, a->G, a->n, a->x, a->n, TG_GEMM_SET, a->right, 1);
        size = 0;
        for (int i = 0; i < a->n; i++)
            size += a->right[i] * a->right[i];
        size = sqrt(size);
        for (int i = 0; i < a->n; i++)
            a->x[i] = size > 0 ? a->right[i] / size : 0;
    }
    return size > 0 ? size : 1;
}

static bool factor(admm *a)
{
    memcpy(a->factor, a->G, sizeof(double) * (size_t)a->n * (size_t)a->n);
    for (ptrdiff_t i = 0; i < a->n; i++)
        a->factor[i * (a->n + 1)] += a->rho + a->eta;
    return tg_chol_upper(a->n, a->factor, a->n) < 0;
}

/* the right side of the first line: rho z - u - g - c + eta x */
static void right_side(admm *a)
{
    for (int i = 0; i < a->n; i++)
        a->right[i] = a->rho * a->z[i] - a->u[i] - a->g[i] + a->eta * a->x[i];
    for (int i = 0; i < a->cones->blocks; i++)
    {
        const tg_cone *b = &a->cones->block[i];
        if (b->kind == TG_CONE_UNIT && b->dim > 1)
            a->right[b->row] -= tg_cone_tangent(b->dim, a->u + b->row);
    }
}

static void project(const admm *a, double *z)
{
    for (int i = 0; i < a->cones->blocks; i++)
    {
        const tg_cone *b = &a->cones->block[i];
        double *y = z + b->row, bound = b->bound / a->d[b->row];
        if (b->kind == TG_CONE_UNIT)
            tg_cone_project(b->dim, y);
        else if (b->kind == TG_CONE_BOX)
            y[0] = tg_larger(-bound, tg_smaller(bound, y[0]));
    }
}

/* one iteration; the residuals of both in velocities of the scaled problem */
static void iterate(admm *a, double *primal, double *dual)
{
    right_side(a);
    memcpy(a->x, a->right, sizeof(double) * (size_t)a->n);
    tg_chol_upper_solve(a->n, a->factor, a->n, 1, a->x, 1);
    memcpy(a->before, a->z, sizeof(double) * (size_t)a->n);
    for (int i = 0; i < a->n; i++)
    {
        a->right[i] = relaxation * a->x[i] + (1 - relaxation) * a->before[i];
        a->z[i] = a->right[i] + a->u[i] / a->rho;
    }
    project(a, a->z);
    *primal = *dual = 0;
    for (int i = 0; i < a->n; i++)
    {
        a->u[i] += a->rho * (a->right[i] - a->z[i]);
        *primal = tg_larger(*primal, a->first * fabs(a->x[i] - a->z[i]));
        *dual = tg_larger(*dual, a->rho * fabs(a->z[i] - a->before[i]));
    }
}

static admm set_up(tg_soft *p)
{
    int n = p->rows;
    double *vector = p->interior;
    admm a = {.cones = &p->cones, .n = n, .G = p->packed, .factor = p->product};
    double **place[] = {&a.g, &a.d, &a.x, &a.z, &a.u, &a.before, &a.right};
    tg_soft_cones(p);
    for (size_t i = 0; i < sizeof place / sizeof place[0]; i++, vector += p->cones.ld)
        *place[i] = vector;
    scale(&a, p);
    double largest = largest_eigenvalue(&a);
    a.eta = proximal * largest;
    a.first = a.rho = sqrt(largest * a.eta) * pow(1 / proximal, exponents[0]);
    /* z = P(x) of the warm start, u = 0 */
    for (int i = 0; i < n; i++)
    {
        a.z[i] = p->island->warm != NULL ? p->island->warm[p->source[i]] / a.d[i] : 0;
        a.u[i] = 0;
    }
    project(&a, a.z);
    memcpy(a.x, a.z, sizeof(double) * (size_t)n);
    return a;
}

/* offers z; returns the residual of the law there (m/s), or that of the best so far if it is less */
static double offer(const admm *a, tg_soft *p)
{
    for (int i = 0; i < a->n; i++)
        p->L[i] = a->d[i] * a->z[i];
    tg_soft_offer(p, TG_SELECT_UNSELECTED, TG_ENDED_SWEEPS);
    return p->offer.residual;
}

void tg_solver_admm(tg_soft *p, const tg_solve_options *o)
{
    double primal, dual, factor_of_rho = pow(1 / proximal, exponents[1]);
    admm a = set_up(p);
    bool good = factor(&a);
    int direction = 0;
    while (good && p->sweeps < o->max_sweeps)
    {
        iterate(&a, &primal, &dual);
        if (++p->sweeps % CHECK_EVERY != 0)
            continue;
        if (offer(&a, p) <= o->tolerance)
            break;
        int change = primal > 10 * dual ? 1 : dual > 10 * primal ? -1 : 0;
        if (change == 0)
            continue;
        if (change == -direction) /* it swings: smaller steps */
            factor_of_rho = 1 + 0.8 * (factor_of_rho - 1);
        direction = change;
        a.rho *= change > 0 ? factor_of_rho : 1 / factor_of_rho;
        good = factor(&a);
    }
    offer(&a, p);
    tg_soft_push(p, p->L, p->u);
    if (o->select)
        tg_soft_finish(p, o, TG_ENDED_SWEEPS);
}
