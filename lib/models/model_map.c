/* Mapped weights: the mapped file serves as the flat array. Pages are read to check the values and
 * again to pack the weights. They are discarded after each of the two, so that the memory in use
 * stays small. */
#include "models/model_map.h"

#include "autograd/parameter_file.h"
#include "base/numbers/byte_order.h"
#include "base/numbers/finite.h"
#include "base/size.h"

/* Whether `real` is little-endian float32 in memory, as in files. On a big-endian machine the
 * weights are converted into memory instead. */
static bool is_file_format(void)
{
    return sizeof(real) == sizeof(float) && SV_IS_LITTLE_ENDIAN;
}

/* Whether the parameters have the same layout in the file as in the flat array. *start is the byte
 * of the file at which the array begins. */
static bool has_flat_layout(uint64_t *start, const sv_parameter_table *table,
                            const sv_safetensors *file)
{
    for (size_t i = 0; i < table->count; i++) {
        const sv_parameter *parameter = &table->list[i];
        const sv_safetensors_entry *entry = sv_safetensors_find(file, parameter->name);
        if (!entry || entry->desc.dtype != SV_DTYPE_F32 ||
            sv_parameter_check_shape(parameter, entry, "", NULL) != SVIT_OK)
            return false;
        if (i == 0)
            *start = entry->offset;
        if (entry->offset != *start + parameter->offset * sizeof(real))
            return false;
    }
    return table->count > 0 && *start % sizeof(real) == 0;
}

/* Elements that one task checks: 1 MiB, regardless of where parameters begin. */
enum { CHECK_ELEMENTS = 1 << 18 };

typedef struct checking {
    const real *weights;
    size_t elements;
    atomic_bool not_finite;
} checking;

static void check_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    checking *job = argument;
    size_t first = task * CHECK_ELEMENTS, rest = job->elements - first;
    size_t elements = rest < CHECK_ELEMENTS ? rest : CHECK_ELEMENTS;
    const float *values = (const float *)(const void *)(job->weights + first);
    if (sv_first_not_finite(values, elements) < elements)
        atomic_store(&job->not_finite, true);
    sv_mapping_discard(values, elements * sizeof *values);
}

static bool all_finite(const svit_model *model)
{
    checking job = {.weights = model->weights, .elements = model->parameters.elements};
    atomic_init(&job.not_finite, false);
    sv_pool_run(model->context->pool, check_task, &job,
                (job.elements + CHECK_ELEMENTS - 1) / CHECK_ELEMENTS);
    return !atomic_load(&job.not_finite);
}

static bool has_zeros(const svit_model *model)
{
    const sv_parameter *list = model->parameters.list;
    for (size_t i = 0; i < model->parameters.count; i++) {
        const real *values = model->weights + list[i].offset;
        if (sv_parameter_first_not_zero(&list[i], (const float *)(const void *)values) <
            list[i].desc.elements)
            return false;
    }
    return true;
}

/* Whether a parameter is used only to make its packed copies and is stored as in the file, so that
 * its pages can be discarded and read again. */
static bool is_discardable(const sv_parameter *parameter)
{
    return parameter->role == SV_ROLE_WEIGHT && !sv_parameter_transpose_elements(parameter);
}

/* The arguments of copy_task, which makes private copies of the pages of parameters that cannot be
 * discarded. They are made when the model is loaded, so that no forward has page faults. */
typedef struct copying {
    const svit_model *model;
    float *scratch; /* [workers, scratch_elements] */
    size_t scratch_elements;
} copying;

static void copy_task(void *argument, size_t task, uint32_t worker)
{
    const copying *job = argument;
    const sv_parameter *parameter = &job->model->parameters.list[task];
    float *values = (float *)(void *)(job->model->weights + parameter->offset);
    if (is_discardable(parameter))
        return;
    sv_mapping_prefault(values, parameter->desc.elements * sizeof *values);
    sv_parameter_transpose(parameter, values, job->scratch + worker * job->scratch_elements);
}

static size_t largest_transposition(const sv_parameter_table *table)
{
    size_t largest = 0;
    for (size_t i = 0; i < table->count; i++) {
        size_t elements = sv_parameter_transpose_elements(&table->list[i]);
        largest = elements > largest ? elements : largest;
    }
    return largest;
}

static svit_status copy_parameters(const svit_model *model, svit_error *err)
{
    const svit_context *context = model->context;
    copying job = {.model = model, .scratch_elements = largest_transposition(&model->parameters)};
    size_t elements = 0;
    if (!sv_size_multiply(&elements, job.scratch_elements, svit_context_threads(context)))
        return sv_fail_memory(err, SIZE_MAX, "the transposition of weights");
    SVIT_TRY(sv_allocate_uncleared(&context->allocator, (void **)&job.scratch, elements,
                                   sizeof *job.scratch, "the transposition of weights", err));
    sv_pool_run(context->pool, copy_task, &job, model->parameters.count);
    sv_release(&context->allocator, job.scratch, elements * sizeof *job.scratch);
    return SVIT_OK;
}

static void unmap(svit_model *model)
{
    model->weights = NULL;
    sv_mapping_free(&model->mapping);
}

svit_status sv_model_map_weights(svit_model *model, const sv_safetensors *file, svit_error *err)
{
    uint64_t start = 0;
    if (!is_file_format() || !has_flat_layout(&start, &model->parameters, file) ||
        sv_safetensors_map(file, &model->mapping, NULL) != SVIT_OK)
        return SVIT_OK;
    model->weights = (real *)(void *)(model->mapping.base + start);
    if (!all_finite(model) || !has_zeros(model)) {
        unmap(model);
        return SVIT_OK;
    }
    svit_status status = copy_parameters(model, err);
    if (status != SVIT_OK)
        unmap(model);
    return status;
}

void sv_model_discard_weight(const svit_model *model, size_t offset)
{
    if (!model->mapping.base || atomic_load(&model->version) != SV_FIRST_VERSION)
        return;
    const sv_parameter *parameter = sv_parameter_at(&model->parameters, offset);
    if (is_discardable(parameter) || model->packed_once)
        sv_mapping_discard(model->weights + offset,
                           parameter->desc.elements * sizeof *model->weights);
}
