/* Prints loss and accuracy in the same form in all programs. */
#ifndef EXAMPLE_RESULTS_H
#define EXAMPLE_RESULTS_H

#include "results/evaluation.h"

/* Prints an evaluation as one line on stdout: "test: loss 0.6832 top-1 77.20 % top-5 98.64 %", the
 * measures of several labels (the fraction of right labels and of images that are right as a whole,
 * F1 and mean average precision) or of numbers, or a JSON object with fractions. `spec` is the
 * value of --data and `name` the split ("train", "val" or "test"). */
svit_status results_print(struct program *self, const evaluation *of, const char *spec,
                          const char *name);

/* Evaluates `model` on `data` and prints the result. */
svit_status results_evaluate(struct program *self, svit_model *model, svit_dataset *data,
                             const char *spec, const char *name, const evaluation_how *how);

/* Prints an SVIT_EVENT_EPOCH event as one JSON object. */
void results_epoch(const svit_trainer_event *event);

#endif
