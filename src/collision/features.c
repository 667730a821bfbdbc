/* The axis between two cores that given features hold: two vertices, a vertex and an edge, two edges, or a vertex and a
 * polygon.
 *
 * A pair that was near is near again a step later, mostly between the same features. These are the nearest ones where
 * the feet of the axis lie inside them and every edge that leaves them leads away from the other shape: on a convex
 * shape what no neighbour is beyond, nothing is beyond. If that holds by much more than what a search leaves, the
 * search would end at the same features, or at vertices of the same polygon. So the axis, which is computed from the
 * features alone, does not depend on what was known before. */
#include <math.h>
#include <string.h>

#include "collision/polytope.h"
#include "collision/surface.h"

#define AWAY TG_PARALLEL /* sine; what is less away is as near as the features, a search may take it for one */
#define INSIDE 1e-6      /* of the extent: a search ends within 1e-7 of it */
#define TILT 1e-3   /* rad: triangles of one polygon differ by a tenth, which moves the foot by that of the distance */
#define CROSSED 0.1 /* sine between two edges: where they cross is then known to ten times rounding */

/* Vertices of the features of both shapes, from the origin of the first; not those of polygons. */
typedef struct corners
{
    v4 at[2][2];
    double least; /* m: what counts as inside */
} corners;

static corners corners_of(const tg_placed *const shape[2], const tg_features *f)
{
    corners c;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < f->count[i] && f->count[i] < 3; k++)
        {
            v4 x = mat3_mul(shape[i]->R, tg_core_local(shape[i], f->vertex[i][k]));
            c.at[i][k] = i == 0 ? x : x + (shape[1]->x - shape[0]->x);
        }
    int vertex = f->count[0] == 3; /* the shape that has one, at least */
    v4 x = c.at[vertex][0];
    c.least = INSIDE * (v4_length(x) + v4_length(x - (shape[1]->x - shape[0]->x)));
    return c;
}

/* Each of these: where the axis meets the features, and a vector along it; false where that is not inside. */

static bool between_vertex_and_edge(const corners *c, int vertex, v4 point[2], v4 *along)
{
    int edge = 1 - vertex;
    v4 a = c->at[edge][0], e = c->at[edge][1] - a, d = c->at[vertex][0] - a;
    double ee = v4_dot(e, e), t = v4_dot(d, e) / ee, length = sqrt(ee);
    point[vertex] = c->at[vertex][0];
    point[edge] = a + e * v4_splat(t);
    d = point[1] - point[0];
    *along = d - e * v4_splat(v4_dot(d, e) / ee);
    return t * length > c->least && (1 - t) * length > c->least;
}

static bool between_edges(const corners *c, v4 point[2], v4 *along)
{
    v4 e = c->at[0][1] - c->at[0][0], f = c->at[1][1] - c->at[1][0], d = c->at[1][0] - c->at[0][0], n = v4_cross(e, f);
    double ee = v4_dot(e, e), ff = v4_dot(f, f), nn = v4_dot(n, n);
    if (!(nn > CROSSED * CROSSED * ee * ff))
        return false;
    double s = v4_dot(v4_cross(d, f), n) / nn, t = v4_dot(v4_cross(d, e), n) / nn;
    point[0] = c->at[0][0] + e * v4_splat(s);
    point[1] = c->at[1][0] + f * v4_splat(t);
    *along = v4_dot(n, d) < 0 ? -n : n;
    double inside_e = tg_least(s, 1 - s) * sqrt(ee), inside_f = tg_least(t, 1 - t) * sqrt(ff);
    return inside_e > c->least && inside_f > c->least;
}

/* The polygon is one of the shape 1 - vertex: in its own frame, its corners counter-clockwise. */
static bool between_vertex_and_polygon(const tg_placed *const shape[2], const corners *c, int vertex, int polygon,
                                       v4 point[2], v4 *along)
{
    const tg_placed *p = shape[1 - vertex];
    const tg_polytope *t = p->polytope;
    const int *corner = t->polygon + t->polygon_start[polygon];
    int count = t->polygon_start[polygon + 1] - t->polygon_start[polygon];
    v4 n = tg_scaled_normal(p, polygon), origin = vertex == 0 ? shape[1]->x - shape[0]->x : v4_zero();
    v4 at = mat3_mul_t(p->R, c->at[vertex][0] - origin), last = tg_core_local(p, corner[count - 1]);
    double top = v4_dot(n, last), least = c->least + TILT * tg_most(v4_dot(n, at) - top, 0);
    v4 inward = p->size[0] * p->size[1] * p->size[2] < 0 ? -n : n; /* a mirrored polygon runs the other way */
    for (int k = 0; k < count; k++)
    {
        v4 x = tg_core_local(p, corner[k]), e = x - last;
        double in = v4_dot(v4_cross(inward, e), at - last);
        if (!(in > 0 && in * in > least * least * v4_dot(e, e)))
            return false;
        top = tg_most(top, v4_dot(n, x));
        last = x;
    }
    v4 outward = mat3_mul(p->R, n);
    point[vertex] = c->at[vertex][0];
    point[1 - vertex] = point[vertex] - outward * v4_splat(v4_dot(n, at) - top);
    *along = vertex == 1 ? outward : -outward;
    return true;
}

/* Every edge from the vertex or edge of a shape leads away from the other, which is on the side of `outward` (unit, its
 * own frame). All of a shape is behind its polygons. */
static bool leads_away(const tg_placed *p, const int *vertex, int count, v4 outward)
{
    static const int both[] = {1, 0}; /* the ends of a capsule */
    if (p->type == TG_GEOM_SPHERE || count == 3)
        return true;
    const tg_polytope *t = p->polytope;
    for (int k = 0; k < count; k++)
    {
        int v = vertex[k], n = t != NULL ? t->neighbour_start[v + 1] - t->neighbour_start[v] : 1;
        const int *neighbour = t != NULL ? t->neighbour + t->neighbour_start[v] : &both[v];
        v4 x = tg_core_local(p, v);
        for (int j = 0; j < n; j++)
        {
            if (count == 2 && neighbour[j] == vertex[1 - k])
                continue;
            v4 e = tg_core_local(p, neighbour[j]) - x;
            double along = v4_dot(outward, e);
            if (!(along < 0 && along * along > AWAY * AWAY * v4_dot(e, e)))
                return false;
        }
    }
    return true;
}

static bool find_feet(const tg_placed *const shape[2], const tg_features *f, const corners *c, v4 point[2], v4 *along)
{
    switch (10 * f->count[0] + f->count[1])
    {
    case 11:
        point[0] = c->at[0][0];
        point[1] = c->at[1][0];
        *along = point[1] - point[0];
        return true;
    case 12:
    case 21:
        return between_vertex_and_edge(c, f->count[0] == 2, point, along);
    case 22:
        return between_edges(c, point, along);
    case 13:
        return between_vertex_and_polygon(shape, c, 0, f->vertex[1][0], point, along);
    case 31:
        return between_vertex_and_polygon(shape, c, 1, f->vertex[0][0], point, along);
    default:
        return false;
    }
}

static void name_vertices(const tg_placed *p, const tg_features *f, int i, tg_axis *axis)
{
    axis->count[i] = f->count[i];
    for (int k = 0; k < f->count[i]; k++)
        axis->vertex[i][k] =
            f->count[i] == 3 ? p->polytope->polygon[p->polytope->polygon_start[f->vertex[i][0]] + k] : f->vertex[i][k];
}

bool tg_features_axis(const tg_placed *a, const tg_placed *b, const tg_features *f, tg_axis *axis)
{
    const tg_placed *shape[2] = {a, b};
    v4 point[2], along;
    if (f->count[0] == 0 || f->count[0] + f->count[1] > 4)
        return false;
    corners c = corners_of(shape, f);
    if (!find_feet(shape, f, &c, point, &along))
        return false;
    v4 n = along * v4_splat(1 / v4_length(along));
    double separation = v4_dot(n, point[1] - point[0]);
    if (!(separation > c.least) || !leads_away(a, f->vertex[0], f->count[0], mat3_mul_t(a->R, n)) ||
        !leads_away(b, f->vertex[1], f->count[1], mat3_mul_t(b->R, -n)))
        return false;
    *axis = (tg_axis){.normal = n,
                      .separation = separation,
                      .margin = INFINITY,
                      .nearest = true,
                      .point = {a->x + point[0], a->x + point[1]}};
    name_vertices(a, f, 0, axis);
    name_vertices(b, f, 1, axis);
    return true;
}

/* A vertex and an edge, or three vertices, between which a search ended: the polygon of these that faces the vertex. */
static bool find_polygon(const tg_placed *const shape[2], const tg_axis *found, int vertex, tg_features *f,
                         tg_axis *axis)
{
    int face = 1 - vertex;
    double cosine, second;
    v4 outward = mat3_mul_t(shape[face]->R, face == 0 ? found->normal : -found->normal);
    if (!tg_has_polygons(shape[face]))
        return false;
    f->count[vertex] = 1;
    f->vertex[vertex][0] = found->vertex[vertex][0];
    f->count[face] = 3;
    for (int k = 0, last = -1; k < found->count[face]; k++, last = f->vertex[face][0])
    {
        f->vertex[face][0] = tg_facing_polygon(shape[face], found->vertex[face][k], outward, &cosine, &second);
        if (f->vertex[face][0] != last && tg_features_axis(shape[0], shape[1], f, axis))
            return true;
    }
    return false;
}

bool tg_find_features(const tg_placed *a, const tg_placed *b, tg_features *f, tg_axis *axis)
{
    const tg_placed *shape[2] = {a, b};
    const tg_axis found = *axis;
    for (int i = 0; i < 2; i++)
        if (found.count[i] == 1 && found.count[1 - i] > 1 && find_polygon(shape, &found, i, f, axis))
            return true;
    for (int i = 0; i < 2; i++)
        f->count[i] = found.count[i];
    memcpy(f->vertex, found.vertex, sizeof f->vertex);
    return found.count[0] < 3 && found.count[1] < 3 && tg_features_axis(a, b, f, axis);
}
