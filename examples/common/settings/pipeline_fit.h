/* Pipelines of presets, of files and of other models, fitted to a model and its data. */
#ifndef EXAMPLE_PIPELINE_FIT_H
#define EXAMPLE_PIPELINE_FIT_H

#include "settings/config_option.h"

#include <jansson.h>

/* Gives the settings of a pipeline another number of channels: each gets the mean of their means
 * and of their deviations, as those of other libraries' checkpoints do. */
void pipeline_change_channels(json_t *given, uint32_t channels);

/* Adds to the settings of a model, whose preset has other channels, what they lack of these
 * channels, means and variances: the preset's, changed so. */
void pipeline_add_channels(json_t *given, const svit_pipeline_config *preset, uint32_t channels);

/* The pipeline's channels and its output become those of the model's input; the margin of the crop
 * stays. */
void pipeline_fit_model(svit_pipeline_config *pipeline, const svit_model_config *model);

/* Does that, and the source becomes the size of the images of `data`. NULL: they are of various
 * sizes; the source step then scales their shorter side to the size of the resize step, which
 * changes nothing any more. */
void pipeline_fit(svit_pipeline_config *pipeline, const svit_model_config *model,
                  const svit_dataset *data);

/* Fails if `sizes`, those that --set gives, have an output or channels other than the model's
 * input. */
svit_status pipeline_check_output(struct program *self, const json_t *sizes,
                                  const svit_model_config *model);

/* Gives the pipeline of a new run, whose settings are resolved, the source of its data, as
 * pipeline_fit does; with `data` NULL what --set says of the source stays. SVIT_E_ARGUMENT: --set
 * gives a size that the data do not have. */
svit_status pipeline_fit_data(svit_pipeline_config *pipeline, struct program *self,
                              const config_option *option, const svit_dataset *data);

/* Writes the pipeline that the run.json of --config, or else --preset, states for a model, and to
 * *stated whether one of them does: a preset that leaves the mean and variance to the training set
 * does not, nor a preset for more than four channels or a run for others than the model's. For a
 * model with another input it is fitted to that. */
svit_status pipeline_of_options(svit_pipeline_config *pipeline, int *stated, struct program *self,
                                const config_option *option, const svit_model_config *model);

/* Returns 1 if a preset's pipeline leaves the mean and variance of the training set to the caller,
 * as those of Keras' ViT example do: its values are the bytes themselves. */
int pipeline_wants_statistics(const svit_pipeline_config *preset);

/* Gives the pipeline the mean of the training images, the variance, or both. The deviation is at
 * least 1e-7, as in Keras' Normalization; a channel of one value is a warning. */
svit_status pipeline_take_statistics(svit_pipeline_config *pipeline, struct program *self,
                                     const svit_dataset *training, int mean, int variance);

#endif
