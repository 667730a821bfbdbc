/* Anderson acceleration (anderson.h). */
#include "solve/anderson.h"

#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "solve/tolerance.h"

static const double longer = 2; /* a step may be so much longer than the one before: other sets become active */

void tg_anderson_restart(tg_anderson *a)
{
    a->count = a->place = 0;
    a->started = false;
    a->length = INFINITY;
}

static double dot(int n, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* the products of the differences that were just written */
static void remember(tg_anderson *a)
{
    const double *df = a->df + a->place * a->ld;
    a->count = a->count < a->memory ? a->count + 1 : a->count;
    for (int k = 0; k < a->count; k++)
        a->gram[k * TG_ANDERSON_MEMORY + a->place] = a->gram[a->place * TG_ANDERSON_MEMORY + k] =
            dot(a->n, df, a->df + k * a->ld);
    a->place = a->place + 1 < a->memory ? a->place + 1 : 0;
}

/* (df' df + p I) w = df' f, p: what rounding leaves of these products; false when there is none */
static bool weigh(const tg_anderson *a, const double *f, double *w)
{
    double M[TG_ANDERSON_MEMORY * TG_ANDERSON_MEMORY], trace = 0;
    int m = a->count;
    for (int i = 0; i < m; i++)
        trace += a->gram[i * (TG_ANDERSON_MEMORY + 1)];
    for (int i = 0; i < m; i++)
    {
        w[i] = dot(a->n, a->df + i * a->ld, f);
        for (int j = 0; j < m; j++)
            M[i * m + j] = a->gram[i * TG_ANDERSON_MEMORY + j] + (i == j ? a->n * TG_ROUNDING * trace : 0);
    }
    if (m == 0 || !(trace > 0) || tg_chol(m, M, m) >= 0)
        return false;
    tg_chol_solve(m, M, m, 1, w, 1);
    return true;
}

void tg_anderson_next(tg_anderson *a, const double *image, double *y)
{
    size_t bytes = sizeof(double) * (size_t)a->n;
    double square = 0, w[TG_ANDERSON_MEMORY];
    for (int i = 0; i < a->n; i++)
        square += (image[i] - y[i]) * (image[i] - y[i]);
    if (!(sqrt(square) <= longer * a->length))
    {
        memcpy(y, a->image, bytes);
        tg_anderson_restart(a);
        return;
    }
    for (int i = 0; i < a->n; i++)
    {
        double f = image[i] - y[i];
        if (a->started)
        {
            a->dy[a->place * a->ld + i] = y[i] - a->y[i];
            a->df[a->place * a->ld + i] = f - a->f[i];
        }
        a->y[i] = y[i];
        a->f[i] = f;
    }
    if (a->started)
        remember(a);
    a->started = true;
    memcpy(a->image, image, bytes);
    memcpy(y, image, bytes);
    a->length = INFINITY;
    if (!weigh(a, a->f, w))
        return;
    for (int k = 0; k < a->count; k++)
        for (int i = 0; i < a->n; i++)
            y[i] -= w[k] * (a->dy[k * a->ld + i] + a->df[k * a->ld + i]);
    a->length = sqrt(square);
}
