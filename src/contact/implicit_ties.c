/* Dry friction at its bound that does not slip, because other rows prevent its slip.
 *
 * Its row a is a combination of held rows R: J^T z = 0 with z_a = 1, and 0 for all others of its kind. As long as this
 * holds, these rows can carry its load, and v+ does not depend on the sign of its impulse. If a displacement makes the
 * rows inconsistent, d(z . (J v+ + b)) is not zero, and a slips, forwards on one side and backwards on the other. Its
 * impulse then changes by twice its bound, and those of R by -2 L_a z: v+ has a kink if they leave their bounds, so
 * that something else moves, or if J^T z is not zero after the displacement; a jump if R has normals of sliding
 * contacts. This file computes the vectors z and whether R bears them; src/step/brace.c tests them. */
#include <math.h>
#include <string.h>

#include "contact/implicit_forms.h"
#include "math/dense.h"

static bool is_tied(const tg_implicit *f, const tg_block_mode *mode, int b)
{
    return f->island->block[b].kind == TG_BLOCK_FRICTION && mode[b].immaterial;
}

/* all rows that hold, and those that are tied */
static void hold_tied(const tg_implicit *f, const tg_block_mode *mode, tg_solve_work *w)
{
    for (int c = 0; c < w->cones.blocks; c++)
        if (is_tied(f, mode, w->cones.block[c].of))
            w->state[c].phase = TG_PHASE_STICK;
    tg_held_build(w);
}

void tg_held_null_part(const tg_solve_work *w, double *x)
{
    const tg_held *held = &w->held;
    int n = held->count, ld = w->cones.ld;
    double *scaled = w->best, *along = held->part;
    for (int round = 0; round < 2; round++) /* Q = range S */
    {
        for (int i = 0; i < n; i++)
            scaled[i] = w->cones.scale[held->row[i]] * x[i];
        tg_gemm_nt(held->rank, 1, n, held->range, ld, scaled, n, TG_GEMM_SET, along, 1);
        tg_gemm_nn(1, n, held->rank, along, held->rank, held->range, ld, TG_GEMM_SET, scaled, n);
        for (int i = 0; i < n; i++)
            x[i] -= w->cones.scale[held->row[i]] * scaled[i];
    }
}

/* the part of row a in the null space of all of them */
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
    if (!(x[at] > TG_NO_PART))
        return;
    memset(z, 0, (size_t)f->island->rows * sizeof *z);
    for (int i = 0; i < held->count; i++)
        z[w->cones.source[held->row[i]]] = x[i];
    f->tied[f->ties++] = row;
}

/* z_a = 1, and 0 for the others: combinations of the parts P e_a, of which P_aa' are the entries. Where some are held
 * by each other only, each by itself. A: ties x ties. */
static void separate(tg_implicit *f, double *A)
{
    int n = f->ties, rows = f->island->rows;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i * n + j] = f->tie[(size_t)i * (size_t)rows + (size_t)f->tied[j]];
    bool apart = tg_chol(n, A, n) < 0;
    for (int i = 0; i < n; i++)
        apart = apart && A[i * n + i] * A[i * n + i] > TG_NO_PART;
    if (apart)
        tg_chol_solve(n, A, n, rows, f->tie, rows);
    for (int i = 0; i < n && !apart; i++)
    {
        double *z = f->tie + (size_t)i * (size_t)rows, whole = z[f->tied[i]];
        for (int k = 0; k < rows; k++)
            z[k] /= whole;
    }
}

/* What a friction leaves to a row when it is at its bound, forwards (way 1) or backwards (-1); f->work: the bounds. */
static double left_to(const tg_implicit *f, int tie, int row, int way)
{
    double change = way * f->work[tie] - f->L[f->tied[tie]];
    return change * f->tie[(size_t)tie * (size_t)f->island->rows + (size_t)row];
}

/* The least and the largest impulse of a row as any of them act either way. */
static void find_range(const tg_implicit *f, int row, double *low, double *high)
{
    *low = *high = f->L[row];
    for (int k = 0; k < f->ties; k++)
        if (f->tied[k] != row)
        {
            double forwards = left_to(f, k, row, 1), backwards = left_to(f, k, row, -1);
            *low += tg_smaller(forwards, backwards);
            *high += tg_larger(forwards, backwards);
        }
}

/* Whether these impulses of a block are inside of its bounds. Of what slides the normal is asked here, and the rest in
 * src/step/brace.c. */
static bool block_bears(const tg_implicit *f, int b)
{
    const tg_block *block = &f->island->block[b];
    double normal, low, high, sum = 0, nothing = TG_ON_CONE * fabs(f->L[block->row]);
    find_range(f, block->row, &normal, &high);
    if (block->kind == TG_BLOCK_EQUALITY)
        return true;
    if (block->kind == TG_BLOCK_FRICTION)
        return fmax(-normal, high) <= (1 + TG_ON_CONE) * block->bound;
    for (int i = 1; i < block->rows && block->kind == TG_BLOCK_CONTACT && f->law == NULL && !f->slides[b]; i++)
    {
        find_range(f, block->row + i, &low, &high);
        double x = block->mu[i - 1] > 0 ? fmax(-low, high) / block->mu[i - 1] : 0;
        sum += x * x;
    }
    return sqrt(sum) <= normal + nothing;
}

/* Whether one of them leaves anything to a block. */
static bool loads(const tg_implicit *f, int tie, const tg_block *block)
{
    double size = block->kind == TG_BLOCK_FRICTION ? block->bound : fabs(f->L[block->row]);
    bool any = false;
    for (int i = block->row; i < block->row + block->rows; i++)
        any = any || fmax(fabs(left_to(f, tie, i, 1)), fabs(left_to(f, tie, i, -1))) > TG_ON_CONE * size;
    return any && f->tied[tie] != block->row;
}

static void find_borne(tg_implicit *f)
{
    const tg_block *block = f->island->block;
    for (int k = 0, b = 0; k < f->ties; k++) /* in the order of their blocks */
    {
        while (block[b].row != f->tied[k])
            b++;
        f->work[k] = block[b].bound;
        f->borne[k] = true;
    }
    for (int b = 0; b < f->island->blocks && f->ties > 0; b++)
        if (!block_bears(f, b))
            for (int k = 0; k < f->ties; k++)
                f->borne[k] = f->borne[k] && !loads(f, k, &block[b]);
}

bool tg_ties_take(tg_implicit *f, int count, int rows, tg_arena *arena)
{
    f->tie = TG_TAKE(arena, double, (size_t)count *(size_t)rows, "implicit: ties");
    f->tied = TG_TAKE(arena, int, count, "implicit: tied rows");
    f->borne = TG_TAKE(arena, bool, count, "implicit: ties that others bear");
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
    separate(f, w.range);
    find_borne(f);
    tg_arena_release(arena, kept);
    return true;
}
