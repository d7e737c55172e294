/* Adds the gradients of leaves in a binary tree, as a binary counter counts: with a single rank,
 * there is one held sum for each set bit of the number of leaves so far. */
#include "session/leaves.h"

#include "base/size.h"

#include <string.h>

/* A bucket has at least BUCKET_ELEMENTS elements, but for the last one of a batch: 1 MiB, which a
 * network moves in a few milliseconds, so that starting it costs little beside that. A task adds
 * CHUNK_ELEMENTS elements. */
enum { BUCKET_ELEMENTS = 1 << 18, CHUNK_ELEMENTS = 1 << 14, HELD_MAX = 34 };

/* A node of the tree: the sum of 2^level leaves, or those up to the last leaf if they are fewer,
 * from leaf index * 2^level on. */
typedef struct node {
    uint32_t level, index;
    real *values; /* [elements] */
} node;

struct sv_leaves {
    svit_reducer reducer;
    uint32_t first, end; /* first..end-1 are the leaves of this rank */
    uint32_t done;       /* that had their backward since the last step */
    size_t elements;
    node held[HELD_MAX]; /* sums that wait for their partners in the tree, from left to right */
    uint32_t held_count;
    real *spare[HELD_MAX]; /* arrays of zeros */
    uint32_t spare_count;
    real *home;      /* the session's own array, one of those that are used in turn */
    real *memory;    /* all other arrays */
    uint32_t arrays; /* in memory */
    /* In the backward of the last leaf: the held sums have been added to the elements from this
     * index on. */
    size_t added;
    size_t begun; /* the elements from this index on are in buckets */
    uint64_t buckets;
    svit_status status; /* of the reducer */
    svit_error failure;
};

/* Moves a node up the tree as long as its partner is among the nodes held, or it has none. Returns
 * how many nodes at the end of `held` become part of it. */
static uint32_t climb(node *at, const node *held, uint32_t count, uint32_t leaves)
{
    uint32_t swallowed = 0;
    while (((uint64_t)1 << at->level) < leaves) {
        const node *left = count > swallowed ? &held[count - swallowed - 1] : NULL;
        if (at->index % 2 == 0) {
            if ((((uint64_t)at->index + 1) << at->level) < leaves)
                break; /* its partner is still to come */
        } else if (left && left->level == at->level && left->index + 1 == at->index) {
            swallowed++;
        } else {
            break; /* another rank has its partner */
        }
        at->level++;
        at->index /= 2;
    }
    return swallowed;
}

/* The most nodes that are held at once while the leaves first..end-1 are added. The last leaf is
 * never held. */
static uint32_t most_held(uint32_t leaves, uint32_t first, uint32_t end)
{
    node held[HELD_MAX];
    uint32_t count = 0, most = 0;
    for (uint32_t leaf = first; leaf + 1 < end; leaf++) {
        node at = {.index = leaf};
        count -= climb(&at, held, count, leaves);
        held[count++] = at;
        most = count > most ? count : most;
    }
    return most;
}

svit_status sv_reducer_check(const svit_reducer *reducer, svit_error *err)
{
    size_t count = 0;
    if (reducer->struct_size < sizeof *reducer)
        return sv_fail(err, SVIT_E_ARGUMENT, "struct_size of svit_reducer is %u; it has %zu bytes",
                       reducer->struct_size, sizeof *reducer);
    SVIT_TRY(svit_reduction_plan(reducer->leaves, reducer->ranks, NULL, 0, &count, err));
    if (reducer->rank >= reducer->ranks)
        return sv_fail(err, SVIT_E_ARGUMENT, "rank is %u; 0 to ranks - 1 = %u are accepted",
                       reducer->rank, reducer->ranks - 1);
    if (reducer->ranks > 1 && (!reducer->begin || !reducer->finish))
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is NULL, which is accepted with 1 rank alone",
                       reducer->begin ? "finish" : "begin");
    return SVIT_OK;
}

svit_status sv_leaves_create(sv_leaves **out, svit_context *context, const sv_gradient_span *span,
                             const svit_reducer *reducer, svit_error *err)
{
    SVIT_TRY(sv_reducer_check(reducer, err));
    const uint32_t first =
        (uint32_t)svit_share_first(reducer->leaves, reducer->ranks, reducer->rank);
    const uint32_t end =
        (uint32_t)svit_share_first(reducer->leaves, reducer->ranks, reducer->rank + 1);
    const uint32_t arrays = most_held(reducer->leaves, first, end);
    size_t bytes = 0;
    if (!sv_size_product(&bytes, (size_t[]){arrays, span->elements, sizeof(real)}, 3))
        return sv_fail_memory(err, SIZE_MAX, "the gradients of leaves");
    void *memory;
    SVIT_TRY(sv_allocate_array(&context->allocator, &memory, 1, sizeof(sv_leaves),
                               "the gradients of leaves", err));
    sv_leaves *leaves = memory;
    *leaves = (sv_leaves){.reducer = *reducer,
                          .first = first,
                          .end = end,
                          .elements = span->elements,
                          .home = span->values,
                          .arrays = arrays};
    if (arrays > 0) {
        svit_status status =
            sv_pool_allocate(context->pool, &context->allocator, &memory, arrays,
                             span->elements * sizeof(real), "the gradients of leaves", err);
        if (status != SVIT_OK) {
            sv_release(&context->allocator, leaves, sizeof *leaves);
            return status;
        }
        leaves->memory = memory;
    }
    for (uint32_t i = 0; i < arrays; i++)
        leaves->spare[leaves->spare_count++] = leaves->memory + i * span->elements;
    leaves->added = leaves->begun = leaves->elements;
    leaves->failure = (svit_error){.struct_size = sizeof leaves->failure};
    *out = leaves;
    return SVIT_OK;
}

void sv_leaves_free(svit_context *context, sv_leaves *leaves)
{
    if (!leaves)
        return;
    sv_release(&context->allocator, leaves->memory,
               leaves->arrays * leaves->elements * sizeof(real));
    sv_release(&context->allocator, leaves, sizeof *leaves);
}

real *sv_leaves_home(const sv_leaves *leaves)
{
    return leaves->home;
}

uint64_t sv_leaves_bytes(const sv_leaves *leaves)
{
    return leaves ? sizeof *leaves + (uint64_t)leaves->arrays * leaves->elements * sizeof(real) : 0;
}

svit_status sv_leaves_check_open(const sv_leaves *leaves, svit_error *err)
{
    const uint32_t count = leaves->end - leaves->first;
    if (leaves->done < count)
        return SVIT_OK;
    return sv_fail(
        err, SVIT_E_STATE,
        "a backward after those of all leaves of this rank, %u of %u; svit_step comes next", count,
        leaves->reducer.leaves);
}

bool sv_leaves_at_last(const sv_leaves *leaves)
{
    return leaves->first + leaves->done + 1 == leaves->end;
}

/* The arguments of add_chunk: elements begin..begin+elements-1 of the sum and of `count` nodes. */
typedef struct addition {
    const sv_kernels *kernels;
    real *sum;
    const node *added;
    uint32_t count;
    size_t begin, elements;
} addition;

/* Adds one chunk of each node to the sum, the last node first, and sets it to zero in the nodes. */
static void add_chunk(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const addition *job = argument;
    const size_t first = task * CHUNK_ELEMENTS;
    const size_t elements = sv_size_min(job->elements - first, CHUNK_ELEMENTS);
    for (uint32_t i = job->count; i-- > 0;) {
        real *values = job->added[i].values + job->begin + first;
        job->kernels->add(job->sum + job->begin + first, values, elements);
        memset(values, 0, elements * sizeof *values);
    }
}

/* Adds the last `count` nodes that are held to elements begin..end-1 of the gradients. */
static void add_held(sv_leaves *leaves, svit_context *context, real *sum, uint32_t count,
                     size_t begin, size_t end)
{
    if (count == 0 || begin == end)
        return;
    addition job = {context->kernels, sum, leaves->held + leaves->held_count - count, count, begin,
                    end - begin};
    sv_pool_run(context->pool, add_chunk, &job,
                (end - begin + CHUNK_ELEMENTS - 1) / CHUNK_ELEMENTS);
}

/* Hands elements begin..end-1 of the sums of this rank to the reducer: those of the first `count`
 * nodes that are held, and those of the node `last`, which are in `sum`. */
static void begin_bucket(sv_leaves *leaves, real *sum, const node *last, uint32_t count,
                         size_t begin, size_t end)
{
    /* `real` is float wherever a session has a reducer: the build in double is for checks of
     * gradients. */
    svit_partial_sum partials[HELD_MAX + 1];
    for (uint32_t i = 0; i < count; i++)
        partials[i] = (svit_partial_sum){(uint64_t)leaves->held[i].index << leaves->held[i].level,
                                         (float *)(void *)(leaves->held[i].values + begin)};
    partials[count] =
        (svit_partial_sum){(uint64_t)last->index << last->level, (float *)(void *)(sum + begin)};
    const svit_bucket bucket = {.number = leaves->buckets++,
                                .elements = end - begin,
                                .count = count + 1,
                                .partials = partials,
                                .sum = (float *)(void *)(sum + begin)};
    if (leaves->status == SVIT_OK)
        leaves->status = leaves->reducer.begin(leaves->reducer.user, &bucket, &leaves->failure);
}

void sv_leaves_ready(sv_leaves *leaves, svit_context *context, const sv_gradient_span *span,
                     size_t low)
{
    node last = {.index = leaves->end - 1};
    const uint32_t merged = climb(&last, leaves->held, leaves->held_count, leaves->reducer.leaves);
    if (low < leaves->added)
        add_held(leaves, context, span->values, merged, low, leaves->added);
    leaves->added = sv_size_min(leaves->added, low);
    if (leaves->reducer.ranks == 1 || leaves->begun == low ||
        (low > 0 && leaves->begun - low < BUCKET_ELEMENTS))
        return;
    begin_bucket(leaves, span->values, &last, leaves->held_count - merged, low, leaves->begun);
    leaves->begun = low;
}

/* Moves the arrays of the last `count` nodes that are held to the spare ones; they are zeros. */
static void release_held(sv_leaves *leaves, uint32_t count)
{
    while (count-- > 0)
        leaves->spare[leaves->spare_count++] = leaves->held[--leaves->held_count].values;
}

svit_status sv_leaves_end(sv_leaves *leaves, svit_context *context, sv_gradient_span *span,
                          svit_error *err)
{
    const bool is_last = sv_leaves_at_last(leaves);
    node at = {.index = leaves->first + leaves->done++, .values = span->values};
    const uint32_t merged = climb(&at, leaves->held, leaves->held_count, leaves->reducer.leaves);
    if (!is_last) {
        add_held(leaves, context, span->values, merged, 0, leaves->elements);
        release_held(leaves, merged);
        leaves->held[leaves->held_count++] = at;
        span->values = leaves->spare[--leaves->spare_count];
        return SVIT_OK;
    }
    release_held(leaves, merged);
    if (leaves->status != SVIT_OK)
        return svit_error_set(err, leaves->status, leaves->failure.message);
    return SVIT_OK;
}

svit_status sv_leaves_finish(sv_leaves *leaves, svit_error *err)
{
    const uint32_t count = leaves->end - leaves->first;
    if (leaves->done < count)
        return sv_fail(err, SVIT_E_STATE,
                       "the session has the gradients of %u of this rank's %u leaves; svit_step "
                       "comes after a backward for each",
                       leaves->done, count);
    if (leaves->status != SVIT_OK)
        return svit_error_set(err, leaves->status, leaves->failure.message);
    if (leaves->reducer.ranks > 1 && leaves->buckets > 0) {
        leaves->buckets = 0;
        leaves->status = leaves->reducer.finish(leaves->reducer.user, &leaves->failure);
        if (leaves->status != SVIT_OK)
            return svit_error_set(err, leaves->status, leaves->failure.message);
    }
    return SVIT_OK;
}

void sv_leaves_restart(sv_leaves *leaves)
{
    /* The reducer may still be at work on what was begun, and not finished. */
    if (leaves->buckets > 0)
        leaves->reducer.finish(leaves->reducer.user, NULL);
    for (uint32_t i = 0; i < leaves->held_count; i++)
        memset(leaves->held[i].values, 0, leaves->elements * sizeof(real));
    release_held(leaves, leaves->held_count);
    leaves->done = 0;
    leaves->buckets = 0;
    leaves->added = leaves->begun = leaves->elements;
    leaves->status = SVIT_OK;
    leaves->failure = (svit_error){.struct_size = sizeof leaves->failure};
}
