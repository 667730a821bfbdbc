/* Boxes, meshes, spheres and capsules against boxes and meshes: from an axis to a patch. */
#include "collision/polytope.h"

#include <math.h>

#include "collision/ahead.h"
#include "collision/surface.h"
#include "tangere/algebra.h"

#define AGREE 1e-6            /* of the extent: what merging triangles into polygons may change */
#define NEAR_LIMIT (1 - 1e-9) /* of a distance: what is nearer to it is a matter of rounding */

/* ---- one point ---- */

static tg_surface core_surface(const tg_placed *p, const tg_axis *axis, int i)
{
    double r = tg_rounding(p);
    v4 n = axis->normal;
    if (axis->count[i] == 3)
        return tg_surface_face();
    if (axis->count[i] == 2)
    {
        v4 e = mat3_mul(p->R, tg_core_local(p, axis->vertex[i][1]) - tg_core_local(p, axis->vertex[i][0]));
        v4 across = e - n * v4_splat(v4_dot(n, e));
        return tg_surface_edge(v4_unit(across), r);
    }
    return r > 0 ? tg_surface_round(r) : tg_surface_vertex();
}

/* Adds the point between two points of the cores, at a given distance of these. */
static tg_contact_point *add_between(const tg_query *q, v4 n, v4 a, v4 b, double separation, tg_patch *patch)
{
    double r0 = tg_rounding(&q->shape[0]), r1 = tg_rounding(&q->shape[1]), distance = separation - r0 - r1;
    if (!(distance < q->reach) || patch->count == TG_PATCH_MAX)
        return NULL;
    tg_contact_point *c = &patch->point[patch->count++];
    tg_init_point(c, (a + b) * v4_splat(0.5) + n * v4_splat(0.5 * (r0 - r1)), n, distance, 0, 0);
    return c;
}

static double distance_to(const tg_placed *p, int vertex, v4 x)
{
    return v4_length(tg_core_vertex(p, vertex) - x);
}

/* How far the witness of shape i may move before other features hold it: to the ends of its edge; and, apart, until
 * the normal has turned to the next edge. A normal between two vertices, or a vertex and an edge, turns by the way over
 * the separation. That of two edges, or of a face, turns with the shapes only: until a neighbour has come up to the
 * plane. */
static double witness_margin(const tg_query *q, const tg_axis *axis, int i)
{
    const tg_placed *p = &q->shape[i];
    double least = axis->margin;
    if (axis->count[i] == 2)
        for (int k = 0; k < 2; k++)
            least = tg_least(least, distance_to(p, axis->vertex[i][k], axis->point[i]));
    if (!(axis->separation > 0) || axis->count[i] == 3 || p->polytope == NULL)
        return least;
    const tg_polytope *t = p->polytope;
    v4 outward = mat3_mul_t(p->R, i == 0 ? axis->normal : -axis->normal);
    bool holds = axis->count[0] + axis->count[1] >= 4;
    double sine = 1; /* squared, between the normal's plane and the nearest edge */
    for (int k = 0; k < axis->count[i]; k++)
    {
        int v = axis->vertex[i][k];
        for (int j = t->neighbour_start[v]; j < t->neighbour_start[v + 1]; j++)
        {
            if (axis->count[i] == 2 && t->neighbour[j] == axis->vertex[i][1 - k])
                continue;
            v4 e = tg_core_local(p, t->neighbour[j]) - tg_core_local(p, v);
            double along = v4_dot(outward, e), ee = v4_dot(e, e);
            sine = along * along < sine * ee ? along * along / ee : sine;
            least = holds ? tg_least(least, fabs(along)) : least;
        }
    }
    return holds ? least : tg_least(least, axis->separation * sqrt(sine));
}

void tg_add_axis_point(const tg_query *q, const tg_axis *axis, tg_patch *patch)
{
    tg_contact_point *c = add_between(q, axis->normal, axis->point[0], axis->point[1], axis->separation, patch);
    if (c == NULL)
        return;
    c->feature = tg_witness_id(axis);
    c->margin = tg_least(witness_margin(q, axis, 0), witness_margin(q, axis, 1));
    for (int i = 0; i < 2; i++)
        c->surface[i] = core_surface(&q->shape[i], axis, i);
}

/* Makes the normal orthogonal to the edges that hold it: rounding turns it by 1e-16 of the extent over the
 * separation, and edges are long. */
static void sharpen(const tg_placed *a, const tg_placed *b, tg_axis *axis)
{
    const tg_placed *shape[2] = {a, b};
    v4 e[2], n = axis->normal;
    int edges = 0;
    for (int i = 0; i < 2; i++)
        if (axis->count[i] == 2)
        {
            const int *v = axis->vertex[i];
            e[edges++] = v4_unit(mat3_mul(shape[i]->R, tg_core_local(shape[i], v[1]) - tg_core_local(shape[i], v[0])));
        }
    if (edges == 0 || axis->count[0] == 3 || axis->count[1] == 3)
        return;
    v4 product = edges == 2 ? v4_cross(e[0], e[1]) : v4_zero();
    if (v4_dot(product, product) > 1e-8)
        n = v4_dot(product, n) < 0 ? -product : product;
    else
        n -= e[0] * v4_splat(v4_dot(e[0], n));
    axis->normal = v4_unit(n);
    axis->separation = v4_dot(axis->normal, axis->point[1] - axis->point[0]);
}

/* ---- parallel edges ---- */

enum
{
    EDGES_MAX = 8
};

/* Ends of the edges of shape i at its witness that are orthogonal to the axis. */
static int flat_edges(const tg_query *q, const tg_axis *axis, int i, int end[EDGES_MAX][2])
{
    const tg_placed *p = &q->shape[i];
    int v = axis->vertex[i][0], count = 0;
    if (axis->count[i] == 2 || p->type == TG_GEOM_CAPSULE)
    {
        end[0][0] = v;
        end[0][1] = p->type == TG_GEOM_CAPSULE ? 1 - v : axis->vertex[i][1];
        count = 1;
    }
    else if (p->polytope != NULL)
    {
        const tg_polytope *t = p->polytope;
        v4 n = mat3_mul_t(p->R, axis->normal);
        for (int j = t->neighbour_start[v]; j < t->neighbour_start[v + 1] && count < EDGES_MAX; j++)
        {
            v4 e = tg_core_local(p, t->neighbour[j]) - tg_core_local(p, v);
            if (fabs(v4_dot(n, e)) > TG_PARALLEL * v4_length(e))
                continue;
            end[count][0] = v;
            end[count++][1] = t->neighbour[j];
        }
    }
    return count;
}

/* An edge in the world, and its place along a direction. */
typedef struct stretch
{
    v4 end[2], along;
    double low, high;
    int vertex[2];
} stretch;

static stretch stretch_of(const tg_placed *p, const int end[2], v4 along)
{
    stretch s = {.end = {tg_core_vertex(p, end[0]), tg_core_vertex(p, end[1])}, .vertex = {end[0], end[1]}};
    s.along = along;
    s.low = v4_dot(along, s.end[0]);
    s.high = v4_dot(along, s.end[1]);
    if (s.low > s.high)
    {
        stretch o = s;
        s.end[0] = o.end[1];
        s.end[1] = o.end[0];
        s.low = o.high;
        s.high = o.low;
        s.vertex[0] = end[1];
        s.vertex[1] = end[0];
    }
    return s;
}

static v4 stretch_at(const stretch *s, double t)
{
    return s->end[0] + (s->end[1] - s->end[0]) * v4_splat((t - s->low) / (s->high - s->low));
}

/* The point at the end (0 low, 1 high) of what two parallel edges share: a vertex of the one that ends there,
 * against the other edge. */
static void add_shared_end(const tg_query *q, const tg_axis *axis, const stretch edge[2], int which, double shared,
                           tg_patch *patch)
{
    tg_axis end = *axis;
    int ends = which == 0 ? edge[1].low > edge[0].low : edge[1].high < edge[0].high, other = 1 - ends;
    v4 vertex = edge[ends].end[which], o = edge[other].end[0], e = edge[other].end[1] - o;
    end.point[ends] = vertex;
    end.point[other] = o + e * v4_splat(v4_dot(vertex - o, e) / v4_dot(e, e));
    end.normal = v4_unit(end.point[1] - end.point[0]);
    for (int i = 0; i < 2; i++)
    {
        end.count[i] = i == ends ? 1 : 2;
        end.vertex[i][0] = edge[i].vertex[i == ends ? which : 0];
        end.vertex[i][1] = edge[i].vertex[1];
    }
    sharpen(&q->shape[0], &q->shape[1], &end);
    end.margin = tg_least(axis->margin, shared);
    tg_add_axis_point(q, &end, patch);
}

/* How much the way from one edge to the other changes over what they share. */
static double divergence(const stretch edge[2], double low, double high)
{
    v4 first = stretch_at(&edge[1], low) - stretch_at(&edge[0], low);
    v4 last = stretch_at(&edge[1], high) - stretch_at(&edge[0], high);
    return v4_length(last - first);
}

/* Edges that stay equally far apart over what they share, to TG_PARALLEL: a point at either end of it. */
static bool add_parallel_edges(const tg_query *q, const tg_axis *axis, tg_patch *patch)
{
    int end[2][EDGES_MAX][2], count[2];
    if (!(axis->separation > 0) || !axis->nearest || axis->count[0] == 3 || axis->count[1] == 3)
        return false;
    for (int i = 0; i < 2; i++)
        if ((count[i] = flat_edges(q, axis, i, end[i])) == 0)
            return false;
    for (int i = 0; i < count[0]; i++)
    {
        v4 a = tg_core_vertex(&q->shape[0], end[0][i][0]), e = v4_unit(tg_core_vertex(&q->shape[0], end[0][i][1]) - a);
        stretch edge[2] = {stretch_of(&q->shape[0], end[0][i], e)};
        for (int j = 0; j < count[1]; j++)
        {
            edge[1] = stretch_of(&q->shape[1], end[1][j], e);
            double low = tg_most(edge[0].low, edge[1].low), high = tg_least(edge[0].high, edge[1].high);
            if (!(high - low > 1e-9 * (edge[0].high - edge[0].low)) ||
                divergence(edge, low, high) > TG_PARALLEL * axis->separation)
                continue;
            add_shared_end(q, axis, edge, 0, high - low, patch);
            add_shared_end(q, axis, edge, 1, high - low, patch);
            return true;
        }
    }
    return false;
}

/* ---- from an axis to its patch ---- */

int tg_parallel_polygon(const tg_query *q, const tg_axis *axis, int i)
{
    const tg_placed *p = &q->shape[i];
    if (!tg_has_polygons(p))
        return -1;
    double cosine, second;
    v4 outward = mat3_mul_t(p->R, i == 0 ? axis->normal : -axis->normal);
    int polygon = tg_facing_polygon(p, axis->vertex[i][0], outward, &cosine, &second);
    return 1 - cosine < 0.5 * TG_PARALLEL * TG_PARALLEL ? polygon : -1;
}

/* The points over a face hold the axis: what is nearest is among them, to `tolerance` of the extent. */
static bool agrees(const tg_query *q, const tg_axis *axis, double least, double tolerance)
{
    double extent = v4_length(axis->point[0] - q->shape[0].x) + v4_length(axis->point[1] - q->shape[1].x);
    double distance = axis->separation - tg_roundings(q);
    return least <= distance + 1e-9 * fabs(axis->separation) + tolerance * extent;
}

/* The lowest vertex, which is not over the face of shape i. Which vertices of the face the axis names is a matter of
 * rounding: the point has the id of a vertex over it. */
static void add_beside(const tg_query *q, const tg_axis *axis, int i, tg_patch *patch)
{
    int before = patch->count;
    tg_add_axis_point(q, axis, patch);
    if (patch->count > before && axis->count[1 - i] == 1)
        patch->point[before].feature = tg_vertex_feature(i, axis->vertex[1 - i][0]);
}

bool tg_add_face_points(const tg_query *q, const tg_axis *axis, double tolerance, tg_patch *patch)
{
    for (int i = 0; i < 2; i++)
    {
        int polygon = tg_parallel_polygon(q, axis, i);
        if (polygon < 0)
            continue;
        double least = tg_clip(q, axis, i, polygon, false, patch);
        if (agrees(q, axis, least, tolerance))
            return true;
        if (!axis->nearest)
        {
            if (least == INFINITY)
                tg_clip(q, axis, i, polygon, true, patch);
            else
                add_beside(q, axis, i, patch);
            return true;
        }
        patch->count = 0;
    }
    return false;
}

void tg_add_axis(const tg_query *q, const tg_axis *axis, tg_patch *patch)
{
    if (!tg_add_face_points(q, axis, AGREE, patch) && !add_parallel_edges(q, axis, patch))
        tg_add_axis_point(q, axis, patch);
    for (int i = 0; i < patch->count; i++)
        patch->point[i].when = axis->nearest ? TG_WHEN_NOW : TG_WHEN_OVER;
}

/* ---- the axis by searching ---- */

/* ascending */
static void list_vertices(const tg_gjk_result *r, int i, tg_axis *axis)
{
    axis->count[i] = 0;
    for (int k = 0; k < r->count; k++)
    {
        int vertex = r->vertex[i][k], at = axis->count[i], known = 0;
        while (known < at && axis->vertex[i][known] != vertex)
            known++;
        if (known < at)
            continue;
        for (; at > 0 && axis->vertex[i][at - 1] > vertex; at--)
            axis->vertex[i][at] = axis->vertex[i][at - 1];
        axis->vertex[i][at] = vertex;
        axis->count[i]++;
    }
}

/* The axis that the hint's features hold. Not near the limit, where the search could take the distance for larger. */
static bool same_axis(const tg_placed *a, const tg_placed *b, double limit, const tg_hint *hint, tg_axis *axis)
{
    return hint != NULL && tg_features_axis(a, b, &hint->features, axis) && axis->separation < NEAR_LIMIT * limit;
}

bool tg_search_axis(const tg_placed *a, const tg_placed *b, double limit, tg_hint *hint, tg_axis *axis)
{
    if (same_axis(a, b, limit, hint, axis))
        return true;
    tg_gjk_result r = tg_gjk(a, b, limit, hint);
    if (hint != NULL)
        hint->features = (tg_features){.count = {0, 0}};
    if (!(r.distance < limit))
        return false;
    *axis = (tg_axis){.normal = r.normal,
                      .separation = r.distance,
                      .margin = r.margin,
                      .nearest = true,
                      .point = {r.point[0], r.point[1]}};
    for (int i = 0; i < 2; i++)
        list_vertices(&r, i, axis);
    tg_features found;
    if (!(r.distance > 0 && tg_find_features(a, b, &found, axis)))
        sharpen(a, b, axis);
    else if (hint != NULL)
        hint->features = found;
    return true;
}

/* ---- where the shapes will be ---- */

tg_placed tg_advanced(const tg_query *q, int i)
{
    tg_placed p = q->shape[i];
    double w[3], turn[4];
    v4_store3(w, q->spin[i] * v4_splat(q->dt));
    tg_quat_exp(w, turn);
    p.x += q->velocity[i] * v4_splat(q->dt);
    p.R = mat3_product(mat3_from_quat(turn), p.R);
    return p;
}

double tg_separation_along(const tg_placed *a, const tg_placed *b, v4 n, int vertex[2])
{
    v4 p = tg_support(a, n, &vertex[0]), q = tg_support(b, -n, &vertex[1]);
    return v4_dot(n, q - p);
}

/* The axis between the shapes as they are that is held by the same face of shape `face` as `there` between the shapes
 * as they will be. */
static tg_axis brought_back(const tg_query *q, const tg_placed moved[2], const tg_axis *there, int face)
{
    tg_axis axis = *there;
    v4 n = mat3_mul(q->shape[face].R, mat3_mul_t(moved[face].R, there->normal));
    int vertex[2] = {there->vertex[0][0], there->vertex[1][0]};
    axis.normal = n;
    axis.nearest = false;
    axis.separation = tg_separation_along(&q->shape[0], &q->shape[1], n, vertex);
    for (int k = there->count[face]; k < 3; k++)
        axis.vertex[face][k] = there->vertex[face][0];
    axis.count[face] = 3;
    axis.count[1 - face] = 1;
    axis.vertex[1 - face][0] = vertex[1 - face];
    v4 gap = n * v4_splat(axis.separation);
    axis.point[1 - face] = tg_core_vertex(&q->shape[1 - face], vertex[1 - face]);
    axis.point[face] = axis.point[1 - face] + (face == 1 ? gap : -gap);
    return axis;
}

double tg_separation_after(const tg_query *q, const tg_placed moved[2], const tg_axis *axis)
{
    v4 n = axis->normal;
    for (int i = 1; i >= 0; i--)
        if (tg_parallel_polygon(q, axis, i) >= 0)
            n = mat3_mul(moved[i].R, mat3_mul_t(q->shape[i].R, axis->normal));
    int vertex[2] = {axis->vertex[0][0], axis->vertex[1][0]};
    return tg_separation_along(&moved[0], &moved[1], n, vertex);
}

bool tg_choose_axis(const tg_query *q, tg_axis_function *find, tg_axis *axis, tg_patch *patch)
{
    double r = tg_roundings(q);
    if (axis->separation - r < -q->slack)
        return false;
    tg_query then = *q;
    then.shape[0] = tg_advanced(q, 0);
    then.shape[1] = tg_advanced(q, 1);
    then.reach = INFINITY;
    double after = tg_separation_after(q, then.shape, axis);
    double stays = tg_most(after - r, tg_passing(q, axis->separation - after));
    if (stays >= TG_AT_EDGE * q->slack)
    {
        axis->margin = tg_least(axis->margin, stays);
        return false;
    }
    tg_axis there;
    if (!find(&then.shape[0], &then.shape[1], INFINITY, NULL, &there) || !(there.separation > after))
        return false;
    int face = tg_parallel_polygon(&then, &there, 0) >= 0 ? 0 : tg_parallel_polygon(&then, &there, 1) >= 0 ? 1 : -1;
    tg_axis now = face >= 0 ? brought_back(q, then.shape, &there, face) : there;
    int vertex[2] = {there.vertex[0][0], there.vertex[1][0]};
    double apart = tg_separation_along(&q->shape[0], &q->shape[1], now.normal, vertex) - r + q->slack;
    if (v4_length(now.normal - axis->normal) <= TG_PARALLEL)
        return false;
    double margin = tg_least(fabs(stays), fabs(apart));
    if (stays >= 0 || apart < 0 || face >= 0)
    {
        *axis = stays >= 0 || apart < 0 ? *axis : now;
        axis->margin = tg_least(axis->margin, margin);
        return false;
    }
    tg_patch ahead;
    ahead.count = 0;
    tg_add_axis_point(&then, &there, &ahead);
    tg_add_ahead(q, then.shape, &ahead.point[0], margin, patch);
    return true;
}

static void searched_patch(const tg_query *q, tg_patch *patch)
{
    tg_axis axis;
    if (!tg_search_axis(&q->shape[0], &q->shape[1], q->reach + tg_roundings(q), q->hint, &axis))
        return;
    if (!(q->dt > 0 && tg_choose_axis(q, tg_search_axis, &axis, patch)))
        tg_add_axis(q, &axis, patch);
}

void tg_polytope_polytope(const tg_query *q, tg_patch *patch)
{
    if (q->shape[0].type == TG_GEOM_BOX && q->shape[1].type == TG_GEOM_BOX)
        tg_box_patch(q, patch);
    else
        searched_patch(q, patch);
}

void tg_sphere_polytope(const tg_query *q, tg_patch *patch)
{
    if (q->shape[1].type == TG_GEOM_BOX)
        tg_sphere_box(q, patch);
    else
        searched_patch(q, patch);
}

void tg_capsule_polytope(const tg_query *q, tg_patch *patch)
{
    searched_patch(q, patch);
}
