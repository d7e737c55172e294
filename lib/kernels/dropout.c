/* Dropout masks from counter-based random numbers. Srivastava et al. 2014; Salmon et al. 2011. */
#include "kernels/local.h"

/* Words that are drawn at a time, each in a lane of 64 bits. */
enum { WORDS = SV_VECTOR_BYTES / sizeof(uint64_t) };

typedef uint32_t vwords __attribute__((vector_size(SV_VECTOR_BYTES / 2)));

/* Philox4x32-10's counter, a number in the lower half of each lane; what is above it is left over
 * from the steps before and goes nowhere, since only whole products are shifted down. */
typedef struct counters {
    vwide c0, c1, c2, c3;
} counters;

enum { ROUNDS = 10, QUARTERS = 4 };

static const uint32_t MULTIPLIERS[] = {0xD2511F53u, 0xCD9E8D57u};

SV_INLINE void philox_round(counters *c, vwide k0, vwide k1)
{
    vwide p0 = v_multiply_wide(c->c0, MULTIPLIERS[0]), p1 = v_multiply_wide(c->c2, MULTIPLIERS[1]);
    *c = (counters){p1 >> 32 ^ c->c1 ^ k0, p1, p0 >> 32 ^ c->c3 ^ k1, p0};
}

/* The last round, and a bit for each of its eight 16-bit numbers that is not dropped: bits 0 and 1
 * for c0, the lower half first, up to 6 and 7 for c3, and all of them `place` higher. c0 is left
 * above c1, and c2 above c3, so a lane's four numbers have the bits 2, 3, 0, 1, or 4 more. */
SV_INLINE vhalves add_bits(vhalves bits, const counters *c, vwide k0, vwide k1, vhalves threshold,
                           unsigned place)
{
    vwide p0 = v_multiply_wide(c->c0, MULTIPLIERS[0]), p1 = v_multiply_wide(c->c2, MULTIPLIERS[1]);
    vhalves first = (vhalves)(p1 ^ c->c1 << 32 ^ k0 << 32);
    vhalves second = (vhalves)(p0 ^ c->c3 << 32 ^ k1 << 32);
    vwide weight = v_set_wide(0x0002000100080004u << place);
    bits = v_add_where_least(bits, first, threshold, (vhalves)weight);
    return v_add_where_least(bits, second, threshold, (vhalves)(weight << 4));
}

/* The four 16-bit numbers of each lane, of which each holds some of the bits, in one. */
SV_INLINE vwide gather_bits(vhalves bits)
{
    vwide lanes = (vwide)bits;
    lanes |= lanes >> 32;
    return (lanes | lanes >> 16) & 0xFFFF;
}

/* The words from number `word` on. Their quarters go side by side, so that the multiplications of
 * one hide the latency of another's. */
SV_INLINE vwords draw(uint32_t word, const sv_mask_source *s)
{
    static const uint64_t lane_numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
    vwide number, k0 = v_set_wide(s->key[0]), k1 = v_set_wide(s->key[1]);
    memcpy(&number, lane_numbers, sizeof number);
    counters c[QUARTERS];
    SV_REGISTERS
    for (uint32_t q = 0; q < QUARTERS; q++)
        c[q] = (counters){number + word, v_set_wide(s->counter[0] + q), v_set_wide(s->counter[1]),
                          v_set_wide(s->counter[2])};
    SV_UNROLLED(9)
    for (size_t round = 1; round < ROUNDS; round++) {
        SV_REGISTERS
        for (size_t q = 0; q < QUARTERS; q++)
            philox_round(&c[q], k0, k1);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    vhalves threshold = (vhalves){0} + (uint16_t)s->threshold, low = {0}, high = {0};
    low = add_bits(low, &c[0], k0, k1, threshold, 0);
    low = add_bits(low, &c[1], k0, k1, threshold, 8);
    high = add_bits(high, &c[2], k0, k1, threshold, 0);
    high = add_bits(high, &c[3], k0, k1, threshold, 8);
    return __builtin_convertvector(gather_bits(low) | gather_bits(high) << 16, vwords);
}

/* words[block, c]: bit b of word (k, i) keeps (1) or drops (0) token 32 k + b of channel i. Word
 * number w = k * c + i takes the counters (w, counter[0] + 0..3, counter[1], counter[2]), so a bit
 * is a function of its place alone. `words` points at block first_block's first word. */
void SV_ISA(sv_dropout_mask)(uint32_t *words, const sv_mask_source *source, size_t first_block,
                             size_t blocks, size_t c)
{
    const sv_mask_source s = *source;
    uint32_t first = (uint32_t)(first_block * c);
    size_t count = blocks * c;
    for (size_t i = 0; i < count; i += WORDS) {
        vwords drawn = draw(first + (uint32_t)i, &s);
        size_t some = count - i < WORDS ? count - i : WORDS;
        memcpy(words + i, &drawn, some * sizeof *words);
    }
}
