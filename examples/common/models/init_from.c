/* Starts a training from the weights of another model. */
#include "models/init_from.h"

#include "models/load_parts.h"
#include "models/model_path.h"
#include "settings/pipeline_fit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An adapter's two matrices in a checkpoint of a run: their product belongs to the weight. */
static int is_adapter(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcmp(dot, ".lora_a") == 0 || strcmp(dot, ".lora_b") == 0);
}

/* The classifier may differ, and starts anew where it does; a decoder of masked images and buffers
 * are left out, and parameters of float64 converted. `user` points to an int *, which
 * becomes 1 where there are adapters. Anything else is an error. */
static svit_status judge(struct program *self, const char *kind, const char *name,
                         const char *source, const void *user)
{
    int *const *adapters = user;
    const int decodes = strncmp(name, "decoder_", 8) == 0 || strcmp(name, "mask_token") == 0;
    const int adapts = strcmp(kind, "extra") == 0 && is_adapter(name);
    const int is_grid = strcmp(kind, "mismatched") == 0 && strncmp(name, "pos_embed", 9) == 0;
    **adapters |= adapts;
    if (adapts || strcmp(kind, "buffer") == 0 || strcmp(kind, "converted") == 0 ||
        (strcmp(kind, "extra") == 0 && decodes))
        return SVIT_OK;
    if (!load_parts_is_head(name))
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--init-from: '%s': %s %s; the models must be alike but for the "
                            "classifier: --preset, or --config with its run.json, says what it "
                            "has; shiftvit-convert renames what another library wrote%s",
                            source, kind, name,
                            is_grid ? "; of a file that does not state its grid of patches, --set "
                                      "position_height=N and --set position_width=N do"
                                    : "");
    if (!self->quiet)
        fprintf(stderr, "--init-from: %s %s: the classifier starts anew there\n", kind, name);
    return SVIT_OK;
}

/* Whether the file is read as a checkpoint of another library: one in several files, or one that
 * the run which starts again has found out to be a ViT. */
static int is_checkpoint(const struct program *self, const svit_model_config *own,
                         const config_option *config, const char *path, const char *given)
{
    svit_model *model = NULL;
    if (model_path_is_several(path, given))
        return 1;
    if (!config->repeats_rule || own->architecture != SVIT_ARCHITECTURE_VIT)
        return 0;
    /* Only what states no model is another library's; what is wrong with others is told later. */
    const svit_status status = svit_model_map(&model, self->context, path, NULL);
    svit_model_free(model);
    return status == SVIT_E_ARGUMENT;
}

/* Opens a checkpoint of another library as a ViT with the configuration of the model that it
 * starts. */
static svit_status open_checkpoint(svit_model **out, struct program *self,
                                   const svit_model_config *own, const config_option *config,
                                   const char *given)
{
    /* The classifier may be another one, and adapters come on top. */
    static const char *const OWN[] = {"num_classes", "classifier", "lora_rank", "lora_alpha", NULL};
    return model_open_several(out, self, config, own, OWN, given);
}

/* Opens the file that --init-from names as a model, with its adapters merged. */
static svit_status open_source(svit_model **out, struct program *self, const svit_model *model,
                               const config_option *config, const char *path, const char *given)
{
    svit_model_config own;
    TRY(svit_model_get_config(model, &own, sizeof own, &self->err));
    if (is_checkpoint(self, &own, config, path, given))
        TRY(open_checkpoint(out, self, &own, config, given));
    else
        TRY(svit_model_load(out, self->context, path, &self->err));
    TRY(svit_model_get_config(*out, &own, sizeof own, &self->err));
    return own.lora_rank > 0 ? svit_model_merge_lora(*out, &self->err) : SVIT_OK;
}

/* Copies the parameter `name`; *kind becomes "missing" or "mismatched" if the source has none of
 * the same shape, otherwise NULL. */
static svit_status copy_parameter(const char **kind, struct program *self, svit_model *to,
                                  const svit_model *from, const char *name)
{
    int64_t shape[8], other[8];
    size_t rank, other_rank, elements = 1;
    TRY(svit_model_parameter_shape(to, name, shape, &rank, &self->err));
    *kind = "missing";
    if (svit_model_parameter_shape(from, name, other, &other_rank, NULL) != SVIT_OK)
        return SVIT_OK;
    *kind = "mismatched";
    if (rank != other_rank || memcmp(shape, other, sizeof shape) != 0)
        return SVIT_OK;
    *kind = NULL;
    for (size_t i = 0; i < rank; i++)
        elements *= (size_t)shape[i];
    float *values = malloc(elements * sizeof *values);
    if (!values)
        return program_fail(self, SVIT_E_MEMORY, "no memory for parameter %s", name);
    svit_status status = svit_model_get_parameter(from, name, values, elements, &self->err);
    if (status == SVIT_OK)
        status = svit_model_set_parameter(to, name, values, elements, &self->err);
    free(values);
    return status;
}

/* Whether an adapter changes the parameter: a weight, of which a position embedding is none. */
static int is_weight(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && strcmp(dot, ".weight") == 0;
}

/* Copies the parameters that both have, and asks the judge about the others. Where load_parts has
 * done so already (`judges` is 0), only weights are copied. */
static svit_status copy(struct program *self, svit_model *to, const svit_model *from,
                        const load_parts_call *call, int judges)
{
    const char *name, *kind;
    int64_t shape[8];
    size_t rank;
    for (size_t i = 0; (name = svit_model_parameter_name(to, i)); i++) {
        if (!judges && !is_weight(name))
            continue;
        TRY(copy_parameter(&kind, self, to, from, name));
        if (kind && judges)
            TRY(call->judge(self, kind, name, call->source, call->user));
    }
    for (size_t i = 0; judges && (name = svit_model_parameter_name(from, i)); i++)
        if (svit_model_parameter_shape(to, name, shape, &rank, NULL) != SVIT_OK)
            TRY(call->judge(self, "extra", name, call->source, call->user));
    return SVIT_OK;
}

svit_status init_from(struct program *self, svit_model *model, const config_option *config,
                      const char *given)
{
    char path[PATH_CAPACITY];
    svit_model *source = NULL;
    svit_model_config own;
    int has_adapters = 0, *const adapters = &has_adapters;
    if ((config->preset || config->file) && !config->repeats_rule)
        TRY(config_refuse_checkpoint(self, config));
    TRY(model_path(self, path, "--init-from", given));
    TRY(svit_model_get_config(model, &own, sizeof own, &self->err));
    const load_parts_call call = {.path = path,
                                  .source = given,
                                  .flags = SVIT_LOAD_SKIP_SHAPE_MISMATCH | SVIT_LOAD_IGNORE_EXTRA |
                                           SVIT_LOAD_ALLOW_MISSING,
                                  .judge = judge,
                                  .user = &adapters};
    const int is_whole = is_checkpoint(self, &own, config, path, given);
    if (!is_whole && config->repeats_rule && !config->explain)
        TRY(config_refuse_checkpoint(self, config));
    if (!is_whole)
        TRY(load_parts(self, model, &call));
    if (!is_whole && !has_adapters)
        return SVIT_OK;
    /* The file is read first also where adapters are merged: it interpolates positions. */
    svit_status status = open_source(&source, self, model, config, path, given);
    if (status == SVIT_OK)
        status = copy(self, model, source, &call, is_whole);
    svit_model_free(source);
    return status;
}

/* Gives a model the names of the classes of another one with as many, so that the classifier is
 * known to be theirs. */
static svit_status take_classes(struct program *self, svit_model *to, const svit_model *from)
{
    svit_model_config config, other;
    TRY(svit_model_get_config(to, &config, sizeof config, &self->err));
    TRY(svit_model_get_config(from, &other, sizeof other, &self->err));
    const size_t count = config.num_classes;
    if (!svit_model_class_name(from, 0) || !config.classifier || other.num_classes != count)
        return SVIT_OK;
    const char **names = calloc(count, sizeof *names);
    if (!names)
        return program_fail(self, SVIT_E_MEMORY, "no memory for %zu names of classes", count);
    for (size_t i = 0; i < count; i++)
        names[i] = svit_model_class_name(from, i);
    const svit_status status = svit_model_set_classes(to, names, count, &self->err);
    free(names);
    return status;
}

/* Replaces the model by one of another configuration with its weights, classes and pipeline. A
 * checkpoint of another library has been opened with these fields already. */
static svit_status replace(svit_model **model, struct program *self, const config_option *option,
                           const svit_model_config *config, const char *given)
{
    svit_model *changed = NULL;
    svit_pipeline_config pipeline;
    TRY(svit_model_create(&changed, self->context, config, self->seed, &self->err));
    svit_status status = init_from(self, changed, option, given);
    if (status == SVIT_OK)
        status = take_classes(self, changed, *model);
    if (status == SVIT_OK &&
        svit_model_get_pipeline(*model, &pipeline, sizeof pipeline, NULL) == SVIT_OK) {
        pipeline_fit(&pipeline, config, NULL);
        status = svit_model_set_pipeline(changed, &pipeline, &self->err);
    }
    if (status != SVIT_OK) {
        svit_model_free(changed);
        return status;
    }
    svit_model_free(*model);
    *model = changed;
    return SVIT_OK;
}

svit_status init_model(svit_model **out, struct program *self, const config_option *config,
                       const char *given)
{
    svit_model_config own, changed;
    int same;
    TRY(model_open_to_change(out, self, config, given));
    TRY(svit_model_get_config(*out, &own, sizeof own, &self->err));
    if (own.lora_rank > 0)
        TRY(svit_model_merge_lora(*out, &self->err));
    TRY(config_change_model(&same, &changed, self, *out, config));
    if (changed.in_channels != own.in_channels)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--set in_channels=%" PRIu32 ": the model of --init-from has %" PRIu32
                            ", and only checkpoints of other libraries open with another number; "
                            "without it grey images become RGB",
                            changed.in_channels, own.in_channels);
    return same ? SVIT_OK : replace(out, self, config, &changed, given);
}

/* Whether the classifier is for classes of the same names in the same order. */
static int has_classes(const svit_model *model, const svit_model_config *config,
                       const svit_dataset *data)
{
    const size_t classes = svit_dataset_classes(data);
    int same = config->classifier && config->num_classes == classes;
    for (size_t i = 0; i < classes && same; i++) {
        const char *a = svit_model_class_name(model, i), *b = svit_dataset_class_name(data, i);
        same = a && b && strcmp(a, b) == 0;
    }
    return same;
}

svit_status init_other_classes(struct program *self, svit_model *model, const config_option *option,
                               const char *given, const svit_dataset *data)
{
    char path[PATH_CAPACITY];
    svit_model *old = NULL;
    svit_model_config own, config;
    TRY(svit_model_get_config(model, &own, sizeof own, &self->err));
    TRY(model_path_of(self, path, "--init-from", given));
    if (!own.classifier || open_source(&old, self, model, option, path, given) != SVIT_OK) {
        svit_model_free(old);
        return SVIT_OK; /* no classes, or weights alone, whose classes have no names */
    }
    svit_status status = svit_model_get_config(old, &config, sizeof config, &self->err);
    const int may_differ = svit_model_class_name(old, 0) || option->repeats_rule;
    if (status == SVIT_OK && may_differ && !has_classes(old, &config, data)) {
        if (!self->quiet && config.num_classes == own.num_classes)
            fprintf(stderr, "--init-from: the classes are others: the classifier starts anew\n");
        status = svit_model_replace_head(model, own.num_classes, self->seed, &self->err);
    }
    svit_model_free(old);
    return status;
}

svit_status init_head(struct program *self, const config_option *option, svit_model *model,
                      const svit_dataset *data)
{
    const size_t classes = svit_dataset_classes(data);
    svit_model_config config;
    int given;
    TRY(svit_model_get_config(model, &config, sizeof config, &self->err));
    TRY(config_gives(&given, self, option, "num_classes"));
    if (given && config.num_classes != classes)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--set num_classes=%" PRIu32 ": the classifier that the model of "
                            "--init-from gets has a class for each of the data's %zu",
                            config.num_classes, classes);
    if (has_classes(model, &config, data))
        return SVIT_OK;
    return svit_model_replace_head(model, (uint32_t)classes, self->seed, &self->err);
}
