/* Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011). A value is a
 * function of (seed, stream, index) alone, so any thread may compute it at any time. */
#ifndef SV_RANDOM_H
#define SV_RANDOM_H

#include <stdint.h>

/* out = Philox4x32-10(counter, key). */
void sv_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* The use of a stream. It is the top byte of the counter, so that no two uses share values. */
enum {
    SV_STREAM_INIT = 1,
    SV_STREAM_DROPOUT = 2,
    SV_STREAM_DROP_PATH = 3,
    SV_STREAM_ORDER = 4,
    SV_STREAM_AUGMENT = 5,
    SV_STREAM_SYNTHETIC = 6,
    SV_STREAM_AFFINE = 7,
    SV_STREAM_AUGMENT_STEP = 8,
    SV_STREAM_MIX = 9,
    SV_STREAM_MASK = 10,
    SV_STREAM_READING = 11
};

/* A sequence of random values. The key is the seed; the upper three words of the counter hold (use,
 * a, b), and the lowest word counts the blocks of four values. */
typedef struct sv_random {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t block[4]; /* the current four values */
    uint32_t used;     /* values of the block that have been returned */
} sv_random;

/* Starts the sequence of a key (seed) and a stream: its use, SV_STREAM_*, and two numbers a and b
 * that tell the streams of one use apart, e.g. the epoch and the image. Only the lower 56 bits of
 * `a` are used: 24 of them share a word of the counter with `use`. */
void sv_random_start(sv_random *random, uint64_t seed, uint32_t use, uint64_t a, uint32_t b);

/* The next 32 random bits. */
uint32_t sv_random_u32(sv_random *random);

/* Uniform in 0..bound-1, without bias (Lemire 2019). `bound` is at least 1. */
uint32_t sv_random_below(sv_random *random, uint32_t bound);

/* Puts values[count] into an order drawn uniformly from all orders (Fisher, Yates 1938). */
void sv_random_shuffle(sv_random *random, uint32_t *values, uint32_t count);

/* Uniform in [0, 1), a multiple of 2^-53. */
double sv_random_unit(sv_random *random);

/* Normal with mean 0 and standard deviation 1 (Box, Muller 1958). */
double sv_random_normal(sv_random *random);

#endif
