/* The shape of the images that a pipeline reads. */
#ifndef SV_IMAGE_SHAPE_H
#define SV_IMAGE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An image [height, width, channels] of bytes or of floats. */
typedef struct sv_image_shape {
    size_t height, width, channels;
    bool is_f32;
} sv_image_shape;

/* Bytes of one pixel. */
static inline size_t sv_image_pixel_bytes(const sv_image_shape *shape)
{
    return shape->channels * (shape->is_f32 ? sizeof(float) : sizeof(uint8_t));
}

/* Bytes of one image. */
static inline size_t sv_image_bytes(const sv_image_shape *shape)
{
    return shape->height * shape->width * sv_image_pixel_bytes(shape);
}

#endif
