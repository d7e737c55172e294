/* All GEMM backends on all instruction sets that they run on, and matrices for tests of them. */
#ifndef TEST_BACKENDS_H
#define TEST_BACKENDS_H

#include "isa.h"
#include "suite.h"

#include "gemm/blas.h"
#include "gemm/gemm.h"
#include "gemm/low_precision/pairs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A backend on an instruction set. Errors are relative to the sum of the terms' magnitudes.
 * `a_error` and `b_error` are the relative errors that rounding the elements of A and of B causes;
 * 0: the backend does not round them. */
typedef struct subject {
    const sv_gemm *gemm;
    sv_isa isa; /* of the kernels, or the one that the backend needs */
    double a_error, b_error;
} subject;

#define BYTE (0.5 / 127)

/* The tile backend is compiled for every instruction set of SV_ISA_LIST. */
#define TILE(suffix, isa) {&sv_gemm_tile, isa, 0, 0},
#define TILE_BF16(suffix, isa) {&sv_gemm_tile_bf16, isa, 0, 0x1p-8},
#define TILE_BF16_AS_F32(suffix, isa) {&sv_gemm_tile_bf16_as_f32, isa, 0, 0x1p-8},
#define PAIRS_INT8(suffix, isa) {&sv_gemm_pairs_int8_##suffix, isa, BYTE, BYTE},

/* clang-format off */
static const subject SUBJECTS[] = {
#ifdef SV_HAVE_BLAS
    {&sv_gemm_cblas, SV_ISA_BASELINE, 0, 0},
#endif
    SV_ISA_LIST(TILE)
#ifndef SV_DOUBLE
    SV_ISA_LIST(TILE_BF16)
    SV_ISA_LIST(TILE_BF16_AS_F32)
    SV_ISA_LIST(PAIRS_INT8)
#ifdef SV_HAVE_AMX
    {&sv_gemm_dot_bf16, SV_ISA_AVX512_BF16, 0x1p-8, 0x1p-8},
    {&sv_gemm_amx, SV_ISA_AMX, 0, 0},
    {&sv_gemm_amx_bf16, SV_ISA_AMX, 0x1p-8, 0x1p-8},
    {&sv_gemm_amx_int8, SV_ISA_AMX, BYTE, BYTE},
#endif
#ifdef SV_HAVE_VNNI
    {&sv_gemm_vnni_int8, SV_ISA_AVX512_VNNI, BYTE, BYTE},
#endif
#ifdef SV_HAVE_DOTPROD
    {&sv_gemm_dotprod_int8, SV_ISA_NEON_DOTPROD, BYTE, BYTE},
#endif
#ifdef SV_HAVE_I8MM
    {&sv_gemm_i8mm_int8, SV_ISA_NEON_I8MM, BYTE, BYTE},
    {&sv_gemm_neon_bf16, SV_ISA_NEON_I8MM, 0x1p-8, 0x1p-8},
#endif
#endif
};
/* clang-format on */
enum { SUBJECT_COUNT = sizeof SUBJECTS / sizeof *SUBJECTS };

static inline const sv_kernels *kernels_of(const subject *of)
{
#ifdef SV_HAVE_BLAS
    if (strcmp(of->gemm->name, "cblas") == 0)
        ck_assert_int_eq(sv_blas_load(NULL), SVIT_OK);
#endif
    if (sv_cpu_has(of->isa) && (of->isa != SV_ISA_AMX || sv_cpu_request_amx()))
        return sv_kernels_for(of->isa);
    skip_check(sv_isa_name(of->isa));
    return NULL;
}

/* Defines the backend of a loop test's iteration and its kernels; ends the test if the CPU lacks
 * them. */
#define SUBJECT(name, k)                                                                           \
    const subject *name = &SUBJECTS[_i];                                                           \
    const sv_kernels *k = kernels_of(name);                                                        \
    if (!k)                                                                                        \
    return

enum { MARGIN = 5 };

/* A matrix [rows, columns], row-major or column-major, with MARGIN unused elements after each row
 * or column. */
typedef struct matrix {
    real *x;
    size_t row, column, elements;
} matrix;

static inline matrix make(size_t rows, size_t columns, bool turned, uint32_t seed)
{
    matrix made = {.row = turned ? 1 : columns + MARGIN, .column = turned ? rows + MARGIN : 1};
    made.elements = turned ? columns * made.column : rows * made.row;
    made.x = malloc(made.elements * sizeof *made.x);
    for (size_t i = 0; i < made.elements; i++) {
        seed = seed * 1664525u + 1013904223u;
        made.x[i] = (real)(seed >> 8) / (1 << 23) - 1;
    }
    return made;
}

static inline real at(const matrix *of, size_t row, size_t column)
{
    return of->x[row * of->row + column * of->column];
}

static inline void *packed_memory(const subject *of, const sv_kernels *k, size_t depth, size_t n)
{
    void *memory = NULL;
    size_t bytes = of->gemm->packed_b_bytes(k, depth, n);
    ck_assert_int_eq(posix_memalign(&memory, 64, bytes ? bytes : 64), 0);
    memset(memory, 0x55, bytes);
    return memory;
}

/* Only a backend of activations takes a column-major A. */
static inline bool takes_column_major(const sv_gemm *gemm)
{
    return gemm->activations == gemm;
}

#endif
