/* Named parameters: one table of names and shapes over flat arrays of values. The weights are such
 * an array, of the table's `elements`; gradients and optimiser slots have a subset of its elements
 * (parameter_subset.h). The parameters follow each other as in files, so that a mapped file can
 * serve as the array of weights. */
#ifndef SV_PARAMETER_H
#define SV_PARAMETER_H

#include "base/real.h"
#include "context/context.h"
#include "tensor/tensor_desc.h"

/* The role of a parameter, which decides about weight decay and initial values. */
typedef enum sv_parameter_role {
    SV_ROLE_WEIGHT,
    SV_ROLE_BIAS,
    SV_ROLE_NORM_WEIGHT,
    SV_ROLE_NORM_BIAS,
    SV_ROLE_POSITION,    /* position embeddings and prefix tokens */
    SV_ROLE_TEMPERATURE, /* of the attention softmax */
    SV_ROLE_LAYER_SCALE, /* factors of LayerScale */
    SV_ROLE_LORA_A,      /* adapters of LoRA: [rank, in], and [out, rank], which begins as 0 */
    SV_ROLE_LORA_B,
    SV_ROLE_FREQUENCIES, /* learnt, of rotary position embeddings: [2, heads, head_dim / 2] */
    SV_ROLE_LAMBDA       /* of differential attention: [head_dim / 2] */
} sv_parameter_role;

/* The offset of a parameter that the model does not have. */
#define SV_NO_PARAMETER SIZE_MAX

typedef struct sv_parameter {
    char name[96];
    sv_tensor_desc desc; /* as in a file */
    size_t offset;       /* index of its first element in the flat arrays */
    sv_parameter_role role;
    bool frozen;    /* has no gradient and is never updated */
    bool classes;   /* its first axis is the classes of the model */
    uint32_t depth; /* 0: the embedding; i + 1: block i of the model; table.depths: what follows */
    /* Of a position embedding of patches: its rows are grid_prefix rows of other tokens, then
     * grid_height x grid_width. 0 in other parameters. */
    size_t grid_prefix, grid_height, grid_width;
    /* Of a patch embedding [out, size * size * channels]. 0 in other parameters. */
    size_t patch_size, patch_channels;
    size_t zeros_first, zeros_end; /* indices of elements that are 0 in every model; equal: none */
    double fan_in, fan_out;        /* of SV_ROLE_WEIGHT, for Glorot's rule; the caller of
                               sv_parameter_add may change them */
} sv_parameter;

typedef struct sv_parameter_table {
    sv_allocator allocator;
    sv_parameter *list; /* in file order */
    size_t *slots;      /* [2 * capacity]: a hash table by name of 1 + index in the list, 0: free */
    size_t count;
    size_t capacity; /* 0 or a power of two */
    size_t elements; /* of a flat array */
    uint32_t depths; /* blocks of the model + 1: the depth of its head; 0 in a table of no model */
    size_t head;     /* index of the first parameter of the head's linear maps, which are the last
                        ones; 0: there are none */
} sv_parameter_table;

/* Makes an empty table. */
void sv_parameter_table_init(sv_parameter_table *table, const sv_allocator *allocator);

/* Frees the parameters and leaves the table empty. */
void sv_parameter_table_free(sv_parameter_table *table);

/* Adds a parameter with a new name after the others. *index becomes its index in the list.
 * SVIT_E_MEMORY. */
svit_status sv_parameter_add(sv_parameter_table *table, size_t *index, const char *name,
                             sv_parameter_role role, const int64_t *shape, size_t rank,
                             svit_error *err);

/* Finds a parameter by name, in constant time. NULL if there is none. */
const sv_parameter *sv_parameter_find(const sv_parameter_table *table, const char *name);

/* Whether the parameter is of a linear map of the head: the classifier, or a hidden layer before
 * it. */
bool sv_parameter_is_of_head(const sv_parameter_table *table, const sv_parameter *parameter);

/* The parameter whose first element has the index `offset` in the flat arrays. There must be
 * one. */
const sv_parameter *sv_parameter_at(const sv_parameter_table *table, size_t offset);

/* Copy a parameter between the layout of files and that of the flat array `flat`. A convolution's
 * weight is [out, in, kh, kw] in files and [out, kh, kw, in] in the flat array, as the kernels read
 * it. All other parameters are the same in both. */
void sv_parameter_export(const sv_parameter *parameter, float *out, const real *flat);
void sv_parameter_import(const sv_parameter *parameter, real *flat, const float *in);

/* The same with the parameter's first element in place of the flat array. */
void sv_parameter_export_from(const sv_parameter *parameter, float *out, const real *in);
void sv_parameter_import_to(const sv_parameter *parameter, real *out, const float *in);

/* The index of the first element of values[desc.elements] that is not 0 though the model wants it
 * to be; desc.elements if there is none. */
size_t sv_parameter_first_not_zero(const sv_parameter *parameter, const float *values);

/* Elements of each of the matrices [in, kh * kw] that are transposed between the two layouts; 0 if
 * the parameter is the same in both. */
size_t sv_parameter_transpose_elements(const sv_parameter *parameter);

/* Converts values[elements] from the layout of files to that of the flat array, in place. `scratch`
 * has sv_parameter_transpose_elements(parameter) elements. */
void sv_parameter_transpose(const sv_parameter *parameter, float *values, float *scratch);

#endif
