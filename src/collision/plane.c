/* A plane against everything: closed forms. The plane is the first shape; its outward normal, z of its frame, is the normal of every point.
 * A plane is a face (flat 2), so each point is a material point, or the support point, of the other shape. */
#include <math.h>

#include "collision/narrow.h"
#include "collision/surface.h"

/* Adds the point s of the second shape (or of its core, rounded by r) if it is within reach. */
static void add_point(const tg_query *q, tg_patch *patch, v4 s, double r, tg_surface surface, uint32_t feature)
{
    v4 n = q->shape[0].R.c[2];
    double distance = v4_dot(n, s - q->shape[0].x) - r;
    if (!(distance < q->reach) || patch->count == TG_PATCH_MAX)
        return;
    patch->point[patch->count++] = (tg_contact_point){
        .point = s - n * v4_splat(r + 0.5 * distance),
        .normal = n,
        .distance = distance,
        .margin = INFINITY,
        .feature = feature,
        .kind = TG_POINT_WITNESS,
        .surface = {tg_surface_face(), surface},
    };
}

void tg_plane_sphere(const tg_query *q, tg_patch *patch)
{
    double r = q->shape[1].size[0];
    add_point(q, patch, q->shape[1].x, r, tg_surface_round(q->shape[0].R.c[2], r), 0);
}

/* both ends, each a sphere */
void tg_plane_capsule(const tg_query *q, tg_patch *patch)
{
    const tg_placed *c = &q->shape[1];
    v4 half = c->R.c[2] * v4_splat(c->size[1]);
    tg_surface round = tg_surface_round(q->shape[0].R.c[2], c->size[0]);
    add_point(q, patch, c->x - half, c->size[0], round, 0);
    add_point(q, patch, c->x + half, c->size[0], round, 1);
}

void tg_plane_ellipsoid(const tg_query *q, tg_patch *patch)
{
    v4 down = -q->shape[0].R.c[2];
    add_point(q, patch, tg_support(&q->shape[1], down, NULL), 0, tg_surface_ellipsoid(&q->shape[1], down), 0);
}

/* ---- cylinder ---- */

/* Four points of a rim, fixed in the cylinder. */
static void add_fixed_rim(const tg_query *q, tg_patch *patch, v4 centre, uint32_t feature)
{
    const tg_placed *c = &q->shape[1];
    for (int i = 0; i < 4; i++)
    {
        v4 arm = c->R.c[i / 2] * v4_splat(i % 2 == 0 ? c->size[0] : -c->size[0]);
        add_point(q, patch, centre + arm, 0, tg_surface_vertex(), feature + (uint32_t)i);
    }
}

/* The deepest point of each rim, where the cylinder is tilted (its side's line when it lies), and four fixed points of the lower rim: a cylinder that
 * stands has no deepest point. Below a tilt of 1e-5 only the fixed ones are left. */
void tg_plane_cylinder(const tg_query *q, tg_patch *patch)
{
    const tg_placed *c = &q->shape[1];
    v4 n = q->shape[0].R.c[2], axis = c->R.c[2];
    double along = v4_dot(n, axis), lower = along > 0 ? -1 : 1;
    v4 radial = axis * v4_splat(along) - n; /* downhill, in the plane of the rims */
    double tilt = sqrt(v4_dot(radial, radial));
    v4 half = axis * v4_splat(lower * c->size[1]);
    if (tilt >= 1e-5)
    {
        v4 arm = radial * v4_splat(c->size[0] / tilt);
        tg_surface rim = tg_surface_rim(axis, radial * v4_splat(1 / tilt), -n, c->size[0]);
        add_point(q, patch, c->x + half + arm, 0, rim, lower < 0 ? 0 : 1);
        add_point(q, patch, c->x - half + arm, 0, rim, lower < 0 ? 1 : 0);
    }
    add_fixed_rim(q, patch, c->x + half, lower < 0 ? 2 : 6);
}

/* ---- boxes and meshes ---- */

static v4 corner(const tg_placed *p, int vertex)
{
    v4 local = v4_load(p->polytope->vertex + 4 * vertex) * v4_load(p->size);
    return p->x + mat3_mul(p->R, local);
}

/* The deepest vertex's face that looks down most: its vertices are the patch. *gap: how much less the next one looks down. */
static int incident_polygon(const tg_placed *p, int vertex, v4 down, double *gap)
{
    const tg_polytope *t = p->polytope;
    v4 local = mat3_mul_t(p->R, down);
    double best = -INFINITY, second = -INFINITY;
    int found = t->around[t->around_start[vertex]];
    for (int i = t->around_start[vertex]; i < t->around_start[vertex + 1]; i++)
    {
        double facing = v4_dot(tg_scaled_normal(p, t->around[i]), local);
        if (facing > best)
        {
            second = best;
            best = facing;
            found = t->around[i];
        }
        else if (facing > second)
            second = facing;
    }
    *gap = best - second;
    return found;
}

/* The vertices of the face that looks down most, among those around the deepest vertex; of a face with more than eight, that vertex and every
 * (n / 8)-th after it. */
void tg_plane_polytope(const tg_query *q, tg_patch *patch)
{
    const tg_placed *p = &q->shape[1];
    const tg_polytope *t = p->polytope;
    v4 n = q->shape[0].R.c[2];
    int deepest = q->hint != NULL ? q->hint->vertex[1] : -1;
    v4 s = tg_support(p, -n, &deepest);
    if (q->hint != NULL)
        q->hint->vertex[1] = (uint16_t)deepest;
    if (v4_dot(n, s - q->shape[0].x) >= q->reach)
        return;
    if (t->npolygon == 0) /* a point or a segment */
    {
        for (int i = 0; i < t->nvertex; i++)
            add_point(q, patch, corner(p, i), 0, tg_surface_vertex(), (uint32_t)i);
        return;
    }
    double gap;
    int polygon = incident_polygon(p, deepest, -n, &gap);
    int first = t->polygon_start[polygon], count = t->polygon_start[polygon + 1] - first, start = 0;
    while (t->polygon[first + start] != deepest)
        start++;
    int points = count < TG_PATCH_MAX ? count : TG_PATCH_MAX;
    for (int i = 0; i < points; i++)
    {
        int vertex = t->polygon[first + (start + i * count / points) % count];
        add_point(q, patch, corner(p, vertex), 0, tg_surface_vertex(), (uint32_t)vertex);
    }
    v4 d = s - p->x;
    for (int i = 0; i < patch->count; i++) /* the face changes when the shape turns by about gap */
        patch->point[i].margin = gap * sqrt(v4_dot(d, d));
}
