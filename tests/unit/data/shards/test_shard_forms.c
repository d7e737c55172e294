/* Checks the rare forms of shards: several headers that say one thing, sizes at the limits, names
 * that grow, patterns. */
#include "shards_support.h"

#include "data/decoding/image_file.h"
#include "data/shards/shard_label.h"

#include <fcntl.h>

START_TEST(test_the_first_header_that_says_a_name_or_a_size_wins)
{
    NEEDS(HAS_PNG, "PNG");
    tar_archive tar = {0};
    tar_pax(&tar, 'x', "path", "a.png");
    tar_member(&tar, 'L', "././@LongLink", "second.png", 11);
    tar_pax(&tar, 'x', "path", "third.png");
    tar_image(&tar, "own.png", 1);
    tar_member(&tar, 'L', "././@LongLink", "a.cls", 6);
    tar_member(&tar, 'L', "././@LongLink", "b.cls", 6);
    tar_pax(&tar, 'x', "size", "1");
    tar_member(&tar, 'K', "././@LongLink", "a long link", 11); /* of its own size */
    tar_pax(&tar, 'x', "size", "2");
    tar_text(&tar, "own.cls", "12");
    tar_pax(&tar, 'x', "path", ""); /* no name */
    tar_image(&tar, "c.png", 2);
    tar_text(&tar, "c.webp", "behind PNG in the list of endings");
    tar_member(&tar, '\0', "", "", 0); /* a file without a name */
    tar_text(&tar, "c.cls", "3");
    static const sample_row rows[] = {{1, 1}, {2, 3}};
    shard_write("a.tar", &tar);
    svit_dataset *dataset = NULL;
    WORKS(shards_open(&dataset, "a.tar", err));
    samples_check(dataset, rows, 2);
    svit_dataset_free(dataset);
}
END_TEST

/* A size fills its field without an end, or the field is blank: then it is 0. */
START_TEST(test_sizes_may_fill_their_field)
{
    NEEDS(HAS_PNG, "PNG");
    static const struct {
        const char *field, *text;
        int32_t label;
        const char *part; /* of the message; NULL: it is read */
    } cases[] = {{"000000000001", "1", 1, NULL},
                 {"           1", "1", 1, NULL},
                 {"1           ", "1", 1, NULL},
                 {"            ", "", 0, "has '' in its member 'cls'"},
                 {"00000000001/", "1", 0, "a header has no size"},
                 {"000000000018", "1", 0, "a header has no size"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tar_archive tar = {0};
        tar_image(&tar, "__k.png", 9); /* two underscores alone are a key like any other */
        const size_t at = tar_text(&tar, "__k.cls", cases[i].text);
        memcpy(tar.data + at + 124, cases[i].field, 12);
        tar_seal(&tar, at);
        shard_write("a.tar", &tar);
        svit_dataset *dataset = NULL;
        if (cases[i].part) {
            FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_FORMAT, cases[i].part);
            continue;
        }
        WORKS(shards_open(&dataset, "a.tar", err));
        samples_check(dataset, &(sample_row){9, cases[i].label}, 1);
        svit_dataset_free(dataset);
        unlink(path_in(&folder, "a.tar.index"));
    }
}
END_TEST

START_TEST(test_records_of_pax_headers_end_where_they_say)
{
    NEEDS(HAS_PNG, "PNG");
    static const char *const records[] = {
        "1",          "12",         "1 x=\n", "2 \n", "12345678 path=x\n", "123456789 path=x\n",
        "8 path=x\n", ":9 path=x\n"};
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        tar_archive tar = {0};
        tar_member(&tar, 'x', "PaxHeader", records[i], strlen(records[i]));
        tar_sample(&tar, "k", 1, 1);
        shard_write("a.tar", &tar);
        svit_dataset *dataset = NULL;
        FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_FORMAT, "another length than it says");
    }
}
END_TEST

/* What is larger than it is read: a pax header, and a label. One byte less is read. */
START_TEST(test_headers_and_labels_have_a_limit)
{
    NEEDS(HAS_PNG, "PNG");
    enum { PAX_LIMIT = 1 << 20 };
    char *text = malloc(PAX_LIMIT + 2);
    for (int more = 0; more < 2; more++) {
        tar_archive tar = {0};
        svit_dataset *dataset = NULL;
        memset(text, 'c', PAX_LIMIT + 1);
        const size_t bytes = PAX_LIMIT + (size_t)more;
        const int start = snprintf(text, 32, "%zu comment", bytes);
        text[start] = '=';
        text[bytes - 1] = '\n';
        tar_member(&tar, 'x', "PaxHeader", text, bytes);
        tar_image(&tar, "k.png", 1);
        memset(text, ' ', SV_SHARD_LABEL_LIMIT + 1);
        text[SV_SHARD_LABEL_LIMIT - 1] = '5';
        tar_member(&tar, '0', "k.cls", text, SV_SHARD_LABEL_LIMIT);
        shard_write("a.tar", &tar);
        if (more) {
            FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_FORMAT, "more than 1 MiB");
        } else {
            WORKS(shards_open(&dataset, "a.tar", err));
            samples_check(dataset, &(sample_row){1, 5}, 1);
            svit_dataset_free(dataset);
            unlink(path_in(&folder, "a.tar.index"));
        }
    }
    tar_archive tar = {0};
    svit_dataset *dataset = NULL;
    tar_image(&tar, "k.png", 1);
    tar_member(&tar, '0', "k.cls", text, SV_SHARD_LABEL_LIMIT + 1);
    shard_write("a.tar", &tar);
    FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_FORMAT, "sample 'k', has a label of ");
    free(text);
}
END_TEST

START_TEST(test_an_image_has_a_limit)
{
    const off_t bytes = (off_t)SV_IMAGE_FILE_LIMIT + 1, padded = (bytes + 511) / 512 * 512;
    tar_archive tar = {0};
    char size[16];
    tar_member(&tar, '0', "k.png", "", 0);
    snprintf(size, sizeof size, "%011llo", (unsigned long long)bytes);
    memcpy(tar.data + 124, size, 11);
    tar_seal(&tar, 0);
    shard_write("a.tar", &tar);
    FILE *file = fopen(path_in(&folder, "a.tar"), "r+b"); /* of which most is a hole */
    ck_assert_int_eq(ftruncate(fileno(file), 512 + padded), 0);
    ck_assert_int_eq(fseeko(file, 0, SEEK_END), 0);
    tar_text(&tar, "k.cls", "1");
    ck_assert_uint_eq(fwrite(tar.data, 1, tar.bytes, file), tar.bytes);
    fclose(file);
    tar_free(&tar);
    svit_dataset *dataset = NULL;
    FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_FORMAT,
          "sample 'k', has an image of 268435457 bytes; at most 268435456 are read");
}
END_TEST

START_TEST(test_a_thousand_names_are_classes)
{
    NEEDS(HAS_PNG, "PNG");
    enum { NAMES = 1000 };
    tar_archive tar = {0};
    for (int i = 0; i < NAMES; i++) {
        char name[32], text[64];
        snprintf(name, sizeof name, "%03d.png", i);
        tar_image(&tar, name, (uint8_t)i);
        snprintf(name, sizeof name, "%03d.json", i);
        snprintf(text, sizeof text, "{\"label\":\"class %03d\"}", NAMES - 1 - i);
        tar_text(&tar, name, text);
    }
    tar_end(&tar);
    shard_write("a.tar", &tar);
    svit_dataset *dataset = NULL;
    for (int again = 0; again < 2; again++) { /* from the archive, and from its index */
        WORKS(shards_open(&dataset, "a.tar", err));
        ck_assert_uint_eq(svit_dataset_classes(dataset), NAMES);
        ck_assert_str_eq(svit_dataset_class_name(dataset, 7), "class 007");
        for (size_t i = 0; i < NAMES; i++) {
            int32_t label = -1;
            WORKS(svit_dataset_label(dataset, i, &label, err));
            ck_assert_int_eq(label, NAMES - 1 - (int32_t)i);
        }
        svit_dataset_free(dataset);
    }
}
END_TEST

/* Widths of ranges, and what matches a pattern: no folder, no hidden file, names of one byte. */
START_TEST(test_patterns_of_every_width)
{
    NEEDS(HAS_PNG, "PNG");
    static const struct {
        const char *pattern;
        const char *values; /* of the samples; NULL: none of the files is there */
    } cases[] = {{"s{0..01}", "\x05\x06"},
                 {"s{00..1}", "\x05\x06"},
                 {"s{9..10}", NULL},
                 {"s{10..11}", "\x07\x08"},
                 {"?", "\x09"},
                 {"s1?", "\x07\x08"},
                 {"s0*", "\x05\x06"}};
    static const char *const files[] = {"s00", "s01", "s10", "s11", "x", ".y"};
    for (int i = 0; i < 6; i++) {
        tar_archive tar = {0};
        tar_sample(&tar, "k", (uint8_t)(5 + i), 0);
        shard_write(files[i], &tar);
    }
    subfolder_make(&folder, "d");
    subfolder_make(&folder, "s0d");
    for (size_t p = 0; p < sizeof cases / sizeof *cases; p++) {
        svit_dataset *dataset = NULL;
        if (!cases[p].values) {
            FAILS(shards_open(&dataset, cases[p].pattern, err), SVIT_E_IO, "s9'");
            continue;
        }
        WORKS(shards_open(&dataset, cases[p].pattern, err));
        ck_assert_uint_eq(svit_dataset_count(dataset), strlen(cases[p].values));
        for (size_t i = 0; i < strlen(cases[p].values); i++) {
            uint8_t rgb[4 * 4 * 3];
            int32_t label;
            WORKS(svit_dataset_sample(dataset, i, rgb, &label, err));
            ck_assert_int_eq(rgb[0], cases[p].values[i]);
        }
        svit_dataset_free(dataset);
    }
}
END_TEST

/* Regular files are of three kinds; one of kind NUL whose name ends with a slash is a folder. Pax
 * headers are of two. */
START_TEST(test_kinds_of_members)
{
    NEEDS(HAS_PNG, "PNG");
    static const struct {
        char kind;
        const char *name;
        bool is_label;
    } cases[] = {{'0', "k.cls", true},  {'7', "k.cls", true},    {'\0', "k.cls", true},
                 {'0', "k.cls/", true}, {'\0', "k.cls/", false}, {'\0', "k.cls/x.cls", false},
                 {'1', "k.cls", false}, {'5', "k.cls/", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tar_archive tar = {0};
        svit_dataset *dataset = NULL;
        const bool has_data = cases[i].kind < '1' || cases[i].kind > '6';
        tar_image(&tar, "k.png", 9);
        tar_pax(&tar, 'x', "LIBARCHIVE.creationtime", "1"); /* as long as GNU.sparse.* */
        if (i % 2)
            tar_pax(&tar, 'X', "path", cases[i].name);
        tar_member(&tar, cases[i].kind, i % 2 ? "k.own" : cases[i].name, "3", has_data);
        shard_write("a.tar", &tar);
        if (strcmp(cases[i].name, "k.cls") == 0 && cases[i].is_label) {
            WORKS(shards_open(&dataset, "a.tar", err));
            samples_check(dataset, &(sample_row){9, 3}, 1);
            svit_dataset_free(dataset);
            unlink(path_in(&folder, "a.tar.index"));
        } else {
            FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_FORMAT, "k");
        }
    }
}
END_TEST

static void write_label(const char *shard, const char *keys[], const char *labels[], size_t count)
{
    tar_archive tar = {0};
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s.png", keys[i]);
        tar_image(&tar, name, (uint8_t)i);
        snprintf(name, sizeof name, "%s.json", keys[i]);
        tar_text(&tar, name, labels[i]);
    }
    shard_write(shard, &tar);
}

/* Names and numbers in one shard, and in two, in both orders. */
START_TEST(test_names_and_numbers_do_not_mix)
{
    NEEDS(HAS_PNG, "PNG");
    static const char *keys[] = {"a", "b"};
    static const char *labels[][2] = {{"{\"label\":1}", "{\"label\":\"one\"}"},
                                      {"{\"label\":\"one\"}", "{\"label\":1}"}};
    static const char *const parts[][2] = {{"has a name as its label", "are names, and"},
                                           {"has a number as its label", "are numbers, and"}};
    svit_dataset *dataset = NULL;
    write_label("both.tar", keys, labels[_i], 2);
    FAILS(shards_open(&dataset, "both.tar", err), SVIT_E_FORMAT, parts[_i][0]);
    write_label("s0", keys, labels[_i], 1);
    write_label("s1", keys, labels[_i] + 1, 1);
    FAILS(shards_open(&dataset, "s{0..1}", err), SVIT_E_FORMAT, parts[_i][1]);
    ck_assert_ptr_null(dataset);
}
END_TEST

/* A shard of another size and the time that it had. */
START_TEST(test_a_shard_that_grows_later_is_an_error)
{
    NEEDS(HAS_PNG, "PNG");
    svit_dataset *dataset = NULL;
    struct stat state;
    uint8_t rgb[4 * 4 * 3];
    int32_t label;
    tar_archive tar = {0};
    tar_sample(&tar, "k", 9, 4);
    shard_write("a.tar", &tar);
    const char *path = path_in(&folder, "a.tar");
    WORKS(svit_dataset_shards(&dataset, context, path, &pipeline, err));
    WORKS(svit_dataset_sample(dataset, 0, rgb, &label, err));
    svit_dataset_free(dataset);
    WORKS(svit_dataset_shards(&dataset, context, path, &pipeline, err));
    path = path_in(&folder, "a.tar");
    ck_assert_int_eq(stat(path, &state), 0);
    ck_assert_int_eq(truncate(path, state.st_size + 1), 0);
    ck_assert_int_eq(
        utimensat(AT_FDCWD, path, (struct timespec[2]){state.st_atim, state.st_mtim}, 0), 0);
    FAILS(svit_dataset_sample(dataset, 0, rgb, &label, err), SVIT_E_FORMAT,
          "a.tar' has changed since the dataset was opened");
    svit_dataset_free(dataset);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("shard_forms");
    TCase *c = tcase_create("shard_forms");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_the_first_header_that_says_a_name_or_a_size_wins);
    tcase_add_test(c, test_sizes_may_fill_their_field);
    tcase_add_test(c, test_records_of_pax_headers_end_where_they_say);
    tcase_add_test(c, test_headers_and_labels_have_a_limit);
    tcase_add_test(c, test_an_image_has_a_limit);
    tcase_add_test(c, test_a_thousand_names_are_classes);
    tcase_add_test(c, test_patterns_of_every_width);
    tcase_add_test(c, test_kinds_of_members);
    tcase_add_loop_test(c, test_names_and_numbers_do_not_mix, 0, 2);
    tcase_add_test(c, test_a_shard_that_grows_later_is_an_error);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
