/* The attention block as a layer: its operations and its creation. */
#include "layers/attention/attention_internal.h"
#include "layers/dropout_bits.h"

/* Elements of the derived weight and bias of qkv; 0: they are not derived. */
static size_t qkv_elements(const attention_block *block)
{
    return sv_lora_exists(&block->qkv_lora) ? sv_lora_elements(&block->qkv_lora, &block->qkv)
                                            : sv_attention_derived_elements(&block->base);
}

/* The same for proj, whose derived weight and bias follow those of qkv in memory. */
static size_t proj_elements(const attention_block *block)
{
    return sv_lora_exists(&block->proj_lora) ? sv_lora_elements(&block->proj_lora, &block->proj)
                                             : sv_layer_scale_elements(&block->scale, &block->proj);
}

static size_t derived_elements(const sv_layer *layer)
{
    const attention_block *block = (const attention_block *)layer;
    return qkv_elements(block) + proj_elements(block) + sv_attention_derived_phases(block);
}

static void place_derived(sv_layer *layer, const real *memory)
{
    attention_block *block = (attention_block *)layer;
    if (qkv_elements(block) > 0)
        sv_linear_place_derived(&block->qkv, memory);
    if (proj_elements(block) > 0)
        sv_linear_place_derived(&block->proj, memory + qkv_elements(block));
    if (sv_attention_derived_phases(block) > 0)
        block->rotary.phases = memory + qkv_elements(block) + proj_elements(block);
}

static void derive_weights(const sv_layer *layer, const sv_run *run, real *memory, char *scratch)
{
    const attention_block *block = (const attention_block *)layer;
    real *proj = memory + qkv_elements(block);
    if (block->folded)
        sv_attention_derive_weights(layer, run, memory, scratch);
    if (sv_lora_exists(&block->qkv_lora))
        sv_lora_derive(&block->qkv_lora, &block->qkv_base, &block->qkv, run, memory, scratch);
    if (sv_lora_exists(&block->proj_lora))
        sv_lora_derive(&block->proj_lora, &block->scale, &block->proj, run, proj, scratch);
    else if (sv_layer_scale_exists(&block->scale))
        sv_layer_scale_derive(&block->scale, &block->proj, run, proj);
    if (sv_attention_derived_phases(block) > 0)
        sv_attention_derive_phases(block, run, proj + proj_elements(block));
}

static const sv_layer_ops ATTENTION_OPS = {.name = "attention block",
                                           .keeps_input = 1,
                                           .derived_elements = derived_elements,
                                           .place_derived = place_derived,
                                           .derive_weights = derive_weights,
                                           .plan_workspace = sv_attention_plan_workspace,
                                           .forward = sv_attention_forward,
                                           .backward = sv_attention_backward};

/* Finds the offsets of the parameters. Without a projection weight the projection is the identity.
 */
static void find_parameters(attention_block *block, const sv_layer_source *source,
                            const sv_attention_names *names)
{
    block->norm = sv_norm_find(&block->base, source, names->norm);
    block->weight = sv_layer_parameter(&block->base, source, names->qkv, ".weight");
    block->bias = sv_layer_parameter_if(&block->base, source, names->qkv, ".bias");
    block->proj.weight = sv_layer_parameter_if(&block->base, source, names->proj, ".weight");
    block->proj.bias = sv_layer_parameter_if(&block->base, source, names->proj, ".bias");
    block->identity = block->proj.weight == SV_NO_PARAMETER;
    block->temperature = sv_layer_parameter_if(&block->base, source, names->temperature, "");
    block->scale.gamma = sv_layer_parameter_if(&block->base, source, names->layer_scale, "");
    block->query_norm = sv_norm_find(&block->base, source, names->query_norm);
    block->key_norm = sv_norm_find(&block->base, source, names->key_norm);
    block->output_norm = sv_norm_find(&block->base, source, names->attention_norm);
}

/* Differential attention if the table has its parameters. */
static void find_difference(attention_block *block, const sv_layer_source *source,
                            const sv_attention_options *options)
{
    static const char *const vectors[4] = {"q1", "k1", "q2", "k2"};
    for (size_t i = 0; i < 4; i++)
        block->lambda[i] =
            sv_layer_parameter_if(&block->base, source, options->names.lambda, vectors[i]);
    block->differential = block->lambda[0] != SV_NO_PARAMETER;
    block->maps = (block->differential ? 2 : 1) * block->heads;
    block->map_dim = block->head_dim / (block->differential ? 2 : 1);
    block->output_groups = block->differential ? block->heads : 1;
    block->output_eps = (real)(block->differential ? options->output_eps : options->eps);
    block->lambda_init = options->lambda_init;
    block->output_scale = (real)(1 - options->lambda_init);
    if (block->differential)
        block->output_norm = sv_norm_find(&block->base, source, options->names.output_norm);
}

/* Initialises qkv and proj, the linear maps of a block that is not folded. A map with LoRA adapters
 * and a proj with LayerScale get a derived weight; other maps have the parameters themselves. */
static void init_unfolded(attention_block *block, const sv_layer_source *source,
                          const sv_attention_names *names, double lora_alpha)
{
    const size_t c = block->base.in.channels;
    if (!sv_lora_init(&block->qkv_lora, &block->qkv_base, &block->qkv, &block->base, source,
                      names->qkv, "", lora_alpha, block->qkv_width, c))
        sv_linear_init(&block->qkv, &block->base, block->qkv_width, c, block->weight, block->bias);
    if (!sv_lora_init(&block->proj_lora, &block->scale, &block->proj, &block->base, source,
                      names->proj, names->layer_scale, lora_alpha, c, block->heads_width))
        sv_layer_scale_init(&block->scale, &block->proj, &block->base, source, names->proj,
                            names->layer_scale, c, block->heads_width);
}

/* Initialises the linear maps, and the widths that depend on folding: a folded head has two derived
 * matrices, as wide as the channels, for scores and for values, and no projection after them. */
static void init_linears(attention_block *block, const sv_layer_source *source,
                         const sv_attention_names *names, double lora_alpha)
{
    size_t c = block->base.in.channels;
    /* Folding multiplies the weights of queries and keys, and of values and projection. LoRA
     * changes these weights by W + s B A one by one, norms and rotations come between them, and
     * keys without a bias have no gradient of it, so such blocks are never folded. */
    const bool adapted =
        sv_layer_parameter_if(&block->base, source, names->qkv, ".lora_a") != SV_NO_PARAMETER;
    const bool separate =
        block->prepares || block->no_key_bias || sv_norm_exists(&block->output_norm);
    block->folded = !adapted && !separate && sv_attention_is_folded(block);
    block->head_width = block->folded ? c : block->head_dim;
    block->heads_width = block->heads * block->head_width;
    block->qkv_width = (block->folded ? 2 : 3) * block->heads_width;
    if (block->folded)
        sv_linear_init_derived(&block->qkv, &block->base, block->qkv_width, c);
    else
        init_unfolded(block, source, names, lora_alpha);
    /* Lets the workers split the forward matmul between heads. */
    if (block->head_width % SV_GEMM_SPLIT_MULTIPLE == 0)
        block->qkv.forward.split = block->head_width;
}

size_t sv_attention_bytes(const sv_attention_options *options)
{
    const size_t phases = sv_attention_fixed_phases(options);
    return phases <= (SIZE_MAX - sizeof(attention_block)) / sizeof(real)
               ? sizeof(attention_block) + phases * sizeof(real)
               : SIZE_MAX;
}

void sv_attention_init(attention_block *block, const sv_layer_source *source,
                       const sv_attention_options *options)
{
    const uint64_t tokens = sv_shape_tokens(options->shape);
    block->base.ops = &ATTENTION_OPS;
    block->base.in = block->base.out = options->shape;
    block->base.activation_multiply_adds = sv_count_times(
        sv_count_times(2 * tokens, tokens), (uint64_t)options->heads * options->head_dim);
    block->base.heads = block->heads = options->heads;
    block->head_dim = options->head_dim;
    block->per_head = options->per_head;
    block->masked = options->masked;
    block->no_key_bias = options->no_key_bias;
    block->eps = (real)options->eps;
    block->drop_path = options->drop_path;
    sv_dropout_rate(&block->dropout_threshold, &block->dropout_scale, options->dropout);
    find_parameters(block, source, &options->names);
    find_difference(block, source, options);
    sv_attention_rotary_init(block, source, options);
    block->prepares = block->rotary.rows > 0 || sv_norm_exists(&block->query_norm);
    init_linears(block, source, &options->names, options->lora_alpha);
}

sv_layer *sv_attention_create(const sv_layer_source *source, const sv_attention_options *options)
{
    attention_block *block = sv_layer_new(source, sv_attention_bytes(options), &ATTENTION_OPS);
    if (!block)
        return NULL;
    sv_attention_init(block, source, options);
    return &block->base;
}
