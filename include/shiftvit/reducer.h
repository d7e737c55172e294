/* Data-parallel training: what adds the gradients of several processes or threads, in a fixed
 * order.
 *
 * A batch is cut into leaves, whose number does not depend on who computes them. Each rank runs
 * svit_forward and svit_backward for each of its leaves, and the session adds the leaves' gradients
 * in one binary tree: at each level the sums of leaves 2 i 2^level and (2 i + 1) 2^level, each of
 * 2^level leaves, become one, and a sum without a partner stays as it is. A rank adds what it has
 * alone; a reducer adds the rest. So the bits of a step depend on the batch, the leaves and the
 * seed, and not on the ranks, provided that the reducer's additions are those of the library: in
 * float32, rounded to nearest, with subnormal operands and results flushed to zero on x86 (FTZ and
 * DAZ of MXCSR) and Arm (FZ). <shiftvit/mpi.h> has a reducer over MPI; a program may bring its own.
 *
 * In a loop of the program's own, leaf l of a batch of N images (fewer at the end of an epoch) has
 * k = svit_partition_begin(N, leaves, l + 1) - svit_partition_begin(N, leaves, l) of them, which
 * may be 0; max_batch of the session is at least that of the largest leaf. A loader of the rank
 * returns the images of its leaves one behind the other. The gradient of a leaf's mean loss is
 * multiplied by k / N. Before each forward svit_session_set_counter gets a number that step and
 * leaf determine, such as step * leaves + l. */
#ifndef SHIFTVIT_REDUCER_H
#define SHIFTVIT_REDUCER_H

#include <shiftvit/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The sum of the gradients of the leaves from `leaf` to the end of a node of the tree. */
typedef struct svit_partial_sum {
    uint64_t leaf; /* the first of the node; two nodes of a bucket never have the same */
    float *values; /* [elements] of the bucket */
} svit_partial_sum;

/* A range of the gradients of which this rank has computed all that it can. Ranks begin the same
 * buckets in the same order. */
typedef struct svit_bucket {
    uint32_t struct_size; /* bytes that the library has filled */
    uint32_t reserved;    /* 0 */
    uint64_t number;      /* 0, 1, ...: since the last optimiser step */
    uint64_t elements;    /* at least 1 */
    uint64_t count;       /* of partial sums, at least 1 */
    const svit_partial_sum
        *partials; /* [count], in ascending order of leaves; valid during the call */
    float *sum; /* [elements]: becomes the sum of all leaves; the `values` of one of the partials */
} svit_bucket;

/* The functions of a reducer run on threads that call into the session. They may not call it, and
 * must not throw, nor leave by longjmp. `err` is not NULL, and a failure's message goes to
 * err->message. A positive status is a failure too, SVIT_E_STOPPED. */

/* Begins to add a bucket, and returns; the arrays stay where they are until svit_reducer.finish
 * returns. The reducer may change them. It is called while the backward of lower layers is still to
 * come, so that the transfer overlaps with it. A failure is returned by svit_backward, and this
 * rank begins none of the later buckets. A `begin` that fails on one rank alone leaves the others
 * waiting for them in `finish`, unless the reducer tells them: what it needs, such as memory, it
 * gets beforehand. */
typedef svit_status (*svit_reducer_begin_function)(void *user, const svit_bucket *bucket,
                                                   svit_error *err);

/* Returns when the sums of all buckets that were begun are in place: svit_step calls it. A failure
 * is returned by svit_step, which then changes no weight. Where buckets were begun and no svit_step
 * came, svit_session_zero_gradients, svit_session_set_reducer and svit_session_free call it before
 * they touch the arrays, so `user` lives longer than the session. */
typedef svit_status (*svit_reducer_finish_function)(void *user, svit_error *err);

/* Collects `bytes` bytes of each rank: all[ranks, bytes], the same on all of them. A trainer calls
 * it, on every rank and in the same order: for metrics, for failures and to end together. */
typedef svit_status (*svit_reducer_gather_function)(void *user, const void *mine, void *all,
                                                    size_t bytes, svit_error *err);

/* What adds the sums of several ranks, and the place of one session among them. */
typedef struct svit_reducer {
    uint32_t struct_size;                /* sizeof(svit_reducer) */
    uint32_t leaves;                     /* of a batch: 1 to 65536, at least `ranks` */
    uint32_t rank;                       /* of the session: 0 to ranks - 1 */
    uint32_t ranks;                      /* 1 or more */
    void *user;                          /* passed to the functions */
    svit_reducer_begin_function begin;   /* may be NULL with one rank */
    svit_reducer_finish_function finish; /* may be NULL with one rank */
    svit_reducer_gather_function gather; /* may be NULL with one rank, and without a trainer */
} svit_reducer;

/* Fills `reducer` with the defaults: one leaf, rank 0 of one rank, without functions. `size` is
 * sizeof(svit_reducer) as the caller was compiled. Any thread may call it. */
SVIT_API svit_status svit_reducer_init(svit_reducer *reducer, size_t size);

/* One addition of the tree between sums that no single rank can add: the sum that begins with leaf
 * `from` is added to the one that begins with leaf `to`. */
typedef struct svit_reduction {
    uint64_t to;        /* a leaf */
    uint64_t from;      /* a leaf behind it */
    uint32_t to_rank;   /* who has the sum at `to` */
    uint32_t from_rank; /* who has the sum at `from`; may be the same */
} svit_reduction;

/* The first of the items that belong to part `part` of `parts`: floor(items * part / parts). The
 * images of a leaf in a batch of n are svit_partition_begin(n, leaves, leaf) up to that of leaf +
 * 1, and so are the leaves of a rank among `leaves`. `parts` is at most 2^32; 0 gives 0. Any number
 * of threads may call it. */
SVIT_API uint64_t svit_partition_begin(uint64_t items, uint64_t parts, uint64_t part);

/* Writes the additions that are left to a reducer, in an order in which they can be done, to
 * plan[capacity], and their number, at most leaves - 1, to *needed unless that is NULL. After them
 * rank 0 has the sum of all leaves at leaf 0. A capacity of 0 asks for the number alone; `plan` may
 * then be NULL. SVIT_E_ARGUMENT: leaves or ranks are out of range, or there are more additions than
 * `capacity`, if that is not 0; *needed is written in that case too. Any number of threads may call
 * it. */
SVIT_API svit_status svit_reduction_plan(uint32_t leaves, uint32_t ranks, svit_reduction *plan,
                                         size_t capacity, size_t *needed, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
