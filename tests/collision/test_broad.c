/* The broad phase against testing every pair, few geoms and many, with infinite ones among them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collision/broad.h"
#include "support/dynamics_case.h"

typedef struct scene
{
    int n;
    double *memory;
    tg_bounds bounds;
    uint64_t *bits;
    tg_allowed allowed;
    int *order;
    tg_geom_pair *pairs;
} scene;

static scene make_scene(int n, double spread, unsigned seed)
{
    scene s = {.n = n};
    s.memory = aligned_alloc(64, ((size_t)tg_bounds_size(n) * sizeof(double) + 63) & ~(size_t)63);
    s.bounds = tg_bounds_place(s.memory, n);
    int words = tg_allowed_words(n);
    s.bits = calloc((size_t)n * (size_t)words, sizeof *s.bits);
    s.allowed = (tg_allowed){.words = words, .bits = s.bits};
    s.order = calloc(2 * (size_t)n, sizeof *s.order);
    s.pairs = calloc((size_t)n * (size_t)n, sizeof *s.pairs);
    for (int i = 0; i < n; i++)
    {
        double squared = 0;
        for (int k = 0; k < 3; k++)
        {
            s.bounds.centre[k][i] = spread * test_uniform(&seed);
            double half = 0.6 + 0.4 * test_uniform(&seed);
            s.bounds.half[k][i] = i % 50 == 7 ? INFINITY : half;
            squared += half * half;
        }
        s.bounds.radius[i] = i % 50 == 7 ? INFINITY : sqrt(squared) * (0.9 + 0.1 * test_uniform(&seed));
        for (int j = i + 1; j < n; j++)
            if (test_uniform(&seed) > -0.6)
                s.bits[(size_t)i * (size_t)words + (size_t)(j / 64)] |= (uint64_t)1 << (j % 64);
    }
    return s;
}

static void free_scene(scene *s)
{
    free(s->memory);
    free(s->bits);
    free(s->order);
    free(s->pairs);
}

static bool is_set(const void *context, int i, int j)
{
    const scene *s = context;
    return s->bits[i * tg_allowed_words(s->n) + j / 64] >> (j % 64) & 1;
}

static bool expected(const scene *s, int i, int j)
{
    double squared = 0, reach = s->bounds.radius[i] + s->bounds.radius[j];
    bool boxes = true;
    for (int k = 0; k < 3; k++)
    {
        double d = s->bounds.centre[k][i] - s->bounds.centre[k][j];
        boxes = boxes && fabs(d) < s->bounds.half[k][i] + s->bounds.half[k][j];
        squared += d * d;
    }
    return boxes && sqrt(squared) < reach && is_set(s, i, j);
}

/* function: in place of the bits */
static void check_scene(int n, double spread, unsigned seed, bool function)
{
    scene s = make_scene(n, spread, seed);
    if (function)
        s.allowed = (tg_allowed){.may = is_set, .context = &s};
    int count = tg_broad_phase(&s.bounds, s.allowed, s.order, s.pairs, n * n), at = 0;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (expected(&s, i, j))
            {
                assert_true(at < count);
                assert_int_equal(s.pairs[at].first, i);
                assert_int_equal(s.pairs[at].second, j);
                at++;
            }
    assert_int_equal(at, count);
    assert_true(count > 0);
    free_scene(&s);
}

static void test_all_with_all(void **state)
{
    (void)state;
    for (int n = 2; n <= 128; n += 3)
        check_scene(n, 1 + 0.02 * n, (unsigned)n, false);
}

static void test_sweep(void **state)
{
    (void)state;
    check_scene(129, 4, 1, false);
    check_scene(700, 12, 2, false);
    check_scene(700, 12, 2, true);
}

static void test_capacity_is_counted(void **state)
{
    (void)state;
    for (int n = 60; n <= 300; n += 240)
    {
        scene s = make_scene(n, 3, 5);
        int all = tg_broad_phase(&s.bounds, s.allowed, s.order, s.pairs, n * n);
        assert_true(all > 10);
        memset(s.pairs, 0xff, sizeof *s.pairs * (size_t)n * (size_t)n);
        assert_int_equal(tg_broad_phase(&s.bounds, s.allowed, s.order, s.pairs, 10), all);
        assert_int_equal(s.pairs[10].first, -1);
        assert_int_equal(tg_broad_phase(&s.bounds, s.allowed, s.order, NULL, 0), all);
        free_scene(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_with_all),
        cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_capacity_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
