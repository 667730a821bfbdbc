/* PNG images, as heights: a small reader. What it makes is bounded by the size of the file. */
#ifndef TG_READ_PNG_H
#define TG_READ_PNG_H

#include <stdbool.h>
#include <stddef.h>

#include "model/pool.h"
#include "tangere/base.h"

typedef struct tg_png
{
    int width, height;
    unsigned char *grey; /* height x width, first row on top: the grey level or the red one, 8 bits */
} tg_png;

/* Grey, colour and palette images of all depths; not interlaced ones. Memory is from the pool. */
tg_status tg_png_read(const char *data, size_t size, tg_pool *pool, tg_png *image, tg_error *error);

/* Unpacks a zlib stream (RFC 1950, 1951) of exactly `length` bytes; false when it is not one. */
bool tg_inflate(const unsigned char *data, size_t size, unsigned char *out, size_t length);

#endif
