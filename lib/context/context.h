/* The definition of svit_context: the memory, the workers, and the kernels and GEMM backends chosen
 * for this CPU. */
#ifndef SV_CONTEXT_H
#define SV_CONTEXT_H

#include "base/memory.h"
#include "base/threads/cpu.h"
#include "base/threads/pool.h"
#include "gemm/gemm.h"

#include <shiftvit/context.h>

#include <stdatomic.h>

struct svit_context {
    atomic_uint references;
    sv_allocator allocator;
    svit_log_function log;
    void *log_user;
    sv_pool *pool;
    sv_isa isa;
    const sv_kernels *kernels;
    const sv_gemm *gemm;         /* the float32 backend */
    const sv_gemm *small_m_gemm; /* the float32 backend of inference with small M */
};

/* Adds a reference, which svit_context_free removes. Returns `context`. */
svit_context *sv_context_retain(svit_context *context);

/* Says whether the locked folder has an entry `name`, as svit_folder_lock_has. SVIT_E_IO: the system
 * cannot say it. */
svit_status sv_folder_lock_find(bool *out, const svit_folder_lock *lock, const char *name,
                                svit_error *err);

#endif
