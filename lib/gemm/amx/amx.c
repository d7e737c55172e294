/* Products of bfloat16 units on AMX. It works beside the vector units: while it sums,
 * they make the next units of a left-hand side of several parts. */
#include "gemm/amx/amx.h"
#include "gemm/avx512/bf16_backend_impl.h"

SV_INLINE void load_sums(const bf16_block *block, const int two_rows, const int two_columns)
{
    if (!block->start) {
        zero_sums();
        return;
    }
    size_t row_bytes = block->start_row * sizeof(float);
    const float *upper = block->start, *lower = upper + UNIT * block->start_row;
    _tile_loadd(0, upper, row_bytes);
    if (two_columns)
        _tile_loadd(1, upper + UNIT, row_bytes);
    if (two_rows)
        _tile_loadd(2, lower, row_bytes);
    if (two_rows && two_columns)
        _tile_loadd(3, lower + UNIT, row_bytes);
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
    const unit_rows *left = block->left, *first = block->right[0], *second = block->right[1];
    size_t terms = parts == 1 ? 1 : sizeof TERMS / sizeof *TERMS, all = terms * block->steps;
    bf16_ahead ahead = block->ahead;
    size_t lines = (ahead.lines + all - 1) / all;
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
            bf16_fetch_some(&ahead, lines);
            if (parts > 1)
                bf16_make_some(block->next, ROWS_BESIDE, parts);
        }
    }
    store_sums(block->c, block->ldc * sizeof(float), two_rows, two_columns);
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

SV_BF16_BACKEND(sv_gemm_amx, "amx", 3, sums_of_three, begin, end);
SV_BF16_BACKEND(sv_gemm_amx_bf16, "amx-bf16", 1, sums_of_one, begin, end);
