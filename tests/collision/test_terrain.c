/* Height fields against every convex shape. */
#include "collision_test.h"

enum
{
    ROWS = 9,
    COLS = 13
};

typedef struct field
{
    double elevation[ROWS * COLS];
    tg_terrain terrain;
    tg_placed placed;
} field;

/* 3 m x 2 m, heights up to `height`, base 0.5 m; shape f(x, y) in 0 .. 1 over the grid */
static void make_field(field *f, double height, double (*shape)(double x, double y))
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++)
            f->elevation[i * COLS + j] = shape(3.0 * j / (COLS - 1) - 1.5, 2.0 * i / (ROWS - 1) - 1);
    f->terrain = (tg_terrain){.nrow = ROWS, .ncol = COLS, .elevation = f->elevation, .size = {1.5, 1, height, 0.5}};
    f->placed = (tg_placed){.R = mat3_identity(), .x = v4_zero(), .type = TG_GEOM_HFIELD, .terrain = &f->terrain};
}

static double flat(double x, double y)
{
    (void)x;
    (void)y;
    return 0.4;
}

static double hills(double x, double y)
{
    return 0.5 + 0.25 * sin(3 * x) * cos(2 * y) + 0.2 * sin(7 * x + 1) * sin(5 * y);
}

static double valley(double x, double y)
{
    (void)y;
    return fabs(x) / 1.5;
}

static tg_placed shape_at(test_random *r, tg_geom_type type, const tg_polytope *mesh, double x, double y, double z)
{
    tg_placed p = random_shape(r, type, mesh);
    p.x = v4_set(x, y, z, 0);
    return p;
}

/* A shape that slides over a flat field, touching, near it or pressed in: the field is a plane. */
static void test_flat_is_a_plane(void **state)
{
    field f;
    tg_polytope *mesh = test_mesh();
    test_random r = {12345};
    (void)state;
    make_field(&f, 1, flat);
    tg_placed plane = {.R = mat3_identity(), .x = v4_set(0, 0, 0.4, 0), .type = TG_GEOM_PLANE};
    for (tg_geom_type type = TG_GEOM_SPHERE; type <= TG_GEOM_MESH; type++)
        for (int k = 0; k < 200; k++)
        {
            tg_query q = {.reach = INFINITY};
            q.shape[0] = plane;
            q.shape[1] = shape_at(&r, type, mesh, 0.9 * random_unit(&r), 0.5 * random_unit(&r), 2);
            if (k % 4 == 0) /* flat on its sides or ends */
                q.shape[1].R =
                    k % 8 == 0 ? mat3_identity() : (mat3){{v4_set(0, 1, 0, 0), v4_set(0, 0, 1, 0), v4_set(1, 0, 0, 0)}};
            move_to_distance(&q, 0.004 * random_unit(&r));
            tg_patch on_plane, on_field;
            tg_narrow(&q, &on_plane);
            q.shape[0] = f.placed;
            q.reach = 0.005;
            tg_narrow(&q, &on_field);
            assert_in_range(on_field.count, 1, TG_PATCH_MAX);
            assert_near(deepest_of(&on_field)->distance, deepest_of(&on_plane)->distance, 1e-9);
            for (int i = 0; i < on_field.count; i++)
                assert_near(on_field.point[i].normal[2], 1, 1e-12);
        }
    tg_polytope_destroy(NULL, mesh);
}

/* about a horizontal axis */
static mat3 tilt_by(test_random *r, double angle)
{
    double a = 4 * random_unit(r), s = sin(0.5 * angle);
    return mat3_from_quat((const double[4]){cos(0.5 * angle), s * cos(a), s * sin(a), 0});
}

/* What stands or lies on a flat field, tilted by rounding or by a few degrees, has every point that it has on a plane,
 * also where triangles are smaller than it is: not the same ones, but those that nearly touch as far out. A
 * point at the reach counts as nearer by the size of the shape (terrain.c), one at a tenth of that by a tenth. */
static void test_tilted_is_on_a_plane(void **state)
{
    static const tg_geom_type types[] = {TG_GEOM_CAPSULE, TG_GEOM_CYLINDER, TG_GEOM_BOX};
    field f;
    test_random r = {2718};
    (void)state;
    make_field(&f, 1, flat);
    for (int k = 0; k < 900; k++)
    {
        double tilt = pow(10, -9 + 8 * fabs(random_unit(&r)));
        bool lies = types[k % 3] == TG_GEOM_CAPSULE || k % 2 == 0;
        mat3 upright = {{v4_set(0, 1, 0, 0), v4_set(0, 0, 1, 0), v4_set(1, 0, 0, 0)}};
        double yaw = 3 * random_unit(&r), turn[4] = {cos(yaw), 0, 0, sin(yaw)};
        tg_query q = {.reach = INFINITY};
        q.shape[0] = (tg_placed){.R = mat3_identity(), .x = v4_set(0, 0, 0.4, 0), .type = TG_GEOM_PLANE};
        q.shape[1] = shape_at(&r, types[k % 3], NULL, 0.5 * random_unit(&r), 0.2 * random_unit(&r), 2);
        q.shape[1].R = mat3_product(mat3_from_quat(turn), lies ? upright : mat3_identity());
        q.shape[1].R = mat3_product(tilt_by(&r, tilt), q.shape[1].R);
        move_to_distance(&q, 0.001 * random_unit(&r));
        q.reach = 0.004;
        tg_patch on_plane, on_field;
        tg_narrow(&q, &on_plane);
        q.shape[0] = f.placed;
        tg_narrow(&q, &on_field);
        for (int i = 0; i < on_plane.count; i++)
        {
            v4 arm = on_plane.point[i].point - q.shape[1].x;
            double farthest = -INFINITY, wanted = arm[0] * arm[0] + arm[1] * arm[1];
            for (int j = 0; j < on_field.count; j++)
            {
                v4 other = on_field.point[j].point - q.shape[1].x;
                farthest = fmax(farthest, arm[0] * other[0] + arm[1] * other[1]);
            }
            if (on_plane.point[i].distance < 0.1 * q.reach)
                assert_true(farthest > 0.7 * wanted);
        }
    }
}

/* ---- a sphere against all triangles, one by one ---- */

static double segment_distance(v4 p, v4 a, v4 b)
{
    v4 e = b - a;
    double t = fmin(1, fmax(0, v4_dot(p - a, e) / v4_dot(e, e)));
    v4 d = p - a - e * v4_splat(t);
    return sqrt(v4_dot(d, d));
}

static double triangle_distance(v4 p, v4 a, v4 b, v4 c)
{
    v4 n = tg_unit(v4_cross(b - a, c - a));
    v4 foot = p - n * v4_splat(v4_dot(n, p - a));
    bool inside = v4_dot(v4_cross(b - a, foot - a), n) >= 0 && v4_dot(v4_cross(c - b, foot - b), n) >= 0 &&
                  v4_dot(v4_cross(a - c, foot - c), n) >= 0;
    if (inside)
        return fabs(v4_dot(n, p - a));
    return fmin(segment_distance(p, a, b), fmin(segment_distance(p, b, c), segment_distance(p, c, a)));
}

static v4 grid(const field *f, int i, int j)
{
    return v4_set(3.0 * j / (COLS - 1) - 1.5, 2.0 * i / (ROWS - 1) - 1, f->terrain.size[2] * f->elevation[i * COLS + j],
                  0);
}

static double surface_distance(const field *f, v4 p)
{
    double least = INFINITY;
    for (int i = 0; i + 1 < ROWS; i++)
        for (int j = 0; j + 1 < COLS; j++)
        {
            v4 A = grid(f, i, j), B = grid(f, i, j + 1), C = grid(f, i + 1, j), D = grid(f, i + 1, j + 1);
            least = fmin(least, fmin(triangle_distance(p, A, B, C), triangle_distance(p, D, C, B)));
        }
    return least;
}

static double height_at(const field *f, double x, double y)
{
    double u = (x + 1.5) / 3 * (COLS - 1), v = (y + 1) / 2 * (ROWS - 1);
    int j = (int)u, i = (int)v;
    u -= j;
    v -= i;
    double A = grid(f, i, j)[2], B = grid(f, i, j + 1)[2], C = grid(f, i + 1, j)[2], D = grid(f, i + 1, j + 1)[2];
    return u + v < 1 ? A + u * (B - A) + v * (C - A) : D + (1 - u) * (C - D) + (1 - v) * (B - D);
}

static void test_sphere_on_hills(void **state)
{
    field f;
    test_random r = {777};
    (void)state;
    make_field(&f, 0.6, hills);
    for (int k = 0; k < 1000; k++)
    {
        double x = 1.1 * random_unit(&r), y = 0.6 * random_unit(&r),
               z = height_at(&f, x, y) + 0.3 * fabs(random_unit(&r));
        tg_query q = {.reach = k % 2 == 0 ? INFINITY : 0.5};
        q.shape[0] = f.placed;
        q.shape[1] = (tg_placed){.type = TG_GEOM_SPHERE, .R = mat3_identity(), .x = v4_set(x, y, z, 0), .size = {0.1}};
        tg_patch patch;
        tg_narrow(&q, &patch);
        double expected = surface_distance(&f, q.shape[1].x) - 0.1;
        assert_true(patch.count > 0);
        assert_near(deepest_of(&patch)->distance, expected, 1e-12);
        for (int i = 0; i < patch.count; i++)
        {
            const tg_contact_point *c = &patch.point[i];
            v4 on = c->point - c->normal * v4_splat(0.5 * c->distance);
            assert_near(on[2], height_at(&f, on[0], on[1]), 1e-9);
            assert_true(c->normal[2] > 0);
        }
    }
}

/* In a valley both slopes hold: two normals, neither of the edge between them. */
static void test_valley_has_two_sides(void **state)
{
    field f;
    (void)state;
    make_field(&f, 1.5, valley); /* slopes of 45 degrees, the bottom along x = 0 */
    tg_query q = {.reach = 0.01};
    q.shape[0] = f.placed;
    q.shape[1] = (tg_placed){
        .type = TG_GEOM_SPHERE, .R = mat3_identity(), .x = v4_set(0, 0.06, 0.1 * sqrt(2), 0), .size = {0.1}};
    tg_patch patch;
    tg_narrow(&q, &patch);
    assert_int_equal(patch.count, 2);
    for (int i = 0; i < 2; i++)
    {
        assert_near(patch.point[i].distance, 0, 1e-12);
        assert_near(fabs(patch.point[i].normal[0]), sqrt(0.5), 1e-12);
        assert_near(patch.point[i].normal[2], sqrt(0.5), 1e-12);
    }
}

/* What is pressed deep into the field is pushed up, not sideways out of a cell. */
static void test_deep_is_pushed_up(void **state)
{
    field f;
    tg_polytope *mesh = test_mesh();
    test_random r = {31};
    (void)state;
    make_field(&f, 1, flat);
    for (tg_geom_type type = TG_GEOM_SPHERE; type <= TG_GEOM_MESH; type++)
        for (int k = 0; k < 100; k++)
        {
            tg_query q = {.reach = 0.001};
            q.shape[0] = f.placed;
            q.shape[1] =
                shape_at(&r, type, mesh, 0.8 * random_unit(&r), 0.4 * random_unit(&r), 0.4 + 0.05 * random_unit(&r));
            tg_patch patch;
            tg_narrow(&q, &patch);
            assert_true(patch.count > 0);
            double low = v4_dot(tg_support(&q.shape[1], v4_set(0, 0, -1, 0), NULL), v4_set(0, 0, 1, 0)) -
                         tg_rounding(&q.shape[1]);
            assert_near(deepest_of(&patch)->distance, low - 0.4, 1e-9);
            for (int i = 0; i < patch.count; i++)
                assert_true(patch.point[i].normal[2] > 0.99);
        }
    tg_polytope_destroy(NULL, mesh);
}

static double ridges(double x, double y)
{
    return 0.5 + 0.5 * sin(9 * x + 2) * cos(8 * y);
}

/* What the nearest point of the surface proves to be outside overlaps nothing, not the plane of a triangle beyond a
 * ridge either. */
static void test_nothing_overlaps_from_outside(void **state)
{
    field f;
    tg_polytope *mesh = test_mesh();
    test_random r = {99};
    int points = 0;
    (void)state;
    make_field(&f, 0.5, ridges);
    for (tg_geom_type type = TG_GEOM_SPHERE; type <= TG_GEOM_MESH; type++)
        for (int k = 0; k < 500; k++)
        {
            double x = random_unit(&r), y = 0.6 * random_unit(&r),
                   z = height_at(&f, x, y) + 0.3 * fabs(random_unit(&r));
            tg_query q = {.reach = 0.05};
            q.shape[0] = f.placed;
            q.shape[1] = shape_at(&r, type, mesh, x, y, z);
            double room = surface_distance(&f, q.shape[1].x), *size = q.shape[1].size;
            double radius = type == TG_GEOM_MESH ? fmax(size[0], fmax(size[1], size[2]))
                                                 : size[0] + size[1] + size[2]; /* no less than the bounding one */
            for (int i = 0; i < 3; i++)
                size[i] *= room / radius;
            tg_patch patch;
            tg_narrow(&q, &patch);
            points += patch.count;
            for (int i = 0; i < patch.count; i++)
                assert_true(patch.point[i].distance > -1e-9);
        }
    assert_true(points > 1000);
    tg_polytope_destroy(NULL, mesh);
}

/* Outside the border the wall is there. */
static void test_border_is_a_wall(void **state)
{
    field f;
    (void)state;
    make_field(&f, 1, flat);
    tg_query q = {.reach = 0.2};
    q.shape[0] = f.placed;
    q.shape[1] =
        (tg_placed){.type = TG_GEOM_SPHERE, .R = mat3_identity(), .x = v4_set(1.55, 0.13, 0.1, 0), .size = {0.1}};
    tg_patch patch;
    tg_narrow(&q, &patch);
    assert_near(deepest_of(&patch)->distance, -0.05, 1e-12);
    assert_near(deepest_of(&patch)->normal[0], 1, 1e-12);
}

/* ---- derivatives with respect to the two poses ---- */

static tg_point_motion motion_of(const tg_query *q, const tg_contact_point *c, int column)
{
    int which = column / 6, k = column % 6;
    v4 unit = v4_zero();
    unit[k % 3] = 1;
    v4 shift = k < 3 ? unit : v4_cross(unit, c->point - q->shape[which].x), turn = k < 3 ? v4_zero() : unit;
    if (which == 1)
        return tg_motion_by_twist(c, shift, turn);
    tg_point_motion m = tg_motion_by_twist(c, -shift, -turn);
    m.point += shift;
    m.normal += v4_cross(turn, c->normal);
    return m;
}

static bool displaced_point(const tg_query *q, uint32_t feature, int column, double h, double out[7])
{
    tg_query d = *q;
    tg_placed *p = &d.shape[column / 6];
    int k = column % 6;
    double w[4] = {cos(0.5 * h), 0, 0, 0};
    if (k < 3)
        p->x[k] += h;
    else
    {
        w[k - 2] = sin(0.5 * h);
        p->R = mat3_product(mat3_from_quat(w), p->R);
    }
    tg_patch patch;
    tg_narrow(&d, &patch);
    for (int i = 0; i < patch.count; i++)
        if (patch.point[i].feature == feature)
        {
            v4_store3(out, patch.point[i].point);
            v4_store3(out + 3, patch.point[i].normal);
            out[6] = patch.point[i].distance;
            return true;
        }
    return false;
}

static void test_derivatives(void **state)
{
    field f;
    tg_polytope *mesh = test_mesh();
    test_random r = {4242};
    (void)state;
    make_field(&f, 0.6, hills);
    for (tg_geom_type type = TG_GEOM_SPHERE; type <= TG_GEOM_MESH; type++)
    {
        int samples = 0, skipped = 0;
        double worst = 0, largest = 0;
        for (int k = 0; k < 40; k++)
        {
            tg_query q = {.reach = INFINITY};
            q.shape[0] = f.placed;
            q.shape[1] = shape_at(&r, type, mesh, 0.9 * random_unit(&r), 0.5 * random_unit(&r), 1.5);
            move_to_distance(&q, 0.01 * random_unit(&r));
            q.reach = 0.02;
            tg_patch patch;
            tg_narrow(&q, &patch);
            for (int i = 0; i < patch.count; i++)
            {
                const tg_contact_point *c = &patch.point[i];
                double best = INFINITY;
                for (double h = 1e-5; h > 5e-8; h /= 10)
                {
                    double error = 0, scale = 1;
                    bool ok = true;
                    for (int column = 0; column < 12 && ok; column++)
                    {
                        double plus[7], minus[7], J[7];
                        ok = displaced_point(&q, c->feature, column, h, plus) &&
                             displaced_point(&q, c->feature, column, -h, minus);
                        tg_point_motion m = motion_of(&q, c, column);
                        v4_store3(J, m.point);
                        v4_store3(J + 3, m.normal);
                        J[6] = m.distance;
                        for (int n = 0; n < 7 && ok; n++)
                        {
                            double F = (plus[n] - minus[n]) / (2 * h);
                            scale = fmax(scale, fabs(F));
                            error = fmax(error, fabs(F - J[n]));
                            largest = fmax(largest, fabs(J[n]));
                        }
                    }
                    if (ok)
                        best = fmin(best, error / scale);
                }
                samples++;
                skipped += best == INFINITY;
                if (best < INFINITY)
                    worst = fmax(worst, best);
            }
        }
        print_message("hfield-%-9s points %4d skipped %4.1f %% worst error %.1e\n", type_name[type], samples,
                      100.0 * skipped / samples, worst);
        assert_true(samples >= 40);
        assert_true(skipped < 0.05 * samples);
        assert_true(worst < 1e-6);
        assert_true(largest > 0.5);
    }
    tg_polytope_destroy(NULL, mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flat_is_a_plane),      cmocka_unit_test(test_sphere_on_hills),
        cmocka_unit_test(test_valley_has_two_sides), cmocka_unit_test(test_deep_is_pushed_up),
        cmocka_unit_test(test_border_is_a_wall),     cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_tilted_is_on_a_plane), cmocka_unit_test(test_nothing_overlaps_from_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
