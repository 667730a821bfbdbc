/* What the fuzz targets share.
 *
 * A target takes bytes and may not crash, leak, hang or take more memory than MEMORY_LIMIT; a model that comes out must
 * be usable. Files exist only in memory: the calls of fopen in the library go to __wrap_fopen (fuzz.c), which knows the
 * files of the present input and no others. An input of several files is text with lines "#file NAME" between them;
 * what stands before the first such line is the main file.
 *
 * Each target is two programs: with libFuzzer (cmake -DTANGERE_FUZZ=ON, `make fuzz`), and as the test fuzz.<name>,
 * which runs the files of its corpus once. */
#ifndef TG_TEST_FUZZ_H
#define TG_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "tangere/tangere.h"

enum
{
    FUZZ_MEMORY_LIMIT = 16 << 20
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program with a message when a property does not hold. */
void fuzz_require(bool holds, const char *what, const char *detail);

/* Starts an input: no file can be opened any more, and the allocator is new. For one input in sixteen (chosen by its
 * bytes) an allocation fails early. Returns a terminated copy of the bytes. */
const char *fuzz_begin(const uint8_t *data, size_t size);

/* Cuts the copy of size bytes into files, which can be opened from now on. Returns the length of the main file. */
size_t fuzz_split(size_t size);

const tg_allocator *fuzz_allocator(void);

/* Whether an allocation was refused since fuzz_begin: then anything may have failed. */
bool fuzz_memory_refused(void);

/* Ends an input: everything was given back. */
void fuzz_end(void);

/* Runs the dynamics of a model at its reference configuration, and writes and reads it. */
void fuzz_use_model(const tg_model *m);

#endif
