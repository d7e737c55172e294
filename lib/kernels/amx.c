/* Products on the matrix unit (AMX): a block of 32 x 32 sums stays in four of its eight tiles, two
 * hold units of the left-hand side and two of the right. The unit works beside the vector units:
 * while it sums, they make the left-hand side's next units. */
#include "kernels/bf16_product.h"

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

SV_INLINE void load_sums(const bf16_block *block, const int two_rows, const int two_columns)
{
    size_t row_bytes = block->ldc * sizeof(float);
    const float *upper = block->c, *lower = block->c + UNIT * block->ldc;
    if (!block->accumulate) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        return;
    }
    _tile_loadd(0, upper, row_bytes);
    if (two_columns)
        _tile_loadd(1, upper + UNIT, row_bytes);
    if (two_rows)
        _tile_loadd(2, lower, row_bytes);
    if (two_rows && two_columns)
        _tile_loadd(3, lower + UNIT, row_bytes);
}

SV_INLINE void store_sums(const bf16_block *block, const int two_rows, const int two_columns)
{
    size_t row_bytes = block->ldc * sizeof(float);
    float *upper = block->c, *lower = block->c + UNIT * block->ldc;
    _tile_stored(0, upper, row_bytes);
    if (two_columns)
        _tile_stored(1, upper + UNIT, row_bytes);
    if (two_rows)
        _tile_stored(2, lower, row_bytes);
    if (two_rows && two_columns)
        _tile_stored(3, lower + UNIT, row_bytes);
}

SV_INLINE void load_left(const bf16_unit *units, const int two_rows)
{
    _tile_loadd(4, &units[0], sizeof(__m512i));
    if (two_rows)
        _tile_loadd(5, &units[1], sizeof(__m512i));
}

SV_INLINE void load_right(const bf16_unit *first, const bf16_unit *second, const int two_columns)
{
    _tile_loadd(6, first, sizeof(__m512i));
    if (two_columns)
        _tile_loadd(7, second, sizeof(__m512i));
}

SV_INLINE void add_term(const int two_rows, const int two_columns)
{
    _tile_dpbf16ps(0, 4, 6);
    if (two_columns)
        _tile_dpbf16ps(1, 4, 7);
    if (two_rows)
        _tile_dpbf16ps(2, 5, 6);
    if (two_rows && two_columns)
        _tile_dpbf16ps(3, 5, 7);
}

/* What is multiplied with what, part by part, so that each term loads one side anew only. Parts 1
 * and 2, 2 and 1, 2 and 2 of the smaller ones are below a float32's last digit. */
static const uint8_t TERMS[][2] = {{2, 0}, {1, 0}, {0, 0}, {0, 2}, {0, 1}, {1, 1}};

/* Rows of units made beside a term of several parts: all 16 of one beside the six terms of a step.
 * Beside a single term there is no time. */
enum { ROWS_BESIDE = 3 };

SV_INLINE void add_steps(const bf16_block *block, const size_t parts, const int two_rows,
                         const int two_columns)
{
    const bf16_unit *left = block->left, *first = block->right[0], *second = block->right[1];
    size_t terms = parts == 1 ? 1 : sizeof TERMS / sizeof *TERMS;
    touch_memory();
    load_sums(block, two_rows, two_columns);
    for (size_t s = 0; s < block->steps; s++, left += 2 * parts, first += parts, second += parts) {
        SV_REGISTERS
        for (size_t t = 0; t < terms; t++) {
            size_t l = parts == 1 ? 0 : TERMS[t][0], r = parts == 1 ? 0 : TERMS[t][1];
            if (t == 0 || l != TERMS[t - 1][0])
                load_left(left + 2 * l, two_rows);
            if (t == 0 || r != TERMS[t - 1][1])
                load_right(first + r, second + r, two_columns);
            add_term(two_rows, two_columns);
            if (parts > 1)
                bf16_make_some(block->next, ROWS_BESIDE, parts);
        }
    }
    store_sums(block, two_rows, two_columns);
    touch_memory();
}

SV_INLINE void add_halves(const bf16_block *block, const size_t parts, int two_rows,
                          int two_columns)
{
    if (two_rows && two_columns)
        add_steps(block, parts, 1, 1);
    else if (two_rows)
        add_steps(block, parts, 1, 0);
    else if (two_columns)
        add_steps(block, parts, 0, 1);
    else
        add_steps(block, parts, 0, 0);
}

static void sums_of_one(const bf16_block *block, int two_rows, int two_columns)
{
    add_halves(block, 1, two_rows, two_columns);
}

static void sums_of_three(const bf16_block *block, int two_rows, int two_columns)
{
    add_halves(block, 3, two_rows, two_columns);
}

SV_BF16_PROVIDER(sv_gemm_amx, "amx", 3, sums_of_three, begin, end);
SV_BF16_PROVIDER(sv_gemm_amx_bf16, "amx-bf16", 1, sums_of_one, begin, end);
