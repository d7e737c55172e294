/* Matmuls of every float32 kernel that the CPU has: shapes, strides and values from the input,
 * against a plain sum in double. */
#include "fuzz.h"

#include "base/threads/cpu.h"
#include "gemm/gemm.h"
#include "kernels/isa.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most products of a matmul, so that an input takes milliseconds. */
enum { PRODUCTS = 1 << 20 };

typedef struct matmul {
    size_t m, n, k;
    bool a_turned, b_turned, accumulate;
    float *a, *b, *bias, *before;
    double *wanted, *limit; /* [m, n]: the plain sums, and how far the kernels' may be from them */
} matmul;

static float a_at(const matmul *of, size_t row, size_t p)
{
    return of->a[of->a_turned ? p * of->m + row : row * of->k + p];
}

static float b_at(const matmul *of, size_t p, size_t column)
{
    return of->b[of->b_turned ? column * of->k + p : p * of->n + column];
}

static void sum_plainly(matmul *of)
{
    for (size_t row = 0; row < of->m; row++)
        for (size_t column = 0; column < of->n; column++) {
            const size_t at = row * of->n + column;
            double sum = (double)(of->accumulate ? of->before[at] : of->bias[column]);
            double size = fabs(sum);
            for (size_t p = 0; p < of->k; p++) {
                const double term = (double)a_at(of, row, p) * (double)b_at(of, p, column);
                sum += term;
                size += fabs(term);
            }
            of->wanted[at] = sum;
            of->limit[at] = 1e-6 * (double)(of->k + 2) * size + 1e-30;
        }
}

static void check(const matmul *of, const float *c)
{
    for (size_t i = 0; i < of->m * of->n; i++)
        FUZZ_CHECK(fabs((double)c[i] - of->wanted[i]) <= of->limit[i]);
}

static void run(const matmul *of, const sv_gemm *gemm, const sv_kernels *kernels)
{
    const size_t elements = of->m * of->n,
                 packed_bytes = gemm->packed_b_bytes(kernels, of->k, of->n);
    void *packed = NULL;
    float *c = malloc(elements * sizeof *c);
    FUZZ_CHECK(c && posix_memalign(&packed, 64, packed_bytes ? packed_bytes : 64) == 0);
    memcpy(c, of->before, elements * sizeof *c);
    const sv_gemm_b b = {of->b,  of->k, of->n, of->b_turned ? 1 : of->n, of->b_turned ? of->k : 1,
                         packed, 0};
    const sv_gemm_a a = {of->a, of->a_turned ? 1 : of->k, of->a_turned ? of->m : 1, NULL};
    const sv_gemm_c out = {c, of->n, of->accumulate, of->accumulate ? NULL : of->bias, NULL};
    gemm->pack_b(kernels, &b);
    gemm->matmul(kernels, &out, &a, &b, of->m, 0, of->n);
    check(of, c);
    free(packed);
    free(c);
}

static float *values(fuzz_bytes *bytes, size_t count)
{
    float *made = malloc((count ? count : 1) * sizeof *made);
    uint32_t seed = (uint32_t)bytes->size;
    FUZZ_CHECK(made);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        made[i] = bytes->size > 0 ? ((float)fuzz_take(bytes, 1) - 128) / 16
                                  : (float)(seed >> 8) / (1 << 23) - 1;
    }
    return made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
#define ONE(suffix, constant) constant,
    static const sv_isa sets[] = {SV_ISA_LIST(ONE)};
    fuzz_bytes bytes = {data, size};
    const unsigned choice = (unsigned)fuzz_take(&bytes, 1);
    matmul of = {.a_turned = choice & 1, .b_turned = choice & 2, .accumulate = choice & 4};
    of.m = fuzz_range(&bytes, 1, choice & 8 ? 130 : 20);
    of.n = fuzz_range(&bytes, 1, choice & 16 ? 300 : 70);
    of.k = fuzz_range(&bytes, 1, choice & 32 ? 500 : 40);
    if (of.k > PRODUCTS / (of.m * of.n))
        of.k = PRODUCTS / (of.m * of.n);
    of.a = values(&bytes, of.m * of.k);
    of.b = values(&bytes, of.k * of.n);
    of.bias = values(&bytes, of.n);
    of.before = values(&bytes, of.m * of.n);
    of.wanted = malloc(of.m * of.n * sizeof(double));
    of.limit = malloc(of.m * of.n * sizeof(double));
    FUZZ_CHECK(of.wanted && of.limit);
    sum_plainly(&of);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (sv_cpu_has(sets[i]))
            run(&of, &sv_gemm_tile, sv_kernels_for(sets[i]));
    free(of.limit);
    free(of.wanted);
    free(of.before);
    free(of.bias);
    free(of.b);
    free(of.a);
    return 0;
}
