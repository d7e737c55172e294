/* Packing the right-hand side of a product by tiles, its numbers as they are or narrower. */
#include "gemm/tile/tile_panel_impl.h"
#include "kernels/transpose.h"

#include <math.h>

/* Bytes that a packed b[k,n] takes: every panel is a whole number of vectors wide. */
size_t SV_ISA(sv_tile_packed_b_bytes)(sv_packed_type type, size_t k, size_t n)
{
    return panel_bytes(type, k, (n + LANES - 1) / LANES * LANES);
}

/* to[LANES], zeros past `width`. */
SV_INLINE void pack_some(real *to, const real *from, size_t width)
{
    *(vreal *)to = v_load_some(from, width);
}

static void pack_rows(real *packed, const real *b, size_t row, size_t k, size_t width, size_t lanes)
{
    for (size_t p = 0; p < k; p++, b += row, packed += lanes)
        for (size_t v = 0; v < lanes; v += LANES)
            pack_some(packed + v, b + v, v < width ? width - v : 0);
}

/* A block of LANES columns that lie along memory is transposed in registers; its last rows, fewer
 * than LANES, are picked one by one. */
static void pack_columns(real *packed, const real *b, size_t column, size_t k, size_t width,
                         size_t lanes)
{
    size_t whole = k - k % LANES;
    for (size_t p = 0; p < whole; p += LANES) {
        vreal block[LANES];
        for (size_t i = 0; i < LANES; i++)
            block[i] = i < width ? v_load(b + i * column + p) : (vreal){0};
        v_transpose(block);
        for (size_t i = 0; i < LANES; i++)
            *(vreal *)(packed + (p + i) * lanes) = block[i];
    }
    for (size_t p = whole; p < k; p++)
        for (size_t i = 0; i < LANES; i++)
            packed[p * lanes + i] = i < width ? b[i * column + p] : 0;
}

/* A panel of b, or some rows of it: k rows of `width` columns. */
static void pack_panel(real *packed, const real *b, size_t row, size_t column, size_t k,
                       size_t width, size_t lanes)
{
    if (column == 1) {
        pack_rows(packed, b, row, k, width, lanes);
        return;
    }
    for (size_t i = 0; i < width; i += LANES)
        pack_columns(packed + i, b + i * column, column, k, width - i, lanes);
}

#ifndef SV_DOUBLE
/* As many rows as are packed before they are rounded. */
enum { ROUNDED_AT_ONCE = 4 * LANES };

/* What the numbers of each column are divided by: its largest becomes 127. Not finite where one of
 * them is not, and then the sums are not either. */
static void find_scales(real *scales, const real *b, size_t row, size_t column, size_t k,
                        size_t width, size_t lanes)
{
    for (size_t j = 0; j < lanes; j++) {
        real largest = 0;
        for (size_t p = 0; j < width && p < k; p++) {
            real size = fabsf(b[p * row + j * column]);
            largest = size > largest || isnan(size) ? size : largest;
        }
        scales[j] = largest / 127;
    }
}

static void round_to_int8(int8_t *to, const real *from, const real *scales, size_t rows,
                          size_t lanes)
{
    for (size_t p = 0; p < rows; p++)
        for (size_t j = 0; j < lanes; j++) {
            int divides = scales[j] > 0 && isfinite(scales[j]);
            to[p * lanes + j] = (int8_t)(divides ? rintf(from[p * lanes + j] / scales[j]) : 0);
        }
}

/* Rows in pairs; the last one of an odd number with zeros. */
static void round_to_bf16_pairs(char *to, const real *from, size_t rows, size_t lanes)
{
    for (size_t p = 0; p < rows; p += 2, from += 2 * lanes)
        for (size_t j = 0; j < lanes; j += LANES, to += SV_VECTOR_BYTES) {
            vreal second = p + 1 < rows ? v_load(from + lanes + j) : (vreal){0};
            v_store_pair(to, v_load(from + j), second);
        }
}

/* A panel of numbers at their full width, rounded. */
static void pack_rounded(real *packed, const real *b, size_t row, size_t column, size_t k,
                         size_t width, size_t lanes)
{
    pack_panel(packed, b, row, column, k, width, lanes);
    for (size_t i = 0; i < k * lanes; i += LANES)
        v_store(packed + i, v_round_bf16(v_load(packed + i)));
}

/* A panel in numbers of two bytes, or one. */
static void pack_narrow(char *packed, sv_packed_type type, const real *b, size_t row, size_t column,
                        size_t k, size_t width, size_t lanes)
{
    real rows[ROUNDED_AT_ONCE * MOST_VECTORS * LANES] __attribute__((aligned(64)));
    real *scales = (real *)(void *)packed;
    if (type == SV_PACKED_INT8) {
        find_scales(scales, b, row, column, k, width, lanes);
        packed += lanes * sizeof(real);
    }
    for (size_t p = 0; p < k; p += ROUNDED_AT_ONCE) {
        size_t here = k - p < ROUNDED_AT_ONCE ? k - p : ROUNDED_AT_ONCE;
        char *to = packed + p * lanes * element_bytes(type);
        pack_panel(rows, b + p * row, row, column, here, width, lanes);
        if (type == SV_PACKED_INT8)
            round_to_int8((int8_t *)to, rows, scales, here, lanes);
        else
            round_to_bf16_pairs(to, rows, here, lanes);
    }
}
#endif

/* packed = the panels of b[k,n], element (p, j) at b[p * row + j * column], one of row and column
 * being 1; one after another, each [k, its width], zeros where the last vector is not full. */
void SV_ISA(sv_tile_pack_b)(void *packed, sv_packed_type type, const real *b, size_t row,
                            size_t column, size_t k, size_t n)
{
    char *to = packed;
    for (size_t j = 0, lanes; j < n; j += lanes, to += panel_bytes(type, k, lanes)) {
        lanes = panel_vectors(n - j) * LANES;
        size_t width = n - j < lanes ? n - j : lanes;
        const real *from = b + j * column;
#ifndef SV_DOUBLE
        if (type == SV_PACKED_F32_ROUNDED) {
            pack_rounded((real *)(void *)to, from, row, column, k, width, lanes);
            continue;
        }
        if (type != SV_PACKED_F32) {
            pack_narrow(to, type, from, row, column, k, width, lanes);
            continue;
        }
#endif
        pack_panel((real *)(void *)to, from, row, column, k, width, lanes);
    }
}
