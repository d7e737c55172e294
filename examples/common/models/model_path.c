/* The option --model: a model file, the folder of a training run, or a checkpoint of another
 * library. */
#include "models/model_path.h"

#include "models/convert_from.h"

#include "program/shown.h"
#include "settings/pipeline_fit.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const model_path_files[] = {"best.safetensors",
                                        "model.safetensors",
                                        "model.safetensors.index.json",
                                        "open_clip_model.safetensors",
                                        "checkpoint.safetensors",
                                        NULL};

const char model_path_adapter[] = "adapter_model.safetensors";

int model_path_is_index(const char *path)
{
    static const char ending[] = ".index.json";
    const size_t bytes = strlen(path), end = sizeof ending - 1;
    return bytes > end && strcmp(path + bytes - end, ending) == 0;
}

svit_status model_path_of(struct program *self, char *path, const char *option, const char *given)
{
    if (!path_is_folder(given)) {
        if (snprintf(path, PATH_CAPACITY, "%s", given) >= PATH_CAPACITY)
            return program_fail(self, SVIT_E_ARGUMENT, "%s: the path is too long", option);
        return SVIT_OK;
    }
    TRY(path_join(self, path, given, model_path_adapter));
    if (path_is_there(path))
        return SVIT_OK;
    for (size_t i = 0; model_path_files[i]; i++) {
        TRY(path_join(self, path, given, model_path_files[i]));
        if (path_is_there(path))
            return SVIT_OK;
    }
    return program_fail(self, SVIT_E_IO,
                        "%s: the folder '%s' holds no best.safetensors, model.safetensors, "
                        "model.safetensors.index.json, open_clip_model.safetensors, "
                        "checkpoint.safetensors or adapter_model.safetensors",
                        option, given);
}

svit_status model_path_find(struct program *self, char *path, const char *given)
{
    return model_path_of(self, path, "--model", given);
}

svit_status model_path_check(struct program *self, const char *given)
{
    return path_exists(given) ? SVIT_OK
                              : program_fail(self, SVIT_E_IO, "--model: cannot open '%s': %s",
                                             given, strerror(errno));
}

/* Whether `path`, which model_path_of found, is the adapter of the folder `given`. */
static int is_adapter(const char *path, const char *given)
{
    char name_folder[PATH_CAPACITY];
    return path_is_folder(given) && strcmp(path_split(name_folder, path), model_path_adapter) == 0;
}

int model_path_is_several(const char *path, const char *given)
{
    return model_path_is_index(path) || is_adapter(path, given);
}

void model_path_note(const struct program *self, const char *path, const char *given)
{
    char shown[SHOWN_CAPACITY];
    if (!self->quiet && strcmp(path, given) != 0)
        fprintf(stderr, "the model is %s\n", shown_text(shown, path));
}

svit_status model_path(struct program *self, char *path, const char *option, const char *given)
{
    TRY(model_path_of(self, path, option, given));
    model_path_note(self, path, given);
    return SVIT_OK;
}

enum { REPORT_CAPACITY = 1 << 20 };

/* Prints "FIELD = VALUE, by SOURCE" for each line "field FIELD VALUE SOURCE" of a report, and the
 * names of the tensors that were not used. */
static void print_report(FILE *stream, char *text)
{
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char name[64], value[64];
        int after = 0;
        if (sscanf(line, "field %63s %63s %n", name, value, &after) == 2)
            fprintf(stream, "%s = %s, by %s\n", name, value, line + after);
        else
            fprintf(stream, "%s\n", line);
    }
}

static svit_status open_explained(svit_model **out, svit_load_report *report, struct program *self,
                                  const svit_open_options *options, const char *given)
{
    char shown[SHOWN_CAPACITY], *text = calloc(1, REPORT_CAPACITY);
    report->text = text;
    report->capacity = REPORT_CAPACITY;
    if (!text)
        return program_fail(self, SVIT_E_MEMORY, "no memory for a report of %d bytes",
                            REPORT_CAPACITY);
    svit_status status = svit_model_open(out, self->context, given, options, report, &self->err);
    if (status == SVIT_OK && text[0] == '\0')
        fprintf(stderr, "%s: '%s': the file is of this library, and says what the model is\n",
                option_program_name, shown_text(shown, given));
    print_report(stderr, text);
    free(text);
    report->text = NULL;
    return status;
}

/* How svit_model_open is to read what is opened; `fields` outlives it. */
static svit_open_options options_of(const config_option *config, const char *fields)
{
    return (svit_open_options){.struct_size = sizeof(svit_open_options),
                               .name = config->name,
                               .fields = fields,
                               .prefix = config->prefix,
                               .base = config->base};
}

static const char *opened_name(const config_option *config)
{
    return config->opens ? config->opens : "--model";
}

/* Writes the fields of a ViT that have one value as a JSON object to *text, but for those of
 * `without`, which svit_model_open then finds out. Free it with free(). */
static svit_status stated_fields(char **text, struct program *self, const svit_model_config *stated,
                                 const char *const *without)
{
    char *all;
    const char *key;
    json_t *value;
    void *next;
    TRY(config_text(&all, self, stated));
    json_t *fields = json_loads(all, 0, NULL);
    free(all);
    json_object_del(fields, "architecture");
    for (size_t i = 0; without[i]; i++)
        json_object_del(fields, without[i]);
    json_object_foreach_safe (fields, next, key, value)
        if (json_is_array(value))
            json_object_del(fields, key);
    *text = json_dumps(fields, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(fields);
    return *text ? SVIT_OK : program_fail(self, SVIT_E_MEMORY, "no memory for a configuration");
}

svit_status model_open_several(svit_model **out, struct program *self, const config_option *config,
                               const svit_model_config *stated, const char *const *without,
                               const char *given)
{
    char *fields;
    if (stated->architecture != SVIT_ARCHITECTURE_VIT)
        return program_fail(
            self, SVIT_E_ARGUMENT,
            "%s: '%s' is in several files, as ViTs may be, and --preset or --config "
            "states a model that is none; a model in one file is accepted",
            opened_name(config), given);
    TRY(stated_fields(&fields, self, stated, without));
    const svit_open_options options = options_of(config, fields);
    const svit_status status =
        svit_model_open(out, self->context, given, &options, NULL, &self->err);
    free(fields);
    return status;
}

/* Opens the weights of one file, under the library's names or, of a ViT, another library's, to
 * which *stated is adapted. */
static svit_status open_weights(svit_model **out, struct program *self, const config_option *config,
                                svit_model_config *stated, const char *path)
{
    static const char *const FAMILIES[] = {"timm", "huggingface", "openclip"};
    svit_status status = svit_model_load_with_config(out, self->context, stated, path, &self->err);
    if (status != SVIT_E_FORMAT || stated->architecture != SVIT_ARCHITECTURE_VIT)
        return status;
    const svit_error own = self->err;
    for (size_t i = 0; i < sizeof FAMILIES / sizeof *FAMILIES; i++) {
        svit_model_config adapted = *stated;
        convert_adapt(&adapted, config, FAMILIES[i]);
        status =
            svit_model_load_mapped(out, self->context, &adapted, path, FAMILIES[i], &self->err);
        if (status == SVIT_OK)
            *stated = adapted;
        if (status != SVIT_E_FORMAT && status != SVIT_E_ARGUMENT)
            return status;
        /* Whose names they are, that family misses none. */
        if (!strstr(self->err.message, "is missing"))
            return program_fail(self, SVIT_E_FORMAT, "%s; or, by the names of %s, %s", own.message,
                                FAMILIES[i], self->err.message);
    }
    self->err = own;
    return SVIT_E_FORMAT;
}

/* Writes to *same whether the model has this configuration. The grid of the positions in a file of
 * another library is how it was read, which no model keeps. */
static svit_status is_model_of(int *same, struct program *self, const svit_model_config *stated,
                               const svit_model *model, int is_own)
{
    svit_model_config has;
    TRY(svit_model_get_config(model, &has, sizeof has, &self->err));
    if (!is_own) {
        has.position_height = stated->position_height;
        has.position_width = stated->position_width;
    }
    return config_is_same(same, self, stated, &has);
}

/* Opens weights whose configuration --preset or --config states. A file that has one of its own
 * says what the model is. */
static svit_status open_stated(svit_model **out, struct program *self, const config_option *config,
                               const char *given)
{
    static const char *const nothing = NULL;
    char path[PATH_CAPACITY];
    svit_model_config stated;
    int same = 1, is_own = 0;
    TRY(config_refuse_checkpoint(self, config));
    TRY(model_path(self, path, opened_name(config), given));
    TRY(config_resolve(&stated, self, config, 0));
    if (model_path_is_several(path, given))
        TRY(model_open_several(out, self, config, &stated, &nothing, given));
    else if (svit_model_load(out, self->context, path, NULL) == SVIT_OK)
        is_own = 1;
    else
        TRY(open_weights(out, self, config, &stated, path));
    svit_status status = is_model_of(&same, self, &stated, *out, is_own);
    if (status == SVIT_OK && !same)
        status = program_fail(self, SVIT_E_ARGUMENT,
                              "%s: '%s' says what its model is, which is another one; it opens "
                              "without the option",
                              config->preset ? "--preset" : "--config", path);
    if (status != SVIT_OK) {
        svit_model_free(*out);
        *out = NULL;
    }
    return status;
}

/* Fails if --base is given and what is opened is no adapter. */
static svit_status check_base(struct program *self, const config_option *config, const char *given)
{
    char path[PATH_CAPACITY];
    if (!config->base)
        return SVIT_OK;
    TRY(model_path_check(self, given));
    TRY(model_path_of(self, path, opened_name(config), given));
    if (is_adapter(path, given))
        return SVIT_OK;
    return program_fail(self, SVIT_E_ARGUMENT,
                        "--base: '%s' is no adapter, a folder with %s, whose model it would name",
                        given, model_path_adapter);
}

/* Opens what the options do not state. *is_own tells whether it is a file of this library, of which
 * the report has no fields. */
static svit_status open_found(svit_model **out, int *is_own, struct program *self,
                              const config_option *config, const char *given)
{
    char path[PATH_CAPACITY];
    TRY(check_base(self, config, given));
    /* This says which file of a folder is read. The library finds it again, and adapters and
     * weights under other names besides. */
    if (path_is_folder(given))
        (void)model_path(self, path, opened_name(config), given);
    char *fields;
    TRY(config_set_text(&fields, self, config));
    const svit_open_options options = options_of(config, fields);
    svit_load_report report = {.struct_size = sizeof report};
    const svit_status status =
        config->explain ? open_explained(out, &report, self, &options, given)
                        : svit_model_open(out, self->context, given, &options, &report, &self->err);
    free(fields);
    *is_own = report.needed <= 1;
    /* The options are legal, so SVIT_E_ARGUMENT means that something is not known. */
    if (status != SVIT_E_ARGUMENT || config_is_given(config))
        return status;
    return program_fail(self, status, "--name, --set, --preset or --config is needed: %s",
                        self->err.message);
}

svit_status model_open_to_change(svit_model **out, struct program *self,
                                 const config_option *config, const char *given)
{
    int is_own;
    return config->preset || config->file ? open_stated(out, self, config, given)
                                          : open_found(out, &is_own, self, config, given);
}

svit_status model_open(svit_model **out, struct program *self, const config_option *config,
                       const char *given)
{
    svit_model_config changed;
    int same, is_own;
    if (config->preset || config->file)
        return open_stated(out, self, config, given);
    TRY(open_found(out, &is_own, self, config, given));
    svit_status status = config_change_model(&same, &changed, self, *out, config);
    if (status == SVIT_OK)
        status = is_model_of(&same, self, &changed, *out, is_own);
    if (status == SVIT_OK && !same)
        status = program_fail(self, SVIT_E_ARGUMENT,
                              "--set: the model file says what the model is; another value is "
                              "accepted for weights without a configuration");
    if (status != SVIT_OK) {
        svit_model_free(*out);
        *out = NULL;
    }
    return status;
}

svit_status model_note_features(struct program *self, const svit_model *model, const char *what)
{
    svit_model_config config;
    TRY(svit_model_get_config(model, &config, sizeof config, &self->err));
    if (config.mask_ratio > 0)
        return program_fail(
            self, SVIT_E_ARGUMENT,
            "the model is a masked autoencoder, which has no classes; shiftvit-train "
            "--init-from gives its encoder a classifier");
    if (!config.classifier && !self->quiet)
        fprintf(stderr, "%s: the model has no classifier; its %u features are taken for %s\n",
                option_program_name, config.num_classes, what);
    return SVIT_OK;
}

svit_status model_take_pipeline(svit_model *model, struct program *self,
                                const config_option *config)
{
    svit_model_config own;
    svit_pipeline_config pipeline;
    int stated;
    if (svit_model_get_pipeline(model, &pipeline, sizeof pipeline, NULL) == SVIT_OK)
        return SVIT_OK;
    TRY(svit_model_get_config(model, &own, sizeof own, &self->err));
    TRY(pipeline_of_options(&pipeline, &stated, self, config, &own));
    return stated ? svit_model_set_pipeline(model, &pipeline, &self->err) : SVIT_OK;
}

void model_note_pipeline(const struct program *self, const svit_model *model,
                         const config_option *config)
{
    svit_pipeline_config pipeline;
    if (!self->quiet && svit_model_get_pipeline(model, &pipeline, sizeof pipeline, NULL) != SVIT_OK)
        fprintf(stderr,
                "%s: the new file does not say how images become the model's input: neither %s, a "
                "preset nor a run.json does\n",
                option_program_name, opened_name(config));
}

svit_status model_pipeline(svit_model *model, struct program *self, const config_option *config,
                           svit_pipeline_config *pipeline)
{
    TRY(model_take_pipeline(model, self, config));
    if (svit_model_get_pipeline(model, pipeline, sizeof *pipeline, NULL) == SVIT_OK)
        return SVIT_OK;
    if (config->preset)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "the model's file does not say how images become its input, and '%s' "
                            "leaves their mean and variance to the training set; --config with the "
                            "run.json of a run states them",
                            config->preset);
    return program_fail(self, SVIT_E_ARGUMENT,
                        "the model's file does not say how images become its input; --preset NAME "
                        "takes the preset's preprocessing, and a preprocessor_config.json beside "
                        "another library's weights says it");
}
