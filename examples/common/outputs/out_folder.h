/* A folder that is written, which must not be a class of the data that is read. */
#ifndef EXAMPLE_OUT_FOLDER_H
#define EXAMPLE_OUT_FOLDER_H

#include "data/data_option.h"

/* SVIT_E_ARGUMENT: `out`, which need not exist and belongs to the option `out_name`, lies in a
 * folder whose subfolders are the classes of the data, or where a link among them leads, or is this
 * folder, unless `may_be_it`. */
svit_status out_folder_check(struct program *self, const data_option *data, const char *out_name,
                             const char *out, int may_be_it);

#endif
