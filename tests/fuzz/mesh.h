/* What the targets of the mesh readers share: reading, the welded mesh, its hull and its mass. */
#ifndef TG_TEST_FUZZ_MESH_H
#define TG_TEST_FUZZ_MESH_H

#include "base/arena.h"
#include "fuzz.h"
#include "model/hull.h"
#include "model/inertia.h"
#include "read/mesh/mesh.h"

typedef tg_status (*fuzz_mesh_reader)(const char *data, size_t size, tg_pool *pool, tg_mesh_data *mesh,
                                      tg_error *error);

static inline void fuzz_check_mesh(const tg_mesh_data *mesh, size_t size)
{
    fuzz_require(mesh->nvertex >= 0 && (size_t)mesh->nvertex <= size, "a mesh", "has more vertices than bytes");
    fuzz_require(mesh->nface >= 0 && (size_t)mesh->nface <= size, "a mesh", "has more faces than bytes");
    for (int i = 0; i < 3 * mesh->nvertex; i++)
        fuzz_require(mesh->vertex[i] - mesh->vertex[i] == 0, "a vertex", "is not finite");
    for (int i = 0; i < 3 * mesh->nface; i++)
        fuzz_require(mesh->face[i] >= 0 && mesh->face[i] < mesh->nvertex, "a face", "names no vertex");
}

static inline void fuzz_use_mesh(const tg_mesh_data *mesh)
{
    static const double unit[3] = {1, 1, 1};
    int *face = NULL, nface = 0;
    tg_error error = {0};
    tg_mesh_lump(mesh->vertex, mesh->face, mesh->nface, unit, false);
    tg_status status = tg_convex_hull(fuzz_allocator(), mesh->vertex, mesh->nvertex, &face, &nface, &error);
    for (int i = 0; status == TG_OK && i < 3 * nface; i++)
        fuzz_require(face[i] >= 0 && face[i] < mesh->nvertex, "a face of the hull", "names no vertex");
    fuzz_require((status == TG_OK) == (face != NULL), "a hull", "does not belong to its status");
    tg_free(fuzz_allocator(), face);
}

static inline int fuzz_mesh(fuzz_mesh_reader read, const uint8_t *data, size_t size)
{
    const char *text = fuzz_begin(data, size);
    tg_pool pool = {.allocator = fuzz_allocator()};
    tg_mesh_data mesh = {0};
    tg_error error = {0};
    tg_status status = read(text, size, &pool, &mesh, &error);
    fuzz_require(status == TG_OK || error.message[0] != '\0', "a refusal has no message", tg_status_string(status));
    if (status == TG_OK)
    {
        fuzz_check_mesh(&mesh, size);
        fuzz_use_mesh(&mesh);
    }
    tg_pool_clear(&pool);
    fuzz_end();
    return 0;
}

#endif
