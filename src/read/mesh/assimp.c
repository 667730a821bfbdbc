/* Mesh files of other formats (COLLADA, PLY, glTF, ...), in a build with assimp. */
#include <string.h>

#include "base/status.h"
#include "read/mesh/mesh.h"

#ifdef TG_HAVE_ASSIMP

#include <math.h>

#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>

bool tg_mesh_reads_others(void)
{
    return true;
}

/* All meshes of a file in one frame, as triangles. The axes are the file's own: its idea of what is up does not count,
 * as everywhere in robotics. */
static const struct aiScene *import(const char *data, size_t size, const char *extension)
{
    struct aiPropertyStore *settings = aiCreatePropertyStore();
    const unsigned steps = aiProcess_Triangulate | aiProcess_PreTransformVertices;
    aiSetImportPropertyInteger(settings, AI_CONFIG_IMPORT_COLLADA_IGNORE_UP_DIRECTION, 1);
    const struct aiScene *scene =
        aiImportFileFromMemoryWithProperties(data, (unsigned)size, steps, extension, settings);
    aiReleasePropertyStore(settings);
    return scene;
}

static void append(const struct aiMesh *from, tg_mesh_data *mesh)
{
    int first = mesh->nvertex;
    for (unsigned i = 0; i < from->mNumVertices; i++, mesh->nvertex++)
    {
        const struct aiVector3D *v = &from->mVertices[i];
        const double point[3] = {(double)v->x, (double)v->y, (double)v->z};
        memcpy(mesh->vertex + 3 * (size_t)mesh->nvertex, point, sizeof point);
    }
    for (unsigned i = 0; i < from->mNumFaces; i++)
    {
        if (from->mFaces[i].mNumIndices != 3) /* points and lines */
            continue;
        for (int k = 0; k < 3; k++)
            mesh->face[3 * (size_t)mesh->nface + (size_t)k] = first + (int)from->mFaces[i].mIndices[k];
        mesh->nface++;
    }
}

static tg_status take(const struct aiScene *scene, tg_pool *pool, tg_mesh_data *mesh, tg_error *error)
{
    size_t nvertex = 0, nface = 0;
    for (unsigned i = 0; i < scene->mNumMeshes; i++)
    {
        nvertex += scene->mMeshes[i]->mNumVertices;
        nface += scene->mMeshes[i]->mNumFaces;
    }
    if (nvertex == 0)
        return tg_fail(error, TG_ERR_PARSE, "there is no mesh in the file");
    mesh->vertex = TG_POOL_TAKE(pool, double, 3 * nvertex);
    mesh->face = TG_POOL_TAKE(pool, int, 3 * nface);
    if (mesh->vertex == NULL || mesh->face == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "out of memory for %zu vertices", nvertex);
    for (unsigned i = 0; i < scene->mNumMeshes; i++)
        append(scene->mMeshes[i], mesh);
    for (size_t i = 0; i < 3 * nvertex; i++)
    {
        if (!isfinite(mesh->vertex[i]))
            return tg_fail(error, TG_ERR_VALUE, "vertex %zu is not finite", i / 3);
    }
    return tg_mesh_weld(mesh, pool, error);
}

tg_status tg_mesh_read_other(const char *data, size_t size, const char *name, tg_pool *pool, tg_mesh_data *mesh,
                             tg_error *error)
{
    const char *dot = strrchr(name, '.');
    *mesh = (tg_mesh_data){0};
    const struct aiScene *scene = import(data, size, dot != NULL ? dot + 1 : "");
    if (scene == NULL)
        return tg_fail(error, TG_ERR_PARSE, "%.200s", aiGetErrorString());
    tg_status status = take(scene, pool, mesh, error);
    aiReleaseImport(scene);
    return status;
}

#else

bool tg_mesh_reads_others(void)
{
    return false;
}

tg_status tg_mesh_read_other(const char *data, size_t size, const char *name, tg_pool *pool, tg_mesh_data *mesh,
                             tg_error *error)
{
    (void)data, (void)size, (void)name, (void)pool;
    *mesh = (tg_mesh_data){0};
    return tg_fail(error, TG_ERR_UNSUPPORTED, "%s", TG_MESH_FORMATS);
}

#endif
