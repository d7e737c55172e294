/* The layers of masked autoencoding (He et al. 2021): HIDE leaves the encoder the visible patches,
 * RESTORE gives the decoder all patches again, and SILENCE sets what it makes of visible ones to 0.
 * In training the masks are functions of the forward and of the image's place in its batch; in
 * inference there is one for all images. The layers only copy tokens, on one thread. */
#include "base/numbers/random.h"
#include "layers/create.h"

#include <string.h>

typedef struct mask_layer {
    sv_layer base;
    sv_masking_options options;
    size_t token; /* offset; SV_NO_PARAMETER: zeros */
} mask_layer;

/* The row of the input that a row of the output copies; this one copies the mask token. */
static const size_t TOKEN = SIZE_MAX;

/* Each choice of visible patches is equally probable (selection sampling, Knuth 1997). */
static size_t *find_sources(const sv_layer *layer, const sv_run *run, size_t image)
{
    const sv_masking_options *options = &((const mask_layer *)layer)->options;
    const uint64_t drawn = run->pass.training;
    size_t wanted = options->visible, row = 0, *source = (void *)sv_worker_scratch(&run->exec, 0);
    sv_random random;
    sv_random_start(&random, drawn * run->pass.seed, SV_STREAM_MASK, drawn * run->pass.counter,
                    (uint32_t)(drawn * image));
    for (; options->kind != SV_MASKING_SILENCE && row < options->prefix; row++)
        source[row] = row;
    for (size_t p = 0; p < options->patches; p++) {
        const bool visible = sv_random_below(&random, (uint32_t)(options->patches - p)) < wanted;
        wanted -= visible;
        if (options->kind == SV_MASKING_HIDE && visible)
            source[row++] = options->prefix + p;
        else if (options->kind == SV_MASKING_RESTORE)
            source[p] = visible ? row++ : TOKEN;
        else if (options->kind == SV_MASKING_SILENCE)
            source[p] = visible ? TOKEN : p;
    }
    return source;
}

static void plan_workspace(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    (void)run;
    const size_t tokens = sv_shape_tokens(layer->in) + sv_shape_tokens(layer->out);
    memory->worker_scratch = tokens * sizeof(size_t);
}

/* y[row] = x[source[row]] or the token */
static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    (void)saved;
    const size_t c = layer->in.channels, token = ((const mask_layer *)layer)->token;
    for (size_t image = 0; image < run->pass.n; image++, x += sv_shape_elements(layer->in)) {
        const size_t *source = find_sources(layer, run, image);
        for (size_t row = 0; row < sv_shape_tokens(layer->out); row++, y += c)
            if (source[row] != TOKEN)
                memcpy(y, x + source[row] * c, c * sizeof(real));
            else if (token != SV_NO_PARAMETER)
                memcpy(y, run->weights + token, c * sizeof(real));
            else
                memset(y, 0, c * sizeof(real));
    }
}

/* dx[source[row]] = dy[row], or dtoken += dy[row];  no two rows have the same source */
static void backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x)
{
    (void)saved;
    (void)x;
    const size_t c = layer->in.channels, in = sv_shape_elements(layer->in);
    real *dtoken = sv_gradient(run, ((const mask_layer *)layer)->token);
    if (dx)
        memset(dx, 0, run->pass.n * in * sizeof(real));
    for (size_t image = 0; image < run->pass.n; image++) {
        const size_t *source = find_sources(layer, run, image);
        for (size_t row = 0; row < sv_shape_tokens(layer->out); row++, dy += c)
            if (source[row] != TOKEN && dx)
                memcpy(dx + image * in + source[row] * c, dy, c * sizeof(real));
            else if (source[row] == TOKEN && dtoken)
                run->exec.context->kernels->add(dtoken, dy, c);
    }
}

static const sv_layer_ops OPS = {.name = "masking",
                                 .draws = true,
                                 .plan_workspace = plan_workspace,
                                 .forward = forward,
                                 .backward = backward};

sv_layer *sv_masking_create(const sv_layer_source *source, const sv_masking_options *options)
{
    mask_layer *layer = sv_layer_new(source, sizeof *layer, &OPS);
    if (!layer)
        return NULL;
    const size_t tokens =
        options->kind == SV_MASKING_HIDE ? options->prefix + options->visible : options->patches;
    layer->options = *options;
    layer->base.in = options->in;
    layer->base.out = (sv_shape){1, tokens, options->in.channels};
    layer->token = sv_layer_parameter_if(&layer->base, source, options->token, "");
    return &layer->base;
}
