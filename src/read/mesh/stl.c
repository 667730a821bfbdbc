/* STL: a soup of triangles, as numbers or as text. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "model/number.h"
#include "read/mesh/mesh.h"

enum
{
    HEADER = 84,  /* 80 bytes of anything, then the number of triangles */
    TRIANGLE = 50 /* normal, three corners, two bytes of anything */
};

static tg_status reserve(tg_mesh_data *mesh, size_t nface, tg_pool *pool, tg_error *error)
{
    mesh->vertex = TG_POOL_TAKE(pool, double, 9 * nface);
    mesh->face = TG_POOL_TAKE(pool, int, 3 * nface);
    if (mesh->vertex == NULL || mesh->face == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "out of memory for %zu triangles", nface);
    for (size_t i = 0; i < 3 * nface; i++)
        mesh->face[i] = (int)i;
    return TG_OK;
}

static tg_status read_binary(const char *data, uint32_t nface, tg_pool *pool, tg_mesh_data *mesh, tg_error *error)
{
    tg_status status = reserve(mesh, nface, pool, error);
    if (status != TG_OK)
        return status;
    for (uint32_t f = 0; f < nface; f++)
    {
        const char *corner = data + HEADER + (size_t)TRIANGLE * f + 12;
        for (int i = 0; i < 9; i++)
        {
            double x = (double)tg_mesh_float(corner + 4 * i);
            if (!isfinite(x))
                return tg_fail(error, TG_ERR_VALUE, "STL: triangle %u has a coordinate that is not finite", f);
            mesh->vertex[9 * (size_t)f + (size_t)i] = x;
        }
    }
    mesh->nface = (int)nface;
    mesh->nvertex = 3 * (int)nface;
    return TG_OK;
}

/* Moves behind the next word if it is this one. */
static bool word(const char **text, const char *expected)
{
    const char *c = tg_skip_space(*text);
    size_t n = strlen(expected);
    if (strncmp(c, expected, n) != 0 || (c[n] != '\0' && !tg_is_space(c[n])))
        return false;
    *text = c + n;
    return true;
}

/* Counts "vertex" in the text: no more triangles than that, whatever the file announces. */
static size_t count_vertices(const char *text)
{
    size_t n = 0;
    for (const char *c = strstr(text, "vertex"); c != NULL; c = strstr(c + 6, "vertex"))
        n++;
    return n;
}

static tg_status read_text(const char *data, tg_pool *pool, tg_mesh_data *mesh, tg_error *error)
{
    size_t announced = count_vertices(data), room = announced / 3, nvertex = 0;
    tg_status status = reserve(mesh, room, pool, error);
    const char *text = data;
    while (status == TG_OK && *(text = tg_skip_space(text)) != '\0')
    {
        if (!word(&text, "vertex"))
        {
            while (*text != '\0' && !tg_is_space(*text))
                text++;
            continue;
        }
        if (nvertex >= 3 * room)
            break;
        for (int i = 0; i < 3; i++)
        {
            double x;
            text = tg_skip_space(text);
            if (!tg_number_real(&text, &x) || !isfinite((double)(float)x))
                return tg_fail(error, TG_ERR_PARSE, "STL: vertex %zu is not three finite numbers", nvertex);
            mesh->vertex[3 * nvertex + (size_t)i] = (double)(float)x;
        }
        nvertex++;
    }
    if (status == TG_OK && (nvertex == 0 || nvertex % 3 != 0))
        return tg_fail(error, TG_ERR_PARSE, "STL: %zu vertices do not make triangles",
                       nvertex == 0 ? announced : nvertex);
    mesh->nface = (int)(nvertex / 3);
    mesh->nvertex = (int)nvertex;
    return status;
}

/* A file of numbers has exactly the size that its header announces; one of text starts with "solid". */
tg_status tg_mesh_read_stl(const char *data, size_t size, tg_pool *pool, tg_mesh_data *mesh, tg_error *error)
{
    *mesh = (tg_mesh_data){0};
    uint32_t nface = size >= HEADER ? tg_mesh_uint(data + HEADER - 4) : 0;
    bool exact = size >= HEADER && size - HEADER == (size_t)TRIANGLE * nface;
    const char *start = tg_skip_space(data);
    tg_status status;
    if (!exact && strncmp(start, "solid", 5) == 0 && memchr(data, '\0', size) == NULL)
        status = read_text(data, pool, mesh, error);
    else if (size < HEADER)
        return tg_fail(error, TG_ERR_PARSE, "STL: %zu bytes are too few for a header", size);
    else if (nface == 0)
        return tg_fail(error, TG_ERR_PARSE, "STL: there is no triangle");
    else if (size - HEADER < (size_t)TRIANGLE * nface)
        return tg_fail(error, TG_ERR_PARSE, "STL: %u triangles are announced, the file has room for %zu", nface,
                       (size - HEADER) / TRIANGLE);
    else
        status = read_binary(data, nface, pool, mesh, error);
    return status == TG_OK ? tg_mesh_weld(mesh, pool, error) : status;
}
