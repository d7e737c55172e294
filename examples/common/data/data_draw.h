/* Draws random parts of a data set as its splits. */
#ifndef EXAMPLE_DATA_DRAW_H
#define EXAMPLE_DATA_DRAW_H

#include "data/data_option.h"

typedef struct data_draw {
    svit_dataset *whole;
    double fraction; /* of the images that validate, and of those that test: 0 to 0.4 */
    unsigned drawn;  /* the parts to draw, a sum of WANT_*; the rest trains */
    unsigned wanted; /* the splits to open, a sum of WANT_* */
    int in_order;    /* 1: the images of a split keep the order of the whole */
} data_draw;

/* Opens the wanted splits, which the program's seed chooses. Each class gives its share to each
 * part, to the nearest whole number, and at least one image if one is then left to train. Images
 * with targets instead of labels are drawn without regard to them, and so are images of classes
 * that are all too small to give any. Sets out->drawn and what belongs to it. */
svit_status data_draw_splits(data_splits *out, struct program *self, const data_draw *how);

#endif
