/* Draws the patches of an image and of its shifted copies, each copy as a grid with gaps. */
#include "pictures/patch_grid.h"

#include "pictures/canvas.h"

#include <stdio.h>

enum { SIDE = 360, MARGIN = 24, TITLE = 34, FOOT = 30, COLUMNS = 3 };

#define TIMES "\xc3\x97"

const char *const patch_copy_names[PATCH_COPIES] = {"ORIGINAL", "LEFT-UP", "LEFT-DOWN", "RIGHT-UP",
                                                    "RIGHT-DOWN"};

static uint32_t byte_of(float value)
{
    return value <= 0 ? 0 : value >= 255 ? 255 : (uint32_t)(value + 0.5f);
}

/* Returns the pixels along a side of a copy, with `gap` pixels between patches. */
static size_t grid_pixels(const patch_set *set, size_t gap)
{
    return set->side * (set->patch + gap) - gap;
}

/* Copies one patch to its place in the surface. */
static void paint_patch(const patch_set *set, size_t copy, size_t row, size_t column, size_t gap,
                        unsigned char *data, size_t stride)
{
    size_t pixels = set->patch * set->patch;
    const float *rgb =
        set->patches + ((row * set->side + column) * pixels * set->copies + copy) * 3;
    for (size_t i = 0; i < pixels; i++, rgb += 3 * set->copies) {
        size_t y = row * (set->patch + gap) + i / set->patch;
        size_t x = column * (set->patch + gap) + i % set->patch;
        uint32_t *line = (uint32_t *)(void *)(data + y * stride);
        line[x] = byte_of(rgb[0]) << 16 | byte_of(rgb[1]) << 8 | byte_of(rgb[2]);
    }
}

/* Returns one copy as a cairo surface, white between patches. Its status tells if there was no
 * memory. */
static cairo_surface_t *copy_surface(const patch_set *set, size_t copy, size_t gap)
{
    int pixels = (int)grid_pixels(set, gap);
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, pixels, pixels);
    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS)
        return surface;
    cairo_t *white = cairo_create(surface);
    cairo_set_source_rgb(white, 1, 1, 1);
    cairo_paint(white);
    cairo_destroy(white);
    cairo_surface_flush(surface);
    unsigned char *data = cairo_image_surface_get_data(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    for (size_t i = 0; i < set->side * set->side; i++)
        paint_patch(set, copy, i / set->side, i % set->side, gap, data, stride);
    cairo_surface_mark_dirty(surface);
    return surface;
}

/* Draws a copy, with its title above it, as a square of `side` points in which pixels are sharp
 * squares. */
static void draw_copy(cairo_t *canvas, const patch_set *set, size_t copy, size_t gap,
                      const char *title, double left, double top, double side)
{
    cairo_surface_t *surface = copy_surface(set, copy, gap);
    double scale = side / (double)grid_pixels(set, gap);
    canvas_text_within(canvas, title, left + side / 2, top - 10, 18, CANVAS_CENTRE, side);
    cairo_save(canvas);
    cairo_translate(canvas, left, top);
    cairo_rectangle(canvas, 0, 0, side, side);
    cairo_clip(canvas);
    cairo_scale(canvas, scale, scale);
    cairo_set_source_surface(canvas, surface, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(canvas), CAIRO_FILTER_NEAREST);
    cairo_paint(canvas);
    cairo_restore(canvas);
    cairo_surface_destroy(surface);
}

/* Returns the side of a copy in points: a multiple of its pixels, so that all patches have one
 * size. */
static double side_of(const patch_set *set)
{
    size_t pixels = grid_pixels(set, 1);
    return (double)(pixels < SIDE ? SIDE / pixels * pixels : pixels);
}

svit_status patch_grid_draw(struct program *self, const patch_set *set, const char *path)
{
    char text[128];
    double side = side_of(set);
    size_t cells = 1 + set->copies;
    size_t columns = cells < COLUMNS ? cells : COLUMNS;
    size_t rows = cells / columns;
    cairo_t *canvas = canvas_create(MARGIN + (int)columns * ((int)side + MARGIN),
                                    (int)rows * ((int)side + TITLE + MARGIN / 2) + FOOT);
    for (size_t i = 0; i < cells; i++) {
        double left = MARGIN + (double)(i % columns) * (side + MARGIN);
        double top = TITLE + (double)(i / columns) * (side + TITLE + MARGIN / 2.0);
        const char *title = set->copies > 1 && i > 0 ? patch_copy_names[i - 1] : "PATCHES";
        draw_copy(canvas, set, i > 0 ? i - 1 : 0, i > 0, i > 0 ? title : "IMAGE", left, top, side);
    }
    snprintf(text, sizeof text, "%zu " TIMES " %zu patches of %zu " TIMES " %zu pixels", set->side,
             set->side, set->patch, set->patch);
    canvas_text(canvas, text, MARGIN, (double)rows * (side + TITLE + MARGIN / 2.0) + FOOT / 2.0, 15,
                CANVAS_LEFT);
    return canvas_write(self, canvas, path);
}
