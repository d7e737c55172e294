/* Measures two forms of attention, one head on one thread: all keys at once in a worker's scratch,
 * as the library computes it, and tile by tile over the keys with a running maximum and sum (online
 * softmax; Milakov, Gimelshein 2018; Dao et al. 2022). Checks both against each other before it
 * times them. usage: attention_forms [SECONDS] */
#include "gemm/tile/tile_kernels.h"
#include "kernels/kernels.h"
#include "worst.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { D = 64, SCORES_AT_ONCE = 16384, KEYS_AT_ONCE = 192, ROUNDS = 7 };

typedef struct bench {
    const sv_kernels *kernels;
    size_t tokens, queries;
    float *q, *k, *v, *o, *wanted; /* [tokens, D] */
    float *scores, *keys_t, *values, *part;
    float *most, *sum; /* [queries] */
} bench;

/* The part of the online form outside the kernels is compiled for the CPU of this machine, as the
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
    size_t wanted = SCORES_AT_ONCE / tokens / 32 * 32;
    b.queries = wanted < 32 ? 32 : wanted < tokens ? wanted : tokens;
    float **const sides[] = {&b.q, &b.k, &b.v, &b.o, &b.wanted};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        *sides[i] = floats(tokens * D);
        draw(*sides[i], tokens * D, (uint32_t)i);
    }
    b.scores = floats(b.queries * tokens);
    b.keys_t = floats(sv_tile_kernels_of(b.kernels)->packed_b_bytes(SV_PACKED_F32, D, tokens) /
                      sizeof(float));
    b.values = floats(sv_tile_kernels_of(b.kernels)->packed_b_bytes(SV_PACKED_F32, tokens, D) /
                      sizeof(float));
    b.part = floats(b.queries * D);
    b.most = floats(b.queries);
    b.sum = floats(b.queries);
    return b;
}

static void end(bench *b)
{
    float *const all[] = {b->q,      b->k,      b->v,    b->o,    b->wanted, b->scores,
                          b->keys_t, b->values, b->part, b->most, b->sum};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static size_t here(size_t all, size_t first, size_t most)
{
    return all - first < most ? all - first : most;
}

/* c[m,n] = a[m,k] b[k,n], with packed b, lda elements from row to row of a and ldc from row to row
 * of c. */
static void multiply(const sv_kernels *k, float *c, size_t ldc, const float *a, size_t lda,
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
        sv_attention_rows rows = {.rows = here(tokens, first, b->queries),
                                  .columns = tokens,
                                  .first_row = first,
                                  .scale = 1 / sqrtf(D)};
        multiply(k, b->scores, tokens, b->q + first * D, D, 1, b->keys_t, rows.rows, tokens, D);
        k->attention_softmax(b->scores, b->scores, b->scores, &rows);
        multiply(k, b->o + first * D, D, b->scores, tokens, 1, b->values, rows.rows, D, tokens);
    }
}

/* o = o * sum_before e^(max_before - max) + softmax(part) v * sum(part), row by row. The kernel
 * normalises each part, so its sum is recovered from its largest weight. */
FOR_THIS_CPU static void join(bench *b, size_t first, size_t rows, const float *largest,
                              const float *tops)
{
    for (size_t r = 0; r < rows; r++) {
        float *o = b->o + (first + r) * D;
        const float *part = b->part + r * D;
        float top = tops[r] / sqrtf(D), sum = 1 / largest[r];
        float most = top > b->most[r] ? top : b->most[r];
        float before = b->sum[r] * expf(b->most[r] - most), now = sum * expf(top - most);
        float share = now / (before + now);
        for (size_t i = 0; i < D; i++)
            o[i] += share * (part[i] - o[i]);
        b->most[r] = most;
        b->sum[r] = before + now;
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

static void tile_of_keys(bench *b, size_t first, size_t rows, size_t key, size_t keys)
{
    const sv_kernels *k = b->kernels;
    float tops[SCORES_AT_ONCE / 32], largest[SCORES_AT_ONCE / 32];
    multiply(k, b->scores, keys, b->q + first * D, D, 1, b->keys_t + key * D, rows, keys, D);
    for (size_t r = 0; r < rows; r++)
        tops[r] = row_top(b->scores + r * keys, keys);
    sv_attention_rows call = {.rows = rows, .columns = keys, .scale = 1 / sqrtf(D)};
    k->attention_softmax(b->scores, b->scores, b->scores, &call);
    for (size_t r = 0; r < rows; r++)
        largest[r] = row_top(b->scores + r * keys, keys);
    multiply(k, b->part, D, b->scores, keys, 1, b->values + key * D, rows, D, keys);
    join(b, first, rows, largest, tops);
}

static void tile_by_tile(bench *b)
{
    const sv_kernels *k = b->kernels;
    size_t tokens = b->tokens;
    for (size_t key = 0; key < tokens; key += KEYS_AT_ONCE) {
        size_t keys = here(tokens, key, KEYS_AT_ONCE);
        sv_tile_kernels_of(k)->pack_b(b->keys_t + key * D, SV_PACKED_F32, b->k + key * D, 1, D, D,
                                      keys);
        sv_tile_kernels_of(k)->pack_b(b->values + key * D, SV_PACKED_F32, b->v + key * D, D, 1,
                                      keys, D);
    }
    for (size_t first = 0; first < tokens; first += b->queries) {
        size_t rows = here(tokens, first, b->queries);
        for (size_t r = 0; r < rows; r++) {
            b->most[r] = -INFINITY;
            b->sum[r] = 0;
        }
        memset(b->o + first * D, 0, rows * D * sizeof(float));
        for (size_t key = 0; key < tokens; key += KEYS_AT_ONCE)
            tile_of_keys(b, first, rows, key, here(tokens, key, KEYS_AT_ONCE));
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
    double all[ROUNDS], tiles[ROUNDS], ratio[ROUNDS], most = 0;
    all_keys(&b);
    memcpy(b.wanted, b.o, tokens * D * sizeof(float));
    tile_by_tile(&b);
    for (size_t i = 0; i < tokens * D; i++)
        most = worst_of(most, fabs(b.o[i] - b.wanted[i]));
    if (!(most < 1e-5)) {
        fprintf(stderr, "%zu tokens: the forms differ by %g\n", tokens, most);
        return 1;
    }
    for (size_t r = 0; r < ROUNDS; r++) {
        all[r] = seconds_each(&b, all_keys, seconds);
        tiles[r] = seconds_each(&b, tile_by_tile, seconds);
        ratio[r] = tiles[r] / all[r];
    }
    qsort(all, ROUNDS, sizeof *all, by_value);
    qsort(tiles, ROUNDS, sizeof *tiles, by_value);
    qsort(ratio, ROUNDS, sizeof *ratio, by_value);
    double gflop = 4e-9 * (double)tokens * (double)tokens * D;
    printf("%5zu tokens: all keys %7.1f us (%5.1f GFLOP/s), tile by tile %7.1f us (%5.1f GFLOP/s), "
           "ratio %.2f (%.2f to %.2f)\n",
           tokens, 1e6 * all[ROUNDS / 2], gflop / all[ROUNDS / 2], 1e6 * tiles[ROUNDS / 2],
           gflop / tiles[ROUNDS / 2], ratio[ROUNDS / 2], ratio[0], ratio[ROUNDS - 1]);
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
