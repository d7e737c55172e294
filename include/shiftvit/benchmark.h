/* Benchmarks: the speed of a matrix product as the layers of a model compute it. */
#ifndef SHIFTVIT_BENCHMARK_H
#define SHIFTVIT_BENCHMARK_H

#include <shiftvit/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which product of a linear layer y = x W^T is computed. All matrices are row-major. */
enum {
    SVIT_MATMUL_FORWARD = 0,        /* c[m, n] = a[m, k] b[n, k]^T: the output y */
    SVIT_MATMUL_INPUT_GRADIENT = 1, /* c[m, n] = a[m, k] b[k, n]: the gradient of x */
    SVIT_MATMUL_WEIGHT_GRADIENT = 2 /* c[m, n] += a[k, m]^T b[k, n]: the gradient of W */
};

/* The shape and the precision of a matrix product. A, B and C are float32 in memory.
 *
 * With `heads` 0 it is the product of a linear layer: it is split over all workers, and the weight
 * B is packed beforehand. Otherwise there are `heads` products of attention (images times heads):
 * each is computed by one worker, which packs B each time. */
typedef struct svit_matmul {
    uint32_t struct_size; /* sizeof(svit_matmul) */
    int32_t form;         /* SVIT_MATMUL_* */
    uint32_t m;           /* rows of C, 1..268435456 */
    uint32_t n;           /* columns of C, 1..268435456 */
    uint32_t k;           /* length of each dot product, 1..268435456 */
    uint32_t heads;       /* 0..268435456 */
    int32_t compute;      /* SVIT_COMPUTE_F32: the GEMM backend of the context;
                             SVIT_COMPUTE_BF16: as in a bfloat16 session */
} svit_matmul;

/* Fills `matmul` with SVIT_MATMUL_FORWARD of a linear layer in float32. The caller then sets m, n
 * and k, which are 0. `size` is sizeof(svit_matmul) as the caller was compiled. SVIT_E_ARGUMENT as
 * svit_context_config_init. Any thread may call it. */
SVIT_API svit_status svit_matmul_init(svit_matmul *matmul, size_t size);

/* Measures the speed of a matrix product of random values on all workers of the context. One
 * product runs as a warm-up. Then products run for `seconds` (0..3600; 0: one product), and *gflops
 * is the speed in 1e9 floating-point operations per second. A multiply-add counts as two
 * operations, and all heads count. The matrices come from the context's allocator and are released
 * before the function returns. Attention products are contiguous and cover a whole head here,
 * whereas the attention layer computes them in blocks of queries.
 *
 * *gflops is written only on success. SVIT_E_ARGUMENT names the field that is out of range;
 * SVIT_E_UNSUPPORTED: the build computes in SVIT_COMPUTE_F32 alone; SVIT_E_MEMORY means that the
 * matrices do not fit into memory. Any thread may call it, and concurrent calls on one context take
 * turns with its workers. */
SVIT_API svit_status svit_benchmark_matmul(svit_context *context, const svit_matmul *matmul,
                                           double seconds, double *gflops, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
