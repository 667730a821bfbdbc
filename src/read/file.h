/* Files and paths for the readers. */
#ifndef TG_READ_FILE_H
#define TG_READ_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/pool.h"
#include "tangere/base.h"

/* A file in memory; data is followed by a zero byte that is not counted. */
typedef struct tg_file
{
    char *data;
    size_t size;
} tg_file;

/* Reads a whole file of at most limit bytes; the memory comes from the allocator and goes back with tg_file_free.
 * TG_ERR_FILE when it cannot be opened, is a folder, or is larger. */
tg_status tg_file_read(const char *path, size_t limit, const tg_allocator *allocator, tg_file *file, tg_error *error);
void tg_file_free(tg_file *file, const tg_allocator *allocator);

bool tg_file_exists(const char *path);
bool tg_path_is_absolute(const char *path);

/* dir / name, from the pool; name alone when it is absolute or dir is empty. NULL when memory runs out. */
const char *tg_path_join(tg_pool *pool, const char *dir, const char *name);

/* Everything before the last slash; "" when there is none. */
const char *tg_path_dir(tg_pool *pool, const char *path);

/* What follows the last slash; and that without its extension. */
const char *tg_path_base(const char *path);
const char *tg_path_stem(tg_pool *pool, const char *path);

/* Whether path ends in the extension (".stl"), in capitals or not. */
bool tg_path_has_extension(const char *path, const char *extension);

#endif
