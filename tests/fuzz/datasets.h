/* What the fuzz targets of datasets share. */
#ifndef FUZZ_DATASETS_H
#define FUZZ_DATASETS_H

#include "fuzz.h"

#include <stdlib.h>

/* A pipeline of images of 8 x 8 pixels. */
static inline svit_pipeline_config small_pipeline(void)
{
    svit_pipeline_config config;
    svit_pipeline_config_init(&config, sizeof config);
    config.source_height = config.source_width = 8;
    config.resize_height = config.resize_width = 8;
    config.output_height = config.output_width = 8;
    return config;
}

enum { MOST_CLASSES = 4096 };

/* Reads a dataset's names, paths, labels and some of its samples, and checks them. */
static inline void check_dataset(const svit_dataset *dataset)
{
    svit_error err = FUZZ_ERROR;
    const size_t count = svit_dataset_count(dataset), classes = svit_dataset_classes(dataset);
    const bool targets = svit_dataset_has_targets(dataset);
    const size_t bytes =
        svit_dataset_height(dataset) * svit_dataset_width(dataset) * svit_dataset_channels(dataset);
    uint8_t *pixels = malloc(bytes);
    /* The number of a class may be any int32_t, so the targets of few classes alone are read. */
    float *row = malloc(MOST_CLASSES * sizeof *row);
    uint64_t fingerprint;
    FUZZ_CHECK(pixels && row && bytes > 0);
    for (size_t i = 0; i < classes && svit_dataset_class_name(dataset, i); i++)
        fuzz_check_text(svit_dataset_class_name(dataset, i));
    for (size_t i = 0; i < count && i < 8; i++) {
        char path[4096];
        int32_t label;
        FUZZ_CHECK(svit_dataset_label(dataset, i, &label, &err) == SVIT_OK);
        FUZZ_CHECK(targets ? label == -1 : label >= 0 && (size_t)label < classes);
        if (classes < MOST_CLASSES)
            FUZZ_CHECK(svit_dataset_targets(dataset, i, row, &err) == SVIT_OK);
        if (fuzz_ok(svit_dataset_path(dataset, i, path, sizeof path, NULL, &err), &err))
            fuzz_check_text(path);
        fuzz_ok(svit_dataset_sample(dataset, i, pixels, &label, &err), &err);
    }
    if (classes < MOST_CLASSES)
        fuzz_ok(svit_dataset_fingerprint(dataset, &fingerprint, &err), &err);
    free(row);
    free(pixels);
}

#endif
