/* Pipelines of presets, of files and of other models, fitted to a model and its data. */
#include "settings/pipeline_fit.h"

#include "settings/settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* The means that images of that many channels have. */
static uint32_t means_of(uint32_t channels)
{
    return channels <= SVIT_MAX_CHANNELS ? channels : 1;
}

/* A size for the resize step, which leaves `margin` to crop where the largest size allows it. */
static uint32_t resize_for(uint32_t output, uint32_t margin)
{
    enum { LARGEST = 8192 };
    return output < LARGEST && margin < LARGEST - output ? output + margin : LARGEST;
}

void pipeline_fit_model(svit_pipeline_config *pipeline, const svit_model_config *model)
{
    uint32_t margin_height = pipeline->resize_height - pipeline->output_height;
    uint32_t margin_width = pipeline->resize_width - pipeline->output_width;
    pipeline->channels = model->in_channels;
    pipeline->output_height = model->input_height;
    pipeline->output_width = model->input_width;
    pipeline->resize_height = resize_for(model->input_height, margin_height);
    pipeline->resize_width = resize_for(model->input_width, margin_width);
}

/* Replaces the array of a field, if there is one, by one of equal numbers for other channels: their
 * mean, or the square of the mean of their roots. One that no pipeline has stays, to be refused. */
static void even_out(json_t *given, const char *field, uint32_t channels, int of_roots)
{
    const json_t *had = json_object_get(given, field);
    const size_t count = json_array_size(had);
    double mean = 0;
    for (size_t i = 0; i < count; i++) {
        const double value = json_number_value(json_array_get(had, i));
        if (!json_is_number(json_array_get(had, i)) || (of_roots && value < 0))
            return;
        mean += (of_roots ? sqrt(value) : value) / (double)count;
    }
    json_t *numbers = json_array();
    for (uint32_t c = 0; c < means_of(channels); c++)
        json_array_append_new(numbers, json_real(of_roots ? mean * mean : mean));
    if (count > 0)
        json_object_set(given, field, numbers);
    json_decref(numbers);
}

void pipeline_change_channels(json_t *given, uint32_t channels)
{
    even_out(given, "mean", channels, 0);
    even_out(given, "variance", channels, 1);
    json_object_set_new(given, "channels", json_integer(channels));
}

static json_t *numbers_of(const double *values, uint32_t count)
{
    json_t *numbers = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(numbers, json_real(values[i]));
    return numbers;
}

void pipeline_add_channels(json_t *given, const svit_pipeline_config *preset, uint32_t channels)
{
    const json_t *stated = json_object_get(given, "channels");
    const json_int_t wanted = stated ? json_integer_value(stated) : (json_int_t)channels;
    const uint32_t had = means_of(preset->channels);
    if (wanted == preset->channels || wanted < 1 || wanted > UINT32_MAX)
        return;
    json_t *own = json_object();
    json_object_set_new(own, "mean", numbers_of(preset->mean, had));
    json_object_set_new(own, "variance", numbers_of(preset->variance, had));
    pipeline_change_channels(own, (uint32_t)wanted);
    json_object_update_missing(given, own);
    json_decref(own);
}

static void fit_source(svit_pipeline_config *pipeline, const svit_dataset *data)
{
    if (data) {
        pipeline->source_height = (uint32_t)svit_dataset_height(data);
        pipeline->source_width = (uint32_t)svit_dataset_width(data);
    } else {
        pipeline->source_height = pipeline->resize_height;
        pipeline->source_width = pipeline->resize_width;
        if (pipeline->source_filter == SVIT_SOURCE_NEAREST &&
            pipeline->channels <= SVIT_MAX_CHANNELS)
            pipeline->source_filter = SVIT_SOURCE_SHORTER_SIDE;
    }
}

void pipeline_fit(svit_pipeline_config *pipeline, const svit_model_config *model,
                  const svit_dataset *data)
{
    pipeline_fit_model(pipeline, model);
    fit_source(pipeline, data);
}

/* Fails if --set gives a size that is not `is`, the size of `what`. */
static svit_status check_size(struct program *self, const json_t *sizes, const char *field,
                              uint32_t is, const char *what)
{
    const json_t *given = json_object_get(sizes, field);
    if (!given || json_integer_value(given) == is)
        return SVIT_OK;
    return program_fail(self, SVIT_E_ARGUMENT,
                        "--set %s=%" JSON_INTEGER_FORMAT ": it is that of %s, %" PRIu32, field,
                        json_integer_value(given), what, is);
}

svit_status pipeline_check_output(struct program *self, const json_t *sizes,
                                  const svit_model_config *model)
{
    static const char INPUT[] = "the model's input";
    TRY(check_size(self, sizes, "channels", model->in_channels, INPUT));
    TRY(check_size(self, sizes, "output_height", model->input_height, INPUT));
    return check_size(self, sizes, "output_width", model->input_width, INPUT);
}

/* `sizes` are those of the settings. */
static svit_status fit(svit_pipeline_config *pipeline, struct program *self, const json_t *sizes,
                       const svit_dataset *data)
{
    static const char IMAGES[] = "the images of --data";
    const svit_pipeline_config set = *pipeline;
    fit_source(pipeline, data);
    if (data) {
        TRY(check_size(self, sizes, "source_height", pipeline->source_height, IMAGES));
        return check_size(self, sizes, "source_width", pipeline->source_width, IMAGES);
    }
    if (json_object_get(sizes, "source_height"))
        pipeline->source_height = set.source_height;
    if (json_object_get(sizes, "source_width"))
        pipeline->source_width = set.source_width;
    if (json_object_get(sizes, "source_filter"))
        pipeline->source_filter = set.source_filter;
    return SVIT_OK;
}

svit_status pipeline_fit_data(svit_pipeline_config *pipeline, struct program *self,
                              const config_option *option, const svit_dataset *data)
{
    settings given;
    TRY(settings_read(&given, self, option));
    svit_status status = fit(pipeline, self, given.sizes, data);
    settings_free(&given);
    return status;
}

/* The input for which the settings of a run, or else a preset, state a pipeline. Returns 0 if there
 * is neither. */
static int stated_input(uint32_t sides[2], uint32_t *channels, const json_t *run,
                        const char *preset)
{
    svit_pipeline_config pipeline;
    if (json_object_size(run) > 0) {
        sides[0] = (uint32_t)json_integer_value(json_object_get(run, "output_height"));
        sides[1] = (uint32_t)json_integer_value(json_object_get(run, "output_width"));
        *channels = (uint32_t)json_integer_value(json_object_get(run, "channels"));
        return 1;
    }
    if (!preset ||
        svit_training_preset(preset, NULL, 0, NULL, 0, &pipeline, sizeof pipeline, NULL) != SVIT_OK)
        return 0;
    sides[0] = pipeline.output_height;
    sides[1] = pipeline.output_width;
    *channels = pipeline.channels;
    return 1;
}

svit_status pipeline_of_options(svit_pipeline_config *pipeline, int *stated, struct program *self,
                                const config_option *option, const svit_model_config *model)
{
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    settings given;
    uint32_t sides[2] = {0, 0}, channels = 0;
    config_option whole = *option;
    whole.takes_training = 1;
    TRY(settings_read(&given, self, &whole));
    const int has_run = json_object_size(given.training) > 0;
    *stated = stated_input(sides, &channels, given.training, option->preset);
    settings_free(&given);
    /* The numbers of a run are of its channels; of a preset they become those of up to four. */
    const int accepts =
        has_run ? channels == model->in_channels : model->in_channels <= SVIT_MAX_CHANNELS;
    *stated = *stated && accepts;
    if (!*stated)
        return SVIT_OK;
    TRY(config_init_training(&trainer, &optimizer, pipeline));
    /* Random steps of presets change colours, which only RGB has; a model's file needs none. */
    json_t *without = has_run || model->in_channels == 3 ? NULL : json_pack("{s:[]}", "augment");
    svit_status status =
        config_resolve_training(&trainer, &optimizer, pipeline, self, &whole, NULL, model, without);
    json_decref(without);
    TRY(status);
    *stated = has_run || !pipeline_wants_statistics(pipeline);
    if (sides[0] != model->input_height || sides[1] != model->input_width)
        pipeline_fit(pipeline, model, NULL);
    return SVIT_OK;
}

int pipeline_wants_statistics(const svit_pipeline_config *preset)
{
    int is_normalised = preset->scale != 1;
    for (size_t i = 0; i < means_of(preset->channels); i++)
        is_normalised |= preset->mean[i] != 0 || preset->variance[i] != 1;
    return !is_normalised;
}

svit_status pipeline_take_statistics(svit_pipeline_config *pipeline, struct program *self,
                                     const svit_dataset *training, int mean, int variance)
{
    svit_pipeline_config found = *pipeline;
    TRY(svit_dataset_statistics(training, pipeline->scale, found.mean, found.variance, &self->err));
    for (uint32_t c = 0; c < means_of(pipeline->channels); c++) {
        if (mean)
            pipeline->mean[c] = found.mean[c];
        if (variance)
            pipeline->variance[c] = found.variance[c];
        if (pipeline->variance[c] > 0)
            continue;
        pipeline->variance[c] = 1;
        if (!self->quiet)
            fprintf(stderr,
                    "%s: warning: channel %" PRIu32
                    " is %g in all training images: it becomes %g\n",
                    option_program_name, c, found.mean[c], found.mean[c] - pipeline->mean[c]);
    }
    return SVIT_OK;
}
