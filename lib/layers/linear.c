/* Products with weights, shared by all layers. */
#include "layers/linear.h"

#include <assert.h>

/* A piece of a weight gradient: so many rows that what they are made of stays in L2;
 * whole panels of columns, several where there are pieces enough for many workers, because they
 * share those rows. */
enum {
    PIECE_ROWS = 384,
    PIECE_COLUMNS = 48,
    PIECE_COLUMNS_WIDE = 64,
    PIECE_PANELS_MOST = 4,
    PIECES_WANTED = 4
};

/* How products with a weight too large for L2 are cut. */
enum { LARGE_WEIGHT = 131072, ROWS_OF_LARGE = 256 };

static void take_linear(sv_layer *layer, sv_linear *linear)
{
    size_t place = 0;
    while (place < SV_LAYER_LINEARS && layer->linears[place])
        place++;
    assert(place < SV_LAYER_LINEARS);
    layer->linears[place] = linear;
}

void sv_linear_init(sv_linear *linear, sv_layer *layer, size_t out, size_t in, size_t weight,
                    size_t bias)
{
    *linear = (sv_linear){.out = out, .in = in, .weight = weight, .bias = bias};
    linear->forward = (sv_operand){.k = in, .n = out, .row = 1, .column = in};
    linear->backward = (sv_operand){.k = out, .n = in, .row = in, .column = 1};
    if (weight != SV_NO_PARAMETER)
        take_linear(layer, linear);
}

void sv_linear_init_made(sv_linear *linear, sv_layer *layer, size_t out, size_t in)
{
    sv_linear_init(linear, layer, out, in, SV_NO_PARAMETER, SV_NO_PARAMETER);
    take_linear(layer, linear);
}

const real *sv_linear_bias(const sv_linear *linear, const sv_run *run)
{
    return linear->bias == SV_NO_PARAMETER ? linear->made_bias : run->weights + linear->bias;
}

void sv_operand_pack(const sv_run *run, sv_operand *operand, const real *b, size_t row,
                     size_t column, size_t k, size_t n)
{
    *operand = (sv_operand){b, k, n, row, column, operand->packed, 0};
    run->gemm->activations->pack(run->context->kernels, operand);
}

void sv_multiply(const sv_run *run, const sv_output *c, const sv_left *a, const sv_operand *b,
                 size_t m)
{
    run->gemm->activations->multiply(run->context->kernels, c, a, b, m, 0, b->n);
}

static void multiply(const sv_run *run, const sv_output *c, const sv_left *a, const sv_operand *b,
                     size_t tokens, sv_columns columns)
{
    run->gemm->multiply(run->context->kernels, c, a, b, tokens, columns.first, columns.count);
}

void sv_linear_forward_part(const sv_linear *linear, const sv_run *run, real *y, const sv_left *x,
                            size_t tokens, sv_columns columns, const sv_epilogue *epilogue)
{
    sv_output out = {y, linear->out, 0, sv_linear_bias(linear, run), epilogue};
    multiply(run, &out, x, &linear->forward, tokens, columns);
}

void sv_linear_backward_part(const sv_linear *linear, const sv_run *run, real *dx,
                             const sv_left *dy, size_t tokens, sv_columns columns,
                             const sv_epilogue *epilogue)
{
    sv_output out = {dx, linear->in, 0, NULL, epilogue};
    multiply(run, &out, dy, &linear->backward, tokens, columns);
}

void sv_linear_forward(const sv_linear *linear, const sv_run *run, real *y, const real *x,
                       size_t tokens, const sv_epilogue *epilogue)
{
    sv_left left = {x, linear->in, 1, NULL};
    sv_linear_forward_part(linear, run, y, &left, tokens, (sv_columns){0, linear->out}, epilogue);
}

void sv_linear_backward(const sv_linear *linear, const sv_run *run, real *dx, const real *dy,
                        size_t tokens, const sv_epilogue *epilogue)
{
    sv_left left = {dy, linear->out, 1, NULL};
    sv_linear_backward_part(linear, run, dx, &left, tokens, (sv_columns){0, linear->in}, epilogue);
}

size_t sv_left_bytes(const sv_run *run, size_t tokens, size_t width)
{
    return run->gemm->left_bytes ? run->gemm->left_bytes(tokens, width) : 0;
}

sv_left sv_left_make(const sv_run *run, const real *x, size_t tokens, size_t width, void *memory)
{
    sv_left left = {x, width, 1, NULL};
    if (!run->gemm->make_left)
        return left;
    run->gemm->make_left(&left, tokens, width, memory);
    left.made = memory;
    return left;
}

/* Of tokens that are shared out, and of those that a worker has for itself. */
enum { TILE_MOST = 256, TILE_MOST_WIDE = 128, WIDE = 512, TILE_LEAST = 32, TILES_WANTED = 8 };

static size_t shared_tile(size_t tokens, size_t width)
{
    size_t tile = width <= WIDE ? TILE_MOST : TILE_MOST_WIDE;
    while (tile > TILE_LEAST && tokens < TILES_WANTED * tile)
        tile /= 2;
    return tile;
}

/* Tokens too few for full tiles, in as many alike as two and four workers share without a rest. */
static size_t even_tile(size_t tokens)
{
    enum { ALIKE = 4 };
    size_t tiles = sv_tile_count(sv_tile_count(tokens, TILE_LEAST), ALIKE) * ALIKE;
    return sv_tile_count(tokens, tiles);
}

size_t sv_tile_tokens(const sv_run *run, size_t tokens, size_t width)
{
    if (run->alone)
        return tokens < TILE_MOST ? tokens : TILE_MOST;
    if (!run->training && tokens > SV_FEW_TOKENS && tokens < TILES_WANTED * TILE_LEAST)
        return even_tile(tokens);
    return shared_tile(tokens, width);
}

size_t sv_tile_tokens_most(const sv_run *run, size_t tokens, size_t width)
{
    size_t tile = sv_tile_tokens(run, tokens, width);
    return run->training || tile > SV_FEW_TOKENS ? tile : SV_FEW_TOKENS;
}

sv_linear_cut sv_linear_cut_of(const sv_gemm *gemm, size_t tokens, size_t columns, size_t in,
                               size_t out)
{
    sv_linear_cut cut = {tokens, columns, shared_tile(tokens, in > out ? in : out), 1};
    if (in * out > LARGE_WEIGHT) {
        cut.tile = ROWS_OF_LARGE;
        cut.parts = sv_column_parts(columns, sv_part_columns(gemm, tokens));
    }
    return cut;
}

size_t sv_linear_cut_tasks(const sv_linear_cut *cut)
{
    return sv_tile_count(cut->tokens, cut->tile) * cut->parts;
}

sv_linear_part sv_linear_part_of(const sv_linear_cut *cut, size_t task)
{
    size_t first = task / cut->parts * cut->tile;
    return (sv_linear_part){first, sv_tile_here(cut->tokens, first, cut->tile),
                            sv_column_part(cut->columns, cut->parts, task % cut->parts)};
}

static size_t piece_columns(const sv_weight_job *job)
{
    if (job->in % PIECE_COLUMNS && job->in % PIECE_COLUMNS_WIDE == 0)
        return PIECE_COLUMNS_WIDE;
    size_t panels = sv_tile_count(job->in, PIECE_COLUMNS) * sv_tile_count(job->out, PIECE_ROWS);
    size_t each = panels / PIECES_WANTED;
    each = each < 1 ? 1 : each > PIECE_PANELS_MOST ? PIECE_PANELS_MOST : each;
    return each * PIECE_COLUMNS;
}

size_t sv_weight_pieces(const sv_weight_job *job)
{
    return sv_tile_count(job->out, PIECE_ROWS) * sv_tile_count(job->in, piece_columns(job));
}

void sv_weight_piece(const sv_run *run, const sv_weight_job *job, size_t piece, void *scratch)
{
    size_t width = piece_columns(job), across = sv_tile_count(job->in, width);
    size_t row = piece / across * PIECE_ROWS, column = piece % across * width;
    size_t rows = sv_tile_here(job->out, row, PIECE_ROWS);
    size_t columns = sv_tile_here(job->in, column, width);
    sv_gemm_multiply_transposed(
        run->gemm, run->context->kernels, job->dweight + row * job->in + column, job->in,
        job->dy + row, job->out, job->x + column, job->in, rows, columns, job->tokens, scratch);
}

typedef struct weight_jobs {
    const sv_run *run;
    const sv_weight_job *jobs;
} weight_jobs;

static void weight_task(void *argument, size_t task, uint32_t worker)
{
    const weight_jobs *all = argument;
    const sv_weight_job *job = all->jobs;
    for (size_t pieces; task >= (pieces = sv_weight_pieces(job)); job++)
        task -= pieces;
    sv_weight_piece(all->run, job, task, sv_worker_scratch(all->run, worker));
}

void sv_weight_gradients(const sv_run *run, const sv_weight_job *jobs, size_t count)
{
    weight_jobs all = {run, jobs};
    size_t tasks = 0;
    for (size_t i = 0; i < count; i++)
        tasks += sv_weight_pieces(&jobs[i]);
    sv_run_tasks(run, weight_task, &all, tasks);
}
