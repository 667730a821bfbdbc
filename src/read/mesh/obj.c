/* Wavefront OBJ: the lines "v x y z", "f a b c ...", and "g ..." or "o ...", which start a group; all others are looks.
 */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "model/number.h"
#include "read/mesh/mesh.h"

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

/* What is read: faces by faces. */
typedef struct obj
{
    tg_mesh_data *mesh;
    int *corner;    /* of one face */
    int line, seen; /* lines, vertices so far */
    int group;      /* faces before the second group; 0: there is one */
    int64_t budget;
} obj;

/* Vertices, corners of all faces (there are fewer triangles), corners of the largest. */
static void count(const char *text, size_t *nvertex, size_t *ncorner, size_t *largest)
{
    *nvertex = *ncorner = *largest = 0;
    for (const char *line = skip_blank(text); *line != '\0'; line = skip_blank(next_line(line)))
    {
        *nvertex += is_line(line, 'v') ? 1 : 0;
        if (!is_line(line, 'f'))
            continue;
        size_t n = 0;
        for (const char *c = skip_blank(line + 1); !ends_line(c); c = skip_blank(c), n++)
        {
            while (!ends_line(c) && !tg_is_space(*c))
                c++;
        }
        *ncorner += n;
        *largest = n > *largest ? n : *largest;
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

/* A corner is "7", "7/1", "7//2", "7/1/2"; a negative number counts back from the last vertex so far. */
static tg_status read_corner(const char **text, const obj *o, int *corner, tg_error *error)
{
    int index;
    if (!tg_number_integer(text, &index) || (!ends_line(*text) && !tg_is_space(**text) && **text != '/'))
        return tg_fail(error, TG_ERR_PARSE, "OBJ line %d: a face is a list of vertex numbers", o->line);
    while (!ends_line(*text) && !tg_is_space(**text))
        (*text)++;
    int64_t place = index > 0 ? (int64_t)index - 1 : (int64_t)o->seen + index;
    if (index == 0 || place < 0)
        return tg_fail(error, TG_ERR_VALUE, "OBJ line %d: vertex number %d", o->line, index);
    if (place >= o->mesh->nvertex)
        return tg_fail(error, TG_ERR_VALUE, "OBJ line %d: a face names vertex %d of %d", o->line, index,
                       o->mesh->nvertex);
    *corner = (int)place;
    return TG_OK;
}

static tg_status read_face(const char *line, obj *o, tg_error *error)
{
    int n = 0;
    for (const char *c = skip_blank(line + 1); !ends_line(c); c = skip_blank(c), n++)
    {
        tg_status status = read_corner(&c, o, &o->corner[n], error);
        if (status != TG_OK)
            return status;
    }
    if (n < 3)
        return tg_fail(error, TG_ERR_PARSE, "OBJ line %d: a face has %d corners", o->line, n);
    tg_mesh_add_polygon(o->mesh, o->corner, n, &o->budget);
    return TG_OK;
}

/* Faces may name vertices that come later, so vertices are read first. */
static tg_status read_vertices(const char *data, tg_mesh_data *mesh, tg_error *error)
{
    tg_status status = TG_OK;
    int number = 1;
    for (const char *line = data; *line != '\0' && status == TG_OK; line = next_line(line), number++)
    {
        const char *start = skip_blank(line);
        if (is_line(start, 'v'))
            status = read_vertex(start, number, mesh, error);
    }
    return status;
}

static tg_status read_faces(const char *data, obj *o, tg_error *error)
{
    tg_status status = TG_OK;
    tg_mesh_data *mesh = o->mesh;
    for (const char *line = data; *line != '\0' && status == TG_OK; line = next_line(line), o->line++)
    {
        const char *start = skip_blank(line);
        bool group = is_line(start, 'g') || is_line(start, 'o');
        o->seen += is_line(start, 'v') ? 1 : 0;
        if (group && o->group == 0)
            o->group = mesh->nface;
        else if (is_line(start, 'f'))
            status = read_face(start, o, error);
    }
    mesh->nfirst = o->group < mesh->nface ? o->group : 0;
    return status;
}

tg_status tg_mesh_read_obj(const char *data, size_t size, tg_pool *pool, tg_mesh_data *mesh, tg_error *error)
{
    *mesh = (tg_mesh_data){0};
    if (memchr(data, '\0', size) != NULL)
        return tg_fail(error, TG_ERR_PARSE, "OBJ: the file is not text");
    size_t nvertex, ncorner, largest;
    count(data, &nvertex, &ncorner, &largest);
    if (nvertex == 0)
        return tg_fail(error, TG_ERR_PARSE, "OBJ: there is no vertex");
    mesh->vertex = TG_POOL_TAKE(pool, double, 3 * nvertex);
    mesh->face = TG_POOL_TAKE(pool, int, 3 * ncorner);
    obj o = {.mesh = mesh, .corner = TG_POOL_TAKE(pool, int, largest), .line = 1, .budget = 100 * (int64_t)size};
    if (mesh->vertex == NULL || mesh->face == NULL || o.corner == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "out of memory for %zu vertices", nvertex);
    tg_status status = read_vertices(data, mesh, error);
    if (status == TG_OK)
        status = read_faces(data, &o, error);
    return status == TG_OK ? tg_mesh_weld(mesh, pool, error) : status;
}
