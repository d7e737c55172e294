/* The mean of a shift block over the tokens of each image, in inference. The second product is
 * linear and the shortcut is, so both take means: the product has as many rows as there are images.
 *   mean(xs + W2 a + b2) = mean(xs) + W2 mean(a) + b2                                           */
#include "layers/shift_block.h"

#include <string.h>

typedef struct mean_call {
    const shift_call *call;
    shift_means means;
    size_t images; /* of a task: those of a tile, at least one */
} mean_call;

/* Adds a tile's rows, of whole images or of one alone, to the sums of their images. */
static void add_tile(const mean_call *mean, const shift_rows *rows, size_t first, size_t tokens)
{
    const shift_call *call = mean->call;
    const sv_kernels *kernels = call->run->context->kernels;
    size_t c = call->block->map.channels, hidden = call->block->hidden;
    size_t each = call->image_tokens < tokens ? call->image_tokens : tokens;
    for (size_t t = 0; t < tokens; t += each) {
        size_t image = (first + t) / call->image_tokens;
        kernels->add_rows(mean->means.a + image * hidden, rows->a + t * hidden, each, hidden);
        kernels->add_rows(mean->means.xs + image * c, rows->xs + t * c, each, c);
    }
}

static void clear_images(const mean_call *mean, size_t image, size_t images)
{
    size_t c = mean->call->block->map.channels, hidden = mean->call->block->hidden;
    memset(mean->means.a + image * hidden, 0, images * hidden * sizeof(real));
    memset(mean->means.xs + image * c, 0, images * c * sizeof(real));
}

static void scale_images(const mean_call *mean, size_t image, size_t images)
{
    const sv_kernels *kernels = mean->call->run->context->kernels;
    size_t c = mean->call->block->map.channels, hidden = mean->call->block->hidden;
    real factor = 1 / (real)mean->call->image_tokens;
    kernels->scale(mean->means.a + image * hidden, factor, images * hidden);
    kernels->scale(mean->means.xs + image * c, factor, images * c);
}

static void images_task(void *argument, size_t task, uint32_t worker)
{
    const mean_call *mean = argument;
    const shift_call *call = mean->call;
    size_t image = task * mean->images;
    size_t images = sv_tile_here(call->run->n, image, mean->images);
    size_t end = (image + images) * call->image_tokens;
    clear_images(mean, image, images);
    for (size_t first = image * call->image_tokens, tokens; first < end; first += tokens) {
        tokens = sv_tile_here(end, first, call->tile);
        shift_rows rows = sv_shift_hidden(call, first, tokens, worker);
        add_tile(mean, &rows, first, tokens);
    }
    scale_images(mean, image, images);
}

static void mean_few(const mean_call *mean)
{
    const shift_call *call = mean->call;
    shift_rows rows = sv_shift_few_hidden(call);
    clear_images(mean, 0, call->run->n);
    add_tile(mean, &rows, 0, call->tokens);
    scale_images(mean, 0, call->run->n);
}

void sv_shift_block_forward_mean(const sv_layer *layer, const sv_run *run, real *y, const real *x)
{
    sv_arena arena = {.base = run->shared};
    shift_call call = sv_shift_call(layer, run, NULL);
    sv_shift_saved(&arena, call.block, run->n, 0);
    mean_call mean = {&call, sv_shift_means(&arena, call.block, run),
                      call.image_tokens < call.tile ? call.tile / call.image_tokens : 1};
    call.in = x;
    if (sv_shift_are_few(&call)) {
        mean_few(&mean);
    } else {
        sv_shift_prepare(&call);
        sv_run_tasks(run, images_task, &mean, sv_tile_count(run->n, mean.images));
    }
    sv_linear_forward_spread(&call.block->fc2, run, y, mean.means.a, run->n, mean.means.xs,
                             mean.means.made);
}
