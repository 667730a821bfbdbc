#include <string.h>

#include "base/status.h"
#include "read/mesh/mesh.h"

uint32_t tg_mesh_uint(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

float tg_mesh_float(const char *at)
{
    uint32_t bits = tg_mesh_uint(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* splitmix64 over the bits of three numbers; + 0.0 makes -0 and 0 the same */
static uint64_t hash(const double v[3])
{
    uint64_t h = 0;
    for (int i = 0; i < 3; i++)
    {
        double x = v[i] + 0.0;
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        h = (h ^ bits) + 0x9e3779b97f4a7c15u;
        h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
        h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
        h ^= h >> 31;
    }
    return h;
}

static int same(const double *a, const double *b)
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

tg_status tg_mesh_weld(tg_mesh_data *mesh, tg_pool *pool, tg_error *error)
{
    int n = mesh->nvertex;
    size_t nslot = 16;
    while (nslot < 2 * (size_t)n)
        nslot *= 2;
    int *slot = TG_POOL_TAKE(pool, int, nslot); /* 1 + new index; 0: free */
    int *renamed = TG_POOL_TAKE(pool, int, n);
    if (slot == NULL || renamed == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "out of memory for %d vertices", n);
    int kept = 0;
    for (int i = 0; i < n; i++)
    {
        const double *v = mesh->vertex + 3 * (size_t)i;
        size_t s = (size_t)hash(v) & (nslot - 1);
        while (slot[s] != 0 && !same(mesh->vertex + 3 * (size_t)(slot[s] - 1), v))
            s = (s + 1) & (nslot - 1);
        if (slot[s] == 0)
        {
            memmove(mesh->vertex + 3 * (size_t)kept, v, 3 * sizeof *v);
            slot[s] = ++kept;
        }
        renamed[i] = slot[s] - 1;
    }
    for (size_t f = 0; f < 3 * (size_t)mesh->nface; f++)
        mesh->face[f] = renamed[mesh->face[f]];
    mesh->nvertex = kept;
    return TG_OK;
}
