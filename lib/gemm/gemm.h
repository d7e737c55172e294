/* Products with a weight, and weight gradients, by one of several backends. All run on the calling
 * thread alone: the work is split by the layers. */
#ifndef SV_GEMM_H
#define SV_GEMM_H

#include "base/size.h"
#include "base/status.h"
#include "kernels/kernels.h"

/* A right-hand side b[k,n] that many products share: element (p, j) at b[p * row + j * column], one
 * of row and column being 1. */
typedef struct sv_gemm_b {
    const real *b;
    size_t k, n, row_stride, column_stride;
    void *packed; /* what the backend made of b; unused where it needs nothing */
    size_t split; /* products may be cut between groups of so many columns; a multiple of
                     SV_GEMM_SPLIT_UNIT that divides n; 0: none */
} sv_gemm_b;

/* A left-hand side: element (i, p) at a[i * row + p * column], one of row and column being 1. */
typedef struct sv_gemm_a {
    const real *a;
    size_t row_stride, column_stride;
    void *packed; /* what the backend made of it, for several products; NULL: nothing */
} sv_gemm_a;

/* Where a product goes: c[i, j] = bias[j] + it, or += it; and then through the epilogue. */
typedef struct sv_gemm_c {
    real *c;
    size_t ldc;
    int accumulate;
    const real *bias;            /* [n], NULL: none; only where not accumulate */
    const sv_epilogue *epilogue; /* NULL: none; of the whole c */
} sv_gemm_c;

typedef struct sv_gemm {
    const char *name;

    /* Bytes that `packed` needs; 0: b is read in place. */
    size_t (*packed_b_bytes)(const sv_kernels *kernels, size_t k, size_t n);
    void (*pack_b)(const sv_kernels *kernels, const sv_gemm_b *operand);

    /* c[m, first..first+count-1] of a[m,k] b[k, the same columns], and of the bias, whose element 0
     * belongs to column 0 of c. first is a multiple of b's group or, where it has none, of
     * SV_GEMM_SPLIT_COLUMNS, and then leaves at least SV_GEMM_SPLIT_TAIL columns unless n is a
     * multiple too; and so is the part's end where it is not n. */
    void (*matmul)(const sv_kernels *kernels, const sv_gemm_c *c, const sv_gemm_a *a,
                   const sv_gemm_b *b, size_t m, size_t first, size_t count);

    /* The backend for products of two matrices that both are made anew for each. */
    const struct sv_gemm *activations;

    /* Bytes of what `multiply` makes of a left-hand side [m, k], and the making of it beforehand;
     * both NULL where it takes it as it is. */
    size_t (*packed_a_bytes)(size_t m, size_t k);
    void (*pack_a)(const sv_gemm_a *a, size_t m, size_t k, void *made);

    bool fills; /* what sv_epilogue.zeros stand for, and keeps numbers as they are, as that does */
} sv_gemm;

/* Where a product may be cut into columns: whole panels of every instruction set, and not within
 * the last few, whose widths depend on how many are left. */
enum { SV_GEMM_SPLIT_COLUMNS = 48, SV_GEMM_SPLIT_TAIL = 144, SV_GEMM_SPLIT_UNIT = 16 };

/* Of the right-hand side of a weight gradient, so much is packed at once that it stays in the
 * L2; and the bytes that it takes, at most six for a number. */
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

/* Columns of b that are cut without regard to the others. */
static inline size_t sv_gemm_split_columns(const sv_gemm_b *b)
{
    return b->split ? b->split : b->n;
}

/* packed_b_bytes and pack of a backend that reads b in place. */
size_t sv_gemm_b_in_place_bytes(const sv_kernels *kernels, size_t k, size_t n);
void sv_gemm_b_in_place_pack(const sv_kernels *kernels, const sv_gemm_b *operand);

/* Sends c[row..row+rows-1, first..first+count-1], whose sums are complete, through its epilogue
 * where it has one. */
static inline void sv_gemm_apply_epilogue(const sv_kernels *kernels, const sv_gemm_c *c, size_t row,
                                          size_t rows, size_t first, size_t count)
{
    if (c->epilogue)
        kernels->finish(c->c, c->ldc, c->epilogue, row, rows, first, count);
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
