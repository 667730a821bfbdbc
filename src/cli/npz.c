/* Arrays as NumPy reads them: .npy version 1.0 in a zip file without compression (APPNOTE.TXT of PKWARE, 4.3). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim.h"

enum
{
    NPY_PREFIX = 10,  /* magic number, version, length of the header */
    NPY_HEADER = 128, /* bytes before the numbers; a multiple of 64 */
    ZIP_LOCAL = 30,   /* bytes of a local header, without the name */
    ZIP_CENTRAL = 46, /* bytes of an entry of the directory, without the name */
    ZIP_VERSION = 20, /* needed to extract */
    ZIP_DATE = 0x21,  /* 1980-01-01: the same trajectory gives the same file */
    LONGEST_NAME = 64
};

typedef struct entry
{
    char name[LONGEST_NAME];
    uint32_t crc, bytes, offset;
} entry;

/* ---- bytes ---- */

/* CRC-32 of IEEE 802.3, bit by bit reversed: polynomial 0xedb88320 */
static uint32_t crc_of(uint32_t crc, const unsigned char *data, size_t n)
{
    static const uint32_t nibble[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    crc = ~crc;
    for (size_t i = 0; i < n; i++)
    {
        crc ^= data[i];
        crc = (crc >> 4) ^ nibble[crc & 15];
        crc = (crc >> 4) ^ nibble[crc & 15];
    }
    return ~crc;
}

/* little-endian numbers one after the other */
static unsigned char *put(unsigned char *to, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++, value >>= 8)
        *to++ = (unsigned char)(value & 0xff);
    return to;
}

/* ---- one array ---- */

static size_t numbers_of(const tg_cli_array *a)
{
    return a->rows * (size_t)(a->columns > 0 ? a->columns : 1);
}

/* The whole .npy in memory; *bytes of it. */
static unsigned char *make_npy(const tg_cli_array *a, size_t *bytes)
{
    int columns = a->columns > 0 ? a->columns : 1;
    static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0}; /* and version 1.0 */
    unsigned char *npy;
    char shape[64];
    if (numbers_of(a) > (UINT32_MAX - NPY_HEADER) / sizeof(double)) /* sizes of a zip file have 32 bits */
        return NULL;
    *bytes = NPY_HEADER + numbers_of(a) * sizeof(double);
    npy = tg_cli_alloc(*bytes, 1);
    memset(npy, ' ', NPY_HEADER);
    memcpy(npy, magic, sizeof magic);
    put(npy + 8, NPY_HEADER - NPY_PREFIX, 2);
    if (a->columns > 0)
        snprintf(shape, sizeof shape, "%zu, %d", a->rows, a->columns);
    else
        snprintf(shape, sizeof shape, "%zu,", a->rows);
    int used = snprintf((char *)npy + NPY_PREFIX, NPY_HEADER - NPY_PREFIX,
                        "{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }", shape);
    npy[NPY_PREFIX + used] = ' ';
    npy[NPY_HEADER - 1] = '\n';
    for (size_t i = 0; i < a->rows; i++)
        memcpy(npy + NPY_HEADER + i * (size_t)columns * sizeof(double), a->value + i * a->stride,
               (size_t)columns * sizeof(double));
    return npy;
}

/* ---- the zip file ---- */

/* What the local header and the directory have in common: flags, method 0, time, date, crc, two sizes, length of the
 * name, no extra field. */
static unsigned char *put_common(unsigned char *to, const entry *e)
{
    to = put(to, ZIP_VERSION, 2);
    to = put(to, 0, 2 + 2 + 2);
    to = put(to, ZIP_DATE, 2);
    to = put(to, e->crc, 4);
    to = put(to, e->bytes, 4);
    to = put(to, e->bytes, 4);
    to = put(to, (uint32_t)strlen(e->name), 2);
    return put(to, 0, 2);
}

static bool write_array(FILE *file, const tg_cli_array *array, uint32_t offset, entry *e)
{
    unsigned char header[ZIP_LOCAL];
    size_t bytes = 0, name;
    unsigned char *npy = make_npy(array, &bytes);
    if (npy == NULL)
        return false;
    snprintf(e->name, sizeof e->name, "%s.npy", array->name);
    name = strlen(e->name);
    e->crc = crc_of(0, npy, bytes);
    e->bytes = (uint32_t)bytes;
    e->offset = offset;
    put_common(put(header, 0x04034b50, 4), e);
    bool good = fwrite(header, 1, sizeof header, file) == sizeof header && fwrite(e->name, 1, name, file) == name &&
                fwrite(npy, 1, bytes, file) == bytes;
    free(npy);
    return good;
}

static bool write_directory_entry(FILE *file, const entry *e)
{
    unsigned char header[ZIP_CENTRAL];
    size_t name = strlen(e->name);
    unsigned char *to = put(header, 0x02014b50, 4);
    to = put_common(put(to, ZIP_VERSION, 2), e);
    memset(to, 0, 10); /* comment, disk, attributes */
    put(to + 10, e->offset, 4);
    return fwrite(header, 1, sizeof header, file) == sizeof header && fwrite(e->name, 1, name, file) == name;
}

static bool write_end(FILE *file, int count, uint32_t offset, uint32_t bytes)
{
    unsigned char end[22] = {0};
    unsigned char *to = put(put(end, 0x06054b50, 4), 0, 4);
    to = put(put(to, (uint32_t)count, 2), (uint32_t)count, 2);
    put(put(to, bytes, 4), offset, 4);
    return fwrite(end, 1, sizeof end, file) == sizeof end;
}

bool tg_cli_write_npz(FILE *file, const tg_cli_array *array, int count)
{
    entry *entries = tg_cli_alloc((size_t)count, sizeof *entries);
    uint64_t offset = 0, directory = 0;
    bool good = true;
    for (int i = 0; good && i < count; i++)
    {
        good = write_array(file, &array[i], (uint32_t)offset, &entries[i]);
        offset += ZIP_LOCAL + strlen(entries[i].name) + entries[i].bytes;
        good = good && offset <= UINT32_MAX;
    }
    for (int i = 0; good && i < count; i++)
    {
        good = write_directory_entry(file, &entries[i]);
        directory += ZIP_CENTRAL + strlen(entries[i].name);
    }
    good = good && write_end(file, count, (uint32_t)offset, (uint32_t)directory);
    free(entries);
    return good;
}
