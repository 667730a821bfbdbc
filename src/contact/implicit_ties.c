/* Dry friction at its bound that does not slip, because other rows prevent its slip.
 *
 * Its row a is a combination of held rows R: J^T z = 0 with z_a = 1. As long as this holds, these rows can carry its
 * load, and v+ does not depend on the sign of its impulse. If a displacement makes the rows inconsistent,
 * d(z . (J v+ + b)) is not zero, and a slips, forwards on one side and backwards on the other. Its impulse then changes
 * by twice its bound: v+ has a kink if J^T z is not zero after the displacement, a jump if R has normals of sliding
 * contacts. This file computes the vectors z; src/step/brace.c tests them. */
#include <string.h>

#include "contact/implicit_forms.h"

static const double least = 1e-8; /* of z_a: a row that the others do not hold has none */

static bool is_tied(const tg_implicit *f, const tg_block_mode *mode, int b)
{
    return f->island->block[b].kind == TG_BLOCK_FRICTION && mode[b].immaterial;
}

/* all rows that hold, and those that are tied */
static void hold_tied(const tg_implicit *f, const tg_block_mode *mode, tg_solve_work *w)
{
    const tg_block *block = f->island->block;
    for (int c = 0, b = 0; c < w->cones.blocks; c++)
    {
        while (w->cones.source[w->cones.block[c].row] >= block[b].row + block[b].rows)
            b++;
        if (is_tied(f, mode, b))
            w->state[c].phase = TG_PHASE_STICK;
    }
    tg_held_build(w);
}

static double entry(const tg_solve_work *w, int k, int i)
{
    return w->held.range[(size_t)k * (size_t)w->cones.ld + (size_t)i] * w->cones.scale[w->held.row[i]];
}

void tg_held_null_part(const tg_solve_work *w, double *x)
{
    const tg_held *held = &w->held;
    for (int round = 0; round < 2; round++)
        for (int k = 0; k < held->rank; k++)
        {
            double along = 0;
            for (int i = 0; i < held->count; i++)
                along += entry(w, k, i) * x[i];
            for (int i = 0; i < held->count; i++)
                x[i] -= entry(w, k, i) * along;
        }
}

static void add_tie(tg_implicit *f, const tg_solve_work *w, int block)
{
    const tg_held *held = &w->held;
    int row = f->island->block[block].row, at = 0;
    double *x = w->rhs, *z = f->tie + (size_t)f->ties * (size_t)f->island->rows;
    while (at < held->count && w->cones.source[held->row[at]] != row)
        at++;
    if (at == held->count)
        return;
    memset(x, 0, (size_t)held->count * sizeof *x);
    x[at] = 1;
    tg_held_null_part(w, x);
    if (!(x[at] > least))
        return;
    memset(z, 0, (size_t)f->island->rows * sizeof *z);
    for (int i = 0; i < held->count; i++)
        z[w->cones.source[held->row[i]]] = x[i] / x[at];
    f->tied[f->ties++] = row;
}

bool tg_ties_take(tg_implicit *f, int count, int rows, tg_arena *arena)
{
    f->tie = TG_TAKE(arena, double, (size_t)count *(size_t)rows, "implicit: ties");
    f->tied = TG_TAKE(arena, int, count, "implicit: tied rows");
    return !arena->failed;
}

bool tg_find_ties(tg_implicit *f, const tg_block_mode *mode, tg_arena *arena)
{
    int count = 0, rows = f->island->rows;
    f->ties = 0;
    for (int b = 0; b < f->island->blocks; b++)
        count += is_tied(f, mode, b);
    if (count == 0)
        return true;
    bool fits = tg_ties_take(f, count, rows, arena);
    size_t kept = tg_arena_mark(arena);
    tg_solve_work w = {.island = f->island};
    if (!fits || !tg_solve_work_take(&w, rows, arena))
        return false;
    if (f->law != NULL)
        tg_law_phases(f, mode, &w);
    else
        tg_redundant_phases(f, mode, &w, w.left_out);
    hold_tied(f, mode, &w);
    for (int b = 0; b < f->island->blocks && w.held.rank < w.held.count; b++)
        if (is_tied(f, mode, b))
            add_tie(f, &w, b);
    tg_arena_release(arena, kept);
    return true;
}
