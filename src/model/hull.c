#include "model/hull.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "model/inertia.h"
#include "model/small_hull.h"

#ifdef TG_HAVE_QHULL

#include <libqhull_r/qhull_ra.h>
#include <stdio.h>

/* The three corners of a facet, counter-clockwise along its outward normal. */
static void facet_corners(qhT *qh, facetT *facet, const double *point, int corner[3])
{
    vertexT *vertex, **vertexp; /* the names that the macro below uses */
    int count = 0;
    FOREACHvertex_(facet->vertices)
    {
        if (count < 3)
            corner[count++] = qh_pointid(qh, vertex->point);
    }
    const double *a = point + 3 * corner[0];
    const double *b = point + 3 * corner[1];
    const double *c = point + 3 * corner[2];
    const double ab[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
    const double ac[3] = {c[0] - a[0], c[1] - a[1], c[2] - a[2]};
    double side = facet->normal[0] * (ab[1] * ac[2] - ab[2] * ac[1]) +
                  facet->normal[1] * (ab[2] * ac[0] - ab[0] * ac[2]) +
                  facet->normal[2] * (ab[0] * ac[1] - ab[1] * ac[0]);
    if (side < 0)
    {
        int swap = corner[1];
        corner[1] = corner[2];
        corner[2] = swap;
    }
}

static tg_status collect(qhT *qh, const tg_allocator *allocator, const double *vertex, int **face, int *nface,
                         tg_error *error)
{
    facetT *facet;
    int count = 0;
    FORALLfacets
    {
        count++;
    }
    *face = tg_alloc(allocator, 3 * (size_t)count * sizeof **face);
    if (*face == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "out of memory for a hull of %d triangles", count);
    *nface = 0;
    FORALLfacets
    {
        facet_corners(qh, facet, vertex, *face + 3 * (*nface)++);
    }
    return TG_OK;
}

/* Principal axes of the points as rows of `axis`, each divided by how far the points reach along it, where they are a
 * thin plate or needle; false where they are not, or flat. A hull has the same triangles in any such frame, but in its
 * own one the hull code may merge the facets of a plate without end. */
static bool find_frame(const double *vertex, int nvertex, double axis[9])
{
    const double thin = 1e-4, flat = 1e-9; /* of the longest: far from what is usual, and from rounding */
    double mean[3] = {0}, spread[6] = {0}, moment[3], R[9], extent[3];
    for (int i = 0; i < 3 * nvertex; i++)
        mean[i % 3] += vertex[i] / nvertex;
    for (int i = 0; i < nvertex; i++)
    {
        const double *p = vertex + 3 * (ptrdiff_t)i;
        double x = p[0] - mean[0], y = p[1] - mean[1], z = p[2] - mean[2];
        const double square[6] = {x * x, y * y, z * z, x * y, x * z, y * z};
        for (int k = 0; k < 6; k++)
            spread[k] += square[k];
    }
    tg_principal_axes(spread, moment, R);
    for (int k = 0; k < 3; k++)
    {
        double least = INFINITY, most = -INFINITY;
        for (int i = 0; i < nvertex; i++)
        {
            double x = 0;
            for (int j = 0; j < 3; j++)
                x += R[3 * j + k] * (vertex[3 * i + j] - mean[j]);
            least = fmin(least, x);
            most = fmax(most, x);
        }
        extent[k] = most - least;
    }
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++)
            axis[3 * k + j] = R[3 * j + k] / extent[k];
    return extent[2] < thin * extent[0] && extent[2] > flat * extent[0];
}

static void turn_into(const double axis[9], const double *vertex, int nvertex, double *out)
{
    for (int i = 0; i < 3 * nvertex; i++)
    {
        const double *p = vertex + (ptrdiff_t)(i / 3) * 3, *a = axis + 3 * (i % 3);
        out[i] = a[0] * (p[0] - vertex[0]) + a[1] * (p[1] - vertex[1]) + a[2] * (p[2] - vertex[2]);
    }
}

static tg_status hull_of(const tg_allocator *allocator, const double *vertex, int nvertex, int **face, int *nface,
                         tg_error *error)
{
    char text[1024]; /* where the hull code writes what would otherwise go to the terminal; what does not fit is lost */
    FILE *messages = fmemopen(text, sizeof text, "w");
    if (messages == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "out of memory for the messages of the convex hull");
    char options[] = "qhull Qt";
    qhT qh;
    qh_zero(&qh, messages);
    /* the points are only read: ismalloc is false and no option moves them */
    int code = qh_new_qhull(&qh, 3, nvertex, (coordT *)vertex, False, options, NULL, messages);
    tg_status status = TG_OK;
    if (code == 0)
        status = collect(&qh, allocator, vertex, face, nface, error);
    else if (code == qh_ERRmem)
        status = tg_fail(error, TG_ERR_MEMORY, "out of memory in the convex hull of %d vertices", nvertex);
    else
        status = tg_fail(error, TG_ERR_MODEL, "the %d vertices have no convex hull with a volume", nvertex);
    int remaining = 0;
    int total = 0;
    qh_freeqhull(&qh, !qh_ALL);
    qh_memfreeshort(&qh, &remaining, &total);
    fclose(messages);
    return status;
}

static tg_status full_hull(const tg_allocator *allocator, const double *vertex, int nvertex, int **face, int *nface,
                           tg_error *error)
{
    double axis[9];
    if (!find_frame(vertex, nvertex, axis))
        return hull_of(allocator, vertex, nvertex, face, nface, error);
    double *turned = tg_alloc(allocator, 3 * (size_t)nvertex * sizeof *turned);
    if (turned == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "out of memory for a hull of %d points", nvertex);
    turn_into(axis, vertex, nvertex, turned);
    tg_status status = hull_of(allocator, turned, nvertex, face, nface, error);
    tg_free(allocator, turned);
    return status;
}

#else

static tg_status full_hull(const tg_allocator *allocator, const double *vertex, int nvertex, int **face, int *nface,
                           tg_error *error)
{
    (void)allocator, (void)vertex, (void)face, (void)nface;
    return tg_fail(error, TG_ERR_UNSUPPORTED, "a mesh without faces (%d vertices) needs a build with qhull", nvertex);
}

#endif

tg_status tg_convex_hull(const tg_allocator *allocator, const double *vertex, int nvertex, int **face, int *nface,
                         tg_error *error)
{
    int few[3 * TG_SMALL_HULL_FACES];
    *face = NULL;
    *nface = 0;
    if (!tg_small_hull(vertex, nvertex, few, nface))
        return full_hull(allocator, vertex, nvertex, face, nface, error);
    size_t bytes = 3 * (size_t)*nface * sizeof *few;
    *face = tg_alloc(allocator, bytes);
    if (*face == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "out of memory for a hull of %d triangles", *nface);
    memcpy(*face, few, bytes);
    return TG_OK;
}
