/* Finds elements of the flat arrays in arrays of a subset by binary search in its parts, which are
 * few: one if nothing is frozen, one or two of each block with adapters. */
#include "autograd/parameter_subset.h"

#include "base/size.h"

#include <string.h>

/* Lists the parts; with parts = NULL only counts them and their elements. */
static void list_parts(sv_parameter_subset *subset, const sv_parameter_table *table,
                       bool (*has)(const sv_parameter *parameter, const void *user),
                       const void *user)
{
    size_t end = SIZE_MAX;
    subset->count = subset->elements = 0;
    for (size_t i = 0; i < table->count; i++) {
        const sv_parameter *parameter = &table->list[i];
        if (!has(parameter, user))
            continue;
        if (end != parameter->offset) {
            if (subset->parts)
                subset->parts[subset->count] =
                    (sv_subset_part){parameter->offset, 0, subset->elements};
            subset->count++;
        }
        end = parameter->offset + parameter->desc.elements;
        if (subset->parts)
            subset->parts[subset->count - 1].end = end;
        subset->elements += parameter->desc.elements;
    }
}

svit_status sv_parameter_subset_make(sv_parameter_subset *subset, const sv_parameter_table *table,
                                     bool (*has)(const sv_parameter *parameter, const void *user),
                                     const void *user, svit_error *err)
{
    *subset = (sv_parameter_subset){0};
    list_parts(subset, table, has, user);
    if (subset->count == 0)
        return SVIT_OK;
    SVIT_TRY(sv_allocate_array(&table->allocator, (void **)&subset->parts, subset->count,
                               sizeof *subset->parts, "a list of parameters", err));
    list_parts(subset, table, has, user);
    return SVIT_OK;
}

void sv_parameter_subset_free(sv_parameter_subset *subset, const sv_allocator *allocator)
{
    if (subset->parts)
        sv_release(allocator, subset->parts, subset->count * sizeof *subset->parts);
    *subset = (sv_parameter_subset){0};
}

/* The number of parts that begin at or below `index`. */
static size_t parts_until(const sv_parameter_subset *subset, size_t index)
{
    size_t first = 0, end = subset->count;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (subset->parts[middle].begin <= index)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

size_t sv_subset_place(const sv_parameter_subset *subset, size_t index)
{
    const size_t until = parts_until(subset, index);
    if (until == 0)
        return SV_NO_PLACE;
    const sv_subset_part *part = &subset->parts[until - 1];
    return index < part->end ? part->place + (index - part->begin) : SV_NO_PLACE;
}

size_t sv_subset_elements_below(const sv_parameter_subset *subset, size_t index)
{
    const size_t until = parts_until(subset, index);
    if (until == 0)
        return 0;
    const sv_subset_part *part = &subset->parts[until - 1];
    return part->place + (sv_size_min(index, part->end) - part->begin);
}

sv_range sv_subset_first(const sv_parameter_subset *subset, size_t begin, size_t end)
{
    const size_t until = parts_until(subset, begin);
    const size_t at = until > 0 && begin < subset->parts[until - 1].end ? until - 1 : until;
    if (at == subset->count || subset->parts[at].begin >= end)
        return (sv_range){end, 0};
    const size_t first = sv_size_max(begin, subset->parts[at].begin);
    return (sv_range){first, sv_size_min(end, subset->parts[at].end) - first};
}

void sv_subset_gather(const sv_parameter_subset *subset, real *array, const real *flat)
{
    for (size_t i = 0; i < subset->count; i++) {
        const sv_subset_part *part = &subset->parts[i];
        memcpy(array + part->place, flat + part->begin, (part->end - part->begin) * sizeof *flat);
    }
}
