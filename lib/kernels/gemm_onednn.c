/* oneDNN as a provider: the one file that includes its headers. It is loaded when it is first asked
 * for: linked, it would take its memory and time of every program's start. A build without it has
 * the questions about it, and answers them with nothing. */
#include "kernels/gemm.h"

#include "base/status.h"

#if defined(SV_HAVE_ONEDNN) && !defined(SV_DOUBLE)

#include "base/library.h"
#include "base/thread.h"

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* What is used of oneDNN, and of its OpenMP: NULL where it runs without. */
typedef struct functions {
    __typeof__(dnnl_version) *version;
    __typeof__(dnnl_get_effective_cpu_isa) *isa;
    __typeof__(dnnl_cpu_isa2str) *isa_name;
    __typeof__(dnnl_sgemm) *sgemm;
    int (*get_threads)(void);
    void (*set_threads)(int threads);
} functions;

/* The process's, as the library itself is: written once, before `is_loaded` is set. */
static functions onednn;
static atomic_bool is_loaded;

static svit_status refuse(svit_error *err, const char *what, const char *reason)
{
    return sv_fail(err, SVIT_E_UNSUPPORTED,
                   "gemm is 'onednn'; " SV_ONEDNN_SONAME " %s%.120s; 'tile', 'cblas' or 'amx' is "
                   "accepted instead",
                   what, reason);
}

static const char *find_products(functions *found, sv_library *library)
{
    const struct {
        const char *name;
        void *function;
    } wanted[] = {{"dnnl_version", &found->version},
                  {"dnnl_get_effective_cpu_isa", &found->isa},
                  {"dnnl_cpu_isa2str", &found->isa_name},
                  {"dnnl_sgemm", &found->sgemm}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!sv_library_find(wanted[i].function, library, wanted[i].name))
            return wanted[i].name;
    return NULL;
}

/* As oneDNN's own calls are resolved: a program with an OpenMP lends it to all that it loads. */
static bool find_openmp(void *function, sv_library *library, const char *name)
{
    return sv_library_find(function, NULL, name) || sv_library_find(function, library, name);
}

/* Built without threads, or with those that a caller hands over: none, oneDNN keeps to the calling
 * thread by itself. */
static svit_status find_threads(functions *found, sv_library *library, svit_error *err)
{
    unsigned runtime = found->version()->cpu_runtime;
    if (runtime == DNNL_RUNTIME_SEQ || runtime == DNNL_RUNTIME_THREADPOOL)
        return SVIT_OK;
    if (runtime != DNNL_RUNTIME_OMP)
        return refuse(err, "runs on TBB or SYCL, where OpenMP or no threads are needed", "");
    if (find_openmp(&found->get_threads, library, "omp_get_max_threads") &&
        find_openmp(&found->set_threads, library, "omp_set_num_threads"))
        return SVIT_OK;
    return refuse(err, "lacks its OpenMP, which keeps it to the calling thread", "");
}

static svit_status load(functions *found, svit_error *err)
{
    char reason[128];
    sv_library *library = sv_library_open(SV_ONEDNN_SONAME, reason, sizeof reason);
    if (!library)
        return refuse(err, "could not be loaded: ", reason);
    const char *missing = find_products(found, library);
    return missing ? refuse(err, "lacks ", missing) : find_threads(found, library, err);
}

static svit_status load_for_all(svit_error *err)
{
    functions found = {0};
    if (atomic_load(&is_loaded))
        return SVIT_OK;
    SVIT_TRY(load(&found, err));
    onednn = found;
    atomic_store(&is_loaded, true);
    return SVIT_OK;
}

svit_status sv_onednn_load(svit_error *err)
{
    if (atomic_load(&is_loaded))
        return SVIT_OK;
    sv_process_lock();
    svit_status status = load_for_all(err);
    sv_process_unlock();
    return status;
}

/* The layers split the work. OpenMP's number is the calling thread's own, so that the program's
 * other threads keep theirs, and the calling one has it back after each product. */
static int hold_threads(void)
{
    if (!onednn.set_threads)
        return 0;
    int threads = onednn.get_threads();
    onednn.set_threads(1);
    return threads;
}

static void release_threads(int threads)
{
    if (onednn.set_threads)
        onednn.set_threads(threads);
}

const char *sv_onednn_version(char *buffer, size_t capacity)
{
    if (!atomic_load(&is_loaded))
        return memset(buffer, 0, capacity);
    const dnnl_version_t *version = onednn.version();
    snprintf(buffer, capacity, "%d.%d.%d", version->major, version->minor, version->patch);
    return buffer;
}

const char *sv_onednn_isa(void)
{
    static const char PREFIX[] = "cpu_isa_";
    if (!atomic_load(&is_loaded))
        return "";
    const char *name = onednn.isa_name(onednn.isa());
    return strncmp(name, PREFIX, sizeof PREFIX - 1) == 0 ? name + sizeof PREFIX - 1 : name;
}

static bool includes(dnnl_cpu_isa_t isa, dnnl_cpu_isa_t part)
{
    return ((unsigned)isa & part) == part;
}

bool sv_onednn_is_below(sv_isa isa)
{
    if (!atomic_load(&is_loaded))
        return false;
    dnnl_cpu_isa_t own = onednn.isa();
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
    dnnl_status_t status = onednn.sgemm(
        left ? 'N' : 'T', right ? 'N' : 'T', (dnnl_dim_t)m, (dnnl_dim_t)count, (dnnl_dim_t)b->k, 1,
        a->a, (dnnl_dim_t)(left ? a->row : a->column), b->b + first * b->column,
        (dnnl_dim_t)(right ? b->row : b->column), beta, c->c + first, (dnnl_dim_t)c->ldc);
    release_threads(threads);
    if (status == dnnl_success)
        sv_gemm_finish(kernels, c, 0, m, first, count);
    else
        sv_gemm_cblas.multiply(kernels, c, a, b, m, first, count);
}

const sv_gemm sv_gemm_onednn = {
    "onednn", sv_gemm_no_bytes, sv_gemm_no_packing, multiply, &sv_gemm_onednn, NULL, NULL, false};

#else

svit_status sv_onednn_load(svit_error *err)
{
    return sv_fail(err, SVIT_E_UNSUPPORTED, "gemm is 'onednn'; this build has no oneDNN");
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
