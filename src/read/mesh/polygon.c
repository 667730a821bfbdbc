/* Polygons of a mesh file as triangles.
 *
 * Which diagonals are drawn shows in the mass of a mesh only where a polygon is not flat. So that masses agree with
 * MuJoCo's there too, the rules are those of the reader that it uses: a quadrilateral is cut along its shorter
 * diagonal; of a larger polygon, ears are cut off in order; arithmetic is in single precision. An ear is a corner whose
 * turn has the sign of the area that its first edge spans with the origin, and that contains no other corner, seen
 * along an axis. What remains without an ear is left out, and so is a polygon of more than 100 corners. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "read/mesh/mesh.h"

enum
{
    MOST_CORNERS = 100
};

typedef struct polygon
{
    tg_mesh_data *mesh;
    int *corner, n;
    int axis[2]; /* the plane in which it is cut */
    int64_t *budget;
} polygon;

static float coordinate(const tg_mesh_data *mesh, int vertex, int axis)
{
    return (float)mesh->vertex[3 * (size_t)vertex + (size_t)axis];
}

/* A product that is rounded before anything is added to it, on every machine. */
static float times(float a, float b)
{
    return (float)((double)a * (double)b);
}

static void add_triangle(tg_mesh_data *mesh, int a, int b, int c)
{
    const int face[3] = {a, b, c};
    memcpy(mesh->face + 3 * (size_t)mesh->nface, face, sizeof face);
    mesh->nface++;
}

static float squared_distance(const tg_mesh_data *mesh, int a, int b)
{
    float d[3];
    for (int k = 0; k < 3; k++)
        d[k] = coordinate(mesh, b, k) - coordinate(mesh, a, k);
    return times(d[0], d[0]) + times(d[1], d[1]) + times(d[2], d[2]);
}

static void cut_quadrilateral(tg_mesh_data *mesh, const int c[4])
{
    bool first = squared_distance(mesh, c[0], c[2]) < squared_distance(mesh, c[1], c[3]);
    add_triangle(mesh, c[0], c[1], first ? c[2] : c[3]);
    add_triangle(mesh, first ? c[0] : c[1], c[2], c[3]);
}

/* The plane of the first corner that is none of a straight line. */
static void choose_axes(polygon *p)
{
    p->axis[0] = 1;
    p->axis[1] = 2;
    for (int i = 0; i < p->n; i++)
    {
        float u[3], v[3], area[3];
        int a = p->corner[i], b = p->corner[(i + 1) % p->n], c = p->corner[(i + 2) % p->n];
        for (int k = 0; k < 3; k++)
        {
            u[k] = coordinate(p->mesh, b, k) - coordinate(p->mesh, a, k);
            v[k] = coordinate(p->mesh, c, k) - coordinate(p->mesh, b, k);
        }
        for (int k = 0; k < 3; k++)
            area[k] = fabsf(times(u[(k + 1) % 3], v[(k + 2) % 3]) - times(u[(k + 2) % 3], v[(k + 1) % 3]));
        if (!(area[0] > FLT_EPSILON || area[1] > FLT_EPSILON || area[2] > FLT_EPSILON))
            continue;
        if (!(area[0] > area[1] && area[0] > area[2]))
        {
            p->axis[0] = 0;
            p->axis[1] = area[2] > area[0] && area[2] > area[1] ? 1 : 2;
        }
        return;
    }
}

/* Whether a ray from the point along the first axis leaves the triangle once. */
static bool contains(float t[3][2], const float point[2])
{
    bool inside = false;
    for (int i = 0, j = 2; i < 3; j = i++)
    {
        if ((t[i][1] > point[1]) != (t[j][1] > point[1]) &&
            point[0] < times(t[j][0] - t[i][0], point[1] - t[i][1]) / (t[j][1] - t[i][1]) + t[i][0])
            inside = !inside;
    }
    return inside;
}

static void project(const polygon *p, int corner, float out[2])
{
    for (int k = 0; k < 2; k++)
        out[k] = coordinate(p->mesh, p->corner[corner % p->n], p->axis[k]);
}

/* Whether corners i, i + 1, i + 2 are an ear. */
static bool is_ear(const polygon *p, int i)
{
    float t[3][2];
    for (int k = 0; k < 3; k++)
        project(p, i + k, t[k]);
    float turn = times(t[1][0] - t[0][0], t[2][1] - t[1][1]) - times(t[1][1] - t[0][1], t[2][0] - t[1][0]);
    float area = times(t[0][0], t[1][1]) - times(t[0][1], t[1][0]);
    if (turn * area < 0)
        return false;
    for (int k = 3; k < p->n; k++)
    {
        float point[2];
        project(p, i + k, point);
        if (contains(t, point))
            return false;
    }
    return true;
}

static void cut_ear(polygon *p, int i)
{
    int gone = (i + 1) % p->n;
    add_triangle(p->mesh, p->corner[i % p->n], p->corner[gone], p->corner[(i + 2) % p->n]);
    memmove(p->corner + gone, p->corner + gone + 1, (size_t)(p->n - 1 - gone) * sizeof *p->corner);
    p->n--;
}

/* Ends when as many corners in a row as there were are no ear, or the last of them is one; or when the budget is spent.
 */
static void cut_ears(polygon *p)
{
    int tries = p->n, before = p->n;
    for (int i = 0; p->n > 3 && tries > 0 && *p->budget > 0;)
    {
        tries = p->n != before ? p->n : tries - 1;
        before = p->n;
        *p->budget -= p->n;
        i = i < p->n ? i : i - p->n;
        if (is_ear(p, i))
            cut_ear(p, i);
        else
            i++;
    }
}

void tg_mesh_add_polygon(tg_mesh_data *mesh, int *corner, int n, int64_t *budget)
{
    polygon p = {.mesh = mesh, .corner = corner, .n = n, .budget = budget};
    if (n == 4)
    {
        cut_quadrilateral(mesh, corner);
        return;
    }
    if (n > 4 && n <= MOST_CORNERS)
    {
        choose_axes(&p);
        cut_ears(&p);
    }
    if (p.n == 3)
        add_triangle(mesh, corner[0], corner[1], corner[2]);
    else
        mesh->nlost++;
}
