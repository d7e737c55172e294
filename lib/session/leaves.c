/* Adds the gradients of leaves in a binary tree, as a binary counter counts: with a single rank,
 * there is one held sum for each set bit of the number of leaves so far. */
#include "session/leaves.h"

#include "base/size.h"
#include "base/threads/pool.h"
#include "base/threads/thread.h"
#include "config/config.h"
#include "context/context.h"

#include <string.h>

/* A bucket has at least so many elements: 1 MiB, which a network moves in a few milliseconds and
 * whose start costs little beside that. A task adds a chunk, in pieces that stay in the first
 * cache. */
enum {
    BUCKET_ELEMENTS = 1 << 18,
    CHUNK_ELEMENTS = 1 << 14,
    PIECE_ELEMENTS = 1 << 11,
    HELD_MAX = 34
};

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
    sv_gradient_groups groups; /* of the session; groups.first is owned */
    real *fresh; /* [groups.largest] gradients of the group whose backward runs, else zeros */
    node held[HELD_MAX]; /* from left to right */
    uint32_t held_count;
    real *spare[HELD_MAX]; /* arrays that hold nothing */
    uint32_t spare_count;
    real *memory; /* [arrays, elements] the arrays of held and spare */
    uint32_t arrays;
    size_t added; /* of the leaf whose backward runs: the elements at and above have been added */
    size_t begun; /* elements at and above are in buckets */
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

static svit_status check(const void *config, svit_error *err)
{
    const svit_reducer *reducer = config;
    SVIT_TRY(svit_reduction_plan(reducer->leaves, reducer->ranks, NULL, 0, NULL, err));
    if (reducer->rank >= reducer->ranks)
        return sv_fail(err, SVIT_E_ARGUMENT, "rank is %u; 0 to ranks - 1 = %u are accepted",
                       reducer->rank, reducer->ranks - 1);
    if (reducer->ranks > 1 && (!reducer->begin || !reducer->finish))
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is NULL, which is accepted with 1 rank alone",
                       reducer->begin ? "finish" : "begin");
    return SVIT_OK;
}

static const svit_reducer DEFAULTS = {.leaves = 1, .ranks = 1};
static const sv_config_type REDUCER_TYPE = {SV_CONFIG_STRUCT(svit_reducer), .defaults = &DEFAULTS,
                                            .check = check};

SV_CONFIG_INIT(svit_reducer, REDUCER_TYPE)

svit_status sv_reducer_read(svit_reducer *local, const svit_reducer *reducer, svit_error *err)
{
    return sv_config_read(&REDUCER_TYPE, local, reducer, err);
}

static void free_leaves(svit_context *context, sv_leaves *leaves, bool owns_groups)
{
    const sv_allocator *allocator = &context->allocator;
    if (owns_groups)
        sv_release(allocator, (void *)leaves->groups.first,
                   leaves->groups.layers * sizeof *leaves->groups.first);
    if (leaves->fresh)
        sv_release(allocator, leaves->fresh, leaves->groups.largest * sizeof(real));
    if (leaves->memory)
        sv_release(allocator, leaves->memory, leaves->arrays * leaves->elements * sizeof(real));
    sv_release(allocator, leaves, sizeof *leaves);
}

/* Allocates the arrays. free_leaves frees what it has allocated when it fails. */
static svit_status allocate(sv_leaves *leaves, svit_context *context, svit_error *err)
{
    const sv_allocator *allocator = &context->allocator;
    const char *what = "the gradients of leaves";
    size_t *firsts;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&firsts, leaves->groups.layers, sizeof *firsts,
                               what, err));
    memcpy(firsts, leaves->groups.first, leaves->groups.layers * sizeof *firsts);
    leaves->groups.first = firsts;
    SVIT_TRY(sv_pool_allocate(context->pool, allocator, (void **)&leaves->fresh,
                              leaves->groups.largest, sizeof(real), what, err));
    if (leaves->arrays == 0)
        return SVIT_OK;
    SVIT_TRY(sv_pool_allocate(context->pool, allocator, (void **)&leaves->memory, leaves->arrays,
                              leaves->elements * sizeof(real), what, err));
    for (uint32_t i = 0; i < leaves->arrays; i++)
        leaves->spare[leaves->spare_count++] = leaves->memory + i * leaves->elements;
    return SVIT_OK;
}

svit_status sv_leaves_create(sv_leaves **out, svit_context *context, const sv_gradients *gradients,
                             const sv_gradient_groups *groups, const svit_reducer *reducer,
                             svit_error *err)
{
    svit_reducer own;
    SVIT_TRY(sv_reducer_read(&own, reducer, err));
    const uint32_t first = (uint32_t)svit_partition_begin(own.leaves, own.ranks, own.rank);
    const uint32_t end = (uint32_t)svit_partition_begin(own.leaves, own.ranks, own.rank + 1);
    const uint32_t arrays = most_held(own.leaves, first, end);
    size_t bytes = 0;
    if (!sv_size_product(&bytes, (size_t[]){arrays + 1, gradients->subset.elements, sizeof(real)},
                         3))
        return sv_fail_memory(err, SIZE_MAX, "the gradients of leaves");
    sv_leaves *leaves;
    SVIT_TRY(sv_allocate_array(&context->allocator, (void **)&leaves, 1, sizeof *leaves,
                               "the gradients of leaves", err));
    *leaves = (sv_leaves){.reducer = own,
                          .first = first,
                          .end = end,
                          .elements = gradients->subset.elements,
                          .groups = *groups,
                          .arrays = arrays,
                          .added = gradients->subset.elements,
                          .begun = gradients->subset.elements,
                          .failure = {.struct_size = sizeof leaves->failure}};
    svit_status status = allocate(leaves, context, err);
    if (status == SVIT_OK)
        *out = leaves;
    else
        free_leaves(context, leaves, leaves->groups.first != groups->first);
    return status;
}

/* Keeps what a function of the reducer has returned. */
static void keep_status(sv_leaves *leaves, const char *function, svit_status status)
{
    if (status != SVIT_OK)
        leaves->status =
            sv_fail_function(&leaves->failure, status, function, leaves->failure.message);
}

/* Waits for the reducer, which may still be at work on what was begun. A child by fork has none of
 * the threads and connections that would end the work. */
static void finish_begun(const svit_context *context, const sv_leaves *leaves)
{
    svit_error ignored = {.struct_size = sizeof ignored};
    if (leaves->buckets > 0 && sv_pool_process(context->pool) == sv_process_id())
        leaves->reducer.finish(leaves->reducer.user, &ignored);
}

void sv_leaves_free(svit_context *context, sv_leaves *leaves)
{
    if (!leaves)
        return;
    finish_begun(context, leaves);
    free_leaves(context, leaves, true);
}

uint64_t sv_leaves_bytes(const sv_leaves *leaves)
{
    if (!leaves)
        return 0;
    return sizeof *leaves + leaves->groups.layers * sizeof *leaves->groups.first +
           ((uint64_t)leaves->arrays * leaves->elements + leaves->groups.largest) * sizeof(real);
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

static bool at_last(const sv_leaves *leaves)
{
    return leaves->first + leaves->done + 1 == leaves->end;
}

size_t sv_leaves_begin_layer(const sv_leaves *leaves, size_t layer, real **fresh)
{
    *fresh = leaves->fresh;
    return leaves->groups.first[layer];
}

/* to[begin..] = the held arrays [begin..], from the last to the first, and the fresh gradients,
 * which become zeros. `to` may be one of the held arrays. */
typedef struct merge {
    const sv_kernels *kernels;
    real *to;
    real *fresh; /* of element `begin` */
    const node *held;
    uint32_t count;
    size_t begin, elements;
} merge;

static void merge_piece(const merge *job, size_t at, size_t elements)
{
    real *fresh = job->fresh + at;
    for (uint32_t i = job->count; i > 0; i--)
        job->kernels->add(fresh, job->held[i - 1].values + job->begin + at, elements);
    memcpy(job->to + job->begin + at, fresh, elements * sizeof *fresh);
    memset(fresh, 0, elements * sizeof *fresh);
}

static void merge_chunk(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const merge *job = argument;
    const size_t end = sv_size_min((task + 1) * CHUNK_ELEMENTS, job->elements);
    for (size_t at = task * CHUNK_ELEMENTS; at < end; at += PIECE_ELEMENTS)
        merge_piece(job, at, sv_size_min(end - at, PIECE_ELEMENTS));
}

/* Adds the fresh gradients of elements begin..end-1 to the last `count` nodes that are held. The
 * sums go to the array of the new node, which is that of the first of these, a spare one, or after
 * the last leaf the session's own. */
static void merge_fresh(sv_leaves *leaves, svit_context *context, const sv_gradients *gradients,
                        uint32_t count, size_t begin, size_t end)
{
    const node *held = leaves->held + leaves->held_count - count;
    merge job = {.kernels = context->kernels,
                 .to = at_last(leaves) ? gradients->values
                       : count > 0     ? held->values
                                       : leaves->spare[leaves->spare_count - 1],
                 .fresh = leaves->fresh,
                 .held = held,
                 .count = count,
                 .begin = begin,
                 .elements = end - begin};
    sv_pool_run(context->pool, merge_chunk, &job,
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
    const svit_bucket bucket = {.struct_size = sizeof bucket,
                                .number = leaves->buckets++,
                                .elements = end - begin,
                                .count = count + 1,
                                .partials = partials,
                                .sum = (float *)(void *)(sum + begin)};
    if (leaves->status == SVIT_OK)
        keep_status(leaves, "the reducer's begin",
                    leaves->reducer.begin(leaves->reducer.user, &bucket, &leaves->failure));
}

void sv_leaves_end_layer(sv_leaves *leaves, svit_context *context, const sv_gradients *gradients,
                         size_t layer, bool is_lowest)
{
    const size_t low = leaves->groups.first[layer];
    if (!is_lowest && leaves->groups.first[layer - 1] == low)
        return;
    node own = {.index = leaves->first + leaves->done};
    const uint32_t merged = climb(&own, leaves->held, leaves->held_count, leaves->reducer.leaves);
    if (low < leaves->added)
        merge_fresh(leaves, context, gradients, merged, low, leaves->added);
    leaves->added = sv_size_min(leaves->added, low);
    if (!at_last(leaves) || leaves->reducer.ranks == 1 || leaves->begun == low ||
        (low > 0 && leaves->begun - low < BUCKET_ELEMENTS))
        return;
    begin_bucket(leaves, gradients->values, &own, leaves->held_count - merged, low, leaves->begun);
    leaves->begun = low;
}

/* Gives the arrays of the last `count` nodes that are held back. */
static void release_held(sv_leaves *leaves, uint32_t count)
{
    for (; count > 0; count--)
        leaves->spare[leaves->spare_count++] = leaves->held[--leaves->held_count].values;
}

svit_status sv_leaves_end(sv_leaves *leaves, svit_error *err)
{
    const bool is_last = at_last(leaves);
    node own = {.index = leaves->first + leaves->done++};
    const uint32_t merged = climb(&own, leaves->held, leaves->held_count, leaves->reducer.leaves);
    leaves->added = leaves->elements;
    release_held(leaves, merged);
    if (!is_last) {
        /* The array that was given back last is that of the first of these nodes, with the sums. */
        own.values = leaves->spare[--leaves->spare_count];
        leaves->held[leaves->held_count++] = own;
        return SVIT_OK;
    }
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
    if (leaves->buckets > 0) {
        leaves->buckets = 0;
        keep_status(leaves, "the reducer's finish",
                    leaves->reducer.finish(leaves->reducer.user, &leaves->failure));
        if (leaves->status != SVIT_OK)
            return svit_error_set(err, leaves->status, leaves->failure.message);
    }
    return SVIT_OK;
}

void sv_leaves_restart(svit_context *context, sv_leaves *leaves)
{
    finish_begun(context, leaves);
    release_held(leaves, leaves->held_count);
    leaves->done = 0;
    leaves->buckets = 0;
    leaves->added = leaves->begun = leaves->elements;
    leaves->status = SVIT_OK;
    leaves->failure = (svit_error){.struct_size = sizeof leaves->failure};
}
