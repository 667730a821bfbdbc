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

/* the slowest slip of a contact that slides, |S sigma_T| over the largest coefficient */
static double slowest_slip(const tg_implicit *f)
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
        slowest = largest > 0 ? tg_smaller(slowest, sqrt(slip) / largest) : slowest;
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

bool tg_find_point(tg_implicit *f, tg_arena *arena)
{
    int rows = f->island->rows;
    double slowest = slowest_slip(f), most = slowest < INFINITY ? largest_held(f, f->sigma) : 0;
    if (!(most > sqrt(DBL_EPSILON) * slowest && most > TG_ROUNDING * largest_of(rows, f->island->g)))
        return false;
    size_t mark = tg_arena_mark(arena), bytes = (size_t)rows * sizeof(double);
    double *r = TG_TAKE(arena, double, (size_t)rows, "implicit: velocities of held rows");
    double *dL = TG_TAKE(arena, double, (size_t)rows, "implicit: impulses that bring them to rest");
    bool moves = !arena->failed;
    if (moves)
        memset(r, 0, bytes);
    for (int i = 0; i < f->held && moves; i++)
        r[f->row[i]] = f->sigma[f->row[i]];
    moves = moves && tg_implicit_forward(f, 1, r, NULL, 1, arena, dL, 1, NULL) == TG_OK;
    if (moves)
        answer(f, dL, r);
    moves = moves && largest_held(f, r) < 0.5 * most && largest_of(rows, dL) < 0.5 * largest_of(rows, f->L);
    for (int i = 0; i < rows && moves; i++)
    {
        f->point[i] = f->L[i] + dL[i];
        f->point[rows + i] = r[i];
    }
    f->L = moves ? f->point : f->L;
    f->sigma = moves ? f->point + rows : f->sigma;
    arena->failed = false;
    tg_arena_release(arena, mark);
    return moves;
}
