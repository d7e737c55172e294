/* Groups of images and the sums of their shares. */
#include "layers/partial_gradients.h"

#include <string.h>

/* Enough for many workers, and not so much that clearing and adding is a burden. */
enum { GROUPS = 32, SHARES_BYTES = 64 << 20 };

size_t sv_reduction_chunks_max(size_t n, size_t bytes)
{
    size_t groups = SHARES_BYTES / bytes;
    groups = groups < 1 ? 1 : groups > GROUPS ? GROUPS : groups;
    return groups < n ? groups : n;
}

size_t sv_reduction_chunk_images(size_t n, size_t bytes)
{
    return sv_block_count(n, sv_reduction_chunks_max(n, bytes));
}

void sv_partial_gradients_take(sv_arena *arena, sv_partial_gradient *list, size_t count,
                               size_t groups)
{
    for (size_t i = 0; i < count; i++)
        list[i].shares = sv_arena_reals(arena, groups, list[i].elements);
}

void sv_partial_gradients_clear(const sv_partial_gradient *list, size_t count, size_t group)
{
    for (size_t i = 0; i < count; i++)
        memset(sv_partial_gradient_of(&list[i], group), 0, list[i].elements * sizeof(real));
}

typedef struct share_call {
    const sv_run *run;
    size_t groups;
    const sv_partial_gradient *list;
} share_call;

static void share_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const share_call *call = argument;
    const sv_partial_gradient *share = &call->list[task];
    if (share->parameter != SV_NO_PARAMETER)
        call->run->exec.context->kernels->add_rows(call->run->gradients + share->parameter,
                                                   share->shares, call->groups, share->elements);
}

void sv_partial_gradients_reduce(const sv_run *run, const sv_partial_gradient *list, size_t count,
                                 size_t groups)
{
    share_call call = {run, groups, list};
    sv_run_tasks(&run->exec, share_task, &call, count);
}
