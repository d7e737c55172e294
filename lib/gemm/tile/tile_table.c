/* This instruction set's table of the tile backend. */
#include "gemm/tile/tile_panel.h"

extern const sv_tile_kernels SV_ISA(sv_tile_kernels);

const sv_tile_kernels SV_ISA(sv_tile_kernels) = {
    .packed_b_bytes = SV_ISA(sv_tile_packed_bytes),
    .pack = SV_ISA(sv_tile_pack),
    .multiply = SV_ISA(sv_tile_multiply),
};
