/* The AMX backends of int8. */
#include "gemm/amx/amx_impl.h"
#include "gemm/amx/amx_int8_backend_impl.h"

SV_INLINE void multiply_tiles(int32_t *sums, const amx_tile *a, const amx_tile *first,
                              const amx_tile *second, size_t steps, const int two_rows)
{
    memory_barrier();
    zero_sums();
    for (size_t s = 0; s < steps; s++, a += 2) {
        load_a(a, two_rows);
        load_b(first + s, second + s, 1);
        _tile_dpbusd(0, 4, 6);
        _tile_dpbusd(1, 4, 7);
        if (two_rows) {
            _tile_dpbusd(2, 5, 6);
            _tile_dpbusd(3, 5, 7);
        }
    }
    store_sums(sums, NR * sizeof *sums, two_rows, 1);
    memory_barrier();
}

static void microkernel(int32_t *sums, const amx_tile *a, const amx_tile *first,
                        const amx_tile *second, size_t steps, size_t rows)
{
    if (rows > TILE_ROWS)
        multiply_tiles(sums, a, first, second, steps, 1);
    else
        multiply_tiles(sums, a, first, second, steps, 0);
}

SV_INT8_BACKEND_FUNCTIONS(amx_int8, microkernel, configure_tiles, release_tiles)

/* Matmuls of two activations are float32 and have the bits that they have without AMX. */
const sv_gemm sv_gemm_amx_int8 = {.name = "amx-int8",
                                  .packed_b_bytes = amx_int8_packed_b_bytes,
                                  .pack_b = amx_int8_pack_b,
                                  .matmul = amx_int8_matmul,
                                  .activations = &sv_gemm_tile,
                                  .packed_a_bytes = int8_packed_a_bytes,
                                  .pack_a = int8_pack_a};
