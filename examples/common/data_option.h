/* Data sets as options name them: --data SPEC and what goes with it. */
#ifndef EXAMPLE_DATA_OPTION_H
#define EXAMPLE_DATA_OPTION_H

#include "program.h"

/* What the options say. Start from DATA_OPTION_INIT. */
typedef struct data_option {
    const char *spec;
    int32_t labels; /* SVIT_LABELS_*, of CIFAR-100 */
    double val_fraction;
    size_t limit[3]; /* by SVIT_SPLIT_*; 0 = none */
} data_option;

#define DATA_OPTION_INIT                                                                           \
    {                                                                                              \
        .spec = "procedural", .val_fraction = 0.1                                                  \
    }

/* A child parser for these options; its input is a `data_option *`. */
extern const struct argp data_argp;

/* The parts of a data set, by SVIT_SPLIT_*; NULL where a part was not asked for. */
typedef struct data_parts {
    svit_dataset *split[3];
} data_parts;

/* The bits of `wanted` below. */
enum {
    WANT_TRAIN = 1 << SVIT_SPLIT_TRAIN,
    WANT_TEST = 1 << SVIT_SPLIT_TEST,
    WANT_VALIDATION = 1 << SVIT_SPLIT_VALIDATION,
    WANT_ALL = WANT_TRAIN | WANT_TEST | WANT_VALIDATION
};

/* Opens the parts asked for. Images of folders are brought to the source size of `pipeline` by its
 * source filter; what is synthetic or split by chance follows the program's seed. Free with
 * data_close, also after a failure. */
svit_status data_open(data_parts *out, struct program *self, const data_option *option,
                      const svit_pipeline_config *pipeline, unsigned wanted);
void data_close(data_parts *parts);

/* 1 where the images of the data set have one size, which the model's preprocessing then takes; 0
 * for folders. */
int data_has_own_size(const data_option *option);

/* `spec` with its folder made absolute, so that it means the same from another place; free it. */
char *data_spec_absolute(const char *spec);

/* train, test or val: the place in this list is SVIT_SPLIT_*. */
extern const char *const data_split_names[];

/* fine or coarse: the place in this list is SVIT_LABELS_*. */
extern const char *const data_label_names[];

#endif
