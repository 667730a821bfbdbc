/* The branch-sparse factorisation and what is done with it, one right-hand side at a time. Many: ltl_many.c. */
#include "math/ltl.h"

#include <math.h>

#include "math/lanes.h"
#include "math/vec3.h"

enum
{
    SIX = TWIST,                 /* dofs of a free body */
    SIX_LD = V4_LANES + V4_LANES /* their leading dimension */
};

/* ---- pattern ---- */

/* parent[k] must be k - 1, one of its ancestors, or -1 */
static int first_out_of_order(int n, const int *parent)
{
    for (int k = 0; k < n; k++)
    {
        int a = k - 1;
        while (a >= 0 && a != parent[k])
            a = parent[a];
        if (a != parent[k])
            return k;
    }
    return -1;
}

/* the blocks of row k, last to first, to `out` (which may be NULL) counted from its end; returns how many */
static int list_blocks(const int *parent, int k, int *out)
{
    int count = 0;
    for (int a = k, last = -1; a >= 0; a = parent[a])
    {
        int block = a - a % V4_LANES;
        if (block != last)
        {
            count++;
            if (out != NULL)
                out[-count] = block;
        }
        last = block;
    }
    return count;
}

static int depth_of(const int *parent, int k)
{
    int depth = 0;
    for (int a = parent[k]; a >= 0; a = parent[a])
        depth++;
    return depth;
}

typedef struct pattern_arrays
{
    int *parent, *depth, *end, *block_start, *blocks, *path_start, *path;
    uint64_t *chain;
} pattern_arrays;

static void fill_pattern(const pattern_arrays *out, int n, const int *parent)
{
    int words = tg_chain_words(n);
    out->block_start[0] = 0;
    out->path_start[0] = 0;
    memset(out->chain, 0, sizeof *out->chain * (size_t)n * (size_t)words);
    for (int k = 0; k < n; k++)
    {
        for (int a = k; a >= 0; a = parent[a])
            out->chain[k * words + a / TG_CHAIN_BITS] |= (uint64_t)1 << a % TG_CHAIN_BITS;
        out->parent[k] = parent[k];
        out->depth[k] = depth_of(parent, k);
        out->end[k] = k + 1;
        out->block_start[k + 1] = out->block_start[k] + list_blocks(parent, k, NULL);
        list_blocks(parent, k, out->blocks + out->block_start[k + 1]);
        int *path = out->path + out->path_start[k] + out->depth[k];
        out->path_start[k + 1] = out->path_start[k] + out->depth[k];
        for (int a = parent[k]; a >= 0; a = parent[a])
        {
            *--path = a;
            out->end[a] = k + 1;
        }
    }
}

int tg_ltl_pattern_place(tg_ltl_pattern *pattern, tg_arena *arena, int n, const int *parent)
{
    int bad = first_out_of_order(n, parent);
    if (bad >= 0)
        return bad;
    size_t blocks = 0, ancestors = 0;
    for (int k = 0; k < n; k++)
    {
        blocks += (size_t)list_blocks(parent, k, NULL);
        ancestors += (size_t)depth_of(parent, k);
    }
    pattern_arrays a;
    a.parent = TG_TAKE(arena, int, n, "ltl parent");
    a.depth = TG_TAKE(arena, int, n, "ltl depth");
    a.end = TG_TAKE(arena, int, n, "ltl end");
    a.block_start = TG_TAKE(arena, int, n + 1, "ltl block_start");
    a.blocks = TG_TAKE(arena, int, blocks, "ltl blocks");
    a.path_start = TG_TAKE(arena, int, n + 1, "ltl path_start");
    a.path = TG_TAKE(arena, int, ancestors, "ltl path");
    a.chain = TG_TAKE(arena, uint64_t, (size_t)n * (size_t)tg_chain_words(n), "ltl chain");
    bool six = n == SIX;
    for (int k = 0; k < n; k++)
        six = six && parent[k] == k - 1;
    *pattern = (tg_ltl_pattern){n,        v4_pad(n),    a.parent, a.depth, a.end, a.block_start,
                                a.blocks, a.path_start, a.path,   a.chain, six};
    if (arena->base != NULL && !arena->failed)
        fill_pattern(&a, n, parent);
    return -1;
}

/* ---- factorisation ---- */

enum
{
    STRIP = V4_LANES /* vectors of a row that are computed together */
};

/* Blocks b .. b + count of row i: M(i, j) -= sum over the descendants k of i of M(k, i) / D_k M(k, j). The two sums of
 * even and odd k halve the chain of dependent additions. */
TG_INLINE void gather_strip(int count, const tg_ltl_pattern *p, double *M, const double *dinv, int i, const int *blocks)
{
    const ptrdiff_t ld = p->ld;
    const int end = p->end[i];
    v4 even[STRIP], odd[STRIP];
    for (int b = 0; b < count; b++)
    {
        even[b] = v4_load(M + i * ld + blocks[b]);
        odd[b] = v4_zero();
    }
    int k = i + 1;
    const double *row = M + k * ld;
    TG_NO_UNROLL
    for (; k + 1 < end; k += 2, row += 2 * ld)
    {
        double c0 = row[i] * dinv[k], c1 = row[ld + i] * dinv[k + 1];
        for (int b = 0; b < count; b++)
        {
            even[b] -= c0 * v4_load(row + blocks[b]);
            odd[b] -= c1 * v4_load(row + ld + blocks[b]);
        }
    }
    if (k < end)
    {
        double c = row[i] * dinv[k];
        for (int b = 0; b < count; b++)
            even[b] -= c * v4_load(row + blocks[b]);
    }
    for (int b = 0; b < count; b++)
        v4_store(M + i * ld + blocks[b], even[b] + odd[b]);
}

static void gather_row(const tg_ltl_pattern *p, double *M, const double *dinv, int i)
{
    const int *blocks = p->blocks + p->block_start[i];
    int count = p->block_start[i + 1] - p->block_start[i];
    for (; count >= STRIP; count -= STRIP, blocks += STRIP)
        gather_strip(STRIP, p, M, dinv, i, blocks);
    TG_SIZED(count, STRIP - 1, gather_strip, p, M, dinv, i, blocks);
}

/* Featherstone's loop for one chain of six: rows in registers, two each */
static int factor_six(double *M, double *dinv)
{
    v4 row[SIX][2];
    for (int k = 0; k < SIX; k++)
        for (int h = 0; h <= k / V4_LANES; h++)
            row[k][h] = v4_load(M + SIX_LD * k + V4_LANES * h);
    for (int k = SIX - 1; k >= 0; k--)
    {
        int half = k / V4_LANES, lane = k % V4_LANES;
        double pivot = row[k][half][lane];
        if (!(pivot > 0) || !isfinite(pivot))
            return k;
        dinv[k] = 1 / pivot;
        v4 scaled[2];
        for (int h = 0; h <= half; h++)
            scaled[h] = row[k][h] * v4_splat(dinv[k]);
        for (int i = 0; i < k; i++)
            for (int h = 0; h <= i / V4_LANES; h++)
                row[i][h] -= v4_splat(row[k][i / V4_LANES][i % V4_LANES]) * scaled[h];
        scaled[half] = v4_keep(~v4_lanes_from(lane), scaled[half]);
        for (int h = 0; h <= half; h++)
            v4_store(M + SIX_LD * k + V4_LANES * h, scaled[h]);
    }
    return -1;
}

/* Featherstone's loop, turned inside out: instead of every row k changing the rows of its ancestors, row i collects
 * from its descendants, which are contiguous, while it stays in registers. Rows hold D_k L(k, :) until the end; then
 * all are scaled, and what stands in column k and above is cleared, so that the solves can run over whole blocks. */
int tg_ltl_factor(const tg_ltl_pattern *p, double *M, double *dinv)
{
    const ptrdiff_t ld = p->ld;
    if (p->six)
        return factor_six(M, dinv);
    for (int i = p->n - 1; i >= 0; i--)
    {
        if (p->end[i] > i + 1)
            gather_row(p, M, dinv, i);
        double pivot = M[i * ld + i];
        if (!(pivot > 0) || !isfinite(pivot))
            return i;
        dinv[i] = 1 / pivot;
    }
    for (int k = 0; k < p->n; k++)
    {
        double *row = M + k * ld;
        int b = p->block_start[k], last = p->block_start[k + 1] - 1;
        for (; b < last; b++)
            v4_store(row + p->blocks[b], dinv[k] * v4_load(row + p->blocks[b]));
        v4 scaled = dinv[k] * v4_load(row + p->blocks[last]);
        v4_store(row + p->blocks[last], v4_keep(~v4_lanes_from(k % V4_LANES), scaled));
    }
    return -1;
}

/* ---- one vector ----
 *
 * Four rows at a time, the block of x that belongs to them in a register: within the block the elimination runs from
 * register to register, and only finished blocks go through memory, as whole vectors. */

TG_INLINE int rows_of_block(const tg_ltl_pattern *p, int first)
{
    return p->n - first < V4_LANES ? p->n - first : V4_LANES;
}

/* the diagonal 4 x 4 block of L, strictly lower, zero rows below n */
TG_INLINE void load_diagonal(const tg_ltl_pattern *p, const double *L, int first, v4 row[V4_LANES])
{
    for (int r = 0; r < V4_LANES; r++)
        row[r] = first + r < p->n ? v4_load(L + (ptrdiff_t)(first + r) * p->ld + first) : v4_zero();
}

/* x(j) -= L(k, j) x(k) over the ancestors j of k, k from the last to the first */
void tg_ltl_solve_lt(const tg_ltl_pattern *p, const double *L, double *x)
{
    const ptrdiff_t ld = p->ld;
    for (int first = (p->n - 1) & ~(V4_LANES - 1); first >= 0; first -= V4_LANES)
    {
        int rows = rows_of_block(p, first);
        v4 diagonal[V4_LANES];
        load_diagonal(p, L, first, diagonal);
        v4 own = v4_load_part(x + first, rows);
        own -= diagonal[V4_LANES - 1] * own[V4_LANES - 1];
        own -= diagonal[2] * own[2];
        own -= diagonal[1] * own[1];
        v4_store_part(x + first, own, rows);
        for (int r = 0; r < rows; r++)
        {
            const double *row = L + (first + r) * ld;
            v4 factor = v4_splat(x[first + r]);
            for (int b = p->block_start[first + r]; b < p->block_start[first + r + 1] - 1; b++)
            {
                double *y = x + p->blocks[b];
                v4_storeu(y, v4_loadu(y) - factor * v4_load(row + p->blocks[b]));
            }
        }
    }
}

/* x(k) -= sum over the ancestors j of k of L(k, j) x(j), k from the first to the last */
void tg_ltl_solve_l(const tg_ltl_pattern *p, const double *L, double *x)
{
    const ptrdiff_t ld = p->ld;
    for (int first = 0; first < p->n; first += V4_LANES)
    {
        int rows = rows_of_block(p, first);
        v4 sum[V4_LANES], column[V4_LANES];
        load_diagonal(p, L, first, column);
        for (int r = 0; r < V4_LANES; r++)
        {
            sum[r] = v4_zero();
            if (r >= rows)
                continue;
            const double *row = L + (first + r) * ld;
            for (int b = p->block_start[first + r]; b < p->block_start[first + r + 1] - 1; b++)
                sum[r] += v4_load(row + p->blocks[b]) * v4_loadu(x + p->blocks[b]);
        }
        v4_transpose_rows(column);
        v4 own = v4_load_part(x + first, rows) - v4_sums(sum);
        own -= column[0] * own[0];
        own -= column[1] * own[1];
        own -= column[2] * own[2];
        v4_store_part(x + first, own, rows);
    }
}

/* one chain of six, x in two registers: the second has the last two */
static void solve_six(const double *L, const double *dinv, double *x)
{
    const double *fifth = L + SIX_LD * V4_LANES, *sixth = fifth + SIX_LD, *last = x + V4_LANES;
    v4 low = v4_loadu(x), row[V4_LANES];
    double below = sixth[V4_LANES], a = last[0] - below * last[1], b = last[1];
    low -= v4_load(sixth) * v4_splat(b) + v4_load(fifth) * v4_splat(a);
    for (int k = 0; k < V4_LANES; k++)
        row[k] = v4_load(L + SIX_LD * k);
    for (int k = V4_LANES - 1; k > 0; k--)
        low -= row[k] * v4_splat(low[k]);
    low *= v4_loadu(dinv);
    v4_transpose(&row[0], &row[1], &row[2], &row[V4_LANES - 1]);
    for (int k = 0; k < V4_LANES - 1; k++)
        low -= row[k] * v4_splat(low[k]);
    a = a * dinv[V4_LANES] - v4_sum(v4_load(fifth) * low);
    b = b * dinv[V4_LANES + 1] - v4_sum(v4_load(sixth) * low) - below * a;
    v4_storeu(x, low);
    x[V4_LANES] = a;
    x[V4_LANES + 1] = b;
}

void tg_ltl_solve(const tg_ltl_pattern *p, const double *L, const double *dinv, double *x)
{
    if (p->six)
    {
        solve_six(L, dinv, x);
        return;
    }
    tg_ltl_solve_lt(p, L, x);
    for (int k = 0; k < p->n; k++)
        x[k] *= dinv[k];
    tg_ltl_solve_l(p, L, x);
}

/* ---- inverse ----
 *
 * L W = D^-1 L^-T has zeros below the diagonal on its right side and 1 / D_i on it, so
 *     W(i, j) = - sum over the ancestors a of i of L(i, a) W(a, j),     j < i,
 *     W(i, i) = 1 / D_i - sum over a of L(i, a) W(i, a):
 * row i follows from the rows of its ancestors, complete up to column i - 1 because W is symmetric. */

/* W(i, j) for j = first .. first + 4 count - 1 */
TG_INLINE void inverse_strip(int count, const tg_ltl_pattern *p, const double *L, int i, int first, double *W,
                             ptrdiff_t ldw)
{
    const double *row = L + (ptrdiff_t)i * p->ld;
    v4 sum[STRIP];
    for (int c = 0; c < count; c++)
        sum[c] = v4_zero();
    TG_NO_UNROLL
    for (int a = p->path_start[i]; a < p->path_start[i + 1]; a++)
    {
        const double *w = W + p->path[a] * ldw + first;
        for (int c = 0; c < count; c++)
            sum[c] -= row[p->path[a]] * v4_loadu(w + V4_LANES * c);
    }
    for (int c = 0; c < count; c++)
        v4_storeu(W + i * ldw + first + V4_LANES * c, sum[c]);
}

/* fewer than four columns: one number at a time */
static void inverse_narrow(const tg_ltl_pattern *p, const double *L, int i, double *W, ptrdiff_t ldw)
{
    for (int j = 0; j < i; j++)
    {
        double sum = 0;
        for (int a = p->path_start[i]; a < p->path_start[i + 1]; a++)
            sum -= L[(ptrdiff_t)i * p->ld + p->path[a]] * W[p->path[a] * ldw + j];
        W[i * ldw + j] = sum;
    }
}

/* W(i, j) for all j < i; the last group of four steps back and repeats what it overlaps */
static void inverse_row(const tg_ltl_pattern *p, const double *L, int i, double *W, ptrdiff_t ldw)
{
    if (i < V4_LANES)
    {
        inverse_narrow(p, L, i, W, ldw);
        return;
    }
    int j = 0;
    for (; j + STRIP * V4_LANES <= i; j += STRIP * V4_LANES)
        inverse_strip(STRIP, p, L, i, j, W, ldw);
    TG_SIZED((i - j) / V4_LANES, STRIP - 1, inverse_strip, p, L, i, j, W, ldw);
    if (i % V4_LANES != 0)
        inverse_strip(1, p, L, i, i - V4_LANES, W, ldw);
}

void tg_ltl_inverse(const tg_ltl_pattern *p, const double *L, const double *dinv, double *W, int ldw)
{
    for (int i = 0; i < p->n; i++)
    {
        const double *row = L + (ptrdiff_t)i * p->ld;
        double *out = W + (ptrdiff_t)i * ldw;
        inverse_row(p, L, i, W, ldw);
        out[i] = dinv[i];
        for (int a = p->path_start[i]; a < p->path_start[i + 1]; a++)
            out[i] -= row[p->path[a]] * out[p->path[a]];
        for (int j = 0; j < i; j++)
            W[(ptrdiff_t)j * ldw + i] = out[j];
    }
}
