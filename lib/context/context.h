/* The inside of svit_context: what the layers above need of the CPU, the memory and the workers. */
#ifndef SV_CONTEXT_H
#define SV_CONTEXT_H

#include "base/cpu.h"
#include "base/memory.h"
#include "base/pool.h"
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
    const sv_gemm *gemm;         /* in float32 */
    const sv_gemm *small_m_gemm; /* for few rows, where a session infers */
};

/* Counts one more handle that needs the context; returns it. svit_context_free counts down. */
svit_context *sv_context_retain(svit_context *context);

#endif
