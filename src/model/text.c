#include "model/text.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "model/number.h"

void tg_text_free(tg_text *t)
{
    tg_free(t->allocator, t->data);
    *t = (tg_text){.allocator = t->allocator};
}

/* Room for count bytes more and a terminator. */
static bool reserve(tg_text *t, size_t count)
{
    if (t->failed || count < t->capacity - t->length)
        return !t->failed;
    size_t need = t->length + count + 1;
    size_t capacity = need > 2 * t->capacity ? need : 2 * t->capacity;
    capacity = capacity < 4096 ? 4096 : capacity;
    char *data = tg_alloc(t->allocator, capacity);
    t->failed = data == NULL;
    if (t->failed)
        return false;
    if (t->length > 0)
        memcpy(data, t->data, t->length);
    tg_free(t->allocator, t->data);
    t->data = data;
    t->capacity = capacity;
    return true;
}

void tg_text_bytes(tg_text *t, const char *bytes, size_t count)
{
    if (!reserve(t, count))
        return;
    memcpy(t->data + t->length, bytes, count);
    t->length += count;
    t->data[t->length] = '\0';
}

void tg_text_string(tg_text *t, const char *string)
{
    tg_text_bytes(t, string, strlen(string));
}

void tg_text_spaces(tg_text *t, int count)
{
    for (int i = 0; i < count; i++)
        tg_text_bytes(t, " ", 1);
}

void tg_text_escaped(tg_text *t, const char *string)
{
    for (const char *c = string; *c != '\0'; c++)
    {
        char reference[8];
        bool plain = (unsigned char)*c >= ' ' && *c != '&' && *c != '<' && *c != '>' && *c != '"';
        if (plain)
            tg_text_bytes(t, c, 1);
        else
            tg_text_bytes(t, reference, (size_t)snprintf(reference, sizeof reference, "&#%d;", (unsigned char)*c));
    }
}

void tg_text_integer(tg_text *t, int value)
{
    char number[16];
    tg_text_bytes(t, number, (size_t)snprintf(number, sizeof number, "%d", value));
}

/* value with so many digits, and a point whatever the locale has in its place; -0 is 0. Returns the length. */
static size_t format(double value, int digits, char number[40])
{
    char raw[40];
    snprintf(raw, sizeof raw, "%.*g", digits, value == 0 ? 0.0 : value);
    size_t n = 0;
    for (const char *c = raw; *c != '\0'; c++)
    {
        bool plain = (*c >= '0' && *c <= '9') || strchr("+-e", *c) != NULL;
        if (plain)
            number[n++] = *c;
        else if (n == 0 || number[n - 1] != '.') /* a point of several bytes is one */
            number[n++] = '.';
    }
    number[n] = '\0';
    return n;
}

static double read_back(const char *number)
{
    double value = 0;
    tg_number_real(&number, &value);
    return value;
}

void tg_text_real(tg_text *t, double value)
{
    char number[40];
    size_t length = format(value, 15, number);
    for (int digits = 16; digits <= 17 && read_back(number) != value; digits++)
        length = format(value, digits, number);
    tg_text_bytes(t, number, length);
}

void tg_text_single(tg_text *t, float value)
{
    char number[40];
    size_t length = format((double)value, 6, number);
    for (int digits = 7; digits <= 9 && (float)read_back(number) != value; digits++)
        length = format((double)value, digits, number);
    tg_text_bytes(t, number, length);
}
