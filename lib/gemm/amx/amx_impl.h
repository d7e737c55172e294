/* The AMX tile registers. The sums of a microtile, 32 x 32, are in four of the eight; two hold
 * packed A and two packed B:
 *
 *                          6: B, columns 0..15    7: B, columns 16..31
 *     4: A, rows 0..15     0                      1
 *     5: A, rows 16..31    2                      3
 *
 * The number of a register is part of the instruction, so `two_rows` and `two_columns` are
 * constants: 0 if the microtile has only 16 rows or columns. */
#ifndef SV_AMX_IMPL_H
#define SV_AMX_IMPL_H

#include "gemm/amx/amx_tile_impl.h"

/* The operand of LDTILECFG; palette 1 has eight tiles of at most 16 rows of 64 bytes. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

/* A compiler barrier: the intrinsics of tiles do not tell the compiler which memory they read and
 * write. */
SV_INLINE void memory_barrier(void)
{
    __asm__ volatile("" ::: "memory");
}

static void configure_tiles(void)
{
    tile_config config = {.palette = 1};
    for (size_t i = 0; i < 8; i++) {
        config.row_bytes[i] = sizeof(__m512i);
        config.rows[i] = TILE_ROWS;
    }
    memory_barrier();
    _tile_loadconfig(&config);
}

static void release_tiles(void)
{
    _tile_release();
}

SV_INLINE void zero_sums(void)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

/* c[32, 32] = the sums, of 4 bytes each. */
SV_INLINE void store_sums(void *c, size_t row_bytes, const int two_rows, const int two_columns)
{
    char *upper = c, *lower = upper + TILE_ROWS * row_bytes;
    _tile_stored(0, upper, row_bytes);
    if (two_columns)
        _tile_stored(1, upper + sizeof(__m512i), row_bytes);
    if (two_rows)
        _tile_stored(2, lower, row_bytes);
    if (two_rows && two_columns)
        _tile_stored(3, lower + sizeof(__m512i), row_bytes);
}

SV_INLINE void load_a(const amx_tile tiles[2], const int two_rows)
{
    _tile_loadd(4, &tiles[0], sizeof(__m512i));
    if (two_rows)
        _tile_loadd(5, &tiles[1], sizeof(__m512i));
}

SV_INLINE void load_b(const amx_tile *first, const amx_tile *second, const int two_columns)
{
    _tile_loadd(6, first, sizeof(__m512i));
    if (two_columns)
        _tile_loadd(7, second, sizeof(__m512i));
}

#endif
