/* A plane against everything: distances against the lowest point, and the patches of shapes that lie, stand on an
 * edge or on a corner. */
#include "collision/polytope_test.h"

static tg_placed place_plane(void)
{
    return (tg_placed){.R = mat3_identity(), .x = v4_set(0.3, -0.2, 0.7, 0), .type = TG_GEOM_PLANE};
}

static double lowest(const tg_placed *p, const tg_placed *plane)
{
    v4 n = plane->R.c[2];
    return v4_dot(n, tg_support(p, -n, NULL) - plane->x) - tg_rounding(p);
}

typedef struct entry
{
    tg_placed shape;
    tg_narrow_function *function;
} entry;

static int list_shapes(entry *e, const tg_polytope *rock)
{
    entry all[] = {
        {place_sphere(0.1), tg_plane_sphere},
        {place_capsule(0.1, 0.2), tg_plane_capsule},
        {place_box(0.1, 0.2, 0.3), tg_plane_polytope},
        {place_mesh(rock), tg_plane_polytope},
        {(tg_placed){.size = {0.1, 0.2, 0.3, 0}, .type = TG_GEOM_ELLIPSOID}, tg_plane_ellipsoid},
        {(tg_placed){.size = {0.1, 0.2, 0, 0}, .type = TG_GEOM_CYLINDER}, tg_plane_cylinder},
    };
    memcpy(e, all, sizeof all);
    return (int)(sizeof all / sizeof *all);
}

/* Points obey the contract, the deepest one has the shape's distance, all of them lie on the shape, and nothing is
 * reported out of reach. */
static void every_shape(void **state)
{
    (void)state;
    test_random r = {21};
    tg_polytope *rock = make_rock(&r, 60, 0.1, 0.2, 0.3);
    entry e[8];
    int n = list_shapes(e, rock);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 1000; k++)
        {
            tg_query q = {.shape = {place_plane(), e[i].shape}, .reach = 0.01};
            q.shape[0].R = random_rotation(&r);
            q.shape[1].R = random_rotation(&r);
            q.shape[1].x = q.shape[0].x + q.shape[0].R.c[0] * v4_splat(random_unit(&r));
            q.shape[1].x += q.shape[0].R.c[2] * v4_splat(0.05 * random_unit(&r) - lowest(&q.shape[1], &q.shape[0]));
            double distance = lowest(&q.shape[1], &q.shape[0]), least = INFINITY;
            tg_patch patch = {0};
            e[i].function(&q, &patch);
            for (int c = 0; c < patch.count; c++)
            {
                const tg_contact_point *p = &patch.point[c];
                v4 on_plane = p->point - p->normal * v4_splat(0.5 * p->distance) - q.shape[0].x;
                v4 turn = p->normal - q.shape[0].R.c[2];
                assert_true(v4_dot(turn, turn) == 0);
                assert_true(fabs(v4_dot(p->normal, on_plane)) < 1e-15);
                assert_true(p->distance < q.reach);
                least = fmin(least, p->distance);
            }
            if (distance < q.reach)
                assert_true(fabs(least - distance) < 1e-15);
            else
                assert_int_equal(patch.count, 0);
        }
    tg_polytope_destroy(NULL, rock);
}

static int points_below(const tg_patch *patch, double distance)
{
    int n = 0;
    for (int i = 0; i < patch->count; i++)
        n += patch->point[i].distance < distance;
    return n;
}

static tg_polytope *mesh_box(double x, double y, double z)
{
    double vertex[24];
    for (int i = 0; i < 8; i++)
    {
        vertex[3 * i] = i & 1 ? x : -x;
        vertex[3 * i + 1] = i & 2 ? y : -y;
        vertex[3 * i + 2] = i & 4 ? z : -z;
    }
    return make_polytope(vertex, 8);
}

/* a cube, as a box and as a mesh: lying 4 points, on an edge 2, on a corner 1, at the corners of the cube */
static void cube_stands(void **state)
{
    (void)state;
    tg_polytope *cube = mesh_box(0.1, 0.1, 0.1);
    assert_int_equal(cube->npolygon, 6);
    const int expected[3] = {4, 2, 1};
    for (int mesh = 0; mesh < 2; mesh++)
        for (int how = 0; how < 3; how++)
            for (int yaw = 0; yaw < 20; yaw++)
            {
                tg_query q = {.shape = {place_plane(), mesh ? place_mesh(cube) : place_box(0.1, 0.1, 0.1)},
                              .reach = 1e-6};
                mat3 R = mat3_identity();
                if (how > 0)
                    R = rotation_about(v4_set(1, 0, 0, 0), atan(1));
                if (how == 2)
                    R = mat3_product(rotation_about(v4_set(0, 1, 0, 0), atan(sqrt(0.5))), R);
                q.shape[1].R = mat3_product(rotation_about(v4_set(0, 0, 1, 0), 0.3 * yaw), R);
                q.shape[1].x = v4_zero();
                q.shape[1].x[2] = -lowest(&q.shape[1], &q.shape[0]);
                tg_patch patch = {0};
                tg_plane_polytope(&q, &patch);
                assert_int_equal(patch.count, expected[how]);
                assert_int_equal(points_below(&patch, 1e-9), expected[how]);
                for (int i = 0; i < patch.count; i++) /* each is a different corner of the cube */
                {
                    v4 local = mat3_mul_t(q.shape[1].R, patch.point[i].point - q.shape[1].x);
                    for (int k = 0; k < 3; k++)
                        assert_true(fabs(fabs(local[k]) - 0.1) < 1e-9);
                    for (int j = 0; j < i; j++)
                        assert_true(patch.point[i].feature != patch.point[j].feature);
                }
            }
    tg_polytope_destroy(NULL, cube);
}

/* A box that lies, moved and tilted by 1e-6: the same points, moved by as little. */
static void lying_is_continuous(void **state)
{
    (void)state;
    test_random r = {22};
    tg_query q = {.shape = {place_plane(), place_box(0.1, 0.2, 0.05)}, .reach = 1e-3};
    q.shape[1].x = q.shape[0].x + v4_set(0, 0, 0.05, 0);
    tg_patch before = {0};
    tg_plane_polytope(&q, &before);
    for (int k = 0; k < 100; k++)
    {
        tg_query moved = q;
        moved.shape[1].x += random_direction(&r) * v4_splat(1e-6);
        moved.shape[1].R = rotation_about(random_direction(&r), 1e-6);
        tg_patch after = {0};
        tg_plane_polytope(&moved, &after);
        assert_int_equal(after.count, 4);
        for (int i = 0; i < 4; i++)
        {
            v4 d = after.point[i].point - before.point[i].point;
            assert_int_equal(after.point[i].feature, before.point[i].feature);
            assert_true(sqrt(v4_dot(d, d)) < 2e-6);
        }
    }
}

/* A cylinder that stands, lies, or is tilted about its own axes: no point twice, however far the plane is; what does
 * not face the plane has no points but the lowest of its rims. */
static void cylinder_points_are_distinct(void **state)
{
    (void)state;
    for (int k = 0; k < 40; k++)
    {
        tg_query q = {.shape = {place_plane(), place_box(0.1, 0.2, 0.1)}, .reach = 10};
        q.shape[1].type = TG_GEOM_CYLINDER;
        q.shape[1].polytope = NULL;
        q.shape[1].R = rotation_about(k % 2 == 0 ? v4_set(1, 0, 0, 0) : v4_set(0, 1, 0, 0), 2 * atan(1) * (k / 2) / 5);
        tg_patch patch = {0};
        tg_plane_cylinder(&q, &patch);
        assert_true(patch.count >= (fabs(q.shape[1].R.c[2][2]) >= 0.5 ? 4 : 2));
        for (int i = 0; i < patch.count; i++)
            for (int j = 0; j < i; j++)
            {
                v4 d = patch.point[i].point - patch.point[j].point;
                assert_true(v4_dot(d, d) > 1e-12);
                assert_true(patch.point[i].feature != patch.point[j].feature);
            }
    }
}

/* A prism of 48 sides: at most eight points, fixed in the prism while it lies flat, and the lowest among them when
 * it is tilted. */
static void many_corners(void **state)
{
    (void)state;
    test_random r = {23};
    double vertex[48 * 2 * 3];
    for (int i = 0; i < 96; i++)
    {
        double a = 2 * 3.14159265358979323846 * (i % 48) / 48;
        vertex[3 * i] = 0.1 * cos(a);
        vertex[3 * i + 1] = 0.1 * sin(a);
        vertex[3 * i + 2] = i < 48 ? -0.1 : 0.1;
    }
    tg_polytope *prism = make_polytope(vertex, 96);
    assert_int_equal(prism->npolygon, 50);
    uint32_t first[8] = {0};
    for (int k = 0; k < 100; k++)
    {
        tg_query q = {.shape = {place_plane(), place_mesh(prism)}, .reach = 1e-2};
        double tilt = k % 2 == 0 ? 1e-7 * random_unit(&r) : 0.05 * random_unit(&r);
        mat3 yaw = rotation_about(v4_set(0, 0, 1, 0), 3 * random_unit(&r));
        q.shape[1].R = mat3_product(yaw, rotation_about(v4_set(1, 0, 0, 0), tilt));
        q.shape[1].x = q.shape[0].x;
        q.shape[1].x[2] -= lowest(&q.shape[1], &q.shape[0]);
        tg_patch patch = {0};
        tg_plane_polytope(&q, &patch);
        double least = INFINITY;
        for (int i = 0; i < patch.count; i++)
            least = fmin(least, patch.point[i].distance);
        assert_true(fabs(least) < 3e-8);
        if (k % 2 == 1)
        {
            assert_true(patch.count <= 8 && (fabs(tilt) < 1e-4 || fabs(least) < 1e-15));
            continue;
        }
        assert_int_equal(patch.count, 7);
        for (int i = 0; i < 7; i++)
        {
            if (k == 0)
                first[i] = patch.point[i].feature;
            assert_int_equal(patch.point[i].feature, first[i]);
        }
    }
    tg_polytope_destroy(NULL, prism);
}

/* a point, a segment, a flat polygon as meshes */
static void flat_hulls(void **state)
{
    (void)state;
    const double points[] = {0.1, 0.1, 0, -0.1, 0.1, 0, -0.1, -0.1, 0, 0.1, -0.1, 0};
    const int expected[5] = {0, 1, 2, 3, 4};
    for (int n = 1; n <= 4; n++)
    {
        tg_polytope *t = make_polytope(points, n);
        tg_query q = {.shape = {place_plane(), place_mesh(t)}, .reach = 0.01};
        q.shape[1].x = q.shape[0].x + v4_set(0, 0, -0.005, 0);
        tg_patch patch = {0};
        tg_plane_polytope(&q, &patch);
        assert_int_equal(patch.count, expected[n]);
        for (int i = 0; i < patch.count; i++)
            assert_true(fabs(patch.point[i].distance + 0.005) < 1e-15);
        tg_polytope_destroy(NULL, t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape),         cmocka_unit_test(cube_stands),
        cmocka_unit_test(lying_is_continuous), cmocka_unit_test(cylinder_points_are_distinct),
        cmocka_unit_test(many_corners),        cmocka_unit_test(flat_hulls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
