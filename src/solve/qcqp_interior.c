/* Primal-dual interior point, for problems whose face the descent does not find.
 *
 *     ball      s + lambda x = 0, lambda (r^2 - |x|^2) / 2 = kappa
 *     positive  s - lambda = 0,   lambda x = kappa
 * With gap = (r^2 - |x|^2) / 2 or x, e = s + lambda x or s - lambda, and the share sigma of kappa and of e that is to
 * stay, one step solves
 *     (G + lambda + (lambda / gap) x x') dx = -(1 - sigma) e - (target / gap - lambda) x,   positive definite,
 *     positive: (G + lambda / x) dx = -(1 - sigma) e + target / x - lambda,
 * target = sigma kappa less the second-order part of lambda gap along the step with sigma = 0 (Mehrotra). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "solve/qcqp.h"

enum
{
    MOST_STEPS = 150 /* usually 15 to 25; solutions of 1e10 times the first guess take 80 */
};

static const double reach = 0.99; /* of the way to the boundary, the usual value */
#define SHORT 0.1                 /* a step of which another kind is tried */

static bool bounded(const tg_qcqp_block *b)
{
    return (b->set == TG_QCQP_SET_BALL && b->radius > 0) || b->set == TG_QCQP_SET_POSITIVE;
}

static bool moves(const tg_qcqp_block *b)
{
    return b->set == TG_QCQP_SET_FREE || bounded(b);
}

/* distance from the boundary: (r^2 - |x|^2) / 2, or x */
static double gap_of(const tg_qcqp_block *b, const double *x)
{
    if (b->set == TG_QCQP_SET_POSITIVE)
        return x[0];
    double sum = 0;
    for (int r = 0; r < b->rows; r++)
        sum += x[r] * x[r];
    return 0.5 * (b->radius * b->radius - sum);
}

/* the change of the gap along dx, to first order */
static double gap_slope(const tg_qcqp_block *b, const double *x, const double *dx)
{
    if (b->set == TG_QCQP_SET_POSITIVE)
        return dx[0];
    double sum = 0;
    for (int r = 0; r < b->rows; r++)
        sum -= x[r] * dx[r];
    return sum;
}

static void start(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *b = &p->block[i];
        double *x = w->x + b->row;
        if (b->set == TG_QCQP_SET_BALL)
            memset(x, 0, sizeof(double) * (size_t)b->rows);
        else if (b->set == TG_QCQP_SET_POSITIVE)
            x[0] = w->scale / w->c[i];
        w->lambda[i] = b->set == TG_QCQP_SET_BALL && b->radius > 0 ? fmax(w->scale / b->radius, w->c[i]) : w->scale;
    }
}

/* the mean of lambda gap */
static double complementarity(const tg_qcqp_problem *p, const tg_qcqp_work *w, const double *step, const double *change,
                              double length)
{
    double sum = 0;
    int count = 0;
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *b = &p->block[i];
        if (!bounded(b))
            continue;
        double x[TG_QCQP_SIZE_MAX];
        for (int r = 0; r < b->rows; r++)
            x[r] = w->x[b->row + r] + length * step[b->row + r];
        sum += gap_of(b, x) * (w->lambda[i] + length * change[i]);
        count++;
    }
    return count > 0 ? sum / count : 0;
}

/* the factor of G + D */
static bool factor(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    int n = p->n;
    w->ld = n;
    memcpy(w->A, p->G, sizeof(double) * (size_t)n * (size_t)n);
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *b = &p->block[i];
        double *A = w->A + (ptrdiff_t)b->row * (n + 1);
        const double *x = w->x + b->row;
        double curvature = w->lambda[i] / (bounded(b) ? gap_of(b, x) : 1);
        for (int r = 0; r < b->rows; r++, A += n + 1)
        {
            A[0] += TG_QCQP_NULL * w->c[i];
            if (!moves(b))
                A[0] += w->c[i] / DBL_EPSILON;
            else if (b->set == TG_QCQP_SET_POSITIVE)
                A[0] += curvature;
            else if (b->set == TG_QCQP_SET_BALL)
                for (int k = r; k < b->rows; k++)
                    A[k - r] += curvature * x[r] * x[k] + (k == r ? w->lambda[i] : 0);
        }
    }
    w->interior++;
    w->factored = false;
    return tg_chol_upper(n, w->A, n) < 0;
}

/* d = dx and y = d lambda, from the targets in shifted */
static void direction(const tg_qcqp_problem *p, tg_qcqp_work *w, double sigma)
{
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *b = &p->block[i];
        const double *x = w->x + b->row, *s = w->s + b->row;
        double kept = b->set == TG_QCQP_SET_BALL ? 1 : 1 - sigma;
        double lambda = w->lambda[i], push = bounded(b) ? w->shifted[i] / gap_of(b, x) - lambda : 0;
        for (int r = 0; r < b->rows; r++)
        {
            double force = b->set == TG_QCQP_SET_BALL ? x[r] : bounded(b) ? -1 : 0;
            w->d[b->row + r] = moves(b) ? -kept * (s[r] + lambda * force) - push * force : 0;
        }
    }
    tg_chol_upper_solve(p->n, w->A, p->n, 1, w->d, 1);
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *b = &p->block[i];
        const double *x = w->x + b->row;
        w->y[i] = 0;
        if (bounded(b))
            w->y[i] = (w->shifted[i] - w->lambda[i] * gap_slope(b, x, w->d + b->row)) / gap_of(b, x) - w->lambda[i];
    }
}

/* targets: sigma kappa, less the second-order part of lambda gap along the last direction where that was short */
static void aim(const tg_qcqp_problem *p, tg_qcqp_work *w, double sigma_kappa, bool correct)
{
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *b = &p->block[i];
        const double *dx = w->d + b->row;
        w->shifted[i] = sigma_kappa;
        if (!bounded(b) || !correct)
            continue;
        double square = 0;
        for (int r = 0; r < b->rows && b->set == TG_QCQP_SET_BALL; r++)
            square += dx[r] * dx[r];
        double second = w->y[i] * gap_slope(b, w->x + b->row, dx) - 0.5 * (w->lambda[i] + w->y[i]) * square;
        w->shifted[i] -= fmax(-sigma_kappa, fmin(sigma_kappa, second)); /* no target is negative or twice as far */
    }
}

/* the longest step, at most 1, that leaves a share of every distance */
static double longest(const tg_qcqp_problem *p, const tg_qcqp_work *w)
{
    double length = 1;
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *b = &p->block[i];
        const double *x = w->x + b->row, *dx = w->d + b->row;
        if (!bounded(b))
            continue;
        if (w->y[i] < 0)
            length = fmin(length, reach * w->lambda[i] / -w->y[i]);
        double gap = gap_of(b, x), slope = gap_slope(b, x, dx), square = 0;
        if (b->set == TG_QCQP_SET_BALL)
            for (int r = 0; r < b->rows; r++)
                square += dx[r] * dx[r];
        /* gap + a slope - a^2 square / 2 = 0 */
        double root = sqrt(slope * slope + 2 * square * gap);
        if (square > 0 || slope < 0)
            length = fmin(length, reach * 2 * gap / (root - slope));
    }
    return length;
}

static double distance(int n, const double *a)
{
    double largest = 0;
    for (int i = 0; i < n; i++)
        largest = fmax(largest, fabs(a[i]));
    return largest;
}

/* |s + lambda x|, |s - lambda|: the largest, over max |g| */
static double stationarity(const tg_qcqp_problem *p, const tg_qcqp_work *w)
{
    double largest = 0;
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *b = &p->block[i];
        for (int r = b->row; moves(b) && r < b->row + b->rows; r++)
        {
            double force = b->set == TG_QCQP_SET_BALL ? w->lambda[i] * w->x[r] : bounded(b) ? -w->lambda[i] : 0;
            largest = fmax(largest, fabs(w->s[r] + force));
        }
    }
    return largest / w->scale;
}

/* Whoever is nearer to the boundary than to a force of zero is on it. */
static void settle(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    double size = distance(p->n, w->x);
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *b = &p->block[i];
        double *x = w->x + b->row;
        w->touching[i] = !bounded(b) && b->set == TG_QCQP_SET_BALL;
        if (!bounded(b))
            continue;
        if (b->set == TG_QCQP_SET_POSITIVE)
        {
            w->touching[i] = w->lambda[i] * size > x[0] * w->scale;
            x[0] = w->touching[i] ? 0 : x[0];
            continue;
        }
        double radius = b->radius, inside = 2 * gap_of(b, x) / (radius * radius);
        double length = sqrt(fmax(0, radius * radius - 2 * gap_of(b, x)));
        w->touching[i] = w->lambda[i] * radius > inside * w->scale && length > 0;
        for (int r = 0; r < b->rows && w->touching[i]; r++)
            x[r] *= radius / length;
    }
}

/* lambda = kappa / gap: the next step is one of Newton's method on the barrier alone, which moves away from any
 * boundary */
static void recentre(const tg_qcqp_problem *p, tg_qcqp_work *w, double kappa)
{
    for (int i = 0; i < p->blocks; i++)
        if (bounded(&p->block[i]) && p->block[i].set == TG_QCQP_SET_BALL)
            w->lambda[i] = kappa / gap_of(&p->block[i], w->x + p->block[i].row);
}

void tg_qcqp_interior(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    start(p, w);
    double first = INFINITY, best = INFINITY;
    bool jammed = false, balls = false;
    for (int i = 0; i < p->blocks; i++)
        balls = balls || (p->block[i].set == TG_QCQP_SET_BALL && p->block[i].radius > 0);
    for (int k = 0; k < MOST_STEPS; k++)
    {
        tg_qcqp_gradient(p, w->x, w->s);
        double kappa = complementarity(p, w, w->x, w->y, 0);
        first = k == 0 ? kappa : first;
        double error = fmax(stationarity(p, w), kappa / first);
        if (error < best)
        {
            best = error;
            memcpy(w->best, w->x, sizeof(double) * (size_t)p->n);
            memcpy(w->trial, w->lambda, sizeof(double) * (size_t)p->blocks);
        }
        if (jammed)
            recentre(p, w, kappa);
        if (kappa <= DBL_EPSILON * first || (best <= p->tolerance && error > p->tolerance) || !factor(p, w))
            break;
        /* Mehrotra's centring: the cube of what a step without it leaves. A short step says nothing of second order. */
        aim(p, w, 0, false);
        direction(p, w, 0);
        double length = longest(p, w), share = fmax(0, complementarity(p, w, w->d, w->y, length) / kappa);
        double sigma = fmax(share * share * share, DBL_EPSILON);
        sigma = jammed ? 1 : sigma;
        aim(p, w, sigma * kappa, length > SHORT);
        direction(p, w, sigma);
        length = longest(p, w);
        jammed = balls && length < SHORT && !jammed;
        if (length * distance(p->n, w->d) <= DBL_EPSILON * distance(p->n, w->x))
            break;
        for (int i = 0; i < p->n; i++)
            w->x[i] += length * w->d[i];
        for (int i = 0; i < p->blocks; i++)
            w->lambda[i] += length * w->y[i];
        if (tg_qcqp_rounding(p, w->x) > sqrt(p->tolerance) * w->scale)
            break; /* runs away */
    }
    if (best <= p->tolerance)
    {
        memcpy(w->x, w->best, sizeof(double) * (size_t)p->n);
        memcpy(w->lambda, w->trial, sizeof(double) * (size_t)p->blocks);
    }
    settle(p, w);
}
