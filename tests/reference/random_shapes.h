/* Random numbers from a fixed seed, and model configurations of random shapes. */
#ifndef RANDOM_SHAPES_H
#define RANDOM_SHAPES_H

#include <shiftvit/model.h>

#include <stddef.h>
#include <stdint.h>

/* xorshift64*. Vigna 2016. The state is not 0. */
typedef uint64_t random_state;

static inline uint32_t random_bits(random_state *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)(*state * 0x2545F4914F6CDD1Du >> 32);
}

/* An integer from `min` to `max`, both included. */
static inline size_t random_between(random_state *state, size_t min, size_t max)
{
    return min + random_bits(state) % (max - min + 1);
}

static inline int random_coin(random_state *state)
{
    return (int)(random_bits(state) & 1);
}

/* A value from -1 to 1. */
static inline double random_centred(random_state *state)
{
    return (double)random_bits(state) / 0x1p31 - 1;
}

/* Configurations that the library accepts, with all rates 0, and the images of a batch. */
svit_model_config random_shiftvit(random_state *state, size_t *images);
svit_model_config random_vit(random_state *state, size_t *images);
svit_model_config random_mixer(random_state *state, size_t *images);

/* The preset with few channels, blocks and pixels, and all rates 0; its words and flags, and with
 * them the families, are those of the preset. */
svit_model_config small_preset(const char *name);

#endif
