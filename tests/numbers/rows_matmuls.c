/* Errors of every GEMM backend. The low-precision ones round their operands, which is part of their
 * error here: a bfloat16 value is off by 2^-8 of itself, an int8 value by 1 / 254 of the largest
 * one of its row or column. */
#include "rows.h"

#include "base/threads/cpu.h"
#include "base/threads/fp_env.h"
#include "gemm/blas.h"
#include "gemm/gemm.h"
#include "gemm/low_precision/pairs.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_COUNT = 21, COLUMNS = 67, DEPTH = 210 };
enum { A_ELEMENTS = ROWS_COUNT * DEPTH, B_ELEMENTS = DEPTH * COLUMNS };

/* How a backend rounds its operands. */
typedef enum rounding { F32, BF16, INT8 } rounding;

static float largest_of(const float *x, size_t count, size_t stride)
{
    float largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmaxf(largest, fabsf(x[i * stride]));
    return largest;
}

/* The magnitudes of the terms of element (row, column). For int8 each factor counts as the largest
 * of its row or column. */
static long double terms_of(const float *a, const float *b, size_t row, size_t column, rounding how)
{
    long double terms = 0;
    float a_most = largest_of(a + row * DEPTH, DEPTH, 1);
    float b_most = largest_of(b + column, DEPTH, COLUMNS);
    for (size_t p = 0; p < DEPTH; p++) {
        long double left = fabsf(a[row * DEPTH + p]), right = fabsf(b[p * COLUMNS + column]);
        terms += how == INT8 ? left * b_most + right * a_most : left * right;
    }
    return terms;
}

static void run_gemm(numbers_errors *errors, const sv_kernels *k, const sv_gemm *gemm, rounding how)
{
    static float a[A_ELEMENTS], b[B_ELEMENTS], bias[COLUMNS], c[ROWS_COUNT * COLUMNS];
    numbers_fill(errors, a, A_ELEMENTS);
    numbers_fill(errors, b, B_ELEMENTS);
    numbers_fill(errors, bias, COLUMNS);
    void *packed = NULL;
    size_t bytes = gemm->packed_b_bytes(k, DEPTH, COLUMNS);
    if (posix_memalign(&packed, 64, bytes ? bytes : 64))
        abort();
    sv_gemm_b right = {b, DEPTH, COLUMNS, COLUMNS, 1, packed, 0};
    sv_gemm_a left = {a, DEPTH, 1, NULL};
    sv_gemm_c out = {c, COLUMNS, 0, bias, NULL};
    /* AMX may lose the lower parts of a value, which it adds as products of their own. */
    errors->floor = 6 * DEPTH * (double)FLT_MIN;
    NUMBERS_CALL(gemm->pack_b(k, &right);
                 gemm->matmul(k, &out, &left, &right, ROWS_COUNT, 0, COLUMNS));
    for (size_t i = 0; i < ROWS_COUNT * COLUMNS; i++) {
        size_t row = i / COLUMNS, column = i % COLUMNS;
        long double wanted = numbers_in(bias[column]);
        for (size_t p = 0; p < DEPTH; p++)
            wanted += numbers_in(a[row * DEPTH + p]) * numbers_in(b[p * COLUMNS + column]);
        numbers_see(errors, c[i], wanted,
                    fabsl(numbers_in(bias[column])) + terms_of(a, b, row, column, how), "c", i);
    }
    free(packed);
}

/* c[m, n] += a[k, m]^T b[k, n], with k tokens. */
static void run_weight_gradient(numbers_errors *errors, const sv_kernels *k)
{
    enum { TOKENS = 210, M = 21, N = 67 };
    static float a[TOKENS * M], b[TOKENS * N], c[M * N], before[M * N];
    numbers_fill(errors, a, TOKENS * M);
    numbers_fill(errors, b, TOKENS * N);
    numbers_fill(errors, before, M * N);
    memcpy(c, before, sizeof c);
    void *scratch = NULL;
    if (posix_memalign(&scratch, 64, SV_GEMM_SCRATCH))
        abort();
    errors->floor = 2 * TOKENS * (double)FLT_MIN;
    NUMBERS_CALL(
        sv_gemm_weight_gradient(&sv_gemm_tile, k, c, N, a, M, b, N, M, N, TOKENS, scratch));
    for (size_t i = 0; i < M * N; i++) {
        long double wanted = numbers_in(before[i]), terms = fabsl(wanted);
        for (size_t t = 0; t < TOKENS; t++) {
            long double term = numbers_in(a[t * M + i / N]) * numbers_in(b[t * N + i % N]);
            wanted += term;
            terms += fabsl(term);
        }
        numbers_see(errors, c[i], wanted, terms, "c", i);
    }
    free(scratch);
}

/* Defines the function of a row, run_NAME. */
#define GEMM(name, how)                                                                            \
    static void run_##name(numbers_errors *errors, const sv_kernels *k)                            \
    {                                                                                              \
        run_gemm(errors, k, &sv_gemm_##name, how);                                                 \
    }

GEMM(tile, F32)
#ifdef SV_HAVE_BLAS
static void run_cblas(numbers_errors *errors, const sv_kernels *k)
{
    if (sv_blas_load(NULL) == SVIT_OK)
        run_gemm(errors, k, &sv_gemm_cblas, F32);
}
#else
#define run_cblas NULL
#endif
#ifdef SV_LOW_PRECISION
GEMM(tile_bf16, BF16)
GEMM(tile_bf16_as_f32, BF16)
static void run_pairs_int8(numbers_errors *errors, const sv_kernels *k)
{
#define PAIRS(suffix, of)                                                                          \
    if (k->isa == (of))                                                                            \
        run_gemm(errors, k, &sv_gemm_pairs_int8_##suffix, INT8);
    SV_ISA_LIST(PAIRS)
}
#else
#define run_tile_bf16 NULL
#define run_tile_bf16_as_f32 NULL
#define run_pairs_int8 NULL
#endif
#ifdef SV_HAVE_AMX
GEMM(dot_bf16, BF16)
GEMM(amx, F32)
GEMM(amx_bf16, BF16)
GEMM(amx_int8, INT8)
#else
#define run_dot_bf16 NULL
#define run_amx NULL
#define run_amx_bf16 NULL
#define run_amx_int8 NULL
#endif
#ifdef SV_HAVE_VNNI
GEMM(vnni_int8, INT8)
#else
#define run_vnni_int8 NULL
#endif
#ifdef SV_HAVE_DOTPROD
GEMM(dotprod_int8, INT8)
#else
#define run_dotprod_int8 NULL
#endif
#ifdef SV_HAVE_I8MM
GEMM(i8mm_int8, INT8)
GEMM(neon_bf16, BF16)
#else
#define run_i8mm_int8 NULL
#define run_neon_bf16 NULL
#endif

#define ADDITIONS "210 additions, a product each, and the bias"
/* Rounding is off by 2^-8 of each operand, and an ulp is at least 2^-24 of the terms. */
#define ONE_BF16 (0x1p16 + DEPTH + 2)
#define TWO_BF16 (0x1p17 + 0x1p8 + DEPTH + 2)
/* An int8 value is off by 1 / 254 of the largest one. */
#define INT8_BOUND (0x1p24 / 254 + DEPTH + 2)

static const numbers_row ROWS[] = {
    {"matmul of tile", NUMBERS_ALL, NUMBERS_TERMS, DEPTH + 2, ADDITIONS, run_tile, 0, 0},
    {"weight gradient of tile", NUMBERS_ALL, NUMBERS_TERMS, DEPTH + 2, ADDITIONS,
     run_weight_gradient, 0, 0},
    {"matmul of tile-bf16", NUMBERS_ALL, NUMBERS_TERMS, ONE_BF16, "2^-8 of B, and the sum of tile",
     run_tile_bf16, 0, 0},
    {"matmul of tile-bf16 as f32", NUMBERS_ALL, NUMBERS_TERMS, ONE_BF16,
     "2^-8 of B, and the sum of tile", run_tile_bf16_as_f32, 0, 0},
    {"matmul of pairs-int8", NUMBERS_ALL, NUMBERS_TERMS, INT8_BOUND,
     "1 / 254 of the largest of A and of B", run_pairs_int8, 0, 0},
    {"matmul of cblas", NUMBERS_ALL, NUMBERS_TERMS, DEPTH + 2, ADDITIONS, run_cblas, 1, 0},
    {"matmul of dot-bf16", NUMBERS_ALL, NUMBERS_TERMS, TWO_BF16, "2^-8 of A and of B, and the sum",
     run_dot_bf16, 1, SV_ISA_AVX512_BF16},
    {"matmul of vnni-int8", NUMBERS_ALL, NUMBERS_TERMS, INT8_BOUND,
     "1 / 254 of the largest of A and of B", run_vnni_int8, 1, SV_ISA_AVX512_VNNI},
    {"matmul of amx", NUMBERS_ALL, NUMBERS_TERMS, 2 * DEPTH + 2,
     "six products for each of 210 terms, two of which are not small", run_amx, 1, SV_ISA_AMX},
    {"matmul of amx-bf16", NUMBERS_ALL, NUMBERS_TERMS, TWO_BF16, "2^-8 of A and of B, and the sum",
     run_amx_bf16, 1, SV_ISA_AMX},
    {"matmul of amx-int8", NUMBERS_ALL, NUMBERS_TERMS, INT8_BOUND,
     "1 / 254 of the largest of A and of B", run_amx_int8, 1, SV_ISA_AMX},
    {"matmul of dotprod-int8", NUMBERS_ALL, NUMBERS_TERMS, INT8_BOUND,
     "1 / 254 of the largest of A and of B", run_dotprod_int8, 1, SV_ISA_NEON_DOTPROD},
    {"matmul of i8mm-int8", NUMBERS_ALL, NUMBERS_TERMS, INT8_BOUND,
     "1 / 254 of the largest of A and of B", run_i8mm_int8, 1, SV_ISA_NEON_I8MM},
    {"matmul of neon-bf16", NUMBERS_ALL, NUMBERS_TERMS, TWO_BF16, "2^-8 of A and of B, and the sum",
     run_neon_bf16, 1, SV_ISA_NEON_I8MM},
};

NUMBERS_ROWS(numbers_matmuls, ROWS);
