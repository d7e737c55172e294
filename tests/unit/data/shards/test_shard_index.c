/* Checks the indices of shards: they are made once, hold no more than they should, and files are
 * opened when they are read, by any number of threads. */
#include "shards_support.h"

#include "data/shards/shard_files.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

/* Changes a byte of a file, which keeps its time if `keeps_time`. */
static void byte_flip(const char *name, long at, bool keeps_time)
{
    struct stat state;
    const int file = open(path_in(&folder, name), O_RDWR);
    uint8_t byte;
    ck_assert_int_eq(fstat(file, &state), 0);
    ck_assert_int_eq(pread(file, &byte, 1, at), 1);
    byte ^= 0x55;
    ck_assert_int_eq(pwrite(file, &byte, 1, at), 1);
    const struct timespec times[2] = {state.st_atim,
                                      keeps_time ? state.st_mtim : (struct timespec){1, 2}};
    ck_assert_int_eq(futimens(file, times), 0);
    close(file);
}

static void sample_write(const char *name, uint8_t value, int label)
{
    tar_archive tar = {0};
    tar_sample(&tar, "x", value, label);
    tar_end(&tar);
    shard_write(name, &tar);
}

static void shard_check(const char *pattern, const sample_row *rows, size_t count)
{
    svit_dataset *dataset = NULL;
    WORKS(shards_open(&dataset, pattern, err));
    samples_check(dataset, rows, count);
    svit_dataset_free(dataset);
}

START_TEST(test_an_index_is_made_once)
{
    NEEDS(HAS_PNG, "PNG");
    static const sample_row row = {9, 4};
    svit_dataset *dataset = NULL;
    sample_write("a.tar", 9, 4);
    shard_check("a.tar", &row, 1);
    ck_assert_int_eq(access(path_in(&folder, "a.tar.index"), F_OK), 0);
    /* The headers are not read again while the shard has its size and time. */
    byte_flip("a.tar", 3, true);
    shard_check("a.tar", &row, 1);
    /* They are when the index is damaged, or the shard has another time. */
    byte_flip("a.tar.index", 70, true);
    FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_FORMAT, "wrong checksum");
    byte_flip("a.tar", 3, true);
    shard_check("a.tar", &row, 1);
    byte_flip("a.tar", 3, false);
    FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_FORMAT, "wrong checksum");
}
END_TEST

/* Labels of text are in the index, too: a header that is damaged later is not read again. */
START_TEST(test_an_index_has_the_names_of_labels)
{
    NEEDS(HAS_PNG, "PNG");
    static const sample_row rows[] = {{1, 1}, {2, 0}, {3, 1}};
    static const char *const texts[] = {"{\"label\":\"owl\"}", "{\"label\":\"fox\"}",
                                        "{\"label\":\"owl\"}"};
    tar_archive tar = {0};
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d.png", i);
        tar_image(&tar, name, (uint8_t)(i + 1));
        snprintf(name, sizeof name, "%d.json", i);
        tar_text(&tar, name, texts[i]);
    }
    tar_end(&tar);
    shard_write("a.tar", &tar);
    shard_check("a.tar", rows, 3);
    byte_flip("a.tar", 3, true);
    svit_dataset *dataset = NULL;
    WORKS(shards_open(&dataset, "a.tar", err));
    samples_check(dataset, rows, 3);
    ck_assert_str_eq(svit_dataset_class_name(dataset, 0), "fox");
    ck_assert_str_eq(svit_dataset_class_name(dataset, 1), "owl");
    svit_dataset_free(dataset);
}
END_TEST

START_TEST(test_an_index_of_another_shard_is_not_used)
{
    NEEDS(HAS_PNG, "PNG");
    static const sample_row row = {9, 4}, other = {8, 3};
    sample_write("a.tar", 9, 4);
    shard_check("a.tar", &row, 1);
    ck_assert_int_eq(unlink(path_in(&folder, "a.tar")), 0);
    sample_write("a.tar", 8, 3);
    shard_check("a.tar", &other, 1);
}
END_TEST

/* Of an archive of one sample: a header, whose numbers are little-endian, and the sample. */
START_TEST(test_an_index_has_the_same_bytes_on_every_machine)
{
    NEEDS(HAS_PNG, "PNG");
    enum { FIELDS = 10 };
    static const struct {
        uint64_t value;
        unsigned bytes;
    } fields[FIELDS] = {
        {0x3178646974697673, 8}, /* svitidx1 */
        {0, 8},                  /* checksum */
        {3072, 8},               /* bytes of the shard */
        {5000000007, 8},         /* its time in nanoseconds */
        {1, 8},                  /* samples */
        {0, 8},                  /* bytes of names */
        {1, 4},                  /* labels are numbers */
        {0, 4},                  /* names */
        {512, 8},                /* where the image begins */
        {0x0000000300000005, 8}  /* its bytes, then its label */
    };
    static const struct timespec times[2] = {{5, 7}, {5, 7}};
    unsigned char wanted[128], index[sizeof wanted];
    size_t bytes = 0;
    tar_archive tar = {0};
    tar_text(&tar, "a.png", "image");
    tar_text(&tar, "a.cls", "3");
    tar_fill(&tar, 2 * TAR_BLOCK);
    shard_write("a.tar", &tar);
    ck_assert_int_eq(utimensat(AT_FDCWD, path_in(&folder, "a.tar"), times, 0), 0);
    svit_dataset *dataset = NULL;
    WORKS(shards_open(&dataset, "a.tar", err));
    svit_dataset_free(dataset);
    for (int i = 0; i < FIELDS; i++)
        for (unsigned k = 0; k < fields[i].bytes; k++)
            wanted[bytes++] = (unsigned char)(fields[i].value >> 8 * k);
    FILE *file = fopen(path_in(&folder, "a.tar.index"), "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(index, 1, sizeof index, file), bytes);
    fclose(file);
    memcpy(wanted + 8, index + 8, 8);
    ck_assert_mem_eq(index, wanted, bytes);
}
END_TEST

START_TEST(test_a_folder_that_cannot_be_written_has_no_index)
{
    NEEDS(HAS_PNG, "PNG");
    static const sample_row row = {9, 4};
    sample_write("a.tar", 9, 4);
    subfolder_make(&folder, "a.tar.index");
    shard_check("a.tar", &row, 1);
}
END_TEST

START_TEST(test_a_shard_that_changes_later_is_an_error)
{
    NEEDS(HAS_PNG, "PNG");
    svit_dataset *dataset = NULL;
    uint8_t rgb[4 * 4 * 3];
    int32_t label;
    sample_write("a.tar", 9, 4);
    WORKS(shards_open(&dataset, "a.tar", err));
    sample_write("a.tar", 8, 4);
    byte_flip("a.tar", 1, false);
    FAILS(svit_dataset_sample(dataset, 0, rgb, &label, err), SVIT_E_FORMAT,
          "a.tar' has changed since the dataset was opened");
    svit_dataset_free(dataset);
    tar_archive tar = {0};
    tar_text(&tar, "key.x.png", "no image");
    tar_text(&tar, "key.png", "no image");
    tar_text(&tar, "key.cls", "1");
    shard_write("a.tar", &tar);
    WORKS(shards_open(&dataset, "a.tar", err));
    FAILS(svit_dataset_sample(dataset, 0, rgb, &label, err), SVIT_E_FORMAT, "a.tar: key.png");
    svit_dataset_free(dataset);
}
END_TEST

/* A shard stays open once it is read. It is seen all the same when it is written in place, and that
 * it is what it was when it is put back. */
START_TEST(test_an_open_shard_that_changes_in_place_is_an_error)
{
    NEEDS(HAS_PNG, "PNG");
    static const sample_row row = {9, 4};
    svit_dataset *dataset = NULL;
    struct stat state;
    uint8_t rgb[4 * 4 * 3];
    int32_t label;
    sample_write("a.tar", 9, 4);
    WORKS(shards_open(&dataset, "a.tar", err));
    samples_check(dataset, &row, 1);
    ck_assert_int_eq(stat(path_in(&folder, "a.tar"), &state), 0);
    for (int cut = 0; cut < 2; cut++) {
        sample_write("a.tar", 8, 4);
        byte_flip("a.tar", 1, false);
        if (cut)
            ck_assert_int_eq(truncate(path_in(&folder, "a.tar"), 600), 0);
        FAILS(svit_dataset_sample(dataset, 0, rgb, &label, err), SVIT_E_FORMAT,
              "a.tar' has changed since the dataset was opened");
    }
    sample_write("a.tar", 9, 4);
    const struct timespec times[2] = {state.st_atim, state.st_mtim};
    ck_assert_int_eq(utimensat(AT_FDCWD, path_in(&folder, "a.tar"), times, 0), 0);
    samples_check(dataset, &row, 1);
    svit_dataset_free(dataset);
}
END_TEST

START_TEST(test_a_sample_takes_at_most_32_bytes)
{
    enum { COUNT = 20000, MOST = 32 };
    tar_archive tar = {0};
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "%05d.png", i);
        tar_text(&tar, name, "");
        snprintf(name, sizeof name, "%05d.cls", i);
        tar_text(&tar, name, "1");
    }
    tar_end(&tar);
    shard_write("a.tar", &tar);
    const long long before = held;
    for (int i = 0; i < 2; i++) {
        svit_dataset *dataset = NULL;
        WORKS(shards_open(&dataset, "a.tar", err));
        ck_assert_uint_eq(svit_dataset_count(dataset), COUNT);
        ck_assert_int_le(held - before, COUNT * MOST + 16384);
        svit_dataset_free(dataset);
    }
}
END_TEST

enum { SHARDS = 200, THREADS = 8 };

static void write_shards(void)
{
    for (int i = 0; i < SHARDS; i++) {
        char name[32];
        snprintf(name, sizeof name, "s-%03d.tar", i);
        sample_write(name, (uint8_t)i, i);
    }
}

/* The open files of the process that are archives. */
static int open_archives(void)
{
    int count = 0;
    for (int i = 0; i < 1024; i++) {
        char link[64], target[512];
        snprintf(link, sizeof link, "/proc/self/fd/%d", i);
        const ssize_t length = readlink(link, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = '\0';
        count += strstr(target, ".tar") != NULL;
    }
    return count;
}

/* Reads all samples several times, each thread in another order. */
static void *read_all(void *user)
{
    const svit_dataset *dataset = ((void **)user)[0];
    const size_t thread = (size_t)((void **)user)[1];
    static const size_t STEPS[] = {1, 3, 7, 11, 13, 17, 19, 23};
    size_t wrong = 0;
    for (size_t i = 0, at = thread; i < 3 * SHARDS; i++, at = (at + STEPS[thread]) % SHARDS) {
        uint8_t rgb[4 * 4 * 3];
        int32_t label = -1;
        const svit_status status = svit_dataset_sample(dataset, at, rgb, &label, NULL);
        wrong += status != SVIT_OK || rgb[0] != at || label != (int32_t)at;
    }
    return (void *)wrong;
}

START_TEST(test_threads_read_shards_of_which_64_stay_open)
{
    NEEDS(HAS_PNG, "PNG");
    svit_dataset *dataset = NULL;
    svit_context *own = context_open();
    pthread_t threads[THREADS];
    void *users[THREADS][2];
    write_shards();
    WORKS(svit_dataset_shards(&dataset, own, path_in(&folder, "s-{000..199}.tar"), &pipeline, err));
    ck_assert_int_eq(open_archives(), 0);
    for (size_t t = 0; t < THREADS; t++) {
        users[t][0] = dataset;
        users[t][1] = (void *)t;
        ck_assert_int_eq(pthread_create(&threads[t], NULL, read_all, users[t]), 0);
    }
    for (size_t t = 0; t < THREADS; t++) {
        void *wrong = NULL;
        pthread_join(threads[t], &wrong);
        ck_assert_uint_eq((size_t)wrong, 0);
    }
    ck_assert_int_eq(open_archives(), SV_SHARD_FILES);
    const pid_t child = fork();
    if (child == 0) /* another thread could hold the lock */
        _exit(read_all(users[0]) == NULL ? 0 : 1);
    int state = 1;
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    ck_assert_int_eq(state, 0);
    svit_dataset_free(dataset);
    svit_context_free(own);
    ck_assert_int_eq(open_archives(), 0);
}
END_TEST

START_TEST(test_files_that_are_in_use_stay_open)
{
    const sv_allocator allocator = sv_allocator_default();
    sv_shard_files *files = NULL;
    sv_shard_file taken[SV_SHARD_FILES + 2];
    file_write(&folder, "a.tar", "abc", 3);
    WORKS(sv_shard_files_create(&files, &allocator, "", err));
    for (size_t i = 0; i < SV_SHARD_FILES + 2; i++)
        WORKS(sv_shard_files_take(&taken[i], files, i, path_in(&folder, "a.tar"), err));
    ck_assert_int_eq(open_archives(), SV_SHARD_FILES + 2);
    for (size_t i = 0; i < SV_SHARD_FILES + 2; i++) {
        char byte = 0;
        WORKS(sv_file_read_at(taken[i].file, 1, &byte, 1, err));
        ck_assert_int_eq(byte, 'b');
        sv_shard_files_give(files, &taken[i]);
    }
    ck_assert_int_eq(open_archives(), SV_SHARD_FILES);
    /* What was given back makes room for another. */
    WORKS(sv_shard_files_take(&taken[0], files, 1000, path_in(&folder, "a.tar"), err));
    ck_assert_int_ge(taken[0].slot, 0);
    sv_shard_files_give(files, &taken[0]);
    ck_assert_int_eq(open_archives(), SV_SHARD_FILES);
    sv_shard_files_free(files);
    ck_assert_int_eq(open_archives(), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("shard_index");
    TCase *c = tcase_create("shard_index");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_an_index_is_made_once);
    tcase_add_test(c, test_an_index_has_the_names_of_labels);
    tcase_add_test(c, test_an_index_of_another_shard_is_not_used);
    tcase_add_test(c, test_an_index_has_the_same_bytes_on_every_machine);
    tcase_add_test(c, test_a_folder_that_cannot_be_written_has_no_index);
    tcase_add_test(c, test_a_shard_that_changes_later_is_an_error);
    tcase_add_test(c, test_an_open_shard_that_changes_in_place_is_an_error);
    tcase_add_test(c, test_a_sample_takes_at_most_32_bytes);
    tcase_add_test(c, test_threads_read_shards_of_which_64_stay_open);
    tcase_add_test(c, test_files_that_are_in_use_stay_open);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
