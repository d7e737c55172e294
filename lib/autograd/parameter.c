/* The table of named parameters, and the conversion between the two layouts of a convolution's
 * weight. */
#include "autograd/parameter.h"

#include "base/numbers/hash.h"
#include "base/size.h"

#include <assert.h>
#include <string.h>

void sv_parameter_table_init(sv_parameter_table *table, const sv_allocator *allocator)
{
    memset(table, 0, sizeof *table);
    table->allocator = *allocator;
}

static void release(const sv_allocator *allocator, sv_parameter *list, size_t *slots,
                    size_t capacity)
{
    sv_release(allocator, slots, 2 * capacity * sizeof *slots);
    sv_release(allocator, list, capacity * sizeof *list);
}

void sv_parameter_table_free(sv_parameter_table *table)
{
    release(&table->allocator, table->list, table->slots, table->capacity);
    table->list = NULL;
    table->slots = NULL;
    table->count = table->capacity = table->elements = 0;
}

static uint64_t hash(const char *name)
{
    const uint64_t value = sv_fnv_bytes(SV_FNV_BASIS, name, strlen(name));
    return value ^ value >> 32;
}

/* The slot of the parameter with that name, or the free slot where it would be added. At least half
 * of the slots are free, so the linear probing ends. */
static size_t *find_slot(const sv_parameter_table *table, const char *name)
{
    size_t mask = 2 * table->capacity - 1, at = (size_t)hash(name) & mask;
    while (table->slots[at] && strcmp(table->list[table->slots[at] - 1].name, name) != 0)
        at = (at + 1) & mask;
    return &table->slots[at];
}

static svit_status table_grow(sv_parameter_table *table, svit_error *err)
{
    if (table->count < table->capacity)
        return SVIT_OK;
    sv_parameter_table grown = *table;
    grown.capacity = table->capacity ? 2 * table->capacity : 64;
    SVIT_TRY(sv_allocate_array(&table->allocator, (void **)&grown.list, grown.capacity,
                               sizeof *grown.list, "the parameter table", err));
    svit_status status =
        sv_allocate_array(&table->allocator, (void **)&grown.slots, 2 * grown.capacity,
                          sizeof *grown.slots, "the names of the parameter table", err);
    if (status != SVIT_OK) {
        sv_release(&table->allocator, grown.list, grown.capacity * sizeof *grown.list);
        return status;
    }
    if (table->count)
        memcpy(grown.list, table->list, table->count * sizeof *grown.list);
    for (size_t i = 0; i < table->count; i++)
        *find_slot(&grown, grown.list[i].name) = i + 1;
    release(&table->allocator, table->list, table->slots, table->capacity);
    *table = grown;
    return SVIT_OK;
}

/* Sets Glorot's fans. Those of a convolution are multiplied by the area of its kernel. */
static void set_fans(sv_parameter *parameter)
{
    double area = 1;
    for (size_t i = 2; i < parameter->desc.rank; i++)
        area *= (double)parameter->desc.shape[i];
    parameter->fan_in = parameter->desc.rank > 1 ? (double)parameter->desc.shape[1] * area : 0;
    parameter->fan_out = (double)parameter->desc.shape[0] * area;
}

svit_status sv_parameter_add(sv_parameter_table *table, size_t *index, const char *name,
                             sv_parameter_role role, const int64_t *shape, size_t rank,
                             svit_error *err)
{
    sv_parameter parameter = {.offset = table->elements, .role = role};
    assert(strlen(name) < sizeof parameter.name && rank >= 1);
    strcpy(parameter.name, name);
    if (!sv_tensor_desc_init(&parameter.desc, SV_DTYPE_F32, shape, rank))
        return sv_fail(err, SVIT_E_MEMORY, "parameter '%s' has more elements than fit memory",
                       name);
    set_fans(&parameter);

    size_t end;
    if (!sv_size_add(&end, table->elements, parameter.desc.elements))
        return sv_fail(err, SVIT_E_MEMORY,
                       "parameters up to '%s' have more elements than fit memory", name);
    SVIT_TRY(table_grow(table, err));
    *index = table->count;
    table->list[table->count++] = parameter;
    *find_slot(table, name) = table->count;
    table->elements = end;
    return SVIT_OK;
}

const sv_parameter *sv_parameter_find(const sv_parameter_table *table, const char *name)
{
    if (table->count == 0)
        return NULL;
    size_t slot = *find_slot(table, name);
    return slot ? &table->list[slot - 1] : NULL;
}

bool sv_parameter_is_of_head(const sv_parameter_table *table, const sv_parameter *parameter)
{
    return table->head > 0 && parameter >= table->list + table->head;
}

const sv_parameter *sv_parameter_at(const sv_parameter_table *table, size_t offset)
{
    size_t first = 0, end = table->count;
    while (end - first > 1) {
        size_t middle = first + (end - first) / 2;
        if (table->list[middle].offset <= offset)
            first = middle;
        else
            end = middle;
    }
    assert(end > first && table->list[first].offset == offset);
    return &table->list[first];
}

/* A weight [out, in, kh, kw] as `out` matrices of `in` rows and kh * kw columns. Any other
 * parameter is one row, which a transposition does not change. */
typedef struct layout {
    size_t out, in, area;
} layout;

static layout layout_of(const sv_parameter *parameter)
{
    if (parameter->desc.rank != 4)
        return (layout){1, 1, parameter->desc.elements};
    return (layout){(size_t)parameter->desc.shape[0], (size_t)parameter->desc.shape[1],
                    (size_t)(parameter->desc.shape[2] * parameter->desc.shape[3])};
}

size_t sv_parameter_transpose_elements(const sv_parameter *parameter)
{
    layout l = layout_of(parameter);
    return l.in > 1 && l.area > 1 ? l.in * l.area : 0;
}

void sv_parameter_export(const sv_parameter *parameter, float *out, const real *flat)
{
    sv_parameter_export_from(parameter, out, flat + parameter->offset);
}

void sv_parameter_import(const sv_parameter *parameter, real *flat, const float *in)
{
    sv_parameter_import_to(parameter, flat + parameter->offset, in);
}

/* out[o,i,a] = in[o,a,i] */
void sv_parameter_export_from(const sv_parameter *parameter, float *out, const real *in)
{
    layout l = layout_of(parameter);
    if (!sv_parameter_transpose_elements(parameter)) {
        for (size_t i = 0; i < parameter->desc.elements; i++)
            out[i] = (float)in[i];
        return;
    }
    for (size_t o = 0; o < l.out; o++, in += l.in * l.area)
        for (size_t i = 0; i < l.in; i++)
            for (size_t a = 0; a < l.area; a++)
                *out++ = (float)in[a * l.in + i];
}

/* out[o,a,i] = in[o,i,a] */
void sv_parameter_import_to(const sv_parameter *parameter, real *out, const float *in)
{
    layout l = layout_of(parameter);
    if (!sv_parameter_transpose_elements(parameter)) {
        for (size_t i = 0; i < parameter->desc.elements; i++)
            out[i] = in[i];
        return;
    }
    for (size_t o = 0; o < l.out; o++, out += l.in * l.area)
        for (size_t i = 0; i < l.in; i++)
            for (size_t a = 0; a < l.area; a++)
                out[a * l.in + i] = *in++;
}

void sv_parameter_transpose(const sv_parameter *parameter, float *values, float *scratch)
{
    layout l = layout_of(parameter);
    size_t matrix = sv_parameter_transpose_elements(parameter);
    for (size_t o = 0; matrix && o < l.out; o++, values += matrix) {
        memcpy(scratch, values, matrix * sizeof *values);
        for (size_t i = 0; i < l.in; i++)
            for (size_t a = 0; a < l.area; a++)
                values[a * l.in + i] = scratch[i * l.area + a];
    }
}

size_t sv_parameter_first_not_zero(const sv_parameter *parameter, const float *values)
{
    for (size_t i = parameter->zeros_first; i < parameter->zeros_end; i++)
        if (values[i] != 0)
            return i;
    return parameter->desc.elements;
}
