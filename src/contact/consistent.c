/* Loops with redundant rows (a planar four-bar closed by a connect has one of three) cannot follow every velocity: with Z a basis of the left null
 * space of the equalities' J, Z^T (J v+ + b) = Z^T b whatever v+ is. Nearly redundant rows are no better: the axes of a four-bar whose numbers were
 * rounded to six digits differ by 1e-6, and an impulse could keep the bars from opening along Z by that much only by stopping the mechanism, or by tearing
 * at it 1e6 times harder than anything else. So what is left of the equalities is their part beside Z,
 *     J <- P J,   b <- P b,   P = 1 - Z Z^T,
 * which is G <- P G P and g <- P g; impulses with Z^T L = 0 (selection.c) do the same through J as through P J. Z comes from a pivoted QR of the equalities'
 * part of G, rows normalised: J^T Z below 1e-4 of a row is nothing. */
#include <math.h>

#include "contact/rows.h"
#include "math/dense.h"

static const double rank_threshold = 1e-8; /* of the largest column */

typedef struct loops
{
    double *G, *bias, *free, *g; /* of the island */
    int rows, ldg;
    int n, *row; /* rows of equalities */
    int null;    /* columns of Z */
    double *A;   /* n x n: normalised part of G, its QR */
    double *Z;   /* n x null, its QR */
    double *B;   /* n x rows: what is projected */
    double *tau, *work, *size;
    int *order;
} loops;

static int gather_rows(const tg_rows *r, const tg_rows_island *island, int *row)
{
    int n = 0;
    for (int b = island->block; b < island->block + island->blocks; b++)
        for (int i = 0; r->block[b].kind == TG_BLOCK_EQUALITY && i < r->block[b].rows; i++)
            row[n++] = r->block[b].row + i;
    return n;
}

static double *entry(const loops *l, int i, int j)
{
    return l->G + (ptrdiff_t)i * l->ldg + j;
}

/* Z of D G D, D = diag(G)^-1/2, is D^-1 times that of G: returns the number of its columns, a QR of Z in l->Z */
static int find_null(loops *l)
{
    int n = l->n;
    for (int i = 0; i < n; i++)
    {
        double own = *entry(l, l->row[i], l->row[i]);
        l->size[i] = own > 0 ? 1 / sqrt(own) : 0;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            l->A[i * n + j] = *entry(l, l->row[i], l->row[j]) * l->size[i] * l->size[j];
    int rank = tg_qr(n, n, l->A, n, l->tau, l->order, rank_threshold, l->work);
    l->null = n - rank;
    if (l->null == 0)
        return 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < l->null; j++)
            l->Z[i * l->null + j] = i == rank + j;
    tg_qr_apply(n, n, l->A, n, l->tau, l->null, l->Z, l->null, l->work);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < l->null; j++)
            l->Z[i * l->null + j] *= l->size[i] > 0 ? l->size[i] : 1;
    tg_qr(n, l->null, l->Z, l->null, l->tau, NULL, 0, l->work);
    return l->null;
}

/* B (n x columns) <- P B */
static void project(loops *l, int columns)
{
    tg_qr_apply_t(l->n, l->null, l->Z, l->null, l->tau, columns, l->B, columns, l->work);
    for (int i = 0; i < l->null; i++)
        for (int j = 0; j < columns; j++)
            l->B[i * columns + j] = 0;
    tg_qr_apply(l->n, l->null, l->Z, l->null, l->tau, columns, l->B, columns, l->work);
}

/* columns of equalities, and with them their rows: twice, so that both sides of G_EE are projected */
static void project_matrix(loops *l)
{
    for (int side = 0; side < 2; side++)
    {
        for (int i = 0; i < l->n; i++)
            for (int j = 0; j < l->rows; j++)
                l->B[i * l->rows + j] = *entry(l, j, l->row[i]);
        project(l, l->rows);
        for (int i = 0; i < l->n; i++)
            for (int j = 0; j < l->rows; j++)
                *entry(l, l->row[i], j) = l->B[i * l->rows + j];
    }
    for (int i = 0; i < l->n; i++)
    {
        /* a row of which nothing is left but rounding */
        bool gone = *entry(l, l->row[i], l->row[i]) * l->size[i] * l->size[i] <= rank_threshold;
        for (int j = 0; j < l->rows; j++)
            *entry(l, j, l->row[i]) = *entry(l, l->row[i], j) = gone ? 0 : *entry(l, l->row[i], j);
    }
}

/* returns the largest velocity that was taken out (m/s) */
static double project_velocities(loops *l)
{
    double removed = 0;
    for (int i = 0; i < l->n; i++)
    {
        l->B[2 * i] = l->free[l->row[i]];
        l->B[2 * i + 1] = l->bias[l->row[i]];
    }
    project(l, 2);
    for (int i = 0; i < l->n; i++)
    {
        removed = fmax(removed, fabs(l->g[l->row[i]] - l->B[2 * i] - l->B[2 * i + 1]));
        l->free[l->row[i]] = l->B[2 * i];
        l->bias[l->row[i]] = l->B[2 * i + 1];
        l->g[l->row[i]] = l->B[2 * i] + l->B[2 * i + 1];
    }
    return removed;
}

static void make_consistent(tg_rows *r, tg_rows_island *island)
{
    island->removed = 0;
    loops l = {.G = r->G + island->G,
               .bias = r->bias + island->row,
               .free = r->free + island->row,
               .g = r->g + island->row,
               .rows = island->rows,
               .ldg = v4_pad(island->rows)};
    l.row = TG_TAKE(&r->scratch, int, island->rows, "equality rows");
    l.n = gather_rows(r, island, l.row);
    if (l.n == 0)
        return;
    size_t n = (size_t)l.n, columns = (size_t)island->rows + 2;
    l.A = TG_TAKE(&r->scratch, double, n *n, "equalities' part of G");
    l.Z = TG_TAKE(&r->scratch, double, n *n, "what no velocity follows");
    l.B = TG_TAKE(&r->scratch, double, n *columns, "rows of equalities");
    l.tau = TG_TAKE(&r->scratch, double, n, "reflections");
    l.work = TG_TAKE(&r->scratch, double, n + columns, "vector");
    l.size = TG_TAKE(&r->scratch, double, n, "vector");
    l.order = TG_TAKE(&r->scratch, int, n, "order of columns");
    if (find_null(&l) == 0)
        return;
    project_matrix(&l);
    island->removed = project_velocities(&l);
}

void tg_make_consistent(tg_rows *r)
{
    for (int i = 0; i < r->nisland; i++)
    {
        size_t mark = tg_arena_mark(&r->scratch);
        if (tg_island_is_dense(r, &r->island[i]))
            make_consistent(r, &r->island[i]);
        tg_arena_release(&r->scratch, mark);
    }
}
