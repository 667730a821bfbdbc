/* Status codes, error messages, allocation and version: what every other header stands on.
 *
 * Every function that can fail returns a tg_status. TG_OK is zero; anything else means that nothing was changed
 * and that a message names the element, the field, the index and the value that was refused. Functions that create
 * an object write the message to the caller's tg_error (which may be NULL); functions that work in a tg_work leave
 * it there (tg_work_message). The library never prints, exits, aborts or resets anything. */
#ifndef TANGERE_BASE_H
#define TANGERE_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(TG_STATIC)
#define TG_API
#elif defined(_WIN32)
#ifdef TG_BUILD
#define TG_API __declspec(dllexport)
#else
#define TG_API __declspec(dllimport)
#endif
#else
#define TG_API __attribute__((visibility("default")))
#endif

#define TG_VERSION_MAJOR 0
#define TG_VERSION_MINOR 1
#define TG_VERSION_PATCH 0

/* "0.1.0" */
TG_API const char *tg_version(void);

/* The instructions that the running code path was compiled for: "AVX-512", "AVX2 and FMA", "SSE2", "NEON" or "plain C".
 * A library with two paths chooses when it is loaded; the environment variable TANGERE_CPU=baseline keeps SSE2. */
TG_API const char *tg_cpu_path(void);

typedef enum tg_status
{
    TG_OK = 0,
    TG_ERR_ARGUMENT,    /* NULL where an object is needed, an index out of range, a struct without its default */
    TG_ERR_VALUE,       /* a number that is NaN, infinite or outside its domain */
    TG_ERR_NAME,        /* a name that is unknown, or used twice */
    TG_ERR_MODEL,       /* the model as a whole is wrong: a cycle, a massless moving body, ... */
    TG_ERR_FILE,        /* a file cannot be opened or read */
    TG_ERR_PARSE,       /* a file does not follow its format */
    TG_ERR_UNSUPPORTED, /* well-formed, but not built */
    TG_ERR_MEMORY,      /* the allocator returned NULL */
    TG_ERR_CAPACITY,    /* a workspace is too small; the message gives the required size */
    TG_ERR_STALE,       /* a requested result is not, or no longer, in the workspace */
    TG_ERR_NUMERIC,     /* a factorisation met a matrix that is not positive definite */
    TG_ERR_CANCELLED,   /* a callback of the caller asked to stop */
    TG_STATUS_COUNT
} tg_status;

/* The name of a status, e.g. "value out of domain". Never NULL. */
TG_API const char *tg_status_string(tg_status status);

/* Where a function without a workspace leaves its message. Filled completely on failure, untouched on success. */
typedef struct tg_error
{
    tg_status status;
    char message[500]; /* always terminated */
} tg_error;

/* Memory comes from here. alloc returns at least size bytes aligned to align (a power of two, at least 64 here), or
 * NULL; free takes what alloc gave, or NULL. NULL in place of a tg_allocator means the C library's. Objects keep the
 * allocator they were made with. */
typedef struct tg_allocator
{
    void *(*alloc)(size_t size, size_t align, void *user);
    void (*free)(void *memory, void *user);
    void *user;
} tg_allocator;

#ifdef __cplusplus
}
#endif

#endif
