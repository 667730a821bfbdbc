#include "collision/polytope_test.h"

#include "collision/gjk.h"

/* No vertex is farther than the one found, whatever the number of vertices and the scale. */
static void farthest_vertex(void **state)
{
    (void)state;
    test_random r = {7};
    const int count[] = {4, 8, 30, 60, 200, 3000};
    const double scale[][3] = {{1, 1, 1}, {0.5, 2, 1}, {-1, 1, 1}, {1e-9, 1e-9, 1e-9}, {1e6, 1e6, 1e6}};
    for (int i = 0; i < 6; i++)
    {
        tg_polytope *t = make_rock(&r, count[i], 0.1, 0.2, 0.3);
        for (int k = 0; k < 1000; k++)
        {
            tg_placed p = place_mesh(t);
            memcpy(p.size, scale[k % 5], sizeof scale[0]);
            p.R = random_rotation(&r);
            p.x = random_direction(&r);
            v4 d = random_direction(&r);
            if (k % 7 == 0) /* along a face's normal, where many vertices are equally far */
            {
                const double *n = t->normal + 4 * (k % t->npolygon);
                d = mat3_mul(p.R, v4_set(n[0] / p.size[0], n[1] / p.size[1], n[2] / p.size[2], 0));
                d = d * v4_splat(1 / sqrt(v4_dot(d, d)));
            }
            int vertex = -1;
            v4 s = tg_support(&p, d, &vertex);
            double most = -INFINITY, size = 0;
            for (int v = 0; v < t->nvertex; v++)
            {
                v4 x = vertex_of(&p, v) - p.x;
                most = fmax(most, v4_dot(x, d));
                size = fmax(size, sqrt(v4_dot(x, x) * v4_dot(d, d)));
            }
            v4 apart = s - vertex_of(&p, vertex);
            assert_true(v4_dot(s - p.x, d) >= most - 1e-14 * (size + 1));
            assert_true(v4_dot(apart, apart) <= 1e-28 * (size * size + 1));
        }
        tg_polytope_destroy(NULL, t);
    }
}

/* A guess, good or bad, does not change the vertex, not even where several are equally far. */
static void guesses(void **state)
{
    (void)state;
    test_random r = {9};
    tg_polytope *t = make_rock(&r, 400, 0.1, 0.2, 0.3);
    for (int k = 0; k < 300; k++)
    {
        tg_placed p = place_mesh(t);
        const double *n = t->normal + 4 * (k % t->npolygon);
        v4 d = k % 3 == 0 ? v4_set(n[0], n[1], n[2], 0) : random_direction(&r);
        int found = -1;
        tg_support_local(&p, d, &found);
        for (int guess = 0; guess < t->nvertex + 2; guess++)
        {
            int vertex = guess;
            tg_support_local(&p, d, &vertex);
            assert_int_equal(vertex, found);
        }
    }
    tg_polytope_destroy(NULL, t);
}

/* n.(x - s) <= 0 for points x of the shape */
static void curved_shapes(void **state)
{
    (void)state;
    test_random r = {8};
    for (int k = 0; k < 1000; k++)
    {
        tg_placed p = {.size = {0.1, 0.2, 0.3, 0}, .type = k % 2 == 0 ? TG_GEOM_ELLIPSOID : TG_GEOM_CYLINDER};
        p.R = random_rotation(&r);
        p.x = random_direction(&r);
        v4 d = random_direction(&r), s = tg_support(&p, d, NULL);
        for (int i = 0; i < 50; i++)
        {
            v4 u = random_direction(&r), x;
            if (p.type == TG_GEOM_ELLIPSOID)
                x = u * v4_load3(p.size);
            else
            {
                double radial = sqrt(u[0] * u[0] + u[1] * u[1]);
                x = v4_set(u[0] / radial * 0.1, u[1] / radial * 0.1, copysign(0.2, u[2]), 0);
            }
            assert_true(v4_dot(p.x + mat3_mul(p.R, x) - s, d) <= 1e-15);
        }
    }
}

static void box_and_capsule(void **state)
{
    (void)state;
    tg_placed box = place_box(1, 2, 3), capsule = place_capsule(0.1, 2);
    int vertex;
    v4 s = tg_support(&box, v4_set(1, -1, 1, 0), &vertex);
    assert_int_equal(vertex, 5);
    assert_true(s[0] == 1 && s[1] == -2 && s[2] == 3);
    s = tg_support(&capsule, v4_set(1, -1, -0.1, 0), &vertex);
    assert_int_equal(vertex, 0);
    assert_true(s[0] == 0 && s[1] == 0 && s[2] == -2);
}

/* a direction of no length, or no number, still gives a vertex */
static void no_direction(void **state)
{
    (void)state;
    test_random r = {9};
    tg_polytope *t = make_rock(&r, 200, 1, 1, 1);
    tg_placed p = place_mesh(t);
    int vertex = -1;
    tg_support(&p, v4_zero(), &vertex);
    assert_in_range(vertex, 0, t->nvertex - 1);
    tg_support(&p, v4_set(NAN, 0, 0, 0), &vertex);
    assert_in_range(vertex, 0, t->nvertex - 1);
    tg_support(&p, v4_set(INFINITY, 0, -INFINITY, 0), &vertex);
    assert_in_range(vertex, 0, t->nvertex - 1);
    tg_polytope_destroy(NULL, t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(farthest_vertex), cmocka_unit_test(guesses),      cmocka_unit_test(curved_shapes),
        cmocka_unit_test(box_and_capsule), cmocka_unit_test(no_direction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
