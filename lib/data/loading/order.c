/* Orders of samples by the shuffle of Fisher and Yates (Durstenfeld 1964), in which all
 * permutations are equally likely: of all samples, or with a window of the shards and of blocks of
 * samples. */
#include "data/loading/order.h"

#include "base/numbers/random.h"
#include "base/size.h"

#include <string.h>

/* The streams of random numbers of one epoch. sv_balance_fill has stream 1. The samples of leaf k
 * in full batches have STREAM_PARTS + k, and those of the last batch, if it is not full, have the
 * stream after the leaves'. */
enum { STREAM_ALL = 0, STREAM_SHARDS = 2, STREAM_PARTS = 3 };

svit_status sv_order_find_shards(sv_order *order, const svit_dataset *dataset, svit_error *err)
{
    if (order->window == 0)
        return SVIT_OK;
    for (size_t i = 0; i < order->count; order->shard_count++)
        i = sv_dataset_shard_end(dataset, i);
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(&dataset->context->allocator, &memory, order->shard_count,
                               sizeof *order->shards, "the shards of an epoch", err));
    order->shards = memory; /* cleared, and the first begins at 0 */
    for (uint32_t k = 1; k < order->shard_count; k++)
        order->shards[k] = (uint32_t)sv_dataset_shard_end(dataset, order->shards[k - 1]);
    return SVIT_OK;
}

void sv_order_free(const sv_allocator *allocator, sv_order *order)
{
    sv_release(allocator, order->shards, order->shard_count * sizeof *order->shards);
}

/* Shuffles values[count] so that each stays less than `window` places from its own. It is done
 * twice in blocks of half a window, and the second time they begin in the middle of the first ones,
 * so that values go from block to block. */
static void shuffle_near(uint32_t *values, uint64_t count, uint32_t window, sv_random *random)
{
    if (count <= window) {
        sv_random_shuffle(random, values, (uint32_t)count);
        return;
    }
    const uint64_t half = (window + 1u) / 2;
    for (int pass = 0; pass < 2; pass++) {
        uint64_t end = pass == 0 ? half : half / 2;
        for (uint64_t first = 0; first < count; first = end, end += half) {
            end = end < count ? end : count;
            sv_random_shuffle(random, values + first, (uint32_t)(end - first));
        }
    }
}

/* Puts the shards into random order and writes their samples, one shard after another. Meanwhile
 * the order of the shards is kept at the end of `out`. Samples do not overwrite what is still to be
 * read there, since each shard to come has at least one sample. */
static void fill_shards(const sv_order *order, uint32_t *out, sv_random *random)
{
    const uint32_t shards = order->shard_count;
    uint32_t *sequence = out + (order->count - shards), used = 0;
    for (uint32_t k = 0; k < shards; k++)
        sequence[k] = k;
    sv_random_shuffle(random, sequence, shards);
    for (uint32_t k = 0; k < shards; k++) {
        const uint32_t shard = sequence[k];
        const uint32_t end = shard + 1 < shards ? order->shards[shard + 1] : order->count;
        for (uint32_t i = order->shards[shard]; i < end; i++)
            out[used++] = i;
    }
}

/* The first place of leaf `leaf`. The places of full batches are grouped by leaf. */
static uint64_t part_first(const sv_order *order, uint64_t leaf)
{
    return order->count / order->batch * sv_partition_begin(order->batch, order->leaves, leaf);
}

void sv_order_fill(const sv_order *order, uint32_t *out, uint64_t seed, uint64_t epoch)
{
    sv_random random;
    if (order->window == 0) {
        for (uint32_t i = 0; i < order->count; i++)
            out[i] = i;
        sv_random_start(&random, seed, SV_STREAM_ORDER, epoch, STREAM_ALL);
        sv_random_shuffle(&random, out, order->count);
        return;
    }
    sv_random_start(&random, seed, SV_STREAM_ORDER, epoch, STREAM_SHARDS);
    fill_shards(order, out, &random);
    uint64_t first = 0;
    for (uint32_t leaf = 0; leaf <= order->leaves; leaf++) {
        const uint64_t end =
            leaf < order->leaves ? part_first(order, leaf + 1) / order->repeats : order->count;
        sv_random_start(&random, seed, SV_STREAM_ORDER, epoch, STREAM_PARTS + leaf);
        shuffle_near(out + first, end - first, order->window, &random);
        first = end;
    }
}

uint64_t sv_order_place(const sv_order *order, uint64_t position)
{
    const uint64_t batch = order->batch, number = position / batch, at = position % batch;
    if (order->window == 0 || number >= order->count / batch)
        return position;
    /* The last leaf that begins at `at` or before. */
    const uint64_t leaf = ((at + 1) * order->leaves - 1) / batch;
    const uint64_t first = sv_partition_begin(batch, order->leaves, leaf);
    const uint64_t share = sv_partition_begin(batch, order->leaves, leaf + 1) - first;
    return part_first(order, leaf) + number * share + at - first;
}
