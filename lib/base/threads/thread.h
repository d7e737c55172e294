/* Threads, mutexes and condition variables. No other file includes pthread.h.
 *
 * Threads do not survive a fork, and locks that they held stay locked in the child. There, the
 * functions named _abandon release the memory of mutexes, conditions and threads without touching
 * their state. */
#ifndef SV_THREAD_H
#define SV_THREAD_H

#include "base/memory.h"
#include "base/status.h"

#include <stdbool.h>

typedef struct sv_mutex sv_mutex;
typedef struct sv_condition sv_condition;
typedef struct sv_thread sv_thread;

/* An id of the calling process, which its parent has not; the system's number of the process in its
 * lowest 32 bits. */
int64_t sv_process_id(void);

/* Creates a mutex. NULL if it cannot be created. Freeing NULL is allowed. */
sv_mutex *sv_mutex_create(const sv_allocator *allocator);
void sv_mutex_free(const sv_allocator *allocator, sv_mutex *mutex);
void sv_mutex_abandon(const sv_allocator *allocator, sv_mutex *mutex);
void sv_mutex_lock(sv_mutex *mutex);
bool sv_mutex_try_lock(sv_mutex *mutex);
void sv_mutex_unlock(sv_mutex *mutex);

/* Creates a condition variable. NULL if it cannot be created. Freeing NULL is allowed. */
sv_condition *sv_condition_create(const sv_allocator *allocator);
void sv_condition_free(const sv_allocator *allocator, sv_condition *condition);
void sv_condition_abandon(const sv_allocator *allocator, sv_condition *condition);
void sv_condition_wait(sv_condition *condition, sv_mutex *mutex);
void sv_condition_broadcast(sv_condition *condition);

/* The process lock guards what exists once in the process. A fork waits for it, so in the child it
 * is unlocked and what it guards is consistent. */
void sv_process_lock(void);
void sv_process_unlock(void);

/* Sets the one function that every forked child calls, with the process lock held. The caller holds
 * the lock. */
void sv_process_set_fork_handler(void (*handler)(void));

/* Starts a thread that runs body(argument), with signals blocked but for those of its own faults
 * and of profilers. Returns 0, or an errno value and leaves *out: EAGAIN if the system allows no
 * more threads or processes. */
int sv_thread_start(sv_thread **out, const sv_allocator *allocator, void (*body)(void *),
                    void *argument);

/* An id of the calling thread, which no other thread of the process has while it runs; not 0. */
uintptr_t sv_thread_self(void);

/* Lets the thread run on CPU number `cpu` alone, below SV_CPUS. Returns 0 or an errno value. */
int sv_thread_pin(sv_thread *thread, uint32_t cpu);

/* Waits until the thread ends and frees it. */
void sv_thread_join(const sv_allocator *allocator, sv_thread *thread);
void sv_thread_abandon(const sv_allocator *allocator, sv_thread *thread);

/* The seconds of a clock that never goes back. */
double sv_clock_seconds(void);

#endif
