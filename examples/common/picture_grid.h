/* The first nine pictures in a 3x3 grid, the predicted class above each. */
#ifndef EXAMPLE_PICTURE_GRID_H
#define EXAMPLE_PICTURE_GRID_H

#include "program.h"

enum { GRID_PICTURES = 9 };

/* What stands in one cell. */
typedef struct grid_cell {
    char path[1024];
    char title[256]; /* the class and its confidence */
} grid_cell;

/* Draws up to nine cells to a PNG file. */
svit_status picture_grid_draw(struct program *self, const grid_cell *cells, size_t count,
                              const char *path);

#endif
