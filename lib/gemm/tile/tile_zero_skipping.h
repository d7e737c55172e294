/* Zero skipping in the tile backend. Some channel groups of A are zeros at some spatial positions
 * of every image (sv_zero_groups in kernels.h), and their multiply-adds are left out. The rows of
 * one position of all images skip the same groups and have a constant stride, so they form a matmul
 * of their own over the other ranges of k.
 *
 * A comes out of a norm, which would have mapped a zero group to factor * weight + bias and not to
 * zeros. The correction term adds the product of that with B (sv_zero_skipping in kernels.h).
 *
 * Plain reference: tests/unit/gemm/test_zero_skipping.c compares with the sums over the zeros. */
#ifndef SV_TILE_ZERO_SKIPPING_H
#define SV_TILE_ZERO_SKIPPING_H

#include "gemm/tile/tile_rows_impl.h"

enum {
    SKIPPING_IMAGES = 8,              /* with fewer images nothing is skipped */
    RANGES = SV_ZERO_GROUPS_COUNT + 1 /* the most nonzero ranges that a K block can have */
};

/* The nonzero ranges of a K block in the rows of one spatial position. */
typedef struct tile_position {
    tile_range ranges[RANGES];
    size_t range_count;
} tile_position;

/* The zero skipping of one matmul. sv_zero_skipping_plan sets it up; sv_zero_skipping_find then
 * sets `positions` and `whole` for each K block. */
typedef struct tile_zero_skipping {
    size_t period; /* tokens of an image; 0: the rows are too few, so that nothing is skipped */
    size_t first_token;
    const sv_zero_skipping *zeros;
    tile_position positions[SV_ZERO_GROUPS_TOKENS];
    size_t whole; /* index of a position that skips nothing, if there is one */
} tile_zero_skipping;

/* Some rows of a column stripe of C. */
typedef struct tile_stripe {
    real *c;
    size_t ldc;
    size_t row, rows;    /* index of the first row, and the number of rows */
    size_t first, width; /* index of the first column, and the number of columns */
    tile_before before;
    bool adds_correction; /* C is first set to the bias and the correction term */
} tile_stripe;

/* Plans zero skipping for m rows, the first of which is token `first_token` of the batch.
 * Without `can_skip` no zeros are skipped, and only the correction term is added. */
void SV_ISA(sv_zero_skipping_plan)(tile_zero_skipping *skipping, const sv_zero_skipping *zeros,
                                   size_t m, size_t first_token, bool can_skip);

/* Finds the nonzero ranges of each position in the K block of steps p..p+depth-1. */
void SV_ISA(sv_zero_skipping_find)(tile_zero_skipping *skipping, size_t p, size_t depth);

/* The number of rows that the epilogue is applied to at once: about twice `rows`, whole images. */
size_t SV_ISA(sv_zero_skipping_rows)(const tile_zero_skipping *skipping, size_t rows);

/* Computes the stripe position by position; the index of its first row is a multiple of the period.
 * Without skipping it adds the correction term and calls multiply_rows(). */
void SV_ISA(sv_zero_skipping_multiply)(const tile_zero_skipping *skipping,
                                       const tile_microkernels *kernels, const tile_stripe *stripe,
                                       const tile_operands *operands);

#endif
