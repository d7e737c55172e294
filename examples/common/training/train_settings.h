/* The settings of a training run, as the options of shiftvit-train change them. */
#ifndef EXAMPLE_TRAIN_SETTINGS_H
#define EXAMPLE_TRAIN_SETTINGS_H

#include "training/train_option.h"

/* Takes the settings of the fine-tuning rule for `images` images; without a model, which is not
 * open yet, those of some preset. Of 0 images, an unknown number, the batch and the rate are so
 * large that they refuse nothing which the final ones would accept. */
svit_status train_settings_rule(svit_trainer_config *trainer, svit_optimizer_config *optimizer,
                                svit_pipeline_config *pipeline, struct program *self,
                                const svit_model *model, size_t images);

/* Writes the fields of the training that options of their own give, such as --epochs, to *out, a
 * new reference. They override all others. */
svit_status train_settings_given(json_t **out, train_options *options);

/* Completes settings that all options have given: what becomes of the schedule of a preset or a
 * resumed run, and what --freeze adds. */
svit_status train_settings_complete(svit_trainer_config *trainer, svit_optimizer_config *optimizer,
                                    train_options *options);

#endif
