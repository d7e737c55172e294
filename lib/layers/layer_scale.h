/* LayerScale (Touvron et al. 2021): the output of a linear map is multiplied by a factor for each
 * channel. The factors are folded into a derived weight, so no pass multiplies by them:
 *   gamma * (W x + b) = W' x + b',  W' = diag(gamma) W,  b' = gamma * b */
#ifndef SV_LAYER_SCALE_H
#define SV_LAYER_SCALE_H

#include "layers/layers.h"
#include "layers/linear/linear.h"

/* Offsets of the factors [out] and of the linear map's own weight [out, in] and bias [out]. */
typedef struct sv_layer_scale {
    size_t gamma; /* SV_NO_PARAMETER: the layer has no LayerScale */
    size_t weight, bias;
} sv_layer_scale;

/* Initialises *scale, and `linear` with the parameters `name`.weight and `name`.bias; as a derived
 * map if the table has the factors `gamma`. */
void sv_layer_scale_init(sv_layer_scale *scale, sv_linear *linear, sv_layer *layer,
                         const sv_layer_source *source, const char *name, const char *gamma,
                         size_t out, size_t in);

static inline bool sv_layer_scale_exists(const sv_layer_scale *scale)
{
    return scale->gamma != SV_NO_PARAMETER;
}

/* Elements of W' and b' in one array; 0 without LayerScale. */
size_t sv_layer_scale_elements(const sv_layer_scale *scale, const sv_linear *linear);

/* Derives W' and b' into `memory`. */
void sv_layer_scale_derive(const sv_layer_scale *scale, const sv_linear *linear, const sv_run *run,
                           real *memory);

/* Adds to the model's gradients what follows from those of W' and b', dw[out, in] and db[out]: to
 * those of gamma, W and b that are not frozen. */
void sv_layer_scale_add_gradients(const sv_layer_scale *scale, const sv_linear *linear,
                                  const sv_run *run, const real *dw, const real *db);

#endif
