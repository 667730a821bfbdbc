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
    bool any = false;
    p->partial = false;
    memset(p->all_L, 0, sizeof(double) * (size_t)island->rows);
    if (island->warm != NULL)
        L = island->warm;
    for (int k = 0; k < island->blocks; k++)
    {
        p->left_out[k] = can_open(&island->block[k]) && L[island->block[k].row] <= 0;
        any = any || p->left_out[k];
    }
    if (!any)
        return;
    tg_island_velocity(island, L, false, p->all_sigma);
    for (int k = 0; k < island->blocks; k++)
    {
        p->left_out[k] = p->left_out[k] && p->all_sigma[island->block[k].row] >= TG_NEARLY_STILL;
        p->partial = p->partial || p->left_out[k];
    }
}

/* Adds to p->all_sigma, at the normals of what is left out, their velocities by u in this tree, whose dofs are `first`
 * and so on. Its columns ascend as the blocks do. */
static void add_velocities(const tg_soft *p, const tg_tree_rows *tree, int first)
{
    const tg_island *island = p->island;
    int j = 0;
    for (int k = 0; k < island->blocks && j < tree->columns; k++)
    {
        int row = island->first_row + island->block[k].row;
        if (!p->left_out[k])
            continue;
        while (j < tree->columns && tree->row[j] < row)
            j++;
        for (int d = 0; d < tree->dofs && j < tree->columns && tree->row[j] == row; d++)
            if (p->dof[first + d] >= 0)
                p->all_sigma[island->block[k].row] += tree->Y[(ptrdiff_t)d * tree->ld + j] * p->u[p->dof[first + d]];
    }
}

/* Velocities of the normals of what is left out, into p->all_sigma: it carries nothing, u = J^T L is of the rest. */
static void find_velocities(tg_soft *p)
{
    const tg_island *island = p->island;
    if (island->tree == NULL)
    {
        tg_island_velocity(island, p->all_L, false, p->all_sigma);
        return;
    }
    for (int k = 0; k < island->blocks; k++)
        p->all_sigma[island->block[k].row] = island->g[island->block[k].row];
    for (int t = 0, first = 0; t < island->trees; first += island->tree[t++].dofs)
        add_velocities(p, &island->tree[t], first);
}

bool tg_soft_closes(tg_soft *p)
{
    const tg_island *island = p->island;
    bool any = false;
    if (!p->partial)
        return false;
    tg_soft_scatter(p, p->all_L);
    find_velocities(p);
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
