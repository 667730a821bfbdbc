/* A pool: many small pieces of memory that are given back at once. What a reader makes on its way to a model (elements,
 * strings, lists) lives in one. */
#ifndef TG_MODEL_POOL_H
#define TG_MODEL_POOL_H

#include <stddef.h>

#include "tangere/base.h"

typedef struct tg_pool_block tg_pool_block;

typedef struct tg_pool
{
    const tg_allocator *allocator;
    tg_pool_block *block; /* the newest; each points to the previous one */
} tg_pool;

/* count * size bytes, zeroed, aligned for any type; NULL when memory runs out or the product overflows. */
void *tg_pool_take(tg_pool *pool, size_t count, size_t size);

/* A terminated copy of length bytes. */
char *tg_pool_string(tg_pool *pool, const char *text, size_t length);

/* Gives everything back. */
void tg_pool_clear(tg_pool *pool);

#define TG_POOL_TAKE(pool, type, count) ((type *)tg_pool_take(pool, (size_t)(count), sizeof(type)))

#endif
