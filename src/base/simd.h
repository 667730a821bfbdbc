/* The SIMD vocabulary: four doubles at a time.
 *
 * v4 is a compiler vector (GCC and Clang). The same source becomes AVX2 + FMA where the target has it, pairs of SSE2 or
 * NEON registers where it has not, so every kernel is written once; the preset `portable` builds the narrow path and
 * the tests run on both. A 3-vector is a v4 whose last lane is zero unless a comment says otherwise.
 *
 * Loads and stores of v4 through pointers need 32-byte alignment; arrays in a workspace have 64. */
#ifndef TG_BASE_SIMD_H
#define TG_BASE_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double v4 __attribute__((vector_size(32)));
typedef int64_t v4i __attribute__((vector_size(32)));

enum
{
    V4_LANES = 4
};

/* n rounded up to a whole number of v4 */
static inline int v4_pad(int n)
{
    return (n + V4_LANES - 1) & ~(V4_LANES - 1);
}

static inline v4 v4_load(const double *p) /* aligned */
{
    return *(const v4 *)__builtin_assume_aligned(p, 32);
}

static inline void v4_store(double *p, v4 a) /* aligned */
{
    *(v4 *)__builtin_assume_aligned(p, 32) = a;
}

static inline v4 v4_loadu(const double *p)
{
    v4 a;
    memcpy(&a, p, sizeof a);
    return a;
}

static inline void v4_storeu(double *p, v4 a)
{
    memcpy(p, &a, sizeof a);
}

/* two doubles: what six numbers have behind their v4 */
typedef double v2 __attribute__((vector_size(16)));

static inline v2 v2_loadu(const double *p)
{
    v2 a;
    memcpy(&a, p, sizeof a);
    return a;
}

static inline void v2_storeu(double *p, v2 a)
{
    memcpy(p, &a, sizeof a);
}

static inline v4 v4_set(double x, double y, double z, double w)
{
    return (v4){x, y, z, w};
}

static inline v4 v4_splat(double x)
{
    return (v4){x, x, x, x};
}

static inline v4 v4_zero(void)
{
    return (v4){0, 0, 0, 0};
}

/* three doubles in memory, unaligned, to and from a 3-vector */
static inline v4 v4_load3(const double *p)
{
    return (v4){p[0], p[1], p[2], 0};
}

static inline void v4_store3(double *p, v4 a)
{
    p[0] = a[0];
    p[1] = a[1];
    p[2] = a[2];
}

#if defined(__clang__)
#define V4_SHUFFLE(a, i, j, k, l) __builtin_shufflevector(a, a, i, j, k, l)
#define V4_SHUFFLE2(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define V4_SHUFFLE(a, i, j, k, l) __builtin_shuffle(a, (v4i){i, j, k, l})
#define V4_SHUFFLE2(a, b, i, j, k, l) __builtin_shuffle(a, b, (v4i){i, j, k, l})
#endif

/* (a_0 + a_2) + (a_1 + a_3), the first two sums at once */
static inline double v4_sum(v4 a)
{
    v2 low = {a[0], a[1]}, high = {a[2], a[3]}, sum = low + high;
    return sum[0] + sum[1];
}

/* (sum of a, sum of b, sum of c, 0), each in the order of v4_sum */
static inline v4 v4_sum3(v4 a, v4 b, v4 c)
{
    v4 ac = V4_SHUFFLE2(a, c, 0, 1, 4, 5) + V4_SHUFFLE2(a, c, 2, 3, 6, 7); /* a0 + a2, a1 + a3, c0 + c2, c1 + c3 */
    v4 b0 = V4_SHUFFLE2(b, v4_zero(), 0, 1, 4, 5) + V4_SHUFFLE2(b, v4_zero(), 2, 3, 6, 7);
    return V4_SHUFFLE2(ac, b0, 0, 4, 2, 6) + V4_SHUFFLE2(ac, b0, 1, 5, 3, 7);
}

/* rows become columns */
static inline void v4_transpose(v4 *a, v4 *b, v4 *c, v4 *d)
{
    v4 ab_even = V4_SHUFFLE2(*a, *b, 0, 4, 2, 6); /* a0 b0 a2 b2 */
    v4 ab_odd = V4_SHUFFLE2(*a, *b, 1, 5, 3, 7);
    v4 cd_even = V4_SHUFFLE2(*c, *d, 0, 4, 2, 6);
    v4 cd_odd = V4_SHUFFLE2(*c, *d, 1, 5, 3, 7);
    *a = V4_SHUFFLE2(ab_even, cd_even, 0, 1, 4, 5);
    *b = V4_SHUFFLE2(ab_odd, cd_odd, 0, 1, 4, 5);
    *c = V4_SHUFFLE2(ab_even, cd_even, 2, 3, 6, 7);
    *d = V4_SHUFFLE2(ab_odd, cd_odd, 2, 3, 6, 7);
}

static inline void v4_transpose_rows(v4 a[V4_LANES])
{
    v4_transpose(&a[0], &a[1], &a[2], &a[3]);
}

/* the sum of four vectors, in pairs */
static inline v4 v4_sum_rows(const v4 a[V4_LANES])
{
    return (a[0] + a[1]) + (a[2] + a[3]);
}

/* whether a mask is set in any lane */
static inline int v4_any(v4i mask)
{
    return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
}

/* 3-vector products; the last lane of the operands of a dot product must be zero in one of them */
static inline v4 v4_cross(v4 a, v4 b)
{
    v4 a_yzx = V4_SHUFFLE(a, 1, 2, 0, 3);
    v4 b_yzx = V4_SHUFFLE(b, 1, 2, 0, 3);
    v4 c = a * b_yzx - a_yzx * b;
    return V4_SHUFFLE(c, 1, 2, 0, 3);
}

static inline double v4_dot(v4 a, v4 b)
{
    return v4_sum(a * b);
}

/* the root of each lane */
static inline v4 v4_root(v4 a)
{
    for (int i = 0; i < V4_LANES; i++)
        a[i] = sqrt(a[i]);
    return a;
}

static inline double v4_length(v4 a)
{
    return sqrt(v4_dot(a, a));
}

static inline v4 v4_unit(v4 a)
{
    return a * v4_splat(1 / v4_length(a));
}

#endif
