/* Prints loss and accuracy in the same form in all programs. */
#ifndef EXAMPLE_RESULTS_H
#define EXAMPLE_RESULTS_H

#include "program.h"

#include <jansson.h>

/* Returns a text as a JSON string. In a text that is not UTF-8, such as a path, invalid bytes
 * become \xNN. */
json_t *results_text(const char *text);

/* Evaluates `model` on `data` and prints one line on stdout: "test: loss 0.6832 top-1 77.20 %
 * top-5 98.64 %", or a JSON object with fractions. `spec` is the value of --data, `name` is the
 * split ("train", "val" or "test"), `compute` is one of SVIT_COMPUTE_*, and `tta` one of
 * SVIT_TTA_*. */
svit_status results_evaluate(struct program *self, svit_model *model, svit_dataset *data,
                             const char *spec, const char *name, size_t batch, int32_t compute,
                             int32_t tta);

/* Prints an SVIT_EVENT_EPOCH event as one JSON object. */
void results_epoch(const svit_trainer_event *event);

#endif
