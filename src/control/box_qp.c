#include "control/box_qp.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "math/dense.h"

static double clip(const tg_box_qp *p, int i, double x)
{
    return fmin(fmax(x, p->lower[i]), p->upper[i]);
}

/* gradient = H x + g; returns 1/2 x'H x + g'x */
static double evaluate(const tg_box_qp *p, const double *x, double *gradient)
{
    double value = 0;
    for (int i = 0; i < p->n; i++)
    {
        double sum = 0;
        for (int j = 0; j < p->n; j++)
            sum += p->H[i * p->n + j] * x[j];
        value += x[i] * (0.5 * sum + p->g[i]);
        gradient[i] = sum + p->g[i];
    }
    return value;
}

/* Lists the numbers that no bound holds against the gradient. */
static void list_free(tg_box_qp *p, const double *gradient)
{
    p->nfree = 0;
    for (int i = 0; i < p->n; i++)
        if (!((p->x[i] <= p->lower[i] && gradient[i] > 0) || (p->x[i] >= p->upper[i] && gradient[i] < 0)))
            p->free[p->nfree++] = i;
}

static bool factor(tg_box_qp *p)
{
    int f = p->nfree;
    for (int i = 0; i < f; i++)
        for (int j = 0; j < f; j++)
            p->factor[i * f + j] = p->H[p->free[i] * p->n + p->free[j]];
    return tg_chol(f, p->factor, f) < 0;
}

/* Along x + length way, projected, until the value falls by a tenth of what the slope promises; false: it does not. */
static bool search(tg_box_qp *p, double value, const double *gradient, const double *way, double *next)
{
    double *slopes = next + p->n;
    for (double length = 1; length > DBL_EPSILON; length /= 2)
    {
        double promise = 0;
        for (int i = 0; i < p->n; i++)
        {
            next[i] = clip(p, i, p->x[i] + length * way[i]);
            promise += gradient[i] * (next[i] - p->x[i]);
        }
        if (promise < 0 && evaluate(p, next, slopes) - value <= 0.1 * promise)
        {
            memcpy(p->x, next, sizeof(double) * (size_t)p->n);
            return true;
        }
    }
    return false;
}

/* A Newton step of the free numbers with the others held changes which are held only finitely often: n rounds and a few
 * are plenty. */
bool tg_box_qp_solve(tg_box_qp *p)
{
    int n = p->n;
    double *gradient = p->work, *way = p->way, *next = p->next;
    for (int i = 0; i < n; i++)
        p->x[i] = clip(p, i, p->x[i]);
    for (int round = 0; round < 2 * n + 10; round++)
    {
        double value = evaluate(p, p->x, gradient), largest = 0;
        list_free(p, gradient);
        if (!factor(p))
            return false;
        memset(way, 0, sizeof(double) * (size_t)n);
        for (int i = 0; i < p->nfree; i++)
            next[i] = -gradient[p->free[i]];
        tg_chol_solve(p->nfree, p->factor, p->nfree, 1, next, 1);
        for (int i = 0; i < p->nfree; i++)
        {
            way[p->free[i]] = next[i];
            largest = fmax(largest, fabs(next[i]) / fmax(fabs(p->x[p->free[i]]), DBL_MIN));
        }
        if (largest <= 1e3 * DBL_EPSILON || !search(p, value, gradient, way, next))
            break;
    }
    return true;
}
