/* The filters of a whitened stem. */
#ifndef EXAMPLE_WHITENING_H
#define EXAMPLE_WHITENING_H

#include "program/program.h"

/* Gives the whitened stem of a model the filters of the first training images, as the pipeline
 * evaluates them, in the size of the model's input. SVIT_E_ARGUMENT: they have another size. */
svit_status whiten(struct program *program, svit_model *model, svit_dataset *train,
                   const svit_pipeline_config *pipeline);

#endif
