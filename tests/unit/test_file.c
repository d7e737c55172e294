/* Checks files: what is no regular file is refused at once. Replacing a file keeps its permissions,
 * does not disturb another writer, and a failure says which content is on the disk. */
#include "suite.h"

#include <shiftvit/shiftvit.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char folder[64];
static char target[96];
static int folders_fail; /* makes fsync of a folder fail with EIO */

/* Replaces fsync of the C library to simulate a failing disk. */
int fsync(int descriptor)
{
    struct stat state;
    if (folders_fail && fstat(descriptor, &state) == 0 && S_ISDIR(state.st_mode)) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, descriptor);
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/shiftvit-file-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(target, sizeof target, "%s/target", folder);
}

static size_t count_entries(int remove)
{
    size_t count = 0;
    DIR *list = opendir(folder);
    ck_assert_ptr_nonnull(list);
    for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
        char path[400];
        if (entry->d_name[0] == '.')
            continue;
        count++;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (remove)
            unlink(path);
    }
    closedir(list);
    return count;
}

static void remove_folder(void)
{
    folders_fail = 0;
    count_entries(1);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void replace(const char *text)
{
    svit_error err = {sizeof err, 0, ""};
    svit_status status = svit_file_replace(target, text, strlen(text), &err);
    ck_assert_msg(status == SVIT_OK, "%s", err.message);
}

static void assert_holds(const char *text)
{
    char held[64] = "";
    FILE *file = fopen(target, "rb");
    ck_assert_ptr_nonnull(file);
    held[fread(held, 1, sizeof held - 1, file)] = '\0';
    fclose(file);
    ck_assert_str_eq(held, text);
}

static mode_t mode_of_target(void)
{
    struct stat state;
    ck_assert_int_eq(stat(target, &state), 0);
    return state.st_mode & 07777;
}

START_TEST(test_what_is_no_regular_file_is_refused_at_once)
{
    static const char *const kinds[] = {"a FIFO", "a folder", "a device"};
    const char *paths[] = {target, folder, "/dev/zero"};
    svit_context *context = NULL;
    svit_model *model = NULL;
    svit_image *image = NULL;
    svit_error err = {sizeof err, 0, ""};
    ck_assert_int_eq(mkfifo(target, 0600), 0);
    ck_assert_int_eq(svit_context_create(&context, NULL, &err), SVIT_OK);
    alarm(10); /* the time limit ends the test if it hangs */
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(svit_model_load(&model, context, paths[i], &err), SVIT_E_IO);
        ck_assert_msg(strstr(err.message, kinds[i]) != NULL, "%s", err.message);
        ck_assert_int_eq(svit_image_read(&image, context, paths[i], 3, &err), SVIT_E_IO);
        ck_assert_msg(strstr(err.message, kinds[i]) != NULL, "%s", err.message);
    }
    ck_assert_int_eq(svit_file_replace(target, "x", 1, &err), SVIT_E_IO);
    ck_assert_msg(strstr(err.message, "a FIFO") != NULL, "%s", err.message);
    alarm(0);
    svit_context_free(context);
}
END_TEST

START_TEST(test_a_replacement_keeps_permissions)
{
    static const mode_t modes[] = {0600, 0640, 0444, 0664};
    mode_t mask = umask(022);
    replace("new");
    ck_assert_uint_eq(mode_of_target(), 0644);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        ck_assert_int_eq(chmod(target, modes[i]), 0);
        replace("newer");
        ck_assert_uint_eq(mode_of_target(), modes[i]);
    }
    umask(mask);
}
END_TEST

START_TEST(test_what_a_killed_writer_left_is_used_again)
{
    char left[128];
    snprintf(left, sizeof left, "%s.part", target);
    int descriptor = open(left, O_WRONLY | O_CREAT, 0600);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    mode_t mask = umask(022);
    replace("whole");
    umask(mask);
    assert_holds("whole");
    ck_assert_uint_eq(mode_of_target(), 0644);
    ck_assert_uint_eq(count_entries(0), 1);
}
END_TEST

START_TEST(test_a_writer_at_work_is_left_alone)
{
    char busy[128];
    snprintf(busy, sizeof busy, "%s.part", target);
    int descriptor = open(busy, O_WRONLY | O_CREAT, 0600);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(flock(descriptor, LOCK_EX), 0);
    replace("another's");
    assert_holds("another's");
    ck_assert_uint_eq(count_entries(0), 2);
    ck_assert_int_eq(access(busy, F_OK), 0);
    close(descriptor);
}
END_TEST

enum { WRITERS = 8, WRITES = 50 };

static void *write_often(void *failures)
{
    for (int i = 0; i < WRITES; i++)
        if (svit_file_replace(target, "0123456789", 10, NULL) != SVIT_OK)
            ++*(int *)failures;
    return NULL;
}

START_TEST(test_threads_that_write_one_path_all_succeed)
{
    pthread_t threads[WRITERS];
    int failures[WRITERS] = {0};
    for (int i = 0; i < WRITERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_often, &failures[i]), 0);
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(failures[i], 0);
    }
    assert_holds("0123456789");
    ck_assert_uint_eq(count_entries(0), 1);
}
END_TEST

START_TEST(test_a_folder_that_is_not_flushed_is_told_apart)
{
    svit_error err = {sizeof err, 0, ""};
    replace("old");
    folders_fail = 1;
    ck_assert_int_eq(svit_file_replace(target, "new", 3, &err), SVIT_E_IO);
    ck_assert_msg(strstr(err.message, "in place") != NULL, "%s", err.message);
    assert_holds("new");
}
END_TEST

static Suite *file_suite(void)
{
    Suite *suite = suite_create("file");
    TCase *tests = tcase_create("file");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_what_is_no_regular_file_is_refused_at_once);
    tcase_add_test(tests, test_a_replacement_keeps_permissions);
    tcase_add_test(tests, test_what_a_killed_writer_left_is_used_again);
    tcase_add_test(tests, test_a_writer_at_work_is_left_alone);
    tcase_add_test(tests, test_threads_that_write_one_path_all_succeed);
    tcase_add_test(tests, test_a_folder_that_is_not_flushed_is_told_apart);
    suite_add_tcase(suite, tests);
    return suite;
}

TEST_MAIN(file_suite)
