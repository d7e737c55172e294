/* AMX: a block of 32 x 32 sums stays in four of its eight tiles, two hold units
 * of the left-hand side and two of the right. A tile's number is part of the instruction, so these
 * are functions of constants. */
#ifndef SV_AMX_H
#define SV_AMX_H

#include "gemm/avx512/unit.h"

/* palette 1: tiles of so many rows and bytes a row */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

/* The compilers' functions for tiles do not say which memory they read and write. */
SV_INLINE void touch_memory(void)
{
    __asm__ volatile("" ::: "memory");
}

static void begin(void)
{
    tile_config config = {.palette = 1};
    for (size_t i = 0; i < 8; i++) {
        config.row_bytes[i] = sizeof(__m512i);
        config.rows[i] = UNIT;
    }
    touch_memory();
    _tile_loadconfig(&config);
}

static void end(void)
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

/* c[32, 32] of 4 bytes each, or its upper and left half. */
SV_INLINE void store_sums(void *c, size_t row_bytes, const int two_rows, const int two_columns)
{
    char *upper = c, *lower = upper + UNIT * row_bytes;
    _tile_stored(0, upper, row_bytes);
    if (two_columns)
        _tile_stored(1, upper + sizeof(__m512i), row_bytes);
    if (two_rows)
        _tile_stored(2, lower, row_bytes);
    if (two_rows && two_columns)
        _tile_stored(3, lower + sizeof(__m512i), row_bytes);
}

SV_INLINE void load_left(const unit_rows *units, const int two_rows)
{
    _tile_loadd(4, &units[0], sizeof(__m512i));
    if (two_rows)
        _tile_loadd(5, &units[1], sizeof(__m512i));
}

SV_INLINE void load_right(const unit_rows *first, const unit_rows *second, const int two_columns)
{
    _tile_loadd(6, first, sizeof(__m512i));
    if (two_columns)
        _tile_loadd(7, second, sizeof(__m512i));
}

#endif
