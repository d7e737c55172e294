/* Helpers for tests of loaders: a dataset whose samples tell their number, and its batches. */
#ifndef TEST_LOADER_SUPPORT_H
#define TEST_LOADER_SUPPORT_H

#include "data_support.h"

#include <shiftvit/loader.h>

enum { SAMPLES = 23, BATCH = 5, BATCHES = 5, SIDE = 8, OUT = 4, ELEMENTS = OUT * OUT * 3 };

/* A dataset whose sample i has the label i; a pixel's red is its column, its green its row, its
 * blue the sample. */
typedef struct numbered {
    svit_context *context;
    svit_dataset *dataset;
    svit_pipeline_config pipeline;
    uint8_t rgb[SAMPLES * SIDE * SIDE * 3];
    int32_t labels[SAMPLES];
} numbered;

static inline numbered *numbered_make(void)
{
    numbered *self = calloc(1, sizeof *self);
    self->context = context_open();
    uint8_t *at = self->rgb;
    for (int i = 0; i < SAMPLES; i++) {
        self->labels[i] = i;
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++, at += 3) {
                at[0] = (uint8_t)x;
                at[1] = (uint8_t)y;
                at[2] = (uint8_t)i;
            }
    }
    WORKS(svit_dataset_memory(&self->dataset, self->context, self->rgb, self->labels, SAMPLES, SIDE,
                              SIDE, 3, SAMPLES, err));
    svit_pipeline_config *settings = &self->pipeline;
    ck_assert_int_eq(svit_pipeline_config_init(settings, sizeof *settings), SVIT_OK);
    settings->source_height = settings->source_width = SIDE;
    settings->resize_height = settings->resize_width = SIDE;
    settings->output_height = settings->output_width = OUT;
    settings->scale = 1;
    return self;
}

static inline void numbered_free(numbered *self)
{
    svit_dataset_free(self->dataset);
    svit_context_free(self->context);
    free(self);
}

static inline svit_loader_config config_make(int32_t shuffle, int32_t augment, uint32_t prefetch)
{
    svit_loader_config config;
    ck_assert_int_eq(svit_loader_config_init(&config, sizeof config), SVIT_OK);
    config.batch = BATCH;
    config.seed = 99;
    config.shuffle = shuffle;
    config.augment = augment;
    config.prefetch = prefetch;
    return config;
}

/* The caller frees the loader. */
static inline svit_loader *loader_make(const numbered *self, svit_loader_config config)
{
    svit_loader *loader = NULL;
    WORKS(svit_loader_create(&loader, self->dataset, &self->pipeline, &config, err));
    return loader;
}

typedef struct batch {
    float images[BATCH * ELEMENTS];
    int32_t labels[BATCH];
    size_t n;
} batch;

/* The next batch; n is 0 at the end of an epoch. */
static inline batch batch_next(svit_loader *loader)
{
    batch out;
    memset(&out, 0, sizeof out);
    WORKS(svit_loader_next(loader, out.images, out.labels, &out.n, err));
    return out;
}

#endif
