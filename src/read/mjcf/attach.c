/* asset model, and attach: a part of another file (or of the same one) takes the place of the element, under a prefix.
 *
 * The other file keeps its settings and classes: it is a scope of its own. With the part come all meshes and height
 * fields of the file, what refers to the part (contact, tendon, equality, actuator), its keyframes and its custom
 * numbers. The options of the main file count. */
#include <stdio.h>
#include <string.h>

#include "read/file.h"
#include "read/mjcf/copy.h"

/* ---- models inside a model ---- */

/* A file that is open around the place would contain itself. */
static tg_status check_cycle(tg_mjcf *r, const tg_xml *xml, const char *path)
{
    const tg_mjcf_scope *scope;
    for (int i = xml->scope; i >= 0; i = scope->around)
    {
        scope = tg_mjcf_pointer(&r->scope, i);
        if (strcmp(scope->path, path) == 0)
            return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute 'file': %.200s would contain itself", path);
    }
    return TG_OK;
}

/* What the options of an attached file are worth. */
static tg_status report_settings(tg_mjcf *r, const tg_xml *root)
{
    static const char note[] = "of an attached model: that of the main file counts";
    tg_status status = TG_OK;
    for (const tg_xml *e = root->first; e != NULL; e = e->next)
    {
        bool option = strcmp(e->name, "option") == 0, compiler = strcmp(e->name, "compiler") == 0;
        for (int i = 0; i < e->nattribute && status == TG_OK; i++)
        {
            const char *name = e->attribute[i].name;
            if (option || (compiler && strcmp(name, "settotalmass") == 0))
                status = tg_mjcf_report(r, TG_TABLE_NOTED, e, name, note);
        }
        for (const tg_xml *flag = option ? e->first : NULL; flag != NULL; flag = flag->next)
        {
            for (int i = 0; i < flag->nattribute && status == TG_OK; i++)
                status = tg_mjcf_report(r, TG_TABLE_NOTED, flag, flag->attribute[i].name, note);
        }
    }
    return status;
}

static tg_status read_model(tg_mjcf *r, const tg_xml *xml)
{
    const char *path, *dir = NULL;
    tg_xml *root = NULL;
    tg_file file;
    tg_error inner = {0};
    tg_status status = tg_mjcf_find_path(r, xml, tg_mjcf_scope_of(r, xml)->dir, &path);
    if (status == TG_OK)
        status = check_cycle(r, xml, path);
    if (status != TG_OK)
        return status;
    status = tg_file_read(path, TG_XML_MAX_BYTES, r->allocator, &file, &inner);
    if (status != TG_OK)
        return tg_xml_fail(r->error, status, xml, "attribute 'file': %.250s", inner.message);
    status = tg_xml_parse(file.data, file.size, path, r->pool, &r->nelement, &root, r->error);
    tg_file_free(&file, r->allocator);
    if (status != TG_OK)
        return status;
    if (strcmp(root->name, "mujoco") != 0)
        return tg_xml_fail(r->error, TG_ERR_UNSUPPORTED, xml,
                           "attribute 'file': %.200s is no MJCF: its root is '%.60s'", path, root->name);
    const char *name = tg_xml_get(xml, "name");
    if (name == NULL || name[0] == '\0')
        name = tg_xml_get(root, "model");
    dir = tg_path_dir(r->pool, path);
    if (dir == NULL)
        return tg_mjcf_no_memory(r, xml);
    status = tg_mjcf_open_file(r, root, name != NULL ? name : "MuJoCo Model", path, dir, xml->scope);
    return status == TG_OK ? report_settings(r, root) : status;
}

tg_status tg_mjcf_models(tg_mjcf *r, const tg_xml *root)
{
    enum
    {
        MAX_MODELS = 1000
    };
    tg_status status = TG_OK;
    for (const tg_xml *section = root->first; section != NULL; section = section->next)
    {
        const tg_xml *first = strcmp(section->name, "asset") == 0 ? section->first : NULL;
        for (const tg_xml *e = first; e != NULL && status == TG_OK; e = e->next)
        {
            if (strcmp(e->name, "model") != 0)
                continue;
            if (r->scope.count > MAX_MODELS)
                return tg_xml_fail(r->error, TG_ERR_VALUE, e, "there are more than %d models in a model", MAX_MODELS);
            status = read_model(r, e);
        }
    }
    return status;
}

/* ---- what is attached ---- */

typedef struct graft
{
    tg_mjcf *r;
    tg_xml *xml;  /* the attach element */
    tg_xml *root; /* of its file */
    tg_xml *from; /* root of the file from which it takes */
    tg_xml *part; /* the body or frame; NULL: all of the world */
    tg_mjcf_names inside, outside;
    tg_mjcf_rename rename;
    int map, map_of; /* the key map that was made last (0: none), and that of the keyframe it was made for */
} graft;

static bool is_in(const tg_xml *xml, const tg_xml *around)
{
    while (xml != NULL && xml != around)
        xml = xml->parent;
    return xml != NULL;
}

/* Whether a ends before b begins: it is in a sibling before b, or before something that b is in. */
static bool comes_before(const tg_xml *a, const tg_xml *b)
{
    bool found = false;
    for (; b->parent != NULL && !found; b = b->parent)
    {
        for (const tg_xml *e = b->parent->first; e != b && !found; e = e->next)
            found = is_in(a, e);
    }
    return found;
}

static int height_of(const tg_xml *xml)
{
    int height = 0;
    for (const tg_xml *e = xml->first; e != NULL; e = e->next)
    {
        int h = height_of(e);
        height = h > height ? h : height;
    }
    return height + 1;
}

static tg_status check_source(const graft *g)
{
    int depth = height_of(g->part != NULL ? g->part : g->from) + 2;
    for (const tg_xml *e = g->xml->parent; e != NULL; e = e->parent)
        depth++;
    if (g->from == g->root && !comes_before(g->part, g->xml))
        return tg_xml_fail(g->r->error, TG_ERR_PARSE, g->xml,
                           "attaches what stands around it or behind it; only something before it can be attached");
    if (depth > TG_XML_MAX_DEPTH)
        return tg_xml_fail(g->r->error, TG_ERR_PARSE, g->xml, "elements are nested deeper than %d", TG_XML_MAX_DEPTH);
    return TG_OK;
}

static tg_status find_source(graft *g, const tg_mjcf_attach_written *w)
{
    tg_mjcf *r = g->r;
    if (w->model == NULL)
        g->from = g->root;
    for (int i = 0; i < r->scope.count && w->model != NULL; i++)
    {
        const tg_mjcf_scope *scope = tg_mjcf_pointer(&r->scope, i);
        if (scope->around == g->xml->scope && strcmp(scope->name, w->model) == 0)
            g->from = scope->root;
    }
    if (g->from == NULL)
        return tg_xml_fail(r->error, TG_ERR_NAME, g->xml, "attribute 'model': there is no model \"%.80s\"",
                           w->model != NULL ? w->model : "");
    const char *kind = w->body != NULL ? "body" : "frame", *name = w->body != NULL ? w->body : w->frame;
    if (name == NULL && w->model == NULL)
        return tg_xml_fail(r->error, TG_ERR_PARSE, g->xml, "attribute 'body' or 'frame' is missing");
    for (tg_xml *e = g->from->first; e != NULL && name != NULL && g->part == NULL; e = e->next)
    {
        if (strcmp(e->name, "worldbody") == 0) /* not const: it is ours, from the pool */
            g->part = (tg_xml *)tg_mjcf_find_in_tree(e, kind, name);
    }
    if (name != NULL && g->part == NULL)
        return tg_xml_fail(r->error, TG_ERR_NAME, g->xml, "attribute '%s': there is no %s \"%.80s\"", kind, kind, name);
    return check_source(g);
}

static bool list_names(tg_mjcf *r, tg_mjcf_names *names, const tg_xml *root)
{
    bool done = true;
    for (const tg_xml *e = root->first; e != NULL && done; e = e->next)
        done = strcmp(e->name, "worldbody") != 0 || tg_mjcf_names_of(r, names, e);
    return done;
}

/* The class that holds where the part stands. */
static const char *class_around(const tg_xml *part)
{
    const char *class = NULL;
    for (const tg_xml *e = part != NULL ? part->parent : NULL; e != NULL && class == NULL; e = e->parent)
        class = tg_xml_get(e, "childclass");
    return class != NULL ? class : "main";
}

/* The attach element becomes a frame, and has in it a frame of the other scope with the copies. */
static tg_status copy_part(graft *g)
{
    tg_mjcf *r = g->r;
    tg_xml *frame = tg_mjcf_new_element(r, g->xml, "frame", NULL);
    tg_xml_attribute *class = TG_POOL_TAKE(r->pool, tg_xml_attribute, 1);
    if (frame == NULL || class == NULL)
        return tg_mjcf_no_memory(r, g->xml);
    g->xml->name = "frame";
    g->xml->nattribute = 0;
    tg_xml_append(g->xml, frame);
    *class = (tg_xml_attribute){"childclass", class_around(g->part)};
    frame->attribute = class;
    frame->nattribute = 1;
    frame->scope = g->from->scope;
    if (g->part != NULL)
        return tg_mjcf_copy(r, g->part, &g->rename, frame);
    tg_status status = TG_OK;
    for (tg_xml *section = g->from->first; section != NULL; section = section->next)
    {
        tg_xml *first = strcmp(section->name, "worldbody") == 0 ? section->first : NULL;
        for (tg_xml *e = first; e != NULL && status == TG_OK; e = e->next)
            status = tg_mjcf_copy(r, e, &g->rename, frame);
    }
    return status;
}

/* ---- meshes and height fields ---- */

/* One without a name is called as its file, with the prefix. */
static tg_status name_asset(graft *g, tg_xml *copy)
{
    const char *file = tg_xml_get(copy, "file"), *name = tg_xml_get(copy, "name");
    if (file == NULL || (name != NULL && name[0] != '\0'))
        return TG_OK;
    tg_xml_attribute *attribute = TG_POOL_TAKE(g->r->pool, tg_xml_attribute, copy->nattribute + 1);
    const char *stem = tg_path_stem(g->r->pool, file);
    name = stem != NULL ? tg_mjcf_renamed(g->r, stem, &g->rename) : NULL;
    if (attribute == NULL || name == NULL)
        return tg_mjcf_no_memory(g->r, g->xml);
    attribute[0] = (tg_xml_attribute){"name", name};
    memcpy(attribute + 1, copy->attribute, (size_t)copy->nattribute * sizeof *attribute);
    copy->attribute = attribute;
    copy->nattribute++;
    return TG_OK;
}

static tg_status copy_asset(graft *g, tg_xml *e, tg_xml *into)
{
    if (strcmp(e->name, "mesh") != 0 && strcmp(e->name, "hfield") != 0)
        return TG_OK;
    tg_status status = tg_mjcf_copy(g->r, e, &g->rename, into);
    return status == TG_OK ? name_asset(g, e->copy) : status;
}

/* ---- keyframes ---- */

/* Joints in the order of q: those of a body, then those of the bodies in it. */
static bool list_joints(tg_mjcf *r, tg_xml *xml, bool bodies, tg_mjcf_list *list)
{
    bool done = true;
    for (tg_xml *e = xml->first; e != NULL && done; e = e->next)
    {
        bool joint = strcmp(e->name, "joint") == 0 || strcmp(e->name, "freejoint") == 0;
        if (strcmp(e->name, "frame") == 0)
            done = list_joints(r, e, bodies, list);
        else if (bodies && strcmp(e->name, "body") == 0)
            done = list_joints(r, e, false, list) && list_joints(r, e, true, list);
        else if (joint && !bodies)
        {
            tg_mjcf_key_item *item = tg_mjcf_append(r, list, sizeof *item);
            done = item != NULL;
            if (done)
                *item = (tg_mjcf_key_item){e, e};
        }
    }
    return done;
}

/* The order in which the keyframes of a file number its joints and actuators. */
static bool list_state(tg_mjcf *r, tg_xml *root, tg_mjcf_key_map *map)
{
    bool done = true;
    for (tg_xml *section = root->first; section != NULL && done; section = section->next)
    {
        if (strcmp(section->name, "worldbody") == 0)
            done = list_joints(r, section, true, &map->joint);
        tg_xml *first = strcmp(section->name, "actuator") == 0 ? section->first : NULL;
        for (tg_xml *e = first; e != NULL && done; e = e->next)
        {
            tg_mjcf_key_item *item = tg_mjcf_append(r, &map->actuator, sizeof *item);
            done = item != NULL;
            if (done)
                *item = (tg_mjcf_key_item){e, e};
        }
    }
    return done;
}

/* The same order, with the places to which the elements were copied. */
static bool follow(tg_mjcf *r, const tg_mjcf_list *before, tg_mjcf_list *after)
{
    for (int i = 0; i < before->count; i++)
    {
        tg_mjcf_key_item *item = tg_mjcf_append(r, after, sizeof *item);
        if (item == NULL)
            return false;
        *item = ((const tg_mjcf_key_item *)before->data)[i];
        tg_xml *now = tg_mjcf_standing(item->now);
        item->now = now != NULL ? now->copy : NULL;
    }
    return true;
}

/* The map of a keyframe in this file. Those of one origin have the same one. */
static tg_status find_map(graft *g, const tg_xml *key, int *map)
{
    tg_mjcf *r = g->r;
    tg_mjcf_key_map before = {0}, after = {0};
    const tg_mjcf_key_map *known = tg_mjcf_key_map_of(r, key);
    if (g->map > 0 && g->map_of == key->map)
    {
        *map = g->map;
        return TG_OK;
    }
    bool done = known != NULL || list_state(r, g->from, &before);
    known = known != NULL ? known : &before;
    done = done && follow(r, &known->joint, &after.joint) && follow(r, &known->actuator, &after.actuator);
    tg_mjcf_key_map *place = done ? tg_mjcf_append(r, &r->key_map, sizeof *place) : NULL;
    if (place == NULL)
        return tg_mjcf_no_memory(r, key);
    *place = after;
    *map = g->map = r->key_map.count;
    g->map_of = key->map;
    return TG_OK;
}

static tg_status copy_key(graft *g, tg_xml *e, tg_xml *into)
{
    int map = 0;
    tg_status status = find_map(g, e, &map);
    if (status == TG_OK)
        status = tg_mjcf_copy(g->r, e, &g->rename, into);
    if (status == TG_OK)
        e->copy->map = map;
    return status;
}

/* ---- custom numbers ---- */

/* What follows the dot of a name gets the prefix: "tangere:geom.foot.restitution" speaks of the geom under its new
 * name. */
static const char *rename_custom(graft *g, const char *name)
{
    const char *dot = strchr(name, '.');
    if (dot == NULL)
        return name;
    size_t head = (size_t)(dot - name) + 1;
    tg_mjcf_rename to = g->rename;
    char *prefix = tg_pool_take(g->r->pool, head + strlen(to.prefix) + 1, 1);
    if (prefix == NULL)
        return NULL;
    memcpy(prefix, name, head);
    memcpy(prefix + head, to.prefix, strlen(to.prefix));
    to.prefix = prefix;
    return tg_mjcf_renamed(g->r, dot + 1, &to);
}

static tg_status copy_renamed(graft *g, tg_xml *e, tg_xml *into)
{
    tg_xml_attribute *attribute = TG_POOL_TAKE(g->r->pool, tg_xml_attribute, e->nattribute);
    const char *renamed = rename_custom(g, tg_xml_get(e, "name"));
    if (renamed == NULL || attribute == NULL)
        return tg_mjcf_no_memory(g->r, e);
    tg_status status = tg_mjcf_copy(g->r, e, &g->rename, into);
    if (status != TG_OK)
        return status;
    for (int i = 0; i < e->nattribute; i++)
    {
        attribute[i] = e->attribute[i];
        if (strcmp(attribute[i].name, "name") == 0)
            attribute[i].value = renamed;
    }
    e->copy->attribute = attribute;
    return TG_OK;
}

static bool is_inside(graft *g, const tg_xml *tuple)
{
    bool inside = true;
    for (const tg_xml *e = tuple->first; e != NULL && inside; e = e->next)
    {
        const char *name = tg_xml_get(e, "objname");
        inside = name != NULL && tg_mjcf_names_have(&g->inside, TG_GEOM, name);
    }
    return inside;
}

/* Numbers that are parameters, and excludes of geoms. */
static tg_status copy_custom(graft *g, tg_xml *e, tg_xml *into)
{
    static const char product[] = "tangere:";
    if (tg_mjcf_is_exclude(e))
        return is_inside(g, e) ? copy_renamed(g, e, into) : TG_OK;
    bool counts = strcmp(e->name, "numeric") == 0 || strcmp(e->name, "text") == 0;
    const char *name = counts ? tg_xml_get(e, "name") : NULL;
    if (name == NULL || strncmp(name, product, sizeof product - 1) != 0)
        return TG_OK;
    const char *dot = strchr(name, '.');
    if (dot == NULL || dot[1] == '#' || dot[1] == '*')
        return tg_mjcf_report(g->r, TG_TABLE_NOTED, e, "name", "counts where its own file is loaded by itself only");
    return copy_renamed(g, e, into);
}

/* ---- the whole ---- */

typedef tg_status (*copier)(graft *g, tg_xml *e, tg_xml *into);

/* Elements of all sections of a name go into a new section. */
static tg_status copy_sections(graft *g, const char *name, copier copy)
{
    tg_xml *into = tg_mjcf_new_element(g->r, g->xml, name, g->root);
    tg_status status = into != NULL ? TG_OK : tg_mjcf_no_memory(g->r, g->xml);
    for (tg_xml *section = g->from->first; section != NULL; section = section->next)
    {
        tg_xml *first = strcmp(section->name, name) == 0 ? section->first : NULL;
        for (tg_xml *e = first; e != NULL && status == TG_OK; e = e->next)
            status = copy(g, e, into);
    }
    return status;
}

static void forget_copies(tg_xml *xml)
{
    if (!xml->gone)
        xml->copy = NULL;
    for (tg_xml *e = xml->first; e != NULL; e = e->next)
        forget_copies(e);
}

static tg_status copy_all(graft *g)
{
    bool foreign = g->from != g->root;
    tg_mjcf_copying copying = {g->xml, g->root, &g->inside, foreign ? &g->outside : NULL, &g->rename, 1, false};
    tg_status status = copy_part(g);
    if (status == TG_OK)
        status = tg_mjcf_copy_references(g->r, g->from, &copying);
    if (status == TG_OK && foreign)
        status = copy_sections(g, "asset", copy_asset);
    if (status == TG_OK && foreign)
        status = copy_sections(g, "keyframe", copy_key);
    if (status == TG_OK && foreign)
        status = copy_sections(g, "custom", copy_custom);
    forget_copies(g->from);
    return status;
}

tg_status tg_mjcf_attach(tg_mjcf *r, tg_xml *xml, const tg_table_row *row, tg_xml *root)
{
    tg_mjcf_attach_written w = {0};
    graft g = {.r = r, .xml = xml, .root = root};
    tg_status status = tg_table_read(r->error, xml, row, true, &w);
    if (status != TG_OK)
        return status;
    if (w.prefix == NULL)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute 'prefix' is missing");
    if (w.body != NULL && w.frame != NULL)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attributes 'body' and 'frame' exclude each other");
    status = find_source(&g, &w);
    if (status != TG_OK || g.from == NULL)
        return status;
    g.rename = (tg_mjcf_rename){w.prefix, "", &g.inside, g.from != root, true};
    bool listed = g.part != NULL ? tg_mjcf_names_of(r, &g.inside, g.part) : list_names(r, &g.inside, g.from);
    if (!listed || (g.from != root && !list_names(r, &g.outside, root)))
        return tg_mjcf_no_memory(r, xml);
    return copy_all(&g);
}
