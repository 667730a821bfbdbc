/* What every block does in a solution of a law that is not the unrelaxed one, and how far it is from doing something
 * else (cone_law.h).
 *
 * Margins: of a contact that breaks how fast gamma is inside of K*, of one that sticks 1 - |x_T| / x_N, of one that
 * slides the slip (ccp), or the smallest slip of a component at its bound and 1 - |x_i| / x_N of one that is not (box),
 * or how much faster the direction of friction is than the next one and the share of each direction where there are
 * several (diamond). */
#include <math.h>

#include "contact/cone_law.h"

static const double no_slip = 1e-7;  /* m/s; as in modes.c */
static const double no_force = 1e-9; /* m/s: G_NN L_N */
static const double on_cone = 1e-7;  /* of x_N */

static double slide_margin(const tg_cone_law *law, int m, double normal, const double *x, const double *s)
{
    double margin = INFINITY, slip = tg_norm_dual(law->norm, m, s), largest = tg_norm_of(TG_NORM_MAX, m, s);
    int support = 0;
    if (law->norm == TG_NORM_TWO)
        return slip;
    for (int i = 0; i < m; i++)
        support += fabs(x[i]) > on_cone * normal;
    for (int i = 0; i < m; i++)
    {
        double share = fabs(x[i]) / normal, here = INFINITY;
        if (law->norm == TG_NORM_MAX)
            here = share >= 1 - on_cone ? fabs(s[i]) : 1 - share;
        else if (share <= on_cone)
            here = largest - fabs(s[i]);
        else if (support > 1)
            here = share;
        margin = tg_smaller(margin, here);
    }
    return tg_smaller(margin, slip);
}

static tg_block_mode settled(tg_mode mode, double margin)
{
    return (tg_block_mode){.mode = mode, .immaterial = false, .margin = tg_larger(margin, 0)};
}

static tg_block_mode contact_mode(const tg_cone_law *law, const tg_block *block, const double *L, const double *sigma,
                                  double G)
{
    double x[TG_CONE_MAX], s[TG_CONE_MAX], force = G * L[0];
    int m = 0;
    for (int i = 1; block->kind == TG_BLOCK_CONTACT && i < block->rows; i++)
        if (block->mu[i - 1] > 0)
        {
            x[m] = L[i] / block->mu[i - 1];
            s[m++] = block->mu[i - 1] * sigma[i];
        }
    double slip = tg_norm_dual(law->norm, m, s);
    if (force <= no_force)
        return settled(TG_MODE_BREAKING, sigma[0] - (law->shift || block->parted ? 0 : slip));
    double inside = 1 - tg_norm_of(law->norm, m, x) / L[0];
    if (inside >= on_cone)
        return settled(TG_MODE_STICKING, tg_smaller(inside, force));
    if (slip < no_slip)
        return settled(TG_MODE_STICKING, 0);
    return settled(TG_MODE_SLIDING, tg_smaller(slide_margin(law, m, L[0], x, s), force));
}

static tg_block_mode friction_mode(const tg_block *block, double L, double sigma)
{
    double inside = block->bound > 0 ? 1 - fabs(L) / block->bound : 0;
    if (fabs(sigma) >= no_slip)
        return settled(TG_MODE_SLIDING, fabs(sigma));
    return settled(inside >= on_cone ? TG_MODE_STICKING : TG_MODE_SLIDING, inside >= on_cone ? inside : 0);
}

void tg_cone_law_modes(const tg_cone_law *law, const tg_island *island, const double *L, const double *sigma,
                       tg_block_mode *mode)
{
    for (int b = 0; b < island->blocks; b++)
    {
        const tg_block *block = &island->block[b];
        int row = block->row;
        double G = island->G[(ptrdiff_t)row * (island->ldg + 1)];
        if (block->kind == TG_BLOCK_EQUALITY)
            mode[b] = settled(TG_MODE_STICKING, INFINITY);
        else if (block->kind == TG_BLOCK_FRICTION)
            mode[b] = friction_mode(block, L[row], sigma[row]);
        else
            mode[b] = contact_mode(law, block, L + row, sigma + row, G);
    }
}
