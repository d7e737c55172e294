/* Model files: svit_model_load, and svit_model_load_with_config for files of another
 * configuration. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    svit_error err = FUZZ_ERROR;
    svit_model *model = NULL;
    svit_model_config config;
    const char *path = fuzz_file("model.safetensors", data, size);
    if (fuzz_ok(svit_model_load(&model, fuzz_context(), path, &err), &err))
        fuzz_check_model(model);
    svit_model_free(model);
    model = NULL;
    fuzz_model_config(&config, size > 0 ? data[size - 1] : 0);
    if (fuzz_ok(svit_model_load_with_config(&model, fuzz_context(), &config, path, &err), &err))
        fuzz_check_model(model);
    svit_model_free(model);
    return fuzz_end();
}
