/* Parts of pictures: images, and heat maps over them. */
#ifndef EXAMPLE_PICTURE_PARTS_H
#define EXAMPLE_PICTURE_PARTS_H

#include "program/program.h"

#include <cairo.h>

/* The rectangle of an image on the canvas. */
typedef struct image_frame {
    double left, top, width, height;
} image_frame;

/* Returns the largest rectangle for the image that fits the square of `side` pixels at (left,
 * top), in its middle. */
image_frame picture_frame(const svit_image *image, double left, double top, double side);

/* Draws the whole image. The pixels of a small one are sharp squares. */
void picture_image(cairo_t *canvas, const svit_image *image, const image_frame *frame);

/* Draws values[rows, columns], each in 0..1, as colours over the part of the image that the model
 * sees: all of it, or the centre that the source step of `pipeline` crops, without pixels at the
 * bottom and right that no patch of `model` reads. `frame` is that of the whole image. */
void picture_heat(cairo_t *canvas, const float *values, size_t rows, size_t columns,
                  const svit_image *image, const image_frame *frame,
                  const svit_pipeline_config *pipeline, const svit_model_config *model);

#endif
