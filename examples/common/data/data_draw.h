/* Draws random parts of a data set as its splits. */
#ifndef EXAMPLE_DATA_DRAW_H
#define EXAMPLE_DATA_DRAW_H

#include "data/data_option.h"

typedef struct data_draw {
    svit_dataset *whole;
    double fraction; /* of the images that validate, and of those that test: 0 to 0.4 */
    unsigned drawn;  /* the parts to draw, a sum of WANT_*; the rest trains */
    unsigned wanted; /* the splits to open, a sum of WANT_* */
} data_draw;

/* Opens the wanted splits, which the program's seed chooses with svit_dataset_split. Sets
 * out->drawn and what belongs to it. */
svit_status data_draw_splits(data_splits *out, struct program *self, const data_draw *how);

#endif
