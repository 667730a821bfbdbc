/* Solves with the factors of ltl.c over many right-hand sides: vectors run over columns, and a panel of up to 36
 * columns of one row stays in registers while it collects from the rows of descendants (L^-T) or ancestors (L^-1). */
#include <stddef.h>

#include "math/lanes.h"
#include "math/ltl.h"

enum
{
    PANEL = 9 /* vectors: enough sums in flight for the latency of the multiply-add, in 16 registers; 72 = 2 x 36 */
};

/* the columns that a pass treats: `vectors` groups of four from X on, the lanes outside of keep left as they are (only
 * with one group) */
typedef struct strip
{
    double *X;
    ptrdiff_t ldx;
    v4i keep;
} strip;

TG_INLINE void load_row(int vectors, const strip *s, int i, v4 x[PANEL])
{
    for (int c = 0; c < vectors; c++)
        x[c] = v4_loadu(s->X + i * s->ldx + V4_LANES * c);
}

TG_INLINE void store_row(int vectors, const strip *s, int i, const v4 x[PANEL])
{
    double *out = s->X + i * s->ldx;
    for (int c = 0; c < vectors; c++)
        v4_storeu(out + V4_LANES * c, vectors == 1 ? v4_select(s->keep, x[c], v4_loadu(out)) : x[c]);
}

/* x -= factor X(k, :) */
TG_INLINE void subtract_row(int vectors, const strip *s, int k, double factor, v4 x[PANEL])
{
    const double *row = s->X + k * s->ldx;
    for (int c = 0; c < vectors; c++)
        x[c] -= factor * v4_loadu(row + V4_LANES * c);
}

/* X(i, :) -= sum over the descendants k of i of L(k, i) X(k, :), from the leaves */
TG_INLINE void up(int vectors, const tg_ltl_pattern *p, const double *L, const strip *s)
{
    for (int i = p->n - 1; i >= 0; i--)
    {
        v4 x[PANEL];
        load_row(vectors, s, i, x);
        const double *l = L + (ptrdiff_t)(i + 1) * p->ld + i;
        TG_NO_UNROLL
        for (int k = i + 1; k < p->end[i]; k++, l += p->ld)
            subtract_row(vectors, s, k, *l, x);
        store_row(vectors, s, i, x);
    }
}

/* X(i, :) <- X(i, :) / D_i (where dinv is given) - sum over the ancestors a of i of L(i, a) X(a, :), from the root */
TG_INLINE void down(int vectors, const tg_ltl_pattern *p, const double *L, const double *dinv, const strip *s)
{
    for (int i = 0; i < p->n; i++)
    {
        v4 x[PANEL];
        const double *l = L + (ptrdiff_t)i * p->ld;
        load_row(vectors, s, i, x);
        for (int c = 0; dinv != NULL && c < vectors; c++)
            x[c] *= dinv[i];
        TG_NO_UNROLL
        for (int a = p->path_start[i]; a < p->path_start[i + 1]; a++)
            subtract_row(vectors, s, p->path[a], l[p->path[a]], x);
        store_row(vectors, s, i, x);
    }
}

/* both passes, or, without dinv, the one down */
TG_INLINE void passes(int vectors, const tg_ltl_pattern *p, const double *L, const double *dinv, const strip *s)
{
    if (dinv != NULL)
        up(vectors, p, L, s);
    down(vectors, p, L, dinv, s);
}

static void panel(int vectors, const tg_ltl_pattern *p, const double *L, const double *dinv, const strip *s)
{
    if (vectors == PANEL)
        passes(PANEL, p, L, dinv, s);
    else
        TG_SIZED(vectors, PANEL - 1, passes, p, L, dinv, s);
}

/* fewer than four columns: one number at a time */
static void narrow(const tg_ltl_pattern *p, const double *L, const double *dinv, int columns, double *X, ptrdiff_t ldx)
{
    for (int c = 0; c < columns; c++, X++)
    {
        for (int i = p->n - 1; dinv != NULL && i >= 0; i--)
            for (int k = i + 1; k < p->end[i]; k++)
                X[i * ldx] -= L[(ptrdiff_t)k * p->ld + i] * X[k * ldx];
        for (int i = 0; dinv != NULL && i < p->n; i++)
            X[i * ldx] *= dinv[i];
        for (int i = 0; i < p->n; i++)
            for (int a = p->path_start[i]; a < p->path_start[i + 1]; a++)
                X[i * ldx] -= L[(ptrdiff_t)i * p->ld + p->path[a]] * X[p->path[a] * ldx];
    }
}

/* Whole groups of four columns in panels of nearly equal width, then the rest. */
static void solve(const tg_ltl_pattern *p, const double *L, const double *dinv, int columns, double *X, ptrdiff_t ldx)
{
    if (columns < V4_LANES)
    {
        narrow(p, L, dinv, columns, X, ldx);
        return;
    }
    int vectors = columns / V4_LANES, rest = columns % V4_LANES;
    strip s = {X, ldx, v4_lanes_from(0)};
    for (int panels = (vectors + PANEL - 1) / PANEL; panels > 0; panels--)
    {
        int width = vectors / panels;
        panel(width, p, L, dinv, &s);
        vectors -= width;
        s.X += V4_LANES * width;
    }
    if (rest > 0)
    {
        strip last = {X + columns - V4_LANES, ldx, v4_lanes_from(V4_LANES - rest)};
        panel(1, p, L, dinv, &last);
    }
}

void tg_ltl_solve_many(const tg_ltl_pattern *p, const double *L, const double *dinv, int columns, double *X, int ldx)
{
    solve(p, L, dinv, columns, X, ldx);
}

void tg_ltl_solve_l_many(const tg_ltl_pattern *p, const double *L, int columns, double *X, int ldx)
{
    solve(p, L, NULL, columns, X, ldx);
}
