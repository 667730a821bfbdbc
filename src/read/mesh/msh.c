/* MSH, MuJoCo's own format: numbers of vertices, normals, texture coordinates and faces, then those, little-endian. */
#include <limits.h>
#include <math.h>

#include "base/status.h"
#include "read/mesh/mesh.h"

tg_status tg_mesh_read_msh(const char *data, size_t size, tg_pool *pool, tg_mesh_data *mesh, tg_error *error)
{
    enum
    {
        HEADER = 16
    };
    *mesh = (tg_mesh_data){0};
    if (size < HEADER)
        return tg_fail(error, TG_ERR_PARSE, "MSH: %zu bytes are too few for a header", size);
    uint64_t n[4]; /* vertices, normals, texture coordinates, faces */
    for (int i = 0; i < 4; i++)
        n[i] = tg_mesh_uint(data + 4 * i);
    uint64_t expected = HEADER + 12 * n[0] + 12 * n[1] + 8 * n[2] + 12 * n[3];
    if (expected != size)
        return tg_fail(error, TG_ERR_PARSE, "MSH: the header announces %llu bytes, the file has %zu",
                       (unsigned long long)expected, size);
    mesh->vertex = TG_POOL_TAKE(pool, double, 3 * n[0]);
    mesh->face = TG_POOL_TAKE(pool, int, 3 * n[3]);
    if (mesh->vertex == NULL || mesh->face == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "out of memory for %llu vertices", (unsigned long long)n[0]);
    const char *at = data + HEADER;
    for (uint64_t i = 0; i < 3 * n[0]; i++)
    {
        mesh->vertex[i] = (double)tg_mesh_float(at + 4 * i);
        if (!isfinite(mesh->vertex[i]))
            return tg_fail(error, TG_ERR_VALUE, "MSH: vertex %llu is not finite", (unsigned long long)(i / 3));
    }
    at += 12 * n[0] + 12 * n[1] + 8 * n[2];
    for (uint64_t i = 0; i < 3 * n[3]; i++)
    {
        uint32_t corner = tg_mesh_uint(at + 4 * i);
        if (corner >= n[0])
            return tg_fail(error, TG_ERR_VALUE, "MSH: face %llu names vertex %u of %llu", (unsigned long long)(i / 3),
                           corner, (unsigned long long)n[0]);
        mesh->face[i] = (int)corner;
    }
    mesh->nvertex = (int)n[0];
    mesh->nface = (int)n[3];
    return tg_mesh_weld(mesh, pool, error);
}
