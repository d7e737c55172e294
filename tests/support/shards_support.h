/* Helpers for tests of shards: a folder of archives, and what a dataset reads from them. */
#ifndef TEST_SHARDS_SUPPORT_H
#define TEST_SHARDS_SUPPORT_H

#include "build.h"
#include "data_support.h"
#include "tar_make.h"

#include <shiftvit/dataset.h>

static test_folder folder;
static svit_context *context;
static atomic_llong held;
static svit_pipeline_config pipeline;

static inline void setup(void)
{
    folder = folder_make();
    held = 0;
    context = context_counting(&held);
    ck_assert_int_eq(svit_pipeline_config_init(&pipeline, sizeof pipeline), SVIT_OK);
    pipeline.source_height = pipeline.source_width = 4;
}

static inline void teardown(void)
{
    folder_remove(&folder);
    svit_context_free(context);
    ck_assert_int_eq(held, 0);
}

/* Writes an archive and frees it. */
static inline void shard_write(const char *name, tar_archive *tar)
{
    file_write(&folder, name, tar->data, tar->bytes);
    tar_free(tar);
}

static inline svit_status shards_open(svit_dataset **out, const char *pattern, svit_error *err)
{
    return svit_dataset_shards(out, context, path_in(&folder, pattern), &pipeline, err);
}

/* Requires that the dataset has one sample for each row: the grey of its image, and its label. */
typedef struct sample_row {
    uint8_t value;
    int32_t label;
} sample_row;

static inline void samples_check(const svit_dataset *dataset, const sample_row *rows, size_t count)
{
    ck_assert_uint_eq(svit_dataset_count(dataset), count);
    for (size_t i = 0; i < count; i++) {
        uint8_t rgb[4 * 4 * 3];
        int32_t label = -1, again = -1;
        WORKS(svit_dataset_sample(dataset, i, rgb, &label, err));
        WORKS(svit_dataset_label(dataset, i, &again, err));
        ck_assert_msg(rgb[0] == rows[i].value && label == rows[i].label && again == label,
                      "sample %zu is (%d, %d) and not (%d, %d)", i, rgb[0], label, rows[i].value,
                      rows[i].label);
    }
}

#endif
