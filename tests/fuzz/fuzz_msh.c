/* The reader of MSH files, and what is made of a mesh. */
#include "mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_mesh(tg_mesh_read_msh, data, size);
}
