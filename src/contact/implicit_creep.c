/* Contacts that creep: on their cone, with a slip far below what counts as one.
 *
 * Rows of redundant contacts agree with each other only up to a conflict c. The distance of two points of a rigid body
 * does not change, so with d the line through them, tilted against the floor by a, and gaps that close at b_1 and b_2,
 *     d . (v_1 - v_2) = 0   wants   slip_1 - slip_2 = c = a (b_1 - b_2).
 * Something yields: one contact goes to its cone and slips by c, often less than 1e-9 m/s. As a velocity that is
 * nothing, but dc = da (b_1 - b_2) + a (db_1 - db_2) is of first order, and it is this contact that follows it, not all
 * rows together. So it counts as sliding here, though not as a change of mode: when c changes its sign another contact
 * creeps, and the derivative changes by a. */
#include "contact/implicit_forms.h"

bool tg_creeping_modes(const tg_implicit *f, const tg_block_mode *mode, tg_block_mode *out)
{
    bool any = false;
    double off = tg_island_unrest(f->island, f->L, f->sigma);
    for (int b = 0; b < f->island->blocks; b++)
    {
        const tg_block *block = &f->island->block[b];
        const double *L = f->L + block->row, *sigma = f->sigma + block->row;
        out[b] = mode[b];
        if (block->kind != TG_BLOCK_CONTACT || mode[b].mode != TG_MODE_STICKING ||
            !tg_block_creeps(block, L, sigma, off))
            continue;
        out[b].mode = TG_MODE_SLIDING;
        out[b].immaterial = false;
        any = true;
    }
    return any;
}
