/* Counts how often memory is asked for. For one test program: it defines malloc and its relatives, so a program
 * includes it once, in the file with main. */
#ifndef TG_TESTS_HEAP_WATCH_H
#define TG_TESTS_HEAP_WATCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>

#include "tangere/base.h"

/* How many times memory was asked for (or given back) while it was not allowed. Volatile: a compiler knows what malloc
 * does, and that it would not look here. */
static volatile struct
{
    bool armed;
    int asked;
} heap;

/* The C library's own functions, counted. Sanitizers bring their own, which cannot be replaced. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNT_HEAP 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNT_HEAP 0
#endif
#endif
#ifndef COUNT_HEAP
#ifdef __GLIBC__
#define COUNT_HEAP 1
#else
#define COUNT_HEAP 0
#endif
#endif

#if COUNT_HEAP
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *block);

__attribute__((visibility("default"))) void *(malloc)(size_t size)
{
    heap.asked += heap.armed;
    return __libc_malloc(size);
}

__attribute__((visibility("default"))) void *(calloc)(size_t count, size_t size)
{
    heap.asked += heap.armed;
    return __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void *(realloc)(void *block, size_t size)
{
    heap.asked += heap.armed;
    return __libc_realloc(block, size);
}

__attribute__((visibility("default"))) void *(aligned_alloc)(size_t align, size_t size)
{
    heap.asked += heap.armed;
    return __libc_memalign(align, size);
}

__attribute__((visibility("default"))) void(free)(void *block)
{
    heap.asked += heap.armed;
    __libc_free(block);
}
#endif

/* The allocator of the models: fails the test when it is called while armed. */
static void *watched_alloc(size_t size, size_t align, void *user)
{
    (void)user;
    if (heap.armed)
        fail_msg("%zu bytes were asked for", size);
    return aligned_alloc(align, (size + align - 1) & ~(align - 1));
}

static void watched_free(void *block, void *user)
{
    (void)user;
    if (heap.armed)
        fail_msg("memory was given back");
    free(block);
}

static const tg_allocator watched_allocator = {watched_alloc, watched_free, NULL};

#endif
