/* The interface of the GEMM backends: matmuls with a packed B, and weight gradients. Every function
 * runs on the calling thread alone; layers split the work. Matrices are of `real`, C is row-major,
 * and strides and leading dimensions are in elements. */
#ifndef SV_GEMM_H
#define SV_GEMM_H

#include "base/size.h"
#include "base/status.h"
#include "kernels/kernels.h"

/* B, [k, n]: element (p, j) at b[p * row_stride + j * column_stride]. One of the strides is 1. */
typedef struct sv_gemm_b {
    const real *b;
    size_t k, n, row_stride, column_stride;
    void *packed; /* packed B, written by pack_b; the caller's memory, packed_b_bytes() bytes */
    size_t split; /* columns of a group that is packed by itself, so that a matmul may start at any
                     group; a multiple of SV_GEMM_SPLIT_MULTIPLE that divides n; 0: one group */
} sv_gemm_b;

/* A, [m, k]: element (i, p) at a[i * row_stride + p * column_stride]. One of the strides is 1:
 * column_stride, unless the backend is the `activations` of some backend. */
typedef struct sv_gemm_a {
    const real *a;
    size_t row_stride, column_stride;
    void *packed; /* packed A, written by pack_a for several matmuls; NULL: not packed */
} sv_gemm_a;

/* C, [m, n]: c[i, j] = bias[j] + the sum, or c[i, j] += the sum; then the epilogue is applied. */
typedef struct sv_gemm_c {
    real *c;
    size_t ldc;
    int accumulate;              /* 1: += */
    const real *bias;            /* [n]; NULL: 0; unused with `accumulate` */
    const sv_epilogue *epilogue; /* its arrays begin at element (0, 0) of C; NULL: none */
} sv_gemm_c;

typedef struct sv_gemm {
    const char *name;
    size_t side_max; /* most rows and columns of a matrix; 0: any number */

    /* Bytes of packed B for a [k, n] matrix; 0 if the backend reads B in place. */
    size_t (*packed_b_bytes)(const sv_kernels *kernels, size_t k, size_t n);
    /* Packs b->b into b->packed. */
    void (*pack_b)(const sv_kernels *kernels, const sv_gemm_b *b);

    /* c[m, n] = bias[n] + a[m, k] b[k, n] for columns first..first+count-1. With groups, `first`
     * and the end are multiples of b->split. Without, they are multiples of SV_GEMM_SPLIT_COLUMNS
     * with at least SV_GEMM_SPLIT_TAIL columns behind them, or with any number if n is a multiple
     * too; and the end may be n. */
    void (*matmul)(const sv_kernels *kernels, const sv_gemm_c *c, const sv_gemm_a *a,
                   const sv_gemm_b *b, size_t m, size_t first, size_t count);

    /* The backend of matmuls of two activations, where B is packed for one matmul only. */
    const struct sv_gemm *activations;

    /* Bytes of packed A for an [m, k] matrix; NULL if a caller cannot pack A. */
    size_t (*packed_a_bytes)(size_t m, size_t k);
    /* Packs A into `packed`; NULL if a caller cannot pack A. */
    void (*pack_a)(const sv_gemm_a *a, size_t m, size_t k, void *packed);

    bool adds_correction; /* adds the correction term of sv_epilogue.zeros, in float32 */
} sv_gemm;

/* Where a matmul may be split by columns: at multiples of SV_GEMM_SPLIT_COLUMNS, where micropanels
 * of every instruction set start, but not in the last SV_GEMM_SPLIT_TAIL columns, where the widths
 * of the micropanels depend on n. The columns of a group (sv_gemm_b.split) are a multiple of
 * SV_GEMM_SPLIT_MULTIPLE. */
enum { SV_GEMM_SPLIT_COLUMNS = 48, SV_GEMM_SPLIT_TAIL = 144, SV_GEMM_SPLIT_MULTIPLE = 16 };

/* KC and NC of a weight gradient, so that its packed B (288 KiB in float32) stays in L2; and the
 * bytes of this packed B, at most 6 per element (three terms of bfloat16). */
enum {
    SV_GEMM_KC = 192,
    SV_GEMM_NC = 384,
    SV_GEMM_SCRATCH = SV_GEMM_KC * SV_GEMM_NC * (sizeof(real) > 6 ? sizeof(real) : 6)
};

/* c[m, n] += a[k, m]^T b[k, n]: a weight gradient over k tokens, by the backend's `activations`.
 * The leading dimensions are lda, ldb and ldc; `scratch` has SV_GEMM_SCRATCH bytes. */
void sv_gemm_weight_gradient(const sv_gemm *gemm, const sv_kernels *kernels, real *c, size_t ldc,
                             const real *a, size_t lda, const real *b, size_t ldb, size_t m,
                             size_t n, size_t k, void *scratch);

/* Columns of a group that is packed by itself; n if B is one group. */
static inline size_t sv_gemm_split_columns(const sv_gemm_b *b)
{
    return b->split ? b->split : b->n;
}

/* packed_b_bytes of a backend that reads B in place: 0. */
size_t sv_gemm_b_in_place_bytes(const sv_kernels *kernels, size_t k, size_t n);

/* packed_b_bytes of a backend; SIZE_MAX if that might not fit a size. Panels are padded to 64 rows
 * and columns at most, and a packed element has up to 8 bytes. */
static inline size_t sv_gemm_packed_b_bytes(const sv_gemm *gemm, const sv_kernels *kernels,
                                            size_t k, size_t n)
{
    const size_t padded = sv_size_times(sv_size_plus(k, 64), sv_size_plus(n, 64));
    if (gemm->packed_b_bytes == sv_gemm_b_in_place_bytes)
        return 0;
    return sv_size_times(padded, 8) == SIZE_MAX ? SIZE_MAX : gemm->packed_b_bytes(kernels, k, n);
}

/* pack_b of a backend that reads B in place: does nothing. */
void sv_gemm_b_in_place_pack(const sv_kernels *kernels, const sv_gemm_b *b);

/* Applies the epilogue, if there is one, to rows row..row+rows-1 and columns first..first+count-1
 * of C, whose sums are complete. */
static inline void sv_gemm_apply_epilogue(const sv_kernels *kernels, const sv_gemm_c *c, size_t row,
                                          size_t rows, size_t first, size_t count)
{
    if (c->epilogue)
        kernels->apply_epilogue(c->c, c->ldc, c->epilogue, row, rows, first, count);
}

/* Writes the bias to columns first..first+count-1 of c[m, n], for a backend that cannot add one.
 * Returns 1 if the backend then has to add the matmul to C, and 0 if it has to overwrite C, since
 * there is neither a bias nor `accumulate`. */
int sv_gemm_write_bias(const sv_gemm_c *c, size_t m, size_t first, size_t count);

/* The backends. A and C are in float32 for all of them. The comments name the type of packed B, and
 * that of A if the backend converts A too. */
extern const sv_gemm sv_gemm_tile;  /* float32; microkernels for every instruction set */
extern const sv_gemm sv_gemm_cblas; /* float32; the CBLAS of the process (blas.h), B in place */
#ifdef SV_LOW_PRECISION
extern const sv_gemm sv_gemm_tile_bf16;        /* bfloat16 weights, for a small M */
extern const sv_gemm sv_gemm_tile_bf16_as_f32; /* the same bits stored as float32, for a large M */
#endif
#if defined(SV_HAVE_AMX) && !defined(SV_DOUBLE)
extern const sv_gemm sv_gemm_dot_bf16; /* bfloat16 A and B; AVX-512 dot products */
extern const sv_gemm sv_gemm_amx;      /* float32, as three bfloat16 terms; AMX */
extern const sv_gemm sv_gemm_amx_bf16; /* bfloat16 A and B; AMX */
extern const sv_gemm sv_gemm_amx_int8; /* int8 A and B, for inference; AMX */
#endif
#if defined(SV_HAVE_VNNI) && !defined(SV_DOUBLE)
extern const sv_gemm sv_gemm_vnni_int8; /* int8 A and B, for inference; AVX-512 dot products */
#endif
#if defined(SV_HAVE_DOTPROD) && !defined(SV_DOUBLE)
extern const sv_gemm sv_gemm_dotprod_int8; /* int8 A and B, for inference; dot products of Arm */
#endif
#if defined(SV_HAVE_I8MM) && !defined(SV_DOUBLE)
extern const sv_gemm sv_gemm_i8mm_int8; /* int8 A and B, for inference; matrix products of Arm */
extern const sv_gemm sv_gemm_neon_bf16; /* bfloat16 A and B; matrix products of Arm */
#endif

/* Finds the float32 backend of this name, and the one to use with a small M. With `name` NULL they
 * are the best for the CPU. SVIT_E_ARGUMENT: the name is unknown; SVIT_E_UNSUPPORTED: this build,
 * this CPU or this operating system cannot run it. */
svit_status sv_gemm_find(const sv_gemm **gemm, const sv_gemm **small_m_gemm, const char *name,
                         sv_isa isa, svit_error *err);

/* The name of the index-th float32 backend that runs on this CPU; NULL past the last. */
const char *sv_gemm_name(size_t index, sv_isa isa);

#ifdef SV_LOW_PRECISION
/* The best bfloat16 backend for the CPU; `small_m`: for a session that infers few images. */
const sv_gemm *sv_gemm_bf16(sv_isa isa, int small_m);

/* The best int8 backend for the CPU, for inference. All have the same bits. Their matmuls of two
 * activations are those of sv_gemm_tile. */
const sv_gemm *sv_gemm_int8(sv_isa isa);
#endif

#endif
