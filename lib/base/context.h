/* The inside of svit_context. Its last three members belong to the kernels' floor, which fills
 * them: here they are only carried. */
#ifndef SV_CONTEXT_H
#define SV_CONTEXT_H

#include "base/cpu.h"
#include "base/memory.h"
#include "base/pool.h"

#include <stdatomic.h>

struct sv_kernels;
struct sv_gemm;

struct svit_context {
    atomic_uint references;
    sv_allocator allocator;
    svit_log_function log;
    void *log_user;
    sv_pool *pool;
    sv_isa isa;
    const struct sv_kernels *kernels;
    const struct sv_gemm *gemm;     /* of products in float32 */
    const struct sv_gemm *few_gemm; /* of few rows, where a session infers */
};

/* Reads a caller's configuration (NULL: defaults) and makes a context of it, without kernels. */
svit_status sv_context_open(svit_context **out, const svit_context_config *config, svit_error *err);

/* Counts one more handle that needs the context; returns it. svit_context_free counts down. */
svit_context *sv_context_retain(svit_context *context);

#endif
