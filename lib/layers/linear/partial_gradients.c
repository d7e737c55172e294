/* Partial gradients and their reduction. */
#include "layers/linear/partial_gradients.h"

#include <string.h>

/* 32 chunks keep many workers busy; 64 MiB of sums bound the time of clearing and adding them. */
enum { CHUNKS_MAX = 32, SUMS_BYTES_MAX = 64 << 20 };

/* Elements of a gradient that a task adds at a time, so that their sums stay in L1. Most elements
 * of a block belong to two parameters, so the workers share the pieces of each. */
enum { PIECE = 4096 };

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

real *sv_partial_gradient_if_read(const sv_run *run, const sv_partial_gradient *partial,
                                  size_t chunk)
{
    return partial->parameter == SV_NO_PARAMETER || sv_gradient(run, partial->parameter)
               ? sv_partial_gradient_of(partial, chunk)
               : NULL;
}

/* None of a parameter that the layer reduces itself, or that is frozen. */
static size_t piece_count(const sv_run *run, const sv_partial_gradient *partial)
{
    return sv_gradient(run, partial->parameter) ? sv_block_count(partial->elements, PIECE) : 0;
}

/* Tasks are the pieces of the first gradient, then those of the second one, and so on. */
static void reduce_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const reduce_call *call = argument;
    const sv_partial_gradient *partial = call->list;
    for (; task >= piece_count(call->run, partial); partial++)
        task -= piece_count(call->run, partial);
    const size_t first = task * PIECE, elements = sv_block_length(partial->elements, first, PIECE);
    real *sum = sv_gradient(call->run, partial->parameter) + first;
    for (size_t chunk = 0; chunk < call->chunks; chunk++)
        call->run->exec.context->kernels->add(sum, sv_partial_gradient_of(partial, chunk) + first,
                                              elements);
}

void sv_partial_gradients_reduce(const sv_run *run, const sv_partial_gradient *list, size_t count,
                                 size_t chunks)
{
    reduce_call call = {run, chunks, list};
    size_t tasks = 0;
    for (size_t i = 0; i < count; i++)
        tasks += piece_count(run, &list[i]);
    sv_run_tasks(&run->exec, reduce_task, &call, tasks);
}
