/* Spheres, capsules, boxes and meshes against boxes and meshes: distances and normals against a look at all
 * features, patches against the shapes' own geometry. */
#include "collision/polytope_test.h"
#include "support/effort.h"

#include "collision/polytope.h"
#include "tangere/algebra.h"

enum
{
    SHAPES = 7,
    POSES = 1000 / TEST_EFFORT
};

static tg_polytope *rock, *slab, *flat, *cube;

static int make_hulls(void **state)
{
    (void)state;
    test_random r = {31};
    const double sheet[] = {0.1, 0, 0, -0.1, 0.05, 0, 0, -0.1, 0, 0.08, 0.1, 0, -0.1, -0.1, 0};
    double corner[24];
    for (int i = 0; i < 24; i++)
        corner[i] = i / 3 >> i % 3 & 1 ? 0.1 : -0.1;
    rock = make_rock(&r, 14, 0.1, 0.15, 0.2);
    slab = make_rock(&r, 20, 0.2, 0.1, 0.05);
    flat = make_polytope(sheet, 5);
    cube = make_polytope(corner, 8);
    return 0;
}

static int free_hulls(void **state)
{
    (void)state;
    tg_polytope_destroy(NULL, rock);
    tg_polytope_destroy(NULL, slab);
    tg_polytope_destroy(NULL, flat);
    tg_polytope_destroy(NULL, cube);
    return 0;
}

static tg_placed shape_of(int i)
{
    switch (i)
    {
    case 0:
        return place_sphere(0.05);
    case 1:
        return place_capsule(0.04, 0.15);
    case 2:
        return place_box(0.1, 0.15, 0.2);
    case 3:
        return place_box(0.3, 0.05, 0.1);
    case 4:
        return place_mesh(rock);
    case 5:
        return place_mesh(flat);
    default:
    {
        tg_placed p = place_mesh(slab); /* scaled, and mirrored */
        p.size[0] = 0.5;
        p.size[1] = -1.5;
        return p;
    }
    }
}

static tg_patch patch_of(const tg_query *q)
{
    tg_patch patch = {0};
    if (q->shape[0].type == TG_GEOM_SPHERE)
        tg_sphere_polytope(q, &patch);
    else if (q->shape[0].type == TG_GEOM_CAPSULE)
        tg_capsule_polytope(q, &patch);
    else
        tg_polytope_polytope(q, &patch);
    return patch;
}

static double least_distance(const tg_patch *patch)
{
    double least = INFINITY;
    for (int i = 0; i < patch->count; i++)
        least = fmin(least, patch->point[i].distance);
    return least;
}

static double norm(v4 a)
{
    return sqrt(v4_dot(a, a));
}

static tg_query random_query(test_random *r, int i, int j, int k)
{
    tg_query q = {.shape = {shape_of(i), shape_of(j)}, .reach = 0.5};
    double gap = k % 10 == 0 ? -0.2 * fabs(random_unit(r)) : (k % 10 == 1 ? 1e-6 : 0.05) * random_unit(r);
    random_pose(r, &q.shape[0], &q.shape[1], gap + tg_rounding(&q.shape[0]));
    return q;
}

/* how far x is outside a convex shape, at most: over its faces (0: a flat one, or none) */
static double outside(const tg_placed *p, v4 x)
{
    if (p->polytope == NULL)
        return 0;
    double most = -INFINITY;
    for (int i = 0; i < p->polytope->npolygon; i++)
    {
        const double *m = p->polytope->normal + 4 * i;
        v4 n = v4_set(m[0] / p->size[0], m[1] / p->size[1], m[2] / p->size[2], 0);
        n = mat3_mul(p->R, n * v4_splat(1 / norm(n)));
        double offset = -INFINITY;
        for (int v = 0; v < p->polytope->nvertex; v++)
            offset = fmax(offset, v4_dot(n, vertex_of(p, v)));
        most = fmax(most, v4_dot(n, x) - offset);
    }
    return most;
}

/* ---- the contract, at random poses ---- */

typedef struct worst
{
    double distance, normal, touch, swap, surface;
    int parallel;
} worst;

/* Distances and the normal are those of the nearest features; where these are parallel to TG_PARALLEL the normal is
 * a face's. */
static void check_pair(const tg_query *q, worst *w)
{
    brute o = brute_axis(&q->shape[0], &q->shape[1]);
    tg_patch patch = patch_of(q);
    assert_in_range(patch.count, 1, TG_PATCH_MAX);
    double least = least_distance(&patch), expected = o.separation - tg_rounding(&q->shape[0]);
    double turn = norm(patch.point[0].normal - o.normal);
    w->distance = fmax(w->distance, fabs(least - expected));
    if (turn * fabs(o.separation) > 1e-12 && turn < TG_PARALLEL)
        w->parallel++;
    else if (separation_brute(&q->shape[0], &q->shape[1], patch.point[0].normal) <
             o.separation - 1e-13) /* not just as good */
        w->normal = fmax(w->normal, turn);
    for (int i = 0; i < patch.count; i++)
    {
        const tg_contact_point *p = &patch.point[i];
        assert_true(fabs(norm(p->normal) - 1) < 1e-14);
        assert_true(norm(p->normal - patch.point[0].normal) == 0);
        assert_true(p->distance < q->reach && p->margin >= 0);
        for (int j = 0; j < i; j++)
            assert_true(p->feature != patch.point[j].feature);
        for (int s = 0; s < 2; s++) /* both witness points lie on their surfaces: not outside */
        {
            v4 x = p->point + p->normal * v4_splat((s == 0 ? -0.5 : 0.5) * p->distance);
            w->surface = fmax(w->surface, outside(&q->shape[s], x));
        }
    }
}

/* Translating the second shape by -distance n makes them touch. */
static void check_touch(const tg_query *q, worst *w)
{
    tg_patch patch = patch_of(q);
    tg_query moved = *q;
    moved.shape[1].x -= patch.point[0].normal * v4_splat(least_distance(&patch));
    patch = patch_of(&moved);
    w->touch = fmax(w->touch, fabs(least_distance(&patch)));
}

/* Swapping the shapes mirrors the answer; polytopes only, the others have one order. */
static void check_swap(const tg_query *q, worst *w)
{
    if (q->shape[0].polytope == NULL)
        return;
    tg_query other = *q;
    other.shape[0] = q->shape[1];
    other.shape[1] = q->shape[0];
    tg_patch a = patch_of(q), b = patch_of(&other);
    w->swap = fmax(w->swap, fabs(least_distance(&a) - least_distance(&b)));
    if (fabs(least_distance(&a)) > 1e-9 && a.point[0].margin > 1e-6)
        w->swap = fmax(w->swap, 1e-5 * norm(a.point[0].normal + b.point[0].normal));
}

static void every_pair(void **state)
{
    (void)state;
    test_random r = {32};
    for (int i = 0; i < SHAPES; i++)
        for (int j = 2; j < SHAPES; j++)
        {
            worst w = {0};
            for (int k = 0; k < POSES; k++)
            {
                tg_query q = random_query(&r, i, j, k);
                check_pair(&q, &w);
                check_touch(&q, &w);
                check_swap(&q, &w);
            }
            if (!(w.distance < 1e-11 && w.normal < 1e-9 && w.touch < 1e-10 && w.swap < 1e-9 && w.surface < 1e-10) ||
                w.parallel > POSES / 100)
                fail_msg("shapes %d, %d: distance %g, normal %g, touch %g, swap %g, outside %g, nearly parallel %d", i,
                         j, w.distance, w.normal, w.touch, w.swap, w.surface, w.parallel);
        }
}

/* Closed forms (boxes) and the search give the same, with the boxes as meshes. */
static void boxes_as_meshes(void **state)
{
    (void)state;
    test_random r = {33};
    for (int k = 0; k < 3 * POSES; k++)
    {
        tg_query q = random_query(&r, k % 3 == 0 ? 0 : k % 3 == 1 ? 2 : 3, 2 + k % 2, k);
        tg_query mesh = q;
        for (int i = 0; i < 2; i++)
            if (q.shape[i].type == TG_GEOM_BOX)
                mesh.shape[i].type = TG_GEOM_MESH;
        tg_patch a = patch_of(&q), b = patch_of(&mesh);
        assert_true(fabs(least_distance(&a) - least_distance(&b)) < 1e-10);
        if (!(least_distance(&a) > 1e-9) || a.point[0].margin < 1e-6)
            continue;
        assert_true(norm(a.point[0].normal - b.point[0].normal) < 2 * TG_PARALLEL);
        assert_int_equal(a.count, b.count);
    }
}

/* A patch with less reach is that part of the patch which is nearer. */
static void reach_selects(void **state)
{
    (void)state;
    test_random r = {34};
    for (int k = 0; k < POSES; k++)
    {
        tg_query q = random_query(&r, 1 + k % 4, 2 + k % 3, k);
        tg_patch all = patch_of(&q);
        q.reach = least_distance(&all) + 0.01;
        tg_patch near = patch_of(&q);
        int expected = 0;
        for (int i = 0; i < all.count; i++)
            expected += all.point[i].distance < q.reach;
        assert_int_equal(near.count, expected);
        q.reach = least_distance(&all) - 1e-9;
        near = patch_of(&q);
        assert_int_equal(near.count, 0);
    }
}

/* ---- patches of boxes on boxes ---- */

/* corners of the intersection of two rectangles in the plane: every corner of one inside the other, every crossing
 * of sides */
static int intersect_rectangles(const double half[2][2], double yaw, v4 shift, v4 corner[16])
{
    v4 c[2][4];
    int n = 0;
    mat3 R = rotation_about(v4_set(0, 0, 1, 0), yaw);
    for (int i = 0; i < 4; i++)
    {
        double x = i == 0 || i == 3 ? 1 : -1, y = i < 2 ? 1 : -1;
        c[0][i] = v4_set(x * half[0][0], y * half[0][1], 0, 0);
        c[1][i] = shift + mat3_mul(R, v4_set(x * half[1][0], y * half[1][1], 0, 0));
    }
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < 4; i++)
        {
            bool in = true;
            for (int k = 0; k < 4; k++)
                in &= v4_cross(c[1 - s][(k + 1) % 4] - c[1 - s][k], c[s][i] - c[1 - s][k])[2] >= 0;
            if (in)
                corner[n++] = c[s][i];
        }
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
        {
            v4 e = c[0][(i + 1) % 4] - c[0][i], f = c[1][(k + 1) % 4] - c[1][k], d = c[1][k] - c[0][i];
            double det = v4_cross(e, f)[2], s = v4_cross(d, f)[2] / det, t = v4_cross(d, e)[2] / det;
            if (fabs(det) > 1e-12 && s > 0 && s < 1 && t > 0 && t < 1)
                corner[n++] = c[0][i] + e * v4_splat(s);
        }
    return n;
}

static bool among(v4 x, const v4 *list, int n)
{
    for (int i = 0; i < n; i++)
        if (norm(v4_set(x[0] - list[i][0], x[1] - list[i][1], 0, 0)) < 1e-9)
            return true;
    return false;
}

/* The support polygon of a box on a box, as boxes and as meshes, either one first, apart and overlapping by a
 * little. */
static void box_on_box(void **state)
{
    (void)state;
    test_random r = {35};
    const double half[2][2] = {{0.3, 0.2}, {0.2, 0.15}};
    for (int k = 0; k < 20; k++)
        for (int how = 0; how < 8; how++)
        {
            double yaw = k == 0 ? 0 : 3 * random_unit(&r), gap = how < 4 ? 1e-4 : -1e-4;
            v4 shift = k < 3 ? v4_zero() : v4_set(0.2 * random_unit(&r), 0.1 * random_unit(&r), 0, 0), corner[16];
            int expected = intersect_rectangles(half, yaw, shift, corner);
            tg_placed low = place_box(0.3, 0.2, 0.1), high = place_box(0.2, 0.15, 0.05);
            high.R = rotation_about(v4_set(0, 0, 1, 0), yaw);
            high.x = shift + v4_set(0, 0, 0.15 + gap, 0);
            low.x = v4_zero();
            if (how % 2 == 1)
                low.type = high.type = TG_GEOM_MESH;
            tg_query q = {.shape = {how % 4 < 2 ? low : high, how % 4 < 2 ? high : low}, .reach = 1e-3};
            tg_patch patch = patch_of(&q);
            assert_int_equal(patch.count, expected);
            for (int i = 0; i < patch.count; i++)
            {
                assert_true(fabs(patch.point[i].distance - gap) < 1e-14);
                assert_true(fabs(fabs(patch.point[i].normal[2]) - 1) < 1e-14);
                assert_true(among(patch.point[i].point, corner, expected));
                for (int j = 0; j < i; j++)
                    assert_true(norm(patch.point[i].point - patch.point[j].point) > 1e-6);
            }
        }
}

/* A box of the same size right above: exactly its four corners, whatever rounding says. */
static void aligned(void **state)
{
    (void)state;
    test_random r = {36};
    for (int k = 0; k < 200; k++)
    {
        tg_query q = {.shape = {place_box(0.1, 0.2, 0.3), place_box(0.1, 0.2, 0.3)}, .reach = 1e-3};
        if (k % 2 == 1)
            q.shape[0].type = q.shape[1].type = TG_GEOM_MESH;
        q.shape[0].R = q.shape[1].R = random_rotation(&r);
        q.shape[0].x = random_direction(&r);
        double gap = k % 4 < 2 ? 1e-5 : -1e-5;
        int axis = k % 3;
        q.shape[1].x = q.shape[0].x + q.shape[0].R.c[axis] * v4_splat(2 * q.shape[0].size[axis] + gap);
        tg_patch patch = patch_of(&q);
        assert_int_equal(patch.count, 4);
        for (int i = 0; i < 4; i++)
        {
            assert_true(fabs(patch.point[i].distance - gap) < 1e-14);
            assert_true(norm(patch.point[i].normal - q.shape[0].R.c[axis]) < 1e-9);
        }
    }
}

/* On a face: lying 4 points, on an edge 2, on a corner 1; as mesh and as box. */
static void cube_on_box(void **state)
{
    (void)state;
    const int expected[3] = {4, 2, 1};
    for (int how = 0; how < 3; how++)
        for (int k = 0; k < 40; k++)
        {
            tg_placed a = place_box(1, 1, 0.5), b = k % 2 == 0 ? place_box(0.1, 0.1, 0.1) : place_mesh(cube);
            mat3 R = mat3_identity();
            if (how > 0)
                R = rotation_about(v4_set(1, 0, 0, 0), atan(1));
            if (how == 2)
                R = mat3_product(rotation_about(v4_set(0, 1, 0, 0), atan(sqrt(0.5))), R);
            b.R = mat3_product(rotation_about(v4_set(0, 0, 1, 0), 0.3 * k), R);
            b.x = v4_set(0.3, 0.2, 0, 0);
            b.x[2] = -separation_brute(&a, &b, v4_set(0, 0, 1, 0)) + (k % 4 < 2 ? 1e-7 : -1e-7);
            tg_query q = {.shape = {a, b}, .reach = 1e-6};
            tg_patch patch = patch_of(&q);
            assert_int_equal(patch.count, expected[how]);
            for (int i = 0; i < patch.count; i++)
                assert_true(fabs(patch.point[i].normal[2] - 1) < 1e-14);
        }
}

/* Boxes that overhang each other, moved and tilted by 1e-6: the same number of points, moved by as little. */
static void continuous(void **state)
{
    (void)state;
    test_random r = {37};
    for (int yaw = 0; yaw < 20; yaw++)
    {
        tg_placed a = place_box(0.3, 0.2, 0.1), b = place_box(0.25, 0.22, 0.1);
        b.R = rotation_about(v4_set(0, 0, 1, 0), 0.31 * (yaw + 0.5));
        b.x = v4_set(0.1, 0.07, 0.2, 0);
        if (yaw % 2 == 1)
            a.type = b.type = TG_GEOM_MESH;
        tg_query q = {.shape = {a, b}, .reach = 1e-3};
        tg_patch before = patch_of(&q);
        assert_true(before.count >= 4);
        for (int k = 0; k < 50; k++)
        {
            tg_query moved = q;
            moved.shape[1].x += random_direction(&r) * v4_splat(1e-6);
            moved.shape[1].R = mat3_product(rotation_about(random_direction(&r), 1e-6), b.R);
            tg_patch after = patch_of(&moved);
            assert_int_equal(after.count, before.count);
            for (int i = 0; i < after.count; i++)
            {
                assert_int_equal(after.point[i].feature, before.point[i].feature);
                assert_true(norm(after.point[i].point - before.point[i].point) < 1e-5);
                assert_true(norm(after.point[i].normal - before.point[i].normal) < 1e-5);
                assert_true(fabs(after.point[i].distance - before.point[i].distance) < 2e-6);
            }
        }
    }
}

/* ---- edges, capsules ---- */

/* Edges that cross give one point with two edges, parallel ones two points. */
static void edges(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        for (int mesh = 0; mesh < 2; mesh++)
        {
            tg_placed a = place_box(0.2, 0.1, 0.1), b = place_box(0.2, 0.1, 0.1);
            a.R = rotation_about(v4_set(1, 0, 0, 0), atan(1));
            b.R = mat3_product(rotation_about(v4_set(0, 0, 1, 0), k == 0 ? 1 : 0), a.R);
            a.x = v4_zero();
            b.x = v4_set(k == 0 ? 0.01 : 0.1, 0, 0.2 * sqrt(2) + 1e-4, 0);
            if (mesh == 1)
                a.type = b.type = TG_GEOM_MESH;
            tg_query q = {.shape = {a, b}, .reach = 1e-3};
            tg_patch patch = patch_of(&q);
            assert_int_equal(patch.count, k == 0 ? 1 : 2);
            for (int i = 0; i < patch.count; i++)
            {
                assert_true(fabs(patch.point[i].distance - 1e-4) < 1e-14);
                assert_true(fabs(patch.point[i].normal[2] - 1) < 1e-10);
                assert_int_equal(patch.point[i].surface[0].flat + patch.point[i].surface[1].flat, k == 0 ? 2 : 1);
            }
            if (k == 1) /* the ends of what they share */
                assert_true(fabs(fabs(patch.point[0].point[0] - patch.point[1].point[0]) - 0.3) < 1e-12);
        }
}

/* Lying on a face: both ends of the segment, or where it leaves the face. Across an edge: one point; along it: two. */
static void capsules(void **state)
{
    (void)state;
    tg_placed box = place_box(0.2, 0.2, 0.2), capsule = place_capsule(0.05, 0.1);
    mat3 along_x = rotation_about(v4_set(0, 1, 0, 0), 2 * atan(1));
    box.x = v4_zero();
    for (int k = 0; k < 5; k++)
    {
        capsule.R = along_x;
        capsule.x = v4_set(k == 1 ? 0.15 : 0.02, 0.1, 0.2 + 0.05 - 1e-4, 0);
        if (k == 2) /* tilted: each end its own distance */
            capsule.R = mat3_product(rotation_about(v4_set(0, 1, 0, 0), 1e-3), along_x);
        if (k >= 3) /* beside an upper edge, along it or across */
        {
            double r = (0.05 - 1e-4) / sqrt(2);
            capsule.x = v4_set(0, 0.2 + r, 0.2 + r, 0);
            if (k == 4)
                capsule.R = mat3_product(rotation_about(v4_set(0, sqrt(0.5), sqrt(0.5), 0), 0.5), along_x);
        }
        tg_query q = {.shape = {capsule, box}, .reach = 1e-3};
        tg_patch patch = patch_of(&q);
        assert_int_equal(patch.count, k == 4 ? 1 : 2);
        if (k == 2)
            assert_true(fabs(fabs(patch.point[0].distance - patch.point[1].distance) - 0.2 * sin(1e-3)) < 1e-12);
        else
            for (int i = 0; i < patch.count; i++)
                assert_true(fabs(patch.point[i].distance + 1e-4) < 1e-12);
        if (k == 1)
        {
            int cut = patch.point[0].kind == TG_POINT_CLIPPED ? 0 : 1;
            assert_int_equal(patch.point[cut].kind, TG_POINT_CLIPPED);
            assert_true(fabs(patch.point[cut].point[0] - 0.2) < 1e-12);
            assert_true(fabs(patch.point[1 - cut].point[0] - 0.05) < 1e-12);
        }
    }
}

/* ---- the axis for where the shapes will be ---- */

/* A box that slides over the seam of two boxes of the same height. From the step on that takes it over the second box
 * every normal is vertical; before, the second box is beside it at the start and at the end of the step, and no point
 * can act. The same where it hovers 1 um above both: what does not close keeps the direction between nearest points. */
static void slides_over_seam(void **state)
{
    (void)state;
    const double speed[] = {0.002, 0.3, 1, 3.3}, step[] = {1e-3, 5e-3}, height[] = {0, 1e-9, -1e-9, 1e-6};
    int acting = 0;
    for (int run = 0; run < 4 * 2 * 4 * 3 * 3; run++)
    {
        double v = speed[run % 4], dt = step[run / 4 % 2], z = height[run / 8 % 4];
        int how = run / 32 % 3, lag = run / 96;
        tg_placed slider = place_box(0.1, 0.1, 0.1), ground = place_box(0.5, 0.5, 0.5);
        if (how > 0)
            slider.type = TG_GEOM_MESH;
        if (how == 2)
            ground.type = TG_GEOM_MESH;
        ground.x = v4_set(0.5, 0, -0.5, 0);
        double start =
            -0.1 - 3.4 * v * dt - lag * 0.31 * v * dt; /* the front is a few steps before the seam at x = 0 */
        for (int k = 0; k < 10; k++)
        {
            slider.x = v4_set(start + k * v * dt, 0.05, 0.1 + z, 0);
            for (int order = 0; order < 2; order++)
            {
                tg_query q = {.shape = {order == 0 ? slider : ground, order == 0 ? ground : slider},
                              .reach = v * dt + 1e-3,
                              .dt = dt,
                              .slack = TG_SLACK};
                q.velocity[order] = v4_set(v, 0, 0, 0);
                tg_patch patch = patch_of(&q);
                for (int i = 0; i < patch.count; i++)
                {
                    const tg_contact_point *c = &patch.point[i];
                    double closing = v4_dot(c->normal, q.velocity[0] - q.velocity[1]);
                    bool beside = slider.x[0] + v * dt + 0.1 <= 1e-12, hovers = z > 1e-7 && fabs(c->normal[0]) > 0;
                    if (beside || hovers)
                    {
                        assert_true(c->distance - closing * dt > -1e-12);
                        continue;
                    }
                    assert_true(fabs(fabs(c->normal[2]) - 1) < 1e-12);
                    assert_true(fabs(c->distance - z) < 1e-12);
                    assert_true(c->point[0] > -v * dt && fabs(c->point[1] - 0.05) < 0.1 + 1e-9);
                    acting++;
                }
                if (slider.x[0] + 0.1 > 0)
                    assert_true(patch.count > 0);
            }
        }
    }
    assert_true(acting > 1000);
}

/* A box that falls beside another is not stopped by a corner that it passes. */
static void falls_past(void **state)
{
    (void)state;
    for (int mesh = 0; mesh < 2; mesh++)
        for (double z = 0.02; z > -0.02; z -= 0.003)
        {
            tg_placed falling = place_box(0.1, 0.1, 0.1), post = place_box(0.1, 0.1, 0.1);
            if (mesh == 1)
                falling.type = TG_GEOM_MESH;
            post.x = v4_zero();
            falling.x = v4_set(0.2 + 1e-4, 0, 0.2 + z, 0);
            tg_query q = {.shape = {post, falling}, .reach = 5e-3, .dt = 1e-3, .slack = TG_SLACK};
            q.velocity[1] = v4_set(0, 0, -3, 0);
            tg_patch patch = patch_of(&q);
            for (int i = 0; i < patch.count; i++)
            {
                double closing = -v4_dot(patch.point[i].normal, q.velocity[1]);
                assert_true(patch.point[i].distance - closing * q.dt > 0);
            }
        }
}

/* A face of one box that is orthogonal to n and an edge of the other that lies in it, both to an angle (rad). */
static bool edge_on_face(const tg_query *q, v4 n, double angle)
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++)
        {
            v4 face = q->shape[i].R.c[k];
            if (1 - fabs(v4_dot(face, n)) > 0.5 * angle * angle)
                continue;
            for (int j = 0; j < 3; j++)
                if (fabs(v4_dot(q->shape[1 - i].R.c[j], face)) < angle)
                    return q->shape[0].type == TG_GEOM_BOX && q->shape[1].type == TG_GEOM_BOX;
        }
    return false;
}

/* Without dt, and at rest, the axis is that between the nearest points; but for boxes of which an edge nearly lies on a
 * face (nearly_flat). */
static void at_rest(void **state)
{
    (void)state;
    test_random r = {38};
    int lying = 0;
    for (int k = 0; k < POSES; k++)
    {
        tg_query q = random_query(&r, 1 + k % 4, 2 + k % 3, k), still = q;
        still.dt = 1e-3;
        still.slack = TG_SLACK;
        tg_patch a = patch_of(&q), b = patch_of(&still);
        if (edge_on_face(&q, a.point[0].normal, 0.011) && !edge_on_face(&q, a.point[0].normal, 1e-5))
        {
            lying++;
            continue;
        }
        assert_int_equal(a.count, b.count);
        assert_true(norm(a.point[0].normal - b.point[0].normal) < 1e-9);
        assert_true(fabs(least_distance(&a) - least_distance(&b)) < 1e-12);
    }
    assert_true(lying < POSES / 50);
}

/* A box that stands askew on another, on a face or on an edge (turned by `roll`), turned about the vertical, apart or
 * overlapping: of a pair that moves, the points are all that lie over the face, with its normal, at their heights above
 * it. */
static void nearly_flat(double roll, int least)
{
    for (double gap = -3e-3; gap < 4e-4; gap += 3e-4)
        for (double tilt = -5e-3; tilt < 6e-3; tilt += 1e-3)
        {
            tg_placed below = place_box(0.05, 0.05, 0.05), above = place_box(0.05, 0.05, 0.05);
            double turn[3] = {tilt, 0.6 * tilt, 0.5}, about[3] = {roll, 0, 0}, quat[4], rolled[4];
            tg_quat_exp(turn, quat);
            tg_quat_exp(about, rolled);
            below.x = v4_zero();
            above.R = mat3_product(mat3_from_quat(quat), mat3_from_quat(rolled));
            above.x = v4_set(0.01, -0.02, 0.05 + 0.05 * (cos(roll) + sin(roll)) + gap + 0.05 * fabs(tilt), 0);
            tg_query q = {.shape = {below, above}, .reach = 3e-3, .dt = 1e-3, .slack = TG_SLACK};
            tg_patch patch = patch_of(&q);
            assert_true(patch.count >= least);
            for (int i = 0; i < patch.count; i++)
            {
                const tg_contact_point *c = &patch.point[i];
                v4 low = c->point - c->normal * v4_splat(0.5 * c->distance);
                v4 high = c->point + c->normal * v4_splat(0.5 * c->distance);
                assert_true(c->normal[2] > 1 - 1e-4);
                assert_true(fabs(outside(&below, low)) < 1e-12 || fabs(outside(&above, high)) < 1e-12);
                assert_true(outside(&below, low) < 1e-9 && outside(&above, high) < 1e-9);
            }
        }
}

static void nearly_flat_faces(void **state)
{
    (void)state;
    nearly_flat(0, 4);
}

static void nearly_flat_edges(void **state)
{
    (void)state;
    for (double roll = 0.2; roll < 1.5; roll += 0.2)
        nearly_flat(roll, 2);
}

/* ---- hulls without a volume ---- */

static void flat_meshes(void **state)
{
    (void)state;
    const double square[] = {0.1, 0.1, 0, -0.1, 0.1, 0, -0.1, -0.1, 0, 0.1, -0.1, 0};
    const int expected[5] = {0, 1, 2, 3, 4};
    for (int n = 1; n <= 4; n++)
        for (int how = 0; how < 4; how++)
        {
            tg_polytope *t = make_polytope(square, n);
            tg_placed box = place_box(1, 1, 0.5), sheet = place_mesh(t);
            double gap = how % 2 == 0 ? 1e-4 : -1e-4;
            box.x = v4_set(0, 0, -0.5, 0);
            sheet.x = v4_set(0.3, 0.2, gap, 0);
            tg_query q = {.shape = {how < 2 ? box : sheet, how < 2 ? sheet : box}, .reach = 1e-3};
            tg_patch patch = patch_of(&q);
            assert_int_equal(patch.count, expected[n]);
            for (int i = 0; i < patch.count; i++)
            {
                assert_true(fabs(patch.point[i].distance - gap) < 1e-14);
                assert_true(fabs(patch.point[i].normal[2] - (how < 2 ? 1 : -1)) < 1e-14);
            }
            tg_polytope_destroy(NULL, t);
        }
}

/* More corners than a patch holds: eight of them, or fewer, and the deepest. */
static void many_corners(void **state)
{
    (void)state;
    test_random r = {39};
    double vertex[300 * 2 * 3];
    for (int i = 0; i < 600; i++)
    {
        double a = 2 * 3.14159265358979323846 * (i % 300) / 300;
        vertex[3 * i] = 0.1 * cos(a);
        vertex[3 * i + 1] = 0.1 * sin(a);
        vertex[3 * i + 2] = i < 300 ? -0.1 : 0.1;
    }
    tg_polytope *prism = make_polytope(vertex, 600);
    for (int k = 0; k < 100; k++)
    {
        tg_placed a = place_mesh(prism), b = place_mesh(prism);
        b.R = rotation_about(v4_set(0, 0, 1, 0), random_unit(&r));
        b.x = v4_set(0.05 * random_unit(&r), 0.05 * random_unit(&r), 0.2 + 1e-4, 0);
        tg_query q = {.shape = {a, b}, .reach = 1e-3};
        tg_patch patch = patch_of(&q);
        assert_in_range(patch.count, 4, 8);
        for (int i = 0; i < patch.count; i++)
        {
            v4 d = patch.point[i].point - b.x;
            assert_true(fabs(patch.point[i].distance - 1e-4) < 1e-12);
            assert_true(sqrt(d[0] * d[0] + d[1] * d[1]) < 0.1 + 1e-9);
        }
    }
    tg_polytope_destroy(NULL, prism);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair),        cmocka_unit_test(boxes_as_meshes),
        cmocka_unit_test(reach_selects),     cmocka_unit_test(box_on_box),
        cmocka_unit_test(aligned),           cmocka_unit_test(cube_on_box),
        cmocka_unit_test(continuous),        cmocka_unit_test(edges),
        cmocka_unit_test(capsules),          cmocka_unit_test(slides_over_seam),
        cmocka_unit_test(falls_past),        cmocka_unit_test(at_rest),
        cmocka_unit_test(nearly_flat_faces), cmocka_unit_test(nearly_flat_edges),
        cmocka_unit_test(flat_meshes),       cmocka_unit_test(many_corners),
    };
    return cmocka_run_group_tests(tests, make_hulls, free_hulls);
}
