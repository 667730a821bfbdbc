/* Which bodies, geoms, meshes and sites something refers to: fusestatic and discardvisual leave those alone. */
#include <string.h>

#include "model/builder.h"
#include "read/mjcf/copy.h"

/* The kind of element that the words of objtype and reftype name. */
static tg_element element_of(const char *word)
{
    if (word == NULL)
        return TG_ELEMENT_COUNT;
    if (strcmp(word, "body") == 0 || strcmp(word, "xbody") == 0)
        return TG_BODY;
    return strcmp(word, "geom") == 0 ? TG_GEOM : strcmp(word, "mesh") == 0 ? TG_MESH : TG_ELEMENT_COUNT;
}

/* What an attribute refers to. */
static tg_element referred(const tg_xml *xml, const char *attribute)
{
    static const struct
    {
        const char *attribute;
        tg_element element;
    } plain[] = {{"body", TG_BODY},     {"body1", TG_BODY},  {"body2", TG_BODY}, {"subtree1", TG_BODY},
                 {"subtree2", TG_BODY}, {"target", TG_BODY}, {"geom", TG_GEOM},  {"geom1", TG_GEOM},
                 {"geom2", TG_GEOM},    {"mesh", TG_MESH}};
    bool force = strcmp(xml->name, "force") == 0 || strcmp(xml->name, "torque") == 0;
    if (force && strcmp(attribute, "site") == 0)
        return TG_SITE;
    if (strcmp(attribute, "objname") == 0)
        return element_of(tg_xml_get(xml, "objtype"));
    if (strcmp(attribute, "refname") == 0)
        return element_of(tg_xml_get(xml, "reftype"));
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
    {
        if (strcmp(attribute, plain[i].attribute) == 0)
            return plain[i].element;
    }
    return TG_ELEMENT_COUNT;
}

/* Geoms name the meshes that they are: that is no reference here. */
static bool list(tg_mjcf *r, const tg_xml *xml, tg_mjcf_names *names)
{
    bool done = true;
    for (int i = 0; i < xml->nattribute && done && strcmp(xml->name, "geom") != 0; i++)
    {
        tg_element element = referred(xml, xml->attribute[i].name);
        if (element != TG_ELEMENT_COUNT)
            done = tg_mjcf_names_add(r, names, element, xml->attribute[i].value);
    }
    bool wraps = strcmp(xml->name, "spatial") == 0;
    for (const tg_xml *e = xml->first; e != NULL && done; e = e->next)
    {
        done = list(r, e, names);
        if (done && wraps && strcmp(e->name, "geom") == 0)
            done = tg_mjcf_names_add(r, names, TG_GEOM, tg_xml_get(e, "geom"));
    }
    return done;
}

bool tg_mjcf_used(tg_mjcf *r, tg_element element, const char *name)
{
    if (name == NULL || name[0] == '\0')
        return false;
    if (r->used == NULL)
    {
        r->used = TG_POOL_TAKE(r->pool, tg_mjcf_names, 1);
        if (r->used == NULL || !list(r, r->root, r->used))
            return true; /* out of memory: the next who needs some will say so */
    }
    return tg_mjcf_names_have(r->used, element, name);
}

tg_status tg_mjcf_discard_meshes(tg_mjcf *r)
{
    tg_mjcf_mesh_known *mesh = r->mesh.data;
    if (!tg_mjcf_compiler_of(r, r->root)->discardvisual || r->mesh.count == 0)
        return TG_OK;
    int *index = TG_POOL_TAKE(r->pool, int, r->mesh.count);
    if (index == NULL)
        return tg_mjcf_no_memory(r, r->root);
    for (int i = 0; i < r->mesh.count; i++)
    {
        bool keep = mesh[i].used || tg_mjcf_used(r, TG_MESH, tg_builder_name_of(r->builder, TG_MESH, i));
        index[i] = keep ? i : -1;
    }
    tg_builder_keep_meshes(r->builder, index);
    return TG_OK;
}
