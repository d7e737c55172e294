/* The table of named parameters, and the two layouts of a convolution's weight. */
#include "autograd/parameter.h"

#include "base/size.h"

#include <assert.h>
#include <string.h>

void sv_parameter_table_init(sv_parameter_table *table, const sv_allocator *allocator)
{
    memset(table, 0, sizeof *table);
    table->allocator = *allocator;
}

void sv_parameter_table_free(sv_parameter_table *table)
{
    if (table->list)
        sv_release(&table->allocator, table->list, table->capacity * sizeof *table->list);
    table->list = NULL;
    table->count = table->capacity = table->elements = 0;
}

static svit_status table_grow(sv_parameter_table *table, svit_error *err)
{
    if (table->count < table->capacity)
        return SVIT_OK;
    size_t capacity = table->capacity ? 2 * table->capacity : 64;
    sv_parameter *list;
    SVIT_TRY(sv_allocate_array(&table->allocator, (void **)&list, capacity, sizeof *list,
                               "the parameter table", err));
    if (table->list) {
        memcpy(list, table->list, table->count * sizeof *list);
        sv_release(&table->allocator, table->list, table->capacity * sizeof *list);
    }
    table->list = list;
    table->capacity = capacity;
    return SVIT_OK;
}

/* Glorot's fans: a convolution's count the kernel's area. */
static void set_fans(sv_parameter *parameter)
{
    double area = 1;
    for (size_t i = 2; i < parameter->rank; i++)
        area *= (double)parameter->shape[i];
    parameter->fan_in = parameter->rank > 1 ? (double)parameter->shape[1] * area : 0;
    parameter->fan_out = (double)parameter->shape[0] * area;
}

svit_status sv_parameter_add(sv_parameter_table *table, size_t *index, const char *name,
                             sv_parameter_role role, const int64_t *shape, size_t rank,
                             svit_error *err)
{
    sv_parameter parameter = {.rank = rank, .elements = 1, .offset = table->elements, .role = role};
    assert(strlen(name) < sizeof parameter.name && rank >= 1 && rank <= 8);
    strcpy(parameter.name, name);
    for (size_t i = 0; i < rank; i++) {
        parameter.shape[i] = shape[i];
        if (!sv_size_multiply(&parameter.elements, parameter.elements, (size_t)shape[i]))
            return sv_fail(err, SVIT_E_MEMORY, "parameter '%s' has more elements than fit memory",
                           name);
    }
    set_fans(&parameter);

    size_t end;
    if (!sv_size_add(&end, table->elements, parameter.elements))
        return sv_fail(err, SVIT_E_MEMORY,
                       "parameters up to '%s' have more elements than fit memory", name);
    SVIT_TRY(table_grow(table, err));
    *index = table->count;
    table->list[table->count++] = parameter;
    table->elements = end;
    return SVIT_OK;
}

const sv_parameter *sv_parameter_find(const sv_parameter_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->list[i].name, name) == 0)
            return &table->list[i];
    return NULL;
}

/* A weight [out, in, kh, kw] as `out` matrices of `in` rows and kh * kw columns; anything else is
 * one row, which stays as it is when it is turned. */
typedef struct layout {
    size_t out, in, area;
} layout;

static layout layout_of(const sv_parameter *parameter)
{
    if (parameter->rank != 4)
        return (layout){1, 1, parameter->elements};
    return (layout){(size_t)parameter->shape[0], (size_t)parameter->shape[1],
                    (size_t)(parameter->shape[2] * parameter->shape[3])};
}

size_t sv_parameter_turned(const sv_parameter *parameter)
{
    layout l = layout_of(parameter);
    return l.in > 1 && l.area > 1 ? l.in * l.area : 0;
}

/* out[o,i,a] = flat[o,a,i] */
void sv_parameter_export(const sv_parameter *parameter, float *out, const real *flat)
{
    layout l = layout_of(parameter);
    const real *in = flat + parameter->offset;
    if (!sv_parameter_turned(parameter)) {
        for (size_t i = 0; i < parameter->elements; i++)
            out[i] = (float)in[i];
        return;
    }
    for (size_t o = 0; o < l.out; o++, in += l.in * l.area)
        for (size_t i = 0; i < l.in; i++)
            for (size_t a = 0; a < l.area; a++)
                *out++ = (float)in[a * l.in + i];
}

/* flat[o,a,i] = in[o,i,a] */
void sv_parameter_import(const sv_parameter *parameter, real *flat, const float *in)
{
    layout l = layout_of(parameter);
    real *out = flat + parameter->offset;
    if (!sv_parameter_turned(parameter)) {
        for (size_t i = 0; i < parameter->elements; i++)
            out[i] = in[i];
        return;
    }
    for (size_t o = 0; o < l.out; o++, out += l.in * l.area)
        for (size_t i = 0; i < l.in; i++)
            for (size_t a = 0; a < l.area; a++)
                out[a * l.in + i] = *in++;
}

void sv_parameter_turn(const sv_parameter *parameter, float *values, float *scratch)
{
    layout l = layout_of(parameter);
    size_t matrix = sv_parameter_turned(parameter);
    for (size_t o = 0; matrix && o < l.out; o++, values += matrix) {
        memcpy(scratch, values, matrix * sizeof *values);
        for (size_t i = 0; i < l.in; i++)
            for (size_t a = 0; a < l.area; a++)
                values[a * l.in + i] = scratch[i * l.area + a];
    }
}
