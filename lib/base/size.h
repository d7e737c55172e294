/* Sizes from outside are multiplied and added here only, so that none wraps. */
#ifndef SV_SIZE_H
#define SV_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a * b, a + b; false, with *out unchanged, where that does not fit. */
bool sv_size_multiply(size_t *out, size_t a, size_t b);
bool sv_size_add(size_t *out, size_t a, size_t b);

/* *out = the product of `count` factors. */
bool sv_size_product(size_t *out, const size_t *factors, size_t count);

static inline size_t sv_size_min(size_t count, size_t most)
{
    return count < most ? count : most;
}

static inline size_t sv_size_max(size_t count, size_t least)
{
    return count > least ? count : least;
}

#endif
