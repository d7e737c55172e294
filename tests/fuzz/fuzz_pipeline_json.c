/* The JSON of pipelines, which model files carry: what is read is written and read again, and runs
 * on an image if its sizes are small. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void evaluate(const svit_pipeline_config *config)
{
    svit_error err = FUZZ_ERROR;
    enum { CHANNELS = 9 };
    static const uint8_t pixels[6 * 9 * CHANNELS] = {1, 2, 3, 255, 254};
    size_t height, width;
    FUZZ_CHECK(svit_pipeline_evaluation_size(config, &height, &width, &err) == SVIT_OK);
    if (config->resize_height > 128 || config->resize_width > 128 || height > 128 || width > 128 ||
        config->source_height > 128 || config->source_width > 128 || config->channels > CHANNELS)
        return;
    const size_t elements = height * width * config->channels;
    float *out = malloc(elements * sizeof *out);
    FUZZ_CHECK(out);
    if (fuzz_ok(svit_pipeline_apply_evaluation(fuzz_context(), config, pixels, 1, 6, 9, out, &err),
                &err))
        for (size_t i = 0; i < elements; i++)
            FUZZ_CHECK(!isnan(out[i]));
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    svit_error err = FUZZ_ERROR;
    svit_pipeline_config config, again;
    char *json = fuzz_text(data, size);
    if (fuzz_ok(svit_pipeline_config_from_json(&config, sizeof config, json, &err), &err)) {
        char text[16384];
        size_t needed;
        FUZZ_CHECK(svit_pipeline_config_to_json(&config, text, sizeof text, &needed, &err) ==
                   SVIT_OK);
        fuzz_check_text(text);
        FUZZ_CHECK(svit_pipeline_config_from_json(&again, sizeof again, text, &err) == SVIT_OK);
        FUZZ_CHECK(config.augment_count == again.augment_count && config.scale == again.scale);
        evaluate(&config);
    }
    free(json);
    return fuzz_end();
}
