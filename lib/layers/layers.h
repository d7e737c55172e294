/* The layers that models are lists of. Each creator allocates its layer from the context;
 * parameters are found by name in the model's table. */
#ifndef SV_LAYERS_H
#define SV_LAYERS_H

#include "autograd/layer.h"
#include "autograd/parameter.h"
#include "kernels/kernels.h"

/* y = norm(x) over each token (layer) or each image (group): parameters `name`.weight, .bias. */
typedef struct sv_norm_options {
    sv_map map;
    const char *name;
    int group; /* 1: one group over height, width, channels */
    double eps;
} sv_norm_options;
svit_status sv_norm_create(sv_layer **out, svit_context *context, const sv_parameter_table *table,
                           const sv_norm_options *options, svit_error *err);

/* A convolution whose kernel is its stride, as patches times a weight: `name`.weight, and
 * `name`.bias where there is one. */
typedef struct sv_patch_options {
    sv_map in;
    size_t size, channels_out;
    int same_padding;
    const char *name;
} sv_patch_options;
svit_status sv_patch_create(sv_layer **out, svit_context *context, const sv_parameter_table *table,
                            const sv_patch_options *options, svit_error *err);

/* A ShiftViT block: x = shift(x); y = x + droppath(mlp(norm(x))). Parameters `name`.norm2,
 * .mlp.fc1, .mlp.fc2. */
typedef struct sv_shift_options {
    sv_map map;
    size_t hidden, group, pixels;
    int crop;       /* SVIT_SHIFT_KERAS */
    int group_norm; /* as sv_norm_options.group */
    double eps, dropout, drop_path;
    const char *name;
} sv_shift_options;
svit_status sv_shift_block_create(sv_layer **out, svit_context *context,
                                  const sv_parameter_table *table, const sv_shift_options *options,
                                  svit_error *err);

/* y[n, c] = the mean of x[n, h, w, c] over its tokens. */
svit_status sv_mean_create(sv_layer **out, svit_context *context, sv_map in, svit_error *err);

/* y = x W^T + b on every token: `name`.weight, .bias. */
svit_status sv_dense_create(sv_layer **out, svit_context *context, const sv_parameter_table *table,
                            sv_map in, size_t channels_out, const char *name, svit_error *err);

/* Frees any of them; NULL allowed. */
void sv_layer_free(svit_context *context, sv_layer *layer);

#endif
