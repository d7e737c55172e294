/* Draws images in a grid with their titles, and attention maps beside them. */
#include "pictures/picture_grid.h"

#include "pictures/canvas.h"
#include "pictures/picture_parts.h"

enum { SIDE = 220, GAP = 20, TITLE = 36, PAIR_GAP = 6 };

/* Draws the image under its attention map. */
static svit_status draw_attention(struct program *self, cairo_t *canvas, attention_map *map,
                                  const svit_image *image, const char *path, double left,
                                  double top)
{
    const image_frame frame = picture_frame(image, left, top, SIDE);
    TRY(attention_map_run(map, self, path));
    picture_image(canvas, image, &frame);
    picture_heat(canvas, map->values, map->rows, map->columns, image, &frame, &map->pipeline,
                 &map->config);
    return SVIT_OK;
}

static double cell_width(const attention_map *map)
{
    return map ? 2 * SIDE + PAIR_GAP : SIDE;
}

static svit_status draw_cell(struct program *self, cairo_t *canvas, const grid_cell *cell,
                             attention_map *map, double left, double top)
{
    svit_image *image = NULL;
    svit_status status = SVIT_OK;
    double width = cell_width(map);
    TRY(svit_image_read(&image, self->context, cell->path, 3, &self->err));
    const image_frame frame = picture_frame(image, left, top + TITLE, SIDE);
    canvas_text_within(canvas, cell->title, left + width / 2, top + TITLE - 12, 18, CANVAS_CENTRE,
                       width);
    picture_image(canvas, image, &frame);
    if (map)
        status = draw_attention(self, canvas, map, image, cell->path, left + SIDE + PAIR_GAP,
                                top + TITLE);
    svit_image_free(image);
    return status;
}

/* Width and height in pixels of a picture of so many columns, or rows. */
static size_t whole_width(size_t columns, const attention_map *map)
{
    return GAP + columns * ((size_t)cell_width(map) + GAP);
}

static size_t whole_height(size_t rows)
{
    return GAP / 2 + rows * (SIDE + TITLE + GAP / 2);
}

svit_status picture_grid_draw(struct program *self, const grid_cell *cells, size_t count,
                              size_t columns, attention_map *map, const char *path)
{
    columns = count < columns ? count : columns;
    size_t rows = (count + columns - 1) / columns;
    int step = (int)cell_width(map) + GAP;
    cairo_t *canvas = canvas_create((int)whole_width(columns, map), (int)whole_height(rows));
    for (size_t i = 0; i < count; i++) {
        double left = GAP + (double)(i % columns) * step;
        double top = GAP / 4.0 + (double)(i / columns) * (SIDE + TITLE + GAP / 2.0);
        svit_status status = draw_cell(self, canvas, &cells[i], map, left, top);
        if (status != SVIT_OK) {
            cairo_destroy(canvas);
            return status;
        }
    }
    return canvas_write(self, canvas, path);
}
