/* The ring of batches between a loader and its thread. The thread fills the next free slot without
 * the lock, since no other thread accesses that slot. Every drop increments `generation`, by which
 * the thread notices that the batch it is making has been dropped. */
#include "data/loading/prefetch.h"

#include "base/size.h"
#include "base/threads/thread.h"

#include <string.h>

typedef struct slot {
    float *images;
    sv_batch_targets to; /* one array, of labels or of targets */
    svit_status status;
    svit_error error;
} slot;

struct sv_prefetch {
    int64_t process; /* the process that has the thread */
    const sv_allocator *allocator;
    sv_batcher *batcher;
    size_t elements;     /* of a slot's images */
    size_t target_bytes; /* of a slot's labels or targets */
    uint32_t count;      /* slots */
    slot *slots;
    sv_thread *thread;
    sv_mutex *mutex; /* guards all members below */
    sv_condition *changed;
    atomic_uint generation; /* written under the mutex */
    uint32_t first;         /* the oldest filled slot */
    uint32_t filled;
    uint64_t epoch; /* of the batch that the thread makes next; `next` is its index */
    uint64_t next;
    bool paused;
    bool ending;
};

static slot *slot_at(const sv_prefetch *prefetch, uint32_t after_first)
{
    return &prefetch->slots[(prefetch->first + after_first) % prefetch->count];
}

static void advance(sv_prefetch *prefetch)
{
    if (++prefetch->next < sv_batcher_batches(prefetch->batcher))
        return;
    prefetch->next = 0;
    prefetch->epoch++;
}

/* Makes the next batch. The mutex is held at entry and at return, and released in between. */
static void make_next(sv_prefetch *prefetch)
{
    slot *to = slot_at(prefetch, prefetch->filled);
    uint64_t epoch = prefetch->epoch;
    uint64_t batch = prefetch->next;
    unsigned generation = atomic_load(&prefetch->generation);
    sv_mutex_unlock(prefetch->mutex);
    to->status = sv_batcher_make(prefetch->batcher, epoch, batch, to->images, &to->to,
                                 &prefetch->generation, generation, &to->error);
    sv_mutex_lock(prefetch->mutex);
    if (atomic_load(&prefetch->generation) != generation)
        return;
    prefetch->filled++;
    prefetch->paused = to->status != SVIT_OK;
    advance(prefetch);
    sv_condition_broadcast(prefetch->changed);
}

static void thread_body(void *argument)
{
    sv_prefetch *prefetch = argument;
    sv_mutex_lock(prefetch->mutex);
    while (!prefetch->ending) {
        if (prefetch->paused || prefetch->filled == prefetch->count)
            sv_condition_wait(prefetch->changed, prefetch->mutex);
        else
            make_next(prefetch);
    }
    sv_mutex_unlock(prefetch->mutex);
}

/* Bytes of the label or the targets of one sample. */
static size_t target_bytes(const sv_batcher *batcher)
{
    return sv_batcher_has_targets(batcher)
               ? sv_size_times(sv_batcher_classes(batcher), sizeof(float))
               : sizeof(int32_t);
}

static svit_status slots_create(sv_prefetch *prefetch, svit_error *err)
{
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(prefetch->allocator, &memory, prefetch->count,
                               sizeof *prefetch->slots, "a loader", err));
    prefetch->slots = memory;
    for (uint32_t i = 0; i < prefetch->count; i++) {
        slot *self = &prefetch->slots[i];
        self->error.struct_size = sizeof self->error;
        SVIT_TRY(sv_allocate_array(prefetch->allocator, &memory, prefetch->elements,
                                   sizeof *self->images, "a batch", err));
        self->images = memory;
        SVIT_TRY(sv_allocate_array(prefetch->allocator, &memory, prefetch->target_bytes, 1,
                                   "a batch", err));
        self->to = (sv_batch_targets){memory, memory};
    }
    return SVIT_OK;
}

static svit_status thread_create(sv_prefetch *prefetch, svit_error *err)
{
    prefetch->mutex = sv_mutex_create(prefetch->allocator);
    prefetch->changed = sv_condition_create(prefetch->allocator);
    if (!prefetch->mutex || !prefetch->changed)
        return sv_fail(err, SVIT_E_MEMORY, "a loader's locks could not be created");
    char reason[80];
    const int code = sv_thread_start(&prefetch->thread, prefetch->allocator, thread_body, prefetch);
    if (code)
        return sv_fail(err, SVIT_E_MEMORY,
                       "a loader's thread could not be started: %s; `prefetch` 0 needs none",
                       sv_errno_text(code, reason, sizeof reason));
    return SVIT_OK;
}

svit_status sv_prefetch_create(sv_prefetch **out, const sv_allocator *allocator,
                               sv_batcher *batcher, uint32_t slots, size_t batch, svit_error *err)
{
    size_t elements = 0;
    if (!sv_size_multiply(&elements, sv_batcher_elements(batcher), batch))
        return sv_fail_memory(err, SIZE_MAX, "a batch");
    sv_prefetch *prefetch = sv_allocate(allocator, sizeof *prefetch);
    if (!prefetch)
        return sv_fail_memory(err, sizeof *prefetch, "a loader");
    *prefetch = (sv_prefetch){
        .process = sv_process_id(),
        .allocator = allocator,
        .batcher = batcher,
        .elements = elements,
        .target_bytes = sv_size_times(batch, target_bytes(batcher)),
        .count = slots,
        .paused = true,
    };
    atomic_init(&prefetch->generation, 0);
    svit_status status = slots_create(prefetch, err);
    if (status == SVIT_OK)
        status = thread_create(prefetch, err);
    if (status != SVIT_OK) {
        sv_prefetch_free(prefetch);
        return status;
    }
    *out = prefetch;
    return SVIT_OK;
}

/* Discards the filled slots and pauses the thread. The mutex is held. */
static void discard_batches(sv_prefetch *prefetch)
{
    atomic_fetch_add(&prefetch->generation, 1);
    prefetch->filled = 0;
    prefetch->paused = true;
}

static void thread_end(sv_prefetch *prefetch)
{
    sv_mutex_lock(prefetch->mutex);
    discard_batches(prefetch);
    prefetch->ending = true;
    sv_condition_broadcast(prefetch->changed);
    sv_mutex_unlock(prefetch->mutex);
    sv_thread_join(prefetch->allocator, prefetch->thread);
}

static void end(sv_prefetch *prefetch)
{
    if (prefetch->thread)
        thread_end(prefetch);
    sv_condition_free(prefetch->allocator, prefetch->changed);
    sv_mutex_free(prefetch->allocator, prefetch->mutex);
}

/* A forked child has no thread to wait for, and the lock may be held for ever. */
static void abandon(const sv_prefetch *prefetch)
{
    sv_thread_abandon(prefetch->allocator, prefetch->thread);
    sv_condition_abandon(prefetch->allocator, prefetch->changed);
    sv_mutex_abandon(prefetch->allocator, prefetch->mutex);
}

void sv_prefetch_free(sv_prefetch *prefetch)
{
    if (!prefetch)
        return;
    const sv_allocator *allocator = prefetch->allocator;
    if (prefetch->process == sv_process_id())
        end(prefetch);
    else
        abandon(prefetch);
    for (uint32_t i = 0; prefetch->slots && i < prefetch->count; i++) {
        slot *self = &prefetch->slots[i];
        sv_release(allocator, self->to.labels, prefetch->target_bytes);
        sv_release(allocator, self->images, prefetch->elements * sizeof *self->images);
    }
    sv_release(allocator, prefetch->slots, prefetch->count * sizeof *prefetch->slots);
    sv_release(allocator, prefetch, sizeof *prefetch);
}

/* Waits for the oldest batch. If the thread is paused and no batch is left, it starts the thread at
 * (epoch, batch) first. */
static const slot *slot_wait(sv_prefetch *prefetch, uint64_t epoch, uint64_t batch)
{
    sv_mutex_lock(prefetch->mutex);
    if (prefetch->filled == 0 && prefetch->paused) {
        prefetch->epoch = epoch;
        prefetch->next = batch;
        prefetch->paused = false;
        sv_condition_broadcast(prefetch->changed);
    }
    while (prefetch->filled == 0)
        sv_condition_wait(prefetch->changed, prefetch->mutex);
    const slot *oldest = slot_at(prefetch, 0);
    sv_mutex_unlock(prefetch->mutex);
    return oldest;
}

static void slot_done(sv_prefetch *prefetch)
{
    sv_mutex_lock(prefetch->mutex);
    prefetch->first = (prefetch->first + 1) % prefetch->count;
    prefetch->filled--;
    sv_condition_broadcast(prefetch->changed);
    sv_mutex_unlock(prefetch->mutex);
}

svit_status sv_prefetch_take(sv_prefetch *prefetch, uint64_t epoch, uint64_t batch, float *images,
                             const sv_batch_targets *to, svit_error *err)
{
    const slot *from = slot_wait(prefetch, epoch, batch);
    svit_status status = from->status;
    if (status == SVIT_OK) {
        size_t n = sv_batcher_samples(prefetch->batcher, batch);
        memcpy(images, from->images, n * sv_batcher_elements(prefetch->batcher) * sizeof *images);
        void *targets =
            sv_batcher_has_targets(prefetch->batcher) ? (void *)to->targets : to->labels;
        memcpy(targets, from->to.labels, n * target_bytes(prefetch->batcher));
    } else {
        sv_fail(err, status, "%s", from->error.message);
    }
    slot_done(prefetch);
    return status;
}

void sv_prefetch_drop(sv_prefetch *prefetch)
{
    sv_mutex_lock(prefetch->mutex);
    discard_batches(prefetch);
    sv_mutex_unlock(prefetch->mutex);
}
