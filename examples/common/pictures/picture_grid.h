/* Draws images in a grid with their titles, and attention maps beside them. */
#ifndef EXAMPLE_PICTURE_GRID_H
#define EXAMPLE_PICTURE_GRID_H

#include "pictures/attention_map.h"

/* What the programs draw of predictions. */
enum { GRID_PICTURES = 9, GRID_COLUMNS = 3 };

/* The contents of one cell. */
typedef struct grid_cell {
    char path[4096];
    char title[256];
} grid_cell;

/* Draws cells, `columns` side by side, to a PNG file. With `map`, each image is drawn twice, the
 * second time under its attention map; `map` may be NULL. */
svit_status picture_grid_draw(struct program *self, const grid_cell *cells, size_t count,
                              size_t columns, attention_map *map, const char *path);

#endif
