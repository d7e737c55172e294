/* The option --model: a model file, or the folder of a training run. */
#include "model_path.h"

#include "shown.h"

#include <stdio.h>

svit_status model_path(struct program *self, char *path, const char *given)
{
    static const char *const files[] = {"best.safetensors", "model.safetensors",
                                        "checkpoint.safetensors"};
    char shown[SHOWN_CAPACITY];
    if (!path_is_folder(given)) {
        if (snprintf(path, PATH_CAPACITY, "%s", given) >= PATH_CAPACITY)
            return program_fail(self, SVIT_E_ARGUMENT, "--model: the path is too long");
        return SVIT_OK;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        TRY(path_join(self, path, given, files[i]));
        if (!path_exists(path))
            continue;
        if (!self->quiet)
            fprintf(stderr, "the model is %s\n", shown_text(shown, path));
        return SVIT_OK;
    }
    return program_fail(self, SVIT_E_IO,
                        "--model: the folder '%s' holds no best.safetensors, model.safetensors or "
                        "checkpoint.safetensors",
                        given);
}

svit_status model_open(svit_model **out, struct program *self, const config_option *config,
                       const char *given)
{
    char path[PATH_CAPACITY];
    svit_model_config own;
    TRY(model_path(self, path, given));
    if (config->preset || config->file) {
        TRY(config_resolve(&own, self, config, 0));
        return svit_model_load_with_config(out, self->context, &own, path, &self->err);
    }
    if (config->set_count > 0)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--set changes the configuration that --preset or --config gives; give "
                            "one of these too");
    svit_status status = svit_model_load(out, self->context, path, &self->err);
    if (status != SVIT_E_ARGUMENT)
        return status;
    /* All arguments are legal, so SVIT_E_ARGUMENT means that the file has no configuration. */
    return program_fail(self, status,
                        "'%s' holds weights without a configuration; --preset NAME or --config "
                        "FILE says of which model they are",
                        path);
}

svit_status model_pipeline(svit_model *model, struct program *self, const config_option *config,
                           svit_pipeline_config *pipeline)
{
    svit_model_config own;
    svit_status status = svit_model_get_pipeline(model, pipeline, sizeof *pipeline, &self->err);
    if (status == SVIT_OK || !config->preset)
        return status;
    TRY(svit_model_get_config(model, &own, sizeof own, &self->err));
    TRY(svit_training_preset(config->preset, NULL, 0, NULL, 0, pipeline, sizeof *pipeline,
                             &self->err));
    config_fit_pipeline(pipeline, &own, NULL);
    return svit_model_set_pipeline(model, pipeline, &self->err);
}

int model_path_is_run(const char *folder)
{
    static const char *const files[] = {"run.json", "checkpoint.safetensors", "history.csv"};
    char path[PATH_CAPACITY];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        if (length < PATH_CAPACITY && path_exists(path))
            return 1;
    }
    return 0;
}
