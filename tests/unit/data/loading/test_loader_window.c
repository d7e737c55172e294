/* Checks orders with a window: every sample is read once an epoch, near its place in the order of
 * the shards, by the leaf to which it belongs, and the ranks' shares are the whole. */
#include "shards_support.h"
#include "test_loader_support.h"

#include "data/loading/order.h"

#include <shiftvit/reducer.h>

#include <math.h>

enum { COUNT_MAX = 4000, BATCH_MAX = 512 };

/* A dataset of samples in shards, of which only the bounds are read. */
typedef struct sharded {
    svit_dataset base;
    const uint32_t *ends; /* one past the last sample of each shard */
} sharded;

static size_t sharded_end(const svit_dataset *dataset, size_t index)
{
    const uint32_t *ends = ((const sharded *)dataset)->ends;
    while (*ends <= index)
        ends++;
    return *ends;
}

static const sv_dataset_ops SHARDED = {.bytes = sizeof(sharded), .shard_end = sharded_end};

/* A case: how many samples in how many shards, and how they are read. */
typedef struct window_case {
    uint32_t count, shards, batch, leaves, window, repeats;
} window_case;

static uint32_t ends[COUNT_MAX];

/* Cuts the samples in shards of different sizes, which are at least 1. */
static sharded sharded_make(svit_context *own, const window_case *c)
{
    for (uint32_t k = 0; k < c->shards; k++) {
        const uint64_t even = (uint64_t)c->count * (k + 1) / c->shards;
        const uint64_t before = k ? ends[k - 1] : 0, rest = c->count - before - (c->shards - 1 - k);
        uint64_t size = even - before + (k % 3 == 1 ? 2 : 0);
        size = k % 3 == 2 && size > 2 ? size - 2 : size;
        size = size < 1 ? 1 : size > rest ? rest : size;
        ends[k] = k + 1 == c->shards ? c->count : (uint32_t)(before + size);
    }
    return (sharded){.base = {.context = own, .ops = &SHARDED, .count = c->count}, .ends = ends};
}

typedef struct epoch_order {
    sv_order rule;
    uint32_t values[COUNT_MAX];
} epoch_order;

static void order_make(epoch_order *out, svit_context *own, const window_case *c, uint64_t seed,
                       uint64_t epoch)
{
    const sharded dataset = sharded_make(own, c);
    out->rule = (sv_order){.count = c->count,
                           .window = c->window,
                           .leaves = c->leaves,
                           .batch = c->batch,
                           .repeats = c->repeats};
    WORKS(sv_order_find_shards(&out->rule, &dataset.base, err));
    sv_order_fill(&out->rule, out->values, seed, epoch);
}

/* The sample of a reading. */
static uint32_t sample_at(const epoch_order *order, uint64_t position)
{
    return order->values[sv_order_place(&order->rule, position) / order->rule.repeats];
}

/* Requires that the samples of one shard follow each other in the order of the shards, which it
 * finds as the order with a window of 1, where nothing is moved. Writes the place of each
 * sample. */
static void find_places(uint32_t *places, svit_context *own, const window_case *c, uint64_t epoch)
{
    static epoch_order plain;
    window_case one = *c;
    one.window = 1;
    order_make(&plain, own, &one, 7, epoch);
    uint32_t moves = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        places[plain.values[i]] = i;
        moves += i > 0 && plain.values[i] != plain.values[i - 1] + 1;
    }
    ck_assert_uint_lt(moves, plain.rule.shard_count);
    sv_order_free(&own->allocator, &plain.rule);
}

/* One reading of each sample in the first epochs, each near its place, and each leaf in its
 * part. */
static void check_order(svit_context *own, const window_case *c, uint64_t epoch)
{
    static epoch_order order;
    static uint32_t places[COUNT_MAX], readings[COUNT_MAX];
    order_make(&order, own, c, 7, epoch);
    find_places(places, own, c, epoch);
    memset(readings, 0, sizeof readings);
    const uint64_t whole = c->count / c->batch;
    for (uint64_t at = 0; at < c->count; at++) {
        const uint64_t number = at / c->batch, i = at % c->batch;
        const uint32_t sample = sample_at(&order, at);
        uint32_t leaf = 0;
        while (svit_partition_begin(c->batch, c->leaves, leaf + 1) <= i)
            leaf++;
        const uint64_t first = svit_partition_begin(c->batch, c->leaves, leaf);
        const uint64_t end = svit_partition_begin(c->batch, c->leaves, leaf + 1);
        uint64_t low = whole * first, high = whole * end;
        uint64_t wanted = low + number * (end - first) + i - first;
        if (number == whole) { /* the last batch */
            low = whole * c->batch;
            high = c->count;
            wanted = at;
        }
        const uint64_t place = places[sample];
        wanted /= c->repeats;
        if (c->repeats > 1) { /* parts share the samples whose readings their bound cuts */
            low = 0;
            high = c->count;
        }
        /* Check notes each assertion in a file, so there is one only where it fails. */
        if (place < low || place >= high || place >= wanted + c->window ||
            wanted >= place + c->window)
            ck_abort_msg("leaf %u of places %llu..%llu reads place %llu for %llu", leaf,
                         (unsigned long long)low, (unsigned long long)high,
                         (unsigned long long)place, (unsigned long long)wanted);
        readings[sample]++;
    }
    uint64_t read = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        if (readings[i] > c->repeats || (c->repeats == 1 && readings[i] == 0))
            ck_abort_msg("sample %u is read %u times", i, readings[i]);
        read += readings[i];
    }
    ck_assert_uint_eq(read, c->count);
    sv_order_free(&own->allocator, &order.rule);
}

START_TEST(test_each_sample_is_read_once_near_its_place)
{
    static const uint32_t COUNTS[] = {1, 7, 100, 1000, 3999}, SHARDS[] = {1, 2, 7, 60};
    static const uint32_t BATCHES_[] = {1, 3, 16, 100, 512}, LEAVES[] = {1, 2, 3, 8, 100};
    static const uint32_t WINDOWS[] = {1, 2, 5, 64, 999, UINT32_MAX};
    svit_context *own = context_open();
    int cases = 0;
    for (size_t n = 0; n < 5; n++)
        for (size_t s = 0; s < 4; s++)
            for (size_t b = 0; b < 5; b++)
                for (size_t l = 0; l < 5; l++)
                    for (size_t w = 0; w < 6; w++) {
                        const window_case c = {COUNTS[n],   SHARDS[s],
                                               BATCHES_[b], LEAVES[l],
                                               WINDOWS[w],  1 + (uint32_t)(cases % 7 == 0)};
                        if (c.shards > c.count)
                            continue;
                        check_order(own, &c, (uint64_t)cases++ % 3);
                    }
    ck_assert_int_eq(cases, 5 * 5 * 6 * (1 + 3 + 4 + 4 + 4));
    svit_context_free(own);
}
END_TEST

START_TEST(test_orders_depend_on_seed_epoch_and_leaves_alone)
{
    static epoch_order a, b;
    static const struct {
        uint64_t seed, epoch;
        uint32_t leaves, window;
        bool is_same;
    } OTHERS[] = {{7, 3, 4, 50, true},
                  {8, 3, 4, 50, false},
                  {7, 4, 4, 50, false},
                  {7, 3, 2, 50, false},
                  {7, 3, 4, 51, false}};
    window_case c = {1000, 10, 32, 4, 50, 1};
    svit_context *own = context_open();
    order_make(&a, own, &c, 7, 3);
    for (size_t k = 0; k < sizeof OTHERS / sizeof *OTHERS; k++) {
        c.leaves = OTHERS[k].leaves;
        c.window = OTHERS[k].window;
        order_make(&b, own, &c, OTHERS[k].seed, OTHERS[k].epoch);
        ck_assert_int_eq(memcmp(a.values, b.values, 1000 * sizeof *a.values) == 0,
                         OTHERS[k].is_same);
        sv_order_free(&own->allocator, &b.rule);
    }
    sv_order_free(&own->allocator, &a.rule);
    svit_context_free(own);
}
END_TEST

/* Samples leave the shard's order: as many as a uniform permutation of each window would move. */
START_TEST(test_a_window_mixes)
{
    static epoch_order order;
    static uint32_t places[COUNT_MAX];
    const window_case c = {3200, 4, 32, 1, 200, 1};
    svit_context *own = context_open();
    double distance = 0;
    order_make(&order, own, &c, 7, 0);
    find_places(places, own, &c, 0);
    for (uint32_t i = 0; i < c.count; i++)
        distance += fabs((double)places[order.values[i]] - i) / c.count;
    ck_assert_double_gt(distance, c.window / 6.0);
    ck_assert_double_lt(distance, c.window / 2.0);
    sv_order_free(&own->allocator, &order.rule);
    svit_context_free(own);
}
END_TEST

START_TEST(test_leaves_are_shuffled_apart)
{
    static epoch_order order;
    static uint32_t places[COUNT_MAX];
    const window_case c = {3200, 4, 32, 2, 200, 1};
    svit_context *own = context_open();
    uint32_t same = 0;
    order_make(&order, own, &c, 7, 0);
    find_places(places, own, &c, 0);
    for (uint32_t i = 0; i < c.count / 2; i++)
        same += places[order.values[i]] + c.count / 2 == places[order.values[i + c.count / 2]];
    ck_assert_uint_lt(same, c.count / 50);
    sv_order_free(&own->allocator, &order.rule);
    svit_context_free(own);
}
END_TEST

/* The views of shards have their bounds. */
START_TEST(test_views_keep_shards)
{
    static const uint32_t ENDS[] = {3, 4, 9, 12};
    sharded shards = {.base = {.context = context,
                               .ops = &SHARDED,
                               .count = 12,
                               .height = 4,
                               .width = 4,
                               .channels = 3,
                               .classes = 1},
                      .ends = ENDS};
    atomic_init(&shards.base.references, 1);
    svit_dataset *slice = NULL, *selection = NULL;
    WORKS(svit_dataset_slice(&slice, &shards.base, 2, 8, err));
    static const size_t SLICE_ENDS[] = {1, 2, 7, 7, 7, 7, 7, 8};
    for (size_t i = 0; i < 8; i++)
        ck_assert_uint_eq(sv_dataset_shard_end(slice, i), SLICE_ENDS[i]);
    static const size_t CHOSEN[] = {0, 2, 4, 8, 5, 9, 11, 3};
    static const size_t CHOSEN_ENDS[] = {2, 2, 4, 4, 5, 7, 7, 8};
    WORKS(svit_dataset_select(&selection, &shards.base, CHOSEN, 8, err));
    for (size_t i = 0; i < 8; i++)
        ck_assert_uint_eq(sv_dataset_shard_end(selection, i), CHOSEN_ENDS[i]);
    svit_dataset_free(slice);
    svit_dataset_free(selection);
}
END_TEST

/* Small shards are read in random order too, another one in each epoch. */
START_TEST(test_small_shards_are_shuffled)
{
    static epoch_order orders[2];
    static const uint32_t SIZES[] = {1, 2, 12, 15, 16, 17, 40};
    for (size_t k = 0; k < sizeof SIZES / sizeof *SIZES; k++) {
        const window_case c = {40 * SIZES[k], 40, 8, 1, 1, 1};
        uint32_t moved = 0, differ = 0;
        for (uint64_t epoch = 0; epoch < 2; epoch++) {
            order_make(&orders[epoch], context, &c, 7, epoch);
            check_order(context, &c, epoch);
        }
        for (uint32_t i = 0; i < c.count; i++) {
            moved += orders[0].values[i] != i;
            differ += orders[0].values[i] != orders[1].values[i];
        }
        ck_assert_uint_eq(orders[0].rule.shard_count, 40);
        ck_assert_uint_gt(moved, c.count / 2);
        ck_assert_uint_gt(differ, c.count / 2);
        for (int epoch = 0; epoch < 2; epoch++)
            sv_order_free(&context->allocator, &orders[epoch].rule);
    }
}
END_TEST

/* Any selection of a dataset without shards is one shard, as that dataset is. */
START_TEST(test_a_selection_of_one_shard_is_one)
{
    static const uint32_t ONE[] = {12};
    static const size_t CHOSEN[] = {11, 3, 5, 0, 1};
    sharded shards = {.base = {.context = context,
                               .ops = &SHARDED,
                               .count = 12,
                               .height = 4,
                               .width = 4,
                               .channels = 3,
                               .classes = 1},
                      .ends = ONE};
    atomic_init(&shards.base.references, 1);
    svit_dataset *selection = NULL, *slice = NULL;
    WORKS(svit_dataset_select(&selection, &shards.base, CHOSEN, 5, err));
    WORKS(svit_dataset_slice(&slice, selection, 1, 3, err));
    ck_assert_uint_eq(sv_dataset_shard_end(selection, 0), 5);
    ck_assert_uint_eq(sv_dataset_shard_end(slice, 0), 3);
    svit_dataset_free(slice);
    svit_dataset_free(selection);
}
END_TEST

/* The images of shards that a loader reads. */
static void write_shards(void)
{
    for (int k = 0; k < 4; k++) {
        tar_archive tar = {0};
        char name[32];
        for (int i = 0; i < 5 + 3 * (k % 2); i++) {
            snprintf(name, sizeof name, "%d-%d", k, i);
            tar_sample(&tar, name, (uint8_t)(40 * k + i), 40 * k + i);
        }
        snprintf(name, sizeof name, "s-%d.tar", k);
        shard_write(name, &tar);
    }
}

enum { IMAGE = 4 * 4 * 3, BATCH_OF_8 = 8, SHARDED_SAMPLES = 26 };

static svit_loader *shard_loader(svit_dataset *dataset, uint32_t leaves, uint32_t rank,
                                 uint32_t ranks, uint32_t prefetch)
{
    svit_loader_config config = config_make(1, 0, prefetch);
    config.batch = BATCH_OF_8;
    config.shuffle_window = 6;
    config.leaves = leaves;
    config.rank = rank;
    config.ranks = ranks;
    svit_loader *loader = NULL;
    svit_pipeline_config own = pipeline;
    own.resize_height = own.resize_width = own.output_height = own.output_width = 4;
    WORKS(svit_loader_create(&loader, dataset, &own, &config, err));
    return loader;
}

START_TEST(test_the_ranks_shares_are_the_whole_and_seeking_finds_them)
{
    NEEDS(HAS_PNG, "PNG");
    enum { LEAVES = 5, EPOCHS = 2, BATCH_COUNT = 4 };
    svit_dataset *dataset = NULL;
    write_shards();
    WORKS(shards_open(&dataset, "s-*.tar", err));
    ck_assert_uint_eq(svit_dataset_count(dataset), SHARDED_SAMPLES);
    static float images[BATCH_OF_8 * IMAGE];
    int32_t whole[EPOCHS * BATCH_COUNT][BATCH_OF_8], labels[BATCH_OF_8];
    size_t sizes[EPOCHS * BATCH_COUNT], n;
    svit_loader *loader = shard_loader(dataset, LEAVES, 0, 1, 2);
    for (int b = 0; b < EPOCHS * BATCH_COUNT; b++) {
        WORKS(svit_loader_next(loader, images, whole[b], &sizes[b], err));
        if (b % BATCH_COUNT == BATCH_COUNT - 1) {
            WORKS(svit_loader_next(loader, images, labels, &n, err));
            ck_assert_uint_eq(n, 0);
        }
    }
    for (int b = EPOCHS * BATCH_COUNT - 1; b >= 0; b--) {
        WORKS(svit_loader_seek(loader, (uint64_t)b / BATCH_COUNT, (uint64_t)b % BATCH_COUNT, err));
        WORKS(svit_loader_next(loader, images, labels, &n, err));
        ck_assert_uint_eq(n, sizes[b]);
        ck_assert_mem_eq(labels, whole[b], n * sizeof *labels);
    }
    svit_loader_free(loader);
    for (uint32_t ranks = 1; ranks <= LEAVES; ranks++) {
        size_t used[EPOCHS * BATCH_COUNT] = {0};
        for (uint32_t rank = 0; rank < ranks; rank++) {
            loader = shard_loader(dataset, LEAVES, rank, ranks, rank % 2);
            for (int b = 0; b < EPOCHS * BATCH_COUNT; b++) {
                WORKS(svit_loader_next(loader, images, labels, &n, err));
                ck_assert_mem_eq(labels, whole[b] + used[b], n * sizeof *labels);
                used[b] += n;
                if (b % BATCH_COUNT == BATCH_COUNT - 1)
                    WORKS(svit_loader_next(loader, images, labels, &n, err));
            }
            svit_loader_free(loader);
        }
        ck_assert_mem_eq(used, sizes, sizeof used);
    }
    svit_dataset_free(dataset);
}
END_TEST

/* A rank reads the shards of its part: 12 samples in a row, which are 7 shards of 2 at most. */
START_TEST(test_a_rank_reads_the_shards_of_its_leaves_alone)
{
    NEEDS(HAS_PNG, "PNG");
    enum { SHARD_COUNT = 24, RANKS = 4, SAMPLE_COUNT = 2 * SHARD_COUNT };
    static float images[BATCH_OF_8 * IMAGE];
    for (int k = 0; k < SHARD_COUNT; k++) {
        tar_archive tar = {0};
        char name[32];
        tar_sample(&tar, "a", 0, 2 * k);
        tar_sample(&tar, "b", 0, 2 * k + 1);
        snprintf(name, sizeof name, "s-%02d.tar", k);
        shard_write(name, &tar);
    }
    svit_dataset *dataset = NULL;
    WORKS(shards_open(&dataset, "s-{00..23}.tar", err));
    int all = 0;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        svit_loader *loader = shard_loader(dataset, RANKS, rank, RANKS, 0);
        bool read[SHARD_COUNT] = {false};
        int shards = 0;
        for (int b = 0; b < SAMPLE_COUNT / BATCH_OF_8; b++) {
            int32_t labels[BATCH_OF_8];
            size_t n;
            WORKS(svit_loader_next(loader, images, labels, &n, err));
            for (size_t i = 0; i < n; i++, all++) {
                shards += !read[labels[i] / 2];
                read[labels[i] / 2] = true;
            }
        }
        ck_assert_int_le(shards, SAMPLE_COUNT / RANKS / 2 + 1);
        svit_loader_free(loader);
    }
    ck_assert_int_eq(all, SAMPLE_COUNT);
    svit_dataset_free(dataset);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("loader_window");
    TCase *c = tcase_create("loader_window");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_each_sample_is_read_once_near_its_place);
    tcase_add_test(c, test_orders_depend_on_seed_epoch_and_leaves_alone);
    tcase_add_test(c, test_a_window_mixes);
    tcase_add_test(c, test_leaves_are_shuffled_apart);
    tcase_add_test(c, test_views_keep_shards);
    tcase_add_test(c, test_small_shards_are_shuffled);
    tcase_add_test(c, test_a_selection_of_one_shard_is_one);
    tcase_add_test(c, test_the_ranks_shares_are_the_whole_and_seeking_finds_them);
    tcase_add_test(c, test_a_rank_reads_the_shards_of_its_leaves_alone);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
