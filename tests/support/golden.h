/* Golden files: reading them, the formula for full-size weights, comparing. */
#ifndef TEST_GOLDEN_H
#define TEST_GOLDEN_H

#include "io/safetensors.h"

#include <shiftvit/shiftvit.h>

/* Opens GOLDEN_FOLDER/name.safetensors; fails the test where it cannot. */
sv_safetensors *golden_open(const char *name);

/* A tensor of it as float32 (int32 values are converted), to be freed with golden_free; *elements
 * may be NULL. Fails the test where there is none. */
float *golden_floats(const sv_safetensors *file, const char *name, size_t *elements);
int32_t *golden_labels(const sv_safetensors *file, const char *name, size_t *elements);
void golden_free(void *memory);

/* The golden files' formula: `elements` values of the tensor `name`; head_dim is that of a ViT. */
void golden_formula(float *out, const char *name, size_t elements, size_t rank, size_t head_dim);

/* The largest |a - b|; not a number where one is not. */
double golden_difference(const float *a, const float *b, size_t elements);

/* The largest |a|, likewise. */
double golden_largest(const float *a, size_t elements);

#endif
