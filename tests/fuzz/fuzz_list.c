/* CSV files: svit_dataset_list. The images that they name do not exist, but for a.png. */
#include "datasets.h"

static void write_image(void)
{
    static const uint8_t rgb[4 * 4 * 3] = {9};
    static bool written;
    svit_error err = FUZZ_ERROR;
    if (!written)
        fuzz_ok(svit_image_write_png(fuzz_context(), fuzz_path("a.png"), rgb, 4, 4, &err), &err);
    written = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    svit_error err = FUZZ_ERROR;
    svit_dataset *dataset = NULL;
    const svit_pipeline_config pipeline = small_pipeline();
    write_image();
    const char *path = fuzz_file("list.csv", data, size);
    if (fuzz_ok(svit_dataset_list(&dataset, fuzz_context(), path, &pipeline, &err), &err)) {
        FUZZ_CHECK(svit_dataset_count(dataset) > 0);
        check_dataset(dataset);
    }
    svit_dataset_free(dataset);
    return fuzz_end();
}
