/* Starts a training from the weights of another model. */
#include "init_from.h"

#include "load_parts.h"
#include "model_path.h"
#include "pipeline_fit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The classifier may differ, and starts anew where it does; a decoder of masked images and buffers
 * are left out, and parameters of float64 converted. Anything else is an error. */
static svit_status judge(struct program *self, const char *kind, const char *name,
                         const char *source, const void *user)
{
    (void)user;
    const int decodes = strncmp(name, "decoder_", 8) == 0 || strcmp(name, "mask_token") == 0;
    if (strcmp(kind, "buffer") == 0 || strcmp(kind, "converted") == 0 ||
        (strcmp(kind, "extra") == 0 && decodes))
        return SVIT_OK;
    if (!load_parts_is_head(name))
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--init-from: '%s': %s %s; the models must be alike but for the "
                            "classifier: --preset NAME, or --config with the run.json of the "
                            "file's run, says what the file has",
                            source, kind, name);
    if (!self->quiet)
        fprintf(stderr, "--init-from: %s %s: the classifier starts anew there\n", kind, name);
    return SVIT_OK;
}

svit_status init_from(struct program *self, svit_model *model, const char *given)
{
    char path[PATH_CAPACITY];
    TRY(model_path(self, path, given));
    const load_parts_call call = {.path = path,
                                  .source = given,
                                  .flags = SVIT_LOAD_SKIP_SHAPE_MISMATCH | SVIT_LOAD_IGNORE_EXTRA |
                                           SVIT_LOAD_ALLOW_MISSING,
                                  .judge = judge};
    return load_parts(self, model, &call);
}

/* Replaces the model by one of another configuration with its weights and pipeline. A checkpoint of
 * another library has been opened with these fields already. */
static svit_status replace(svit_model **model, struct program *self,
                           const svit_model_config *config, const char *given)
{
    svit_model *changed = NULL;
    svit_pipeline_config pipeline;
    TRY(svit_model_create(&changed, self->context, config, self->seed, &self->err));
    svit_status status = init_from(self, changed, given);
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
    return same ? SVIT_OK : replace(out, self, &changed, given);
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

svit_status init_other_classes(struct program *self, svit_model *model, const char *given,
                               const svit_dataset *data)
{
    char path[PATH_CAPACITY];
    svit_model *old = NULL;
    svit_model_config own, config;
    TRY(svit_model_get_config(model, &own, sizeof own, &self->err));
    TRY(model_path_find(self, path, given));
    if (!own.classifier || svit_model_load(&old, self->context, path, NULL) != SVIT_OK)
        return SVIT_OK; /* no classes, or weights alone, whose classes have no names */
    svit_status status = svit_model_get_config(old, &config, sizeof config, &self->err);
    if (status == SVIT_OK && svit_model_class_name(old, 0) && !has_classes(old, &config, data)) {
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
