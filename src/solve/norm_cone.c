/* Norms and projections of friction cones and pyramids (norm_cone.h).
 *
 * Pyramid "box": x_i = y_i clipped to [-r, r], and r minimises (r - y_N)^2 + sum over |y_i| > r of (|y_i| - r)^2, so
 *     r = (y_N + sum |y_i|) / (1 + k),   summed over the k entries with |y_i| > r,
 * found with the entries in falling order. Its dual cone is the "diamond", whose projection is y + P_box(-y) (Moreau).
 */
#include "solve/norm_cone.h"

#include <math.h>

static double length(int n, const double *x)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

double tg_norm_of(tg_norm norm, int n, const double *x)
{
    double sum = 0, largest = 0;
    if (norm == TG_NORM_TWO)
        return length(n, x);
    for (int i = 0; i < n; i++)
    {
        sum += fabs(x[i]);
        largest = fmax(largest, fabs(x[i]));
    }
    return norm == TG_NORM_MAX ? largest : sum;
}

double tg_norm_dual(tg_norm norm, int n, const double *s)
{
    return norm == TG_NORM_TWO ? length(n, s) : tg_norm_of(norm == TG_NORM_MAX ? TG_NORM_SUM : TG_NORM_MAX, n, s);
}

double tg_norm_slope(tg_norm norm, int n, const double *s, int i)
{
    double size = tg_norm_dual(norm, n, s);
    int first = 0;
    if (size == 0 || s[i] == 0)
        return 0;
    if (norm == TG_NORM_TWO)
        return s[i] / size;
    while (norm == TG_NORM_SUM && fabs(s[first]) < size)
        first++;
    return norm == TG_NORM_MAX || first == i ? copysign(1, s[i]) : 0;
}

static void project_two(int d, double *y)
{
    double tangent = length(d - 1, y + 1), normal = y[0];
    if (tangent <= normal)
        return;
    double foot = tangent <= -normal ? 0 : 0.5 * (normal + tangent);
    y[0] = foot;
    for (int i = 1; i < d; i++)
        y[i] *= tangent > 0 ? foot / tangent : 0;
}

/* |y_i| in falling order */
static void fall(int n, const double *y, double *size)
{
    for (int i = 0; i < n; i++)
    {
        int k = i;
        for (; k > 0 && size[k - 1] < fabs(y[i]); k--)
            size[k] = size[k - 1];
        size[k] = fabs(y[i]);
    }
}

static void clip(int n, double radius, double *x)
{
    for (int i = 0; i < n; i++)
        x[i] = fmax(-radius, fmin(radius, x[i]));
}

static void project_max(int d, double *y)
{
    double size[TG_NORM_ROWS], radius = y[0], sum = y[0];
    fall(d - 1, y + 1, size);
    for (int k = 0; k < d - 1 && size[k] > radius; k++)
    {
        sum += size[k];
        radius = sum / (k + 2); /* the normal and k + 1 entries */
    }
    y[0] = fmax(radius, 0);
    clip(d - 1, y[0], y + 1);
}

void tg_norm_project(tg_norm norm, int d, double *y)
{
    double opposite[TG_NORM_ROWS];
    if (norm == TG_NORM_TWO)
        project_two(d, y);
    else if (norm == TG_NORM_MAX)
        project_max(d, y);
    else
    {
        for (int i = 0; i < d; i++)
            opposite[i] = -y[i];
        project_max(d, opposite);
        for (int i = 0; i < d; i++)
            y[i] += opposite[i];
    }
}

/* sum |x_i| = radius: every entry is shortened by the same, down to zero */
static void shorten(int n, double radius, double *x)
{
    double size[TG_NORM_ROWS], sum = 0, less = 0;
    if (tg_norm_of(TG_NORM_SUM, n, x) <= radius)
        return;
    fall(n, x, size);
    for (int k = 0; k < n && size[k] > less; k++)
    {
        sum += size[k];
        less = fmax(less, (sum - radius) / (k + 1));
    }
    for (int i = 0; i < n; i++)
        x[i] = copysign(fmax(fabs(x[i]) - less, 0), x[i]);
}

void tg_norm_ball(tg_norm norm, int n, double radius, double *x)
{
    double size = norm == TG_NORM_TWO ? length(n, x) : 0, r = fmax(radius, 0);
    if (norm == TG_NORM_MAX)
        clip(n, r, x);
    else if (norm == TG_NORM_SUM)
        shorten(n, r, x);
    else
        for (int i = 0; i < n && size > r; i++)
            x[i] *= r / size;
}
