/* Golden files: how to read them, the formula of their full-size weights, comparisons. */
#ifndef TEST_GOLDEN_H
#define TEST_GOLDEN_H

#include "io/safetensors.h"

#include <shiftvit/shiftvit.h>

/* Opens GOLDEN_FOLDER/name.safetensors; fails the test if it cannot. */
sv_safetensors *golden_open(const char *name);

/* Returns a tensor as float32 (int32 values are converted), to be freed with golden_free; *elements
 * may be NULL. Fails the test if there is no such tensor. */
float *golden_floats(const sv_safetensors *file, const char *name, size_t *elements);
int32_t *golden_labels(const sv_safetensors *file, const char *name, size_t *elements);
void golden_free(void *memory);

/* Fills `out` with the values that the golden files' formula gives the tensor `name`. head_dim is
 * that of a ViT. */
void golden_formula(float *out, const char *name, size_t elements, size_t rank, size_t head_dim);

/* Returns the largest |a - b|, or NaN if any difference is NaN. */
double golden_difference(const float *a, const float *b, size_t elements);

/* Returns the largest |a|, or NaN if any element is NaN. */
double golden_largest(const float *a, size_t elements);

#endif
