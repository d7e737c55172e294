/* The shape of one image's feature map: height x width tokens of `channels` elements each. */
#ifndef SV_SHAPE_H
#define SV_SHAPE_H

#include <stddef.h>

typedef struct sv_shape {
    size_t height, width, channels;
} sv_shape;

/* Tokens of one feature map. */
static inline size_t sv_shape_tokens(sv_shape shape)
{
    return shape.height * shape.width;
}

/* Elements of one feature map. */
static inline size_t sv_shape_elements(sv_shape shape)
{
    return sv_shape_tokens(shape) * shape.channels;
}

#endif
