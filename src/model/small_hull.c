/* Points are added one by one: the triangles that see a new point are taken away, and their rim is joined to it. Every
 * decision is taken with a margin far above rounding, or not at all; the result is checked against all points. */
#include "model/small_hull.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define FLAT 1e-12  /* of the extent: nearer to a plane is in it, and does not see it */
#define MARGIN 1e-9 /* of the extent: between the two it is not sure */
#define THIN 1e-4   /* height of a triangle, of the extent: the normal of a thinner one has an error above FLAT */

typedef struct triangle
{
    int corner[3];
    double normal[3], offset; /* outward, unit: n.x = offset */
    bool visible;
} triangle;

typedef struct hull
{
    const double *point;
    int npoint, nface;
    double extent, inside[3];
    triangle face[TG_SMALL_HULL_FACES];
    uint8_t seen[TG_SMALL_HULL_POINTS][TG_SMALL_HULL_POINTS]; /* directed edges of visible triangles */
} hull;

static const double *point_at(const hull *h, int i)
{
    return h->point + 3 * (size_t)i;
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void minus(const double a[3], const double b[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = a[i] - b[i];
}

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* How far point i is above a triangle. */
static double above(const hull *h, const triangle *t, int i)
{
    return dot(t->normal, point_at(h, i)) - t->offset;
}

/* A triangle that looks away from the inside; false if it is too thin, or there is no more room. */
static bool add_triangle(hull *h, int a, int b, int c)
{
    if (h->nface == TG_SMALL_HULL_FACES)
        return false;
    triangle *t = &h->face[h->nface++];
    double u[3], v[3], w[3];
    minus(point_at(h, b), point_at(h, a), u);
    minus(point_at(h, c), point_at(h, a), v);
    minus(point_at(h, c), point_at(h, b), w);
    cross(u, v, t->normal);
    double area = sqrt(dot(t->normal, t->normal)), longest = sqrt(fmax(dot(u, u), fmax(dot(v, v), dot(w, w))));
    if (!(area > THIN * h->extent * longest))
        return false;
    double side = dot(t->normal, point_at(h, a)) - dot(t->normal, h->inside) < 0 ? -1 : 1;
    for (int k = 0; k < 3; k++)
        t->normal[k] *= side / area;
    const int corner[3] = {a, side < 0 ? c : b, side < 0 ? b : c};
    memcpy(t->corner, corner, sizeof corner);
    t->offset = dot(t->normal, point_at(h, a));
    return true;
}

/* ---- the first four points ---- */

/* The point farthest from the span of the first n: a point, a line, a plane. */
static int farthest(const hull *h, const int *first, int n, double *distance)
{
    int best = -1;
    double u[3] = {0}, normal[3] = {0};
    *distance = 0;
    if (n > 1)
        minus(point_at(h, first[1]), point_at(h, first[0]), u);
    if (n > 2)
    {
        double v[3];
        minus(point_at(h, first[2]), point_at(h, first[0]), v);
        cross(u, v, normal);
    }
    for (int i = 0; i < h->npoint; i++)
    {
        double d[3], across[3];
        minus(point_at(h, i), point_at(h, first[0]), d);
        cross(u, d, across);
        double far = n == 1   ? sqrt(dot(d, d))
                     : n == 2 ? sqrt(dot(across, across) / dot(u, u))
                              : fabs(dot(normal, d)) / sqrt(dot(normal, normal));
        if (far > *distance)
        {
            *distance = far;
            best = i;
        }
    }
    return best;
}

static bool start(hull *h, int first[4])
{
    first[0] = 0;
    for (int n = 1; n < 4; n++)
    {
        double distance;
        first[n] = farthest(h, first, n, &distance);
        if (n == 1)
            h->extent = distance;
        if (first[n] < 0 || !(distance > THIN * h->extent))
            return false;
    }
    for (int k = 0; k < 3; k++)
    {
        for (int n = 0; n < 4; n++)
            h->inside[k] += point_at(h, first[n])[k] / 4;
    }
    return add_triangle(h, first[0], first[1], first[2]) && add_triangle(h, first[0], first[1], first[3]) &&
           add_triangle(h, first[0], first[2], first[3]) && add_triangle(h, first[1], first[2], first[3]);
}

/* ---- the others ---- */

/* Which triangles see the point; false if that is not sure of one. */
static bool look(hull *h, int point, bool *outside)
{
    *outside = false;
    for (int f = 0; f < h->nface; f++)
    {
        double height = above(h, &h->face[f], point);
        if (fabs(height) > FLAT * h->extent && fabs(height) < MARGIN * h->extent)
            return false;
        h->face[f].visible = height >= MARGIN * h->extent;
        *outside = *outside || h->face[f].visible;
    }
    return true;
}

/* Joins the rim of the visible triangles to the point, and takes them away. */
static bool join(hull *h, int point)
{
    int rim[TG_SMALL_HULL_FACES][2], nrim = 0, kept = 0;
    memset(h->seen, 0, sizeof h->seen);
    for (int f = 0; f < h->nface; f++)
    {
        const int *c = h->face[f].corner;
        for (int k = 0; k < 3 && h->face[f].visible; k++)
            h->seen[c[k]][c[(k + 1) % 3]] = 1;
    }
    for (int f = 0; f < h->nface; f++)
    {
        const int *c = h->face[f].corner;
        for (int k = 0; k < 3 && h->face[f].visible; k++)
        {
            int a = c[k], b = c[(k + 1) % 3];
            if (h->seen[b][a])
                continue;
            if (nrim == TG_SMALL_HULL_FACES)
                return false;
            rim[nrim][0] = a;
            rim[nrim++][1] = b;
        }
        if (!h->face[f].visible)
            h->face[kept++] = h->face[f];
    }
    h->nface = kept;
    bool done = true;
    for (int i = 0; i < nrim && done; i++)
        done = add_triangle(h, rim[i][0], rim[i][1], point);
    return done;
}

/* Every edge has two triangles, one in each sense. */
static bool is_closed(hull *h)
{
    memset(h->seen, 0, sizeof h->seen);
    for (int f = 0; f < h->nface; f++)
    {
        const int *c = h->face[f].corner;
        for (int k = 0; k < 3; k++)
        {
            if (h->seen[c[k]][c[(k + 1) % 3]]++ > 0)
                return false;
        }
    }
    for (int f = 0; f < h->nface; f++)
    {
        const int *c = h->face[f].corner;
        for (int k = 0; k < 3; k++)
        {
            if (!h->seen[c[(k + 1) % 3]][c[k]])
                return false;
        }
    }
    return true;
}

/* No point is above a triangle, and Euler's number is 2. */
static bool is_convex(const hull *h)
{
    bool corner[TG_SMALL_HULL_POINTS] = {false};
    int ncorner = 0;
    for (int f = 0; f < h->nface; f++)
    {
        const int *c = h->face[f].corner;
        for (int i = 0; i < h->npoint; i++)
        {
            if (!(above(h, &h->face[f], i) <= FLAT * h->extent))
                return false;
        }
        corner[c[0]] = corner[c[1]] = corner[c[2]] = true;
    }
    for (int i = 0; i < h->npoint; i++)
        ncorner += corner[i];
    return h->nface == 2 * ncorner - 4;
}

bool tg_small_hull(const double *point, int npoint, int *face, int *nface)
{
    hull h = {.point = point, .npoint = npoint};
    int first[4];
    if (npoint < 4 || npoint > TG_SMALL_HULL_POINTS || !start(&h, first))
        return false;
    for (int i = 0; i < npoint; i++)
    {
        bool outside, corner = i == first[0] || i == first[1] || i == first[2] || i == first[3];
        if (!corner && (!look(&h, i, &outside) || (outside && !join(&h, i))))
            return false;
    }
    if (!is_closed(&h) || !is_convex(&h))
        return false;
    for (int f = 0; f < h.nface; f++)
        memcpy(face + 3 * (size_t)f, h.face[f].corner, sizeof h.face[f].corner);
    *nface = h.nface;
    return true;
}
