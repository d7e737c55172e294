/* The kernels' table: the mathematics, compiled for several instruction sets, one chosen when a
 * context is made. Kernels take pointers, sizes and scalars; they allocate nothing and know no
 * handles. Every array is row-major; outputs come first; d... is the gradient of ..., and parameter
 * gradients accumulate (+=). */
#ifndef SV_KERNELS_H
#define SV_KERNELS_H

#include "base/cpu.h"
#include "base/real.h"

#include <stdint.h>

/* The map that tokens are laid out in, and how its channel groups move. Tokens of a batch are
 * numbered image by image, row by row. */
typedef struct sv_shift_map {
    size_t height, width, channels;
    size_t group; /* channels of each of the four groups */
    size_t pixels;
    int crop; /* 1: nothing moves, the border lines are cleared (SVIT_SHIFT_KERAS) */
} sv_shift_map;

/* How patches are cut: kernel = stride = size, `top` and `left` lines of zeros before the map. */
typedef struct sv_patch_map {
    size_t height, width, channels; /* of the input */
    size_t rows, columns;           /* of the output */
    size_t size;
    size_t top, left;
} sv_patch_map;

/* Random bits of one dropout: words[block, c], bit b of block k is token 32 k + b. */
typedef struct sv_mask_source {
    uint32_t key[2];
    uint32_t counter[3]; /* the upper words of Philox' counter; the lowest bits of [0] must be 00 */
    uint32_t threshold;  /* 0 to 65535; a 16-bit number below it drops: rate = threshold / 65536 */
} sv_mask_source;

/* Some columns of some rows of matrices that all lie alike, `stride` numbers from row to row. Row 0
 * is token first_token of the batch. */
typedef struct sv_rows {
    size_t first_token, tokens, columns, stride;
} sv_rows;

/* What becomes of such rows in dropout: keep * scale of each number, keep being bit token % 32 of
 * mask[token / 32 * stride + column]. mask NULL: nothing. */
typedef struct sv_dropped {
    const uint32_t *mask;
    real scale;
} sv_dropped;

#define SV_NOT_DROPPED ((sv_dropped){NULL, 1})

/* Columns of a matrix that do not count in some of its rows, a token each: of an image of `period`
 * tokens number q lacks group g, columns g * width.. of it, where bit g of groups[q] is set. */
enum { SV_GAPS_TOKENS = 16, SV_GAPS_GROUPS = 4 };
typedef struct sv_gaps {
    size_t period, width;
    uint8_t groups[SV_GAPS_TOKENS];
} sv_gaps;

/* Zeros in the gaps of a normalised left-hand side, and what they stand for: in row i and group g
 * factor_i = -mean[i] rstd[i] times a weight each, plus a bias each. Of those, multiplied with the
 * right-hand side,
 *   c[i] = ... + sum over the gaps g of row i of factor_i fill[g, 0] + fill[g, 1] */
typedef struct sv_zeros {
    sv_gaps gaps;
    const real *mean, *rstd;
    const real *fill; /* [groups, 2, columns]; NULL: they stand for zeros */
    size_t columns;
} sv_zeros;

/* What a product's numbers c go through once their sums are complete, while they are near: GELU,
 * dropout and the shortcut, each where it is asked for,
 *   kept = c;  c = gelu(c);  c = keep * scale * c;  c = shortcut + path[image] * c
 * or, with u, GELU's derivative, which the other fields leave alone but for dropout,
 *   c = keep * scale * gelu'(u) * c;  a = keep * scale * gelu(u)
 * kept, shortcut, u and a lie as c does: row i, column j of c belongs to theirs. */
typedef struct sv_epilogue {
    sv_dropped dropped;
    size_t first_token; /* of row 0 */
    bool gelu;
    real *kept;           /* NULL: not wanted */
    const real *shortcut; /* NULL: none */
    const real *path;     /* NULL: 1 */
    size_t image_tokens;
    const real *u; /* NULL: no derivative */
    real *a;       /* NULL: not wanted */
    /* NULL: none, and not of groups; where they stand for something, only by a provider that fills
     * them, else a hint. */
    const sv_zeros *zeros;
    /* Hints: c lies far away, nobody has touched it lately; nobody reads c's gaps, so that anything
     * may be left there, NULL: none, and not of groups. */
    bool far;
    const sv_gaps *unread;
} sv_epilogue;

/* Some rows of one head's attention scores, a row a query, and what stands around their softmax. */
typedef struct sv_attention_rows {
    size_t rows, columns; /* queries, keys */
    size_t first_row;     /* number of the first query */
    real scale;           /* of the scores */
    int masked;           /* a query does not see the key of its own number */
    const uint32_t *mask; /* dropout: words[query / 32, columns], bit query % 32; NULL: none */
    real keep;            /* the factor of what dropout keeps */

    /* By query number: p = share 2^(scale log2(e) score - most). Written by the softmax where they
     * are not NULL, and read when it is made again. */
    real *most, *share;
    int unscaled; /* the softmax leaves share out of p; only without dropout */
} sv_attention_rows;

/* The end of a merged attention block (layers/attention_merge.c): the heads' outputs, summed. */
typedef struct sv_head_sum {
    const real *o;     /* [rows, heads, c] */
    const real *bias;  /* [c]; NULL: none */
    const real *share; /* a factor of head h and row r: share[h * tokens + r]; NULL: 1 */
    real path;         /* a factor of the sum */
    size_t heads, tokens, rows, c;
} sv_head_sum;

/* How the numbers of a packed right-hand side are kept: as they are; in bfloat16; in a byte, each
 * column with a factor of its own; rounded to bfloat16, but at their full width, which multiplies
 * sooner than two bytes that are widened at each turn. */
typedef enum sv_number_type {
    SV_NUMBER_REAL,
    SV_NUMBER_BF16,
    SV_NUMBER_INT8,
    SV_NUMBER_ROUNDED,
    SV_NUMBER_TYPES, /* those of tile.c */
    /* For dot products (dot_product.h): */
    SV_NUMBER_PAIR, /* two in bfloat16 a lane */
    SV_NUMBER_QUAD  /* four bytes a lane, the left-hand side's unsigned */
} sv_number_type;

/* c[m, ...] = bias + or += a[m,k] b[k, ...]; element (i, p) of a at a[i * row + p * column]. */
typedef struct sv_tile_product {
    real *c;
    size_t ldc;
    int accumulate;
    const real *bias; /* a number for each column of c; NULL: 0 */
    const real *a;
    size_t row, column;
    const void *packed; /* b */
    size_t k;
    const sv_epilogue *epilogue; /* NULL: none */
    bool streams;                /* of b, what few rows will meet is fetched in streams */
} sv_tile_product;

typedef struct sv_kernels {
    sv_isa isa;

    /* norm.c: layer norm per token, y may be x, and group norm with one group per image. mean, rstd
     * [tokens]. */
    void (*layer_norm)(real *y, real *mean, real *rstd, const real *x, const real *weight,
                       const real *bias, size_t tokens, size_t c, real eps);
    void (*norm_moments)(real *mean, real *rstd, const real *x, size_t tokens, size_t c, real eps);
    void (*norm_apply)(real *y, const real *x, const real *mean, const real *rstd,
                       const real *weight, const real *bias, size_t tokens, size_t c);
    void (*norm_backward_parameters)(real *dweight, real *dbias, const real *dy, const real *x,
                                     const real *mean, const real *rstd, size_t tokens, size_t c);
    void (*layer_norm_backward)(real *dx, const real *dy, const real *x, const real *mean,
                                const real *rstd, const real *weight, size_t tokens, size_t c);
    void (*group_norm_backward)(real *dx, const real *dy, const real *x, const real *mean,
                                const real *rstd, const real *weight, size_t tokens, size_t c);

    /* gelu.c. kept, and gelu_backward's a, NULL: not wanted. */
    void (*gelu)(real *a, real *kept, const real *u, sv_dropped dropped, sv_rows rows);
    void (*gelu_backward)(real *a, real *du, const real *u, sv_dropped dropped, sv_rows rows);

    /* softmax.c. kept is p where there is no mask. */
    void (*attention_softmax)(real *p, real *kept, real *scores, const sv_attention_rows *call);
    void (*attention_softmax_again)(real *p, real *kept, const real *scores,
                                    const sv_attention_rows *call);
    real (*attention_softmax_backward)(real *ds, const real *p, const real *kept, const real *dp,
                                       const real *scores, const sv_attention_rows *call);
    void (*attention_sum)(real *y, const real *x, const sv_head_sum *sum);

    /* residual.c */
    void (*residual)(real *y, const real *x, const real *branch, sv_dropped dropped,
                     const real *path, size_t image_tokens, sv_rows rows);
    void (*residual_backward)(real *dbranch, const real *dy, sv_dropped dropped, const real *path,
                              size_t image_tokens, sv_rows rows);
    void (*add_rows)(real *sum, const real *x, size_t rows, size_t c);
    void (*add)(real *y, const real *x, size_t elements);
    void (*scale)(real *y, real factor, size_t elements);

    /* shift.c */
    void (*shift)(real *y, const real *x, const sv_shift_map *map, size_t first_token,
                  size_t tokens);
    void (*shift_backward)(real *dx, const real *dy, const sv_shift_map *map, size_t first_token,
                           size_t tokens);

    /* patch.c */
    void (*patch_gather)(real *y, const real *x, const sv_patch_map *map, size_t first_token,
                         size_t tokens);
    void (*patch_scatter)(real *dx, const real *dy, const sv_patch_map *map, size_t first_token,
                          size_t tokens);

    void (*shifted_patches)(real *y, const real *x, const sv_patch_map *map, int paper_order,
                            size_t first_token, size_t tokens);

    /* mean.c */
    void (*mean_tokens)(real *y, const real *x, size_t images, size_t tokens, size_t c);
    void (*mean_tokens_backward)(real *dx, const real *dy, size_t images, size_t tokens, size_t c);

    /* dropout.c */
    void (*dropout_mask)(uint32_t *words, const sv_mask_source *source, size_t first_block,
                         size_t blocks, size_t c);

    /* epilogue.c: rows row.. and columns column.. of c[m, ldc]. */
    void (*finish)(real *c, size_t ldc, const sv_epilogue *epilogue, size_t row, size_t rows,
                   size_t column, size_t columns);

    /* tile.c: products by register-blocked tiles over a packed right-hand side. */
    size_t (*tile_packed_bytes)(sv_number_type type, size_t k, size_t n);
    void (*tile_pack)(void *packed, sv_number_type type, const real *b, size_t row, size_t column,
                      size_t k, size_t n);
    void (*tile_multiply)(const sv_tile_product *product, sv_number_type type, size_t m,
                          size_t first, size_t count);
} sv_kernels;

/* The table of an instruction set, or of the best below it that this build has. */
const sv_kernels *sv_kernels_for(sv_isa isa);

#endif
