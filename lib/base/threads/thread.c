/* Threads, mutexes and condition variables over pthreads. */
#include "base/threads/thread.h"

#include "base/threads/affinity.h"
#include "base/threads/fp_env.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct sv_mutex {
    pthread_mutex_t handle;
};

struct sv_condition {
    pthread_cond_t handle;
};

struct sv_thread {
    pthread_t handle;
    void (*body)(void *);
    void *argument;
};

sv_mutex *sv_mutex_create(const sv_allocator *allocator)
{
    sv_mutex *mutex = sv_allocate(allocator, sizeof *mutex);
    if (mutex && pthread_mutex_init(&mutex->handle, NULL) != 0) {
        sv_release(allocator, mutex, sizeof *mutex);
        return NULL;
    }
    return mutex;
}

void sv_mutex_free(const sv_allocator *allocator, sv_mutex *mutex)
{
    if (!mutex)
        return;
    pthread_mutex_destroy(&mutex->handle);
    sv_mutex_abandon(allocator, mutex);
}

void sv_mutex_abandon(const sv_allocator *allocator, sv_mutex *mutex)
{
    sv_release(allocator, mutex, sizeof *mutex);
}

void sv_mutex_lock(sv_mutex *mutex)
{
    pthread_mutex_lock(&mutex->handle);
}

bool sv_mutex_try_lock(sv_mutex *mutex)
{
    return pthread_mutex_trylock(&mutex->handle) == 0;
}

void sv_mutex_unlock(sv_mutex *mutex)
{
    pthread_mutex_unlock(&mutex->handle);
}

sv_condition *sv_condition_create(const sv_allocator *allocator)
{
    sv_condition *condition = sv_allocate(allocator, sizeof *condition);
    if (condition && pthread_cond_init(&condition->handle, NULL) != 0) {
        sv_release(allocator, condition, sizeof *condition);
        return NULL;
    }
    return condition;
}

void sv_condition_free(const sv_allocator *allocator, sv_condition *condition)
{
    if (!condition)
        return;
    pthread_cond_destroy(&condition->handle);
    sv_condition_abandon(allocator, condition);
}

void sv_condition_abandon(const sv_allocator *allocator, sv_condition *condition)
{
    sv_release(allocator, condition, sizeof *condition);
}

void sv_condition_wait(sv_condition *condition, sv_mutex *mutex)
{
    pthread_cond_wait(&condition->handle, &mutex->handle);
}

void sv_condition_broadcast(sv_condition *condition)
{
    pthread_cond_broadcast(&condition->handle);
}

static pthread_mutex_t process_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t process_once = PTHREAD_ONCE_INIT;
static void (*fork_handler)(void);
static pid_t process;  /* that has counted `forks` */
static uint32_t forks; /* from the first process to this one */

static void lock_process(void)
{
    pthread_mutex_lock(&process_mutex);
}

static void begin_child(void)
{
    forks++;
    process = getpid();
    if (fork_handler)
        fork_handler();
    pthread_mutex_unlock(&process_mutex);
}

static void watch_forks(void)
{
    process = getpid();
    pthread_atfork(lock_process, sv_process_unlock, begin_child);
}

void sv_process_lock(void)
{
    pthread_once(&process_once, watch_forks);
    lock_process();
}

/* A process in a PID namespace of its own may have the number of one that it descends from. A
 * handler of the program's that runs before begin_child has the count, too, unless that is its
 * parent's number. */
int64_t sv_process_id(void)
{
    pthread_once(&process_once, watch_forks);
    const pid_t own = getpid();
    return (int64_t)((uint64_t)(forks + (own != process)) << 32 | (uint32_t)own);
}

void sv_process_unlock(void)
{
    pthread_mutex_unlock(&process_mutex);
}

void sv_process_set_fork_handler(void (*handler)(void))
{
    fork_handler = handler;
}

static void *thread_main(void *argument)
{
    SV_DEFAULT_FP_ENV; /* otherwise a thread has that of the program's thread that starts it */
    sv_thread *thread = argument;
    thread->body(thread->argument);
    return NULL;
}

/* Blocks signals for a thread that is started, so that the program's handlers run on the program's
 * threads. Not those that a fault of the thread itself raises, since the system ends a process with
 * a blocked one without asking its handler; nor that of profilers. What the starting thread blocks
 * stays blocked. */
static void block_signals(sigset_t *before)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, before);
}

/* Programs may have made the default small, for threads of their own. This is enough for all that
 * the library computes, for functions of the program that it calls, and for the thread-local
 * variables of all libraries, which glibc takes from it. */
enum { LEAST_STACK = 2 << 20 };

static void set_stack(pthread_attr_t *attributes)
{
    size_t bytes = 0;
    if (pthread_attr_getstacksize(attributes, &bytes) == 0 && bytes < LEAST_STACK)
        pthread_attr_setstacksize(attributes, LEAST_STACK);
}

/* Returns 0 or an errno value. */
static int create_thread(sv_thread *thread)
{
    pthread_attr_t attributes;
    const int code = pthread_attr_init(&attributes);
    if (code != 0)
        return code;
    set_stack(&attributes);
    const int failed = pthread_create(&thread->handle, &attributes, thread_main, thread);
    pthread_attr_destroy(&attributes);
    return failed;
}

int sv_thread_start(sv_thread **out, const sv_allocator *allocator, void (*body)(void *),
                    void *argument)
{
    sv_thread *thread = sv_allocate(allocator, sizeof *thread);
    if (!thread)
        return ENOMEM;
    thread->body = body;
    thread->argument = argument;
    sigset_t before;
    block_signals(&before);
    const int code = create_thread(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code)
        sv_release(allocator, thread, sizeof *thread);
    else
        *out = thread;
    return code;
}

uintptr_t sv_thread_self(void)
{
    return (uintptr_t)pthread_self();
}

int sv_thread_pin(sv_thread *thread, uint32_t cpu)
{
#if defined(__EMSCRIPTEN__)
    (void)thread;
    (void)cpu;
    return ENOSYS;
#else
    cpu_set_t mask[SV_CPUS / (8 * sizeof(cpu_set_t))];
    memset(mask, 0, sizeof mask);
    CPU_SET_S(cpu, sizeof mask, mask);
    return pthread_setaffinity_np(thread->handle, sizeof mask, mask);
#endif
}

void sv_thread_join(const sv_allocator *allocator, sv_thread *thread)
{
    pthread_join(thread->handle, NULL);
    sv_thread_abandon(allocator, thread);
}

void sv_thread_abandon(const sv_allocator *allocator, sv_thread *thread)
{
    sv_release(allocator, thread, sizeof *thread);
}

double sv_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
