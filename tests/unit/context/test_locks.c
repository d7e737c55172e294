/* Checks a context whose mutexes, condition variables or threads the system refuses: it says so and
 * keeps no memory. */
#include "fit.h"
#include "ledger.h"

#include <errno.h>
#include <pthread.h>

static int calls, fail_at; /* of pthread_mutex_init and pthread_cond_init, from 1 */

int __real_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int __real_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes);
int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes);

int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    return ++calls == fail_at ? EAGAIN : __real_pthread_mutex_init(mutex, attributes);
}

int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes)
{
    return ++calls == fail_at ? ENOMEM : __real_pthread_cond_init(condition, attributes);
}

static int threads_left = 1000; /* that the system starts */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument)
{
    return threads_left-- > 0 ? __real_pthread_create(thread, attributes, body, argument) : EAGAIN;
}

static svit_status create(svit_context **out, ledger *book, uint32_t threads, svit_error *err)
{
    const svit_context_config config = {.struct_size = sizeof config,
                                        .threads = threads,
                                        .allocate = ledger_allocate,
                                        .release = ledger_release,
                                        .allocator_user = book};
    calls = 0;
    return svit_context_create(out, &config, err);
}

/* Two mutexes and a condition of the pool, and one of each group of workers: 1, 2 and 3, 4 to 7. */
static const struct {
    uint32_t threads;
    int locks;
} POOLS[] = {{1, 4}, {2, 4}, {3, 5}, {8, 6}};
enum { POOL_COUNT = sizeof POOLS / sizeof *POOLS };

START_TEST(test_a_lock_that_cannot_be_made_is_told)
{
    const int locks = POOLS[_i].locks;
    ledger book = {0};
    svit_context *context = NULL;
    for (fail_at = 1; fail_at <= locks; fail_at++) {
        FAILS(create(&context, &book, POOLS[_i].threads, err), SVIT_E_MEMORY,
              "the worker pool's locks could not be created");
        ck_assert_ptr_null(context);
        ck_assert_uint_eq(book.live_bytes, 0);
        ck_assert_uint_eq(book.live_blocks, 0);
    }
    WORKS(create(&context, &book, POOLS[_i].threads, err));
    ck_assert_int_eq(calls, locks);
    svit_context_free(context);
    ck_assert_uint_eq(book.live_bytes, 0);
}
END_TEST

/* As where a user or a container may have no more processes. */
START_TEST(test_a_thread_that_cannot_be_started_is_told_with_the_reason)
{
    ledger book = {0};
    char worker[200], loading[200];
    snprintf(worker, sizeof worker, "worker 3 of 8 could not be started: %s; use fewer `threads`",
             strerror(EAGAIN));
    snprintf(loading, sizeof loading, "could not be started: %s; `prefetch` 0 needs none",
             strerror(EAGAIN));
    svit_context *context = NULL;
    threads_left = 2;
    FAILS(create(&context, &book, 8, err), SVIT_E_MEMORY, worker);
    ck_assert_uint_eq(book.live_bytes, 0);
    WORKS(create(&context, &book, 1, err));
    svit_dataset *dataset = NULL;
    svit_loader *loader = NULL;
    svit_pipeline_config pipeline;
    svit_loader_config config;
    WORKS(svit_dataset_synthetic(&dataset, context, 1, 0, 4, err));
    ck_assert_int_eq(svit_pipeline_config_init(&pipeline, sizeof pipeline), SVIT_OK);
    ck_assert_int_eq(svit_loader_config_init(&config, sizeof config), SVIT_OK);
    config.batch = 2;
    config.prefetch = 1;
    FAILS(svit_loader_create(&loader, dataset, &pipeline, &config, err), SVIT_E_MEMORY, loading);
    config.prefetch = 0;
    WORKS(svit_loader_create(&loader, dataset, &pipeline, &config, err));
    svit_loader_free(loader);
    svit_dataset_free(dataset);
    svit_context_free(context);
    ck_assert_uint_eq(book.live_bytes, 0);
}
END_TEST

static Suite *locks_suite(void)
{
    Suite *suite = suite_create("locks");
    TCase *all = tcase_create("locks");
    tcase_add_loop_test(all, test_a_lock_that_cannot_be_made_is_told, 0, POOL_COUNT);
    tcase_add_test(all, test_a_thread_that_cannot_be_started_is_told_with_the_reason);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(locks_suite)
