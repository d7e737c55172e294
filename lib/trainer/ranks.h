/* The ranks of a run: processes or threads that train one model together (shiftvit/reducer.h). They
 * meet at the same points of the run, where each brings its status: what one finds wrong, all
 * return. A rank that fails between two points brings its failure to the others' next one. */
#ifndef SV_RANKS_H
#define SV_RANKS_H

#include "context/context.h"

#include <shiftvit/reducer.h>

#include <stdbool.h>

typedef struct sv_rank_chunk sv_rank_chunk;

typedef struct sv_ranks {
    const sv_allocator *allocator;
    svit_reducer reducer;  /* ranks 1: the trainer works alone */
    sv_rank_chunk *chunks; /* [ranks]; NULL if it works alone */
    svit_error failure;    /* which all have returned; its code is SVIT_OK before that */
} sv_ranks;

/* One rank, which needs no sv_ranks_close. */
sv_ranks sv_ranks_alone(void);

/* Reads the caller's reducer. SVIT_E_ARGUMENT names what is not accepted. */
svit_status sv_ranks_open(sv_ranks *ranks, svit_context *context, const svit_reducer *reducer,
                          svit_error *err);

/* The first meeting of the ranks, before sv_ranks can be relied on: tells the others whether this
 * one can begin, and returns `mine` if it is a failure, else that of the lowest rank which cannot.
 * `err` has the message of `mine`. It returns `mine` without the others if the reducer is NULL, has
 * one rank or is not accepted. It allocates memory only for more than 4096 ranks. */
svit_status sv_ranks_begin(const svit_reducer *reducer, svit_status mine, svit_error *err);

void sv_ranks_close(sv_ranks *ranks);

/* Whether this rank writes the files of the run. */
bool sv_ranks_writes(const sv_ranks *ranks);

/* Brings `mine` to the others and returns SVIT_OK, or the failure of the lowest rank that has one,
 * with "rank R of N: " before its message. `err`, which is not NULL, has the message of `mine`.
 * After a failure it returns that failure again, without the others. */
svit_status sv_ranks_agree(sv_ranks *ranks, svit_status mine, svit_error *err);

/* Collects `items` items of `bytes` bytes each: this rank has the items from
 * svit_partition_begin(items, ranks, rank) on in `mine`, and all get all[items]. A failure is
 * returned as by sv_ranks_agree. */
svit_status sv_ranks_collect(sv_ranks *ranks, const void *mine, void *all, size_t items,
                             size_t bytes, svit_error *err);

/* Asks the context's stop function, whose answer goes to *asked. Several ranks go on, since all of
 * them would have to be asked. SVIT_E_STOPPED: it asks to stop. */
svit_status sv_ranks_go_on(const sv_ranks *ranks, const svit_context *context, int32_t *asked,
                           svit_error *err);

/* What has asked a run to stop. */
typedef struct sv_stop {
    int32_t value;       /* that a function has returned; 0: the run goes on */
    uint32_t rank;       /* whose function it was */
    int32_t is_callback; /* 1: the callback; 0: the stop function of the context */
} sv_stop;

/* Sets *stop on all ranks to that of the lowest rank whose value is not 0, if there is one. */
svit_status sv_ranks_agree_on_stop(sv_ranks *ranks, sv_stop *stop, svit_error *err);

/* SVIT_E_ARGUMENT unless values[count] are the same on all ranks; names[i] says in the message what
 * values[i] stands for. */
svit_status sv_ranks_check_same(sv_ranks *ranks, const char *const *names, const uint64_t *values,
                                size_t count, svit_error *err);

#endif
