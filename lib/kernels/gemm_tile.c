/* The library's own tiles as providers: a packed right-hand side keeps its numbers as they are, or
 * narrower. */
#include "kernels/gemm.h"

static void multiply_as(sv_number_type type, const sv_kernels *kernels, const sv_output *c,
                        const sv_left *a, const sv_operand *b, size_t m, size_t first, size_t count)
{
    sv_tile_product product = {c->c,   c->ldc,    c->accumulate, c->bias, a->a,
                               a->row, a->column, b->packed,     b->k};
    kernels->tile_multiply(&product, type, m, first, count);
}

#define TILE_PROVIDER(symbol, text, type)                                                          \
    static size_t symbol##_bytes(const sv_kernels *kernels, size_t k, size_t n)                    \
    {                                                                                              \
        return kernels->tile_packed_bytes(type, k, n);                                             \
    }                                                                                              \
    static void symbol##_pack(const sv_kernels *kernels, const sv_operand *b)                      \
    {                                                                                              \
        kernels->tile_pack(b->packed, type, b->b, b->row, b->column, b->k, b->n);                  \
    }                                                                                              \
    static void symbol##_multiply(const sv_kernels *kernels, const sv_output *c, const sv_left *a, \
                                  const sv_operand *b, size_t m, size_t first, size_t count)       \
    {                                                                                              \
        multiply_as(type, kernels, c, a, b, m, first, count);                                      \
    }                                                                                              \
    const sv_gemm symbol = {text, symbol##_bytes, symbol##_pack, symbol##_multiply, &sv_gemm_tile}

TILE_PROVIDER(sv_gemm_tile, "tile", SV_NUMBER_REAL);
#ifndef SV_DOUBLE
TILE_PROVIDER(sv_gemm_tile_bf16, "tile-bf16", SV_NUMBER_BF16);
TILE_PROVIDER(sv_gemm_tile_int8, "tile-int8", SV_NUMBER_INT8);
#endif
