/* Sessions: random models and options, run forward and, where they train, backward. The memory is
 * what svit_session_memory_needed says, logits and gradients are finite, and two forwards in
 * inference give the same bits. */
#include "configs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES = 3 };

static void options_from(svit_session_config *config, fuzz_bytes *bytes)
{
    static const char *const layers[] = {
        "", "patch_embed", "tokens", "blocks.0", "layers.0.blocks.0", "features", "other"};
    svit_session_config_init(config, sizeof *config);
    config->max_batch = fuzz_range(bytes, 0, IMAGES);
    config->mode = (int32_t)fuzz_range(bytes, 0, 1);
    config->compute = (int32_t)fuzz_range(bytes, 0, 2);
    config->memory = (int32_t)fuzz_range(bytes, 0, 2);
    config->features = (int32_t)fuzz_range(bytes, 0, 1);
    config->input_gradient = (int32_t)fuzz_range(bytes, 0, 1);
    if (fuzz_take(bytes, 1) % 4 == 0) {
        config->input_height = fuzz_range(bytes, 0, 30);
        config->input_width = fuzz_range(bytes, 0, 30);
    }
    strcpy(config->input_layer, layers[fuzz_take(bytes, 1) % 2 ? 0 : fuzz_range(bytes, 0, 6)]);
}

static bool all_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

static void check_layers(svit_session *session, const float *images, size_t n)
{
    svit_error err = FUZZ_ERROR;
    const char *layer;
    for (size_t i = 0; (layer = svit_session_layer_name(session, i)); i++) {
        size_t tokens, channels;
        FUZZ_CHECK(svit_session_layer_shape(session, layer, &tokens, &channels, &err) == SVIT_OK);
        const size_t elements = n * tokens * channels;
        float *out = malloc(elements * sizeof *out);
        FUZZ_CHECK(out);
        if (fuzz_ok(svit_forward_features(session, images, n, layer, out, elements, &err), &err))
            FUZZ_CHECK(all_finite(out, elements));
        free(out);
    }
}

static void run(svit_session *session, const svit_session_config *config, size_t classes,
                fuzz_bytes *bytes)
{
    svit_error err = FUZZ_ERROR;
    const size_t n = config->max_batch, inputs = n * svit_session_input_size(session);
    float *images = fuzz_floats(bytes, inputs), *logits = malloc(2 * n * classes * sizeof *logits);
    float *dimages = malloc(inputs * sizeof *dimages), *again = logits + n * classes;
    FUZZ_CHECK(logits && dimages);
    if (fuzz_ok(svit_forward(session, images, n, logits, &err), &err)) {
        FUZZ_CHECK(all_finite(logits, n * classes));
        if (config->mode == SVIT_MODE_INFER) {
            FUZZ_CHECK(svit_forward(session, images, n, again, &err) == SVIT_OK);
            FUZZ_CHECK(memcmp(logits, again, n * classes * sizeof *logits) == 0);
        }
        const svit_status status = config->input_gradient
                                       ? svit_backward_input(session, logits, n, dimages, &err)
                                       : svit_backward(session, logits, n, &err);
        fuzz_ok(status, &err);
        FUZZ_CHECK((status == SVIT_OK) == (config->mode == SVIT_MODE_TRAIN));
    }
    check_layers(session, images, n);
    free(dimages);
    free(logits);
    free(images);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes bytes = {data, size};
    svit_error err = FUZZ_ERROR;
    svit_model *model = NULL;
    svit_session *session = NULL;
    svit_model_config config;
    svit_session_config options;
    uint64_t needed = 0;
    small_config(&config, &bytes);
    if (fuzz_ok(svit_model_create(&model, fuzz_context(), &config, 3, &err), &err)) {
        options_from(&options, &bytes);
        const svit_status known = svit_session_memory_needed(&needed, model, &options, &err);
        fuzz_ok(known, &err);
        const svit_status status = svit_session_create(&session, model, &options, &err);
        FUZZ_CHECK(fuzz_ok(status, &err) == (known == SVIT_OK) || status == SVIT_E_MEMORY);
        if (session) {
            FUZZ_CHECK(svit_session_memory(session) == needed);
            run(session, &options, config.num_classes, &bytes);
        }
    }
    svit_session_free(session);
    svit_model_free(model);
    return fuzz_end();
}
