/* The table of MJCF: every element and attribute that the format knows, where it may stand, what is done with it here,
 * and where its value goes. The reader checks files against it, reads through it and makes the report from it; the
 * table in the user's guide is printed from it. */
#ifndef TG_READ_TABLE_H
#define TG_READ_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* What is done with an element or attribute. The first four are tg_report_kind. */
typedef enum tg_mjcf_handling
{
    TG_MJCF_HONOURED,
    TG_MJCF_APPROXIMATED,
    TG_MJCF_IGNORED,
    TG_MJCF_NOTED,
    TG_MJCF_QUIET,      /* no effect on the motion, and not worth a line in a report */
    TG_MJCF_UNSUPPORTED /* refused: the model would be another one without it */
} tg_mjcf_handling;

/* How the value of an attribute is read. */
typedef enum tg_mjcf_type
{
    TG_MJCF_UNREAD,
    TG_MJCF_REAL,    /* double[count] */
    TG_MJCF_INTEGER, /* int[count] */
    TG_MJCF_WORD,    /* int, one of `words` */
    TG_MJCF_TEXT     /* const char *, as written */
} tg_mjcf_type;

typedef struct tg_mjcf_word
{
    const char *word;
    int value;
} tg_mjcf_word;

typedef struct tg_mjcf_attribute
{
    const char *name; /* NULL ends a list */
    tg_mjcf_handling handling;
    const char *note;    /* what the report and the guide say about it; NULL: nothing to say */
    const char *neutral; /* the value (of all numbers), or the values (words), with which it has no effect */
    tg_mjcf_type type;
    int count;
    bool fewer;    /* fewer numbers than count leave the rest as it was */
    bool required; /* where an element stands for itself, not for a default */
    size_t offset; /* in the structure of the element (mjcf.h) */
    const tg_mjcf_word *words;
} tg_mjcf_attribute;

enum
{
    TG_MJCF_SETS = 10
};

typedef struct tg_mjcf_row
{
    int depth; /* rows that follow with a larger depth are inside */
    const char *name;
    tg_mjcf_handling handling;
    const char *note;
    const tg_mjcf_attribute *set[TG_MJCF_SETS];
    const char *names; /* further attributes, separated by spaces: handled as the element itself */
    bool once;         /* at most one in its parent */
    bool again;        /* has the children of the row around it: body in body, default in default */
} tg_mjcf_row;

/* Row 0 is the root. */
const tg_mjcf_row *tg_mjcf_rows(void);
int tg_mjcf_row_count(void);

/* The row of an element inside another, or NULL. */
const tg_mjcf_row *tg_mjcf_child_row(const tg_mjcf_row *parent, const char *name);

/* The attribute of an element in its sets, or NULL. */
const tg_mjcf_attribute *tg_mjcf_find_attribute(const tg_mjcf_row *row, const char *name);

/* Whether `names` of the row has this attribute. */
bool tg_mjcf_has_name(const tg_mjcf_row *row, const char *name);

#endif
