#include "read/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"

/* Reads an open file in growing pieces: its size is not queried, so that pipes work and the limit holds. */
static tg_status read_all(FILE *stream, const char *path, size_t limit, const tg_allocator *allocator, tg_file *file,
                          tg_error *error)
{
    size_t capacity = 0;
    for (;;)
    {
        if (file->size + 1 >= capacity)
        {
            size_t larger = capacity == 0 ? 1 << 14 : 2 * capacity;
            char *data = tg_alloc(allocator, larger);
            if (data == NULL)
                return tg_fail(error, TG_ERR_MEMORY, "%s: out of memory while reading the file", path);
            if (file->size > 0)
                memcpy(data, file->data, file->size);
            tg_free(allocator, file->data);
            file->data = data;
            capacity = larger;
        }
        size_t got = fread(file->data + file->size, 1, capacity - 1 - file->size, stream);
        file->size += got;
        if (file->size > limit)
            return tg_fail(error, TG_ERR_FILE, "%s: file is larger than %zu bytes", path, limit);
        if (got == 0)
            break;
    }
    if (ferror(stream))
        return tg_fail(error, TG_ERR_FILE, "%s: cannot be read: %s", path, strerror(errno));
    file->data[file->size] = '\0';
    return TG_OK;
}

tg_status tg_file_read(const char *path, size_t limit, const tg_allocator *allocator, tg_file *file, tg_error *error)
{
    *file = (tg_file){0};
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        return tg_fail(error, TG_ERR_FILE, "%s: cannot be opened: %s", path, strerror(errno));
    tg_status status = read_all(stream, path, limit, allocator, file, error);
    fclose(stream);
    if (status != TG_OK)
        tg_file_free(file, allocator);
    return status;
}

void tg_file_free(tg_file *file, const tg_allocator *allocator)
{
    tg_free(allocator, file->data);
    *file = (tg_file){0};
}

bool tg_file_exists(const char *path)
{
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        return false;
    fclose(stream);
    return true;
}

static bool is_slash(char c)
{
    return c == '/' || c == '\\';
}

bool tg_path_is_absolute(const char *path)
{
    return is_slash(path[0]) || (path[0] != '\0' && path[1] == ':' && is_slash(path[2]));
}

const char *tg_path_join(tg_pool *pool, const char *dir, const char *name)
{
    size_t dir_length = strlen(dir);
    if (dir_length == 0 || tg_path_is_absolute(name))
        return tg_pool_string(pool, name, strlen(name));
    bool slash = is_slash(dir[dir_length - 1]);
    size_t name_length = strlen(name);
    char *path = tg_pool_take(pool, dir_length + name_length + 2, 1);
    if (path == NULL)
        return NULL;
    memcpy(path, dir, dir_length + 1);
    if (!slash)
        path[dir_length] = '/';
    memcpy(path + dir_length + (slash ? 0 : 1), name, name_length + 1);
    return path;
}

const char *tg_path_base(const char *path)
{
    const char *base = path;
    for (const char *c = path; *c != '\0'; c++)
        base = is_slash(*c) ? c + 1 : base;
    return base;
}

const char *tg_path_dir(tg_pool *pool, const char *path)
{
    return tg_pool_string(pool, path, (size_t)(tg_path_base(path) - path));
}

const char *tg_path_stem(tg_pool *pool, const char *path)
{
    const char *base = tg_path_base(path);
    const char *dot = strrchr(base, '.');
    return tg_pool_string(pool, base, dot == NULL ? strlen(base) : (size_t)(dot - base));
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool tg_path_has_extension(const char *path, const char *extension)
{
    size_t length = strlen(path), n = strlen(extension);
    if (length < n)
        return false;
    for (size_t i = 0; i < n; i++)
    {
        if (lower(path[length - n + i]) != extension[i])
            return false;
    }
    return true;
}
