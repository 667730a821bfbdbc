/* The public queries without a model: answers, refusals with their messages, extreme sizes, no allocation. */
#include "math/math_test.h"

#include "tangere/collision.h"

static const double origin[7] = {0, 0, 0, 1, 0, 0, 0};

static tg_shape make(tg_geom_type type, double x, double y, double z)
{
    tg_shape s = tg_default_shape();
    s.type = type;
    s.size[0] = x;
    s.size[1] = y;
    s.size[2] = z;
    return s;
}

/* ---- answers ---- */

static void test_two_spheres(void **state)
{
    tg_shape a = make(TG_GEOM_SPHERE, 0.2, 0, 0), b = make(TG_GEOM_SPHERE, 0.3, 0, 0);
    const double pose[7] = {0, 0.6, 0, 2, 0, 0, 0}; /* a quaternion need not be unit */
    tg_contact c;
    (void)state;
    assert_int_equal(tg_distance(&a, origin, &b, pose, &c, NULL), TG_OK);
    assert_near(c.distance, 0.1, 1e-15);
    assert_near(c.normal[1], 1, 1e-15);
    assert_near(c.point[1], 0.25, 1e-15);
    assert_int_equal(c.geom1, -1);
    assert_int_equal(c.geom2, -1);
}

static void test_reach_and_capacity(void **state)
{
    tg_shape plane = make(TG_GEOM_PLANE, 1, 1, 1), box = make(TG_GEOM_BOX, 0.1, 0.2, 0.3);
    const double pose[7] = {0, 0, 0.31, 1, 0, 0, 0};
    tg_collide_options o = tg_default_collide_options();
    tg_contact c[2];
    int count = -1;
    (void)state;
    assert_int_equal(tg_collide_pair(&plane, origin, &box, pose, &o, c, 2, &count, NULL), TG_OK);
    assert_int_equal(count, 0);
    o.reach = 0.02;
    assert_int_equal(tg_collide_pair(&plane, origin, &box, pose, &o, c, 2, &count, NULL), TG_OK);
    assert_int_equal(count, 4);
    assert_near(c[1].distance, 0.01, 1e-15);
    assert_int_equal(tg_collide_pair(&plane, origin, &box, pose, &o, NULL, 0, &count, NULL), TG_OK);
    assert_int_equal(count, 4);
}

static void test_four_of_eight(void **state)
{
    tg_shape box = make(TG_GEOM_BOX, 0.5, 0.5, 0.1);
    const double pose[7] = {0.01, 0.02, 0.199, cos(0.4), 0, 0, sin(0.4)};
    tg_collide_options o = tg_default_collide_options();
    tg_contact all[8], few[8];
    int nall, nfew;
    (void)state;
    o.reach = 0.01;
    assert_int_equal(tg_collide_pair(&box, origin, &box, pose, &o, all, 8, &nall, NULL), TG_OK);
    o.four = true;
    assert_int_equal(tg_collide_pair(&box, origin, &box, pose, &o, few, 8, &nfew, NULL), TG_OK);
    assert_int_equal(nall, 8);
    assert_int_equal(nfew, 4);
    for (int i = 0; i < nfew; i++)
    {
        int found = 0;
        for (int j = 0; j < nall; j++)
            found += all[j].id == few[i].id;
        assert_int_equal(found, 1);
        assert_true(few[i].margin < INFINITY);
        assert_near(few[i].distance, -0.001, 1e-12);
    }
}

/* the derivative of distance with respect to the second sphere's position is the normal; its radius takes off what
 * it gains */
static void test_derivatives_of_spheres(void **state)
{
    tg_shape a = make(TG_GEOM_SPHERE, 0.2, 0, 0), b = make(TG_GEOM_SPHERE, 0.3, 0, 0);
    const double pose[7] = {0.3, 0.2, 0.6, 1, 0, 0, 0};
    tg_collide_options o = tg_default_collide_options();
    o.reach = 1;
    tg_contact c;
    tg_contact_derivative d;
    int count;
    (void)state;
    assert_int_equal(tg_collide_pair_derivatives(&a, origin, &b, pose, &o, &c, &d, 1, &count, NULL), TG_OK);
    assert_int_equal(count, 1);
    for (int i = 0; i < 3; i++)
    {
        assert_near(d.distance[i], -c.normal[i], 1e-15);
        assert_near(d.distance[6 + i], c.normal[i], 1e-15);
        assert_near(d.normal[i][6 + i], (1 - c.normal[i] * c.normal[i]) / 0.7, 1e-14);
        assert_near(d.distance[9 + i], 0, 1e-15);
    }
    assert_near(d.distance[12], -1, 1e-15);
    assert_near(d.distance[15], -1, 1e-15);
}

/* ---- refusals ---- */

static void refuse(const tg_shape *a, const double *pose_a, const tg_shape *b, const double *pose_b, tg_status status,
                   const char *part)
{
    tg_contact c;
    tg_error error;
    assert_int_equal(tg_distance(a, pose_a, b, pose_b, &c, &error), status);
    assert_int_equal(error.status, status);
    if (strstr(error.message, part) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, part);
}

static void test_bad_shapes(void **state)
{
    tg_shape good = tg_default_shape(), bad = good;
    (void)state;
    bad.cookie = 0;
    refuse(&bad, origin, &good, origin, TG_ERR_ARGUMENT, "first shape was not made by tg_default_shape");
    refuse(&good, origin, NULL, origin, TG_ERR_ARGUMENT, "second shape is NULL");
    const double sizes[5] = {-0.1, NAN, INFINITY, 1e-13, 1e13};
    for (int i = 0; i < 5; i++)
    {
        bad = make(TG_GEOM_CAPSULE, 0.1, sizes[i], 0);
        refuse(&good, origin, &bad, origin, TG_ERR_VALUE, "second shape (capsule): size[1]");
    }
    bad = make(TG_GEOM_BOX, 0.1, 0.1, 0);
    refuse(&bad, origin, &good, origin, TG_ERR_VALUE,
           "first shape (box): size[2] must be between 1e-12 and 1e+12 m, got 0");
    bad = make(TG_GEOM_MESH, 1, 1, 1);
    refuse(&bad, origin, &good, origin, TG_ERR_ARGUMENT, "first shape (mesh): hull is NULL");
    bad = make((tg_geom_type)99, 1, 1, 1);
    refuse(&bad, origin, &good, origin, TG_ERR_VALUE, "type 99");
    bad = make(TG_GEOM_PLANE, 1, 1, 1);
    refuse(&bad, origin, &bad, origin, TG_ERR_UNSUPPORTED, "a plane and a plane");
    bad = make(TG_GEOM_HFIELD, 1, 1, 1);
    refuse(&bad, origin, &good, origin, TG_ERR_ARGUMENT, "elevation is NULL");
    double elevation[4] = {0, 0.5, 1.5, 0};
    bad.elevation = elevation;
    refuse(&bad, origin, &good, origin, TG_ERR_VALUE, "at least 2 x 2 elevations, got 0 x 0");
    bad.nrow = bad.ncol = 2;
    refuse(&bad, origin, &good, origin, TG_ERR_VALUE, "terrain[0]");
    for (int i = 0; i < 4; i++)
        bad.terrain[i] = 1;
    refuse(&bad, origin, &good, origin, TG_ERR_VALUE, "elevation[1][0] must be between 0 and 1, got 1.5");
}

static void test_bad_poses(void **state)
{
    tg_shape s = tg_default_shape();
    const double nan_pose[7] = {0, NAN, 0, 1, 0, 0, 0}, far[7] = {0, 0, -INFINITY, 1, 0, 0, 0}, zero[7] = {0};
    (void)state;
    refuse(&s, nan_pose, &s, origin, TG_ERR_VALUE, "pose of the first shape: entry 1");
    refuse(&s, origin, &s, far, TG_ERR_VALUE, "pose of the second shape: entry 2");
    refuse(&s, origin, &s, zero, TG_ERR_VALUE, "has no direction");
    refuse(&s, NULL, &s, origin, TG_ERR_ARGUMENT, "pose of the first shape is NULL");
}

static void refuse_options(const tg_collide_options *o, tg_status status, const char *part)
{
    tg_shape s = tg_default_shape();
    tg_contact c;
    tg_error error;
    int count;
    assert_int_equal(tg_collide_pair(&s, origin, &s, origin, o, &c, 1, &count, &error), status);
    if (strstr(error.message, part) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, part);
}

static void test_bad_options(void **state)
{
    tg_collide_options o = tg_default_collide_options();
    (void)state;
    refuse_options(NULL, TG_ERR_ARGUMENT, "options are NULL");
    o.cookie++;
    refuse_options(&o, TG_ERR_ARGUMENT, "tg_default_collide_options");
    o = tg_default_collide_options();
    o.reach = NAN;
    refuse_options(&o, TG_ERR_VALUE, "reach");
    o = tg_default_collide_options();
    o.dt = -1;
    refuse_options(&o, TG_ERR_VALUE, "dt must be finite and not negative, got -1");
    o = tg_default_collide_options();
    o.velocity2[4] = INFINITY;
    refuse_options(&o, TG_ERR_VALUE, "velocity2[4]");
}

static void test_bad_outputs(void **state)
{
    tg_shape s = tg_default_shape();
    tg_collide_options o = tg_default_collide_options();
    tg_contact c;
    int count;
    (void)state;
    assert_int_equal(tg_distance(&s, origin, &s, origin, NULL, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_collide_pair(&s, origin, &s, origin, &o, &c, 1, NULL, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_collide_pair(&s, origin, &s, origin, &o, &c, -1, &count, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_collide_pair(&s, origin, &s, origin, &o, NULL, 1, &count, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_collide_pair_derivatives(&s, origin, &s, origin, &o, &c, NULL, 1, &count, NULL),
                     TG_ERR_ARGUMENT);
}

/* ---- extreme and degenerate input ---- */

static void assert_finite(const tg_contact *c, const tg_contact_derivative *d)
{
    const double *number = (const double *)d;
    double squared = 0;
    for (int i = 0; i < 3; i++)
    {
        assert_true(isfinite(c->point[i]));
        squared += c->normal[i] * c->normal[i];
    }
    assert_near(squared, 1, 1e-9);
    assert_true(isfinite(c->distance));
    assert_false(isnan(c->margin));
    for (size_t i = 0; i < sizeof *d / sizeof *number; i++)
        assert_true(isfinite(number[i]));
}

/* Shapes in one place, of sizes 1e-9, 1 and 1e6: a finite answer that separates them. */
static void test_one_place(void **state)
{
    const double size[3] = {1e-9, 1, 1e6};
    (void)state;
    for (int a = TG_GEOM_SPHERE; a <= TG_GEOM_BOX; a++)
        for (int b = TG_GEOM_SPHERE; b <= TG_GEOM_BOX; b++)
            for (int i = 0; i < 9; i++)
            {
                double s = size[i / 3], t = size[i % 3];
                tg_shape first = make((tg_geom_type)a, s, s, s), second = make((tg_geom_type)b, t, t, t);
                tg_collide_options o = tg_default_collide_options();
                tg_contact c[8];
                tg_contact_derivative d[8];
                tg_error error;
                int count;
                assert_int_equal(
                    tg_collide_pair_derivatives(&first, origin, &second, origin, &o, c, d, 8, &count, &error), TG_OK);
                assert_in_range(count, 1, 8);
                double least = INFINITY;
                for (int k = 0; k < count; k++)
                {
                    assert_finite(&c[k], &d[k]);
                    least = fmin(least, c[k].distance);
                }
                assert_true(least <= -(s + t) * (1 - 1e-6));
                assert_true(least >= -2 * (s + t) * (1 + 1e-6));
            }
}

static void test_points(void **state)
{
    tg_shape point = make(TG_GEOM_SPHERE, 0, 0, 0), box = make(TG_GEOM_BOX, 1, 2, 3);
    const double pose[7] = {1.5, 0, 0, 1, 0, 0, 0};
    tg_contact c;
    (void)state;
    assert_int_equal(tg_distance(&point, pose, &box, origin, &c, NULL), TG_OK);
    assert_near(c.distance, 0.5, 1e-15);
    assert_int_equal(tg_distance(&point, pose, &point, origin, &c, NULL), TG_OK);
    assert_near(c.distance, 1.5, 1e-15);
    assert_int_equal(tg_distance(&point, pose, &point, pose, &c, NULL), TG_OK);
    assert_near(c.distance, 0, 1e-15);
}

/* ---- memory ---- */

typedef struct counter
{
    int live, made;
} counter;

static void *count_alloc(size_t size, size_t align, void *user)
{
    counter *c = user;
    c->live++;
    c->made++;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void count_free(void *memory, void *user)
{
    counter *c = user;
    if (memory != NULL)
        c->live--;
    free(memory);
}

static void test_hull_memory(void **state)
{
    counter c = {0};
    tg_allocator allocator = {count_alloc, count_free, &c};
    const double corner[5][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.1, 0.1, 0.1}};
    tg_hull *hull = NULL;
    tg_error error;
    (void)state;
    assert_int_equal(tg_hull_create(&corner[0][0], 5, &allocator, &hull, &error), TG_OK);
    assert_true(c.live > 0);
    int made = c.made;
    tg_shape mesh = make(TG_GEOM_MESH, 1, 1, 1), sphere = make(TG_GEOM_SPHERE, 0.1, 0, 0);
    mesh.hull = hull;
    const double pose[7] = {-0.3, 0.2, 0.2, 1, 0, 0, 0};
    tg_contact contact;
    assert_int_equal(tg_distance(&mesh, origin, &sphere, pose, &contact, NULL), TG_OK);
    assert_near(contact.distance, 0.2, 1e-14);
    assert_int_equal(c.made, made);
    tg_hull_destroy(hull);
    tg_hull_destroy(NULL);
    assert_int_equal(c.live, 0);
    assert_int_equal(tg_hull_create(NULL, 5, NULL, &hull, &error), TG_ERR_ARGUMENT);
    assert_int_equal(tg_hull_create(&corner[0][0], 0, NULL, &hull, &error), TG_ERR_ARGUMENT);
    const double bad[2][3] = {{0, 0, 0}, {0, NAN, 0}};
    assert_int_equal(tg_hull_create(&bad[0][0], 2, NULL, &hull, &error), TG_ERR_VALUE);
    assert_null(hull);
}

/* Flat and single-point hulls collide too. */
static void test_flat_hulls(void **state)
{
    const double corner[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}};
    tg_shape mesh = make(TG_GEOM_MESH, 1, 1, 1), capsule = make(TG_GEOM_CAPSULE, 0.1, 0.2, 0),
             cylinder = make(TG_GEOM_CYLINDER, 0.1, 0.2, 0), ellipsoid = make(TG_GEOM_ELLIPSOID, 0.1, 0.1, 0.3);
    const tg_shape *other[3] = {&capsule, &cylinder, &ellipsoid};
    const double pose[7] = {0, 0, 0.5, 1, 0, 0, 0}, expected[3] = {0.2, 0.3, 0.2};
    (void)state;
    for (int n = 1; n <= 4; n++)
    {
        tg_hull *hull = NULL;
        tg_contact c;
        assert_int_equal(tg_hull_create(&corner[0][0], n, NULL, &hull, NULL), TG_OK);
        mesh.hull = hull;
        for (int i = 0; i < 3; i++)
        {
            assert_int_equal(tg_distance(&mesh, origin, other[i], pose, &c, NULL), TG_OK);
            assert_near(c.distance, expected[i], 1e-9);
        }
        tg_hull_destroy(hull);
    }
}

/* Every vertex three times: the hull is that of the vertices. */
static void test_repeated_vertices(void **state)
{
    double corner[24][3];
    tg_shape mesh = make(TG_GEOM_MESH, 1, 1, 1), box = make(TG_GEOM_BOX, 0.5, 0.5, 0.5);
    const double pose[7] = {0.2, 0.1, 1.3, cos(0.2), 0, 0, sin(0.2)};
    tg_collide_options o = tg_default_collide_options();
    tg_contact c[2][8];
    int count[2];
    tg_hull *hull = NULL;
    (void)state;
    for (int i = 0; i < 24; i++)
        for (int k = 0; k < 3; k++)
            corner[i][k] = (i % 8 >> k & 1) != 0 ? 0.5 : -0.5;
    assert_int_equal(tg_hull_create(&corner[0][0], 24, NULL, &hull, NULL), TG_OK);
    mesh.hull = hull;
    o.reach = 1;
    assert_int_equal(tg_collide_pair(&mesh, origin, &box, pose, &o, c[0], 8, &count[0], NULL), TG_OK);
    assert_int_equal(tg_collide_pair(&box, origin, &box, pose, &o, c[1], 8, &count[1], NULL), TG_OK);
    assert_int_equal(count[0], count[1]);
    assert_in_range(count[0], 4, 8);
    for (int i = 0; i < count[0]; i++)
        assert_near(c[0][i].distance, 0.3, 1e-14);
    tg_hull_destroy(hull);
}

/* max n . v over the vertices */
static double farthest(const double *vertex, int count, const double n[3], double sign)
{
    double most = -INFINITY;
    for (int i = 0; i < count; i++)
        most = fmax(most, sign * (n[0] * vertex[3 * i] + n[1] * vertex[3 * i + 1] + n[2] * vertex[3 * i + 2]));
    return most;
}

/* A ball of 100,000 points: distances are the separation along the normal that comes with them. */
static void test_large_hull(void **state)
{
    enum
    {
        N = 100000
    };
    double *vertex = malloc(sizeof(double[3]) * N);
    test_random r = {9};
    tg_shape mesh = make(TG_GEOM_MESH, 1, 1, 1);
    const tg_shape other[3] = {make(TG_GEOM_SPHERE, 0.3, 0, 0), make(TG_GEOM_CYLINDER, 0.3, 0.3, 0),
                               make(TG_GEOM_BOX, 0.3, 0.2, 0.1)};
    tg_hull *hull = NULL;
    tg_error error;
    (void)state;
    for (int i = 0; i < N; i++)
    {
        double squared;
        do
        {
            random_fill(&r, vertex + 3 * i, 3);
            squared = vertex[3 * i] * vertex[3 * i] + vertex[3 * i + 1] * vertex[3 * i + 1] +
                      vertex[3 * i + 2] * vertex[3 * i + 2];
        } while (squared > 1);
    }
    assert_int_equal(tg_hull_create(vertex, N, NULL, &hull, &error), TG_OK);
    mesh.hull = hull;
    for (int k = 0; k < 30; k++)
    {
        double pose[7] = {0, 0, 0, 1, 0, 0, 0}, scale = 0.7 + 0.03 * k; /* from deep inside to apart */
        tg_contact c, touching;
        random_fill(&r, pose, 3);
        double length = sqrt(pose[0] * pose[0] + pose[1] * pose[1] + pose[2] * pose[2]);
        for (int i = 0; i < 3; i++)
            pose[i] *= scale / length;
        assert_int_equal(tg_distance(&mesh, origin, &other[k % 3], pose, &c, &error), TG_OK);
        assert_true(farthest(vertex, N, c.normal, 1) >= 0.9);
        for (int i = 0; i < 3; i++)
            pose[i] -= c.distance * c.normal[i];
        assert_int_equal(tg_distance(&mesh, origin, &other[k % 3], pose, &touching, &error), TG_OK);
        assert_near(touching.distance, 0, 1e-9);
        if (k % 3 == 0) /* a sphere: its separation is known */
        {
            double along = 0;
            for (int i = 0; i < 3; i++)
                along += c.normal[i] * (pose[i] + c.distance * c.normal[i]);
            assert_near(c.distance, along - 0.3 - farthest(vertex, N, c.normal, 1), 1e-9);
        }
    }
    tg_hull_destroy(hull);
    free(vertex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_spheres),       cmocka_unit_test(test_reach_and_capacity),
        cmocka_unit_test(test_four_of_eight),     cmocka_unit_test(test_derivatives_of_spheres),
        cmocka_unit_test(test_bad_shapes),        cmocka_unit_test(test_bad_poses),
        cmocka_unit_test(test_bad_options),       cmocka_unit_test(test_bad_outputs),
        cmocka_unit_test(test_one_place),         cmocka_unit_test(test_points),
        cmocka_unit_test(test_hull_memory),       cmocka_unit_test(test_flat_hulls),
        cmocka_unit_test(test_repeated_vertices), cmocka_unit_test(test_large_hull),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
