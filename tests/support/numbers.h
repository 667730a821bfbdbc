/* Arrays of doubles that end where they say: with one number more, what is written behind the last one would be seen
 * by no sanitizer. */
#ifndef TG_TEST_NUMBERS_H
#define TG_TEST_NUMBERS_H

#include <stdlib.h>

/* n zeros, to be freed */
static inline double *numbers(size_t n)
{
    double *x = calloc(n > 0 ? n : 1, sizeof *x);
    if (x == NULL)
        abort();
    return x;
}

#endif
