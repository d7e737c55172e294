/* The first nine pictures in a 3x3 grid, the predicted class above each. */
#include "picture_grid.h"

#include "canvas.h"

#include <math.h>

enum { SIDE = 220, GAP = 20, TITLE = 36, COLUMNS = 3 };

/* A picture as a cairo surface; cairo tells of no memory by the surface's status. */
static cairo_surface_t *picture_surface(const svit_image *image)
{
    size_t height = svit_image_height(image);
    size_t width = svit_image_width(image);
    const uint8_t *rgb = svit_image_pixels(image);
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS)
        return surface;
    cairo_surface_flush(surface);
    unsigned char *data = cairo_image_surface_get_data(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    for (size_t y = 0; y < height; y++) {
        uint32_t *row = (uint32_t *)(void *)(data + y * stride);
        for (size_t x = 0; x < width; x++, rgb += 3)
            row[x] = (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2];
    }
    cairo_surface_mark_dirty(surface);
    return surface;
}

/* The whole picture, as large as the cell allows; the pixels of small ones stay sharp squares. */
static void draw_picture(cairo_t *canvas, const svit_image *image, double left, double top)
{
    double height = (double)svit_image_height(image);
    double width = (double)svit_image_width(image);
    double scale = SIDE / fmax(height, width);
    cairo_surface_t *surface = picture_surface(image);
    cairo_save(canvas);
    cairo_translate(canvas, left + (SIDE - width * scale) / 2, top + (SIDE - height * scale) / 2);
    cairo_rectangle(canvas, 0, 0, width * scale, height * scale);
    cairo_clip(canvas);
    cairo_scale(canvas, scale, scale);
    cairo_set_source_surface(canvas, surface, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(canvas),
                             scale >= 2 ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
    cairo_paint(canvas);
    cairo_restore(canvas);
    cairo_surface_destroy(surface);
}

static svit_status draw_cell(struct program *self, cairo_t *canvas, const grid_cell *cell,
                             double left, double top)
{
    svit_image *image = NULL;
    TRY(svit_image_read(&image, self->context, cell->path, &self->err));
    canvas_text_within(canvas, cell->title, left + SIDE / 2.0, top + TITLE - 12, 18, SIDE);
    draw_picture(canvas, image, left, top + TITLE);
    svit_image_free(image);
    return SVIT_OK;
}

svit_status picture_grid_draw(struct program *self, const grid_cell *cells, size_t count,
                              const char *path)
{
    size_t columns = count < COLUMNS ? count : COLUMNS;
    size_t rows = (count + COLUMNS - 1) / COLUMNS;
    cairo_t *canvas = canvas_create(GAP + (int)columns * (SIDE + GAP),
                                    GAP / 2 + (int)rows * (SIDE + TITLE + GAP / 2));
    for (size_t i = 0; i < count; i++) {
        double left = GAP + (double)(i % COLUMNS) * (SIDE + GAP);
        double top = GAP / 4.0 + (double)(i / COLUMNS) * (SIDE + TITLE + GAP / 2.0);
        svit_status status = draw_cell(self, canvas, &cells[i], left, top);
        if (status != SVIT_OK) {
            cairo_destroy(canvas);
            return status;
        }
    }
    return canvas_write(self, canvas, path);
}
