/* The one door to threads. */
#ifndef SV_THREAD_H
#define SV_THREAD_H

#include "base/memory.h"
#include "base/status.h"

#include <stdbool.h>

typedef struct sv_mutex sv_mutex;
typedef struct sv_condition sv_condition;
typedef struct sv_thread sv_thread;

/* Threads do not survive fork, and what they held at that moment stays held in the child. There,
 * the memory of mutexes, conditions and threads can be released by the functions named _abandon,
 * which neither wait nor look at them. */

/* The calling process. */
int64_t sv_process_id(void);

/* NULL where it cannot be made. Freeing NULL is allowed. */
sv_mutex *sv_mutex_create(const sv_allocator *allocator);
void sv_mutex_free(const sv_allocator *allocator, sv_mutex *mutex);
void sv_mutex_abandon(const sv_allocator *allocator, sv_mutex *mutex);
void sv_mutex_lock(sv_mutex *mutex);
void sv_mutex_unlock(sv_mutex *mutex);

sv_condition *sv_condition_create(const sv_allocator *allocator);
void sv_condition_free(const sv_allocator *allocator, sv_condition *condition);
void sv_condition_abandon(const sv_allocator *allocator, sv_condition *condition);
void sv_condition_wait(sv_condition *condition, sv_mutex *mutex);
void sv_condition_broadcast(sv_condition *condition);

/* A lock that the process has from its start, for what the whole process has once. A fork waits for
 * it, so that the child finds it open and what it guards complete. */
void sv_process_lock(void);
void sv_process_unlock(void);

/* Has `body` called in each child by fork, with the lock held. One body for the process; called
 * with the lock held. */
void sv_process_set_fork_handler(void (*body)(void));

/* Starts body(argument), all signals blocked in it; NULL where it cannot be started. */
sv_thread *sv_thread_start(const sv_allocator *allocator, void (*body)(void *), void *argument);

/* Waits for its end and frees it. */
void sv_thread_join(const sv_allocator *allocator, sv_thread *thread);
void sv_thread_abandon(const sv_allocator *allocator, sv_thread *thread);

/* Cores that the process may run on, at least 1. */
uint32_t sv_thread_cores(void);

#endif
