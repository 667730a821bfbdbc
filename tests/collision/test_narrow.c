/* Every pair of the table, at random poses: touching, deep, apart, aligned with each other.
 *
 * What must hold of the nearest (deepest) point, checked without the code that found it: points      p1 and p2 = p1
 * + distance n lie in their shapes (implicit functions) support     distance = n.(s_2(-n) - s_1(n)): with the line
 * above a proof that it is the distance, if positive depth       no other direction separates an overlapping pair by
 * less (random directions, and around n) touch       moved by -distance n the pair touches swap        exchanged
 * shapes give the mirrored answer search      GJK and EPA alone agree (for curved shapes, of which EPA sees a
 * polytope of bounded size, where they are not deep in each other) The worst of each is printed as a matrix and
 * bounded. */
#include "collision_test.h"

enum
{
    POSES = 1000,
    DIRECTIONS = 100
};

typedef struct worst
{
    double point, support, depth, touch, swap, search;
} worst;

/* > 0 outside; a length */
static double outside(const tg_placed *p, v4 x)
{
    v4 l = mat3_mul_t(p->R, x - p->x);
    double most = -INFINITY;
    switch (p->type)
    {
    case TG_GEOM_PLANE:
        return l[2];
    case TG_GEOM_CAPSULE:
        l[2] -= tg_clamp(l[2], p->size[1]);
        return sqrt(v4_dot(l, l)) - p->size[0];
    case TG_GEOM_CYLINDER:
        return fmax(sqrt(l[0] * l[0] + l[1] * l[1]) - p->size[0], fabs(l[2]) - p->size[1]);
    case TG_GEOM_ELLIPSOID:
        l = l / v4_set(p->size[0], p->size[1], p->size[2], 1);
        return (sqrt(v4_dot(l, l)) - 1) * fmin(fmin(p->size[0], p->size[1]), p->size[2]);
    case TG_GEOM_SPHERE:
        return sqrt(v4_dot(l, l)) - p->size[0];
    default:
        for (int i = 0; i < p->polytope->npolygon; i++)
        {
            v4 n = v4_load(p->polytope->normal + 4 * i);
            double offset = n[3];
            n = v4_set(n[0] / p->size[0], n[1] / p->size[1], n[2] / p->size[2], 0);
            most = fmax(most, (v4_dot(n, l) - offset) / sqrt(v4_dot(n, n)));
        }
        return most;
    }
}

/* along n, planes included */
static double separation(const tg_query *q, v4 n)
{
    const tg_placed *a = &q->shape[0], *b = &q->shape[1];
    if (a->type != TG_GEOM_PLANE)
        return tg_separation(a, b, n);
    return v4_dot(n, tg_support(b, -n, NULL) - a->x) - tg_rounding(b);
}

static bool is_curved(tg_geom_type type)
{
    return type == TG_GEOM_ELLIPSOID || type == TG_GEOM_CYLINDER;
}

static bool aligned(int k)
{
    return k % 3 == 2;
}

static tg_query make_query(test_random *r, tg_geom_type a, tg_geom_type b, int k, const tg_polytope *mesh)
{
    tg_query q = {.reach = INFINITY};
    q.shape[0] = random_shape(r, a, mesh);
    q.shape[1] = random_shape(r, b, mesh);
    mat3 R = q.shape[0].R;
    if (aligned(k))
        q.shape[1].R = k % 2 == 0 ? R : (mat3){{R.c[1], R.c[2], R.c[0]}};
    switch (k % 4)
    {
    case 0:
        move_to_distance(&q, 0.02 * random_unit(r));
        break;
    case 1:
        move_to_distance(&q, 1e-6 * random_unit(r));
        break;
    case 2: /* as it is: mostly apart */
        break;
    default: /* deep */
        q.shape[1].x = q.shape[0].x + (q.shape[1].x - q.shape[0].x) * v4_splat(0.1);
        break;
    }
    return q;
}

static double distance_of(const tg_query *q, v4 *n)
{
    tg_patch patch;
    assert_true(tg_narrow(q, &patch));
    assert_in_range(patch.count, 1, TG_PATCH_MAX);
    const tg_contact_point *c = deepest_of(&patch);
    for (int i = 0; i < patch.count; i++)
    {
        const tg_contact_point *p = &patch.point[i];
        assert_near(v4_dot(p->normal, p->normal), 1, 1e-12);
        assert_true(p->margin >= 0 || p->margin == TG_NO_DERIVATIVE);
        for (int j = 0; j < i; j++)
            assert_int_not_equal(p->feature, patch.point[j].feature);
    }
    *n = c->normal;
    return c->distance;
}

static double deepest_direction(test_random *r, const tg_query *q, v4 n)
{
    double most = -INFINITY;
    for (int i = 0; i < DIRECTIONS; i++)
    {
        double w[3];
        random_vector(r, 1, w);
        v4 m = v4_load3(w);
        if (i % 2 == 0)
            m = tg_unit(n + m * v4_splat(0.05));
        most = fmax(most, separation(q, m));
    }
    return most;
}

static void check_pose(test_random *r, const tg_query *q, bool search, worst *w)
{
    tg_patch patch;
    tg_narrow(q, &patch);
    const tg_contact_point *c = deepest_of(&patch);
    v4 n, m, half = c->normal * v4_splat(0.5 * c->distance);
    double distance = distance_of(q, &n);
    w->point = fmax(w->point, outside(&q->shape[0], c->point - half));
    w->point = fmax(w->point, outside(&q->shape[1], c->point + half));
    w->support = fmax(w->support, fabs(separation(q, n) - distance));
    if (q->shape[0].type != TG_GEOM_PLANE)
    {
        w->depth = fmax(w->depth, deepest_direction(r, q, n) - distance);
        tg_gjk_result g = tg_gjk(&q->shape[0], &q->shape[1], INFINITY, NULL);
        double rounding = tg_rounding(&q->shape[0]) + tg_rounding(&q->shape[1]);
        if (search)
            w->search = fmax(w->search, fabs(g.distance - rounding - distance));
    }
    tg_query moved = *q, other = *q;
    moved.shape[1].x -= n * v4_splat(distance);
    w->touch = fmax(w->touch, fabs(distance_of(&moved, &m)));
    other.shape[0] = q->shape[1];
    other.shape[1] = q->shape[0];
    w->swap = fmax(w->swap, fabs(distance_of(&other, &m) - distance));
}

static bool check_pair(tg_geom_type a, tg_geom_type b, const tg_polytope *mesh)
{
    test_random r = {0xb5297a4d3f84d5b5u + 31 * (uint64_t)a + (uint64_t)b};
    worst w = {0};
    for (int k = 0; k < POSES; k++)
    {
        tg_query q = make_query(&r, a, b, k, mesh);
        check_pose(&r, &q, k % 4 != 3 || (!is_curved(a) && !is_curved(b)), &w);
    }
    print_message("%9s-%-9s %9.1e %9.1e %9.1e %9.1e %9.1e %9.1e\n", type_name[a], type_name[b], w.point, w.support,
                  w.depth, w.touch, w.swap, w.search);
    double search = is_curved(a) || is_curved(b) ? 1e-6 : 1e-9;
    return w.point < 1e-9 && w.support < 1e-9 && w.depth < 1e-9 && w.touch < 1e-9 && w.swap < 1e-9 && w.search < search;
}

static void test_every_pair(void **state)
{
    tg_polytope *mesh = test_mesh();
    bool good = true;
    (void)state;
    print_message("%19s %9s %9s %9s %9s %9s %9s\n", "worst error (m)", "points", "support", "depth", "touch", "swap",
                  "search");
    for (tg_geom_type a = TG_GEOM_PLANE; a <= TG_GEOM_MESH; a++)
        for (tg_geom_type b = a; b <= TG_GEOM_MESH; b++)
            if (a != TG_GEOM_HFIELD && b > TG_GEOM_HFIELD)
                good &= check_pair(a, b, mesh);
    tg_polytope_destroy(NULL, mesh);
    assert_true(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
