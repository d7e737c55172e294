/* Model files: safetensors with the configuration, class names and preprocessing as metadata. */
#include "models/model_file.h"

#include "autograd/parameter_file.h"
#include "models/config.h"
#include "models/model_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const OWN_KEYS[] = {"format", "format_version", "config", "classes",
                                       "preprocessing"};
enum { FORMAT_VERSION = 1 };

svit_status sv_model_metadata_key_check(const char *key, svit_error *err)
{
    for (size_t i = 0; i < sizeof OWN_KEYS / sizeof *OWN_KEYS; i++)
        if (strcmp(OWN_KEYS[i], key) == 0)
            return sv_fail(err, SVIT_E_ARGUMENT, "key '%s' is the model's own; choose another",
                           key);
    return SVIT_OK;
}

/* The text that a public writer into buffers makes, to be released with *bytes. */
typedef svit_status (*text_writer)(const void *config, char *buffer, size_t capacity,
                                   size_t *needed, svit_error *err);

static svit_status write_config(const void *config, char *buffer, size_t capacity, size_t *needed,
                                svit_error *err)
{
    return svit_model_config_to_json(config, buffer, capacity, needed, err);
}

static svit_status write_pipeline(const void *config, char *buffer, size_t capacity, size_t *needed,
                                  svit_error *err)
{
    return svit_pipeline_config_to_json(config, buffer, capacity, needed, err);
}

/* metadata[key] = what `writer` writes of `config` */
static svit_status set_text(json_t *metadata, const char *key, const sv_allocator *allocator,
                            text_writer writer, const void *config, svit_error *err)
{
    size_t bytes;
    SVIT_TRY(writer(config, NULL, 0, &bytes, err));
    char *text = sv_allocate(allocator, bytes);
    if (!text)
        return sv_fail_memory(err, bytes, key);
    svit_status status = writer(config, text, bytes, NULL, err);
    if (status == SVIT_OK && json_object_set_new(metadata, key, json_string(text)) != 0)
        status = sv_fail_memory(err, bytes, key);
    sv_release(allocator, text, bytes);
    return status;
}

static svit_status set_classes(json_t *metadata, const svit_model *model, svit_error *err)
{
    json_t *names = json_array();
    for (size_t i = 0; i < model->config.num_classes; i++)
        if (json_array_append_new(names, json_string(model->classes[i])) != 0) {
            json_decref(names);
            return sv_fail(err, SVIT_E_ARGUMENT, "the name of class %zu is not UTF-8", i);
        }
    char *text = sv_json_to_text(names);
    int failed = json_object_set_new(metadata, "classes", text ? json_string(text) : NULL);
    sv_json_release_text(text);
    json_decref(names);
    return failed ? sv_fail(err, SVIT_E_MEMORY, "no memory for the class names") : SVIT_OK;
}

static svit_status fill_metadata(json_t *metadata, const svit_model *model, svit_error *err)
{
    const sv_allocator *allocator = &model->context->allocator;
    if (json_object_set_new(metadata, "format", json_string("shiftvit")) != 0 ||
        json_object_set_new(metadata, "format_version", json_string("1")) != 0)
        return sv_fail(err, SVIT_E_MEMORY, "no memory for a model's metadata");
    SVIT_TRY(set_text(metadata, "config", allocator, write_config, &model->config, err));
    if (model->classes)
        SVIT_TRY(set_classes(metadata, model, err));
    if (model->has_pipeline)
        SVIT_TRY(
            set_text(metadata, "preprocessing", allocator, write_pipeline, &model->pipeline, err));
    return SVIT_OK;
}

svit_status sv_model_metadata(json_t **out, const svit_model *model, svit_error *err)
{
    json_t *metadata = json_object();
    if (!metadata)
        return sv_fail(err, SVIT_E_MEMORY, "no memory for a model's metadata");
    svit_status status = fill_metadata(metadata, model, err);
    if (status == SVIT_OK)
        *out = metadata;
    else
        json_decref(metadata);
    return status;
}

SVIT_API svit_status svit_model_save(const svit_model *model, const char *path, svit_error *err)
{
    SV_REQUIRE(model);
    SV_REQUIRE(path);
    json_t *metadata;
    SVIT_TRY(sv_model_metadata(&metadata, model, err));
    sv_parameter_array weights = {"", model->weights};
    svit_status status =
        sv_parameter_arrays_write(&model->parameters, path, metadata, &weights, 1, err);
    json_decref(metadata);
    return status;
}

svit_status sv_model_file_check_version(const sv_safetensors *file, const char *path,
                                        svit_error *err)
{
    const char *text = sv_safetensors_metadata(file, "format_version");
    if (!text)
        return SVIT_OK;
    char *end;
    errno = 0;
    unsigned long version = strtoul(text, &end, 10);
    if (errno || *end || *text < '0' || *text > '9')
        return sv_fail(err, SVIT_E_FORMAT, "%s: format_version is '%.40s', no number", path, text);
    if (version > FORMAT_VERSION)
        return sv_fail(err, SVIT_E_VERSION,
                       "%s: format_version is %lu; this library reads up to %d", path, version,
                       FORMAT_VERSION);
    return SVIT_OK;
}

svit_status sv_model_file_config(svit_model_config *config, const sv_safetensors *file,
                                 const char *path, svit_error *err)
{
    const char *json = sv_safetensors_metadata(file, "config");
    if (!json)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s carries no configuration; svit_model_load_as takes yours", path);
    if (svit_model_config_from_json(config, sizeof *config, json, err) != SVIT_OK)
        return sv_fail_in(err, SVIT_E_FORMAT, path);
    return SVIT_OK;
}

typedef enum model_loading { LOADING_READ, LOADING_MAP } model_loading;

/* Tensors that belong to training, not to the model. */
static bool is_of_training(const char *name)
{
    return strncmp(name, "optimizer.", 10) == 0 || strncmp(name, "ema.", 4) == 0;
}

static svit_status check_unknown(const svit_model *model, const sv_safetensors *file,
                                 const char *path, svit_error *err)
{
    for (size_t i = 0; i < sv_safetensors_count(file); i++) {
        const char *name = sv_safetensors_at(file, i)->name;
        if (!is_of_training(name) && !sv_parameter_find(&model->parameters, name))
            return sv_fail(err, SVIT_E_FORMAT, "%s: tensor '%.96s' is none of the model's", path,
                           name);
    }
    return SVIT_OK;
}

static svit_status read_names(svit_model *model, const json_t *names, const char *path,
                              svit_error *err)
{
    size_t count = model->config.num_classes;
    if (!json_is_array(names) || json_array_size(names) != count)
        return sv_fail(err, SVIT_E_FORMAT, "%s: classes is not an array of %zu names", path, count);
    const sv_allocator *allocator = &model->context->allocator;
    const char **list;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&list, count, sizeof *list, "class names", err));
    svit_status status = SVIT_OK;
    for (size_t i = 0; i < count && status == SVIT_OK; i++) {
        list[i] = json_string_value(json_array_get(names, i));
        if (!list[i])
            status = sv_fail(err, SVIT_E_FORMAT, "%s: the name of class %zu is not text", path, i);
    }
    if (status == SVIT_OK)
        status = svit_model_set_classes(model, list, count, err);
    sv_release(allocator, list, count * sizeof *list);
    return status;
}

static svit_status read_classes(svit_model *model, const sv_safetensors *file, const char *path,
                                svit_error *err)
{
    const char *text = sv_safetensors_metadata(file, "classes");
    if (!text)
        return SVIT_OK;
    json_error_t error;
    json_t *names = json_loads(text, 0, &error);
    svit_status status = read_names(model, names, path, err);
    json_decref(names);
    return status;
}

static svit_status read_pipeline(svit_model *model, const sv_safetensors *file, const char *path,
                                 svit_error *err)
{
    const char *text = sv_safetensors_metadata(file, "preprocessing");
    if (!text)
        return SVIT_OK;
    svit_pipeline_config pipeline;
    if (svit_pipeline_config_from_json(&pipeline, sizeof pipeline, text, err) != SVIT_OK)
        return sv_fail_in(err, SVIT_E_FORMAT, path);
    return svit_model_set_pipeline(model, &pipeline, err);
}

/* A file that cannot be mapped as it is, or that a check refuses, is read: reading takes more
 * layouts, and says what is wrong. */
static svit_status fill_weights(svit_model *model, const sv_safetensors *file,
                                model_loading loading, const char *path, svit_error *err)
{
    if (loading == LOADING_MAP)
        SVIT_TRY(sv_model_map_weights(model, file, err));
    if (model->weights)
        return SVIT_OK;
    SVIT_TRY(sv_model_take_weights(model, err));
    return sv_parameter_array_read(&model->parameters, model->weights, file, path, "", err);
}

static svit_status fill_model(svit_model *model, const sv_safetensors *file, model_loading loading,
                              const char *path, svit_error *err)
{
    SVIT_TRY(check_unknown(model, file, path, err));
    SVIT_TRY(fill_weights(model, file, loading, path, err));
    SVIT_TRY(read_classes(model, file, path, err));
    return read_pipeline(model, file, path, err);
}

/* `config` is the caller's, or NULL for that of the file. */
static svit_status load_from(svit_model **out, svit_context *context, const sv_safetensors *file,
                             const svit_model_config *config, model_loading loading,
                             const char *path, svit_error *err)
{
    SVIT_TRY(sv_model_file_check_version(file, path, err));
    svit_model_config of_file;
    if (!config) {
        SVIT_TRY(sv_model_file_config(&of_file, file, path, err));
        config = &of_file;
    }
    svit_model *model;
    SVIT_TRY(sv_model_open(&model, context, config, err));
    svit_status status = fill_model(model, file, loading, path, err);
    if (status == SVIT_OK)
        *out = model;
    else
        svit_model_free(model);
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
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(path);
    return load(out, context, NULL, LOADING_READ, path, err);
}

SVIT_API svit_status svit_model_map(svit_model **out, svit_context *context, const char *path,
                                    svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(path);
    return load(out, context, NULL, LOADING_MAP, path, err);
}

SVIT_API svit_status svit_model_load_as(svit_model **out, svit_context *context,
                                        const svit_model_config *config, const char *path,
                                        svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(config);
    SV_REQUIRE(path);
    svit_model_config own;
    SVIT_TRY(sv_model_config_import(&own, config, err));
    return load(out, context, &own, LOADING_READ, path, err);
}
