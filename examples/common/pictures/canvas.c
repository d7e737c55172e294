/* A white picture to draw on with cairo, written as a PNG file. */
#include "pictures/canvas.h"

#include "outputs/drawn_picture.h"
#include "program/shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cairo_t *canvas_create(int width, int height)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    cairo_t *canvas = cairo_create(surface);
    cairo_surface_destroy(surface);
    cairo_set_source_rgb(canvas, 1, 1, 1);
    cairo_paint(canvas);
    cairo_set_line_cap(canvas, CAIRO_LINE_CAP_ROUND);
    cairo_set_line_join(canvas, CAIRO_LINE_JOIN_ROUND);
    cairo_select_font_face(canvas, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    return canvas;
}

/* The bytes of a PNG file while cairo writes it. */
static cairo_status_t append(void *closure, const unsigned char *data, unsigned length)
{
    png_bytes *out = closure;
    if (out->length + length > out->capacity) {
        size_t capacity = 2 * (out->length + length);
        unsigned char *larger = realloc(out->data, capacity);
        if (!larger)
            return CAIRO_STATUS_NO_MEMORY;
        out->data = larger;
        out->capacity = capacity;
    }
    memcpy(out->data + out->length, data, length);
    out->length += length;
    return CAIRO_STATUS_SUCCESS;
}

/* Puts the mark of a drawn picture behind the header of an encoded one. */
static cairo_status_t add_mark(png_bytes *png)
{
    cairo_status_t done = append(png, picture_mark, PICTURE_MARK_SIZE);
    if (done != CAIRO_STATUS_SUCCESS)
        return done;
    unsigned char *place = png->data + PICTURE_MARK_AT;
    memmove(place + PICTURE_MARK_SIZE, place, png->length - PICTURE_MARK_AT - PICTURE_MARK_SIZE);
    memcpy(place, picture_mark, PICTURE_MARK_SIZE);
    return done;
}

/* Writes an encoded picture with the mark, and frees it. `drawn` is the status of its making. */
static svit_status write_marked(struct program *self, png_bytes *png, cairo_status_t drawn,
                                const char *path)
{
    svit_status status;
    if (drawn == CAIRO_STATUS_SUCCESS)
        drawn = add_mark(png);
    if (drawn == CAIRO_STATUS_SUCCESS)
        status = svit_file_replace(path, png->data, png->length, &self->err);
    else
        status = program_fail(self, SVIT_E_MEMORY, "cannot draw '%s': %s", path,
                              cairo_status_to_string(drawn));
    free(png->data);
    return status;
}

svit_status canvas_write(struct program *self, cairo_t *canvas, const char *path)
{
    png_bytes png = {NULL, 0, 0};
    cairo_status_t drawn = cairo_status(canvas);
    if (drawn == CAIRO_STATUS_SUCCESS)
        drawn = cairo_surface_write_to_png_stream(cairo_get_target(canvas), append, &png);
    cairo_destroy(canvas);
    return write_marked(self, &png, drawn, path);
}

svit_status canvas_encode(png_bytes *out, struct program *self, const uint8_t *rgb, size_t height,
                          size_t width)
{
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
    cairo_status_t done = cairo_surface_status(surface);
    out->length = 0;
    if (done == CAIRO_STATUS_SUCCESS) {
        unsigned char *pixels = cairo_image_surface_get_data(surface);
        const size_t stride = (size_t)cairo_image_surface_get_stride(surface);
        for (size_t y = 0; y < height; y++)
            for (size_t x = 0; x < width; x++, rgb += 3) {
                const uint32_t pixel = (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2];
                memcpy(pixels + y * stride + x * sizeof pixel, &pixel, sizeof pixel);
            }
        cairo_surface_mark_dirty(surface);
        done = cairo_surface_write_to_png_stream(surface, append, out);
    }
    cairo_surface_destroy(surface);
    return done == CAIRO_STATUS_SUCCESS
               ? SVIT_OK
               : program_fail(self, SVIT_E_MEMORY, "cannot encode an image: %s",
                              cairo_status_to_string(done));
}

svit_status canvas_write_pixels(struct program *self, const uint8_t *rgb, size_t height,
                                size_t width, const char *path)
{
    png_bytes png = {NULL, 0, 0};
    const svit_status status = canvas_encode(&png, self, rgb, height, width);
    if (status == SVIT_OK)
        return write_marked(self, &png, CAIRO_STATUS_SUCCESS, path);
    free(png.data);
    return status;
}

void canvas_text(cairo_t *canvas, const char *text, double x, double y, double size, int align)
{
    cairo_text_extents_t extents;
    cairo_set_font_size(canvas, size);
    cairo_text_extents(canvas, text, &extents);
    double shift = align == CANVAS_LEFT ? 0 : align == CANVAS_CENTRE ? 0.5 : 1;
    cairo_set_source_rgb(canvas, 0.15, 0.15, 0.15);
    cairo_move_to(canvas, x - shift * extents.x_advance, y);
    cairo_show_text(canvas, text);
}

static double text_width(cairo_t *canvas, const char *text, double size)
{
    cairo_text_extents_t extents;
    cairo_set_font_size(canvas, size);
    cairo_text_extents(canvas, text, &extents);
    return extents.x_advance;
}

void canvas_text_within(cairo_t *canvas, const char *text, double x, double y, double size,
                        int align, double width)
{
    enum { ELLIPSIS = 3 };
    char cut[256], part[sizeof cut - ELLIPSIS];
    text_cut(cut, sizeof cut, text);
    while (size > 10 && text_width(canvas, cut, size) > width)
        size -= 1;
    for (size_t length = strlen(text_cut(part, sizeof part, text));
         length > 0 && text_width(canvas, cut, size) > width;) {
        length = strlen(text_cut(part, length, text)); /* of one byte less, or one character */
        snprintf(cut, sizeof cut, "%s\xe2\x80\xa6", part);
    }
    canvas_text(canvas, cut, x, y, size, align);
}

void canvas_line(cairo_t *canvas, double x0, double y0, double x1, double y1, double grey)
{
    cairo_set_source_rgb(canvas, grey, grey, grey);
    cairo_set_line_width(canvas, 1);
    cairo_move_to(canvas, x0, y0);
    cairo_line_to(canvas, x1, y1);
    cairo_stroke(canvas);
}
