/* Feature files: svit_features_load, then appending, saving and loading again. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check(const svit_features *set)
{
    const size_t count = svit_features_count(set), channels = svit_features_channels(set);
    const size_t classes = svit_features_classes(set);
    FUZZ_CHECK(count > 0 && channels > 0);
    for (size_t i = 0; i < count * channels; i++)
        FUZZ_CHECK(isfinite(svit_features_values(set)[i]));
    for (size_t i = 0; i < count; i++) {
        const int32_t label = svit_features_labels(set)[i];
        FUZZ_CHECK(label >= -1 && (label < 0 || (size_t)label < classes));
    }
    for (size_t i = 0; i < classes && svit_features_class_name(set, i); i++)
        fuzz_check_text(svit_features_class_name(set, i));
    fuzz_check_text(svit_features_layer(set));
    fuzz_check_text(svit_features_model(set));
}

static void save_again(const svit_features *set)
{
    svit_error err = FUZZ_ERROR;
    svit_features *again = NULL;
    const char *path = fuzz_path("again.safetensors");
    if (!fuzz_ok(svit_features_save(set, path, &err), &err))
        return;
    const svit_status status = svit_features_load(&again, fuzz_context(), path, &err);
    FUZZ_CHECK(fuzz_ok(status, &err) || status == SVIT_E_MEMORY);
    if (again) {
        const size_t elements = svit_features_count(set) * svit_features_channels(set);
        FUZZ_CHECK(svit_features_count(set) == svit_features_count(again));
        FUZZ_CHECK(svit_features_channels(set) == svit_features_channels(again));
        FUZZ_CHECK(svit_features_classes(set) == svit_features_classes(again));
        FUZZ_CHECK(memcmp(svit_features_values(set), svit_features_values(again),
                          elements * sizeof(float)) == 0);
        fuzz_ok(svit_features_append(again, set, &err), &err);
        check(again);
    }
    svit_features_free(again);
}

static void classify(const svit_features *set)
{
    svit_error err = FUZZ_ERROR;
    const size_t classes = svit_features_classes(set);
    float *probabilities = malloc((classes ? classes : 1) * sizeof *probabilities);
    FUZZ_CHECK(probabilities);
    if (fuzz_ok(svit_features_knn(set, svit_features_values(set), 1, 3, 0.07, probabilities, &err),
                &err))
        for (size_t i = 0; i < classes; i++)
            FUZZ_CHECK(probabilities[i] >= 0 && probabilities[i] <= 1.0001f);
    free(probabilities);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    svit_error err = FUZZ_ERROR;
    svit_features *set = NULL;
    const char *path = fuzz_file("features.safetensors", data, size);
    if (fuzz_ok(svit_features_load(&set, fuzz_context(), path, &err), &err)) {
        check(set);
        classify(set);
        save_again(set);
    }
    svit_features_free(set);
    return fuzz_end();
}
