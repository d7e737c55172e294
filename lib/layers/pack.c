/* The packed copies of a layer's weights: of each product what the forward reads, and behind it, to
 * train, what the backward reads. Before them the weights that the layer makes itself. */
#include "layers/linear.h"

size_t sv_packed_b_bytes(const sv_gemm *gemm, const sv_exec *exec, size_t k, size_t n)
{
    sv_arena arena = {0};
    sv_arena_take(&arena, gemm->packed_b_bytes(exec->context->kernels, k, n), 1, 1);
    return arena.bytes;
}

static size_t operand_bytes(const sv_gemm_b *operand, const sv_run *run)
{
    return sv_packed_b_bytes(run->exec.gemm, &run->exec, operand->k, operand->n);
}

static size_t linear_bytes(const sv_linear *linear, const sv_run *run)
{
    return operand_bytes(&linear->forward, run) +
           (run->pass.training ? operand_bytes(&linear->backward, run) : 0);
}

static size_t made_bytes(const sv_layer *layer)
{
    sv_arena arena = {0};
    if (layer->ops->derived_elements)
        sv_arena_reals(&arena, layer->ops->derived_elements(layer), 1);
    return arena.bytes;
}

static void pack_operand(sv_gemm_b *operand, const sv_run *run, const real *weight, char *memory)
{
    operand->b = weight;
    operand->packed = memory;
    run->exec.gemm->pack_b(run->exec.context->kernels, operand);
}

static void pack_linear(sv_linear *linear, const sv_run *run, char *memory, int backward)
{
    const real *weight = linear->derived ? linear->derived : run->weights + linear->weight;
    if (backward)
        pack_operand(&linear->backward, run, weight, memory + operand_bytes(&linear->forward, run));
    else
        pack_operand(&linear->forward, run, weight, memory);
    if (run->exec.packed && !linear->derived && backward == run->pass.training)
        run->exec.packed(run->exec.packed_argument, linear->weight);
}

size_t sv_pack_bytes(const sv_layer *layer, const sv_run *run)
{
    size_t bytes = made_bytes(layer);
    for (size_t i = 0; i < SV_LAYER_LINEARS && layer->linears[i]; i++)
        bytes += linear_bytes(layer->linears[i], run);
    return bytes;
}

static void pack_linears(const sv_layer *layer, const sv_run *run, char *memory, int backward)
{
    for (size_t i = 0; i < SV_LAYER_LINEARS && layer->linears[i]; i++) {
        pack_linear(layer->linears[i], run, memory, backward);
        memory += linear_bytes(layer->linears[i], run);
    }
}

/* One worker makes the weights of a layer and packs them both ways. */
static void pack_made(sv_layer *layer, const sv_run *run, char *memory, uint32_t worker)
{
    char *packed = memory + made_bytes(layer);
    layer->ops->derive_weights(layer, run, (real *)memory, sv_worker_scratch(&run->exec, worker));
    for (int backward = 0; backward <= run->pass.training; backward++)
        pack_linears(layer, run, packed, backward);
}

void sv_pack(sv_layer *layer, const sv_run *run, char *memory, int backward, uint32_t worker)
{
    if (made_bytes(layer) == 0)
        pack_linears(layer, run, memory, backward);
    else if (!backward)
        pack_made(layer, run, memory, worker);
}
