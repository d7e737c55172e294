/* A parallel block (Dehghani et al. 2023): attention and MLP side by side on one norm of x.
 *   y = x + drop_path(layer_scale * (attention(norm(x)) + mlp(norm(x))))
 * Its parts are an attention block and an MLP block with the same norm, the same factors and the
 * same DropPath. They run one after the other, and each computes the norm, which takes little time:
 * the attention writes sum = x + its branch, and the MLP adds its branch to that. */
#include "layers/attention/attention_internal.h"
#include "layers/mlp/mlp_internal.h"

enum { ATTENTION, MLP, PARTS };

static real *take_sum(sv_arena *arena, const sv_layer *layer, const sv_run *run)
{
    return sv_arena_reals(arena, run->pass.n, sv_shape_elements(layer->in));
}

static void plan_workspace(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    sv_arena saved = {0}, workspace = {0}, worker = {0};
    sv_layer_memory most = {0};
    for (size_t i = 0; i < PARTS; i++) {
        const sv_layer_memory part = sv_layer_plan_workspace(layer->parts[i], run);
        sv_arena_take(&saved, part.saved, 1, 1);
        sv_layer_memory_max(&most, &part);
        saved.overflow = saved.overflow || part.overflow;
    }
    take_sum(&workspace, layer, run);
    sv_arena_take(&workspace, most.workspace, 1, 1);
    sv_arena_take(&worker, most.worker_scratch, 1, 1);
    sv_layer_memory_set(memory, &saved, &workspace, &worker);
}

/* Where a pass has its memory: the workspace of `run` follows the sum. */
typedef struct parallel_pass {
    sv_run run;
    real *sum;
    char *saved[PARTS];
} parallel_pass;

static parallel_pass begin(const sv_layer *layer, const sv_run *run, void *saved)
{
    parallel_pass pass = {.run = *run, .saved = {saved}};
    sv_arena arena = {.base = run->exec.workspace};
    pass.sum = take_sum(&arena, layer, run);
    pass.run.exec.workspace += arena.bytes;
    if (saved)
        pass.saved[MLP] =
            pass.saved[ATTENTION] + sv_layer_plan_workspace(layer->parts[ATTENTION], run).saved;
    return pass;
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    parallel_pass pass = begin(layer, run, saved);
    sv_attention_forward(layer->parts[ATTENTION], &pass.run, pass.saved[ATTENTION], pass.sum, x);
    pass.run.exec.residual = pass.sum;
    sv_mlp_forward(layer->parts[MLP], &pass.run, pass.saved[MLP], y, x);
}

/* dx = dy + attention'(dy) + mlp'(dy), of which the attention writes the first two terms. */
static void backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x)
{
    parallel_pass pass = begin(layer, run, saved);
    sv_attention_backward(layer->parts[ATTENTION], &pass.run, pass.saved[ATTENTION],
                          dx ? pass.sum : NULL, dy, x);
    pass.run.exec.residual = dx ? pass.sum : NULL;
    sv_mlp_backward(layer->parts[MLP], &pass.run, pass.saved[MLP], dx, dy, NULL);
}

static size_t part_elements(const sv_layer *part)
{
    return part->ops->derived_elements(part);
}

static size_t derived_elements(const sv_layer *layer)
{
    return part_elements(layer->parts[ATTENTION]) + part_elements(layer->parts[MLP]);
}

static void place_derived(sv_layer *layer, const real *memory)
{
    for (size_t i = 0; i < PARTS; memory += part_elements(layer->parts[i++]))
        if (part_elements(layer->parts[i]) > 0)
            layer->parts[i]->ops->place_derived(layer->parts[i], memory);
}

static void derive_weights(const sv_layer *layer, const sv_run *run, real *memory, char *scratch)
{
    for (size_t i = 0; i < PARTS; memory += part_elements(layer->parts[i++]))
        if (part_elements(layer->parts[i]) > 0)
            layer->parts[i]->ops->derive_weights(layer->parts[i], run, memory, scratch);
}

static const sv_layer_ops PARALLEL_OPS = {.name = "parallel block",
                                          .keeps_input = 1,
                                          .derived_elements = derived_elements,
                                          .place_derived = place_derived,
                                          .derive_weights = derive_weights,
                                          .plan_workspace = plan_workspace,
                                          .forward = forward,
                                          .backward = backward};

/* The layer and its parts, of which the last has an array at its end. */
typedef struct parallel_block {
    sv_layer base;
    mlp_block mlp;
} parallel_block;

/* Lets the layer have what its parts have: linear maps and the range of parameters. */
static void join(sv_layer *layer)
{
    size_t count = 0;
    for (size_t i = 0; i < PARTS; i++) {
        const sv_layer *part = layer->parts[i];
        for (size_t k = 0; k < SV_LAYER_LINEARS && part->linears[k]; k++)
            layer->linears[count++] = part->linears[k];
        if (i == 0 || part->parameters_first < layer->parameters_first)
            layer->parameters_first = part->parameters_first;
        layer->parameters_end = sv_size_max(layer->parameters_end, part->parameters_end);
        layer->trained = layer->trained || part->trained;
    }
}

sv_layer *sv_parallel_create(const sv_layer_source *source, const sv_attention_options *attention,
                             const sv_mlp_options *mlp)
{
    size_t bytes = sv_attention_bytes(attention);
    bytes = bytes <= SIZE_MAX - sizeof(parallel_block) ? bytes + sizeof(parallel_block) : SIZE_MAX;
    parallel_block *block = sv_layer_new(source, bytes, &PARALLEL_OPS);
    if (!block)
        return NULL;
    sv_layer *base = &block->base;
    base->in = base->out = attention->shape;
    attention_block *first = (attention_block *)(void *)(block + 1);
    sv_attention_init(first, source, attention);
    sv_mlp_init(&block->mlp, source, mlp);
    block->mlp.base.ops = &sv_mlp_ops;
    base->parts[ATTENTION] = &first->base;
    base->parts[MLP] = &block->mlp.base;
    base->activation_multiply_adds = first->base.activation_multiply_adds;
    base->heads = first->base.heads;
    join(base);
    return base;
}
