/* How loss and accuracy are printed, the same in every program. */
#ifndef EXAMPLE_RESULTS_H
#define EXAMPLE_RESULTS_H

#include "program.h"

#include <jansson.h>

/* A text as JSON; one that is not UTF-8, a path say, with its odd bytes as \xNN. */
json_t *results_text(const char *text);

/* Evaluates `model` over `data` and prints one line on stdout: test: loss 0.6832 top-1 77.20 %
 * top-5 98.64 %, or one JSON object with the rates as fractions. `spec` names the data as --data
 * does, `name` the part of it: train, val or test; `compute` is one of SVIT_COMPUTE_*. */
svit_status results_evaluate(struct program *self, svit_model *model, svit_dataset *data,
                             const char *spec, const char *name, size_t batch, int32_t compute);

/* Prints an epoch as one JSON object. */
void results_epoch(const svit_trainer_event *event);

#endif
