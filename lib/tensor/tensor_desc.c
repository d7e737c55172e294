/* Tensor descriptors. */
#include "tensor/tensor_desc.h"

#include "base/size.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool sv_tensor_desc_init(sv_tensor_desc *out, sv_dtype dtype, const int64_t *shape, size_t rank)
{
    sv_tensor_desc desc = {.dtype = dtype, .rank = rank, .elements = 1};
    size_t bytes;
    assert(rank <= SV_MAX_RANK);
    /*@ loop invariant i <= rank;
        loop assigns i, desc.shape[0 .. SV_MAX_RANK - 1], desc.elements; */
    for (size_t i = 0; i < rank; i++) {
        assert(shape[i] >= 0);
        desc.shape[i] = shape[i];
        if (!sv_size_multiply(&desc.elements, desc.elements, (size_t)shape[i]))
            return false;
    }
    if (!sv_size_multiply(&bytes, desc.elements, sv_dtype_bytes(dtype)))
        return false;
    *out = desc;
    return true;
}

size_t sv_tensor_desc_bytes(const sv_tensor_desc *desc)
{
    return desc->elements * sv_dtype_bytes(desc->dtype);
}

bool sv_tensor_desc_equal(const sv_tensor_desc *a, const sv_tensor_desc *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

const char *sv_tensor_desc_text(char text[SV_SHAPE_TEXT], const sv_tensor_desc *desc)
{
    size_t used = (size_t)snprintf(text, SV_SHAPE_TEXT, "[");
    for (size_t i = 0; i < desc->rank && used < SV_SHAPE_TEXT; i++)
        used += (size_t)snprintf(text + used, SV_SHAPE_TEXT - used, i ? ", %" PRId64 : "%" PRId64,
                                 desc->shape[i]);
    if (used < SV_SHAPE_TEXT)
        snprintf(text + used, SV_SHAPE_TEXT - used, "]");
    return text;
}
