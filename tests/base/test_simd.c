/* Every operation of the SIMD vocabulary against the same thing written with scalars. Moves are compared exactly,
 * arithmetic to rounding: contraction to FMA may differ between the two. */
#include <math.h>
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/simd.h"

enum
{
    SAMPLES = 1000
};

/* a linear congruential generator (Knuth's MMIX constants); uniform in [-1, 1) */
static double next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-52 - 1;
}

static v4 next_vector(uint64_t *seed)
{
    double x = next_random(seed), y = next_random(seed), z = next_random(seed), w = next_random(seed);
    return v4_set(x, y, z, w);
}

static void assert_lanes(v4 a, double x, double y, double z, double w)
{
    assert_true(a[0] == x);
    assert_true(a[1] == y);
    assert_true(a[2] == z);
    assert_true(a[3] == w);
}

static void assert_near(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-15);
}

static void set_splat_and_zero(void **state)
{
    (void)state;
    assert_lanes(v4_set(1, 2, 3, 4), 1, 2, 3, 4);
    assert_lanes(v4_splat(-0.5), -0.5, -0.5, -0.5, -0.5);
    assert_lanes(v4_zero(), 0, 0, 0, 0);
}

static void pad_rounds_up_to_whole_vectors(void **state)
{
    (void)state;
    for (int n = 0; n < 100; n++)
    {
        int padded = v4_pad(n);
        assert_int_equal(padded % V4_LANES, 0);
        assert_true(padded >= n && padded < n + V4_LANES);
    }
}

static void aligned_load_and_store(void **state)
{
    (void)state;
    alignas(32) double from[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    alignas(32) double to[12] = {0};
    assert_lanes(v4_load(from + 4), 5, 6, 7, 8);
    v4_store(to + 4, v4_load(from));
    const double expected[12] = {0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0};
    assert_memory_equal(to, expected, sizeof to);
}

static void unaligned_load_and_store(void **state)
{
    (void)state;
    alignas(32) double from[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int offset = 0; offset < 4; offset++)
    {
        alignas(32) double to[8] = {0};
        assert_lanes(v4_loadu(from + offset), offset + 1, offset + 2, offset + 3, offset + 4);
        v4_storeu(to + offset, v4_loadu(from + offset));
        for (int i = 0; i < 8; i++)
            assert_true(to[i] == (i >= offset && i < offset + 4 ? from[i] : 0));
    }
}

/* exactly three doubles are read and written: the arrays end there, and AddressSanitizer looks */
static void three_vector_load_and_store(void **state)
{
    (void)state;
    const double from[3] = {1, 2, 3};
    assert_lanes(v4_load3(from), 1, 2, 3, 0);
    double to[4] = {9, 9, 9, 9};
    v4_store3(to, v4_set(4, 5, 6, 7));
    const double expected[4] = {4, 5, 6, 9};
    assert_memory_equal(to, expected, sizeof to);
}

static void shuffles_pick_lanes(void **state)
{
    (void)state;
    v4 a = v4_set(0, 1, 2, 3), b = v4_set(4, 5, 6, 7);
    assert_lanes(V4_SHUFFLE(a, 3, 0, 2, 0), 3, 0, 2, 0);
    assert_lanes(V4_SHUFFLE(b, 1, 2, 0, 3), 5, 6, 4, 7);
    assert_lanes(V4_SHUFFLE2(a, b, 0, 4, 2, 6), 0, 4, 2, 6);
    assert_lanes(V4_SHUFFLE2(a, b, 7, 1, 1, 5), 7, 1, 1, 5);
}

static void transpose_swaps_rows_and_columns(void **state)
{
    (void)state;
    v4 rows[4];
    for (int i = 0; i < 4; i++)
        rows[i] = v4_set(10 * i, 10 * i + 1, 10 * i + 2, 10 * i + 3);
    v4_transpose(&rows[0], &rows[1], &rows[2], &rows[3]);
    for (int i = 0; i < 4; i++)
        assert_lanes(rows[i], i, 10 + i, 20 + i, 30 + i);
}

static void operators_work_lane_by_lane(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int sample = 0; sample < SAMPLES; sample++)
    {
        v4 a = next_vector(&seed), b = next_vector(&seed), c = next_vector(&seed);
        v4 sum = a + b, difference = a - b, product = a * b, fused = a * b + c;
        for (int i = 0; i < V4_LANES; i++)
        {
            assert_true(sum[i] == a[i] + b[i]);
            assert_true(difference[i] == a[i] - b[i]);
            assert_true(product[i] == a[i] * b[i]);
            assert_near(fused[i], a[i] * b[i] + c[i]);
        }
    }
}

static void sum_and_dot(void **state)
{
    (void)state;
    assert_true(v4_sum(v4_set(1, 20, 300, 4000)) == 4321);
    uint64_t seed = 2;
    for (int sample = 0; sample < SAMPLES; sample++)
    {
        v4 a = next_vector(&seed), b = next_vector(&seed);
        assert_near(v4_sum(a), a[0] + a[1] + a[2] + a[3]);
        assert_near(v4_dot(a, b), a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]);
        v4 c = next_vector(&seed), sums = v4_sum3(a, b, c);
        assert_true(sums[0] == v4_sum(a) && sums[1] == v4_sum(b) && sums[2] == v4_sum(c) && sums[3] == 0);
    }
}

static void cross_product(void **state)
{
    (void)state;
    v4 x = v4_set(1, 0, 0, 0), y = v4_set(0, 1, 0, 0), z = v4_set(0, 0, 1, 0);
    assert_lanes(v4_cross(x, y), 0, 0, 1, 0);
    assert_lanes(v4_cross(y, z), 1, 0, 0, 0);
    assert_lanes(v4_cross(z, x), 0, 1, 0, 0);
    uint64_t seed = 3;
    for (int sample = 0; sample < SAMPLES; sample++)
    {
        v4 a = next_vector(&seed), b = next_vector(&seed);
        a[3] = 0;
        b[3] = 0;
        v4 c = v4_cross(a, b);
        assert_near(c[0], a[1] * b[2] - a[2] * b[1]);
        assert_near(c[1], a[2] * b[0] - a[0] * b[2]);
        assert_near(c[2], a[0] * b[1] - a[1] * b[0]);
        assert_true(c[3] == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_splat_and_zero),
        cmocka_unit_test(pad_rounds_up_to_whole_vectors),
        cmocka_unit_test(aligned_load_and_store),
        cmocka_unit_test(unaligned_load_and_store),
        cmocka_unit_test(three_vector_load_and_store),
        cmocka_unit_test(shuffles_pick_lanes),
        cmocka_unit_test(transpose_swaps_rows_and_columns),
        cmocka_unit_test(operators_work_lane_by_lane),
        cmocka_unit_test(sum_and_dot),
        cmocka_unit_test(cross_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
