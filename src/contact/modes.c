/* What every block does in a solution, and how far it is from doing something else.
 *
 * A contact breaks when it carries nothing and opens; slides when it is on its cone and slips; sticks when it is
 * strictly inside of its cone. Between these are contacts on their cones without slip, and contacts that are closed with
 * no force: both are immaterial when the strictly held rows alone have the rank of all held rows, because then these
 * determine the motion. Otherwise such a block is at a change of mode: sticking, with margin zero. */
#include <math.h>

#include "base/status.h"
#include "contact/solver.h"

static const double no_slip = 1e-7;  /* m/s */
static const double no_force = 1e-9; /* m/s: G_NN L_N */
static const double on_cone = 1e-7;  /* of x_N */

static double diagonal(const tg_island *island, int row)
{
    return island->G[(size_t)row * (size_t)island->ldg + (size_t)row];
}

static double slip_of(const tg_block *block, const double *sigma)
{
    double sum = 0;
    for (int i = 1; i < block->rows; i++)
        if (block->mu[i - 1] > 0)
            sum += sigma[i] * sigma[i];
    return sqrt(sum);
}

/* 1 - |x_T| / x_N */
static double inside_of(const tg_block *block, const double *L)
{
    double sum = 0;
    for (int i = 1; i < block->rows; i++)
        if (block->mu[i - 1] > 0)
            sum += (L[i] / block->mu[i - 1]) * (L[i] / block->mu[i - 1]);
    return 1 - sqrt(sum) / L[0];
}

static tg_block_mode settled(tg_mode mode, double margin)
{
    return (tg_block_mode){.mode = mode, .immaterial = false, .margin = margin};
}

/* until ranks are known, immaterial says: would be if the strictly held rows have the rank */
static tg_block_mode undecided(void)
{
    return (tg_block_mode){.mode = TG_MODE_STICKING, .immaterial = true, .margin = 0};
}

static tg_block_mode contact_mode(const tg_block *block, const double *L, const double *sigma, double G)
{
    double force = G * L[0];
    if (force <= no_force)
        return sigma[0] >= no_slip ? settled(TG_MODE_BREAKING, sigma[0]) : undecided();
    double slip = block->kind == TG_BLOCK_CONTACT ? slip_of(block, sigma) : 0;
    double inside = block->kind == TG_BLOCK_CONTACT ? inside_of(block, L) : 1;
    if (inside >= on_cone)
        return settled(TG_MODE_STICKING, tg_smaller(inside, force));
    return slip >= no_slip ? settled(TG_MODE_SLIDING, tg_smaller(slip, force)) : undecided();
}

/* What slips is at its bound, also where rounding says that it is inside by a little. What is at its bound and does not slip stays there as the bound moves:
 * immaterial where others hold it. */
static tg_block_mode friction_mode(const tg_block *block, double L, double sigma)
{
    double inside = block->bound > 0 ? 1 - fabs(L) / block->bound : 0;
    if (fabs(sigma) >= no_slip)
        return settled(TG_MODE_SLIDING, fabs(sigma));
    if (inside >= on_cone)
        return settled(TG_MODE_STICKING, inside);
    return (tg_block_mode){.mode = TG_MODE_SLIDING, .immaterial = true, .margin = 0};
}

static tg_block_mode block_mode(const tg_island *island, const tg_block *block, const double *L, const double *sigma)
{
    int row = block->row;
    switch (block->kind)
    {
    case TG_BLOCK_EQUALITY:
        return settled(TG_MODE_STICKING, INFINITY);
    case TG_BLOCK_FRICTION:
        return friction_mode(block, L[row], sigma[row]);
    default:
        return contact_mode(block, L + row, sigma + row, diagonal(island, row));
    }
}

/* phases whose held rows are all held rows, or only the strictly held ones; what is closed without force and slips holds
 * its normal alone */
static tg_phase phase_of(const tg_block *block, const tg_block_mode *mode, double L_N, double slip, bool strict)
{
    if (mode->mode == TG_MODE_BREAKING)
        return TG_PHASE_BREAK;
    if (mode->mode == TG_MODE_SLIDING)
        return mode->immaterial && !strict ? TG_PHASE_STICK : TG_PHASE_SLIDE;
    if (!mode->immaterial)
        return TG_PHASE_STICK;
    if (!strict)
        return slip >= no_slip ? TG_PHASE_SLIDE : TG_PHASE_STICK;
    return block->kind == TG_BLOCK_CONTACT && L_N > 0 ? TG_PHASE_SLIDE : TG_PHASE_BREAK;
}

static int rank_of(tg_solve_work *w, const tg_island *island, const double *L, const double *sigma,
                   const tg_block_mode *mode, bool strict)
{
    for (int c = 0, b = 0; c < w->cones.blocks; c++)
    {
        int row = w->cones.source[w->cones.block[c].row];
        while (row >= island->block[b].row + island->block[b].rows)
            b++;
        const tg_block *block = &island->block[b];
        double slip = block->kind == TG_BLOCK_CONTACT ? slip_of(block, sigma + block->row) : 0;
        w->state[c].phase = phase_of(block, &mode[b], L[block->row], slip, strict);
    }
    return tg_held_rank(w);
}

tg_status tg_island_modes(const tg_island *island, const double *L, const double *sigma, tg_arena *scratch,
                          tg_block_mode *mode, tg_error *error)
{
    bool open = false;
    for (int b = 0; b < island->blocks; b++)
    {
        mode[b] = block_mode(island, &island->block[b], L, sigma);
        open = open || mode[b].immaterial;
    }
    if (!open)
        return TG_OK;
    size_t mark = tg_arena_mark(scratch);
    tg_solve_work w;
    if (!tg_solve_work_take(&w, island->rows, scratch))
    {
        tg_arena_release(scratch, mark);
        scratch->failed = false;
        return tg_fail(error, TG_ERR_CAPACITY, "modes of %d rows: needs %zu bytes of scratch", island->rows,
                       tg_island_scratch(island->rows));
    }
    tg_cones_build(&w.cones, island, NULL);
    bool determined = rank_of(&w, island, L, sigma, mode, true) == rank_of(&w, island, L, sigma, mode, false);
    tg_arena_release(scratch, mark);
    for (int b = 0; b < island->blocks; b++)
    {
        mode[b].immaterial = mode[b].immaterial && determined;
        mode[b].margin = mode[b].immaterial ? INFINITY : mode[b].margin;
    }
    return TG_OK;
}
