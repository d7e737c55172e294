/* Products of units of bytes on AMX. */
#include "gemm/amx/amx.h"
#include "gemm/avx512/int8_backend_impl.h"

SV_INLINE void add_steps(int32_t *sums, const unit_rows *left, const unit_rows *first,
                         const unit_rows *second, size_t steps, const int two_rows)
{
    touch_memory();
    zero_sums();
    for (size_t s = 0; s < steps; s++, left += 2) {
        load_left(left, two_rows);
        load_right(first + s, second + s, 1);
        _tile_dpbusd(0, 4, 6);
        _tile_dpbusd(1, 4, 7);
        if (two_rows) {
            _tile_dpbusd(2, 5, 6);
            _tile_dpbusd(3, 5, 7);
        }
    }
    store_sums(sums, BLOCK * sizeof *sums, two_rows, 1);
    touch_memory();
}

static void sums(int32_t *sums, const unit_rows *left, const unit_rows *first,
                 const unit_rows *second, size_t steps, size_t rows)
{
    if (rows > UNIT)
        add_steps(sums, left, first, second, steps, 1);
    else
        add_steps(sums, left, first, second, steps, 0);
}

SV_INT8_BACKEND(sv_gemm_amx_int8, "amx-int8", sums, begin, end, &sv_gemm_amx);

/* Over few rows the tiles are faster at what is not packed beforehand. */
const sv_gemm sv_gemm_amx_int8_small_m = {
    "amx-int8",    sv_gemm_amx_int8_bytes, sv_gemm_amx_int8_pack, sv_gemm_amx_int8_multiply,
    &sv_gemm_tile, int8_left_bytes,        int8_make_lefts,       false};
