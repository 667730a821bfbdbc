/* The reader of PNG images, and the unpacking behind it on the bare bytes. */
#include "fuzz.h"
#include "read/png.h"

enum
{
    UNPACKED = 512
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char out[UNPACKED];
    const char *text = fuzz_begin(data, size);
    tg_pool pool = {.allocator = fuzz_allocator()};
    tg_png image = {0};
    tg_error error = {0};
    tg_status status = tg_png_read(text, size, &pool, &image, &error);
    fuzz_require(status == TG_OK || error.message[0] != '\0', "a refusal has no message", tg_status_string(status));
    if (status == TG_OK)
    {
        unsigned sum = 0;
        for (size_t i = 0; i < (size_t)image.width * (size_t)image.height; i++)
            sum += image.grey[i];
        fuzz_require(image.width > 0 && image.height > 0 && sum < UINT32_MAX, "an image", "has no pixels");
    }
    tg_inflate((const unsigned char *)text, size, out, size % UNPACKED);
    tg_pool_clear(&pool);
    fuzz_end();
    return 0;
}
