/* What a shift over a small map makes needless. Into a token at an edge one group shifts nothing,
 * at a corner two; and what lies at the opposite edge is shifted out and read by nobody. With
 * groups of a twelfth of the channels that is, of a map of 3 x 3, a ninth of both products.
 *
 * Where nothing is shifted in, all of a group normalises to the same number but for the norm's
 * weight w and bias b: (0 - mean) rstd w + b. So xn has zeros there, and a begins with what they
 * stand for:
 *   W1 xn = W1 [xn without the gaps] + sum over the gaps g of (-mean rstd) (W1 w)[g] + (W1 b)[g] */
#include "layers/mlp/mlp_internal.h"
#include "layers/small_matmul.h"

#include <string.h>

enum { FACTORS = 2 };

static int bit(int number, int set)
{
    return set ? 1 << number : 0;
}

/* Groups left, right, up, down of the shift: what is not shifted into token (row, column), and what
 * is shifted out of it. */
static void find_gaps(const sv_shift_geometry *map, size_t row, size_t column, uint8_t *in,
                      uint8_t *out)
{
    size_t p = map->pixels;
    int first = column < p, last = column + p >= map->width;
    int upper = row < p, lower = row + p >= map->height;
    *in = (uint8_t)(bit(0, last) | bit(1, first) | bit(2, lower) | bit(3, upper));
    *out =
        map->crop ? *in : (uint8_t)(bit(0, first) | bit(1, last) | bit(2, upper) | bit(3, lower));
}

void sv_shift_gaps(const sv_shift_geometry *map, sv_gaps *zeros, sv_gaps *unread)
{
    size_t tokens = map->height * map->width;
    *zeros = *unread = (sv_gaps){.period = 0};
    if (tokens > SV_GAPS_TOKENS || map->group == 0 || map->pixels == 0)
        return;
    *zeros = *unread = (sv_gaps){.period = tokens, .width = map->group};
    for (size_t t = 0; t < tokens; t++)
        find_gaps(map, t / map->width, t % map->width, &zeros->groups[t], &unread->groups[t]);
}

/* Not where rows are few: their time goes into reading W1, and what fills the gaps is read too. */
static bool leaves_out(const mlp_block *block, const sv_run *run)
{
    return block->zeros.period && !run->exec.small_m && run->exec.gemm->fills;
}

size_t sv_mlp_fill_elements(const mlp_block *block)
{
    return block->zeros.period ? SV_GAPS_GROUPS * FACTORS * block->hidden_channels : 0;
}

size_t sv_mlp_fill_bytes(const mlp_block *block, const sv_run *run)
{
    if (!block->zeros.period)
        return 0;
    sv_arena arena = {0};
    sv_arena_reals(&arena, FACTORS, block->zeros.width);
    return arena.bytes +
           sv_small_matmul_bytes(&run->exec, block->zeros.width, block->hidden_channels);
}

/* fill[2, hidden] = (w, b)[g] W1[:, g]^T */
static void make_group(const mlp_block *block, const sv_run *run, size_t g, real *fill,
                       char *scratch)
{
    size_t c = block->base.in.channels, width = block->zeros.width, hidden = block->hidden_channels;
    const real *w1 = run->weights + block->fc1.weight + g * width;
    sv_arena arena = {.base = scratch};
    real *factors = sv_arena_reals(&arena, FACTORS, width);
    char *packed = scratch + arena.bytes;
    memcpy(factors, run->weights + block->norm_weight + g * width, width * sizeof(real));
    memcpy(factors + width, run->weights + block->norm_bias + g * width, width * sizeof(real));
    sv_add_matmul(
        &run->exec,
        &(sv_small_matmul){fill, hidden, {factors, width, 1}, {w1, 1, c}, FACTORS, width, hidden},
        packed);
}

void sv_mlp_derive_fill(mlp_block *block, const sv_run *run, real *memory, char *scratch)
{
    if (!leaves_out(block, run))
        return;
    memset(memory, 0, sv_mlp_fill_elements(block) * sizeof(real));
    for (size_t g = 0; g < SV_GAPS_GROUPS; g++)
        make_group(block, run, g, memory + g * FACTORS * block->hidden_channels, scratch);
    block->fill = memory;
}

static void clear_gaps(real *xn, const sv_gaps *gaps, unsigned groups)
{
    for (size_t g = 0; g < SV_GAPS_GROUPS; g++)
        if (groups >> g & 1)
            memset(xn + g * gaps->width, 0, gaps->width * sizeof(real));
}

sv_zeros sv_mlp_zeros(const mlp_call *call, real *xn, const real *mean, const real *rstd,
                      size_t first, size_t tokens)
{
    const mlp_block *block = call->block;
    const sv_gaps *gaps = &block->zeros;
    if (!leaves_out(block, call->run))
        return (sv_zeros){.fill = NULL};
    for (size_t t = 0; t < tokens; t++)
        clear_gaps(xn + t * block->base.in.channels, gaps,
                   gaps->groups[(first + t) % gaps->period]);
    return (sv_zeros){*gaps, mean, rstd, block->fill, block->hidden_channels};
}
