/* Solves and products of rows over a kinematic tree, in the dofs that they involve. */
#include "math/support.h"

#include "math/lanes.h"

enum
{
    WIDTH = 2 /* vectors of a tile: with four rows eight sums, which cover the latency of the multiply-add */
};

TG_INLINE int lowest(uint64_t bits)
{
    return __builtin_ctzll(bits);
}

/* a word of what `vectors` groups of four columns involve together */
TG_INLINE uint64_t word_of(int vectors, int words, const uint64_t *support, int w)
{
    uint64_t bits = support[w];
    for (int v = 1; v < vectors; v++)
        bits |= support[v * words + w];
    return bits;
}

/* ---- D^-1/2 L^-T J ---- */

/* From the leaves to the root. Dofs of the support that are done are listed, the last one first: descendants of a dof
 * are the last ones of the list. */
TG_INLINE void half(int vectors, const tg_ltl_pattern *p, const double *L, const double *root, const uint64_t *support,
                    const double *J, double *Y, ptrdiff_t ld, int *list)
{
    int first = p->n, words = tg_chain_words(p->n);
    for (int i = p->n - 1; i >= 0; i--)
    {
        uint64_t bits = word_of(vectors, words, support, i / TG_CHAIN_BITS);
        v4 x[V4_STRIP];
        for (int v = 0; v < vectors; v++)
            x[v] = v4_loadu(J + i * ld + V4_LANES * v);
        if (bits >> i % TG_CHAIN_BITS & 1)
        {
            TG_NO_UNROLL
            for (int a = first; a < p->n && list[a] < p->end[i]; a++)
            {
                const double *row = Y + list[a] * ld, l = L[(ptrdiff_t)list[a] * p->ld + i];
                for (int v = 0; v < vectors; v++)
                    x[v] -= l * v4_loadu(row + V4_LANES * v);
            }
            list[--first] = i;
        }
        for (int v = 0; v < vectors; v++)
            v4_storeu(Y + i * ld + V4_LANES * v, x[v]);
    }
    for (int a = first; a < p->n; a++)
        for (int v = 0; v < vectors; v++)
        {
            double *y = Y + list[a] * ld + V4_LANES * v;
            v4_storeu(y, root[list[a]] * v4_loadu(y));
        }
}

/* Whether two times four vectors involve about the same dofs: one set inside of the other, and more than half of it.
 * Together they are solved in fewer instructions: a pair of dofs takes 7 of the loop and one per vector. */
static bool are_alike(int words, const uint64_t *support)
{
    const uint64_t *next = support + (ptrdiff_t)V4_LANES * words;
    int first = 0, second = 0, both = 0;
    for (int w = 0; w < words; w++)
    {
        uint64_t a = word_of(V4_LANES, words, support, w), b = word_of(V4_LANES, words, next, w);
        first += __builtin_popcountll(a);
        second += __builtin_popcountll(b);
        both += __builtin_popcountll(a & b);
    }
    return both == (first < second ? first : second) && 2 * both > (first < second ? second : first);
}

void tg_support_half(const tg_ltl_pattern *p, const double *L, const double *root, int vectors, const uint64_t *support,
                     const double *J, double *Y, int ld, int *list)
{
    int words = tg_chain_words(p->n), v = 0;
    for (int count; v + V4_LANES <= vectors; v += count) /* as many sums as the latency of the multiply-add */
    {
        const uint64_t *own = support + (ptrdiff_t)v * words;
        count = v + V4_STRIP <= vectors && are_alike(words, own) ? V4_STRIP : V4_LANES;
        if (count == V4_STRIP)
            half(V4_STRIP, p, L, root, own, J + V4_LANES * v, Y + V4_LANES * v, ld, list);
        else
            half(V4_LANES, p, L, root, own, J + V4_LANES * v, Y + V4_LANES * v, ld, list);
    }
    for (; v + 2 <= vectors; v += 2)
        half(2, p, L, root, support + v * words, J + V4_LANES * v, Y + V4_LANES * v, ld, list);
    if (v < vectors)
        half(1, p, L, root, support + v * words, J + V4_LANES * v, Y + V4_LANES * v, ld, list);
}

/* ---- Y^T Y ---- */

/* rows i .. i + 3, columns from j on; a, b: their supports */
TG_INLINE void tile(int vectors, int words, const uint64_t *a, const uint64_t *b, const double *Y, ptrdiff_t ld, int i,
                    int j, v4 sum[WIDTH][V4_LANES])
{
    for (int v = 0; v < vectors; v++)
        for (int k = 0; k < V4_LANES; k++)
            sum[v][k] = v4_zero();
    for (int w = 0; w < words; w++, Y += TG_CHAIN_BITS * ld)
        TG_NO_UNROLL
    for (uint64_t bits = a[w] & word_of(vectors, words, b, w); bits != 0; bits &= bits - 1)
    {
        const double *row = Y + lowest(bits) * ld;
        for (int v = 0; v < vectors; v++)
        {
            v4 y = v4_loadu(row + j + V4_LANES * v);
            for (int k = 0; k < V4_LANES; k++)
                sum[v][k] += row[i + k] * y;
        }
    }
}

/* where products go */
typedef struct target
{
    double *G;
    ptrdiff_t ld;
    const int *row;
    int first, columns;
} target;

/* four by four entries at row i, column j */
TG_INLINE void put(const target *t, int i, int j, const v4 sum[V4_LANES])
{
    for (int k = 0; k < V4_LANES && i + k < t->columns; k++)
    {
        if (t->row == NULL)
        {
            v4_storeu(t->G + (i + k) * t->ld + j, sum[k]);
            continue;
        }
        double *out = t->G + (t->row[i + k] - t->first) * t->ld - t->first;
        int last = j + V4_LANES - 1;
        if (last < t->columns && t->row[last] == t->row[j] + V4_LANES - 1)
            v4_storeu(out + t->row[j], v4_loadu(out + t->row[j]) + sum[k]);
        else
            for (int l = 0; l < V4_LANES && j + l < t->columns; l++)
                out[t->row[j + l]] += sum[k][l];
    }
}

TG_INLINE void tile_to(int vectors, int words, const uint64_t *support, const double *Y, int ldy, int i, int j,
                       const target *t)
{
    v4 sum[WIDTH][V4_LANES];
    tile(vectors, words, support + i * words, support + j * words, Y, ldy, V4_LANES * i, V4_LANES * j, sum);
    for (int v = 0; v < vectors; v++)
    {
        put(t, V4_LANES * i, V4_LANES * (j + v), sum[v]);
        if (j + v == i)
            continue;
        v4_transpose_rows(sum[v]);
        put(t, V4_LANES * (j + v), V4_LANES * i, sum[v]);
    }
}

void tg_support_product(int n, int columns, const uint64_t *support, const double *Y, int ldy, const int *row,
                        int first, double *G, int ldg)
{
    int words = tg_chain_words(n), blocks = v4_pad(columns) / V4_LANES;
    target t = {G, ldg, row, first, columns};
    for (int i = 0; i < blocks; i++)
    {
        int j = i;
        for (; j + WIDTH <= blocks; j += WIDTH)
            tile_to(WIDTH, words, support, Y, ldy, i, j, &t);
        if (j < blocks)
            tile_to(1, words, support, Y, ldy, i, j, &t);
    }
}

/* ---- sums over dofs ---- */

/* four sums to their rows, which ascend */
TG_INLINE void add_four(v4 sum, int j, int columns, const int *row, double *out)
{
    if (j + V4_LANES <= columns && row[j + V4_LANES - 1] == row[j] + V4_LANES - 1)
    {
        v4_storeu(out + row[j], v4_loadu(out + row[j]) + sum);
        return;
    }
    for (int i = 0; i < V4_LANES && j + i < columns; i++)
        out[row[j + i]] += sum[i];
}

/* of one velocity, of two, or (none) of the squares */
TG_INLINE void sum_up(int velocities, int n, int columns, const uint64_t *support, const double *J, ptrdiff_t ld,
                      const double *const x[2], const int *row, double *const out[2])
{
    int words = tg_chain_words(n);
    for (int j = 0; j < columns; j += V4_LANES, support += words)
    {
        v4 sum = v4_zero(), second = v4_zero();
        for (int w = 0; w < words; w++)
            TG_NO_UNROLL
        for (uint64_t bits = support[w]; bits != 0; bits &= bits - 1)
        {
            int k = TG_CHAIN_BITS * w + lowest(bits);
            v4 y = v4_loadu(J + k * ld + j);
            sum += (velocities > 0 ? v4_splat(x[0][k]) : y) * y;
            if (velocities == 2)
                second += v4_splat(x[1][k]) * y;
        }
        add_four(sum, j, columns, row, out[0]);
        if (velocities == 2)
            add_four(second, j, columns, row, out[1]);
    }
}

void tg_support_velocity(int n, int columns, const uint64_t *support, const double *J, int ldj,
                         const double *const x[2], const int *row, double *const out[2])
{
    if (x[1] != NULL)
        sum_up(2, n, columns, support, J, ldj, x, row, out);
    else
        sum_up(1, n, columns, support, J, ldj, x, row, out);
}

void tg_support_squares(int n, int columns, const uint64_t *support, const double *Y, int ldy, const int *row,
                        double *out)
{
    double *const all[2] = {out, NULL};
    sum_up(0, n, columns, support, Y, ldy, NULL, row, all);
}
