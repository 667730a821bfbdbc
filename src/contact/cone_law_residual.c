/* The residual of any law, recomputed from the problem (cone_law.h).
 *
 * gamma_N = sigma_N + c, with c = |S sigma_T|_* of laws with the shift. All parts are velocities:
 *     primal           max_i G_ii |L_i - P_i|, P the nearer of two points of K: L with its tangent taken to the cone,
 *                      and L projected in scaled variables
 *     dual             max(0, |S sigma_T|_* - gamma_N): how far gamma must be lifted along n to lie in K*
 *     complementarity  |L . gamma| / max(L_N, L_ref), L_ref = max |g| / mean G_ii
 * For "ncp" these are the numbers of tg_island_residual. */
#include <math.h>
#include <string.h>

#include "contact/cone_law.h"
#include "math/lanes.h"

typedef struct measure
{
    const tg_cone_law *law;
    const tg_island *island;
    const double *L, *sigma;
    double reference; /* L_ref */
    tg_residual out;
} measure;

static double diagonal(const measure *m, int row)
{
    return m->island->G[(ptrdiff_t)row * (m->island->ldg + 1)];
}

static double reference_impulse(const tg_island *island)
{
    double trace = 0, velocity = 0;
    for (int i = 0; i < island->rows; i++)
    {
        trace += island->G[(ptrdiff_t)i * (island->ldg + 1)];
        velocity = tg_larger(velocity, fabs(island->g[i]));
    }
    return trace > 0 ? velocity * island->rows / trace : 0;
}

/* max_i G_ii |L_i - mu_i x_i|; rows without friction must carry nothing */
static double distance(const measure *m, const tg_block *block, const double *x)
{
    double worst = 0;
    for (int i = 0; i < block->rows; i++)
    {
        double mu = i == 0 ? 1 : block->mu[i - 1], point = mu > 0 ? mu * x[i] : 0;
        worst = tg_larger(worst, diagonal(m, block->row + i) * fabs(m->L[block->row + i] - point));
    }
    return worst;
}

static double primal(const measure *m, const tg_block *block)
{
    double x[TG_CONE_MAX], y[TG_CONE_MAX];
    int n = block->rows;
    for (int i = 0; i < n; i++)
    {
        double mu = i == 0 ? 1 : block->mu[i - 1];
        x[i] = mu > 0 ? m->L[block->row + i] / mu : 0;
    }
    memcpy(y, x, sizeof x);
    y[0] = tg_larger(y[0], 0);
    tg_norm_ball(m->law->norm, n - 1, y[0], y + 1);
    tg_norm_project(m->law->norm, n, x);
    return tg_smaller(distance(m, block, x), distance(m, block, y));
}

static void measure_contact(measure *m, const tg_block *block)
{
    const double *L = m->L + block->row, *sigma = m->sigma + block->row;
    double s[TG_CONE_MAX] = {0}, work = 0;
    for (int i = 0; i < block->rows; i++)
    {
        s[i] = i == 0 ? sigma[0] : block->mu[i - 1] * sigma[i];
        work += L[i] * sigma[i];
    }
    double slip = tg_norm_dual(m->law->norm, block->rows - 1, s + 1), shift = m->law->shift || block->parted ? slip : 0;
    double scale = tg_larger(fabs(L[0]), m->reference);
    work = fabs(work + L[0] * shift);
    m->out.primal = tg_larger(m->out.primal, primal(m, block));
    m->out.dual = tg_larger(m->out.dual, slip - sigma[0] - shift);
    m->out.complementarity = tg_larger(m->out.complementarity, scale > 0 ? work / scale : 0);
    m->out.work = tg_larger(m->out.work, work);
}

static void measure_friction(measure *m, const tg_block *block)
{
    double L = m->L[block->row], sigma = m->sigma[block->row];
    double excess = tg_larger(0, fabs(L) - block->bound), work = fabs(block->bound * fabs(sigma) + L * sigma);
    m->out.primal = tg_larger(m->out.primal, diagonal(m, block->row) * excess);
    m->out.complementarity = tg_larger(m->out.complementarity, block->bound > 0 ? work / block->bound : 0);
    m->out.work = tg_larger(m->out.work, work);
}

tg_residual tg_cone_law_residual(const tg_cone_law *law, const tg_island *island, const double *L, double *sigma)
{
    measure m = {.law = law, .island = island, .L = L, .sigma = sigma, .reference = reference_impulse(island)};
    v4_multiply(island->rows, island->rows, island->G, island->ldg, L, sigma);
    for (int i = 0; i < island->rows; i++)
        sigma[i] += island->g[i];
    if (!v4_all_finite(island->rows, L) || !v4_all_finite(island->rows, sigma))
        return (tg_residual){INFINITY, INFINITY, INFINITY, INFINITY};
    for (int b = 0; b < island->blocks; b++)
    {
        const tg_block *block = &island->block[b];
        if (block->kind == TG_BLOCK_FRICTION)
            measure_friction(&m, block);
        else if (block->kind == TG_BLOCK_EQUALITY)
            for (int i = block->row; i < block->row + block->rows; i++)
                m.out.dual = tg_larger(m.out.dual, fabs(sigma[i]));
        else
            measure_contact(&m, block);
    }
    return m.out;
}
