/* Packs B of the tile backend into micropanels, in each storage type: tile_panel_impl.h. */
#include "gemm/tile/tile_panel_impl.h"
#include "kernels/transpose.h"

/* Each micropanel is a whole number of vectors wide. */
size_t SV_ISA(sv_tile_packed_b_bytes)(sv_packed_type type, size_t k, size_t n)
{
    return panel_bytes(type, k, (n + LANES - 1) / LANES * LANES);
}

/* to[LANES] = from[LANES], 0 from `width` on */
SV_INLINE void pack_vector(real *to, const real *from, size_t width)
{
    *(vreal *)to = v_load_some(from, width);
}

/* packed[k, lanes] = b[k, width], rows of b contiguous */
static void pack_rows(real *packed, const real *b, size_t row_stride, size_t k, size_t width,
                      size_t lanes)
{
    for (size_t p = 0; p < k; p++, b += row_stride, packed += lanes)
        for (size_t v = 0; v < lanes; v += LANES)
            pack_vector(packed + v, b + v, v < width ? width - v : 0);
}

/* packed[k, LANES] = b[k, width], columns of b contiguous and rows of packed `lanes` apart. Blocks
 * of LANES x LANES are transposed in registers; the last k % LANES rows are copied one by one. */
static void pack_columns(real *packed, const real *b, size_t column_stride, size_t k, size_t width,
                         size_t lanes)
{
    size_t whole = k - k % LANES;
    for (size_t p = 0; p < whole; p += LANES) {
        vreal block[LANES];
        for (size_t i = 0; i < LANES; i++)
            block[i] = i < width ? v_load(b + i * column_stride + p) : (vreal){0};
        v_transpose(block);
        for (size_t i = 0; i < LANES; i++)
            *(vreal *)(packed + (p + i) * lanes) = block[i];
    }
    for (size_t p = whole; p < k; p++)
        for (size_t i = 0; i < LANES; i++)
            packed[p * lanes + i] = i < width ? b[i * column_stride + p] : 0;
}

/* packed[k, lanes] = b[k, width]: a micropanel, or some rows of one. */
static void pack_panel(real *packed, const real *b, size_t row_stride, size_t column_stride,
                       size_t k, size_t width, size_t lanes)
{
    if (column_stride == 1) {
        pack_rows(packed, b, row_stride, k, width, lanes);
        return;
    }
    for (size_t i = 0; i < width; i += LANES)
        pack_columns(packed + i, b + i * column_stride, column_stride, k, width - i, lanes);
}

#ifdef SV_LOW_PRECISION
/* Rows that are packed in float32 before they are rounded to bfloat16. */
enum { ROUNDED_ROWS = 4 * LANES };

/* to[rows / 2, lanes, 2] = bfloat16 of from[rows, lanes]: two rows share a lane. A last odd row
 * shares it with zeros. */
static void round_to_bf16(char *to, const real *from, size_t rows, size_t lanes)
{
    for (size_t p = 0; p < rows; p += 2, from += 2 * lanes)
        for (size_t j = 0; j < lanes; j += LANES, to += SV_VECTOR_BYTES) {
            vreal second = p + 1 < rows ? v_load(from + lanes + j) : (vreal){0};
            v_store_pair(to, v_load(from + j), second);
        }
}

/* SV_PACKED_F32_ROUNDED: a micropanel in float32, rounded to bfloat16 in place. */
static void pack_rounded(real *packed, const real *b, size_t row_stride, size_t column_stride,
                         size_t k, size_t width, size_t lanes)
{
    pack_panel(packed, b, row_stride, column_stride, k, width, lanes);
    for (size_t i = 0; i < k * lanes; i += LANES)
        v_store(packed + i, v_round_bf16(v_load(packed + i)));
}

/* A micropanel in bfloat16, ROUNDED_ROWS rows at a time. */
static void pack_bf16(char *packed, const real *b, size_t row_stride, size_t column_stride,
                      size_t k, size_t width, size_t lanes)
{
    real rows[ROUNDED_ROWS * MAX_VECTORS * LANES] __attribute__((aligned(64)));
    for (size_t p = 0; p < k; p += ROUNDED_ROWS) {
        size_t count = k - p < ROUNDED_ROWS ? k - p : ROUNDED_ROWS;
        char *to = packed + p * lanes * element_bytes(SV_PACKED_BF16);
        pack_panel(rows, b + p * row_stride, row_stride, column_stride, count, width, lanes);
        round_to_bf16(to, rows, count, lanes);
    }
}
#endif

/* packed = the micropanels of b[k, n], one after another. */
void SV_ISA(sv_tile_pack_b)(void *packed, sv_packed_type type, const real *b, size_t row_stride,
                            size_t column_stride, size_t k, size_t n)
{
    char *to = packed;
    for (size_t j = 0, lanes; j < n; j += lanes, to += panel_bytes(type, k, lanes)) {
        lanes = panel_vectors(n - j) * LANES;
        size_t width = n - j < lanes ? n - j : lanes;
        const real *from = b + j * column_stride;
#ifdef SV_LOW_PRECISION
        if (type == SV_PACKED_F32_ROUNDED) {
            pack_rounded((real *)(void *)to, from, row_stride, column_stride, k, width, lanes);
            continue;
        }
        if (type != SV_PACKED_F32) {
            pack_bf16(to, from, row_stride, column_stride, k, width, lanes);
            continue;
        }
#endif
        pack_panel((real *)(void *)to, from, row_stride, column_stride, k, width, lanes);
    }
}
