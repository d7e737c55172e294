/* Shards: svit_dataset_shards on one archive, once without an index, and once with the one that was
 * written then, which gives the same samples. */
#include "datasets.h"

#include <string.h>
#include <unistd.h>

static svit_status opened(svit_dataset **out, const char *path, size_t *count, svit_error *err)
{
    const svit_pipeline_config pipeline = small_pipeline();
    const svit_status status = svit_dataset_shards(out, fuzz_context(), path, &pipeline, err);
    *count = 0;
    if (fuzz_ok(status, err)) {
        *count = svit_dataset_count(*out);
        check_dataset(*out);
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    svit_error err = FUZZ_ERROR, err_again = FUZZ_ERROR;
    svit_dataset *dataset = NULL, *again = NULL;
    size_t count, count_again;
    unlink(fuzz_path("shard.tar.index"));
    const char *path = fuzz_file("shard.tar", data, size);
    const svit_status status = opened(&dataset, path, &count, &err);
    FUZZ_CHECK(opened(&again, path, &count_again, &err_again) == status);
    FUZZ_CHECK(count == count_again);
    if (status != SVIT_OK)
        FUZZ_CHECK(strcmp(err.message, err_again.message) == 0);
    for (size_t i = 0; i < count && i < 64; i++) {
        int32_t label, label_again;
        FUZZ_CHECK(svit_dataset_label(dataset, i, &label, &err) == SVIT_OK);
        FUZZ_CHECK(svit_dataset_label(again, i, &label_again, &err) == SVIT_OK);
        FUZZ_CHECK(label == label_again);
    }
    svit_dataset_free(again);
    svit_dataset_free(dataset);
    return fuzz_end();
}
