/* Descent: block gradient steps choose the face, Newton steps solve on it.
 *
 * Both lower 1/2 x'Gx + g'x over the feasible set, so that their alternation converges as the gradient steps alone do
 * (block coordinate descent on a convex function over a product of sets), and quadratically once the face is that
 * of the solution. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "math/lanes.h"
#include "solve/qcqp.h"

enum
{
    FIRST_SWEEPS = 4, /* before the first factorisation: a sweep costs less than a tenth of one from 30 rows on */
    HALVINGS = 12     /* of a step; gradient steps do the rest */
};

static inline double square_of(int rows, const double *x)
{
    if (rows == 2) /* friction of condim 3: no loop */
        return x[0] * x[0] + x[1] * x[1];
    double sum = 0;
    for (int r = 0; r < rows; r++)
        sum += x[r] * x[r];
    return sum;
}

/* on the sphere, as near as a point that was projected is; square: |x|^2 */
static inline bool reaches(const tg_qcqp_block *block, double square)
{
    double radius = block->radius * (1 - TG_QCQP_SIZE_MAX * DBL_EPSILON);
    return square >= radius * radius;
}

TG_INLINE bool project(const tg_qcqp_block *block, double *x)
{
    if (block->set == TG_QCQP_SET_POSITIVE)
    {
        bool out = x[0] <= 0;
        x[0] = out ? 0 : x[0];
        return out;
    }
    if (block->set != TG_QCQP_SET_BALL)
        return false;
    double square = square_of(block->rows, x);
    if (!reaches(block, square))
        return false;
    double factor = block->radius == 0 ? 0 : block->radius / sqrt(square);
    for (int r = 0; r < block->rows; r++)
        x[r] *= factor;
    return true;
}

bool tg_qcqp_project(const tg_qcqp_block *block, double *x)
{
    return project(block, x);
}

void tg_qcqp_gradient(const tg_qcqp_problem *p, const double *x, double *s)
{
    tg_gemm_nt(p->n, 1, p->n, p->G, p->n, x, p->n, TG_GEMM_SET, s, 1);
    for (int i = 0; i < p->n; i++)
        s[i] += p->g[i];
}

double tg_qcqp_rounding(const tg_qcqp_problem *p, const double *x)
{
    double sum = 0, largest = 0, scale = 0;
    for (int i = 0; i < p->n; i++)
    {
        sum += fabs(x[i]);
        double own = p->G[(ptrdiff_t)i * (p->n + 1)], speed = fabs(p->g[i]);
        largest = own > largest ? own : largest;
        scale = speed > scale ? speed : scale;
    }
    return DBL_EPSILON * (largest * sum + scale);
}

/* |x_i - P(x_i - s_i / c_i)| c_i of one block */
static double block_residual(const tg_qcqp_block *block, double c, const double *x, const double *s)
{
    double y[TG_QCQP_SIZE_MAX] = {0}, out = 0, step = 1 / c;
    if (block->set == TG_QCQP_SET_PINNED || (block->set == TG_QCQP_SET_BALL && block->radius == 0))
        return 0;
    for (int r = 0; r < block->rows; r++)
        y[r] = x[r] - s[r] * step;
    if (!project(block, y))
        return sqrt(square_of(block->rows, s));
    for (int r = 0; r < block->rows; r++)
        out += (x[r] - y[r]) * (x[r] - y[r]);
    return sqrt(out) * c;
}

static double residual_of(const tg_qcqp_problem *p, const tg_qcqp_work *w, const double *x, const double *s)
{
    double largest = 0;
    for (int i = 0; i < p->blocks; i++)
    {
        double e = block_residual(&p->block[i], w->c[i], x + p->block[i].row, s + p->block[i].row);
        if (!(e <= largest)) /* NaN is not hidden */
            largest = e;
    }
    return largest;
}

double tg_qcqp_residual(const tg_qcqp_problem *p, const tg_qcqp_work *w)
{
    return residual_of(p, w, w->x, w->s);
}

/* s += change_r G_r over the rows of a block */
static void add_rows(int n, int rows, const double *G, const double *change, double *s)
{
    if (rows == 2)
    {
        const double a = change[0], b = change[1], *second = G + n;
        for (int j = 0; j < n; j++)
            s[j] += a * G[j] + b * second[j];
        return;
    }
    for (int r = 0; r < rows; r++, G += n)
        for (int j = 0; j < n; j++)
            s[j] += change[r] * G[j];
}

/* one gradient step of each block in turn; s follows */
static void sweep(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *block = &p->block[i];
        double *x = w->x + block->row, change[TG_QCQP_SIZE_MAX] = {0}, moved = 0, step = 1 / w->c[i];
        if (block->set == TG_QCQP_SET_PINNED)
            continue;
        for (int r = 0; r < block->rows; r++)
            change[r] = x[r] - w->s[block->row + r] * step;
        w->touching[i] = project(block, change);
        for (int r = 0; r < block->rows; r++)
        {
            double before = x[r];
            x[r] = change[r];
            change[r] -= before;
            moved += fabs(change[r]);
        }
        if (moved > 0)
            add_rows(p->n, block->rows, p->G + (ptrdiff_t)block->row * p->n, change, w->s);
    }
}

/* trial = P(x + length d), ds = G (trial - x); returns the change of the value, and its linear part in *slope */
static double probe(const tg_qcqp_problem *p, tg_qcqp_work *w, double length, double *slope)
{
    for (int i = 0; i < p->n; i++)
        w->trial[i] = w->x[i] + length * w->d[i];
    for (int i = 0; i < p->blocks; i++)
        if (w->at[i] != TG_QCQP_PINNED)
            project(&p->block[i], w->trial + p->block[i].row);
    for (int i = 0; i < p->n; i++)
        w->r[i] = w->trial[i] - w->x[i];
    tg_gemm_nt(p->n, 1, p->n, p->G, p->n, w->r, p->n, TG_GEMM_SET, w->ds, 1);
    double linear = 0, quadratic = 0;
    for (int i = 0; i < p->n; i++)
    {
        linear += w->s[i] * w->r[i];
        quadratic += w->ds[i] * w->r[i];
    }
    *slope = linear;
    return linear + 0.5 * quadratic;
}

static void take(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *block = &p->block[i];
        double *x = w->trial + block->row;
        if (block->set == TG_QCQP_SET_BALL)
            w->touching[i] = w->at[i] == TG_QCQP_ON || reaches(block, square_of(block->rows, x));
        else
            w->touching[i] = block->set == TG_QCQP_SET_POSITIVE && x[0] == 0;
    }
    for (int i = 0; i < p->n; i++)
    {
        w->x[i] = w->trial[i];
        w->s[i] += w->ds[i];
    }
}

/* A Newton step on the face, shortened until the value falls, or the residual where the value is rounding. False: no
 * length was good. */
static bool newton(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    tg_qcqp_classify(p, w);
    tg_qcqp_factor(p, w, TG_QCQP_SHIFT_SINGULAR);
    w->newton++;
    tg_qcqp_restrict(p, w, w->s, w->y);
    tg_chol_upper_solve(w->moving, w->A, w->ld, 1, w->y, 1);
    for (int i = 0; i < w->moving; i++)
        w->y[i] = -w->y[i];
    tg_qcqp_extend(p, w, w->y, w->d);
    double length = 1;
    for (int k = 0; k < HALVINGS; k++, length *= 0.5)
    {
        double slope, change = probe(p, w, length, &slope);
        bool falls = slope < 0 && change <= 1e-4 * slope;
        if (!falls && k == 0)
        {
            for (int i = 0; i < p->n; i++)
                w->r[i] = w->s[i] + w->ds[i];
            falls = residual_of(p, w, w->trial, w->r) < tg_qcqp_residual(p, w);
        }
        if (falls)
        {
            take(p, w);
            return true;
        }
    }
    return false;
}

/* best <- x while it is better */
static bool keep_best(const tg_qcqp_problem *p, tg_qcqp_work *w, double residual, double *best)
{
    if (!(residual < *best))
        return false;
    memcpy(w->best, w->x, sizeof(double) * (size_t)p->n);
    *best = residual;
    return true;
}

static void restore(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    memcpy(w->x, w->best, sizeof(double) * (size_t)p->n);
    for (int i = 0; i < p->blocks; i++)
        w->touching[i] = project(&p->block[i], w->x + p->block[i].row);
    tg_qcqp_gradient(p, w->x, w->s);
}

bool tg_qcqp_descend(const tg_qcqp_problem *p, tg_qcqp_work *w, int steps)
{
    double best = INFINITY;
    int idle = 0, stuck = 0; /* factorisations without progress, without a step */
    for (int i = 0; i < p->blocks; i++)
        w->touching[i] = w->touching[i] || project(&p->block[i], w->x + p->block[i].row);
    tg_qcqp_gradient(p, w->x, w->s);
    for (int k = 0; k <= steps; k++)
    {
        double residual = tg_qcqp_residual(p, w), rounding = tg_qcqp_rounding(p, w->x);
        double before = best;
        keep_best(p, w, residual, &best);
        if (best <= rounding)
            break;
        idle = residual <= 0.5 * before ? 0 : idle + 1;
        if (best <= p->tolerance * w->scale && idle >= 2)
            break; /* rounding of another kind */
        if (k == steps || rounding > sqrt(p->tolerance) * w->scale || !isfinite(residual))
            break;
        for (int sweeps = k == 0 ? FIRST_SWEEPS : 1; sweeps > 0; sweeps--)
            sweep(p, w);
        if (!newton(p, w) && ++stuck == 2)
            break;
    }
    memcpy(w->last, w->x, sizeof(double) * (size_t)p->n);
    restore(p, w);
    double rounding = tg_qcqp_rounding(p, w->x);
    return tg_qcqp_residual(p, w) <= fmax(p->tolerance * w->scale, 4 * rounding);
}
