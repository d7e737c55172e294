/* Partial gradients and their reduction. */
#include "layers/linear/partial_gradients.h"

#include <string.h>

/* 32 chunks keep many workers busy; 64 MiB of sums bound the time of clearing and adding them. */
enum { CHUNKS_MAX = 32, SUMS_BYTES_MAX = 64 << 20 };

size_t sv_reduction_chunks_max(size_t n, size_t bytes)
{
    size_t chunks = sv_size_min(sv_size_max(SUMS_BYTES_MAX / bytes, 1), CHUNKS_MAX);
    return sv_size_min(chunks, n);
}

size_t sv_reduction_chunk_images(size_t n, size_t bytes)
{
    return sv_block_count(n, sv_reduction_chunks_max(n, bytes));
}

void sv_partial_gradients_take(sv_arena *arena, sv_partial_gradient *list, size_t count,
                               size_t chunks)
{
    for (size_t i = 0; i < count; i++)
        list[i].sums = sv_arena_reals(arena, chunks, list[i].elements);
}

void sv_partial_gradients_clear(const sv_partial_gradient *list, size_t count, size_t chunk)
{
    for (size_t i = 0; i < count; i++)
        memset(sv_partial_gradient_of(&list[i], chunk), 0, list[i].elements * sizeof(real));
}

real *sv_partial_gradient_total(const sv_run *run, const sv_partial_gradient *partial,
                                size_t chunks)
{
    run->exec.context->kernels->add_rows(partial->sums, sv_partial_gradient_of(partial, 1),
                                         chunks - 1, partial->elements);
    return partial->sums;
}

typedef struct reduce_call {
    const sv_run *run;
    size_t chunks;
    const sv_partial_gradient *list;
} reduce_call;

static void reduce_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const reduce_call *call = argument;
    const sv_partial_gradient *partial = &call->list[task];
    if (partial->parameter != SV_NO_PARAMETER)
        call->run->exec.context->kernels->add_rows(sv_gradient(call->run, partial->parameter),
                                                   partial->sums, call->chunks, partial->elements);
}

void sv_partial_gradients_reduce(const sv_run *run, const sv_partial_gradient *list, size_t count,
                                 size_t chunks)
{
    reduce_call call = {run, chunks, list};
    sv_run_tasks(&run->exec, reduce_task, &call, count);
}
