#include "model/contact_order.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const tg_contact_key *x = a, *y = b;
    if (x->geoms != y->geoms)
        return x->geoms ? 1 : -1;
    if (x->body1 != y->body1)
        return x->body1 < y->body1 ? -1 : 1;
    if (x->body2 != y->body2)
        return x->body2 < y->body2 ? -1 : 1;
    return x->index - y->index;
}

void tg_contact_sort(tg_contact_key *key, int count)
{
    for (int i = 0; i < count; i++)
    {
        int body = key[i].body1;
        key[i].index = i;
        if (body <= key[i].body2)
            continue;
        key[i].body1 = key[i].body2;
        key[i].body2 = body;
    }
    if (count > 0)
        qsort(key, (size_t)count, sizeof *key, compare);
}
