/* The data of a training run, for programs that read a data set and a model. */
#ifndef EXAMPLE_RUN_DATA_H
#define EXAMPLE_RUN_DATA_H

#include "data_option.h"

#include <jansson.h>

/* If `model`, from --model, is a run's folder, takes options of the data that the command line lacks
 * from the run: all of them without --data, and with the same --data those that say how it is split,
 * unless it is `whole`. They are printed on stderr unless --quiet is given. *run holds texts that the
 * options borrow; release it with json_decref. NULL: nothing was taken. */
void run_data_take(json_t **run, struct program *self, data_option *data, int whole,
                   const char *model);

#endif
