#include "read/xml.h"

#include <expat.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"

/* State of a parse; handed to expat's callbacks. */
typedef struct parse
{
    XML_Parser expat;
    const char *file;
    tg_pool *pool;
    int *nelement;
    tg_xml *root, *current;
    int depth;
    tg_status status;
    tg_error *error;
} parse;

static int line_of(const parse *p)
{
    XML_Size line = XML_GetCurrentLineNumber(p->expat);
    return line > INT_MAX ? INT_MAX : (int)line;
}

static void stop(parse *p, tg_status status)
{
    p->status = status;
    XML_StopParser(p->expat, XML_FALSE);
}

static void stop_memory(parse *p)
{
    stop(p, tg_fail(p->error, TG_ERR_MEMORY, "%s:%d: out of memory", p->file, line_of(p)));
}

/* Copies expat's name, value, name, value, ..., NULL. */
static bool copy_attributes(parse *p, tg_xml *element, const XML_Char **list)
{
    int n = 0;
    while (list[2 * n] != NULL)
        n++;
    tg_xml_attribute *attribute = TG_POOL_TAKE(p->pool, tg_xml_attribute, n);
    if (attribute == NULL)
        return false;
    for (int i = 0; i < n; i++)
    {
        attribute[i].name = tg_pool_string(p->pool, list[2 * i], strlen(list[2 * i]));
        attribute[i].value = tg_pool_string(p->pool, list[2 * i + 1], strlen(list[2 * i + 1]));
        if (attribute[i].name == NULL || attribute[i].value == NULL)
            return false;
    }
    element->nattribute = n;
    element->attribute = attribute;
    return true;
}

void tg_xml_append(tg_xml *parent, tg_xml *child)
{
    child->parent = parent;
    if (parent == NULL)
        return;
    if (parent->last == NULL)
        parent->first = child;
    else
        parent->last->next = child;
    parent->last = child;
}

static void XMLCALL on_start(void *data, const XML_Char *name, const XML_Char **list)
{
    parse *p = data;
    if (p->status != TG_OK)
        return;
    if (p->depth >= TG_XML_MAX_DEPTH)
    {
        stop(p, tg_fail(p->error, TG_ERR_PARSE, "%s:%d: element '%s' is nested deeper than %d elements", p->file,
                        line_of(p), name, TG_XML_MAX_DEPTH));
        return;
    }
    if (*p->nelement >= TG_XML_MAX_ELEMENTS)
    {
        stop(p,
             tg_fail(p->error, TG_ERR_PARSE, "%s:%d: more than %d elements", p->file, line_of(p), TG_XML_MAX_ELEMENTS));
        return;
    }
    tg_xml *element = TG_POOL_TAKE(p->pool, tg_xml, 1);
    if (element != NULL)
        element->name = tg_pool_string(p->pool, name, strlen(name));
    if (element == NULL || element->name == NULL || !copy_attributes(p, element, list))
    {
        stop_memory(p);
        return;
    }
    element->file = p->file;
    element->line = line_of(p);
    tg_xml_append(p->current, element);
    if (p->root == NULL)
        p->root = element;
    p->current = element;
    p->depth++;
    (*p->nelement)++;
}

static void XMLCALL on_end(void *data, const XML_Char *name)
{
    parse *p = data;
    (void)name;
    if (p->status != TG_OK)
        return;
    p->current = p->current->parent;
    p->depth--;
}

/* No description needs entities of its own, and they are how small files become huge. */
static void XMLCALL on_entity(void *data, const XML_Char *name, int is_parameter, const XML_Char *value, int length,
                              const XML_Char *base, const XML_Char *system, const XML_Char *public_id,
                              const XML_Char *notation)
{
    parse *p = data;
    (void)is_parameter, (void)value, (void)length, (void)base, (void)system, (void)public_id, (void)notation;
    if (p->status == TG_OK)
        stop(p, tg_fail(p->error, TG_ERR_PARSE, "%s:%d: declaration of entity '%s': entities are not allowed", p->file,
                        line_of(p), name));
}

/* expat takes int lengths; pieces also keep its buffers small. */
static void feed(parse *p, const char *text, size_t length)
{
    enum
    {
        PIECE = 1 << 20
    };
    size_t done = 0;
    for (;;)
    {
        size_t n = length - done < PIECE ? length - done : PIECE;
        bool final = done + n == length;
        enum XML_Status ok = XML_Parse(p->expat, text + done, (int)n, final);
        if (p->status != TG_OK)
            return;
        if (ok != XML_STATUS_OK)
        {
            p->status = tg_fail(p->error, TG_ERR_PARSE, "%s:%d: not well-formed XML: %s", p->file, line_of(p),
                                XML_ErrorString(XML_GetErrorCode(p->expat)));
            return;
        }
        done += n;
        if (final)
            return;
    }
}

tg_status tg_xml_parse(const char *text, size_t length, const char *file, tg_pool *pool, int *nelement, tg_xml **root,
                       tg_error *error)
{
    *root = NULL;
    parse p = {.pool = pool, .nelement = nelement, .error = error};
    p.file = tg_pool_string(pool, file, strlen(file));
    p.expat = XML_ParserCreate(NULL);
    if (p.file == NULL || p.expat == NULL)
    {
        if (p.expat != NULL)
            XML_ParserFree(p.expat);
        return tg_fail(error, TG_ERR_MEMORY, "%s: out of memory", file);
    }
    XML_SetUserData(p.expat, &p);
    XML_SetElementHandler(p.expat, on_start, on_end);
    XML_SetEntityDeclHandler(p.expat, on_entity);
    feed(&p, text, length);
    XML_ParserFree(p.expat);
    *root = p.status == TG_OK ? p.root : NULL;
    return p.status;
}

const char *tg_xml_get(const tg_xml *element, const char *name)
{
    for (int i = 0; i < element->nattribute; i++)
    {
        if (strcmp(element->attribute[i].name, name) == 0)
            return element->attribute[i].value;
    }
    return NULL;
}

void tg_xml_describe(const tg_xml *element, char *text, size_t size)
{
    const char *name = tg_xml_get(element, "name");
    if (name == NULL && strcmp(element->name, "default") == 0)
        name = tg_xml_get(element, "class");
    if (name != NULL)
        snprintf(text, size, "%.60s '%.80s'", element->name, name);
    else
        snprintf(text, size, "%.60s", element->name);
}

/* " (in body 'leg')": what a nameless element stands in, "" if that has no name either. */
static void describe_place(const tg_xml *element, char *text, size_t size)
{
    text[0] = '\0';
    bool named = tg_xml_get(element, "name") != NULL || tg_xml_get(element, "class") != NULL;
    for (const tg_xml *e = element->parent; e != NULL && !named; e = e->parent)
    {
        const char *name = tg_xml_get(e, "name");
        named = name != NULL && name[0] != '\0';
        if (named)
            snprintf(text, size, " (in %.60s '%.80s')", e->name, name);
    }
}

tg_status tg_xml_fail(tg_error *error, tg_status status, const tg_xml *element, const char *format, ...)
{
    char what[160], where[160], message[400];
    tg_xml_describe(element, what, sizeof what);
    describe_place(element, where, sizeof where);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return tg_fail(error, status, "%s:%d: %s: %s%s", element->file, element->line, what, message, where);
}
