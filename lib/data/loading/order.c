/* Shuffles by Fisher and Yates (Durstenfeld 1964): every permutation is equally likely. */
#include "data/loading/order.h"

#include "base/numbers/random.h"

void sv_order_fill(uint32_t *order, uint32_t count, int32_t shuffle, uint64_t seed, uint64_t epoch)
{
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    if (!shuffle)
        return;
    sv_random random;
    sv_random_start(&random, seed, SV_STREAM_ORDER, epoch, 0);
    for (uint32_t left = count; left > 1; left--) {
        uint32_t chosen = sv_random_below(&random, left);
        uint32_t kept = order[left - 1];
        order[left - 1] = order[chosen];
        order[chosen] = kept;
    }
}
