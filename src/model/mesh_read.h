/* Readers of mesh files. Each takes a whole file in memory; what it makes is bounded by the size of the file. Messages
 * say what is wrong, not in which file: the caller knows that. */
#ifndef TG_MODEL_MESH_READ_H
#define TG_MODEL_MESH_READ_H

#include <stddef.h>

#include "model/pool.h"
#include "tangere/base.h"

/* From the pool. Coordinates are rounded to single precision, as the formats that hold binary numbers have them. */
typedef struct tg_mesh_data
{
    int nvertex, nface;
    double *vertex; /* nvertex x 3 */
    int *face;      /* nface x 3 */
} tg_mesh_data;

enum
{
    TG_MESH_MAX_BYTES = 1 << 30
};

tg_status tg_mesh_read_stl(const char *data, size_t size, tg_pool *pool, tg_mesh_data *mesh, tg_error *error);
tg_status tg_mesh_read_obj(const char *data, size_t size, tg_pool *pool, tg_mesh_data *mesh, tg_error *error);
tg_status tg_mesh_read_msh(const char *data, size_t size, tg_pool *pool, tg_mesh_data *mesh, tg_error *error);

/* Makes vertices with the same coordinates one, in the order of their first appearance. In place. */
tg_status tg_mesh_weld(tg_mesh_data *mesh, tg_pool *pool, tg_error *error);

/* A little-endian number at any address. */
float tg_mesh_float(const char *at);
uint32_t tg_mesh_uint(const char *at);

#endif
