/* Products of bfloat16 units, but for the sums themselves: packing, and the walk over blocks of
 * 32 x 32 sums. A file that includes this defines the sums for its instruction set, and backends
 * by SV_BF16_BACKEND. */
#ifndef SV_BF16_PRODUCT_H
#define SV_BF16_PRODUCT_H

#include "gemm/avx512/bf16.h"
#include "gemm/gemm.h"

/* Units of a left-hand side, of all parts, made at once: with those of 32 rows they take 18 KiB, so
 * that those at work stay in L1 beside those that are made for the next rows. */
enum { UNITS_AT_ONCE = 9 };

/* Columns of a right-hand side that all rows meet before the next ones: with the steps of k at work
 * they take 216 KiB of three parts, so that they and those that come next stay in L2.
 */
enum { COLUMNS_AT_ONCE = 384 };

/* A product, of which columns first.. are computed. */
typedef struct bf16_walk {
    const sv_kernels *kernels; /* for its epilogue */
    const sv_gemm_c *c;
    const sv_gemm_a *a;
    const sv_gemm_b *b;
    size_t m, first, count;
    size_t all, at_once; /* steps of k */
} bf16_walk;

/* Units of a left-hand side to be made, 16 rows and 32 of k at a time: to[steps, parts, 2] of rows
 * i.. and steps s.. of k. */
typedef struct bf16_job {
    unit_rows *to;
    const sv_gemm_a *a;
    size_t i, rows, s, steps, k;
    size_t before, columns; /* of the product; `before` of its columns are done */
    size_t made;            /* units, of 2 steps, */
    size_t row;             /* and rows of the next one */
} bf16_job;

/* Lines of a right-hand side that are wanted in L2: so many of each 16 columns. The
 * processor does not foresee them, since units of one chunk of k lie in many places. */
typedef struct bf16_ahead {
    const __m512i *first, *second;
    size_t lines;
} bf16_ahead;

/* A block of c[rows, columns], at most 32 of each. Step s of `steps` along k has the parts'
 * units, one after another: left's two of rows each, right's of each 16 columns. */
typedef struct bf16_block {
    float *c;
    size_t ldc;
    const unit_rows *left, *right[2];
    size_t steps;
    const float *start; /* what sums start from: row i at start[i * start_row]; NULL: 0 */
    size_t start_row;   /* 0: the same for all rows, a bias */
    bf16_job *next;     /* what may be made while the sums are, */
    bf16_ahead ahead;   /* and fetched */
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
SV_INLINE void bf16_pack(const sv_gemm_b *b, const size_t parts)
{
    unit_rows *to = b->packed;
    for (size_t j = 0; j < b->n; j += UNIT)
        for (size_t p = 0; p < b->k; p += UNIT_DEPTH, to += parts) {
            unit_source from = {b->b + j * b->column_stride + p * b->row_stride, b->column_stride,
                                b->row_stride, b->n - j, b->k - p};
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
    unit_source from = {job->a->a + i * job->a->row_stride + p * job->a->column_stride,
                        job->a->row_stride, job->a->column_stride, job->rows - lower, job->k - p};
    bf16_make_rows(job->to + 2 * q * parts + (lower > 0), 2, &from, row, rows, 0, parts);
}

SV_INLINE void bf16_make_rest(bf16_job *job, const size_t parts)
{
    while (job->made < 2 * job->steps)
        bf16_make_some(job, UNIT, parts);
}

static size_t bf16_left_bytes(size_t m, size_t k, size_t parts)
{
    return (m + BLOCK - 1) / BLOCK * bf16_steps(k) * 2 * parts * sizeof(unit_rows);
}

/* made[m / 32, k / 32, parts, 2] */
SV_INLINE void bf16_make_left(const sv_gemm_a *a, size_t m, size_t k, unit_rows *made,
                              const size_t parts)
{
    bf16_job job = {.a = a, .k = k, .steps = bf16_steps(k)};
    for (size_t i = 0; i < m; i += BLOCK) {
        job.to = made + i / BLOCK * job.steps * 2 * parts;
        job.i = i;
        job.rows = sv_size_min(m - i, BLOCK);
        job.made = 0;
        bf16_make_rest(&job, parts);
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
    if (block->start) {
        beside.start = whole;
        beside.start_row = BLOCK;
        copy_block(whole, BLOCK, block->start, block->start_row, rows, columns);
    }
    sums(&beside, rows > UNIT, columns > UNIT);
    copy_block(block->c, block->ldc, whole, BLOCK, rows, columns);
}

/* The job of the rows from i on, in the chunk of columns `before` the first and of k from step s
 * on; of no steps past the last column. */
static bf16_job bf16_job_at(const bf16_walk *walk, size_t before, size_t s, size_t i)
{
    bf16_job job = {.a = walk->a, .k = walk->b->k, .i = i, .s = s, .before = before};
    if (before >= walk->count || walk->all == 0)
        return job;
    job.columns = sv_size_min(walk->count - before, COLUMNS_AT_ONCE);
    job.steps = sv_size_min(walk->all - s, walk->at_once);
    job.rows = sv_size_min(walk->m - i, BLOCK);
    return job;
}

static bf16_job bf16_next_chunk(const bf16_walk *walk, const bf16_job *job)
{
    size_t s = job->s + job->steps;
    if (s < walk->all)
        return bf16_job_at(walk, job->before, s, 0);
    return bf16_job_at(walk, job->before + job->columns, 0, 0);
}

/* Row block by row block of a chunk, chunk by chunk of k, columns by columns. */
static bf16_job bf16_next_job(const bf16_walk *walk, const bf16_job *job)
{
    size_t i = job->i + job->rows;
    if (i < walk->m)
        return bf16_job_at(walk, job->before, job->s, i);
    return bf16_next_chunk(walk, job);
}

/* The units of the chunk's columns from the `past`th on. */
static const unit_rows *bf16_right(const bf16_walk *walk, const bf16_job *chunk, size_t past,
                                   size_t parts)
{
    const unit_rows *packed = walk->b->packed;
    size_t column = walk->first + chunk->before + past;
    return packed + (column / UNIT * walk->all + chunk->s) * parts;
}

/* What the job's row block fetches of chunk `then`: its share of the lines of the first 32 columns;
 * the next ones' lie as far on as their units. A line past the last column is fetched in vain.
 * A single row block leaves no time: its sums wait for the present chunk. */
static bf16_ahead bf16_ahead_of(const bf16_walk *walk, const bf16_job *job, const bf16_job *then,
                                size_t parts)
{
    size_t lines = then->steps * parts * UNIT;
    if (lines == 0 || walk->m <= BLOCK)
        return (bf16_ahead){walk->b->packed, walk->b->packed, 0};
    size_t blocks = (walk->m + BLOCK - 1) / BLOCK, each = (lines + blocks - 1) / blocks;
    size_t from = sv_size_min(job->i / BLOCK * each, lines);
    return (bf16_ahead){bf16_right(walk, then, 0, parts)->rows + from,
                        bf16_right(walk, then, UNIT, parts)->rows + from,
                        sv_size_min(lines - from, each)};
}

SV_INLINE void bf16_fetch_some(bf16_ahead *ahead, size_t lines)
{
    for (; lines > 0 && ahead->lines > 0; lines--, ahead->lines--) {
        _mm_prefetch(ahead->first++, _MM_HINT_T1);
        _mm_prefetch(ahead->second++, _MM_HINT_T1);
    }
}

/* One row block: c[job's rows, job's columns] of the job's part of k, while `next` is made and the
 * chunk `then` fetched. */
SV_INLINE void bf16_multiply_rows(const bf16_walk *walk, const bf16_job *job, bf16_job *next,
                                  const bf16_job *then, bf16_sums *sums, const size_t parts)
{
    const sv_gemm_c *c = walk->c;
    int accumulate = c->accumulate || job->s > 0;
    bf16_block block = {.ldc = c->ldc,
                        .left = job->to,
                        .steps = job->steps,
                        .start_row = accumulate ? c->ldc : 0,
                        .next = next};
    bf16_ahead ahead = bf16_ahead_of(walk, job, then, parts);
    size_t j = walk->first + job->before, stride = walk->all * parts * BLOCK;
    for (size_t past = 0; past < job->columns; past += BLOCK, j += BLOCK) {
        block.c = c->c + job->i * c->ldc + j;
        block.start = accumulate ? block.c : c->bias ? c->bias + j : NULL;
        block.right[0] = bf16_right(walk, job, past, parts);
        block.right[1] = bf16_right(walk, job, past + UNIT, parts);
        block.ahead = past < then->columns ? ahead : (bf16_ahead){0};
        bf16_add_block(&block, job->rows, sv_size_min(job->columns - past, BLOCK), sums);
        ahead.first += stride;
        ahead.second += stride;
    }
    bf16_make_rest(next, parts);
    if (job->s + job->steps == walk->all)
        sv_gemm_apply_epilogue(walk->kernels, c, job->i, job->rows, walk->first + job->before,
                               job->columns);
}

/* Where the job's units are, if they were made beforehand; else where they are to be made. */
SV_INLINE void bf16_place(const bf16_walk *walk, bf16_job *job, unit_rows *place,
                          const size_t parts)
{
    unit_rows *made = walk->a->packed;
    job->to = made ? made + (job->i / BLOCK * walk->all + job->s) * 2 * parts : place;
    job->made = made ? 2 * job->steps : 0;
}

/* c[m, first..first+count-1] of a[m,k] b[k, the same columns]. Units of one part are not made
 * beside sums, and take turns in one place. Every element is summed in the order of k, whatever m,
 * first and count are. */
SV_INLINE void bf16_multiply(const sv_kernels *kernels, const sv_gemm_c *c, const sv_gemm_a *a,
                             const sv_gemm_b *b, size_t m, size_t first, size_t count,
                             bf16_sums *sums, const size_t parts)
{
    unit_rows left[2][2 * UNITS_AT_ONCE];
    bf16_walk walk = {kernels, c, a, b, m, first, count, bf16_steps(b->k), UNITS_AT_ONCE / parts};
    bf16_job job = bf16_job_at(&walk, 0, 0, 0), then = {0};
    bf16_place(&walk, &job, left[0], parts);
    bf16_make_rest(&job, parts);
    for (size_t number = 1; job.steps > 0; number++) {
        bf16_job next = bf16_next_job(&walk, &job);
        bf16_place(&walk, &next, left[parts > 1 ? number % 2 : 0], parts);
        if (job.i == 0)
            then = bf16_next_chunk(&walk, &job);
        bf16_multiply_rows(&walk, &job, &next, &then, sums, parts);
        job = next;
    }
}

/* A backend of `parts` parts. begin() and end() stand around its sums. */
#define SV_BF16_BACKEND(symbol, text, parts, sums, begin, end)                                     \
    static size_t symbol##_bytes(const sv_kernels *kernels, size_t k, size_t n)                    \
    {                                                                                              \
        (void)kernels;                                                                             \
        return bf16_packed_bytes(k, n, parts);                                                     \
    }                                                                                              \
    static void symbol##_pack(const sv_kernels *kernels, const sv_gemm_b *operand)                 \
    {                                                                                              \
        (void)kernels;                                                                             \
        bf16_pack(operand, parts);                                                                 \
    }                                                                                              \
    static size_t symbol##_left_bytes(size_t m, size_t k)                                          \
    {                                                                                              \
        return bf16_left_bytes(m, k, parts);                                                       \
    }                                                                                              \
    static void symbol##_make_left(const sv_gemm_a *a, size_t m, size_t k, void *made)             \
    {                                                                                              \
        bf16_make_left(a, m, k, made, parts);                                                      \
    }                                                                                              \
    static void symbol##_multiply(const sv_kernels *kernels, const sv_gemm_c *c,                   \
                                  const sv_gemm_a *a, const sv_gemm_b *b, size_t m, size_t first,  \
                                  size_t count)                                                    \
    {                                                                                              \
        begin();                                                                                   \
        bf16_multiply(kernels, c, a, b, m, first, count, sums, parts);                             \
        end();                                                                                     \
    }                                                                                              \
    const sv_gemm symbol = {text,    symbol##_bytes,      symbol##_pack,      symbol##_multiply,   \
                            &symbol, symbol##_left_bytes, symbol##_make_left, false}

#endif
