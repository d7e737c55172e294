/* Helpers for tests of images of any number of channels: one epoch of a dataset. */
#ifndef TEST_CHANNELS_SUPPORT_H
#define TEST_CHANNELS_SUPPORT_H

#include "data_support.h"

#include <shiftvit/loader.h>

enum {
    COUNT = 6,
    HEIGHT = 20,
    WIDTH = 17,
    CLASSES = 3,
    MANY = 7,
    LARGEST = COUNT * 24 * 24 * MANY
};

static const size_t CHANNELS[] = {1, 4, 3, 2};

/* The pipeline of a JSON text, with those channels. */
static inline svit_pipeline_config pipeline_of(const char *json, size_t channels)
{
    svit_pipeline_config out;
    WORKS(svit_pipeline_config_from_json(&out, sizeof out, json, err));
    out.channels = (uint32_t)channels;
    return out;
}

/* Reads epoch 1 of a dataset as one batch. Returns the elements of images[LARGEST] that it has. */
static inline size_t read_epoch(float *images, float *targets, svit_dataset *dataset,
                                const svit_pipeline_config *pipeline, int32_t augment)
{
    svit_loader_config config;
    svit_loader *loader = NULL;
    size_t n = 0;
    ck_assert_int_eq(svit_loader_config_init(&config, sizeof config), SVIT_OK);
    config.batch = COUNT;
    config.seed = 5;
    config.augment = augment;
    config.prefetch = 0;
    WORKS(svit_loader_create(&loader, dataset, pipeline, &config, err));
    size_t pixels = svit_loader_height(loader) * svit_loader_width(loader);
    ck_assert_uint_le(COUNT * pixels * pipeline->channels, LARGEST);
    WORKS(svit_loader_seek(loader, 1, 0, err));
    WORKS(svit_loader_next_targets(loader, images, targets, &n, err));
    ck_assert_uint_eq(n, COUNT);
    svit_loader_free(loader);
    return COUNT * pixels * pipeline->channels;
}

#endif
