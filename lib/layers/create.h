/* Helpers of the layers' creators. */
#ifndef SV_LAYER_CREATE_H
#define SV_LAYER_CREATE_H

#include "layers/layers.h"

/* Allocates a struct of `bytes` zero bytes whose first member is an sv_layer, and sets its ops. */
svit_status sv_layer_allocate(void **out, svit_context *context, size_t bytes,
                              const sv_layer_ops *ops, svit_error *err);

/* The offset of the parameter named prefix followed by suffix, which exists. The layer notes which
 * parameters it has, and whether one of them is trainable. */
size_t sv_layer_parameter(sv_layer *layer, const sv_parameter_table *table, const char *prefix,
                          const char *suffix);

/* The same; SV_NO_PARAMETER if the table has no such parameter. */
size_t sv_layer_parameter_if(sv_layer *layer, const sv_parameter_table *table, const char *prefix,
                             const char *suffix);

/* The geometry of a shift over a feature map of `shape`. */
static inline sv_shift_geometry sv_shift_geometry_of(const sv_shift_options *shift, sv_shape shape)
{
    return (sv_shift_geometry){shape.height,          shape.width,   shape.channels,
                               shift->group_channels, shift->pixels, shift->crop};
}

/* The zero channel groups of a shifted feature map: those into which the shift moves zeros. Period
 * 0 if the feature map is not small. */
sv_zero_groups sv_shift_zero_groups(const sv_shift_geometry *map);

/* Sets *memory to the bytes that three measuring arenas have taken. */
void sv_layer_memory_set(sv_layer_memory *memory, const sv_arena *saved, const sv_arena *workspace,
                         const sv_arena *worker);

#endif
