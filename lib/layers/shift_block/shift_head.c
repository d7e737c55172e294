/* What a ShiftViT ends with, in inference: a block, the mean over its tokens, the classifier. From
 * the block's GELU on all of it is linear, so the means are taken there, and one product is left:
 *   H mean(xs + W2 a + b2) + h = (H W2) mean(a) + H mean(xs) + (H b2 + h)
 * with one row an image, of weights [H W2, H] that are made of the model's. W2 itself is not read,
 * in which one image's time would go, nor is the block's output made for every token. */
#include "layers/shift_block/shift_internal.h"
#include "layers/small_matmul.h"

#include <string.h>

typedef struct shift_head {
    shift_block block;
    sv_linear classifier;          /* [classes, hidden + c], made */
    size_t head_weight, head_bias; /* of H and h: offsets */
} shift_head;

typedef struct head_call {
    const shift_head *head;
    const shift_call *block;
    real *means;   /* [n, (mean of a, mean of xs)] */
    char *made;    /* by the product's backend of few of them */
    size_t images; /* of a task: those of a tile, at least one */
} head_call;

static void lay_means(head_call *call, sv_arena *arena, const shift_head *head, const sv_run *run)
{
    call->means = sv_arena_reals(arena, run->pass.n, head->classifier.in);
    call->made =
        sv_arena_take(arena, sv_packed_a_bytes(&run->exec, SV_SMALL_M, head->classifier.in), 1, 1);
}

static void measure(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    const shift_head *head = (const shift_head *)layer;
    const shift_block *block = &head->block;
    head_call call;
    sv_arena saved = {0}, shared = {0}, worker = {0};
    sv_shift_saved(&shared, block, run->pass.n, 0);
    lay_means(&call, &shared, head, run);
    worker.bytes = sv_shift_worker_bytes(block, run, &worker.overflow);
    worker.bytes = sv_size_max(worker.bytes, sv_shift_fill_bytes(block, run));
    worker.bytes = sv_size_max(
        worker.bytes, sv_small_matmul_bytes(&run->exec, block->map.channels, block->hidden));
    sv_layer_memory_set(memory, &saved, &shared, &worker);
}

/* Adds a tile's rows, of whole images or of one alone, to the sums of their images. */
static void add_tile(const head_call *call, const shift_rows *rows, size_t first, size_t tokens)
{
    const sv_kernels *kernels = call->block->run->exec.context->kernels;
    size_t c = call->block->block->map.channels, hidden = call->block->block->hidden;
    size_t image_tokens = call->block->image_tokens;
    size_t each = image_tokens < tokens ? image_tokens : tokens;
    for (size_t t = 0; t < tokens; t += each) {
        real *sums = call->means + (first + t) / image_tokens * (hidden + c);
        kernels->add_rows(sums, rows->a + t * hidden, each, hidden);
        kernels->add_rows(sums + hidden, rows->xs + t * c, each, c);
    }
}

static void clear_images(const head_call *call, size_t image, size_t images)
{
    size_t width = call->head->classifier.in;
    memset(call->means + image * width, 0, images * width * sizeof(real));
}

static void divide_images(const head_call *call, size_t image, size_t images)
{
    size_t width = call->head->classifier.in;
    call->block->run->exec.context->kernels->scale(
        call->means + image * width, 1 / (real)call->block->image_tokens, images * width);
}

static void images_task(void *argument, size_t task, uint32_t worker)
{
    const head_call *call = argument;
    const shift_call *block = call->block;
    size_t image = task * call->images;
    size_t images = sv_block_length(block->run->pass.n, image, call->images);
    size_t end = (image + images) * block->image_tokens;
    clear_images(call, image, images);
    for (size_t first = image * block->image_tokens, tokens; first < end; first += tokens) {
        tokens = sv_block_length(end, first, block->tile);
        shift_rows rows = sv_shift_hidden(block, first, tokens, worker);
        add_tile(call, &rows, first, tokens);
    }
    divide_images(call, image, images);
}

static void few_images(const head_call *call)
{
    const shift_call *block = call->block;
    shift_rows rows = sv_shift_few_hidden(block);
    clear_images(call, 0, block->run->pass.n);
    add_tile(call, &rows, 0, block->tokens);
    divide_images(call, 0, block->run->pass.n);
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    (void)saved;
    const shift_head *head = (const shift_head *)layer;
    sv_arena arena = {.base = run->exec.workspace};
    sv_shift_saved(&arena, &head->block, run->pass.n, 0);
    shift_call block = sv_shift_call(layer, run, NULL);
    block.in = x;
    head_call call = {.head = head,
                      .block = &block,
                      .images =
                          block.image_tokens < block.tile ? block.tile / block.image_tokens : 1};
    lay_means(&call, &arena, head, run);
    if (sv_shift_are_few(&block)) {
        few_images(&call);
    } else {
        sv_shift_prepare(&block);
        sv_run_tasks(&run->exec, images_task, &call, sv_block_count(run->pass.n, call.images));
    }
    sv_linear_forward_parallel(&head->classifier, run, y, call.means, run->pass.n, call.made);
}

static size_t derived_elements(const sv_layer *layer)
{
    const sv_linear *classifier = &((const shift_head *)layer)->classifier;
    return classifier->out * (classifier->in + 1) +
           sv_shift_fill_elements(&((const shift_head *)layer)->block);
}

/* weight[classes, (H W2, H)] and bias = H b2 + h */
static void derive_weights(sv_layer *layer, const sv_run *run, real *memory, char *scratch)
{
    shift_head *head = (shift_head *)layer;
    const shift_block *block = &head->block;
    size_t c = block->map.channels, hidden = block->hidden, width = head->classifier.in;
    size_t classes = head->classifier.out;
    const real *h = run->weights + head->head_weight, *w2 = run->weights + block->fc2.weight;
    real *bias = memory + classes * width;
    memset(memory, 0, classes * width * sizeof(real));
    memcpy(bias, run->weights + head->head_bias, classes * sizeof(real));
    const sv_matrix h_rows = {h, c, 1}, b2 = {run->weights + block->fc2.bias, 1, 1};
    sv_add_matmul(&run->exec,
                  &(sv_small_matmul){memory, width, h_rows, {w2, hidden, 1}, classes, c, hidden},
                  scratch);
    for (size_t i = 0; i < classes; i++)
        memcpy(memory + i * width + hidden, h + i * c, c * sizeof(real));
    sv_add_matmul(&run->exec, &(sv_small_matmul){bias, 1, h_rows, b2, classes, c, 1}, scratch);
    head->classifier.derived = memory;
    head->classifier.derived_bias = bias;
    sv_shift_make_fill(&head->block, run, bias + classes, scratch);
    if (run->exec.packed) {
        run->exec.packed(run->exec.packed_argument, block->fc2.weight);
        run->exec.packed(run->exec.packed_argument, head->head_weight);
    }
}

static const sv_layer_ops SHIFT_HEAD_CLASS = {.name = "shift block, mean and classifier",
                                              .derived_elements = derived_elements,
                                              .derive_weights = derive_weights,
                                              .plan_workspace = measure,
                                              .forward = forward};

svit_status sv_shift_head_create(sv_layer **out, svit_context *context,
                                 const sv_parameter_table *table, const sv_shift_options *block,
                                 size_t classes, const char *name, svit_error *err)
{
    void *memory;
    SVIT_TRY(sv_layer_allocate(&memory, context, sizeof(shift_head), &SHIFT_HEAD_CLASS, err));
    shift_head *head = memory;
    sv_layer *base = &head->block.base;
    sv_shift_block_init(&head->block, table, block);
    base->linears[1] = NULL; /* fc2 is read where weights are made, and no product of its own */
    sv_linear_init_derived(&head->classifier, base, classes,
                           head->block.hidden + head->block.map.channels);
    head->head_weight = sv_layer_parameter(table, name, ".weight");
    head->head_bias = sv_layer_parameter(table, name, ".bias");
    base->out = (sv_shape){1, 1, classes};
    base->rows = sv_shape_tokens(base->in);
    *out = base;
    return SVIT_OK;
}
