/* Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011). A number is a
 * function of (seed, stream, index), so it does not matter who draws it, or when. */
#ifndef SV_RANDOM_H
#define SV_RANDOM_H

#include <stdint.h>

/* out = Philox4x32-10 of the counter under the key. */
void sv_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* What a stream is for: the top byte of its number, so that no two uses share numbers. */
enum {
    SV_STREAM_INIT = 1,
    SV_STREAM_DROPOUT = 2,
    SV_STREAM_DROP_PATH = 3,
    SV_STREAM_ORDER = 4,
    SV_STREAM_AUGMENT = 5,
    SV_STREAM_SYNTHETIC = 6,
    SV_STREAM_AFFINE = 7
};

/* A sequence of numbers, to be drawn one after another: key = seed, the counter's upper words =
 * (use, a, b), the lowest counts. */
typedef struct sv_random {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t block[4];
    uint32_t used;
} sv_random;

/* Starts the sequence (seed, use, a, b): a has 56 bits, b has 32. */
void sv_random_start(sv_random *random, uint64_t seed, uint32_t use, uint64_t a, uint32_t b);

uint32_t sv_random_u32(sv_random *random);

/* Uniform in 0..bound-1 without bias (Lemire 2019); bound at least 1. */
uint32_t sv_random_below(sv_random *random, uint32_t bound);

/* Uniform in [0, 1), a multiple of 2^-53. */
double sv_random_unit(sv_random *random);

/* Normal, mean 0, deviation 1 (Box, Muller 1958). */
double sv_random_normal(sv_random *random);

#endif
