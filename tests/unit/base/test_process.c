/* Checks that a process is known from those that it descends from. */
#include "suite.h"

#include "base/threads/thread.h"

#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* What `body` returns in a child of its own. */
static int in_child(int (*body)(void))
{
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(body());
    int state;
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    ck_assert(WIFEXITED(state));
    return WEXITSTATUS(state);
}

static int64_t parent; /* or the parent's parent */

static int has_own_id(void)
{
    const int64_t own = sv_process_id();
    return (pid_t)(uint32_t)own == getpid() && own != parent;
}

#ifdef CLONE_NEWPID
enum { NO_NAMESPACE = 2 };

/* A child in a new PID namespace, whose first process has the number 1. */
static int in_namespace(void)
{
    return unshare(CLONE_NEWPID) == 0 ? in_child(has_own_id) : NO_NAMESPACE;
}

static int begin_child_again(void)
{
    parent = sv_process_id();
    return in_namespace();
}

static int begin_grandchild_again(void)
{
    parent = sv_process_id();
    return in_child(in_namespace);
}

static int begin_child(void)
{
    return unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0 ? in_child(begin_child_again) : NO_NAMESPACE;
}

static int begin_grandchild(void)
{
    return unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0 ? in_child(begin_grandchild_again)
                                                      : NO_NAMESPACE;
}
#endif

/* A number may be that of a process before in another PID namespace. */
START_TEST(test_a_child_has_an_id_of_its_own)
{
    parent = sv_process_id();
    ck_assert_int_eq((pid_t)(uint32_t)parent, getpid());
    ck_assert_int_eq(in_child(has_own_id), 1);
    ck_assert_int_eq(sv_process_id(), parent);
#ifdef CLONE_NEWPID
    const int child = in_child(begin_child), grandchild = in_child(begin_grandchild);
    if (child == NO_NAMESPACE || grandchild == NO_NAMESPACE) {
        printf("skipped check: no PID namespaces\n");
    } else {
        ck_assert_int_eq(child, 1);
        ck_assert_int_eq(grandchild, 1);
    }
#endif
}
END_TEST

static Suite *process_suite(void)
{
    Suite *suite = suite_create("process");
    TCase *all = tcase_create("process");
    tcase_add_test(all, test_a_child_has_an_id_of_its_own);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(process_suite)
