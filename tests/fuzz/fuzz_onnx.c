/* ONNX export of random configurations and pipelines: a file that is written has an IR version, a
 * graph and an opset in fields of protobuf that fill it exactly. */
#include "configs.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t varint(fuzz_bytes *bytes)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        FUZZ_CHECK(bytes->size > 0);
        const uint64_t byte = fuzz_take(bytes, 1);
        value |= (byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    FUZZ_CHECK(!"a number of protobuf ends");
    return 0;
}

static void check_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    FUZZ_CHECK(file && fseek(file, 0, SEEK_END) == 0);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(size + 1);
    FUZZ_CHECK(data && fread(data, 1, size, file) == size);
    fclose(file);
    unsigned seen = 0;
    for (fuzz_bytes bytes = {data, size}; bytes.size > 0;) {
        const uint64_t key = varint(&bytes), value = varint(&bytes);
        FUZZ_CHECK((key & 7) == 0 || (key & 7) == 2);
        if (key >> 3 < 32)
            seen |= 1u << (key >> 3);
        if ((key & 7) == 2) {
            FUZZ_CHECK(value <= bytes.size);
            bytes.data += value;
            bytes.size -= value;
        }
    }
    /* ir_version, graph and opset_import of ModelProto. */
    FUZZ_CHECK((seen & (1u << 1 | 1u << 7 | 1u << 8)) == (1u << 1 | 1u << 7 | 1u << 8));
    free(data);
}

static void set_pipeline(svit_model *model, const svit_model_config *model_config,
                         fuzz_bytes *bytes)
{
    svit_error err = FUZZ_ERROR;
    svit_pipeline_config config;
    svit_pipeline_config_init(&config, sizeof config);
    config.channels = model_config->in_channels;
    config.source_height = fuzz_range(bytes, 1, 30);
    config.source_width = fuzz_range(bytes, 1, 30);
    config.output_height = model_config->input_height;
    config.output_width = model_config->input_width;
    config.resize_height = config.output_height + fuzz_range(bytes, 0, 3);
    config.resize_width = config.output_width + fuzz_range(bytes, 0, 3);
    config.evaluation = (int32_t)fuzz_range(bytes, 0, 2);
    fuzz_ok(svit_model_set_pipeline(model, &config, &err), &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes bytes = {data, size};
    svit_error err = FUZZ_ERROR;
    svit_model *model = NULL;
    svit_model_config config;
    svit_onnx_options options;
    small_config(&config, &bytes);
    if (fuzz_ok(svit_model_create(&model, fuzz_context(), &config, size, &err), &err)) {
        if (fuzz_take(&bytes, 1) % 4)
            set_pipeline(model, &config, &bytes);
        if (fuzz_take(&bytes, 1) % 4 == 0)
            fuzz_ok(svit_model_add_lora(model, fuzz_range(&bytes, 0, 5), 2, 1, &err), &err);
        svit_onnx_options_init(&options, sizeof options);
        options.output = (int32_t)fuzz_range(&bytes, 0, 2);
        options.preprocessing = (int32_t)fuzz_range(&bytes, 0, 2);
        const char *path = fuzz_path("model.onnx");
        if (fuzz_ok(svit_model_export_onnx(model, path, &options, &err), &err))
            check_file(path);
    }
    svit_model_free(model);
    return fuzz_end();
}
