#include "model/contact_order.h"

#include <stdlib.h>

#include "base/arena.h"

typedef struct contact_key
{
    int low, high, index;
} contact_key;

static int compare(const void *a, const void *b)
{
    const contact_key *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    if (x->high != y->high)
        return x->high < y->high ? -1 : 1;
    return x->index - y->index;
}

bool tg_contact_order(const tg_allocator *allocator, int count, const int *body1, const int *body2, int *order)
{
    if (count == 0)
        return true;
    contact_key *key = tg_alloc(allocator, (size_t)count * sizeof *key);
    if (key == NULL)
        return false;
    for (int i = 0; i < count; i++)
    {
        bool swap = body1[i] > body2[i];
        key[i] = (contact_key){swap ? body2[i] : body1[i], swap ? body1[i] : body2[i], i};
    }
    qsort(key, (size_t)count, sizeof *key, compare);
    for (int i = 0; i < count; i++)
        order[i] = key[i].index;
    tg_free(allocator, key);
    return true;
}
