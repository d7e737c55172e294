/* Name maps: the first byte chooses the flags and the kind of model, the rest is the map, with
 * which a model file is loaded. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char *model_path(unsigned kind)
{
    static const char *const names[] = {"0.safetensors", "1.safetensors", "2.safetensors"};
    static bool written[3];
    const char *path = fuzz_path(names[kind % 3]);
    if (!written[kind % 3]) {
        svit_error err = FUZZ_ERROR;
        svit_model *model = fuzz_model(kind);
        FUZZ_CHECK(svit_model_save(model, path, &err) == SVIT_OK);
        svit_model_free(model);
        written[kind % 3] = true;
    }
    return path;
}

static void check_report(const svit_load_report *report)
{
    fuzz_check_text(report->text);
    FUZZ_CHECK(report->buffers <= report->extra);
    if (report->needed > 0)
        FUZZ_CHECK(strlen(report->text) < report->needed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    svit_error err = FUZZ_ERROR;
    const unsigned choice = size > 0 ? data[0] : 0;
    char *map = fuzz_text(data + (size > 0), size - (size > 0)), text[300] = "";
    svit_load_report report = {
        .struct_size = sizeof report, .text = text, .capacity = choice & 32 ? sizeof text : 40};
    svit_model *model = fuzz_model(choice / 64), *mapped = NULL;
    svit_model_config config;
    const char *path = model_path(choice / 64);
    fuzz_ok(svit_model_load_into(model, path, map, choice & 7, &report, &err), &err);
    check_report(&report);
    fuzz_check_model(model);
    svit_model_free(model);
    fuzz_model_config(&config, choice / 64);
    if (fuzz_ok(svit_model_load_mapped(&mapped, fuzz_context(), &config, path, map, &err), &err))
        fuzz_check_model(mapped);
    svit_model_free(mapped);
    free(map);
    return fuzz_end();
}
