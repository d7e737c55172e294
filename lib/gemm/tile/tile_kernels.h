/* The kernels of the tile backend, compiled once per instruction set like those of
 * kernels/kernels.h. */
#ifndef SV_TILE_KERNELS_H
#define SV_TILE_KERNELS_H

#include "kernels/kernels.h"

/* The storage type of packed B. */
typedef enum sv_packed_type {
    SV_PACKED_F32,         /* real: double in the build that checks gradients */
    SV_PACKED_BF16,        /* bfloat16, widened to float32 in registers */
    SV_PACKED_F32_ROUNDED, /* float32 rounded to bfloat16: the bits of SV_PACKED_BF16, twice the
                              bytes, and no widening where many rows meet a micropanel */

    /* Interleaved for dot products (gemm/low_precision/): */
    SV_PACKED_BF16X2,        /* two steps of k in bfloat16 per lane */
    SV_PACKED_INT8X4,        /* four steps of k in int8 per lane; A is uint8 */
    SV_PACKED_INT8X4_SIGNED, /* the same; A is int8 */
    SV_PACKED_INT8X2,        /* two steps of k in int8 per lane, widened to int16; A is int16 */

    /* Interleaved for matrix products of 64-bit Arm: a column's two lanes lie together, and so do
     * those of two rows of A (tile_matrix_impl.h). */
    SV_PACKED_INT8X8, /* eight steps of k in int8 */
    SV_PACKED_BF16X4  /* four steps of k in bfloat16 */
} sv_packed_type;

/* c[m, n] = bias[n] + a[m, k] b[k, n], or c[m, n] += a[m, k] b[k, n], and then the epilogue. */
typedef struct sv_tile_matmul {
    real *c;
    size_t ldc;
    int accumulate;   /* 1: add to C, without `bias` */
    const real *bias; /* NULL: 0 */
    const real *a;    /* element (i, p) at a[i * row_stride + p * column_stride] */
    size_t row_stride, column_stride;
    const void *packed; /* packed B */
    size_t k;
    const sv_epilogue *epilogue; /* NULL: none */
    bool interleaved_prefetch;   /* of packed B with a small M; else sequential */
} sv_tile_matmul;

typedef struct sv_tile_kernels {
    /* Bytes of packed B for b[k, n]. */
    size_t (*packed_b_bytes)(sv_packed_type type, size_t k, size_t n);

    /* Packs b[k, n] with element (p, j) at b[p * row_stride + j * column_stride]. One of the two
     * strides is 1. */
    void (*pack_b)(void *packed, sv_packed_type type, const real *b, size_t row_stride,
                   size_t column_stride, size_t k, size_t n);

    /* Computes columns first..first+count-1 of c[m, n]. */
    void (*matmul)(const sv_tile_matmul *matmul, sv_packed_type type, size_t m, size_t first,
                   size_t count);
} sv_tile_kernels;

/* The tile kernels of the same instruction set as `kernels`. */
const sv_tile_kernels *sv_tile_kernels_of(const sv_kernels *kernels);

#endif
