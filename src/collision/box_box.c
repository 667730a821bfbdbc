/* Two boxes: the best of the fifteen axes, now or after dt, and its patch. */
#include "collision/polytope.h"

#include <math.h>

#include "collision/ahead.h"

#define EXACT 1e-13 /* of the extent: rounding */
#define NEARLY 0.01 /* rad: a face or edge of a box that is turned by less against a face of another lies on it */
#define OTHER 1e-6  /* of a cosine: how much better the second box's face must be to count */

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
        v4 n = tg_box_normal(&q->shape[0], &q->shape[1], k);
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
        v4 n = tg_box_normal(&q->shape[0], &q->shape[1], k);
        if (1 - fabs(v4_dot(n, normal)) > 0.5 * angle * angle)
            least = margin;
    }
    return least;
}

/* The points that hold the axis lie opposite each other. */
static bool opposite(const tg_query *q, const tg_axis *axis)
{
    v4 between = axis->point[1] - axis->point[0] - axis->normal * v4_splat(axis->separation);
    return v4_length(between) <= TG_TIE * box_extent(q);
}

/* The boxes are apart, and `axis` is the one of the fifteen along which they are farthest apart: it is the direction
 * between the nearest points if the points that hold it lie opposite each other. Otherwise that is searched for. */
static bool nearest_box_patch(const tg_query *q, tg_axis *axis, tg_patch *patch)
{
    if (tg_add_face_points(q, axis, EXACT, patch))
        return true;
    if (axis->count[0] == 2 && axis->count[1] == 2 && opposite(q, axis))
    {
        tg_add_axis_point(q, axis, patch);
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
    int vertex[2] = {-1, -1};
    double apart = tg_separation_along(&q->shape[0], &q->shape[1], there.normal, vertex) + q->slack;
    if (apart < 0 || !opposite(q, &there))
    {
        axis->margin = TG_NO_DERIVATIVE;
        return false;
    }
    tg_query then = *q;
    tg_patch ahead;
    ahead.count = 0;
    then.shape[0] = moved[0];
    then.shape[1] = moved[1];
    then.reach = INFINITY;
    tg_add_axis_point(&then, &there, &ahead);
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
    double turned = sqrt(2 * tg_most(1 - cosine, 0));
    return turned < NEARLY ? NEARLY - tg_most(turned, edge_out_of(q, 1 - i, n)) : NEARLY - turned;
}

/* A face on which a face or an edge of the other box nearly lies. */
typedef struct resting_face
{
    int box; /* whose it is, -1: there is none */
    v4 normal;
    double room; /* rad: until it is another one, or none */
} resting_face;

static resting_face find_face(const tg_query *q, v4 axis)
{
    v4 n[2] = {axis, axis};
    double cosine[2] = {face_along(q, 0, &n[0]), face_along(q, 1, &n[1])};
    double room[2] = {lies_on(q, 0, cosine[0], n[0]), lies_on(q, 1, cosine[1], n[1])};
    if (!(room[0] > 0 || room[1] > 0))
        return (resting_face){.box = -1};
    int box = !(room[0] > 0) || (room[1] > 0 && cosine[1] > cosine[0] + OTHER);
    return (resting_face){box, n[box], tg_least(fabs(room[0]), fabs(room[1]))};
}

/* Of a pair that moves, the points over such a face. What holds the axis, two edges that cross or the lowest vertex, is
 * one of many there; on that one alone the boxes would rock from corner to corner, and sink in. */
static bool add_faces(const tg_query *q, const tg_axis *axis, const resting_face *face, tg_patch *patch)
{
    int vertex[2] = {axis->vertex[0][0], axis->vertex[1][0]};
    tg_axis flat = *axis;
    flat.normal = face->normal;
    flat.separation = tg_separation_along(&q->shape[0], &q->shape[1], flat.normal, vertex);
    flat.margin = tg_least(flat.margin, face->room * box_extent(q));
    for (int i = 0; i < 2; i++)
        flat.vertex[i][0] = vertex[i];
    int polygon = tg_parallel_polygon(q, &flat, face->box);
    if (polygon >= 0 && tg_clip(q, &flat, face->box, polygon, false, patch) < INFINITY)
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
    double tie = TG_TIE * box_extent(q);
    int chosen = best_box_axis(&after, now, -q->slack, tie);
    if (after.separation[best] >= after.separation[chosen] - tie)
        chosen = best;
    tg_axis axis = tg_box_axis(&q->shape[0], &q->shape[1], now, chosen), nearest;
    resting_face face = find_face(q, axis.normal);
    if (face.box >= 0)
    {
        axis.margin = moving_margin(q, now, &after, chosen, axis.normal, NEARLY);
        if (add_faces(q, &axis, &face, patch))
            return;
    }
    axis.margin = moving_margin(q, now, &after, chosen, axis.normal, TG_PARALLEL);
    if (now->separation[best] > 0)
    {
        axis.nearest = true;
        if (chosen == best && nearest_box_patch(q, &axis, patch))
            return;
        axis.nearest = false;
        if (!tg_search_axis(&q->shape[0], &q->shape[1], INFINITY, q->hint, &nearest))
            return;
        if (!(nearest.separation - tg_roundings(q) < q->reach))
            return;
        double there = tg_separation_after(q, moved, &nearest) - after.separation[chosen] - tie;
        if (there > 0)
            axis = nearest;
        axis.margin = tg_least(axis.margin, fabs(there));
    }
    else
        axis.nearest = chosen == best;
    if (!(chosen >= 6 && !axis.nearest && extend_edges(q, moved, &after, chosen, &axis, patch)))
        tg_add_axis(q, &axis, patch);
}

void tg_box_patch(const tg_query *q, tg_patch *patch)
{
    tg_box_axes s = tg_box_separations(&q->shape[0], &q->shape[1]);
    double tie = TG_TIE * box_extent(q);
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
    resting_face face = q->dt > 0 ? find_face(q, axis.normal) : (resting_face){.box = -1};
    if (face.box >= 0)
    {
        axis.margin = box_margin(q, &s, best, axis.normal, NEARLY);
        if (add_faces(q, &axis, &face, patch))
            return;
    }
    axis.margin = apart ? INFINITY : box_margin(q, &s, best, axis.normal, TG_PARALLEL);
    if (apart &&
        (nearest_box_patch(q, &axis, patch) || !tg_search_axis(&q->shape[0], &q->shape[1], q->reach, q->hint, &axis)))
        return;
    tg_add_axis(q, &axis, patch);
}
