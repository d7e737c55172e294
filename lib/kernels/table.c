/* This instruction set's table. */
#include "kernels/local.h"

extern const sv_kernels SV_ISA(sv_kernels);

const sv_kernels SV_ISA(sv_kernels) = {
#if defined(__AVX512F__)
    .isa = SV_ISA_AVX512,
#elif defined(__AVX2__)
    .isa = SV_ISA_AVX2,
#else
    .isa = SV_ISA_BASELINE,
#endif
    .layer_norm = SV_ISA(sv_layer_norm),
    .norm_moments = SV_ISA(sv_norm_moments),
    .norm_apply = SV_ISA(sv_norm_apply),
    .norm_backward_parameters = SV_ISA(sv_norm_backward_parameters),
    .layer_norm_backward = SV_ISA(sv_layer_norm_backward),
    .group_norm_backward = SV_ISA(sv_group_norm_backward),
    .gelu = SV_ISA(sv_gelu),
    .gelu_backward = SV_ISA(sv_gelu_backward),
    .attention_softmax = SV_ISA(sv_attention_softmax),
    .attention_softmax_again = SV_ISA(sv_attention_softmax_again),
    .attention_sum = SV_ISA(sv_attention_sum),
    .attention_softmax_backward = SV_ISA(sv_attention_softmax_backward),
    .residual = SV_ISA(sv_residual),
    .residual_backward = SV_ISA(sv_residual_backward),
    .add_rows = SV_ISA(sv_add_rows),
    .add = SV_ISA(sv_add),
    .scale = SV_ISA(sv_scale),
    .shift = SV_ISA(sv_shift),
    .shift_backward = SV_ISA(sv_shift_backward),
    .patch_gather = SV_ISA(sv_patch_gather),
    .patch_scatter = SV_ISA(sv_patch_scatter),
    .shifted_patches = SV_ISA(sv_shifted_patches),
    .mean_tokens = SV_ISA(sv_mean_tokens),
    .mean_tokens_backward = SV_ISA(sv_mean_tokens_backward),
    .dropout_mask = SV_ISA(sv_dropout_mask),
    .finish = SV_ISA(sv_finish),
    .tile_packed_bytes = SV_ISA(sv_tile_packed_bytes),
    .tile_pack = SV_ISA(sv_tile_pack),
    .tile_multiply = SV_ISA(sv_tile_multiply),
};
