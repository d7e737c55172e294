/* Checks files: what is no regular file is refused at once. Replacing a file keeps its permissions,
 * does not disturb another writer, and a failure says which content is on the disk. */
#include "base/files/file.h"
#include "base/files/lock_file.h"
#include "suite.h"

#include <shiftvit/shiftvit.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static char target[96];
static int folders_fail; /* makes fsync of a folder fail with EIO */

static int interrupted_call; /* the number of the call of open or fsync that a signal breaks off,
                                counted from 1 */

static int is_interrupted(void)
{
    errno = EINTR;
    return interrupted_call > 0 && --interrupted_call == 0;
}

/* The linker puts these before open, which the C library calls open64 where files may be large. */
typedef int opener(const char *path, int flags, ...);
opener __real_open, __real_open64, __wrap_open, __wrap_open64;

int __wrap_open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return is_interrupted() ? -1 : __real_open(path, flags, mode);
}

int __wrap_open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return is_interrupted() ? -1 : __real_open64(path, flags, mode);
}

/* Replaces fsync of the C library to simulate a failing disk. */
int fsync(int descriptor)
{
    struct stat state;
    if (is_interrupted())
        return -1;
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
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (remove && unlink(path) != 0)
            ck_assert_int_eq(rmdir(path), 0);
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
    alarm(60); /* the time limit ends the test if it hangs */
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

static sv_replacement *begin(void)
{
    const sv_allocator allocator = sv_allocator_default();
    svit_error err = {sizeof err, 0, ""};
    sv_replacement *replacement = NULL;
    svit_status status = sv_replacement_begin(&replacement, &allocator, target, &err);
    ck_assert_msg(status == SVIT_OK, "%s", err.message);
    ck_assert_int_eq(sv_replacement_write(replacement, "half", 4, &err), SVIT_OK);
    return replacement;
}

/* Leaves what a writer leaves that is killed between its first byte and the rename. */
static void be_killed(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        begin();
        kill(getpid(), SIGKILL);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
}

START_TEST(test_what_killed_writers_left_is_used_again)
{
    static const mode_t modes[] = {0, 0644, 0600, 0444, 0400};
    mode_t mask = umask(022);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (modes[i]) {
            replace("old");
            ck_assert_int_eq(chmod(target, modes[i]), 0);
        }
        for (int writer = 0; writer < 5; writer++) {
            be_killed();
            ck_assert_uint_eq(count_entries(0), modes[i] ? 2 : 1);
        }
        replace("whole");
        assert_holds("whole");
        ck_assert_uint_eq(mode_of_target(), modes[i] ? modes[i] : 0644);
        ck_assert_uint_eq(count_entries(0), 1);
    }
    umask(mask);
}
END_TEST

START_TEST(test_a_writer_at_work_is_left_alone)
{
    const sv_allocator allocator = sv_allocator_default();
    sv_replacement *first = begin(), *second = begin();
    ck_assert_uint_eq(count_entries(0), 2);
    replace("another's");
    assert_holds("another's");
    ck_assert_uint_eq(count_entries(0), 3);
    ck_assert_int_eq(sv_replacement_commit(&allocator, second, NULL), SVIT_OK);
    assert_holds("half");
    sv_replacement_abandon(&allocator, first);
    ck_assert_uint_eq(count_entries(0), 1);
}
END_TEST

/* The path of the only hidden entry, in a static text. */
static const char *hidden_entry(void)
{
    static char path[400];
    DIR *list = opendir(folder);
    path[0] = '\0';
    for (struct dirent *entry; (entry = readdir(list)) != NULL;)
        if (entry->d_name[0] == '.' && entry->d_name[1] != '\0' && entry->d_name[1] != '.')
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    closedir(list);
    ck_assert_str_ne(path, "");
    return path;
}

/* What a user may have at a path. */
static void put(const char *path, int kind)
{
    if (kind == 0)
        ck_assert_int_eq(mkdir(path, 0700), 0);
    else if (kind == 1)
        ck_assert_int_eq(mkfifo(path, 0600), 0);
    else if (kind == 2)
        ck_assert_int_eq(symlink("nowhere", path), 0);
    else
        close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
}

/* Everything that is no regular file at the temporary file's own name, and everything at the names
 * that look like one. Regression: a user's NAME.part was deleted, and a folder of this name made
 * every write fail. */
START_TEST(test_what_others_have_is_left_alone)
{
    char taken[400];
    const sv_allocator allocator = sv_allocator_default();
    sv_replacement *replacement = begin();
    snprintf(taken, sizeof taken, "%s", hidden_entry());
    sv_replacement_abandon(&allocator, replacement);
    static const char *const endings[] = {".part", ".part1", "~", ".tmp"};
    for (int kind = 0; kind < 4; kind++)
        for (size_t i = kind == 3; i < 5; i++) {
            struct stat state;
            char path[400];
            if (i == 0)
                snprintf(path, sizeof path, "%s", taken);
            else
                snprintf(path, sizeof path, "%s%s", target, endings[i - 1]);
            put(path, kind);
            replace("new");
            assert_holds("new");
            ck_assert_int_eq(lstat(path, &state), 0);
            ck_assert_uint_eq(count_entries(0), 2);
            ck_assert_int_eq(kind == 0 ? rmdir(path) : unlink(path), 0);
        }
}
END_TEST

/* Names of every length that the system accepts. */
START_TEST(test_long_names)
{
    for (size_t length = 240; length <= 255; length++) {
        char path[400];
        svit_error err = {sizeof err, 0, ""};
        const int front = snprintf(path, sizeof path, "%s/", folder);
        memset(path + front, 'n', length);
        path[(size_t)front + length] = '\0';
        ck_assert_msg(svit_file_replace(path, "x", 1, &err) == SVIT_OK, "%s", err.message);
        ck_assert_int_eq(unlink(path), 0);
    }
}
END_TEST

static svit_status append(const char *path, svit_error *err)
{
    return svit_file_append(path, "x", 1, err);
}

static svit_status write_whole(const char *path, svit_error *err)
{
    return svit_file_replace(path, "x", 1, err);
}

static svit_status lock_folder(const char *path, svit_error *err)
{
    svit_context *context = NULL;
    svit_folder_lock *lock = NULL;
    ck_assert_int_eq(svit_context_create(&context, NULL, err), SVIT_OK);
    svit_status status = svit_folder_lock_create(&lock, context, path, err);
    svit_folder_lock_free(lock);
    svit_context_free(context);
    return status;
}

static svit_status lock_inside(const char *path, svit_error *err)
{
    char inner[200];
    snprintf(inner, sizeof inner, "%s/a/b", path);
    return lock_folder(inner, err);
}

/* One rule for files and folders: a link that leads nowhere is refused and stays as it is. */
START_TEST(test_links_that_lead_nowhere_are_refused)
{
    svit_status (*const writers[])(const char *, svit_error *) = {write_whole, append, lock_folder,
                                                                  lock_inside};
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        char link[128], end[64] = "";
        svit_error err = {sizeof err, 0, ""};
        snprintf(link, sizeof link, "%s/link", folder);
        ck_assert_int_eq(symlink("gone", link), 0);
        ck_assert_int_eq(writers[i](link, &err), SVIT_E_IO);
        ck_assert_msg(strstr(err.message, "/link': it is a symbolic link to 'gone', which is not "
                                          "there; no link, or a link to what exists, is accepted"),
                      "%s", err.message);
        ck_assert_int_eq(readlink(link, end, sizeof end - 1), 4);
        ck_assert(!sv_is_absent(link));
        ck_assert_uint_eq(count_entries(0), 1);
        /* A link in a circle is refused, too. */
        ck_assert_int_eq(unlink(link), 0);
        ck_assert_int_eq(symlink("link", link), 0);
        ck_assert_int_eq(writers[i](link, &err), SVIT_E_IO);
        ck_assert_uint_eq(count_entries(0), 1);
        ck_assert_int_eq(unlink(link), 0);
    }
}
END_TEST

START_TEST(test_a_link_to_a_file_or_folder_is_followed_and_stays)
{
    char link[128];
    svit_error err = {sizeof err, 0, ""};
    snprintf(link, sizeof link, "%s/link", folder);
    replace("old");
    ck_assert_int_eq(symlink("target", link), 0);
    ck_assert_int_eq(write_whole(link, &err), SVIT_OK);
    assert_holds("x");
    ck_assert_int_eq(append(link, &err), SVIT_OK);
    assert_holds("xx");
    ck_assert_int_eq(unlink(target), 0);
    ck_assert_int_eq(mkdir(target, 0700), 0);
    ck_assert_int_eq(lock_folder(link, &err), SVIT_OK);
    ck_assert_uint_eq(count_entries(0), 2);
}
END_TEST

/* Regression: the lock file `.lock` was removed even if another program had written it. */
START_TEST(test_a_lock_file_with_content_stays)
{
    char path[128];
    svit_error err = {sizeof err, 0, ""};
    snprintf(path, sizeof path, "%s/.lock", folder);
    ck_assert_int_eq(lock_folder(folder, &err), SVIT_OK);
    ck_assert_uint_eq(count_entries(0), 0);
    ck_assert_int_eq(svit_file_replace(path, "mine", 4, &err), SVIT_OK);
    ck_assert_int_eq(lock_folder(folder, &err), SVIT_OK);
    ck_assert_uint_eq(count_entries(0), 1);
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

/* Replaces, appends to, reads and locks files, as a run does. */
static void use_files(void)
{
    const sv_allocator allocator = sv_allocator_default();
    svit_error err = {sizeof err, 0, ""};
    char lock[112];
    void *read;
    size_t bytes;
    sv_lock_file held;
    snprintf(lock, sizeof lock, "%s/lock", folder);
    replace("one");
    replace("two");
    ck_assert_msg(svit_file_append(target, "three", 5, &err) == SVIT_OK, "%s", err.message);
    assert_holds("twothree");
    ck_assert_msg(sv_file_read(&read, &bytes, &allocator, target, 64, &err) == SVIT_OK, "%s",
                  err.message);
    ck_assert_uint_eq(bytes, 8);
    sv_release(&allocator, read, bytes + 1);
    ck_assert_int_eq(sv_lock_file_open(&held, lock, false), 0);
    sv_lock_file_close(held, lock);
    ck_assert_int_eq(unlink(target), 0);
}

/* A signal had failed the checkpoint that it met in its flush. */
START_TEST(test_calls_that_a_signal_breaks_off_begin_again)
{
    enum { OPENED = 8, FLUSHED = 5 }; /* calls of use_files */
    for (int n = 1; n <= OPENED + FLUSHED; n++) {
        interrupted_call = n;
        use_files();
        ck_assert_msg(interrupted_call == 0, "there are less than %d calls", n);
    }
    interrupted_call = OPENED + FLUSHED + 1;
    use_files();
    ck_assert_int_eq(interrupted_call, 1);
    interrupted_call = 0;
}
END_TEST

/* Opens a file to write, one to read and a lock, and writes the first while `streams`, a sum of
 * 1 << descriptor, are closed. Returns those of them that are open at the end. */
static int write_without_streams(int streams, const char *lock, svit_error *err)
{
    const sv_allocator allocator = sv_allocator_default();
    sv_replacement *writing = NULL;
    sv_file *reading = NULL;
    sv_lock_file held = SV_NO_LOCK_FILE;
    char lock_path[sizeof folder + 8];
    int taken = 0;
    snprintf(lock_path, sizeof lock_path, "%s", lock);
    if (sv_replacement_begin(&writing, &allocator, target, err) != SVIT_OK ||
        sv_file_open(&reading, &allocator, target, err) != SVIT_OK ||
        sv_lock_file_open(&held, lock_path, false) != 0)
        return -1;
    for (int stream = 0; stream < 3; stream++)
        if (streams >> stream & 1 && fcntl(stream, F_GETFD) >= 0)
            taken |= 1 << stream;
    const bool written = sv_replacement_write(writing, "new", 3, err) == SVIT_OK &&
                         sv_replacement_commit(&allocator, writing, err) == SVIT_OK;
    sv_file_close(&allocator, reading);
    sv_lock_file_close(held, lock_path);
    return written ? taken : -1;
}

/* A program without standard streams, or some of them. What it prints goes nowhere. Nothing is
 * asserted before they are back, since Check prints. */
START_TEST(test_standard_streams_that_are_closed_are_no_files)
{
    svit_error err = {sizeof err, 0, ""};
    char lock[sizeof folder + 8];
    int kept[3] = {-1, -1, -1};
    snprintf(lock, sizeof lock, "%s/lock", folder);
    replace("old");
    for (int stream = 0; stream < 3; stream++)
        if (_i >> stream & 1) {
            kept[stream] = fcntl(stream, F_DUPFD, 100);
            close(stream);
        }
    const int taken = write_without_streams(_i, lock, &err);
    for (int stream = 0; stream < 3; stream++)
        if (kept[stream] >= 0) {
            dup2(kept[stream], stream);
            close(kept[stream]);
        }
    ck_assert_msg(taken == 0, "streams %d of %d are open, -1: %s", taken, _i, err.message);
    assert_holds("new");
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
    tcase_add_test(tests, test_what_is_no_regular_file_is_refused_at_once);
    tcase_add_test(tests, test_a_replacement_keeps_permissions);
    tcase_add_test(tests, test_what_killed_writers_left_is_used_again);
    tcase_add_test(tests, test_a_writer_at_work_is_left_alone);
    tcase_add_test(tests, test_what_others_have_is_left_alone);
    tcase_add_test(tests, test_long_names);
    tcase_add_test(tests, test_links_that_lead_nowhere_are_refused);
    tcase_add_test(tests, test_a_link_to_a_file_or_folder_is_followed_and_stays);
    tcase_add_test(tests, test_a_lock_file_with_content_stays);
    tcase_add_test(tests, test_threads_that_write_one_path_all_succeed);
    tcase_add_loop_test(tests, test_standard_streams_that_are_closed_are_no_files, 0, 8);
    tcase_add_test(tests, test_calls_that_a_signal_breaks_off_begin_again);
    tcase_add_test(tests, test_a_folder_that_is_not_flushed_is_told_apart);
    suite_add_tcase(suite, tests);
    return suite;
}

TEST_MAIN(file_suite)
