/* A white image to draw on with cairo. */
#ifndef EXAMPLE_CANVAS_H
#define EXAMPLE_CANVAS_H

#include "program.h"

#include <cairo.h>

enum { CANVAS_LEFT, CANVAS_CENTRE, CANVAS_RIGHT };

/* Never NULL; what went wrong comes to light in canvas_write. */
cairo_t *canvas_create(int width, int height);

/* Writes the image as a PNG file, as svit_file_replace does, and frees the canvas. */
svit_status canvas_write(struct program *self, cairo_t *canvas, const char *path);

/* Dark text on the line y: x is its left end, its centre or its right end. */
void canvas_text(cairo_t *canvas, const char *text, double x, double y, double size, int align);

/* As canvas_text, centred, made smaller, then cut with an ellipsis, to fit `width`. */
void canvas_text_within(cairo_t *canvas, const char *text, double x, double y, double size,
                        double width);

/* A thin line; `grey` 0 is black, 1 white. */
void canvas_line(cairo_t *canvas, double x0, double y0, double x1, double y1, double grey);

#endif
