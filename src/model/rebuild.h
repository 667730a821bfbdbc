/* A finished model as a builder, and a model from that builder with the same numbers. */
#ifndef TG_MODEL_REBUILD_H
#define TG_MODEL_REBUILD_H

#include "model/builder.h"
#include "model/model.h"

/* A builder with all of a model: every element keeps its index as its id. */
tg_status tg_rebuild_begin(const tg_model *m, const tg_allocator *allocator, tg_builder **b, tg_error *error);

/* Builds, and takes the parameters of m bit for bit: elements with parameters must be as they were. Destroys b. status:
 * of what was added since tg_rebuild_begin; where it is a failure, nothing is built. */
tg_status tg_rebuild_end(tg_builder *b, tg_status status, const tg_model *m, tg_model **out, tg_error *error);

#endif
