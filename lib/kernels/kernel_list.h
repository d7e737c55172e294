/* Every kernel, once: X(result, name, parameters). kernels.h generates the members of the table
 * from this list, and each instruction set its declarations and its table. The formulas stand above
 * the kernels in their files. */
#ifndef SV_KERNEL_LIST_H
#define SV_KERNEL_LIST_H

#define SV_KERNEL_LIST(X)                                                                          \
    /* norm.c: layer norm of each token; mean and rstd are [tokens]; y may be x. Without a bias \
     * here and below: root-mean-square norm, whose mean is 0. */  \
    X(void, layer_norm,                                                                            \
      (real * y, real * mean, real * rstd, const real *x, const real *weight, const real *bias,    \
       size_t tokens, size_t c, real eps))                                                         \
    /* norm.c: group norm with one group, of one image in two steps: moments and application. */   \
    X(void, norm_moments,                                                                          \
      (real * mean, real * rstd, const real *x, size_t tokens, size_t c, real eps))                \
    X(void, norm_apply,                                                                            \
      (real * y, const real *x, const real *mean, const real *rstd, const real *weight,            \
       const real *bias, size_t tokens, size_t c))                                                 \
    /* norm.c: the gradients of weight and bias, for both norms. */                                \
    X(void, norm_backward_parameters,                                                              \
      (real * dweight, real * dbias, const real *dy, const real *x, const real *mean,              \
       const real *rstd, size_t tokens, size_t c))                                                 \
    /* norm.c: the gradient of x; dx may be dy. */                                                 \
    X(void, layer_norm_backward,                                                                   \
      (real * dx, const real *dy, const real *x, const real *mean, const real *rstd,               \
       const real *weight, size_t tokens, size_t c))                                               \
    X(void, rms_norm_backward,                                                                     \
      (real * dx, const real *dy, const real *x, const real *mean, const real *rstd,               \
       const real *weight, size_t tokens, size_t c))                                               \
    X(void, group_norm_backward,                                                                   \
      (real * dx, const real *dy, const real *x, const real *mean, const real *rstd,               \
       const real *weight, size_t tokens, size_t c))                                               \
    /* gelu.c: GELU and dropout; saved_x, or y of the backward, may be NULL. */                    \
    X(void, gelu, (real * y, real * saved_x, const real *x, sv_dropout dropout, sv_rows rows))     \
    X(void, gelu_backward, (real * y, real * dx, const real *x, sv_dropout dropout, sv_rows rows)) \
    /* sigmoid_gate.c: x sigmoid(a x + b x^3) and dropout; saved_x, or y of the backward, may be \
     * NULL. SwiGLU of x[tokens, 2 m]; y of its backward holds the gradient on entry. */ \
    X(void, sigmoid_gate,                                                                          \
      (real * y, real * saved_x, const real *x, sv_sigmoid_gate gate, sv_dropout dropout,          \
       sv_rows rows))                                                                              \
    X(void, sigmoid_gate_backward,                                                                 \
      (real * y, real * dx, const real *x, sv_sigmoid_gate gate, sv_dropout dropout,               \
       sv_rows rows))                                                                              \
    X(void, swiglu, (real * y, const real *x, sv_dropout dropout, sv_rows rows))                   \
    X(void, swiglu_backward,                                                                       \
      (real * y, real * dx, const real *x, sv_dropout dropout, sv_rows rows))                      \
    /* softmax.c: p is the softmax, dropped is p after dropout, and is p where there is none. */   \
    X(void, attention_softmax,                                                                     \
      (real * p, real * dropped, real * scores, const sv_attention_rows *block))                   \
    X(void, attention_softmax_recompute,                                                           \
      (real * p, real * dropped, const real *scores, const sv_attention_rows *block))              \
    X(real, attention_softmax_backward,                                                            \
      (real * dscores, const real *p, const real *dropped, const real *dp, const real *scores,     \
       const sv_attention_rows *block))                                                            \
    /* softmax.c: y = x + the sum over the heads (sv_head_sum). */                                 \
    X(void, attention_sum, (real * y, const real *x, const sv_head_sum *sum))                      \
    /* rotary.c: rotates the queries and keys of an image in place. */                             \
    X(void, rotary, (real * q, const sv_rotary *rotary))                                           \
    /* The gradients of the frequencies, [heads, pairs] each, from rotated queries and keys. */    \
    X(void, rotary_frequencies,                                                                    \
      (real * drows, real * dcolumns, const real *dq, const real *q, const sv_rotary *rotary))     \
    /* residual.c: dropout, DropPath and residual; drop_path_scale is [images] or NULL. */         \
    X(void, residual,                                                                              \
      (real * y, const real *x, const real *branch, sv_dropout dropout,                            \
       const real *drop_path_scale, size_t image_tokens, sv_rows rows))                            \
    X(void, residual_backward,                                                                     \
      (real * dbranch, const real *dy, sv_dropout dropout, const real *drop_path_scale,            \
       size_t image_tokens, sv_rows rows))                                                         \
    /* residual.c: sum[c] += column sums of x[rows, c]; y += x; y *= factor; y -= factor x. */     \
    X(void, add_rows, (real * sum, const real *x, size_t rows, size_t c))                          \
    X(void, add, (real * y, const real *x, size_t elements))                                       \
    X(void, scale, (real * y, real factor, size_t elements))                                       \
    X(void, subtract_scaled, (real * y, const real *x, real factor, size_t elements))              \
    /* distance.c: dot products and squares of distances of x[c] and the rows of a[rows, c]. */    \
    X(void, dots, (real * out, const real *x, const real *a, size_t rows, size_t c))               \
    X(void, square_distances, (real * out, const real *x, const real *a, size_t rows, size_t c))   \
    /* shift.c: tokens first_token.. of a batch; y is [tokens, c], x the whole batch. */           \
    X(void, shift,                                                                                 \
      (real * y, const real *x, const sv_shift_geometry *shift, size_t first_token,                \
       size_t tokens))                                                                             \
    X(void, shift_backward,                                                                        \
      (real * dx, const real *dy, const sv_shift_geometry *shift, size_t first_token,              \
       size_t tokens))                                                                             \
    /* depthwise.c: 3 x 3 taps of one image; weight and dweight are [9, c], bias may be NULL. */   \
    X(void, depthwise,                                                                             \
      (real * y, const real *x, const real *weight, const real *bias,                              \
       const sv_depthwise_geometry *map))                                                          \
    X(void, depthwise_weight_gradient,                                                             \
      (real * dweight, const real *dy, const real *x, const sv_depthwise_geometry *map))           \
    /* transpose.c: y[columns, rows] = x[rows, columns]^T */                                       \
    X(void, transpose, (real * y, const real *x, size_t rows, size_t columns))                     \
    /* im2col.c: patches as rows of a matrix, tokens first_token.. of a batch. */                  \
    X(void, patch_gather,                                                                          \
      (real * y, const real *x, const sv_patch_geometry *patches, size_t first_token,              \
       size_t tokens))                                                                             \
    X(void, patch_scatter,                                                                         \
      (real * dx, const real *dy, const sv_patch_geometry *patches, size_t first_token,            \
       size_t tokens))                                                                             \
    X(void, patch_scatter_add,                                                                     \
      (real * dx, const real *dy, const sv_patch_geometry *patches, size_t first_token,            \
       size_t tokens))                                                                             \
    X(void, shifted_patches,                                                                       \
      (real * y, const real *x, const sv_patch_geometry *patches, int paper_order,                 \
       size_t first_token, size_t tokens))                                                         \
    X(void, shifted_patches_add,                                                                   \
      (real * dx, const real *dy, const sv_patch_geometry *patches, int paper_order,               \
       size_t first_token, size_t tokens))                                                         \
    /* reduce.c: y[images, c] = mean over the tokens of x[images, tokens, c]. */                   \
    X(void, mean_tokens, (real * y, const real *x, size_t images, size_t tokens, size_t c))        \
    X(void, mean_tokens_backward,                                                                  \
      (real * dx, const real *dy, size_t images, size_t tokens, size_t c))                         \
    /* dropout.c: words[blocks, c] of a dropout mask, from block first_block on. */                \
    X(void, dropout_mask,                                                                          \
      (uint32_t * words, const sv_mask_source *source, size_t first_block, size_t blocks,          \
       size_t c))                                                                                  \
    /* epilogue.c: rows row.. and columns column.. of c[m, ldc]. */                                \
    X(void, apply_epilogue,                                                                        \
      (real * c, size_t ldc, const sv_epilogue *epilogue, size_t row, size_t rows, size_t column,  \
       size_t columns))

#endif
