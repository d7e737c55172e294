/* The interface of the GEMM backends: matmuls with a packed B, and weight gradients. Every function
 * runs on the calling thread alone; layers split the work. Row-major matrices of `real`. */
#ifndef SV_GEMM_H
#define SV_GEMM_H

#include "base/size.h"
#include "base/status.h"
#include "kernels/kernels.h"

/* B, [k, n], which many matmuls share: element (p, j) at b[p * row_stride + j * column_stride]. One
 * of the two strides is 1. */
typedef struct sv_gemm_b {
    const real *b;
    size_t k, n, row_stride, column_stride;
    void *packed; /* packed B, written by pack_b; the caller's memory, packed_b_bytes() bytes */
    size_t split; /* columns of a group that is packed by itself, so that a matmul may start at any
                     group; a multiple of SV_GEMM_SPLIT_UNIT that divides n; 0: one group */
} sv_gemm_b;

/* A, [m, k]: element (i, p) at a[i * row_stride + p * column_stride]. One of the strides is 1:
 * column_stride, unless the backend is one of `activations`. */
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
    const sv_epilogue *epilogue; /* for the whole C; NULL: none */
} sv_gemm_c;

typedef struct sv_gemm {
    const char *name;

    /* Bytes of packed B for a [k, n] matrix; 0 if the backend reads B in place. */
    size_t (*packed_b_bytes)(const sv_kernels *kernels, size_t k, size_t n);
    /* Packs B into operand->packed. */
    void (*pack_b)(const sv_kernels *kernels, const sv_gemm_b *operand);

    /* c[m, n] = bias[n] + a[m, k] b[k, n] for columns first..first+count-1. With groups, `first`
     * and the end are multiples of b->split. Without, they are multiples of SV_GEMM_SPLIT_COLUMNS
     * that leave SV_GEMM_SPLIT_TAIL columns or more, unless n is a multiple too; the end may be n.
     */
    void (*matmul)(const sv_kernels *kernels, const sv_gemm_c *c, const sv_gemm_a *a,
                   const sv_gemm_b *b, size_t m, size_t first, size_t count);

    /* The backend of matmuls of two activations, where B is packed for one matmul only. */
    const struct sv_gemm *activations;

    /* Bytes of packed A for an [m, k] matrix; NULL if A is read in place. */
    size_t (*packed_a_bytes)(size_t m, size_t k);
    /* Packs A into `made`; NULL if A is read in place. */
    void (*pack_a)(const sv_gemm_a *a, size_t m, size_t k, void *made);

    bool adds_correction; /* adds the correction term of sv_epilogue.zeros, in float32 */
} sv_gemm;

/* Where a matmul may be split by columns: at whole micropanels of every instruction set, but not in
 * the last 144 columns, where the widths of the micropanels depend on n. */
enum { SV_GEMM_SPLIT_COLUMNS = 48, SV_GEMM_SPLIT_TAIL = 144, SV_GEMM_SPLIT_UNIT = 16 };

/* KC and NC of a weight gradient, so that its packed B (288 KiB) stays in L2; and the bytes of this
 * packed B, at most 6 per element. */
enum {
    SV_GEMM_KC = 192,
    SV_GEMM_NC = 384,
    SV_GEMM_SCRATCH = SV_GEMM_KC * SV_GEMM_NC * (sizeof(real) > 6 ? sizeof(real) : 6)
};

/* c[m,n] += a[k,m]^T b[k,n]: a weight gradient, k tokens, by the backend's `activations`. Leading
 * dimensions lda, ldb, ldc; `scratch` has SV_GEMM_SCRATCH bytes. */
void sv_gemm_weight_gradient(const sv_gemm *gemm, const sv_kernels *kernels, real *c, size_t ldc,
                             const real *a, size_t lda, const real *b, size_t ldb, size_t m,
                             size_t n, size_t k, void *scratch);

/* Columns of one group of B that is packed by itself. */
static inline size_t sv_gemm_split_columns(const sv_gemm_b *b)
{
    return b->split ? b->split : b->n;
}

/* packed_b_bytes of a backend that reads B in place: 0. And its pack_b, which does nothing. */
size_t sv_gemm_b_in_place_bytes(const sv_kernels *kernels, size_t k, size_t n);
void sv_gemm_b_in_place_pack(const sv_kernels *kernels, const sv_gemm_b *operand);

/* Sends c[row..row+rows-1, first..first+count-1], whose sums are complete, through its epilogue
 * where it has one. */
static inline void sv_gemm_apply_epilogue(const sv_kernels *kernels, const sv_gemm_c *c, size_t row,
                                          size_t rows, size_t first, size_t count)
{
    if (c->epilogue)
        kernels->apply_epilogue(c->c, c->ldc, c->epilogue, row, rows, first, count);
}

/* For a backend that knows no bias: writes it to `count` columns of c[m, n] from number `first`,
 * where there is one. Whether the product is to be added to what c then holds. */
int sv_gemm_write_bias(const sv_gemm_c *c, size_t m, size_t first, size_t count);

extern const sv_gemm sv_gemm_tile;
extern const sv_gemm sv_gemm_cblas;
#ifndef SV_DOUBLE
extern const sv_gemm sv_gemm_tile_bf16;    /* right-hand sides in bfloat16, for a few images */
extern const sv_gemm sv_gemm_tile_rounded; /* the same bits, sooner where they are used often */
extern const sv_gemm sv_gemm_tile_int8;    /* in bytes, for inference */
#endif
#if defined(SV_HAVE_AMX) && !defined(SV_DOUBLE)
extern const sv_gemm sv_gemm_dot_bf16;         /* bfloat16 on the vector units */
extern const sv_gemm sv_gemm_amx;              /* float32 of three parts, on AMX */
extern const sv_gemm sv_gemm_amx_bf16;         /* bfloat16 */
extern const sv_gemm sv_gemm_amx_int8;         /* bytes on both sides, for inference */
extern const sv_gemm sv_gemm_amx_int8_small_m; /* of a few images */
#endif
#if defined(SV_HAVE_VNNI) && !defined(SV_DOUBLE)
extern const sv_gemm sv_gemm_vnni_int8; /* the same on the vector units, the same bits */
#endif

/* The backends of float32 that a caller names, NULL: the best for the CPU; `few` is for few rows.
 * SVIT_E_ARGUMENT: the name is unknown; SVIT_E_UNSUPPORTED: this build, this CPU or this system
 * does not run it. */
svit_status sv_gemm_find(const sv_gemm **many, const sv_gemm **few, const char *name, sv_isa isa,
                         svit_error *err);

/* The names of the backends of float32 that run here, by number; NULL past the end. */
const char *sv_gemm_name(size_t index, sv_isa isa);

#ifndef SV_DOUBLE
/* The backends in bfloat16, and in int8 to infer; `few`: of a session that infers few images. */
const sv_gemm *sv_gemm_bf16(sv_isa isa, int few);
const sv_gemm *sv_gemm_int8(sv_isa isa, int few);
#endif

/* What the CBLAS says of itself, and the core it runs as; "" where it does not tell. */
const char *sv_blas_description(void);
const char *sv_blas_core(void);

/* Makes the process's CBLAS single-threaded; called where a context chooses it. */
void sv_blas_use_one_thread(void);

#endif
