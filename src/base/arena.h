/* Memory: one block per object, and a marked stack of named scratch inside a workspace.
 *
 * A block is laid out in two passes over the same code: with base == NULL a tg_arena only counts, then the caller
 * allocates and runs the same code again to place the arrays. Sizes are overflow-checked; an overflow makes the
 * arena `failed`, and placing then returns NULL.
 *
 * Scratch is a stack: mark, take, release. It grows downwards within the memory that the workspace was created with;
 * running out is a status that says how many bytes were needed, never the heap. */
#ifndef TG_BASE_ARENA_H
#define TG_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "tangere/base.h"

enum
{
    TG_ALIGN = 64
};

typedef struct tg_arena
{
    unsigned char *base; /* NULL while counting */
    size_t capacity;     /* bytes behind base */
    size_t used;
    size_t peak;             /* the most that was ever used */
    bool failed;             /* a size overflowed, or capacity was exceeded */
    const char *failed_name; /* which take failed */
} tg_arena;

/* count * size bytes, aligned to 64; NULL while counting and on failure. name is kept for messages. */
void *tg_arena_take(tg_arena *arena, size_t count, size_t size, const char *name);

static inline size_t tg_arena_mark(const tg_arena *arena)
{
    return arena->used;
}

/* Gives back everything taken since mark (and poisons it under AddressSanitizer). */
void tg_arena_release(tg_arena *arena, size_t mark);

/* Before the memory behind the arena goes back to its allocator: lifts the poison. */
void tg_arena_close(tg_arena *arena);

#define TG_TAKE(arena, type, count, name) ((type *)tg_arena_take(arena, (size_t)(count), sizeof(type), name))

/* The next n numbers of a block that is divided among several arrays. */
static inline double *tg_next(double **block, size_t n)
{
    double *numbers = *block;
    *block += n;
    return numbers;
}

/* size bytes, 64-aligned, zeroed, from the allocator (NULL: the C library's); NULL when there are none */
void *tg_alloc(const tg_allocator *allocator, size_t size);
void tg_free(const tg_allocator *allocator, void *memory);

#endif
