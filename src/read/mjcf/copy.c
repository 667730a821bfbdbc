/* Copies of elements under other names, and of what refers to them: the common part of replicate and attach. */
#include "read/mjcf/copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static int compare(const void *a, const void *b)
{
    const tg_mjcf_named *x = a, *y = b;
    return x->element != y->element ? (int)x->element - (int)y->element : strcmp(x->name, y->name);
}

bool tg_mjcf_names_add(tg_mjcf *r, tg_mjcf_names *names, tg_element element, const char *name)
{
    if (name == NULL || name[0] == '\0')
        return true;
    tg_mjcf_named *item = tg_mjcf_append(r, &names->list, sizeof *item);
    if (item == NULL)
        return false;
    *item = (tg_mjcf_named){element, name};
    names->sorted = false;
    return true;
}

bool tg_mjcf_names_have(tg_mjcf_names *names, tg_element element, const char *name)
{
    tg_mjcf_named key = {element, name};
    if (names->list.count == 0)
        return false;
    if (!names->sorted)
        qsort(names->list.data, (size_t)names->list.count, sizeof key, compare);
    names->sorted = true;
    return bsearch(&key, names->list.data, (size_t)names->list.count, sizeof key, compare) != NULL;
}

/* What an element of the tree is to those that refer to it; TG_ELEMENT_COUNT: nothing. */
static tg_element element_of(const char *name)
{
    static const struct
    {
        const char *name;
        tg_element element;
    } kinds[] = {{"body", TG_BODY}, {"joint", TG_JOINT}, {"freejoint", TG_JOINT}, {"geom", TG_GEOM}, {"site", TG_SITE}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    {
        if (strcmp(name, kinds[i].name) == 0)
            return kinds[i].element;
    }
    return TG_ELEMENT_COUNT;
}

bool tg_mjcf_names_of(tg_mjcf *r, tg_mjcf_names *names, const tg_xml *xml)
{
    tg_element element = element_of(xml->name);
    bool done = element == TG_ELEMENT_COUNT || tg_mjcf_names_add(r, names, element, tg_xml_get(xml, "name"));
    for (const tg_xml *e = xml->first; e != NULL && done; e = e->next)
        done = tg_mjcf_names_of(r, names, e);
    return done;
}

const tg_xml *tg_mjcf_find_in_tree(const tg_xml *xml, const char *kind, const char *name)
{
    const char *own = strcmp(xml->name, kind) == 0 ? tg_xml_get(xml, "name") : NULL;
    if (own != NULL && strcmp(own, name) == 0)
        return xml;
    const tg_xml *found = NULL;
    for (const tg_xml *e = xml->first; e != NULL && found == NULL; e = e->next)
        found = tg_mjcf_find_in_tree(e, kind, name);
    return found;
}

/* ---- references ---- */

/* The attributes of contact, tendon, equality and actuator that name elements. */
static const struct
{
    const char *attribute;
    tg_element element;
} references[] = {
    {"body", TG_BODY},           {"body1", TG_BODY},    {"body2", TG_BODY},     {"joint", TG_JOINT},
    {"jointinparent", TG_JOINT}, {"joint1", TG_JOINT},  {"joint2", TG_JOINT},   {"geom", TG_GEOM},
    {"geom1", TG_GEOM},          {"geom2", TG_GEOM},    {"site", TG_SITE},      {"site1", TG_SITE},
    {"site2", TG_SITE},          {"refsite", TG_SITE},  {"sidesite", TG_SITE},  {"cranksite", TG_SITE},
    {"slidersite", TG_SITE},     {"tendon", TG_TENDON}, {"tendon1", TG_TENDON}, {"tendon2", TG_TENDON},
};

/* The kind of element that an attribute names; TG_ELEMENT_COUNT: none. */
static tg_element referred(const char *attribute)
{
    for (size_t i = 0; i < sizeof references / sizeof *references; i++)
    {
        if (strcmp(attribute, references[i].attribute) == 0)
            return references[i].element;
    }
    return TG_ELEMENT_COUNT;
}

/* How many references lead inside, outside, and nowhere. */
typedef struct tally
{
    int inside, outside, nowhere;
} tally;

/* A reference that does not lead inside: in a copy within one file it stays what it is; from another file it must find
 * something in the file it comes to. */
static bool leads_outside(const tg_mjcf_copying *c, tg_element element, const char *name)
{
    return c->outside == NULL || tg_mjcf_names_have(c->outside, element, name) ||
           (element == TG_BODY && strcmp(name, "world") == 0);
}

static void count_references(const tg_mjcf_copying *c, const tg_xml *xml, tally *t)
{
    for (int i = 0; i < xml->nattribute; i++)
    {
        const tg_xml_attribute *a = &xml->attribute[i];
        tg_element element = referred(a->name);
        if (element == TG_ELEMENT_COUNT || a->value[0] == '\0')
            continue;
        if (tg_mjcf_names_have(c->inside, element, a->value))
            t->inside++;
        else if (leads_outside(c, element, a->value))
            t->outside++;
        else
            t->nowhere++;
    }
    for (const tg_xml *e = xml->first; e != NULL; e = e->next)
        count_references(c, e, t);
}

/* ---- copies ---- */

static bool changes(const tg_xml *xml, const tg_xml_attribute *a, const tg_mjcf_rename *to)
{
    if (a->value[0] == '\0')
        return false;
    if (strcmp(a->name, "name") == 0)
        return true;
    if (to->assets && strcmp(xml->name, "geom") == 0 &&
        (strcmp(a->name, "mesh") == 0 || strcmp(a->name, "hfield") == 0))
        return true;
    bool tuple = strcmp(xml->name, "element") == 0 && strcmp(a->name, "objname") == 0; /* an exclude of geoms */
    tg_element element = tuple ? TG_GEOM : referred(a->name);
    return element != TG_ELEMENT_COUNT && tg_mjcf_names_have(to->inside, element, a->value);
}

const char *tg_mjcf_renamed(tg_mjcf *r, const char *name, const tg_mjcf_rename *to)
{
    size_t size = strlen(to->prefix) + strlen(name) + strlen(to->suffix) + 1;
    char *text = tg_pool_take(r->pool, size, 1);
    if (text != NULL)
        snprintf(text, size, "%s%s%s", to->prefix, name, to->suffix);
    return text;
}

/* The attributes are shared unless one of them changes. */
static bool copy_attributes(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_rename *to, tg_xml *copy)
{
    tg_xml_attribute *own = NULL;
    for (int i = 0; i < xml->nattribute; i++)
    {
        if (!changes(xml, &xml->attribute[i], to))
            continue;
        if (own == NULL)
        {
            own = TG_POOL_TAKE(r->pool, tg_xml_attribute, xml->nattribute);
            if (own == NULL)
                return false;
            memcpy(own, xml->attribute, (size_t)xml->nattribute * sizeof *own);
            copy->attribute = own;
        }
        own[i].value = tg_mjcf_renamed(r, xml->attribute[i].value, to);
        if (own[i].value == NULL)
            return false;
    }
    return true;
}

tg_status tg_mjcf_copy(tg_mjcf *r, tg_xml *xml, const tg_mjcf_rename *to, tg_xml *parent)
{
    if (r->nelement >= TG_XML_MAX_ELEMENTS)
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "its copies make more than %d elements", TG_XML_MAX_ELEMENTS);
    tg_xml *copy = TG_POOL_TAKE(r->pool, tg_xml, 1);
    if (copy == NULL)
        return tg_mjcf_no_memory(r, xml);
    r->nelement++;
    *copy = (tg_xml){.name = xml->name,
                     .file = xml->file,
                     .line = xml->line,
                     .nattribute = xml->nattribute,
                     .attribute = xml->attribute,
                     .scope = xml->scope,
                     .again = xml->again || !to->first};
    if (!copy_attributes(r, xml, to, copy))
        return tg_mjcf_no_memory(r, xml);
    tg_xml_append(parent, copy);
    if (to->first)
        xml->copy = copy;
    tg_status status = TG_OK;
    for (tg_xml *e = xml->first; e != NULL && status == TG_OK; e = e->next)
        status = tg_mjcf_copy(r, e, to, copy);
    return status;
}

tg_xml *tg_mjcf_new_element(tg_mjcf *r, const tg_xml *like, const char *name, tg_xml *parent)
{
    tg_xml *xml = TG_POOL_TAKE(r->pool, tg_xml, 1);
    if (xml == NULL)
        return NULL;
    *xml = (tg_xml){.name = name, .file = like->file, .line = like->line, .scope = like->scope};
    if (parent != NULL)
        tg_xml_append(parent, xml);
    return xml;
}

/* ---- what refers to the copied ---- */

/* Whether an element of a section is copied, or is left out because only a part of it could be. */
static void decide(const tg_mjcf_copying *c, const tg_xml *section, const tg_xml *e, bool *copied, bool *lost)
{
    tally t = {0};
    count_references(c, e, &t);
    bool whole = strcmp(section->name, "equality") == 0 || strcmp(section->name, "actuator") == 0;
    *copied = t.inside > 0 && t.nowhere == 0 && (t.outside == 0 || !whole);
    *lost = !*copied && t.inside > 0;
}

static void take_out(tg_xml *section, tg_xml *element)
{
    tg_xml *before = NULL;
    for (tg_xml *e = section->first; e != element; e = e->next)
        before = e;
    if (before != NULL)
        before->next = element->next;
    else
        section->first = element->next;
    if (section->last == element)
        section->last = before;
    element->gone = true;
}

/* The elements of one section that are to be copied. Replaced ones leave the section. */
static tg_status gather(tg_mjcf *r, const tg_mjcf_copying *c, tg_xml *section, tg_mjcf_list *hits)
{
    enum
    {
        MOST = 100000000 /* elements visited by all copies: a bound on time */
    };
    for (tg_xml *e = section->first, *next; e != NULL; e = next)
    {
        bool copied, lost;
        next = e->next;
        if (++r->nlooked > MOST)
            return tg_xml_fail(r->error, TG_ERR_VALUE, c->at, "there is too much to copy");
        decide(c, section, e, &copied, &lost);
        if (lost)
        {
            tg_status status = tg_mjcf_report(
                r, c->replace ? TG_TABLE_IGNORED : TG_TABLE_NOTED, e, "",
                c->replace ? "refers to something inside and to something outside of a replicate: left out"
                           : "refers to something that is not attached: left out");
            if (status != TG_OK)
                return status;
        }
        if (c->replace && (copied || lost))
            take_out(section, e);
        if (copied && !tg_mjcf_append_pointer(r, hits, e))
            return tg_mjcf_no_memory(r, e);
    }
    return TG_OK;
}

static tg_status copy_hits(tg_mjcf *r, const tg_mjcf_copying *c, const char *name, const tg_mjcf_list *hits)
{
    tg_xml *section = hits->count > 0 ? tg_mjcf_new_element(r, c->at, name, c->to) : NULL;
    if (hits->count > 0 && section == NULL)
        return tg_mjcf_no_memory(r, c->at);
    tg_status status = TG_OK;
    for (int i = 0; i < c->count && hits->count > 0 && status == TG_OK; i++)
    {
        for (int k = 0; k < hits->count && status == TG_OK; k++)
            status = tg_mjcf_copy(r, tg_mjcf_pointer(hits, k), &c->rename[i], section);
    }
    return status;
}

tg_status tg_mjcf_copy_references(tg_mjcf *r, tg_xml *from, const tg_mjcf_copying *c)
{
    static const char *const sections[] = {"contact", "tendon", "equality", "actuator"};
    tg_status status = TG_OK;
    for (size_t s = 0; s < sizeof sections / sizeof *sections && status == TG_OK; s++)
    {
        tg_mjcf_list hits = {0};
        for (tg_xml *e = from->first; e != NULL && status == TG_OK; e = e->next)
        {
            if (strcmp(e->name, sections[s]) == 0)
                status = gather(r, c, e, &hits);
        }
        if (status == TG_OK)
            status = copy_hits(r, c, sections[s], &hits);
        bool tendon = strcmp(sections[s], "tendon") == 0;
        for (int k = 0; k < hits.count && status == TG_OK && tendon; k++)
        {
            if (!tg_mjcf_names_add(r, c->inside, TG_TENDON, tg_xml_get(tg_mjcf_pointer(&hits, k), "name")))
                status = tg_mjcf_no_memory(r, c->at);
        }
    }
    return status;
}
