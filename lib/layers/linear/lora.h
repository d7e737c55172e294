/* LoRA (Hu et al. 2021): the weight of a linear map is the sum of a parameter W and of a product of
 * low rank. The sum is a derived weight, so no pass multiplies by the adapters A and B:
 *   y = W' x + b',  W' = diag(gamma) (W + scale B A),  b' = gamma * b
 * Without LayerScale gamma is 1. */
#ifndef SV_LORA_H
#define SV_LORA_H

#include "layers/layer_scale.h"

typedef struct sv_lora {
    size_t a, b; /* offsets of A [rank, in] and B [out, rank]; SV_NO_PARAMETER: no adapter */
    size_t rank;
    real scale; /* alpha / rank */
} sv_lora;

/* Looks for the adapters `name`.lora_a and `name`.lora_b in the parameter table. If they are there,
 * `linear` gets a derived weight, *scale gets the offsets of the parameters `name`.weight,
 * `name`.bias and `gamma`, from which it is derived too, and the result is true. Otherwise it is
 * false, and the caller initialises `linear` and *scale. */
bool sv_lora_init(sv_lora *lora, sv_layer_scale *scale, sv_linear *linear, sv_layer *layer,
                  const sv_layer_source *source, const char *name, const char *gamma, double alpha,
                  size_t out, size_t in);

static inline bool sv_lora_exists(const sv_lora *lora)
{
    return lora->rank > 0;
}

/* Elements of W' and b' in one array; 0 without adapters. */
size_t sv_lora_elements(const sv_lora *lora, const sv_linear *linear);

/* Bytes of scratch that the two functions below need; 0 without adapters. */
size_t sv_lora_scratch_bytes(const sv_lora *lora, const sv_linear *linear, const sv_exec *exec);

/* Derives W' and b' into `memory`; b' is 0 if the map has no bias. */
void sv_lora_derive(const sv_lora *lora, const sv_layer_scale *layer_scale, const sv_linear *linear,
                    const sv_run *run, real *memory, char *scratch);

/* Adds to the model's gradients what follows from those of W' and b', dw[out, in] and db[out]: to
 * those of A, B, W, b and gamma that are not frozen. On this thread. */
void sv_lora_add_gradients(const sv_lora *lora, const sv_layer_scale *scale,
                           const sv_linear *linear, const sv_run *run, const real *dw,
                           const real *db, char *scratch);

#endif
