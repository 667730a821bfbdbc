/* Deflate (RFC 1951) in a zlib stream (RFC 1950). */
#include <stdint.h>
#include <string.h>

#include "read/png.h"

enum
{
    LONGEST_CODE = 15,
    LENGTH_CODES = 288,
    DISTANCE_CODES = 32,
    END_OF_BLOCK = 256
};

typedef struct stream
{
    const unsigned char *data;
    size_t size, place;
    uint32_t bits;
    int nbit;
    bool failed; /* it ended too early, or means nothing */
    unsigned char *out;
    size_t length, written;
} stream;

/* ---- bits ---- */

/* The next n <= 16 bits, the first one lowest. */
static unsigned take(stream *s, int n)
{
    while (s->nbit < n)
    {
        s->failed = s->failed || s->place >= s->size;
        s->bits |= (uint32_t)(s->failed ? 0 : s->data[s->place++]) << s->nbit;
        s->nbit += 8;
    }
    unsigned value = s->bits & ((1U << n) - 1);
    s->bits >>= n;
    s->nbit -= n;
    return value;
}

static void put(stream *s, unsigned char byte)
{
    if (s->written < s->length)
        s->out[s->written++] = byte;
    else
        s->failed = true;
}

/* ---- Huffman codes ---- */

/* A canonical code: how many words there are of each length, and the symbols in the order of their words. */
typedef struct code
{
    uint16_t count[LONGEST_CODE + 1], symbol[LENGTH_CODES];
} code;

/* From the lengths of the words (0: the symbol has none); false when there are more words than fit. */
static bool make_code(code *c, const uint8_t *length, int n)
{
    uint16_t first[LONGEST_CODE + 2] = {0};
    int room = 1;
    memset(c, 0, sizeof *c);
    for (int i = 0; i < n; i++)
        c->count[length[i]]++;
    c->count[0] = 0;
    for (int bits = 1; bits <= LONGEST_CODE; bits++)
    {
        room = 2 * room - c->count[bits];
        if (room < 0)
            return false;
        first[bits + 1] = (uint16_t)(first[bits] + c->count[bits]);
    }
    for (int i = 0; i < n; i++)
    {
        if (length[i] > 0)
            c->symbol[first[length[i]]++] = (uint16_t)i;
    }
    return true;
}

/* Words of one length are consecutive numbers that start where twice the end of the shorter ones is. */
static int decode(stream *s, const code *c)
{
    int word = 0, start = 0, index = 0;
    for (int bits = 1; bits <= LONGEST_CODE; bits++)
    {
        word |= (int)take(s, 1);
        if (word - start < c->count[bits])
            return c->symbol[index + word - start];
        index += c->count[bits];
        start = 2 * (start + c->count[bits]);
        word *= 2;
    }
    s->failed = true;
    return END_OF_BLOCK;
}

/* ---- blocks ---- */

static void copy_stored(stream *s)
{
    s->bits = 0;
    s->nbit = 0;
    unsigned length = take(s, 16), check = take(s, 16);
    s->failed = s->failed || length != (~check & 0xffffU);
    for (unsigned i = 0; i < length && !s->failed; i++)
        put(s, (unsigned char)take(s, 8));
}

static void copy_back(stream *s, size_t length, size_t distance)
{
    s->failed = s->failed || distance > s->written;
    for (size_t i = 0; i < length && !s->failed; i++)
        put(s, s->out[s->written - distance]);
}

static void unpack(stream *s, const code *literals, const code *distances)
{
    static const uint16_t length_base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                           31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t length_extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                           2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const uint16_t distance_base[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                             33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                             1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    while (!s->failed)
    {
        int symbol = decode(s, literals);
        if (symbol == END_OF_BLOCK)
            return;
        if (symbol < END_OF_BLOCK)
        {
            put(s, (unsigned char)symbol);
            continue;
        }
        int l = symbol - END_OF_BLOCK - 1;
        size_t length = l < 29 ? length_base[l] + (size_t)take(s, length_extra[l]) : 0;
        int d = decode(s, distances);
        size_t distance = d < 30 ? distance_base[d] + (size_t)take(s, d < 2 ? 0 : d / 2 - 1) : 0;
        s->failed = s->failed || length == 0 || distance == 0;
        copy_back(s, length, distance);
    }
}

static void unpack_fixed(stream *s)
{
    uint8_t length[LENGTH_CODES];
    code literals, distances;
    for (int i = 0; i < LENGTH_CODES; i++)
        length[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    make_code(&literals, length, LENGTH_CODES);
    memset(length, 5, DISTANCE_CODES);
    make_code(&distances, length, DISTANCE_CODES);
    unpack(s, &literals, &distances);
}

/* The lengths of both codes, themselves packed: 16 repeats the last one, 17 and 18 are runs of zeros. */
static void read_lengths(stream *s, const code *packed, uint8_t *length, int n)
{
    for (int i = 0; i < n && !s->failed;)
    {
        int symbol = decode(s, packed), repeat = 1;
        uint8_t value = symbol < 16 ? (uint8_t)symbol : 0;
        if (symbol == 16)
        {
            s->failed = s->failed || i == 0;
            value = i > 0 ? length[i - 1] : 0;
            repeat = 3 + (int)take(s, 2);
        }
        else if (symbol == 17)
            repeat = 3 + (int)take(s, 3);
        else if (symbol >= 18)
            repeat = 11 + (int)take(s, 7);
        s->failed = s->failed || i + repeat > n;
        for (; repeat > 0 && !s->failed; repeat--)
            length[i++] = value;
    }
}

static void unpack_dynamic(stream *s)
{
    static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t length[LENGTH_CODES + DISTANCE_CODES] = {0}, packed_length[19] = {0};
    code packed, literals, distances;
    int nliteral = 257 + (int)take(s, 5), ndistance = 1 + (int)take(s, 5), npacked = 4 + (int)take(s, 4);
    for (int i = 0; i < npacked; i++)
        packed_length[order[i]] = (uint8_t)take(s, 3);
    s->failed = s->failed || nliteral > LENGTH_CODES || !make_code(&packed, packed_length, 19);
    if (!s->failed)
        read_lengths(s, &packed, length, nliteral + ndistance);
    if (s->failed || !make_code(&literals, length, nliteral) || !make_code(&distances, length + nliteral, ndistance))
        s->failed = true;
    else
        unpack(s, &literals, &distances);
}

/* ---- the stream ---- */

static uint32_t adler32(const unsigned char *data, size_t size)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < size; i++)
    {
        a = (a + data[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

bool tg_inflate(const unsigned char *data, size_t size, unsigned char *out, size_t length)
{
    stream s = {.data = data, .size = size, .place = 2, .out = out, .length = length};
    bool last = false;
    if (size < 6 || (data[0] & 15) != 8 || (data[0] * 256 + data[1]) % 31 != 0 || (data[1] & 32) != 0)
        return false;
    while (!last && !s.failed)
    {
        last = take(&s, 1) != 0;
        unsigned kind = take(&s, 2);
        if (kind == 0)
            copy_stored(&s);
        else if (kind == 1)
            unpack_fixed(&s);
        else if (kind == 2)
            unpack_dynamic(&s);
        else
            s.failed = true;
    }
    s.place -= (size_t)(s.nbit / 8); /* whole bytes that were fetched and not used */
    if (s.failed || s.written != length || s.size - s.place < 4)
        return false;
    const unsigned char *sum = data + s.place;
    return adler32(out, length) == ((uint32_t)sum[0] << 24 | (uint32_t)sum[1] << 16 | (uint32_t)sum[2] << 8 | sum[3]);
}
