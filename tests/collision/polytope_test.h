/* What the tests of polytopes share: shapes, poses, and a second opinion on distances that looks at every pair of
 * features. */
#ifndef TG_TESTS_POLYTOPE_TEST_H
#define TG_TESTS_POLYTOPE_TEST_H

#include "math/math_test.h"

#include "collision/narrow.h"

static inline v4 random_direction(test_random *r)
{
    double w[3];
    random_vector(r, 1, w);
    return v4_load3(w);
}

static inline mat3 random_rotation(test_random *r)
{
    double q[4], norm;
    do
    {
        random_fill(r, q, 4);
        norm = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    } while (norm < 0.1 || norm > 1);
    return mat3_from_quat(q);
}

static inline mat3 rotation_about(v4 axis, double angle)
{
    double s = sin(angle / 2), q[4] = {cos(angle / 2), s * axis[0], s * axis[1], s * axis[2]};
    return mat3_from_quat(q);
}

static inline tg_placed place_sphere(double radius)
{
    return (tg_placed){.R = mat3_identity(), .size = {radius, 0, 0, 0}, .type = TG_GEOM_SPHERE};
}

static inline tg_placed place_capsule(double radius, double half)
{
    return (tg_placed){.R = mat3_identity(), .size = {radius, half, 0, 0}, .type = TG_GEOM_CAPSULE};
}

static inline tg_placed place_box(double x, double y, double z)
{
    return (tg_placed){.R = mat3_identity(), .size = {x, y, z, 0}, .type = TG_GEOM_BOX, .polytope = &tg_unit_cube};
}

static inline tg_placed place_mesh(const tg_polytope *t)
{
    return (tg_placed){.R = mat3_identity(), .size = {1, 1, 1, 0}, .type = TG_GEOM_MESH, .polytope = t};
}

static inline tg_polytope *make_polytope(const double *vertex, int n)
{
    tg_polytope *t = NULL;
    tg_error error = {0};
    if (tg_polytope_create(NULL, vertex, n, &t, &error) != TG_OK)
        fail_msg("%s", error.message);
    return t;
}

/* the hull of n points near an ellipsoid with half axes x, y, z */
static inline tg_polytope *make_rock(test_random *r, int n, double x, double y, double z)
{
    double *vertex = malloc(3 * (size_t)n * sizeof *vertex);
    for (int i = 0; i < n; i++)
    {
        v4 d = random_direction(r) * v4_set(x, y, z, 0);
        v4_store3(vertex + 3 * i, d);
    }
    tg_polytope *t = make_polytope(vertex, n);
    free(vertex);
    return t;
}

/* ---- the second opinion ---- */

static inline v4 vertex_of(const tg_placed *p, int i)
{
    if (p->type == TG_GEOM_SPHERE)
        return p->x;
    if (p->type == TG_GEOM_CAPSULE)
        return p->x + p->R.c[2] * v4_splat(i == 0 ? -p->size[1] : p->size[1]);
    const double *v = p->polytope->vertex + 4 * i;
    return p->x + mat3_mul(p->R, v4_set(v[0] * p->size[0], v[1] * p->size[1], v[2] * p->size[2], 0));
}

static inline int vertices_of(const tg_placed *p)
{
    return p->type == TG_GEOM_SPHERE ? 1 : p->type == TG_GEOM_CAPSULE ? 2 : p->polytope->nvertex;
}

static inline double separation_brute(const tg_placed *a, const tg_placed *b, v4 n)
{
    double high = -INFINITY, low = INFINITY;
    for (int i = 0; i < vertices_of(a); i++)
        high = fmax(high, v4_dot(n, vertex_of(a, i)));
    for (int i = 0; i < vertices_of(b); i++)
        low = fmin(low, v4_dot(n, vertex_of(b, i)));
    return low - high;
}

typedef struct brute
{
    double separation; /* of the cores */
    v4 normal;
} brute;

static inline void brute_try(const tg_placed *a, const tg_placed *b, v4 n, brute *best)
{
    double norm = sqrt(v4_dot(n, n));
    if (norm < 1e-9)
        return;
    n = n * v4_splat(1 / norm);
    for (int sign = 0; sign < 2; sign++, n = -n)
    {
        double s = separation_brute(a, b, n);
        if (s > best->separation)
            *best = (brute){s, n};
    }
}

enum
{
    BRUTE_EDGES = 4096
};

/* edges as pairs of vertices, i < j */
static inline int edges_of(const tg_placed *p, int (*edge)[2])
{
    if (p->type == TG_GEOM_SPHERE)
        return 0;
    if (p->type == TG_GEOM_CAPSULE)
    {
        edge[0][0] = 0;
        edge[0][1] = 1;
        return 1;
    }
    const tg_polytope *t = p->polytope;
    int n = 0;
    for (int i = 0; i < t->nvertex; i++)
        for (int k = t->neighbour_start[i]; k < t->neighbour_start[i + 1]; k++)
            if (t->neighbour[k] > i && n < BRUTE_EDGES)
            {
                edge[n][0] = i;
                edge[n++][1] = t->neighbour[k];
            }
    return n;
}

static inline void brute_faces(const tg_placed *p, const tg_placed *a, const tg_placed *b, brute *best)
{
    if (p->polytope == NULL)
        return;
    const tg_polytope *t = p->polytope;
    for (int i = 0; i < t->npolygon; i++)
    {
        const int *v = t->polygon + t->polygon_start[i];
        v4 o = vertex_of(p, v[0]);
        v4 n = v4_cross(vertex_of(p, v[1]) - o, vertex_of(p, v[2]) - o);
        brute_try(a, b, n, best);
    }
}

/* nearest points of a point and a segment, of two segments (interiors: the common perpendicular is tried anyway) */
static inline void brute_point_edge(const tg_placed *a, const tg_placed *b, v4 x, v4 p, v4 q, brute *best)
{
    v4 e = q - p;
    double t = v4_dot(x - p, e) / v4_dot(e, e);
    if (t > 0 && t < 1)
        brute_try(a, b, x - p - e * v4_splat(t), best);
}

/* Over all directions that features can define: normals of faces, products of edges, and between vertices and
 * vertices or edges. The largest separation is the distance of shapes that are apart, and minus the smallest
 * translation of others. */
static inline brute brute_axis(const tg_placed *a, const tg_placed *b)
{
    static int edge_a[BRUTE_EDGES][2], edge_b[BRUTE_EDGES][2];
    int na = edges_of(a, edge_a), nb = edges_of(b, edge_b);
    brute best = {.separation = -INFINITY, .normal = v4_zero()};
    brute_faces(a, a, b, &best);
    brute_faces(b, a, b, &best);
    for (int i = 0; i < na; i++)
        for (int j = 0; j < nb; j++)
        {
            v4 e = vertex_of(a, edge_a[i][1]) - vertex_of(a, edge_a[i][0]);
            v4 f = vertex_of(b, edge_b[j][1]) - vertex_of(b, edge_b[j][0]);
            v4 n = v4_cross(e, f);
            if (v4_dot(n, n) > 1e-16 * v4_dot(e, e) * v4_dot(f, f))
                brute_try(a, b, n, &best);
        }
    for (int i = 0; i < vertices_of(a); i++)
        for (int j = 0; j < vertices_of(b); j++)
            brute_try(a, b, vertex_of(b, j) - vertex_of(a, i), &best);
    for (int i = 0; i < vertices_of(a); i++)
        for (int j = 0; j < nb; j++)
            brute_point_edge(a, b, vertex_of(a, i), vertex_of(b, edge_b[j][0]), vertex_of(b, edge_b[j][1]), &best);
    for (int i = 0; i < vertices_of(b); i++)
        for (int j = 0; j < na; j++)
            brute_point_edge(a, b, vertex_of(b, i), vertex_of(a, edge_a[j][0]), vertex_of(a, edge_a[j][1]), &best);
    return best;
}

/* Sets the second shape at a random attitude so that the cores are `separation` apart along a random direction, at
 * most. */
static inline void random_pose(test_random *r, tg_placed *a, tg_placed *b, double separation)
{
    a->R = random_rotation(r);
    b->R = random_rotation(r);
    a->x = random_direction(r) * v4_splat(0.3);
    b->x = a->x;
    v4 d = random_direction(r);
    b->x += d * v4_splat(separation - separation_brute(a, b, d));
}

#endif
