/* The definition of svit_context: the memory, the workers, and the kernels and GEMM backends chosen
 * for this CPU. */
#ifndef SV_CONTEXT_H
#define SV_CONTEXT_H

#include "base/memory.h"
#include "base/status.h"
#include "base/threads/cpu.h"
#include "base/threads/pool.h"
#include "gemm/gemm.h"

#include <shiftvit/context.h>

#include <stdatomic.h>

/* Pixels of an image that is encoded, and of one that is decoded unless the context has fewer. */
enum { SV_PIXEL_LIMIT = 64000000 };

struct svit_context {
    atomic_uint references;
    sv_allocator allocator;
    svit_log_function log;
    void *log_user;
    svit_stop_function stop;
    void *stop_user;
    size_t image_pixels; /* the most that an image that is decoded may have */
    sv_pool *pool;
    sv_isa isa;
    const sv_kernels *kernels;
    const sv_gemm *gemm;         /* the float32 backend */
    const sv_gemm *small_m_gemm; /* the float32 backend of inference with small M */
};

/* Adds a reference, which svit_context_free removes. Returns `context`. */
svit_context *sv_context_retain(svit_context *context);

/* Sends a warning to the caller's log function, if there is one, as UTF-8 without control
 * characters and cut to 1,023 bytes. */
void sv_context_warn(const svit_context *context, const char *format, ...) SV_PRINTF(2, 3);

/* Asks the caller's stop function: its value; 0, to go on, if there is none. */
int32_t sv_context_stop_value(const svit_context *context);

/* SVIT_E_STOPPED, after that function has returned `value`. */
svit_status sv_context_fail_stopped(int32_t value, svit_error *err);

/* Asks between two parts of a long call. SVIT_E_STOPPED: the function asks to stop. */
svit_status sv_context_go_on(const svit_context *context, svit_error *err);

/* Says whether the locked folder has an entry `name`, as svit_folder_lock_has. SVIT_E_IO: the
 * system cannot say it. */
svit_status sv_folder_lock_find(bool *out, const svit_folder_lock *lock, const char *name,
                                svit_error *err);

#endif
