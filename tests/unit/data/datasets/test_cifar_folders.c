/* Checks the names of CIFAR's classes, and what is said of folders that are not the one with its
 * files. */
#include "data_support.h"

#include <shiftvit/dataset.h>

static test_folder folder;
static svit_context *context;
static atomic_llong held;

static void setup(void)
{
    folder = folder_make();
    held = 0;
    context = context_counting(&held);
}

static void teardown(void)
{
    svit_context_free(context);
    ck_assert_int_eq(held, 0);
    folder_remove(&folder);
}

static svit_status cifar_open(svit_dataset **out, bool hundred, svit_error *err)
{
    return hundred ? svit_dataset_cifar100(out, context, folder.path, SVIT_SPLIT_TEST,
                                           SVIT_LABELS_FINE, err)
                   : svit_dataset_cifar10(out, context, folder.path, SVIT_SPLIT_TEST, err);
}

/* Writes a record of the label 1. */
static void write_record(const char *name)
{
    uint8_t record[3073] = {1};
    file_write(&folder, name, record, sizeof record);
}

START_TEST(test_a_byte_order_mark_is_no_part_of_a_name)
{
    static const char NAMES[] = "\xEF\xBB\xBF"
                                "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
    svit_dataset *dataset = NULL;
    write_record("test_batch.bin");
    file_write(&folder, "batches.meta.txt", NAMES, sizeof NAMES - 1);
    WORKS(cifar_open(&dataset, false, err));
    ck_assert_str_eq(svit_dataset_class_name(dataset, 0), "a");
    ck_assert_str_eq(svit_dataset_class_name(dataset, 9), "j");
    svit_dataset_free(dataset);
}
END_TEST

START_TEST(test_names_are_different)
{
    static const char NAMES[] = "a\nb\nc\nd\ne\nf\ng\nb\ni\nj\n";
    svit_dataset *dataset = NULL;
    write_record("test_batch.bin");
    file_write(&folder, "batches.meta.txt", NAMES, sizeof NAMES - 1);
    FAILS(cifar_open(&dataset, false, err), SVIT_E_FORMAT,
          "batches.meta.txt': classes 1 and 7 are both called 'b'; different names are needed");
    ck_assert_ptr_null(dataset);
}
END_TEST

static const struct {
    bool hundred;
    const char *inner; /* a folder, or NULL */
    const char *file;
    const char *part; /* of the message */
} FOLDERS[] = {
    {false, NULL, "test_batch", "the folder holds 'test_batch' of CIFAR-10's version for Python"},
    {true, NULL, "test",
     "the folder holds 'test' of CIFAR-100's version for Python, and the binary"},
    {false, "cifar-10-batches-bin", "cifar-10-batches-bin/test_batch.bin",
     "/cifar-10-batches-bin' in it is the folder that is needed"},
    {true, "cifar-100-binary", "cifar-100-binary/test.bin",
     "/cifar-100-binary' in it is the folder that is needed"},
    {false, "cifar-10-batches-py", "cifar-10-batches-py/test_batch",
     "'cifar-10-batches-py/test_batch' of CIFAR-10's version for Python"},
    {true, "cifar-100-python", "cifar-100-python/test",
     "'cifar-100-python/test' of CIFAR-100's version for Python"},
    {false, NULL, "other", "test_batch.bin'"},
};

START_TEST(test_folders_of_other_versions_are_told_apart)
{
    svit_dataset *dataset = NULL;
    if (FOLDERS[_i].inner)
        subfolder_make(&folder, FOLDERS[_i].inner);
    write_record(FOLDERS[_i].file);
    FAILS(cifar_open(&dataset, FOLDERS[_i].hundred, err), SVIT_E_IO, FOLDERS[_i].part);
    FAILS(cifar_open(&dataset, FOLDERS[_i].hundred, err), SVIT_E_IO,
          FOLDERS[_i].hundred ? "test.bin'" : "test_batch.bin'");
    ck_assert_ptr_null(dataset);
    if (FOLDERS[_i].inner) {
        ck_assert_int_eq(unlink(path_in(&folder, FOLDERS[_i].file)), 0);
        ck_assert_int_eq(rmdir(path_in(&folder, FOLDERS[_i].inner)), 0);
    }
}
END_TEST

START_TEST(test_an_empty_folder_is_not_the_root)
{
    svit_dataset *dataset = NULL;
    FAILS(svit_dataset_cifar10(&dataset, context, "", SVIT_SPLIT_TEST, err), SVIT_E_IO,
          "cannot open the folder ''");
    FAILS(svit_dataset_cifar100(&dataset, context, "", SVIT_SPLIT_TEST, SVIT_LABELS_FINE, err),
          SVIT_E_IO, "cannot open the folder ''");
    ck_assert_ptr_null(dataset);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("cifar_folders");
    TCase *c = tcase_create("cifar_folders");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_a_byte_order_mark_is_no_part_of_a_name);
    tcase_add_test(c, test_names_are_different);
    tcase_add_test(c, test_an_empty_folder_is_not_the_root);
    tcase_add_loop_test(c, test_folders_of_other_versions_are_told_apart, 0,
                        sizeof FOLDERS / sizeof *FOLDERS);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
