/* Models in memory: svit_model_load_memory, a predictor of the bytes, and one prediction. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>

static void predict(svit_predictor *predictor)
{
    static const uint8_t pixels[5 * 7 * 4] = {200, 100, 50};
    svit_error err = FUZZ_ERROR;
    const size_t classes = svit_predictor_classes(predictor);
    float *probabilities = malloc(classes * sizeof *probabilities);
    FUZZ_CHECK(classes > 0 && probabilities);
    if (fuzz_ok(svit_predict_u8(predictor, pixels, 1, 5, 7, probabilities, &err), &err))
        for (size_t i = 0; i < classes; i++)
            FUZZ_CHECK(isfinite(probabilities[i]));
    free(probabilities);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    svit_error err = FUZZ_ERROR;
    svit_model *model = NULL;
    svit_predictor *predictor = NULL;
    svit_predictor_config config;
    if (fuzz_ok(svit_model_load_memory(&model, fuzz_context(), data, size, &err), &err))
        fuzz_check_model(model);
    svit_model_free(model);
    svit_predictor_config_init(&config, sizeof config);
    config.max_batch = 1;
    if (fuzz_ok(svit_predictor_create_from_memory(&predictor, fuzz_context(), data, size, &config,
                                                  &err),
                &err))
        predict(predictor);
    svit_predictor_free(predictor);
    return fuzz_end();
}
