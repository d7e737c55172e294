/* What every kernel file includes: the vectors, the table's types, and this copy's names. */
#ifndef SV_KERNELS_LOCAL_H
#define SV_KERNELS_LOCAL_H

#include "kernels/isa.h"
#include "kernels/kernels.h"
#include "kernels/simd.h"

/* The words of a token's row, a bit of each of which is its own; NULL without dropout. */
SV_INLINE const uint32_t *mask_words(sv_dropped dropped, size_t token, size_t stride)
{
    return dropped.mask ? dropped.mask + token / 32 * stride : NULL;
}

/* Channels that are a vector or two, or a part of one: a call of memcpy for each would take longer
 * than the copy. */
SV_INLINE void copy_or_clear(real *y, const real *x, int keep, size_t channels)
{
    for (size_t i = 0; i < channels; i += LANES) {
        size_t some = channels - i;
        v_store_some(y + i, keep ? v_load_some(x + i, some) : (vreal){0}, some);
    }
}

void SV_ISA(sv_layer_norm)(real *y, real *mean, real *rstd, const real *x, const real *weight,
                           const real *bias, size_t tokens, size_t c, real eps);
void SV_ISA(sv_norm_moments)(real *mean, real *rstd, const real *x, size_t tokens, size_t c,
                             real eps);
void SV_ISA(sv_norm_apply)(real *y, const real *x, const real *mean, const real *rstd,
                           const real *weight, const real *bias, size_t tokens, size_t c);
void SV_ISA(sv_norm_backward_parameters)(real *dweight, real *dbias, const real *dy, const real *x,
                                         const real *mean, const real *rstd, size_t tokens,
                                         size_t c);
void SV_ISA(sv_layer_norm_backward)(real *dx, const real *dy, const real *x, const real *mean,
                                    const real *rstd, const real *weight, size_t tokens, size_t c);
void SV_ISA(sv_group_norm_backward)(real *dx, const real *dy, const real *x, const real *mean,
                                    const real *rstd, const real *weight, size_t tokens, size_t c);
void SV_ISA(sv_gelu)(real *a, real *kept, const real *u, sv_dropped dropped, sv_rows rows);
void SV_ISA(sv_gelu_backward)(real *a, real *du, const real *u, sv_dropped dropped, sv_rows rows);
void SV_ISA(sv_attention_softmax)(real *p, real *kept, real *scores, const sv_attention_rows *call);
void SV_ISA(sv_attention_softmax_again)(real *p, real *kept, const real *scores,
                                        const sv_attention_rows *call);
real SV_ISA(sv_attention_softmax_backward)(real *ds, const real *p, const real *kept,
                                           const real *dp, const real *scores,
                                           const sv_attention_rows *call);
void SV_ISA(sv_attention_sum)(real *y, const real *x, const sv_head_sum *sum);
void SV_ISA(sv_residual)(real *y, const real *x, const real *branch, sv_dropped dropped,
                         const real *path, size_t image_tokens, sv_rows rows);
void SV_ISA(sv_residual_backward)(real *dbranch, const real *dy, sv_dropped dropped,
                                  const real *path, size_t image_tokens, sv_rows rows);
void SV_ISA(sv_add_rows)(real *sum, const real *x, size_t rows, size_t c);
void SV_ISA(sv_add)(real *y, const real *x, size_t elements);
void SV_ISA(sv_scale)(real *y, real factor, size_t elements);
void SV_ISA(sv_shift)(real *y, const real *x, const sv_shift_map *map, size_t first_token,
                      size_t tokens);
void SV_ISA(sv_shift_backward)(real *dx, const real *dy, const sv_shift_map *map,
                               size_t first_token, size_t tokens);
void SV_ISA(sv_patch_gather)(real *y, const real *x, const sv_patch_map *map, size_t first_token,
                             size_t tokens);
void SV_ISA(sv_patch_scatter)(real *dx, const real *dy, const sv_patch_map *map, size_t first_token,
                              size_t tokens);
void SV_ISA(sv_shifted_patches)(real *y, const real *x, const sv_patch_map *map, int paper_order,
                                size_t first_token, size_t tokens);
void SV_ISA(sv_mean_tokens)(real *y, const real *x, size_t images, size_t tokens, size_t c);
void SV_ISA(sv_mean_tokens_backward)(real *dx, const real *dy, size_t images, size_t tokens,
                                     size_t c);
void SV_ISA(sv_dropout_mask)(uint32_t *words, const sv_mask_source *source, size_t first_block,
                             size_t blocks, size_t c);
void SV_ISA(sv_finish)(real *c, size_t ldc, const sv_epilogue *epilogue, size_t row, size_t rows,
                       size_t column, size_t columns);
size_t SV_ISA(sv_tile_packed_bytes)(sv_number_type type, size_t k, size_t n);
void SV_ISA(sv_tile_pack)(void *packed, sv_number_type type, const real *b, size_t row,
                          size_t column, size_t k, size_t n);
void SV_ISA(sv_tile_multiply)(const sv_tile_product *product, sv_number_type type, size_t m,
                              size_t first, size_t count);

#endif
