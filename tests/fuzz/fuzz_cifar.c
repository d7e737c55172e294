/* CIFAR: the first byte chooses CIFAR-10 or CIFAR-100, the split and the labels; the rest is the
 * file, and behind a zero byte of the choice the names of the classes. */
#include "datasets.h"

#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    svit_error err = FUZZ_ERROR;
    svit_dataset *dataset = NULL;
    if (size < 2)
        return 0;
    const unsigned choice = data[0];
    const size_t names = data[1] % (size - 1);
    const uint8_t *records = data + 2 + (names < size - 2 ? names : size - 2);
    const size_t bytes = size - (size_t)(records - data);
    const bool hundred = choice & 1;
    unlink(fuzz_path("batches.meta.txt"));
    if (names > 0)
        fuzz_file("batches.meta.txt", data + 2, (size_t)(records - data) - 2);
    fuzz_file(hundred ? "test.bin" : "test_batch.bin", records, bytes);
    const char *folder = fuzz_path("");
    const int32_t split = choice & 2 ? (int32_t)(choice >> 4) : SVIT_SPLIT_TEST;
    const svit_status status =
        hundred ? svit_dataset_cifar100(&dataset, fuzz_context(), folder, split,
                                        (int32_t)(choice >> 2 & 3), &err)
                : svit_dataset_cifar10(&dataset, fuzz_context(), folder, split, &err);
    if (fuzz_ok(status, &err)) {
        FUZZ_CHECK(svit_dataset_count(dataset) == bytes / (hundred ? 3074 : 3073));
        check_dataset(dataset);
    }
    svit_dataset_free(dataset);
    return fuzz_end();
}
