/* Checks that no byte of a shard or of its index is trusted: whatever it is, opening the dataset
 * fails or gives samples, and no memory is touched that should not be (with the address
 * sanitizer). */
#include "shards_support.h"

#include "base/numbers/byte_order.h"

#include <fcntl.h>

static const uint8_t CHANGES[] = {0x01, 0x80, 0xff, 0x10};
enum { CHANGE_COUNT = sizeof CHANGES };

/* Two samples behind all kinds of headers. Returns the number of headers, and their places in
 * at[]. */
static size_t make_archive(tar_archive *tar, size_t at[16])
{
    size_t count = 0;
    at[count++] = tar->bytes;
    tar_pax(tar, 'x', "path", "a.png");
    at[count++] = tar_image(tar, "A.png", 1);
    at[count++] = tar_text(tar, "a.json", "{\"label\":\"one\"}");
    at[count++] = tar_member(tar, 'L', "././@LongLink", "b.png", 6);
    at[count++] = tar_image(tar, "B.png", 2);
    at[count++] = tar->bytes;
    tar_pax(tar, 'x', "size", "15");
    at[count++] = tar_text(tar, "b.json", "{\"label\":\"two\"}");
    tar_end(tar);
    return count;
}

/* Opens the dataset and reads its samples. Returns how many could be read; -1 if it does not
 * open. */
static int read_samples(bool expects_all)
{
    svit_dataset *dataset = NULL;
    svit_error err = ERROR_RECORD;
    const svit_status status = shards_open(&dataset, "a.tar", &err);
    ck_assert_msg(status == SVIT_OK || status == SVIT_E_FORMAT, "%s", err.message);
    if (status != SVIT_OK)
        return -1;
    int count = 0;
    for (size_t i = 0; i < svit_dataset_count(dataset); i++) {
        uint8_t rgb[4 * 4 * 3];
        int32_t label = -1;
        const svit_status read = svit_dataset_sample(dataset, i, rgb, &label, &err);
        ck_assert_msg(read == SVIT_OK || read == SVIT_E_FORMAT, "%s", err.message);
        ck_assert_msg(!expects_all || (read == SVIT_OK && rgb[0] == i + 1 && label == (int32_t)i),
                      "sample %zu is (%d, %d)", i, rgb[0], label);
        ck_assert_int_lt(label, (int32_t)svit_dataset_classes(dataset));
        count += read == SVIT_OK;
    }
    svit_dataset_free(dataset);
    return count;
}

/* Changes each byte of each header in several ways. With `seals` the checksum is right again. */
static void damage_headers(bool seals, int *cases, int *opened)
{
    tar_archive tar = {0};
    size_t headers[16];
    const size_t count = make_archive(&tar, headers);
    subfolder_make(&folder, "a.tar.index"); /* so that none is written, which takes time */
    file_write(&folder, "a.tar", tar.data, tar.bytes);
    const int file = open(path_in(&folder, "a.tar"), O_WRONLY);
    ck_assert_int_eq(read_samples(true), 2);
    *cases = *opened = 0;
    for (size_t h = 0; h < count; h++)
        for (size_t i = 0; i < TAR_BLOCK; i++)
            for (size_t k = 0; k < CHANGE_COUNT; k++, ++*cases) {
                uint8_t kept[TAR_BLOCK], *header = tar.data + headers[h];
                memcpy(kept, header, TAR_BLOCK);
                header[i] ^= CHANGES[k];
                if (seals)
                    tar_seal(&tar, headers[h]);
                ck_assert_int_eq(pwrite(file, header, TAR_BLOCK, (off_t)headers[h]), TAR_BLOCK);
                *opened += read_samples(!seals) >= 0;
                memcpy(header, kept, TAR_BLOCK);
                ck_assert_int_eq(pwrite(file, header, TAR_BLOCK, (off_t)headers[h]), TAR_BLOCK);
            }
    close(file);
    tar_free(&tar);
}

/* Old programs added the bytes of a header as signed numbers. */
START_TEST(test_a_checksum_may_be_of_signed_bytes)
{
    NEEDS(HAS_PNG, "PNG");
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        tar_archive tar = {0};
        const size_t at = tar_image(&tar, "\xc3\xa9.png", 1);
        char *sum = (char *)tar.data + at + 148;
        snprintf(sum, 8, "%06lo", strtoul(sum, NULL, 8) - 2 * 256 + wrong);
        tar_text(&tar, "\xc3\xa9.cls", "0");
        tar_end(&tar);
        shard_write("signed.tar", &tar);
        svit_dataset *dataset = NULL;
        if (wrong)
            FAILS(shards_open(&dataset, "signed.tar", err), SVIT_E_FORMAT, "a wrong checksum");
        else
            WORKS(shards_open(&dataset, "signed.tar", err));
        svit_dataset_free(dataset);
    }
}
END_TEST

START_TEST(test_each_byte_of_a_header_counts)
{
    NEEDS(HAS_PNG, "PNG");
    int cases, opened;
    damage_headers(false, &cases, &opened);
    ck_assert_int_eq(cases, 7 * TAR_BLOCK * CHANGE_COUNT);
    /* A checksum that is written otherwise, such as with a space for the NUL, is right too. */
    ck_assert_int_le(opened, 7 * 8 * CHANGE_COUNT);
}
END_TEST

START_TEST(test_headers_with_right_checksums_may_say_anything)
{
    NEEDS(HAS_PNG, "PNG");
    int cases, opened;
    damage_headers(true, &cases, &opened);
    ck_assert_int_eq(cases, 7 * TAR_BLOCK * CHANGE_COUNT);
    ck_assert_int_gt(opened, cases / 4);
}
END_TEST

/* The data of pax headers, long names and labels, of which each byte takes each value. */
START_TEST(test_each_byte_of_what_is_parsed_may_be_anything)
{
    NEEDS(HAS_PNG, "PNG");
    static const struct {
        size_t header, bytes;
    } PARSED[] = {{0, 14}, {2, 15}, {3, 6}, {5, 11}, {6, 15}};
    tar_archive tar = {0};
    size_t headers[16];
    make_archive(&tar, headers);
    subfolder_make(&folder, "a.tar.index");
    file_write(&folder, "a.tar", tar.data, tar.bytes);
    const int file = open(path_in(&folder, "a.tar"), O_WRONLY);
    for (size_t p = 0; p < sizeof PARSED / sizeof *PARSED; p++)
        for (size_t i = 0; i < PARSED[p].bytes; i++) {
            const size_t at = headers[PARSED[p].header] + TAR_BLOCK + i;
            for (int value = 0; value < 256; value++) {
                const uint8_t byte = (uint8_t)value;
                ck_assert_int_eq(pwrite(file, &byte, 1, (off_t)at), 1);
                read_samples(false);
            }
            ck_assert_int_eq(pwrite(file, tar.data + at, 1, (off_t)at), 1);
        }
    ck_assert_int_eq(read_samples(true), 2);
    close(file);
    tar_free(&tar);
}
END_TEST

START_TEST(test_an_archive_may_be_cut_anywhere)
{
    NEEDS(HAS_PNG, "PNG");
    tar_archive tar = {0};
    size_t headers[16];
    make_archive(&tar, headers);
    subfolder_make(&folder, "a.tar.index");
    file_write(&folder, "a.tar", tar.data, tar.bytes);
    for (size_t bytes = tar.bytes + 1; bytes-- > 0;) {
        ck_assert_int_eq(truncate(path_in(&folder, "a.tar"), (off_t)bytes), 0);
        const int read = read_samples(true);
        /* A cut behind a sample cannot be told from an archive without the zeros at its end, of
         * which one block is enough. */
        const size_t end = headers[6] + 2 * TAR_BLOCK;
        const bool is_whole = bytes == end || bytes >= end + TAR_BLOCK;
        const bool is_first = bytes == headers[3];
        ck_assert_msg(read == (is_whole   ? 2
                               : is_first ? 1
                                          : -1),
                      "cut to %zu of %zu: %d", bytes, tar.bytes, read);
    }
    tar_free(&tar);
}
END_TEST

/* The checksum of an index, as lib/data/shards/shard_index.c computes it. */
static uint64_t checksum_add(uint64_t sum, const uint8_t *data, size_t bytes)
{
    for (; bytes >= 8; bytes -= 8, data += 8) {
        sum = (sum ^ sv_load_little(data, 8)) * 0x100000001B3u;
        sum ^= sum >> 32;
    }
    for (; bytes > 0; bytes--)
        sum = (sum ^ *data++) * 0x100000001B3u;
    return sum;
}

enum { INDEX_FRONT = 16, INDEX_HEADER = 56, INDEX_SAMPLE = 16, INDEX_BYTES = 56 + 2 * 16 + 8 };

static void index_seal_of(uint8_t *index, size_t samples, size_t name_bytes)
{
    uint64_t sum =
        checksum_add(0xCBF29CE484222325u, index + INDEX_FRONT, INDEX_HEADER - INDEX_FRONT);
    sum = checksum_add(sum, index + INDEX_HEADER, samples * INDEX_SAMPLE);
    sum = checksum_add(sum, index + INDEX_HEADER + samples * INDEX_SAMPLE, name_bytes);
    sv_store_little(index + 8, sum, 8);
}

static void index_seal(uint8_t *index)
{
    index_seal_of(index, 2, 8);
}

static void read_index(uint8_t index[INDEX_BYTES])
{
    FILE *file = fopen(path_in(&folder, "a.tar.index"), "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(index, 1, INDEX_BYTES, file), INDEX_BYTES);
    ck_assert_int_eq(fgetc(file), EOF);
    fclose(file);
}

START_TEST(test_each_byte_of_an_index_counts)
{
    NEEDS(HAS_PNG, "PNG");
    tar_archive tar = {0};
    size_t headers[16];
    uint8_t index[INDEX_BYTES], damaged[INDEX_BYTES], found[INDEX_BYTES];
    make_archive(&tar, headers);
    shard_write("a.tar", &tar);
    ck_assert_int_eq(read_samples(true), 2);
    read_index(index);
    memcpy(damaged, index, sizeof index);
    index_seal(damaged);
    ck_assert_mem_eq(damaged, index, sizeof index);
    for (size_t i = 0; i < INDEX_BYTES; i++) {
        memcpy(damaged, index, sizeof index);
        damaged[i] ^= CHANGES[i % CHANGE_COUNT];
        file_write(&folder, "a.tar.index", damaged, sizeof damaged);
        ck_assert_int_eq(read_samples(true), 2);
        read_index(found); /* which was made anew, unless it was the file of another program */
        ck_assert_mem_eq(found, i < 8 ? damaged : index, sizeof index);
    }
    for (size_t bytes = 0; bytes < INDEX_BYTES; bytes += 3) {
        file_write(&folder, "a.tar.index", index, bytes);
        ck_assert_int_eq(read_samples(true), 2);
    }
}
END_TEST

/* Somebody has written an index whose checksum is right. */
START_TEST(test_an_index_with_a_right_checksum_may_say_anything)
{
    NEEDS(HAS_PNG, "PNG");
    tar_archive tar = {0};
    size_t headers[16];
    uint8_t index[INDEX_BYTES], damaged[INDEX_BYTES];
    make_archive(&tar, headers);
    shard_write("a.tar", &tar);
    ck_assert_int_eq(read_samples(true), 2);
    read_index(index);
    for (size_t i = INDEX_FRONT; i < INDEX_BYTES; i++) {
        memcpy(damaged, index, sizeof index);
        damaged[i] ^= CHANGES[i % CHANGE_COUNT];
        index_seal(damaged);
        file_write(&folder, "a.tar.index", damaged, sizeof damaged);
        ck_assert_int_ge(read_samples(false), 0);
    }
}
END_TEST

/* What an index may not say, also if its checksum is right: then it is made anew. */
START_TEST(test_an_index_beyond_its_shard_is_not_used)
{
    NEEDS(HAS_PNG, "PNG");
    static const struct {
        size_t at, bytes;
        uint64_t value;
    } WRONG[] = {{INDEX_HEADER, 8, 511},
                 {INDEX_HEADER, 8, 1 << 20},
                 {INDEX_HEADER, 8, UINT64_MAX},
                 {INDEX_HEADER + 8, 4, 1 << 20},
                 {INDEX_HEADER + 8, 4, UINT32_MAX},
                 {INDEX_HEADER + 12, 4, 2},
                 {INDEX_HEADER + 12, 4, UINT32_MAX},
                 {32, 8, 3},
                 {32, 8, UINT64_MAX / 16 + 3},
                 {40, 8, 7},
                 {40, 8, UINT64_MAX},
                 {48, 4, 1},
                 {48, 4, 3},
                 {52, 4, 1},
                 {52, 4, UINT32_MAX},
                 {16, 8, 1},
                 {24, 8, 1}};
    tar_archive tar = {0};
    size_t headers[16];
    uint8_t index[INDEX_BYTES], damaged[INDEX_BYTES], found[INDEX_BYTES];
    make_archive(&tar, headers);
    shard_write("a.tar", &tar);
    ck_assert_int_eq(read_samples(true), 2);
    read_index(index);
    for (size_t k = 0; k < sizeof WRONG / sizeof *WRONG; k++) {
        memcpy(damaged, index, sizeof index);
        sv_store_little(damaged + WRONG[k].at, WRONG[k].value, (unsigned)WRONG[k].bytes);
        index_seal(damaged);
        file_write(&folder, "a.tar.index", damaged, sizeof damaged);
        ck_assert_int_eq(read_samples(true), 2);
        read_index(found);
        ck_assert_msg(memcmp(found, index, sizeof index) == 0, "case %zu", k);
    }
}
END_TEST

/* An index of numbers that says that there are no labels, or an image above the limit that would
 * fit its shard. */
START_TEST(test_an_index_of_numbers_is_checked_too)
{
    NEEDS(HAS_PNG, "PNG");
    enum { BYTES = INDEX_HEADER + INDEX_SAMPLE };
    static const struct {
        size_t at, bytes;
        uint64_t value;
    } WRONG[] = {
        {48, 4, 0},
        {48, 4, 2},
        {32, 8, UINT64_MAX / 16}, /* whose bytes and the header's are more than a size holds */
        {INDEX_HEADER + 8, 4, (256 << 20) + 1},
        {INDEX_HEADER + 12, 4, 1u << 31}};
    static const sample_row row = {9, 4};
    tar_archive tar = {0};
    uint8_t index[BYTES], damaged[BYTES], found[BYTES];
    tar_sample(&tar, "k", 9, 4);
    tar_end(&tar);
    shard_write("a.tar", &tar);
    ck_assert_int_eq(truncate(path_in(&folder, "a.tar"), 300 << 20), 0); /* most is a hole */
    for (size_t k = 0; k <= sizeof WRONG / sizeof *WRONG; k++) {
        svit_dataset *dataset = NULL;
        WORKS(shards_open(&dataset, "a.tar", err));
        samples_check(dataset, &row, 1);
        svit_dataset_free(dataset);
        FILE *file = fopen(path_in(&folder, "a.tar.index"), "rb");
        ck_assert_ptr_nonnull(file);
        ck_assert_uint_eq(fread(k == 0 ? index : found, 1, BYTES, file), BYTES);
        fclose(file);
        ck_assert_msg(k == 0 || memcmp(found, index, BYTES) == 0, "case %zu", k - 1);
        if (k == sizeof WRONG / sizeof *WRONG)
            break;
        memcpy(damaged, index, BYTES);
        sv_store_little(damaged + WRONG[k].at, WRONG[k].value, (unsigned)WRONG[k].bytes);
        index_seal_of(damaged, 1, 0);
        file_write(&folder, "a.tar.index", damaged, BYTES);
    }
}
END_TEST

/* A sample more than the index counts, also if the checksum is that of all bytes. */
START_TEST(test_nothing_may_follow_an_index)
{
    NEEDS(HAS_PNG, "PNG");
    enum { BYTES = INDEX_HEADER + INDEX_SAMPLE };
    tar_archive tar = {0};
    uint8_t index[BYTES + INDEX_SAMPLE] = {0}, found[BYTES + 1];
    tar_sample(&tar, "k", 9, 4);
    tar_end(&tar);
    shard_write("a.tar", &tar);
    for (int pass = 0; pass < 2; pass++) {
        svit_dataset *dataset = NULL;
        WORKS(shards_open(&dataset, "a.tar", err));
        svit_dataset_free(dataset);
        FILE *file = fopen(path_in(&folder, "a.tar.index"), "rb");
        ck_assert_ptr_nonnull(file);
        ck_assert_uint_eq(fread(found, 1, sizeof found, file), BYTES);
        fclose(file);
        memcpy(index, found, BYTES);
        index_seal_of(index, 2, 0);
        file_write(&folder, "a.tar.index", index, sizeof index);
    }
}
END_TEST

/* Names that are not in order, not distinct, or no UTF-8; the index is then made anew. */
START_TEST(test_names_of_an_index_are_checked)
{
    NEEDS(HAS_PNG, "PNG");
    static const char WRONG[][8] = {"two\0one",    "one\0one",    "\0onetwo", "one\0\0wo",
                                    "\xffne\0two", "one\0t\xffo", "onetwoo"};
    tar_archive tar = {0};
    uint8_t index[INDEX_BYTES], damaged[INDEX_BYTES], found[INDEX_BYTES];
    make_archive(&tar, (size_t[16]){0});
    shard_write("a.tar", &tar);
    ck_assert_int_eq(read_samples(true), 2);
    read_index(index);
    ck_assert_mem_eq(index + INDEX_BYTES - 8, "one\0two", 8);
    for (size_t k = 0; k < sizeof WRONG / sizeof *WRONG; k++) {
        memcpy(damaged, index, sizeof index);
        memcpy(damaged + INDEX_BYTES - 8, WRONG[k], 8);
        index_seal(damaged);
        file_write(&folder, "a.tar.index", damaged, sizeof damaged);
        ck_assert_int_eq(read_samples(true), 2);
        read_index(found);
        ck_assert_msg(memcmp(found, index, sizeof index) == 0, "case %zu", k);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("shard_damage");
    TCase *c = tcase_create("shard_damage");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_a_checksum_may_be_of_signed_bytes);
    tcase_add_test(c, test_each_byte_of_a_header_counts);
    tcase_add_test(c, test_headers_with_right_checksums_may_say_anything);
    tcase_add_test(c, test_each_byte_of_what_is_parsed_may_be_anything);
    tcase_add_test(c, test_an_archive_may_be_cut_anywhere);
    tcase_add_test(c, test_each_byte_of_an_index_counts);
    tcase_add_test(c, test_an_index_with_a_right_checksum_may_say_anything);
    tcase_add_test(c, test_an_index_beyond_its_shard_is_not_used);
    tcase_add_test(c, test_an_index_of_numbers_is_checked_too);
    tcase_add_test(c, test_nothing_may_follow_an_index);
    tcase_add_test(c, test_names_of_an_index_are_checked);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
