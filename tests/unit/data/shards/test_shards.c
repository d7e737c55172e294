/* Checks datasets of shards: which members are samples, all forms of headers, labels, names of
 * classes and patterns. */
#include "shards_support.h"

static void check_archive(tar_archive *tar, const sample_row *rows, size_t count, size_t classes)
{
    svit_dataset *dataset = NULL;
    tar_end(tar);
    shard_write("a.tar", tar);
    for (int i = 0; i < 2; i++) { /* from the archive, and from its index */
        WORKS(shards_open(&dataset, "a.tar", err));
        ck_assert_uint_eq(svit_dataset_classes(dataset), classes);
        samples_check(dataset, rows, count);
        svit_dataset_free(dataset);
        ck_assert_int_eq(access(path_in(&folder, "a.tar.index"), F_OK), 0);
    }
    unlink(path_in(&folder, "a.tar.index"));
}

START_TEST(test_samples_are_runs_of_members_with_one_key)
{
    NEEDS(HAS_PNG, "PNG");
    tar_archive tar = {0};
    tar_member(&tar, '5', "dir/", "", 0);
    tar_text(&tar, "__meta__", "for WebDataset");
    tar_text(&tar, "__data__/x.png", "for WebDataset");
    tar_text(&tar, "Makefile", "no dot");
    tar_image(&tar, "dir/0001.png", 1);
    tar_text(&tar, "dir/.hidden.png", "no key");
    tar_member(&tar, '2', "dir/link.png", "", 0);
    tar_text(&tar, "dir/0001.seg.png", "another member");
    tar_text(&tar, "dir/0001.CLS", " 7\n");
    tar_text(&tar, "dir/0001.json", "{\"label\": 3}");
    tar_text(&tar, "d.ir/0001.cls", "2"); /* another key */
    tar_text(&tar, "d.ir/0001.webp", "behind PNG in the list of endings");
    tar_image(&tar, "d.ir/0001.PNG", 2);
    tar_image(&tar, "d.ir/0001.png.bak", 9);
    tar_member(&tar, '\0', "old/0001/", "", 0);
    tar_text(&tar, "./0001.cls", "000");
    tar_image(&tar, "./0001.jpg", 3);
    tar_member(&tar, '7', "0001.cls", "1", 1);
    tar_image(&tar, "0001.jpeg", 4);
    tar_sample(&tar, "dir/0001", 5, 6); /* the same key, but not one behind another */
    tar_sample(&tar, "dir/00012", 6, 0);
    tar_sample(&tar, "dir/0001", 7, 0);
    static const sample_row rows[] = {{1, 7}, {2, 2}, {3, 0}, {4, 1}, {5, 6}, {6, 0}, {7, 0}};
    check_archive(&tar, rows, sizeof rows / sizeof *rows, 8);
}
END_TEST

/* Changes the header of a member before its checksum. */
static void set_field(tar_archive *tar, size_t header, size_t at, const void *bytes, size_t count)
{
    memcpy(tar->data + header + at, bytes, count);
    tar_seal(tar, header);
}

START_TEST(test_all_forms_of_names_and_sizes)
{
    NEEDS(HAS_PNG, "PNG");
    tar_archive tar = {0};
    char long_name[400];
    memset(long_name, 'n', sizeof long_name);
    tar_pax(&tar, 'g', "comment", "path=x");
    memcpy(long_name + 300, ".png", 5);
    tar_pax(&tar, 'x', "path", long_name);
    size_t at = tar_image(&tar, "short.name", 1);
    memcpy(long_name + 300, ".cls", 5);
    tar_member(&tar, 'K', "././@LongLink", "a long link", 11);
    tar_member(&tar, 'L', "././@LongLink", long_name, strlen(long_name) + 1);
    tar_text(&tar, "short.name", "1");
    at = tar_image(&tar, "b.png", 2); /* ustar: the prefix is a folder */
    set_field(&tar, at, 345, "some/folder", 11);
    at = tar_text(&tar, "b.cls", "2");
    set_field(&tar, at, 345, "some/folder", 11);
    at = tar_image(&tar, "b.png", 6); /* another folder */
    set_field(&tar, at, 345, "other", 5);
    at = tar_text(&tar, "b.cls", "4");
    set_field(&tar, at, 345, "other", 5);
    at = tar_image(&tar, "c.png", 3); /* old GNU: there is no prefix there */
    set_field(&tar, at, 345, "7654321", 7);
    set_field(&tar, at, 257, "ustar  ", 8);
    at = tar_text(&tar, "c.cls", "0");
    set_field(&tar, at, 257, "\0\0\0\0\0\0\0", 8); /* V7 */
    at = tar_image(&tar, "d.png", 4);
    uint8_t binary[12] = {0x80};
    size_t bytes = strtoul((char *)tar.data + at + 124, NULL, 8);
    binary[10] = (uint8_t)(bytes >> 8);
    binary[11] = (uint8_t)bytes;
    set_field(&tar, at, 124, binary, 12);
    tar_pax(&tar, 'x', "size", "2"); /* the header's own is wrong */
    at = tar_text(&tar, "d.cls", "05");
    set_field(&tar, at, 124, "         0 ", 11);
    tar_text(&tar, "e.cls", "6");
    tar_image(&tar, "e.png", 5);
    static const sample_row rows[] = {{1, 1}, {2, 2}, {6, 4}, {3, 0}, {4, 5}, {5, 6}};
    check_archive(&tar, rows, sizeof rows / sizeof *rows, 7);
}
END_TEST

/* What makes an archive be refused; `text` is its label or the text of a member. */
typedef enum damage {
    LABEL,
    JSON,
    MEMBER,
    KIND,
    PAX,
    RAW_PAX,
    GLOBAL,
    CHECKSUM,
    SIZE,
    CUT,
    LONG_NAME,
    PENDING,
    NOTHING
} damage;

static const struct {
    damage damage;
    const char *text, *part;
} REFUSED[] = {
    {LABEL, "", "has '' in its member 'cls'"},
    {LABEL, "x", "sample 'k', has 'x' in its member 'cls'"},
    {LABEL, "-1", "'-1'"},
    {LABEL, "1 2", "'1 2'"},
    {LABEL, "1048576", "a.tar', sample 'k', has the class 1048576; 0..1048575 are accepted"},
    {LABEL, "99999999999999999999999999", "0..1048575 are accepted"},
    {JSON, "", "sample 'k'"},
    {JSON, "[1]", "sample 'k'"},
    {JSON, "{}", "no class in its member 'json'"},
    {JSON, "{\"label\":-1}", "no class"},
    {JSON, "{\"label\":1.5}", "no class"},
    {JSON, "{\"label\":NaN}", "no class"},
    {JSON, "{\"label\":1e9}", "has the class 1000000000; 0..1048575 are accepted"},
    {JSON, "{\"label\":1e300}", "no class"},
    {JSON, "{\"label\":1,\"a\":-Infinite}", "begins no value"},
    {JSON, "{\"label\":null,\"cls\":[3]}", "no class"},
    {JSON, "{\"label\":\"\"}", "empty name"},
    {JSON, "{\"label\":\"cat\"}", "has a name as its label, and the samples before it do not"},
    {MEMBER, "l.cls", "sample 'l', has no image; a member that ends in .jpg"},
    {MEMBER, "l.png", "sample 'l', has no label; a member 'cls' or 'json'"},
    {MEMBER, "k.CLS", "two members '.CLS'"},
    {MEMBER, "k.png", "two members '.png'"},
    {KIND, "S", "sparse"},
    {PAX, "GNU.sparse.major=1", "sparse"},
    {PAX, "size=", "no decimal size"},
    {PAX, "size=-1", "no decimal size"},
    {PAX, "size=99999999999999999999", "no decimal size"},
    {PAX, "size=999999", "more bytes than the file"},
    {RAW_PAX, "8 path=x\n", "another length than it says"},
    {RAW_PAX, "0 path=x\n", "another length than it says"},
    {RAW_PAX, "999 path=x\n", "another length than it says"},
    {RAW_PAX, "4294967304 path=x\n", "another length than it says"},
    {RAW_PAX, "10 pathx=", "another length than it says"},
    {RAW_PAX, "11 path=x\n", "another length than it says"},
    {RAW_PAX, "9 pathxx\n", "no '='"},
    {GLOBAL, "path=x", "gives all members one name or size"},
    {GLOBAL, "size=1", "gives all members one name or size"},
    {CHECKSUM, "", "at byte 2048, a header has a wrong checksum"},
    {SIZE, "0000000000x", "a header has no size"},
    {SIZE, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "a header has no size"},
    {SIZE, "77777777777", "at byte 2048, a member has more bytes than the file"},
    {CUT, "", "a header is cut"},
    {LONG_NAME, "", "a name has more than 4096 bytes"},
    {PENDING, "", "the member of a pax header or long name is missing"},
    {NOTHING, "", "the file is empty"},
};
enum { REFUSED_COUNT = sizeof REFUSED / sizeof *REFUSED };

static void put_pax(tar_archive *tar, char kind, const char *record)
{
    char key[64];
    const char *equals = strchr(record, '=');
    snprintf(key, sizeof key, "%.*s", (int)(equals - record), record);
    tar_pax(tar, kind, key, equals + 1);
}

static void put_damage(tar_archive *tar, damage kind, const char *text)
{
    char name[5000];
    const size_t at = tar->bytes;
    switch (kind) {
    case KIND:
        tar_member(tar, text[0], "k.txt", "", 0);
        break;
    case PAX:
    case GLOBAL:
        put_pax(tar, kind == PAX ? 'x' : 'g', text);
        tar_text(tar, "k.txt", "");
        break;
    case RAW_PAX:
        tar_member(tar, 'x', "PaxHeader", text, strlen(text));
        break;
    case CHECKSUM:
        tar_text(tar, "k.txt", "");
        tar->data[at + 50] ^= 1;
        break;
    case SIZE:
        tar_text(tar, "k.txt", "");
        set_field(tar, at, 124, text, strlen(text));
        break;
    case CUT:
        tar_text(tar, "k.txt", "");
        tar->bytes -= 1;
        break;
    case LONG_NAME:
        memset(name, 'n', sizeof name);
        tar_member(tar, 'L', "././@LongLink", name, sizeof name);
        break;
    case PENDING:
        tar_member(tar, 'L', "././@LongLink", "name", 5);
        tar_end(tar);
        break;
    case NOTHING:
        tar->bytes = 0;
        break;
    default:
        tar_text(tar,
                 kind == MEMBER  ? text
                 : kind == LABEL ? "k.cls"
                                 : "k.json",
                 kind == MEMBER ? "1" : text);
    }
}

START_TEST(test_archives_that_are_refused)
{
    NEEDS(HAS_PNG, "PNG");
    const bool has_label = REFUSED[_i].damage != LABEL && REFUSED[_i].damage != JSON;
    tar_archive tar = {0};
    if (REFUSED[_i].damage == JSON)
        tar_sample(&tar, "first", 1, 1);
    tar_image(&tar, "k.png", 1);
    if (has_label)
        tar_text(&tar, "k.cls", "1");
    put_damage(&tar, REFUSED[_i].damage, REFUSED[_i].text);
    shard_write("a.tar", &tar);
    svit_dataset *dataset = NULL;
    FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_FORMAT, REFUSED[_i].part);
    FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_FORMAT, "a.tar'");
    ck_assert_ptr_null(dataset);
    ck_assert_int_ne(access(path_in(&folder, "a.tar.index"), F_OK), 0);
}
END_TEST

static void write_json(const char *shard, uint8_t value, const char *const *labels)
{
    tar_archive tar = {0};
    for (; *labels; labels++, value++) {
        char name[32];
        snprintf(name, sizeof name, "%03d.png", value);
        tar_image(&tar, name, value);
        snprintf(name, sizeof name, "%03d.json", value);
        tar_text(&tar, name, *labels);
    }
    tar_end(&tar);
    shard_write(shard, &tar);
}

START_TEST(test_names_become_classes_in_byte_order_of_all_shards)
{
    NEEDS(HAS_PNG, "PNG");
    static const char *const A[] = {"{\"label\":\"dog\"}",
                                    "{\"label\":\"cat\",\"cls\":9,\"id\":18446744073709551616,"
                                    "\"caption\":\"a\\u0000b\"}",
                                    "{\"cls\":\"dog\"}", NULL};
    static const char *const B[] = {"{\"class\":\"Zebra\"}", "{\"label\":\"b\xc3\xa4r\"}", NULL};
    static const sample_row rows[] = {{10, 3}, {11, 2}, {12, 3}, {20, 0}, {21, 1}};
    write_json("s-0.tar", 10, A);
    write_json("s-1.tar", 20, B);
    tar_archive empty = {0};
    tar_end(&empty);
    shard_write("s-2.tar", &empty);
    svit_dataset *dataset = NULL;
    for (int i = 0; i < 2; i++) {
        WORKS(shards_open(&dataset, "s-*.tar", err));
        samples_check(dataset, rows, 5);
        ck_assert_uint_eq(svit_dataset_classes(dataset), 4);
        static const char *const names[] = {"Zebra", "b\xc3\xa4r", "cat", "dog"};
        for (size_t k = 0; k < 4; k++)
            ck_assert_str_eq(svit_dataset_class_name(dataset, k), names[k]);
        svit_dataset_free(dataset);
    }
    static const char *const NUMBERS[] = {"{\"label\":3}", NULL};
    write_json("s-3.tar", 30, NUMBERS);
    FAILS(shards_open(&dataset, "s-*.tar", err), SVIT_E_FORMAT,
          "s-3.tar' are numbers, and those of the shards before it are not");
    FAILS(shards_open(&dataset, "s-2.tar", err), SVIT_E_FORMAT, "have 0 samples");
}
END_TEST

/* Labels as Python writes and reads them. */
START_TEST(test_labels_of_json_are_as_python_writes_them)
{
    NEEDS(HAS_PNG, "PNG");
    static const char *const TEXTS[] = {
        "{\"a\":NaN,\"label\":1}",
        "{\"a\":[-Infinity, Infinity],\"b\":{\"c\":NaN},\"label\":2}",
        "{\"label\":3.0}",
        "{\"label\":4e0}",
        "\xEF\xBB\xBF{\"label\":5}",
        "{\"label\":null,\"cls\":6}",
        "{\"label\":NaN,\"cls\":[1],\"class\":7}",
        "{\"label\":-0.0}",
        "{\"label\":1048575}",
        NULL};
    static const sample_row rows[] = {{1, 1}, {2, 2}, {3, 3}, {4, 4},      {5, 5},
                                      {6, 6}, {7, 7}, {8, 0}, {9, 1048575}};
    write_json("a.tar", 1, TEXTS);
    svit_dataset *dataset = NULL;
    WORKS(shards_open(&dataset, "a.tar", err));
    samples_check(dataset, rows, sizeof rows / sizeof *rows);
    svit_dataset_free(dataset);
}
END_TEST

START_TEST(test_a_file_names_numbered_classes)
{
    NEEDS(HAS_PNG, "PNG");
    tar_archive tar = {0};
    tar_sample(&tar, "x", 1, 2);
    shard_write("a.tar", &tar);
    svit_dataset *dataset = NULL;
    WORKS(shards_open(&dataset, "a.tar", err));
    ck_assert_uint_eq(svit_dataset_classes(dataset), 3);
    ck_assert_ptr_null(svit_dataset_class_name(dataset, 0));
    svit_dataset_free(dataset);
    static const char *const LISTS[] = {"a\nb\r\nc c\nd", "\xEF\xBB\xBF"
                                                          "a\rb\nc c\nd\r\n\n\n"};
    for (int i = 0; i < 2; i++) {
        file_write(&folder, "classes.txt", LISTS[i], strlen(LISTS[i]));
        WORKS(shards_open(&dataset, "a.tar", err));
        ck_assert_uint_eq(svit_dataset_classes(dataset), 4);
        ck_assert_str_eq(svit_dataset_class_name(dataset, 0), "a");
        ck_assert_str_eq(svit_dataset_class_name(dataset, 2), "c c");
        svit_dataset_free(dataset);
    }
    static const char *const WRONG[][2] = {{"\na\nb\nc", "line 1 is empty"},
                                           {"a\nb\r\n\r\nc", "line 3 is empty"}};
    for (int i = 0; i < 2; i++) {
        file_write(&folder, "classes.txt", WRONG[i][0], strlen(WRONG[i][0]));
        FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_FORMAT, WRONG[i][1]);
    }
    file_write(&folder, "classes.txt", "a\nb\n", 4);
    FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_FORMAT,
          "a sample of class 2, but classes.txt beside it has 2 names");
    file_write(&folder, "classes.txt", "a\nb\nc\na\n", 8);
    WORKS(shards_open(&dataset, "a.tar", err));
    ck_assert_str_eq(svit_dataset_class_name(dataset, 3), "a");
    svit_dataset_free(dataset);
    file_write(&folder, "classes.txt", "a\nb\n\xff\n", 6);
    FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_FORMAT, "classes.txt' is not UTF-8");
    if (!has_posix_names())
        return;
    ck_assert_int_eq(unlink(path_in(&folder, "classes.txt")), 0);
    ck_assert_int_eq(symlink("gone.txt", path_in(&folder, "classes.txt")), 0);
    FAILS(shards_open(&dataset, "a.tar", err), SVIT_E_IO, "classes.txt': No such file");
}
END_TEST

static const struct {
    const char *pattern;
    const char *values; /* those of the samples; NULL: it is refused */
    svit_status status;
    const char *part;
} PATTERNS[] = {
    {"s-{00..02}.tar", "\x00\x01\x02", SVIT_OK, NULL},
    {"s-{01..1}.tar", "\x01", SVIT_OK, NULL},
    {"s-{8..10}.tar", "\x08\x09\x0a", SVIT_OK, NULL},
    {"s-*", "\x00\x01\x02\x0a\x08\x09", SVIT_OK, NULL}, /* no hidden file and no index */
    {"s-0?.tar", "\x00\x01\x02", SVIT_OK, NULL},
    {"s-9.tar", "\x09", SVIT_OK, NULL},
    {"s-{00..03}.tar", NULL, SVIT_E_IO, "s-03.tar'"},
    {"t-*.tar", NULL, SVIT_E_IO, "no file matches"},
    {"none/*.tar", NULL, SVIT_E_IO, "none'"},
    {"s-{00,01}.tar", NULL, SVIT_E_ARGUMENT, "one range such as {000..127}"},
    {"s-{2..0}.tar", NULL, SVIT_E_ARGUMENT, "one range"},
    {"s-{0..1000000}.tar", NULL, SVIT_E_ARGUMENT, "at most 1000000 shards"},
    {"s-{0..9999999999}.tar", NULL, SVIT_E_ARGUMENT, "one range"},
    {"s-{0..1}{0..1}.tar", NULL, SVIT_E_ARGUMENT, "has 2 ranges; one range"},
    {"we{ird}/{0..1}/s-{0..1}.tar", NULL, SVIT_E_ARGUMENT, "has 2 ranges; one range"},
    {"we{ird}/s-{00..01}.tar", "\x0b\x0c", SVIT_OK, NULL},
    {"we{ird}/s-*.tar", "\x0b\x0c", SVIT_OK, NULL},
    {"we{ird}/s-00.tar", "\x0b", SVIT_OK, NULL},
    {"b{-{1..1}.tar", "\x0d", SVIT_OK, NULL},
    {"b{-1.tar", "\x0d", SVIT_OK, NULL},
    {"b{-?.tar", "\x0d", SVIT_OK, NULL},
    {"we{ird}/s-{00..02}.tar", NULL, SVIT_E_IO, "s-02.tar'"},
    {"s-{0..1.tar", NULL, SVIT_E_ARGUMENT, "one range"},
    {"s-{..1}.tar", NULL, SVIT_E_ARGUMENT, "one range"},
    {"sub", NULL, SVIT_E_IO, "is a folder"},
};

START_TEST(test_patterns)
{
    NEEDS(HAS_PNG, "PNG");
    static const char *const SHARDS[] = {
        "s-00.tar", "s-01.tar",  "s-02.tar",         "s-8.tar",          "s-9.tar",
        "s-10.tar", ".s-03.tar", "we{ird}/s-00.tar", "we{ird}/s-01.tar", "b{-1.tar"};
    static const uint8_t VALUES[] = {0, 1, 2, 8, 9, 10, 99, 11, 12, 13};
    subfolder_make(&folder, "we{ird}");
    for (size_t i = 0; i < sizeof VALUES; i++) {
        tar_archive tar = {0};
        tar_sample(&tar, "x", VALUES[i], 0);
        shard_write(SHARDS[i], &tar);
    }
    subfolder_make(&folder, "sub");
    for (size_t p = 0; p < sizeof PATTERNS / sizeof *PATTERNS; p++) {
        svit_dataset *dataset = NULL;
        if (!PATTERNS[p].values) {
            FAILS(shards_open(&dataset, PATTERNS[p].pattern, err), PATTERNS[p].status,
                  PATTERNS[p].part);
            continue;
        }
        WORKS(shards_open(&dataset, PATTERNS[p].pattern, err));
        for (size_t i = 0; i < svit_dataset_count(dataset); i++) {
            const sample_row row = {(uint8_t)PATTERNS[p].values[i], 0};
            svit_dataset *one = NULL;
            WORKS(svit_dataset_slice(&one, dataset, i, 1, err));
            samples_check(one, &row, 1);
            svit_dataset_free(one);
        }
        svit_dataset_free(dataset);
    }
    /* A path without a folder is in the one in which the dataset is opened, also when the program
     * works in another one before its shards are. */
    ck_assert_int_eq(chdir(folder.path), 0);
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_shards(&dataset, context, "s-?.tar", &pipeline, err));
    ck_assert_int_eq(chdir("/"), 0);
    samples_check(dataset, (const sample_row[]){{8, 0}, {9, 0}}, 2);
    svit_dataset_free(dataset);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("shards");
    TCase *c = tcase_create("shards");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_samples_are_runs_of_members_with_one_key);
    tcase_add_test(c, test_all_forms_of_names_and_sizes);
    tcase_add_loop_test(c, test_archives_that_are_refused, 0, REFUSED_COUNT);
    tcase_add_test(c, test_names_become_classes_in_byte_order_of_all_shards);
    tcase_add_test(c, test_labels_of_json_are_as_python_writes_them);
    tcase_add_test(c, test_a_file_names_numbered_classes);
    tcase_add_test(c, test_patterns);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
