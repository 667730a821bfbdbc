/* The search against a look at all pairs of features. */
#include "collision/polytope.h"
#include "collision/polytope_test.h"
#include "support/effort.h"

enum
{
    SHAPES = 9,
    POSES = 1000 / TEST_EFFORT
};

static tg_polytope *hull[5];

/* cores only: roundings do not matter to the search */
static tg_placed shape_of(int i)
{
    switch (i)
    {
    case 0:
        return place_sphere(0);
    case 1:
        return place_capsule(0, 0.15);
    case 2:
        return place_box(0.1, 0.15, 0.2);
    case 3:
        return place_box(0.3, 0.02, 0.1);
    default:
        return place_mesh(hull[i - 4]);
    }
}

static int make_hulls(void **state)
{
    (void)state;
    test_random r = {12345};
    const double flat[] = {0.1, 0, 0, -0.1, 0.05, 0, 0, -0.1, 0, 0.08, 0.1, 0, -0.1, -0.1, 0};
    const double segment[] = {0.1, 0.1, 0, -0.1, 0, 0.1, 0, 0.05, 0.05};
    const double point[] = {0.01, 0.02, 0.03};
    hull[0] = make_rock(&r, 14, 0.1, 0.15, 0.2);
    hull[1] = make_rock(&r, 60, 0.2, 0.1, 0.1);
    hull[2] = make_polytope(flat, 5);
    hull[3] = make_polytope(segment, 3);
    hull[4] = make_polytope(point, 1);
    return 0;
}

static int free_hulls(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        tg_polytope_destroy(NULL, hull[i]);
    return 0;
}

/* how far a pose puts the shapes apart, along some direction: mostly near, some deep, some touching */
static double random_gap(test_random *r, int k)
{
    if (k % 10 == 0)
        return -0.2 * fabs(random_unit(r));
    return (k % 10 == 1 ? 1e-6 : 0.05) * random_unit(r);
}

typedef struct worst
{
    double distance, normal, points;
    int limit;
} worst;

static void compare(const tg_placed *a, const tg_placed *b, worst *w)
{
    brute o = brute_axis(a, b);
    tg_gjk_result g = tg_gjk(a, b, INFINITY, NULL);
    v4 turn = g.normal - o.normal, gap = g.point[1] - g.point[0] - g.normal * v4_splat(g.distance);
    w->distance = fmax(w->distance, fabs(g.distance - o.separation));
    w->points = fmax(w->points, sqrt(v4_dot(gap, gap)));
    if (g.margin > 1e-6 && fabs(g.distance) > 1e-9)
        w->normal = fmax(w->normal, sqrt(v4_dot(turn, turn)) * fabs(o.separation));
    w->limit += g.status == TG_GJK_LIMIT;
    assert_true(fabs(v4_dot(g.normal, g.normal) - 1) < 1e-14);
    assert_true(g.status != TG_GJK_APART || g.distance > 0);
    assert_true(g.status != TG_GJK_OVERLAP || g.distance < 0);
}

static void every_pair(void **state)
{
    (void)state;
    test_random r = {1};
    for (int i = 0; i < SHAPES; i++)
        for (int j = 0; j < SHAPES; j++)
        {
            worst w = {0};
            for (int k = 0; k < (i == 5 || j == 5 ? POSES / 20 : POSES / 4); k++)
            {
                tg_placed a = shape_of(i), b = shape_of(j);
                random_pose(&r, &a, &b, random_gap(&r, k));
                compare(&a, &b, &w);
            }
            if (!(w.distance < 1e-13 && w.points < 1e-13 && w.normal < 1e-13) || w.limit > 0)
                fail_msg("shapes %d, %d: distance %g, normal %g, points %g, limit reached %d times", i, j, w.distance,
                         w.normal, w.points, w.limit);
        }
}

/* 1 km from the origin, sizes of 1e-9 and 1e6 m */
static void far_and_scaled(void **state)
{
    (void)state;
    test_random r = {2};
    const double scale[] = {1, 1e-9, 1e6};
    for (int s = 0; s < 3; s++)
        for (int k = 0; k < 300; k++)
        {
            tg_placed a = shape_of(4), b = shape_of(k % 2 == 0 ? 2 : 4);
            random_pose(&r, &a, &b, random_gap(&r, k));
            double expected = brute_axis(&a, &b).separation * scale[s];
            v4 far = s == 0 ? v4_set(1000, -700, 300, 0) : v4_zero();
            for (int i = 0; i < 3; i++)
            {
                a.size[i] *= scale[s];
                b.size[i] *= scale[s];
            }
            a.x = a.x * v4_splat(scale[s]) + far;
            b.x = b.x * v4_splat(scale[s]) + far;
            tg_gjk_result g = tg_gjk(&a, &b, INFINITY, NULL);
            assert_true(fabs(g.distance - expected) < (s == 0 ? 1e-12 : 1e-13 * scale[s]));
        }
}

/* Shapes that are farther apart than reach are known to be; nearer ones are not affected. */
static void reach_only_stops(void **state)
{
    (void)state;
    test_random r = {3};
    int stopped = 0;
    for (int k = 0; k < POSES; k++)
    {
        tg_placed a = shape_of(4), b = shape_of(5);
        random_pose(&r, &a, &b, random_gap(&r, k));
        tg_gjk_result full = tg_gjk(&a, &b, INFINITY, NULL), cut = tg_gjk(&a, &b, 0.02, NULL);
        if (full.distance < 0.02)
            assert_true(cut.distance == full.distance);
        else
            assert_true(cut.distance >= 0.02);
        stopped += cut.iterations < full.iterations;
    }
    assert_true(stopped > POSES / 10);
}

/* A hint from a pose nearby, or a wrong one, never keeps shapes apart that are within reach of each other; where both
 * poses are out of reach it mostly does. What writes it finds the same to the bit. */
static void hints(void **state)
{
    (void)state;
    test_random r = {4};
    const double reach = 0.02;
    int within = 0, decided = 0, beyond = 0;
    for (int k = 0; k < POSES; k++)
    {
        tg_placed a = shape_of(4), b = shape_of(5);
        tg_hint hint = {.direction = {(float)random_unit(&r), (float)random_unit(&r), (float)random_unit(&r)},
                        .vertex = {(uint16_t)(7 * k), (uint16_t)(11 * k)}};
        random_pose(&r, &a, &b, random_gap(&r, k));
        for (int step = 0; step < 3; step++)
        {
            bool apart = tg_sure_distance(&a, &b, &hint) >= reach;
            tg_gjk_result plain = tg_gjk(&a, &b, reach, NULL), hinted = tg_gjk(&a, &b, reach, &hint);
            assert_true(plain.distance == hinted.distance && plain.count == hinted.count);
            assert_memory_equal(&plain.normal, &hinted.normal, sizeof plain.normal);
            assert_memory_equal(plain.point, hinted.point, sizeof plain.point);
            assert_false(apart && plain.distance < reach);
            within += plain.distance < reach;
            beyond += step > 0 && plain.distance >= reach;
            decided += step > 0 && apart;
            b.x[k % 3] += 1e-3;
        }
    }
    assert_true(within > POSES && decided > beyond / 2);
}

static v4 small(test_random *r)
{
    return random_direction(r) * v4_splat(0.05 * random_unit(r));
}

/* Two boxes are never nearer than the gap between their faces, and often that near; what it becomes is that of all of
 * their corners, moved. */
static void box_gaps(void **state)
{
    (void)state;
    test_random r = {6};
    int exact = 0;
    for (int k = 0; k < POSES; k++)
    {
        tg_placed a = shape_of(2), b = shape_of(3);
        random_pose(&r, &a, &b, random_gap(&r, k));
        v4 n, move[2] = {small(&r), small(&r)}, turn[2] = {small(&r), small(&r)};
        double gap = tg_box_gap(&a, &b, &n), along = separation_brute(&a, &b, n), low = INFINITY, high = -INFINITY;
        tg_gjk_result g = tg_gjk(&a, &b, INFINITY, NULL);
        assert_true(along - gap < 1e-8 && gap <= along && gap <= g.distance);
        exact += g.distance - gap < 1e-8;
        for (int i = 0; i < 8; i++)
        {
            v4 x = vertex_of(&a, i), y = vertex_of(&b, i);
            high = fmax(high, v4_dot(n, x + move[0] + v4_cross(turn[0], x - a.x)));
            low = fmin(low, v4_dot(n, y + move[1] + v4_cross(turn[1], y - b.x)));
        }
        assert_true(fabs(tg_box_gap_after(&a, &b, n, move, turn) - (low - high)) < 1e-14);
    }
    assert_true(exact > POSES / 10);
}

/* Two boxes face to face, moved through contact: distance and normal go on smoothly. */
static void through_zero(void **state)
{
    (void)state;
    test_random r = {5};
    mat3 R = random_rotation(&r);
    for (double gap = -1e-6; gap <= 1e-6; gap += 1.37e-8)
        for (int fine = 0; fine < 3; fine++)
        {
            double g = fine == 0 ? gap : fine == 1 ? gap * 1e-4 : gap * 1e-8;
            tg_placed a = place_box(0.1, 0.2, 0.3), b = place_box(0.2, 0.1, 0.1);
            a.R = b.R = R;
            b.x = mat3_mul(R, v4_set(0.03, 0.3 + g, 0.02, 0));
            tg_gjk_result result = tg_gjk(&a, &b, INFINITY, NULL);
            v4 turn = result.normal - R.c[1];
            assert_true(fabs(result.distance - g) < 1e-15);
            assert_true(sqrt(v4_dot(turn, turn)) < 1e-9);
        }
}

static void not_numbers(void **state)
{
    (void)state;
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e308};
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < SHAPES; i++)
            for (int j = 0; j < SHAPES; j++)
            {
                tg_placed a = shape_of(i), b = shape_of(j);
                b.x = v4_set(0, bad[k], 0, 0);
                tg_gjk_result g = tg_gjk(&a, &b, INFINITY, NULL);
                b.x = v4_set(0.01, 0, 0, 0);
                b.R.c[1] = v4_set(bad[k], 0, 0, 0);
                g = tg_gjk(&a, &b, INFINITY, NULL);
                assert_true(g.iterations <= 1000); /* it ends */
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair),  cmocka_unit_test(far_and_scaled), cmocka_unit_test(reach_only_stops),
        cmocka_unit_test(hints),       cmocka_unit_test(box_gaps),       cmocka_unit_test(through_zero),
        cmocka_unit_test(not_numbers),
    };
    return cmocka_run_group_tests(tests, make_hulls, free_hulls);
}
