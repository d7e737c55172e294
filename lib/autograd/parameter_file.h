/* Flat arrays of a parameter table in safetensors files, each under a prefix of its own: weights
 * under none, optimiser slots and averages under theirs. */
#ifndef SV_PARAMETER_FILE_H
#define SV_PARAMETER_FILE_H

#include "autograd/parameter.h"
#include "io/safetensors.h"

typedef struct sv_parameter_array {
    const char *prefix; /* "" for the weights; at most 63 bytes */
    const real *values; /* [table->elements] */
} sv_parameter_array;

/* Writes the arrays one after another, each in the table's order, with `metadata`, the JSON of an
 * object of strings. Atomic. */
svit_status sv_parameter_arrays_write(const sv_parameter_table *table, const char *path,
                                      const char *metadata, const sv_parameter_array *arrays,
                                      size_t count, svit_error *err);

/* Whether a tensor of a file has the parameter's shape; a weight [out, in, 1, 1] may be [out, in]
 * in the file. SVIT_E_FORMAT names both shapes. */
svit_status sv_parameter_check_shape(const sv_parameter *parameter,
                                     const sv_safetensors_entry *entry, const char *path,
                                     svit_error *err);

/* Whether the file has a tensor prefix + name of every parameter's shape, and of a type that is
 * read: what may be asked before memory is taken for the values. SVIT_E_FORMAT names `path` and the
 * tensor. */
svit_status sv_parameter_array_check(const sv_parameter_table *table, const sv_safetensors *file,
                                     const char *path, const char *prefix, svit_error *err);

/* Reads those tensors into values[table->elements]. SVIT_E_FORMAT as above, or names the tensor
 * that holds a number that is not finite; `values` are then undefined. */
svit_status sv_parameter_array_read(const sv_parameter_table *table, real *values,
                                    const sv_safetensors *file, const char *path,
                                    const char *prefix, svit_error *err);

#endif
