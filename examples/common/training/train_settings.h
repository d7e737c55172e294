/* The settings of a training run, as the options of shiftvit-train change them. */
#ifndef EXAMPLE_TRAIN_SETTINGS_H
#define EXAMPLE_TRAIN_SETTINGS_H

#include "training/train_option.h"

/* Overrides the settings of a preset, a rule or a resumed run, with those of --config and --set, by
 * the options. */
svit_status train_settings_override(svit_trainer_config *trainer, svit_optimizer_config *optimizer,
                                    train_options *options);

#endif
