/* Meshes that are their own hull are taken as they are; all others get the hull of their vertices. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/hull.h"
#include "model/polytope.h"

static tg_polytope *of_mesh(const double *vertex, int nvertex, const int *face, int nface)
{
    tg_polytope *t = NULL;
    tg_error error = {0};
    if (tg_polytope_of_mesh(NULL, vertex, nvertex, face, nface, &t, &error) != TG_OK)
        fail_msg("%s", error.message);
    return t;
}

/* The mesh gives what its vertices alone give. */
static void compare(const double *vertex, int nvertex, const int *face, int nface)
{
    tg_polytope *a = of_mesh(vertex, nvertex, face, nface), *b = of_mesh(vertex, nvertex, NULL, 0);
    assert_int_equal(a->nvertex, b->nvertex);
    assert_int_equal(a->npolygon, b->npolygon);
    assert_memory_equal(a->vertex, b->vertex, 4 * (size_t)a->nvertex * sizeof *a->vertex);
    int edges = a->neighbour_start[a->nvertex];
    assert_int_equal(edges, b->neighbour_start[b->nvertex]);
    assert_memory_equal(a->neighbour, b->neighbour, (size_t)edges * sizeof *a->neighbour);
    tg_polytope_destroy(NULL, a);
    tg_polytope_destroy(NULL, b);
}

enum
{
    POINTS = 60
};

static void sphere_points(double *vertex)
{
    for (int i = 0; i < POINTS; i++)
    {
        double z = 1 - (2 * i + 1.0) / POINTS, r = sqrt(1 - z * z), angle = 2.399963229728653 * i;
        vertex[3 * i] = 0.3 * r * cos(angle) + 2;
        vertex[3 * i + 1] = 0.2 * r * sin(angle);
        vertex[3 * i + 2] = 0.1 * z - 1;
    }
}

static void convex_in_any_sense(void **state)
{
    (void)state;
    double vertex[3 * POINTS];
    int *face, nface;
    sphere_points(vertex);
    assert_int_equal(tg_convex_hull(NULL, vertex, POINTS, &face, &nface, NULL), TG_OK);
    compare(vertex, POINTS, face, nface);
    for (int i = 0; i < nface; i += 3) /* a third of the triangles inside out */
    {
        int swap = face[3 * i];
        face[3 * i] = face[3 * i + 1];
        face[3 * i + 1] = swap;
    }
    compare(vertex, POINTS, face, nface);
    free(face);
}

/* A triangle too few, one twice, an edge flipped: none of these is the hull. */
static void not_closed_or_not_convex(void **state)
{
    (void)state;
    double vertex[3 * POINTS];
    int *face, nface;
    sphere_points(vertex);
    assert_int_equal(tg_convex_hull(NULL, vertex, POINTS, &face, &nface, NULL), TG_OK);
    compare(vertex, POINTS, face, nface - 1);
    compare(vertex, POINTS, face, nface - 2);
    int kept[3];
    memcpy(kept, face, sizeof kept);
    memcpy(face, face + 3, sizeof kept);
    compare(vertex, POINTS, face, nface);
    memcpy(face, kept, sizeof kept);
    face[2] = face[2] == POINTS - 1 ? 0 : POINTS - 1;
    compare(vertex, POINTS, face, nface);
    free(face);
}

/* A vertex that no triangle has belongs to the hull all the same. */
static void a_vertex_without_a_triangle(void **state)
{
    (void)state;
    static const double vertex[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
    static const int face[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
    tg_polytope *t = of_mesh(vertex, 5, face, 4);
    assert_int_equal(t->nvertex, 5);
    tg_polytope_destroy(NULL, t);
    compare(vertex, 5, face, 4);
}

/* Two pyramids over a five-pointed star that goes round twice: closed, with Euler's number 2 and convex edges. */
static void a_surface_that_goes_round_twice(void **state)
{
    (void)state;
    double vertex[3 * 7] = {0, 0, 1, 0, 0, -1};
    int face[3 * 10];
    for (int i = 0; i < 5; i++)
    {
        double angle = 2 * 3.14159265358979323846 * i / 5;
        vertex[6 + 3 * i] = cos(angle);
        vertex[7 + 3 * i] = sin(angle);
        int next = (i + 2) % 5;
        const int two[6] = {0, 2 + i, 2 + next, 1, 2 + next, 2 + i};
        memcpy(face + 6 * i, two, sizeof two);
    }
    compare(vertex, 7, face, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convex_in_any_sense),
        cmocka_unit_test(not_closed_or_not_convex),
        cmocka_unit_test(a_vertex_without_a_triangle),
        cmocka_unit_test(a_surface_that_goes_round_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
