/* Zero skipping: the tile backend leaves out channel groups of A that are zeros at some spatial
 * positions (sv_epilogue's `zeros`). The rows of one spatial position of all images have the same
 * groups and lie equally far apart, so they are the rows of a matmul of their own.
 * Plain reference: tests/unit/test_zero_skipping.c compares with the sums over the zeros. */
#ifndef SV_TILE_ZERO_SKIPPING_H
#define SV_TILE_ZERO_SKIPPING_H

#include "gemm/tile/tile_rows_impl.h"

enum {
    SKIPPING_IMAGES = 8, /* images that a row block of one position has at least */
    RANGES = SV_GAPS_GROUPS + 1
};

/* The nonzero ranges of a K block in the rows of one spatial position. */
typedef struct tile_position {
    tile_range ranges[RANGES];
    size_t range_count;
} tile_position;

typedef struct tile_zero_skipping {
    size_t period; /* tokens of an image; 0: the rows are too few, so that nothing is skipped */
    size_t first_token;
    const sv_zeros *zeros;
    tile_position positions[SV_GAPS_TOKENS];
    size_t whole; /* index of a position that skips nothing, if there is one */
} tile_zero_skipping;

/* Some rows of a column stripe of C. */
typedef struct tile_stripe {
    real *c;
    size_t ldc;
    size_t row, rows; /* the number of the first row, and how many */
    size_t first, width;
    int accumulate;
    bool adds_correction; /* C is first set to the bias and the correction term */
} tile_stripe;

/* Plans zero skipping for m rows, the first of which is token `first_token` of the batch.
 * `can_skip`: false if only the correction term is to be added. */
void SV_ISA(sv_zero_skipping_plan)(tile_zero_skipping *skipping, const sv_zeros *zeros, size_t m,
                                   size_t first_token, bool can_skip);

/* Finds what each position skips of steps p..p+depth-1 of k. */
void SV_ISA(sv_zero_skipping_find)(tile_zero_skipping *skipping, size_t p, size_t depth);

/* Rows that go through the epilogue at once: whole images, with about twice `rows` rows. */
size_t SV_ISA(sv_zero_skipping_rows)(const tile_zero_skipping *skipping, size_t rows);

/* As multiply_rows() with a large M, for a stripe whose first row is at an image's first position.
 */
void SV_ISA(sv_zero_skipping_multiply)(const tile_zero_skipping *skipping,
                                       const tile_microkernels *kernels, const tile_stripe *stripe,
                                       const tile_operands *operands);

#endif
