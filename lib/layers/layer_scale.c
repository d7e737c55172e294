/* LayerScale as derived weights, and the gradients of what they are derived from. */
#include "layers/layer_scale.h"

#include "layers/create.h"

void sv_layer_scale_init(sv_layer_scale *scale, sv_linear *linear, sv_layer *layer,
                         const sv_layer_source *source, const char *name, const char *gamma,
                         size_t out, size_t in)
{
    scale->gamma = sv_layer_parameter_if(layer, source, gamma, "");
    scale->weight = sv_layer_parameter_if(layer, source, name, ".weight");
    scale->bias = sv_layer_parameter_if(layer, source, name, ".bias");
    if (!sv_layer_scale_exists(scale)) {
        sv_linear_init(linear, layer, out, in, scale->weight, scale->bias);
        return;
    }
    sv_linear_init_derived(linear, layer, out, in);
}

size_t sv_layer_scale_elements(const sv_layer_scale *scale, const sv_linear *linear)
{
    return sv_layer_scale_exists(scale) ? linear->out * (linear->in + 1) : 0;
}

/* NULL: the map has no bias. */
static const real *bias_of(const sv_layer_scale *scale, const sv_run *run)
{
    return scale->bias == SV_NO_PARAMETER ? NULL : run->weights + scale->bias;
}

/* W'[o, i] = gamma[o] W[o, i];  b'[o] = gamma[o] b[o] */
void sv_layer_scale_derive(const sv_layer_scale *scale, const sv_linear *linear, const sv_run *run,
                           real *memory)
{
    const real *gamma = run->weights + scale->gamma, *w = run->weights + scale->weight;
    const real *b = bias_of(scale, run);
    real *bias = memory + linear->out * linear->in;
    for (size_t o = 0; o < linear->out; o++) {
        for (size_t i = 0; i < linear->in; i++)
            memory[o * linear->in + i] = gamma[o] * w[o * linear->in + i];
        bias[o] = b ? gamma[o] * b[o] : 0;
    }
    if (run->exec.on_packed)
        run->exec.on_packed(run->exec.packed_argument, scale->weight);
}

/* Of W' = diag(gamma) W and b' = gamma * b:  dW[o, i] += gamma[o] dW'[o, i];  db += gamma * db';
 * dgamma[o] += sum over i of dW'[o, i] W[o, i], + db'[o] b[o] */
void sv_layer_scale_add_gradients(const sv_layer_scale *scale, const sv_linear *linear,
                                  const sv_run *run, const real *dw, const real *db)
{
    const real *gamma = run->weights + scale->gamma, *w = run->weights + scale->weight;
    const real *b = bias_of(scale, run);
    real *dgamma = sv_gradient(run, scale->gamma);
    real *dweight = sv_gradient(run, scale->weight), *dbias = sv_gradient(run, scale->bias);
    for (size_t o = 0; o < linear->out; o++, w += linear->in, dw += linear->in) {
        real sum = 0;
        for (size_t i = 0; dgamma && i < linear->in; i++)
            sum += dw[i] * w[i];
        for (size_t i = 0; dweight && i < linear->in; i++)
            dweight[o * linear->in + i] += gamma[o] * dw[i];
        if (dgamma)
            dgamma[o] += b ? sum + db[o] * b[o] : sum;
        if (dbias)
            dbias[o] += gamma[o] * db[o];
    }
}
