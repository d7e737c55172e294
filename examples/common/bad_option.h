/* --on-bad: what becomes of images that cannot be read. */
#ifndef EXAMPLE_BAD_OPTION_H
#define EXAMPLE_BAD_OPTION_H

#include "data_option.h"

/* The words of --on-bad. */
enum { ON_BAD_FAIL, ON_BAD_SKIP };
extern const char *const on_bad_names[];

/* A child parser for --on-bad; its input is an `int32_t *`, one of ON_BAD_*. */
extern const struct argp bad_argp;

/* Reads every image of a data set of image files, and names each that cannot be read on stderr.
 * With ON_BAD_FAIL it then fails where there was one; with ON_BAD_SKIP the parts go on without
 * them. Data sets of another kind are left alone. */
svit_status bad_check(data_parts *data, struct program *self, const data_option *option,
                      int32_t on_bad);

#endif
