/* What shiftvit-train says about its settings before it begins. */
#ifndef EXAMPLE_TRAIN_NOTES_H
#define EXAMPLE_TRAIN_NOTES_H

#include "training/train_option.h"

/* Says which settings of the fine-tuning rule a run has, with those that options have changed, and
 * which options change them. */
void note_rule(const svit_trainer_config *trainer, const svit_optimizer_config *optimizer,
               size_t images, int has_adapters);

/* Warns of a moving average that is longer than the run: it begins with the weights before the
 * first step, still consists of them for the most part, and is what is validated and written. */
void note_average(const svit_trainer_config *trainer, const svit_optimizer_config *optimizer,
                  size_t images);

/* Warns of settings that --set or the file of --config gives, unless it is a run.json, and that
 * have no effect: those of another schedule, optimizer or average than the run's and the like, and
 * a patience without validation data; and of limits of splits that are not there. The library warns
 * of those that no preset has. */
void note_unused(const train_options *options, const svit_trainer_config *trainer,
                 const svit_optimizer_config *optimizer, const data_splits *data);

#endif
