/* The data of a training run, for programs that read a data set and a model. */
#ifndef EXAMPLE_RUN_DATA_H
#define EXAMPLE_RUN_DATA_H

#include "data/data_option.h"
#include "program/path_text.h"

enum { RUN_DATA_MOST = 4 };

/* The stored options that were taken, as on a command line. */
typedef struct run_data {
    char *arguments[RUN_DATA_MOST];
    int count;
    char folder[PATH_CAPACITY]; /* of the run, if it has the seed of the program */
    data_drawn drawn;           /* of the run; empty: another seed, or not stored */
} run_data;

/* What a program reads with the data. */
typedef struct run_data_of {
    data_option *data;
    int32_t *on_bad; /* ON_BAD_* */
    int32_t split;   /* SVIT_SPLIT_* or DATA_SPLIT_ALL */
} run_data_of;

/* If `model`, from --model, is the folder of a run or its weights there, takes from run.json what
 * the command line, which was parsed last, lacks: the data set and --on-bad without --data; and,
 * also with the same --data, its labels, and the fraction and the seed by which it is split unless
 * `split` is all of it. What is taken is printed on stderr unless --quiet is given. The options
 * borrow texts of *out, which is released with run_data_free. SVIT_E_FORMAT: run.json is damaged. A
 * stored option that is not accepted ends the program, as one of the command line does.
 * SVIT_E_ARGUMENT: there is no data set from either; `what` says in the message what it is for.
 * SVIT_E_IO: there is none because `model` does not exist. */
svit_status run_data_take(run_data *out, struct program *self, const run_data_of *of,
                          const char *model, const char *what);

/* Fails if `data`, opened with what was taken, is not split as the run has split it, as
 * data_check_drawn does. */
svit_status run_data_check(const run_data *self, struct program *program, const data_splits *data);

void run_data_free(run_data *self);

#endif
