/* Products of bfloat16 units, but for the sums themselves: packing, and the walk over blocks of
 * 32 x 32 sums. A file that includes this defines the sums for its instruction set, and providers
 * by SV_BF16_PROVIDER. */
#ifndef SV_BF16_PRODUCT_H
#define SV_BF16_PRODUCT_H

#include "kernels/bf16.h"
#include "kernels/gemm.h"

/* Units of a left-hand side, of all parts, made at once: with those of 32 rows they take 18 KiB and
 * stay in the first cache. */
enum { UNITS_AT_ONCE = 9 };

/* A block of c[rows, columns], at most 32 of each. Step s of `steps` along k has the parts'
 * units, one after another: left's two of rows each, right's of each 16 columns. */
typedef struct bf16_block {
    float *c;
    size_t ldc;
    const unit_rows *left, *right[2];
    size_t steps;
    int accumulate;
} bf16_block;

static size_t bf16_steps(size_t k)
{
    return (k + UNIT_DEPTH - 1) / UNIT_DEPTH;
}

static size_t bf16_packed_bytes(size_t k, size_t n, size_t parts)
{
    return (n + UNIT - 1) / UNIT * bf16_steps(k) * parts * sizeof(unit_rows);
}

/* packed[n / 16, k / 32, parts] */
SV_INLINE void bf16_pack(const sv_operand *b, const size_t parts)
{
    unit_rows *to = b->packed;
    for (size_t j = 0; j < b->n; j += UNIT)
        for (size_t p = 0; p < b->k; p += UNIT_DEPTH, to += parts) {
            unit_source from = {b->b + j * b->column + p * b->row, b->column, b->row, b->n - j,
                                b->k - p};
            bf16_make(to, 1, &from, 1, parts);
        }
}

/* left[steps, parts, 2] of rows i.. and steps s.. */
SV_INLINE void bf16_make_left(unit_rows *left, const sv_left *a, size_t i, size_t rows, size_t s,
                              size_t steps, size_t k, const size_t parts)
{
    for (size_t q = 0; q < steps; q++, left += 2 * parts) {
        size_t p = (s + q) * UNIT_DEPTH;
        unit_source from = {a->a + i * a->row + p * a->column, a->row, a->column, rows, k - p};
        bf16_make(left, 2, &from, 0, parts);
        if (rows <= UNIT)
            continue;
        from.x += UNIT * a->row;
        from.lines -= UNIT;
        bf16_make(left + 1, 2, &from, 0, parts);
    }
}

static void copy_block(float *to, size_t ld_to, const float *from, size_t ld_from, size_t rows,
                       size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * ld_to, from + i * ld_from, columns * sizeof *to);
}

/* The sums of a block: rows and columns in one half, or in two. */
typedef void bf16_sums(const bf16_block *block, int two_rows, int two_columns);

/* Whole halves are summed in place; others beside it, so that nothing past the matrix is touched.
 */
SV_INLINE void bf16_add_block(const bf16_block *block, size_t rows, size_t columns, bf16_sums *sums)
{
    if (rows % UNIT == 0 && columns % UNIT == 0) {
        sums(block, rows > UNIT, columns > UNIT);
        return;
    }
    float whole[BLOCK * BLOCK] __attribute__((aligned(64)));
    bf16_block beside = *block;
    beside.c = whole;
    beside.ldc = BLOCK;
    if (block->accumulate)
        copy_block(whole, BLOCK, block->c, block->ldc, rows, columns);
    sums(&beside, rows > UNIT, columns > UNIT);
    copy_block(block->c, block->ldc, whole, BLOCK, rows, columns);
}

/* c[m, first..first+count-1] = or += a[m,k] b[k, the same columns]. Every element is summed in the
 * order of k, whatever m, first and count are. */
SV_INLINE void bf16_multiply(const sv_output *c, const sv_left *a, const sv_operand *b, size_t m,
                             size_t first, size_t count, bf16_sums *sums, const size_t parts)
{
    unit_rows left[2 * UNITS_AT_ONCE];
    const unit_rows *packed = b->packed;
    size_t all = bf16_steps(b->k), at_once = UNITS_AT_ONCE / parts;
    for (size_t s = 0; s < all; s += at_once)
        for (size_t i = 0; i < m; i += BLOCK) {
            bf16_block block = {.ldc = c->ldc, .left = left, .accumulate = c->accumulate || s > 0};
            size_t rows = m - i < BLOCK ? m - i : BLOCK;
            block.steps = all - s < at_once ? all - s : at_once;
            bf16_make_left(left, a, i, rows, s, block.steps, b->k, parts);
            for (size_t j = first; j < first + count; j += BLOCK) {
                size_t columns = first + count - j < BLOCK ? first + count - j : BLOCK;
                block.c = c->c + i * c->ldc + j;
                block.right[0] = packed + (j / UNIT * all + s) * parts;
                block.right[1] = block.right[0] + all * parts;
                bf16_add_block(&block, rows, columns, sums);
            }
        }
}

/* A provider of `parts` parts. begin() and end() stand around its sums. */
#define SV_BF16_PROVIDER(symbol, text, parts, sums, begin, end)                                    \
    static size_t symbol##_bytes(const sv_kernels *kernels, size_t k, size_t n)                    \
    {                                                                                              \
        (void)kernels;                                                                             \
        return bf16_packed_bytes(k, n, parts);                                                     \
    }                                                                                              \
    static void symbol##_pack(const sv_kernels *kernels, const sv_operand *operand)                \
    {                                                                                              \
        (void)kernels;                                                                             \
        bf16_pack(operand, parts);                                                                 \
    }                                                                                              \
    static void symbol##_multiply(const sv_kernels *kernels, const sv_output *c, const sv_left *a, \
                                  const sv_operand *b, size_t m, size_t first, size_t count)       \
    {                                                                                              \
        (void)kernels;                                                                             \
        begin();                                                                                   \
        bf16_multiply(c, a, b, m, first, count, sums, parts);                                      \
        end();                                                                                     \
    }                                                                                              \
    static void symbol##_transposed(const sv_kernels *kernels, real *c, size_t ldc, const real *a, \
                                    size_t lda, const real *b, size_t ldb, size_t m, size_t n,     \
                                    size_t k, void *scratch)                                       \
    {                                                                                              \
        sv_gemm_transposed_by_parts(&symbol, kernels, c, ldc, a, lda, b, ldb, m, n, k, scratch);   \
    }                                                                                              \
    const sv_gemm symbol = {                                                                       \
        text, symbol##_bytes, symbol##_pack, symbol##_multiply, symbol##_transposed, &symbol}

#endif
