/* Overlapping shapes: depth against a look at all axes, deep, concentric, flat, and just touching. */
#include "collision/polytope_test.h"

#include "support/effort.h"

static void check_depth(const tg_placed *a, const tg_placed *b, double tolerance)
{
    brute o = brute_axis(a, b);
    tg_gjk_result g = tg_gjk(a, b, INFINITY, NULL);
    assert_true(g.status == TG_GJK_OVERLAP || g.status == TG_GJK_TOUCH);
    assert_true(fabs(g.distance - o.separation) < tolerance);
    /* the normal found is one of smallest translation, even where there are several */
    assert_true(fabs(separation_brute(a, b, g.normal) - o.separation) < tolerance);
}

static void deep(void **state)
{
    (void)state;
    test_random r = {11};
    tg_polytope *rock[2] = {make_rock(&r, 16, 0.1, 0.15, 0.2), make_rock(&r, 30, 0.3, 0.25, 0.2)};
    tg_placed shape[3] = {place_box(0.1, 0.15, 0.2), place_mesh(rock[0]), place_mesh(rock[1])};
    for (int k = 0; k < 600 / TEST_EFFORT; k++)
    {
        tg_placed a = shape[k % 3], b = shape[k / 3 % 3];
        a.R = random_rotation(&r);
        b.R = random_rotation(&r);
        a.x = random_direction(&r);
        b.x = a.x + random_direction(&r) * v4_splat(0.05 * random_unit(&r));
        check_depth(&a, &b, 1e-14);
    }
    for (int i = 0; i < 2; i++)
        tg_polytope_destroy(NULL, rock[i]);
}

/* The same centre, the same axes: the normal is that of the thinnest direction, positive. */
static void concentric(void **state)
{
    (void)state;
    test_random r = {12};
    for (int k = 0; k < 50; k++)
    {
        tg_placed a = place_box(0.1, 0.15, 0.2), b = place_box(0.3, 0.25, 0.4);
        a.x = b.x = random_direction(&r);
        a.R = b.R = random_rotation(&r);
        check_depth(&a, &b, 1e-14);
        b.R = random_rotation(&r);
        check_depth(&a, &b, 1e-14);
        a = b;
        check_depth(&a, &b, 1e-14);
    }
}

static tg_placed flat_shape(int i)
{
    static tg_polytope *hull[3];
    static const double square[] = {1, 1, 0, -1, 1, 0, -1, -1, 0, 1, -1, 0, 0, 0, 0};
    static const double segment[] = {-1, 0, 0, 1, 0, 0, 0.5, 0, 0};
    static const double point[] = {0, 0, 0, 0, 0, 0};
    if (i < 0)
    {
        for (int k = 0; k < 3; k++)
            tg_polytope_destroy(NULL, hull[k]);
        return place_sphere(0);
    }
    if (hull[0] == NULL)
    {
        hull[0] = make_polytope(square, 5);
        hull[1] = make_polytope(segment, 3);
        hull[2] = make_polytope(point, 2);
    }
    return i < 3 ? place_mesh(hull[i]) : i == 3 ? place_sphere(0) : i == 4 ? place_capsule(0, 1) : place_box(1, 1, 1);
}

/* Flat against flat, centres together, axes along each other or not: distance 0, a unit normal along which they
 * touch. */
static void without_volume(void **state)
{
    (void)state;
    test_random r = {13};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            for (int k = 0; k < 20; k++)
            {
                tg_placed a = flat_shape(i), b = flat_shape(j);
                a.R = b.R = k % 2 == 0 ? mat3_identity() : random_rotation(&r);
                if (k % 4 == 2)
                    b.R = rotation_about(v4_set(0, 0, 1, 0), 0.7);
                a.x = b.x = k < 10 ? v4_zero() : random_direction(&r);
                if (i + j == 4 && i != j && i != 1 && j != 1) /* the square, and a segment through it */
                {
                    check_depth(&a, &b, 1e-14);
                    continue;
                }
                tg_gjk_result g = tg_gjk(&a, &b, INFINITY, NULL);
                assert_true(g.status == TG_GJK_TOUCH);
                assert_true(fabs(g.distance) < 1e-14);
                assert_true(fabs(v4_dot(g.normal, g.normal) - 1) < 1e-14);
                assert_true(fabs(separation_brute(&a, &b, g.normal)) < 1e-14);
            }
}

/* a flat polygon, a segment and a point inside a cube */
static void flat_in_solid(void **state)
{
    (void)state;
    test_random r = {14};
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 100; k++)
        {
            tg_placed a = flat_shape(i), b = flat_shape(5);
            a.R = k % 2 == 0 ? mat3_identity() : random_rotation(&r);
            a.x = k < 4 ? v4_zero() : random_direction(&r) * v4_splat(0.5);
            check_depth(&a, &b, 1e-14);
            check_depth(&b, &a, 1e-14);
        }
}

/* Touching exactly: a corner, an edge or a face on a face. */
static void touching(void **state)
{
    (void)state;
    const double turn[3] = {0, 0.78539816339744830962, 0.78539816339744830962};
    for (int k = 0; k < 3; k++)
    {
        tg_placed a = place_box(1, 1, 1), b = place_box(0.5, 0.5, 0.5);
        b.R = rotation_about(v4_set(1, 0, 0, 0), turn[k]);
        if (k == 2)
            b.R = mat3_product(rotation_about(v4_set(0, 1, 0, 0), atan(sqrt(0.5))), b.R);
        b.x = v4_set(0.1, 0.2, 0, 0);
        b.x[2] = -separation_brute(&a, &b, v4_set(0, 0, 1, 0));
        tg_gjk_result g = tg_gjk(&a, &b, INFINITY, NULL);
        assert_true(fabs(g.distance) < 1e-15);
        assert_true(fabs(g.normal[2] - 1) < 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deep),          cmocka_unit_test(concentric), cmocka_unit_test(without_volume),
        cmocka_unit_test(flat_in_solid), cmocka_unit_test(touching),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    flat_shape(-1);
    return failed;
}
