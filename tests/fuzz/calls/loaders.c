/* Operations of loaders. */
#include "calls.h"

static svit_pipeline_config random_pipeline(void)
{
    svit_pipeline_config pipeline = small_pipeline();
    pipeline.augment_count = calls_choose(3);
    for (uint32_t i = 0; i < pipeline.augment_count; i++) {
        svit_augment_step *step = &pipeline.augment[i];
        step->kind = (int32_t)calls_choose(12);
        if (step->kind == SVIT_AUGMENT_CROP)
            step->padding = calls_choose(4);
        if (step->kind == SVIT_AUGMENT_FLIP || step->kind == SVIT_AUGMENT_MIXUP)
            step->probability = 0.5;
        if (step->kind == SVIT_AUGMENT_MIXUP || step->kind == SVIT_AUGMENT_CUTMIX)
            step->alpha = 1;
        if (step->kind == SVIT_AUGMENT_REPEAT)
            step->count = calls_choose(4);
    }
    return pipeline;
}

static void create(void)
{
    const svit_pipeline_config pipeline = random_pipeline();
    svit_loader_config config;
    svit_loader_config_init(&config, sizeof config);
    config.batch = calls_choose(5);
    config.shuffle = (int32_t)calls_choose(2);
    config.augment = (int32_t)calls_choose(2);
    config.prefetch = calls_choose(3);
    config.sampling = (int32_t)calls_choose(3);
    config.leaves = calls_choose(4);
    config.ranks = calls_choose(3);
    config.rank = calls_choose(2);
    config.shuffle_window = calls_choose(3);
    CREATE(loaders, svit_loader_free,
           svit_loader_create(OUT(loaders), ANY(datasets), &pipeline, &config, ERR));
}

static void create_plain(void)
{
    svit_loader_config config;
    svit_loader_config_init(&config, sizeof config);
    config.batch = 1 + calls_choose(4);
    config.prefetch = calls_choose(2);
    CREATE(loaders, svit_loader_free,
           svit_loader_create(OUT(loaders), ANY(datasets), NULL, &config, ERR));
}

static void next(void)
{
    size_t n = 0;
    if (TRY(svit_loader_next(ANY(loaders), calls_results, calls_labels + 64, &n, ERR)))
        FUZZ_CHECK(n <= 4);
}

static void next_targets(void)
{
    enum { IMAGES = NUMBERS / 2 };
    size_t n = 0;
    if (TRY(svit_loader_next_targets(ANY(loaders), calls_results, calls_results + IMAGES, &n, ERR)))
        FUZZ_CHECK(n <= 4);
}

static void seek(void)
{
    const uint64_t epoch = calls_choose(3), batch = calls_choose(6);
    TRY(svit_loader_seek(ANY(loaders), epoch, batch, ERR));
}

static const calls_operation operations[] = {create, create_plain, next, next, next_targets, seek};
const calls_table calls_of_loaders = CALLS_TABLE(operations);
