/* The driver of the backends that multiply by dot products (VDPBF16PS, VPDPBUSD, PMADDWD, SDOT)
 * or matrix products (SMMLA, BFMMLA). A lane holds several steps of k (VNNI interleaving): bf16x2,
 * int8x4 or int8x2. The microkernels are those
 * of the tile backend; packed B is interleaved once, and A is interleaved a block at a time. A C
 * file that includes this header defines a dot_type, which interleaves, and its functions by
 * SV_DOT_BACKEND_FUNCTIONS. */
#ifndef SV_DOT_BACKEND_IMPL_H
#define SV_DOT_BACKEND_IMPL_H

#include "gemm/gemm.h"
#include "gemm/tile/tile_microkernel_list_impl.h"

enum {
    /* 4-byte lanes of packed A of one block: 72 KiB, so that the block and a K block of one
     * micropanel of B fit L2 together. */
    PACKED_A_LANES = 18432,
    /* Lanes past the block, for rows that are padded to whole vectors. */
    PACKED_A_PADDING = 2048,
    /* Space for the scales of one block, one for each row and K block: at most 72 are used. */
    PACKED_A_SCALES = 128
};

/* A block of A: rows i..i+rows-1, steps p..p+depth-1 of k. */
typedef struct dot_a_block {
    size_t i, rows, p, depth;
} dot_a_block;

/* Packed A: lane q of row i at lanes[i * row_stride + q * lane_stride]; for matrix products that is
 * so for even i and q, and the lanes (i, q), (i, q + 1), (i + 1, q), (i + 1, q + 1) lie together.
 * The scale of row i in K block t at scales[t * scale_stride + i]. */
typedef struct dot_packed_a {
    const float *lanes, *scales;
    size_t row_stride, lane_stride, scale_stride;
} dot_packed_a;

/* One K block of a micropanel of B: a header words[header_words, NR] of words of 4 bytes, such as
 * the scales of the columns, and then the lanes [k lanes, NR]. */
typedef struct dot_panel {
    float *words;
    size_t vectors;
    size_t width; /* columns in use, at most NR */
    size_t lanes; /* NR = vectors * LANES */
} dot_panel;

/* An interleaved type. Sums of one K block are added to C before the next K block. */
typedef struct dot_type {
    size_t interleave;    /* steps of k in a lane */
    size_t lane_multiple; /* a K block's lanes are padded to a multiple of this */
    size_t lane_bytes;    /* of packed B; a lane of A has 4 */
    size_t kc_lanes;      /* KC / interleave: lanes of a full K block */
    size_t header_words;  /* of a column in each K block */

    /* Packs columns first..first+width-1 of B, the K block from step p. */
    void (*pack_b)(const dot_panel *panel, const sv_gemm_b *b, size_t first, size_t p);

    /* Packs a block of a[.., k] into `lanes` and, if the type has scales, `scales`. */
    dot_packed_a (*pack_a)(float *lanes, float *scales, const sv_gemm_a *a,
                           const dot_a_block *block, size_t k);

    const tile_microkernels *microkernels; /* by number of vectors */
    const tile_microkernels *column_major; /* the same for a column-major A; NULL: no such A */
} dot_type;

static size_t dot_round_up(size_t count, size_t multiple)
{
    return (count + multiple - 1) / multiple * multiple;
}

/* Lanes of k steps of one row of A or one column of B. */
SV_INLINE size_t dot_lanes(const dot_type *type, size_t k)
{
    return dot_round_up((k + type->interleave - 1) / type->interleave, type->lane_multiple);
}

SV_INLINE size_t dot_k_blocks(const dot_type *type, size_t k)
{
    return (k + type->interleave * type->kc_lanes - 1) / (type->interleave * type->kc_lanes);
}

/* Bytes of one column of a full K block, with its header. */
SV_INLINE size_t dot_k_block_bytes(const dot_type *type)
{
    return type->header_words * sizeof(float) + type->kc_lanes * type->lane_bytes;
}

/* Bytes of one column of packed B: its lanes and the headers of its K blocks. */
SV_INLINE size_t dot_column_bytes(const dot_type *type, size_t k)
{
    return dot_lanes(type, k) * type->lane_bytes +
           dot_k_blocks(type, k) * type->header_words * sizeof(float);
}

/* The first K block of the micropanel that starts at column `first`. A group of columns
 * (sv_gemm_b.split) is divided into micropanels by itself. */
SV_INLINE dot_panel dot_panel_at(const dot_type *type, const sv_gemm_b *b, size_t first)
{
    const size_t group = sv_gemm_split_columns(b), left = group - first % group;
    const size_t vectors = panel_vectors(left), lanes = vectors * LANES;
    char *packed = (char *)b->packed + first * dot_column_bytes(type, b->k);
    return (dot_panel){.words = (float *)(void *)packed,
                       .vectors = vectors,
                       .width = sv_size_min(left, lanes),
                       .lanes = lanes};
}

SV_INLINE void dot_skip_k_blocks(const dot_type *type, dot_panel *panel, size_t count)
{
    char *next = (char *)panel->words + count * dot_k_block_bytes(type) * panel->lanes;
    panel->words = (float *)(void *)next;
}

SV_INLINE size_t dot_packed_b_bytes(const dot_type *type, size_t k, size_t n)
{
    return dot_round_up(n, LANES) * dot_column_bytes(type, k);
}

/* Packed B: micropanels one after another, each with all its K blocks. */
SV_INLINE void dot_pack_b(const dot_type *type, const sv_gemm_b *b)
{
    const size_t kc = type->kc_lanes * type->interleave;
    for (size_t j = 0; j < b->n;) {
        dot_panel panel = dot_panel_at(type, b, j);
        for (size_t p = 0; p < b->k; p += kc, dot_skip_k_blocks(type, &panel, 1))
            type->pack_b(&panel, b, j, p);
        j += panel.width;
    }
}

/* One call of dot_matmul: columns first..first+count-1 of C. */
typedef struct dot_call {
    const sv_gemm_c *c;
    const sv_gemm_b *b;
    size_t first, count;
    bool small_m;
    tile_prefetch prefetch; /* what the microkernels prefetch; PREFETCH_A instead if packed A is
                               column-major */
} dot_call;

/* The residual of a block's rows from column j on, if this K block is the last one and the epilogue
 * is nothing else; NULL otherwise. `end` is the end of the K block, counted from block->p; it may
 * be past k. */
SV_INLINE const float *dot_residual(const dot_call *call, const dot_a_block *block, size_t end,
                                    size_t j)
{
    const sv_epilogue *e = call->c->epilogue;
    if (!e || !e->residual || !is_residual_only(e) || block->p + end < call->b->k)
        return NULL;
    return e->residual + block->i * call->c->ldc + j;
}

/* c[block's rows, panel's columns], K block by K block, so that each one of the micropanel stays in
 * cache for all rows. `j` is the panel's first column. */
SV_INLINE void dot_multiply_panel(const dot_type *type, const dot_call *call, const dot_packed_a *a,
                                  const dot_a_block *block, size_t j, dot_panel panel)
{
    const sv_gemm_c *c = call->c;
    const size_t kc = type->kc_lanes * type->interleave;
    const bool column_major = type->column_major && a->row_stride == 1;
    dot_skip_k_blocks(type, &panel, block->p / kc);
    for (size_t p = 0; p < block->depth; p += kc, dot_skip_k_blocks(type, &panel, 1)) {
        const tile_range range = {0, dot_lanes(type, sv_size_min(block->depth - p, kc))};
        const tile_operands operands = {
            .a = a->lanes + p / type->interleave * a->lane_stride,
            .row_stride = a->row_stride,
            .column_stride = a->lane_stride,
            .panel = (const char *)(panel.words + type->header_words * panel.lanes),
            .ranges = &range,
            .range_count = 1,
            .scales = panel.words,
            .zero_points = (const int32_t *)(const void *)(panel.words + panel.lanes),
            .row_scales = a->scales + p / kc * a->scale_stride,
            .bias = c->bias ? c->bias + j : NULL,
            .residual = dot_residual(call, block, p + kc, j),
            .prefetch = column_major ? PREFETCH_A : call->prefetch};
        const tile_microkernels *kernels = column_major ? type->column_major : type->microkernels;
        multiply_rows(&kernels[panel.vectors], call->small_m && !column_major,
                      c->c + block->i * c->ldc + j, c->ldc, &operands, block->rows, panel.width,
                      c->accumulate || block->p + p > 0 ? TILE_ADD : TILE_REPLACE);
    }
}

/* All columns of the call for one block of A. */
SV_INLINE void dot_multiply_block(const dot_type *type, const dot_call *call, const dot_packed_a *a,
                                  const dot_a_block *block)
{
    const size_t end = call->first + call->count;
    for (size_t j = call->first; j < end;) {
        dot_panel panel = dot_panel_at(type, call->b, j);
        panel.width = sv_size_min(panel.width, end - j);
        dot_multiply_panel(type, call, a, block, j, panel);
        j += panel.width;
    }
}

/* Rows of the next block of A when `left` rows remain: as many as PACKED_A_LANES holds if the block
 * is one K block deep. It is a multiple of the lanes of a vector, except in the last block. */
SV_INLINE size_t dot_block_rows(const dot_type *type, size_t left)
{
    return sv_size_min(left, PACKED_A_LANES / type->kc_lanes / LANES * LANES);
}

/* Steps of k of a block of that many rows: as many whole K blocks as PACKED_A_LANES holds. With few
 * rows that is all of k in most layers, so that each micropanel is read from end to end. */
SV_INLINE size_t dot_block_depth(const dot_type *type, size_t rows)
{
    return PACKED_A_LANES / dot_round_up(rows, LANES) / type->kc_lanes * type->kc_lanes *
           type->interleave;
}

/* Bytes of packed A for a[m, k], which has a dot_packed_a, the lanes and the scales. */
SV_INLINE size_t dot_packed_a_bytes(const dot_type *type, size_t m, size_t k)
{
    const size_t words = dot_round_up(dot_lanes(type, k), LANES) + dot_k_blocks(type, k);
    return sizeof(dot_packed_a) + dot_round_up(m, LANES) * words * sizeof(float);
}

SV_INLINE void dot_pack_a(const dot_type *type, const sv_gemm_a *a, size_t m, size_t k,
                          void *packed)
{
    const dot_a_block all = {0, m, 0, k};
    dot_packed_a *header = packed;
    float *lanes = (float *)(void *)(header + 1);
    float *scales = lanes + dot_round_up(m, LANES) * dot_round_up(dot_lanes(type, k), LANES);
    *header = type->pack_a(lanes, scales, a, &all, k);
}

/* A block of an A that is packed as a whole. */
SV_INLINE dot_packed_a dot_packed_block(const dot_type *type, const dot_packed_a *all,
                                        const dot_a_block *block)
{
    dot_packed_a a = *all;
    a.lanes += block->i * a.row_stride + block->p / type->interleave * a.lane_stride;
    a.scales += block->p / (type->kc_lanes * type->interleave) * a.scale_stride + block->i;
    return a;
}

/* c[m, first..first+count-1] = bias + (or c +) a[m, k] b[k, the same columns]. Each element of C is
 * summed in the order of k, whatever m, first and count are. */
SV_INLINE void dot_matmul(const dot_type *type, const sv_kernels *kernels, const sv_gemm_c *c,
                          const sv_gemm_a *a, const sv_gemm_b *b, size_t m, size_t first,
                          size_t count)
{
    float lanes[PACKED_A_LANES + PACKED_A_PADDING] __attribute__((aligned(64)));
    float scales[PACKED_A_SCALES];
    const size_t bytes = dot_packed_b_bytes(type, b->k, count);
    const dot_call call = {.c = c,
                           .b = b,
                           .first = first,
                           .count = count,
                           .small_m = m <= SV_SMALL_M_KERNEL_ROWS,
                           .prefetch =
                               prefetches_sequentially(m, bytes, sv_cpu_prefers_interleaved_reads())
                                   ? PREFETCH_SEQUENTIAL
                                   : PREFETCH_NOTHING};
    const size_t depth = dot_block_depth(type, dot_block_rows(type, m));
    for (dot_a_block block = {0}; block.p < b->k; block.p += block.depth) {
        block.depth = sv_size_min(b->k - block.p, depth);
        for (block.i = 0; block.i < m; block.i += block.rows) {
            block.rows = dot_block_rows(type, m - block.i);
            dot_packed_a packed_a = a->packed ? dot_packed_block(type, a->packed, &block)
                                              : type->pack_a(lanes, scales, a, &block, b->k);
            dot_multiply_block(type, &call, &packed_a, &block);
            if (block.p + block.depth == b->k && !is_residual_only(c->epilogue))
                sv_gemm_apply_epilogue(kernels, c, block.i, block.rows, first, count);
        }
    }
}

/* Defines the functions of a backend of a dot_type. */
#define SV_DOT_BACKEND_FUNCTIONS(symbol, type)                                                     \
    static size_t symbol##_packed_b_bytes(const sv_kernels *kernels, size_t k, size_t n)           \
    {                                                                                              \
        (void)kernels;                                                                             \
        return dot_packed_b_bytes(&type, k, n);                                                    \
    }                                                                                              \
    static void symbol##_pack_b(const sv_kernels *kernels, const sv_gemm_b *b)                     \
    {                                                                                              \
        (void)kernels;                                                                             \
        dot_pack_b(&type, b);                                                                      \
    }                                                                                              \
    static void symbol##_matmul(const sv_kernels *kernels, const sv_gemm_c *c, const sv_gemm_a *a, \
                                const sv_gemm_b *b, size_t m, size_t first, size_t count)          \
    {                                                                                              \
        dot_matmul(&type, kernels, c, a, b, m, first, count);                                      \
    }

/* Defines those of a backend that lets a caller pack A. */
#define SV_DOT_PACK_A_FUNCTIONS(symbol, type)                                                      \
    static size_t symbol##_packed_a_bytes(size_t m, size_t k)                                      \
    {                                                                                              \
        return dot_packed_a_bytes(&type, m, k);                                                    \
    }                                                                                              \
    static void symbol##_pack_a(const sv_gemm_a *a, size_t m, size_t k, void *packed)              \
    {                                                                                              \
        dot_pack_a(&type, a, m, k, packed);                                                        \
    }

#endif
