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
    TILE_ROWS = V4_LANES,
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
    const double *inverse; /* 1 / the diagonal, forward only; NULL: divided as needed */
} triangle;

/* X(i .. i + rows) <- eliminated, for 4 `vectors` columns, or for fewer than four (lanes); lanes of a single vector
 * outside of keep stay as they are */
TG_INLINE void tile(int rows, int vectors, int lanes, const triangle *T, int i, double *X, ptrdiff_t ldx, v4i keep)
{
    v4 x[TILE_ROWS][TILE_VECTORS];
    double inverse[TILE_ROWS]; /* divided ahead of the sums, which then wait for products alone */
    const double *t = T->data + i * T->row;
    double *out = X + i * ldx;
    for (int r = 0; r < rows; r++)
    {
        inverse[r] = T->inverse != NULL ? T->inverse[i + r] : T->unit ? 1 : 1 / t[r * T->row + (i + r) * T->step];
        for (int c = 0; c < vectors; c++)
            x[r][c] = v4_load_part(out + r * ldx + V4_LANES * c, lanes);
    }
    TG_NO_UNROLL
    for (int p = 0; p < i; p++, t += T->step, X += ldx)
        for (int c = 0; c < vectors; c++)
        {
            v4 solved = v4_load_part(X + V4_LANES * c, lanes);
            for (int r = 0; r < rows; r++)
                x[r][c] -= t[r * T->row] * solved;
        }
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < vectors; c++)
        {
            for (int p = 0; p < r; p++)
                x[r][c] -= t[r * T->row + p * T->step] * x[p][c];
            x[r][c] *= inverse[r];
            v4 old = v4_load_part(out + r * ldx + V4_LANES * c, lanes);
            v4_store_part(out + r * ldx + V4_LANES * c, vectors == 1 ? v4_select(keep, x[r][c], old) : x[r][c], lanes);
        }
}

TG_INLINE void panel(int vectors, int lanes, const triangle *T, double *X, ptrdiff_t ldx, v4i keep)
{
    int i = 0;
    for (; i + TILE_ROWS <= T->n; i += TILE_ROWS)
        tile(TILE_ROWS, vectors, lanes, T, i, X, ldx, keep);
    TG_SIZED(T->n - i, TILE_ROWS - 1, tile, vectors, lanes, T, i, X, ldx, keep);
}

/* fewer than four columns */
static void narrow(const triangle *T, int columns, double *X, ptrdiff_t ldx)
{
    switch (columns)
    {
    case 1:
        panel(1, 1, T, X, ldx, v4_lanes_from(0));
        break;
    case 2:
        panel(1, 2, T, X, ldx, v4_lanes_from(0));
        break;
    default:
        panel(1, V4_LANES - 1, T, X, ldx, v4_lanes_from(0));
        break;
    }
}

/* ---- one contiguous vector ----
 *
 * Four unknowns at a time. A stored row of T is a row of the system (a dot product with what is solved) or, transposed,
 * a column of it (subtracted from what is left); either way the part of the row beside the block on the diagonal. */

/* the dot products of `rows` stored rows with x */
TG_INLINE v4 dots(int rows, int n, const double *t, ptrdiff_t ldt, const double *x)
{
    v4 sum[TILE_ROWS] = {v4_zero(), v4_zero(), v4_zero(), v4_zero()};
    int p = 0;
    TG_NO_UNROLL
    for (; p + V4_LANES <= n; p += V4_LANES)
        for (int r = 0; r < rows; r++)
            sum[r] += v4_loadu(t + r * ldt + p) * v4_loadu(x + p);
    if (p < n)
        for (int r = 0; r < rows; r++)
            sum[r] += v4_load_part(t + r * ldt + p, n - p) * v4_load_part(x + p, n - p);
    return v4_sums(sum);
}

/* x -= rows of T times what was solved */
TG_INLINE void subtract(int rows, int n, const double *t, ptrdiff_t ldt, const double y[TILE_ROWS], double *x)
{
    v4 solved[TILE_ROWS];
    for (int r = 0; r < rows; r++)
        solved[r] = v4_splat(y[r]);
    int p = 0;
    TG_NO_UNROLL
    for (; p + V4_LANES <= n; p += V4_LANES)
    {
        v4 sum = v4_loadu(x + p);
        for (int r = 0; r < rows; r++)
            sum -= solved[r] * v4_loadu(t + r * ldt + p);
        v4_storeu(x + p, sum);
    }
    TG_NO_UNROLL
    for (; p < n; p++)
        for (int r = 0; r < rows; r++)
            x[p] -= y[r] * t[r * ldt + p];
}

/* The block on the diagonal; entry (r, c) of the system is t[r * row + c * step]. Rows are divided by their diagonal
 * first, so that one unknown waits for the next by a single product. */
TG_INLINE void diagonal_block(int rows, bool forward, bool unit, const double *known, const double *t, ptrdiff_t row,
                              ptrdiff_t step, double y[TILE_ROWS])
{
    double inverse[TILE_ROWS];
    for (int r = 0; r < rows; r++)
    {
        inverse[r] = known != NULL ? known[r] : unit ? 1 : 1 / t[r * (row + step)];
        y[r] *= inverse[r];
    }
    for (int k = 1; k < rows; k++)
    {
        int r = forward ? k : rows - 1 - k;
        for (int m = 0; m < k; m++)
        {
            int c = forward ? m : rows - 1 - m;
            y[r] -= t[r * row + c * step] * inverse[r] * y[c];
        }
    }
}

/* unknowns i .. i + rows */
TG_INLINE void vector_step(int rows, bool upper, bool transposed, bool unit, const double *inverse, int i, int n,
                           const double *T, ptrdiff_t ldt, double *x)
{
    bool forward = upper == transposed;
    int first = upper ? i + rows : 0, count = upper ? n - i - rows : i;
    const double *t = T + i * ldt;
    ptrdiff_t row = transposed ? 1 : ldt, step = transposed ? ldt : 1;
    double y[TILE_ROWS];
    v4 sum = transposed ? v4_zero() : dots(rows, count, t + first, ldt, x + first);
    for (int r = 0; r < rows; r++)
        y[r] = x[i + r] - sum[r];
    diagonal_block(rows, forward, unit, inverse != NULL ? inverse + i : NULL, t + i, row, step, y);
    if (rows == TILE_ROWS) /* at once: the next step loads all four at once, and would wait for single ones */
        v4_storeu(x + i, v4_loadu(y));
    else
        for (int r = 0; r < rows; r++)
            x[i + r] = y[r];
    if (transposed)
        subtract(rows, count, t + first, ldt, y, x + first);
}

TG_INLINE void solve_vector(bool upper, bool transposed, bool unit, const double *inverse, int n, const double *T,
                            ptrdiff_t ldt, double *x)
{
    bool forward = upper == transposed;
    int whole = n / TILE_ROWS, rest = n % TILE_ROWS, last = whole * TILE_ROWS;
    for (int k = 0; k <= whole; k++)
    {
        int block = forward ? k : whole - k;
        if (block < whole)
            vector_step(TILE_ROWS, upper, transposed, unit, inverse, TILE_ROWS * block, n, T, ldt, x);
        else
            TG_SIZED(rest, TILE_ROWS - 1, vector_step, upper, transposed, unit, inverse, last, n, T, ldt, x);
    }
}

static void solve_vector_of(int flags, int n, const double *T, ptrdiff_t ldt, double *x)
{
    bool unit = (flags & TG_TRI_UNIT) != 0;
    switch (flags & (TG_TRI_UPPER | TG_TRI_TRANSPOSED))
    {
    case TG_TRI_LOWER:
        solve_vector(false, false, unit, NULL, n, T, ldt, x);
        break;
    case TG_TRI_UPPER:
        solve_vector(true, false, unit, NULL, n, T, ldt, x);
        break;
    case TG_TRI_TRANSPOSED:
        solve_vector(false, true, unit, NULL, n, T, ldt, x);
        break;
    default:
        solve_vector(true, true, unit, NULL, n, T, ldt, x);
        break;
    }
}

void tg_trsm(int flags, int n, const double *T, int ldt, int columns, double *X, int ldx)
{
    if (n <= 0 || columns <= 0)
        return;
    if (columns == 1 && ldx == 1)
    {
        solve_vector_of(flags, n, T, ldt, X);
        return;
    }
    bool upper = (flags & TG_TRI_UPPER) != 0, transposed = (flags & TG_TRI_TRANSPOSED) != 0;
    triangle system = {T, transposed ? 1 : ldt, transposed ? ldt : 1, n, (flags & TG_TRI_UNIT) != 0, NULL};
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
        panel(TILE_VECTORS, V4_LANES, &system, X + j, stride, v4_lanes_from(0));
    for (; j + V4_LANES <= columns; j += V4_LANES)
        panel(1, V4_LANES, &system, X + j, stride, v4_lanes_from(0));
    if (j < columns)
        panel(1, V4_LANES, &system, X + columns - V4_LANES, stride, v4_lanes_from(V4_LANES - (columns - j)));
}

/* ---- four rows ---- */

void tg_trsm_rows(const double *U, int ldu, int i, int columns, double *X, int ldx)
{
    const triangle system = {U, 1, ldu, i + TILE_ROWS, false, NULL};
    const v4i all = v4_lanes_from(0);
    int j = 0;
    for (; j + TILE_COLUMNS <= columns; j += TILE_COLUMNS)
        tile(TILE_ROWS, TILE_VECTORS, V4_LANES, &system, i, X + j, ldx, all);
    for (; j + V4_LANES <= columns; j += V4_LANES)
        tile(TILE_ROWS, 1, V4_LANES, &system, i, X + j, ldx, all);
    for (; j < columns; j++)
        tile(TILE_ROWS, 1, 1, &system, i, X + j, ldx, all);
}

/* ---- diagonals whose inverses are known ---- */

void tg_upper_inverse(int n, const double *U, int ldu, double *inverse)
{
    int i = 0;
    const ptrdiff_t next = (ptrdiff_t)ldu + 1;
    for (; i < n; i++, U += next)
        inverse[i] = *U;
    for (i = 0; i < n; i++)
        inverse[i] = 1 / inverse[i];
}

void tg_upper_half(int n, const double *U, int ldu, const double *inverse, double *x)
{
    solve_vector(true, true, false, inverse, n, U, ldu, x);
}

void tg_upper_other_half(int n, const double *U, int ldu, const double *inverse, double *x)
{
    solve_vector(true, false, false, inverse, n, U, ldu, x);
}

void tg_upper_half_many(int n, const double *U, int ldu, const double *inverse, int columns, double *X, int ldx)
{
    const triangle system = {U, 1, ldu, n, false, inverse};
    int j = 0;
    for (; j + TILE_COLUMNS <= columns; j += TILE_COLUMNS)
        panel(TILE_VECTORS, V4_LANES, &system, X + j, ldx, v4_lanes_from(0));
    for (; j < columns; j += V4_LANES)
        panel(1, V4_LANES, &system, X + j, ldx, v4_lanes_from(0));
}
