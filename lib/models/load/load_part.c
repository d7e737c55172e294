/* The part of a tensor that a rule takes. */
#include "models/load/load_internal.h"

#include <string.h>

/* Elements first..end - 1 of an axis of [outer, length, inner]. */
typedef struct part_range {
    size_t outer, length, inner, first, end;
} part_range;

static bool is_whole(const sv_name_match *match)
{
    return match->kind != SV_RULE_PART && match->kind != SV_RULE_BLOCK &&
           match->kind != SV_RULE_SHARE;
}

/* Returns false if the shares are longer than the axis. */
static bool share_of(part_range *range, const sv_tensor_desc *whole, const sv_name_match *match)
{
    const sv_rule_part *part = &match->part;
    const bool is_last = (part->axis == 0) == (part->first == 1);
    size_t taken = match->elements > 0 ? match->elements : range->length;
    if (whole->rank == 2) {
        const size_t other = (size_t)whole->shape[1 - part->axis];
        if (other > range->length / part->of)
            return false;
        taken = part->first ? part->of * other : range->length - part->of * other;
    }
    range->first = is_last && taken <= range->length ? range->length - taken : 0;
    range->end = range->first + taken;
    return taken <= range->length;
}

/* Returns false if the tensor lacks the axis or the elements. */
static bool range_of(part_range *range, const sv_tensor_desc *whole, const sv_name_match *match)
{
    const sv_rule_part *part = &match->part;
    if (part->axis >= whole->rank)
        return false;
    *range = (part_range){1, (size_t)whole->shape[part->axis], 1, part->first, 0};
    for (size_t i = 0; i < whole->rank; i++)
        if (i != part->axis)
            *(i < part->axis ? &range->outer : &range->inner) *= (size_t)whole->shape[i];
    if (match->kind == SV_RULE_BLOCK) {
        range->end = range->first < range->length ? range->first + 1 : 0;
        return range->first < range->length;
    }
    if (match->kind == SV_RULE_SHARE)
        return share_of(range, whole, match);
    if (range->length % part->of != 0)
        return false;
    range->first = range->length / part->of * part->first;
    range->end = range->length / part->of * part->end;
    return true;
}

bool sv_load_part_shape(sv_tensor_desc *desc, const sv_name_match *match)
{
    part_range range;
    if (is_whole(match))
        return true;
    if (!range_of(&range, desc, match))
        return false;
    int64_t *axis = &desc->shape[match->part.axis];
    desc->elements = range.outer * (range.end - range.first) * range.inner;
    *axis = (int64_t)(range.end - range.first);
    if (match->kind == SV_RULE_BLOCK) {
        desc->rank--;
        memmove(axis, axis + 1, (desc->rank - match->part.axis) * sizeof *axis);
    }
    return true;
}

void sv_load_part(float *values, const sv_tensor_desc *whole, const sv_name_match *match)
{
    part_range range;
    if (is_whole(match) || !range_of(&range, whole, match))
        return;
    const size_t elements = (range.end - range.first) * range.inner;
    for (size_t i = 0; i < range.outer; i++)
        memmove(values + i * elements, values + (i * range.length + range.first) * range.inner,
                elements * sizeof *values);
}
