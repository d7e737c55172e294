/* The data of a training run, for programs that read a data set and a model. */
#ifndef EXAMPLE_RUN_DATA_H
#define EXAMPLE_RUN_DATA_H

#include "data_option.h"

enum { RUN_DATA_MOST = 6 };

/* The stored options of the data, as on a command line. */
typedef struct run_data {
    char *arguments[RUN_DATA_MOST];
    int count;
} run_data;

/* If `model`, from --model, is a run's folder, takes options of the data that the command line lacks
 * from the run: all of them without --data, and with the same --data those that say how it is split,
 * unless it is `whole`. They are printed on stderr unless --quiet is given. Stored options that are
 * not accepted end the program, as on the command line. `data` borrows texts of *out, which is
 * released with run_data_free. */
svit_status run_data_take(run_data *out, struct program *self, data_option *data, int whole,
                          const char *model);

void run_data_free(run_data *self);

#endif
