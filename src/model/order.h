/* The numbering of a model: builder ids to model indices. */
#ifndef TG_MODEL_ORDER_H
#define TG_MODEL_ORDER_H

#include "model/builder.h"
#include "model/params.h"

/* Bodies depth first; joints, geoms and sites after their bodies. Other elements keep their ids. */
typedef struct tg_order
{
    int *of[TG_ELEMENT_COUNT]; /* model index of an id; NULL: the id itself */
    int *id[TG_ELEMENT_COUNT]; /* id of a model index; NULL: the index itself */
    tg_origin origin;          /* the same, for messages */
    int *tree;                 /* kinematic tree of a body (model index), -1 if it cannot move */
    int ntree;
    int *tree_dof;   /* ntree + 1: first dof of each tree */
    int *dof_parent; /* nv: the dof before it on the path to the root, counted from the tree's first; -1 */
    void *memory;
} tg_order;

/* Expects references that are in range; refuses parents that form a cycle. On success, tg_order_free it. */
tg_status tg_order_make(tg_builder *b, tg_order *order);
void tg_order_free(const tg_builder *b, tg_order *order);

static inline int tg_order_of(const tg_order *order, tg_element element, int id)
{
    return order->of[element] != NULL ? order->of[element][id] : id;
}

static inline int tg_order_id(const tg_order *order, tg_element element, int index)
{
    return order->id[element] != NULL ? order->id[element][index] : index;
}

/* Sorts index[0 .. n) by the names text + start[index], equal names by index. */
void tg_sort_names(const char *text, const int *start, int *index, int n);

#endif
