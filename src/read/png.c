#include "read/png.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

enum
{
    COLOUR_GREY = 0,
    COLOUR_RGB = 2,
    COLOUR_PALETTE = 3,
    COLOUR_GREY_ALPHA = 4,
    COLOUR_RGB_ALPHA = 6,
    MOST_PIXELS = 1 << 24,
    MOST_PACKED = 1032 /* bytes that deflate makes of one, at most */
};

typedef struct png
{
    uint32_t width, height;
    int depth, colour, channels;
    const unsigned char *palette; /* three bytes a colour */
    size_t npalette;
    unsigned char *packed; /* all IDAT chunks, one after the other */
    size_t npacked;
} png;

static uint32_t big_endian(const unsigned char *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static tg_status bad(tg_error *error, const char *what)
{
    return tg_fail(error, TG_ERR_PARSE, "PNG: %s", what);
}

/* ---- chunks ---- */

static tg_status read_header(png *p, const unsigned char *data, size_t size, tg_error *error)
{
    static const int channels[7] = {1, 0, 3, 1, 2, 0, 4};
    if (size != 13)
        return bad(error, "the header is broken");
    p->width = big_endian(data);
    p->height = big_endian(data + 4);
    p->depth = data[8];
    p->colour = data[9];
    if (p->width == 0 || p->height == 0 || p->width > MOST_PIXELS || p->height > MOST_PIXELS / p->width)
        return tg_fail(error, TG_ERR_VALUE, "PNG: %u x %u is no image of 1 .. 2^24 pixels", p->width, p->height);
    p->channels = p->colour < 7 ? channels[p->colour] : 0;
    bool small = p->depth == 1 || p->depth == 2 || p->depth == 4;
    bool known = p->depth == 8 || (p->depth == 16 && p->colour != COLOUR_PALETTE) ||
                 (small && (p->colour == COLOUR_GREY || p->colour == COLOUR_PALETTE));
    if (p->channels == 0 || !known)
        return tg_fail(error, TG_ERR_VALUE, "PNG: colour type %d with %d bits does not exist", p->colour, p->depth);
    if (data[12] != 0)
        return tg_fail(error, TG_ERR_UNSUPPORTED, "PNG: interlaced images are not read; save it without interlacing");
    return TG_OK;
}

static tg_status read_chunk(png *p, const char *type, const unsigned char *data, size_t size, bool first,
                            tg_error *error)
{
    if (first != (memcmp(type, "IHDR", 4) == 0))
        return bad(error, "the header is not first");
    if (first)
        return read_header(p, data, size, error);
    if (memcmp(type, "PLTE", 4) == 0)
    {
        p->palette = data;
        p->npalette = size / 3;
    }
    else if (memcmp(type, "IDAT", 4) == 0)
    {
        memcpy(p->packed + p->npacked, data, size);
        p->npacked += size;
    }
    return TG_OK;
}

static tg_status read_chunks(png *p, const unsigned char *data, size_t size, tg_error *error)
{
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (size < 8 || memcmp(data, signature, sizeof signature) != 0)
        return bad(error, "the file does not start as one");
    for (size_t at = 8; size - at >= 12;)
    {
        size_t length = big_endian(data + at);
        const char *type = (const char *)data + at + 4;
        if (length > size - at - 12)
            return bad(error, "the file ends early");
        tg_status status = read_chunk(p, type, data + at + 8, length, at == 8, error);
        if (status != TG_OK || memcmp(type, "IEND", 4) == 0)
            return status;
        at += length + 12; /* length, type, data, checksum */
    }
    return bad(error, "the file ends early");
}

/* ---- rows ---- */

/* The one of left, up and upper left that is nearest to left + up - upper left. */
static unsigned char paeth(int left, int up, int corner)
{
    int estimate = left + up - corner;
    int a = abs(estimate - left), b = abs(estimate - up), c = abs(estimate - corner);
    return (unsigned char)(a <= b && a <= c ? left : b <= c ? up : corner);
}

/* Undoes the filter of a row, in place; before: the row above, NULL for the first. */
static bool unfilter(int filter, unsigned char *row, const unsigned char *before, size_t size, size_t step)
{
    for (size_t i = 0; i < size; i++)
    {
        int left = i >= step ? row[i - step] : 0, up = before != NULL ? before[i] : 0;
        int corner = i >= step && before != NULL ? before[i - step] : 0;
        const int predicted[5] = {0, left, up, (left + up) / 2, paeth(left, up, corner)};
        if (filter > 4)
            return false;
        row[i] = (unsigned char)(row[i] + predicted[filter]);
    }
    return true;
}

/* The first channel of pixel x, as 8 bits; of a palette the red of its colour. */
static unsigned char grey_at(const png *p, const unsigned char *row, size_t x)
{
    size_t depth = (size_t)p->depth;
    if (depth >= 8)
    {
        unsigned char value = row[x * (size_t)p->channels * depth / 8];
        if (p->colour != COLOUR_PALETTE)
            return value;
        return value < p->npalette ? p->palette[3 * value] : 0;
    }
    size_t bit = x * depth;
    int largest = (1 << depth) - 1;
    int value = row[bit / 8] >> (8 - depth - bit % 8) & largest;
    if (p->colour == COLOUR_PALETTE)
        return (size_t)value < p->npalette ? p->palette[3 * value] : 0;
    return (unsigned char)(value * 255 / largest);
}

static tg_status decode(const png *p, tg_pool *pool, tg_png *image, tg_error *error)
{
    size_t bits = (size_t)p->depth * (size_t)p->channels;
    size_t size = ((size_t)p->width * bits + 7) / 8, step = bits < 8 ? 1 : bits / 8;
    size_t raw = (size_t)p->height * (size + 1);
    if (raw / MOST_PACKED > p->npacked)
        return tg_fail(error, TG_ERR_PARSE, "PNG: %u x %u pixels do not fit into the file's %zu bytes of them",
                       p->width, p->height, p->npacked);
    unsigned char *line = tg_pool_take(pool, raw, 1);
    image->grey = tg_pool_take(pool, (size_t)p->height * p->width, 1);
    if (line == NULL || image->grey == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "PNG: out of memory for %u x %u pixels", p->width, p->height);
    if (!tg_inflate(p->packed, p->npacked, line, raw))
        return bad(error, "the packed pixels are broken");
    const unsigned char *before = NULL;
    for (size_t y = 0; y < p->height; y++, line += size + 1)
    {
        if (!unfilter(line[0], line + 1, before, size, step))
            return bad(error, "a row has an unknown filter");
        before = line + 1;
        for (size_t x = 0; x < p->width; x++)
            image->grey[y * p->width + x] = grey_at(p, line + 1, x);
    }
    image->width = (int)p->width;
    image->height = (int)p->height;
    return TG_OK;
}

tg_status tg_png_read(const char *data, size_t size, tg_pool *pool, tg_png *image, tg_error *error)
{
    png p = {.packed = tg_pool_take(pool, size + 1, 1)};
    *image = (tg_png){0};
    if (p.packed == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "PNG: out of memory");
    tg_status status = read_chunks(&p, (const unsigned char *)data, size, error);
    if (status == TG_OK && p.colour == COLOUR_PALETTE && p.palette == NULL)
        status = bad(error, "the palette is missing");
    return status == TG_OK ? decode(&p, pool, image, error) : status;
}
