/* Named parameters: one table of names and shapes over flat arrays of numbers. Weights, gradients
 * and optimiser slots are arrays of the table's `elements` with the same offsets: one parameter
 * after another as in files, so that a file's pages may be such an array. */
#ifndef SV_PARAMETER_H
#define SV_PARAMETER_H

#include "base/real.h"
#include "context/context.h"
#include "tensor/tensor_desc.h"

/* What a parameter is, for weight decay and for initial weights. */
typedef enum sv_parameter_role {
    SV_ROLE_WEIGHT,
    SV_ROLE_BIAS,
    SV_ROLE_NORM_WEIGHT,
    SV_ROLE_NORM_BIAS,
    SV_ROLE_POSITION,   /* position embeddings and class tokens */
    SV_ROLE_TEMPERATURE /* of attention */
} sv_parameter_role;

/* The place of a parameter that a model has not. */
#define SV_NO_PARAMETER SIZE_MAX

typedef struct sv_parameter {
    char name[96];
    sv_tensor_desc desc; /* as in a file */
    size_t offset;       /* of its first element in the flat arrays */
    sv_parameter_role role;
    double fan_in, fan_out; /* of SV_ROLE_WEIGHT, for Glorot's rule; whoever adds one may
                               set others */
} sv_parameter;

typedef struct sv_parameter_table {
    sv_allocator allocator;
    sv_parameter *list; /* in file order */
    size_t *slots; /* [2 * capacity]: a hash table of the names, 1 + number in the list, 0: free */
    size_t count;
    size_t capacity; /* 0 or a power of two */
    size_t elements; /* of a flat array */
} sv_parameter_table;

void sv_parameter_table_init(sv_parameter_table *table, const sv_allocator *allocator);
void sv_parameter_table_free(sv_parameter_table *table);

/* Adds a parameter of a new name and returns its number in *index. */
svit_status sv_parameter_add(sv_parameter_table *table, size_t *index, const char *name,
                             sv_parameter_role role, const int64_t *shape, size_t rank,
                             svit_error *err);

/* NULL where there is none of that name. The time does not grow with the table. */
const sv_parameter *sv_parameter_find(const sv_parameter_table *table, const char *name);

/* The parameter whose first element is number `offset` of the flat arrays; there is one. */
const sv_parameter *sv_parameter_at(const sv_parameter_table *table, size_t offset);

/* Between the file's layout and the one that kernels use (a convolution [out, in, kh, kw] is kept
 * as [out, kh, kw, in]; all else is the same). `flat` is the whole flat array. */
void sv_parameter_export(const sv_parameter *parameter, float *out, const real *flat);
void sv_parameter_import(const sv_parameter *parameter, real *flat, const float *in);

/* The numbers of each matrix [in, kh * kw] that lies turned in the flat arrays; 0 where a parameter
 * is the same in both layouts. */
size_t sv_parameter_transpose_elements(const sv_parameter *parameter);

/* Import in place: values[elements] from the file's layout. `scratch` has
 * sv_parameter_transpose_elements numbers. */
void sv_parameter_transpose(const sv_parameter *parameter, float *values, float *scratch);

#endif
