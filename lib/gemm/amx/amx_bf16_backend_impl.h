/* The driver of the AMX backends that multiply bfloat16: packing, and the loops around the
 * microkernel, which computes 32 x 32 sums. A C file that includes this header defines its
 * microkernels, and backends by SV_BF16_BACKEND.
 *
 * The loops, from outer to inner: NC columns of C; a K block of KC steps, which depends on the
 * number of terms; MR rows of C (a row block); NR columns of C (a microtile). While one row block
 * is computed, A of the next one is packed, and the next K block of packed B is prefetched. */
#ifndef SV_AMX_BF16_BACKEND_IMPL_H
#define SV_AMX_BF16_BACKEND_IMPL_H

#include "gemm/gemm.h"
#include "gemm/low_precision/bf16_pack_impl.h"

/* KC = 32 * (9 / terms). Packed A of a row block then has 2 x 9 tiles, 18 KiB, so that it stays in
 * L1 together with that of the next row block. */
enum { K_BLOCK_TILES = 9 };

/* A K block of NC columns of packed B has 24 x 9 tiles, 216 KiB, so that it stays in L2 together
 * with the next one. */
enum { NC = 384 };

/* One call of bf16_matmul: columns first..first+count-1 of C. */
typedef struct bf16_call {
    const sv_kernels *kernels; /* for the epilogue */
    const sv_gemm_c *c;
    const sv_gemm_a *a;
    const sv_gemm_b *b;
    size_t m, first, count;
    size_t k_steps;       /* tiles along k */
    size_t k_block_steps; /* tiles along k of a full K block */
} bf16_call;

/* The position of the loops: rows i..i+rows-1, at most MR, of one K block and of at most NC
 * columns; and its packed A, tiles[steps, terms, 2], with the progress of packing. */
typedef struct bf16_row_block {
    amx_tile *tiles;
    const sv_gemm_a *a;
    size_t i, rows;
    size_t step, steps;     /* of k, in tiles: the first, and how many; 0 steps: past the end */
    size_t k;               /* of the whole A */
    size_t column, columns; /* of C, counted from the call's first */
    /* Packed (step, half of the rows) pairs, in the order [steps, 2]. Each pair has `terms` tiles:
     * one for each bfloat16 term of an element (bf16_pack_impl.h). */
    size_t packed_tiles;
    size_t packed_rows; /* rows of the next tile that are packed */
} bf16_row_block;

/* Cache lines of packed B to be prefetched into L2: `lines` of each of two neighbouring
 * micropanels of 16 columns. Hardware prefetchers do not predict them, since the tiles of one K
 * block are scattered. */
typedef struct bf16_prefetch {
    const __m512i *first, *second;
    size_t lines;
} bf16_prefetch;

/* The operands of a microtile c[rows, columns], at most MR x NR, for one K block. */
typedef struct bf16_microtile {
    float *c;
    size_t ldc;
    const amx_tile *packed_a;    /* [steps, terms, 2] */
    const amx_tile *packed_b[2]; /* [steps, terms] each, of 16 columns */
    size_t steps;
    const float *initial;  /* of the sums: row i at initial[i * initial_stride]; NULL: 0 */
    size_t initial_stride; /* 0: all rows start at the same values, the bias */
    bf16_row_block *next;  /* the row block that the microkernel may pack meanwhile */
    bf16_prefetch prefetch;
} bf16_microtile;

static size_t bf16_k_steps(size_t k)
{
    return (k + TILE_K - 1) / TILE_K;
}

static size_t bf16_packed_b_bytes(size_t k, size_t n, size_t terms)
{
    return (n + TILE_ROWS - 1) / TILE_ROWS * bf16_k_steps(k) * terms * sizeof(amx_tile);
}

/* packed[n / 16, k / 32, terms] */
SV_INLINE void bf16_pack_b(const sv_gemm_b *b, const size_t terms)
{
    amx_tile *to = b->packed;
    for (size_t j = 0; j < b->n; j += TILE_ROWS)
        for (size_t p = 0; p < b->k; p += TILE_K, to += terms) {
            amx_source source = {b->b + j * b->column_stride + p * b->row_stride, b->column_stride,
                                 b->row_stride, b->n - j, b->k - p};
            bf16_pack_rows(to, 1, &source, 0, TILE_ROWS, 1, terms);
        }
}

/* Packs the next `rows` rows of the row block's current tile, if not all tiles are complete. */
SV_INLINE void bf16_pack_some(bf16_row_block *block, size_t rows, const size_t terms)
{
    size_t s = block->packed_tiles / 2, lower = block->packed_tiles % 2 * TILE_ROWS;
    size_t row = block->packed_rows;
    if (s == block->steps)
        return;
    block->packed_rows += rows;
    if (block->packed_rows >= TILE_ROWS || lower >= block->rows) {
        block->packed_rows = 0;
        block->packed_tiles++;
    }
    if (lower >= block->rows)
        return;
    size_t i = block->i + lower, p = (block->step + s) * TILE_K;
    const sv_gemm_a *a = block->a;
    amx_source source = {a->a + i * a->row_stride + p * a->column_stride, a->row_stride,
                         a->column_stride, block->rows - lower, block->k - p};
    bf16_pack_rows(block->tiles + 2 * s * terms + (lower > 0), 2, &source, row, rows, 0, terms);
}

SV_INLINE void bf16_pack_remaining(bf16_row_block *block, const size_t terms)
{
    while (block->packed_tiles < 2 * block->steps)
        bf16_pack_some(block, TILE_ROWS, terms);
}

static size_t bf16_packed_a_bytes(size_t m, size_t k, size_t terms)
{
    return (m + MR - 1) / MR * bf16_k_steps(k) * 2 * terms * sizeof(amx_tile);
}

/* packed[m / 32, k / 32, terms, 2] */
SV_INLINE void bf16_pack_a(const sv_gemm_a *a, size_t m, size_t k, amx_tile *packed,
                           const size_t terms)
{
    bf16_row_block block = {.a = a, .k = k, .steps = bf16_k_steps(k)};
    for (size_t i = 0; i < m; i += MR) {
        block.tiles = packed + i / MR * block.steps * 2 * terms;
        block.i = i;
        block.rows = sv_size_min(m - i, MR);
        block.packed_tiles = 0;
        bf16_pack_remaining(&block, terms);
    }
}

/* to[rows, columns] = from[rows, columns] */
static void copy_rows(float *to, size_t ld_to, const float *from, size_t ld_from, size_t rows,
                      size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * ld_to, from + i * ld_from, columns * sizeof *to);
}

/* c = initial + A B for whole tiles: 32 rows if `two_rows`, else 16; columns likewise. */
typedef void bf16_microkernel(const bf16_microtile *microtile, int two_rows, int two_columns);

/* c[rows, columns] = initial + A B. If rows or columns do not fill their tiles, the microkernel
 * gets a copy of C, so that it touches nothing past the matrix. */
SV_INLINE void bf16_multiply_microtile(const bf16_microtile *microtile, size_t rows, size_t columns,
                                       bf16_microkernel *microkernel)
{
    if (rows % TILE_ROWS == 0 && columns % TILE_ROWS == 0) {
        microkernel(microtile, rows > TILE_ROWS, columns > TILE_ROWS);
        return;
    }
    float copy[MR * NR] __attribute__((aligned(64)));
    bf16_microtile padded = *microtile;
    padded.c = copy;
    padded.ldc = NR;
    if (microtile->initial) {
        padded.initial = copy;
        padded.initial_stride = NR;
        copy_rows(copy, NR, microtile->initial, microtile->initial_stride, rows, columns);
    }
    microkernel(&padded, rows > TILE_ROWS, columns > TILE_ROWS);
    copy_rows(microtile->c, microtile->ldc, copy, NR, rows, columns);
}

/* The row block at row i, step `step` of k and column `column`; past the last column it has no
 * steps. */
static bf16_row_block bf16_row_block_at(const bf16_call *call, size_t column, size_t step, size_t i)
{
    bf16_row_block block = {.a = call->a, .k = call->b->k, .i = i, .step = step, .column = column};
    if (column >= call->count || call->k_steps == 0)
        return block;
    block.columns = sv_size_min(call->count - column, NC);
    block.steps = sv_size_min(call->k_steps - step, call->k_block_steps);
    block.rows = sv_size_min(call->m - i, MR);
    return block;
}

/* The first row block of the next K block, or else of the next NC columns. */
static bf16_row_block bf16_next_k_block(const bf16_call *call, const bf16_row_block *block)
{
    size_t step = block->step + block->steps;
    if (step < call->k_steps)
        return bf16_row_block_at(call, block->column, step, 0);
    return bf16_row_block_at(call, block->column + block->columns, 0, 0);
}

static bf16_row_block bf16_next_row_block(const bf16_call *call, const bf16_row_block *block)
{
    size_t i = block->i + block->rows;
    if (i < call->m)
        return bf16_row_block_at(call, block->column, block->step, i);
    return bf16_next_k_block(call, block);
}

/* Packed B of the block's K block, from the column `offset` after the block's first. */
static const amx_tile *bf16_packed_b_of(const bf16_call *call, const bf16_row_block *block,
                                        size_t offset, size_t terms)
{
    const amx_tile *packed = call->b->packed;
    size_t column = call->first + block->column + offset;
    return packed + (column / TILE_ROWS * call->k_steps + block->step) * terms;
}

/* What row block `block` prefetches of the next K block, `next`: an equal part of the lines of the
 * first NR columns. Those of further columns follow at a constant distance. A line past the last
 * column is prefetched in vain. A single row block prefetches nothing: it waits for memory itself.
 */
static bf16_prefetch bf16_prefetch_of(const bf16_call *call, const bf16_row_block *block,
                                      const bf16_row_block *next, size_t terms)
{
    size_t lines = next->steps * terms * TILE_ROWS;
    if (lines == 0 || call->m <= MR)
        return (bf16_prefetch){call->b->packed, call->b->packed, 0};
    size_t blocks = (call->m + MR - 1) / MR, each = (lines + blocks - 1) / blocks;
    size_t from = sv_size_min(block->i / MR * each, lines);
    return (bf16_prefetch){bf16_packed_b_of(call, next, 0, terms)->rows + from,
                           bf16_packed_b_of(call, next, TILE_ROWS, terms)->rows + from,
                           sv_size_min(lines - from, each)};
}

SV_INLINE void bf16_prefetch_some(bf16_prefetch *prefetch, size_t lines)
{
    for (; lines > 0 && prefetch->lines > 0; lines--, prefetch->lines--) {
        _mm_prefetch(prefetch->first++, _MM_HINT_T1);
        _mm_prefetch(prefetch->second++, _MM_HINT_T1);
    }
}

/* Computes one row block, while row block `next` is packed and K block `next_k` prefetched. After
 * the last K block the epilogue is applied. */
SV_INLINE void bf16_multiply_row_block(const bf16_call *call, const bf16_row_block *block,
                                       bf16_row_block *next, const bf16_row_block *next_k,
                                       bf16_microkernel *microkernel, const size_t terms)
{
    const sv_gemm_c *c = call->c;
    int accumulate = c->accumulate || block->step > 0;
    bf16_microtile microtile = {.ldc = c->ldc,
                                .packed_a = block->tiles,
                                .steps = block->steps,
                                .initial_stride = accumulate ? c->ldc : 0,
                                .next = next};
    bf16_prefetch prefetch = bf16_prefetch_of(call, block, next_k, terms);
    size_t j = call->first + block->column, panel_stride = call->k_steps * terms * NR;
    for (size_t offset = 0; offset < block->columns; offset += NR, j += NR) {
        microtile.c = c->c + block->i * c->ldc + j;
        microtile.initial = accumulate ? microtile.c : c->bias ? c->bias + j : NULL;
        microtile.packed_b[0] = bf16_packed_b_of(call, block, offset, terms);
        microtile.packed_b[1] = bf16_packed_b_of(call, block, offset + TILE_ROWS, terms);
        microtile.prefetch = offset < next_k->columns ? prefetch : (bf16_prefetch){0};
        bf16_multiply_microtile(&microtile, block->rows, sv_size_min(block->columns - offset, NR),
                                microkernel);
        prefetch.first += panel_stride;
        prefetch.second += panel_stride;
    }
    bf16_pack_remaining(next, terms);
    if (block->step + block->steps == call->k_steps)
        sv_gemm_apply_epilogue(call->kernels, c, block->i, block->rows, call->first + block->column,
                               block->columns);
}

/* Points the row block to its packed A if the caller has packed A, else to `space`. */
SV_INLINE void bf16_place_tiles(const bf16_call *call, bf16_row_block *block, amx_tile *space,
                                const size_t terms)
{
    amx_tile *packed = call->a->packed;
    block->tiles =
        packed ? packed + (block->i / MR * call->k_steps + block->step) * 2 * terms : space;
    block->packed_tiles = packed ? 2 * block->steps : 0;
}

/* c[m, first..first+count-1] = bias + (or c +) a[m, k] b[k, the same columns]. With one term, a row
 * block is packed when the one before it has been computed, so both use the same space. Each
 * element of C is summed in the order of k, whatever m, first and count are. */
SV_INLINE void bf16_matmul(const sv_kernels *kernels, const sv_gemm_c *c, const sv_gemm_a *a,
                           const sv_gemm_b *b, size_t m, size_t first, size_t count,
                           bf16_microkernel *microkernel, const size_t terms)
{
    amx_tile space[2][2 * K_BLOCK_TILES];
    bf16_call call = {kernels, c, a, b, m, first, count, bf16_k_steps(b->k), K_BLOCK_TILES / terms};
    bf16_row_block block = bf16_row_block_at(&call, 0, 0, 0), next_k = {0};
    bf16_place_tiles(&call, &block, space[0], terms);
    bf16_pack_remaining(&block, terms);
    for (size_t number = 1; block.steps > 0; number++) {
        bf16_row_block next = bf16_next_row_block(&call, &block);
        bf16_place_tiles(&call, &next, space[terms > 1 ? number % 2 : 0], terms);
        if (block.i == 0)
            next_k = bf16_next_k_block(&call, &block);
        bf16_multiply_row_block(&call, &block, &next, &next_k, microkernel, terms);
        block = next;
    }
}

/* Defines a backend of `terms` terms. start() and stop() enclose its microkernel's calls. */
#define SV_BF16_BACKEND(symbol, text, terms, microkernel, start, stop)                             \
    static size_t symbol##_packed_b_bytes(const sv_kernels *kernels, size_t k, size_t n)           \
    {                                                                                              \
        (void)kernels;                                                                             \
        return bf16_packed_b_bytes(k, n, terms);                                                   \
    }                                                                                              \
    static void symbol##_pack_b(const sv_kernels *kernels, const sv_gemm_b *b)                     \
    {                                                                                              \
        (void)kernels;                                                                             \
        bf16_pack_b(b, terms);                                                                     \
    }                                                                                              \
    static size_t symbol##_packed_a_bytes(size_t m, size_t k)                                      \
    {                                                                                              \
        return bf16_packed_a_bytes(m, k, terms);                                                   \
    }                                                                                              \
    static void symbol##_pack_a(const sv_gemm_a *a, size_t m, size_t k, void *packed)              \
    {                                                                                              \
        bf16_pack_a(a, m, k, packed, terms);                                                       \
    }                                                                                              \
    static void symbol##_matmul(const sv_kernels *kernels, const sv_gemm_c *c, const sv_gemm_a *a, \
                                const sv_gemm_b *b, size_t m, size_t first, size_t count)          \
    {                                                                                              \
        start();                                                                                   \
        bf16_matmul(kernels, c, a, b, m, first, count, microkernel, terms);                        \
        stop();                                                                                    \
    }                                                                                              \
    const sv_gemm symbol = {                                                                       \
        .name = text,                                                                              \
        .packed_b_bytes = symbol##_packed_b_bytes,                                                 \
        .pack_b = symbol##_pack_b,                                                                 \
        .matmul = symbol##_matmul,                                                                 \
        .activations = &symbol,                                                                    \
        .packed_a_bytes = symbol##_packed_a_bytes,                                                 \
        .pack_a = symbol##_pack_a,                                                                 \
    }

#endif
