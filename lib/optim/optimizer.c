/* The table of optimisers, their memory, and the frame of an update: norm, clipping, matrices and
 * chunks over the workers, averages. */
#include "optim/optimizer.h"

#include "optim/update.h"

#include <float.h>
#include <inttypes.h>
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
    return OPTIMIZERS[kind];
}

static svit_status add_slot(sv_optim *optim, const char *name, svit_error *err)
{
    sv_slot *slot = &optim->slots[optim->slot_count];
    SVIT_TRY(sv_pool_allocate(optim->context->pool, &optim->context->allocator,
                              (void **)&slot->values, optim->subset.elements, sizeof *slot->values,
                              "an optimiser slot", err));
    slot->name = name;
    optim->slot_count++;
    return SVIT_OK;
}

/* Lets the average and the slow weights, the slots behind those of the ops, start as the
 * weights. */
static void start_copies(sv_optim *optim, const real *weights)
{
    size_t i = 0;
    while (i < SV_OPTIMIZER_SLOTS && optim->ops->slots[i])
        i++;
    for (; i < optim->slot_count; i++)
        sv_subset_gather(&optim->subset, optim->slots[i].values, weights);
}

static svit_status create_members(sv_optim *optim, const real *weights, svit_error *err)
{
    SVIT_TRY(sv_allocate_array(&optim->context->allocator, (void **)&optim->settings,
                               optim->table->count, sizeof *optim->settings,
                               "the settings of the parameters", err));
    SVIT_TRY(
        sv_parameter_settings_make(optim->settings, optim->table, &optim->config, optim->ops, err));
    SVIT_TRY(sv_optim_split(optim, err));
    for (size_t i = 0; i < SV_OPTIMIZER_SLOTS && optim->ops->slots[i]; i++)
        SVIT_TRY(add_slot(optim, optim->ops->slots[i], err));
    if (optim->config.lookahead > 0) {
        SVIT_TRY(add_slot(optim, "slow", err));
        optim->slow = optim->slots[optim->slot_count - 1].values;
    }
    if (optim->config.ema != SVIT_EMA_NONE)
        SVIT_TRY(add_slot(optim, "ema", err));
    start_copies(optim, weights);
    return SVIT_OK;
}

static bool has_slots(const sv_parameter *parameter, const void *user)
{
    const sv_parameter_subset *gradients = user;
    return !parameter->frozen &&
           (!gradients || sv_subset_place(gradients, parameter->offset) != SV_NO_PLACE);
}

svit_status sv_optim_create(sv_optim **out, svit_context *context, const sv_parameter_table *table,
                            const sv_parameter_subset *gradients, const real *weights,
                            const svit_optimizer_config *config, svit_error *err)
{
    sv_optim *optim;
    SVIT_TRY(sv_allocate_array(&context->allocator, (void **)&optim, 1, sizeof *optim,
                               "an optimiser", err));
    optim->context = sv_context_retain(context);
    optim->table = table;
    optim->config = *config;
    optim->ops = sv_optimizer_ops_of(config->kind);
    optim->rate = -1;
    svit_status status = sv_parameter_subset_make(&optim->subset, table, has_slots, gradients, err);
    if (status == SVIT_OK)
        status = create_members(optim, weights, err);
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
                   optim->subset.elements * sizeof *optim->slots[i].values);
    sv_parameter_subset_free(&optim->subset, &optim->table->allocator);
    sv_optim_split_free(optim);
    sv_release(&context->allocator, optim->settings, optim->table->count * sizeof *optim->settings);
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
    const sv_gradients *gradients;
    real scale;                /* of the gradients, by clipping */
    double rate, element_rate; /* learning rates of matrices and of elements, for weight decay */
    alignas(max_align_t) unsigned char scalars[SV_UPDATE_SCALARS_BYTES];
} update_job;

/* The elements begin..begin+elements-1, which all have these settings. */
static sv_update_chunk update_chunk_of(const update_job *job, size_t begin, size_t elements,
                                       const sv_parameter_settings *settings, uint64_t skipped)
{
    const sv_optim *optim = job->optim;
    double rate = settings->is_matrix ? job->rate : job->element_rate;
    if (optim->config.decay_rule == SVIT_DECAY_UNSCALED)
        rate = 1;
    else
        rate *= settings->lr_scale;
    sv_update_chunk part = {.elements = elements,
                            .weights = job->weights + begin,
                            .gradients = sv_gradients_at(job->gradients, begin),
                            .scale = job->scale,
                            .decay = (real)(rate * settings->weight_decay),
                            .weight_decay = (real)settings->weight_decay,
                            .lr_scale = (real)settings->lr_scale,
                            .skipped = skipped};
    const size_t place = sv_subset_place(&optim->subset, begin);
    for (size_t i = 0; i < SV_OPTIMIZER_SLOTS && optim->ops->slots[i]; i++)
        part.slots[i] = optim->slots[i].values + place;
    return part;
}

static void update_matrix(const update_job *job, size_t index, uint32_t worker)
{
    const sv_optim *optim = job->optim;
    const sv_parameter *parameter = &optim->table->list[index];
    if (!sv_gradients_at(job->gradients, parameter->offset))
        return;
    sv_update_matrix matrix = {
        .chunk = update_chunk_of(job, parameter->offset, parameter->desc.elements,
                                 &optim->settings[index], optim->settings[index].skipped),
        .rows = sv_matrix_rows(parameter),
        .columns = sv_matrix_columns(parameter),
        .context = optim->context,
        .workspace = optim->workspace + worker * optim->workspace_bytes};
    optim->ops->update_matrix(&matrix, job->scalars);
    sv_optim_look_ahead(optim, job->weights, parameter->offset, parameter->desc.elements);
    sv_optim_average_elements(optim, job->weights, parameter->offset, parameter->desc.elements);
}

/* The parameter that has this element of the flat arrays. */
static size_t parameter_at(const sv_parameter_table *table, size_t index)
{
    size_t low = 0, high = table->count - 1;
    while (low < high) {
        const size_t middle = high - (high - low) / 2;
        if (table->list[middle].offset <= index)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The first elements of a range, all of whose parameters have been left out *skipped times. */
static sv_range skipped_alike(const sv_optim *optim, const sv_range *range, uint64_t *skipped)
{
    const sv_parameter *list = optim->table->list;
    const size_t end = range->begin + range->elements;
    size_t i = parameter_at(optim->table, range->begin);
    *skipped = optim->settings[i].skipped;
    while (i < optim->table->count && list[i].offset < end &&
           optim->settings[i].skipped == *skipped)
        i++;
    const bool is_cut = i < optim->table->count && list[i].offset < end;
    return (sv_range){range->begin, (is_cut ? list[i].offset : end) - range->begin};
}

static void update_range(const update_job *job, const sv_range *range,
                         const sv_parameter_settings *settings)
{
    const sv_optim *optim = job->optim;
    for (sv_range left = *range; left.elements > 0;) {
        uint64_t skipped;
        const sv_range part = skipped_alike(optim, &left, &skipped);
        sv_update_chunk chunk = update_chunk_of(job, part.begin, part.elements, settings, skipped);
        optim->ops->update(&chunk, job->scalars);
        left = (sv_range){part.begin + part.elements, left.elements - part.elements};
    }
    sv_optim_look_ahead(optim, job->weights, range->begin, range->elements);
    sv_optim_average_elements(optim, job->weights, range->begin, range->elements);
}

/* Parameters without a gradient in the session are left alone. Of those that the optimiser's
 * settings exclude the gradients are cleared; their averages stay what they are, at first the
 * weights. */
static void update_chunk(const update_job *job, const sv_chunk *chunk)
{
    const sv_parameter_subset *subset = &job->gradients->subset;
    const size_t end = chunk->begin + chunk->elements;
    for (sv_range range = sv_subset_first(subset, chunk->begin, end); range.elements > 0;
         range = sv_subset_first(subset, range.begin + range.elements, end))
        if (chunk->settings->trainable)
            update_range(job, &range, chunk->settings);
        else
            memset(sv_gradients_at(job->gradients, range.begin), 0, range.elements * sizeof(real));
}

/* Task number `task`: a matrix, or after all matrices a chunk. */
static void update_task(void *argument, size_t task, uint32_t worker)
{
    const update_job *job = argument;
    const sv_optim *optim = job->optim;
    if (task < optim->matrix_count) {
        update_matrix(job, optim->matrices[task], worker);
        return;
    }
    const sv_chunk *chunk = &optim->chunks[task - optim->matrix_count];
    if (!sv_updates_as_matrix(chunk->settings))
        update_chunk(job, chunk);
}

static svit_status fail_not_finite(const sv_optim *optim, const sv_gradients *gradients,
                                   svit_error *err)
{
    for (size_t i = 0; i < optim->table->count; i++) {
        const sv_parameter *parameter = &optim->table->list[i];
        const real *gradient = sv_gradients_at(gradients, parameter->offset);
        if (!optim->settings[i].trainable || !gradient)
            continue;
        for (size_t k = 0; k < parameter->desc.elements; k++)
            if (!isfinite(gradient[k]))
                return sv_fail(err, SVIT_E_NUMERIC,
                               "a gradient of parameter '%s' is %g; gradients are finite",
                               parameter->name, (double)gradient[k]);
    }
    return sv_fail(err, SVIT_E_NUMERIC, "the global norm of the gradients is not finite");
}

svit_status sv_optim_check_weights(const sv_optim *optim, svit_error *err)
{
    if (!optim->swapped)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_STATE,
                   "the model holds the average of its weights; call svit_optimizer_swap_ema to "
                   "get the weights back before training goes on");
}

/* The largest of the parameters' factors of the learning rate. */
static double largest_scale(const sv_optim *optim)
{
    double largest = 0;
    for (size_t i = 0; i < optim->table->count; i++)
        if (optim->settings[i].trainable)
            largest = fmax(largest, optim->settings[i].lr_scale);
    return largest;
}

/* SVIT_E_NUMERIC unless a learning rate, also with the factor of its parameters, is a float. */
static svit_status check_rate(const sv_optim *optim, double rate, svit_error *err)
{
    const double largest = rate * fmax(1, largest_scale(optim));
    if (largest <= FLT_MAX)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_NUMERIC,
                   "a learning rate of step %" PRIu64 " is %g, which no float holds", optim->steps,
                   largest);
}

/* SVIT_E_NUMERIC if a factor of the update is no normal float: a rate above them, or that of the
 * gradients, by clipping, below them. */
static svit_status check_factors(const update_job *job, double norm, double scale, svit_error *err)
{
    SVIT_TRY(check_rate(job->optim, job->rate, err));
    SVIT_TRY(check_rate(job->optim, job->element_rate, err));
    if (scale >= FLT_MIN)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_NUMERIC,
                   "the gradients' norm, %g, is too far above clip_norm, %g: their factor would be "
                   "below the normal floats",
                   norm, job->optim->config.clip_norm);
}

/* Counts the update for the parameters that it has left out. Those without slots never take
 * part. */
static void count_skipped(sv_optim *optim, const sv_gradients *gradients)
{
    for (size_t i = 0; i < optim->table->count; i++) {
        const size_t offset = optim->table->list[i].offset;
        const bool took_part = optim->settings[i].trainable && sv_gradients_at(gradients, offset);
        if (!took_part && sv_subset_place(&optim->subset, offset) != SV_NO_PLACE)
            optim->settings[i].skipped++;
    }
}

void sv_optim_set_skipped(sv_optim *optim, const uint64_t *skipped)
{
    for (size_t i = 0; i < optim->table->count; i++)
        optim->settings[i].skipped = skipped[i];
}

svit_status sv_optim_update(sv_optim *optim, real *weights, const sv_gradients *gradients,
                            svit_error *err)
{
    SVIT_TRY(sv_optim_check_weights(optim, err));
    double norm = sv_gradient_norm(optim, gradients);
    if (!isfinite(norm))
        return fail_not_finite(optim, gradients, err);
    double limit = optim->config.clip_norm;
    double scale = limit > 0 && norm > limit ? limit / norm : 1;

    update_job job = {.optim = optim,
                      .weights = weights,
                      .gradients = gradients,
                      .scale = (real)scale,
                      .rate = sv_learning_rate(&optim->config, optim->steps)};
    job.element_rate = optim->ops->element_rate
                           ? optim->ops->element_rate(&optim->config, optim->steps)
                           : job.rate;
    SVIT_TRY(check_factors(&job, norm, scale, err));
    /* The program may have changed the weights since the creation. */
    if (optim->steps == 0)
        start_copies(optim, weights);
    optim->ops->plan(job.scalars, &optim->config, optim->steps);
    sv_pool_run(optim->context->pool, update_task, &job, optim->matrix_count + optim->chunk_count);
    optim->gradient_norm = norm;
    optim->rate = job.rate;
    optim->snapshots = sv_optim_next_snapshots(optim);
    optim->steps++;
    count_skipped(optim, gradients);
    return SVIT_OK;
}

static void swap_arrays(real *a, real *b, size_t elements)
{
    for (size_t i = 0; i < elements; i++) {
        const real value = a[i];
        a[i] = b[i];
        b[i] = value;
    }
}

svit_status sv_optim_swap_ema(sv_optim *optim, real *weights, svit_error *err)
{
    real *average = sv_optim_average(optim);
    if (!average)
        return sv_fail(err, SVIT_E_STATE, "the optimiser keeps no average; ema is SVIT_EMA_NONE");
    if (optim->steps == 0)
        return sv_fail(err, SVIT_E_STATE, "there was no step yet, so there is no average");
    for (size_t i = 0; i < optim->subset.count; i++) {
        const sv_subset_part *part = &optim->subset.parts[i];
        swap_arrays(weights + part->begin, average + part->place, part->end - part->begin);
    }
    optim->swapped = !optim->swapped;
    return SVIT_OK;
}
