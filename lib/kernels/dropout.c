/* Dropout masks from the counter-based generator Philox4x32-10. Srivastava et al. 2014; Salmon et
 * al. 2011. */
#include "kernels/local.h"

/* Mask words that are computed at once, each in a 64-bit lane. */
enum { WORDS = SV_VECTOR_BYTES / sizeof(uint64_t) };

typedef uint32_t vwords __attribute__((vector_size(SV_VECTOR_BYTES / 2)));

/* The four 32-bit words of the Philox counter, in the lower half of each lane. The upper half holds
 * leftovers of earlier steps, which no operation reads. */
typedef struct counters {
    vwide c0, c1, c2, c3;
} counters;

enum { ROUNDS = 10, QUARTERS = 4 };

static const uint32_t MULTIPLIERS[] = {0xD2511F53u, 0xCD9E8D57u};

/* One round of Philox with the round key k0, k1. */
SV_INLINE void philox_round(counters *c, vwide k0, vwide k1)
{
    vwide p0 = v_multiply_wide(c->c0, MULTIPLIERS[0]), p1 = v_multiply_wide(c->c2, MULTIPLIERS[1]);
    *c = (counters){p1 >> 32 ^ c->c1 ^ k0, p1, p0 >> 32 ^ c->c3 ^ k1, p0};
}

/* The last round, whose output is eight 16-bit integers, and one keep bit for each: set if it is at
 * least the threshold. The bits are numbered from `place` on: 0 and 1 for the halves of c0, lower
 * half first, then c1, c2, c3. The round leaves c0 above c1 in a lane, and c2 above c3, so the four
 * integers of a lane carry the bits 2, 3, 0, 1 (`first`) and 6, 7, 4, 5 (`second`). */
SV_INLINE vhalves add_bits(vhalves bits, const counters *c, vwide k0, vwide k1, vhalves threshold,
                           unsigned place)
{
    vwide p0 = v_multiply_wide(c->c0, MULTIPLIERS[0]), p1 = v_multiply_wide(c->c2, MULTIPLIERS[1]);
    vhalves first = (vhalves)(p1 ^ c->c1 << 32 ^ k0 << 32);
    vhalves second = (vhalves)(p0 ^ c->c3 << 32 ^ k1 << 32);
    vwide weight = v_set_wide(0x0002000100080004u << place);
    bits = v_add_where_at_least(bits, first, threshold, (vhalves)weight);
    return v_add_where_at_least(bits, second, threshold, (vhalves)(weight << 4));
}

/* Joins the bits that the four 16-bit integers of each lane hold, by OR. */
SV_INLINE vwide gather_bits(vhalves bits)
{
    vwide lanes = (vwide)bits;
    lanes |= lanes >> 32;
    return (lanes | lanes >> 16) & 0xFFFF;
}

/* Mask words word..word + WORDS - 1. Each has four counters, one for 8 of its 32 bits; they are
 * computed side by side, so that the latencies of their multiplications overlap. */
SV_INLINE vwords draw_words(uint32_t word, const sv_mask_source *s)
{
    static const uint64_t lane_indices[] = {0, 1, 2, 3, 4, 5, 6, 7};
    vwide number, k0 = v_set_wide(s->key[0]), k1 = v_set_wide(s->key[1]);
    memcpy(&number, lane_indices, sizeof number);
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

/* words[blocks, c], from block first_block on: bit b of word (k, i) is 1 if dropout keeps channel i
 * of token 32 k + b. Word w = k * c + i of the whole mask is computed from the counters (w,
 * counter[0] + 0..3, counter[1], counter[2]), so a bit depends on its position alone. */
void SV_ISA(sv_dropout_mask)(uint32_t *words, const sv_mask_source *source, size_t first_block,
                             size_t blocks, size_t c)
{
    const sv_mask_source s = *source;
    uint32_t first = (uint32_t)(first_block * c);
    size_t count = blocks * c;
    for (size_t i = 0; i < count; i += WORDS) {
        vwords drawn = draw_words(first + (uint32_t)i, &s);
        size_t rest = count - i < WORDS ? count - i : WORDS;
        memcpy(words + i, &drawn, rest * sizeof *words);
    }
}
