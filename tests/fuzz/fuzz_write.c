/* Writing what the MJCF reader took: the text is read again, and writing that gives the same text. */
#include <string.h>

#include "fuzz.h"

static tg_model *load(const char *text, size_t length, tg_error *error)
{
    tg_load_options options = tg_default_load_options();
    options.allocator = fuzz_allocator();
    tg_model *m = NULL;
    tg_status status = tg_load_string(text, length, "", &options, &m, error);
    fuzz_require((status == TG_OK) == (m != NULL), "status and model do not belong together", error->message);
    return m;
}

/* NULL when memory ran out, or when the model cannot be written. */
static char *save(const tg_model *m, size_t *length, tg_error *error)
{
    char *text = NULL;
    tg_status status = tg_save_string(m, NULL, fuzz_allocator(), &text, length, error);
    fuzz_require((status == TG_OK) == (text != NULL), "status and text do not belong together", error->message);
    return text;
}

static void write_twice(const tg_model *m)
{
    tg_error error = {0};
    size_t length = 0, again_length = 0;
    char *text = save(m, &length, &error);
    if (text == NULL)
        return;
    tg_model *read = load(text, length, &error);
    fuzz_require(read != NULL || fuzz_memory_refused(), "what was written is not read", error.message);
    char *again = read != NULL ? save(read, &again_length, &error) : NULL;
    if (again != NULL)
        fuzz_require(length == again_length && memcmp(text, again, length) == 0, "written again, the text differs",
                     again);
    fuzz_require(again != NULL || fuzz_memory_refused(), "what was read is not written", error.message);
    tg_save_string_free(fuzz_allocator(), again);
    tg_model_destroy(read);
    tg_save_string_free(fuzz_allocator(), text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = fuzz_begin(data, size);
    tg_error error = {0};
    tg_model *m = load(text, fuzz_split(size), &error);
    if (m != NULL)
        write_twice(m);
    tg_model_destroy(m);
    fuzz_end();
    return 0;
}
