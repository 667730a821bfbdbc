/* Groups of the problem with compliance (soft.h) where there are at most 64 dofs: J^T of all rows over all dofs comes
 * first. Products with J and J^T then need no groups, and the dofs of a row are the bits of a word. H is made by
 * groups: with sums over all rows small levers of loops lose digits (the crank of tests/step/test_labels.c, seeds 1 to
 * 40: 28 instead of 18 of 200 runs have a wrong number). */
#include <string.h>

#include "math/dense.h"
#include "math/ltl.h"
#include "solve/soft.h"

/* Columns j .. of a tree are rows `row` .. of J, `count` of them. */
static void spread_columns(tg_soft *p, const tg_tree_rows *tree, const int *dof, int j, int row, int count)
{
    const int ld = v4_pad(p->rows);
    for (int k = 0; k < tree->dofs; k++)
    {
        if (dof[k] < 0)
            continue;
        const double *from = tree->Y + (ptrdiff_t)k * tree->ld + j;
        double *to = p->transposed + (ptrdiff_t)dof[k] * ld + row;
        int i = 0;
        for (; i + V4_LANES <= count; i += V4_LANES)
            v4_storeu(to + i, v4_loadu(from + i));
        for (; i < count; i++)
            to[i] = from[i];
    }
}

/* J^T of all rows over all dofs; the rows of an island with one tree are its columns */
static void spread_trees(tg_soft *p)
{
    const tg_island *island = p->island;
    const int ld = v4_pad(p->rows);
    int dof = 0;
    if (island->trees > 1)
        memset(p->transposed, 0, sizeof(double) * (size_t)p->dims * (size_t)ld);
    for (int c = 0; c < p->dims; c++)
        for (int i = p->rows; i < ld; i++)
            p->transposed[(ptrdiff_t)c * ld + i] = 0;
    for (const tg_tree_rows *tree = island->tree; tree < island->tree + island->trees; dof += tree++->dofs)
        for (int j = 0, count; j < tree->columns; j += count)
        {
            int row = p->row_of[tree->row[j] - island->first_row];
            count = 1;
            while (row >= 0 && j + count < tree->columns &&
                   p->row_of[tree->row[j + count] - island->first_row] == row + count)
                count++;
            if (row >= 0)
                spread_columns(p, tree, p->dof + dof, j, row, count);
        }
}

/* rows of loops, J <- (1 - Z Z^T) J */
static void project_loops(tg_soft *p)
{
    const tg_island *island = p->island;
    const int null = island->redundant, loops = island->loops, ld = v4_pad(p->rows);
    for (int l = 0; l < loops; l++)
    {
        int i = p->row_of[island->loop_row[l]]; /* -1: nothing moves it */
        for (int c = 0; c < p->dims; c++)
            p->full[(ptrdiff_t)l * p->ld + c] = i >= 0 ? p->transposed[(ptrdiff_t)c * ld + i] : 0;
    }
    tg_gemm_tn(null, p->dims, loops, island->Z, null, p->full, p->ld, TG_GEMM_SET, p->packed, p->ld);
    tg_gemm_nn(loops, p->dims, null, island->Z, null, p->packed, p->ld, TG_GEMM_SUB, p->full, p->ld);
    for (int l = 0; l < loops; l++)
    {
        int i = p->row_of[island->loop_row[l]];
        for (int c = 0; c < p->dims && i >= 0; c++)
            p->transposed[(ptrdiff_t)c * ld + i] = p->full[(ptrdiff_t)l * p->ld + c];
    }
}

/* the dofs in which each row is not zero, as bits: into p->row */
static void find_bits(const tg_soft *p)
{
    const int ld = v4_pad(p->rows);
    for (int i = 0; i < ld; i += V4_LANES)
    {
        v4i bits = {0};
        for (int c = 0; c < p->dims; c++)
        {
            const int64_t bit = (int64_t)((uint64_t)1 << c);
            bits |= (v4i)(v4_loadu(p->transposed + (ptrdiff_t)c * ld + i) != v4_zero()) & (v4i){bit, bit, bit, bit};
        }
        v4_storeu(p->row + i, (v4)bits);
    }
}

/* the same of a block */
static uint64_t bits_of(const tg_soft *p, const tg_soft_block *b)
{
    uint64_t all = 0, bits;
    for (int i = b->row; i < b->row + b->dim; i++)
    {
        memcpy(&bits, p->row + i, sizeof bits);
        all |= bits;
    }
    return all;
}

/* whole blocks of four of them, as the skyline asks for */
static uint64_t widen(uint64_t bits, int dims)
{
    const uint64_t four = ((uint64_t)1 << V4_LANES) - 1;
    uint64_t wide = 0;
    for (int c = 0; c < dims; c += V4_LANES)
        wide |= (bits & four << c) != 0 ? four << c : 0;
    return wide & ~(uint64_t)0 >> (TG_CHAIN_BITS - dims);
}

/* whether the rows of a block are cheaper in the group before it, as in soft_build.c */
static bool joins(const tg_soft_group *last, const tg_soft_block *b, uint64_t bits)
{
    int size = __builtin_popcountll(bits), most = size > last->size ? size : last->size;
    bool inside = (bits & ~last->bits) == 0 || (last->bits & ~bits) == 0;
    return inside &&
           (size == last->size || tg_soft_group_cost(last->rows + b->dim, most) <=
                                      tg_soft_group_cost(last->rows, last->size) + tg_soft_group_cost(b->dim, size));
}

static void find_groups(tg_soft *p)
{
    tg_soft_group *g = NULL;
    find_bits(p);
    for (int k = 0; k < p->blocks; k++)
    {
        const tg_soft_block *b = &p->block[k];
        uint64_t bits = widen(bits_of(p, b), p->dims);
        if (g == NULL || !joins(g, b, bits))
        {
            g = &p->group[p->groups++];
            *g = (tg_soft_group){.row = b->row, .block = k};
        }
        g->bits |= bits;
        g->size = __builtin_popcountll(g->bits);
        g->blocks++;
        g->rows += b->dim;
        for (int i = b->row; i < b->row + b->dim; i++)
            g->own = tg_larger(g->own, p->own[i]);
    }
}

/* Rows i .. of a group in four of its dofs, from J^T: `rows` and `dofs` of these, at most four. */
TG_INLINE void copy_tile(const tg_soft *p, const tg_soft_group *g, int i, int c, int rows, int dofs)
{
    const int *dof = p->support + g->support + c;
    const double *from = p->transposed + g->row + i;
    double *to = p->J + g->J + (ptrdiff_t)i * g->ld + c;
    v4 x[V4_LANES] = {v4_zero(), v4_zero(), v4_zero(), v4_zero()};
    for (int r = 0; r < dofs; r++)
        x[r] = v4_load_part(from + (ptrdiff_t)dof[r] * v4_pad(p->rows), rows);
    v4_transpose(&x[0], &x[1], &x[2], &x[V4_LANES - 1]);
    for (int r = 0; r < rows; r++)
        v4_storeu(to + (ptrdiff_t)r * g->ld, x[r]);
}

static void copy_group(const tg_soft *p, const tg_soft_group *g)
{
    for (int i = 0; i < g->rows; i += V4_LANES)
        for (int c = 0; c < g->ld; c += V4_LANES)
        {
            int rows = g->rows - i < V4_LANES ? g->rows - i : V4_LANES;
            int dofs = g->size - c < V4_LANES ? g->size - c : V4_LANES;
            if (rows == V4_LANES && dofs == V4_LANES)
                copy_tile(p, g, i, c, V4_LANES, V4_LANES);
            else
                copy_tile(p, g, i, c, rows, dofs);
        }
}

void tg_soft_spread(tg_soft *p)
{
    size_t J = 0;
    int used = 0;
    spread_trees(p);
    if (p->island->loops > 0)
        project_loops(p);
    find_groups(p);
    for (tg_soft_group *g = p->group; g < p->group + p->groups; g++)
    {
        g->ld = v4_pad(g->size);
        g->J = J;
        g->support = used;
        for (uint64_t bits = g->bits; bits != 0; bits &= bits - 1)
            p->support[used++] = __builtin_ctzll(bits);
        copy_group(p, g);
        J += (size_t)g->rows * (size_t)g->ld;
    }
}
