/* Names, references and the lists behind them. */
#include <string.h>

#include "model/builder.h"
#include "read/mjcf/mjcf.h"

void *tg_mjcf_append(tg_mjcf *r, tg_mjcf_list *list, size_t size)
{
    if (list->count == list->capacity)
    {
        int capacity = list->capacity == 0 ? 32 : 2 * list->capacity;
        void *data = tg_pool_take(r->pool, (size_t)capacity, size);
        if (data == NULL)
            return NULL;
        if (list->count > 0)
            memcpy(data, list->data, (size_t)list->count * size);
        list->data = data;
        list->capacity = capacity;
    }
    return (char *)list->data + (size_t)list->count++ * size;
}

bool tg_mjcf_append_pointer(tg_mjcf *r, tg_mjcf_list *list, void *pointer)
{
    void **place = tg_mjcf_append(r, list, sizeof *place);
    if (place != NULL)
        *place = pointer;
    return place != NULL;
}

/* FNV-1a over the kind and the name */
static uint32_t hash(tg_element element, const char *name)
{
    uint32_t h = (2166136261u ^ (uint32_t)element) * 16777619u;
    for (const char *c = name; *c != '\0'; c++)
        h = (h ^ (unsigned char)*c) * 16777619u;
    return h;
}

static tg_mjcf_thing *thing_at(const tg_mjcf *r, int i)
{
    return (tg_mjcf_thing *)r->thing.data + i;
}

static void chain(tg_mjcf *r, int i)
{
    tg_mjcf_thing *thing = thing_at(r, i);
    int *head = &r->bucket[hash(thing->element, thing->name) % (uint32_t)r->nbucket];
    thing->next = *head;
    *head = i;
}

/* As many buckets as things, or more. */
static bool grow_buckets(tg_mjcf *r)
{
    if (r->thing.count < r->nbucket)
        return true;
    int n = r->nbucket == 0 ? 256 : 4 * r->nbucket;
    int *bucket = TG_POOL_TAKE(r->pool, int, n);
    if (bucket == NULL)
        return false;
    for (int i = 0; i < n; i++)
        bucket[i] = -1;
    r->bucket = bucket;
    r->nbucket = n;
    for (int i = 0; i < r->thing.count; i++)
    {
        if (thing_at(r, i)->name[0] != '\0')
            chain(r, i);
    }
    return true;
}

static const tg_mjcf_thing *find(const tg_mjcf *r, tg_element element, const char *name)
{
    if (r->nbucket == 0 || name[0] == '\0')
        return NULL;
    for (int i = r->bucket[hash(element, name) % (uint32_t)r->nbucket]; i >= 0; i = thing_at(r, i)->next)
    {
        const tg_mjcf_thing *thing = thing_at(r, i);
        if (thing->element == element && strcmp(thing->name, name) == 0)
            return thing;
    }
    return NULL;
}

/* "#12": for references only; the element has no name. */
static bool is_label(const char *name)
{
    return name[0] == '#' && name[1] != '\0' && name[1 + strspn(name + 1, "0123456789")] == '\0';
}

tg_status tg_mjcf_remember(tg_mjcf *r, const tg_xml *xml, tg_element element, const char *name, int id)
{
    name = name != NULL ? name : "";
    const tg_mjcf_thing *other = find(r, element, name);
    if (other != NULL)
        return tg_xml_fail(r->error, TG_ERR_NAME, xml, "name \"%.80s\" is used twice; the first is in %s:%d", name,
                           other->xml->file, other->xml->line);
    tg_mjcf_thing *thing = grow_buckets(r) ? tg_mjcf_append(r, &r->thing, sizeof *thing) : NULL;
    if (thing == NULL)
        return tg_mjcf_no_memory(r, xml);
    *thing = (tg_mjcf_thing){xml, name, element, id, -1};
    if (name[0] != '\0')
        chain(r, r->thing.count - 1);
    if (is_label(name))
        tg_builder_unname(r->builder, element, id);
    return TG_OK;
}

tg_status tg_mjcf_refer(tg_mjcf *r, const tg_xml *xml, const char *attribute, const char *name, tg_element element,
                        int *id)
{
    const tg_mjcf_thing *thing = find(r, element, name);
    if (element == TG_BODY && strcmp(name, "world") == 0)
    {
        *id = 0;
        return TG_OK;
    }
    if (thing == NULL)
        return tg_xml_fail(r->error, TG_ERR_NAME, xml, "attribute '%s': there is no %s \"%.80s\"", attribute,
                           tg_element_string(element), name);
    *id = thing->id;
    return TG_OK;
}

const tg_mjcf_thing *tg_mjcf_thing_of(const tg_mjcf *r, tg_element element, int id)
{
    for (int i = 0; i < r->thing.count; i++)
    {
        const tg_mjcf_thing *thing = thing_at(r, i);
        if (thing->element == element && thing->id == id)
            return thing;
    }
    return NULL;
}
