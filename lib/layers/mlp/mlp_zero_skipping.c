/* Zero skipping after the shift of a small feature map. The shift moves zeros into one channel
 * group of a token at an edge, and into two at a corner. With groups of a twelfth of the channels,
 * a ninth of the multiply-adds of W1 xn in a 3 x 3 map have a zero factor.
 *
 * The norm maps such a group to (0 - mean) rstd w + b, with the norm's weight w and bias b. xn
 * holds zeros there instead, and the matmul adds the correction term of each zero group g:
 *   W1 xn = W1 [xn with zeros] + sum over g of (-mean rstd) (W1 w)[g] + (W1 b)[g] */
#include "layers/linear/small_matmul.h"
#include "layers/mlp/mlp_internal.h"

#include <string.h>

enum { FACTORS = 2 }; /* of W1 in the correction term: w and b */

static int bit(int index, int set)
{
    return set ? 1 << index : 0;
}

/* The zero groups of token (row, column), as a set of the shift's groups left, right, up, down. */
static uint8_t find_groups(const sv_shift_geometry *map, size_t row, size_t column)
{
    size_t p = map->pixels;
    int first = column < p, last = column + p >= map->width;
    int upper = row < p, lower = row + p >= map->height;
    return (uint8_t)(bit(0, last) | bit(1, first) | bit(2, lower) | bit(3, upper));
}

sv_zero_groups sv_shift_zero_groups(const sv_shift_geometry *map)
{
    size_t tokens = map->height * map->width;
    sv_zero_groups zeros = {.period = 0};
    if (tokens > SV_ZERO_GROUPS_TOKENS || map->group == 0 || map->pixels == 0)
        return zeros;
    zeros = (sv_zero_groups){.period = tokens, .width = map->group};
    for (size_t t = 0; t < tokens; t++)
        zeros.groups[t] = find_groups(map, t / map->width, t % map->width);
    return zeros;
}

static bool has_correction(const mlp_block *block, const sv_run *run)
{
    return block->zeros.period && run->exec.gemm->adds_correction;
}

/* Whether the pass skips zero groups. With a small M it does not: reading W1 takes most of the time
 * there, and the correction term would be read in addition. */
static bool skips_zeros(const mlp_block *block, const sv_run *run)
{
    return has_correction(block, run) && !run->exec.small_m;
}

size_t sv_mlp_correction_elements(const mlp_block *block)
{
    return block->zeros.period ? SV_ZERO_GROUPS_COUNT * FACTORS * block->hidden_channels : 0;
}

size_t sv_mlp_correction_bytes(const mlp_block *block, const sv_run *run)
{
    if (!block->zeros.period)
        return 0;
    sv_arena arena = {0};
    sv_arena_reals(&arena, FACTORS, block->zeros.width);
    return arena.bytes +
           sv_small_matmul_bytes(&run->exec, block->zeros.width, block->hidden_channels);
}

/* correction[2, hidden] = (w, b)[g] W1[:, g]^T */
static void derive_group(const mlp_block *block, const sv_run *run, size_t g, real *correction,
                         char *scratch)
{
    size_t c = block->base.in.channels, width = block->zeros.width, hidden = block->hidden_channels;
    const real *w1 = run->weights + block->fc1.weight + g * width;
    sv_arena arena = {.base = scratch};
    real *factors = sv_arena_reals(&arena, FACTORS, width);
    char *packed = scratch + arena.bytes;
    memcpy(factors, run->weights + block->norm.weight + g * width, width * sizeof(real));
    memcpy(factors + width, run->weights + block->norm.bias + g * width, width * sizeof(real));
    sv_add_matmul(&run->exec,
                  &(sv_small_matmul){
                      correction, hidden, {factors, width, 1}, {w1, 1, c}, FACTORS, width, hidden},
                  packed);
}

/* Derives the correction terms of all zero channel groups: the two vectors from which the mean and
 * rstd of a token give what its zero groups add to fc1's output. A session with a small M does not
 * skip zeros, but it derives the terms too, since sessions of one model share the derived weights.
 */
void sv_mlp_derive_correction(const mlp_block *block, const sv_run *run, real *memory,
                              char *scratch)
{
    if (!has_correction(block, run))
        return;
    memset(memory, 0, sv_mlp_correction_elements(block) * sizeof(real));
    for (size_t g = 0; g < SV_ZERO_GROUPS_COUNT; g++)
        derive_group(block, run, g, memory + g * FACTORS * block->hidden_channels, scratch);
}

static void clear_zero_groups(real *xn, const sv_zero_groups *zero_groups, unsigned groups)
{
    for (size_t g = 0; g < SV_ZERO_GROUPS_COUNT; g++)
        if (groups >> g & 1)
            memset(xn + g * zero_groups->width, 0, zero_groups->width * sizeof(real));
}

sv_zero_skipping sv_mlp_zero_skipping(const mlp_call *call, real *xn, const real *mean,
                                      const real *rstd, size_t first, size_t tokens)
{
    const mlp_block *block = call->block;
    const sv_zero_groups *zero_groups = &block->zeros;
    if (!skips_zeros(block, call->run))
        return (sv_zero_skipping){.correction = NULL};
    for (size_t t = 0; t < tokens; t++)
        clear_zero_groups(xn + t * block->base.in.channels, zero_groups,
                          zero_groups->groups[(first + t) % zero_groups->period]);
    return (sv_zero_skipping){*zero_groups, mean, rstd, block->correction, block->hidden_channels};
}
