/* Starts a training from the weights of another model. */
#ifndef EXAMPLE_INIT_FROM_H
#define EXAMPLE_INIT_FROM_H

#include "program.h"

/* Copies to `model` the parameters of the model file or run folder `given` that have the same names
 * and shapes. The classifier keeps its initial weights if the numbers of classes differ, which is
 * said on stderr unless --quiet is given. Any other difference fails with a message that names the
 * parameter; `model` may then have a part of the weights. A file without a configuration is read
 * with that of `model`. */
svit_status init_from(struct program *self, svit_model *model, const char *given);

#endif
