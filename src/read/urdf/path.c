/* Where meshes are.
 *
 * "package://name/rest" is looked for in a folder `name` of each folder of the search path: the load options, the
 * environment, the folders above the file (so a file inside a package finds the package). A folder of the search path
 * that is itself called `name` is the package. When all of that fails, the search is for ever shorter tails of `rest`
 * in the search path and beside the file: descriptions are copied out of their packages all the time; the report says
 * what was found. Other paths start at the file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/file.h"
#include "read/urdf/urdf.h"

enum
{
    LEVELS = 64,   /* folders above the file */
    LONGEST = 4096 /* bytes of a path */
};

/* A search: what was tried, and what was found. */
typedef struct search
{
    tg_urdf *u;
    char *looked; /* a list for the message */
    size_t size;
    const char *path; /* NULL: not found yet */
    bool no_memory;
} search;

static void remember(search *s, const char *path)
{
    size_t used = strlen(s->looked);
    if (used + strlen(path) + 3 < s->size)
        snprintf(s->looked + used, s->size - used, "%s%s", used > 0 ? ", " : "", path);
}

/* dir / name, if it exists. quiet: not worth a place in the message. */
static bool try(search *s, const char *dir, const char *name, bool quiet)
{
    const char *path = tg_path_join(s->u->base.pool, dir, name);
    if (path == NULL)
    {
        s->no_memory = true;
        return true;
    }
    if (tg_file_exists(path))
        s->path = path;
    else if (!quiet)
        remember(s, path);
    return s->path != NULL;
}

/* ---- the search path ---- */

/* A walk over the search path: the folders of the options, then those of the two variables. */
typedef struct walk
{
    int option, variable;
    const char *rest; /* of a variable */
} walk;

/* NULL at the end, or when memory runs out. */
static const char *next_folder(search *s, walk *w)
{
    static const char *const variables[] = {"TANGERE_PACKAGE_PATH", "ROS_PACKAGE_PATH"};
    const tg_load_options *options = s->u->options;
    if (w->option < options->npackage_path)
        return options->package_path[w->option++];
    for (;;)
    {
        if (w->rest == NULL || *w->rest == '\0')
        {
            if (w->variable == 2)
                return NULL;
            w->rest = getenv(variables[w->variable++]);
            continue;
        }
        size_t length = strcspn(w->rest, ":");
        const char *folder = tg_pool_string(s->u->base.pool, w->rest, length);
        w->rest += length + (w->rest[length] == ':' ? 1 : 0);
        s->no_memory = s->no_memory || folder == NULL;
        if (folder == NULL || folder[0] != '\0')
            return folder;
    }
}

/* The folder above: "a/b" -> "a", "a" -> "", "" -> "..", ".." -> "../.."; NULL above the root or when memory runs out.
 */
static const char *folder_above(search *s, const char *dir)
{
    tg_pool *pool = s->u->base.pool;
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    if (n == 1 && dir[0] == '/')
        return NULL;
    const char *name = dir + n;
    while (name > dir && name[-1] != '/')
        name--;
    size_t length = (size_t)(dir + n - name);
    bool up = length == 2 && name[0] == '.' && name[1] == '.';
    bool here = length == 1 && name[0] == '.';
    bool keep = n == 0 || up; /* and go up from there */
    const char *start = tg_pool_string(pool, dir, keep ? n : (size_t)(name - dir));
    const char *above = start != NULL && (keep || here) ? tg_path_join(pool, start, "..") : start;
    s->no_memory = s->no_memory || above == NULL;
    return above;
}

/* ---- packages ---- */

static bool is_called(const char *folder, const char *name)
{
    size_t n = strlen(folder), length = strlen(name);
    while (n > 0 && folder[n - 1] == '/')
        n--;
    return n >= length && memcmp(folder + n - length, name, length) == 0 &&
           (n == length || folder[n - length - 1] == '/');
}

/* `inside` is name/rest, with rest starting behind the first slash. */
static bool find_package(search *s, const char *inside, const char *name, const char *rest)
{
    walk w = {0};
    for (const char *folder = next_folder(s, &w); folder != NULL; folder = next_folder(s, &w))
    {
        if (try(s, folder, inside, false) || (is_called(folder, name) && try(s, folder, rest, false)))
            return true;
    }
    const char *dir = s->u->dir;
    for (int level = 0; level < LEVELS && dir != NULL; level++)
    {
        if (try(s, dir, inside, level > 2))
            return true;
        dir = folder_above(s, dir);
    }
    return false;
}

/* Ever shorter tails of rest. */
static bool find_tail(search *s, const char *rest)
{
    for (const char *tail = rest; tail != NULL; tail = strchr(tail, '/') != NULL ? strchr(tail, '/') + 1 : NULL)
    {
        walk w = {0};
        for (const char *folder = next_folder(s, &w); folder != NULL; folder = next_folder(s, &w))
        {
            if (try(s, folder, tail, true))
                return true;
        }
        if (try(s, s->u->dir, tail, true))
            return true;
    }
    return false;
}

static tg_status find_in_package(search *s, const char *inside, const char **note)
{
    tg_pool *pool = s->u->base.pool;
    size_t length = strcspn(inside, "/");
    const char *name = tg_pool_string(pool, inside, length);
    const char *rest = inside[length] == '/' ? inside + length + 1 : "";
    char text[600];
    if (name == NULL)
        return TG_ERR_MEMORY;
    if (find_package(s, inside, name, rest) || rest[0] == '\0' || !find_tail(s, rest))
        return TG_OK;
    snprintf(text, sizeof text, "there is no package '%.100s' on the search path; taken is %.400s", name,
             s->path != NULL ? s->path : "");
    *note = tg_pool_string(pool, text, strlen(text));
    return *note != NULL ? TG_OK : TG_ERR_MEMORY;
}

/* ---- other paths ---- */

/* As the compiler settings of the <mujoco> element say: in the folder of meshes, with or without the path. */
static bool find_in_meshdir(search *s, const char *filename)
{
    const tg_urdf_compiler *c = &s->u->compiler;
    const char *folder = c->mjcf.meshdir != NULL ? c->mjcf.meshdir : c->mjcf.assetdir;
    if (folder == NULL && c->strippath != 1)
        return false;
    const char *dir = tg_path_join(s->u->base.pool, s->u->dir, folder != NULL ? folder : "");
    s->no_memory = s->no_memory || dir == NULL;
    return s->no_memory || try(s, dir, c->strippath == 1 ? tg_path_base(filename) : filename, false);
}

static void find_path(search *s, const char *filename)
{
    if (try(s, s->u->dir, filename, false) || tg_path_is_absolute(filename))
        return;
    walk w = {0};
    for (const char *folder = next_folder(s, &w); folder != NULL; folder = next_folder(s, &w))
    {
        if (try(s, folder, filename, false))
            return;
    }
}

static const char *after(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

tg_status tg_urdf_find_mesh(tg_urdf *u, const tg_xml *xml, const char *filename, const char **path, const char **note,
                            char *looked, size_t size)
{
    search s = {.u = u, .looked = looked, .size = size};
    looked[0] = '\0';
    *note = NULL;
    *path = NULL;
    if (strlen(filename) > LONGEST) /* each part of a path is tried */
        return tg_xml_fail(u->base.error, TG_ERR_VALUE, xml, "attribute 'filename': a path of %zu bytes is too long",
                           strlen(filename));
    const char *inside = after(filename, "package://");
    if (inside == NULL)
        inside = after(filename, "model://");
    const char *plain = after(filename, "file://");
    tg_status status = TG_OK;
    if (!find_in_meshdir(&s, inside != NULL ? inside : filename))
    {
        if (inside != NULL)
            status = find_in_package(&s, inside, note);
        else
            find_path(&s, plain != NULL ? plain : filename);
    }
    *path = s.path;
    return s.no_memory || status != TG_OK ? tg_mjcf_no_memory(&u->base, xml) : TG_OK;
}
