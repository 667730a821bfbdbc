/* A finished model as definitions of a builder. */
#ifndef TG_MODEL_APPEND_H
#define TG_MODEL_APPEND_H

#include "model/builder.h"
#include "model/model.h"

/* Adds every element of a model but its keyframes and its report, with the numbers of p: names get the prefix, and what
 * stands on the model's world is moved by pose (tangere/algebra.h; NULL: stays). Element i becomes id first[kind] + i;
 * of bodies the world is the builder's, body i > 0 becomes first[TG_BODY] + i - 1. All or nothing. */
tg_status tg_builder_append(tg_builder *b, const tg_model *m, const tg_params *p, const char *prefix,
                            const double *pose, int first[TG_ELEMENT_COUNT]);

/* Sorts the pairs and excludes by their bodies; bodies must be in range. */
tg_status tg_builder_sort_contacts(tg_builder *b);

#endif
