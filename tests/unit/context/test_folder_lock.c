/* Checks the locks of folders: a folder has one lock at a time, a lock ends with its process, and
 * it leaves no files behind. */
#include "fit.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static svit_context *context;
static fit_folder folder;

static void setup(void)
{
    context = fit_context(1);
    folder = fit_folder_make();
}

static void teardown(void)
{
    svit_context_free(context);
    fit_folder_remove(&folder);
}

static svit_folder_lock *lock_of(const char *path)
{
    svit_folder_lock *lock = NULL;
    WORKS(svit_folder_lock_create(&lock, context, path, err));
    return lock;
}

/* Whether another process finds the folder locked. */
static int is_locked(const char *path)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        svit_context *local_context = NULL;
        svit_folder_lock *lock = NULL;
        svit_context_config config;
        svit_context_config_init(&config, sizeof config);
        config.threads = 1;
        if (svit_context_create(&local_context, &config, NULL) != SVIT_OK)
            _exit(2);
        svit_status status = svit_folder_lock_create(&lock, local_context, path, NULL);
        svit_folder_lock_free(lock);
        _exit(status == SVIT_OK ? 0 : status == SVIT_E_STATE ? 1 : 3);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
    return WEXITSTATUS(status);
}

START_TEST(test_a_folder_takes_one_lock_at_a_time)
{
    svit_folder_lock *second = NULL, *lock = lock_of(folder.path);
    FAILS(svit_folder_lock_create(&second, context, folder.path, err), SVIT_E_STATE,
          "is in use by another process");
    FAILS(svit_folder_lock_create(&second, context, folder.path, err), SVIT_E_STATE, folder.path);
    char other_name[128];
    snprintf(other_name, sizeof other_name, "%s/../%s/", folder.path, strrchr(folder.path, '/'));
    FAILS(svit_folder_lock_create(&second, context, other_name, err), SVIT_E_STATE, "is in use");
    ck_assert_ptr_null(second);
    ck_assert_int_eq(is_locked(folder.path), 1);
    svit_folder_lock_free(lock);
    ck_assert_int_eq(is_locked(folder.path), 0);
    svit_folder_lock_free(lock_of(folder.path));
    ck_assert_int_ne(access(fit_path(&folder, ".lock"), F_OK), 0);
}
END_TEST

/* Regression: a folder below /proc, where mkdir says that there is no such file, was "in use by
 * another process". */
START_TEST(test_a_folder_that_cannot_be_made_is_named)
{
    char in_file[128], below_file[128], too_long[400], longest[300];
    fit_write(fit_path(&folder, "run.json"), "x", 1);
    snprintf(in_file, sizeof in_file, "%s/run.json", folder.path);
    snprintf(below_file, sizeof below_file, "%s/run.json/a/b", folder.path);
    memset(longest, 'n', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    snprintf(too_long, sizeof too_long, "%s/new/%s", folder.path, longest);
    const struct {
        const char *path, *message;
    } cases[] = {
        {"/proc/nowhere", "cannot make the folder '/proc/nowhere': No such file"},
        {"/proc/nowhere/run/", "cannot make the folder '/proc/nowhere': No such file"},
        {"/dev/null/run", "cannot make the folder '/dev/null': Not a directory"},
        {in_file, "run.json': Not a directory"},
        {below_file, "run.json': Not a directory"},
        {too_long, "cannot make the folder "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        svit_folder_lock *lock = NULL;
        FAILS(svit_folder_lock_create(&lock, context, cases[i].path, err), SVIT_E_IO,
              cases[i].message);
        ck_assert_ptr_null(lock);
    }
    ck_assert_int_ne(access(fit_path(&folder, "new"), F_OK), 0);
}
END_TEST

START_TEST(test_a_lock_ends_with_its_process_and_leaves_no_trace)
{
    int ready[2];
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        svit_context *local_context = NULL;
        svit_folder_lock *lock = NULL;
        svit_context_create(&local_context, NULL, NULL);
        svit_folder_lock_create(&lock, local_context, folder.path, NULL);
        ssize_t sent = write(ready[1], lock ? "y" : "n", 1);
        (void)sent;
        for (;;)
            pause();
    }
    char is_ready;
    ck_assert_int_eq(read(ready[0], &is_ready, 1), 1);
    ck_assert_int_eq(is_ready, 'y');
    svit_folder_lock *lock = NULL;
    FAILS(svit_folder_lock_create(&lock, context, folder.path, err), SVIT_E_STATE, folder.path);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ck_assert_int_eq(access(fit_path(&folder, ".lock"), F_OK), 0);
    svit_folder_lock_free(lock_of(folder.path));
    ck_assert_int_ne(access(fit_path(&folder, ".lock"), F_OK), 0);
    close(ready[0]);
    close(ready[1]);
}
END_TEST

/* Waits until the other side of the pipe is closed. */
static void wait_for_close(const int ends[2])
{
    char nothing;
    close(ends[1]);
    ssize_t got = read(ends[0], &nothing, 1);
    (void)got;
}

/* Locks the folder, creates a child process, and waits to be killed. Both processes write a byte:
 * the child only after fork has returned in it, when it has closed its copy of the lock. */
static void lock_with_a_child(const int ready[2], const int end[2])
{
    svit_context *local_context = NULL;
    svit_folder_lock *lock = NULL;
    svit_context_create(&local_context, NULL, NULL);
    svit_status status = svit_folder_lock_create(&lock, local_context, folder.path, NULL);
    ssize_t sent;
    if (fork() == 0) {
        sent = write(ready[1], "y", 1);
        close(ready[1]);
        wait_for_close(end);
        _exit(0);
    }
    sent = write(ready[1], status == SVIT_OK ? "y" : "n", 1);
    (void)sent;
    for (;;)
        pause();
}

/* flock belongs to the open file, which fork shares. Regression: a child that outlives its parent
 * holds the lock. */
START_TEST(test_a_child_by_fork_does_not_hold_the_lock)
{
    int ready[2], end[2];
    char is_ready;
    ck_assert_int_eq(pipe(ready), 0);
    ck_assert_int_eq(pipe(end), 0);
    pid_t parent = fork();
    if (parent == 0)
        lock_with_a_child(ready, end);
    for (int process = 0; process < 2; process++) {
        ck_assert_int_eq(read(ready[0], &is_ready, 1), 1);
        ck_assert_int_eq(is_ready, 'y');
    }
    ck_assert_int_eq(is_locked(folder.path), 1);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    ck_assert_int_eq(is_locked(folder.path), 0);
    close(end[1]);
    close(end[0]);
    close(ready[0]);
    close(ready[1]);
}
END_TEST

START_TEST(test_a_child_by_fork_leaves_the_folder_to_its_parent)
{
    svit_folder_lock *lock = lock_of(folder.path);
    fit_write(fit_path(&folder, "history.csv"), "x", 1);
    pid_t child = fork();
    if (child == 0) {
        int refused = svit_folder_lock_remove(lock, "history.csv", NULL) == SVIT_E_STATE &&
                      svit_folder_lock_has(lock, "history.csv") == 1;
        svit_folder_lock_free(lock);
        _exit(refused ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert_int_eq(is_locked(folder.path), 1);
    svit_folder_lock_free(lock);
    ck_assert_int_eq(is_locked(folder.path), 0);
}
END_TEST

START_TEST(test_folders_are_made_and_taken_back_where_they_are_empty)
{
    char deep[128], upper[128];
    snprintf(upper, sizeof upper, "%s/a", folder.path);
    snprintf(deep, sizeof deep, "%s/a//b/c/", folder.path);
    svit_folder_lock_free(lock_of(deep));
    ck_assert_int_ne(access(upper, F_OK), 0);
    svit_folder_lock *lock = lock_of(deep);
    ck_assert_int_eq(svit_folder_lock_has(lock, "note"), 0);
    strcat(deep, "note");
    fit_write(deep, "x", 1);
    ck_assert_int_eq(svit_folder_lock_has(lock, "note"), 1);
    svit_folder_lock_free(lock);
    ck_assert_int_eq(access(deep, F_OK), 0);

    *strrchr(deep, '/') = '\0';
    lock = lock_of(deep);
    FAILS(svit_folder_lock_remove(lock, "a/b", err), SVIT_E_ARGUMENT, "name is 'a/b'");
    FAILS(svit_folder_lock_remove(lock, ".lock", err), SVIT_E_ARGUMENT, "the file of the lock");
    FAILS(svit_folder_lock_remove(lock, "..", err), SVIT_E_IO, "cannot remove ");
    ck_assert_int_eq(is_locked(deep), 1);
    WORKS(svit_folder_lock_remove(lock, "note", err));
    WORKS(svit_folder_lock_remove(lock, "note", err));
    svit_folder_lock_free(lock);
    ck_assert_int_eq(rmdir(deep), 0); /* existed before the second lock */
    *strrchr(deep, '/') = '\0';
    ck_assert_int_eq(rmdir(deep), 0);
    ck_assert_int_eq(rmdir(upper), 0);
}
END_TEST

START_TEST(test_what_is_no_folder_is_named)
{
    svit_folder_lock *lock = NULL;
    fit_write(fit_path(&folder, "history.csv"), "x", 1);
    FAILS(svit_folder_lock_create(&lock, context, fit_path(&folder, "history.csv"), err), SVIT_E_IO,
          "history.csv");
    FAILS(svit_folder_lock_create(&lock, context, fit_path(&folder, "history.csv/run"), err),
          SVIT_E_IO, "history.csv': Not a directory");
    FAILS(svit_folder_lock_create(&lock, context, "", err), SVIT_E_ARGUMENT, "empty");
    FAILS(svit_folder_lock_create(&lock, NULL, "x", err), SVIT_E_ARGUMENT, "context");
    FAILS(svit_folder_lock_create(&lock, context, NULL, err), SVIT_E_ARGUMENT, "folder");
    FAILS(svit_folder_lock_create(NULL, context, "x", err), SVIT_E_ARGUMENT, "out");
    ck_assert_ptr_null(lock);
    ck_assert_int_eq(svit_folder_lock_has(NULL, "x"), 0);
    svit_folder_lock_free(NULL);
}
END_TEST

/* Four processes lock and unlock a folder in turn. A file with the name of the owner is never
 * overwritten by another process. */
START_TEST(test_locks_that_come_and_go_never_overlap)
{
    enum { PROCESSES = 4, ROUNDS = 300 };
    char path[128], inside[160];
    snprintf(path, sizeof path, "%s/a/b", folder.path);
    snprintf(inside, sizeof inside, "%s/a/b/inside", folder.path);
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] != 0)
            continue;
        svit_context *local_context = NULL;
        svit_context_config config;
        svit_context_config_init(&config, sizeof config);
        config.threads = 1;
        svit_context_create(&local_context, &config, NULL);
        for (int held = 0; held < ROUNDS;) {
            svit_folder_lock *lock = NULL;
            svit_status status = svit_folder_lock_create(&lock, local_context, path, NULL);
            if (status == SVIT_E_STATE)
                continue;
            if (status != SVIT_OK || mkdir(inside, 0700) != 0 || rmdir(inside) != 0)
                _exit(1);
            svit_folder_lock_free(lock);
            held++;
        }
        _exit(0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "process %d: %d", i, status);
    }
    /* A folder that is locked again before its removal stays. */
    rmdir(path);
    snprintf(path, sizeof path, "%s/a", folder.path);
    rmdir(path);
}
END_TEST

/* Names that no file can have, and a folder that has gone while it was locked. */
START_TEST(test_names_in_a_folder)
{
    char moved[128], name[5000];
    svit_folder_lock *lock = lock_of(folder.path);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ck_assert_int_eq(svit_folder_lock_has(lock, NULL), 0);
    ck_assert_int_eq(svit_folder_lock_has(lock, name), 0);
    FAILS(svit_folder_lock_remove(lock, name, err), SVIT_E_IO, "cannot remove ");
    name[300] = '\0';
    ck_assert_int_eq(svit_folder_lock_has(lock, name), 0);
    FAILS(svit_folder_lock_remove(lock, name, err), SVIT_E_IO, "cannot remove ");
    FAILS(svit_folder_lock_remove(lock, "", err), SVIT_E_ARGUMENT, "name is ''");
    FAILS(svit_folder_lock_remove(lock, NULL, err), SVIT_E_ARGUMENT, "name");
    FAILS(svit_folder_lock_remove(NULL, "x", err), SVIT_E_ARGUMENT, "lock");
    snprintf(moved, sizeof moved, "%s-moved", folder.path);
    ck_assert_int_eq(rename(folder.path, moved), 0);
    ck_assert_int_eq(svit_folder_lock_has(lock, "x"), 0);
    fit_write(folder.path, "a file", 6);
    ck_assert_int_eq(svit_folder_lock_has(lock, "x"), 0);
    FAILS(svit_folder_lock_remove(lock, "x", err), SVIT_E_IO, "Not a directory");
    unlink(folder.path);
    ck_assert_int_eq(symlink(folder.path, folder.path),
                     0); /* to itself: nobody knows what is behind it */
    ck_assert_int_eq(svit_folder_lock_has(lock, "x"), 1);
    unlink(folder.path);
    ck_assert_int_eq(rename(moved, folder.path), 0);
    svit_folder_lock_free(lock);
    ck_assert_int_ne(access(fit_path(&folder, ".lock"), F_OK), 0);
}
END_TEST

/* A `.lock` that is not of this library stays, and what is no file is no lock. */
START_TEST(test_files_of_others_stay)
{
    const char *path = fit_path(&folder, ".lock");
    svit_folder_lock *lock = NULL;
    fit_write(path, "of another program", 18);
    svit_folder_lock_free(lock_of(folder.path));
    ck_assert_int_eq(access(path, F_OK), 0);
    unlink(path);
    lock = lock_of(folder.path);
    unlink(path);
    fit_write(path, "", 0); /* not the file that is locked */
    svit_folder_lock_free(lock);
    ck_assert_int_eq(access(path, F_OK), 0);
    unlink(path);
    lock = NULL;
    ck_assert_int_eq(symlink("elsewhere", path), 0);
    FAILS(svit_folder_lock_create(&lock, context, folder.path, err), SVIT_E_IO, "cannot lock '");
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    FAILS(svit_folder_lock_create(&lock, context, folder.path, err), SVIT_E_IO, "/.lock': Is a");
    ck_assert_ptr_null(lock);
    rmdir(path);
}
END_TEST

/* Locks the folder as a user who does not own it, or whose file is for reading alone. Returns what
 * the call does, or 9 if its message does not name the file. */
static int lock_as_another(void)
{
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        svit_context *of_child = NULL;
        svit_folder_lock *lock = NULL;
        svit_error err = {.struct_size = sizeof err};
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(8);
        if (svit_context_create(&of_child, NULL, NULL) != SVIT_OK)
            _exit(8);
        svit_status status = svit_folder_lock_create(&lock, of_child, folder.path, &err);
        if (status == SVIT_E_IO && !strstr(err.message, "/.lock': Permission denied"))
            status = -9;
        svit_folder_lock_free(lock);
        _exit(-status);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return -WEXITSTATUS(status);
}

/* A file that a killed process of another user has left is locked and removed, if the folder may be
 * written and the file be read. */
START_TEST(test_a_file_that_another_user_has_left_is_locked)
{
    const char *path = fit_path(&folder, ".lock");
    if (ON_WINDOWS) {
        skip_check("Windows has other permissions");
        return;
    }
    fit_write(path, "", 0);
    ck_assert_int_eq(chmod(path, 0444), 0);
    ck_assert_int_eq(chmod(folder.path, 0777), 0);
    ck_assert_int_eq(lock_as_another(), SVIT_OK);
    ck_assert_int_ne(access(path, F_OK), 0);
    fit_write(path, "", 0);
    ck_assert_int_eq(chmod(path, 0444), 0);
    ck_assert_int_eq(chmod(folder.path, 0555), 0);
    ck_assert_int_eq(lock_as_another(), SVIT_E_IO);
    ck_assert_int_eq(chmod(folder.path, 0777), 0);
    ck_assert_int_eq(chmod(path, 0), 0);
    ck_assert_int_eq(lock_as_another(), SVIT_E_IO);
    unlink(path);
}
END_TEST

/* A child by fork has closed the locks that were held then, whichever had ended before. The files
 * of the locks have content, so that they stay and a copy in the child would keep them locked. */
START_TEST(test_locks_end_in_any_order)
{
    static const int ORDERS[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {1, 0, 2}};
    const char *const names[] = {"a", "b", "c"};
    svit_folder_lock *locks[3];
    char path[3][128];
    for (int k = 0; k < 3; k++) {
        snprintf(path[k], sizeof path[k], "%s/%s/.lock", folder.path, names[k]);
        ck_assert_int_eq(mkdir(fit_path(&folder, names[k]), 0700), 0);
        fit_write(path[k], "x", 1);
        *strrchr(path[k], '/') = '\0';
        locks[k] = lock_of(path[k]);
    }
    svit_folder_lock_free(locks[ORDERS[_i][0]]);
    /* The child closes the locks before its fork returns, which the parent waits for. */
    int ready[2];
    char byte = 0;
    ck_assert_int_eq(pipe(ready), 0);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        for (;;)
            if (write(ready[1], &byte, 1) == 1)
                pause();
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    for (int k = 1; k < 3; k++) {
        ck_assert_int_eq(is_locked(path[ORDERS[_i][k]]), 1);
        svit_folder_lock_free(locks[ORDERS[_i][k]]);
    }
    for (int k = 0; k < 3; k++)
        ck_assert_msg(is_locked(path[k]) == 0, "the child has kept lock %s", names[k]);
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    for (int k = 0; k < 3; k++) {
        char file[512];
        snprintf(file, sizeof file, "%s/.lock", path[k]);
        ck_assert_int_eq(unlink(file), 0);
        ck_assert_int_eq(rmdir(path[k]), 0);
    }
}
END_TEST

START_TEST(test_a_relative_folder_is_found_when_the_program_works_in_another)
{
    char run[512], other[512];
    snprintf(run, sizeof run, "%s/run", folder.path);
    snprintf(other, sizeof other, "%s/other", folder.path);
    ck_assert_int_eq(mkdir(other, 0700), 0);
    ck_assert_int_eq(chdir(folder.path), 0);
    svit_folder_lock *lock = lock_of("run//");
    ck_assert_int_eq(chdir(other), 0);
    svit_folder_lock *second = NULL;
    FAILS(svit_folder_lock_create(&second, context, run, err), SVIT_E_STATE, "in use");
    svit_folder_lock *same_name = lock_of("run");
    ck_assert_int_eq(svit_folder_lock_has(lock, ".lock"), 1);
    svit_folder_lock_free(lock);
    ck_assert_int_ne(access(run, F_OK), 0);
    ck_assert_int_eq(access("run/.lock", F_OK), 0);
    svit_folder_lock_free(same_name);
    ck_assert_int_ne(access("run", F_OK), 0);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(other), 0);
}
END_TEST

/* Where no path leads to the working folder, a relative one cannot be kept. */
START_TEST(test_a_working_folder_that_is_gone_is_named)
{
    char gone[512];
    snprintf(gone, sizeof gone, "%s/gone", folder.path);
    ck_assert_int_eq(mkdir(gone, 0700), 0);
    ck_assert_int_eq(chdir(gone), 0);
    ck_assert_int_eq(rmdir(gone), 0);
    svit_folder_lock *lock = NULL;
    FAILS(svit_folder_lock_create(&lock, context, "run", err), SVIT_E_IO,
          "cannot find the working folder of 'run': ");
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

/* The new folder is there, but no file can be opened to flush its name. */
START_TEST(test_a_name_that_cannot_be_flushed_is_told_as_such)
{
    char run[512];
    snprintf(run, sizeof run, "%s/run", folder.path);
    struct rlimit before, none;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    const int next = dup(1);
    ck_assert_int_ge(next, 0);
    close(next);
    none.rlim_cur = (rlim_t)next;
    svit_folder_lock *lock = NULL;
    svit_error err = {.struct_size = sizeof err};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    const svit_status status = svit_folder_lock_create(&lock, context, run, &err);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(status, SVIT_E_IO);
    ck_assert_msg(strncmp(err.message, "cannot flush the name of the new folder '", 41) == 0,
                  "the message is '%s'", err.message);
    ck_assert_int_ne(access(run, F_OK), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("folder_lock");
    TCase *c = tcase_create("folder_lock");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_a_folder_takes_one_lock_at_a_time);
    tcase_add_test(c, test_a_folder_that_cannot_be_made_is_named);
    tcase_add_test(c, test_a_lock_ends_with_its_process_and_leaves_no_trace);
    tcase_add_test(c, test_a_child_by_fork_does_not_hold_the_lock);
    tcase_add_test(c, test_a_child_by_fork_leaves_the_folder_to_its_parent);
    tcase_add_test(c, test_folders_are_made_and_taken_back_where_they_are_empty);
    tcase_add_test(c, test_what_is_no_folder_is_named);
    tcase_add_test(c, test_locks_that_come_and_go_never_overlap);
    tcase_add_test(c, test_names_in_a_folder);
    tcase_add_test(c, test_files_of_others_stay);
    tcase_add_test(c, test_a_file_that_another_user_has_left_is_locked);
    tcase_add_loop_test(c, test_locks_end_in_any_order, 0, 4);
    tcase_add_test(c, test_a_relative_folder_is_found_when_the_program_works_in_another);
    tcase_add_test(c, test_a_working_folder_that_is_gone_is_named);
    tcase_add_test(c, test_a_name_that_cannot_be_flushed_is_told_as_such);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
