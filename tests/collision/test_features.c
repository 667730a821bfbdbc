/* Axes from features that were known before: the same to the bit as those that a search finds. */
#include "collision/polytope.h"
#include "collision/polytope_test.h"
#include "support/effort.h"

enum
{
    SHAPES = 7,
    RUNS = 400 / TEST_EFFORT,
    STEPS = 40
};

static tg_polytope *hull[3];

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
    case 3: /* mirrored, and not of one scale */
    {
        tg_placed s = place_mesh(hull[1]);
        s.size[0] = -0.7;
        s.size[2] = 1.3;
        return s;
    }
    default:
        return place_mesh(hull[i - 4]);
    }
}

/* two rocks, and a prism whose ends have twenty corners */
static int make_hulls(void **state)
{
    (void)state;
    test_random r = {12345};
    double prism[40][3];
    for (int i = 0; i < 40; i++)
    {
        double angle = 0.1 * acos(-1) * (i % 20);
        prism[i][0] = 0.1 * cos(angle);
        prism[i][1] = 0.1 * sin(angle);
        prism[i][2] = i < 20 ? -0.05 : 0.05;
    }
    hull[0] = make_rock(&r, 14, 0.1, 0.15, 0.2);
    hull[1] = make_rock(&r, 200, 0.2, 0.1, 0.1);
    hull[2] = make_polytope(prism[0], 40);
    return 0;
}

static int free_hulls(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        tg_polytope_destroy(NULL, hull[i]);
    return 0;
}

static void assert_same_axis(const tg_axis *a, const tg_axis *b)
{
    assert_true(a->separation == b->separation && a->margin == b->margin && a->nearest == b->nearest);
    assert_memory_equal(&a->normal, &b->normal, sizeof a->normal);
    assert_memory_equal(a->point, b->point, sizeof a->point);
    for (int i = 0; i < 2; i++)
    {
        assert_int_equal(a->count[i], b->count[i]);
        assert_memory_equal(a->vertex[i], b->vertex[i], sizeof(int) * (size_t)a->count[i]);
    }
}

/* by up to 1 mm and 0.01 rad; sometimes by much more */
static void move(test_random *r, int step, tg_placed *p)
{
    double far = step % 16 == 15 ? 30 : 1;
    p->x += random_direction(r) * v4_splat(1e-3 * far * random_unit(r));
    p->R = mat3_product(rotation_about(random_direction(r), 0.01 * far * random_unit(r)), p->R);
}

/* What the last step's search left does not change an axis, and mostly saves the search. */
static void same_to_the_bit(void **state)
{
    (void)state;
    test_random r = {1};
    const double limit = 0.02;
    int within = 0, known = 0;
    for (int k = 0; k < RUNS; k++)
    {
        tg_placed a = shape_of(k % SHAPES), b = shape_of(4 + k / SHAPES % 3);
        tg_hint hint = {.features = {.count = {0, 0}}};
        random_pose(&r, &a, &b, 0.005 + 0.004 * random_unit(&r));
        for (int step = 0; step < STEPS; step++, move(&r, step, &b))
        {
            tg_axis with, without, direct;
            known += tg_features_axis(&a, &b, &hint.features, &direct) && direct.separation < limit;
            bool found = tg_search_axis(&a, &b, limit, NULL, &without);
            assert_true(tg_search_axis(&a, &b, limit, &hint, &with) == found);
            if (found)
                assert_same_axis(&with, &without);
            within += found && without.separation > 0;
        }
    }
    assert_true(within > RUNS * STEPS / 4 && known > within / 2);
}

/* Any features that hold an axis are the nearest ones. */
static void holds_what_is_nearest(void **state)
{
    (void)state;
    test_random r = {2};
    int held[4][4] = {{0}};
    for (int k = 0; k < 50 * RUNS; k++)
    {
        tg_placed a = shape_of(k % SHAPES), b = shape_of(4 + k / SHAPES % 3);
        random_pose(&r, &a, &b, 0.05 + 0.04 * random_unit(&r));
        tg_gjk_result g = tg_gjk(&a, &b, INFINITY, NULL);
        tg_axis axis = {.normal = g.normal}, other;
        tg_features f;
        for (int i = 0; i < 2; i++) /* those of the search, with a vertex too few, or another one */
        {
            const tg_placed *p = i == 0 ? &a : &b;
            axis.count[i] = 1 + (k / 2 + i * k / 6) % 3 % tg_core_vertices(p);
            axis.count[i] = axis.count[i] < g.count ? axis.count[i] : g.count;
            for (int j = 0; j < axis.count[i]; j++)
                axis.vertex[i][j] =
                    k % 5 == 4 ? (int)(fabs(random_unit(&r)) * (tg_core_vertices(p) - 1)) : g.vertex[i][j];
        }
        other = axis;
        if (!tg_find_features(&a, &b, &f, &other))
        {
            assert_memory_equal(&axis.normal, &other.normal, sizeof axis.normal);
            continue;
        }
        v4 turn = other.normal - g.normal, gap = other.point[1] - other.point[0] - g.normal * v4_splat(g.distance);
        assert_true(fabs(other.separation - g.distance) < 1e-12 && v4_length(turn) < 1e-10 && v4_length(gap) < 1e-10);
        held[f.count[0]][f.count[1]]++;
    }
    assert_true(held[1][1] > 10 && held[1][2] > 10 && held[2][1] > 10 && held[2][2] > 10 && held[1][3] > 10 &&
                held[3][1] > 10);
}

/* Faces on each other, edges along each other, what touches: which features count is a matter of rounding. */
static void leaves_doubt_alone(void **state)
{
    (void)state;
    const double shift[] = {0.41, 0.4 + 1e-8};
    for (int k = 0; k < 2; k++)
    {
        tg_placed a = place_box(0.1, 0.2, 0.2), b = place_box(0.3, 0.1, 0.1);
        tg_axis axis;
        tg_features f;
        b.x = v4_set(shift[k], 0.03, 0.02, 0);
        axis = (tg_axis){.normal = {1, 0, 0, 0}, .count = {3, 1}, .vertex = {{1, 3, 5}, {0}}};
        assert_false(tg_find_features(&a, &b, &f, &axis));
        axis = (tg_axis){.normal = {1, 0, 0, 0}, .count = {2, 2}, .vertex = {{1, 3}, {0, 2}}};
        assert_false(tg_find_features(&a, &b, &f, &axis));
        b.R = rotation_about(v4_set(0, 0, 1, 0), 0.5); /* an edge over a face */
        b.x = v4_set(shift[k] + 0.1, 0.03, 0.02, 0);
        axis = (tg_axis){.normal = {1, 0, 0, 0}, .count = {3, 1}, .vertex = {{1, 3, 5}, {2}}};
        assert_false(tg_find_features(&a, &b, &f, &axis));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_to_the_bit),
        cmocka_unit_test(holds_what_is_nearest),
        cmocka_unit_test(leaves_doubt_alone),
    };
    return cmocka_run_group_tests(tests, make_hulls, free_hulls);
}
