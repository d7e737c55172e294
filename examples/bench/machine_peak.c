/* Measures the peak float32 arithmetic of this machine, to which all other figures are compared. */
#include "machine_peak.h"

#include "throughput.h"

#include <dlfcn.h>
#include <math.h>

enum { FMA_ROUNDS = 100000, GEMM_SIZE = 768 };

/* clang-format off */
#define FOR12(X) X(x0) X(x1) X(x2) X(x3) X(x4) X(x5) X(x6) X(x7) X(x8) X(x9) X(x10) X(x11)
#define START(x) vector x = m; m += 1;
#define STEP(x) x = x * d + e;
#define COLLECT(x) e += x;

/* Runs twelve independent chains x = x * d + e, more than the CPU has in flight, and returns the
 * number of operations. Each chain is a variable, because an array would be kept in memory, and has
 * its own value, because the compiler would compute equal chains only once. */
#define FMA_LOOP(name, attribute, lanes)                              \
    attribute static double name(float *sink)                         \
    {                                                                 \
        typedef float vector __attribute__((vector_size(4 * lanes))); \
        vector m = {0};                                               \
        vector d = m + 0.999f;                                        \
        vector e = m + *sink;                                         \
        FOR12(START)                                                  \
        for (int round = 0; round < FMA_ROUNDS; round++) {            \
            FOR12(STEP)                                               \
        }                                                             \
        FOR12(COLLECT)                                                \
        *sink = e[0];                                                 \
        return 2.0 * lanes * 12 * FMA_ROUNDS;                         \
    }
/* clang-format on */

#ifdef __x86_64__
FMA_LOOP(fma_avx512, __attribute__((target("avx512f"))), 16)
FMA_LOOP(fma_avx2, __attribute__((target("avx2,fma"))), 8)
#endif
FMA_LOOP(fma_baseline, , 4)
#ifdef __aarch64__
#define BASELINE "neon"
#else
#define BASELINE "baseline"
#endif

typedef struct vectors {
    const char *name;
    double (*fma)(float *sink);
} vectors;

/* Lists the vector instruction sets of this CPU, the widest first, and returns their number. */
static size_t find_vectors(vectors found[PEAK_VECTORS])
{
    size_t count = 0;
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        found[count++] = (vectors){"avx512f", fma_avx512};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found[count++] = (vectors){"avx2", fma_avx2};
#endif
    found[count++] = (vectors){BASELINE, fma_baseline};
    return count;
}

const char *machine_peak_vectors(size_t index)
{
    vectors found[PEAK_VECTORS];
    return index < find_vectors(found) ? found[index].name : NULL;
}

static double work_fma(throughput_worker *self)
{
    const vectors *chosen = self->kind->input;
    volatile float keep;
    float sink = self->next++ > 0 ? 0.001f : 0.002f;
    double done = chosen->fma(&sink);
    keep = sink;
    (void)keep;
    return done;
}

double machine_peak_fma(size_t index, uint32_t threads)
{
    vectors found[PEAK_VECTORS];
    if (index >= find_vectors(found))
        return 0;
    throughput_kernel kind = {.work = work_fma, .input = &found[index]};
    return 1e-9 * throughput_best(&kind, threads);
}

/* cblas_sgemm, and what cblas.h calls CblasRowMajor and CblasNoTrans. */
typedef void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                      const float *a, int lda, const float *b, int ldb, float beta, float *c,
                      int ldc);
enum { ROW_MAJOR = 101, NO_TRANS = 111 };

/* The function of the BLAS that the library was built for; NULL: there is none. */
static sgemm find_sgemm(void)
{
    sgemm found = NULL;
#ifdef SV_BLAS_SONAME
    void *library = dlopen(SV_BLAS_SONAME, RTLD_NOW | RTLD_GLOBAL);
    if (library)
        *(void **)&found = dlsym(library, "cblas_sgemm");
#endif
    return found;
}

static double work_gemm(throughput_worker *self)
{
    const int n = GEMM_SIZE;
    const sgemm *gemm = self->kind->input;
    float *a = self->array;
    float *b = a + n * n;
    float *c = b + n * n;
    (*gemm)(ROW_MAJOR, NO_TRANS, NO_TRANS, n, n, n, 1, a, n, b, n, 0, c, n);
    return 2.0 * n * n * n;
}

/* Sets the number of the BLAS's threads if the BLAS has such a call. Returns the previous number,
 * or 0 if it is unknown. */
static int set_blas_threads(int threads)
{
    int (*get)(void) = NULL;
    void (*set)(int) = NULL;
    *(void **)&get = dlsym(RTLD_DEFAULT, "openblas_get_num_threads");
    *(void **)&set = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
    int before = get ? get() : 0;
    if (set)
        set(threads);
    return before;
}

double machine_peak_blas(uint32_t threads)
{
    const sgemm gemm = find_sgemm();
    throughput_kernel kind = {
        .work = work_gemm, .input = &gemm, .floats = (size_t)3 * GEMM_SIZE * GEMM_SIZE};
    if (!gemm)
        return NAN;
    int before = set_blas_threads(1);
    double peak = 1e-9 * throughput_best(&kind, threads);
    if (before > 0)
        set_blas_threads(before);
    return peak;
}
