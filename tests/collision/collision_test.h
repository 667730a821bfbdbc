/* What the tests of the collision stage share: random shapes at random poses. */
#ifndef TG_TESTS_COLLISION_TEST_H
#define TG_TESTS_COLLISION_TEST_H

#include "math/math_test.h"

#include "collision/curved.h"
#include "collision/narrow.h"
#include "collision/narrow_deriv.h"

static const char *const type_name[TG_GEOM_TYPE_COUNT] = {"plane",     "hfield",   "sphere", "capsule",
                                                          "ellipsoid", "cylinder", "box",    "mesh"};

/* How many sizes a type has. */
static inline int size_count(tg_geom_type type)
{
    static const int count[TG_GEOM_TYPE_COUNT] = {0, 0, 1, 2, 3, 2, 3, 3};
    return count[type];
}

static inline mat3 random_rotation(test_random *r)
{
    double q[4];
    do
        random_fill(r, q, 4);
    while (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] < 0.1);
    return mat3_from_quat(q);
}

/* sizes 0.1 .. 0.4 m, centre within a metre of the origin; mesh: the polytope of every mesh */
static inline tg_placed random_shape(test_random *r, tg_geom_type type, const tg_polytope *mesh)
{
    tg_placed p = {.type = type, .R = random_rotation(r)};
    double x[3];
    random_fill(r, x, 3);
    p.x = v4_load3(x);
    for (int i = 0; i < size_count(type); i++)
        p.size[i] = 0.1 + 0.3 * fabs(random_unit(r));
    if (type == TG_GEOM_BOX)
        p.polytope = &tg_unit_cube;
    if (type == TG_GEOM_MESH)
        p.polytope = mesh;
    return p;
}

static inline const tg_contact_point *deepest_of(const tg_patch *patch)
{
    const tg_contact_point *best = NULL;
    for (int i = 0; i < patch->count; i++)
        if (best == NULL || patch->point[i].distance < best->distance)
            best = &patch->point[i];
    return best;
}

/* Moves the second shape along the normal until the distance is d. */
static inline void move_to_distance(tg_query *q, double d)
{
    tg_patch patch;
    tg_query far = *q;
    far.reach = INFINITY;
    tg_narrow(&far, &patch);
    const tg_contact_point *c = deepest_of(&patch);
    q->shape[1].x -= c->normal * v4_splat(c->distance - d);
}

/* 24 points on a sphere of radius 1, Fibonacci's spiral: a mesh for tests, made by the library's own builder */
static inline tg_polytope *test_mesh(void)
{
    double vertex[24][3];
    for (int i = 0; i < 24; i++)
    {
        double z = 1 - (2 * i + 1) / 24.0, rho = sqrt(1 - z * z), a = 2.399963229728653 * i;
        vertex[i][0] = rho * cos(a);
        vertex[i][1] = rho * sin(a);
        vertex[i][2] = z;
    }
    tg_polytope *mesh = NULL;
    assert_int_equal(tg_polytope_create(NULL, &vertex[0][0], 24, &mesh, NULL), TG_OK);
    return mesh;
}

#endif
