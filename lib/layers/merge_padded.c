/* Patch merging of a map with an odd side, to infer. The patches at its lower and right edge hang
 * over it: of the four pixels of the kernel's taps some are zeros, which are not multiplied here.
 *   y[r, c] = sum over taps (i, j) of x[2 r + i, 2 c + j] W[i, j]^T, of pixels that exist
 * Each tap is a product of its own with the rows that have it. An image's outputs are put in an
 * order in which these lie together: those of the lower edge, the whole ones, those of the right
 * edge, the corner. Of several images the first output of each comes first, then the second. */
#include "layers/create.h"
#include "layers/linear.h"

#include <string.h>

enum { SIZE = 2, TAPS = SIZE * SIZE };

/* Outputs number first.. of the order have it. */
typedef struct merge_tap {
    sv_linear linear;
    size_t first, count;
} merge_tap;

typedef struct merge_layer {
    sv_layer base;
    size_t rows, columns; /* outputs with both lines, and with both columns, of their patch */
    merge_tap taps[TAPS];
} merge_layer;

typedef struct merge_call {
    const merge_layer *merge;
    const sv_run *run;
    real *y;
    const real *x;
    size_t images;      /* of a task */
    real *out;          /* of few tokens: [tokens, out], in the order above */
    sv_left left[TAPS]; /* likewise: the rows of each tap */
    size_t parts;       /* of the columns */
} merge_call;

static size_t outputs_of(const merge_layer *merge)
{
    return sv_map_tokens(merge->base.out);
}

/* Where output number q of the order lies. */
static size_t place_of(const merge_layer *merge, size_t q)
{
    sv_map out = merge->base.out;
    size_t lower = out.height > merge->rows ? merge->columns : 0;
    if (q < lower)
        return merge->rows * out.width + q;
    q -= lower;
    if (q < merge->rows * merge->columns)
        return q / merge->columns * out.width + q % merge->columns;
    q -= merge->rows * merge->columns;
    return q < merge->rows ? q * out.width + merge->columns : out.height * out.width - 1;
}

static size_t images_of_task(const merge_layer *merge, size_t tile)
{
    return tile > outputs_of(merge) ? tile / outputs_of(merge) : 1;
}

/* Scratch for some images: rows of one tap, and all rows of the output. */
static void lay_rows(sv_arena *arena, const merge_layer *merge, size_t rows, real **in, real **out)
{
    *in = sv_arena_reals(arena, rows, merge->base.in.channels);
    *out = sv_arena_reals(arena, rows, merge->base.out.channels);
}

static size_t widest_row(const merge_layer *merge)
{
    size_t in = merge->base.in.channels, out = merge->base.out.channels;
    return in > out ? in : out;
}

static void lay_few(merge_call *call, sv_arena *arena, real *rows[TAPS], char *made[TAPS])
{
    const merge_layer *merge = call->merge;
    size_t c = merge->base.in.channels;
    call->out = sv_arena_reals(arena, SV_FEW_TOKENS, merge->base.out.channels);
    for (size_t tap = 0; tap < TAPS; tap++) {
        rows[tap] = sv_arena_reals(arena, SV_FEW_TOKENS, c);
        made[tap] = sv_arena_take(arena, sv_left_bytes(call->run, SV_FEW_TOKENS, c), 1, 1);
    }
}

static void measure(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    const merge_layer *merge = (const merge_layer *)layer;
    sv_arena saved = {0}, shared = {0}, worker = {0};
    size_t tile = sv_tile_tokens_most(run, run->n * outputs_of(merge), widest_row(merge));
    merge_call call = {.merge = merge, .run = run};
    real *in, *out, *rows[TAPS];
    char *made[TAPS];
    lay_few(&call, &shared, rows, made);
    lay_rows(&worker, merge, images_of_task(merge, tile) * outputs_of(merge), &in, &out);
    sv_layer_memory_set(memory, &saved, &shared, &worker);
}

/* rows[count * images, c] = the pixels of a tap, of images that begin at x */
static void gather(const merge_layer *merge, size_t tap, real *rows, const real *x, size_t images)
{
    sv_map in = merge->base.in, out = merge->base.out;
    const merge_tap *of = &merge->taps[tap];
    size_t c = in.channels;
    for (size_t q = of->first; q < of->first + of->count; q++) {
        size_t place = place_of(merge, q);
        size_t row = place / out.width * SIZE + tap / SIZE;
        size_t column = place % out.width * SIZE + tap % SIZE;
        const real *pixel = x + (row * in.width + column) * c;
        for (size_t i = 0; i < images; i++, rows += c)
            memcpy(rows, pixel + i * sv_map_elements(in), c * sizeof(real));
    }
}

/* Some columns of y[images, outputs, channels], of rows in the order. */
static void scatter(const merge_layer *merge, real *y, const real *rows, size_t images,
                    sv_columns columns)
{
    size_t c = merge->base.out.channels;
    for (size_t q = 0; q < outputs_of(merge); q++)
        for (size_t i = 0; i < images; i++, rows += c)
            memcpy(y + (i * outputs_of(merge) + place_of(merge, q)) * c + columns.first,
                   rows + columns.first, columns.count * sizeof(real));
}

/* Some columns of rows[outputs * images, out] = or += those of one tap. */
static void multiply_tap(const merge_call *call, size_t tap, real *rows, const sv_left *left,
                         size_t images, sv_columns columns)
{
    const merge_tap *of = &call->merge->taps[tap];
    if (of->count == 0)
        return;
    real *first = rows + of->first * images * of->linear.out;
    if (tap == 0)
        sv_linear_forward_part(&of->linear, call->run, first, left, of->count * images, columns,
                               NULL);
    else
        sv_linear_add_part(&of->linear, call->run, first, left, of->count * images, columns);
}

static void images_task(void *argument, size_t task, uint32_t worker)
{
    const merge_call *call = argument;
    const merge_layer *merge = call->merge;
    size_t first = task * call->images, images = sv_tile_here(call->run->n, first, call->images);
    const real *x = call->x + first * sv_map_elements(merge->base.in);
    sv_arena arena = {.base = sv_worker_scratch(call->run, worker)};
    real *in, *out;
    lay_rows(&arena, merge, images * outputs_of(merge), &in, &out);
    const sv_left left = {in, merge->base.in.channels, 1, NULL};
    const sv_columns all = {0, merge->base.out.channels};
    for (size_t tap = 0; tap < TAPS; tap++) {
        gather(merge, tap, in, x, images);
        multiply_tap(call, tap, out, &left, images, all);
    }
    scatter(merge, call->y + first * sv_map_elements(merge->base.out), out, images, all);
}

static void part_task(void *argument, size_t part, uint32_t worker)
{
    (void)worker;
    const merge_call *call = argument;
    sv_columns columns = sv_column_part(call->merge->base.out.channels, call->parts, part);
    for (size_t tap = 0; tap < TAPS; tap++)
        multiply_tap(call, tap, call->out, &call->left[tap], call->run->n, columns);
    scatter(call->merge, call->y, call->out, call->run->n, columns);
}

/* Few tokens: the columns are shared out. */
static void few_images(merge_call *call)
{
    const merge_layer *merge = call->merge;
    const sv_run *run = call->run;
    sv_arena arena = {.base = run->shared};
    real *rows[TAPS];
    char *made[TAPS];
    lay_few(call, &arena, rows, made);
    for (size_t tap = 0; tap < TAPS; tap++) {
        gather(merge, tap, rows[tap], call->x, run->n);
        call->left[tap] = sv_left_make(run, rows[tap], merge->taps[tap].count * run->n,
                                       merge->base.in.channels, made[tap]);
    }
    call->parts =
        sv_column_parts(merge->base.out.channels, sv_part_columns(run->gemm, SV_FEW_TOKENS));
    sv_run_tasks(run, part_task, call, call->parts);
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    (void)saved;
    const merge_layer *merge = (const merge_layer *)layer;
    size_t tokens = run->n * outputs_of(merge);
    merge_call call = {.merge = merge, .run = run, .y = y, .x = x};
    if (sv_are_few(run, tokens)) {
        few_images(&call);
        return;
    }
    call.images = images_of_task(merge, sv_tile_tokens(run, tokens, widest_row(merge)));
    sv_run_tasks(run, images_task, &call, sv_tile_count(run->n, call.images));
}

static const sv_layer_class MERGE_PADDED_CLASS = {
    .name = "merging of a padded map", .measure = measure, .forward = forward};

/* Which outputs have a tap: those with the second line are all but the lower edge and the corner,
 * those with the second column all but the right edge and the corner. */
static void set_range(merge_layer *merge, size_t tap)
{
    sv_map out = merge->base.out;
    size_t lower = out.height > merge->rows ? merge->columns : 0;
    size_t right = out.width > merge->columns ? merge->rows : 0;
    size_t whole = merge->rows * merge->columns;
    merge_tap *of = &merge->taps[tap];
    of->first = tap / SIZE ? lower : 0;
    size_t end = tap % SIZE   ? lower + whole
                 : tap / SIZE ? lower + whole + right
                              : outputs_of(merge);
    of->count = end - of->first;
}

bool sv_merge_is_padded(const sv_patch_options *options)
{
    enum { WORTH = 8 }; /* of so many products one is of zeros */
    sv_map in = options->in;
    size_t lines = (in.height + 1) / SIZE * SIZE, columns = (in.width + 1) / SIZE * SIZE;
    return options->size == SIZE && options->same_padding &&
           WORTH * (lines * columns - in.height * in.width) >= lines * columns;
}

svit_status sv_merge_padded_create(sv_layer **out, svit_context *context,
                                   const sv_parameter_table *table, const sv_patch_options *options,
                                   svit_error *err)
{
    void *memory;
    SVIT_TRY(sv_layer_allocate(&memory, context, sizeof(merge_layer), &MERGE_PADDED_CLASS, err));
    merge_layer *merge = memory;
    sv_map in = options->in;
    merge->base.in = in;
    merge->base.out =
        (sv_map){(in.height + 1) / SIZE, (in.width + 1) / SIZE, options->channels_out};
    merge->rows = in.height / SIZE;
    merge->columns = in.width / SIZE;
    size_t weight = sv_layer_parameter(table, options->name, ".weight");
    for (size_t tap = 0; tap < TAPS; tap++) {
        set_range(merge, tap);
        sv_linear_init_columns(&merge->taps[tap].linear, &merge->base, options->channels_out,
                               tap * in.channels, in.channels, TAPS * in.channels, weight);
    }
    merge->taps[0].linear.bias = sv_layer_parameter_if(table, options->name, ".bias");
    *out = &merge->base;
    return SVIT_OK;
}
