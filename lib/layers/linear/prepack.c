/* Prepacked weights of a layer: first its derived weights, then for each linear map B of the
 * forward and, in a session that trains, B of the backward. */
#include "layers/linear/prepack.h"

#include "base/size.h"

static size_t packed_b_bytes(const sv_gemm_b *b, const sv_run *run)
{
    return sv_packed_b_bytes(run->exec.gemm, &run->exec, b->k, b->n);
}

static size_t linear_bytes(const sv_linear *linear, const sv_run *run)
{
    return sv_size_plus(packed_b_bytes(&linear->forward, run),
                        run->pass.training ? packed_b_bytes(&linear->backward, run) : 0);
}

static size_t derived_bytes(const sv_layer *layer)
{
    sv_arena arena = {0};
    if (layer->ops->derived_elements)
        sv_arena_reals(&arena, layer->ops->derived_elements(layer), 1);
    return arena.overflow ? SIZE_MAX : arena.bytes;
}

/* The weight of a linear map, from which its packed copies are made. */
static const real *weight_of(const sv_linear *linear, const sv_run *run)
{
    return linear->derived ? linear->derived : run->weights + linear->weight;
}

static void place_b(sv_gemm_b *b, const real *weight, char *memory)
{
    b->b = weight;
    b->packed = memory;
}

static void pack_weight(sv_gemm_b *b, const sv_run *run, const real *weight, char *memory)
{
    place_b(b, weight, memory);
    run->exec.gemm->pack_b(run->exec.context->kernels, b);
}

/* A weight is reported as packed when its last copy is. */
static void pack_linear(sv_linear *linear, const sv_run *run, char *memory, bool backward)
{
    const real *weight = weight_of(linear, run);
    if (backward)
        pack_weight(&linear->backward, run, weight, memory + packed_b_bytes(&linear->forward, run));
    else
        pack_weight(&linear->forward, run, weight, memory);
    if (run->exec.on_packed && !linear->derived && backward == run->pass.training)
        run->exec.on_packed(run->exec.packed_argument, linear->weight);
}

size_t sv_prepack_bytes(const sv_layer *layer, const sv_run *run)
{
    size_t bytes = derived_bytes(layer);
    for (size_t i = 0; i < SV_LAYER_LINEARS && layer->linears[i]; i++)
        bytes = sv_size_plus(bytes, linear_bytes(layer->linears[i], run));
    return bytes;
}

static void pack_linears(const sv_layer *layer, const sv_run *run, char *memory, bool backward)
{
    for (size_t i = 0; i < SV_LAYER_LINEARS && layer->linears[i]; i++) {
        pack_linear(layer->linears[i], run, memory, backward);
        memory += linear_bytes(layer->linears[i], run);
    }
}

/* One worker derives a layer's weights and packs them for both directions. */
static void derive_and_pack(sv_layer *layer, const sv_run *run, char *memory, uint32_t worker)
{
    char *packed = memory + derived_bytes(layer);
    layer->ops->place_derived(layer, (const real *)(const void *)memory);
    layer->ops->derive_weights(layer, run, (real *)(void *)memory,
                               sv_worker_scratch(&run->exec, worker));
    pack_linears(layer, run, packed, false);
    if (run->pass.training)
        pack_linears(layer, run, packed, true);
}

void sv_prepack(sv_layer *layer, const sv_run *run, char *memory, bool backward, uint32_t worker)
{
    if (derived_bytes(layer) == 0)
        pack_linears(layer, run, memory, backward);
    else if (!backward)
        derive_and_pack(layer, run, memory, worker);
}

void sv_prepack_place(sv_layer *layer, const sv_run *run, char *memory)
{
    char *packed = memory + derived_bytes(layer);
    if (packed > memory)
        layer->ops->place_derived(layer, (const real *)(const void *)memory);
    for (size_t i = 0; i < SV_LAYER_LINEARS && layer->linears[i]; i++) {
        place_b(&layer->linears[i]->forward, weight_of(layer->linears[i], run), packed);
        packed += linear_bytes(layer->linears[i], run);
    }
}
