/* The list of the tile backend's kernels for one instruction set. */
#include "gemm/tile/tile_panel_impl.h"

extern const sv_tile_kernels SV_ISA(sv_tile_kernels);

const sv_tile_kernels SV_ISA(sv_tile_kernels) = {
    .packed_b_bytes = SV_ISA(sv_tile_packed_b_bytes),
    .pack_b = SV_ISA(sv_tile_pack_b),
    .matmul = SV_ISA(sv_tile_matmul),
};
