/* The MJCF reader, strict and not. */
#include "fuzz.h"

static void load(const char *text, size_t length, bool strict)
{
    tg_load_options options = tg_default_load_options();
    options.allocator = fuzz_allocator();
    options.strict = strict;
    tg_model *m = NULL;
    tg_error error = {0};
    tg_status status = tg_load_string(text, length, "", &options, &m, &error);
    fuzz_require((status == TG_OK) == (m != NULL), "status and model do not belong together", error.message);
    fuzz_require(status == TG_OK || error.message[0] != '\0', "a refusal has no message", tg_status_string(status));
    if (m != NULL)
        fuzz_use_model(m);
    tg_model_destroy(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = fuzz_begin(data, size);
    size_t length = fuzz_split(size);
    load(text, length, length % 2 != 0);
    fuzz_end();
    return 0;
}
