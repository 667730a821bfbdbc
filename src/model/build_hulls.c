/* Hulls of meshes: faces where none were given, polytopes where a mesh collides, and what a hull adds to its mesh. */
#include <math.h>
#include <stdio.h>

#include "base/status.h"
#include "model/build.h"
#include "model/hull.h"

/* A mesh counts as convex when its hull adds less than this part to its volume, and as closed when its directed areas
 * add up to less than this part of its area. */
#define TOLERANCE 1e-4

static tg_status mesh_failed(tg_build *w, int mesh, tg_status status, const tg_error *reason)
{
    return tg_fail(&w->b->error, status, "mesh '%.100s' (#%d): vertex: %.300s", tg_builder_name_of(w->b, TG_MESH, mesh),
                   mesh, reason->message);
}

/* ---- meshes without faces ---- */

static tg_status make_faces(tg_build *w, int mesh)
{
    const tg_mesh_item *item = TG_ITEM(w->b, MESH, mesh, mesh);
    tg_error reason = {0};
    if (item->def.nface > 0)
        return TG_OK;
    tg_status status = tg_convex_hull(&w->b->allocator, TG_LIST(w->b, VERTEX, double) + item->start[0],
                                      item->def.nvertex, &w->hull[mesh], &w->nhull[mesh], &reason);
    return status == TG_OK ? TG_OK : mesh_failed(w, mesh, status, &reason);
}

/* ---- meshes that collide ---- */

static tg_status make_polytope(tg_build *w, int mesh)
{
    const tg_mesh_item *item = TG_ITEM(w->b, MESH, mesh, mesh);
    tg_error reason = {0};
    if (w->polytope[mesh] != NULL)
        return TG_OK;
    const int *face = item->start[1] >= 0 ? TG_LIST(w->b, FACE, int) + item->start[1] : NULL;
    tg_status status =
        tg_polytope_of_mesh(&w->b->allocator, TG_LIST(w->b, VERTEX, double) + item->start[0], item->def.nvertex, face,
                            face != NULL ? item->def.nface : 0, &w->polytope[mesh], &reason);
    return status == TG_OK ? TG_OK : mesh_failed(w, mesh, status, &reason);
}

/* Meshes for looks alone need no hull: of the geoms that may collide, and of those that a pair names. */
static tg_status make_polytopes(tg_build *w)
{
    const tg_list *list = w->b->list;
    tg_status status = TG_OK;
    for (int g = 0; g < list[TG_GEOM].count && status == TG_OK; g++)
    {
        const tg_geom_def *geom = &TG_ITEM(w->b, GEOM, geom, g)->def;
        if (geom->type == TG_GEOM_MESH && (geom->contype != 0 || geom->conaffinity != 0))
            status = make_polytope(w, geom->mesh);
    }
    for (int p = 0; p < list[TG_PAIR].count && status == TG_OK; p++)
    {
        const tg_pair_def *pair = &TG_ITEM(w->b, PAIR, pair, p)->def;
        const int ends[2] = {pair->geom1, pair->geom2};
        for (int i = 0; i < 2 && status == TG_OK; i++)
        {
            const tg_geom_def *geom = &TG_ITEM(w->b, GEOM, geom, ends[i])->def;
            if (geom->type == TG_GEOM_MESH)
                status = make_polytope(w, geom->mesh);
        }
    }
    return status;
}

/* ---- what a hull adds ---- */

/* Sums over triangles, seen from an origin: six times the volume, twice the area, and twice the directed area. */
typedef struct surface
{
    double volume, area, directed[3];
} surface;

static void add_triangle(surface *s, const double *origin, const double *a, const double *b, const double *c)
{
    double u[3], v[3];
    for (int i = 0; i < 3; i++)
    {
        u[i] = b[i] - a[i];
        v[i] = c[i] - a[i];
    }
    const double n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
    s->volume += n[0] * (a[0] - origin[0]) + n[1] * (a[1] - origin[1]) + n[2] * (a[2] - origin[2]);
    s->area += sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int i = 0; i < 3; i++)
        s->directed[i] += n[i];
}

static surface mesh_surface(const tg_build *w, int mesh)
{
    const tg_mesh_item *item = TG_ITEM(w->b, MESH, mesh, mesh);
    const double *vertex = TG_LIST(w->b, VERTEX, double) + item->start[0];
    const int *face = TG_LIST(w->b, FACE, int) + item->start[1];
    surface s = {0};
    for (int f = 0; f < item->def.nface; f++)
        add_triangle(&s, vertex, vertex + 3 * face[3 * f], vertex + 3 * face[3 * f + 1], vertex + 3 * face[3 * f + 2]);
    return s;
}

static surface polytope_surface(const tg_polytope *p)
{
    surface s = {0};
    for (int i = 0; i < p->npolygon; i++)
    {
        const int *polygon = p->polygon + p->polygon_start[i];
        int n = p->polygon_start[i + 1] - p->polygon_start[i];
        for (int k = 2; k < n; k++)
            add_triangle(&s, p->vertex, p->vertex + 4 * polygon[0], p->vertex + 4 * polygon[k - 1],
                         p->vertex + 4 * polygon[k]);
    }
    return s;
}

/* A line in the report, for a mesh from a file. */
static tg_status report(tg_build *w, int mesh)
{
    const tg_place *place = tg_builder_place_of(w->b, TG_MESH, mesh);
    if (place == NULL || TG_ITEM(w->b, MESH, mesh, mesh)->def.nface == 0)
        return TG_OK;
    surface own = mesh_surface(w, mesh), hull = polytope_surface(w->polytope[mesh]);
    double volume = fabs(own.volume) / 6, added = hull.volume / 6 - volume;
    double gap =
        sqrt(own.directed[0] * own.directed[0] + own.directed[1] * own.directed[1] + own.directed[2] * own.directed[2]);
    bool open = gap > TOLERANCE * own.area;
    if (!open && added <= TOLERANCE * hull.volume / 6)
        return TG_OK;
    char element[200], note[200];
    snprintf(element, sizeof element, "mesh '%.150s'", tg_builder_name_of(w->b, TG_MESH, mesh));
    if (open)
        snprintf(note, sizeof note, "collides as its convex hull, of %.4g m^3; its surface is not closed",
                 hull.volume / 6);
    else
        snprintf(note, sizeof note,
                 "is not convex and collides as its hull, which adds %.4g m^3 to its %.4g m^3 (%.3g %%)", added, volume,
                 100 * added / volume);
    char file[4096]; /* a copy: the report moves the text of the builder */
    snprintf(file, sizeof file, "%s", TG_LIST(w->b, TEXT, char) + place->file);
    tg_report_entry entry = {TG_REPORT_APPROXIMATED, file, place->line, element, "", note};
    return tg_builder_report(w->b, &entry);
}

/* ---- all of it ---- */

tg_status tg_build_hulls(tg_build *w)
{
    int nmesh = w->b->list[TG_MESH].count;
    w->hull = tg_alloc(&w->b->allocator, (size_t)nmesh * sizeof *w->hull);
    w->nhull = tg_alloc(&w->b->allocator, (size_t)nmesh * sizeof *w->nhull);
    w->polytope = tg_alloc(&w->b->allocator, (size_t)nmesh * sizeof(void *));
    if (w->hull == NULL || w->nhull == NULL || w->polytope == NULL)
        return tg_fail(&w->b->error, TG_ERR_MEMORY, "model: out of memory for %d meshes", nmesh);
    tg_status status = TG_OK;
    for (int mesh = 0; mesh < nmesh && status == TG_OK; mesh++)
        status = make_faces(w, mesh);
    if (status == TG_OK)
        status = make_polytopes(w);
    for (int mesh = 0; mesh < nmesh && status == TG_OK; mesh++)
        status = w->polytope[mesh] != NULL ? report(w, mesh) : TG_OK;
    return status;
}

void tg_build_free_hulls(tg_build *w)
{
    int nmesh = w->b->list[TG_MESH].count;
    for (int mesh = 0; mesh < nmesh && w->hull != NULL; mesh++)
        tg_free(&w->b->allocator, w->hull[mesh]);
    for (int mesh = 0; mesh < nmesh && w->polytope != NULL; mesh++)
        tg_polytope_destroy(&w->b->allocator, w->polytope[mesh]);
    tg_free(&w->b->allocator, w->hull);
    tg_free(&w->b->allocator, w->nhull);
    tg_free(&w->b->allocator, w->polytope);
}
