/* Philox4x32-10 and the sequences based on it. */
#include "base/numbers/random.h"

#include <math.h>

static inline uint32_t high_product(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a * b) >> 32);
}

void sv_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint32_t h0 = high_product(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
        uint32_t h1 = high_product(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
        c0 = h1 ^ c1 ^ k0;
        c1 = l1;
        c2 = h0 ^ c3 ^ k1;
        c3 = l0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void sv_random_start(sv_random *random, uint64_t seed, uint32_t use, uint64_t a, uint32_t b)
{
    random->key[0] = (uint32_t)seed;
    random->key[1] = (uint32_t)(seed >> 32);
    random->counter[0] = 0;
    random->counter[1] = b;
    random->counter[2] = (uint32_t)a;
    random->counter[3] = use << 24 | (uint32_t)((a >> 32) & 0xFFFFFF);
    random->used = 4;
}

uint32_t sv_random_u32(sv_random *random)
{
    if (random->used == 4) {
        sv_philox(random->block, random->counter, random->key);
        random->counter[0]++;
        random->used = 0;
    }
    return random->block[random->used++];
}

uint32_t sv_random_below(sv_random *random, uint32_t bound)
{
    uint64_t product = (uint64_t)sv_random_u32(random) * bound;
    if ((uint32_t)product < bound) {
        uint32_t threshold = (0u - bound) % bound;
        while ((uint32_t)product < threshold)
            product = (uint64_t)sv_random_u32(random) * bound;
    }
    return (uint32_t)(product >> 32);
}

void sv_random_shuffle(sv_random *random, uint32_t *values, uint32_t count)
{
    for (uint32_t left = count; left > 1; left--) {
        const uint32_t chosen = sv_random_below(random, left), kept = values[left - 1];
        values[left - 1] = values[chosen];
        values[chosen] = kept;
    }
}

double sv_random_unit(sv_random *random)
{
    uint64_t high = sv_random_u32(random), low = sv_random_u32(random);
    return (double)((high << 32 | low) >> 11) * 0x1p-53;
}

double sv_random_normal(sv_random *random)
{
    double radius = sqrt(-2.0 * log(1.0 - sv_random_unit(random)));
    return radius * cos(6.283185307179586 * sv_random_unit(random));
}
