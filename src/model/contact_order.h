/* The order of pairs and excludes: by the lower, then the higher of their two bodies, as MJCF numbers them; excludes of
 * bodies before those of geoms. */
#ifndef TG_MODEL_CONTACT_ORDER_H
#define TG_MODEL_CONTACT_ORDER_H

#include <stdbool.h>

typedef struct tg_contact_key
{
    bool geoms; /* it names geoms */
    int body1, body2;
    int index; /* set by tg_contact_sort: where the key was */
} tg_contact_key;

/* Sorts keys; equal ones stay as they were. */
void tg_contact_sort(tg_contact_key *key, int count);

#endif
