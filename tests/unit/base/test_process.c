/* Checks that a process is known from its parent. */
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

static int64_t parent;

static int has_own_id(void)
{
    const int64_t own = sv_process_id();
    return (pid_t)(uint32_t)own == getpid() && own != parent;
}

#ifdef CLONE_NEWPID
enum { NO_NAMESPACE = 2 };

/* In a new PID namespace, whose first process has the number 1. */
static int begin_again(void)
{
    parent = sv_process_id();
    return unshare(CLONE_NEWPID) == 0 ? in_child(has_own_id) : NO_NAMESPACE;
}

static int begin_namespaces(void)
{
    return unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0 ? in_child(begin_again) : NO_NAMESPACE;
}
#endif

/* A child's number may be its parent's in another PID namespace. */
START_TEST(test_a_child_has_an_id_of_its_own)
{
    parent = sv_process_id();
    ck_assert_int_eq((pid_t)(uint32_t)parent, getpid());
    ck_assert_int_eq(in_child(has_own_id), 1);
    ck_assert_int_eq(sv_process_id(), parent);
#ifdef CLONE_NEWPID
    const int found = in_child(begin_namespaces);
    if (found == NO_NAMESPACE)
        printf("skipped check: no PID namespaces\n");
    else
        ck_assert_int_eq(found, 1);
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
