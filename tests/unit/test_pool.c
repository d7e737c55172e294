/* Checks that the worker pool runs every task once, for any number of workers and callers. */
#include "suite.h"

#include "base/pool.h"

#include <stdatomic.h>

enum { TASKS = 1000, ROUNDS = 200 };

static void count_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    atomic_uint *counts = argument;
    atomic_fetch_add(&counts[task], 1);
}

static sv_pool *open_pool(uint32_t threads)
{
    sv_allocator allocator = sv_allocator_default();
    sv_pool *pool = NULL;
    ck_assert_int_eq(sv_pool_create(&pool, &allocator, threads, NULL), SVIT_OK);
    ck_assert_uint_eq(sv_pool_threads(pool), threads);
    return pool;
}

static void close_pool(sv_pool *pool)
{
    sv_allocator allocator = sv_allocator_default();
    sv_pool_free(&allocator, pool);
}

static const uint32_t THREADS[] = {1, 2, 3, 8};

START_TEST(test_every_task_runs_once)
{
    static atomic_uint counts[TASKS];
    for (size_t i = 0; i < TASKS; i++)
        atomic_store(&counts[i], 0);
    sv_pool *pool = open_pool(THREADS[_i]);
    size_t expected = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t count = round % 5 == 0 ? TASKS : round % 7;
        sv_pool_run(pool, count_task, counts, count);
        expected += count == TASKS;
    }
    close_pool(pool);
    for (size_t i = 7; i < TASKS; i++)
        ck_assert_uint_eq(atomic_load(&counts[i]), expected);
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
        threads[i] = sv_thread_start(&allocator, call_many, &callers[i]);
        ck_assert_ptr_nonnull(threads[i]);
    }
    for (size_t i = 0; i < 3; i++)
        sv_thread_join(&allocator, threads[i]);
    close_pool(pool);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 64; j++)
            ck_assert_uint_eq(atomic_load(&callers[i].counts[j]), ROUNDS);
}
END_TEST

static void worker_task(void *argument, size_t task, uint32_t worker)
{
    (void)task;
    atomic_uint *most = argument;
    unsigned seen = atomic_load(most);
    while (worker > seen && !atomic_compare_exchange_weak(most, &seen, worker))
        ;
}

START_TEST(test_worker_numbers_are_below_the_thread_count)
{
    sv_pool *pool = open_pool(3);
    atomic_uint most;
    atomic_init(&most, 0);
    for (size_t round = 0; round < ROUNDS; round++)
        sv_pool_run(pool, worker_task, &most, 50);
    close_pool(pool);
    ck_assert_uint_lt(atomic_load(&most), 3);
}
END_TEST

static Suite *pool_suite(void)
{
    Suite *suite = suite_create("pool");
    TCase *all = tcase_create("pool");
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, test_every_task_runs_once, 0, 4);
    tcase_add_test(all, test_callers_on_several_threads_take_turns);
    tcase_add_test(all, test_worker_numbers_are_below_the_thread_count);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(pool_suite)
