/* Checks which CPUs the library sees and in which order workers are pinned to them, on machines
 * that sched_getaffinity and a folder of the system's files make up, and that workers are where
 * they were pinned on this one. */
#include "fit.h"

#include "base/threads/affinity.h"
#include "base/threads/cgroup.h"
#include "base/threads/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>

enum { MOST = 4096 };

/* The machine: the number of CPUs that it can have, a multiple of 64, and those of the mask. 0:
 * this machine. */
static struct {
    size_t possible;
    bool allowed[MOST];
} machine;

static int refused_pins; /* an errno value: pthread_setaffinity_np fails with it */

int __real_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *mask);
int __wrap_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *mask);
int __real_pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *mask);
int __wrap_pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *mask);

/* As Linux does, it refuses a mask that is too small for the machine. */
int __wrap_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *mask)
{
    if (machine.possible == 0)
        return __real_sched_getaffinity(process, bytes, mask);
    if (bytes < machine.possible / 8) {
        errno = EINVAL;
        return -1;
    }
    memset(mask, 0, bytes);
    for (size_t i = 0; i < machine.possible; i++)
        if (machine.allowed[i])
            CPU_SET_S(i, bytes, mask);
    return 0;
}

int __wrap_pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *mask)
{
    return refused_pins ? refused_pins : __real_pthread_setaffinity_np(thread, bytes, mask);
}

/* Makes a machine up whose mask has `count` CPUs from `first` on, `step` apart. */
static void make_machine(size_t possible, size_t first, size_t count, size_t step)
{
    memset(&machine, 0, sizeof machine);
    machine.possible = possible;
    for (size_t i = 0; i < count; i++)
        machine.allowed[first + i * step] = true;
}

static const struct {
    size_t possible, first, count, step;
} MACHINES[] = {
    {64, 0, 1, 1},        {64, 0, 64, 1},     {128, 63, 65, 1},
    {1024, 0, 1024, 1},   {1088, 0, 1025, 1}, {2048, 0, 2048, 1},
    {2048, 1024, 512, 2}, {4096, 4095, 1, 1}, {4096, 0, 4096, 1},
};
enum { MACHINE_COUNT = sizeof MACHINES / sizeof *MACHINES };

START_TEST(test_every_cpu_of_the_mask_is_counted)
{
    make_machine(MACHINES[_i].possible, MACHINES[_i].first, MACHINES[_i].count, MACHINES[_i].step);
    const uint32_t quota = sv_cgroup_cores("");
    const uint32_t count = (uint32_t)MACHINES[_i].count;
    ck_assert_uint_eq(sv_affinity_cores(), quota > 0 && quota < count ? quota : count);
}
END_TEST

START_TEST(test_a_context_takes_every_core_of_a_large_machine_up_to_the_bound)
{
    make_machine(MACHINES[_i].possible, MACHINES[_i].first, MACHINES[_i].count, MACHINES[_i].step);
    uint32_t expected = sv_affinity_cores();
    expected = expected < SV_MAX_THREADS ? expected : SV_MAX_THREADS;
    if (expected > BY_SIZE(128, SV_MAX_THREADS)) {
        skip_check("the stacks of so many threads do not fit the addresses of 32 bits");
        return;
    }
    svit_context *context = fit_context(0);
    ck_assert_uint_eq(svit_context_threads(context), expected);
    svit_context_free(context);
}
END_TEST

/* A folder with the siblings of CPUs. */
typedef struct topology {
    char root[32];
    size_t count;
} topology;

static void run_shell(const char *format, const char *root)
{
    char command[256];
    snprintf(command, sizeof command, format, root);
    ck_assert_int_eq(system(command), 0);
}

static topology open_topology(void)
{
    topology self = {.root = "/tmp/shiftvit-cpus-XXXXXX"};
    ck_assert_ptr_nonnull(mkdtemp(self.root));
    return self;
}

static void put_siblings(const topology *self, size_t cpu, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "mkdir -p %s/sys/devices/system/cpu/cpu%zu/topology", self->root,
             cpu);
    ck_assert_int_eq(system(path), 0);
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%zu/topology/thread_siblings_list",
             self->root, cpu);
    fit_write(path, text, strlen(text));
}

static void close_topology(const topology *self)
{
    run_shell("rm -rf %s", self->root);
}

/* Siblings of eight CPUs, the allowed ones, and the order in which workers get them. */
static const struct {
    const char *siblings[8];
    const char *allowed;
    uint32_t order[8];
} ORDERS[] = {
    /* Both usual ways to number hyperthreads, and a CPU without any. */
    {{"0,4\n", "1,5\n", "2,6\n", "3,7\n", "0,4\n", "1,5\n", "2,6\n", "3,7\n"},
     "11111111",
     {0, 1, 2, 3, 4, 5, 6, 7}},
    {{"0-1\n", "0-1\n", "2-3\n", "2-3\n", "4-5\n", "4-5\n", "6-7\n", "6-7\n"},
     "11111111",
     {0, 2, 4, 6, 1, 3, 5, 7}},
    {{"0\n", "1\n", "2\n", "3\n", "4\n", "5\n", "6\n", "7\n"},
     "11111111",
     {0, 1, 2, 3, 4, 5, 6, 7}},
    /* Four hyperthreads a core, and two cores of two among single ones. */
    {{"0-3\n", "0-3\n", "0-3\n", "0-3\n", "4-7\n", "4-7\n", "4-7\n", "4-7\n"},
     "11111111",
     {0, 4, 1, 5, 2, 6, 3, 7}},
    {{"0-1\n", "0-1\n", "2-3\n", "2-3\n", "4\n", "5\n", "6\n", "7\n"},
     "11111111",
     {0, 2, 4, 5, 6, 7, 1, 3}},
    {{"0,2,4-5\n", "1\n", "0,2,4-5\n", "3\n", "0,2,4-5\n", "0,2,4-5\n", "6\n", "7\n"},
     "11111111",
     {0, 1, 3, 6, 7, 2, 4, 5}},
    /* A sibling outside the mask does not count. */
    {{"0-1\n", "0-1\n", "2-3\n", "2-3\n", "4-5\n", "4-5\n", "6-7\n", "6-7\n"},
     "01011010",
     {1, 3, 4, 6}},
    {{"0-1\n", "0-1\n", "2-3\n", "2-3\n", "4-5\n", "4-5\n", "6-7\n", "6-7\n"},
     "01110011",
     {1, 2, 6, 3, 7}},
    {{"0-3\n", "0-3\n", "0-3\n", "0-3\n", "4-7\n", "4-7\n", "4-7\n", "4-7\n"},
     "01110110",
     {1, 5, 2, 6, 3}},
    /* What cannot be read or understood is a core of its own. */
    {{NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}, "11111111", {0, 1, 2, 3, 4, 5, 6, 7}},
    {{NULL, "0-1", NULL, "2-3", "", "\n", "-", ","}, "11111111", {0, 2, 4, 5, 6, 7, 1, 3}},
    {{"7-", "x", "5-1", "18446744073709551616-0", "9-99999999999", "4294967295", ",,", "0-"},
     "11111111",
     {0, 1, 2, 3, 4, 5, 6, 7}},
    {{"0-99999999999999999999", "0-99999999999999999999", "0,1,2,x", "5", "6", "7", "7", "7"},
     "11111111",
     {0, 3, 4, 5, 6, 7, 1, 2}},
};
enum { ORDER_COUNT = sizeof ORDERS / sizeof *ORDERS };

START_TEST(test_workers_get_one_cpu_of_each_core_first)
{
    topology made = open_topology();
    make_machine(64, 0, 0, 1);
    size_t allowed = 0;
    for (size_t i = 0; i < 8; i++) {
        machine.allowed[i] = ORDERS[_i].allowed[i] == '1';
        allowed += machine.allowed[i];
        if (ORDERS[_i].siblings[i])
            put_siblings(&made, i, ORDERS[_i].siblings[i]);
    }
    for (uint32_t capacity = 0; capacity <= 9; capacity++) {
        uint32_t cpus[10] = {0};
        const uint32_t expected = capacity < allowed ? capacity : (uint32_t)allowed;
        ck_assert_uint_eq(sv_affinity_order(made.root, cpus, capacity), expected);
        ck_assert_mem_eq(cpus, ORDERS[_i].order, expected * sizeof *cpus);
    }
    close_topology(&made);
}
END_TEST

START_TEST(test_the_order_of_a_large_machine_has_every_cpu_once)
{
    static uint32_t cpus[MOST];
    static bool found[MOST];
    make_machine(MACHINES[_i].possible, MACHINES[_i].first, MACHINES[_i].count, MACHINES[_i].step);
    memset(found, 0, sizeof found);
    ck_assert_uint_eq(sv_affinity_order("/nowhere", cpus, MOST), MACHINES[_i].count);
    for (size_t i = 0; i < MACHINES[_i].count; i++) {
        ck_assert(machine.allowed[cpus[i]] && !found[cpus[i]]);
        found[cpus[i]] = true;
    }
}
END_TEST

/* What workers see of their affinity in tasks of which each runs one. */
typedef struct sight {
    uint32_t threads;
    atomic_uint arrived;
    cpu_set_t masks[64];
} sight;

static void look(void *argument, size_t task, uint32_t worker)
{
    sight *self = argument;
    (void)task;
    atomic_fetch_add(&self->arrived, 1);
    while (atomic_load(&self->arrived) < self->threads)
        sched_yield();
    ck_assert_int_eq(sched_getaffinity(0, sizeof *self->masks, &self->masks[worker]), 0);
}

static svit_context *open_context(uint32_t threads, int32_t pin, svit_log_function log, void *user)
{
    svit_context_config config;
    svit_context *context = NULL;
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = threads;
    config.pin = pin;
    config.log = log;
    config.log_user = user;
    WORKS(svit_context_create(&context, &config, err));
    return context;
}

static void keep_message(void *user, int32_t level, const char *message)
{
    ck_assert_int_eq(level, SVIT_LOG_WARNING);
    snprintf(user, 256, "%s", message);
}

static void check_description(const svit_context *context, const char *part)
{
    char text[1024];
    WORKS(svit_context_describe(context, text, sizeof text, NULL, err));
    ck_assert_msg(strstr(text, part) != NULL, "'%s' is not in %s", part, text);
}

static sv_pool *open_pool(uint32_t threads)
{
    const sv_allocator allocator = sv_allocator_default();
    sv_pool *pool = NULL;
    WORKS(sv_pool_create(&pool, &allocator, threads, (sv_host_pool){NULL, NULL}, err));
    return pool;
}

static void close_pool(sv_pool *pool)
{
    const sv_allocator allocator = sv_allocator_default();
    sv_pool_free(&allocator, pool);
}

static const uint32_t THREADS[] = {1, 2, 3, 64};
enum { THREAD_COUNTS = sizeof THREADS / sizeof *THREADS };

START_TEST(test_workers_run_where_they_are_pinned)
{
    static sight seen;
    uint32_t cpus[64];
    cpu_set_t before, after;
    machine.possible = 0;
    seen = (sight){.threads = THREADS[_i]};
    sv_pool *pool = open_pool(seen.threads);
    ck_assert_int_eq(sched_getaffinity(0, sizeof before, &before), 0);
    const uint32_t count = sv_affinity_order("", cpus, seen.threads);
    ck_assert_uint_gt(count, 0);
    if (sv_pool_pin(pool) != 0) {
        skip_check("this system does not let a process pin its threads");
        close_pool(pool);
        return;
    }
    sv_pool_run(pool, look, &seen, seen.threads);
    ck_assert_uint_eq(sv_pool_pinned(pool), seen.threads - 1);
    close_pool(pool);
    ck_assert_int_eq(sched_getaffinity(0, sizeof after, &after), 0);
    ck_assert(CPU_EQUAL(&before, &after) && CPU_EQUAL(&before, &seen.masks[0]));
    for (uint32_t i = 1; i < seen.threads; i++) {
        ck_assert_int_eq(CPU_COUNT(&seen.masks[i]), 1);
        ck_assert(CPU_ISSET(cpus[i % count], &seen.masks[i]));
    }
}
END_TEST

START_TEST(test_workers_that_are_not_pinned_have_the_mask_of_the_process)
{
    static sight seen;
    cpu_set_t own;
    machine.possible = 0;
    seen = (sight){.threads = THREADS[_i]};
    sv_pool *pool = open_pool(seen.threads);
    ck_assert_int_eq(sched_getaffinity(0, sizeof own, &own), 0);
    sv_pool_run(pool, look, &seen, seen.threads);
    ck_assert_uint_eq(sv_pool_pinned(pool), 0);
    close_pool(pool);
    for (uint32_t i = 0; i < seen.threads; i++)
        ck_assert(CPU_EQUAL(&own, &seen.masks[i]));
}
END_TEST

START_TEST(test_a_context_tells_how_many_workers_are_pinned)
{
    char message[256] = "", part[32];
    machine.possible = 0;
    refused_pins = 0;
    const uint32_t threads = THREADS[_i];
    svit_context *context = open_context(threads, 0, keep_message, message);
    check_description(context, "\"pinned\":0");
    svit_context_free(context);
    context = open_context(threads, 1, keep_message, message);
    if (*message)
        skip_check("this system does not let a process pin its threads");
    snprintf(part, sizeof part, "\"pinned\":%u", *message ? 0 : threads - 1);
    check_description(context, part);
    svit_context_free(context);
}
END_TEST

/* The errno values are those of a forbidden call and of a CPU that the system has taken away. */
START_TEST(test_a_context_that_may_not_pin_warns_and_works)
{
    static const int CODES[] = {EPERM, EINVAL, ENOSYS};
    char message[256] = "";
    machine.possible = 0;
    refused_pins = CODES[_i];
    svit_context *context = open_context(5, 1, keep_message, message);
    refused_pins = 0;
    ck_assert_msg(strstr(message, "4 of 4 workers could not be pinned") != NULL, "%s", message);
    ck_assert_ptr_nonnull(strstr(message, strerror(CODES[_i])));
    check_description(context, "\"threads\":5,\"pinned\":0");
    svit_model *model = fit_model(context, 10, 1);
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

/* A machine of more CPUs than the library knows, whose mask the system does not give, and one whose
 * mask is empty. */
START_TEST(test_a_mask_that_is_not_known_is_one_core)
{
    uint32_t cpus[4];
    char message[256] = "";
    make_machine(2 * SV_CPUS, 0, 1, 1);
    ck_assert_uint_eq(sv_affinity_cores(), 1);
    ck_assert_uint_eq(sv_affinity_order("", cpus, 4), 0);
    svit_context *context = open_context(3, 1, keep_message, message);
    ck_assert_msg(strstr(message, "2 of 2 workers could not be pinned") != NULL, "%s", message);
    ck_assert_ptr_nonnull(strstr(message, strerror(EINVAL)));
    svit_context_free(context);
    make_machine(64, 0, 0, 1);
    ck_assert_uint_eq(sv_affinity_cores(), 1);
    ck_assert_uint_eq(sv_affinity_order("", cpus, 4), 0);
}
END_TEST

/* What is no list of siblings is no sibling: then CPUs are taken in their order. */
START_TEST(test_what_is_no_list_of_siblings_changes_no_order)
{
    static const char *const texts[] = {"", "x", ",", "-", "0", "0,", "1;0", "9-3", "4294967295-5"};
    uint32_t cpus[4] = {0};
    char long_root[600];
    make_machine(64, 3, 4, 1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        topology made = open_topology();
        for (size_t cpu = 3; cpu < 7; cpu++)
            put_siblings(&made, cpu, texts[i]);
        ck_assert_uint_eq(sv_affinity_order(made.root, cpus, 4), 4);
        for (uint32_t k = 0; k < 4; k++)
            ck_assert_msg(cpus[k] == 3 + k, "'%s': CPU %u is at %u", texts[i], cpus[k], k);
        ck_assert_uint_eq(sv_affinity_order(made.root, cpus, 2), 2);
        close_topology(&made);
    }
    memset(long_root, 'r', sizeof long_root - 1);
    long_root[sizeof long_root - 1] = '\0';
    ck_assert_uint_eq(sv_affinity_order(long_root, cpus, 4), 4);
    ck_assert_uint_eq(cpus[3], 6);
}
END_TEST

static Suite *affinity_suite(void)
{
    Suite *suite = suite_create("affinity");
    TCase *all = tcase_create("affinity");
    tcase_add_loop_test(all, test_every_cpu_of_the_mask_is_counted, 0, MACHINE_COUNT);
    tcase_add_loop_test(all, test_a_context_takes_every_core_of_a_large_machine_up_to_the_bound, 0,
                        MACHINE_COUNT);
    tcase_add_loop_test(all, test_workers_get_one_cpu_of_each_core_first, 0, ORDER_COUNT);
    tcase_add_loop_test(all, test_the_order_of_a_large_machine_has_every_cpu_once, 0,
                        MACHINE_COUNT);
    tcase_add_loop_test(all, test_workers_run_where_they_are_pinned, 0, THREAD_COUNTS);
    tcase_add_loop_test(all, test_workers_that_are_not_pinned_have_the_mask_of_the_process, 0,
                        THREAD_COUNTS);
    tcase_add_loop_test(all, test_a_context_tells_how_many_workers_are_pinned, 0, THREAD_COUNTS);
    tcase_add_loop_test(all, test_a_context_that_may_not_pin_warns_and_works, 0, 3);
    tcase_add_test(all, test_a_mask_that_is_not_known_is_one_core);
    tcase_add_test(all, test_what_is_no_list_of_siblings_changes_no_order);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(affinity_suite)
