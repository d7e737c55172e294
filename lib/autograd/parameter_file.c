/* Reads and writes flat arrays of parameters as the tensors of a file. */
#include "autograd/parameter_file.h"

#include "base/finite.h"
#include "base/size.h"

#include <stdio.h>
#include <string.h>

enum { FULL_NAME = 160 };

/* The source of one tensor to be written. */
typedef struct item {
    char name[FULL_NAME];
    const sv_parameter *parameter;
    const real *values;
} item;

static void full_name(char name[FULL_NAME], const char *prefix, const sv_parameter *parameter)
{
    snprintf(name, FULL_NAME, "%.63s%s", prefix, parameter->name);
}

static void fill_item(float *out, const sv_safetensors_tensor *tensor, void *user)
{
    (void)user;
    const item *source = tensor->source;
    sv_parameter_export(source->parameter, out, source->values);
}

static void list_items(item *items, sv_safetensors_tensor *tensors, const sv_parameter_table *table,
                       const sv_parameter_array *arrays, size_t count)
{
    for (size_t a = 0; a < count; a++)
        for (size_t i = 0; i < table->count; i++, items++, tensors++) {
            const sv_parameter *parameter = &table->list[i];
            full_name(items->name, arrays[a].prefix, parameter);
            items->parameter = parameter;
            items->values = arrays[a].values;
            *tensors = (sv_safetensors_tensor){
                .name = items->name, .desc = &parameter->desc, .source = items};
        }
}

svit_status sv_parameter_arrays_write(const sv_parameter_table *table, const char *path,
                                      const char *metadata, const sv_parameter_array *arrays,
                                      size_t count, svit_error *err)
{
    const sv_allocator *allocator = &table->allocator;
    size_t total = table->count * count;
    item *items;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&items, total, sizeof *items, "names of tensors",
                               err));
    sv_safetensors_tensor *tensors = NULL;
    svit_status status = sv_allocate_array(allocator, (void **)&tensors, total, sizeof *tensors,
                                           "a list of tensors", err);
    if (status != SVIT_OK)
        goto done;
    list_items(items, tensors, table, arrays, count);
    status = sv_safetensors_write(allocator, path, metadata, tensors, total, fill_item, NULL, err);
    sv_release(allocator, tensors, total * sizeof *tensors);
done:
    sv_release(allocator, items, total * sizeof *items);
    return status;
}

static bool is_pointwise(const sv_parameter *parameter)
{
    return parameter->desc.rank == 4 && parameter->desc.shape[2] == 1 &&
           parameter->desc.shape[3] == 1;
}

svit_status sv_parameter_check_shape(const sv_parameter *parameter,
                                     const sv_safetensors_entry *entry, const char *path,
                                     svit_error *err)
{
    size_t rank = parameter->desc.rank;
    if (is_pointwise(parameter) && entry->desc.rank == 2)
        rank = 2;
    if (entry->desc.rank == rank &&
        memcmp(entry->desc.shape, parameter->desc.shape, rank * sizeof *entry->desc.shape) == 0)
        return SVIT_OK;
    char has[SV_SHAPE_TEXT], wants[SV_SHAPE_TEXT];
    return sv_fail(err, SVIT_E_FORMAT, "%s: tensor '%.64s' is %s; the model has %s", path,
                   entry->name, sv_tensor_desc_text(has, &entry->desc),
                   sv_tensor_desc_text(wants, &parameter->desc));
}

/* Finds a parameter's tensor and checks its shape and type. */
static svit_status find_one(const sv_safetensors_entry **out, const sv_parameter *parameter,
                            const sv_safetensors *file, const char *path, const char *prefix,
                            svit_error *err)
{
    char name[FULL_NAME];
    full_name(name, prefix, parameter);
    const sv_safetensors_entry *entry = sv_safetensors_find(file, name);
    if (!entry)
        return sv_fail(err, SVIT_E_FORMAT, "%s: tensor '%s' is missing", path, name);
    SVIT_TRY(sv_parameter_check_shape(parameter, entry, path, err));
    SVIT_TRY(sv_safetensors_check_f32(file, entry, err));
    *out = entry;
    return SVIT_OK;
}

svit_status sv_parameter_array_check(const sv_parameter_table *table, const sv_safetensors *file,
                                     const char *path, const char *prefix, svit_error *err)
{
    const sv_safetensors_entry *entry;
    for (size_t i = 0; i < table->count; i++)
        SVIT_TRY(find_one(&entry, &table->list[i], file, path, prefix, err));
    return SVIT_OK;
}

static svit_status read_one(real *values, float *buffer, const sv_parameter *parameter,
                            const sv_safetensors *file, const char *path, const char *prefix,
                            svit_error *err)
{
    const sv_safetensors_entry *entry = NULL;
    SVIT_TRY(find_one(&entry, parameter, file, path, prefix, err));
    SVIT_TRY(sv_safetensors_read_f32(file, entry, buffer, err));
    size_t bad = sv_first_not_finite(buffer, parameter->desc.elements);
    if (bad < parameter->desc.elements)
        return sv_fail(err, SVIT_E_FORMAT, "%s: element %zu of tensor '%s' is %g, not finite", path,
                       bad, entry->name, (double)buffer[bad]);
    sv_parameter_import(parameter, values, buffer);
    return SVIT_OK;
}

svit_status sv_parameter_array_read(const sv_parameter_table *table, real *values,
                                    const sv_safetensors *file, const char *path,
                                    const char *prefix, svit_error *err)
{
    SVIT_TRY(sv_parameter_array_check(table, file, path, prefix, err));
    size_t largest = 0;
    for (size_t i = 0; i < table->count; i++)
        if (table->list[i].desc.elements > largest)
            largest = table->list[i].desc.elements;
    float *buffer;
    SVIT_TRY(sv_allocate_array(&table->allocator, (void **)&buffer, largest, sizeof *buffer,
                               "a tensor to be read", err));
    svit_status status = SVIT_OK;
    for (size_t i = 0; i < table->count && status == SVIT_OK; i++)
        status = read_one(values, buffer, &table->list[i], file, path, prefix, err);
    sv_release(&table->allocator, buffer, largest * sizeof *buffer);
    return status;
}
