/* Contexts: checks the caller's configuration, chooses kernels and GEMM backends for this CPU, and
 * starts the worker pool. */
#include "context/context.h"

#include "base/text/message.h"
#include "base/threads/affinity.h"
#include "config/config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static svit_status check_config(const void *checked, svit_error *err)
{
    const svit_context_config *config = checked;
    if (config->threads > SV_MAX_THREADS)
        return sv_fail(
            err, SVIT_E_ARGUMENT,
            "threads is %u; 0 (each CPU that affinity and quota leave) to %d are accepted",
            config->threads, SV_MAX_THREADS);
    if (!config->allocate != !config->release)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "only one of allocate and release is set; both or neither are needed");
    if (config->pin != 0 && config->pin != 1)
        return sv_fail(err, SVIT_E_ARGUMENT, "pin is %d; 0 and 1 are accepted", (int)config->pin);
    if (config->pin && config->parallel_for)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "pin is 1 and parallel_for is set; the program places its own threads, and "
                       "pin is 0 then");
    if (config->max_image_pixels > SV_PIXEL_LIMIT)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "max_image_pixels is %" PRIu32 "; 0 (%d) to %d are accepted",
                       config->max_image_pixels, SV_PIXEL_LIMIT, SV_PIXEL_LIMIT);
    return SVIT_OK;
}

static const sv_config_type TYPE = {SV_CONFIG_STRUCT(svit_context_config),
                                    .min_size = offsetof(svit_context_config, parallel_for),
                                    .null_is_default = true, .check = check_config};

SV_CONFIG_INIT(svit_context_config, TYPE)

/* The CPU's instruction set. Tests lower it with SHIFTVIT_TEST_ISA to run every copy of the
 * kernels; it cannot be raised. */
static sv_isa find_isa(void)
{
    const sv_isa isa = sv_cpu_isa();
    const char *wanted = getenv("SHIFTVIT_TEST_ISA");
    for (sv_isa lower = SV_ISA_BASELINE; wanted && lower < isa; lower++)
        if (sv_cpu_has(lower) && strcmp(sv_isa_name(lower), wanted) == 0)
            return lower;
    return isa;
}

/* Pins the workers. Results do not depend on it, so a refusal of the system is only logged. */
static void pin_workers(const svit_context *context)
{
    char reason[80];
    const int code = sv_pool_pin(context->pool);
    if (code == 0)
        return;
    sv_context_warn(
        context,
        "%u of %u workers could not be pinned to a CPU: %s; the operating system places them",
        sv_pool_threads(context->pool) - 1 - sv_pool_pinned(context->pool),
        sv_pool_threads(context->pool) - 1, sv_errno_text(code, reason, sizeof reason));
}

/* Chooses the kernels and the GEMM backends, and starts the workers. */
static svit_status context_open(svit_context *context, const svit_context_config *config,
                                svit_error *err)
{
    context->isa = find_isa();
    context->kernels = sv_kernels_for(context->isa);
    SVIT_TRY(sv_gemm_find(&context->gemm, &context->small_m_gemm, config->gemm, context->isa, err));
    uint32_t threads = config->threads ? config->threads : sv_affinity_cores();
    if (threads > SV_MAX_THREADS)
        threads = SV_MAX_THREADS;
    const sv_host_pool host = {config->parallel_for, config->parallel_for_user};
    SVIT_TRY(sv_pool_create(&context->pool, &context->allocator, threads, host, err));
    if (config->pin)
        pin_workers(context);
    return SVIT_OK;
}

SVIT_API svit_status svit_context_create(svit_context **out, const svit_context_config *config,
                                         svit_error *err)
{
    SV_REQUIRE(out);
    svit_context_config local;
    SVIT_TRY(sv_config_read(&TYPE, &local, config, err));
    sv_allocator allocator = sv_allocator_default();
    if (local.allocate)
        allocator = (sv_allocator){local.allocate, local.release, local.allocator_user};
    void *memory;
    SVIT_TRY(sv_allocate_array(&allocator, &memory, 1, sizeof(svit_context), "a context", err));
    svit_context *context = memory;
    atomic_init(&context->references, 1);
    context->allocator = allocator;
    context->log = local.log;
    context->log_user = local.log_user;
    context->stop = local.stop;
    context->stop_user = local.stop_user;
    context->image_pixels = local.max_image_pixels ? local.max_image_pixels : SV_PIXEL_LIMIT;
    svit_status status = context_open(context, &local, err);
    if (status == SVIT_OK)
        *out = context;
    else
        sv_release(&allocator, context, sizeof *context);
    return status;
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
    int64_t process = sv_process_id(), creator = sv_pool_process(context->pool);
    if (process == creator)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_STATE,
                   "the handle belongs to process %" PRIu32 "; this is process %" PRIu32
                   ", a forked child without the threads that the call needs; a new context has "
                   "its own",
                   (uint32_t)creator, (uint32_t)process);
}

SVIT_API void svit_context_free(svit_context *context)
{
    if (!context || atomic_fetch_sub_explicit(&context->references, 1, memory_order_acq_rel) != 1)
        return;
    sv_allocator allocator = context->allocator;
    sv_pool_free(&allocator, context->pool);
    sv_release(&allocator, context, sizeof *context);
}

int32_t sv_context_stop_value(const svit_context *context)
{
    return context->stop ? context->stop(context->stop_user) : 0;
}

svit_status sv_context_fail_stopped(int32_t value, svit_error *err)
{
    return sv_fail(err, SVIT_E_STOPPED, "the stop function of the context returned %d", (int)value);
}

svit_status sv_context_go_on(const svit_context *context, svit_error *err)
{
    const int32_t value = sv_context_stop_value(context);
    return value ? sv_context_fail_stopped(value, err) : SVIT_OK;
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

void sv_context_warn(const svit_context *context, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    if (!context->log)
        return;
    va_start(arguments, format);
    sv_message_format(text, sizeof text, format, arguments);
    va_end(arguments);
    svit_context_log(context, SVIT_LOG_WARNING, text);
}
