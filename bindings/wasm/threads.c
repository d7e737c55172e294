/* Threads of the module, where its memory is shared: workers of JavaScript, each with an instance
 * of the module in the same memory, which run the tasks of the library's context as its host.
 * Emscripten's own threads need its JavaScript, which modules without it cannot have. */
#include <shiftvit/shiftvit.h>

#include <stdatomic.h>

enum {
    SPIN_ROUNDS = 20000
}; /* polls before a thread sleeps, about 0.1 ms: the next layer usually follows at once */
static const int64_t FOREVER = -1;

/* The tasks of a round, which all workers take part in. */
static svit_task_function task;
static void *argument;
static size_t count;
static atomic_size_t next;
static atomic_int active; /* workers that have not finished the round */
static atomic_int round_number;
static atomic_int failed; /* whether a task of a worker has trapped */
static uint32_t workers;

/* Waits until *value is not `old`, and returns it. */
static int wait_while(atomic_int *value, int old)
{
    int now = old;
    for (int i = 0; i < SPIN_ROUNDS && now == old; i++)
        now = atomic_load_explicit(value, memory_order_acquire);
    while (now == old) {
        __builtin_wasm_memory_atomic_wait32((int *)value, old, FOREVER);
        now = atomic_load_explicit(value, memory_order_acquire);
    }
    return now;
}

static void claim_tasks(void)
{
    for (size_t i; (i = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed)) < count;)
        task(argument, i);
}

static void finish_round(void)
{
    if (atomic_fetch_sub_explicit(&active, 1, memory_order_acq_rel) == 1)
        __builtin_wasm_memory_atomic_notify((int *)&active, 1);
}

/* A worker of JavaScript calls this with the last round that it has seen, 0 at first. Only a trap
 * in a task ends the call. */
SVIT_API void module_work(int seen)
{
    for (;;) {
        seen = wait_while(&round_number, seen);
        claim_tasks();
        finish_round();
    }
}

/* A worker whose task has trapped calls this, so that the round ends without the rest of the task.
 * Returns the number of the round, read while it lasts, for the next call of module_work. */
SVIT_API int module_fail(void)
{
    int seen = atomic_load_explicit(&round_number, memory_order_relaxed);
    atomic_store_explicit(&failed, 1, memory_order_relaxed);
    finish_round();
    return seen;
}

/* Returns whether a task of a worker has trapped since the last call. */
SVIT_API int module_failed(void)
{
    return atomic_exchange_explicit(&failed, 0, memory_order_relaxed);
}

static void parallel_for(void *user, size_t tasks, svit_task_function run, void *run_argument)
{
    (void)user;
    if (workers == 0) /* Those that still end may begin no task. The library runs all of them. */
        return;
    task = run;
    argument = run_argument;
    count = tasks;
    atomic_store_explicit(&next, 0, memory_order_relaxed);
    atomic_store_explicit(&active, (int)workers, memory_order_relaxed);
    atomic_fetch_add_explicit(&round_number, 1, memory_order_release);
    __builtin_wasm_memory_atomic_notify((int *)&round_number, workers);
    claim_tasks();
    for (int left = (int)workers; left > 0;)
        left = wait_while(&active, left);
}

/* Lets a context run its tasks on this thread and on `others` workers that have called module_work,
 * or are about to. */
SVIT_API void module_use_workers(svit_context_config *config, uint32_t others)
{
    workers = others;
    config->threads = others + 1;
    config->parallel_for = parallel_for;
}
