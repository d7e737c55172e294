/* Image files that begin as WebP files do: see images.h. */
#include "images.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_image(data, size);
    return fuzz_end();
}
