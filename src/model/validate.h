/* Validation of what a builder holds, before a model is made of it: references, kinds, counts, and numbers that are no
 * parameters. Numbers that are parameters are validated in the vector (tg_params_check). */
#ifndef TG_MODEL_VALIDATE_H
#define TG_MODEL_VALIDATE_H

#include "model/builder.h"

/* The message is left in b->error. */
tg_status tg_builder_check(tg_builder *b);

#endif
