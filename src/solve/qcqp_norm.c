/* The solution of least norm.
 *
 * s = G x + g is the same at all solutions. Blocks with s_i != 0 have the same x_i at all of them. The others, F, are
 * chosen by
 *     minimise 1/2 |x|^2   subject to  s_F = 0,  x_i in C_i
 * with multipliers w for s_F = 0 (method of multipliers): x minimises 1/2 x'(G + eps) x + (g + w)'x, then w += s_F. The
 * error falls by eps / (eps + smallest eigenvalue of G_FF that is not zero) per step. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "solve/qcqp.h"

enum
{
    MOST_STEPS = 20,
    NEWTON_STEPS = 30
};

/* eps over the largest c: rounding moves the null space by DBL_EPSILON / eps. The second where the first converges
 * slowly. */
static const double softness[] = {1e-5, 1e-8};

/* blocks that are pressed stay; true: some are left */
static bool choose(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    bool any = false;
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *b = &p->block[i];
        double size = 0;
        for (int r = b->row; r < b->row + b->rows; r++)
            size += w->s[r] * w->s[r];
        w->block[i] = *b;
        if (sqrt(size) > p->tolerance * w->scale)
            w->block[i].set = TG_QCQP_SET_PINNED;
        else
            any = true;
    }
    return any;
}

static double soften(const tg_qcqp_problem *p, tg_qcqp_work *w, double share)
{
    double eps = 0;
    for (int i = 0; i < p->blocks; i++)
        eps = fmax(eps, share * w->c[i]);
    memcpy(w->H, p->G, sizeof(double) * (size_t)p->n * (size_t)p->n);
    for (int i = 0; i < p->n; i++)
        w->H[(ptrdiff_t)i * (p->n + 1)] += eps;
    memcpy(w->shifted, p->g, sizeof(double) * (size_t)p->n);
    return eps;
}

/* w += s_F; how large s_F is */
static double multiply(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    double largest = 0;
    tg_qcqp_gradient(p, w->x, w->ds);
    for (int i = 0; i < p->blocks; i++)
        for (int r = w->block[i].row; w->block[i].set != TG_QCQP_SET_PINNED && r < w->block[i].row + w->block[i].rows;
             r++)
        {
            largest = fmax(largest, fabs(w->ds[r]));
            w->shifted[r] += w->ds[r];
        }
    return largest;
}

/* w->x into the sets; its residual */
static double place(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    for (int i = 0; i < p->blocks; i++)
        w->touching[i] = tg_qcqp_project(&p->block[i], w->x + p->block[i].row);
    tg_qcqp_gradient(p, w->x, w->s);
    return tg_qcqp_residual(p, w);
}

bool tg_qcqp_least_norm(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    double before = tg_qcqp_residual(p, w), aim = 1e2 * tg_qcqp_rounding(p, w->x);
    memcpy(w->kept, w->x, sizeof(double) * (size_t)p->n);
    bool found = !choose(p, w);
    for (size_t i = 0; i < sizeof softness / sizeof softness[0] && !found; i++)
    {
        soften(p, w, softness[i]);
        tg_qcqp_problem soft = *p;
        soft.G = w->H, soft.g = w->shifted, soft.block = w->block;
        for (int k = 0; k < MOST_STEPS && !found; k++)
        {
            tg_qcqp_descend(&soft, w, NEWTON_STEPS);
            found = multiply(p, w) <= aim;
        }
    }
    if (found && place(p, w) <= fmax(before, fmin(TG_QCQP_SIZE_MAX * aim, p->tolerance * w->scale)))
        return true;
    memcpy(w->x, w->kept, sizeof(double) * (size_t)p->n);
    place(p, w);
    return false;
}
