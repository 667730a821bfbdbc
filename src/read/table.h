/* Formats as tables: every element and attribute that a format knows, where it may stand, what is done with it here,
 * and where its value goes. A reader checks files against its table, reads through it and makes the report from it; the
 * tables in docs/formats.md are printed from them. */
#ifndef TG_READ_TABLE_H
#define TG_READ_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/pool.h"
#include "read/xml.h"

/* What is done with an element or attribute. The first four are tg_report_kind. */
typedef enum tg_table_handling
{
    TG_TABLE_HONOURED,
    TG_TABLE_APPROXIMATED,
    TG_TABLE_IGNORED,
    TG_TABLE_NOTED,
    TG_TABLE_QUIET,      /* no effect on the motion, and not worth a line in a report */
    TG_TABLE_UNSUPPORTED /* refused: the model would be another one without it */
} tg_table_handling;

/* How the value of an attribute is read. */
typedef enum tg_table_type
{
    TG_TABLE_UNREAD,
    TG_TABLE_REAL,    /* double[count] */
    TG_TABLE_INTEGER, /* int[count] */
    TG_TABLE_WORD,    /* int, one of `words` */
    TG_TABLE_TEXT     /* const char *, as written */
} tg_table_type;

typedef struct tg_table_word
{
    const char *word;
    int value;
} tg_table_word;

typedef struct tg_table_attribute
{
    const char *name; /* NULL ends a list */
    tg_table_handling handling;
    const char *note;    /* what the report and the guide say about it; NULL: nothing to say */
    const char *neutral; /* the value (of all numbers), or the values (words), with which it has no effect */
    tg_table_type type;
    int count;
    bool fewer;    /* fewer numbers than count leave the rest as it was */
    bool required; /* where an element stands for itself, not for a default */
    size_t offset; /* in the structure of the element */
    const tg_table_word *words;
} tg_table_attribute;

enum
{
    TG_TABLE_SETS = 10
};

/* Row 0 of a table is its root; a row without a name ends it. */
typedef struct tg_table_row
{
    int depth; /* rows that follow with a larger depth are inside */
    const char *name;
    tg_table_handling handling;
    const char *note;
    const tg_table_attribute *set[TG_TABLE_SETS];
    const char *names; /* further attributes, separated by spaces: handled as the element itself */
    bool once;         /* at most one in its parent */
    bool again;        /* has the children of the row around it: body in body, default in default */
} tg_table_row;

/* Rows of a table. */
int tg_table_count(const tg_table_row *rows);

/* The row of an element inside another, or NULL. */
const tg_table_row *tg_table_child(const tg_table_row *parent, const char *name);

/* The attribute of an element in its sets, or NULL. */
const tg_table_attribute *tg_table_find(const tg_table_row *row, const char *name);

/* "; did you mean 'damping'?", to follow on an unknown name, or nothing where no name is near. */
typedef struct tg_table_hint
{
    char text[64];
} tg_table_hint;

tg_table_hint tg_table_child_hint(const tg_table_row *parent, const char *name);
tg_table_hint tg_table_attribute_hint(const tg_table_row *row, const char *name);

/* Whether `names` of the row has this attribute. */
bool tg_table_has_name(const tg_table_row *row, const char *name);

/* Whether a value is the one with which the attribute has no effect: one of some words, or all numbers equal. */
bool tg_table_is_neutral(const tg_table_attribute *attribute, const char *value);

/* Refuses an element if one of the same name stands before it in its parent. */
tg_status tg_table_check_once(tg_error *error, const tg_xml *xml);

/* Reads the attributes of an element into its structure. required: missing required attributes are refused. */
tg_status tg_table_read(tg_error *error, const tg_xml *xml, const tg_table_row *row, bool required, void *into);

/* All numbers of an attribute, from the pool. */
tg_status tg_table_reals(tg_error *error, tg_pool *pool, const tg_xml *xml, const char *attribute, const char *text,
                         double **numbers, int *count);
tg_status tg_table_integers(tg_error *error, tg_pool *pool, const tg_xml *xml, const char *attribute, const char *text,
                            int **numbers, int *count);

#endif
