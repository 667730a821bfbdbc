/* Copies of elements under other names: what replicate and attach (expand.c, attach.c) have in common. */
#ifndef TG_READ_MJCF_COPY_H
#define TG_READ_MJCF_COPY_H

#include "read/mjcf/mjcf.h"

/* Names of elements that are copied: references to them lead inside. */
typedef struct tg_mjcf_named
{
    tg_element element;
    const char *name;
} tg_mjcf_named;

struct tg_mjcf_names
{
    tg_mjcf_list list; /* tg_mjcf_named */
    bool sorted;
};

/* How names change in a copy. */
typedef struct tg_mjcf_rename
{
    const char *prefix, *suffix;
    tg_mjcf_names *inside; /* references to these change too */
    bool assets;           /* so do names of meshes and height fields: they come from another file */
    bool first;            /* the original remembers this copy (tg_xml.copy) */
} tg_mjcf_rename;

/* One act of copying. */
typedef struct tg_mjcf_copying
{
    const tg_xml *at;             /* the element that asks for it */
    tg_xml *to;                   /* root of the file into which copies go */
    tg_mjcf_names *inside;        /* what is copied with it */
    tg_mjcf_names *outside;       /* what a reference may lead to otherwise; NULL: anything */
    const tg_mjcf_rename *rename; /* count */
    int count;
    bool replace; /* the originals are taken out */
} tg_mjcf_copying;

bool tg_mjcf_names_have(tg_mjcf_names *names, tg_element element, const char *name);

/* False when memory runs out. */
bool tg_mjcf_names_add(tg_mjcf *r, tg_mjcf_names *names, tg_element element, const char *name);
bool tg_mjcf_names_of(tg_mjcf *r, tg_mjcf_names *names, const tg_xml *xml); /* of an element and those inside it */

/* The element of a kind ("body") and name in or below xml, or NULL. */
const tg_xml *tg_mjcf_find_in_tree(const tg_xml *xml, const char *kind, const char *name);

const char *tg_mjcf_renamed(tg_mjcf *r, const char *name, const tg_mjcf_rename *to); /* NULL: no memory */

/* Appends a copy of xml, with all inside it, to parent. xml->copy leads to it. */
tg_status tg_mjcf_copy(tg_mjcf *r, tg_xml *xml, const tg_mjcf_rename *to, tg_xml *parent);

/* A new element without attributes, at the line of another; appended to parent, unless that is NULL. */
tg_xml *tg_mjcf_new_element(tg_mjcf *r, const tg_xml *like, const char *name, tg_xml *parent);

/* Copies the pairs, excludes, tendons, equalities and actuators of a file that refer to what is copied. Pairs, excludes
 * and tendons may also refer to something else, which stays as it is; equalities and actuators that do are left out. */
tg_status tg_mjcf_copy_references(tg_mjcf *r, tg_xml *from, const tg_mjcf_copying *c);

#endif
