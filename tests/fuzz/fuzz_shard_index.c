/* Index files of shards. The input is the index behind its checksum, which the target makes right,
 * as are the shard's size and time, unless the first byte says otherwise. Whatever the index says,
 * reading the samples fails or works, and the dataset is opened as if there were none if the index
 * is refused. */
#include "datasets.h"

#include "base/numbers/byte_order.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { MODIFIED = 1000000000, SHARD_BYTES = 4096 };

/* As lib/data/shards/shard_index.c computes it. */
static uint64_t add_checksum(uint64_t sum, const uint8_t *from, size_t bytes)
{
    for (; bytes >= 8; bytes -= 8, from += 8) {
        sum = (sum ^ sv_load_little(from, 8)) * 0x100000001B3u;
        sum ^= sum >> 32;
    }
    for (; bytes > 0; bytes--)
        sum = (sum ^ *from++) * 0x100000001B3u;
    return sum;
}

/* The file: magic, checksum, size and time of the shard, number of samples, bytes of the names,
 * what the labels are, number of names; then 16 bytes for each sample, and the names. */
static void write_index(const uint8_t *data, size_t size, unsigned choice)
{
    static const char magic[8] = "svitidx1";
    uint8_t *file = malloc(size + 56);
    FUZZ_CHECK(file);
    fuzz_bytes bytes = {data, size};
    const uint32_t labels = fuzz_range(&bytes, 0, 2), names = fuzz_range(&bytes, 0, 8);
    uint64_t count = fuzz_range(&bytes, 0, 8), name_bytes;
    if (count * 16 > bytes.size)
        count = bytes.size / 16;
    name_bytes = bytes.size - count * 16;
    if (choice & 1)
        name_bytes += (choice & 2) ? 1 : UINT64_MAX - 40;
    if (choice & 4)
        count = (uint64_t)1 << (choice >> 3 & 31) * 2;
    const uint64_t numbers[] = {SHARD_BYTES, MODIFIED * UINT64_C(1000000000), count, name_bytes};
    memcpy(file, magic, 8);
    for (size_t i = 0; i < 4; i++)
        sv_store_little(file + 16 + 8 * i, numbers[i], 8);
    sv_store_little(file + 48, labels, 4);
    sv_store_little(file + 52, names, 4);
    if (bytes.size > 0)
        memcpy(file + 56, bytes.data, bytes.size);
    uint64_t sum = add_checksum(UINT64_C(0xCBF29CE484222325), file + 16, 40);
    const size_t sample_bytes = count * 16 <= bytes.size ? count * 16 : bytes.size;
    sum = add_checksum(sum, file + 56, sample_bytes);
    sum = add_checksum(sum, file + 56 + sample_bytes, bytes.size - sample_bytes);
    sv_store_little(file + 8, sum, 8);
    fuzz_file("shard.tar.index", file, 56 + bytes.size);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t shard[SHARD_BYTES];
    const struct timespec times[2] = {{MODIFIED, 0}, {MODIFIED, 0}};
    const svit_pipeline_config pipeline = small_pipeline();
    svit_error err = FUZZ_ERROR;
    svit_dataset *dataset = NULL;
    if (size == 0)
        return 0;
    const char *path = fuzz_file("shard.tar", shard, sizeof shard);
    FUZZ_CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
    write_index(data + 1, size - 1, data[0]);
    if (fuzz_ok(svit_dataset_shards(&dataset, fuzz_context(), path, &pipeline, &err), &err))
        check_dataset(dataset);
    svit_dataset_free(dataset);
    return fuzz_end();
}
