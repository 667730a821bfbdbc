/* Inside of tg_builder: growing lists of definitions as they were given. Ids are positions in these lists; body 0 is
 * the world. Pointers of a kept definition are not used: its name is a place in the text list, its arrays are places in
 * the lists of numbers. */
#ifndef TG_MODEL_BUILDER_H
#define TG_MODEL_BUILDER_H

#include "base/arena.h"
#include "tangere/model.h"

/* A definition as it is kept: X(ELEMENT, element). */
#define TG_ELEMENTS(X)                                                                                                 \
    X(BODY, body)                                                                                                      \
    X(JOINT, joint)                                                                                                    \
    X(GEOM, geom)                                                                                                      \
    X(SITE, site)                                                                                                      \
    X(TENDON, tendon)                                                                                                  \
    X(ACTUATOR, actuator)                                                                                              \
    X(EQUALITY, equality)                                                                                              \
    X(PAIR, pair)                                                                                                      \
    X(EXCLUDE, exclude)                                                                                                \
    X(KEY, key)                                                                                                        \
    X(MESH, mesh)                                                                                                      \
    X(HFIELD, hfield)

enum
{
    TG_ITEM_ARRAYS = 4
};

/* start: where the arrays of the definition begin in their lists, -1 for one that was NULL; tendon: path; mesh: vertex,
 * face; hfield: elevation; key: q, v, act, ctrl. */
#define X(ELEMENT, element)                                                                                            \
    typedef struct tg_##element##_item                                                                                 \
    {                                                                                                                  \
        int name; /* in the text */                                                                                    \
        int start[TG_ITEM_ARRAYS];                                                                                     \
        tg_##element##_def def;                                                                                        \
    } tg_##element##_item;
TG_ELEMENTS(X)
#undef X

typedef struct tg_report_item
{
    tg_report_kind kind;
    int line;
    int file, element, attribute, note; /* in the text */
} tg_report_item;

/* A shape for looks as it is kept. */
typedef struct tg_visual_item
{
    int name, file; /* in the text */
    tg_visual_def def;
} tg_visual_item;

/* Where an element stands in a file. */
typedef struct tg_place
{
    tg_element element;
    int id, line;
    int file; /* in the text */
} tg_place;

/* The lists of a builder: one an element kind (tg_element), then these. */
enum
{
    TG_LIST_TEXT = TG_ELEMENT_COUNT, /* char */
    TG_LIST_PATH,                    /* tg_path */
    TG_LIST_VERTEX,                  /* double, three a vertex */
    TG_LIST_FACE,                    /* int, three a face */
    TG_LIST_ELEVATION,               /* double */
    TG_LIST_NUMBER,                  /* double, of keyframes */
    TG_LIST_REPORT,                  /* tg_report_item */
    TG_LIST_VISUAL,                  /* tg_visual_item */
    TG_LIST_PLACE,                   /* tg_place */
    TG_LIST_COUNT
};

typedef struct tg_list
{
    void *data;
    int count, capacity; /* items */
} tg_list;

struct tg_builder
{
    tg_list list[TG_LIST_COUNT];
    int name; /* of the model, in the text */
    double gravity[3], timestep;
    bool implicit; /* damping of actuators, by default */
    bool implicit_gyroscopic;
    tg_allocator allocator;
    tg_error error;
};

/* How much is in each list, and back to that: what was added since is forgotten. */
typedef struct tg_builder_mark
{
    int count[TG_LIST_COUNT];
} tg_builder_mark;

static inline tg_builder_mark tg_builder_mark_of(const tg_builder *b)
{
    tg_builder_mark mark;
    for (int i = 0; i < TG_LIST_COUNT; i++)
        mark.count[i] = b->list[i].count;
    return mark;
}

static inline void tg_builder_rewind(tg_builder *b, const tg_builder_mark *mark)
{
    for (int i = 0; i < TG_LIST_COUNT; i++)
        b->list[i].count = mark->count[i];
}

/* Item i of an element kind: TG_ITEM(b, BODY, body, 3)->def.mass */
#define TG_ITEM(b, ELEMENT, element, i) ((const tg_##element##_item *)(b)->list[TG_##ELEMENT].data + (i))

/* A list of plain values: TG_LIST(b, VERTEX, double)[7] */
#define TG_LIST(b, LIST, type) ((const type *)(b)->list[TG_LIST_##LIST].data)

/* Definitions carry this when they come from their tg_default_...(). */
static inline uint32_t tg_cookie(tg_element element)
{
    return 0x7a9e0000u + (uint32_t)element;
}

/* The name of element id, "" if it has none. */
const char *tg_builder_name_of(const tg_builder *b, tg_element element, int id);

/* Says where an element stands in a file, for the report; and what was said, NULL if nothing was. */
tg_status tg_builder_place(tg_builder *b, tg_element element, int id, const char *file, int line);
const tg_place *tg_builder_place_of(const tg_builder *b, tg_element element, int id);

/* Forgets the meshes whose index is negative (no geom may use them), and renumbers the others; index: nmesh, in and
 * out. */
void tg_builder_keep_meshes(tg_builder *b, int *index);

/* Takes the name of an element away. */
void tg_builder_unname(tg_builder *b, tg_element element, int id);

#endif
