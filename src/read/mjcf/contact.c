/* contact: pairs and excludes. They are given to the builder in the order of their bodies, as MuJoCo numbers them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "read/mjcf/mjcf.h"

/* A pair or exclude; key orders them. */
typedef struct item
{
    uint64_t key; /* lower body, higher body */
    int order;    /* in the file */
    const tg_xml *xml;
    tg_pair_def pair;
    tg_exclude_def exclude;
} item;

static uint64_t body_key(int a, int b)
{
    uint64_t low = (uint64_t)(a < b ? a : b), high = (uint64_t)(a < b ? b : a);
    return low << 32 | high;
}

static int compare(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->order - y->order;
}

static tg_status read_pair(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row, item *out)
{
    const tg_mjcf_class *class;
    tg_status status = tg_mjcf_find_class(r, xml, "class", NULL, &class);
    if (status != TG_OK)
        return status;
    tg_mjcf_pair w = class->pair;
    status = tg_table_read(r->error, xml, row, true, &w);
    tg_pair_def *def = &out->pair;
    *def = tg_default_pair();
    if (status == TG_OK)
        status = tg_mjcf_refer(r, xml, "geom1", w.geom1, TG_GEOM, &def->geom1);
    if (status == TG_OK)
        status = tg_mjcf_refer(r, xml, "geom2", w.geom2, TG_GEOM, &def->geom2);
    if (status != TG_OK)
        return status;
    int body1 = ((tg_mjcf_geom_known *)r->geom.data)[def->geom1].body;
    int body2 = ((tg_mjcf_geom_known *)r->geom.data)[def->geom2].body;
    if (body1 > body2)
    {
        int swap = def->geom1;
        def->geom1 = def->geom2;
        def->geom2 = swap;
    }
    out->key = body_key(body1, body2);
    def->name = tg_xml_get(xml, "name");
    def->condim = w.condim;
    def->friction[0] = fmax(w.friction[0], w.friction[1]);
    def->friction[1] = w.friction[2];
    def->friction[2] = fmax(w.friction[3], w.friction[4]);
    def->margin = w.margin;
    def->gap = w.gap;
    if (w.friction[0] != w.friction[1] || w.friction[3] != w.friction[4])
        return tg_mjcf_report(r, TG_TABLE_APPROXIMATED, xml, "friction", "of two coefficients, the larger counts");
    return TG_OK;
}

static tg_status read_exclude(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row, item *out)
{
    tg_mjcf_exclude w = {0};
    tg_exclude_def *def = &out->exclude;
    *def = tg_default_exclude();
    tg_status status = tg_table_read(r->error, xml, row, true, &w);
    if (status == TG_OK)
        status = tg_mjcf_refer(r, xml, "body1", w.body1, TG_BODY, &def->body1);
    if (status == TG_OK)
        status = tg_mjcf_refer(r, xml, "body2", w.body2, TG_BODY, &def->body2);
    def->name = tg_xml_get(xml, "name");
    out->key = body_key(def->body1, def->body2);
    return status;
}

/* The two geoms of a tuple; see TG_MJCF_EXCLUDE. */
static tg_status read_tuple(tg_mjcf *r, const tg_xml *xml, item *out)
{
    tg_exclude_def *def = &out->exclude;
    int geom[2] = {-1, -1}, n = 0;
    for (const tg_xml *e = xml->first; e != NULL; e = e->next, n++)
    {
        const char *type = tg_xml_get(e, "objtype"), *name = tg_xml_get(e, "objname");
        if (n == 2 || type == NULL || name == NULL || strcmp(type, "geom") != 0)
            break;
        tg_status status = tg_mjcf_refer(r, e, "objname", name, TG_GEOM, &geom[n]);
        if (status != TG_OK)
            return status;
    }
    if (n != 2 || xml->first->next->next != NULL)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "an exclude of geoms is a tuple of two geoms");
    const char *name = tg_xml_get(xml, "name") + strlen(TG_MJCF_EXCLUDE);
    *def = tg_default_exclude();
    def->name = name[0] == '.' ? name + 1 : NULL;
    def->geom1 = geom[0];
    def->geom2 = geom[1];
    out->key = body_key(((tg_mjcf_geom_known *)r->geom.data)[geom[0]].body,
                        ((tg_mjcf_geom_known *)r->geom.data)[geom[1]].body);
    return tg_mjcf_report(r, TG_TABLE_HONOURED, xml, "", "the two geoms do not collide");
}

static tg_status add(tg_mjcf *r, const item *x, bool pair)
{
    int id = -1;
    tg_status status =
        pair ? tg_builder_pair(r->builder, &x->pair, &id) : tg_builder_exclude(r->builder, &x->exclude, &id);
    status = tg_mjcf_builder_failed(r, x->xml, status);
    if (status != TG_OK)
        return status;
    return tg_mjcf_remember(r, x->xml, pair ? TG_PAIR : TG_EXCLUDE, pair ? x->pair.name : x->exclude.name, id);
}

static tg_status add_sorted(tg_mjcf *r, const tg_mjcf_list *list, bool pair)
{
    tg_status status = TG_OK;
    if (list->count > 0)
        qsort(list->data, (size_t)list->count, sizeof(item), compare);
    for (int i = 0; i < list->count && status == TG_OK; i++)
        status = add(r, (item *)list->data + i, pair);
    return status;
}

/* All pairs, or all excludes, of all sections. */
static tg_status read_kind(tg_mjcf *r, const tg_xml *root, bool pair)
{
    const char *name = pair ? "pair" : "exclude";
    const tg_table_row *row = tg_table_child(tg_table_child(tg_mjcf_rows(), "contact"), name);
    tg_mjcf_list list = {0};
    tg_status status = TG_OK;
    for (const tg_xml *section = root->first; section != NULL; section = section->next)
    {
        const tg_xml *first = strcmp(section->name, "contact") == 0 ? section->first : NULL;
        for (const tg_xml *e = first; e != NULL && status == TG_OK; e = e->next)
        {
            if (strcmp(e->name, name) != 0)
                continue;
            item *x = tg_mjcf_append(r, &list, sizeof *x);
            if (x == NULL)
                return tg_mjcf_no_memory(r, e);
            *x = (item){.order = list.count, .xml = e};
            status = pair ? read_pair(r, e, row, x) : read_exclude(r, e, row, x);
        }
    }
    return status == TG_OK ? add_sorted(r, &list, pair) : status;
}

tg_status tg_mjcf_contact(tg_mjcf *r, const tg_xml *root)
{
    tg_status status = read_kind(r, root, true);
    return status == TG_OK ? read_kind(r, root, false) : status;
}

bool tg_mjcf_is_exclude(const tg_xml *xml)
{
    const size_t length = sizeof TG_MJCF_EXCLUDE - 1;
    const char *name = strcmp(xml->name, "tuple") == 0 ? tg_xml_get(xml, "name") : NULL;
    return name != NULL && strncmp(name, TG_MJCF_EXCLUDE, length) == 0 && (name[length] == '.' || name[length] == '#');
}

tg_status tg_mjcf_geom_excludes(tg_mjcf *r, const tg_xml *root)
{
    tg_mjcf_list list = {0};
    tg_status status = TG_OK;
    for (const tg_xml *section = root->first; section != NULL; section = section->next)
    {
        const tg_xml *first = strcmp(section->name, "custom") == 0 ? section->first : NULL;
        for (const tg_xml *e = first; e != NULL && status == TG_OK; e = e->next)
        {
            if (!tg_mjcf_is_exclude(e))
                continue;
            item *x = tg_mjcf_append(r, &list, sizeof *x);
            if (x == NULL)
                return tg_mjcf_no_memory(r, e);
            *x = (item){.order = list.count, .xml = e};
            status = read_tuple(r, e, x);
        }
    }
    return status == TG_OK ? add_sorted(r, &list, false) : status;
}
