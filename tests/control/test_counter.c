/* Counter-based random numbers: known answers of Philox, and the distributions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/counter.h"

/* The three vectors that the paper's own library tests with. */
static void philox_gives_the_known_answers(void **state)
{
    (void)state;
    static const uint32_t counter[3][4] = {{0, 0, 0, 0},
                                           {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu},
                                           {0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}};
    static const uint32_t key[3][2] = {{0, 0}, {0xffffffffu, 0xffffffffu}, {0xa4093822u, 0x299f31d0u}};
    static const uint32_t known[3][4] = {{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u},
                                         {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu},
                                         {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}};
    for (int i = 0; i < 3; i++)
    {
        uint32_t out[4];
        tg_philox(counter[i], key[i], out);
        for (int k = 0; k < 4; k++)
            assert_int_equal(out[k], known[i][k]);
    }
}

/* Mean, variance and kurtosis of 200,000 numbers within five standard errors; no two samples alike. */
static void numbers_are_uniform_and_normal(void **state)
{
    (void)state;
    enum
    {
        SAMPLES = 2000,
        NUMBERS = 100
    };
    double u[NUMBERS], n[NUMBERS], sum[2] = {0, 0}, square[2] = {0, 0}, fourth = 0, first = 0,
                                   count = SAMPLES * NUMBERS;
    int same = 0;
    for (uint32_t s = 0; s < SAMPLES; s++)
    {
        tg_draw draw = {12345, 7, 2, s};
        tg_draw_uniform(&draw, NUMBERS, u);
        tg_draw_normal(&draw, NUMBERS, n);
        same += n[0] == first;
        first = n[0];
        for (int i = 0; i < NUMBERS; i++)
        {
            assert_true(u[i] > 0 && u[i] < 1);
            sum[0] += u[i] / count;
            square[0] += (u[i] - 0.5) * (u[i] - 0.5) / count;
            sum[1] += n[i] / count;
            square[1] += n[i] * n[i] / count;
            fourth += n[i] * n[i] * n[i] * n[i] / count;
        }
    }
    assert_int_equal(same, 0);
    assert_true(fabs(sum[0] - 0.5) < 5 * sqrt(1.0 / 12 / count));
    assert_true(fabs(square[0] - 1.0 / 12) < 5 * sqrt(1.0 / 180 / count));
    assert_true(fabs(sum[1]) < 5 * sqrt(1 / count));
    assert_true(fabs(square[1] - 1) < 5 * sqrt(2 / count));
    assert_true(fabs(fourth - 3) < 5 * sqrt(96 / count));
}

/* A number depends on its draw and its index, not on how many are drawn; each part of the draw counts. */
static void a_number_is_a_function_of_its_counters(void **state)
{
    (void)state;
    tg_draw draw = {99, 1, 2, 3};
    double few[3], many[8], other[8];
    tg_draw_normal(&draw, 3, few);
    tg_draw_normal(&draw, 8, many);
    for (int i = 0; i < 3; i++)
        assert_true(few[i] == many[i]);
    const tg_draw others[] = {
        {100, 1, 2, 3}, {99 + (1ull << 32), 1, 2, 3}, {99, 2, 2, 3}, {99, 1, 3, 3}, {99, 1, 2, 4}};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
    {
        tg_draw_normal(&others[k], 8, other);
        for (int i = 0; i < 8; i++)
            assert_true(other[i] != many[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_known_answers),
        cmocka_unit_test(numbers_are_uniform_and_normal),
        cmocka_unit_test(a_number_is_a_function_of_its_counters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
