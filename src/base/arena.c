#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define TG_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TG_ASAN 1
#endif
#endif

#ifdef TG_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(address, size) __asan_poison_memory_region(address, size)
#define UNPOISON(address, size) __asan_unpoison_memory_region(address, size)
#else
#define POISON(address, size) ((void)(address), (void)(size))
#define UNPOISON(address, size) ((void)(address), (void)(size))
#endif

static void *fail(tg_arena *arena, const char *name)
{
    if (!arena->failed)
        arena->failed_name = name;
    arena->failed = true;
    return NULL;
}

void *tg_arena_take(tg_arena *arena, size_t count, size_t size, const char *name)
{
    if (size != 0 && count > (SIZE_MAX - 2 * TG_ALIGN) / size)
        return fail(arena, name);
    size_t bytes = (count * size + TG_ALIGN - 1) & ~(size_t)(TG_ALIGN - 1);
    size_t start = arena->used;
    if (bytes > SIZE_MAX - start)
        return fail(arena, name);
    arena->used = start + bytes;
    if (arena->used > arena->peak)
        arena->peak = arena->used;
    if (arena->base == NULL)
        return NULL;
    if (arena->used > arena->capacity)
        return fail(arena, name);
    UNPOISON(arena->base + start, count * size);
    return arena->base + start;
}

void tg_arena_release(tg_arena *arena, size_t mark)
{
    if (arena->base != NULL && mark < arena->capacity)
    {
        size_t end = arena->used < arena->capacity ? arena->used : arena->capacity;
        if (end > mark)
            POISON(arena->base + mark, end - mark);
    }
    arena->used = mark;
}

void tg_arena_close(tg_arena *arena)
{
    if (arena->base != NULL)
        UNPOISON(arena->base, arena->capacity);
}

void *tg_alloc(const tg_allocator *allocator, size_t size)
{
    if (size == 0)
        size = TG_ALIGN;
    if (size > SIZE_MAX - TG_ALIGN)
        return NULL;
    size = (size + TG_ALIGN - 1) & ~(size_t)(TG_ALIGN - 1);
    void *memory = allocator != NULL && allocator->alloc != NULL ? allocator->alloc(size, TG_ALIGN, allocator->user)
                                                                 : aligned_alloc(TG_ALIGN, size);
    if (memory != NULL)
        memset(memory, 0, size);
    return memory;
}

void tg_free(const tg_allocator *allocator, void *memory)
{
    if (memory == NULL)
        return;
    if (allocator != NULL && allocator->free != NULL)
        allocator->free(memory, allocator->user);
    else
        free(memory);
}
