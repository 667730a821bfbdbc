/* The order of pairs and excludes: by the lower, then the higher of their two bodies, as MJCF numbers them. */
#ifndef TG_MODEL_CONTACT_ORDER_H
#define TG_MODEL_CONTACT_ORDER_H

#include <stdbool.h>

#include "tangere/base.h"

/* order[0 .. count): the indices of (body1, body2) in that order, equal ones as they were; false when memory runs out. */
bool tg_contact_order(const tg_allocator *allocator, int count, const int *body1, const int *body2, int *order);

#endif
