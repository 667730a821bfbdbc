/* Hulls of a few points: the same as those of the hull code, and nothing where rounding would decide. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/small_hull.h"

static double next(uint64_t *state) /* -1 .. 1 */
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 4503599627370496.0 - 1;
}

/* (b - a) x (c - a) . (d - a) */
static double volume(const double *a, const double *b, const double *c, const double *d)
{
    double u[3], v[3], w[3];
    for (int i = 0; i < 3; i++)
    {
        u[i] = b[i] - a[i];
        v[i] = c[i] - a[i];
        w[i] = d[i] - a[i];
    }
    return (u[1] * v[2] - u[2] * v[1]) * w[0] + (u[2] * v[0] - u[0] * v[2]) * w[1] + (u[0] * v[1] - u[1] * v[0]) * w[2];
}

/* By the definition: three points are a triangle of the hull where all others are on one side of them. */
static int count_triangles(const double *p, int n)
{
    int count = 0;
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++)
            for (int c = b + 1; c < n; c++)
            {
                int above = 0, below = 0;
                for (int d = 0; d < n; d++)
                {
                    double v = d == a || d == b || d == c ? 0 : volume(p + 3 * a, p + 3 * b, p + 3 * c, p + 3 * d);
                    above += v > 0;
                    below += v < 0;
                }
                count += above == 0 || below == 0;
            }
    return count;
}

static void random_points(void **state)
{
    (void)state;
    uint64_t seed = 7;
    int found = 0;
    for (int round = 0; round < 60; round++)
    {
        int n = 4 + round % 25, face[3 * TG_SMALL_HULL_FACES], nface = 0;
        double p[3 * TG_SMALL_HULL_POINTS];
        for (int i = 0; i < 3 * n; i++)
            p[i] = 0.1 * next(&seed) + (i % 3 == 0 ? 5 : 0);
        if (!tg_small_hull(p, n, face, &nface))
            continue;
        found++;
        assert_int_equal(nface, count_triangles(p, n));
        for (int f = 0; f < nface; f++)
            for (int i = 0; i < n; i++)
                assert_true(volume(p + 3 * face[3 * f], p + 3 * face[3 * f + 1], p + 3 * face[3 * f + 2], p + 3 * i) <
                            1e-15); /* counter-clockwise: the others are behind it */
    }
    assert_true(found > 55);
}

static void all_on_a_sphere(void **state)
{
    (void)state;
    double p[3 * TG_SMALL_HULL_POINTS];
    int face[3 * TG_SMALL_HULL_FACES], nface = 0;
    for (int i = 0; i < TG_SMALL_HULL_POINTS; i++)
    {
        double z = 1 - (2 * i + 1.0) / TG_SMALL_HULL_POINTS, r = sqrt(1 - z * z), angle = 2.399963229728653 * i;
        p[3 * i] = r * cos(angle);
        p[3 * i + 1] = r * sin(angle);
        p[3 * i + 2] = z;
    }
    assert_true(tg_small_hull(p, TG_SMALL_HULL_POINTS, face, &nface));
    assert_int_equal(nface, TG_SMALL_HULL_FACES);
}

/* Four points in a plane are two triangles of it. */
static void faces_with_many_corners(void **state)
{
    (void)state;
    static const double cube[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0.5, 0.4, 0};
    int face[3 * TG_SMALL_HULL_FACES], nface = 0;
    assert_true(tg_small_hull(cube, 8, face, &nface));
    assert_int_equal(nface, 12);
    double total = 0;
    for (int f = 0; f < nface; f++)
        total += volume(cube, cube + 3 * face[3 * f], cube + 3 * face[3 * f + 1], cube + 3 * face[3 * f + 2]) / 6;
    assert_true(fabs(total - 1) < 1e-14);
    assert_true(tg_small_hull(cube, 9, face, &nface)); /* a point in a face is no corner */
    assert_int_equal(nface, 12);
}

/* Points on an edge, equal points, flat sets, too many or too few: not decided here. */
static void not_decided(void **state)
{
    (void)state;
    static const double near[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1e-10};
    static const double flat[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 1e-10};
    static const double same[15] = {0};
    double many[3 * (TG_SMALL_HULL_POINTS + 1)] = {0};
    int face[3 * TG_SMALL_HULL_FACES], nface = 0;
    assert_false(tg_small_hull(near, 5, face, &nface));
    assert_false(tg_small_hull(flat, 4, face, &nface));
    assert_false(tg_small_hull(same, 5, face, &nface));
    assert_false(tg_small_hull(near, 3, face, &nface));
    assert_false(tg_small_hull(many, TG_SMALL_HULL_POINTS + 1, face, &nface));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_points),
        cmocka_unit_test(all_on_a_sphere),
        cmocka_unit_test(faces_with_many_corners),
        cmocka_unit_test(not_decided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
