/* Optimisers: their memory, and the update that all kinds share. */
#include "optim/optimizer.h"

#include "optim/update.h"

#include <math.h>
#include <string.h>

/* Elements that one worker updates at a time: 1 MB of weights, gradients and two slots. */
enum { CHUNK = 65536 };

static int32_t decays(const sv_parameter *parameter, uint32_t exclude)
{
    switch (parameter->role) {
    case SV_ROLE_BIAS:
    case SV_ROLE_TEMPERATURE:
        return !(exclude & SVIT_EXCLUDE_BIAS);
    case SV_ROLE_NORM_WEIGHT:
    case SV_ROLE_NORM_BIAS:
        return !(exclude & SVIT_EXCLUDE_NORM);
    case SV_ROLE_POSITION:
        return !(exclude & SVIT_EXCLUDE_POSITION);
    case SV_ROLE_WEIGHT:
        break;
    }
    return 1;
}

/* Cuts the flat arrays where the decay changes and every CHUNK elements; returns how many parts.
 * `chunks` may be NULL, to count. */
static size_t cut(sv_chunk *chunks, const sv_parameter_table *table, uint32_t exclude)
{
    size_t count = 0;
    for (size_t first = 0, next; first < table->count; first = next) {
        int32_t decay = decays(&table->list[first], exclude);
        for (next = first + 1; next < table->count; next++)
            if (decays(&table->list[next], exclude) != decay)
                break;
        size_t end = table->list[next - 1].offset + table->list[next - 1].desc.elements;
        for (size_t begin = table->list[first].offset; begin < end; begin += CHUNK, count++)
            if (chunks)
                chunks[count] = (sv_chunk){.begin = begin,
                                           .elements = end - begin < CHUNK ? end - begin : CHUNK,
                                           .decays = decay};
    }
    return count;
}

static svit_status add_slot(sv_optim *optim, const char *name, svit_error *err)
{
    sv_slot *slot = &optim->slots[optim->slot_count];
    SVIT_TRY(sv_allocate_array(&optim->context->allocator, (void **)&slot->values,
                               optim->table->elements, sizeof *slot->values, "an optimiser slot",
                               err));
    slot->name = name;
    optim->slot_count++;
    return SVIT_OK;
}

static svit_status create_steps(sv_optim *optim, const real *weights, svit_error *err)
{
    size_t count = cut(NULL, optim->table, optim->config.decay_exclude);
    SVIT_TRY(sv_allocate_array(&optim->context->allocator, (void **)&optim->chunks, count,
                               sizeof *optim->chunks, "the parts of an update", err));
    optim->chunk_count = cut(optim->chunks, optim->table, optim->config.decay_exclude);
    if (optim->config.kind == SVIT_OPTIMIZER_ADAMW) {
        SVIT_TRY(add_slot(optim, "m", err));
        SVIT_TRY(add_slot(optim, "v", err));
    } else {
        SVIT_TRY(add_slot(optim, "momentum", err));
    }
    if (optim->config.ema == SVIT_EMA_NONE)
        return SVIT_OK;
    SVIT_TRY(add_slot(optim, "ema", err));
    memcpy(sv_optim_average(optim), weights, optim->table->elements * sizeof *weights);
    return SVIT_OK;
}

svit_status sv_optim_create(sv_optim **out, svit_context *context, const sv_parameter_table *table,
                            const real *weights, const svit_optimizer_config *config,
                            svit_error *err)
{
    sv_optim *optim;
    SVIT_TRY(sv_allocate_array(&context->allocator, (void **)&optim, 1, sizeof *optim,
                               "an optimiser", err));
    optim->context = sv_context_retain(context);
    optim->table = table;
    optim->config = *config;
    svit_status status = create_steps(optim, weights, err);
    if (status == SVIT_OK)
        *out = optim;
    else
        sv_optim_free(optim);
    return status;
}

void sv_optim_free(sv_optim *optim)
{
    if (!optim)
        return;
    svit_context *context = optim->context;
    for (size_t i = 0; i < optim->slot_count; i++)
        sv_release(&context->allocator, optim->slots[i].values,
                   optim->table->elements * sizeof *optim->slots[i].values);
    sv_release(&context->allocator, optim->chunks, optim->chunk_count * sizeof *optim->chunks);
    sv_release(&context->allocator, optim, sizeof *optim);
    svit_context_free(context);
}

real *sv_optim_average(const sv_optim *optim)
{
    return optim->config.ema == SVIT_EMA_NONE ? NULL : optim->slots[optim->slot_count - 1].values;
}

/* One update, as its workers see it. */
typedef struct update_job {
    const sv_optim *optim;
    real *weights;
    real *gradients;
    sv_adamw adamw;
    sv_sgd sgd;
} update_job;

static void update_average(const update_job *job, const sv_chunk *chunk)
{
    const svit_optimizer_config *config = &job->optim->config;
    real *average = sv_optim_average(job->optim);
    if (!average)
        return;
    real *e = average + chunk->begin;
    const real *w = job->weights + chunk->begin;
    if (config->ema == SVIT_EMA_KERAS && job->optim->steps == 0)
        memcpy(e, w, chunk->elements * sizeof *e);
    else
        sv_average_update(e, w, chunk->elements, (real)config->ema_momentum,
                          (real)(1 - config->ema_momentum));
}

static void update_chunk(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const update_job *job = argument;
    const sv_optim *optim = job->optim;
    const sv_chunk *chunk = &optim->chunks[task];
    real *w = job->weights + chunk->begin;
    real *g = job->gradients + chunk->begin;
    real *first = optim->slots[0].values + chunk->begin;
    if (optim->config.kind == SVIT_OPTIMIZER_ADAMW) {
        sv_adamw plan = job->adamw;
        plan.decay = chunk->decays ? plan.decay : 0;
        sv_adamw_update(w, g, first, optim->slots[1].values + chunk->begin, chunk->elements, plan);
    } else {
        sv_sgd plan = job->sgd;
        plan.decay = chunk->decays ? plan.decay : 0;
        (optim->config.nesterov ? sv_sgd_update_nesterov : sv_sgd_update)(w, g, first,
                                                                          chunk->elements, plan);
    }
    update_average(job, chunk);
}

static svit_status fail_not_finite(const sv_optim *optim, const real *gradients, svit_error *err)
{
    for (size_t i = 0; i < optim->table->count; i++) {
        const sv_parameter *parameter = &optim->table->list[i];
        for (size_t k = 0; k < parameter->desc.elements; k++)
            if (!isfinite(gradients[parameter->offset + k]))
                return sv_fail(err, SVIT_E_NUMERIC,
                               "a gradient of parameter '%s' is %g; gradients are finite",
                               parameter->name, (double)gradients[parameter->offset + k]);
    }
    return sv_fail(err, SVIT_E_NUMERIC, "the global norm of the gradients is not finite");
}

svit_status sv_optim_update(sv_optim *optim, real *weights, real *gradients, svit_error *err)
{
    if (optim->swapped)
        return sv_fail(err, SVIT_E_STATE,
                       "the model holds its average; svit_optimizer_swap_ema brings the weights "
                       "back to go on training");
    double norm = sv_gradient_norm(optim, gradients);
    if (!isfinite(norm))
        return fail_not_finite(optim, gradients, err);
    double limit = optim->config.clip_norm;
    double scale = limit > 0 && norm > limit ? limit / norm : 1;

    update_job job = {.optim = optim, .weights = weights, .gradients = gradients};
    if (optim->config.kind == SVIT_OPTIMIZER_ADAMW)
        job.adamw = sv_adamw_plan(&optim->config, optim->steps, scale);
    else
        job.sgd = sv_sgd_plan(&optim->config, optim->steps, scale);
    sv_pool_run(optim->context->pool, update_chunk, &job, optim->chunk_count);
    optim->gradient_norm = norm;
    optim->steps++;
    return SVIT_OK;
}

svit_status sv_optim_swap_ema(sv_optim *optim, real *weights, svit_error *err)
{
    real *average = sv_optim_average(optim);
    if (!average)
        return sv_fail(err, SVIT_E_STATE, "the optimiser keeps no average; ema is SVIT_EMA_NONE");
    if (optim->steps == 0)
        return sv_fail(err, SVIT_E_STATE, "there was no step yet, so there is no average");
    for (size_t i = 0; i < optim->table->elements; i++) {
        real weight = weights[i];
        weights[i] = average[i];
        average[i] = weight;
    }
    optim->swapped = !optim->swapped;
    return SVIT_OK;
}
