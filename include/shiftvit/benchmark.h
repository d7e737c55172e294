/* The speed of matrix products as the layers compute them, by shape and backend. */
#ifndef SHIFTVIT_BENCHMARK_H
#define SHIFTVIT_BENCHMARK_H

#include <shiftvit/context.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SVIT_MATMUL_FORWARD = 0,        /* c[m, n] = a[m, k] b[n, k]^T */
    SVIT_MATMUL_INPUT_GRADIENT = 1, /* c[m, n] = a[m, k] b[k, n] */
    SVIT_MATMUL_WEIGHT_GRADIENT = 2 /* c[m, n] += a[k, m]^T b[k, n] */
};

/* A matrix product; its operands are float32. */
typedef struct svit_matmul {
    uint32_t struct_size; /* sizeof(svit_matmul) */
    int32_t form;         /* SVIT_MATMUL_* */
    uint32_t m;           /* each 1..268435456 */
    uint32_t n;
    uint32_t k;
    uint32_t heads;  /* 0: one product of a linear layer. The first two forms are cut over the
                        workers by rows, of a large b by columns too, and b, a weight, is made ready
                        beforehand; the third is cut by c, and no sum is split.
                        1..268435456: so many products of attention (images times heads), each on
                        one worker, which makes b ready each time, in cache where it fits */
    int32_t compute; /* SVIT_COMPUTE_F32: by the context's backend of products (its `gemm`);
                        SVIT_COMPUTE_BF16: as a session that computes in bfloat16 */
} svit_matmul;

/* Fills `product`: SVIT_MATMUL_FORWARD of a linear layer, in float32; m, n and k are 0, to be
 * set. `size` as in svit_context_config_init. */
SVIT_API svit_status svit_matmul_init(svit_matmul *product, size_t size);

/* Computes `product` over drawn numbers on all workers of the context: once unmeasured, then over
 * and over for `seconds`, 0 to 3600 (0: once), whole products only. *gflops is their speed in 1e9
 * floating-point operations a second, a multiply-add as 2, all heads counted. Memory for the
 * numbers comes from the context's allocator and is given back before the return. Products of
 * attention are contiguous here and a whole head at a time, whereas attention itself takes them in
 * blocks of queries. SVIT_E_ARGUMENT names the field that is out of
 * range; SVIT_E_MEMORY: the product does not fit. *gflops is written only on success. Any thread;
 * calls into one context take turns with the workers. */
SVIT_API svit_status svit_benchmark_matmul(svit_context *context, const svit_matmul *product,
                                           double seconds, double *gflops, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
