/* Mutations that leave XML well-formed: without them, most inputs end in the XML parser.
 *
 * One time in four bytes are changed anywhere, as libFuzzer does by itself. Otherwise a value between quotes is changed
 * or exchanged for another of the input, or an empty element <x .../> is copied to another place or taken out. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

typedef struct range
{
    size_t start, end;
} range;

enum
{
    MAX_RANGES = 512,
    MAX_PIECE = 512
};

typedef struct text
{
    uint8_t *data;
    size_t size, max_size;
    uint32_t random;
} text;

static uint32_t next_random(text *t, uint32_t below)
{
    t->random = t->random * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)t->random * below) >> 32);
}

/* Values between quotes, inside of tags. */
static int find_values(const text *t, range *out)
{
    int count = 0;
    bool tag = false;
    for (size_t i = 0; i < t->size && count < MAX_RANGES; i++)
    {
        uint8_t c = t->data[i];
        if (c == '<' || c == '>')
            tag = c == '<';
        if (!tag || (c != '"' && c != '\''))
            continue;
        const uint8_t *end = memchr(t->data + i + 1, c, t->size - i - 1);
        if (end == NULL)
            break;
        out[count++] = (range){i + 1, (size_t)(end - t->data)};
        i = (size_t)(end - t->data);
    }
    return count;
}

/* Empty elements, <x .../>. */
static int find_elements(const text *t, range *out)
{
    int count = 0;
    size_t start = t->size;
    for (size_t i = 0; i + 1 < t->size && count < MAX_RANGES; i++)
    {
        if (t->data[i] == '<')
            start = i;
        if (t->data[i] == '/' && t->data[i + 1] == '>' && start < i)
            out[count++] = (range){start, i + 2};
    }
    return count;
}

/* Places between elements: behind a tag. */
static int find_gaps(const text *t, range *out)
{
    int count = 0;
    for (size_t i = 0; i < t->size && count < MAX_RANGES; i++)
    {
        if (t->data[i] == '>')
            out[count++] = (range){i + 1, i + 1};
    }
    return count;
}

/* data[place] becomes piece. */
static void replace(text *t, range place, const uint8_t *piece, size_t length)
{
    size_t old = place.end - place.start;
    if (t->size - old + length > t->max_size)
        return;
    memmove(t->data + place.start + length, t->data + place.end, t->size - place.end);
    if (length > 0)
        memcpy(t->data + place.start, piece, length);
    t->size = t->size - old + length;
}

static void change_value(text *t, range place)
{
    uint8_t piece[MAX_PIECE];
    size_t length = place.end - place.start;
    if (length > MAX_PIECE / 2)
        return;
    memcpy(piece, t->data + place.start, length);
    length = LLVMFuzzerMutate(piece, length, MAX_PIECE);
    for (size_t i = 0; i < length; i++)
    {
        bool plain = piece[i] >= ' ' && piece[i] < 127 && strchr("<&\"'", piece[i]) == NULL;
        if (!plain)
            piece[i] = "0123456789.-e "[piece[i] % 14];
    }
    replace(t, place, piece, length);
}

static void copy_range(text *t, range from, range to)
{
    uint8_t piece[MAX_PIECE];
    size_t length = from.end - from.start;
    if (length > MAX_PIECE)
        return;
    memcpy(piece, t->data + from.start, length);
    replace(t, to, piece, length);
}

static void mutate(text *t)
{
    static range values[MAX_RANGES], elements[MAX_RANGES], gaps[MAX_RANGES];
    int nvalue = find_values(t, values), nelement = find_elements(t, elements), ngap = find_gaps(t, gaps);
    uint32_t what = next_random(t, 8);
    if (what < 4 && nvalue > 0)
        change_value(t, values[next_random(t, (uint32_t)nvalue)]);
    else if (what < 6 && nvalue > 0)
        copy_range(t, values[next_random(t, (uint32_t)nvalue)], values[next_random(t, (uint32_t)nvalue)]);
    else if (what == 6 && nelement > 0 && ngap > 0)
        copy_range(t, elements[next_random(t, (uint32_t)nelement)], gaps[next_random(t, (uint32_t)ngap)]);
    else if (nelement > 0)
        replace(t, elements[next_random(t, (uint32_t)nelement)], NULL, 0);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    text t = {data, size, max_size, seed * 2654435761u + 1};
    uint32_t times = next_random(&t, 4);
    if (times == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    for (uint32_t i = 0; i < times; i++)
        mutate(&t);
    return t.size;
}
