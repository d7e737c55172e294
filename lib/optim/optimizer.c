/* The table of optimisers, their memory, and the frame of an update: norm, clipping, chunks over
 * the workers, moving average. */
#include "optim/optimizer.h"

#include "optim/update.h"

#include <assert.h>
#include <math.h>
#include <stdalign.h>
#include <string.h>

#define SV_OPTIMIZER(constant, name) extern const sv_optimizer_ops sv_optimizer_##name;
#include "optim/optimizer_list.h"
#undef SV_OPTIMIZER

static const sv_optimizer_ops *const OPTIMIZERS[] = {
#define SV_OPTIMIZER(constant, name) [SVIT_OPTIMIZER_##constant] = &sv_optimizer_##name,
#include "optim/optimizer_list.h"
#undef SV_OPTIMIZER
};

const sv_optimizer_ops *sv_optimizer_ops_of(int32_t kind)
{
    assert(OPTIMIZERS[kind]->scalars_bytes <= SV_UPDATE_SCALARS_BYTES);
    return OPTIMIZERS[kind];
}

/* Elements that one worker updates at a time: 1 MiB of weights, gradients and two slots. */
enum { CHUNK = 65536 };

/* Whether weight decay applies to the parameter; `exclude` is a sum of SVIT_EXCLUDE_*. */
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

/* Splits the flat arrays into chunks of at most CHUNK elements in which all parameters decay or
 * none does. Returns the number of chunks. `chunks` may be NULL, to count only. */
static size_t split(sv_chunk *chunks, const sv_parameter_table *table, uint32_t exclude)
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
    size_t count = split(NULL, optim->table, optim->config.decay_exclude);
    SVIT_TRY(sv_allocate_array(&optim->context->allocator, (void **)&optim->chunks, count,
                               sizeof *optim->chunks, "the chunks of an update", err));
    optim->chunk_count = split(optim->chunks, optim->table, optim->config.decay_exclude);
    for (size_t i = 0; i < SV_OPTIMIZER_SLOTS && optim->ops->slots[i]; i++)
        SVIT_TRY(add_slot(optim, optim->ops->slots[i], err));
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
    optim->ops = sv_optimizer_ops_of(config->kind);
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
    real scale; /* of the gradients, by clipping */
    real decay; /* of the chunks that decay */
    alignas(max_align_t) unsigned char scalars[SV_UPDATE_SCALARS_BYTES];
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
    sv_update_chunk part = {.elements = chunk->elements,
                            .weights = job->weights + chunk->begin,
                            .gradients = job->gradients + chunk->begin,
                            .scale = job->scale,
                            .decay = chunk->decays ? job->decay : 0};
    for (size_t i = 0; i < SV_OPTIMIZER_SLOTS && optim->ops->slots[i]; i++)
        part.slots[i] = optim->slots[i].values + chunk->begin;
    optim->ops->update(&part, job->scalars);
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
        return sv_fail(
            err, SVIT_E_STATE,
            "the model holds the average of its weights; call svit_optimizer_swap_ema to "
            "get the weights back before training goes on");
    double norm = sv_gradient_norm(optim, gradients);
    if (!isfinite(norm))
        return fail_not_finite(optim, gradients, err);
    double limit = optim->config.clip_norm;
    double scale = limit > 0 && norm > limit ? limit / norm : 1;

    update_job job = {.optim = optim,
                      .weights = weights,
                      .gradients = gradients,
                      .scale = (real)scale,
                      .decay = (real)sv_decay(&optim->config, optim->steps)};
    optim->ops->plan(job.scalars, &optim->config, optim->steps);
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
