/* Lets the ranks of a run agree: on failures, sums and settings. */
#include "trainer/ranks.h"

#include "base/size.h"
#include "session/leaves.h"

#include <stdio.h>
#include <string.h>

/* What the ranks meet for. */
enum { MEETING_STATUS = 1, MEETING_ITEMS, MEETING_STOP, MEETING_SAME };

/* What each rank brings to a point where all meet. It has the same size everywhere, so that a rank
 * that has failed can bring its message wherever the others are. */
struct sv_rank_chunk {
    int32_t status;
    uint32_t meeting; /* MEETING_*; of a failure it does not matter */
    /* Of a failure its message, else data of the caller. */
    unsigned char bytes[sizeof(((svit_error *)0)->message)];
};

sv_ranks sv_ranks_alone(void)
{
    return (sv_ranks){.reducer = {.struct_size = sizeof(svit_reducer), .ranks = 1}};
}

/* Reads a reducer, by which a trainer has to reach the other ranks. */
static svit_status read_reducer(svit_reducer *local, const svit_reducer *reducer, svit_error *err)
{
    SVIT_TRY(sv_reducer_read(local, reducer, err));
    if (local->ranks > 1 && !local->gather)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "gather of the reducer is NULL, which a trainer accepts with 1 rank alone");
    return SVIT_OK;
}

svit_status sv_ranks_open(sv_ranks *ranks, svit_context *context, const svit_reducer *reducer,
                          svit_error *err)
{
    svit_reducer own;
    SVIT_TRY(read_reducer(&own, reducer, err));
    *ranks = (sv_ranks){.allocator = &context->allocator, .reducer = own};
    if (own.ranks == 1)
        return SVIT_OK;
    return sv_allocate_array(ranks->allocator, (void **)&ranks->chunks, own.ranks,
                             sizeof *ranks->chunks, "what the ranks exchange", err);
}

/* Calls the reducer's `gather`. */
static svit_status call_gather(const svit_reducer *reducer, const void *mine, void *all,
                               size_t bytes, svit_error *err)
{
    svit_error said = {.struct_size = sizeof said};
    const svit_status status = reducer->gather(reducer->user, mine, all, bytes, &said);
    if (status == SVIT_OK)
        return SVIT_OK;
    return sv_fail_function(err, status, "the reducer's gather", said.message);
}

/* Collects the statuses of all ranks in all[ranks], and returns the failure of the lowest rank that
 * has one. */
static svit_status collect_statuses(const svit_reducer *reducer, svit_status mine, int8_t *all,
                                    svit_error *err)
{
    const int8_t own = (int8_t)mine;
    SVIT_TRY(call_gather(reducer, &own, all, sizeof own, err));
    for (uint32_t rank = 0; rank < reducer->ranks; rank++)
        if (all[rank] != SVIT_OK)
            return sv_fail(err, all[rank], "rank %u of %u could not begin: %s", rank,
                           reducer->ranks, svit_status_name(all[rank]));
    return SVIT_OK;
}

svit_status sv_ranks_begin(const svit_reducer *reducer, svit_status mine, svit_error *err)
{
    svit_reducer own;
    int8_t few[4096], *all = few;
    const sv_allocator allocator = sv_allocator_default();
    svit_error cause = {.struct_size = sizeof cause};
    if (!reducer || read_reducer(&own, reducer, NULL) != SVIT_OK || own.ranks == 1)
        return mine;
    const bool are_many = own.ranks > sizeof few;
    if (are_many)
        all = sv_allocate(&allocator, own.ranks);
    const svit_status status = all ? collect_statuses(&own, mine, all, &cause)
                                   : sv_fail_memory(&cause, own.ranks, "the ranks' statuses");
    if (are_many)
        sv_release(&allocator, all, own.ranks);
    if (mine != SVIT_OK || status == SVIT_OK)
        return mine;
    return svit_error_set(err, status, cause.message);
}

void sv_ranks_close(sv_ranks *ranks)
{
    if (ranks->chunks)
        sv_release(ranks->allocator, ranks->chunks, ranks->reducer.ranks * sizeof *ranks->chunks);
    ranks->chunks = NULL;
}

bool sv_ranks_writes(const sv_ranks *ranks)
{
    return ranks->reducer.rank == 0;
}

/* Keeps the failure with which all ranks end, and returns it. */
static svit_status end(sv_ranks *ranks, svit_status status, const char *message, svit_error *err)
{
    ranks->failure = (svit_error){.struct_size = sizeof ranks->failure};
    svit_error_set(&ranks->failure, status, message);
    return svit_error_set(err, status, message);
}

static svit_status gather(sv_ranks *ranks, const void *mine, void *all, size_t bytes,
                          svit_error *err)
{
    svit_error cause = {.struct_size = sizeof cause};
    const svit_status status = call_gather(&ranks->reducer, mine, all, bytes, &cause);
    return status == SVIT_OK ? SVIT_OK : end(ranks, status, cause.message, err);
}

/* Ends all ranks with the failure of the lowest one that has brought one. */
static svit_status look_for_failure(sv_ranks *ranks, svit_error *err)
{
    for (uint32_t rank = 0; rank < ranks->reducer.ranks; rank++) {
        const sv_rank_chunk *chunk = &ranks->chunks[rank];
        if (chunk->status == SVIT_OK)
            continue;
        char message[sizeof ranks->failure.message + 40];
        snprintf(message, sizeof message, "rank %u of %u: %.*s", rank, ranks->reducer.ranks,
                 (int)sizeof chunk->bytes, (const char *)chunk->bytes);
        return end(ranks, chunk->status, message, err);
    }
    return SVIT_OK;
}

/* SVIT_E_STATE if a rank meets the others for something else than rank 0, so that what it brings is
 * not what they take it for. */
static svit_status look_for_stranger(sv_ranks *ranks, svit_error *err)
{
    for (uint32_t rank = 1; rank < ranks->reducer.ranks; rank++) {
        char message[160];
        if (ranks->chunks[rank].meeting == ranks->chunks[0].meeting)
            continue;
        snprintf(message, sizeof message,
                 "rank %u of %u has called another function of its trainer than rank 0; all ranks "
                 "call the same ones in the same order",
                 rank, ranks->reducer.ranks);
        return end(ranks, SVIT_E_STATE, message, err);
    }
    return SVIT_OK;
}

/* Exchanges one chunk with all ranks, which call this at the same point and for the same `meeting`:
 * sends the status `mine` and data[bytes], at most sizeof chunk->bytes, and receives the chunks of
 * all ranks in ranks->chunks. Returns the failure of the lowest rank that has one; it ends the run,
 * and later calls return it again. */
static svit_status meet(sv_ranks *ranks, uint32_t meeting, svit_status mine, const void *data,
                        size_t bytes, svit_error *err)
{
    if (ranks->failure.code != SVIT_OK)
        return svit_error_set(err, ranks->failure.code, ranks->failure.message);
    sv_rank_chunk own = {.status = mine, .meeting = meeting};
    if (bytes > 0)
        memcpy(own.bytes, data, bytes);
    SVIT_TRY(gather(ranks, &own, ranks->chunks, sizeof own, err));
    SVIT_TRY(look_for_failure(ranks, err));
    return look_for_stranger(ranks, err);
}

svit_status sv_ranks_agree(sv_ranks *ranks, svit_status mine, svit_error *err)
{
    if (!ranks->chunks)
        return mine;
    return meet(ranks, MEETING_STATUS, mine, err->message,
                mine == SVIT_OK ? 0 : sizeof err->message, err);
}

/* Collects shares[ranks, bytes], each of which begins with what a rank has. */
static svit_status collect_shares(sv_ranks *ranks, const void *mine, unsigned char *shares,
                                  size_t bytes, svit_error *err)
{
    const bool fits = bytes <= sizeof ranks->chunks->bytes;
    SVIT_TRY(meet(ranks, MEETING_ITEMS, SVIT_OK, mine, fits ? bytes : 0, err));
    if (!fits)
        return gather(ranks, mine, shares, bytes, err);
    for (size_t rank = 0; rank < ranks->reducer.ranks; rank++)
        memcpy(shares + rank * bytes, ranks->chunks[rank].bytes, bytes);
    return SVIT_OK;
}

svit_status sv_ranks_collect(sv_ranks *ranks, const void *mine, void *all, size_t items,
                             size_t bytes, svit_error *err)
{
    const size_t count = ranks->reducer.ranks, share = (items + count - 1) / count * bytes;
    if (!ranks->chunks) {
        memcpy(all, mine, items * bytes);
        return SVIT_OK;
    }
    unsigned char *shares, *to = all;
    SVIT_TRY(sv_allocate_array(ranks->allocator, (void **)&shares, count + 1, share,
                               "what the ranks exchange", err));
    unsigned char *own = shares + count * share;
    const size_t first = sv_size_partition(items, count, ranks->reducer.rank);
    memcpy(own, mine, (sv_size_partition(items, count, ranks->reducer.rank + 1) - first) * bytes);
    svit_status status = collect_shares(ranks, own, shares, share, err);
    for (size_t rank = 0; rank < count && status == SVIT_OK; rank++) {
        const size_t n =
            sv_size_partition(items, count, rank + 1) - sv_size_partition(items, count, rank);
        memcpy(to, shares + rank * share, n * bytes);
        to += n * bytes;
    }
    sv_release(ranks->allocator, shares, (count + 1) * share);
    return status;
}

svit_status sv_ranks_go_on(const sv_ranks *ranks, const svit_context *context, int32_t *asked,
                           svit_error *err)
{
    *asked = ranks->reducer.ranks == 1 ? sv_context_stop_value(context) : 0;
    return *asked ? sv_context_fail_stopped(*asked, err) : SVIT_OK;
}

svit_status sv_ranks_agree_on_stop(sv_ranks *ranks, sv_stop *stop, svit_error *err)
{
    if (!ranks->chunks)
        return SVIT_OK;
    SVIT_TRY(meet(ranks, MEETING_STOP, SVIT_OK, stop, sizeof *stop, err));
    stop->value = 0;
    for (uint32_t rank = 0; rank < ranks->reducer.ranks && stop->value == 0; rank++)
        memcpy(stop, ranks->chunks[rank].bytes, sizeof *stop);
    return SVIT_OK;
}

svit_status sv_ranks_check_same(sv_ranks *ranks, const char *const *names, const uint64_t *values,
                                size_t count, svit_error *err)
{
    if (!ranks->chunks)
        return SVIT_OK;
    SVIT_TRY(meet(ranks, MEETING_SAME, SVIT_OK, values, count * sizeof *values, err));
    for (size_t i = 0; i < count; i++)
        for (uint32_t rank = 1; rank < ranks->reducer.ranks; rank++) {
            char message[160];
            const size_t at = i * sizeof *values;
            if (memcmp(ranks->chunks[rank].bytes + at, ranks->chunks[0].bytes + at,
                       sizeof *values) == 0)
                continue;
            snprintf(message, sizeof message,
                     "rank %u of %u has other %s than rank 0; all ranks need the same", rank,
                     ranks->reducer.ranks, names[i]);
            return end(ranks, SVIT_E_ARGUMENT, message, err);
        }
    return SVIT_OK;
}
