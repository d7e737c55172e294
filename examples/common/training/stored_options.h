/* The options of a training run, as its folder stores them. */
#ifndef EXAMPLE_STORED_OPTIONS_H
#define EXAMPLE_STORED_OPTIONS_H

#include "training/train_option.h"

#include <jansson.h>

/* The options that --resume or the same training anew needs and that are no settings, for
 * run_file_text: long option name to value, both texts. Free it with json_decref. */
json_t *stored_options(const train_options *options);

/* Says on stderr which paths are no UTF-8 text and so are not in `list`, that of stored_options. */
void stored_options_note(const train_options *options, const json_t *list);

#endif
