/* The URDF reader. The first byte chooses the options; an SRDF is the file robot.srdf of the input. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *text = fuzz_begin(data + 1, size - 1);
    size_t length = fuzz_split(size - 1);
    static const char *const folders[] = {"packages"};
    tg_load_options options = tg_default_load_options();
    options.allocator = fuzz_allocator();
    options.strict = (data[0] & 1) != 0;
    options.floating_base = (data[0] & 2) != 0;
    options.keep_fixed = (data[0] & 4) != 0;
    options.srdf = (data[0] & 8) != 0 ? "robot.srdf" : NULL;
    options.package_path = folders;
    options.npackage_path = 1;
    tg_model *m = NULL;
    tg_error error = {0};
    tg_status status = tg_load_string(text, length, "", &options, &m, &error);
    fuzz_require((status == TG_OK) == (m != NULL), "status and model do not belong together", error.message);
    fuzz_require(status == TG_OK || error.message[0] != '\0', "a refusal has no message", tg_status_string(status));
    if (m != NULL)
        fuzz_use_model(m);
    tg_model_destroy(m);
    fuzz_end();
    return 0;
}
