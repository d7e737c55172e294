/* The operands of the microkernels, and the loop over rows that calls the microkernels. */
#ifndef SV_TILE_ROWS_IMPL_H
#define SV_TILE_ROWS_IMPL_H

#include "gemm/small_m.h"
#include "gemm/tile/tile_panel_impl.h"

/* Steps of k in the microkernel's inner loop. WebAssembly's compilers do not know how many vector
 * registers there are: of several steps they load all that is read first, and spill it. */
#if defined(__wasm__)
enum { UNROLL = 1 };
#else
enum { UNROLL = 3 };
#endif

enum {
    PREFETCH_STREAMS =
        UNROLL,        /* of an interleaved prefetch, for each vector of a micropanel's width: one
                                  for each unrolled step of k */
    LINE = 64,         /* bytes of a cache line */
    B_IN_CACHE = 65536 /* bytes of packed B that need no prefetch */
};

/* What a microkernel prefetches while it computes. */
typedef enum tile_prefetch {
    PREFETCH_NOTHING,
    PREFETCH_A,           /* the next columns of A, which lie far apart */
    PREFETCH_SEQUENTIAL,  /* the same micropanel, PREFETCH_B_AHEAD bytes ahead, into L2 */
    PREFETCH_INTERLEAVED, /* what follows the K block, in several streams: several pages
                             are read faster at once than one after another */
} tile_prefetch;

/* `count` steps of k from number `first` on. */
typedef struct tile_range {
    size_t first, count;
} tile_range;

/* The operands of c[m, NR] = bias + (or c +) a[m, k] b[k, NR] + residual for one micropanel of B
 * and one K block. */
typedef struct tile_operands {
    const real *a; /* element (i, p) at a[i * row_stride + p * column_stride] */
    size_t row_stride, column_stride;
    const char *panel;        /* the K block of the micropanel, without scales */
    const tile_range *ranges; /* of k; the elements of A outside them are zeros */
    size_t range_count;
    const real *bias;           /* [NR]; NULL: 0 */
    const real *residual;       /* row stride ldc; NULL: none */
    const real *scales;         /* int8: [NR], one for each column of B */
    const int32_t *zero_points; /* int8x4: [NR], subtracted from the integer sums */
    const real *row_scales;     /* int8: [m] */
    bool c_not_in_cache;        /* C's lines are prefetched before the sums are computed */
    tile_prefetch prefetch;
    const char *next;     /* PREFETCH_INTERLEAVED: the end of the K block in the micropanel */
    size_t stream_stride; /* PREFETCH_INTERLEAVED: bytes from one stream to the next */
} tile_operands;

/* What a microkernel does with the elements of C. A matmul in K blocks has the bits of one K block
 * if all but the first continue. Sums that need a scale or another order at the end cannot, and are
 * added instead. */
typedef enum tile_before {
    TILE_REPLACE, /* bias + the sum */
    TILE_ADD,     /* C + the sum */
    TILE_CONTINUE /* the sum starts at C */
} tile_before;

/* c[MR, width] = bias + (or c +) a[MR, k] b[k, width] + residual, with width <= NR. */
typedef void tile_microkernel(real *c, size_t ldc, const tile_operands *operands, size_t width,
                              tile_before before);

/* The microkernels of one NR: `full` for MR rows, `half` for MR / 2, `pair` for two, `single` for
 * one. If M is small, `small_m`, for small_m_mr rows, replaces `full`. */
typedef struct tile_microkernels {
    size_t mr, small_m_mr;
    tile_microkernel *full, *small_m;
    tile_microkernel *half; /* NULL: none */
    tile_microkernel *pair; /* NULL: none */
    tile_microkernel *single;
} tile_microkernels;

/* Advances the operands by some rows. The micropanel has been prefetched while the first rows were
 * computed, so the next rows prefetch only A. */
SV_INLINE void advance_rows(tile_operands *operands, size_t rows, size_t ldc)
{
    operands->a += rows * operands->row_stride;
    if (operands->residual)
        operands->residual += rows * ldc;
    if (operands->row_scales)
        operands->row_scales += rows;
    if (operands->prefetch != PREFETCH_A)
        operands->prefetch = PREFETCH_NOTHING;
}

/* c[m, width] = bias + (or c +) a[m, k] b[k, width] + residual for one micropanel of B. */
static inline void multiply_rows(const tile_microkernels *kernels, bool small_m, real *c,
                                 size_t ldc, const tile_operands *operands, size_t m, size_t width,
                                 tile_before before)
{
    tile_operands rest = *operands;
    tile_microkernel *const full = small_m ? kernels->small_m : kernels->full;
    const size_t mr = small_m ? kernels->small_m_mr : kernels->mr, half = kernels->mr / 2;
    for (; m >= mr; m -= mr, c += mr * ldc, advance_rows(&rest, mr, ldc))
        full(c, ldc, &rest, width, before);
    for (; kernels->half && m >= half; m -= half, c += half * ldc, advance_rows(&rest, half, ldc))
        kernels->half(c, ldc, &rest, width, before);
    for (; kernels->pair && m >= 2; m -= 2, c += 2 * ldc, advance_rows(&rest, 2, ldc))
        kernels->pair(c, ldc, &rest, width, before);
    for (; m > 0; m--, c += ldc, advance_rows(&rest, 1, ldc))
        kernels->single(c, ldc, &rest, width, before);
}

/* Whether an epilogue is NULL or nothing but a residual, which is added while the sums are in
 * registers. */
SV_INLINE bool is_residual_only(const sv_epilogue *e)
{
    return !e ||
           !(e->gelu || e->pre_gelu || e->save_pre_gelu || e->dropout.mask || e->drop_path_scale);
}

/* Whether packed B of so many bytes is prefetched sequentially. A single row does little but read,
 * so the hardware prefetcher is early enough. `interleaved`: the CPU prefers interleaved prefetch.
 */
SV_INLINE bool prefetches_sequentially(size_t m, size_t bytes, bool interleaved)
{
    return !interleaved && m > 1 && bytes > B_IN_CACHE;
}

#endif
