/* Contexts: the caller's configuration, checked, and the worker pool. */
#include "base/context.h"

#include "base/config.h"

#include <inttypes.h>
#include <stddef.h>

enum { THREADS_LIMIT = 256 };

SVIT_API svit_status svit_context_config_init(svit_context_config *config, size_t size)
{
    svit_context_config own = {.struct_size = sizeof own};
    return sv_config_export(config, size, &own, sizeof own, "svit_context_config", NULL);
}

static svit_status read_config(svit_context_config *own, const svit_context_config *config,
                               svit_error *err)
{
    *own = (svit_context_config){.struct_size = sizeof *own};
    if (config)
        SVIT_TRY(
            sv_config_import(own, sizeof *own, config, sizeof *own, "svit_context_config", err));
    if (own->threads > THREADS_LIMIT)
        return sv_fail(err, SVIT_E_ARGUMENT, "threads is %u; 0 (every core) to %d are accepted",
                       own->threads, THREADS_LIMIT);
    if (!own->allocate != !own->release)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "only one of allocate and release is set; both or neither are needed");
    return SVIT_OK;
}

svit_status sv_context_open(svit_context **out, const svit_context_config *config, svit_error *err)
{
    svit_context_config own;
    SVIT_TRY(read_config(&own, config, err));
    sv_allocator allocator = sv_allocator_default();
    if (own.allocate)
        allocator = (sv_allocator){own.allocate, own.release, own.allocator_user};
    void *memory;
    SVIT_TRY(sv_allocate_array(&allocator, &memory, 1, sizeof(svit_context), "a context", err));
    svit_context *context = memory;
    atomic_init(&context->references, 1);
    context->allocator = allocator;
    context->log = own.log;
    context->log_user = own.log_user;
    context->isa = sv_cpu_isa();
    uint32_t threads = own.threads ? own.threads : sv_thread_cores();
    if (threads > THREADS_LIMIT)
        threads = THREADS_LIMIT;
    svit_status status = sv_pool_create(&context->pool, &allocator, threads, err);
    if (status != SVIT_OK) {
        sv_release(&allocator, context, sizeof *context);
        return status;
    }
    *out = context;
    return SVIT_OK;
}

svit_context *sv_context_retain(svit_context *context)
{
    atomic_fetch_add_explicit(&context->references, 1, memory_order_relaxed);
    return context;
}

SVIT_API svit_context *svit_context_retain(svit_context *context)
{
    return context ? sv_context_retain(context) : NULL;
}

SVIT_API svit_status svit_context_check(const svit_context *context, svit_error *err)
{
    SV_REQUIRE(context);
    int64_t own = sv_process_id(), made = sv_pool_process(context->pool);
    if (own == made)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_STATE,
                   "the handle belongs to process %" PRId64 " and this is %" PRId64
                   ", a child by fork, which has none of its threads; here it can only be freed",
                   made, own);
}

SVIT_API void svit_context_free(svit_context *context)
{
    if (!context || atomic_fetch_sub_explicit(&context->references, 1, memory_order_acq_rel) != 1)
        return;
    sv_allocator allocator = context->allocator;
    sv_pool_free(&allocator, context->pool);
    sv_release(&allocator, context, sizeof *context);
}

SVIT_API uint32_t svit_context_threads(const svit_context *context)
{
    return context ? sv_pool_threads(context->pool) : 0;
}

SVIT_API void *svit_context_allocate(svit_context *context, size_t bytes)
{
    return context ? sv_allocate(&context->allocator, bytes) : NULL;
}

SVIT_API void svit_context_release(svit_context *context, void *memory, size_t bytes)
{
    if (context)
        sv_release(&context->allocator, memory, bytes);
}

SVIT_API void svit_context_log(const svit_context *context, int32_t level, const char *message)
{
    if (context && context->log && message)
        context->log(context->log_user, level, message);
}
