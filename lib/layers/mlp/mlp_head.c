/* The end of a ShiftViT in inference, fused: the last MLP block, the mean over tokens, and the
 * classifier H, h. Everything after the block's GELU is linear, so the means are taken there and
 * one matmul per image remains:
 *     H mean(x_shifted + W2 hidden + b2) + h
 *         = (H W2) mean(hidden) + H mean(x_shifted) + (H b2 + h)
 * Its weights [H W2, H] are derived once. W2 is not read, which would take most of one image's
 * time, and the block's output is not computed for every token. The training graph has the three
 * layers apart: mlp_block.c, pooling.c, dense.c. */
#include "layers/linear/small_matmul.h"
#include "layers/mlp/mlp_internal.h"

#include <string.h>

typedef struct mlp_head {
    mlp_block block;
    sv_linear classifier;          /* [classes, hidden_channels + c], derived */
    size_t head_weight, head_bias; /* offsets of H [classes, c] and h [classes] */
} mlp_head;

typedef struct head_call {
    const mlp_head *head;
    mlp_call *block;
    real *means;    /* [n, (mean of hidden, mean of x_shifted)] */
    char *packed_a; /* of the classifier's matmul, if it has few rows */
    size_t images;  /* of one task: those of a token block, at least one */
} head_call;

static void take_means(head_call *call, sv_arena *arena, const mlp_head *head, const sv_run *run)
{
    const size_t width = head->classifier.in;
    call->means = sv_arena_reals(arena, run->pass.n, width);
    call->packed_a =
        sv_arena_take(arena, sv_packed_a_bytes(&run->exec, SV_SMALL_M_TOKENS, width), 1, 1);
}

static void plan_workspace(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    const mlp_head *head = (const mlp_head *)layer;
    const mlp_block *block = &head->block;
    head_call call;
    sv_arena saved = {0}, workspace = {0}, worker = {0};
    sv_mlp_saved(&workspace, block, run->pass.n, false);
    take_means(&call, &workspace, head, run);
    worker.bytes = sv_mlp_worker_bytes(block, run, &worker.overflow);
    worker.bytes = sv_size_max(worker.bytes, sv_mlp_correction_bytes(block, run));
    worker.bytes =
        sv_size_max(worker.bytes, sv_small_matmul_bytes(&run->exec, block->base.in.channels,
                                                        block->hidden_channels));
    sv_layer_memory_set(memory, &saved, &workspace, &worker);
}

/* Adds rows to the sums of their images. The rows are whole images, or lie within one. */
static void add_to_sums(const head_call *call, const mlp_rows *rows, size_t first, size_t tokens)
{
    const mlp_call *block = call->block;
    const sv_kernels *kernels = block->run->exec.context->kernels;
    size_t c = block->block->base.in.channels, hidden_channels = block->block->hidden_channels;
    size_t each = sv_size_min(block->image_tokens, tokens);
    for (size_t t = 0; t < tokens; t += each) {
        real *sums = call->means + (first + t) / block->image_tokens * (hidden_channels + c);
        kernels->add_rows(sums, rows->hidden + t * hidden_channels, each, hidden_channels);
        kernels->add_rows(sums + hidden_channels, rows->x_shifted + t * c, each, c);
    }
}

static void clear_sums(const head_call *call, size_t image, size_t images)
{
    size_t width = call->head->classifier.in;
    memset(call->means + image * width, 0, images * width * sizeof(real));
}

static void divide_sums(const head_call *call, size_t image, size_t images)
{
    size_t width = call->head->classifier.in;
    call->block->run->exec.context->kernels->scale(
        call->means + image * width, 1 / (real)call->block->image_tokens, images * width);
}

static void means_task(void *argument, size_t task, uint32_t worker)
{
    const head_call *call = argument;
    const mlp_call *block = call->block;
    size_t image = task * call->images;
    size_t images = sv_block_length(block->run->pass.n, image, call->images);
    size_t end = (image + images) * block->image_tokens;
    clear_sums(call, image, images);
    for (size_t first = image * block->image_tokens, tokens; first < end; first += tokens) {
        tokens = sv_block_length(end, first, block->token_block);
        mlp_rows rows = sv_mlp_hidden(block, first, tokens, worker);
        add_to_sums(call, &rows, first, tokens);
    }
    divide_sums(call, image, images);
}

static void small_m_means(const head_call *call)
{
    const mlp_call *block = call->block;
    mlp_rows rows = sv_mlp_small_m_hidden(block);
    clear_sums(call, 0, block->run->pass.n);
    add_to_sums(call, &rows, 0, block->tokens);
    divide_sums(call, 0, block->run->pass.n);
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    (void)saved;
    const mlp_head *head = (const mlp_head *)layer;
    sv_arena arena = {.base = run->exec.workspace};
    sv_mlp_saved(&arena, &head->block, run->pass.n, false);
    mlp_call block = sv_mlp_call(layer, run, NULL);
    block.in = x;
    head_call call = {.head = head,
                      .block = &block,
                      .images = sv_size_max(block.token_block / block.image_tokens, 1)};
    take_means(&call, &arena, head, run);
    if (sv_mlp_is_small_m(&block)) {
        small_m_means(&call);
    } else {
        sv_mlp_prepare(&block);
        sv_run_tasks(&run->exec, means_task, &call, sv_block_count(run->pass.n, call.images));
    }
    sv_linear_forward_parallel(&head->classifier, run, y, call.means, run->pass.n, call.packed_a);
}

static size_t derived_elements(const sv_layer *layer)
{
    const mlp_head *head = (const mlp_head *)layer;
    const sv_linear *classifier = &head->classifier;
    return sv_size_plus(sv_size_times(classifier->out, classifier->in + 1),
                        sv_mlp_correction_elements(&head->block));
}

static void place_derived(sv_layer *layer, const real *memory)
{
    mlp_head *head = (mlp_head *)layer;
    const sv_linear *classifier = &head->classifier;
    sv_linear_place_derived(&head->classifier, memory);
    head->block.correction = memory + classifier->out * (classifier->in + 1);
}

/* weight[classes, hidden_channels + c] = [H W2, H];  bias[classes] = H b2 + h */
static void derive_weights(const sv_layer *layer, const sv_run *run, real *memory, char *scratch)
{
    const mlp_head *head = (const mlp_head *)layer;
    const mlp_block *block = &head->block;
    size_t c = block->base.in.channels, hidden_channels = block->hidden_channels;
    size_t width = head->classifier.in, classes = head->classifier.out;
    const real *h = run->weights + head->head_weight;
    real *bias = memory + classes * width;
    memset(memory, 0, classes * width * sizeof(real));
    memcpy(bias, run->weights + head->head_bias, classes * sizeof(real));
    const sv_matrix h_rows = {h, c, 1}, b2 = {run->weights + block->fc2.bias, 1, 1},
                    w2 = {run->weights + block->fc2.weight, hidden_channels, 1};
    sv_add_matmul(&run->exec,
                  &(sv_small_matmul){memory, width, h_rows, w2, classes, c, hidden_channels},
                  scratch);
    for (size_t i = 0; i < classes; i++)
        memcpy(memory + i * width + hidden_channels, h + i * c, c * sizeof(real));
    sv_add_matmul(&run->exec, &(sv_small_matmul){bias, 1, h_rows, b2, classes, c, 1}, scratch);
    sv_mlp_derive_correction(&head->block, run, bias + classes, scratch);
    if (run->exec.on_packed) {
        run->exec.on_packed(run->exec.packed_argument, block->fc2.weight);
        run->exec.on_packed(run->exec.packed_argument, head->head_weight);
    }
}

static const sv_layer_ops MLP_HEAD_OPS = {.name = "mlp block, mean and classifier",
                                          .derived_elements = derived_elements,
                                          .place_derived = place_derived,
                                          .derive_weights = derive_weights,
                                          .plan_workspace = plan_workspace,
                                          .forward = forward};

sv_layer *sv_mlp_head_create(const sv_layer_source *source, const sv_mlp_options *block,
                             size_t classes, const char *name)
{
    mlp_head *head = sv_layer_new(source, sizeof *head, &MLP_HEAD_OPS);
    if (!head)
        return NULL;
    sv_layer *base = &head->block.base;
    const sv_layer_source top = {source->context, source->table, "", source->err};
    sv_mlp_init(&head->block, source, block);
    base->linears[1] = NULL; /* fc2 is folded into the classifier, so it is not packed */
    sv_linear_init_derived(&head->classifier, base, classes,
                           head->block.hidden_channels + base->in.channels);
    head->head_weight = sv_layer_parameter(base, &top, name, ".weight");
    head->head_bias = sv_layer_parameter(base, &top, name, ".bias");
    base->out = (sv_shape){1, 1, classes};
    base->rows = sv_shape_tokens(base->in);
    return base;
}
