/* A text that grows, for writers: numbers that read back as they were, strings that fit into XML. */
#ifndef TG_MODEL_TEXT_H
#define TG_MODEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "tangere/base.h"

typedef struct tg_text
{
    char *data; /* terminated; NULL: empty */
    size_t length, capacity;
    const tg_allocator *allocator;
    bool failed; /* memory ran out; what was added since is lost */
} tg_text;

void tg_text_free(tg_text *t);

void tg_text_bytes(tg_text *t, const char *bytes, size_t count);
void tg_text_string(tg_text *t, const char *string);
void tg_text_spaces(tg_text *t, int count);

/* A string as the value of an attribute: &, <, >, " and control characters as references. */
void tg_text_escaped(tg_text *t, const char *string);

void tg_text_integer(tg_text *t, int value);

/* The shortest of 15, 16 and 17 digits that reads back as value (finite); of 6 to 9 that does as a float. */
void tg_text_real(tg_text *t, double value);
void tg_text_single(tg_text *t, float value);

#endif
