/* Readers of mesh files. Each takes a whole file in memory; what it makes is bounded by the size of the file. Messages
 * say what is wrong, not in which file: the caller knows that. */
#ifndef TG_READ_MESH_MESH_H
#define TG_READ_MESH_MESH_H

#include <stdbool.h>
#include <stddef.h>

#include "model/pool.h"
#include "tangere/base.h"

/* From the pool. Coordinates are rounded to single precision, as the formats that hold binary numbers have them. */
typedef struct tg_mesh_data
{
    int nvertex, nface;
    double *vertex; /* nvertex x 3 */
    int *face;      /* nface x 3 */
    int nfirst;     /* an OBJ file with several groups: faces of the first, which come first; 0: one group */
    int nlost;      /* polygons of an OBJ file of which some or all is missing: see polygon.c */
} tg_mesh_data;

enum
{
    TG_MESH_MAX_BYTES = 1 << 30
};

tg_status tg_mesh_read_stl(const char *data, size_t size, tg_pool *pool, tg_mesh_data *mesh, tg_error *error);
tg_status tg_mesh_read_obj(const char *data, size_t size, tg_pool *pool, tg_mesh_data *mesh, tg_error *error);
tg_status tg_mesh_read_msh(const char *data, size_t size, tg_pool *pool, tg_mesh_data *mesh, tg_error *error);

/* Files of other formats, in a build with assimp (TANGERE_ASSIMP); name: of the file, for its extension. */
bool tg_mesh_reads_others(void);
tg_status tg_mesh_read_other(const char *data, size_t size, const char *name, tg_pool *pool, tg_mesh_data *mesh,
                             tg_error *error);

/* What to do about a file that is not read. */
#define TG_MESH_FORMATS "only STL, OBJ and MSH are read: convert the file, or build with TANGERE_ASSIMP=ON"

/* Makes vertices with the same coordinates one, in the order of their first appearance. In place. */
tg_status tg_mesh_weld(tg_mesh_data *mesh, tg_pool *pool, tg_error *error);

/* Cuts a polygon into at most n - 2 triangles, appended to mesh->face. corner (n >= 3 numbers of vertices of the mesh)
 * is used up. *budget is how many tests of a point against a triangle may be spent on all polygons, and goes down. */
void tg_mesh_add_polygon(tg_mesh_data *mesh, int *corner, int n, int64_t *budget);

/* A little-endian number at any address. */
float tg_mesh_float(const char *at);
uint32_t tg_mesh_uint(const char *at);

#endif
