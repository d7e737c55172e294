/* oneDNN as a provider: the one file that includes its headers. A build without it has the
 * questions about it, and answers them with nothing. */
#include "kernels/gemm.h"

#if defined(SV_HAVE_ONEDNN) && !defined(SV_DOUBLE)

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <stdio.h>
#include <string.h>

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP

/* Of the OpenMP that oneDNN brings with it; weak, because this library is not built with one. */
#define WEAK __attribute__((weak))
extern int omp_get_max_threads(void) WEAK;
extern void omp_set_num_threads(int threads) WEAK;

bool sv_onednn_keeps_to_one_thread(void)
{
    return omp_get_max_threads && omp_set_num_threads;
}

/* The layers split the work. OpenMP's number is the calling thread's own, so that the program's
 * other threads keep theirs, and the calling one has it back after each product. */
static int hold_threads(void)
{
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    return threads;
}

static void release_threads(int threads)
{
    omp_set_num_threads(threads);
}

#else /* built without threads, or with those that a caller hands over: none */

bool sv_onednn_keeps_to_one_thread(void)
{
    return true;
}

static int hold_threads(void)
{
    return 1;
}

static void release_threads(int threads)
{
    (void)threads;
}

#endif

const char *sv_onednn_version(char *buffer, size_t capacity)
{
    const dnnl_version_t *version = dnnl_version();
    snprintf(buffer, capacity, "%d.%d.%d", version->major, version->minor, version->patch);
    return buffer;
}

const char *sv_onednn_isa(void)
{
    static const char PREFIX[] = "cpu_isa_";
    const char *name = dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa());
    return strncmp(name, PREFIX, sizeof PREFIX - 1) == 0 ? name + sizeof PREFIX - 1 : name;
}

static bool includes(dnnl_cpu_isa_t isa, dnnl_cpu_isa_t part)
{
    return ((unsigned)isa & part) == part;
}

bool sv_onednn_is_below(sv_isa isa)
{
    dnnl_cpu_isa_t own = dnnl_get_effective_cpu_isa();
    if (isa >= SV_ISA_AVX512)
        return !includes(own, dnnl_cpu_isa_avx512_core);
    return isa >= SV_ISA_AVX2 && !includes(own, dnnl_cpu_isa_avx2);
}

/* What oneDNN refuses, for want of memory, the BLAS computes. */
static void multiply(const sv_kernels *kernels, const sv_output *c, const sv_left *a,
                     const sv_operand *b, size_t m, size_t first, size_t count)
{
    int left = a->column == 1, right = b->column == 1;
    float beta = (float)sv_gemm_put_bias(c, m, first, count);
    int threads = hold_threads();
    dnnl_status_t status = dnnl_sgemm(
        left ? 'N' : 'T', right ? 'N' : 'T', (dnnl_dim_t)m, (dnnl_dim_t)count, (dnnl_dim_t)b->k, 1,
        a->a, (dnnl_dim_t)(left ? a->row : a->column), b->b + first * b->column,
        (dnnl_dim_t)(right ? b->row : b->column), beta, c->c + first, (dnnl_dim_t)c->ldc);
    release_threads(threads);
    if (status != dnnl_success)
        sv_gemm_cblas.multiply(kernels, c, a, b, m, first, count);
}

const sv_gemm sv_gemm_onednn = {"onednn", sv_gemm_no_bytes, sv_gemm_no_packing, multiply,
                                &sv_gemm_onednn};

#else

bool sv_onednn_keeps_to_one_thread(void)
{
    return false;
}

const char *sv_onednn_version(char *buffer, size_t capacity)
{
    if (capacity > 0)
        buffer[0] = '\0';
    return buffer;
}

const char *sv_onednn_isa(void)
{
    return "";
}

bool sv_onednn_is_below(sv_isa isa)
{
    (void)isa;
    return false;
}

#endif
