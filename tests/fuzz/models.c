/* Small models for fuzz targets, and checks of models that were read: see fuzz.h. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const MODELS[] = {
    "{\"architecture\": \"shiftvit\", \"input_height\": 8, \"input_width\": 8, \"num_classes\": 3,"
    " \"patch_size\": 2, \"dim\": 8, \"blocks\": [1, 1], \"num_div\": 8, \"mlp_ratio\": 1}",
    "{\"architecture\": \"vit\", \"input_height\": 8, \"input_width\": 8, \"num_classes\": 3,"
    " \"patch_size\": 4, \"dim\": 8, \"depth\": 1, \"heads\": 2, \"head_dim\": 4, \"mlp_dim\": 8,"
    " \"pool\": \"class_token\", \"head_units\": []}",
    "{\"architecture\": \"mixer\", \"input_height\": 8, \"input_width\": 8, \"num_classes\": 3,"
    " \"patch_size\": 4, \"dim\": 8, \"depth\": 1, \"mlp_dim\": 8, \"token_mlp_dim\": 4}"};

void fuzz_model_config(svit_model_config *config, unsigned kind)
{
    svit_error err = FUZZ_ERROR;
    const svit_status status =
        svit_model_config_from_json(config, sizeof *config, MODELS[kind % 3], &err);
    if (status != SVIT_OK)
        fuzz_failed(err.message, __FILE__, __LINE__);
}

svit_model *fuzz_model(unsigned kind)
{
    static const char *const names[] = {"cat", "dog", "\xc3\xa9t\xc3\xa9"};
    svit_error err = FUZZ_ERROR;
    svit_model *model = NULL;
    svit_model_config config;
    svit_pipeline_config pipeline;
    fuzz_model_config(&config, kind);
    FUZZ_CHECK(svit_model_create(&model, fuzz_context(), &config, 1, &err) == SVIT_OK);
    FUZZ_CHECK(svit_model_set_classes(model, names, 3, &err) == SVIT_OK);
    svit_pipeline_config_init(&pipeline, sizeof pipeline);
    pipeline.source_height = pipeline.source_width = 8;
    pipeline.resize_height = pipeline.resize_width = 10;
    pipeline.output_height = pipeline.output_width = 8;
    FUZZ_CHECK(svit_model_set_pipeline(model, &pipeline, &err) == SVIT_OK);
    return model;
}

static void check_parameters(const svit_model *model)
{
    for (size_t i = 0; i < svit_model_parameter_count(model); i++) {
        svit_error err = FUZZ_ERROR;
        int64_t shape[8];
        size_t rank, elements = 1;
        const char *name = svit_model_parameter_name(model, i);
        FUZZ_CHECK(name && *name);
        FUZZ_CHECK(svit_model_parameter_shape(model, name, shape, &rank, &err) == SVIT_OK);
        for (size_t axis = 0; axis < rank; axis++)
            elements *= (size_t)shape[axis];
        float *values = malloc(elements * sizeof *values + 1);
        FUZZ_CHECK(values);
        FUZZ_CHECK(svit_model_get_parameter(model, name, values, elements, &err) == SVIT_OK);
        for (size_t e = 0; e < elements; e++)
            FUZZ_CHECK(isfinite(values[e]));
        free(values);
    }
}

/* The bytes of the model's file, or NULL if memory did not suffice; the caller frees them. */
static uint8_t *saved(const svit_model *model, size_t *bytes)
{
    svit_error err = FUZZ_ERROR;
    svit_status status = svit_model_save_memory(model, NULL, 0, bytes, &err);
    FUZZ_CHECK(status == SVIT_OK || status == SVIT_E_MEMORY);
    if (status == SVIT_E_MEMORY)
        return NULL;
    FUZZ_CHECK(*bytes > 0);
    uint8_t *data = malloc(*bytes);
    FUZZ_CHECK(data);
    status = svit_model_save_memory(model, data, *bytes, bytes, &err);
    FUZZ_CHECK(status == SVIT_OK || status == SVIT_E_MEMORY);
    if (status == SVIT_OK)
        return data;
    free(data);
    return NULL;
}

static void check_saved(const svit_model *model)
{
    svit_error err = FUZZ_ERROR;
    size_t bytes = 0, bytes_again = 0;
    svit_model *again = NULL;
    uint8_t *data = saved(model, &bytes);
    if (!data)
        return;
    const svit_status status = svit_model_load_memory(&again, fuzz_context(), data, bytes, &err);
    FUZZ_CHECK(fuzz_ok(status, &err) || status == SVIT_E_MEMORY);
    uint8_t *data_again = again ? saved(again, &bytes_again) : NULL;
    if (data_again)
        FUZZ_CHECK(bytes == bytes_again && memcmp(data, data_again, bytes) == 0);
    free(data_again);
    svit_model_free(again);
    free(data);
}

void fuzz_check_model(svit_model *model)
{
    svit_error err = FUZZ_ERROR;
    svit_model_config config;
    svit_pipeline_config pipeline;
    FUZZ_CHECK(svit_model_get_config(model, &config, sizeof config, &err) == SVIT_OK);
    for (size_t i = 0; i < config.num_classes; i++) {
        const char *name = svit_model_class_name(model, i);
        if (!name)
            break;
        fuzz_check_text(name);
    }
    fuzz_ok(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, &err), &err);
    FUZZ_CHECK(svit_model_output(model) > SVIT_OUTPUT_AUTO);
    check_parameters(model);
    check_saved(model);
}
