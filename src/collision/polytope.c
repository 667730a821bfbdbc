/* Boxes, meshes, spheres and capsules against boxes and meshes: from an axis to a patch. */
#include "collision/polytope.h"

#include <math.h>

#include "collision/ahead.h"
#include "collision/surface.h"
#include "tangere/algebra.h"

#define TIE 1e-10   /* of the extent: axes whose separations differ by less are equal, the first one counts */
#define AGREE 1e-6  /* of the extent: what merging triangles into polygons may change */
#define EXACT 1e-13 /* of the extent: rounding */
#define NEARLY 0.01 /* rad: a face or edge of a box that is turned by less against a face of another lies on it */
#define OTHER 1e-6  /* of a cosine: how much better the second box's face must be to count */

static double length(v4 a)
{
    return sqrt(v4_dot(a, a));
}

static v4 unit(v4 a)
{
    return a * v4_splat(1 / length(a));
}

static double roundings(const tg_query *q)
{
    return tg_rounding(&q->shape[0]) + tg_rounding(&q->shape[1]);
}

/* ---- one point ---- */

/* the features of the two shapes, whatever the order of their vertices: sums and products of these, mixed by odd
 * numbers; the top bits are those that points over faces do not use. Without a branch. */
static inline uint32_t witness_id(const tg_axis *axis)
{
    uint32_t sum[2] = {0, 0}, product[2] = {1, 1};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++)
        {
            uint32_t vertex = (uint32_t)axis->vertex[i][k] & -(uint32_t)(k < axis->count[i]);
            sum[i] += vertex;
            product[i] *= 2 * vertex + 1;
        }
    uint32_t id = sum[0] * 0x9E3779B1u + product[0] * 0x85EBCA6Bu + sum[1] * 0xC2B2AE35u + product[1] * 0x27D4EB2Fu;
    return 3u << 30 | ((id ^ id >> 15) & 0x3FFFFFFFu);
}

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
        return tg_surface_edge(unit(across), r);
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
    return length(tg_core_vertex(p, vertex) - x);
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

static void add_witness(const tg_query *q, const tg_axis *axis, tg_patch *patch)
{
    tg_contact_point *c = add_between(q, axis->normal, axis->point[0], axis->point[1], axis->separation, patch);
    if (c == NULL)
        return;
    c->feature = witness_id(axis);
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
            e[edges++] = unit(mat3_mul(shape[i]->R, tg_core_local(shape[i], v[1]) - tg_core_local(shape[i], v[0])));
        }
    if (edges == 0 || axis->count[0] == 3 || axis->count[1] == 3)
        return;
    v4 product = edges == 2 ? v4_cross(e[0], e[1]) : v4_zero();
    if (v4_dot(product, product) > 1e-8)
        n = v4_dot(product, n) < 0 ? -product : product;
    else
        n -= e[0] * v4_splat(v4_dot(e[0], n));
    axis->normal = unit(n);
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
            if (fabs(v4_dot(n, e)) > TG_PARALLEL * length(e))
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
    end.normal = unit(end.point[1] - end.point[0]);
    for (int i = 0; i < 2; i++)
    {
        end.count[i] = i == ends ? 1 : 2;
        end.vertex[i][0] = edge[i].vertex[i == ends ? which : 0];
        end.vertex[i][1] = edge[i].vertex[1];
    }
    sharpen(&q->shape[0], &q->shape[1], &end);
    end.margin = tg_least(axis->margin, shared);
    add_witness(q, &end, patch);
}

/* How much the way from one edge to the other changes over what they share. */
static double divergence(const stretch edge[2], double low, double high)
{
    v4 first = stretch_at(&edge[1], low) - stretch_at(&edge[0], low);
    v4 last = stretch_at(&edge[1], high) - stretch_at(&edge[0], high);
    return length(last - first);
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
        v4 a = tg_core_vertex(&q->shape[0], end[0][i][0]), e = unit(tg_core_vertex(&q->shape[0], end[0][i][1]) - a);
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

/* the polygon of shape i that is orthogonal to the axis, or -1 */
static int parallel_polygon(const tg_query *q, const tg_axis *axis, int i)
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
    double extent = length(axis->point[0] - q->shape[0].x) + length(axis->point[1] - q->shape[1].x);
    double distance = axis->separation - roundings(q);
    return least <= distance + 1e-9 * fabs(axis->separation) + tolerance * extent;
}

/* The lowest vertex, which is not over the face of shape i. Which vertices of the face the axis names is a matter of
 * rounding: the point has the id of a vertex over it. */
static void add_beside(const tg_query *q, const tg_axis *axis, int i, tg_patch *patch)
{
    int before = patch->count;
    add_witness(q, axis, patch);
    if (patch->count > before && axis->count[1 - i] == 1)
        patch->point[before].feature = tg_vertex_feature(i, axis->vertex[1 - i][0]);
}

/* Points over a face, if the axis has one. An axis along which the shapes are not nearest may have nothing over its
 * face yet: then what comes there first. */
static bool add_face_points(const tg_query *q, const tg_axis *axis, double tolerance, tg_patch *patch)
{
    for (int i = 0; i < 2; i++)
    {
        int polygon = parallel_polygon(q, axis, i);
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

static void add_patch(const tg_query *q, const tg_axis *axis, tg_patch *patch)
{
    if (!add_face_points(q, axis, AGREE, patch) && !add_parallel_edges(q, axis, patch))
        add_witness(q, axis, patch);
    for (int i = 0; i < patch->count; i++)
        patch->point[i].when = axis->nearest ? TG_WHEN_NOW : TG_WHEN_OVER;
}

/* ---- the axis by searching ---- */

static void list_vertices(const tg_gjk_result *r, int i, tg_axis *axis)
{
    axis->count[i] = 0;
    for (int k = 0; k < r->count; k++)
    {
        int known = 0;
        while (known < axis->count[i] && axis->vertex[i][known] != r->vertex[i][k])
            known++;
        if (known == axis->count[i])
            axis->vertex[i][axis->count[i]++] = r->vertex[i][k];
    }
}

/* How the axis between the nearest points of two shapes is found. False where their cores are limit apart, or
 * farther. */
typedef bool axis_function(const tg_placed *a, const tg_placed *b, double limit, tg_hint *hint, tg_axis *axis);

static bool search_axis(const tg_placed *a, const tg_placed *b, double limit, tg_hint *hint, tg_axis *axis)
{
    tg_gjk_result r = tg_gjk(a, b, limit, hint);
    if (!(r.distance < limit))
        return false;
    *axis = (tg_axis){.normal = r.normal,
                      .separation = r.distance,
                      .margin = r.margin,
                      .nearest = true,
                      .point = {r.point[0], r.point[1]}};
    for (int i = 0; i < 2; i++)
        list_vertices(&r, i, axis);
    sharpen(a, b, axis);
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

/* of the cores, along the unit vector n */
static double separation_along(const tg_placed *a, const tg_placed *b, v4 n, int vertex[2])
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
    axis.separation = separation_along(&q->shape[0], &q->shape[1], n, vertex);
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

/* The separation along an axis after dt: a face's normal turns with its shape. */
static double separation_after(const tg_query *q, const tg_placed moved[2], const tg_axis *axis)
{
    v4 n = axis->normal;
    for (int i = 1; i >= 0; i--)
        if (parallel_polygon(q, axis, i) >= 0)
            n = mat3_mul(moved[i].R, mat3_mul_t(q->shape[i].R, axis->normal));
    int vertex[2] = {axis->vertex[0][0], axis->vertex[1][0]};
    return separation_along(&moved[0], &moved[1], n, vertex);
}

/* dt > 0. Of the axis between the nearest points now and that of where the shapes will be: the latter, if they are
 * apart along it now. Only for pairs that would close. True: the axis is held by no face, and its point is in the
 * patch. */
static bool choose_axis(const tg_query *q, axis_function *find, tg_axis *axis, tg_patch *patch)
{
    double r = roundings(q);
    if (axis->separation - r < -q->slack)
        return false;
    tg_query then = *q;
    then.shape[0] = tg_advanced(q, 0);
    then.shape[1] = tg_advanced(q, 1);
    then.reach = INFINITY;
    double after = separation_after(q, then.shape, axis);
    double stays = tg_most(after - r, tg_passing(q, axis->separation - after));
    if (stays >= TG_AT_EDGE)
    {
        axis->margin = tg_least(axis->margin, stays);
        return false;
    }
    tg_axis there;
    if (!find(&then.shape[0], &then.shape[1], INFINITY, NULL, &there) || !(there.separation > after))
        return false;
    int face = parallel_polygon(&then, &there, 0) >= 0 ? 0 : parallel_polygon(&then, &there, 1) >= 0 ? 1 : -1;
    tg_axis now = face >= 0 ? brought_back(q, then.shape, &there, face) : there;
    int vertex[2] = {there.vertex[0][0], there.vertex[1][0]};
    double apart = separation_along(&q->shape[0], &q->shape[1], now.normal, vertex) - r + q->slack;
    if (length(now.normal - axis->normal) <= TG_PARALLEL)
        return false;
    double margin = tg_least(fabs(stays), fabs(apart));
    if (stays >= 0 || apart < 0 || face >= 0)
    {
        *axis = stays >= 0 || apart < 0 ? *axis : now;
        axis->margin = tg_least(axis->margin, margin);
        return false;
    }
    tg_patch ahead = {0};
    add_witness(&then, &there, &ahead);
    tg_add_ahead(q, then.shape, &ahead.point[0], margin, patch);
    return true;
}

static void searched_patch(const tg_query *q, tg_patch *patch)
{
    tg_axis axis;
    if (!search_axis(&q->shape[0], &q->shape[1], q->reach + roundings(q), q->hint, &axis))
        return;
    if (!(q->dt > 0 && choose_axis(q, search_axis, &axis, patch)))
        add_patch(q, &axis, patch);
}

/* ---- two boxes ---- */

static double box_extent(const tg_query *q)
{
    const double *a = q->shape[0].size, *b = q->shape[1].size;
    return a[0] + a[1] + a[2] + b[0] + b[1] + b[2];
}

/* The axis with the largest value, the first of those that are equal, among those along which the boxes are apart by
 * `least` now. */
static int best_box_axis(const tg_box_axes *value, const tg_box_axes *now, double least, double tie)
{
    int best = -1;
    double most = -INFINITY;
    for (int k = 0; k < TG_BOX_AXES; k++)
        if (value->separation[k] > most && now->separation[k] >= least)
        {
            most = value->separation[k] + tie;
            best = k;
        }
    return best;
}

/* How much worse the next axis is that is turned by more than `angle` from the normal: the others hold the same patch.
 */
static double box_margin(const tg_query *q, const tg_box_axes *s, int best, v4 normal, double angle)
{
    double second = -INFINITY;
    for (int k = 0; k < TG_BOX_AXES; k++)
    {
        if (k == best || !(s->separation[k] > second))
            continue;
        v4 n = k < 3   ? q->shape[0].R.c[k]
               : k < 6 ? q->shape[1].R.c[k - 3]
                       : tg_box_axis(&q->shape[0], &q->shape[1], s, k).normal;
        if (1 - fabs(v4_dot(n, normal)) > 0.5 * angle * angle)
            second = s->separation[k];
    }
    return tg_most(s->separation[best] - second, 0);
}

/* Among axes along which the boxes are apart now, `chosen` is the best after dt. By how much the next one is worse, or
 * is kept out because the boxes overlap along it now. */
static double moving_margin(const tg_query *q, const tg_box_axes *now, const tg_box_axes *after, int chosen, v4 normal,
                            double angle)
{
    double least = now->separation[chosen] + q->slack;
    for (int k = 0; k < TG_BOX_AXES; k++)
    {
        double worse = after->separation[chosen] - after->separation[k], out = -q->slack - now->separation[k];
        double margin = out > 0 ? tg_most(worse, out) : tg_most(worse, 0);
        if (k == chosen || !(margin < least))
            continue;
        v4 n = tg_box_axis(&q->shape[0], &q->shape[1], now, k).normal;
        if (1 - fabs(v4_dot(n, normal)) > 0.5 * angle * angle)
            least = margin;
    }
    return least;
}

/* The points that hold the axis lie opposite each other. */
static bool opposite(const tg_query *q, const tg_axis *axis)
{
    v4 between = axis->point[1] - axis->point[0] - axis->normal * v4_splat(axis->separation);
    return length(between) <= TIE * box_extent(q);
}

/* The boxes are apart, and `axis` is the one of the fifteen along which they are farthest apart: it is the direction
 * between the nearest points if the points that hold it lie opposite each other. Otherwise that is searched for. */
static bool nearest_box_patch(const tg_query *q, tg_axis *axis, tg_patch *patch)
{
    if (add_face_points(q, axis, EXACT, patch))
        return true;
    if (axis->count[0] == 2 && axis->count[1] == 2 && opposite(q, axis))
    {
        add_witness(q, axis, patch);
        return true;
    }
    return false;
}

/* Two edges will touch. They have the normal of their lines as they are now and the point where these cross, even if
 * that is beyond their ends. Where it is much beyond, the edges are nearly parallel, and normal and points are those of
 * where they will be (then true: the point is in the patch), if the boxes are apart along that normal. Otherwise the
 * point is what is left of the edges there; its derivative is not that of a crossing, and the margin says so. */
static bool extend_edges(const tg_query *q, const tg_placed moved[2], const tg_box_axes *after, int k, tg_axis *axis,
                         tg_patch *patch)
{
    tg_box_edges(&q->shape[0], &q->shape[1], k, 2, axis);
    if (opposite(q, axis))
        return false;
    tg_axis there = tg_box_axis(&moved[0], &moved[1], after, k);
    int vertex[2];
    double apart = separation_along(&q->shape[0], &q->shape[1], there.normal, vertex) + q->slack;
    if (apart < 0 || !opposite(q, &there))
    {
        axis->margin = TG_NO_DERIVATIVE;
        return false;
    }
    tg_query then = *q;
    tg_patch ahead = {0};
    then.shape[0] = moved[0];
    then.shape[1] = moved[1];
    then.reach = INFINITY;
    add_witness(&then, &there, &ahead);
    tg_add_as_there(q, moved, &ahead.point[0], tg_least(axis->margin, apart), patch);
    return true;
}

/* The face of box i that looks along n (from the first box to the second), which becomes its normal; the cosine
 * between. */
static double face_along(const tg_query *q, int i, v4 *n)
{
    double most = 0;
    v4 best = *n;
    for (int k = 0; k < 3; k++)
    {
        v4 f = q->shape[i].R.c[k];
        double cosine = v4_dot(f, *n);
        if (fabs(cosine) > most)
        {
            most = fabs(cosine);
            best = cosine < 0 ? -f : f;
        }
    }
    *n = best;
    return most;
}

/* The sine of the angle between a plane (its normal n) and the edge of box i that is nearest to lying in it. */
static double edge_out_of(const tg_query *q, int i, v4 n)
{
    const v4 *edge = q->shape[i].R.c;
    return tg_least(tg_least(fabs(v4_dot(edge[0], n)), fabs(v4_dot(edge[1], n))), fabs(v4_dot(edge[2], n)));
}

/* A face of box i that is turned by less than NEARLY from the axis, its normal n, and an edge of the other box that
 * lies in it to the same angle, or a face, which has two. By how much (rad) it is so; below zero it is not. */
static double lies_on(const tg_query *q, int i, double cosine, v4 n)
{
    return NEARLY - tg_most(sqrt(2 * tg_most(1 - cosine, 0)), edge_out_of(q, 1 - i, n));
}

/* Of a pair that moves, a face on which a face or an edge of the other box nearly lies: the points over it. What holds
 * the axis, two edges that cross or the lowest vertex, is one of many there; on that one alone the boxes would rock
 * from corner to corner, and sink in. */
static bool add_faces(const tg_query *q, const tg_axis *axis, tg_patch *patch)
{
    v4 n[2] = {axis->normal, axis->normal};
    double cosine[2] = {face_along(q, 0, &n[0]), face_along(q, 1, &n[1])};
    double room[2] = {lies_on(q, 0, cosine[0], n[0]), lies_on(q, 1, cosine[1], n[1])};
    if (!(room[0] > 0 || room[1] > 0))
        return false;
    int face = !(room[0] > 0) || (room[1] > 0 && cosine[1] > cosine[0] + OTHER);
    int vertex[2] = {axis->vertex[0][0], axis->vertex[1][0]};
    tg_axis flat = *axis;
    flat.normal = n[face];
    flat.separation = separation_along(&q->shape[0], &q->shape[1], n[face], vertex);
    flat.margin = tg_least(flat.margin, tg_least(fabs(room[0]), fabs(room[1])) * box_extent(q));
    for (int i = 0; i < 2; i++)
        flat.vertex[i][0] = vertex[i];
    int polygon = parallel_polygon(q, &flat, face);
    if (polygon >= 0 && tg_clip(q, &flat, face, polygon, false, patch) < INFINITY)
        return true;
    patch->count = 0;
    return false;
}

/* The boxes will close: among all fifteen axes, and the direction between the nearest points, that along which they
 * are farthest apart after dt. */
static void moving_box_patch(const tg_query *q, const tg_box_axes *now, int best, tg_patch *patch)
{
    tg_placed moved[2] = {tg_advanced(q, 0), tg_advanced(q, 1)};
    tg_box_axes after = tg_box_separations(&moved[0], &moved[1]);
    double tie = TIE * box_extent(q);
    int chosen = best_box_axis(&after, now, -q->slack, tie);
    if (after.separation[best] >= after.separation[chosen] - tie)
        chosen = best;
    tg_axis axis = tg_box_axis(&q->shape[0], &q->shape[1], now, chosen), nearest;
    axis.margin = moving_margin(q, now, &after, chosen, axis.normal, NEARLY);
    if (add_faces(q, &axis, patch))
        return;
    axis.margin = moving_margin(q, now, &after, chosen, axis.normal, TG_PARALLEL);
    if (now->separation[best] > 0)
    {
        axis.nearest = true;
        if (chosen == best && nearest_box_patch(q, &axis, patch))
            return;
        axis.nearest = false;
        if (!search_axis(&q->shape[0], &q->shape[1], INFINITY, NULL, &nearest))
            return;
        if (!(nearest.separation - roundings(q) < q->reach))
            return;
        double there = separation_after(q, moved, &nearest) - after.separation[chosen] - tie;
        if (there > 0)
            axis = nearest;
        axis.margin = tg_least(axis.margin, fabs(there));
    }
    else
        axis.nearest = chosen == best;
    if (!(chosen >= 6 && !axis.nearest && extend_edges(q, moved, &after, chosen, &axis, patch)))
        add_patch(q, &axis, patch);
}

static void box_patch(const tg_query *q, tg_patch *patch)
{
    tg_box_axes s = tg_box_separations(&q->shape[0], &q->shape[1]);
    double tie = TIE * box_extent(q);
    int best = best_box_axis(&s, &s, -INFINITY, tie);
    double separation = s.separation[best];
    if (!(separation < q->reach))
        return;
    if (q->dt > 0 && separation >= -q->slack)
    {
        moving_box_patch(q, &s, best, patch);
        return;
    }
    tg_axis axis = tg_box_axis(&q->shape[0], &q->shape[1], &s, best);
    axis.nearest = true;
    bool apart = separation > 0;
    if (q->dt > 0)
    {
        axis.margin = box_margin(q, &s, best, axis.normal, NEARLY);
        if (add_faces(q, &axis, patch))
            return;
    }
    axis.margin = apart ? INFINITY : box_margin(q, &s, best, axis.normal, TG_PARALLEL);
    if (apart &&
        (nearest_box_patch(q, &axis, patch) || !search_axis(&q->shape[0], &q->shape[1], q->reach, q->hint, &axis)))
        return;
    add_patch(q, &axis, patch);
}

void tg_polytope_polytope(const tg_query *q, tg_patch *patch)
{
    if (q->shape[0].type == TG_GEOM_BOX && q->shape[1].type == TG_GEOM_BOX)
        box_patch(q, patch);
    else
        searched_patch(q, patch);
}

void tg_level_points(const tg_query *q, int i, v4 m, tg_patch *patch)
{
    tg_axis axis = {.normal = i == 0 ? m : -m, .margin = INFINITY};
    int vertex[2] = {0, 0};
    axis.separation = separation_along(&q->shape[0], &q->shape[1], axis.normal, vertex);
    for (int k = 0; k < 2; k++)
        axis.vertex[k][0] = vertex[k];
    int polygon = parallel_polygon(q, &axis, i);
    if (polygon >= 0)
        tg_clip(q, &axis, i, polygon, false, patch);
}

/* ---- spheres and capsules ---- */

/* A point (frame of a box) and the point of the box's surface nearest to it. */
typedef struct box_point
{
    v4 nearest;
    v4 normal; /* from the point to the box */
    double separation, margin;
    int cut;    /* bits: coordinates of the faces that the nearest point is on */
    int vertex; /* bits: coordinates of the nearest point that are positive */
} box_point;

/* Outside the nearest point is x cut off at the half lengths; the features are the cut coordinates. Without a
 * branch. */
static inline box_point point_outside_box(v4 x, v4 h)
{
    const v4i sign = (v4i)v4_splat(-0.0);
    v4 size = (v4)((v4i)x & ~sign), over = size - h;
    v4i beyond = over > v4_zero();
    v4 face = (v4)((v4i)h | ((v4i)x & sign)), nearest = (v4)(((v4i)face & beyond) | ((v4i)x & ~beyond));
    v4 d = nearest - x;
    double separation = length(d);
    v4i bit = (beyond & (v4i){1, 2, 4, 0}) | ((nearest > v4_zero()) & (v4i){8, 16, 32, 0});
    int64_t bits = bit[0] | bit[1] | bit[2];
    return (box_point){.nearest = nearest,
                       .normal = d * v4_splat(1 / separation),
                       .separation = separation,
                       .margin = tg_least(tg_least(fabs(over[0]), fabs(over[1])), fabs(over[2])),
                       .cut = (int)bits & 7,
                       .vertex = (int)bits >> 3};
}

/* inside, or on the surface: the nearest face */
static box_point point_inside_box(v4 x, v4 h)
{
    double best = -INFINITY, second = -INFINITY;
    int face = 0;
    for (int k = 0; k < 3; k++)
    {
        double over = fabs(x[k]) - h[k];
        if (over > best)
        {
            second = best;
            best = over;
            face = k;
        }
        else if (over > second)
            second = over;
    }
    double sign = x[face] < 0 ? -1 : 1;
    box_point p = {.nearest = x, .normal = v4_zero(), .separation = best, .margin = best - second, .cut = 1 << face};
    p.nearest[face] = sign * h[face];
    p.normal[face] = -sign;
    p.vertex = (p.nearest[0] > 0) | (p.nearest[1] > 0) << 1 | (p.nearest[2] > 0) << 2;
    return p;
}

/* A sphere's centre against a box, in closed form. */
static inline bool sphere_box_axis(const tg_placed *sphere, const tg_placed *box, double limit, tg_hint *hint,
                                   tg_axis *axis)
{
    (void)hint;
    v4 x = mat3_mul_t(box->R, sphere->x - box->x), h = v4_load(box->size);
    box_point p = point_outside_box(x, h);
    if (!(p.separation > TIE * (h[0] + h[1] + h[2])))
        p = point_inside_box(x, h);
    if (!(p.separation < limit))
        return false;
    int free = 7 & ~p.cut;
    axis->nearest = true;
    axis->separation = p.separation;
    axis->margin = p.margin;
    axis->normal = mat3_mul(box->R, p.normal);
    axis->point[0] = sphere->x;
    axis->point[1] = sphere->x + axis->normal * v4_splat(p.separation);
    axis->count[0] = 1;
    axis->vertex[0][0] = axis->vertex[0][1] = axis->vertex[0][2] = 0;
    axis->count[1] = 1 + (free & 1) + (free >> 1 & 1) + (free >> 2);
    axis->vertex[1][0] = p.vertex & ~free;
    axis->vertex[1][1] = axis->vertex[1][0] | free;
    axis->vertex[1][2] = 8; /* a face is known by two opposite corners */
    return true;
}

/* a face, an edge along an axis of the box, or a corner; the surface is that of a vertex before */
static inline void set_box_surface(tg_surface *s, const tg_placed *box, const tg_axis *axis)
{
    static const int column[8] = {[2] = 1, [4] = 2}; /* of the one coordinate that differs along the edge */
    int along = axis->vertex[1][0] ^ axis->vertex[1][1];
    s->flat = axis->count[1] - 1;
    s->edge = box->R.c[column[along]] * v4_splat(s->flat & 1);
}

static void sphere_box(const tg_query *q, tg_patch *patch)
{
    double r = q->shape[0].size[0];
    tg_axis axis;
    if (!sphere_box_axis(&q->shape[0], &q->shape[1], q->reach + r, q->hint, &axis))
        return;
    if (q->dt > 0)
    {
        tg_axis chosen = axis; /* so that only a pair that moves has its axis in memory */
        if (choose_axis(q, sphere_box_axis, &chosen, patch))
            return;
        axis = chosen;
    }
    double distance = axis.separation - r;
    if (!(distance < q->reach))
        return;
    tg_contact_point *c = &patch->point[patch->count++];
    tg_init_point(c, axis.point[0] + axis.normal * v4_splat(0.5 * (axis.separation + r)), axis.normal, distance,
                  axis.margin, witness_id(&axis));
    c->when = axis.nearest ? TG_WHEN_NOW : TG_WHEN_OVER;
    c->surface[0].round = r;
    set_box_surface(&c->surface[1], &q->shape[1], &axis);
}

void tg_sphere_polytope(const tg_query *q, tg_patch *patch)
{
    if (q->shape[1].type == TG_GEOM_BOX)
        sphere_box(q, patch);
    else
        searched_patch(q, patch);
}

void tg_capsule_polytope(const tg_query *q, tg_patch *patch)
{
    searched_patch(q, patch);
}
