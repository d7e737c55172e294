/* The options of a training run. */
#ifndef EXAMPLE_TRAIN_OPTION_H
#define EXAMPLE_TRAIN_OPTION_H

#include "data/bad_option.h"
#include "data/data_option.h"
#include "settings/config_option.h"

/* The values of the options. A negative number or NULL means that the option was not given. */
typedef struct train_options {
    struct program program;
    data_option data;
    config_option config;
    int64_t epochs, batch, patience;
    double lr, weight_decay, checkpoint_seconds;
    int32_t schedule, keep, compute, memory;
    int32_t on_bad; /* ON_BAD_* */
    const char *out, *resume;
    const char *resumed_training; /* settings of the resumed run as JSON; NULL: none are stored */
    const data_drawn *resumed_drawn; /* of the resumed run, for data_check_drawn */
    const char *init_from;           /* a model file or run folder; NULL: initial weights */
    int64_t lora;                    /* rank of the adapters */
    double lora_alpha;
    const char *freeze[SVIT_MAX_GROUPS]; /* patterns of parameters to freeze */
    size_t freeze_count;
    int overwrite;
    int is_begun;    /* 1: options that --config FILE adds are not there yet, so none is missed */
    const char *mpi; /* one of mpi_names; NULL: the process trains alone */
} train_options;

/* The values before the command line is parsed. */
extern const train_options train_defaults;

/* The parser; its input is a `train_options *`. */
extern const struct option_table train_table;

/* The names of SVIT_SCHEDULE_*, SVIT_KEEP_* and SVIT_MEMORY_*, and the values of --compute: auto
 * (float32), f32 and bf16. Each list ends with NULL. */
extern const char *const train_schedules[];
extern const char *const train_keeps[];
extern const char *const train_computes[];
extern const char *const train_memories[];

#endif
