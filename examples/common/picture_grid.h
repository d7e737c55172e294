/* The first nine images in a grid, the predicted class above each; and where a model looks. */
#ifndef EXAMPLE_PICTURE_GRID_H
#define EXAMPLE_PICTURE_GRID_H

#include "attention_map.h"

enum { GRID_PICTURES = 9 };

/* What stands in one cell. */
typedef struct grid_cell {
    char path[1024];
    char title[256]; /* the class and its confidence */
} grid_cell;

/* Draws up to nine cells to a PNG file; with a map, each image twice, the second under the
 * attention that the model pays to it. */
svit_status picture_grid_draw(struct program *self, const grid_cell *cells, size_t count,
                              attention_map *map, const char *path);

#endif
