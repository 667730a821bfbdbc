/* A plane against everything: closed forms. The plane is the first shape; its outward normal, z of its frame, is the
 * normal of every point. A plane is a face (flat 2), so each point is a material point, or the support point, of the
 * other shape. */
#include <math.h>

#include "collision/polytope.h"
#include "collision/surface.h"

/* Adds the point s of the second shape (or of its core, rounded by r) if it is within reach, as a vertex; NULL: it
 * is not. */
static tg_contact_point *add_point(const tg_query *q, tg_patch *patch, v4 s, double r, uint32_t feature)
{
    v4 n = q->shape[0].R.c[2];
    double distance = v4_dot(n, s - q->shape[0].x) - r;
    if (!(distance < q->reach) || patch->count == TG_PATCH_MAX)
        return NULL;
    tg_contact_point *c = &patch->point[patch->count++];
    tg_init_point(c, s - n * v4_splat(r + 0.5 * distance), n, distance, INFINITY, feature);
    c->surface[0].flat = 2;
    return c;
}

static void add_surface_point(const tg_query *q, tg_patch *patch, v4 s, double r, tg_surface surface, uint32_t feature)
{
    tg_contact_point *c = add_point(q, patch, s, r, feature);
    if (c != NULL)
        c->surface[1] = surface;
}

void tg_plane_sphere(const tg_query *q, tg_patch *patch)
{
    double r = q->shape[1].size[0];
    add_surface_point(q, patch, q->shape[1].x, r, tg_surface_round(q->shape[0].R.c[2], r), 0);
}

/* both ends, each a sphere */
void tg_plane_capsule(const tg_query *q, tg_patch *patch)
{
    const tg_placed *c = &q->shape[1];
    v4 half = c->R.c[2] * v4_splat(c->size[1]);
    tg_surface round = tg_surface_round(q->shape[0].R.c[2], c->size[0]);
    add_surface_point(q, patch, c->x - half, c->size[0], round, 0);
    add_surface_point(q, patch, c->x + half, c->size[0], round, 1);
}

void tg_plane_ellipsoid(const tg_query *q, tg_patch *patch)
{
    v4 down = -q->shape[0].R.c[2];
    add_surface_point(q, patch, tg_support(&q->shape[1], down, NULL), 0, tg_surface_ellipsoid(&q->shape[1], down), 0);
}

/* ---- cylinder ---- */

/* Four points of a rim, fixed in the cylinder, but for the one that the deepest point (at `deepest` from the centre) is
 * in. */
static void add_fixed_rim(const tg_query *q, tg_patch *patch, v4 centre, v4 deepest, uint32_t feature)
{
    const tg_placed *c = &q->shape[1];
    for (int i = 0; i < 4; i++)
    {
        v4 arm = c->R.c[i / 2] * v4_splat(i % 2 == 0 ? c->size[0] : -c->size[0]), off = arm - deepest;
        if (v4_dot(off, off) < 1e-18 * v4_dot(arm, arm))
            continue;
        add_point(q, patch, centre + arm, 0, feature + (uint32_t)i);
    }
}

/* The deepest point of each rim, where the cylinder is tilted (its side's line when it lies), and four fixed points
 * of the lower rim: a cylinder that stands has no deepest point. Below a tilt of 1e-5 only the fixed ones are left. */
void tg_plane_cylinder(const tg_query *q, tg_patch *patch)
{
    const tg_placed *c = &q->shape[1];
    v4 n = q->shape[0].R.c[2], axis = c->R.c[2];
    double along = v4_dot(n, axis), lower = along > 0 ? -1 : 1;
    v4 radial = axis * v4_splat(along) - n; /* downhill, in the plane of the rims */
    double tilt = sqrt(v4_dot(radial, radial));
    v4 half = axis * v4_splat(lower * c->size[1]), arm = v4_zero();
    if (tilt >= 1e-5)
    {
        arm = radial * v4_splat(c->size[0] / tilt);
        tg_surface rim = tg_surface_rim(axis, radial * v4_splat(1 / tilt), -n, c->size[0]);
        add_surface_point(q, patch, c->x + half + arm, 0, rim, lower < 0 ? 0 : 1);
        add_surface_point(q, patch, c->x - half + arm, 0, rim, lower < 0 ? 1 : 0);
    }
    add_fixed_rim(q, patch, c->x + half, arm, lower < 0 ? 2 : 6);
}

/* ---- boxes and meshes ---- */

static void add_vertex(const tg_query *q, tg_patch *patch, int vertex)
{
    add_point(q, patch, tg_core_vertex(&q->shape[1], vertex), 0, (uint32_t)vertex);
}

/* Of a polygon with more corners than a patch: the choice of tg_select, along directions that are fixed in the
 * polygon. */
static void add_chosen(const tg_query *q, tg_patch *patch, int polygon)
{
    enum
    {
        MOST = 256
    };
    const tg_placed *p = &q->shape[1];
    const int *corner = p->polytope->polygon + p->polytope->polygon_start[polygon];
    int count = p->polytope->polygon_start[polygon + 1] - p->polytope->polygon_start[polygon];
    int step = (count + MOST - 1) / MOST, n = 0, which[TG_PATCH_MAX], vertex[MOST];
    v4 o = tg_core_local(p, corner[0]), e = tg_core_local(p, corner[1]) - o, at[MOST];
    v4 up = mat3_mul_t(p->R, q->shape[0].R.c[2]), u = e * v4_splat(1 / sqrt(v4_dot(e, e)));
    v4 v = v4_cross(tg_scaled_normal(p, polygon), u);
    for (int i = 0; i < count; i += step)
    {
        v4 d = tg_core_local(p, corner[i]) - o;
        vertex[n] = corner[i];
        at[n++] = v4_set(v4_dot(u, d), v4_dot(v, d), v4_dot(up, d), 0);
    }
    int kept = tg_select(at, n, which);
    for (int i = 0; i < kept; i++)
        add_vertex(q, patch, vertex[which[i]]);
}

/* The corners of the face that looks down most, among those around the lowest vertex. */
void tg_plane_polytope(const tg_query *q, tg_patch *patch)
{
    const tg_placed *p = &q->shape[1];
    const tg_polytope *t = p->polytope;
    v4 n = q->shape[0].R.c[2];
    int lowest = -1;
    v4 s = tg_support(p, -n, &lowest);
    if (!(v4_dot(n, s - q->shape[0].x) < q->reach))
        return;
    if (t->npolygon == 0) /* a point or a segment */
    {
        for (int i = 0; i < t->nvertex; i++)
            add_vertex(q, patch, i);
        return;
    }
    double cosine, second;
    int polygon = tg_facing_polygon(p, lowest, -n, &cosine, &second);
    int first = t->polygon_start[polygon], count = t->polygon_start[polygon + 1] - first;
    if (count > TG_PATCH_MAX)
        add_chosen(q, patch, polygon);
    else
        for (int i = 0; i < count; i++)
            add_vertex(q, patch, t->polygon[first + i]);
    v4 arm = s - p->x;
    double margin =
        (cosine - second) * sqrt(v4_dot(arm, arm)); /* another face looks down most when the shape has turned by that */
    for (int i = 0; i < patch->count; i++)
        patch->point[i].margin = margin;
}
