/* A sphere against a box, in closed form. */
#include "collision/polytope.h"

#include <math.h>

#include "collision/surface.h"

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
    double separation = v4_length(d);
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
    if (!(p.separation > TG_TIE * (h[0] + h[1] + h[2])))
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

void tg_sphere_box(const tg_query *q, tg_patch *patch)
{
    double r = q->shape[0].size[0];
    tg_axis axis;
    if (!sphere_box_axis(&q->shape[0], &q->shape[1], q->reach + r, q->hint, &axis))
        return;
    if (q->dt > 0)
    {
        tg_axis chosen = axis; /* so that only a pair that moves has its axis in memory */
        if (tg_choose_axis(q, sphere_box_axis, &chosen, patch))
            return;
        axis = chosen;
    }
    double distance = axis.separation - r;
    if (!(distance < q->reach))
        return;
    tg_contact_point *c = &patch->point[patch->count++];
    tg_init_point(c, axis.point[0] + axis.normal * v4_splat(0.5 * (axis.separation + r)), axis.normal, distance,
                  axis.margin, tg_witness_id(&axis));
    c->when = axis.nearest ? TG_WHEN_NOW : TG_WHEN_OVER;
    c->surface[0].round = r;
    set_box_surface(&c->surface[1], &q->shape[1], &axis);
}
