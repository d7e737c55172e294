/* Thread pools of a program, for contexts with parallel_for: each runs the tasks in another way. */
#ifndef TEST_HOSTS_H
#define TEST_HOSTS_H

#include <shiftvit/parallel.h>

#include <pthread.h>
#include <stdatomic.h>

/* The calls of the functions below. */
static atomic_uint host_calls;

static inline void host_in_order(void *user, size_t count, svit_task_function task, void *task_user)
{
    (void)user;
    atomic_fetch_add(&host_calls, 1);
    for (size_t i = 0; i < count; i++)
        task(task_user, i);
}

static inline void host_backwards(void *user, size_t count, svit_task_function task,
                                  void *task_user)
{
    (void)user;
    atomic_fetch_add(&host_calls, 1);
    for (size_t i = count; i-- > 0;)
        task(task_user, i);
}

typedef struct host_task {
    svit_task_function task;
    void *user;
    size_t index;
} host_task;

static inline void *host_thread_main(void *argument)
{
    host_task *self = argument;
    self->task(self->user, self->index);
    return NULL;
}

/* A thread for each task, the calling thread for the first. */
static inline void host_with_threads(void *user, size_t count, svit_task_function task,
                                     void *task_user)
{
    (void)user;
    atomic_fetch_add(&host_calls, 1);
    pthread_t threads[256];
    host_task tasks[256];
    int started[256] = {0};
    for (size_t i = 1; i < count; i++) {
        tasks[i] = (host_task){task, task_user, i};
        started[i] = pthread_create(&threads[i], NULL, host_thread_main, &tasks[i]) == 0;
    }
    task(task_user, 0);
    for (size_t i = 1; i < count; i++)
        if (started[i])
            pthread_join(threads[i], NULL);
}

/* Breaks its promise: some tasks are not run, some twice at the same time, and some do not exist.
 */
static inline void host_careless(void *user, size_t count, svit_task_function task, void *task_user)
{
    (void)user;
    atomic_fetch_add(&host_calls, 1);
    task(task_user, count + 1000);
    for (size_t i = 1; i < count; i += 2) {
        host_task twice = {task, task_user, i};
        pthread_t thread;
        int started = pthread_create(&thread, NULL, host_thread_main, &twice) == 0;
        task(task_user, i);
        if (started)
            pthread_join(thread, NULL);
    }
}

static const svit_parallel_for_function HOSTS[] = {host_in_order, host_backwards, host_with_threads,
                                                   host_careless};
enum { HOST_COUNT = sizeof HOSTS / sizeof *HOSTS };

#endif
