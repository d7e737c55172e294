/* Images as PNG files in memory. canvas.c encodes them. */
#ifndef EXAMPLE_PNG_BYTES_H
#define EXAMPLE_PNG_BYTES_H

#include "program/program.h"

/* The bytes of a PNG file. All zero: none. Free `data` with free(). */
typedef struct png_bytes {
    unsigned char *data;
    size_t length, capacity;
} png_bytes;

/* Encodes rgb[height, width, 3] as a PNG file. *out keeps its memory from image to image. */
svit_status canvas_encode(png_bytes *out, struct program *self, const uint8_t *rgb, size_t height,
                          size_t width);

#endif
