/* Checks the rounds of the worker pool where workers sleep. It includes the pool itself, for the
 * numbers of its rounds. */
#include "base/threads/pool.c"

#include "suite.h"

#include <sched.h>
#include <unistd.h>

static sv_allocator allocator;

static void count_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    atomic_fetch_add((atomic_uint *)argument + task, 1);
}

void __real_sv_condition_wait(sv_condition *condition, sv_mutex *mutex);
void __wrap_sv_condition_wait(sv_condition *condition, sv_mutex *mutex);

/* How many threads have begun to sleep, and whether the system lets those run that are woken. */
static atomic_uint sleepers;
static atomic_bool is_held;

void __wrap_sv_condition_wait(sv_condition *condition, sv_mutex *mutex)
{
    atomic_fetch_add(&sleepers, 1);
    __real_sv_condition_wait(condition, mutex);
    if (!atomic_load(&is_held))
        return;
    sv_mutex_unlock(mutex);
    while (atomic_load(&is_held))
        sched_yield();
    sv_mutex_lock(mutex);
}

/* A pool whose workers do not poll, and sleep. */
static sv_pool *open_sleeping(uint32_t threads)
{
    sv_pool *pool = NULL;
    const sv_host_pool none = {NULL, NULL};
    allocator = sv_allocator_default();
    ck_assert_int_eq(setenv("SHIFTVIT_TEST_SPIN", "0", 1), 0);
    atomic_store(&sleepers, 0);
    ck_assert_int_eq(sv_pool_create(&pool, &allocator, threads, none, NULL), SVIT_OK);
    while (atomic_load(&sleepers) < threads - 1)
        sched_yield();
    return pool;
}

/* On busy CPUs a worker may be woken and not run for long. It finds the round closed, or one that
 * was opened meanwhile. */
START_TEST(test_a_worker_that_does_not_run_is_not_waited_for)
{
    enum { THREE = 3, LATE = 5, ROUNDS = 200 };
    static atomic_uint counts[64];
    sv_pool *pool = open_sleeping(THREE);
    atomic_store(&is_held, true);
    for (size_t round = 0; round < LATE; round++)
        sv_pool_run(pool, count_task, counts, 64);
    atomic_store(&is_held, false);
    for (size_t round = 0; round < ROUNDS; round++)
        sv_pool_run(pool, count_task, counts, 64);
    sv_pool_free(&allocator, pool);
    for (size_t i = 0; i < 64; i++)
        ck_assert_uint_eq(atomic_load(&counts[i]), LATE + ROUNDS);
}
END_TEST

/* Where size_t has 32 bits the numbers of rounds wrap around, and a worker that has slept through
 * 2048 of them finds the number that it knows: here it is set. */
START_TEST(test_a_pool_ends_by_a_round_of_a_number_that_was_seen)
{
    static atomic_uint counts[64];
    for (int i = 0; i < 20; i++) {
        sv_pool *pool = open_sleeping(4);
        sv_pool_run(pool, count_task, counts, 64);
        usleep(2000);
        const size_t number = atomic_load(&pool->round) >> NUMBER_SHIFT;
        atomic_store(&pool->round, (number - 1) << NUMBER_SHIFT);
        sv_pool_free(&allocator, pool);
    }
    ck_assert_uint_eq(atomic_load(&counts[63]), 20);
}
END_TEST

static Suite *rounds_suite(void)
{
    Suite *suite = suite_create("pool rounds");
    TCase *all = tcase_create("pool rounds");
    tcase_add_test(all, test_a_worker_that_does_not_run_is_not_waited_for);
    tcase_add_test(all, test_a_pool_ends_by_a_round_of_a_number_that_was_seen);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(rounds_suite)
