/* Proximal ADMM over simple sets (admm.h). */
#include "solve/admm.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "math/dense.h"

enum
{
    POWER_STEPS = 10 /* L to some per cent is enough */
};

static const double over_relaxation = 1.6;     /* usual: OSQP's */
static const double proximal = 1e-7;           /* eta / L: the paper's */
static const double exponents[] = {0.4, 0.15}; /* of the first rho, of its changes: the paper's, and its code's */

bool tg_admm_take(tg_admm *a, int n, tg_arena *arena)
{
    size_t count = (size_t)n;
    double **vector[] = {&a->q, &a->d, &a->x, &a->z, &a->u, &a->before, &a->right};
    a->H = TG_TAKE(arena, double, count *count, "admm: matrix");
    a->factor = TG_TAKE(arena, double, count *count, "admm: factor");
    for (size_t i = 0; i < sizeof vector / sizeof vector[0]; i++)
        *vector[i] = TG_TAKE(arena, double, count, "admm: vector");
    return !arena->failed;
}

/* sets are scaled by d = G_ii^-1/2 of their first rows, so that masses of all sizes look alike */
static void scale(tg_admm *a)
{
    for (int i = 0; i < a->sets; i++)
    {
        const tg_set *s = &a->set[i];
        double own = a->G[(ptrdiff_t)s->row * (a->ldg + 1)];
        for (int r = s->row; r < s->row + s->dim; r++)
            a->d[r] = own > 0 ? 1 / sqrt(own) : 1;
    }
    for (ptrdiff_t i = 0; i < a->n; i++)
        for (ptrdiff_t j = 0; j < a->n; j++)
            a->H[i * a->n + j] = a->d[i] * a->d[j] * a->G[i * a->ldg + j];
}

/* the largest eigenvalue by power iterations, from a vector with no pattern */
static double largest_eigenvalue(tg_admm *a)
{
    double size = 0;
    for (int i = 0; i < a->n; i++)
        a->x[i] = 1 + 0.5 * sin((double)(i * i));
    for (int k = 0; k < POWER_STEPS; k++)
    {
        tg_gemm_nt(a->n, 1, a->n, a->H, a->n, a->x, a->n, TG_GEMM_SET, a->right, 1);
        size = tg_norm_of(TG_NORM_TWO, a->n, a->right);
        for (int i = 0; i < a->n; i++)
            a->x[i] = size > 0 ? a->right[i] / size : 0;
    }
    return size > 0 ? size : 1;
}

/* fmax without its care for NaN, which costs a call */
static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void factor(tg_admm *a)
{
    memcpy(a->factor, a->H, sizeof(double) * (size_t)a->n * (size_t)a->n);
    for (ptrdiff_t i = 0; i < a->n; i++)
        a->factor[i * (a->n + 1)] += a->rho + a->eta;
    a->good = tg_chol_upper(a->n, a->factor, a->n) < 0;
}

static void project(const tg_admm *a, double *z)
{
    for (int i = 0; i < a->sets; i++)
    {
        const tg_set *s = &a->set[i];
        double *y = z + s->row;
        if (s->kind == TG_SET_POSITIVE)
            y[0] = larger(y[0], 0);
        else if (s->kind == TG_SET_BALL)
            tg_norm_ball(TG_NORM_TWO, s->dim, s->bound / a->d[s->row], y);
        else if (s->kind == TG_SET_CONE)
            tg_norm_project(a->norm, s->dim, y);
    }
}

/* z + u / rho, from which the next iteration starts: an acceleration begins there */
static void begin(tg_admm *a)
{
    if (a->acceleration == NULL)
        return;
    for (int i = 0; i < a->n; i++)
        a->point[i] = a->z[i] + a->u[i] / a->rho;
    tg_anderson_restart(a->acceleration);
}

void tg_admm_change(tg_admm *a)
{
    for (int i = 0; i < a->n; i++)
        a->q[i] = a->d[i] * a->g[i];
    a->residual = INFINITY;
    project(a, a->z);
    begin(a);
}

void tg_cones_sets(const tg_cones *cones, tg_set *set, tg_admm *a)
{
    for (int b = 0; b < cones->blocks; b++)
    {
        const tg_cone *cone = &cones->block[b];
        tg_set_kind kind = cone->kind == TG_CONE_FREE  ? TG_SET_FREE
                           : cone->kind == TG_CONE_BOX ? TG_SET_BALL
                           : cone->dim == 1            ? TG_SET_POSITIVE
                                                       : TG_SET_CONE;
        set[b] = (tg_set){kind, cone->row, cone->dim, cone->bound, cone->parted};
    }
    a->n = cones->rows;
    a->sets = cones->blocks;
    a->set = set;
    a->G = cones->G;
    a->ldg = cones->ld;
    a->g = cones->g;
}

void tg_admm_start(tg_admm *a, const double *x)
{
    scale(a);
    double largest = largest_eigenvalue(a);
    a->eta = proximal * largest;
    a->first = a->rho = sqrt(largest * a->eta) * pow(1 / proximal, exponents[0]);
    a->change = pow(1 / proximal, exponents[1]);
    a->direction = a->iterations = 0;
    a->relax = over_relaxation;
    for (int i = 0; i < a->n; i++)
    {
        a->z[i] = x != NULL ? x[i] / a->d[i] : 0;
        a->u[i] = 0;
    }
    tg_admm_change(a);
    memcpy(a->x, a->z, sizeof(double) * (size_t)a->n);
    factor(a);
}

/* the right side of the first line: rho z - u - g - c + eta x */
static void right_side(tg_admm *a)
{
    for (int i = 0; i < a->n; i++)
        a->right[i] = a->rho * a->z[i] - a->u[i] - a->q[i] + a->eta * a->x[i];
    for (int i = 0; i < a->sets; i++)
        if (a->set[i].kind == TG_SET_CONE && (a->shift || a->set[i].shift))
            a->right[a->set[i].row] -= tg_norm_dual(a->norm, a->set[i].dim - 1, a->u + a->set[i].row + 1);
}

/* residuals of x and of the point z that follows from it, in velocities of the scaled problem */
static void measure(tg_admm *a)
{
    a->primal = a->dual = 0;
    for (int i = 0; i < a->n; i++)
    {
        a->primal = larger(a->primal, a->first * fabs(a->x[i] - a->z[i]));
        a->dual = larger(a->dual, a->rho * fabs(a->z[i] - a->before[i]));
    }
}

/* z <- P(y), u <- rho (y - z) */
static void split(tg_admm *a, const double *y)
{
    memcpy(a->z, y, sizeof(double) * (size_t)a->n);
    project(a, a->z);
    for (int i = 0; i < a->n; i++)
        a->u[i] = a->rho * (y[i] - a->z[i]);
}

static void iterate(tg_admm *a)
{
    size_t bytes = sizeof(double) * (size_t)a->n;
    right_side(a);
    memcpy(a->x, a->right, bytes);
    tg_chol_upper_solve(a->n, a->factor, a->n, 1, a->x, 1);
    memcpy(a->before, a->z, bytes);
    for (int i = 0; i < a->n; i++)
        a->right[i] = a->relax * a->x[i] + (1 - a->relax) * a->z[i] + a->u[i] / a->rho;
    a->iterations++;
    if (a->acceleration == NULL || a->iterations % TG_ADMM_CHECK == 0) /* what is not extrapolated says how far it is */
    {
        split(a, a->right);
        measure(a);
    }
    if (a->acceleration != NULL)
    {
        tg_anderson_next(a->acceleration, a->right, a->point);
        split(a, a->point);
    }
}

static void follow(tg_admm *a, double primal, double dual)
{
    double residual = larger(primal, dual);
    if (residual > 0.5 * a->residual && a->relax > 1)
    {
        a->relax = 1;
        begin(a);
    }
    a->residual = residual;
    int direction = primal > 10 * dual ? 1 : dual > 10 * primal ? -1 : 0;
    if (direction == 0)
        return;
    if (direction == -a->direction) /* the right rho is between the last two: halfway, in its logarithm */
        a->change = sqrt(a->change);
    a->direction = direction;
    a->rho *= direction > 0 ? a->change : 1 / a->change;
    factor(a);
    begin(a);
}

void tg_admm_run(tg_admm *a, int count)
{
    for (int k = 0; k < count && a->good; k++)
    {
        /* here, not after the iteration: the caller may have ended */
        if (a->iterations > 0 && a->iterations % TG_ADMM_CHECK == 0)
            follow(a, a->primal, a->dual);
        if (!a->good)
            return;
        iterate(a);
    }
}

void tg_admm_point(const tg_admm *a, double *x)
{
    for (int i = 0; i < a->n; i++)
        x[i] = a->d[i] * a->z[i];
}
