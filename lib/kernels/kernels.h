/* The kernels' table: the mathematics, compiled for several instruction sets, one chosen when a
 * context is made. Kernels take pointers, sizes and scalars; they allocate nothing and know no
 * handles. Every array is row-major; outputs come first; d... is the gradient of ..., and parameter
 * gradients accumulate (+=). */
#ifndef SV_KERNELS_H
#define SV_KERNELS_H

#include "base/cpu.h"
#include "base/real.h"
#include "kernels/kernel_list.h"

#include <stdint.h>

/* The map that tokens are laid out in, and how its channel groups move. Tokens of a batch are
 * numbered image by image, row by row. */
typedef struct sv_shift_geometry {
    size_t height, width, channels;
    size_t group; /* channels of each of the four groups */
    size_t pixels;
    int crop; /* 1: nothing moves, the border lines are cleared (SVIT_SHIFT_KERAS) */
} sv_shift_geometry;

/* How patches are cut: kernel = stride = size, `top` and `left` lines of zeros before the map. */
typedef struct sv_patch_geometry {
    size_t height, width, channels; /* of the input */
    size_t rows, columns;           /* of the output */
    size_t size;
    size_t top, left;
} sv_patch_geometry;

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

/* Channel groups of an image's tokens. Token q of `period` tokens has group g, columns
 * g * width..(g + 1) * width - 1, if bit g of groups[q] is set. */
enum { SV_GAPS_TOKENS = 16, SV_GAPS_GROUPS = 4 };
typedef struct sv_gaps {
    size_t period, width;
    uint8_t groups[SV_GAPS_TOKENS];
} sv_gaps;

/* Zero channel groups of a normalised A, and their correction term. In row i the norm would have
 * mapped group g to factor_i * weight + bias, factor_i = -mean[i] rstd[i]. `fill` holds these
 * multiplied with B:
 *   c[i] = ... + sum over the zero groups g of row i of factor_i fill[g, 0] + fill[g, 1] */
typedef struct sv_zeros {
    sv_gaps gaps;
    const real *mean, *rstd;
    const real *fill; /* [groups, 2, columns]; NULL: no correction term */
    size_t columns;
} sv_zeros;

/* What a product's numbers c go through once their sums are complete, while they are near: GELU,
 * dropout and the residual, each where it is asked for,
 *   kept = c;  c = gelu(c);  c = keep * scale * c;  c = residual + path[image] * c
 * or, with u, GELU's derivative, which the other fields leave alone but for dropout,
 *   c = keep * scale * gelu'(u) * c;  a = keep * scale * gelu(u)
 * kept, residual, u and a lie as c does: row i, column j of c belongs to theirs. */
typedef struct sv_epilogue {
    sv_dropped dropped;
    size_t first_token; /* of row 0 */
    bool gelu;
    real *save_pre_gelu;         /* NULL: not wanted */
    const real *residual;        /* NULL: none */
    const real *drop_path_scale; /* NULL: 1 */
    size_t image_tokens;
    const real *pre_gelu; /* NULL: no derivative */
    real *hidden;         /* NULL: not wanted */
    /* Zero channel groups of A; NULL: none. A hint if they have no correction term. Only a backend
     * with `adds_correction` takes those that have one. */
    const sv_zeros *zeros;
    bool not_in_cache; /* a hint: C is not in cache */
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
    real *row_max, *inv_row_sum;
    int unscaled; /* the softmax leaves share out of p; only without dropout */
} sv_attention_rows;

/* The end of a merged attention block (layers/attention/attention_folded.c): the heads' outputs,
 * summed. */
typedef struct sv_head_sum {
    const real *o;    /* [rows, heads, c] */
    const real *bias; /* [c]; NULL: none */
    const real
        *inv_row_sum;     /* a factor of head h and row r: inv_row_sum[h * tokens + r]; NULL: 1 */
    real drop_path_scale; /* a factor of the sum */
    size_t heads, tokens, rows, c;
} sv_head_sum;

typedef struct sv_kernels {
    sv_isa isa;
#define SV_KERNEL_MEMBER(result, name, parameters) result(*name) parameters;
    SV_KERNEL_LIST(SV_KERNEL_MEMBER)
#undef SV_KERNEL_MEMBER
} sv_kernels;

/* The table of an instruction set, or of the best below it that this build has. */
const sv_kernels *sv_kernels_for(sv_isa isa);

#endif
