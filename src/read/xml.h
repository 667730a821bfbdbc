/* XML files as a tree of elements, read with expat.
 *
 * Only what robot descriptions need: elements and attributes. Character data, comments and processing instructions are
 * dropped. Each element knows its file and line, so that a message can name them. What a hostile file could use is
 * bounded: declarations of entities are refused, and so are nesting, size and number of elements beyond the limits. */
#ifndef TG_READ_XML_H
#define TG_READ_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "model/pool.h"
#include "tangere/base.h"

enum
{
    TG_XML_MAX_DEPTH = 500,        /* elements inside each other */
    TG_XML_MAX_ELEMENTS = 2000000, /* in all files of a model together */
    TG_XML_MAX_BYTES = 256 << 20   /* a file */
};

typedef struct tg_xml_attribute
{
    const char *name, *value;
} tg_xml_attribute;

typedef struct tg_xml tg_xml;
struct tg_xml
{
    const char *name;
    const char *file; /* as messages name it */
    int line;
    int nattribute;
    const tg_xml_attribute *attribute;
    tg_xml *parent, *first, *last, *next; /* children: first .. last */

    /* for a reader that copies elements (MJCF) */
    int scope;    /* which of several files with settings of their own it comes from */
    tg_xml *copy; /* its latest copy */
    int map;      /* of a keyframe of an attached file: 1 + the number of its key map */
    bool gone;    /* it was copied and taken out; the first copy stands for it */
    bool again;   /* one of several copies, not the first: the report has spoken of it */
};

/* Reads text into a tree in the pool. *nelement counts the elements of a model over its files. */
tg_status tg_xml_parse(const char *text, size_t length, const char *file, tg_pool *pool, int *nelement, tg_xml **root,
                       tg_error *error);

/* Makes an element the last one inside another (NULL: it stays a root). */
void tg_xml_append(tg_xml *parent, tg_xml *child);

/* The value of an attribute, NULL if it is not there. */
const char *tg_xml_get(const tg_xml *element, const char *name);

/* A failure that names file, line and element: "humanoid.xml:12: geom 'floor': ...". */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
tg_status
tg_xml_fail(tg_error *error, tg_status status, const tg_xml *element, const char *format, ...);

/* "geom 'floor'", or "geom" for one without a name, into text (size bytes). */
void tg_xml_describe(const tg_xml *element, char *text, size_t size);

#endif
