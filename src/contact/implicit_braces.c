/* Rows that hold against each other: redundant rows between different bodies, such as a loop whose joints friction
 * holds, two boxes that are welded together and lie on a floor, a brick on two others; and torsional friction against
 * the tangential friction of other points.
 *
 * Redundant rows, J_R^T Z = 0, are consistent at the solution: Z^T (J_R v+ + b_R) = 0. For a derivative to exist they
 * must stay consistent as bodies are displaced: d/dq of Z^T (J v+ + b) at fixed v+ is zero. Points between two rigid
 * bodies that move as one after the step do (a patch stays a patch), and so do equalities, which were made consistent
 * (consistent.c). Where the bodies still move against each other, J v+ = -b, they need not: a foot that lands flat and
 * goes on turning about one edge has points at a distance d with normal velocities -b_1 and -b_2. Tilted by a, its
 * points would have to slip against each other by a (b_1 - b_2), and it depends on the side which of them does.
 * Torsional friction does not: a box that tips over its edge also turns about the normal when the edge is tilted.
 * Between other rows it depends on the geometry: if they do not, one of them opens or slips, and which one depends on
 * the side. This file finds out whether there are such rows, and computes a random combination of Z, which
 * src/step/brace.c tests. Immaterial contacts are included. Dry friction at its bound is not: when it slips, either
 * way, the supporting rows take over its load. */
#include <math.h>
#include <string.h>

#include "contact/implicit_forms.h"
#include "math/dense.h"
#include "math/lanes.h"
#include "math/random.h"

/* ---- groups ---- */

static const uint64_t equalities = UINT64_MAX; /* one group */

/* what a cone's rows belong to; 0: a group of their own. A contact with compliance: its bodies keep moving along its
 * normal, so that a patch of such contacts is not one rigid body, and its rank may be above six. Where joints leave two
 * bodies fewer than six dofs, rows are redundant because of the joints, and need not stay consistent; nor need those of
 * bodies that still move against each other. */
static uint64_t group_of(const tg_solve_work *w, const tg_cone *cone)
{
    const tg_block *block = &w->island->block[cone->of];
    const double *give = w->island->give;
    if (block->alone || (give != NULL && give[block->row] > 0))
        return 0;
    return block->kind == TG_BLOCK_EQUALITY ? equalities : block->pair;
}

static int held_rows(const tg_cone *cone, tg_phase phase)
{
    if (phase == TG_PHASE_STICK)
        return cone->dim;
    return phase == TG_PHASE_SLIDE && cone->kind == TG_CONE_UNIT ? 1 : 0;
}

/* the rank of the held rows of a group by themselves; phase: of all cones */
static int group_rank(tg_solve_work *w, const tg_phase *phase, const uint64_t *group, uint64_t which)
{
    for (int c = 0; c < w->cones.blocks; c++)
        w->state[c].phase = group[c] == which ? phase[c] : TG_PHASE_BREAK;
    return tg_held_rank(w);
}

/* Sum of the ranks of all groups, or of what these are at most: six for two rigid bodies. group: scratch of a number a
 * cone. */
static int sum_of_ranks(tg_solve_work *w, const tg_phase *phase, uint64_t *group, bool at_most)
{
    int sum = 0;
    for (int c = 0; c < w->cones.blocks; c++)
        group[c] = held_rows(&w->cones.block[c], phase[c]) > 0 ? group_of(w, &w->cones.block[c]) : 0;
    for (int c = 0; c < w->cones.blocks; c++)
    {
        int rows = 0;
        bool first = group[c] != 0;
        for (int k = 0; k < c && first; k++)
            first = group[k] != group[c];
        for (int k = c; k < w->cones.blocks && first; k++)
            rows += group[k] == group[c] ? held_rows(&w->cones.block[k], phase[k]) : 0;
        if (group[c] == 0)
            sum += held_rows(&w->cones.block[c], phase[c]);
        else if (first)
            sum += !at_most                                 ? group_rank(w, phase, group, group[c])
                   : rows < TWIST || group[c] == equalities ? rows
                                                            : TWIST;
    }
    return sum;
}

/* friction against turning that holds */
static bool any_turning(const tg_solve_work *w, const tg_phase *phase)
{
    for (int c = 0; c < w->cones.blocks; c++)
    {
        const tg_cone *cone = &w->cones.block[c];
        int last = cone->row + cone->dim - 1;
        const tg_block *block = &w->island->block[cone->of];
        if (phase[c] == TG_PHASE_STICK && block->kind == TG_BLOCK_CONTACT && w->cones.source[last] >= block->row + DIM)
            return true;
    }
    return false;
}

/* ---- impulses that do nothing ---- */

/* numbers between -1 and 1 without their part in the range of the held rows, of length 1; work: 2 rows */
static void find_brace(tg_implicit *f, double *work)
{
    double *x = work, *part = work + f->held;
    tg_random_numbers(1, f->held, x);
    tg_redundant_null_part(f, 1, x, part);
    double inverse = 1 / sqrt(v4_dot_of(f->held, x, x));
    memset(f->brace, 0, (size_t)f->island->rows * sizeof *f->brace);
    for (int i = 0; i < f->held; i++)
        f->brace[f->row[i]] = x[i] * inverse;
}

/* whether held rows of that rank hold against each other; phase: receives those of w, which changes */
static bool are_braced(tg_solve_work *w, int rank, tg_phase *phase)
{
    uint64_t *group = (uint64_t *)w->best;
    for (int c = 0; c < w->cones.blocks; c++)
        phase[c] = w->state[c].phase;
    return any_turning(w, phase) ||
           (sum_of_ranks(w, phase, group, true) > rank && sum_of_ranks(w, phase, group, false) > rank);
}

void tg_find_braces(tg_implicit *f, tg_solve_work *w)
{
    if (f->yields)
        return;
    f->braced = f->rank < f->held && are_braced(w, f->rank, (tg_phase *)w->active);
    if (f->braced)
        find_brace(f, f->work);
}

/* ---- of any modes, and laws of cone_law.h ---- */

/* what slides holds its normal under a law with the shift, and no row by itself under the convex one */
void tg_law_phases(const tg_implicit *f, const tg_block_mode *mode, tg_solve_work *w)
{
    tg_redundant_phases(f, mode, w, w->left_out);
    for (int c = 0; c < w->cones.blocks && f->law != NULL && !f->law->shift; c++)
        if (w->state[c].phase == TG_PHASE_SLIDE && w->cones.block[c].kind == TG_CONE_UNIT)
            w->state[c].phase = TG_PHASE_BREAK;
}

/* Tangents of sliding contacts along which nothing can move, as across the plane of a planar robot: the smallest motion
 * calls for the whole of their own friction, where that does not depend on the slip of the others. */
static void add_idle(tg_implicit *f, const tg_block_mode *mode)
{
    const tg_island *island = f->island;
    for (int b = 0; b < island->blocks && f->law->norm == TG_NORM_MAX; b++)
    {
        const tg_block *block = &island->block[b];
        bool slides = block->kind == TG_BLOCK_CONTACT && mode[b].mode == TG_MODE_SLIDING;
        for (int i = 1; slides && i < block->rows; i++)
            if (block->mu[i - 1] > 0 && !(island->G[(ptrdiff_t)(block->row + i) * (island->ldg + 1)] > f->fixed))
            {
                f->brace[block->row + i] = 1;
                f->braced = true;
            }
    }
}

bool tg_find_braces_of(tg_implicit *f, const tg_block_mode *mode, tg_arena *arena)
{
    size_t kept = tg_arena_mark(arena);
    tg_solve_work w = {.island = f->island};
    f->braced = false;
    if (!tg_solve_work_take(&w, f->island->rows, arena))
        return false;
    tg_phase *phase = (tg_phase *)w.active;
    memset(f->brace, 0, (size_t)f->island->rows * sizeof *f->brace);
    tg_law_phases(f, mode, &w);
    int rank = tg_held_rank(&w), count = w.held.count;
    if (rank < count && are_braced(&w, rank, phase))
    {
        for (int c = 0; c < w.cones.blocks; c++)
            w.state[c].phase = phase[c];
        tg_held_build(&w);
        f->braced = w.held.rank < w.held.count;
    }
    if (f->braced)
    {
        tg_random_numbers(1, w.held.count, w.rhs);
        tg_held_null_part(&w, w.rhs);
        double inverse = 1 / sqrt(v4_dot_of(w.held.count, w.rhs, w.rhs));
        for (int i = 0; i < w.held.count; i++)
            f->brace[w.cones.source[w.held.row[i]]] = w.rhs[i] * inverse;
    }
    tg_arena_release(arena, kept);
    return true;
}

bool tg_law_find_braces(tg_implicit *f, const tg_block_mode *mode, tg_arena *arena)
{
    bool fits = tg_find_braces_of(f, mode, arena);
    if (fits)
        add_idle(f, mode);
    return fits;
}
