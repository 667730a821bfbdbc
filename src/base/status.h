/* Making messages. Internal: the public side is tangere/base.h. */
#ifndef TG_BASE_STATUS_H
#define TG_BASE_STATUS_H

#include "tangere/base.h"

#if defined(__GNUC__)
#define TG_PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#else
#define TG_PRINTF(format_index, first_index)
#endif

/* Writes a formatted message and the status to error (NULL is allowed) and returns the status, so that a refusal is
 * one line: return tg_fail(error, TG_ERR_VALUE, "body '%s': mass must not be negative, got %g", name, mass); */
tg_status tg_fail(tg_error *error, tg_status status, const char *format, ...) TG_PRINTF(3, 4);

#if defined(__clang_analyzer__) /* static analysis sees one file at a time: a refusal is never TG_OK */
void tg_noted(tg_error *error, const char *format, ...) TG_PRINTF(2, 3);
#define tg_fail(error, status, ...) (tg_noted(error, __VA_ARGS__), (status))
#endif

/* Returns from the calling function when a call fails. */
#define TG_TRY(call)                                                                                                   \
    do                                                                                                                 \
    {                                                                                                                  \
        tg_status status_ = (call);                                                                                    \
        if (status_ != TG_OK)                                                                                          \
            return status_;                                                                                            \
    } while (0)

#endif
