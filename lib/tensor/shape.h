/* The shape of one image's features: rows and columns of tokens, each with its channels. */
#ifndef SV_MAP_H
#define SV_MAP_H

#include <stddef.h>

typedef struct sv_map {
    size_t height, width, channels;
} sv_map;

static inline size_t sv_map_tokens(sv_map map)
{
    return map.height * map.width;
}

/* Numbers of one image's map. */
static inline size_t sv_map_elements(sv_map map)
{
    return sv_map_tokens(map) * map.channels;
}

#endif
