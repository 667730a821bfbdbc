/* Lemke's pivoting for the LCP of lemke.h. */
#include "cartesian/lemke.h"

#include <math.h>
#include <string.h>

#include "base/status.h"

enum
{
    PIVOTS = 50 /* per variable: far more than a problem with a solution takes */
};

size_t tg_lemke_room(int rows)
{
    size_t m = 2 * (size_t)rows;
    return m * (2 * m + 2) + 2 * m;
}

typedef struct lcp
{
    int m, width;
    double *T;     /* m rows: w | z | z0 | right side */
    double *basis; /* column that is basic in a row; integers */
} lcp;

static void pivot(lcp *l, int row, int column)
{
    double *r = l->T + (size_t)row * (size_t)l->width, factor = 1 / r[column];
    for (int j = 0; j < l->width; j++)
        r[j] *= factor;
    for (int i = 0; i < l->m; i++)
    {
        double *t = l->T + (size_t)i * (size_t)l->width, a = t[column];
        if (i == row || a == 0)
            continue;
        for (int j = 0; j < l->width; j++)
            t[j] -= a * r[j];
        t[column] = 0;
    }
    l->basis[row] = column;
}

/* row of the least ratio, z0's row first among equals; -1: a ray */
static int leaving(const lcp *l, int column)
{
    int row = -1;
    double least = INFINITY;
    for (int i = 0; i < l->m; i++)
    {
        const double *t = l->T + (size_t)i * (size_t)l->width;
        if (t[column] <= 1e-12)
            continue;
        double ratio = t[l->width - 1] / t[column];
        bool z0 = (int)l->basis[i] == 2 * l->m;
        if (ratio < least - 1e-14 || (ratio <= least + 1e-14 && z0))
        {
            row = i;
            least = fmin(ratio, least);
        }
    }
    return row;
}

static bool lemke(lcp *l)
{
    int m = l->m, row = -1;
    double least = 0;
    for (int i = 0; i < m; i++)
    {
        l->basis[i] = i;
        double q = l->T[(size_t)i * (size_t)l->width + (size_t)(2 * m + 1)];
        if (q < least)
        {
            least = q;
            row = i;
        }
    }
    if (row < 0)
        return true;
    int column = 2 * m;
    for (int k = 0; k < PIVOTS * m; k++)
    {
        int out = (int)l->basis[row];
        pivot(l, row, column);
        if (out == 2 * m)
            return true;
        column = out < m ? out + m : out - m;
        row = leaving(l, column);
        if (row < 0)
            return false;
    }
    return false;
}

/* Rows and signs of the variables of a contact: how a, b_j act on rows of G */
static int directions(const tg_ccp_cone *cone, int *row, double *sign)
{
    int count = 0;
    row[count] = cone->row;
    sign[count++] = 1;
    for (int r = 1; r < cone->rows; r++)
        for (int s = 0; s < 2; s++)
        {
            row[count] = cone->row + r;
            sign[count++] = s == 0 ? 1 : -1;
        }
    return count;
}

/* fills the row of variable k (contact i) against all variables of contact j, which begin at column 0 of `out` */
static int couple(const tg_ccp_problem *p, int row, double sign, const tg_ccp_cone *other, double *out)
{
    int rows[8];
    double signs[8];
    int count = directions(other, rows, signs);
    for (int b = 0; b < count; b++)
        out[b] = -sign * signs[b] * p->G[row * p->ldg + rows[b]];
    return count + (other->rows > 1);
}

/* The tableau of a problem. Ties among ratios can make pivoting turn in circles: right sides get unequal shares of
 * `shift`. */
static void fill(const tg_ccp_problem *p, double shift, lcp *l)
{
    int rows[8], m = l->m;
    double signs[8], largest = 0;
    memset(l->T, 0, sizeof *l->T * (size_t)m * (size_t)l->width);
    for (int i = 0, at = 0; i < p->cones; i++)
    {
        const tg_ccp_cone *cone = &p->cone[i];
        int count = directions(cone, rows, signs), first = at;
        for (int a = 0; a < count; a++, at++)
        {
            double *t = l->T + (size_t)at * (size_t)l->width;
            for (int j = 0, column = m; j < p->cones; j++)
                column += couple(p, rows[a], signs[a], &p->cone[j], t + column);
            double g = p->g[rows[a]], aim = a == 0 ? fmax(p->target[cone->row], -cone->e * g) : 0;
            t[2 * m + 1] = signs[a] * g - aim;
            largest = fmax(largest, fabs(t[2 * m + 1]));
            if (a > 0)
                t[m + first + count] = -1; /* slip speed */
        }
        if (cone->rows == 1)
            continue;
        double *t = l->T + (size_t)at++ * (size_t)l->width;
        t[m + first] = -cone->mu[0];
        for (int a = 1; a < count; a++)
            t[m + first + a] = 1;
    }
    for (int i = 0; i < m; i++)
    {
        double *t = l->T + (size_t)i * (size_t)l->width;
        t[i] = 1;
        t[2 * m] = -1;
        t[2 * m + 1] += shift * largest * (i + 1) / m;
    }
}

tg_status tg_lcp_impulse(tg_cartesian_lane *lane, const tg_ccp_problem *p, double *f)
{
    static const double shift[] = {0, 1e-12, 1e-10, 1e-8}; /* of the largest speed; impulses are off by as much */
    enum
    {
        ATTEMPTS = sizeof shift / sizeof *shift
    };
    lcp l = {.T = lane->tableau};
    int rows[8];
    double signs[8];
    for (int i = 0; i < p->cones; i++)
        l.m += directions(&p->cone[i], rows, signs) + (p->cone[i].rows > 1);
    int m = l.m;
    bool solved = false;
    l.width = 2 * m + 2;
    l.basis = l.T + (size_t)m * (size_t)l.width;
    for (int i = 0; i < ATTEMPTS && !solved; i++)
    {
        fill(p, shift[i], &l);
        solved = lemke(&l);
    }
    if (!solved)
        return tg_fail(&lane->error, TG_ERR_NUMERIC, "%s: the LCP of %d contacts has no solution by pivoting",
                       lane->c->name, p->cones);
    memset(f, 0, sizeof *f * (size_t)p->rows);
    for (int k = 0; k < m; k++)
    {
        int variable = (int)l.basis[k] - m;
        if (variable < 0 || variable >= m)
            continue;
        for (int i = 0, at = 0; i < p->cones; i++)
        {
            int count = directions(&p->cone[i], rows, signs);
            if (variable >= at && variable < at + count)
                f[rows[variable - at]] += signs[variable - at] * l.T[(size_t)k * (size_t)l.width + (size_t)(2 * m + 1)];
            at += count + (p->cone[i].rows > 1);
        }
    }
    return TG_OK;
}
