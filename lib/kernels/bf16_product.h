/* Products of bfloat16 units, but for the sums themselves: packing, and the walk over blocks of
 * 32 x 32 sums. A file that includes this defines the sums for its instruction set, and providers
 * by SV_BF16_PROVIDER. */
#ifndef SV_BF16_PRODUCT_H
#define SV_BF16_PRODUCT_H

#include "kernels/bf16.h"
#include "kernels/gemm.h"

/* Units of a left-hand side, of all parts, made at once: with those of 32 rows they take 18 KiB, so
 * that those at work stay in the first cache beside those that are made for the next rows. */
enum { UNITS_AT_ONCE = 9 };

/* Units of a left-hand side to be made, 16 rows and 32 of k at a time: to[steps, parts, 2] of rows
 * i.. and steps s.. of k. */
typedef struct bf16_job {
    unit_rows *to;
    const sv_left *a;
    size_t i, rows, s, steps, k;
    size_t made; /* units, of 2 steps, */
    size_t row;  /* and rows of the next one */
} bf16_job;

/* A block of c[rows, columns], at most 32 of each. Step s of `steps` along k has the parts'
 * units, one after another: left's two of rows each, right's of each 16 columns. */
typedef struct bf16_block {
    float *c;
    size_t ldc;
    const unit_rows *left, *right[2];
    size_t steps;
    const float *start; /* what sums start from: row i at start[i * start_row]; NULL: 0 */
    size_t start_row;   /* 0: the same for all rows, a bias */
    bf16_job *next;     /* what may be made while the sums are */
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
            bf16_make_rows(to, 1, &from, 0, UNIT, 1, parts);
        }
}

/* The next rows of a job's units, if there are any left. */
SV_INLINE void bf16_make_some(bf16_job *job, size_t rows, const size_t parts)
{
    size_t q = job->made / 2, lower = job->made % 2 * UNIT, row = job->row;
    if (q == job->steps)
        return;
    job->row += rows;
    if (job->row >= UNIT || lower >= job->rows) {
        job->row = 0;
        job->made++;
    }
    if (lower >= job->rows)
        return;
    size_t i = job->i + lower, p = (job->s + q) * UNIT_DEPTH;
    unit_source from = {job->a->a + i * job->a->row + p * job->a->column, job->a->row,
                        job->a->column, job->rows - lower, job->k - p};
    bf16_make_rows(job->to + 2 * q * parts + (lower > 0), 2, &from, row, rows, 0, parts);
}

SV_INLINE void bf16_make_rest(bf16_job *job, const size_t parts)
{
    while (job->made < 2 * job->steps)
        bf16_make_some(job, UNIT, parts);
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
    if (block->start) {
        beside.start = whole;
        beside.start_row = BLOCK;
        copy_block(whole, BLOCK, block->start, block->start_row, rows, columns);
    }
    sums(&beside, rows > UNIT, columns > UNIT);
    copy_block(block->c, block->ldc, whole, BLOCK, rows, columns);
}

/* The job that makes the units of row block `number`, counted through all rows, chunk of k by
 * chunk; none past the last. */
static bf16_job bf16_job_of(const sv_left *a, size_t k, size_t m, size_t number, size_t at_once)
{
    size_t blocks = (m + BLOCK - 1) / BLOCK, all = bf16_steps(k);
    bf16_job job = {.a = a, .k = k, .s = number / blocks * at_once, .i = number % blocks * BLOCK};
    if (job.s >= all)
        return job;
    job.steps = all - job.s < at_once ? all - job.s : at_once;
    job.rows = m - job.i < BLOCK ? m - job.i : BLOCK;
    return job;
}

/* One row block: c[job's rows, first..first+count-1] of the job's part of k, while `next` is made.
 */
SV_INLINE void bf16_multiply_rows(const sv_output *c, const sv_operand *b, const bf16_job *job,
                                  bf16_job *next, size_t first, size_t count, bf16_sums *sums,
                                  const size_t parts)
{
    const unit_rows *packed = b->packed;
    size_t all = bf16_steps(b->k), end = first + count;
    int accumulate = c->accumulate || job->s > 0;
    bf16_block block = {.ldc = c->ldc,
                        .left = job->to,
                        .steps = job->steps,
                        .start_row = accumulate ? c->ldc : 0,
                        .next = next};
    for (size_t j = first; j < end; j += BLOCK) {
        block.c = c->c + job->i * c->ldc + j;
        block.start = accumulate ? block.c : c->bias ? c->bias + j : NULL;
        block.right[0] = packed + (j / UNIT * all + job->s) * parts;
        block.right[1] = block.right[0] + all * parts;
        bf16_add_block(&block, job->rows, end - j < BLOCK ? end - j : BLOCK, sums);
    }
    bf16_make_rest(next, parts);
}

/* c[m, first..first+count-1] of a[m,k] b[k, the same columns]. Units of one part are not made
 * beside sums, and take turns in one place. Every element is summed in the order of k, whatever m,
 * first and count are. */
SV_INLINE void bf16_multiply(const sv_output *c, const sv_left *a, const sv_operand *b, size_t m,
                             size_t first, size_t count, bf16_sums *sums, const size_t parts)
{
    unit_rows left[2][2 * UNITS_AT_ONCE];
    size_t at_once = UNITS_AT_ONCE / parts, number = 0;
    bf16_job job = bf16_job_of(a, b->k, m, number, at_once);
    job.to = left[0];
    bf16_make_rest(&job, parts);
    while (job.steps > 0) {
        bf16_job next = bf16_job_of(a, b->k, m, ++number, at_once);
        next.to = left[parts > 1 ? number % 2 : 0];
        bf16_multiply_rows(c, b, &job, &next, first, count, sums, parts);
        job = next;
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
    const sv_gemm symbol = {text, symbol##_bytes, symbol##_pack, symbol##_multiply, &symbol}

#endif
