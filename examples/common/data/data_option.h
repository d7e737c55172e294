/* The options that select a data set: --data SPEC, --labels, --val-fraction and the limits. */
#ifndef EXAMPLE_DATA_OPTION_H
#define EXAMPLE_DATA_OPTION_H

#include "program/program.h"

/* The values of the options. Start from DATA_OPTION_INIT. */
typedef struct data_option {
    const char *spec;
    int32_t labels;         /* SVIT_LABELS_*, for CIFAR-100 */
    double val_fraction;    /* negative: not given */
    int fraction_is_stored; /* 1: --val-fraction is that of a run, and not of the command line */
    int on_bad_is_stored;   /* 1: so is --on-bad */
    size_t limit[3];        /* by SVIT_SPLIT_*: largest number of images; 0: no limit */
} data_option;

#define DATA_OPTION_INIT                                                                           \
    {                                                                                              \
        .spec = "procedural", .val_fraction = -1                                                   \
    }

/* The largest --val-fraction: with as many images to test, a fifth is left to train. */
#define DATA_MOST_FRACTION 0.4

/* A child parser for these options; its input is a `data_option *`. */
extern const struct option_table data_table;

/* The same for shiftvit-train, with how it learns columns of numbers. */
extern const struct option_table data_training_table;

/* A value beside those of SVIT_SPLIT_*: all images of a folder, list or pattern of shards, which
 * has no splits of its own. */
enum { DATA_SPLIT_ALL = 3, DATA_SPLITS };

/* The splits of a data set, by SVIT_SPLIT_* or DATA_SPLIT_ALL; NULL for a split that was not
 * requested or that the data set does not have. */
typedef struct data_splits {
    svit_dataset *split[DATA_SPLITS];
    const char *drawn;    /* how a program calls the splits that chance has chosen, or NULL */
    size_t drawn_of;      /* the images from which they were chosen */
    uint64_t drawn_from;  /* which images these were: a hash of their paths and labels */
    unsigned drawn_parts; /* the parts that chance has chosen besides the rest, which trains: a sum
                             of WANT_TEST and WANT_VALIDATION */
} data_splits;

/* Bits of the argument `wanted`: the splits to open. */
enum {
    WANT_TRAIN = 1 << SVIT_SPLIT_TRAIN,
    WANT_TEST = 1 << SVIT_SPLIT_TEST,
    WANT_VALIDATION = 1 << SVIT_SPLIT_VALIDATION,
    WANT_ALL = WANT_TRAIN | WANT_TEST | WANT_VALIDATION,
    WANT_WHOLE = 1 << DATA_SPLIT_ALL
};

/* Opens the splits in `wanted`, a sum of WANT_*. Images of folders are brought to the source size
 * of `pipeline` by its source step. Synthetic images and random splits depend on the program's
 * seed. Warns of a --val-fraction by which nothing is split. Free the splits with data_close, also
 * after a failure. */
svit_status data_open(data_splits *out, struct program *self, const data_option *option,
                      const svit_pipeline_config *pipeline, unsigned wanted);

/* What a run stores of its splits. A text is empty if the run did not store it. */
typedef struct data_drawn {
    char from[17];   /* which images were split at random; empty if none were */
    char splits[16]; /* which parts of them were drawn: "none", "test", "val", "val and test" */
} data_drawn;

void data_describe_drawn(data_drawn *out, const data_splits *data);

/* Returns 1 if `data`, of which a split was drawn, has one of its own: --split all is refused. */
int data_has_own_splits(const data_splits *data);

/* Fails if splits of `data` were drawn, and not of the images or not the parts that `run` has, a
 * description of the run in `folder`: images that the run trained on would be among those that
 * validate and test. The message ends with `accepted`. An empty text is no failure.
 * SVIT_E_STATE. */
svit_status data_check_drawn(const data_splits *data, struct program *self, const data_drawn *run,
                             const char *folder, const char *accepted);

/* Frees a split. The others stay as they are. */
void data_drop(data_splits *parts, int32_t split);

/* Frees the splits. */
void data_close(data_splits *parts);

/* Returns 1 if all images of the data set have the same size, which then is the source size of the
 * pipeline, and 0 for folders, lists and shards. */
int data_has_own_size(const data_option *option);

/* Returns `spec` with an absolute path, so that a run can be resumed from another folder. Free it
 * with free(). NULL: there is not enough memory. */
char *data_spec_absolute(const char *spec);

/* Returns the folder of `spec` if it is of the form folder:DIR, otherwise NULL. Borrowed. */
const char *data_spec_folder(const char *spec);

/* Returns the file, folder or pattern of `spec`, NULL if it has none. Borrowed. */
const char *data_spec_path(const char *spec);

/* "train", "test", "val", "all", NULL: the names of SVIT_SPLIT_* and DATA_SPLIT_ALL. */
extern const char *const data_split_names[];

/* "fine", "coarse", NULL: the names of SVIT_LABELS_*. */
extern const char *const data_label_names[];

#endif
