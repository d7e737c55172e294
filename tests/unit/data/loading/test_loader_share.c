/* Checks loaders that share batches: those of all ranks, one behind another, are whole batches, to
 * the bit, whatever is augmented, mixed, repeated or balanced; and a rank decodes no image of
 * another. */
#include "test_loader_support.h"

#include <stddef.h>

enum { WHOLE = SIDE * SIDE * 3, LEAVES_MAX = 8 };

static const char *const STEPS[] = {
    "[]",
    "[{\"name\":\"crop\",\"padding\":3},{\"name\":\"repeat\",\"n\":3}]",
    "[{\"name\":\"mixup\",\"alpha\":1.0}]",
    "[{\"name\":\"crop\",\"padding\":2},{\"name\":\"cutmix\",\"alpha\":1.0}]",
    ("[{\"name\":\"mixup\",\"alpha\":0.4},{\"name\":\"cutmix\",\"alpha\":1.0},{\"name\":\"repeat\","
     "\"n\":2}]"),
};
enum { STEPS_COUNT = sizeof STEPS / sizeof *STEPS };

static void set_steps(numbered *self, const char *steps)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"source_height\":8,\"source_width\":8,\"resize_height\":8,\"resize_width\":8,"
             "\"output_height\":8,\"output_width\":8,\"scale\":1.0,\"augment\":%s}",
             steps);
    WORKS(svit_pipeline_config_from_json(&self->pipeline, sizeof self->pipeline, text, err));
}

typedef struct whole_batch {
    float images[BATCH * WHOLE], targets[BATCH * SAMPLES];
    size_t n;
} whole_batch;

/* Reads the next batch of each rank behind that of the rank before. */
static void gather(whole_batch *out, svit_loader *const *loaders, uint32_t ranks)
{
    out->n = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        size_t n;
        WORKS(svit_loader_next_targets(loaders[rank], out->images + out->n * WHOLE,
                                       out->targets + out->n * SAMPLES, &n, err));
        out->n += n;
    }
}

static void compare(const numbered *self, uint32_t leaves, uint32_t ranks, int32_t sampling,
                    uint32_t prefetch)
{
    static whole_batch wanted, found;
    svit_loader_config config = config_make(1, 1, 0);
    config.sampling = sampling;
    svit_loader *whole = loader_make(self, config), *loaders[LEAVES_MAX];
    config.prefetch = prefetch;
    config.leaves = leaves;
    config.ranks = ranks;
    for (config.rank = 0; config.rank < ranks; config.rank++)
        loaders[config.rank] = loader_make(self, config);
    for (int b = 0; b < 2 * (BATCHES + 1); b++) {
        gather(&wanted, &whole, 1);
        gather(&found, loaders, ranks);
        ck_assert_uint_eq(found.n, wanted.n);
        ck_assert_msg(
            memcmp(found.images, wanted.images, found.n * WHOLE * sizeof(float)) == 0 &&
                memcmp(found.targets, wanted.targets, found.n * SAMPLES * sizeof(float)) == 0,
            "batch %d of %u ranks with %u leaves", b, ranks, leaves);
    }
    for (uint32_t rank = 0; rank < ranks; rank++)
        svit_loader_free(loaders[rank]);
    svit_loader_free(whole);
}

START_TEST(test_the_shares_of_all_ranks_are_the_batch)
{
    static const uint32_t LEAVES[] = {1, 2, 3, 5, LEAVES_MAX};
    numbered *self = numbered_make();
    int cases = 0;
    set_steps(self, STEPS[_i]);
    for (size_t l = 0; l < sizeof LEAVES / sizeof *LEAVES; l++)
        for (uint32_t ranks = 1; ranks <= LEAVES[l]; ranks++, cases++)
            compare(self, LEAVES[l], ranks,
                    cases % 2 ? SVIT_SAMPLING_BALANCED : SVIT_SAMPLING_SHUFFLE, cases % 3);
    ck_assert_int_eq(cases, 19);
    numbered_free(self);
}
END_TEST

static int readings[SAMPLES];

static int32_t read_sample(size_t index, uint8_t *rgb, int32_t *label, void *user)
{
    const numbered *self = user;
    readings[index]++;
    memcpy(rgb, self->rgb + index * WHOLE, WHOLE);
    *label = self->labels[index];
    return 0;
}

START_TEST(test_a_rank_reads_its_share_alone)
{
    numbered *self = numbered_make();
    svit_dataset_free(self->dataset);
    WORKS(svit_dataset_callback(&self->dataset, self->context, read_sample, SAMPLES, SIDE, SIDE, 3,
                                SAMPLES, self, err));
    svit_loader_config config = config_make(1, 1, 2);
    int read = 0;
    config.leaves = 3;
    config.ranks = 3;
    for (config.rank = 0; config.rank < 3; config.rank++) {
        svit_loader *loader = loader_make(self, config);
        for (int b = 0; b < BATCHES; b++)
            ck_assert_uint_le(batch_next(loader).n, 2);
        svit_loader_free(loader);
        int before = read;
        read = 0;
        for (int i = 0; i < SAMPLES; i++)
            read += readings[i];
        ck_assert_int_le(read - before, (SAMPLES + 2) / 3 + BATCHES);
    }
    for (int i = 0; i < SAMPLES; i++)
        ck_assert_int_eq(readings[i], 1);
    numbered_free(self);
}
END_TEST

START_TEST(test_wrong_shares_are_refused)
{
    numbered *self = numbered_make();
    svit_loader *loader = NULL;
    svit_loader_config config = config_make(1, 1, 0);
#define REFUSES(text)                                                                              \
    FAILS(svit_loader_create(&loader, self->dataset, &self->pipeline, &config, err),               \
          SVIT_E_ARGUMENT, text)
    config.ranks = 0;
    REFUSES("ranks is 0");
    config.ranks = 2;
    REFUSES("ranks is 2; 1 to 1, the number of leaves");
    config.leaves = 4;
    config.rank = 2;
    REFUSES("rank is 2; 0 to ranks - 1 = 1");
    config.leaves = 65537;
    REFUSES("leaves is 65537");
    config.leaves = 4;
    config.rank = 1;
    config.shuffle_window = 5;
    config.sampling = SVIT_SAMPLING_BALANCED;
    REFUSES("shuffle_window is 5 and sampling is 'balanced'");
    config.sampling = SVIT_SAMPLING_SHUFFLE;
    config.shuffle_window = 0;
    /* The struct of an older program has no share, and gives whole batches. */
    config.struct_size = offsetof(svit_loader_config, leaves);
    loader = loader_make(self, config);
    ck_assert_uint_eq(batch_next(loader).n, BATCH);
    svit_loader_free(loader);
    numbered_free(self);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("loader_share");
    TCase *c = tcase_create("loader_share");
    tcase_add_loop_test(c, test_the_shares_of_all_ranks_are_the_batch, 0, STEPS_COUNT);
    tcase_add_test(c, test_a_rank_reads_its_share_alone);
    tcase_add_test(c, test_wrong_shares_are_refused);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
