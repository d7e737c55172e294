/* Checks that the worker pool runs every task once, for any number of workers and callers. */
#include "hosts.h"
#include "suite.h"

#include "base/threads/fp_env.h"
#include "base/threads/pool.h"
#include "base/threads/thread.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TASKS = 1000, ROUNDS = 200 };

static void count_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    atomic_uint *counts = argument;
    atomic_fetch_add(&counts[task], 1);
}

static sv_pool *open_host_pool(uint32_t threads, svit_parallel_for_function parallel_for)
{
    sv_allocator allocator = sv_allocator_default();
    sv_pool *pool = NULL;
    const sv_host_pool host = {parallel_for, NULL};
    ck_assert_int_eq(sv_pool_create(&pool, &allocator, threads, host, NULL), SVIT_OK);
    ck_assert_uint_eq(sv_pool_threads(pool), threads);
    return pool;
}

static sv_pool *open_pool(uint32_t threads)
{
    return open_host_pool(threads, NULL);
}

/* Before every test: workers wait as they do in programs, whatever tests/run.sh sets. */
static void wait_as_programs_do(void)
{
    unsetenv("SHIFTVIT_TEST_SPIN");
}

static void close_pool(sv_pool *pool)
{
    sv_allocator allocator = sv_allocator_default();
    sv_pool_free(&allocator, pool);
}

static const uint32_t THREADS[] = {1, 2, 3, 8, 64, 65, 128, 256};
enum { THREAD_COUNTS = sizeof THREADS / sizeof *THREADS };

/* Threads far beyond the cores of the machine take long to meet. */
static size_t rounds_on(size_t threads)
{
    return threads > 8 ? ROUNDS / 8 : ROUNDS;
}

/* Rounds of few tasks, of about as many as there are threads, and of many take turns. */
static void check_that_every_task_runs_once(sv_pool *pool)
{
    static atomic_uint counts[TASKS];
    size_t expected[TASKS] = {0};
    const size_t threads = sv_pool_threads(pool);
    for (size_t i = 0; i < TASKS; i++)
        atomic_store(&counts[i], 0);
    for (size_t round = 0; round < rounds_on(threads); round++) {
        const size_t sizes[] = {TASKS, round % 7, threads - 1, 2, threads, 0, threads + 1};
        const size_t count = sizes[round % (sizeof sizes / sizeof *sizes)];
        sv_pool_run(pool, count_task, counts, count);
        for (size_t i = 0; i < count; i++)
            expected[i]++;
    }
    close_pool(pool);
    for (size_t i = 0; i < TASKS; i++)
        ck_assert_uint_eq(atomic_load(&counts[i]), expected[i]);
}

START_TEST(test_every_task_runs_once)
{
    check_that_every_task_runs_once(open_pool(THREADS[_i]));
}
END_TEST

/* What tests may set, and what is as if nothing were set. */
static const char *const SPINS[] = {"0", "1", "100", "5000", "99999999999999999999", "-1", "", "x"};
enum { SPIN_COUNT = sizeof SPINS / sizeof *SPINS };

START_TEST(test_every_task_runs_once_with_any_number_of_polls)
{
    ck_assert_int_eq(setenv("SHIFTVIT_TEST_SPIN", SPINS[_i], 1), 0);
    check_that_every_task_runs_once(open_pool(3));
}
END_TEST

START_TEST(test_a_host_runs_every_task_once)
{
    check_that_every_task_runs_once(
        open_host_pool(THREADS[_i / HOST_COUNT], HOSTS[_i % HOST_COUNT]));
}
END_TEST

/* What a thread reads of its environment, without the flags of exceptions, which arithmetic
 * sets. */
static sv_fp_env environment(void)
{
    return sv_fp_env_read() & ~(sv_fp_env)SV_FP_ENV_FLAGS;
}

/* Read back, not taken from the constant: valgrind's processor knows no flushing to zero. */
static sv_fp_env environment_of_the_library(void)
{
    sv_fp_env before = sv_fp_env_begin();
    sv_fp_env inside = environment();
    sv_fp_env_end(before);
    return inside;
}

static void check_environment(void *argument, size_t task, uint32_t worker)
{
    (void)task, (void)worker;
    ck_assert_uint_eq(environment(), *(const sv_fp_env *)argument);
}

START_TEST(test_a_host_runs_tasks_in_the_environment_of_the_library)
{
    sv_fp_env before = environment();
    sv_fp_env inside = environment_of_the_library();
    sv_pool *pool = open_host_pool(3, host_in_order);
    sv_pool_run(pool, check_environment, &inside, 20);
    sv_pool_run_locked(pool, check_environment, &inside, 20);
    close_pool(pool);
    ck_assert_uint_eq(environment(), before);
}
END_TEST

/* How many tasks a worker runs at the same time, and the most that it ever ran. */
typedef struct overlap {
    atomic_int running[8];
    atomic_int most;
} overlap;

static void count_overlaps(void *argument, size_t task, uint32_t worker)
{
    (void)task;
    overlap *self = argument;
    int running = atomic_fetch_add(&self->running[worker], 1) + 1;
    if (running > atomic_load(&self->most))
        atomic_store(&self->most, running);
    for (volatile int i = 0; i < 20000; i++)
        ;
    atomic_fetch_sub(&self->running[worker], 1);
}

START_TEST(test_no_two_tasks_of_a_worker_overlap)
{
    static overlap self;
    sv_pool *pool = open_host_pool(8, HOSTS[_i]);
    for (size_t round = 0; round < 20; round++)
        sv_pool_run(pool, count_overlaps, &self, 100);
    close_pool(pool);
    ck_assert_int_eq(atomic_load(&self.most), 1);
}
END_TEST

START_TEST(test_a_caller_with_a_lock_does_without_the_host)
{
    static atomic_uint counts[TASKS];
    sv_pool *pool = open_host_pool(3, host_in_order);
    unsigned before = atomic_load(&host_calls);
    sv_pool_run_locked(pool, count_task, counts, TASKS);
    close_pool(pool);
    ck_assert_uint_eq(atomic_load(&host_calls), before);
    for (size_t i = 0; i < TASKS; i++)
        ck_assert_uint_eq(atomic_load(&counts[i]), 1);
}
END_TEST

/* A round in each task of a round. */
typedef struct nested {
    sv_pool *pool;
    void (*run)(sv_pool *pool, sv_task task, void *argument, size_t count);
    atomic_uint counts[20];
} nested;

static void run_nested(void *argument, size_t task, uint32_t worker)
{
    (void)task, (void)worker;
    nested *self = argument;
    self->run(self->pool, count_task, self->counts, 20);
}

static void check_that_tasks_begin_rounds(sv_pool *pool)
{
    static nested self;
    for (int locked = 0; locked < 2; locked++) {
        self = (nested){.pool = pool, .run = locked ? sv_pool_run_locked : sv_pool_run};
        sv_pool_run(pool, run_nested, &self, 30);
        for (size_t i = 0; i < 20; i++)
            ck_assert_uint_eq(atomic_load(&self.counts[i]), 30);
    }
    close_pool(pool);
}

START_TEST(test_tasks_begin_rounds)
{
    check_that_tasks_begin_rounds(open_pool(THREADS[_i]));
}
END_TEST

START_TEST(test_tasks_of_a_host_begin_rounds)
{
    check_that_tasks_begin_rounds(open_host_pool(3, HOSTS[_i]));
}
END_TEST

static void run_while_the_pool_is_taken(void *argument)
{
    nested *self = argument;
    sv_pool_run_locked(self->pool, count_task, self->counts, 20);
}

/* Runs a round on another thread, and waits for its end. */
static void wait_for_another(void *argument, size_t task, uint32_t worker)
{
    (void)task, (void)worker;
    sv_allocator allocator = sv_allocator_default();
    sv_thread *thread;
    ck_assert_int_eq(sv_thread_start(&thread, &allocator, run_while_the_pool_is_taken, argument),
                     0);
    sv_thread_join(&allocator, thread);
}

/* A task may wait for the lock that the caller holds. */
START_TEST(test_a_caller_with_a_lock_does_not_wait_for_a_round)
{
    static nested self;
    self.pool = open_pool(2);
    sv_pool_run(self.pool, wait_for_another, &self, 3);
    close_pool(self.pool);
    for (size_t i = 0; i < 20; i++)
        ck_assert_uint_eq(atomic_load(&self.counts[i]), 3);
}
END_TEST

typedef struct caller {
    sv_pool *pool;
    atomic_uint counts[64];
} caller;

static void call_many(void *argument)
{
    caller *self = argument;
    for (size_t round = 0; round < ROUNDS; round++)
        sv_pool_run(self->pool, count_task, self->counts, 64);
}

START_TEST(test_callers_on_several_threads_take_turns)
{
    static caller callers[3];
    sv_allocator allocator = sv_allocator_default();
    sv_pool *pool = open_pool(2);
    sv_thread *threads[3];
    for (size_t i = 0; i < 3; i++) {
        callers[i].pool = pool;
        for (size_t j = 0; j < 64; j++)
            atomic_store(&callers[i].counts[j], 0);
        ck_assert_int_eq(sv_thread_start(&threads[i], &allocator, call_many, &callers[i]), 0);
    }
    for (size_t i = 0; i < 3; i++)
        sv_thread_join(&allocator, threads[i]);
    close_pool(pool);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 64; j++)
            ck_assert_uint_eq(atomic_load(&callers[i].counts[j]), ROUNDS);
}
END_TEST

#ifdef __GLIBC__
/* Writes to much of the stack that the library's threads have; the C library takes some of it for
 * the variables of threads. */
static void use_stack(void *argument, size_t task, uint32_t worker)
{
    volatile char deep[200 << 10];
    for (size_t i = 0; i < sizeof deep; i += 1024)
        deep[i] = (char)task;
    atomic_fetch_add((atomic_uint *)argument, worker > 0 && deep[1024] == (char)task);
}

/* Programs with many threads make the default small. */
START_TEST(test_workers_have_stack_whatever_the_default_is)
{
    pthread_attr_t attributes, before;
    atomic_uint ran = 0;
    ck_assert_int_eq(pthread_getattr_default_np(&before), 0);
    ck_assert_int_eq(pthread_attr_init(&attributes), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&attributes, 32 << 10), 0);
    ck_assert_int_eq(pthread_setattr_default_np(&attributes), 0);
    sv_pool *pool = open_pool(3);
    while (atomic_load(&ran) == 0)
        sv_pool_run(pool, use_stack, &ran, 1000);
    close_pool(pool);
    ck_assert_int_eq(pthread_setattr_default_np(&before), 0);
    pthread_attr_destroy(&attributes);
    pthread_attr_destroy(&before);
}
END_TEST
#endif

static void worker_task(void *argument, size_t task, uint32_t worker)
{
    (void)task;
    atomic_uint *most = argument;
    unsigned seen = atomic_load(most);
    while (worker > seen && !atomic_compare_exchange_weak(most, &seen, worker))
        ;
}

/* With fewer tasks than threads, workers that get none have no part in them. */
START_TEST(test_worker_numbers_are_below_the_thread_count_and_that_of_the_tasks)
{
    static const size_t COUNTS[] = {1, 2, 3, 7, 50, 63, 64, 300};
    const uint32_t threads = THREADS[_i];
    sv_pool *pool = open_pool(threads);
    for (size_t i = 0; i < sizeof COUNTS / sizeof *COUNTS; i++) {
        atomic_uint most;
        atomic_init(&most, 0);
        for (size_t round = 0; round < rounds_on(threads); round++)
            sv_pool_run(pool, worker_task, &most, COUNTS[i]);
        ck_assert_uint_lt(atomic_load(&most), threads);
        ck_assert_uint_lt(atomic_load(&most), COUNTS[i]);
    }
    close_pool(pool);
}
END_TEST

enum { CLEARED = 256 << 10 }; /* bytes of a task of sv_pool_clear */

static const size_t CLEARED_BYTES[] = {0, 1, CLEARED - 1, CLEARED, CLEARED + 1, 3 * CLEARED + 7};
enum { CLEARED_COUNT = sizeof CLEARED_BYTES / sizeof *CLEARED_BYTES };

/* Clears an array between guards and checks it. Frees the pool. */
static void check_clearing(sv_pool *pool, size_t bytes)
{
    enum { GUARD = 64 };
    unsigned char *memory = malloc(bytes + 2 * GUARD);
    ck_assert_ptr_nonnull(memory);
    memset(memory, 0xA5, bytes + 2 * GUARD);
    sv_pool_clear(pool, memory + GUARD, bytes);
    close_pool(pool);
    for (size_t i = 0; i < bytes + 2 * GUARD; i++)
        if (memory[i] != (i < GUARD || i >= GUARD + bytes ? 0xA5 : 0))
            ck_abort_msg("byte %zu of %zu is %u", i, bytes, memory[i]);
    free(memory);
}

START_TEST(test_an_array_is_cleared_by_parts)
{
    for (size_t i = 0; i < CLEARED_COUNT; i++)
        check_clearing(open_pool(THREADS[_i]), CLEARED_BYTES[i]);
}
END_TEST

START_TEST(test_an_array_is_cleared_on_the_workers)
{
    for (size_t i = 0; i < CLEARED_COUNT; i++) {
        const unsigned before = atomic_load(&host_calls);
        check_clearing(open_host_pool(3, HOSTS[_i]), CLEARED_BYTES[i]);
        ck_assert_uint_eq(atomic_load(&host_calls), before + (CLEARED_BYTES[i] > CLEARED));
    }
}
END_TEST

/* A child by fork has no workers: the array is cleared all the same, and nobody is waited for. */
START_TEST(test_a_child_clears_an_array_alone)
{
    enum { BYTES = 3 * CLEARED };
    static char memory[BYTES];
    sv_pool *pool = open_pool(4);
    memset(memory, 1, BYTES);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        sv_pool_clear(pool, memory, BYTES);
        _exit(memory[0] != 0 || memcmp(memory, memory + 1, BYTES - 1) != 0);
    }
    int state;
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    ck_assert(WIFEXITED(state) && WEXITSTATUS(state) == 0);
    close_pool(pool);
}
END_TEST

typedef struct masks {
    atomic_int seen; /* by how many workers that are threads of the library */
    sigset_t of_worker;
} masks;

static void read_mask(void *argument, size_t task, uint32_t worker)
{
    masks *self = argument;
    (void)task;
    if (worker == 0)
        usleep(1000);
    else if (atomic_exchange(&self->seen, 1) == 0)
        pthread_sigmask(SIG_SETMASK, NULL, &self->of_worker);
}

/* The program's handlers run on its own threads, but for those of a thread's own faults: the system
 * would end the process without them. */
START_TEST(test_workers_block_signals_but_for_those_of_faults)
{
    static const int open[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    static const int blocked[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGCHLD};
    masks all = {0};
    sv_pool *pool = open_pool(2);
    while (!atomic_load(&all.seen))
        sv_pool_run(pool, read_mask, &all, 64);
    close_pool(pool);
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        ck_assert_int_eq(sigismember(&all.of_worker, open[i]), 0);
    for (size_t i = 0; i < sizeof blocked / sizeof *blocked; i++)
        ck_assert_int_eq(sigismember(&all.of_worker, blocked[i]), 1);
}
END_TEST

/* What the program has blocked stays so, on its thread and on the library's: a signal that waits
 * would end the process. */
START_TEST(test_workers_block_what_the_program_blocks)
{
    masks all = {0};
    sigset_t own, now;
    sigemptyset(&own);
    sigaddset(&own, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &own, NULL);
    kill(getpid(), SIGPROF);
    sv_pool *pool = open_pool(2);
    while (!atomic_load(&all.seen))
        sv_pool_run(pool, read_mask, &all, 64);
    close_pool(pool);
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    ck_assert_int_eq(sigismember(&all.of_worker, SIGPROF), 1);
    ck_assert_int_eq(sigismember(&now, SIGPROF), 1);
    ck_assert_int_eq(sigismember(&now, SIGTERM), 0);
    int taken = 0;
    ck_assert_int_eq(sigwait(&own, &taken), 0);
    ck_assert_int_eq(taken, SIGPROF);
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
}
END_TEST

static Suite *pool_suite(void)
{
    Suite *suite = suite_create("pool");
    TCase *all = tcase_create("pool");
    tcase_add_checked_fixture(all, wait_as_programs_do, NULL);
    tcase_add_loop_test(all, test_every_task_runs_once, 0, THREAD_COUNTS);
    tcase_add_loop_test(all, test_every_task_runs_once_with_any_number_of_polls, 0, SPIN_COUNT);
    tcase_add_loop_test(all, test_a_host_runs_every_task_once, 0, 4 * HOST_COUNT);
    tcase_add_test(all, test_a_host_runs_tasks_in_the_environment_of_the_library);
    tcase_add_loop_test(all, test_no_two_tasks_of_a_worker_overlap, 0, HOST_COUNT);
    tcase_add_test(all, test_a_caller_with_a_lock_does_without_the_host);
    tcase_add_loop_test(all, test_tasks_begin_rounds, 0, THREAD_COUNTS);
    tcase_add_loop_test(all, test_tasks_of_a_host_begin_rounds, 0, HOST_COUNT);
    tcase_add_test(all, test_a_caller_with_a_lock_does_not_wait_for_a_round);
    tcase_add_test(all, test_callers_on_several_threads_take_turns);
#ifdef __GLIBC__
    tcase_add_test(all, test_workers_have_stack_whatever_the_default_is);
#endif
    tcase_add_loop_test(all, test_worker_numbers_are_below_the_thread_count_and_that_of_the_tasks,
                        0, THREAD_COUNTS);
    tcase_add_loop_test(all, test_an_array_is_cleared_by_parts, 0, THREAD_COUNTS);
    tcase_add_loop_test(all, test_an_array_is_cleared_on_the_workers, 0, HOST_COUNT);
    tcase_add_test(all, test_a_child_clears_an_array_alone);
    tcase_add_test(all, test_workers_block_signals_but_for_those_of_faults);
    tcase_add_test(all, test_workers_block_what_the_program_blocks);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(pool_suite)
