/* Edges of vectorised loops: forced inlining of register tiles, lane masks, and vectors of fewer than four numbers.
 *
 * A loop over columns handles the last, incomplete group of four by stepping back: it covers the last four columns,
 * computes all lanes and keeps the result in the lanes that were not done before (v4_select). Memory outside of the
 * rows is never touched. */
#ifndef TG_MATH_LANES_H
#define TG_MATH_LANES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/simd.h"

#define TG_INLINE static inline __attribute__((always_inline))

/* before the innermost loop of a register tile, or one of at most three rounds: Clang would unroll it once more */
#if defined(__clang__)
#define TG_NO_UNROLL _Pragma("clang loop unroll(disable) vectorize(disable) interleave(disable)")
#else
#define TG_NO_UNROLL
#endif

/* function(n, ...) with n as a constant, 1 <= n <= most <= 8: a register tile needs a size that the compiler knows.
 * Nothing where n is out of range. */
#define TG_SIZED(n, most, function, ...)                                                                               \
    do                                                                                                                 \
        switch (n)                                                                                                     \
        {                                                                                                              \
            TG_SIZED_CASE(1, most, function, __VA_ARGS__)                                                              \
            TG_SIZED_CASE(2, most, function, __VA_ARGS__)                                                              \
            TG_SIZED_CASE(3, most, function, __VA_ARGS__)                                                              \
            TG_SIZED_CASE(4, most, function, __VA_ARGS__)                                                              \
            TG_SIZED_CASE(5, most, function, __VA_ARGS__)                                                              \
            TG_SIZED_CASE(6, most, function, __VA_ARGS__)                                                              \
            TG_SIZED_CASE(7, most, function, __VA_ARGS__)                                                              \
            TG_SIZED_CASE(8, most, function, __VA_ARGS__)                                                              \
        default:                                                                                                       \
            break;                                                                                                     \
        }                                                                                                              \
    while (0)
#define TG_SIZED_CASE(size, most, function, ...)                                                                       \
    case size:                                                                                                         \
        if (size <= (most))                                                                                            \
            function(size, __VA_ARGS__);                                                                               \
        break;

/* all ones in the lanes >= first */
TG_INLINE v4i v4_lanes_from(int first)
{
    const v4i lane = {0, 1, 2, V4_LANES - 1};
    const v4i bound = {first, first, first, first};
    return (v4i)(lane >= bound);
}

/* a where mask is set, b elsewhere; bitwise, so NaN in the lane that is not taken does not matter */
TG_INLINE v4 v4_select(v4i mask, v4 a, v4 b)
{
    return (v4)((mask & (v4i)a) | (~mask & (v4i)b));
}

/* a where mask is set, 0 elsewhere */
TG_INLINE v4 v4_keep(v4i mask, v4 a)
{
    return (v4)(mask & (v4i)a);
}

/* without its sign */
TG_INLINE v4 v4_absolute(v4 a)
{
    const v4i magnitude = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}; /* all bits but the sign */
    return v4_keep(magnitude, a);
}

/* the first count lanes from memory, zero in the others */
TG_INLINE v4 v4_load_part(const double *p, int count)
{
    switch (count)
    {
    case 0:
        return v4_zero();
    case 1:
        return v4_set(p[0], 0, 0, 0);
    case 2:
        return v4_set(p[0], p[1], 0, 0);
    case V4_LANES - 1:
        return v4_load3(p);
    default:
        return v4_loadu(p);
    }
}

/* the first count lanes to memory */
TG_INLINE void v4_store_part(double *p, v4 a, int count)
{
    if (count >= V4_LANES)
    {
        v4_storeu(p, a);
        return;
    }
    for (int i = 0; i < count; i++)
        p[i] = a[i];
}

/* the dot product of n numbers */
TG_INLINE double v4_dot_of(int n, const double *a, const double *b)
{
    v4 sum = v4_zero();
    int i = 0;
    TG_NO_UNROLL
    for (; i + V4_LANES <= n; i += V4_LANES)
        sum += v4_loadu(a + i) * v4_loadu(b + i);
    if (i < n)
        sum += v4_load_part(a + i, n - i) * v4_load_part(b + i, n - i);
    return v4_sum(sum);
}

/* (sum of a[0], of a[1], of a[2], of a[3]); a is used up */
TG_INLINE v4 v4_sums(v4 a[V4_LANES])
{
    v4_transpose_rows(a);
    return v4_sum_rows(a);
}

/* y = A x, A (m x n, leading dimension lda): four rows at a time, so that sums are added up once for all of them */
TG_INLINE void v4_multiply(int m, int n, const double *A, int lda, const double *x, double *y)
{
    const int whole = n & ~(V4_LANES - 1);
    const bool room = lda >= v4_pad(n); /* behind the numbers of a row */
    const v4 last = v4_load_part(x + whole, n - whole);
    const v4i part = ~v4_lanes_from(n - whole);
    int i = 0;
    for (; i + V4_LANES <= m; i += V4_LANES)
    {
        const double *row = A + (size_t)i * (size_t)lda;
        v4 sum[V4_LANES] = {v4_zero(), v4_zero(), v4_zero(), v4_zero()};
        TG_NO_UNROLL
        for (int p = 0; p < whole; p += V4_LANES)
        {
            v4 at = v4_loadu(x + p);
            for (int r = 0; r < V4_LANES; r++)
                sum[r] += v4_loadu(row + r * (ptrdiff_t)lda + p) * at;
        }
        for (int r = 0; r < V4_LANES && whole < n; r++)
        {
            const double *end = row + r * (ptrdiff_t)lda + whole;
            sum[r] += (room ? v4_keep(part, v4_loadu(end)) : v4_load_part(end, n - whole)) * last;
        }
        v4_storeu(y + i, v4_sums(sum));
    }
    for (; i < m; i++)
        y[i] = v4_dot_of(n, A + (size_t)i * (size_t)lda, x);
}

enum
{
    V4_STRIP = 2 * V4_LANES /* vectors of sums: half of the registers of AVX2 */
};

/* columns 4 p .. of the sum of rows i times x_i, `count` vectors of them */
TG_INLINE void v4_add_rows(int m, int count, const double *A, int lda, const double *x, double *y)
{
    v4 sum[V4_STRIP];
    for (int c = 0; c < count; c++)
        sum[c] = v4_zero();
    TG_NO_UNROLL
    for (int i = 0; i < m; i++, A += lda)
        for (int c = 0; c < count; c++)
            sum[c] += v4_loadu(A + (ptrdiff_t)V4_LANES * c) * v4_splat(x[i]);
    for (int c = 0; c < count; c++)
        v4_storeu(y + (ptrdiff_t)V4_LANES * c, sum[c]);
}

/* y = A^T x, A (m x n, leading dimension lda) with rows, and y, that have room up to a whole number of v4: what is
 * behind them is multiplied and written, too. Sums stay in registers. */
TG_INLINE void v4_multiply_transposed(int m, int n, const double *A, int lda, const double *x, double *y)
{
    int p = 0;
    for (; p + (V4_STRIP - 1) * V4_LANES < n; p += V4_STRIP * V4_LANES)
        v4_add_rows(m, V4_STRIP, A + p, lda, x, y + p);
    for (; p + (V4_LANES - 1) * V4_LANES < n; p += V4_LANES * V4_LANES)
        v4_add_rows(m, V4_LANES, A + p, lda, x, y + p);
    for (; p + V4_LANES < n; p += 2 * V4_LANES)
        v4_add_rows(m, 2, A + p, lda, x, y + p);
    if (p < n)
        v4_add_rows(m, 1, A + p, lda, x, y + p);
}

/* The largest |a_i b_i| of n numbers; NaN where one of them is not finite. */
TG_INLINE double v4_most(int n, const double *a, const double *b)
{
    v4 most = v4_zero(), finite = v4_zero();
    for (int i = 0; i < n; i += V4_LANES)
    {
        int left = n - i;
        v4 x =
            left < V4_LANES ? v4_load_part(a + i, left) * v4_load_part(b + i, left) : v4_loadu(a + i) * v4_loadu(b + i);
        x = v4_select(x < 0, -x, x);
        most = v4_select(x > most, x, most);
        finite += x - x;
    }
    double result = 0;
    for (int r = 0; r < V4_LANES; r++)
        result = most[r] > result ? most[r] : result;
    return result + v4_sum(finite);
}

/* Whether any of n numbers is larger than the limit, either way. */
TG_INLINE bool v4_any_beyond(int n, const double *a, double limit)
{
    const v4 square = v4_splat(limit * limit);
    v4i any = {0};
    int i = 0;
    for (; i + V4_LANES <= n; i += V4_LANES)
        any |= v4_loadu(a + i) * v4_loadu(a + i) > square;
    v4 last = v4_load_part(a + i, n - i);
    any |= last * last > square;
    return v4_sum(v4_keep(any, v4_splat(1))) > 0;
}

/* whether all of n numbers are finite */
TG_INLINE int v4_all_finite(int n, const double *a)
{
    v4 sum = v4_zero();
    int i = 0;
    TG_NO_UNROLL
    for (; i + V4_LANES <= n; i += V4_LANES)
        sum += 0 * v4_loadu(a + i);
    if (i < n)
        sum += 0 * v4_load_part(a + i, n - i);
    return v4_sum(sum) == 0;
}

/* y -= factor x, n numbers */
TG_INLINE void v4_subtract_scaled(int n, double factor, const double *x, double *y)
{
    int i = 0;
    TG_NO_UNROLL
    for (; i + V4_LANES <= n; i += V4_LANES)
        v4_storeu(y + i, v4_loadu(y + i) - factor * v4_loadu(x + i));
    if (i + 2 <= n)
    {
        double a = y[i] - factor * x[i], b = y[i + 1] - factor * x[i + 1];
        y[i++] = a;
        y[i++] = b;
    }
    if (i < n)
        y[i] -= factor * x[i];
}

#endif
