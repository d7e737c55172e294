/* Checks the CPU quota that is read from control groups, in folders that look like a system's. */
#include "suite.h"

#include "base/threads/cgroup.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

/* Runs a command of the shell, which succeeds. */
static void shell(const char *format, ...)
{
    char command[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    ck_assert(length > 0 && length < (int)sizeof command);
    ck_assert_int_eq(system(command), 0);
}

static void set_up(void)
{
    snprintf(root, sizeof root, "/tmp/shiftvit-cgroup-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    shell("mkdir -p %s/proc/self", root);
}

static void tear_down(void)
{
    shell("rm -rf %s", root);
}

/* Writes `text` to a file of the system and makes its folders. */
static void put(const char *path, const char *text)
{
    char name[512];
    shell("mkdir -p \"$(dirname '%s%s')\"", root, path);
    snprintf(name, sizeof name, "%s%s", root, path);
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(test_no_groups_are_no_quota)
{
    ck_assert_uint_eq(sv_cgroup_cores(root), 0);
    put("/proc/self/cgroup", "");
    ck_assert_uint_eq(sv_cgroup_cores(root), 0);
    put("/proc/self/cgroup", "0::/\n");
    ck_assert_uint_eq(sv_cgroup_cores(root), 0);
}
END_TEST

/* What a version 2 group's cpu.max has, and the cores that it allows. */
static const struct {
    const char *text;
    uint32_t cores;
} QUOTAS[] = {
    {"max 100000\n", 0},
    {"200000 100000\n", 2},
    {"150000 100000\n", 2},
    {"1000 100000\n", 1},
    {"100000", 0},
    {"", 0},
    {"-1 100000\n", 0},
    {"100000 0\n", 0},
    {"words\n", 0},
    {"9223372036854775807 1\n", UINT32_MAX},
    {"200000 9223372036854775808\n", 0},
    {"9223372036854775808 1\n", 0},
};

/* How many of the lowest descriptors are open. */
static int count_open(void)
{
    int count = 0;
    for (int descriptor = 0; descriptor < 256; descriptor++)
        count += fcntl(descriptor, F_GETFD) != -1;
    return count;
}

START_TEST(test_version_2_is_rounded_up)
{
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpu.max", QUOTAS[_i].text);
    const int before = count_open();
    ck_assert_uint_eq(sv_cgroup_cores(root), QUOTAS[_i].cores);
    ck_assert_int_eq(count_open(), before);
}
END_TEST

START_TEST(test_the_smallest_quota_of_the_parents_counts)
{
    put("/proc/self/cgroup", "0::/machine/guest/job\n");
    put("/sys/fs/cgroup/machine/guest/job/cpu.max", "800000 100000\n");
    ck_assert_uint_eq(sv_cgroup_cores(root), 8);
    put("/sys/fs/cgroup/machine/guest/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/machine/cpu.max", "300000 100000\n");
    ck_assert_uint_eq(sv_cgroup_cores(root), 3);
    put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
    ck_assert_uint_eq(sv_cgroup_cores(root), 1);
    /* A file above the groups is none of theirs. */
    put("/sys/fs/cgroup/cpu.max", "max 100000\n");
    put("/sys/fs/cpu.max", "100000 100000\n");
    ck_assert_uint_eq(sv_cgroup_cores(root), 3);
}
END_TEST

START_TEST(test_version_1_has_two_files)
{
    put("/proc/self/cgroup", "5:cpuset:/\n4:cpu,cpuacct:/docker/1\n3:memory:/docker/1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "250000\n");
    ck_assert_uint_eq(sv_cgroup_cores(root), 0);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_period_us", "50000\n");
    ck_assert_uint_eq(sv_cgroup_cores(root), 5);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "-1\n");
    ck_assert_uint_eq(sv_cgroup_cores(root), 0);
    /* In a container: the group's path is the host's, and the container's own group is mounted. */
    put("/proc/self/cgroup", "1:cpu:/docker/elsewhere");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    ck_assert_uint_eq(sv_cgroup_cores(root), 4);
}
END_TEST

START_TEST(test_other_controllers_do_not_count)
{
    put("/proc/self/cgroup", "2:cpuset,cpuacct:/a\n1:name=cpu:/a\nno colons\n:\n0:\n");
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "100000\n");
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    ck_assert_uint_eq(sv_cgroup_cores(root), 0);
}
END_TEST

START_TEST(test_text_that_is_too_long_is_no_quota)
{
    static char text[5000];
    memset(text, '/', sizeof text - 1);
    memcpy(text, "0::", 3);
    put("/proc/self/cgroup", text);
    put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
    ck_assert_uint_eq(sv_cgroup_cores(root), 0);
    /* A path that just fits the file, but not with the mount and the name after it. */
    text[2040] = '\0';
    put("/proc/self/cgroup", text);
    ck_assert_uint_eq(sv_cgroup_cores(root), 0);
}
END_TEST

/* As of a pod of Kubernetes, whose group has a long name under each controller. A line that does
 * not fit, and the end of a file without a newline, cost no other line. */
START_TEST(test_a_file_of_any_length_is_read)
{
    static char text[20000];
    char name[181];
    size_t length = 0;
    memset(name, 'p', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int line = 13; line > 1; line--)
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "%d:pids:/%s\n", line, name);
    length += (size_t)snprintf(text + length, sizeof text - length, "1:pids:/");
    memset(text + length, 'x', 3000);
    snprintf(text + length + 3000, sizeof text - length - 3000, "\n0:cpu,cpuacct:/%s%s", name,
             _i ? "\n" : "");
    put("/proc/self/cgroup", text);
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    ck_assert_uint_eq(sv_cgroup_cores(root), 2);
}
END_TEST

/* What a group, its parent and the top of version 1 say, and the smallest quota of them. */
static const struct {
    const char *own, *parent, *top;
    uint32_t cores;
} NESTED[] = {
    {"100000", "300000", "800000", 1},
    {"800000", "300000", "100000", 1},
    {"300000", "100000", "800000", 1},
    {"200000", "200000", "200000", 2},
    {"300000", "-1", "500000", 3},
    {"-1", "words", "500000", 5},
    {"words", "", "-", 0},
    {"-1", "-1", "-1", 0},
};

START_TEST(test_the_smallest_quota_counts_wherever_it_is)
{
    put("/proc/self/cgroup", "3:abc,mem:/other\n2:mem,cpu:/a/b\n");
    put("/sys/fs/cgroup/cpu/other/cpu.cfs_quota_us", "100000"); /* not of a CPU controller */
    put("/sys/fs/cgroup/cpu/other/cpu.cfs_period_us", "100000");
    put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", NESTED[_i].own);
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", NESTED[_i].parent);
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", NESTED[_i].top);
    put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000");
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
    ck_assert_uint_eq(sv_cgroup_cores(root), NESTED[_i].cores);
}
END_TEST

static Suite *cgroup_suite(void)
{
    Suite *suite = suite_create("cgroup");
    TCase *all = tcase_create("cgroup");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, test_no_groups_are_no_quota);
    tcase_add_loop_test(all, test_version_2_is_rounded_up, 0, sizeof QUOTAS / sizeof *QUOTAS);
    tcase_add_test(all, test_the_smallest_quota_of_the_parents_counts);
    tcase_add_test(all, test_version_1_has_two_files);
    tcase_add_test(all, test_other_controllers_do_not_count);
    tcase_add_test(all, test_text_that_is_too_long_is_no_quota);
    tcase_add_loop_test(all, test_a_file_of_any_length_is_read, 0, 2);
    tcase_add_loop_test(all, test_the_smallest_quota_counts_wherever_it_is, 0,
                        (int)(sizeof NESTED / sizeof *NESTED));
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(cgroup_suite)
