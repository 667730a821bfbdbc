#include "math/skyline.h"

#include <math.h>
#include <string.h>

#include "math/lanes.h"

enum
{
    TILE = V4_LANES * V4_LANES /* numbers of four rows and four columns */
};

/* Entries of L may grow to the inverse root of rounding: half of the digits are then left, which is enough for steps
 * whose result is measured. */
static const double most_growth = 0x1p26;

/* ---- shape ---- */

void tg_skyline_place(tg_skyline *s, int n, tg_arena *arena)
{
    size_t rows = (size_t)v4_pad(n), blocks = rows / V4_LANES, numbers = TILE * (blocks * (blocks + 1) / 2);
    s->start = TG_TAKE(arena, int, blocks, "skyline: first columns");
    s->block = TG_TAKE(arena, ptrdiff_t, blocks, "skyline: places of rows");
    s->order = TG_TAKE(arena, int, rows, "skyline: exchanges");
    s->lower = TG_TAKE(arena, double, numbers, "skyline: lower triangle");
    s->upper = TG_TAKE(arena, double, numbers, "skyline: upper triangle");
    s->kept = TG_TAKE(arena, double, numbers, "skyline: what is kept");
    s->inverse = TG_TAKE(arena, double, rows, "skyline: inverse of the diagonal");
    s->x = TG_TAKE(arena, double, rows, "skyline: vector");
}

void tg_skyline_begin(tg_skyline *s, int n)
{
    s->n = n;
    s->blocks = v4_pad(n) / V4_LANES;
    for (int i = 0; i < s->blocks; i++)
        s->start[i] = i;
}

void tg_skyline_couple(tg_skyline *s, int count, const int *row)
{
    for (int k = 1; k < count; k++)
        if (s->start[row[k] / V4_LANES] > row[0] / V4_LANES)
            s->start[row[k] / V4_LANES] = row[0] / V4_LANES;
}

void tg_skyline_end(tg_skyline *s)
{
    ptrdiff_t at = 0;
    for (int i = 0; i < s->blocks; i++)
    {
        s->block[i] = at - (ptrdiff_t)TILE * s->start[i];
        at += (ptrdiff_t)TILE * (i + 1 - s->start[i]);
    }
}

/* ---- numbers ---- */

static size_t bytes_of(const tg_skyline *s)
{
    int last = s->blocks - 1;
    return last < 0 ? 0 : sizeof(double) * (size_t)(s->block[last] + (ptrdiff_t)TILE * (last + 1));
}

void tg_skyline_set_one(tg_skyline *s, bool symmetric)
{
    size_t bytes = bytes_of(s);
    s->symmetric = symmetric;
    memset(s->lower, 0, bytes);
    if (!symmetric)
        memset(s->upper, 0, bytes);
    for (int i = 0; i < s->blocks; i++)
        for (int r = 0; r < V4_LANES; r++)
            s->lower[s->block[i] + (ptrdiff_t)TILE * i + (V4_LANES + 1) * r] = 1;
}

void tg_skyline_keep(tg_skyline *s)
{
    memcpy(s->kept, s->lower, bytes_of(s));
}

/* Of a symmetric matrix the tiles above the diagonal are those below it. */
void tg_skyline_set_kept(tg_skyline *s, bool symmetric)
{
    s->symmetric = symmetric;
    memcpy(s->lower, s->kept, bytes_of(s));
    if (!symmetric)
        memcpy(s->upper, s->kept, bytes_of(s));
}

/* Sums over `rows` of A_i C_j, i and j four columns of each: a v4 has one j. */
TG_INLINE void multiply_tile(int rows, int ld, const double *A, const double *C, v4 x[V4_LANES])
{
    for (int k = 0; k < V4_LANES; k++)
        x[k] = v4_zero();
    for (ptrdiff_t at = 0; at < (ptrdiff_t)rows * ld; at += ld)
        for (int k = 0; k < V4_LANES; k++)
            x[k] += v4_loadu(A + at) * v4_splat(C[at + k]);
}

TG_INLINE void add_tile(double *to, const v4 x[V4_LANES])
{
    for (int k = 0; k < V4_LANES; k++)
        v4_storeu(to + V4_LANES * k, v4_loadu(to + V4_LANES * k) + x[k]);
}

void tg_skyline_add(tg_skyline *s, int count, const int *row, int rows, const double *J, const double *P, int ld,
                    bool symmetric)
{
    v4 x[V4_LANES];
    for (int a = 0; a < count; a += V4_LANES)
        for (int c = 0; c <= a; c += V4_LANES)
        {
            ptrdiff_t at = s->block[row[a] / V4_LANES] + (ptrdiff_t)V4_LANES * row[c];
            multiply_tile(rows, ld, J + a, P + c, x);
            add_tile(s->lower + at, x);
            if (s->symmetric || c == a)
                continue;
            if (!symmetric)
                multiply_tile(rows, ld, P + a, J + c, x);
            add_tile(s->upper + at, x);
        }
}

int tg_skyline_widen(int n, int count, const int *row, int *out)
{
    int wide = 0;
    for (int k = 0; k < count; k++)
    {
        int first = row[k] - row[k] % V4_LANES;
        if (wide > 0 && out[wide - 1] >= first)
            continue;
        for (int i = first; i < first + V4_LANES && i < n; i++)
            out[wide++] = i;
    }
    return wide;
}

/* ---- factorisation ---- */

TG_INLINE void load_tile(const double *from, v4 x[V4_LANES])
{
    for (int c = 0; c < V4_LANES; c++)
        x[c] = v4_loadu(from + V4_LANES * c);
}

TG_INLINE void store_tile(double *to, const v4 x[V4_LANES])
{
    for (int c = 0; c < V4_LANES; c++)
        v4_storeu(to + V4_LANES * c, x[c]);
}

/* x -= A B^T over `columns` columns, a multiple of four, of two blocks of rows */
TG_INLINE void subtract_product(int columns, const double *A, const double *B, v4 x[V4_LANES])
{
    v4 y[V4_LANES] = {v4_zero(), v4_zero(), v4_zero(), v4_zero()};
    TG_NO_UNROLL
    for (int k = 0; k < V4_LANES * columns; k += 2 * V4_LANES)
    {
        v4 a = v4_loadu(A + k), b = v4_loadu(A + k + V4_LANES);
        for (int c = 0; c < V4_LANES; c++)
        {
            x[c] -= a * v4_splat(B[k + c]);
            y[c] += b * v4_splat(B[k + V4_LANES + c]);
        }
    }
    for (int c = 0; c < V4_LANES; c++)
        x[c] -= y[c];
}

/* x T = x, T upper triangular: column j of T has its numbers at T[step_row * i + step_column * j], i < j */
TG_INLINE void divide_columns(const double *T, int step_row, int step_column, const double *inverse, v4 x[V4_LANES])
{
    for (int j = 0; j < V4_LANES; j++)
    {
        for (int i = 0; i < j; i++)
            x[j] -= x[i] * v4_splat(T[step_row * i + step_column * j]);
        x[j] *= v4_splat(inverse[j]);
    }
}

/* Cholesky of a 4 x 4 tile, in its lower triangle; false when it is not positive definite */
TG_INLINE bool factor_symmetric(double *D, double *inverse)
{
    for (int j = 0; j < V4_LANES; j++)
    {
        double *column = D + V4_LANES * j, pivot = column[j];
        if (!(pivot > 0) || !isfinite(pivot))
            return false;
        double root = sqrt(pivot), by = 1 / pivot;
        for (int k = j + 1; k < V4_LANES; k++)
            for (int i = k; i < V4_LANES; i++)
                D[V4_LANES * k + i] -= column[i] * column[k] * by;
        inverse[j] = root * by;
        column[j] = root;
        for (int i = j + 1; i < V4_LANES; i++)
            column[i] *= inverse[j];
    }
    return true;
}

/* P D = L U of a 4 x 4 tile in place */
TG_INLINE bool factor_general(double *D, double *inverse, int *order)
{
    for (int i = 0; i < V4_LANES; i++)
        order[i] = i;
    for (int j = 0; j < V4_LANES; j++)
    {
        double *column = D + V4_LANES * j;
        int best = j;
        for (int i = j + 1; i < V4_LANES; i++)
            best = fabs(column[i]) > fabs(column[best]) ? i : best;
        if (best != j)
        {
            for (int c = 0; c < V4_LANES; c++)
            {
                double kept = D[V4_LANES * c + j];
                D[V4_LANES * c + j] = D[V4_LANES * c + best];
                D[V4_LANES * c + best] = kept;
            }
            int kept = order[j];
            order[j] = order[best];
            order[best] = kept;
        }
        if (!(fabs(column[j]) > 0) || !isfinite(column[j]))
            return false;
        inverse[j] = 1 / column[j];
        for (int i = j + 1; i < V4_LANES; i++)
            column[i] *= inverse[j];
        for (int c = j + 1; c < V4_LANES; c++)
            for (int i = j + 1; i < V4_LANES; i++)
                D[V4_LANES * c + i] -= column[i] * D[V4_LANES * c + j];
    }
    return true;
}

static bool factor_rows_symmetric(tg_skyline *s, int i)
{
    double *own = s->lower + s->block[i];
    v4 x[V4_LANES];
    for (int j = s->start[i]; j < i; j++)
    {
        int first = s->start[j] > s->start[i] ? s->start[j] : s->start[i];
        ptrdiff_t from = (ptrdiff_t)TILE * first, at = (ptrdiff_t)TILE * j;
        const double *other = s->lower + s->block[j];
        load_tile(own + at, x);
        subtract_product(V4_LANES * (j - first), own + from, other + from, x);
        divide_columns(other + at, V4_LANES, 1, s->inverse + V4_LANES * j, x);
        store_tile(own + at, x);
    }
    ptrdiff_t from = (ptrdiff_t)TILE * s->start[i], at = (ptrdiff_t)TILE * i;
    load_tile(own + at, x);
    subtract_product(V4_LANES * (i - s->start[i]), own + from, own + from, x);
    store_tile(own + at, x);
    return factor_symmetric(own + at, s->inverse + V4_LANES * i);
}

/* columns of a block of rows after the exchanges of these */
static void exchange(int columns, const int *order, double *A)
{
    if (order[0] == 0 && order[1] == 1 && order[2] == 2)
        return;
    for (int k = 0; k < columns; k++, A += V4_LANES)
    {
        double kept[V4_LANES];
        memcpy(kept, A, sizeof kept);
        for (int r = 0; r < V4_LANES; r++)
            A[r] = kept[order[r]];
    }
}

/* L x = x, L the unit lower triangle of a tile */
TG_INLINE void divide_rows(const double *D, v4 x[V4_LANES])
{
    for (int j = 1; j < V4_LANES; j++)
        for (int p = 0; p < j; p++)
            x[j] -= x[p] * v4_splat(D[V4_LANES * p + j]);
}

static bool factor_rows_general(tg_skyline *s, int i)
{
    double *lower = s->lower + s->block[i], *upper = s->upper + s->block[i];
    v4 x[V4_LANES], y[V4_LANES], most = v4_zero();
    for (int j = s->start[i]; j < i; j++)
    {
        int first = s->start[j] > s->start[i] ? s->start[j] : s->start[i], depth = V4_LANES * (j - first);
        const int *order = s->order + V4_LANES * j;
        ptrdiff_t from = (ptrdiff_t)TILE * first, at = (ptrdiff_t)TILE * j;
        const double *left = s->lower + s->block[j], *above = s->upper + s->block[j];
        load_tile(lower + at, x);
        subtract_product(depth, lower + from, above + from, x);
        divide_columns(left + at, 1, V4_LANES, s->inverse + V4_LANES * j, x);
        store_tile(lower + at, x);
        for (int r = 0; r < V4_LANES; r++)
        {
            v4 size = v4_select(x[r] < 0, -x[r], x[r]);
            most = v4_select(size <= most, most, size); /* also NaN */
            y[r] = v4_loadu(upper + at + (ptrdiff_t)V4_LANES * order[r]);
        }
        subtract_product(depth, upper + from, left + from, y);
        divide_rows(left + at, y);
        store_tile(upper + at, y);
    }
    ptrdiff_t from = (ptrdiff_t)TILE * s->start[i], at = (ptrdiff_t)TILE * i;
    int depth = V4_LANES * (i - s->start[i]);
    load_tile(lower + at, x);
    subtract_product(depth, lower + from, upper + from, x);
    store_tile(lower + at, x);
    for (int r = 0; r < V4_LANES; r++)
        if (!(most[r] <= most_growth))
            return false;
    if (!factor_general(lower + at, s->inverse + V4_LANES * i, s->order + V4_LANES * i))
        return false;
    exchange(depth, s->order + V4_LANES * i, lower + from);
    return true;
}

bool tg_skyline_factor(tg_skyline *s)
{
    bool good = true;
    for (int i = 0; i < s->blocks && good; i++)
        good = s->symmetric ? factor_rows_symmetric(s, i) : factor_rows_general(s, i);
    return good;
}

/* ---- solutions ---- */

/* x_i -= the rows' product with what is before them */
TG_INLINE v4 subtract_before(int columns, const double *A, const double *x, v4 own)
{
    v4 sum[V4_LANES] = {own, v4_zero(), v4_zero(), v4_zero()}; /* four sums: additions to one wait for each other */
    TG_NO_UNROLL
    for (int k = 0; k < columns; k += V4_LANES, A += TILE)
        for (int c = 0; c < V4_LANES; c++)
            sum[c] -= v4_loadu(A + V4_LANES * c) * v4_splat(x[k + c]);
    return (sum[0] + sum[1]) + (sum[2] + sum[V4_LANES - 1]);
}

/* One column of a substitution: what lane c of x takes off the lanes in `rows`. The product with the inverse does not
 * wait for x. */
#define SUBSTITUTE(x, c, rows) ((x)-v4_keep(rows, D[c]) * V4_SHUFFLE(inverse, c, c, c, c) * V4_SHUFFLE(x, c, c, c, c))

/* x = L^-1 x, L the lower triangle of a tile whose diagonal has these inverses; in registers */
TG_INLINE v4 substitute_lower(const v4 D[V4_LANES], v4 inverse, v4 x)
{
    x = SUBSTITUTE(x, 0, v4_lanes_from(1));
    x = SUBSTITUTE(x, 1, v4_lanes_from(2));
    x = SUBSTITUTE(x, 2, v4_lanes_from(V4_LANES - 1));
    return x * inverse;
}

/* x = U^-1 x, U the upper triangle of a tile */
TG_INLINE v4 substitute_upper(const v4 D[V4_LANES], v4 inverse, v4 x)
{
    x = SUBSTITUTE(x, V4_LANES - 1, ~v4_lanes_from(V4_LANES - 1));
    x = SUBSTITUTE(x, 2, ~v4_lanes_from(2));
    x = SUBSTITUTE(x, 1, ~v4_lanes_from(1));
    return x * inverse;
}

/* what is before x_i -= the rows' transpose times it */
TG_INLINE void subtract_from(int columns, const double *A, v4 own, double *x)
{
    TG_NO_UNROLL
    for (int k = 0; k < columns; k += V4_LANES, A += TILE)
    {
        v4 p[V4_LANES];
        for (int c = 0; c < V4_LANES; c++)
            p[c] = v4_loadu(A + V4_LANES * c) * own;
        v4_storeu(x + k, v4_loadu(x + k) - v4_sums(p));
    }
}

void tg_skyline_solve(const tg_skyline *s, double *b)
{
    double *x = s->x;
    v4 D[V4_LANES];
    memcpy(x, b, sizeof(double) * (size_t)s->n);
    for (int i = s->n; i < V4_LANES * s->blocks; i++)
        x[i] = 0;
    for (int i = 0; i < s->blocks; i++)
    {
        const double *lower = s->lower + s->block[i];
        const int *order = s->order + V4_LANES * i;
        double *own = x + V4_LANES * i;
        int first = V4_LANES * s->start[i], columns = V4_LANES * i - first;
        v4 right = s->symmetric ? v4_loadu(own)
                                : v4_set(own[order[0]], own[order[1]], own[order[2]], own[order[V4_LANES - 1]]);
        load_tile(lower + (ptrdiff_t)TILE * i, D);
        right = subtract_before(columns, lower + (ptrdiff_t)V4_LANES * first, x + first, right);
        v4_storeu(own, substitute_lower(D, s->symmetric ? v4_loadu(s->inverse + V4_LANES * i) : v4_splat(1), right));
    }
    for (int i = s->blocks - 1; i >= 0; i--)
    {
        const double *rows = (s->symmetric ? s->lower : s->upper) + s->block[i];
        double *own = x + V4_LANES * i;
        int first = V4_LANES * s->start[i];
        load_tile(s->lower + s->block[i] + (ptrdiff_t)TILE * i, D);
        if (s->symmetric) /* U = L^T */
            v4_transpose(&D[0], &D[1], &D[2], &D[V4_LANES - 1]);
        v4 solved = substitute_upper(D, v4_loadu(s->inverse + V4_LANES * i), v4_loadu(own));
        v4_storeu(own, solved);
        subtract_from(V4_LANES * i - first, rows + (ptrdiff_t)V4_LANES * first, solved, x + first);
    }
    memcpy(b, x, sizeof(double) * (size_t)s->n);
}
