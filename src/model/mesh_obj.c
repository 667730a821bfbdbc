/* Wavefront OBJ: the lines "v x y z" and "f a b c ..."; all others are looks. Polygons are cut into triangles from
 * their first corner. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "model/mesh_read.h"
#include "model/number.h"

/* Spaces, without the end of the line. */
static const char *skip_blank(const char *c)
{
    while (*c != '\n' && tg_is_space(*c))
        c++;
    return c;
}

static const char *next_line(const char *c)
{
    while (*c != '\0' && *c != '\n')
        c++;
    return *c == '\n' ? c + 1 : c;
}

static bool ends_line(const char *c)
{
    return *c == '\0' || *c == '\n' || *c == '#';
}

static bool is_line(const char *line, char letter)
{
    return line[0] == letter && (line[1] == ' ' || line[1] == '\t');
}

/* Vertices, and triangles at most: one a corner. */
static void count(const char *text, size_t *nvertex, size_t *nface)
{
    *nvertex = *nface = 0;
    for (const char *line = skip_blank(text); *line != '\0'; line = skip_blank(next_line(line)))
    {
        *nvertex += is_line(line, 'v') ? 1 : 0;
        if (!is_line(line, 'f'))
            continue;
        for (const char *c = skip_blank(line + 1); !ends_line(c); c = skip_blank(c))
        {
            while (!ends_line(c) && !tg_is_space(*c))
                c++;
            (*nface)++;
        }
    }
}

static tg_status read_vertex(const char *line, int number, tg_mesh_data *mesh, tg_error *error)
{
    const char *c = line + 1;
    for (int i = 0; i < 3; i++)
    {
        double x;
        c = skip_blank(c);
        if (!tg_number_real(&c, &x) || !isfinite((double)(float)x))
            return tg_fail(error, TG_ERR_PARSE, "OBJ line %d: a vertex is three finite numbers", number);
        mesh->vertex[3 * (size_t)mesh->nvertex + (size_t)i] = (double)(float)x;
    }
    mesh->nvertex++;
    return TG_OK;
}

/* A corner is "7", "7/1", "7//2", "7/1/2"; a negative number counts back from the last vertex. */
static tg_status read_corner(const char **text, int number, const tg_mesh_data *mesh, int *corner, tg_error *error)
{
    int index;
    if (!tg_number_integer(text, &index) || (!ends_line(*text) && !tg_is_space(**text) && **text != '/'))
        return tg_fail(error, TG_ERR_PARSE, "OBJ line %d: a face is a list of vertex numbers", number);
    while (!ends_line(*text) && !tg_is_space(**text))
        (*text)++;
    int64_t place = index > 0 ? (int64_t)index - 1 : (int64_t)mesh->nvertex + index;
    if (index == 0 || place < 0 || place >= INT_MAX)
        return tg_fail(error, TG_ERR_VALUE, "OBJ line %d: vertex number %d", number, index);
    *corner = (int)place;
    return TG_OK;
}

static tg_status read_face(const char *line, int number, tg_mesh_data *mesh, tg_error *error)
{
    int fan[3] = {0}, n = 0;
    for (const char *c = skip_blank(line + 1); !ends_line(c); c = skip_blank(c), n++)
    {
        tg_status status = read_corner(&c, number, mesh, &fan[n < 2 ? n : 2], error);
        if (status != TG_OK)
            return status;
        if (n < 2)
            continue;
        memcpy(mesh->face + 3 * (size_t)mesh->nface, fan, sizeof fan);
        mesh->nface++;
        fan[1] = fan[2];
    }
    return n >= 3 ? TG_OK : tg_fail(error, TG_ERR_PARSE, "OBJ line %d: a face has %d corners", number, n);
}

static tg_status check_faces(const tg_mesh_data *mesh, tg_error *error)
{
    for (size_t i = 0; i < 3 * (size_t)mesh->nface; i++)
    {
        if (mesh->face[i] >= mesh->nvertex)
            return tg_fail(error, TG_ERR_VALUE, "OBJ: a face names vertex %d of %d", mesh->face[i] + 1, mesh->nvertex);
    }
    return TG_OK;
}

tg_status tg_mesh_read_obj(const char *data, size_t size, tg_pool *pool, tg_mesh_data *mesh, tg_error *error)
{
    *mesh = (tg_mesh_data){0};
    if (memchr(data, '\0', size) != NULL)
        return tg_fail(error, TG_ERR_PARSE, "OBJ: the file is not text");
    size_t nvertex, nface;
    count(data, &nvertex, &nface);
    if (nvertex == 0)
        return tg_fail(error, TG_ERR_PARSE, "OBJ: there is no vertex");
    mesh->vertex = TG_POOL_TAKE(pool, double, 3 * nvertex);
    mesh->face = TG_POOL_TAKE(pool, int, 3 * nface);
    if (mesh->vertex == NULL || mesh->face == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "out of memory for %zu vertices", nvertex);
    tg_status status = TG_OK;
    int number = 1;
    for (const char *line = data; *line != '\0' && status == TG_OK; line = next_line(line), number++)
    {
        const char *start = skip_blank(line);
        if (is_line(start, 'v'))
            status = read_vertex(start, number, mesh, error);
        else if (is_line(start, 'f'))
            status = read_face(start, number, mesh, error);
    }
    if (status == TG_OK)
        status = check_faces(mesh, error);
    return status == TG_OK ? tg_mesh_weld(mesh, pool, error) : status;
}
