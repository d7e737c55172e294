/* Mapped model files: svit_model_map gives the parameters that svit_model_load gives. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static uint8_t *bytes_of(const svit_model *model, size_t *bytes)
{
    svit_error err = FUZZ_ERROR;
    *bytes = 0;
    svit_model_save_memory(model, NULL, 0, bytes, &err);
    uint8_t *data = malloc(*bytes + 1);
    FUZZ_CHECK(data);
    if (fuzz_ok(svit_model_save_memory(model, data, *bytes, bytes, &err), &err))
        return data;
    free(data);
    return NULL;
}

static void compare(const svit_model *mapped, const svit_model *loaded)
{
    size_t mapped_bytes, loaded_bytes;
    uint8_t *a = bytes_of(mapped, &mapped_bytes), *b = bytes_of(loaded, &loaded_bytes);
    if (a && b)
        FUZZ_CHECK(mapped_bytes == loaded_bytes && memcmp(a, b, mapped_bytes) == 0);
    free(a);
    free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    svit_error err = FUZZ_ERROR;
    svit_model *mapped = NULL, *loaded = NULL;
    const char *path = fuzz_file("mapped.safetensors", data, size);
    const svit_status status = svit_model_map(&mapped, fuzz_context(), path, &err);
    if (fuzz_ok(status, &err))
        fuzz_check_model(mapped);
    const svit_status other = svit_model_load(&loaded, fuzz_context(), path, &err);
    fuzz_ok(other, &err);
    if (status != SVIT_E_MEMORY && other != SVIT_E_MEMORY)
        FUZZ_CHECK(status == other);
    if (mapped && loaded)
        compare(mapped, loaded);
    svit_model_free(loaded);
    svit_model_free(mapped);
    return fuzz_end();
}
