/* Adapters of LoRA as part of derived weights, and their gradients. */
#include "layers/linear/lora.h"

#include "layers/create.h"
#include "layers/linear/small_matmul.h"

#include <string.h>

bool sv_lora_init(sv_lora *lora, sv_layer_scale *scale, sv_linear *linear, sv_layer *layer,
                  const sv_layer_source *source, const char *name, const char *gamma, double alpha,
                  size_t out, size_t in)
{
    *lora = (sv_lora){.a = sv_layer_parameter_if(layer, source, name, ".lora_a"),
                      .b = sv_layer_parameter_if(layer, source, name, ".lora_b")};
    if (lora->a == SV_NO_PARAMETER)
        return false;
    scale->gamma = sv_layer_parameter_if(layer, source, gamma, "");
    scale->weight = sv_layer_parameter(layer, source, name, ".weight");
    scale->bias = sv_layer_parameter_if(layer, source, name, ".bias");
    lora->rank = (size_t)sv_parameter_at(source->table, lora->a)->desc.shape[0];
    lora->scale = (real)(alpha / (double)lora->rank);
    sv_linear_init_derived(linear, layer, out, in);
    return true;
}

size_t sv_lora_elements(const sv_lora *lora, const sv_linear *linear)
{
    return sv_lora_exists(lora) ? linear->out * (linear->in + 1) : 0;
}

/* The scratch: two arrays [out, rank], and that of matmuls. */
typedef struct lora_work {
    real *product, *scaled_b;
    void *matmul;
} lora_work;

static lora_work work_of(sv_arena *arena, const sv_lora *lora, const sv_linear *linear,
                         const sv_exec *exec)
{
    const size_t out = linear->out, in = linear->in, rank = lora->rank;
    lora_work work = {.product = sv_arena_reals(arena, out, rank),
                      .scaled_b = sv_arena_reals(arena, out, rank)};
    size_t bytes =
        sv_size_max(sv_small_matmul_bytes(exec, rank, in), sv_small_matmul_bytes(exec, in, rank));
    bytes = sv_size_max(bytes, sv_small_matmul_bytes(exec, out, in));
    work.matmul = sv_arena_take(arena, bytes, 1, 1);
    return work;
}

size_t sv_lora_scratch_bytes(const sv_lora *lora, const sv_linear *linear, const sv_exec *exec)
{
    sv_arena arena = {0};
    if (sv_lora_exists(lora))
        work_of(&arena, lora, linear, exec);
    return arena.bytes;
}

static const real *values_of(const sv_run *run, size_t offset)
{
    return offset == SV_NO_PARAMETER ? NULL : run->weights + offset;
}

/* W' = diag(gamma) (W + (alpha / rank) B A);  b' = gamma * b. Nothing else reads W, so it is
 * reported as packed, and a mapped model can drop its pages. */
void sv_lora_derive(const sv_lora *lora, const sv_layer_scale *layer_scale, const sv_linear *linear,
                    const sv_run *run, real *memory, char *scratch)
{
    const size_t out = linear->out, in = linear->in, rank = lora->rank;
    sv_arena arena = {.base = scratch};
    lora_work work = work_of(&arena, lora, linear, &run->exec);
    const real *w = run->weights + layer_scale->weight, *gamma = values_of(run, layer_scale->gamma);
    const real *b = values_of(run, layer_scale->bias);
    real *bias = memory + out * in;
    const sv_matrix down = {run->weights + lora->a, in, 1}, up = {run->weights + lora->b, rank, 1};
    memset(memory, 0, out * in * sizeof *memory);
    sv_add_matmul(&run->exec, &(sv_small_matmul){memory, in, up, down, out, rank, in}, work.matmul);
    for (size_t o = 0; o < out; o++, memory += in, w += in) {
        const real factor = gamma ? gamma[o] : 1;
        for (size_t i = 0; i < in; i++)
            memory[i] = factor * (w[i] + lora->scale * memory[i]);
        bias[o] = b ? factor * b[o] : 0;
    }
    if (run->exec.on_packed)
        run->exec.on_packed(run->exec.packed_argument, layer_scale->weight);
}

/* Of W' = W + scale B A and b' = b:  dW += dW';  db += db' */
static void add_base(const sv_layer_scale *scale, const sv_linear *linear, const sv_run *run,
                     const real *dw, const real *db)
{
    sv_add_to_gradient(run, scale->weight, dw, linear->out * linear->in);
    sv_add_to_gradient(run, scale->bias, db, linear->out);
}

/* Of W' = diag(gamma) (W + scale B A), with P = dW' A^T [out, rank]:
 *   dB += scale diag(gamma) P;  dA += (scale diag(gamma) B)^T dW';
 *   dgamma[o] += scale * sum over k of P[o, k] B[o, k], beside what it has from W and b */
void sv_lora_add_gradients(const sv_lora *lora, const sv_layer_scale *scale,
                           const sv_linear *linear, const sv_run *run, const real *dw,
                           const real *db, char *scratch)
{
    const size_t out = linear->out, in = linear->in, rank = lora->rank;
    sv_arena arena = {.base = scratch};
    lora_work work = work_of(&arena, lora, linear, &run->exec);
    const real *b = run->weights + lora->b, *gamma = values_of(run, scale->gamma);
    real *dgamma = sv_gradient(run, scale->gamma);
    real *dup = sv_gradient(run, lora->b), *ddown = sv_gradient(run, lora->a);
    const sv_matrix down_t = {run->weights + lora->a, 1, in}, scaled_t = {work.scaled_b, 1, rank};
    const sv_matrix dweight = {dw, in, 1};
    memset(work.product, 0, out * rank * sizeof(real));
    sv_add_matmul(&run->exec,
                  &(sv_small_matmul){work.product, rank, dweight, down_t, out, in, rank},
                  work.matmul);
    for (size_t o = 0; o < out; o++) {
        const real factor = gamma ? lora->scale * gamma[o] : lora->scale;
        real sum = 0;
        for (size_t k = o * rank; k < (o + 1) * rank; k++) {
            sum += work.product[k] * b[k];
            if (dup)
                dup[k] += factor * work.product[k];
            work.scaled_b[k] = factor * b[k];
        }
        if (dgamma)
            dgamma[o] += lora->scale * sum;
    }
    if (ddown)
        sv_add_matmul(&run->exec, &(sv_small_matmul){ddown, in, scaled_t, dweight, rank, out, in},
                      work.matmul);
    if (gamma)
        sv_layer_scale_add_gradients(scale, linear, run, dw, db);
    else
        add_base(scale, linear, run, dw, db);
}
