/* Patches of cylinders and capsules on flat faces and on each other, and the normals of what slides over a seam. */
#include "collision_test.h"

static const mat3 upright = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
static const mat3 lying = {{{0, 1, 0, 0}, {0, 0, 1, 0}, {1, 0, 0, 0}}}; /* axis along x */

static tg_placed cylinder(mat3 R, double x, double y, double z, double radius, double half)
{
    return (tg_placed){.type = TG_GEOM_CYLINDER, .R = R, .x = v4_set(x, y, z, 0), .size = {radius, half}};
}

static tg_placed box(double x, double y, double z, double a, double b, double c)
{
    return (tg_placed){
        .type = TG_GEOM_BOX, .R = upright, .x = v4_set(x, y, z, 0), .size = {a, b, c}, .polytope = &tg_unit_cube};
}

static tg_placed capsule(mat3 R, double x, double y, double z, double radius, double half)
{
    return (tg_placed){.type = TG_GEOM_CAPSULE, .R = R, .x = v4_set(x, y, z, 0), .size = {radius, half}};
}

static mat3 tilted(mat3 R, double angle, double heading)
{
    double q[4] = {cos(0.5 * angle), sin(0.5 * angle) * cos(heading), sin(0.5 * angle) * sin(heading), 0};
    return mat3_product(mat3_from_quat(q), R);
}

static tg_patch collide(tg_placed a, tg_placed b, double reach)
{
    tg_query q = {.reach = reach};
    tg_patch patch;
    q.shape[0] = a;
    q.shape[1] = b;
    assert_true(tg_narrow(&q, &patch));
    return patch;
}

static const tg_contact_point *find(const tg_patch *patch, uint32_t feature)
{
    for (int i = 0; i < patch->count; i++)
        if (patch->point[i].feature == feature)
            return &patch->point[i];
    return NULL;
}

static bool has_point(const tg_patch *patch, double x, double y)
{
    for (int i = 0; i < patch->count; i++)
        if (fabs(patch->point[i].point[0] - x) < 1e-9 && fabs(patch->point[i].point[1] - y) < 1e-9)
            return true;
    return false;
}

static void assert_vertical(const tg_patch *patch, double distance)
{
    assert_in_range(patch->count, 1, TG_PATCH_MAX);
    for (int i = 0; i < patch->count; i++)
    {
        assert_near(fabs(patch->point[i].normal[2]), 1, 1e-9);
        assert_near(patch->point[i].distance, distance, 1e-9);
    }
}

/* Standing on a face that is larger: the four rim points that are fixed in the cylinder, whatever the face is. */
static void test_standing(void **state)
{
    tg_placed c = cylinder(upright, 0.1, -0.2, 0.499, 0.25, 0.5);
    tg_placed plane = {.type = TG_GEOM_PLANE, .R = upright};
    tg_placed on[3] = {box(0, 0, -0.5, 1, 1, 0.5), cylinder(upright, 0, 0, -0.3, 0.9, 0.3), plane};
    (void)state;
    for (int i = 0; i < 3; i++)
    {
        tg_patch patch = collide(c, on[i], 0.001);
        assert_int_equal(patch.count, 4);
        assert_vertical(&patch, -0.001);
        assert_true(has_point(&patch, 0.35, -0.2) && has_point(&patch, -0.15, -0.2) && has_point(&patch, 0.1, 0.05) &&
                    has_point(&patch, 0.1, -0.45));
    }
}

/* Tilts below 1e-5: the same points, and they move with the cylinder. Above: the deepest point comes in, the others
 * stay. */
static void test_small_tilts(void **state)
{
    tg_placed on = box(0, 0, -0.5, 1, 1, 0.5);
    (void)state;
    tg_patch still = collide(cylinder(upright, 0, 0, 0.5, 0.25, 0.5), on, 0.01);
    for (double angle = 1e-7; angle < 2e-3; angle *= 3)
        for (double heading = 0.1; heading < 6.2; heading += 0.7)
        {
            tg_patch patch = collide(cylinder(tilted(upright, angle, heading), 0, 0, 0.5, 0.25, 0.5), on, 0.01);
            assert_int_equal(patch.count, angle < 1e-5 ? 4 : 5);
            for (int i = 0; i < 4; i++)
            {
                const tg_contact_point *c = find(&patch, still.point[i].feature);
                assert_non_null(c);
                v4 d = c->point - still.point[i].point;
                assert_true(sqrt(v4_dot(d, d)) < angle);
            }
            assert_near(deepest_of(&patch)->distance, 0.5 - 0.5 * cos(angle) - 0.25 * sin(angle), 1e-5 * 0.25);
        }
}

/* Nearly standing and just in touch, on a face of a mesh: its height is known to rounding, whatever the tilt, and no
 * better normal is looked for, at which there would be one vertex instead of the patch. */
static void test_nearly_standing(void **state)
{
    test_random r = {71};
    (void)state;
    for (int k = 0; k < 2000; k++)
    {
        tg_placed on = box(random_unit(&r), random_unit(&r), -0.05, 0.05, 0.05, 0.05);
        double turn = random_unit(&r), heading = k % 2 == 0 ? turn : 3 * random_unit(&r);
        mat3 R = tilted(upright, pow(10, -4 + random_unit(&r)), heading);
        tg_query q = {.reach = 0.001};
        on.type = TG_GEOM_MESH;
        on.R = mat3_from_quat((double[]){cos(0.5 * turn), 0, 0, sin(0.5 * turn)});
        q.shape[0] = on;
        double x = on.x[0] + 0.03 * random_unit(&r), y = on.x[1] + 0.03 * random_unit(&r);
        q.shape[1] = cylinder(R, x, y, 0.0303, 0.04, 0.03);
        double distance = (k % 3 - 1) * pow(10, -12 + 2 * random_unit(&r));
        move_to_distance(&q, distance);
        tg_patch patch = collide(q.shape[0], q.shape[1], q.reach);
        assert_true(patch.count >= 3 && deepest_of(&patch)->margin >= 0);
        assert_near(deepest_of(&patch)->distance, distance, 1e-15);
    }
}

/* Hanging over an edge of the face: crossings of rim and edge take the place of what is outside. */
static void test_overhang(void **state)
{
    tg_placed on = box(0, 0, -0.5, 1, 1, 0.5);
    tg_patch patch = collide(cylinder(upright, 1.1, 0, 0.5, 0.25, 0.5), on, 0.001);
    double chord = sqrt(0.25 * 0.25 - 0.1 * 0.1);
    (void)state;
    assert_int_equal(patch.count, 3);
    assert_vertical(&patch, 0);
    assert_true(has_point(&patch, 0.85, 0) && has_point(&patch, 1, chord) && has_point(&patch, 1, -chord));
}

/* A small box on a cap: its corners; one that hangs over: corners inside, crossings of its edges, and the rim's own
 * points under it. */
static void test_box_on_cap(void **state)
{
    tg_placed on = cylinder(upright, 0, 0, -0.5, 0.5, 0.5);
    (void)state;
    tg_patch patch = collide(on, box(0.1, 0, 0.2, 0.1, 0.2, 0.2), 0.001);
    assert_int_equal(patch.count, 4);
    assert_vertical(&patch, 0);
    assert_true(has_point(&patch, 0.2, 0.2) && has_point(&patch, 0, -0.2));
    patch = collide(on, box(0.5, 0, 0.2, 0.2, 0.1, 0.2), 0.001);
    assert_vertical(&patch, 0);
    double x = sqrt(0.5 * 0.5 - 0.1 * 0.1);
    assert_int_equal(patch.count, 5);
    assert_true(has_point(&patch, 0.3, 0.1) && has_point(&patch, 0.3, -0.1) && has_point(&patch, x, 0.1) &&
                has_point(&patch, x, -0.1) && has_point(&patch, 0.5, 0));
}

static void test_stacked_cylinders(void **state)
{
    tg_placed low = cylinder(upright, 0, 0, -0.5, 0.3, 0.5), high = cylinder(upright, 0.2, 0.1, 0.25, 0.2, 0.25);
    tg_patch patch = collide(low, high, 0.001);
    (void)state;
    assert_vertical(&patch, 0);
    int crossings = 0;
    for (int i = 0; i < patch.count; i++)
    {
        const tg_contact_point *c = &patch.point[i];
        assert_true(hypot(c->point[0], c->point[1]) < 0.3 + 1e-9);
        assert_true(hypot(c->point[0] - 0.2, c->point[1] - 0.1) < 0.2 + 1e-9);
        crossings += c->kind == TG_POINT_CLIPPED;
    }
    assert_int_equal(crossings, 2);
}

/* Lying on a box, on a cap and beside another: the two ends of the line of contact. */
static void test_lying(void **state)
{
    tg_placed c = cylinder(lying, 0.1, 0, 0.25, 0.25, 0.5), on = box(0, 0, -0.5, 1, 1, 0.5);
    (void)state;
    tg_patch patch = collide(c, on, 0.001);
    assert_int_equal(patch.count, 2);
    assert_vertical(&patch, 0);
    assert_true(has_point(&patch, -0.4, 0) && has_point(&patch, 0.6, 0));
    on = box(0, 0, -0.5, 0.3, 1, 0.5); /* narrower: clipped at both sides */
    patch = collide(c, on, 0.001);
    assert_int_equal(patch.count, 2);
    assert_true(has_point(&patch, -0.3, 0) && has_point(&patch, 0.3, 0));
    on = cylinder(upright, 0, 0, -0.5, 0.4, 0.5);
    patch = collide(c, on, 0.001);
    assert_int_equal(patch.count, 2);
    assert_true(has_point(&patch, -0.4, 0) && has_point(&patch, 0.4, 0));
    patch = collide(capsule(lying, 0.1, 0, 0.1, 0.1, 0.2), on, 0.001);
    assert_int_equal(patch.count, 2);
    assert_vertical(&patch, 0);
    assert_true(has_point(&patch, -0.1, 0) && has_point(&patch, 0.3, 0));
}

static void test_side_by_side(void **state)
{
    tg_placed a[2] = {cylinder(lying, 0, 0, 0, 0.2, 0.5), capsule(lying, 0, 0, 0, 0.2, 0.5)};
    tg_placed b[2] = {cylinder(lying, 0.3, 0.3, 0, 0.1, 0.4), capsule(lying, 0.3, 0.3, 0, 0.1, 0.4)};
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
        {
            tg_patch patch = collide(a[i], b[j], 0.001);
            assert_int_equal(patch.count, 2);
            assert_true(has_point(&patch, -0.1, 0.2) && has_point(&patch, 0.5, 0.2));
            for (int k = 0; k < 2; k++)
            {
                assert_near(patch.point[k].normal[1], 1, 1e-12);
                assert_near(patch.point[k].distance, 0, 1e-12);
            }
        }
}

/* ---- sliding over the seam of two coplanar boxes: every normal that would act is vertical ---- */

static tg_placed slider(int kind)
{
    switch (kind)
    {
    case 0:
        return cylinder(upright, 0, 0, 0.3, 0.2, 0.3);
    case 1:
        return cylinder(lying, 0, 0.1, 0.2, 0.2, 0.3);
    case 2:
        return (tg_placed){.type = TG_GEOM_ELLIPSOID, .R = upright, .x = {0, 0, 0.15, 0}, .size = {0.3, 0.2, 0.15}};
    case 3:
        return (tg_placed){.type = TG_GEOM_SPHERE, .R = upright, .x = {0, 0, 0.2, 0}, .size = {0.2}};
    default:
        return capsule(lying, 0, 0, 0.1, 0.1, 0.2);
    }
}

static void test_seam(void **state)
{
    const double speed[4] = {0.002, 0.3, 1, 3.3}, dt[2] = {1e-3, 5e-3}, height[3] = {-9.81e-6, 0, 1e-4};
    int met = 0;
    (void)state;
    for (int kind = 0; kind < 5; kind++)
        for (int k = 0; k < 24; k++)
            for (double x = -0.6; x < 0.6; x += 0.00317)
                for (int side = -1; side <= 1; side += 2)
                {
                    double v = speed[k % 4], h = dt[k / 4 % 2];
                    tg_query q = {.reach = v * h + 0.001, .dt = h, .slack = TG_SLACK};
                    q.shape[0] = box(0.5 * side, 0, -0.5, 0.5, 1, 0.5);
                    q.shape[1] = slider(kind);
                    q.shape[1].x += v4_set(x, 0, height[k / 8], 0);
                    q.velocity[1] = v4_set(v, 0, -0.01, 0);
                    tg_patch patch;
                    tg_narrow(&q, &patch);
                    for (int i = 0; i < patch.count; i++)
                    {
                        const tg_contact_point *c = &patch.point[i];
                        bool acts = c->distance + h * v4_dot(c->normal, q.velocity[1]) < 0;
                        met += acts;
                        /* a round bottom that has sunk in by 1e-5 touches the edge before it is over it, from above */
                        if (acts && !(c->normal[2] > (kind < 2 ? 1 - 1e-9 : 0.999)))
                            fail_msg(
                                "kind %d at x = %g, %g m/s, dt %g, height %g, box %d: normal (%g %g %g), distance %g",
                                kind, x, v, h, height[k / 8], side, patch.point[i].normal[0], patch.point[i].normal[1],
                                patch.point[i].normal[2], patch.point[i].distance);
                    }
                }
    assert_true(met > 1000);
}

/* ---- hints change nothing ---- */

static void check_same(const tg_patch *a, const tg_patch *b)
{
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++)
    {
        const tg_contact_point *p = &a->point[i], *q = &b->point[i];
        assert_memory_equal(&p->point, &q->point, sizeof p->point);
        assert_memory_equal(&p->normal, &q->normal, sizeof p->normal);
        assert_true(p->distance == q->distance && p->margin == q->margin);
        assert_int_equal(p->feature, q->feature);
        assert_int_equal(p->kind, q->kind);
    }
}

/* A wrong hint, then those of poses nearby, within reach and beyond, at rest and moving. */
static void test_hints(void **state)
{
    test_random r = {99};
    tg_polytope *mesh = test_mesh();
    (void)state;
    for (tg_geom_type a = TG_GEOM_SPHERE; a <= TG_GEOM_MESH; a++)
        for (tg_geom_type b = a; b <= TG_GEOM_MESH; b++)
            for (int k = 0; k < 60; k++)
            {
                tg_query q = {.reach = 0.01, .dt = k % 2 == 0 ? 0 : 0.01, .slack = TG_SLACK};
                tg_hint hint = {.direction = {(float)random_unit(&r), (float)random_unit(&r), (float)random_unit(&r)}};
                q.shape[0] = random_shape(&r, a, mesh);
                q.shape[1] = random_shape(&r, b, mesh);
                q.velocity[1] = (q.shape[0].x - q.shape[1].x) * v4_splat(3);
                move_to_distance(&q, 0.01 + 0.02 * random_unit(&r));
                for (int step = 0; step < 4; step++)
                {
                    tg_patch with, without;
                    q.hint = NULL;
                    tg_narrow(&q, &without);
                    q.hint = &hint;
                    tg_narrow(&q, &with);
                    check_same(&with, &without);
                    q.shape[1].x[step % 3] += 2e-3 * random_unit(&r);
                }
            }
    tg_polytope_destroy(NULL, mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_standing), cmocka_unit_test(test_small_tilts),  cmocka_unit_test(test_nearly_standing),
        cmocka_unit_test(test_overhang), cmocka_unit_test(test_box_on_cap),   cmocka_unit_test(test_stacked_cylinders),
        cmocka_unit_test(test_lying),    cmocka_unit_test(test_side_by_side), cmocka_unit_test(test_seam),
        cmocka_unit_test(test_hints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
