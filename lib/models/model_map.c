/* Mapped weights: the file's pages are the flat array. A page is needed while it is checked and
 * again while it is packed; in between, and after, it is given back. */
#include "models/model_map.h"

#include "autograd/parameter_file.h"
#include "base/finite.h"

#include <string.h>

/* Numbers in memory are numbers as files have them. */
static bool is_file_format(void)
{
    const float one = 1;
    const unsigned char stored[4] = {0, 0, 0x80, 0x3f};
    return sizeof(real) == sizeof(float) && memcmp(&one, stored, sizeof stored) == 0;
}

/* Whether the parameters lie in the file as they would in the flat array, from byte *start. */
static bool lie_flat(uint64_t *start, const sv_parameter_table *table, const sv_safetensors *file)
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

/* Checking takes pieces of the flat array, whatever parameters they are of. */
enum { PIECE = 1 << 18 };

typedef struct checking {
    const real *weights;
    size_t elements;
    atomic_bool refused;
} checking;

static void check_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    checking *job = argument;
    size_t first = task * PIECE, rest = job->elements - first;
    size_t elements = rest < PIECE ? rest : PIECE;
    const float *values = (const float *)(const void *)(job->weights + first);
    if (sv_first_not_finite(values, elements) < elements)
        atomic_store(&job->refused, true);
    sv_mapping_discard(values, elements * sizeof *values);
}

static bool all_finite(const svit_model *model)
{
    checking job = {.weights = model->weights, .elements = model->parameters.elements};
    atomic_init(&job.refused, false);
    sv_pool_run(model->context->pool, check_task, &job, (job.elements + PIECE - 1) / PIECE);
    return !atomic_load(&job.refused);
}

/* Whether packing makes a copy of a parameter that is as in the file: its pages may go. All others
 * are copied here, so that a forward does not wait for them. */
static bool is_left_in_file(const sv_parameter *parameter)
{
    return parameter->role == SV_ROLE_WEIGHT && !sv_parameter_transpose_elements(parameter);
}

typedef struct copying {
    const svit_model *model;
    float *scratch; /* of worker w at scratch + w * scratch_elements */
    size_t scratch_elements;
} copying;

static void copy_task(void *argument, size_t task, uint32_t worker)
{
    const copying *job = argument;
    const sv_parameter *parameter = &job->model->parameters.list[task];
    float *values = (float *)(void *)(job->model->weights + parameter->offset);
    if (is_left_in_file(parameter))
        return;
    sv_mapping_prefault(values, parameter->desc.elements * sizeof *values);
    sv_parameter_transpose(parameter, values, job->scratch + worker * job->scratch_elements);
}

static size_t largest_turned(const sv_parameter_table *table)
{
    size_t largest = 0;
    for (size_t i = 0; i < table->count; i++) {
        size_t elements = sv_parameter_transpose_elements(&table->list[i]);
        largest = elements > largest ? elements : largest;
    }
    return largest;
}

static svit_status copy_others(const svit_model *model, svit_error *err)
{
    const svit_context *context = model->context;
    copying job = {.model = model, .scratch_elements = largest_turned(&model->parameters)};
    size_t elements = job.scratch_elements * svit_context_threads(context);
    SVIT_TRY(sv_allocate_array(&context->allocator, (void **)&job.scratch, elements,
                               sizeof *job.scratch, "a weight on its way", err));
    sv_pool_run(context->pool, copy_task, &job, model->parameters.count);
    sv_release(&context->allocator, job.scratch, elements * sizeof *job.scratch);
    return SVIT_OK;
}

static void let_go(svit_model *model)
{
    model->weights = NULL;
    sv_mapping_free(&model->pages);
}

svit_status sv_model_map_weights(svit_model *model, const sv_safetensors *file, svit_error *err)
{
    uint64_t start = 0;
    if (!is_file_format() || !lie_flat(&start, &model->parameters, file) ||
        sv_safetensors_map(file, &model->pages, NULL) != SVIT_OK)
        return SVIT_OK;
    model->weights = (real *)(void *)(model->pages.base + start);
    if (!all_finite(model)) {
        let_go(model);
        return SVIT_OK;
    }
    svit_status status = copy_others(model, err);
    if (status != SVIT_OK)
        let_go(model);
    return status;
}

void sv_model_forget_weight(const svit_model *model, size_t place)
{
    if (!model->pages.base || atomic_load(&model->version) != SV_FIRST_VERSION)
        return;
    const sv_parameter *parameter = sv_parameter_at(&model->parameters, place);
    if (is_left_in_file(parameter) || model->packed_once)
        sv_mapping_discard(model->weights + place,
                           parameter->desc.elements * sizeof *model->weights);
}
