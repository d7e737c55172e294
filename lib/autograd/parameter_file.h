/* The flat arrays of a parameter table in safetensors files. A prefix before the tensors' names
 * tells the arrays apart: "" for weights, "optimizer.m." and others for optimiser slots, "ema." for
 * averages. */
#ifndef SV_PARAMETER_FILE_H
#define SV_PARAMETER_FILE_H

#include "autograd/parameter_subset.h"
#include "io/safetensors.h"

typedef struct sv_parameter_array {
    const char *prefix;                /* at most 63 bytes; "" for the weights */
    const real *values;                /* of all parameters, or an array of the subset */
    const sv_parameter_subset *subset; /* NULL: all parameters */
    const sv_parameter_table *table;   /* whose parameters these are, which stay F32; NULL: those of
                                        the call */
} sv_parameter_array;

/* The end of the name of a tensor of scales: an I8 tensor "a.weight" of rank 2 or more has its rows
 * divided by the elements of "a.weight.scale", F32 [rows]. */
#define SV_PARAMETER_SCALE ".scale"

/* Writes a safetensors file to `target`: the tensors of all arrays, array by array in the table's
 * order, and `metadata`, a JSON object of strings. `dtype` is F32, F16, BF16 or I8. With I8,
 * tensors of rank 2 or more are quantised, each followed by its scales, and all others are F32.
 * SVIT_E_ARGUMENT names an element that is too large for F16 or BF16; SVIT_E_NUMERIC as below. */
svit_status sv_parameter_arrays_write(const sv_parameter_table *table, const sv_byte_target *target,
                                      const char *metadata, const sv_parameter_array *arrays,
                                      size_t count, sv_dtype dtype, svit_error *err);

/* SVIT_E_NUMERIC names a parameter with an element that is not finite, which readers refuse. What
 * writes parameters calls it before the file is begun, which may replace a good one. */
svit_status sv_parameter_check_finite(const sv_parameter_table *table,
                                      const sv_parameter_array *array, svit_error *err);

/* Whether a tensor of the file holds the scales of another one. */
bool sv_parameter_is_scale(const sv_parameter_table *table, const sv_safetensors *file,
                           const char *name);

/* SVIT_E_FORMAT, naming both shapes, unless the tensor of the file has the parameter's shape. A
 * weight [out, in, 1, 1] may be [out, in] in the file. */
svit_status sv_parameter_check_shape(const sv_parameter *parameter,
                                     const sv_safetensors_entry *entry, const char *path,
                                     svit_error *err);

/* Reads one tensor into out[entry->desc.elements] as float32, an I8 tensor with its scales.
 * SVIT_E_FORMAT names `path` and the tensor if its type is not read or an element is not finite. */
svit_status sv_parameter_read_tensor(float *out, const sv_safetensors_entry *entry,
                                     const sv_safetensors *file, const char *path, svit_error *err);

/* SVIT_E_FORMAT, naming `path`, if elements of values[desc.elements] are not 0 though the model
 * wants them to be. */
svit_status sv_parameter_check_zeros(const sv_parameter *parameter, const float *values,
                                     const char *path, svit_error *err);

/* Checks, before memory is allocated for the values, that the file has a tensor prefix + name for
 * every parameter of the subset, NULL being all, of its shape and of a type that converts to
 * float32. SVIT_E_FORMAT names `path` and the tensor. */
svit_status sv_parameter_array_check(const sv_parameter_table *table,
                                     const sv_parameter_subset *subset, const sv_safetensors *file,
                                     const char *path, const char *prefix, svit_error *err);

/* Checks the tensors as above and reads them into `values`, an array of the subset. SVIT_E_FORMAT
 * also if an element is not finite; `values` are then undefined. */
svit_status sv_parameter_array_read(const sv_parameter_table *table,
                                    const sv_parameter_subset *subset, real *values,
                                    const sv_safetensors *file, const char *path,
                                    const char *prefix, svit_error *err);

#endif
