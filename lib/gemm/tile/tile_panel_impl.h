/* The layout of packed B: micropanels one after another, each [k, NR] with NR a few vectors. A
 * column past n holds zeros. bf16 micropanels hold two steps of k in one lane, so that each of them
 * is widened by one instruction. */
#ifndef SV_TILE_PANEL_IMPL_H
#define SV_TILE_PANEL_IMPL_H

#include "gemm/tile/tile_kernels.h"
#include "kernels/local.h"

/* AVX-512 and NEON have 32 vector registers, AVX2 and SSE2 have 16. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define SV_32_REGISTERS
#endif

/* The vectors of the widest micropanel. */
enum {
#if defined(SV_32_REGISTERS)
    MAX_VECTORS = 4
#else
    MAX_VECTORS = 3
#endif
};

/* Bytes of one element of packed B; of a lane, where elements are interleaved for dot products. */
SV_INLINE size_t element_bytes(sv_packed_type type)
{
    return type == SV_PACKED_BF16 || type == SV_PACKED_INT8X2 ? 2 : sizeof(real);
}

/* The vectors of the next micropanel, where `columns` are left: three, and at the end what avoids a
 * micropanel of one vector, whose loads outnumber its multiply-adds. */
SV_INLINE size_t panel_vectors(size_t columns)
{
    size_t vectors = (columns + LANES - 1) / LANES;
    if (MAX_VECTORS == 4)
        return vectors == 4 || vectors == 8 ? 4 : vectors < 3 ? vectors : 3;
/* Two leave registers for the products, which are added on their own; in WebAssembly for more
 * rows. */
#if defined(SV_INTEGER_SUMS) || defined(__wasm_simd128__)
    return vectors == 3 || vectors < 2 ? vectors : 2;
#endif
    return vectors == 4 ? 2 : vectors < 3 ? vectors : 3;
}

/* Rows of A and columns of B that meet in one instruction: two for matrix products. */
SV_INLINE size_t rows_together(sv_packed_type type)
{
    return type == SV_PACKED_INT8X8 || type == SV_PACKED_BF16X4 ? 2 : 1;
}

/* Steps of k that lie together in a column of a micropanel: two in bf16, which share a lane and are
 * widened one after the other; a last odd step is paired with zeros. A lane of bf16x2 or int8x4
 * counts as one step; two of them lie together for matrix products. */
SV_INLINE size_t steps_interleaved(sv_packed_type type)
{
    return type == SV_PACKED_BF16 ? 2 : rows_together(type);
}

/* Bytes of one vector of a micropanel, with all steps of k that it interleaves. */
SV_INLINE size_t vector_bytes(const sv_packed_type type)
{
    return LANES * element_bytes(type) * steps_interleaved(type);
}

/* Bytes of `columns` columns of packed B. */
SV_INLINE size_t panel_bytes(sv_packed_type type, size_t k, size_t columns)
{
    const size_t together = steps_interleaved(type),
                 rows = (k + together - 1) / together * together;
    return columns * rows * element_bytes(type);
}

size_t SV_ISA(sv_tile_packed_b_bytes)(sv_packed_type type, size_t k, size_t n);
void SV_ISA(sv_tile_pack_b)(void *packed, sv_packed_type type, const real *b, size_t row_stride,
                            size_t column_stride, size_t k, size_t n);
void SV_ISA(sv_tile_matmul)(const sv_tile_matmul *matmul, sv_packed_type type, size_t m,
                            size_t first, size_t count);

#endif
