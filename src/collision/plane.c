/* A plane against everything: closed forms. The plane is the first shape; its outward normal, z of its frame, is the
 * normal of every point. A plane is a face (flat 2), so each point is a material point, or the support point, of the
 * other shape. */
#include <math.h>

#include "collision/gjk.h"
#include "collision/patch.h"
#include "collision/polytope.h"
#include "collision/surface.h"

/* Adds the point s of the second shape (or of its core, rounded by r), `distance` above the plane, if it is within
 * reach. */
static inline void add_at(const tg_query *q, tg_patch *patch, v4 n, v4 s, double r, double distance,
                          const tg_surface *surface, double margin, uint32_t feature)
{
    if (!(distance < q->reach) || patch->count == TG_PATCH_MAX)
        return;
    tg_contact_point *c = &patch->point[patch->count++];
    tg_init_point(c, s - n * v4_splat(r + 0.5 * distance), n, distance, margin, feature);
    c->surface[0].flat = 2;
    c->surface[1] = *surface;
}

static inline void add_point(const tg_query *q, tg_patch *patch, v4 s, double r, tg_surface surface, uint32_t feature)
{
    v4 n = q->shape[0].R.c[2];
    add_at(q, patch, n, s, r, v4_dot(n, s - q->shape[0].x) - r, &surface, INFINITY, feature);
}

void tg_plane_sphere(const tg_query *q, tg_patch *patch)
{
    double r = q->shape[1].size[0];
    add_point(q, patch, q->shape[1].x, r, tg_surface_round(r), 0);
}

/* both ends, each a sphere */
void tg_plane_capsule(const tg_query *q, tg_patch *patch)
{
    const tg_placed *c = &q->shape[1];
    v4 half = c->R.c[2] * v4_splat(c->size[1]);
    double r = c->size[0];
    add_point(q, patch, c->x - half, r, tg_surface_round(r), 0);
    add_point(q, patch, c->x + half, r, tg_surface_round(r), 1);
}

void tg_plane_ellipsoid(const tg_query *q, tg_patch *patch)
{
    const tg_placed *p = &q->shape[1];
    v4 down = -q->shape[0].R.c[2], r = v4_load(p->size),
       scaled = mat3_mul_t(p->R, down) * r; /* support point: D d / sqrt(d.D d), D = diag(r^2) */
    double h = sqrt(v4_dot(scaled, scaled)), distance = v4_dot(p->x - q->shape[0].x, q->shape[0].R.c[2]) - h;
    if (!(distance < q->reach))
        return;
    tg_surface surface = tg_surface_ellipsoid(p, down);
    add_at(q, patch, -down, p->x + mat3_mul(p->R, scaled * r * v4_splat(1 / h)), 0, distance, &surface, INFINITY, 0);
}

/* ---- cylinder ---- */

/* The deepest point of each rim, where the cylinder is tilted (its side's line when it lies), and fixed points of the
 * lower rim (tg_rim_point_counts): a cylinder that stands has no deepest point. Below a tilt of 1e-5 only the four
 * fixed ones are left. A fixed point that the deepest one is in is left out. Heights are linear: that of the centre, of
 * the half axis and of the arms along x and y are enough. */
void tg_plane_cylinder(const tg_query *q, tg_patch *patch)
{
    const tg_placed *c = &q->shape[1];
    v4 n = q->shape[0].R.c[2], axis = c->R.c[2];
    double radius = c->size[0], along = v4_dot(n, axis), lower = along > 0 ? -1 : 1;
    v4 radial = axis * v4_splat(along) - n; /* downhill, in the plane of the rims */
    double tilt = sqrt(v4_dot(radial, radial)), height = v4_dot(n, c->x - q->shape[0].x);
    v4 half = axis * v4_splat(lower * c->size[1]), centre = c->x + half;
    double rise = fabs(along) * c->size[1], low = height - rise, down = tilt * radius;
    if (!(low - down < q->reach))
        return;
    v4 unit = radial * v4_splat(1 / tilt);
    bool tilted = tilt >= 1e-5;
    if (tilted)
    {
        uint32_t first = lower < 0 ? 0 : 1;
        v4 arm = unit * v4_splat(radius);
        tg_surface rim = {.edge = v4_cross(axis, unit), .bend = radius / tilt};
        add_at(q, patch, n, centre + arm, 0, low - down, &rim, INFINITY, first);
        add_at(q, patch, n, c->x - half + arm, 0, height + rise - down, &rim, INFINITY, 1 - first);
    }
    tg_surface vertex = tg_surface_vertex();
    uint32_t feature = lower < 0 ? 2 : 6;
    for (int i = 0; i < 4; i++)
    {
        double side = i % 2 == 0 ? 1 : -1;
        v4 out = c->R.c[i / 2] * v4_splat(side), off = out - unit;
        if (tilted && (v4_dot(off, off) < 1e-18 || !tg_rim_point_counts(q, 1, n, out, unit)))
            continue;
        add_at(q, patch, n, centre + out * v4_splat(radius), 0, low + radius * v4_dot(n, out), &vertex, INFINITY,
               feature + (uint32_t)i);
    }
}

/* ---- boxes and meshes ---- */

/* A plane under a mesh, in the frame of the mesh. */
typedef struct floor_below
{
    v4 down;       /* against the plane's normal, frame of the mesh */
    double height; /* of the mesh's origin */
} floor_below;

static inline void add_vertex(const tg_query *q, const floor_below *f, tg_patch *patch, int vertex, double margin)
{
    const tg_placed *p = &q->shape[1];
    v4 local = tg_core_local(p, vertex);
    double distance = f->height - v4_dot(f->down, local);
    tg_surface sharp = tg_surface_vertex();
    if (distance < q->reach)
        add_at(q, patch, q->shape[0].R.c[2], p->x + mat3_mul(p->R, local), 0, distance, &sharp, margin,
               (uint32_t)vertex);
}

/* Of a polygon with more corners than a patch: the choice of tg_select, along directions that are fixed in the
 * polygon. */
static void add_chosen(const tg_query *q, const floor_below *f, tg_patch *patch, int polygon, double margin)
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
    v4 up = -f->down, u = e * v4_splat(1 / sqrt(v4_dot(e, e)));
    v4 v = v4_cross(tg_scaled_normal(p, polygon), u);
    for (int i = 0; i < count; i += step)
    {
        v4 d = tg_core_local(p, corner[i]) - o;
        vertex[n] = corner[i];
        at[n++] = v4_set(v4_dot(u, d), v4_dot(v, d), v4_dot(up, d), 0);
    }
    int kept = tg_select(at, n, which);
    for (int i = 0; i < kept; i++)
        add_vertex(q, f, patch, vertex[which[i]], margin);
}

/* The corners of the face that looks down most. Along the box's own axes the plane's normal has the components u: the
 * face is across the largest of them, on the side against its sign. Vertex i of the box is + along x, y, z where its
 * bits 0, 1, 2 are set. */
static void plane_box(const tg_query *q, tg_patch *patch)
{
    const tg_placed *p = &q->shape[1];
    v4 n = q->shape[0].R.c[2], u = mat3_mul_t(p->R, n), h = v4_load(p->size);
    double size[3] = {fabs(u[0]), fabs(u[1]), fabs(u[2])}, height = v4_dot(n, p->x - q->shape[0].x);
    if (!(height - size[0] * h[0] - size[1] * h[1] - size[2] * h[2] < q->reach))
        return;
    int k = size[1] > size[0] ? 1 : 0;
    k = size[2] > size[k] ? 2 : k;
    int i = k == 0 ? 1 : 0, j = k == 2 ? 1 : 2, up = u[k] <= 0;
    double side = 2 * up - 1, rise_i = u[i] * h[i], rise_j = u[j] * h[j];
    v4 half_i = p->R.c[i] * v4_splat(h[i]), half_j = p->R.c[j] * v4_splat(h[j]);
    v4 middle = p->x + p->R.c[k] * v4_splat(side * h[k]);
    height -= size[k] * h[k];
    /* another face looks down most when the box has turned by that */
    double margin = (size[k] - tg_most(size[i], size[j])) * sqrt(v4_dot(h, h));
    tg_surface vertex = tg_surface_vertex();
    for (int corner = 0; corner < 4; corner++)
    {
        int plus_i = corner & 1, plus_j = corner >> 1;
        double along_i = 2 * plus_i - 1, along_j = 2 * plus_j - 1;
        v4 s = middle + half_i * v4_splat(along_i) + half_j * v4_splat(along_j);
        add_at(q, patch, n, s, 0, height + along_i * rise_i + along_j * rise_j, &vertex, margin,
               (uint32_t)(up << k | plus_i << i | plus_j << j));
    }
}

/* The corners of the face that looks down most, among those around the lowest vertex. */
static void plane_mesh(const tg_query *q, tg_patch *patch)
{
    const tg_placed *p = &q->shape[1];
    const tg_polytope *t = p->polytope;
    v4 n = q->shape[0].R.c[2];
    floor_below f = {mat3_mul_t(p->R, -n), v4_dot(n, p->x - q->shape[0].x)};
    int lowest = -1;
    v4 arm = tg_support_local(p, f.down, &lowest);
    if (!(f.height - v4_dot(f.down, arm) < q->reach))
        return;
    if (t->npolygon == 0) /* a point or a segment */
    {
        for (int i = 0; i < t->nvertex; i++)
            add_vertex(q, &f, patch, i, INFINITY);
        return;
    }
    double cosine, second;
    int polygon = tg_facing_polygon(p, lowest, f.down, &cosine, &second);
    int first = t->polygon_start[polygon], count = t->polygon_start[polygon + 1] - first;
    /* another face looks down most when the shape has turned by that */
    double margin = (cosine - second) * sqrt(v4_dot(arm, arm));
    if (count > TG_PATCH_MAX)
        add_chosen(q, &f, patch, polygon, margin);
    else
        for (int i = 0; i < count; i++)
            add_vertex(q, &f, patch, t->polygon[first + i], margin);
}

void tg_plane_polytope(const tg_query *q, tg_patch *patch)
{
    if (q->shape[1].type == TG_GEOM_BOX)
        plane_box(q, patch);
    else
        plane_mesh(q, patch);
}
