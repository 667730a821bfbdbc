/* tg_load: which format a file has, and who reads it. */
#include <string.h>

#include "base/status.h"
#include "read/file.h"
#include "read/mjcf/mjcf.h"
#include "read/urdf/urdf.h"
#include "read/xml.h"

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

/* Whether a path could end outside of the folder it starts in: it is absolute, or has a part "..". */
static bool may_leave(const char *path)
{
    for (const char *part = path; *part != '\0'; part += part[0] != '\0')
    {
        size_t length = strcspn(part, "/\\");
        if (length == 2 && part[0] == '.' && part[1] == '.')
            return true;
        part += length;
    }
    const char *plain = strncmp(path, "file://", 7) == 0 ? path + 7 : path;
    return tg_path_is_absolute(plain);
}

/* A text that has no folder of its own may name files below the current folder only: who it came from is not known. */
static tg_status check_paths(const tg_xml *xml, tg_error *error)
{
    static const char *const attributes[] = {"file", "filename", "meshdir", "assetdir"};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
    {
        const char *path = tg_xml_get(xml, attributes[i]);
        if (path != NULL && may_leave(path))
            return tg_xml_fail(
                error, TG_ERR_FILE, xml,
                "attribute '%s'=\"%.120s\" leaves the current folder, which a text without a folder of its "
                "own must not; give tg_load_string a dir",
                attributes[i], path);
    }
    tg_status status = TG_OK;
    for (const tg_xml *child = xml->first; child != NULL && status == TG_OK; child = child->next)
        status = check_paths(child, error);
    return status;
}

/* Reads text that messages call `file`; relative paths start in dir (NULL: in the current folder, and stay there). */
static tg_status load_text(const char *text, size_t length, const char *file, const char *dir,
                           const tg_load_options *options, tg_model **m, tg_error *error)
{
    tg_pool pool = {.allocator = options->allocator};
    tg_xml *root = NULL;
    int nelement = 0;
    tg_status status = tg_xml_parse(text, length, file, &pool, &nelement, &root, error);
    if (status == TG_OK && dir == NULL)
        status = check_paths(root, error);
    dir = dir != NULL ? dir : "";
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
    return load_text(text, length, "<string>", dir, options, m, error);
}
