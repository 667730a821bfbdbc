#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const status_names[] = {
    "ok",
    "invalid argument",
    "value out of domain",
    "unknown or duplicate name",
    "invalid model",
    "file not readable",
    "malformed file",
    "not supported",
    "out of memory",
    "capacity exceeded",
    "stale result",
    "numerical failure",
    "cancelled",
};
_Static_assert(sizeof status_names / sizeof *status_names == TG_STATUS_COUNT, "one name a status");

const char *tg_status_string(tg_status status)
{
    if ((unsigned)status >= TG_STATUS_COUNT)
        return "unknown status";
    return status_names[status];
}

#define STRING_(x) #x
#define STRING(x) STRING_(x)

const char *tg_version(void)
{
    return STRING(TG_VERSION_MAJOR) "." STRING(TG_VERSION_MINOR) "." STRING(TG_VERSION_PATCH);
}

const char *tg_cpu_path(void)
{
#if defined(__AVX512F__)
    return "AVX-512";
#elif defined(__AVX2__) && defined(__FMA__)
    return "AVX2 and FMA";
#elif defined(__SSE2__)
    return "SSE2";
#elif defined(__ARM_NEON)
    return "NEON";
#else
    return "plain C";
#endif
}

#undef tg_fail
tg_status tg_fail(tg_error *error, tg_status status, const char *format, ...)
{
    if (error == NULL)
        return status;
    error->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}
