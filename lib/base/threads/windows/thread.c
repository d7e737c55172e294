/* Threads, mutexes and condition variables of Windows. */
#include "base/threads/thread.h"

#include "base/threads/affinity.h"
#include "base/threads/fp_env.h"

#include <errno.h>
#include <process.h>
#include <windows.h>

struct sv_mutex {
    SRWLOCK handle;
};

struct sv_condition {
    CONDITION_VARIABLE handle;
};

struct sv_thread {
    HANDLE handle;
    void (*body)(void *);
    void *argument;
};

int64_t sv_process_id(void)
{
    return GetCurrentProcessId();
}

sv_mutex *sv_mutex_create(const sv_allocator *allocator)
{
    sv_mutex *mutex = sv_allocate(allocator, sizeof *mutex);
    if (mutex)
        InitializeSRWLock(&mutex->handle);
    return mutex;
}

/* Nothing of the system belongs to a mutex or a condition variable. */
void sv_mutex_free(const sv_allocator *allocator, sv_mutex *mutex)
{
    sv_mutex_abandon(allocator, mutex);
}

void sv_mutex_abandon(const sv_allocator *allocator, sv_mutex *mutex)
{
    sv_release(allocator, mutex, sizeof *mutex);
}

void sv_mutex_lock(sv_mutex *mutex)
{
    AcquireSRWLockExclusive(&mutex->handle);
}

bool sv_mutex_try_lock(sv_mutex *mutex)
{
    return TryAcquireSRWLockExclusive(&mutex->handle) != 0;
}

void sv_mutex_unlock(sv_mutex *mutex)
{
    ReleaseSRWLockExclusive(&mutex->handle);
}

sv_condition *sv_condition_create(const sv_allocator *allocator)
{
    sv_condition *condition = sv_allocate(allocator, sizeof *condition);
    if (condition)
        InitializeConditionVariable(&condition->handle);
    return condition;
}

void sv_condition_free(const sv_allocator *allocator, sv_condition *condition)
{
    sv_condition_abandon(allocator, condition);
}

void sv_condition_abandon(const sv_allocator *allocator, sv_condition *condition)
{
    sv_release(allocator, condition, sizeof *condition);
}

void sv_condition_wait(sv_condition *condition, sv_mutex *mutex)
{
    SleepConditionVariableSRW(&condition->handle, &mutex->handle, INFINITE, 0);
}

void sv_condition_broadcast(sv_condition *condition)
{
    WakeAllConditionVariable(&condition->handle);
}

static SRWLOCK process_mutex = SRWLOCK_INIT;

void sv_process_lock(void)
{
    AcquireSRWLockExclusive(&process_mutex);
}

void sv_process_unlock(void)
{
    ReleaseSRWLockExclusive(&process_mutex);
}

/* There are no forks. */
void sv_process_set_fork_handler(void (*handler)(void))
{
    (void)handler;
}

static unsigned __stdcall thread_main(void *argument)
{
    SV_DEFAULT_FP_ENV; /* otherwise the x87 of a thread has the precision of double */
    sv_thread *thread = argument;
    thread->body(thread->argument);
    return 0;
}

int sv_thread_start(sv_thread **out, const sv_allocator *allocator, void (*body)(void *),
                    void *argument)
{
    sv_thread *thread = sv_allocate(allocator, sizeof *thread);
    if (!thread)
        return ENOMEM;
    thread->body = body;
    thread->argument = argument;
    thread->handle = (HANDLE)_beginthreadex(NULL, 0, thread_main, thread, 0, NULL);
    const int code = thread->handle ? 0 : errno;
    if (code)
        sv_release(allocator, thread, sizeof *thread);
    else
        *out = thread;
    return code;
}

uintptr_t sv_thread_self(void)
{
    return GetCurrentThreadId();
}

/* A processor group has 64 CPUs. */
int sv_thread_pin(sv_thread *thread, uint32_t cpu)
{
    const GROUP_AFFINITY mask = {.Mask = (KAFFINITY)1 << cpu % 64, .Group = (WORD)(cpu / 64)};
    return SetThreadGroupAffinity(thread->handle, &mask, NULL) ? 0 : EINVAL;
}

void sv_thread_join(const sv_allocator *allocator, sv_thread *thread)
{
    WaitForSingleObject(thread->handle, INFINITE);
    CloseHandle(thread->handle);
    sv_thread_abandon(allocator, thread);
}

void sv_thread_abandon(const sv_allocator *allocator, sv_thread *thread)
{
    sv_release(allocator, thread, sizeof *thread);
}

double sv_clock_seconds(void)
{
    LARGE_INTEGER now, frequency;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&frequency);
    return (double)now.QuadPart / (double)frequency.QuadPart;
}
