/* Tensor descriptors. */
#include "tensor/tensor_desc.h"

#include "base/size.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool sv_tensor_desc_append(sv_tensor_desc *desc, uint64_t length)
{
    if (length > SIZE_MAX || !sv_size_multiply(&desc->elements, desc->elements, (size_t)length))
        return false;
    if (desc->rank == SV_MAX_RANK)
        desc->shape[SV_MAX_RANK - 1] = SV_LENGTH_NOT_HELD;
    else
        desc->shape[desc->rank++] = length <= INT64_MAX ? (int64_t)length : SV_LENGTH_NOT_HELD;
    return true;
}

bool sv_tensor_desc_init(sv_tensor_desc *out, sv_dtype dtype, const int64_t *shape, size_t rank)
{
    sv_tensor_desc desc = {.dtype = dtype, .elements = 1};
    size_t bits;
    assert(rank <= SV_MAX_RANK);
    /*@ loop invariant i <= rank && desc.rank <= SV_MAX_RANK && desc.dtype == dtype;
        loop assigns i, desc; */
    for (size_t i = 0; i < rank; i++) {
        assert(shape[i] >= 0);
        if (!sv_tensor_desc_append(&desc, (uint64_t)shape[i]))
            return false;
    }
    if (!sv_size_multiply(&bits, desc.elements / 8 + 1, sv_dtype_bits(dtype)))
        return false;
    *out = desc;
    return true;
}

size_t sv_tensor_desc_bytes(const sv_tensor_desc *desc)
{
    const size_t bits = sv_dtype_bits(desc->dtype);
    return desc->elements / 8 * bits + desc->elements % 8 * bits / 8;
}

bool sv_tensor_desc_holds(const sv_tensor_desc *desc, uint64_t bytes)
{
    const size_t bits = sv_dtype_bits(desc->dtype), rest = desc->elements % 8 * bits;
    size_t whole;
    return rest % 8 == 0 && sv_size_multiply(&whole, desc->elements / 8, bits) && bytes >= whole &&
           bytes - whole == rest / 8;
}

bool sv_tensor_desc_equal(const sv_tensor_desc *a, const sv_tensor_desc *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

const char *sv_tensor_desc_text(char text[SV_SHAPE_TEXT], const sv_tensor_desc *desc)
{
    size_t used = (size_t)snprintf(text, SV_SHAPE_TEXT, "[");
    for (size_t i = 0; i < desc->rank && used < SV_SHAPE_TEXT; i++) {
        char length[24] = "...";
        if (desc->shape[i] != SV_LENGTH_NOT_HELD)
            snprintf(length, sizeof length, "%" PRId64, desc->shape[i]);
        used += (size_t)snprintf(text + used, SV_SHAPE_TEXT - used, "%s%s", i ? ", " : "", length);
    }
    if (used < SV_SHAPE_TEXT)
        snprintf(text + used, SV_SHAPE_TEXT - used, "]");
    return text;
}
