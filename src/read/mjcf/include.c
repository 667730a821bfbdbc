/* <include file="..."/>: the children of the other file's root take the place of the element.
 *
 * A path starts at the folder of the main file (or of the model inside it that is being read), or at that of the file
 * that includes. A file can be included once. */
#include <string.h>

#include "base/status.h"
#include "read/file.h"
#include "read/mjcf/mjcf.h"

enum
{
    MAX_NESTING = 50
};

/* A file that is open around the place, or was included before. */
typedef struct included included;
struct included
{
    const char *path;
    included *next;
};

typedef struct state
{
    tg_mjcf *r;
    const char *dir; /* where relative paths start */
    included *files;
} state;

static tg_status expand(state *s, tg_xml *parent, int depth, int nesting);

tg_status tg_mjcf_find_path(tg_mjcf *r, const tg_xml *xml, const char *dir, const char **path)
{
    const char *name = tg_xml_get(xml, "file");
    if (name == NULL || name[0] == '\0')
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute 'file' is missing");
    while (name[0] == '.' && name[1] == '/')
        name += 2;
    *path = tg_path_join(r->pool, dir, name);
    if (*path == NULL)
        return tg_mjcf_no_memory(r, xml);
    if (tg_file_exists(*path))
        return TG_OK;
    const char *here = tg_path_dir(r->pool, xml->file);
    const char *beside = here != NULL ? tg_path_join(r->pool, here, name) : NULL;
    if (beside == NULL)
        return tg_mjcf_no_memory(r, xml);
    if (!tg_file_exists(beside))
        return tg_xml_fail(r->error, TG_ERR_FILE, xml, "attribute 'file': cannot open %.200s", *path);
    *path = beside;
    return TG_OK;
}

static tg_status remember(state *s, const tg_xml *xml, const char *path)
{
    for (const included *f = s->files; f != NULL; f = f->next)
    {
        if (strcmp(f->path, path) == 0)
            return tg_xml_fail(s->r->error, TG_ERR_PARSE, xml,
                               "attribute 'file': %.200s is included already; a file cannot include itself", path);
    }
    included *f = TG_POOL_TAKE(s->r->pool, included, 1);
    if (f == NULL)
        return tg_mjcf_no_memory(s->r, xml);
    *f = (included){path, s->files};
    s->files = f;
    return TG_OK;
}

static tg_status read_tree(state *s, const tg_xml *xml, const char *path, tg_xml **root)
{
    tg_file file;
    tg_error inner = {0};
    tg_status status = tg_file_read(path, TG_XML_MAX_BYTES, s->r->allocator, &file, &inner);
    if (status != TG_OK)
        return tg_xml_fail(s->r->error, status, xml, "attribute 'file': %.250s", inner.message);
    status = tg_xml_parse(file.data, file.size, path, s->r->pool, &s->r->nelement, root, s->r->error);
    tg_file_free(&file, s->r->allocator);
    if (status == TG_OK && (*root)->first == NULL)
        return tg_xml_fail(s->r->error, TG_ERR_PARSE, xml, "attribute 'file': %.200s has no elements", path);
    return status;
}

/* Puts the children of root in the place of *link. Returns the last of them. */
static tg_xml *splice(tg_xml *parent, tg_xml **link, tg_xml *root)
{
    tg_xml *include = *link;
    for (tg_xml *e = root->first; e != NULL; e = e->next)
        e->parent = parent;
    root->last->next = include->next;
    *link = root->first;
    if (parent->last == include)
        parent->last = root->last;
    return root->last;
}

static tg_status include_file(state *s, tg_xml *xml, int depth, int nesting, tg_xml **root)
{
    const char *path = NULL;
    if (xml->first != NULL)
        return tg_xml_fail(s->r->error, TG_ERR_PARSE, xml, "must not have elements inside");
    if (nesting >= MAX_NESTING)
        return tg_xml_fail(s->r->error, TG_ERR_PARSE, xml, "files include each other more than %d deep", MAX_NESTING);
    TG_TRY(tg_mjcf_find_path(s->r, xml, s->dir, &path));
    if (path != NULL)
    {
        TG_TRY(remember(s, xml, path));
        TG_TRY(read_tree(s, xml, path, root));
    }
    return *root != NULL ? expand(s, *root, depth, nesting + 1) : TG_OK;
}

static tg_status expand(state *s, tg_xml *parent, int depth, int nesting)
{
    if (depth >= TG_XML_MAX_DEPTH)
        return tg_xml_fail(s->r->error, TG_ERR_PARSE, parent, "is nested deeper than %d elements", TG_XML_MAX_DEPTH);
    for (tg_xml **link = &parent->first; *link != NULL;)
    {
        if (strcmp((*link)->name, "include") != 0)
        {
            TG_TRY(expand(s, *link, depth + 1, nesting));
            link = &(*link)->next;
            continue;
        }
        tg_xml *root = NULL;
        TG_TRY(include_file(s, *link, depth, nesting, &root));
        link = root != NULL ? &splice(parent, link, root)->next : &(*link)->next;
    }
    return TG_OK;
}

tg_status tg_mjcf_include(tg_mjcf *r, tg_xml *root, const char *dir)
{
    state s = {.r = r, .dir = dir};
    tg_status status = remember(&s, root, root->file);
    return status == TG_OK ? expand(&s, root, 0, 0) : status;
}
