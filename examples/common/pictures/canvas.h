/* A white picture to draw on with cairo, written as a PNG file. */
#ifndef EXAMPLE_CANVAS_H
#define EXAMPLE_CANVAS_H

#include "data/png_bytes.h"

#include <cairo.h>

enum { CANVAS_LEFT, CANVAS_CENTRE, CANVAS_RIGHT };

/* Creates a white picture of width x height pixels. The result is never NULL; canvas_write reports
 * what went wrong. */
cairo_t *canvas_create(int width, int height);

/* Writes the picture as a PNG file with svit_file_replace, with the mark of drawn_picture.h, and
 * frees the canvas. */
svit_status canvas_write(struct program *self, cairo_t *canvas, const char *path);

/* Writes rgb[height, width, 3] in the same way. */
svit_status canvas_write_pixels(struct program *self, const uint8_t *rgb, size_t height,
                                size_t width, const char *path);

/* Writes dark text with its baseline at y, in pixels. `align` is CANVAS_LEFT, _CENTRE or _RIGHT and
 * says which end of the text is at x. `size` is the font size in pixels. */
void canvas_text(cairo_t *canvas, const char *text, double x, double y, double size, int align);

/* Writes text that fits into `width` pixels: the font is reduced first, then the text is cut and
 * ends in an ellipsis. */
void canvas_text_within(cairo_t *canvas, const char *text, double x, double y, double size,
                        int align, double width);

/* Draws a thin line from (x0, y0) to (x1, y1). `grey` is 0 for black to 1 for white. */
void canvas_line(cairo_t *canvas, double x0, double y0, double x1, double y1, double grey);

#endif
