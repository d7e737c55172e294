/* The first line of a list of image files. */
#ifndef SV_LIST_HEADER_H
#define SV_LIST_HEADER_H

#include "data/datasets/csv.h"

#include <stdbool.h>

/* What a first line is, for messages. */
extern const char sv_list_header[];

/* SVIT_E_FORMAT if row 0 does not have the names of the columns of a list. The message says what it
 * has instead: other names, no names, or an index that pandas wrote. */
svit_status sv_list_check_header(const sv_csv *csv, const char *path, const sv_allocator *allocator,
                                 svit_error *err);

/* Whether a text has nothing but spaces and tabs. */
bool sv_is_blank(const char *text);

#endif
