/* Draws up to nine images in a grid with their predicted classes, and attention maps beside
 * them. */
#ifndef EXAMPLE_PICTURE_GRID_H
#define EXAMPLE_PICTURE_GRID_H

#include "attention_map.h"

enum { GRID_PICTURES = 9 };

/* The contents of one cell. */
typedef struct grid_cell {
    char path[1024];
    char title[256]; /* the class and its confidence */
} grid_cell;

/* Draws up to nine cells to a PNG file. With `map`, each image is drawn twice, the second time
 * under its attention map; `map` may be NULL. */
svit_status picture_grid_draw(struct program *self, const grid_cell *cells, size_t count,
                              attention_map *map, const char *path);

#endif
