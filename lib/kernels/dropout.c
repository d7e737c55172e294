/* Dropout masks from counter-based random numbers. Srivastava et al. 2014; Salmon et al. 2011. */
#include "kernels/local.h"

/* Philox4x32-10 on one counter, eight 16-bit numbers of which each sets one bit of *word. */
SV_INLINE uint32_t eight_bits(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0,
                              uint32_t k1, uint32_t threshold)
{
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t next0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, next2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = next0;
        c2 = next2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    uint32_t t = threshold;
    return ((c0 & 0xFFFF) >= t ? 1u : 0) | ((c0 >> 16) >= t ? 2u : 0) |
           ((c1 & 0xFFFF) >= t ? 4u : 0) | ((c1 >> 16) >= t ? 8u : 0) |
           ((c2 & 0xFFFF) >= t ? 16u : 0) | ((c2 >> 16) >= t ? 32u : 0) |
           ((c3 & 0xFFFF) >= t ? 64u : 0) | ((c3 >> 16) >= t ? 128u : 0);
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
    for (size_t i = 0; i < count; i++) {
        uint32_t word = first + (uint32_t)i, bits = 0;
        for (uint32_t quarter = 0; quarter < 4; quarter++)
            bits |= eight_bits(word, s.counter[0] + quarter, s.counter[1], s.counter[2], s.key[0],
                               s.key[1], s.threshold)
                    << 8 * quarter;
        words[i] = bits;
    }
}
