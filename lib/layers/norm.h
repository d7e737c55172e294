/* The norm of each token's channels as a part of layers: a layer norm, or without a bias a
 * root-mean-square norm. Moments are [tokens]; the kernels' comments have the formulas. */
#ifndef SV_NORM_H
#define SV_NORM_H

#include "layers/create.h"

/* Offsets in the flat arrays. */
typedef struct sv_norm {
    size_t weight; /* SV_NO_PARAMETER: there is no such norm */
    size_t bias;   /* SV_NO_PARAMETER: a root-mean-square norm */
} sv_norm;

/* The norm `name` of a layer, as far as the table has it. */
static inline sv_norm sv_norm_find(sv_layer *layer, const sv_layer_source *source, const char *name)
{
    return (sv_norm){sv_layer_parameter_if(layer, source, name, ".weight"),
                     sv_layer_parameter_if(layer, source, name, ".bias")};
}

static inline bool sv_norm_exists(const sv_norm *norm)
{
    return norm->weight != SV_NO_PARAMETER;
}

static inline bool sv_norm_has_bias(const sv_norm *norm)
{
    return norm->bias != SV_NO_PARAMETER;
}

/* y = norm(x), whose moments are written; y may be x. */
static inline void sv_norm_forward(const sv_norm *norm, const sv_run *run, real *y, real *mean,
                                   real *rstd, const real *x, size_t tokens, size_t c, real eps)
{
    run->exec.context->kernels->layer_norm(
        y, mean, rstd, x, run->weights + norm->weight,
        sv_norm_has_bias(norm) ? run->weights + norm->bias : NULL, tokens, c, eps);
}

/* y = norm(x) of known moments. */
static inline void sv_norm_again(const sv_norm *norm, const sv_run *run, real *y, const real *x,
                                 const real *mean, const real *rstd, size_t tokens, size_t c)
{
    run->exec.context->kernels->norm_apply(
        y, x, mean, rstd, run->weights + norm->weight,
        sv_norm_has_bias(norm) ? run->weights + norm->bias : NULL, tokens, c);
}

/* The gradient of x; dx may be dy. */
static inline void sv_norm_backward(const sv_norm *norm, const sv_run *run, real *dx,
                                    const real *dy, const real *x, const real *mean,
                                    const real *rstd, size_t tokens, size_t c)
{
    const sv_kernels *kernels = run->exec.context->kernels;
    (sv_norm_has_bias(norm) ? kernels->layer_norm_backward : kernels->rms_norm_backward)(
        dx, dy, x, mean, rstd, run->weights + norm->weight, tokens, c);
}

/* Adds the gradients of weight and bias [c]; a norm without a bias does not touch dbias. */
static inline void sv_norm_add_gradients(const sv_norm *norm, const sv_run *run, real *dweight,
                                         real *dbias, const real *dy, const real *x,
                                         const real *mean, const real *rstd, size_t tokens,
                                         size_t c)
{
    run->exec.context->kernels->norm_backward_parameters(
        dweight, sv_norm_has_bias(norm) ? dbias : NULL, dy, x, mean, rstd, tokens, c);
}

#endif
