/* tg_load: which format a file has, and who reads it. */
#include <string.h>

#include "base/status.h"
#include "model/file.h"
#include "model/mjcf.h"
#include "model/urdf.h"
#include "model/xml.h"

static const uint32_t cookie = 0x7a9e4c0du;

tg_load_options tg_default_load_options(void)
{
    return (tg_load_options){.cookie = cookie};
}

static tg_status check_arguments(const void *input, const tg_load_options *options, tg_model **m, tg_error *error)
{
    if (m == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_load: m is NULL");
    *m = NULL;
    if (input == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_load: there is no file name or text (NULL)");
    if (options != NULL && options->cookie != cookie)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_load: options do not start from tg_default_load_options()");
    return TG_OK;
}

static bool is_named(const char *name, const char *lower)
{
    for (; *name != '\0' && *lower != '\0'; name++, lower++)
    {
        if ((*name | 0x20) != *lower)
            return false;
    }
    return *name == *lower;
}

/* Reads text that messages call `file`; relative paths start in dir. */
static tg_status load_text(const char *text, size_t length, const char *file, const char *dir,
                           const tg_load_options *options, tg_model **m, tg_error *error)
{
    tg_pool pool = {.allocator = options->allocator};
    tg_xml *root = NULL;
    int nelement = 0;
    tg_status status = tg_xml_parse(text, length, file, &pool, &nelement, &root, error);
    if (status == TG_OK)
    {
        if (is_named(root->name, "mujoco"))
            status = tg_mjcf_load(root, dir, options, &pool, nelement, m, error);
        else if (is_named(root->name, "robot"))
            status = tg_urdf_load(root, dir, options, &pool, nelement, m, error);
        else
            status = tg_xml_fail(error, TG_ERR_PARSE, root, "the root element is neither mujoco nor robot");
    }
    tg_pool_clear(&pool);
    return status;
}

tg_status tg_load(const char *path, const tg_load_options *options, tg_model **m, tg_error *error)
{
    tg_load_options defaults = tg_default_load_options();
    tg_status status = check_arguments(path, options, m, error);
    if (status != TG_OK)
        return status;
    options = options != NULL ? options : &defaults;
    tg_file file;
    status = tg_file_read(path, TG_XML_MAX_BYTES, options->allocator, &file, error);
    if (status != TG_OK)
        return status;
    tg_pool pool = {.allocator = options->allocator};
    const char *dir = tg_path_dir(&pool, path);
    status = dir != NULL ? load_text(file.data, file.size, path, dir, options, m, error)
                         : tg_fail(error, TG_ERR_MEMORY, "%s: out of memory", path);
    tg_pool_clear(&pool);
    tg_file_free(&file, options->allocator);
    return status;
}

tg_status tg_load_string(const char *text, size_t length, const char *dir, const tg_load_options *options, tg_model **m,
                         tg_error *error)
{
    tg_load_options defaults = tg_default_load_options();
    tg_status status = check_arguments(text, options, m, error);
    if (status != TG_OK)
        return status;
    if (length > TG_XML_MAX_BYTES)
        return tg_fail(error, TG_ERR_FILE, "tg_load_string: text is larger than %d bytes", TG_XML_MAX_BYTES);
    options = options != NULL ? options : &defaults;
    return load_text(text, length, "<string>", dir != NULL ? dir : "", options, m, error);
}
