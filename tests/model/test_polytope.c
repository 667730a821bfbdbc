/* Hulls as polytopes: combinatorics, merged faces, flat hulls, refusals. */
#include "math/math_test.h"

#include <stdbool.h>

#include "base/simd.h"
#include "model/polytope.h"

static tg_polytope *make(const double *vertex, int n)
{
    tg_polytope *t = NULL;
    tg_error error = {0};
    if (tg_polytope_create(NULL, vertex, n, &t, &error) != TG_OK)
        fail_msg("%s", error.message);
    return t;
}

static v4 vertex_at(const tg_polytope *t, int i)
{
    return v4_load(t->vertex + 4 * (size_t)i);
}

static bool listed(const int *list, int from, int to, int x)
{
    for (int i = from; i < to; i++)
        if (list[i] == x)
            return true;
    return false;
}

/* Neighbours are mutual, polygons run around their normals and are known at their vertices, no vertex is above a
 * face by more than `height`, and V - E + F = 2. */
static void check(const tg_polytope *t, double height)
{
    int edges = t->neighbour_start[t->nvertex] / 2;
    for (int i = 0; i < t->nvertex; i++)
        for (int k = t->neighbour_start[i]; k < t->neighbour_start[i + 1]; k++)
        {
            int j = t->neighbour[k];
            assert_true(j != i && listed(t->neighbour, t->neighbour_start[j], t->neighbour_start[j + 1], i));
        }
    for (int p = 0; p < t->npolygon; p++)
    {
        int first = t->polygon_start[p], last = t->polygon_start[p + 1];
        v4 n = v4_load3(t->normal + 4 * (size_t)p), around = v4_zero();
        assert_true(last - first >= 3);
        assert_true(fabs(v4_dot(n, n) - 1) < 1e-14);
        for (int i = first; i < last; i++)
        {
            int a = t->polygon[i], b = t->polygon[i + 1 < last ? i + 1 : first];
            assert_true(listed(t->around, t->around_start[a], t->around_start[a + 1], p));
            assert_true(listed(t->neighbour, t->neighbour_start[a], t->neighbour_start[a + 1], b));
            around += v4_cross(vertex_at(t, a), vertex_at(t, b));
            assert_true(fabs(v4_dot(n, vertex_at(t, a)) - t->normal[4 * p + 3]) <= 2 * height + 1e-14);
        }
        assert_true(v4_dot(around, n) > 0.99 * sqrt(v4_dot(around, around)));
    }
    for (int p = 0; p < t->npolygon && t->nvertex < 500; p++)
        for (int i = 0; i < t->nvertex; i++)
            assert_true(v4_dot(v4_load3(t->normal + 4 * (size_t)p), vertex_at(t, i)) <=
                        t->normal[4 * p + 3] + height + 1e-14);
    if (t->npolygon > 0)
        assert_int_equal(t->nvertex - edges + t->npolygon, 2);
}

static void the_unit_cube(void **state)
{
    (void)state;
    check(&tg_unit_cube, 0);
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 3; k++)
            assert_true(tg_unit_cube.vertex[4 * i + k] == (i >> k & 1 ? 1 : -1));
    for (int p = 0; p < 6; p++)
        assert_true(tg_unit_cube.normal[4 * p + p / 2] == (p % 2 == 1 ? 1 : -1));
    for (int lane = 0; lane < 8; lane++)
        for (int k = 0; k < 3; k++)
            assert_true(tg_unit_cube.ring[8 * k + lane] == tg_unit_cube.vertex[4 * tg_unit_cube.ring_vertex[lane] + k]);
}

/* A grid of points fills a box: six faces, eight vertices, whatever the points on the faces and edges. */
static void grid_is_a_box(void **state)
{
    (void)state;
    double vertex[2 * 6 * 5 * 4 * 3];
    int n = 0;
    for (int twice = 0; twice < 2; twice++)
        for (int i = 0; i < 6 * 5 * 4; i++)
        {
            vertex[3 * n] = 0.1 * (i % 6);
            vertex[3 * n + 1] = 0.2 * (i / 6 % 5);
            vertex[3 * n++ + 2] = 0.3 * (i / 30);
        }
    tg_polytope *t = make(vertex, n);
    assert_int_equal(t->nvertex, 8);
    assert_int_equal(t->npolygon, 6);
    check(t, 0);
    tg_polytope_destroy(NULL, t);
}

/* The same, turned and rounded to single precision: noise of 1e-8 does not split the faces. */
static void rounded_box(void **state)
{
    (void)state;
    double vertex[7 * 7 * 7 * 3], c = cos(0.7), s = sin(0.7);
    for (int i = 0; i < 343; i++)
    {
        double x = 0.03 * (i % 7), y = 0.03 * (i / 7 % 7), z = 0.03 * (i / 49);
        vertex[3 * i] = (double)(float)(c * x - s * y);
        vertex[3 * i + 1] = (double)(float)(s * x + c * y);
        vertex[3 * i + 2] = (double)(float)z;
    }
    tg_polytope *t = make(vertex, 343);
    assert_int_equal(t->npolygon, 6);
    assert_true(t->nvertex >= 8);
    tg_polytope_destroy(NULL, t);
}

static void random_hulls(void **state)
{
    (void)state;
    test_random r = {1};
    for (int k = 0; k < 40; k++)
    {
        int n = 4 + 7 * k;
        double *vertex = malloc(3 * (size_t)n * sizeof *vertex);
        for (int i = 0; i < n; i++)
            random_vector(&r, 1, vertex + 3 * i);
        tg_polytope *t = make(vertex, n);
        check(t, 1e-7);
        assert_int_equal(t->nvertex, n);
        tg_polytope_destroy(NULL, t);
        free(vertex);
    }
}

/* A prism of 100 sides: two faces of 100 corners and 100 of four. */
static void prism(void **state)
{
    (void)state;
    double vertex[600];
    for (int i = 0; i < 200; i++)
    {
        double a = 2 * 3.14159265358979323846 * (i % 100) / 100;
        vertex[3 * i] = cos(a);
        vertex[3 * i + 1] = sin(a);
        vertex[3 * i + 2] = i / 100;
    }
    tg_polytope *t = make(vertex, 200);
    assert_int_equal(t->npolygon, 102);
    assert_int_equal(t->nvertex, 200);
    check(t, 0);
    tg_polytope_destroy(NULL, t);
}

static void flat_hulls(void **state)
{
    (void)state;
    /* a pentagon with a point on a side, one inside and one twice, in a tilted plane */
    const double plane[][2] = {{0, 0}, {2, 0}, {1, 0}, {3, 1}, {1, 2}, {-1, 1}, {1, 1}, {2, 0}};
    double vertex[24];
    for (int i = 0; i < 8; i++)
    {
        vertex[3 * i] = plane[i][0];
        vertex[3 * i + 1] = plane[i][1] * 0.6;
        vertex[3 * i + 2] = plane[i][1] * 0.8;
    }
    tg_polytope *t = make(vertex, 8);
    assert_int_equal(t->nvertex, 5);
    assert_int_equal(t->npolygon, 2);
    check(t, 0);
    for (int k = 0; k < 3; k++)
        assert_true(t->normal[k] == -t->normal[4 + k]);
    tg_polytope_destroy(NULL, t);

    const double line[] = {1, 1, 1, 3, 3, 3, 2, 2, 2, -1, -1, -1};
    t = make(line, 4);
    assert_int_equal(t->nvertex, 2);
    assert_int_equal(t->npolygon, 0);
    assert_true(t->neighbour[0] == 1 && t->neighbour[1] == 0);
    assert_true(fabs(t->vertex[0] - t->vertex[4]) == 4);
    tg_polytope_destroy(NULL, t);

    const double point[] = {1, 2, 3, 1, 2, 3, 1, 2, 3};
    t = make(point, 3);
    assert_int_equal(t->nvertex, 1);
    assert_int_equal(t->npolygon, 0);
    assert_true(t->vertex[2] == 3 && t->neighbour_start[1] == 0);
    tg_polytope_destroy(NULL, t);
}

/* thinner than 1e-9 of its extent is flat, thicker is not */
static void thin(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
    {
        double vertex[24], height = k == 0 ? 1e-10 : 1e-6;
        for (int i = 0; i < 24; i++)
            vertex[i] = (i / 3 >> i % 3 & 1 ? 1 : -1) * (i % 3 == 2 ? height : 1);
        tg_polytope *t = make(vertex, 8);
        assert_int_equal(t->npolygon, k == 0 ? 2 : 6);
        assert_int_equal(t->nvertex, k == 0 ? 4 : 8);
        tg_polytope_destroy(NULL, t);
    }
}

static void large(void **state)
{
    (void)state;
    test_random r = {2};
    enum
    {
        N = 100000
    };
    double *vertex = malloc(3 * (size_t)N * sizeof *vertex);
    for (int i = 0; i < N; i++)
        random_vector(&r, 1, vertex + 3 * (size_t)i);
    tg_polytope *t = make(vertex, N);
    assert_true(t->nvertex > N * 9 / 10 && t->nvertex <= N);
    free(vertex);
    tg_polytope_destroy(NULL, t);
}

static void refusals(void **state)
{
    (void)state;
    tg_polytope *t;
    tg_error error = {0};
    double vertex[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    assert_int_equal(tg_polytope_create(NULL, vertex, 0, &t, &error), TG_ERR_ARGUMENT);
    assert_null(t);
    vertex[7] = NAN;
    assert_int_equal(tg_polytope_create(NULL, vertex, 4, &t, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "point 2"));
    assert_null(t);
    vertex[7] = INFINITY;
    assert_int_equal(tg_polytope_create(NULL, vertex, 4, &t, NULL), TG_ERR_VALUE);
}

/* ---- memory: every allocation fails once; nothing is left behind ---- */

typedef struct counter
{
    int calls, fail_at, live;
} counter;

static void *counted_alloc(size_t size, size_t alignment, void *user)
{
    counter *c = user;
    if (c->calls++ == c->fail_at)
        return NULL;
    c->live++;
    return aligned_alloc(alignment, size);
}

static void counted_free(void *memory, void *user)
{
    counter *c = user;
    if (memory != NULL)
        c->live--;
    free(memory);
}

static void out_of_memory(void **state)
{
    (void)state;
    test_random r = {3};
    double vertex[90];
    for (int i = 0; i < 30; i++)
        random_vector(&r, 1, vertex + 3 * i);
    counter c = {.fail_at = -1};
    tg_allocator allocator = {.alloc = counted_alloc, .free = counted_free, .user = &c};
    for (int dimension = 2; dimension <= 3; dimension++)
    {
        for (int i = 0; dimension == 2 && i < 30; i++)
            vertex[3 * i + 2] = 0;
        c = (counter){.fail_at = -1};
        tg_polytope *t;
        assert_int_equal(tg_polytope_create(&allocator, vertex, 30, &t, NULL), TG_OK);
        assert_int_equal(c.live, 1);
        tg_polytope_destroy(&allocator, t);
        int calls = c.calls;
        for (int k = 0; k < calls; k++)
        {
            c = (counter){.fail_at = k};
            assert_int_equal(tg_polytope_create(&allocator, vertex, 30, &t, NULL), TG_ERR_MEMORY);
            assert_null(t);
            assert_int_equal(c.live, 0);
        }
        for (int i = 0; i < 30; i++)
            random_vector(&r, 1, vertex + 3 * i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_unit_cube), cmocka_unit_test(grid_is_a_box), cmocka_unit_test(rounded_box),
        cmocka_unit_test(random_hulls),  cmocka_unit_test(prism),         cmocka_unit_test(flat_hulls),
        cmocka_unit_test(thin),          cmocka_unit_test(large),         cmocka_unit_test(refusals),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
