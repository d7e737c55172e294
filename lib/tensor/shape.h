/* The shape of one image's features: rows and columns of tokens, each with its channels. */
#ifndef SV_SHAPE_H
#define SV_SHAPE_H

#include <stddef.h>

typedef struct sv_shape {
    size_t height, width, channels;
} sv_shape;

static inline size_t sv_shape_tokens(sv_shape map)
{
    return map.height * map.width;
}

/* Numbers of one image's map. */
static inline size_t sv_shape_elements(sv_shape map)
{
    return sv_shape_tokens(map) * map.channels;
}

#endif
