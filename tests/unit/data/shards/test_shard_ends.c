/* Checks what is said of archives that end oddly and of files that are no archives, and that no
 * other file is taken for an index. */
#include "shards_support.h"

/* What the library has told the log. */
static char told[2048];

static void take_message(void *user, int32_t level, const char *message)
{
    (void)user;
    ck_assert_int_eq(level, SVIT_LOG_WARNING);
    snprintf(told, sizeof told, "%s", message);
}

static void setup_log(void)
{
    setup();
    svit_context_free(context);
    const svit_context_config config = {
        .struct_size = sizeof config, .threads = 1, .log = take_message};
    WORKS(svit_context_create(&context, &config, err));
}

/* Opens a.tar, which has the samples 1, 2 and so on, and whose log must have `wanted`; NULL:
 * nothing. Twice, since an index may have been kept. */
static void check_told(size_t samples, const char *wanted)
{
    static const sample_row rows[] = {{1, 1}, {2, 2}};
    for (int i = 0; i < 2; i++) {
        svit_dataset *dataset = NULL;
        told[0] = '\0';
        WORKS(shards_open(&dataset, "a.tar", err));
        samples_check(dataset, rows, samples);
        svit_dataset_free(dataset);
        ck_assert_msg(wanted ? strstr(told, wanted) != NULL : !told[0], "told: %s", told);
    }
    ck_assert_int_eq(access(path_in(&folder, "a.tar.index"), F_OK) == 0, !wanted);
    unlink(path_in(&folder, "a.tar.index"));
}

START_TEST(test_an_archive_without_its_end_is_warned_of)
{
    NEEDS(HAS_PNG, "PNG");
    static const struct {
        size_t zeros;     /* behind the samples */
        const char *text; /* behind the zeros */
        const char *told;
    } CASES[] = {
        {0, "", "a.tar' ends without the zeros that end an archive; it may be cut"},
        {1, "", NULL},
        {2, "", NULL},
        {20, "", NULL},
        {1, "x", "a.tar': data follow the zeros that end the archive; they are not read"},
        {2, "garbage", "data follow the zeros"},
        {20, "\xff", "data follow the zeros"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        tar_archive tar = {0};
        tar_sample(&tar, "k", 1, 1);
        for (size_t k = 0; k < CASES[i].zeros; k++)
            tar_fill(&tar, TAR_BLOCK);
        tar_put(&tar, CASES[i].text, strlen(CASES[i].text));
        shard_write("a.tar", &tar);
        check_told(1, CASES[i].told);
    }
}
END_TEST

/* cut between two samples, and `cat a.tar b.tar`. */
START_TEST(test_samples_are_not_lost_silently)
{
    NEEDS(HAS_PNG, "PNG");
    tar_archive tar = {0};
    tar_sample(&tar, "k", 1, 1);
    const size_t first = tar.bytes;
    tar_sample(&tar, "l", 2, 2);
    tar_end(&tar);
    file_write(&folder, "a.tar", tar.data, tar.bytes);
    check_told(2, NULL);
    file_write(&folder, "a.tar", tar.data, first);
    check_told(1, "it may be cut");
    tar_archive both = {0};
    tar_put(&both, tar.data, tar.bytes);
    tar_put(&both, tar.data, tar.bytes);
    shard_write("a.tar", &both);
    check_told(2, "they are not read");
    tar_free(&tar);
}
END_TEST

START_TEST(test_a_file_of_another_kind_is_named)
{
    static const struct {
        const char *start;
        size_t bytes;
        const char *kind;
    } CASES[] = {{"\x1f\x8b\x08", 3, "a gzip archive"},
                 {"BZh9", 4, "a bzip2 archive"},
                 {"\xfd"
                  "7zXZ\0",
                  6, "an xz archive"},
                 {"\x28\xb5\x2f\xfd", 4, "a Zstandard archive"},
                 {"\xff\xd8\xff", 3, "a JPEG image"},
                 {"PK\3\4", 4, "a zip archive"},
                 {"<html>", 6, "an HTML page"},
                 {"version https://git-lfs.github.com/spec/v1", 42, "a Git LFS pointer"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        for (size_t size = 64; size <= 2048; size += 1984) {
            char file[2048], wanted[128];
            svit_dataset *dataset = NULL;
            memset(file, 'x', sizeof file);
            memcpy(file, CASES[i].start, CASES[i].bytes);
            file_write(&folder, "a.tar", file, size);
            snprintf(wanted, sizeof wanted, "a.tar' is %s", CASES[i].kind);
            FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_FORMAT, wanted);
            FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_FORMAT,
                  "a tar archive that is not compressed is needed");
        }
}
END_TEST

/* The name in a header is a text. */
START_TEST(test_a_damaged_header_is_no_text)
{
    NEEDS(HAS_PNG, "PNG");
    tar_archive tar = {0};
    char name[91];
    memset(name, 'n', 86);
    memcpy(name + 86, ".png", 5);
    const size_t at = tar_image(&tar, name, 1);
    tar.data[at + 95] ^= 1;
    shard_write("a.tar", &tar);
    svit_dataset *dataset = NULL;
    FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_FORMAT,
          "at byte 0, a header has a wrong checksum");
}
END_TEST

static size_t read_file(const char *name, char *data, size_t most)
{
    FILE *file = fopen(path_in(&folder, name), "rb");
    ck_assert_ptr_nonnull(file);
    const size_t bytes = fread(data, 1, most, file);
    fclose(file);
    return bytes;
}

/* Files in the place of an index: only an empty one, and one that begins as an index, are
 * replaced; through a link, too. */
START_TEST(test_a_foreign_file_is_not_replaced_by_an_index)
{
    NEEDS(HAS_PNG, "PNG");
    static const struct {
        const char *text;
        bool is_replaced;
    } CASES[] = {{"my notes", false},   {"sv", true},        {"", true},  {"svitidx1", true},
                 {"svitidx1???", true}, {"svitidx2", false}, {"x", false}};
    static const sample_row row = {1, 1};
    tar_archive tar = {0};
    tar_sample(&tar, "k", 1, 1);
    tar_end(&tar);
    shard_write("a.tar", &tar);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        for (int linked = 0; linked < 2; linked++) {
            char data[256];
            const size_t length = strlen(CASES[i].text);
            const char *name = linked ? "other" : "a.tar.index";
            unlink(path_in(&folder, "a.tar.index"));
            file_write(&folder, name, CASES[i].text, length);
            if (linked)
                ck_assert_int_eq(symlink("other", path_in(&folder, "a.tar.index")), 0);
            svit_dataset *dataset = NULL;
            WORKS(shards_open(&dataset, "a.tar", err));
            samples_check(dataset, &row, 1);
            svit_dataset_free(dataset);
            const size_t bytes = read_file(name, data, sizeof data);
            const bool is_kept = bytes == length && memcmp(data, CASES[i].text, length) == 0;
            ck_assert_msg(is_kept != CASES[i].is_replaced, "case %zu, linked %d", i, linked);
            unlink(path_in(&folder, name));
        }
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("shard_ends");
    TCase *c = tcase_create("shard_ends");
    tcase_add_checked_fixture(c, setup_log, teardown);
    tcase_add_test(c, test_an_archive_without_its_end_is_warned_of);
    tcase_add_test(c, test_samples_are_not_lost_silently);
    tcase_add_test(c, test_a_file_of_another_kind_is_named);
    tcase_add_test(c, test_a_damaged_header_is_no_text);
    tcase_add_test(c, test_a_foreign_file_is_not_replaced_by_an_index);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
