/* Modes read off impulses and velocities alone, without asking which rows are redundant: for islands too large for dense
 * matrices, and after Poisson's law, whose sum of two impulses obeys no single cone. */
#include <math.h>

#include "contact/rows.h"

static const double slip = 1e-8; /* m/s: what carries something and moves by less, sticks */

static tg_block_mode contact_mode(const tg_block *block, const double *L, const double *sigma)
{
    double tangent = 0, speed = 0;
    for (int i = 1; i < block->rows; i++)
    {
        tangent += block->mu[i - 1] > 0 ? (L[i] / block->mu[i - 1]) * (L[i] / block->mu[i - 1]) : 0;
        speed += block->mu[i - 1] > 0 ? sigma[i] * sigma[i] : 0;
    }
    if (L[0] <= 0)
        return (tg_block_mode){.mode = TG_MODE_BREAKING, .margin = sigma[0]};
    if (sqrt(speed) > slip)
        return (tg_block_mode){.mode = TG_MODE_SLIDING, .margin = sqrt(speed)};
    return (tg_block_mode){.mode = TG_MODE_STICKING, .margin = 1 - sqrt(tangent) / L[0]};
}

static tg_block_mode mode_of(const tg_block *block, const double *L, const double *sigma)
{
    switch (block->kind)
    {
    case TG_BLOCK_CONTACT:
        return contact_mode(block, L, sigma);
    case TG_BLOCK_LIMIT:
        return (tg_block_mode){.mode = L[0] > 0 ? TG_MODE_STICKING : TG_MODE_BREAKING, .margin = fabs(sigma[0])};
    case TG_BLOCK_FRICTION:
        return (tg_block_mode){.mode = fabs(sigma[0]) > slip ? TG_MODE_SLIDING : TG_MODE_STICKING,
                               .margin = fabs(sigma[0])};
    default:
        return (tg_block_mode){.mode = TG_MODE_STICKING, .margin = INFINITY};
    }
}

void tg_plain_modes(const tg_rows *r, const tg_rows_island *island, tg_block_mode *mode)
{
    for (int b = 0; b < island->blocks; b++)
    {
        const tg_block *block = &r->block[island->block + b];
        int row = island->row + block->row;
        mode[b] = mode_of(block, r->L + row, r->sigma + row);
    }
}
