/* What every block does in a solution of a law that is not the unrelaxed one, and how far it is from doing something
 * else (cone_law.h).
 *
 * Margins: of a contact that breaks how fast gamma is inside of K*, of one that sticks 1 - |x_T| / x_N, of one that
 * slides the slip (ccp), or the smallest slip of a component at its bound and 1 - |x_i| / x_N of one that is not (box),
 * or how much faster the direction of friction is than the next one and the share of each direction where there are
 * several (diamond).
 *
 * Redundant rows have many impulses, and the one that was found may be on its cone, or at the bound of dry friction,
 * though nothing slips. Such blocks are immaterial where others hold what they hold, or where other impulses that do
 * the same are inside (solve/modes.c). Velocities are unique, impulses are not: a contact slides where it slips by more
 * than it is inside of its cone, however slowly. A foot that turns by h is off its plane by h^2: its points contradict
 * each other by that, and one of them creeps. Dry friction that holds is undecided wherever it is within its bound: a
 * joint at its limit. */
#include <math.h>

#include "contact/cone_law.h"
#include "solve/tolerance.h"

static double slide_margin(const tg_cone_law *law, int m, double normal, const double *x, const double *s)
{
    double margin = INFINITY, slip = tg_norm_dual(law->norm, m, s), largest = tg_norm_of(TG_NORM_MAX, m, s);
    int support = 0;
    if (law->norm == TG_NORM_TWO)
        return slip;
    for (int i = 0; i < m; i++)
        support += fabs(x[i]) > TG_ON_CONE * normal;
    for (int i = 0; i < m; i++)
    {
        double share = fabs(x[i]) / normal, here = INFINITY;
        if (law->norm == TG_NORM_MAX)
            here = share >= 1 - TG_ON_CONE ? fabs(s[i]) : 1 - share;
        else if (share <= TG_ON_CONE)
            here = largest - fabs(s[i]);
        else if (support > 1)
            here = share;
        margin = tg_smaller(margin, here);
    }
    return tg_smaller(margin, slip);
}

static tg_block_mode undecided(tg_mode mode, double margin)
{
    return (tg_block_mode){.mode = mode, .immaterial = true, .margin = tg_larger(margin, 0)};
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
    double slip = tg_norm_dual(law->norm, m, s), opening = sigma[0] - (law->shift || block->parted ? 0 : slip);
    bool still = slip < TG_NO_SLIP;
    if (force <= TG_NO_FORCE)
        return still && opening < TG_NO_SLIP ? undecided(TG_MODE_BREAKING, opening)
                                             : settled(TG_MODE_BREAKING, opening);
    double inside = 1 - tg_norm_of(law->norm, m, x) / L[0];
    if (inside >= TG_ON_CONE)
        return settled(TG_MODE_STICKING, tg_smaller(inside, force));
    /* it slides where x - s / G is outside: also if it creeps, by what held rows contradict each other */
    if (slip <= TG_OPENING || slip <= inside * force)
        return undecided(TG_MODE_STICKING, 0);
    return settled(TG_MODE_SLIDING, tg_smaller(slide_margin(law, m, L[0], x, s), force));
}

static tg_block_mode friction_mode(const tg_block *block, double L, double sigma)
{
    double inside = block->bound > 0 ? 1 - fabs(L) / block->bound : 0;
    if (fabs(sigma) >= TG_NO_SLIP)
        return settled(TG_MODE_SLIDING, fabs(sigma));
    return inside >= TG_ON_CONE ? undecided(TG_MODE_STICKING, inside) : undecided(TG_MODE_SLIDING, 0);
}

static tg_block_mode block_mode(const void *user, const tg_island *island, const tg_block *block, const double *L,
                                const double *sigma)
{
    if (block->kind == TG_BLOCK_EQUALITY)
        return settled(TG_MODE_STICKING, INFINITY);
    if (block->kind == TG_BLOCK_FRICTION)
        return friction_mode(block, L[0], sigma[0]);
    return contact_mode(user, block, L, sigma, island->G[(ptrdiff_t)block->row * (island->ldg + 1)]);
}

tg_status tg_cone_law_modes(const tg_cone_law *law, const tg_island *island, const double *L, const double *sigma,
                            tg_arena *scratch, tg_block_mode *mode, tg_error *error)
{
    const tg_mode_law judge = {block_mode, law, .closed = law->shift, .pointed = law->norm == TG_NORM_SUM};
    return tg_island_modes_by(&judge, island, L, sigma, scratch, mode, error);
}
