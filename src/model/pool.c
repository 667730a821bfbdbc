#include "model/pool.h"

#include <stdint.h>
#include <string.h>

#include "base/arena.h"

enum
{
    BLOCK_BYTES = 1 << 16,
    PIECE_ALIGN = 16
};

struct tg_pool_block
{
    tg_pool_block *before;
    size_t used, capacity; /* bytes behind this head */
};

enum
{
    HEAD_BYTES = (sizeof(tg_pool_block) + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN
};

static tg_pool_block *add_block(tg_pool *pool, size_t bytes)
{
    size_t capacity = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    tg_pool_block *block = tg_alloc(pool->allocator, HEAD_BYTES + capacity);
    if (block == NULL)
        return NULL;
    block->before = pool->block;
    block->capacity = capacity;
    pool->block = block;
    return block;
}

void *tg_pool_take(tg_pool *pool, size_t count, size_t size)
{
    if (size != 0 && count > (SIZE_MAX / 2) / size)
        return NULL;
    size_t bytes = (count * size + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
    tg_pool_block *block = pool->block;
    if (block == NULL || bytes > block->capacity - block->used)
        block = add_block(pool, bytes);
    if (block == NULL)
        return NULL;
    void *piece = (unsigned char *)block + HEAD_BYTES + block->used;
    block->used += bytes;
    return piece;
}

char *tg_pool_string(tg_pool *pool, const char *text, size_t length)
{
    char *copy = tg_pool_take(pool, length + 1, 1);
    if (copy != NULL && length > 0)
        memcpy(copy, text, length);
    return copy;
}

void tg_pool_clear(tg_pool *pool)
{
    while (pool->block != NULL)
    {
        tg_pool_block *before = pool->block->before;
        tg_free(pool->allocator, pool->block);
        pool->block = before;
    }
}
