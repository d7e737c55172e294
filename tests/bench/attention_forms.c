/* Measures two forms of attention, one head on one thread: all keys at once in a worker's scratch,
 * as the library computes it, and in blocks of keys with a running maximum and sum (online softmax;
 * Milakov, Gimelshein 2018; Dao et al. 2022). Compares the results of both before it times them.
 * usage: attention_forms [SECONDS] */
#include "gemm/tile/tile_kernels.h"
#include "kernels/kernels.h"
#include "worst.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { D = 64, MAX_SCORES = 16384, KEY_BLOCK = 192, ROUNDS = 7 };

typedef struct bench {
    const sv_kernels *kernels;
    size_t tokens, queries;
    float *q, *k, *v, *o, *wanted; /* [tokens, D] */
    float *scores, *keys_t, *values, *block_o;
    float *row_max, *row_sum; /* [queries]: of the keys so far, for the online softmax */
} bench;

/* The code of the online form outside the kernels is compiled for the CPU of this machine, as the
 * kernels are. */
#if defined(__x86_64__)
#define FOR_THIS_CPU __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_THIS_CPU
#endif

static float *floats(size_t count)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, (count + 16) * sizeof(float)) != 0)
        abort();
    memset(memory, 0, (count + 16) * sizeof(float));
    return memory;
}

static void draw(float *values, size_t count, uint32_t state)
{
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(state >> 8) / 8388608.0f - 1;
    }
}

static bench start(size_t tokens)
{
    bench b = {.kernels = sv_kernels_for(sv_cpu_isa()), .tokens = tokens};
    size_t wanted = MAX_SCORES / tokens / 32 * 32;
    b.queries = wanted < 32 ? 32 : wanted < tokens ? wanted : tokens;
    float **const arrays[] = {&b.q, &b.k, &b.v, &b.o, &b.wanted};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = floats(tokens * D);
        draw(*arrays[i], tokens * D, (uint32_t)i);
    }
    b.scores = floats(b.queries * tokens);
    b.keys_t = floats(sv_tile_kernels_of(b.kernels)->packed_b_bytes(SV_PACKED_F32, D, tokens) /
                      sizeof(float));
    b.values = floats(sv_tile_kernels_of(b.kernels)->packed_b_bytes(SV_PACKED_F32, tokens, D) /
                      sizeof(float));
    b.block_o = floats(b.queries * D);
    b.row_max = floats(b.queries);
    b.row_sum = floats(b.queries);
    return b;
}

static void end(bench *b)
{
    float *const all[] = {b->q,      b->k,      b->v,       b->o,       b->wanted, b->scores,
                          b->keys_t, b->values, b->block_o, b->row_max, b->row_sum};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* Elements of the block that begins at `first` and has at most `max` elements. */
static size_t count_from(size_t all, size_t first, size_t max)
{
    return all - first < max ? all - first : max;
}

/* c[m,n] = a[m,k] b[k,n], with packed b, lda elements from row to row of a and ldc from row to row
 * of c. */
static void run_matmul(const sv_kernels *k, float *c, size_t ldc, const float *a, size_t lda,
                       size_t column, const float *packed, size_t m, size_t n, size_t depth)
{
    sv_tile_matmul matmul = {c, ldc, 0, NULL, a, lda, column, packed, depth, NULL, false};
    sv_tile_kernels_of(k)->matmul(&matmul, SV_PACKED_F32, m, 0, n);
}

static void all_keys(bench *b)
{
    const sv_kernels *k = b->kernels;
    size_t tokens = b->tokens;
    sv_tile_kernels_of(k)->pack_b(b->keys_t, SV_PACKED_F32, b->k, 1, D, D, tokens);
    sv_tile_kernels_of(k)->pack_b(b->values, SV_PACKED_F32, b->v, D, 1, tokens, D);
    for (size_t first = 0; first < tokens; first += b->queries) {
        sv_attention_rows rows = {.rows = count_from(tokens, first, b->queries),
                                  .columns = tokens,
                                  .first_row = first,
                                  .scale = 1 / sqrtf(D)};
        run_matmul(k, b->scores, tokens, b->q + first * D, D, 1, b->keys_t, rows.rows, tokens, D);
        k->attention_softmax(b->scores, b->scores, b->scores, &rows);
        run_matmul(k, b->o + first * D, D, b->scores, tokens, 1, b->values, rows.rows, D, tokens);
    }
}

/* Adds the output block_o[rows, D] of a block of keys, whose softmax is normalised, to o. For each
 * row, with the maximum m and sum s of the block and max = max(row_max, m):
 *   before = row_sum e^(row_max - max);  now = s e^(m - max)
 *   o += now / (before + now) (block_o - o);  row_max = max;  row_sum = before + now
 * `largest` is the block's largest weight, 1 / s. `block_max` is m before the scale. */
FOR_THIS_CPU static void join(bench *b, size_t first, size_t rows, const float *largest,
                              const float *block_max)
{
    for (size_t r = 0; r < rows; r++) {
        float *o = b->o + (first + r) * D;
        const float *block_o = b->block_o + r * D;
        float top = block_max[r] / sqrtf(D), sum = 1 / largest[r];
        float max = top > b->row_max[r] ? top : b->row_max[r];
        float before = b->row_sum[r] * expf(b->row_max[r] - max), now = sum * expf(top - max);
        float fraction = now / (before + now);
        for (size_t i = 0; i < D; i++)
            o[i] += fraction * (block_o[i] - o[i]);
        b->row_max[r] = max;
        b->row_sum[r] = before + now;
    }
}

/* Several maxima side by side, because the compiler must not reorder comparisons. */
FOR_THIS_CPU static float row_top(const float *row, size_t count)
{
    enum { LANES = 32 };
    float lanes[LANES], top = row[0];
    for (size_t lane = 0; lane < LANES; lane++)
        lanes[lane] = row[0];
    for (size_t i = 0; i + LANES <= count; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            lanes[lane] = row[i + lane] > lanes[lane] ? row[i + lane] : lanes[lane];
    for (size_t lane = 0; lane < LANES; lane++)
        top = lanes[lane] > top ? lanes[lane] : top;
    for (size_t i = count - count % LANES; i < count; i++)
        top = row[i] > top ? row[i] : top;
    return top;
}

static void add_key_block(bench *b, size_t first, size_t rows, size_t key, size_t keys)
{
    const sv_kernels *k = b->kernels;
    float block_max[MAX_SCORES / 32], largest[MAX_SCORES / 32];
    run_matmul(k, b->scores, keys, b->q + first * D, D, 1, b->keys_t + key * D, rows, keys, D);
    for (size_t r = 0; r < rows; r++)
        block_max[r] = row_top(b->scores + r * keys, keys);
    sv_attention_rows call = {.rows = rows, .columns = keys, .scale = 1 / sqrtf(D)};
    k->attention_softmax(b->scores, b->scores, b->scores, &call);
    for (size_t r = 0; r < rows; r++)
        largest[r] = row_top(b->scores + r * keys, keys);
    run_matmul(k, b->block_o, D, b->scores, keys, 1, b->values + key * D, rows, D, keys);
    join(b, first, rows, largest, block_max);
}

static void by_key_blocks(bench *b)
{
    const sv_kernels *k = b->kernels;
    size_t tokens = b->tokens;
    for (size_t key = 0; key < tokens; key += KEY_BLOCK) {
        size_t keys = count_from(tokens, key, KEY_BLOCK);
        sv_tile_kernels_of(k)->pack_b(b->keys_t + key * D, SV_PACKED_F32, b->k + key * D, 1, D, D,
                                      keys);
        sv_tile_kernels_of(k)->pack_b(b->values + key * D, SV_PACKED_F32, b->v + key * D, D, 1,
                                      keys, D);
    }
    for (size_t first = 0; first < tokens; first += b->queries) {
        size_t rows = count_from(tokens, first, b->queries);
        for (size_t r = 0; r < rows; r++) {
            b->row_max[r] = -INFINITY;
            b->row_sum[r] = 0;
        }
        memset(b->o + first * D, 0, rows * D * sizeof(float));
        for (size_t key = 0; key < tokens; key += KEY_BLOCK)
            add_key_block(b, first, rows, key, count_from(tokens, key, KEY_BLOCK));
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds_each(bench *b, void (*form)(bench *), double seconds)
{
    size_t runs = 0;
    double begin = now(), passed = 0;
    for (; passed < seconds; runs++) {
        form(b);
        passed = now() - begin;
    }
    return passed / (double)runs;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int measure(size_t tokens, double seconds)
{
    bench b = start(tokens);
    double all[ROUNDS], blocks[ROUNDS], ratio[ROUNDS], error = 0;
    all_keys(&b);
    memcpy(b.wanted, b.o, tokens * D * sizeof(float));
    by_key_blocks(&b);
    for (size_t i = 0; i < tokens * D; i++)
        error = worst_of(error, fabs(b.o[i] - b.wanted[i]));
    if (!(error < 1e-5)) {
        fprintf(stderr, "%zu tokens: the forms differ by %g\n", tokens, error);
        return 1;
    }
    for (size_t r = 0; r < ROUNDS; r++) {
        all[r] = seconds_each(&b, all_keys, seconds);
        blocks[r] = seconds_each(&b, by_key_blocks, seconds);
        ratio[r] = blocks[r] / all[r];
    }
    qsort(all, ROUNDS, sizeof *all, by_value);
    qsort(blocks, ROUNDS, sizeof *blocks, by_value);
    qsort(ratio, ROUNDS, sizeof *ratio, by_value);
    double gflop = 4e-9 * (double)tokens * (double)tokens * D;
    printf("%5zu tokens: all keys %7.1f us (%5.1f GFLOP/s), key blocks %7.1f us (%5.1f GFLOP/s), "
           "ratio %.2f (%.2f to %.2f)\n",
           tokens, 1e6 * all[ROUNDS / 2], gflop / all[ROUNDS / 2], 1e6 * blocks[ROUNDS / 2],
           gflop / blocks[ROUNDS / 2], ratio[ROUNDS / 2], ratio[0], ratio[ROUNDS - 1]);
    end(&b);
    return 0;
}

int main(int count, char **arguments)
{
    double seconds = count > 1 ? atof(arguments[1]) : 0.2;
    const size_t tokens[] = {144, 1025, 4097};
    int failed = 0;
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        failed |= measure(tokens[i], seconds);
    return failed;
}
