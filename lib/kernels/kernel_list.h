/* Every kernel, once: X(result, name, parameters). kernels.h makes the members of the table of this
 * list, each copy of the kernels its declarations and its table.
 *
 * norm.c: layer norm per token, y may be x, and group norm with one group per image; mean and rstd
 * are [tokens].
 * gelu.c: kept, and gelu_backward's a, may be NULL: not wanted.
 * softmax.c: kept is p where there is no mask.
 * epilogue.c: rows row.. and columns column.. of c[m, ldc]. */
#ifndef SV_KERNEL_LIST_H
#define SV_KERNEL_LIST_H

#define SV_KERNEL_LIST(X)                                                                          \
    X(void, layer_norm,                                                                            \
      (real * y, real * mean, real * rstd, const real *x, const real *weight, const real *bias,    \
       size_t tokens, size_t c, real eps))                                                         \
    X(void, norm_moments,                                                                          \
      (real * mean, real * rstd, const real *x, size_t tokens, size_t c, real eps))                \
    X(void, norm_apply,                                                                            \
      (real * y, const real *x, const real *mean, const real *rstd, const real *weight,            \
       const real *bias, size_t tokens, size_t c))                                                 \
    X(void, norm_backward_parameters,                                                              \
      (real * dweight, real * dbias, const real *dy, const real *x, const real *mean,              \
       const real *rstd, size_t tokens, size_t c))                                                 \
    X(void, layer_norm_backward,                                                                   \
      (real * dx, const real *dy, const real *x, const real *mean, const real *rstd,               \
       const real *weight, size_t tokens, size_t c))                                               \
    X(void, group_norm_backward,                                                                   \
      (real * dx, const real *dy, const real *x, const real *mean, const real *rstd,               \
       const real *weight, size_t tokens, size_t c))                                               \
    X(void, gelu, (real * a, real * kept, const real *u, sv_dropped dropped, sv_rows rows))        \
    X(void, gelu_backward, (real * a, real * du, const real *u, sv_dropped dropped, sv_rows rows)) \
    X(void, attention_softmax,                                                                     \
      (real * p, real * kept, real * scores, const sv_attention_rows *call))                       \
    X(void, attention_softmax_again,                                                               \
      (real * p, real * kept, const real *scores, const sv_attention_rows *call))                  \
    X(real, attention_softmax_backward,                                                            \
      (real * ds, const real *p, const real *kept, const real *dp, const real *scores,             \
       const sv_attention_rows *call))                                                             \
    X(void, attention_sum, (real * y, const real *x, const sv_head_sum *sum))                      \
    X(void, residual,                                                                              \
      (real * y, const real *x, const real *branch, sv_dropped dropped, const real *path,          \
       size_t image_tokens, sv_rows rows))                                                         \
    X(void, residual_backward,                                                                     \
      (real * dbranch, const real *dy, sv_dropped dropped, const real *path, size_t image_tokens,  \
       sv_rows rows))                                                                              \
    X(void, add_rows, (real * sum, const real *x, size_t rows, size_t c))                          \
    X(void, add, (real * y, const real *x, size_t elements))                                       \
    X(void, scale, (real * y, real factor, size_t elements))                                       \
    X(void, shift,                                                                                 \
      (real * y, const real *x, const sv_shift_geometry *map, size_t first_token, size_t tokens))  \
    X(void, shift_backward,                                                                        \
      (real * dx, const real *dy, const sv_shift_geometry *map, size_t first_token,                \
       size_t tokens))                                                                             \
    X(void, patch_gather,                                                                          \
      (real * y, const real *x, const sv_patch_geometry *map, size_t first_token, size_t tokens))  \
    X(void, patch_scatter,                                                                         \
      (real * dx, const real *dy, const sv_patch_geometry *map, size_t first_token,                \
       size_t tokens))                                                                             \
    X(void, shifted_patches,                                                                       \
      (real * y, const real *x, const sv_patch_geometry *map, int paper_order, size_t first_token, \
       size_t tokens))                                                                             \
    X(void, mean_tokens, (real * y, const real *x, size_t images, size_t tokens, size_t c))        \
    X(void, mean_tokens_backward,                                                                  \
      (real * dx, const real *dy, size_t images, size_t tokens, size_t c))                         \
    X(void, dropout_mask,                                                                          \
      (uint32_t * words, const sv_mask_source *source, size_t first_block, size_t blocks,          \
       size_t c))                                                                                  \
    X(void, finish,                                                                                \
      (real * c, size_t ldc, const sv_epilogue *epilogue, size_t row, size_t rows, size_t column,  \
       size_t columns))

#endif
