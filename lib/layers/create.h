/* Helpers of the layers' creators. */
#ifndef SV_LAYER_CREATE_H
#define SV_LAYER_CREATE_H

#include "layers/layers.h"
#include "layers/linear/linear.h"

/* Allocates a struct of `bytes` zero bytes whose first member is an sv_layer, and sets its ops.
 * NULL is SVIT_E_MEMORY. */
void *sv_layer_new(const sv_layer_source *source, size_t bytes, const sv_layer_ops *ops);

/* The offset of the parameter named source->prefix, name and suffix, which exists. The layer notes
 * which parameters it has, and whether one of them is trainable. */
size_t sv_layer_parameter(sv_layer *layer, const sv_layer_source *source, const char *name,
                          const char *suffix);

/* The same; SV_NO_PARAMETER if the table has no such parameter or `name` is NULL. */
size_t sv_layer_parameter_if(sv_layer *layer, const sv_layer_source *source, const char *name,
                             const char *suffix);

/* Initialises `linear` with the parameters `name`.weight [out, in] and `name`.bias [out], of which
 * the table may lack the bias. */
void sv_layer_linear(sv_layer *layer, sv_linear *linear, const sv_layer_source *source,
                     const char *name, size_t out, size_t in);

/* The geometry of a shift over a feature map of `shape`. */
static inline sv_shift_geometry sv_shift_geometry_of(const sv_shift_options *shift, sv_shape shape)
{
    return (sv_shift_geometry){shape.height,          shape.width,   shape.channels,
                               shift->group_channels, shift->pixels, shift->crop};
}

/* The zero channel groups of a shifted feature map: those into which the shift moves zeros. Period
 * 0 if nothing is shifted or the feature map is not small. */
sv_zero_groups sv_shift_zero_groups(const sv_shift_geometry *map);

/* Sets *memory to the bytes that three measuring arenas have taken. */
void sv_layer_memory_set(sv_layer_memory *memory, const sv_arena *saved, const sv_arena *workspace,
                         const sv_arena *worker);

#endif
