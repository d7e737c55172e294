/* Tensor descriptors: the element type and the shape that a tensor has in a file. Parameters,
 * safetensors entries and the optimiser state that checkpoints store share them. A tensor is dense
 * and row-major, so it needs no strides. */
#ifndef SV_TENSOR_DESC_H
#define SV_TENSOR_DESC_H

#include "tensor/dtype.h"

#include <stdint.h>

enum { SV_MAX_RANK = 8 };

/* In the shape of a tensor in a file: a dimension above INT64_MAX; as the last of SV_MAX_RANK: the
 * tensor has more dimensions. No parameter has such a shape. */
enum { SV_LENGTH_NOT_HELD = -1 };

typedef struct sv_tensor_desc {
    sv_dtype dtype;
    size_t rank;
    int64_t shape[SV_MAX_RANK]; /* 0 from index `rank` on */
    size_t elements;            /* the product of the shape; 1 if the rank is 0 */
} sv_tensor_desc;

/* Appends a dimension to the shape. Returns false, with *desc partly changed, if the number of
 * elements does not fit a size_t. */
/*@ requires \valid(desc) && desc->rank <= SV_MAX_RANK;
    assigns *desc;
    ensures desc->rank <= SV_MAX_RANK && desc->dtype == \old(desc->dtype); */
bool sv_tensor_desc_append(sv_tensor_desc *desc, uint64_t length);

/* Whether `bytes` bytes of data are exactly those of the elements. */
/*@ requires \valid_read(desc) && 0 <= desc->dtype <= SV_DTYPE_BOOL;
    assigns \nothing; */
bool sv_tensor_desc_holds(const sv_tensor_desc *desc, uint64_t bytes);

/* Fills *out. `rank` is at most SV_MAX_RANK, the dimensions are at least 0. Returns false if the
 * number of elements or of bytes does not fit a size_t. */
/*@ requires \valid(out) && rank <= SV_MAX_RANK && \valid_read(shape + (0 .. rank - 1));
    requires \forall integer i; 0 <= i < rank ==> shape[i] >= 0;
    requires 0 <= dtype <= SV_DTYPE_BOOL && \separated(out, shape + (0 .. rank - 1));
    assigns *out; */
bool sv_tensor_desc_init(sv_tensor_desc *out, sv_dtype dtype, const int64_t *shape, size_t rank);

/* Bytes of the tensor's data. Elements of less than a byte end with a byte. */
size_t sv_tensor_desc_bytes(const sv_tensor_desc *desc);

/* Whether type, rank and dimensions are the same. */
bool sv_tensor_desc_equal(const sv_tensor_desc *a, const sv_tensor_desc *b);

/* Writes the shape for a message, such as "[96, 3, 4, 4]", with "..." for SV_LENGTH_NOT_HELD.
 * Returns `text`. */
enum { SV_SHAPE_TEXT = 96 };
const char *sv_tensor_desc_text(char text[SV_SHAPE_TEXT], const sv_tensor_desc *desc);

#endif
