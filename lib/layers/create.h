/* What the layers' creators share. */
#ifndef SV_LAYER_CREATE_H
#define SV_LAYER_CREATE_H

#include "layers/layers.h"

/* A cleared struct of `bytes` whose head is a layer of `class`. */
svit_status sv_layer_allocate(void **out, svit_context *context, size_t bytes,
                              const sv_layer_ops *class, svit_error *err);

/* The offset of parameter `prefix``suffix` in the flat arrays. The table is made from the same
 * configuration, so it is there. */
size_t sv_layer_parameter(const sv_parameter_table *table, const char *prefix, const char *suffix);

/* The same, SV_NO_PARAMETER where there is none. */
size_t sv_layer_parameter_if(const sv_parameter_table *table, const char *prefix,
                             const char *suffix);

/* The shift of a block over `map`. */
static inline sv_shift_geometry sv_shift_geometry_of(const sv_shift_options *block, sv_shape map)
{
    return (sv_shift_geometry){map.height,    map.width,  map.channels, block->group_channels,
                               block->pixels, block->crop};
}

/* The zero channel groups of a shifted feature map: those into which the shift moves zeros. Period 0
 * if the feature map is not small. */
sv_gaps sv_shift_gaps(const sv_shift_geometry *map);

/* Says in `memory` what three arenas have measured. */
void sv_layer_memory_set(sv_layer_memory *memory, const sv_arena *saved, const sv_arena *shared,
                         const sv_arena *worker);

#endif
