/* Products by the vector unit's dot products of narrow numbers: register tiles as tile.c's, each of
 * whose lanes holds some numbers of k, side by side. The right-hand side is packed so; the
 * left-hand side is made so, some rows and some of k at a time. A file that includes this says how
 * its kind of number is made, and defines a backend by SV_DOT_BACKEND_FUNCTIONS. For instruction
 * sets that have AVX-512.
 */
#ifndef SV_DOT_PRODUCT_H
#define SV_DOT_PRODUCT_H

#include "gemm/gemm.h"
#include "gemm/tile/tile_microkernel_impl.h"

/* Lanes of a left-hand side that are made at once, in 72 KiB: so few that they stay in the second
 * cache beside a part of a panel. What a kind makes of rows up to a whole vector of them. And their
 * factors. */
enum { DOT_SPACE = 18432, DOT_PAST = 2048, DOT_FACTORS = 128 };

/* Rows i.. of a left-hand side, and numbers p.. of k. */
typedef struct dot_part {
    size_t i, rows, p, depth;
} dot_part;

/* What was made of them: lane q of row i at lanes[i * row + q * column]; of cut t the row's factor
 * at factors[t * factor_cut + i]. */
typedef struct dot_left {
    const float *lanes, *factors;
    size_t row, column, factor_cut;
} dot_left;

/* A panel's lanes of one cut: column j's header word h at words[h * lanes + j], and behind the
 * header lane q at words[(header + q) * lanes + j]. */
typedef struct dot_panel {
    float *words;
    size_t vectors, width, lanes;
} dot_panel;

/* A kind of number. Its products are cut along k, the sums of each cut added to what c holds. */
typedef struct dot_kind {
    size_t numbers; /* of k in a lane */
    size_t whole;   /* a cut's lanes are a multiple of this */
    size_t cut;     /* lanes of a cut, at most */
    size_t header;  /* words */

    /* Makes columns first.. and a cut from p on. */
    void (*pack)(const dot_panel *panel, const sv_gemm_b *b, size_t first, size_t p);

    /* Makes a part of a[.., k] in `lanes` and, where the kind has any, `factors`. */
    dot_left (*make)(float *lanes, float *factors, const sv_gemm_a *a, const dot_part *part,
                     size_t k);

    const tile_microkernels *microkernels; /* by number of vectors */
    const tile_microkernels *column_major; /* the same for a column-major A; NULL: no such A */
} dot_kind;

static size_t dot_rounded(size_t count, size_t to)
{
    return (count + to - 1) / to * to;
}

SV_INLINE size_t dot_lanes(const dot_kind *kind, size_t k)
{
    return dot_rounded((k + kind->numbers - 1) / kind->numbers, kind->whole);
}

SV_INLINE size_t dot_cuts(const dot_kind *kind, size_t k)
{
    return (k + kind->numbers * kind->cut - 1) / (kind->numbers * kind->cut);
}

/* Of one column. */
SV_INLINE size_t dot_words(const dot_kind *kind, size_t k)
{
    return dot_lanes(kind, k) + dot_cuts(kind, k) * kind->header;
}

/* The first cut of the panel that begins with column `first`. Those of a group of columns are cut
 * without regard to the others'. */
SV_INLINE dot_panel dot_panel_at(const dot_kind *kind, const sv_gemm_b *b, size_t first)
{
    const size_t group = sv_gemm_split_columns(b), left = group - first % group;
    const size_t vectors = panel_vectors(left), lanes = vectors * LANES;
    return (dot_panel){(float *)b->packed + first * dot_words(kind, b->k), vectors,
                       sv_size_min(left, lanes), lanes};
}

SV_INLINE void dot_next_cut(const dot_kind *kind, dot_panel *panel)
{
    panel->words += (kind->header + kind->cut) * panel->lanes;
}

SV_INLINE size_t dot_packed_bytes(const dot_kind *kind, size_t k, size_t n)
{
    return dot_rounded(n, LANES) * dot_words(kind, k) * sizeof(float);
}

SV_INLINE void dot_pack(const dot_kind *kind, const sv_gemm_b *b)
{
    for (size_t j = 0; j < b->n;) {
        dot_panel panel = dot_panel_at(kind, b, j);
        for (size_t p = 0; p < b->k; p += kind->cut * kind->numbers, dot_next_cut(kind, &panel))
            kind->pack(&panel, b, j, p);
        j += panel.width;
    }
}

/* A product, of which columns first.. are computed. */
typedef struct dot_product {
    const sv_gemm_c *c;
    const sv_gemm_b *b;
    size_t first, count;
    bool small_m;
    tile_prefetch prefetch; /* of each micropanel */
} dot_product;

/* What is added to column j of some rows with the last cut, which ends with number `end` of the
 * part or past it. */
SV_INLINE const float *dot_shortcut(const dot_product *product, const dot_part *part, size_t end,
                                    size_t j)
{
    const sv_epilogue *e = product->c->epilogue;
    if (!e || !e->residual || !is_residual_only(e) || part->p + end < product->b->k)
        return NULL;
    return e->residual + part->i * product->c->ldc + j;
}

/* The part's rows of a panel, cut by cut, so that what they meet of the panel stays near. */
SV_INLINE void dot_multiply_panel(const dot_kind *kind, const dot_product *product,
                                  const dot_left *left, const dot_part *part, size_t j,
                                  dot_panel panel)
{
    const sv_gemm_c *c = product->c;
    const size_t cut = kind->cut * kind->numbers;
    panel.words += part->p / cut * (kind->header + kind->cut) * panel.lanes;
    for (size_t q = 0; q < part->depth; q += cut, dot_next_cut(kind, &panel)) {
        const tile_range range = {0, dot_lanes(kind, sv_size_min(part->depth - q, cut))};
        const tile_operands operands = {
            .a = left->lanes + q / kind->numbers * left->column,
            .row_stride = left->row,
            .column_stride = left->column,
            .panel = (const char *)(panel.words + kind->header * panel.lanes),
            .ranges = &range,
            .range_count = 1,
            .scales = panel.words,
            .zero_points = (const int32_t *)(const void *)(panel.words + panel.lanes),
            .row_scales = left->factors + q / cut * left->factor_cut,
            .bias = c->bias ? c->bias + j : NULL,
            .residual = dot_shortcut(product, part, q + cut, j),
            .prefetch = left->column != 1 ? PREFETCH_A : product->prefetch};
        const tile_microkernels *kernels =
            left->column == 1 ? kind->microkernels : kind->column_major;
        multiply_rows(&kernels[panel.vectors], product->small_m && left->column == 1,
                      c->c + part->i * c->ldc + j, c->ldc, &operands, part->rows, panel.width,
                      c->accumulate || part->p + q > 0);
    }
}

SV_INLINE void dot_multiply_part(const dot_kind *kind, const dot_product *product,
                                 const dot_left *left, const dot_part *part)
{
    const size_t end = product->first + product->count;
    for (size_t j = product->first; j < end;) {
        dot_panel panel = dot_panel_at(kind, product->b, j);
        panel.width = sv_size_min(panel.width, end - j);
        dot_multiply_panel(kind, product, left, part, j, panel);
        j += panel.width;
    }
}

/* Rows of a left-hand side that are made at once, of those that are left: whole microtiles; and
 * numbers of k of so many rows, whole cuts: few rows have all of theirs, and then a panel is read
 * as it lies. */
SV_INLINE size_t dot_rows(const dot_kind *kind, size_t left)
{
    return sv_size_min(left, DOT_SPACE / kind->cut / LANES * LANES);
}

SV_INLINE size_t dot_depth(const dot_kind *kind, size_t rows)
{
    return DOT_SPACE / dot_rounded(rows, LANES) / kind->cut * kind->cut * kind->numbers;
}

/* A whole left-hand side [m, k] that is made beforehand: where it lies, its lanes, its factors. */
SV_INLINE size_t dot_left_bytes(const dot_kind *kind, size_t m, size_t k)
{
    const size_t lanes = dot_rounded(dot_lanes(kind, k), LANES) + dot_cuts(kind, k);
    return sizeof(dot_left) + dot_rounded(m, LANES) * lanes * sizeof(float);
}

SV_INLINE void dot_make_left(const dot_kind *kind, const sv_gemm_a *a, size_t m, size_t k,
                             void *made)
{
    const dot_part all = {0, m, 0, k};
    dot_left *left = made;
    float *lanes = (float *)(void *)(left + 1);
    float *factors = lanes + dot_rounded(m, LANES) * dot_rounded(dot_lanes(kind, k), LANES);
    *left = kind->make(lanes, factors, a, &all, k);
}

SV_INLINE dot_left dot_made(const dot_kind *kind, const dot_left *all, const dot_part *part)
{
    dot_left left = *all;
    left.lanes += part->i * left.row + part->p / kind->numbers * left.column;
    left.factors += part->p / (kind->cut * kind->numbers) * left.factor_cut + part->i;
    return left;
}

/* c[m, first..first+count-1] of a[m,k] b[k, the same columns]. Every element is summed in the order
 * of k, whatever m, first and count are. */
SV_INLINE void dot_multiply(const dot_kind *kind, const sv_kernels *kernels, const sv_gemm_c *c,
                            const sv_gemm_a *a, const sv_gemm_b *b, size_t m, size_t first,
                            size_t count)
{
    float lanes[DOT_SPACE + DOT_PAST] __attribute__((aligned(64))), factors[DOT_FACTORS];
    const size_t bytes = dot_packed_bytes(kind, b->k, count);
    const dot_product product = {
        .c = c,
        .b = b,
        .first = first,
        .count = count,
        .small_m = m <= SMALL_M,
        .prefetch = prefetches_sequentially(m, bytes, sv_cpu_prefers_interleaved_reads())
                        ? PREFETCH_SEQUENTIAL
                        : PREFETCH_NOTHING};
    const size_t depth = dot_depth(kind, dot_rows(kind, m));
    for (dot_part part = {0}; part.p < b->k; part.p += part.depth) {
        part.depth = sv_size_min(b->k - part.p, depth);
        for (part.i = 0; part.i < m; part.i += part.rows) {
            part.rows = dot_rows(kind, m - part.i);
            dot_left left = a->packed ? dot_made(kind, a->packed, &part)
                                      : kind->make(lanes, factors, a, &part, b->k);
            dot_multiply_part(kind, &product, &left, &part);
            if (part.p + part.depth == b->k && !is_residual_only(c->epilogue))
                sv_gemm_apply_epilogue(kernels, c, part.i, part.rows, first, count);
        }
    }
}

/* What a backend of a kind calls. */
#define SV_DOT_BACKEND_FUNCTIONS(symbol, kind)                                                     \
    static size_t symbol##_bytes(const sv_kernels *kernels, size_t k, size_t n)                    \
    {                                                                                              \
        (void)kernels;                                                                             \
        return dot_packed_bytes(&kind, k, n);                                                      \
    }                                                                                              \
    static void symbol##_pack(const sv_kernels *kernels, const sv_gemm_b *operand)                 \
    {                                                                                              \
        (void)kernels;                                                                             \
        dot_pack(&kind, operand);                                                                  \
    }                                                                                              \
    static void symbol##_multiply(const sv_kernels *kernels, const sv_gemm_c *c,                   \
                                  const sv_gemm_a *a, const sv_gemm_b *b, size_t m, size_t first,  \
                                  size_t count)                                                    \
    {                                                                                              \
        dot_multiply(&kind, kernels, c, a, b, m, first, count);                                    \
    }

#endif
