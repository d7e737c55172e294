/* The AMX backends of bfloat16 and of float32, whose elements are three bfloat16 terms each. The
 * tile multiply unit and the vector units work at the same time: while one row block is multiplied,
 * the three terms of the next one are packed. */
#include "gemm/amx/amx_bf16_backend_impl.h"
#include "gemm/amx/amx_impl.h"

SV_INLINE void load_sums(const bf16_microtile *microtile, const int two_rows, const int two_columns)
{
    if (!microtile->initial) {
        zero_sums();
        return;
    }
    size_t row_bytes = microtile->initial_stride * sizeof(float);
    const float *upper = microtile->initial;
    const float *lower = upper + TILE_ROWS * microtile->initial_stride;
    _tile_loadd(0, upper, row_bytes);
    if (two_columns)
        _tile_loadd(1, upper + TILE_ROWS, row_bytes);
    if (two_rows)
        _tile_loadd(2, lower, row_bytes);
    if (two_rows && two_columns)
        _tile_loadd(3, lower + TILE_ROWS, row_bytes);
}

SV_INLINE void add_product(const int two_rows, const int two_columns)
{
    _tile_dpbf16ps(0, 4, 6);
    if (two_columns)
        _tile_dpbf16ps(1, 4, 7);
    if (two_rows)
        _tile_dpbf16ps(2, 5, 6);
    if (two_rows && two_columns)
        _tile_dpbf16ps(3, 5, 7);
}

/* The products of three-term elements: {term of A, term of B}, in an order in which each product
 * loads a new term of one operand only. The products {1, 2}, {2, 1} and {2, 2} are below the last
 * bit of a float32 and are omitted. */
static const uint8_t PRODUCTS[][2] = {{2, 0}, {1, 0}, {0, 0}, {0, 2}, {0, 1}, {1, 1}};

/* Tile rows of the next row block that are packed beside each product of three-term elements: six
 * products pack the 16 rows of a tile. A single-term product leaves no time to pack. */
enum { ROWS_PER_PRODUCT = 3 };

SV_INLINE void multiply_tiles(const bf16_microtile *microtile, const size_t terms,
                              const int two_rows, const int two_columns)
{
    const amx_tile *a = microtile->packed_a;
    const amx_tile *first = microtile->packed_b[0], *second = microtile->packed_b[1];
    size_t products = terms == 1 ? 1 : sizeof PRODUCTS / sizeof *PRODUCTS;
    size_t all_products = products * microtile->steps;
    bf16_prefetch prefetch = microtile->prefetch;
    size_t lines = (prefetch.lines + all_products - 1) / all_products;
    memory_barrier();
    load_sums(microtile, two_rows, two_columns);
    for (size_t s = 0; s < microtile->steps; s++, a += 2 * terms, first += terms, second += terms) {
        SV_REGISTERS
        for (size_t i = 0; i < products; i++) {
            size_t of_a = terms == 1 ? 0 : PRODUCTS[i][0], of_b = terms == 1 ? 0 : PRODUCTS[i][1];
            if (i == 0 || of_a != PRODUCTS[i - 1][0])
                load_a(a + 2 * of_a, two_rows);
            if (i == 0 || of_b != PRODUCTS[i - 1][1])
                load_b(first + of_b, second + of_b, two_columns);
            add_product(two_rows, two_columns);
            bf16_prefetch_some(&prefetch, lines);
            if (terms > 1)
                bf16_pack_some(microtile->next, ROWS_PER_PRODUCT, terms);
        }
    }
    store_sums(microtile->c, microtile->ldc * sizeof(float), two_rows, two_columns);
    memory_barrier();
}

SV_INLINE void multiply_microtile(const bf16_microtile *microtile, const size_t terms, int two_rows,
                                  int two_columns)
{
    if (two_rows && two_columns)
        multiply_tiles(microtile, terms, 1, 1);
    else if (two_rows)
        multiply_tiles(microtile, terms, 1, 0);
    else if (two_columns)
        multiply_tiles(microtile, terms, 0, 1);
    else
        multiply_tiles(microtile, terms, 0, 0);
}

static void microkernel_of_1_term(const bf16_microtile *microtile, int two_rows, int two_columns)
{
    multiply_microtile(microtile, 1, two_rows, two_columns);
}

static void microkernel_of_3_terms(const bf16_microtile *microtile, int two_rows, int two_columns)
{
    multiply_microtile(microtile, 3, two_rows, two_columns);
}

SV_BF16_BACKEND(sv_gemm_amx, "amx", 3, microkernel_of_3_terms, configure_tiles, release_tiles);
SV_BF16_BACKEND(sv_gemm_amx_bf16, "amx-bf16", 1, microkernel_of_1_term, configure_tiles,
                release_tiles);
