/* The CBLAS of the process. With SV_BLAS_SONAME it is loaded from that shared library at its first
 * use, so that a program that never uses it starts no threads of a BLAS; otherwise it is linked. */
#include "gemm/blas.h"

#include "base/files/dynamic_library.h"
#include "base/threads/thread.h"

#include <stdatomic.h>

#ifdef SV_DOUBLE
#define GEMM cblas_dgemm
#else
#define GEMM cblas_sgemm
#endif
#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name)

/* The functions that the library calls; those that only some implementations have may be NULL. */
typedef struct functions {
    sv_blas_gemm gemm;
    char *(*openblas_get_config)(void);
    char *(*openblas_get_corename)(void);
    void (*openblas_set_num_threads)(int threads);
    const char *(*bli_info_get_version_str)(void);
    void (*bli_thread_set_num_threads)(long threads);
} functions;

#ifdef SV_BLAS_SONAME

static svit_status find_functions(functions *found, svit_error *err)
{
    char reason[160];
    sv_dynamic_library *library = sv_dynamic_library_open(SV_BLAS_SONAME, reason, sizeof reason);
    if (!library)
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "gemm is 'cblas'; the BLAS '%s' cannot be loaded: %s", SV_BLAS_SONAME,
                       reason);
    if (!sv_dynamic_library_find(&found->gemm, library, NAME_OF(GEMM)))
        return sv_fail(err, SVIT_E_UNSUPPORTED, "gemm is 'cblas'; '%s' has no " NAME_OF(GEMM),
                       SV_BLAS_SONAME);
    sv_dynamic_library_find(&found->openblas_get_config, library, "openblas_get_config");
    sv_dynamic_library_find(&found->openblas_get_corename, library, "openblas_get_corename");
    sv_dynamic_library_find(&found->openblas_set_num_threads, library, "openblas_set_num_threads");
    sv_dynamic_library_find(&found->bli_info_get_version_str, library, "bli_info_get_version_str");
    sv_dynamic_library_find(&found->bli_thread_set_num_threads, library,
                            "bli_thread_set_num_threads");
    return SVIT_OK;
}

#else

#define WEAK __attribute__((weak))
extern void GEMM(int order, int transpose_a, int transpose_b, int m, int n, int k, real alpha,
                 const real *a, int lda, const real *b, int ldb, real beta, real *c, int ldc);
extern char *openblas_get_config(void) WEAK;
extern char *openblas_get_corename(void) WEAK;
extern void openblas_set_num_threads(int threads) WEAK;
extern const char *bli_info_get_version_str(void) WEAK;
extern void bli_thread_set_num_threads(long threads) WEAK;

static svit_status find_functions(functions *found, svit_error *err)
{
    (void)err;
    *found = (functions){GEMM,
                         openblas_get_config,
                         openblas_get_corename,
                         openblas_set_num_threads,
                         bli_info_get_version_str,
                         bli_thread_set_num_threads};
    return SVIT_OK;
}

#endif

/* Written under the process lock, and not again once `loaded` points to it. */
static functions process;
static _Atomic(const functions *) loaded;

/* The functions; NULL until sv_blas_load has succeeded. */
static const functions *functions_of_process(void)
{
    return atomic_load_explicit(&loaded, memory_order_acquire);
}

/* The layers already split each matmul over the workers. Threads inside the BLAS would compete with
 * them, and the order of its sums would depend on the number of threads. */
static void use_one_thread(const functions *found)
{
    if (found->openblas_set_num_threads)
        found->openblas_set_num_threads(1);
    if (found->bli_thread_set_num_threads)
        found->bli_thread_set_num_threads(1);
}

svit_status sv_blas_load(svit_error *err)
{
    functions found = {0};
    SVIT_TRY(find_functions(&found, err));
    use_one_thread(&found);
    sv_process_lock();
    if (!functions_of_process()) {
        process = found;
        atomic_store_explicit(&loaded, &process, memory_order_release);
    }
    sv_process_unlock();
    return SVIT_OK;
}

sv_blas_gemm sv_blas_gemm_of_process(void)
{
    return functions_of_process()->gemm;
}

const char *sv_blas_description(void)
{
    const functions *found = functions_of_process();
    if (found && found->openblas_get_config)
        return found->openblas_get_config();
    return found && found->bli_info_get_version_str ? found->bli_info_get_version_str() : "";
}

const char *sv_blas_core(void)
{
    const functions *found = functions_of_process();
    return found && found->openblas_get_corename ? found->openblas_get_corename() : "";
}
