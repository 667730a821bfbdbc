/* Contacts that creep: on their cone, with a slip far below what counts as one.
 *
 * Rows of redundant contacts agree with each other only up to a conflict c. The distance of two points of a rigid body
 * does not change, so with d the line through them, tilted against the floor by a, and gaps that close at b_1 and b_2,
 *     d . (v_1 - v_2) = 0   wants   slip_1 - slip_2 = c = a (b_1 - b_2).
 * Something yields: one contact goes to its cone and slips by c, often less than 1e-9 m/s. As a velocity that is
 * nothing, but dc = da (b_1 - b_2) + a (db_1 - db_2) is of first order, and it is this contact that follows it, not all
 * rows together. So it counts as sliding here, though not as a change of mode: when c changes its sign another contact
 * creeps, and the derivative changes by a. */
#include <math.h>

#include "contact/implicit_forms.h"

/* On its cone, and against its slip: rounding has any direction. What carries nothing is at the tip of its cone, and
 * holds its normal alone. */
static bool creeps(const tg_implicit *f, const tg_block *block)
{
    double normal = f->L[block->row], impulse = 0, slip = 0, against = 0;
    for (int i = 1; i < block->rows; i++)
    {
        double mu = block->mu[i - 1], L = f->L[block->row + i], sigma = f->sigma[block->row + i];
        impulse += mu > 0 ? (L / mu) * (L / mu) : 0;
        slip += mu > 0 ? (mu * sigma) * (mu * sigma) : 0;
        against -= mu > 0 ? L * sigma : 0;
    }
    impulse = sqrt(impulse);
    slip = sqrt(slip);
    if (!(normal > 0))
        return slip > TG_OPENING;
    return slip > TG_OPENING && fabs(impulse - normal) <= TG_ON_CONE * normal &&
           impulse * slip - against <= TG_ON_CONE * impulse * slip;
}

bool tg_creeping_modes(const tg_implicit *f, const tg_block_mode *mode, tg_block_mode *out)
{
    bool any = false;
    for (int b = 0; b < f->island->blocks; b++)
    {
        const tg_block *block = &f->island->block[b];
        out[b] = mode[b];
        if (block->kind != TG_BLOCK_CONTACT || mode[b].mode != TG_MODE_STICKING || !creeps(f, block))
            continue;
        out[b].mode = TG_MODE_SLIDING;
        out[b].immaterial = false;
        any = true;
    }
    return any;
}
