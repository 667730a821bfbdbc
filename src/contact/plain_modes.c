/* Modes read off impulses and velocities alone, without asking which rows are redundant: for islands too large for
 * dense matrices, and after Poisson's law, whose sum of two impulses obeys no single cone. */
#include <math.h>

#include "contact/rows.h"
#include "solve/tolerance.h"

static const double slip = 1e-8; /* m/s: what carries something and moves by less, sticks */

/* G of a constraint's first row: the sum over its trees of Y^T Y, or of J Y where Y is all of M^-1 J^T */
static double normal_mass(const tg_model *m, const tg_rows *r, const tg_rows_island *island, const tg_constraint *c)
{
    double sum = 0;
    bool whole = tg_rows_are_whole(island);
    for (int i = c->part; i < c->part + c->parts; i++)
    {
        int tree = r->part[i].tree, ld = v4_pad(r->tree_columns[tree]);
        size_t at = r->tree_start[tree] + (size_t)r->part[i].column;
        for (int k = 0; k < m->tree_ndof[tree]; k++, at += (size_t)ld)
            sum += (whole ? r->J[at] : r->Y[at]) * r->Y[at];
    }
    return sum;
}

static tg_block_mode contact_mode(const tg_block *block, const double *L, const double *sigma, double G)
{
    double tangent = 0, speed = 0, force = G * L[0];
    for (int i = 1; i < block->rows; i++)
    {
        tangent += block->mu[i - 1] > 0 ? (L[i] / block->mu[i - 1]) * (L[i] / block->mu[i - 1]) : 0;
        speed += block->mu[i - 1] > 0 ? sigma[i] * sigma[i] : 0;
    }
    if (force <= TG_NO_FORCE)
        return (tg_block_mode){.mode = TG_MODE_BREAKING, .margin = fmax(0, sigma[0])};
    if (sqrt(speed) > slip)
        return (tg_block_mode){.mode = TG_MODE_SLIDING, .margin = fmin(sqrt(speed), force)};
    return (tg_block_mode){.mode = TG_MODE_STICKING, .margin = fmax(0, fmin(1 - sqrt(tangent) / L[0], force))};
}

static tg_block_mode mode_of(const tg_block *block, const double *L, const double *sigma, double G)
{
    switch (block->kind)
    {
    case TG_BLOCK_CONTACT:
    case TG_BLOCK_LIMIT:
        return contact_mode(block, L, sigma, G);
    case TG_BLOCK_FRICTION:
        return (tg_block_mode){.mode = fabs(sigma[0]) > slip ? TG_MODE_SLIDING : TG_MODE_STICKING,
                               .margin = fabs(sigma[0])};
    default:
        return (tg_block_mode){.mode = TG_MODE_STICKING, .margin = INFINITY};
    }
}

void tg_plain_modes(const tg_model *m, const tg_rows *r, const tg_rows_island *island, tg_block_mode *mode)
{
    for (int b = 0; b < island->blocks; b++)
    {
        const tg_block *block = &r->block[island->block + b];
        int row = island->row + block->row;
        double G = normal_mass(m, r, island, &r->constraint[r->order[island->block + b]]);
        mode[b] = mode_of(block, r->L + row, r->sigma + row, G);
    }
}
