/* Triangular solves over many columns, and over one.
 *
 * Forward substitution in tiles of 4 rows x 8 columns: a tile of X collects - T(rows, p) X(p, columns) over the rows p
 * that are solved, then its own four rows are eliminated in registers. Backward substitution is the same with all rows
 * counted from the end: pointers to the last row and negative strides. */
#include <stdbool.h>
#include <stddef.h>

#include "math/dense.h"
#include "math/lanes.h"

enum
{
    TILE_ROWS = 4,
    TILE_VECTORS = 2,
    TILE_COLUMNS = TILE_VECTORS * V4_LANES
};

/* a lower triangular matrix in the order of elimination: entry (i, p), p <= i, is data[i * row + p * step] */
typedef struct triangle
{
    const double *data;
    ptrdiff_t row, step;
    int n;
    bool unit;
} triangle;

/* X(i .. i + rows) <- eliminated, for 4 `vectors` columns; lanes of a single vector outside of keep stay as they are */
TG_INLINE void tile(int rows, int vectors, const triangle *T, int i, double *X, ptrdiff_t ldx, v4i keep)
{
    v4 x[TILE_ROWS][TILE_VECTORS];
    const double *t = T->data + i * T->row;
    double *out = X + i * ldx;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < vectors; c++)
            x[r][c] = v4_loadu(out + r * ldx + V4_LANES * c);
    TG_NO_UNROLL
    for (int p = 0; p < i; p++, t += T->step, X += ldx)
        for (int c = 0; c < vectors; c++)
        {
            v4 solved = v4_loadu(X + V4_LANES * c);
            for (int r = 0; r < rows; r++)
                x[r][c] -= t[r * T->row] * solved;
        }
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < vectors; c++)
        {
            for (int p = 0; p < r; p++)
                x[r][c] -= t[r * T->row + p * T->step] * x[p][c];
            if (!T->unit)
                x[r][c] /= t[r * T->row + r * T->step];
            v4 old = v4_loadu(out + r * ldx + V4_LANES * c);
            v4_storeu(out + r * ldx + V4_LANES * c, vectors == 1 ? v4_select(keep, x[r][c], old) : x[r][c]);
        }
}

TG_INLINE void panel(int vectors, const triangle *T, double *X, ptrdiff_t ldx, v4i keep)
{
    int i = 0;
    for (; i + TILE_ROWS <= T->n; i += TILE_ROWS)
        tile(TILE_ROWS, vectors, T, i, X, ldx, keep);
    switch (T->n - i)
    {
    case 1:
        tile(1, vectors, T, i, X, ldx, keep);
        break;
    case 2:
        tile(2, vectors, T, i, X, ldx, keep);
        break;
    case 3:
        tile(3, vectors, T, i, X, ldx, keep);
        break;
    default:
        break;
    }
}

/* fewer than four columns: one entry at a time */
static void narrow(const triangle *T, int columns, double *X, ptrdiff_t ldx)
{
    for (int c = 0; c < columns; c++)
        for (int i = 0; i < T->n; i++)
        {
            const double *t = T->data + i * T->row;
            double sum = X[i * ldx + c];
            for (int p = 0; p < i; p++)
                sum -= t[p * T->step] * X[p * ldx + c];
            X[i * ldx + c] = T->unit ? sum : sum / t[i * T->step];
        }
}

/* One contiguous vector. A stored row of T is a row of the system (a dot product with what is solved) or, transposed,
 * a column of it (subtracted from what is left); either way the part of the row beside the diagonal. */
static void solve_vector(int flags, int n, const double *T, ptrdiff_t ldt, double *x)
{
    bool upper = (flags & TG_TRI_UPPER) != 0, transposed = (flags & TG_TRI_TRANSPOSED) != 0;
    bool forward = upper == transposed;
    for (int step = 0; step < n; step++)
    {
        int i = forward ? step : n - 1 - step;
        int first = upper ? i + 1 : 0, count = upper ? n - 1 - i : i;
        const double *t = T + i * ldt;
        if (!transposed)
            x[i] -= v4_dot_of(count, t + first, x + first);
        if (!(flags & TG_TRI_UNIT))
            x[i] /= t[i];
        if (transposed)
            v4_subtract_scaled(count, x[i], t + first, x + first);
    }
}

void tg_trsm(int flags, int n, const double *T, int ldt, int columns, double *X, int ldx)
{
    if (n <= 0 || columns <= 0)
        return;
    if (columns == 1 && ldx == 1)
    {
        solve_vector(flags, n, T, ldt, X);
        return;
    }
    bool upper = (flags & TG_TRI_UPPER) != 0, transposed = (flags & TG_TRI_TRANSPOSED) != 0;
    triangle system = {T, transposed ? 1 : ldt, transposed ? ldt : 1, n, (flags & TG_TRI_UNIT) != 0};
    ptrdiff_t stride = ldx;
    if (upper != transposed)
    {
        system.data += (n - 1) * (system.row + system.step);
        system.row = -system.row;
        system.step = -system.step;
        X += (n - 1) * stride;
        stride = -stride;
    }
    if (columns < V4_LANES)
    {
        narrow(&system, columns, X, stride);
        return;
    }
    int j = 0;
    for (; j + TILE_COLUMNS <= columns; j += TILE_COLUMNS)
        panel(TILE_VECTORS, &system, X + j, stride, v4_lanes_from(0));
    for (; j + V4_LANES <= columns; j += V4_LANES)
        panel(1, &system, X + j, stride, v4_lanes_from(0));
    if (j < columns)
        panel(1, &system, X + columns - V4_LANES, stride, v4_lanes_from(V4_LANES - (columns - j)));
}
