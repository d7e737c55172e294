/* What shiftvit-train says about its settings before it begins. */
#ifndef EXAMPLE_TRAIN_NOTES_H
#define EXAMPLE_TRAIN_NOTES_H

#include <shiftvit/shiftvit.h>

/* Says which settings of the fine-tuning rule a run has, with those that options have changed, and
 * which options change them. */
void note_rule(const svit_trainer_config *trainer, const svit_optimizer_config *optimizer,
               size_t images, int has_adapters);

/* Warns of a moving average that is longer than the run: it begins with the weights before the
 * first step, still consists of them for the most part, and is what is validated and written. */
void note_average(const svit_trainer_config *trainer, const svit_optimizer_config *optimizer,
                  size_t images);

#endif
