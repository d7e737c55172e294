/* Scenarios of models: making, changing, loading and saving them. */
#include "scenario.h"

#include <sys/stat.h>

static size_t elements_of(const svit_model *model, const char *name)
{
    int64_t shape[8];
    size_t rank = 0, elements = 1;
    svit_model_parameter_shape(model, name, shape, &rank, NULL);
    for (size_t i = 0; i < rank; i++)
        elements *= (size_t)shape[i];
    return elements;
}

SCENARIO(svit_model_create, NEEDS_CONTEXT, EVERY_MODEL)
{
    return svit_model_create(&w->made.model, w->has.context, &w->config, 3, err);
}

SCENARIO(svit_model_load, NEEDS_CONTEXT, 0)
{
    return svit_model_load(&w->made.model, w->has.context, world_asset("model.safetensors"), err);
}

VARIANT(svit_model_load, int8, NEEDS_CONTEXT, 0, NULL)
{
    return svit_model_load(&w->made.model, w->has.context, world_asset("int8.safetensors"), err);
}

SCENARIO(svit_model_map, NEEDS_CONTEXT, 0)
{
    return svit_model_map(&w->made.model, w->has.context, world_asset("model.safetensors"), err);
}

SCENARIO(svit_model_load_with_config, NEEDS_CONTEXT, 0)
{
    return svit_model_load_with_config(&w->made.model, w->has.context, &w->config,
                                       world_asset("model.safetensors"), err);
}

SCENARIO(svit_model_load_memory, NEEDS_CONTEXT, 0)
{
    return svit_model_load_memory(&w->made.model, w->has.context, world_model_file.data,
                                  world_model_file.bytes, err);
}

/* Positions of another input are interpolated. */
static void widen(world *w)
{
    world_use(w, MODEL_PLAIN_VIT);
    w->config.input_width = 12;
}

VARIANT(svit_model_load_mapped, , NEEDS_CONTEXT, 0, widen)
{
    return svit_model_load_mapped(&w->made.model, w->has.context, &w->config,
                                  world_asset("timm.safetensors"), "timm", err);
}

/* What timm.safetensors does not tell of its model. */
static const char TIMM_FIELDS[] = "{\"heads\":2,\"norm_eps\":1e-6,\"input_height\":8,"
                                  "\"input_width\":8,\"activation\":\"gelu\","
                                  "\"pool\":\"class_token\"}";

SCENARIO(svit_model_open, NEEDS_CONTEXT, 0)
{
    const svit_open_options options = {.struct_size = sizeof options, .fields = TIMM_FIELDS};
    return svit_model_open(&w->made.model, w->has.context, world_asset("timm.safetensors"),
                           &options, NULL, err);
}

/* An adapter of PEFT that changes timm.safetensors: zeros of rank 1 for the attention's output, and
 * for a decoder, which the model does not have. */
static void write_adapter(world *w)
{
    static const char config[] = "{\"peft_type\":\"LORA\",\"lora_alpha\":2,\"r\":1}";
    static const char tensors[] = "{\"base_model.model.blocks.0.attn.proj.lora_A.weight\":"
                                  "{\"dtype\":\"F32\",\"shape\":[1,12],\"data_offsets\":[0,48]},"
                                  "\"base_model.model.blocks.0.attn.proj.lora_B.weight\":"
                                  "{\"dtype\":\"F32\",\"shape\":[12,1],\"data_offsets\":[48,96]},"
                                  "\"base_model.model.decoder_embed.lora_A.weight\":"
                                  "{\"dtype\":\"F32\",\"shape\":[1,12],\"data_offsets\":[96,144]}}";
    enum { HEADER = 400 };
    _Static_assert(sizeof tensors <= HEADER, "the header has room");
    (void)w;
    char file[8 + HEADER + 144] = {(char)(HEADER & 0xff), HEADER >> 8};
    memset(file + 8, ' ', HEADER);
    memcpy(file + 8, tensors, strlen(tensors));
    ck_assert_int_eq(mkdir(world_path("adapter"), 0700), 0);
    fit_write(world_path("adapter/adapter_config.json"), config, strlen(config));
    fit_write(world_path("adapter/adapter_model.safetensors"), file, sizeof file);
}

VARIANT(svit_model_open, adapter, NEEDS_CONTEXT, 0, write_adapter)
{
    const svit_open_options options = {.struct_size = sizeof options,
                                       .fields = TIMM_FIELDS,
                                       .base = world_asset("timm.safetensors")};
    return svit_model_open(&w->made.model, w->has.context, world_path("adapter"), &options, NULL,
                           err);
}

VARIANT(svit_model_open, own, NEEDS_CONTEXT, 0, NULL)
{
    return svit_model_open(&w->made.model, w->has.context, world_asset("model.safetensors"), NULL,
                           NULL, err);
}

static void use_plain_vit(world *w)
{
    world_use(w, MODEL_PLAIN_VIT);
    svit_model_free(w->has.model);
    WORKS(svit_model_create(&w->has.model, w->has.context, &w->config, 7, err));
}

VARIANT(svit_model_load_into, , NEEDS_MODEL, FILLS, use_plain_vit)
{
    static const char map[] = "{\"head.fc1\":\"head\",\"norm.bias\":null,"
                              "\"blocks.*.attn.qkv\":[\"blocks.*.attn.qkv\"]}";
    svit_load_report report = {
        .struct_size = sizeof report, .text = OUT(char, 256), .capacity = 256};
    return svit_model_load_into(w->has.model, world_asset("timm.safetensors"), map,
                                SVIT_LOAD_IGNORE_EXTRA, &report, err);
}

VARIANT(svit_model_save_mapped, , NEEDS_MODEL | NEEDS_OLD_FILE, WRITES, use_plain_vit)
{
    return svit_model_save_mapped(w->has.model, TARGET, "timm", err);
}

SCENARIO(svit_model_save, NEEDS_MODEL | NEEDS_OLD_FILE, EVERY_MODEL | WRITES)
{
    return svit_model_save(w->has.model, TARGET, err);
}

SCENARIO(svit_model_save_as, NEEDS_MODEL | NEEDS_OLD_FILE, WRITES)
{
    return svit_model_save_as(w->has.model, TARGET, SVIT_DTYPE_I8, err);
}

SCENARIO(svit_model_save_memory, NEEDS_MODEL, 0)
{
    return svit_model_save_memory(w->has.model, OUT(char, 40000), 40000, OUT(size_t, 1), err);
}

SCENARIO(svit_model_export_onnx, NEEDS_MODEL | NEEDS_OLD_FILE, EVERY_MODEL | WRITES)
{
    const svit_onnx_options options = {sizeof options, SVIT_ONNX_LOGITS, 1};
    return svit_model_export_onnx(w->has.model, TARGET, &options, err);
}

SCENARIO(svit_model_get_config, NEEDS_MODEL, PURE)
{
    return svit_model_get_config(w->has.model, OUT(svit_model_config, 1), sizeof(svit_model_config),
                                 err);
}

SCENARIO(svit_model_multiply_adds, NEEDS_NOTHING, 0)
{
    return svit_model_multiply_adds(&w->config, OUT(uint64_t, 1), OUT(uint64_t, 1), err);
}

SCENARIO(svit_model_parameter_shape, NEEDS_MODEL, PURE)
{
    return svit_model_parameter_shape(w->has.model, svit_model_parameter_name(w->has.model, 0),
                                      OUT(int64_t, 8), OUT(size_t, 1), err);
}

SCENARIO(svit_model_get_parameter, NEEDS_MODEL, PURE)
{
    const char *name = svit_model_parameter_name(w->has.model, 0);
    const size_t elements = elements_of(w->has.model, name);
    return svit_model_get_parameter(w->has.model, name, OUT(float, elements), elements, err);
}

SCENARIO(svit_model_set_parameter, NEEDS_MODEL, PURE)
{
    const char *name = svit_model_parameter_name(w->has.model, 0);
    return svit_model_set_parameter(w->has.model, name, world_images,
                                    elements_of(w->has.model, name), err);
}

SCENARIO(svit_model_set_trainable, NEEDS_MODEL, PURE)
{
    return svit_model_set_trainable(w->has.model, "*.bias", 0, err);
}

SCENARIO(svit_model_get_trainable, NEEDS_MODEL, PURE)
{
    return svit_model_get_trainable(w->has.model, svit_model_parameter_name(w->has.model, 0),
                                    OUT(int32_t, 1), err);
}

static void use_whitened(world *w)
{
    world_use(w, MODEL_WHITENED);
    svit_model_free(w->has.model);
    WORKS(svit_model_create(&w->has.model, w->has.context, &w->config, 7, err));
}

VARIANT(svit_model_whiten, , NEEDS_MODEL, 0, use_whitened)
{
    return svit_model_whiten(w->has.model, world_images, COUNT, err);
}

SCENARIO(svit_model_set_classes, NEEDS_MODEL, 0)
{
    static const char *const names[CLASSES] = {"x", "y", "z"};
    return svit_model_set_classes(w->has.model, names, CLASSES, err);
}

SCENARIO(svit_model_set_threshold, NEEDS_MODEL, PURE)
{
    return svit_model_set_threshold(w->has.model, 0.5, err);
}

SCENARIO(svit_model_set_text_head, NEEDS_MODEL, 0)
{
    return svit_model_set_text_head(w->has.model, world_images, world_names, 2, CLASSES, 10, 0,
                                    err);
}

SCENARIO(svit_model_set_output, NEEDS_MODEL, PURE)
{
    return svit_model_set_output(w->has.model, SVIT_OUTPUT_SIGMOID, err);
}

SCENARIO(svit_model_set_pipeline, NEEDS_MODEL, PURE)
{
    svit_pipeline_config config = world_pipeline();
    config.flip_probability = 0.25;
    return svit_model_set_pipeline(w->has.model, &config, err);
}

SCENARIO(svit_model_get_pipeline, NEEDS_MODEL, PURE)
{
    return svit_model_get_pipeline(w->has.model, OUT(svit_pipeline_config, 1),
                                   sizeof(svit_pipeline_config), err);
}

SCENARIO(svit_model_replace_head, NEEDS_MODEL, EVERY_MODEL)
{
    return svit_model_replace_head(w->has.model, 5, 9, err);
}

SCENARIO(svit_model_add_classes, NEEDS_MODEL, EVERY_MODEL)
{
    return svit_model_add_classes(w->has.model, 2, 9, err);
}

SCENARIO(svit_model_truncate, NEEDS_MODEL, EVERY_MODEL)
{
    const char *layer =
        w->config.architecture == SVIT_ARCHITECTURE_SHIFTVIT ? "layers.0.blocks.0" : "blocks.0";
    return svit_model_truncate(w->has.model, layer, err);
}

VARIANT(svit_model_add_lora, , NEEDS_MODEL, 0, use_plain_vit)
{
    return svit_model_add_lora(w->has.model, 2, 4, 9, err);
}

static void use_lora(world *w)
{
    use_plain_vit(w);
    WORKS(svit_model_add_lora(w->has.model, 2, 4, 9, err));
}

VARIANT(svit_model_merge_lora, , NEEDS_MODEL, 0, use_lora)
{
    return svit_model_merge_lora(w->has.model, err);
}

VARIANT(svit_model_save, lora, NEEDS_MODEL | NEEDS_OLD_FILE, WRITES, use_lora)
{
    return svit_model_save(w->has.model, TARGET, err);
}

GETTER(svit_model_free, NEEDS_NOTHING, (NULL))
GETTER(svit_model_class_name, NEEDS_MODEL, (w->has.model, 1))
GETTER(svit_model_output, NEEDS_MODEL, (w->has.model))
GETTER(svit_model_text_class_name, NEEDS_MODEL, (w->has.model, 1))
GETTER(svit_model_threshold, NEEDS_MODEL, (w->has.model))
GETTER(svit_model_parameter_count, NEEDS_MODEL, (w->has.model))
GETTER(svit_model_parameter_elements, NEEDS_MODEL, (w->has.model))
GETTER(svit_model_parameter_name, NEEDS_MODEL, (w->has.model, 1))
