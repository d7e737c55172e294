/* What holds for files, folders and locks on every system that has adapters. */
#include "base/files/file.h"
#include "base/files/lock_file.h"
#include "base/files/mapping.h"
#include "base/files/path.h"
#include "fit.h"

#include <shiftvit/file.h>

#include <errno.h>

/* Names beyond ASCII, with blanks, and one beyond the first 65,536 characters of Unicode. */
static const char *const NAMES[] = {"plain.bin", "two words.bin",
                                    ("B\xc3\xbc"
                                     "cher \xce\xbb.bin"),
                                    "\xf0\x9f\x90\xa6.bin"};
enum { NAME_COUNT = sizeof NAMES / sizeof *NAMES };

static sv_allocator allocator;
static fit_folder folder;

static void setup(void)
{
    allocator = sv_allocator_default();
    folder = fit_folder_make();
}

static void teardown(void)
{
    fit_folder_remove(&folder);
}

static void replace(const char *path, const char *text)
{
    WORKS(svit_file_replace(path, text, strlen(text), err));
}

static void require_text(const char *path, const char *text)
{
    void *data;
    size_t bytes;
    WORKS(sv_file_read(&data, &bytes, &allocator, path, 1 << 20, err));
    ck_assert_str_eq(data, text);
    sv_release(&allocator, data, bytes + 1);
}

START_TEST(test_a_file_of_any_name_is_replaced_appended_to_read_and_removed)
{
    char path[512];
    snprintf(path, sizeof path, "%s", fit_path(&folder, NAMES[_i]));
    ck_assert(sv_is_absent(path));
    replace(path, "first");
    replace(path, "second");
    WORKS(svit_file_append(path, " third", 6, err));
    require_text(path, "second third");
    ck_assert(!sv_is_absent(path) && !sv_is_folder(path) && sv_is_folder(folder.path));
    ck_assert_int_eq(sv_file_remove(path), 0);
    ck_assert_int_eq(sv_file_remove(path), ENOENT);
    ck_assert(sv_is_absent(path));
}
END_TEST

START_TEST(test_a_folder_lists_names_in_the_order_of_their_bytes)
{
    static const size_t ORDER[] = {2, 0, 1, NAME_COUNT, 3};
    sv_listing list = {0};
    bool made;
    char zone[SV_PATH_MAX];
    snprintf(zone, sizeof zone, "%s", fit_path(&folder, "zone"));
    for (size_t i = 0; i < NAME_COUNT; i++)
        replace(fit_path(&folder, NAMES[i]), "x");
    ck_assert_int_eq(sv_folder_make(&made, zone), 0);
    ck_assert(made);
    ck_assert_int_eq(sv_folder_make(&made, zone), 0);
    ck_assert(!made);
    ck_assert_str_eq(zone, fit_path(&folder, "zone"));
    WORKS(sv_folder_list(&list, &allocator, folder.path, err));
    ck_assert_uint_eq(list.count, NAME_COUNT + 1);
    for (size_t i = 0; i <= NAME_COUNT; i++) {
        ck_assert_str_eq(list.names[i], ORDER[i] == NAME_COUNT ? "zone" : NAMES[ORDER[i]]);
        ck_assert_int_eq(sv_listing_is_folder(&list, i), ORDER[i] == NAME_COUNT);
    }
    sv_listing_free(&allocator, &list);
    sv_folder_remove(fit_path(&folder, "zone"));
    for (size_t i = 0; i < NAME_COUNT; i++)
        ck_assert_int_eq(sv_file_remove(fit_path(&folder, NAMES[i])), 0);
}
END_TEST

/* Windows has 260 characters for a path in its old form. */
START_TEST(test_paths_may_be_long)
{
    char path[SV_PATH_MAX];
    size_t lengths[8];
    bool made;
    snprintf(path, sizeof path, "%s", folder.path);
    for (size_t i = 0; i < 8; i++) {
        lengths[i] = strlen(path);
        snprintf(path + lengths[i], sizeof path - lengths[i], "/a-folder-with-%s-name-%zu",
                 "a-rather-long-but-still-ordinary", i);
        ck_assert_int_eq(sv_folder_make(&made, path), 0);
    }
    const size_t end = strlen(path);
    ck_assert_uint_gt(end, 400);
    snprintf(path + end, sizeof path - end, "/file");
    replace(path, "far down");
    require_text(path, "far down");
    ck_assert_int_eq(sv_file_remove(path), 0);
    path[end] = '\0';
    for (size_t i = 8; i-- > 0; path[lengths[i]] = '\0')
        sv_folder_remove(path);
}
END_TEST

START_TEST(test_a_reader_keeps_the_file_that_is_replaced_or_removed)
{
    const char *path = fit_path(&folder, "model.safetensors");
    sv_file *file;
    char text[6] = "";
    if (_i == 0 && is_in_wine()) {
        skip_check("Wine replaces no file that is open");
        return;
    }
    replace(path, "older");
    WORKS(sv_file_open(&file, &allocator, path, err));
    if (_i == 0)
        replace(path, "newer");
    else
        ck_assert_int_eq(sv_file_remove(path), 0);
    WORKS(sv_file_read_at(file, 0, text, 5, err));
    ck_assert_str_eq(text, "older");
    FAILS(sv_file_read_at(file, 1, text, 5, err), SVIT_E_FORMAT, "ends 1 bytes too early");
    sv_file_close(&allocator, file);
    if (_i == 0)
        require_text(path, "newer");
}
END_TEST

START_TEST(test_writes_to_a_mapped_file_stay_private)
{
    const char *path = fit_path(&folder, "model.safetensors");
    sv_mapping mapping;
    sv_file *file;
    replace(path, "shared");
    WORKS(sv_file_open(&file, &allocator, path, err));
    WORKS(sv_mapping_create(&mapping, file, err));
    sv_file_close(&allocator, file);
    ck_assert_uint_eq(mapping.bytes, 6);
    char *text = mapping.base;
    sv_mapping_prefault(text, 6);
    text[0] = 'S';
    ck_assert_mem_eq(text, "Shared", 6);
    require_text(path, "shared");
    sv_mapping_free(&mapping);
    require_text(path, "shared");
}
END_TEST

START_TEST(test_a_lock_file_is_held_once_and_removed)
{
    char path[512];
    sv_lock_file first, second;
    snprintf(path, sizeof path, "%s", fit_path(&folder, ".lock"));
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(sv_lock_file_open(&first, path, false), 0);
        ck_assert_int_eq(sv_lock_file_open(&second, path, false), EBUSY);
        ck_assert(second == SV_NO_LOCK_FILE);
        sv_lock_file_close(first, path);
        ck_assert(sv_is_absent(path));
    }
}
END_TEST

START_TEST(test_what_is_wrong_with_a_path_is_told)
{
    sv_file *file;
    const char *nowhere = fit_path(&folder, "no/file");
    FAILS(sv_file_open(&file, &allocator, nowhere, err), SVIT_E_IO,
          "no/file': No such file or directory");
    FAILS(svit_file_replace(nowhere, "x", 1, err), SVIT_E_IO, "': No such file or directory");
    FAILS(svit_file_append(nowhere, "x", 1, err), SVIT_E_IO, "': No such file or directory");
    FAILS(sv_file_open(&file, &allocator, "", err), SVIT_E_IO,
          "cannot open '': No such file or directory");
    FAILS(sv_file_open(&file, &allocator, folder.path, err), SVIT_E_IO,
          "' is a folder; a regular file is needed");
    FAILS(svit_file_replace(folder.path, "x", 1, err), SVIT_E_IO, "folder");
}
END_TEST

START_TEST(test_a_folder_is_the_same_by_every_path)
{
    char dotted[128];
    sv_folder_id a, b, other;
    snprintf(dotted, sizeof dotted, "%s/./", folder.path);
    WORKS(sv_folder_identify(&a, folder.path, err));
    WORKS(sv_folder_identify(&b, dotted, err));
    WORKS(sv_folder_identify(&other, ".", err));
    ck_assert(a.device == b.device && a.number == b.number);
    ck_assert(a.device != other.device || a.number != other.number);
}
END_TEST

static Suite *file_system_suite(void)
{
    Suite *suite = suite_create("file system");
    TCase *c = tcase_create("files");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_a_file_of_any_name_is_replaced_appended_to_read_and_removed, 0,
                        NAME_COUNT);
    tcase_add_test(c, test_a_folder_lists_names_in_the_order_of_their_bytes);
    tcase_add_test(c, test_paths_may_be_long);
    tcase_add_loop_test(c, test_a_reader_keeps_the_file_that_is_replaced_or_removed, 0, 2);
    tcase_add_test(c, test_writes_to_a_mapped_file_stay_private);
    tcase_add_test(c, test_a_lock_file_is_held_once_and_removed);
    tcase_add_test(c, test_what_is_wrong_with_a_path_is_told);
    tcase_add_test(c, test_a_folder_is_the_same_by_every_path);
    suite_add_tcase(suite, c);
    return suite;
}

TEST_MAIN(file_system_suite)
