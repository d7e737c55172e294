/* The results that a finished run has left in its folder, its model and the picture of its curves,
 * while another run, or an extension, trains there. They go with the first checkpoint of that run,
 * which is the newer model. */
#ifndef EXAMPLE_OLD_MODEL_H
#define EXAMPLE_OLD_MODEL_H

#include "program/path_text.h"
#include "training/run_file.h"

#include <sys/stat.h>

typedef struct old_model {
    int is_there; /* 1: one of them is */
    char results[RUN_RESULT_FILES][PATH_CAPACITY], checkpoint[PATH_CAPACITY];
    struct stat before; /* of the checkpoint; zeros: there was none */
} old_model;

/* Looks for results in the folder, before the run begins. */
svit_status old_model_find(old_model *out, struct program *self, const char *folder);

/* Removes them if the checkpoint is another one by now. */
void old_model_outdate(old_model *self);

#endif
