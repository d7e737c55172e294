/* Model files: safetensors with the configuration, class names and pipeline as metadata. */
#include "models/model_file.h"

#include "autograd/parameter_file.h"
#include "base/numbers/digits.h"
#include "base/threads/fp_env.h"
#include "data/augmentation/pipeline_config.h"
#include "io/metadata_json.h"
#include "io/metadata_names.h"
#include "models/architecture.h"
#include "models/config.h"
#include "models/model_map.h"
#include "models/parts/lora.h"
#include "models/parts/text_head.h"

#include <inttypes.h>
#include <string.h>

static const char *const METADATA_KEYS[] = {"format",          "format_version", "config",
                                            "classes",         "preprocessing",  "output",
                                            "known_threshold", SV_TEXT_HEAD_KEY};
enum { FORMAT_VERSION = 1 };

/* The words of the key "output", indexed by SVIT_OUTPUT_*. */
static const char *const OUTPUT_WORDS[] = {[SVIT_OUTPUT_SOFTMAX] = "softmax",
                                           [SVIT_OUTPUT_SIGMOID] = "sigmoid",
                                           [SVIT_OUTPUT_LOGITS] = "logits"};

svit_status sv_model_metadata_key_check(const char *key, svit_error *err)
{
    for (size_t i = 0; i < sizeof METADATA_KEYS / sizeof *METADATA_KEYS; i++)
        if (strcmp(METADATA_KEYS[i], key) == 0)
            return sv_fail(err, SVIT_E_ARGUMENT, "key '%s' is the model's own; choose another",
                           key);
    return SVIT_OK;
}

/* Puts the text that `value` has written under `key`, and frees `value`. */
static svit_status put_written(const sv_metadata_sink *sink, const char *key, sv_json_writer *value,
                               svit_error *err)
{
    svit_status status = sv_json_writer_status(value, key, err);
    if (status == SVIT_OK)
        sink->put(sink->user, key, value->text);
    sv_json_writer_free(value);
    return status;
}

static svit_status put_config(const sv_metadata_sink *sink, const svit_model *model,
                              const char *key, const sv_field_table *fields, const void *config,
                              svit_error *err)
{
    sv_json_writer text = sv_json_writer_make(&model->context->allocator);
    sv_fields_to_json(fields, config, &text);
    return put_written(sink, key, &text, err);
}

static svit_status put_classes(const sv_metadata_sink *sink, const svit_model *model,
                               svit_error *err)
{
    sv_json_writer names = sv_json_writer_make(&model->context->allocator);
    sv_json_begin(&names, '[');
    for (size_t i = 0; i < model->config.num_classes; i++)
        sv_json_put_text(&names, model->classes[i]);
    sv_json_end(&names, ']');
    return put_written(sink, "classes", &names, err);
}

svit_status sv_model_properties(const sv_metadata_sink *sink, const svit_model *model,
                                svit_error *err)
{
    const svit_model_config *config = &model->config;
    SVIT_TRY(put_config(sink, model, "config", sv_architecture_of(config)->fields, config, err));
    if (model->classes)
        SVIT_TRY(put_classes(sink, model, err));
    if (model->has_pipeline)
        SVIT_TRY(put_config(sink, model, "preprocessing", &sv_pipeline_config_type.table,
                            &model->pipeline, err));
    if (model->output != SVIT_OUTPUT_AUTO)
        sink->put(sink->user, "output", OUTPUT_WORDS[model->output]);
    if (model->threshold > 0) {
        sv_json_writer threshold = sv_json_writer_make(&model->context->allocator);
        sv_json_put_real(&threshold, model->threshold);
        SVIT_TRY(put_written(sink, "known_threshold", &threshold, err));
    }
    return SVIT_OK;
}

static void put_json(void *user, const char *key, const char *value)
{
    sv_json_put_key(user, key);
    sv_json_put_text(user, value);
}

svit_status sv_model_metadata(sv_json_writer *metadata, const svit_model *model, svit_error *err)
{
    put_json(metadata, "format", "shiftvit");
    put_json(metadata, "format_version", "1");
    SVIT_TRY(sv_model_properties(&(sv_metadata_sink){put_json, metadata}, model, err));
    return sv_json_writer_status(metadata, "a model's metadata", err);
}

static svit_status write_file(sv_json_writer *metadata, const svit_model *model,
                              const sv_byte_target *target, sv_dtype dtype, svit_error *err)
{
    sv_json_begin(metadata, '{');
    SVIT_TRY(sv_model_metadata(metadata, model, err));
    SVIT_TRY(sv_text_head_metadata(&(sv_metadata_sink){put_json, metadata}, model, err));
    sv_json_end(metadata, '}');
    SVIT_TRY(sv_json_writer_status(metadata, "a model's metadata", err));
    const struct sv_text_head *head = model->text_head;
    sv_parameter_array arrays[2] = {{.prefix = "", .values = model->weights}};
    if (head)
        arrays[1] =
            (sv_parameter_array){.prefix = "", .values = head->weight, .table = &head->table};
    return sv_parameter_arrays_write(&model->parameters, target, metadata->text, arrays,
                                     head ? 2 : 1, dtype, err);
}

/* Writes the model with its adapters merged. */
static svit_status save(const svit_model *model, const sv_byte_target *target, sv_dtype dtype,
                        svit_error *err)
{
    svit_model *merged = NULL;
    if (sv_model_has_lora(model))
        SVIT_TRY(sv_model_merged(&merged, model, err));
    sv_json_writer metadata = sv_json_writer_make(&model->context->allocator);
    svit_status status = write_file(&metadata, merged ? merged : model, target, dtype, err);
    sv_json_writer_free(&metadata);
    svit_model_free(merged);
    return status;
}

SVIT_API svit_status svit_model_save_as(const svit_model *model, const char *path, int32_t dtype,
                                        svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    static const sv_dtype TYPES[] = {[SVIT_DTYPE_F32] = SV_DTYPE_F32,
                                     [SVIT_DTYPE_F16] = SV_DTYPE_F16,
                                     [SVIT_DTYPE_BF16] = SV_DTYPE_BF16,
                                     [SVIT_DTYPE_I8] = SV_DTYPE_I8};
    SV_REQUIRE(model);
    SV_REQUIRE(path);
    if (dtype < 0 || (size_t)dtype >= sizeof TYPES / sizeof *TYPES)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: dtype is %d; SVIT_DTYPE_F32 (0) to "
                       "SVIT_DTYPE_I8 (%d) are accepted",
                       __func__, dtype, SVIT_DTYPE_I8);
    return save(model, &(sv_byte_target){.name = path}, TYPES[dtype], err);
}

SVIT_API svit_status svit_model_save(const svit_model *model, const char *path, svit_error *err)
{
    SV_REQUIRE(model);
    SV_REQUIRE(path);
    return svit_model_save_as(model, path, SVIT_DTYPE_F32, err);
}

/* The name in messages, where files have their path. */
static const char MEMORY_NAME[] = "the model in memory";

SVIT_API svit_status svit_model_save_memory(const svit_model *model, void *buffer, size_t capacity,
                                            size_t *needed, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(model);
    if (capacity)
        SV_REQUIRE(buffer);
    const sv_byte_target target = {.name = MEMORY_NAME,
                                   .in_memory = true,
                                   .buffer = buffer,
                                   .capacity = capacity,
                                   .needed = needed};
    return save(model, &target, SV_DTYPE_F32, err);
}

svit_status sv_model_file_check_version(const sv_safetensors *file, const char *path,
                                        svit_error *err)
{
    const char *text = sv_safetensors_metadata(file, "format_version");
    if (!text)
        return SVIT_OK;
    uint64_t version;
    const char *end = sv_digits_read(&version, text, 10);
    if (!end || end == text || *end)
        return sv_fail(err, SVIT_E_FORMAT, "%s: format_version is '%.40s', no number", path, text);
    if (version > FORMAT_VERSION)
        return sv_fail(err, SVIT_E_VERSION,
                       "%s: format_version is %" PRIu64 "; this library reads up to %d", path,
                       version, FORMAT_VERSION);
    return SVIT_OK;
}

/* Reports an invalid text of a file's metadata as SVIT_E_FORMAT with the path. SVIT_E_MEMORY stays.
 */
static svit_status fail_in_file(svit_status status, const char *path, svit_error *err)
{
    if (status == SVIT_OK)
        return SVIT_OK;
    return sv_fail_in(err, status == SVIT_E_MEMORY ? status : SVIT_E_FORMAT, path);
}

svit_status sv_model_file_config(svit_model_config *config, const sv_safetensors *file,
                                 const char *path, svit_error *err)
{
    const char *json = sv_safetensors_metadata(file, "config");
    if (!json)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s carries no configuration; svit_model_load_with_config takes yours",
                       path);
    return fail_in_file(svit_model_config_from_json(config, sizeof *config, json, err), path, err);
}

typedef enum model_loading { LOADING_READ, LOADING_MAP } model_loading;

/* Whether a tensor of a checkpoint belongs to the optimiser. */
static bool is_optimizer_tensor(const char *name)
{
    return strncmp(name, "optimizer.", 10) == 0 || strncmp(name, "ema.", 4) == 0;
}

bool sv_model_file_is_buffer(const sv_safetensors_entry *entry)
{
    switch (entry->desc.dtype) {
    case SV_DTYPE_F32:
    case SV_DTYPE_F16:
    case SV_DTYPE_BF16:
    case SV_DTYPE_F4:
    case SV_DTYPE_F6_E2M3:
    case SV_DTYPE_F6_E3M2:
    case SV_DTYPE_F8_E4M3:
    case SV_DTYPE_F8_E4M3FNUZ:
    case SV_DTYPE_F8_E5M2:
    case SV_DTYPE_F8_E5M2FNUZ:
    case SV_DTYPE_F8_E8M0:
        return false;
    default:
        return true;
    }
}

bool sv_model_file_skips(const sv_parameter_table *table, const sv_safetensors *file,
                         const sv_safetensors_entry *entry)
{
    return is_optimizer_tensor(entry->name) || sv_parameter_is_scale(table, file, entry->name) ||
           sv_model_file_is_buffer(entry);
}

static svit_status check_unknown(const svit_model *model, const sv_safetensors *file,
                                 const char *path, svit_error *err)
{
    for (size_t i = 0; i < sv_safetensors_count(file); i++) {
        const sv_safetensors_entry *entry = sv_safetensors_at(file, i);
        const char *name = entry->name;
        if (strcmp(name, SV_TEXT_HEAD_TENSOR) == 0 &&
            sv_safetensors_metadata(file, SV_TEXT_HEAD_KEY))
            continue;
        if (!sv_parameter_find(&model->parameters, name) &&
            !sv_model_file_skips(&model->parameters, file, entry))
            return sv_fail(err, SVIT_E_FORMAT, "%s: tensor '%.96s' is none of the model's", path,
                           name);
    }
    return SVIT_OK;
}

static svit_status read_classes(svit_model *model, const sv_safetensors *file, const char *path,
                                svit_error *err)
{
    sv_metadata_names names;
    svit_status status = sv_metadata_names_read(&names, &model->context->allocator, file,
                                                model->config.num_classes, path, err);
    if (status == SVIT_OK && names.list)
        status = svit_model_set_classes(model, names.list, names.count, err);
    sv_metadata_names_free(&names);
    return status;
}

static svit_status read_pipeline(svit_model *model, const sv_safetensors *file, const char *path,
                                 svit_error *err)
{
    const char *text = sv_safetensors_metadata(file, "preprocessing");
    if (!text)
        return SVIT_OK;
    svit_pipeline_config pipeline;
    SVIT_TRY(fail_in_file(svit_pipeline_config_from_json(&pipeline, sizeof pipeline, text, err),
                          path, err));
    return svit_model_set_pipeline(model, &pipeline, err);
}

static svit_status read_output(svit_model *model, const sv_safetensors *file, const char *path,
                               svit_error *err)
{
    const char *text = sv_safetensors_metadata(file, "output");
    if (!text)
        return SVIT_OK;
    for (int32_t i = SVIT_OUTPUT_SOFTMAX; i <= SVIT_OUTPUT_LOGITS; i++)
        if (strcmp(text, OUTPUT_WORDS[i]) == 0)
            return svit_model_set_output(model, i, err);
    return sv_fail(err, SVIT_E_FORMAT,
                   "%s: output is '%.32s'; 'softmax', 'sigmoid' and 'logits' are known", path,
                   text);
}

static svit_status read_threshold(svit_model *model, const sv_safetensors *file, const char *path,
                                  svit_error *err)
{
    double threshold;
    sv_json *json;
    SVIT_TRY(sv_metadata_json_read(&json, &model->context->allocator, file, "known_threshold", path,
                                   err));
    if (!json)
        return SVIT_OK;
    const bool number = sv_json_number(sv_json_root(json), &threshold);
    sv_json_free(json);
    if (!number || !(threshold >= 0 && threshold <= 1))
        return sv_fail(err, SVIT_E_FORMAT, "%s: known_threshold is '%.32s'; it is a number in 0..1",
                       path, sv_safetensors_metadata(file, "known_threshold"));
    return svit_model_set_threshold(model, threshold, err);
}

/* Maps or reads the weights. The tensors' shapes are checked before memory is allocated, so a small
 * file with the configuration of a large model costs nothing. A file that cannot be mapped is read,
 * which accepts more formats and reports what is wrong. */
static svit_status fill_weights(svit_model *model, const sv_safetensors *file,
                                model_loading loading, const char *path, svit_error *err)
{
    SVIT_TRY(sv_parameter_array_check(&model->parameters, NULL, file, path, "", err));
    if (loading == LOADING_MAP)
        SVIT_TRY(sv_model_map_weights(model, file, err));
    if (model->weights)
        return SVIT_OK;
    SVIT_TRY(sv_model_allocate_weights(model, err));
    return sv_parameter_array_read(&model->parameters, NULL, model->weights, file, path, "", err);
}

static svit_status fill_model(svit_model *model, const sv_safetensors *file, model_loading loading,
                              const char *path, svit_error *err)
{
    SVIT_TRY(check_unknown(model, file, path, err));
    SVIT_TRY(fill_weights(model, file, loading, path, err));
    SVIT_TRY(read_classes(model, file, path, err));
    SVIT_TRY(read_output(model, file, path, err));
    SVIT_TRY(read_threshold(model, file, path, err));
    SVIT_TRY(sv_text_head_read(model, file, path, err));
    return read_pipeline(model, file, path, err);
}

/* Each block has at least one tensor, so a file with fewer tensors than blocks is refused before
 * the parameter table of a large model is made. */
static svit_status check_blocks(const svit_model_config *config, const sv_safetensors *file,
                                const char *path, svit_error *err)
{
    size_t blocks = sv_model_block_count(config);
    if (sv_safetensors_count(file) >= blocks)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_FORMAT, "%s: %zu tensors are too few for a model of %zu blocks",
                   path, sv_safetensors_count(file), blocks);
}

/* Loads a model with the caller's configuration, or with that of the file if `config` is NULL. */
static svit_status load_from(svit_model **out, svit_context *context, const sv_safetensors *file,
                             const svit_model_config *config, model_loading loading,
                             const char *path, svit_error *err)
{
    SVIT_TRY(sv_model_file_check_version(file, path, err));
    svit_model_config file_config;
    if (!config) {
        SVIT_TRY(sv_model_file_config(&file_config, file, path, err));
        config = &file_config;
    }
    SVIT_TRY(check_blocks(config, file, path, err));
    svit_model *model;
    SVIT_TRY(sv_model_open(&model, context, config, err));
    svit_status status = fill_model(model, file, loading, path, err);
    if (status == SVIT_OK)
        *out = model;
    else
        svit_model_free(model);
    return status;
}

SVIT_API svit_status svit_model_load_memory(svit_model **out, svit_context *context,
                                            const void *data, size_t bytes, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(data);
    sv_safetensors *file;
    SVIT_TRY(sv_safetensors_open_memory(&file, &context->allocator, MEMORY_NAME, data, bytes, err));
    svit_status status = load_from(out, context, file, NULL, LOADING_READ, MEMORY_NAME, err);
    sv_safetensors_close(file);
    return status;
}

static svit_status load(svit_model **out, svit_context *context, const svit_model_config *config,
                        model_loading loading, const char *path, svit_error *err)
{
    sv_safetensors *file;
    SVIT_TRY(sv_safetensors_open(&file, &context->allocator, path, err));
    svit_status status = load_from(out, context, file, config, loading, path, err);
    sv_safetensors_close(file);
    return status;
}

SVIT_API svit_status svit_model_load(svit_model **out, svit_context *context, const char *path,
                                     svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(path);
    return load(out, context, NULL, LOADING_READ, path, err);
}

SVIT_API svit_status svit_model_map(svit_model **out, svit_context *context, const char *path,
                                    svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(path);
    return load(out, context, NULL, LOADING_MAP, path, err);
}

SVIT_API svit_status svit_model_load_with_config(svit_model **out, svit_context *context,
                                                 const svit_model_config *config, const char *path,
                                                 svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(config);
    SV_REQUIRE(path);
    svit_model_config local;
    SVIT_TRY(sv_config_read(&sv_model_config_type, &local, config, err));
    return load(out, context, &local, LOADING_READ, path, err);
}
