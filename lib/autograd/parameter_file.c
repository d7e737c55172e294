/* Reads and writes flat arrays of parameters as the tensors of a file. */
#include "autograd/parameter_file.h"

#include "base/numbers/finite.h"
#include "base/size.h"
#include "tensor/convert.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FULL_NAME = 160 };

/* The largest magnitude of a quantised element. */
enum { QUANTISED = 127 };

/* What a tensor of the file holds of a parameter. */
typedef enum item_kind { ITEM_VALUES, ITEM_QUANTISED, ITEM_SCALES } item_kind;

/* The source of one tensor to be written. */
typedef struct item {
    char name[FULL_NAME];
    item_kind kind;
    const sv_parameter *parameter;
    const real *values;  /* of the parameter */
    sv_tensor_desc desc; /* in the file */
} item;

static void full_name(char name[FULL_NAME], const char *prefix, const sv_parameter *parameter)
{
    snprintf(name, FULL_NAME, "%.63s%s", prefix, parameter->name);
}

static size_t rows_of(const sv_parameter *parameter)
{
    return (size_t)parameter->desc.shape[0];
}

/* The scale of a row: its largest magnitude becomes 127. 0 if it is so small that the scale would
 * not have the digits for that. */
static float row_scale(const float *row, size_t columns)
{
    float largest = 0;
    for (size_t i = 0; i < columns; i++)
        largest = fmaxf(largest, fabsf(row[i]));
    float scale = largest / QUANTISED;
    /* A scale that was rounded up would read the largest float as infinite. */
    while (isinf(scale * QUANTISED))
        scale = nextafterf(scale, 0);
    return scale >= FLT_MIN ? scale : 0;
}

/* values = round(values / scale), row by row; or the scales alone, at the start of `values`. */
static void quantise(float *values, size_t rows, size_t columns, item_kind kind)
{
    for (size_t r = 0; r < rows; r++) {
        float *row = values + r * columns, scale = row_scale(row, columns);
        if (kind == ITEM_SCALES)
            values[r] = scale;
        else
            for (size_t i = 0; i < columns; i++)
                row[i] = scale > 0 ? roundf(row[i] / scale) : 0;
    }
}

static void fill_item(float *out, const sv_safetensors_tensor *tensor, void *user)
{
    float *buffer = user; /* of the largest parameter: scales need more than their own size */
    const item *source = tensor->source;
    const sv_parameter *parameter = source->parameter;
    float *values = source->kind == ITEM_SCALES ? buffer : out;
    sv_parameter_export_from(parameter, values, source->values);
    if (source->kind == ITEM_VALUES)
        return;
    size_t rows = rows_of(parameter);
    quantise(values, rows, parameter->desc.elements / rows, source->kind);
    if (source->kind == ITEM_SCALES)
        memcpy(out, values, rows * sizeof *out);
}

static bool is_quantised(const sv_parameter *parameter, sv_dtype dtype)
{
    return dtype == SV_DTYPE_I8 && parameter->desc.rank >= 2;
}

/* The index of a parameter's first element in an array of the subset; SV_NO_PLACE if it has none.
 */
static size_t place_of(const sv_parameter_subset *subset, const sv_parameter *parameter)
{
    return subset ? sv_subset_place(subset, parameter->offset) : parameter->offset;
}

/* The values of a parameter; NULL if the array has none. */
static const real *values_of(const sv_parameter_array *array, const sv_parameter *parameter)
{
    const size_t place = place_of(array->subset, parameter);
    return place == SV_NO_PLACE ? NULL : array->values + place;
}

/* The table of an array's parameters. */
static const sv_parameter_table *table_of(const sv_parameter_array *array,
                                          const sv_parameter_table *of_call)
{
    return array->table ? array->table : of_call;
}

/* The tensors of one parameter that the array has: its values, and scales if it is quantised.
 * Returns their number. */
static size_t list_parameter(item *items, const sv_parameter_array *array,
                             const sv_parameter *parameter, sv_dtype dtype)
{
    bool quantised = is_quantised(parameter, dtype);
    item *values = &items[0];
    *values = (item){.kind = quantised ? ITEM_QUANTISED : ITEM_VALUES,
                     .parameter = parameter,
                     .values = values_of(array, parameter),
                     .desc = parameter->desc};
    values->desc.dtype = dtype == SV_DTYPE_I8 && !quantised ? SV_DTYPE_F32 : dtype;
    full_name(values->name, array->prefix, parameter);
    if (!quantised)
        return 1;
    item *scales = &items[1];
    *scales = *values;
    scales->kind = ITEM_SCALES;
    sv_tensor_desc_init(&scales->desc, SV_DTYPE_F32, parameter->desc.shape, 1);
    strncat(scales->name, SV_PARAMETER_SCALE, FULL_NAME - strlen(scales->name) - 1);
    return 2;
}

static size_t list_items(item *items, sv_safetensors_tensor *tensors,
                         const sv_parameter_table *table, const sv_parameter_array *arrays,
                         size_t count, sv_dtype dtype)
{
    size_t used = 0;
    for (size_t a = 0; a < count; a++) {
        const sv_parameter_table *own = table_of(&arrays[a], table);
        for (size_t i = 0; i < own->count; i++)
            if (values_of(&arrays[a], &own->list[i]))
                used += list_parameter(items + used, &arrays[a], &own->list[i],
                                       arrays[a].table ? SV_DTYPE_F32 : dtype);
    }
    for (size_t i = 0; i < used; i++)
        tensors[i] = (sv_safetensors_tensor){
            .name = items[i].name, .desc = &items[i].desc, .source = &items[i]};
    return used;
}

static size_t largest_elements(const sv_parameter_table *table)
{
    size_t largest = 0;
    for (size_t i = 0; i < table->count; i++)
        if (table->list[i].desc.elements > largest)
            largest = table->list[i].desc.elements;
    return largest;
}

static svit_status allocate_buffer(float **out, const sv_parameter_table *table, svit_error *err)
{
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(&table->allocator, &memory, largest_elements(table), sizeof **out,
                               "a tensor of a file", err));
    *out = memory;
    return SVIT_OK;
}

svit_status sv_parameter_check_finite(const sv_parameter_table *table,
                                      const sv_parameter_array *array, svit_error *err)
{
    const sv_parameter_table *own = table_of(array, table);
    for (size_t i = 0; i < own->count; i++) {
        const sv_parameter *parameter = &own->list[i];
        const real *values = values_of(array, parameter);
        for (size_t k = 0; values && k < parameter->desc.elements; k++)
            if (!isfinite(values[k]))
                return sv_fail(err, SVIT_E_NUMERIC,
                               "an element of '%s%s' is %g; files hold finite numbers",
                               array->prefix, parameter->name, (double)values[k]);
    }
    return SVIT_OK;
}

/* Fails for an element whose magnitude is above the largest number of the type. */
static svit_status check_limit(const sv_parameter_table *table, const sv_parameter_array *array,
                               sv_dtype dtype, float *buffer, svit_error *err)
{
    const float limit = sv_convert_limit(dtype);
    for (size_t i = 0; i < table->count; i++) {
        const sv_parameter *parameter = &table->list[i];
        const real *values = values_of(array, parameter);
        if (!values)
            continue;
        sv_parameter_export_from(parameter, buffer, values);
        for (size_t k = 0; k < parameter->desc.elements; k++)
            if (fabsf(buffer[k]) > limit)
                return sv_fail(
                    err, SVIT_E_ARGUMENT, "element %zu of '%s' is %g; %s holds magnitudes up to %g",
                    k, parameter->name, (double)buffer[k], sv_dtype_name(dtype), (double)limit);
    }
    return SVIT_OK;
}

/* Writes the tensors; `items` and `tensors` have room for twice the parameters of all arrays. */
static svit_status write_items(const sv_parameter_table *table, const sv_byte_target *target,
                               const char *metadata, const sv_parameter_array *arrays, size_t count,
                               sv_dtype dtype, item *items, sv_safetensors_tensor *tensors,
                               svit_error *err)
{
    float *buffer;
    SVIT_TRY(allocate_buffer(&buffer, table, err));
    svit_status status = SVIT_OK;
    const bool is_half = dtype == SV_DTYPE_F16 || dtype == SV_DTYPE_BF16;
    /* No value is looked at for the number of bytes alone. */
    const size_t checked = sv_byte_target_only_asks(target) ? 0 : count;
    for (size_t i = 0; status == SVIT_OK && i < checked; i++)
        status = sv_parameter_check_finite(table, &arrays[i], err);
    for (size_t i = 0; is_half && status == SVIT_OK && i < checked; i++)
        if (!arrays[i].table)
            status = check_limit(table, &arrays[i], dtype, buffer, err);
    if (status == SVIT_OK) {
        size_t used = list_items(items, tensors, table, arrays, count, dtype);
        status = sv_safetensors_write_to(&table->allocator, target, metadata, tensors, used,
                                         fill_item, buffer, err);
    }
    sv_release(&table->allocator, buffer, largest_elements(table) * sizeof *buffer);
    return status;
}

svit_status sv_parameter_arrays_write(const sv_parameter_table *table, const sv_byte_target *target,
                                      const char *metadata, const sv_parameter_array *arrays,
                                      size_t count, sv_dtype dtype, svit_error *err)
{
    const sv_allocator *allocator = &table->allocator;
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += 2 * table_of(&arrays[i], table)->count;
    item *items;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&items, total, sizeof *items, "names of tensors",
                               err));
    sv_safetensors_tensor *tensors = NULL;
    svit_status status = sv_allocate_array(allocator, (void **)&tensors, total, sizeof *tensors,
                                           "a list of tensors", err);
    if (status == SVIT_OK) {
        status = write_items(table, target, metadata, arrays, count, dtype, items, tensors, err);
        sv_release(allocator, tensors, total * sizeof *tensors);
    }
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
static svit_status find_tensor(const sv_safetensors_entry **out, const sv_parameter *parameter,
                               const sv_safetensors *file, const char *path, const char *prefix,
                               svit_error *err)
{
    char name[FULL_NAME], hint[SV_PREFIX_HINT];
    full_name(name, prefix, parameter);
    const sv_safetensors_entry *entry = sv_safetensors_find(file, name);
    if (!entry)
        return sv_fail(err, SVIT_E_FORMAT, "%s: tensor '%s' is missing%s", path, name,
                       sv_safetensors_prefix_hint(hint, file, name));
    SVIT_TRY(sv_parameter_check_shape(parameter, entry, path, err));
    SVIT_TRY(sv_safetensors_check_f32(file, entry, err));
    *out = entry;
    return SVIT_OK;
}

static void scale_name(char name[FULL_NAME], const char *of)
{
    snprintf(name, FULL_NAME, "%.150s" SV_PARAMETER_SCALE, of);
}

/* Finds the scales of an I8 tensor. */
static svit_status find_scales(const sv_safetensors_entry **out, const sv_safetensors_entry *of,
                               const sv_safetensors *file, const char *path, svit_error *err)
{
    char name[FULL_NAME];
    scale_name(name, of->name);
    const sv_safetensors_entry *entry = sv_safetensors_find(file, name);
    if (of->desc.rank < 2)
        return sv_fail(
            err, SVIT_E_FORMAT,
            "%s: tensor '%.64s' of rank %zu is I8; only tensors of rank 2 and more may be", path,
            of->name, of->desc.rank);
    if (!entry)
        return sv_fail(err, SVIT_E_FORMAT, "%s: tensor '%s' is missing; '%.64s' is I8", path, name,
                       of->name);
    if (entry->desc.dtype != SV_DTYPE_F32 || entry->desc.rank != 1 ||
        entry->desc.shape[0] != of->desc.shape[0])
        return sv_fail(err, SVIT_E_FORMAT, "%s: tensor '%.80s' must be F32 [%lld]", path, name,
                       (long long)of->desc.shape[0]);
    *out = entry;
    return SVIT_OK;
}

bool sv_parameter_is_scale(const sv_parameter_table *table, const sv_safetensors *file,
                           const char *name)
{
    size_t length = strlen(name), end = strlen(SV_PARAMETER_SCALE);
    char base[FULL_NAME];
    if (length <= end || length >= sizeof base ||
        strcmp(name + length - end, SV_PARAMETER_SCALE) != 0)
        return false;
    memcpy(base, name, length - end);
    base[length - end] = '\0';
    const sv_safetensors_entry *entry = sv_safetensors_find(file, base);
    return entry && entry->desc.dtype == SV_DTYPE_I8 && sv_parameter_find(table, base);
}

svit_status sv_parameter_array_check(const sv_parameter_table *table,
                                     const sv_parameter_subset *subset, const sv_safetensors *file,
                                     const char *path, const char *prefix, svit_error *err)
{
    for (size_t i = 0; i < table->count; i++) {
        const sv_safetensors_entry *entry = NULL, *scales;
        const sv_parameter *parameter = &table->list[i];
        if (place_of(subset, parameter) == SV_NO_PLACE)
            continue;
        SVIT_TRY(find_tensor(&entry, parameter, file, path, prefix, err));
        if (entry->desc.dtype == SV_DTYPE_I8)
            SVIT_TRY(find_scales(&scales, entry, file, path, err));
    }
    return SVIT_OK;
}

/* buffer[rows, columns] *= scales[rows]. The scales are read in pieces: they need no memory of
 * their own. */
static svit_status apply_scales(float *buffer, const sv_safetensors_entry *of,
                                const sv_safetensors *file, const char *path, svit_error *err)
{
    enum { PIECE = 512 };
    float scales[PIECE];
    const sv_safetensors_entry *entry;
    SVIT_TRY(find_scales(&entry, of, file, path, err));
    const size_t rows = (size_t)of->desc.shape[0], columns = of->desc.elements / (rows ? rows : 1);
    sv_safetensors_entry piece = *entry;
    for (size_t r = 0; r < rows; r++, buffer += columns) {
        if (r % PIECE == 0) {
            piece.offset = entry->offset + r * sizeof *scales;
            piece.desc.elements = sv_size_min(rows - r, PIECE);
            piece.bytes = piece.desc.elements * sizeof *scales;
            SVIT_TRY(sv_safetensors_read_f32(file, &piece, scales, err));
        }
        const float scale = scales[r % PIECE];
        if (!(scale >= 0))
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: element %zu of tensor '%s' is %g; scales are at least 0", path, r,
                           entry->name, (double)scale);
        for (size_t i = 0; i < columns; i++)
            buffer[i] *= scale;
    }
    return SVIT_OK;
}

svit_status sv_parameter_read_tensor(float *out, const sv_safetensors_entry *entry,
                                     const sv_safetensors *file, const char *path, svit_error *err)
{
    SVIT_TRY(sv_safetensors_read_f32(file, entry, out, err));
    if (entry->desc.dtype == SV_DTYPE_I8)
        SVIT_TRY(apply_scales(out, entry, file, path, err));
    size_t bad = sv_first_not_finite(out, entry->desc.elements);
    if (bad < entry->desc.elements)
        return sv_fail(err, SVIT_E_FORMAT, "%s: element %zu of tensor '%.96s' is %g, not finite",
                       path, bad, entry->name, (double)out[bad]);
    return SVIT_OK;
}

svit_status sv_parameter_check_zeros(const sv_parameter *parameter, const float *values,
                                     const char *path, svit_error *err)
{
    const size_t bad = sv_parameter_first_not_zero(parameter, values);
    if (bad == parameter->desc.elements)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_FORMAT,
                   "%s: element %zu of '%s' is %g; in this model, which has no_key_bias, elements "
                   "%zu to %zu are 0",
                   path, bad, parameter->name, (double)values[bad], parameter->zeros_first,
                   parameter->zeros_end - 1);
}

/* Reads the tensor of a parameter, whose first element is values[0]. */
static svit_status read_parameter(real *values, float *buffer, const sv_parameter *parameter,
                                  const sv_safetensors *file, const char *path, const char *prefix,
                                  svit_error *err)
{
    const sv_safetensors_entry *entry = NULL;
    SVIT_TRY(find_tensor(&entry, parameter, file, path, prefix, err));
    SVIT_TRY(sv_parameter_read_tensor(buffer, entry, file, path, err));
    if (*prefix == '\0')
        SVIT_TRY(sv_parameter_check_zeros(parameter, buffer, path, err));
    sv_parameter_import_to(parameter, values, buffer);
    return SVIT_OK;
}

svit_status sv_parameter_array_read(const sv_parameter_table *table,
                                    const sv_parameter_subset *subset, real *values,
                                    const sv_safetensors *file, const char *path,
                                    const char *prefix, svit_error *err)
{
    SVIT_TRY(sv_parameter_array_check(table, subset, file, path, prefix, err));
    float *buffer;
    SVIT_TRY(allocate_buffer(&buffer, table, err));
    svit_status status = SVIT_OK;
    for (size_t i = 0; i < table->count && status == SVIT_OK; i++) {
        const size_t place = place_of(subset, &table->list[i]);
        if (place != SV_NO_PLACE)
            status =
                read_parameter(values + place, buffer, &table->list[i], file, path, prefix, err);
    }
    sv_release(&table->allocator, buffer, largest_elements(table) * sizeof *buffer);
    return status;
}
