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
    linear->forward = (sv_gemm_b){.k = in, .n = out, .row_stride = 1, .column_stride = in};
    linear->backward = (sv_gemm_b){.k = out, .n = in, .row_stride = in, .column_stride = 1};
    if (weight != SV_NO_PARAMETER)
        take_linear(layer, linear);
}

void sv_linear_init_derived(sv_linear *linear, sv_layer *layer, size_t out, size_t in)
{
    sv_linear_init(linear, layer, out, in, SV_NO_PARAMETER, SV_NO_PARAMETER);
    take_linear(layer, linear);
}

const real *sv_linear_bias(const sv_linear *linear, const sv_run *run)
{
    return linear->bias == SV_NO_PARAMETER ? linear->derived_bias : run->weights + linear->bias;
}

void sv_pack_b(const sv_exec *exec, sv_gemm_b *operand, const real *b, size_t row, size_t column,
               size_t k, size_t n)
{
    *operand = (sv_gemm_b){b, k, n, row, column, operand->packed, 0};
    exec->gemm->activations->pack_b(exec->context->kernels, operand);
}

void sv_matmul(const sv_exec *exec, const sv_gemm_c *c, const sv_gemm_a *a, const sv_gemm_b *b,
               size_t m)
{
    exec->gemm->activations->matmul(exec->context->kernels, c, a, b, m, 0, b->n);
}

static void multiply(const sv_run *run, const sv_gemm_c *c, const sv_gemm_a *a, const sv_gemm_b *b,
                     size_t tokens, sv_column_range columns)
{
    run->exec.gemm->matmul(run->exec.context->kernels, c, a, b, tokens, columns.first,
                           columns.count);
}

void sv_linear_forward_columns(const sv_linear *linear, const sv_run *run, real *y,
                               const sv_gemm_a *x, size_t tokens, sv_column_range columns,
                               const sv_epilogue *epilogue)
{
    sv_gemm_c out = {y, linear->out, 0, sv_linear_bias(linear, run), epilogue};
    multiply(run, &out, x, &linear->forward, tokens, columns);
}

void sv_linear_backward_columns(const sv_linear *linear, const sv_run *run, real *dx,
                                const sv_gemm_a *dy, size_t tokens, sv_column_range columns,
                                const sv_epilogue *epilogue)
{
    sv_gemm_c out = {dx, linear->in, 0, NULL, epilogue};
    multiply(run, &out, dy, &linear->backward, tokens, columns);
}

void sv_linear_forward(const sv_linear *linear, const sv_run *run, real *y, const real *x,
                       size_t tokens, const sv_epilogue *epilogue)
{
    sv_gemm_a left = {x, linear->in, 1, NULL};
    sv_linear_forward_columns(linear, run, y, &left, tokens, (sv_column_range){0, linear->out},
                              epilogue);
}

void sv_linear_backward(const sv_linear *linear, const sv_run *run, real *dx, const real *dy,
                        size_t tokens, const sv_epilogue *epilogue)
{
    sv_gemm_a left = {dy, linear->out, 1, NULL};
    sv_linear_backward_columns(linear, run, dx, &left, tokens, (sv_column_range){0, linear->in},
                               epilogue);
}

size_t sv_packed_a_bytes(const sv_exec *exec, size_t tokens, size_t width)
{
    return exec->gemm->packed_a_bytes ? exec->gemm->packed_a_bytes(tokens, width) : 0;
}

sv_gemm_a sv_pack_a(const sv_exec *exec, const real *x, size_t tokens, size_t width, void *memory)
{
    sv_gemm_a left = {x, width, 1, NULL};
    if (!exec->gemm->pack_a)
        return left;
    exec->gemm->pack_a(&left, tokens, width, memory);
    left.packed = memory;
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
    size_t tiles = sv_block_count(sv_block_count(tokens, TILE_LEAST), ALIKE) * ALIKE;
    return sv_block_count(tokens, tiles);
}

size_t sv_token_block_size(const sv_run *run, size_t tokens, size_t width)
{
    if (run->exec.serial)
        return tokens < TILE_MOST ? tokens : TILE_MOST;
    if (!run->pass.training && tokens > SV_SMALL_M && tokens < TILES_WANTED * TILE_LEAST)
        return even_tile(tokens);
    return shared_tile(tokens, width);
}

size_t sv_token_block_size_max(const sv_run *run, size_t tokens, size_t width)
{
    size_t tile = sv_token_block_size(run, tokens, width);
    return run->pass.training || tile > SV_SMALL_M ? tile : SV_SMALL_M;
}

sv_linear_partition sv_linear_partition_of(const sv_gemm *gemm, size_t tokens, size_t columns,
                                           size_t in, size_t out)
{
    sv_linear_partition cut = {tokens, columns, shared_tile(tokens, in > out ? in : out), 1};
    if (in * out > LARGE_WEIGHT) {
        cut.block = ROWS_OF_LARGE;
        cut.stripes = sv_column_partition_count(columns, sv_min_partition_columns(gemm, tokens));
    }
    return cut;
}

size_t sv_linear_partition_tasks(const sv_linear_partition *cut)
{
    return sv_block_count(cut->tokens, cut->block) * cut->stripes;
}

sv_linear_work_item sv_linear_work_item_of(const sv_linear_partition *cut, size_t task)
{
    size_t first = task / cut->stripes * cut->block;
    return (sv_linear_work_item){
        first, sv_block_length(cut->tokens, first, cut->block),
        sv_column_partition(cut->columns, cut->stripes, task % cut->stripes)};
}

static size_t piece_columns(const sv_weight_gradient_job *job)
{
    if (job->in % PIECE_COLUMNS && job->in % PIECE_COLUMNS_WIDE == 0)
        return PIECE_COLUMNS_WIDE;
    size_t panels = sv_block_count(job->in, PIECE_COLUMNS) * sv_block_count(job->out, PIECE_ROWS);
    size_t each = panels / PIECES_WANTED;
    each = each < 1 ? 1 : each > PIECE_PANELS_MOST ? PIECE_PANELS_MOST : each;
    return each * PIECE_COLUMNS;
}

size_t sv_weight_gradient_tasks(const sv_weight_gradient_job *job)
{
    return sv_block_count(job->out, PIECE_ROWS) * sv_block_count(job->in, piece_columns(job));
}

void sv_weight_gradient_task(const sv_run *run, const sv_weight_gradient_job *job, size_t piece,
                             void *scratch)
{
    size_t width = piece_columns(job), across = sv_block_count(job->in, width);
    size_t row = piece / across * PIECE_ROWS, column = piece % across * width;
    size_t rows = sv_block_length(job->out, row, PIECE_ROWS);
    size_t columns = sv_block_length(job->in, column, width);
    sv_gemm_weight_gradient(run->exec.gemm, run->exec.context->kernels,
                            job->dweight + row * job->in + column, job->in, job->dy + row, job->out,
                            job->x + column, job->in, rows, columns, job->tokens, scratch);
}

typedef struct weight_jobs {
    const sv_run *run;
    const sv_weight_gradient_job *jobs;
} weight_jobs;

static void weight_task(void *argument, size_t task, uint32_t worker)
{
    const weight_jobs *all = argument;
    const sv_weight_gradient_job *job = all->jobs;
    for (size_t pieces; task >= (pieces = sv_weight_gradient_tasks(job)); job++)
        task -= pieces;
    sv_weight_gradient_task(all->run, job, task, sv_worker_scratch(&all->run->exec, worker));
}

void sv_weight_gradients(const sv_run *run, const sv_weight_gradient_job *jobs, size_t count)
{
    weight_jobs all = {run, jobs};
    size_t tasks = 0;
    for (size_t i = 0; i < count; i++)
        tasks += sv_weight_gradient_tasks(&jobs[i]);
    sv_run_tasks(&run->exec, weight_task, &all, tasks);
}
