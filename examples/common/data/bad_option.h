/* The option --on-bad: what to do with images that cannot be read. */
#ifndef EXAMPLE_BAD_OPTION_H
#define EXAMPLE_BAD_OPTION_H

#include "data/data_option.h"

/* The values of --on-bad and their names. */
enum { ON_BAD_FAIL, ON_BAD_SKIP };
extern const char *const on_bad_names[];

/* A child parser for --on-bad; its input is an `int32_t *`, one of ON_BAD_*. */
extern const struct option_table bad_table;

/* Reads every image of a folder data set and prints each one that cannot be read on stderr. If
 * there is one, ON_BAD_FAIL fails and ON_BAD_SKIP removes them from the splits. Other data sets are
 * not checked, and a warning says so of ON_BAD_SKIP. */
svit_status bad_check(data_splits *data, struct program *self, const data_option *option,
                      int32_t on_bad);

/* The same for the data set of a folder of images (image_folder_open). */
svit_status bad_check_folder(svit_dataset **images, struct program *self, int32_t on_bad);

#endif
