/* Contacts and limits that stay open are left out of the problem with compliance: collision lists what may touch, and
 * most of it does not. What would close at the solution of the rest is taken back, and the search goes on from there.
 * The certificate is that of the whole problem. */
#include <string.h>

#include "solve/soft.h"

static bool can_open(const tg_block *block)
{
    return block->kind == TG_BLOCK_CONTACT || block->kind == TG_BLOCK_LIMIT;
}

void tg_soft_leave_open(tg_soft *p)
{
    const tg_island *island = p->island;
    const double *L = p->all_L;
    p->partial = false;
    memset(p->all_L, 0, sizeof(double) * (size_t)island->rows);
    if (island->warm != NULL)
        L = island->warm;
    tg_island_velocity(island, L, false, p->all_sigma);
    for (int k = 0; k < island->blocks; k++)
    {
        const tg_block *block = &island->block[k];
        p->left_out[k] = can_open(block) && L[block->row] <= 0 && p->all_sigma[block->row] >= TG_NEARLY_STILL;
        p->partial = p->partial || p->left_out[k];
    }
}

bool tg_soft_closes(tg_soft *p)
{
    const tg_island *island = p->island;
    bool any = false;
    if (!p->partial)
        return false;
    tg_soft_scatter(p, p->all_L);
    tg_island_velocity(island, p->all_L, false, p->all_sigma);
    for (int k = 0; k < island->blocks; k++)
        if (p->left_out[k] && !(p->all_sigma[island->block[k].row] >= TG_NO_SLIP))
        {
            p->left_out[k] = false;
            any = true;
        }
    return any;
}

void tg_soft_take_back(tg_soft *p)
{
    p->partial = false;
    p->whole = true;
    memset(p->left_out, 0, sizeof(bool) * (size_t)p->island->blocks);
}
