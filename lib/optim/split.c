/* Splits the parameters of an optimiser into the work of one update: chunks of elements, and
 * matrices. */
#include "optim/update.h"

/* Elements that one worker updates at a time: 1 MiB of weights, gradients and two slots. */
enum { CHUNK = 65536 };

static bool same_settings(const sv_parameter_settings *a, const sv_parameter_settings *b)
{
    return a->lr_scale == b->lr_scale && a->weight_decay == b->weight_decay &&
           a->trainable == b->trainable && a->is_matrix == b->is_matrix;
}

/* Splits the flat arrays into chunks of at most CHUNK elements whose parameters all have the same
 * settings. Returns the number of chunks. `chunks` may be NULL, to count only. */
static size_t split_chunks(sv_chunk *chunks, const sv_optim *optim)
{
    const sv_parameter *list = optim->table->list;
    size_t count = 0;
    for (size_t first = 0, next; first < optim->table->count; first = next) {
        const sv_parameter_settings *settings = &optim->settings[first];
        for (next = first + 1; next < optim->table->count; next++)
            if (!same_settings(&optim->settings[next], settings))
                break;
        size_t end = list[next - 1].offset + list[next - 1].desc.elements;
        for (size_t begin = list[first].offset; begin < end; begin += CHUNK, count++)
            if (chunks)
                chunks[count] = (sv_chunk){.begin = begin,
                                           .elements = sv_size_min(end - begin, CHUNK),
                                           .settings = settings};
    }
    return count;
}

/* Multiply-adds of a Newton-Schulz step. */
static double multiply_adds(const sv_parameter *parameter)
{
    double m = (double)sv_size_min(sv_matrix_rows(parameter), sv_matrix_columns(parameter));
    return m *
           (m + 2 * (double)sv_size_max(sv_matrix_rows(parameter), sv_matrix_columns(parameter))) *
           m;
}

/* Lists the matrices, those of most work first, so that the workers end at about the same time. */
static size_t list_matrices(uint32_t *matrices, const sv_optim *optim)
{
    size_t count = 0;
    for (size_t i = 0; i < optim->table->count; i++) {
        if (!sv_updates_as_matrix(&optim->settings[i]))
            continue;
        size_t at = count++;
        if (!matrices)
            continue;
        double work = multiply_adds(&optim->table->list[i]);
        for (; at > 0 && multiply_adds(&optim->table->list[matrices[at - 1]]) < work; at--)
            matrices[at] = matrices[at - 1];
        matrices[at] = (uint32_t)i;
    }
    return count;
}

/* Bytes of workspace for the largest matrix, a multiple of SV_ALIGNMENT; 0 without matrices.
 * SVIT_E_MEMORY if they overflow. */
static svit_status plan_workspace(size_t *bytes, const sv_optim *optim, svit_error *err)
{
    *bytes = 0;
    for (size_t i = 0; i < optim->table->count; i++) {
        const sv_parameter *parameter = &optim->table->list[i];
        if (!sv_updates_as_matrix(&optim->settings[i]))
            continue;
        size_t needed = optim->ops->matrix_bytes(optim->context, sv_matrix_rows(parameter),
                                                 sv_matrix_columns(parameter));
        if (needed == 0)
            return sv_fail(err, SVIT_E_MEMORY, "parameter '%s' is too large for the optimiser",
                           parameter->name);
        *bytes = sv_size_max(*bytes, needed);
    }
    return SVIT_OK;
}

static svit_status allocate(sv_optim *split, svit_error *err)
{
    const sv_allocator *allocator = &split->context->allocator;
    split->chunk_count = split_chunks(NULL, split);
    split->matrix_count = list_matrices(NULL, split);
    SVIT_TRY(plan_workspace(&split->workspace_bytes, split, err));
    SVIT_TRY(sv_allocate_array(allocator, (void **)&split->chunks, split->chunk_count,
                               sizeof *split->chunks, "the chunks of an update", err));
    if (split->matrix_count == 0)
        return SVIT_OK;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&split->matrices, split->matrix_count,
                               sizeof *split->matrices, "the matrices of an update", err));
    return sv_allocate_uncleared(allocator, (void **)&split->workspace,
                                 sv_pool_threads(split->context->pool), split->workspace_bytes,
                                 "the workspace of an update", err);
}

svit_status sv_optim_split(sv_optim *optim, svit_error *err)
{
    sv_optim split = *optim;
    split.chunks = NULL;
    split.matrices = NULL;
    split.workspace = NULL;
    svit_status status = allocate(&split, err);
    if (status != SVIT_OK) {
        sv_optim_split_free(&split);
        return status;
    }
    split_chunks(split.chunks, &split);
    list_matrices(split.matrices, &split);
    sv_optim_split_free(optim);
    *optim = split;
    return SVIT_OK;
}

void sv_optim_split_free(sv_optim *optim)
{
    const sv_allocator *allocator = &optim->context->allocator;
    sv_release(allocator, optim->chunks, optim->chunk_count * sizeof *optim->chunks);
    sv_release(allocator, optim->matrices, optim->matrix_count * sizeof *optim->matrices);
    sv_release(allocator, optim->workspace,
               sv_pool_threads(optim->context->pool) * optim->workspace_bytes);
}
