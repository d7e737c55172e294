/* The table of kernels: the arithmetic of the layers, compiled once for each instruction set; a
 * context chooses a table. Kernels take pointers, sizes and scalars; they allocate nothing and know
 * no handle. Every array is row-major. Outputs come first. dx is the gradient of the loss with
 * respect to x, and gradients of parameters are added to (+=). */
#ifndef SV_KERNELS_H
#define SV_KERNELS_H

#include "base/real.h"
#include "base/threads/cpu.h"
#include "kernels/kernel_list.h"

#include <stdint.h>

/* The feature map of a shift. Tokens of a batch are numbered image by image, row by row. */
typedef struct sv_shift_geometry {
    size_t height, width, channels;
    size_t group;  /* channels of each of the four groups */
    size_t pixels; /* distance of the shift */
    int crop;      /* 1: nothing moves, the border is cleared (SVIT_SHIFT_KERAS) */
} sv_shift_geometry;

/* The feature map of a depthwise convolution. */
typedef struct sv_depthwise_geometry {
    size_t height, width, channels;
} sv_depthwise_geometry;

/* The patches of a convolution. */
typedef struct sv_patch_geometry {
    size_t height, width, channels; /* of the input */
    size_t rows, columns;           /* of patches */
    size_t size;                    /* pixels of a side of a patch */
    size_t top, left;               /* rows and columns of zero padding */
    size_t stride; /* pixels from one patch to the next; below `size` they overlap */
} sv_patch_geometry;

/* The copies of an image in shifted patch tokenization (Lee, Lee, Song 2021), the first of which is
 * the image, by (down, right): pixel (y, x) of a copy is pixel (y + down * half, x + right * half)
 * of the image, where half is half the size of a patch, rounded down. In the order SVIT_SPT_KERAS
 * the image shifts left-up, left-down, right-up and right-down; in SVIT_SPT_PAPER right-down,
 * left-down, right-up and left-up. */
enum { SV_COPIES = 5 };
static const int SV_COPY_SHIFTS[2][SV_COPIES][2] = {
    {{0, 0}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}},
    {{0, 0}, {-1, -1}, {-1, 1}, {1, -1}, {1, 1}},
};

/* The random numbers from which the mask of one dropout is made. A mask is words[block, c], one
 * word for 32 tokens of a channel: bit b of block k belongs to token 32 k + b. */
typedef struct sv_mask_source {
    uint32_t key[2];
    uint32_t counter[3]; /* upper words of the Philox counter; bits 0 and 1 of [0] must be 0 */
    uint32_t threshold;  /* 0 to 65535: an element is dropped if its 16 random bits, as an integer,
                            are below it; the rate is threshold / 65536 */
} sv_mask_source;

/* Some columns of some rows of matrices that have the same row stride, in elements. Row 0 is token
 * first_token of the batch. */
typedef struct sv_rows {
    size_t first_token, tokens, columns, stride;
} sv_rows;

/* Dropout of such rows: an element is multiplied by scale if bit token % 32 of
 * mask[token / 32 * stride + column] is set, otherwise by 0. mask NULL: there is no dropout. */
typedef struct sv_dropout {
    const uint32_t *mask;
    real scale;
} sv_dropout;

#define SV_NO_DROPOUT ((sv_dropout){NULL, 1})

/* The coefficients of an activation x sigmoid(a x + b x^3). */
typedef struct sv_sigmoid_gate {
    real a, b;
} sv_sigmoid_gate;

/* The activation of an epilogue, and its coefficients unless it is the exact GELU. */
typedef enum sv_activation { SV_GELU, SV_GELU_TANH, SV_QUICK_GELU } sv_activation;
static inline sv_sigmoid_gate sv_activation_gate(sv_activation activation)
{
    /* GELU's tanh form x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) is
     * x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)). */
    const real a = (real)1.5957691216057308;
    return activation == SV_QUICK_GELU ? (sv_sigmoid_gate){(real)1.702, 0}
                                       : (sv_sigmoid_gate){a, a * (real)0.044715};
}

/* Zero channel groups. Group g is columns g * width..(g + 1) * width - 1. It is zero for token q of
 * an image of `period` tokens if bit g of groups[q] is set. */
enum { SV_ZERO_GROUPS_TOKENS = 16, SV_ZERO_GROUPS_COUNT = 4 };
typedef struct sv_zero_groups {
    size_t period, width;
    uint8_t groups[SV_ZERO_GROUPS_TOKENS];
} sv_zero_groups;

/* Zero skipping: the zero channel groups of a normalised A, and their correction term. The norm
 * would have mapped a zero group to factor[i] * weight + bias in row i, with
 * factor[i] = -mean[i] * rstd[i]. `correction` holds the products of weight and of bias with B:
 *   c[i] += sum over the zero groups g of row i of factor[i] correction[g, 0] + correction[g, 1] */
typedef struct sv_zero_skipping {
    sv_zero_groups zero_groups;
    const real *mean, *rstd;
    const real *correction; /* [groups, 2, columns]; NULL: no correction term */
    size_t columns;
} sv_zero_skipping;

/* The epilogue of a matmul: what is applied to the elements of C when their sums are complete and
 * still in cache. In this order, each step only if it is asked for:
 *   save_pre_gelu = c;  c = gelu(c);  c = dropout(c);  c = residual + drop_path_scale[image] * c
 * Or, with pre_gelu, the backward of GELU and its dropout, where the other fields have no effect:
 *   c = dropout'(gelu'(pre_gelu) * c);  hidden = dropout(gelu(pre_gelu))
 * where gelu is the one of `activation`. The arrays have the row stride of C. */
typedef struct sv_epilogue {
    sv_dropout dropout;
    size_t first_token; /* of row 0 */
    bool gelu;
    sv_activation activation;
    real *save_pre_gelu;         /* NULL: not saved */
    const real *residual;        /* NULL: none */
    const real *drop_path_scale; /* [images]; NULL: 1 */
    size_t image_tokens;         /* tokens of an image */
    const real *pre_gelu;        /* NULL: no backward of GELU */
    real *hidden;                /* NULL: not computed */
    /* Zero channel groups of A; NULL: none. Without a correction term they are a hint. With one,
     * the backend must have `adds_correction`. */
    const sv_zero_skipping *zeros;
    bool not_in_cache; /* a hint: C is not in cache */
} sv_epilogue;

/* Some rows of the attention scores of one head. A row is a query, a column a key. */
typedef struct sv_attention_rows {
    size_t rows, columns;
    size_t first_row;     /* index of the first query in its image */
    real scale;           /* factor of the scores */
    int masked;           /* 1: masks the diagonal of the scores (key = query) */
    const uint32_t *mask; /* dropout: words[query / 32, columns], bit query % 32; NULL: none */
    real keep;            /* factor of the elements that dropout keeps */

    /* [queries of the image], by index in the image: p = inv_row_sum 2^(scale log2(e) score -
     * row_max). The softmax writes them unless they are NULL, and its recomputation reads them. */
    real *row_max, *inv_row_sum;
    int unscaled; /* 1: the softmax does not multiply p by inv_row_sum; only without dropout */
} sv_attention_rows;

/* The sum over heads that ends an attention block with folded weights
 * (layers/attention/attention_folded.c). */
typedef struct sv_head_sum {
    const real *o;           /* [rows, heads, c] */
    const real *bias;        /* [c]; NULL: none */
    const real *inv_row_sum; /* factor of head h and row r at [h * tokens + r]; NULL: 1 */
    real drop_path_scale;    /* factor of the whole sum */
    size_t heads, tokens, rows, c;
} sv_head_sum;

/* The rotation of queries and keys of the patches of an image, whose grid has `rows` x `columns`
 * (rotary position embeddings, Su et al. 2021). The phases of a head are those of each row, then of
 * each column: [rows + columns, 2, pairs], cosines before sines. The angle of a pair of channels is
 * the sum of that of its row and that of its column. Pair j is the channels 2 j and 2 j + 1 of a
 * head, with `halves` j and j + pairs. */
typedef struct sv_rotary {
    const real *phases;
    size_t rows, columns;
    size_t heads, pairs; /* pairs of channels of a head */
    size_t stride, keys; /* elements from a token to the next one, from a query to its key */
    bool per_head;       /* each head has its own phases, after those of the head before */
    bool halves;
    bool inverse; /* the angles have the opposite sign: the backward */
} sv_rotary;

/* One function pointer for each kernel of the list. */
typedef struct sv_kernels {
    sv_isa isa;
#define SV_KERNEL_MEMBER(result, name, parameters) result(*name) parameters;
    SV_KERNEL_LIST(SV_KERNEL_MEMBER)
#undef SV_KERNEL_MEMBER
} sv_kernels;

/* The table for an instruction set, or for the best one below it that this build has. */
const sv_kernels *sv_kernels_for(sv_isa isa);

#endif
