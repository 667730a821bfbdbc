/* The point at which the equations of slow slips are differentiated.
 *
 * The solver ends when held rows move by less than its tolerance. The direction of a slow slip is then known to that
 * over the slip, and with it the derivative. A step with the factors at hand,
 *     L + D r,   sigma + G D r,   r = sigma of held rows,
 * brings held rows to rest. It is not taken where they rest up to the rounding of sigma = G L + g, or if it is no small
 * correction, as with factors that hardly determine it. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "contact/implicit_forms.h"
#include "math/lanes.h"

double tg_slowest_slip(const tg_implicit *f, double least)
{
    double slowest = INFINITY;
    for (int b = 0; b < f->island->blocks; b++)
    {
        const tg_block *block = &f->island->block[b];
        double slip = 0, largest = 0;
        for (int i = 1; i < block->rows && block->kind == TG_BLOCK_CONTACT && f->slides[b]; i++)
        {
            double mu = block->mu[i - 1], moved = mu * f->sigma[block->row + i];
            slip += moved * moved;
            largest = tg_larger(largest, mu);
        }
        slip = largest > 0 ? sqrt(slip) / largest : 0;
        slowest = slip > least ? tg_smaller(slowest, slip) : slowest;
    }
    return slowest;
}

static double largest_of(int n, const double *x)
{
    double largest = 0;
    for (int i = 0; i < n; i++)
        largest = tg_larger(largest, fabs(x[i]));
    return largest;
}

/* how fast held rows move */
static double largest_held(const tg_implicit *f, const double *sigma)
{
    double largest = 0;
    for (int i = 0; i < f->held; i++)
        largest = tg_larger(largest, fabs(sigma[f->row[i]]));
    return largest;
}

/* sigma + G dL */
static void answer(const tg_implicit *f, const double *dL, double *out)
{
    int n = f->island->rows;
    for (int i = 0; i < n; i++)
        out[i] = f->sigma[i] + v4_dot_of(n, f->island->G + (size_t)i * (size_t)f->island->ldg, dL);
}

/* D r (rows), r = sigma of held rows: the impulses that bring them to rest. In f->work. */
static double *bring_to_rest(const tg_implicit *f, const double *sigma)
{
    int rows = f->island->rows;
    double *r = f->work + 2 * rows, *dL = f->work + 3 * rows;
    memset(r, 0, (size_t)rows * sizeof *r);
    for (int i = 0; i < f->held; i++)
        r[f->row[i]] = sigma[f->row[i]];
    tg_implicit_forward(f, r, dL);
    return dL;
}

bool tg_find_point(tg_implicit *f)
{
    int rows = f->island->rows;
    double slowest = tg_slowest_slip(f, 0), most = slowest < INFINITY ? largest_held(f, f->sigma) : 0;
    if (!(most > sqrt(DBL_EPSILON) * slowest && most > TG_ROUNDING * largest_of(rows, f->island->g)))
        return false;
    const double *dL = bring_to_rest(f, f->sigma);
    double *moved = f->work + 4 * rows;
    answer(f, dL, moved);
    if (!(largest_held(f, moved) < 0.5 * most && largest_of(rows, dL) < 0.5 * largest_of(rows, f->L)))
        return false;
    for (int i = 0; i < rows; i++)
    {
        f->point[i] = f->L[i] + dL[i];
        f->point[rows + i] = moved[i];
    }
    f->L = f->point;
    f->sigma = f->point + rows;
    return true;
}

bool tg_is_rough(const tg_implicit *f, const double *L, const double *sigma)
{
    const tg_island *island = f->island;
    double bound = f->condition * largest_held(f, sigma) / TG_NO_CHANGE, largest = 0, off = 0;
    for (int i = 0; i < island->rows && largest < bound; i++)
        largest = tg_larger(largest, island->G[(size_t)i * (size_t)(island->ldg + 1)] * fabs(L[i]));
    if (largest >= bound)
        return false;
    const double *dL = bring_to_rest(f, sigma);
    for (int i = 0; i < island->rows; i++)
        off = tg_larger(off, island->G[(size_t)i * (size_t)(island->ldg + 1)] * fabs(dL[i]));
    return off > TG_NO_CHANGE * largest;
}
