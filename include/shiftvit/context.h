/* The context: what all other handles share (allocator, log sink, workers, kernels). */
#ifndef SHIFTVIT_CONTEXT_H
#define SHIFTVIT_CONTEXT_H

#include <shiftvit/allocator.h>
#include <shiftvit/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A context is immutable after creation and may be shared by any number of threads. Handles made
 * from it keep it alive. It belongs to the process that made it: in a child by fork, it and the
 * handles made from it can be freed, and calls that need its workers, or threads or locks of such
 * a handle, return SVIT_E_STATE (docs/threading.md). */
typedef struct svit_context svit_context;

enum { SVIT_LOG_INFO = 0, SVIT_LOG_WARNING = 1 };

/* `level` is one of SVIT_LOG_*; `message` is borrowed during the call. Called only on the thread
 * that called into the library. */
typedef void (*svit_log_function)(void *user, int32_t level, const char *message);

typedef struct svit_context_config {
    uint32_t struct_size;            /* sizeof(svit_context_config) */
    uint32_t threads;                /* workers, the calling thread among them: 1..256, 0 = every
                                        core that the process may use */
    svit_allocate_function allocate; /* NULL (with `release` NULL too): the C library's */
    svit_release_function release;
    void *allocator_user;
    svit_log_function log; /* NULL: nothing is logged */
    void *log_user;
    const char *gemm; /* matrix products in float32: "tile" (the library's own, on the CPU's vector
                         units), "amx" (its own on AMX: every number as the sum of
                         three in bfloat16), "cblas", or NULL = "amx" where the CPU and the system
                         have it, else "tile". "amx" asks Linux for the unit's registers, for the
                         whole process. The library splits the work itself: "cblas" makes the
                         process's CBLAS single-threaded */
} svit_context_config;

/* Fills `config` with the defaults: every core, the C library's allocator, no log. `size` is
 * sizeof *config as the caller was compiled. SVIT_E_ARGUMENT where config is NULL or size is too
 * small to hold struct_size. */
SVIT_API svit_status svit_context_config_init(svit_context_config *config, size_t size);

/* Creates a context and starts its workers. `config` may be NULL for the defaults.
 * `*out` is owned by the caller, free with svit_context_free; on failure it is left alone.
 * SVIT_E_ARGUMENT: threads above 256, only one of allocate and release, an unknown gemm.
 * SVIT_E_UNSUPPORTED: a gemm that this build, this CPU or this system does not run, or whose
 * library cannot be loaded.
 * SVIT_E_MEMORY: no memory, or a worker could not be started. Any thread. */
SVIT_API svit_status svit_context_create(svit_context **out, const svit_context_config *config,
                                         svit_error *err);

/* Counts one more user of the context and returns it; each call needs a svit_context_free of its
 * own. For handles of the caller's that are to keep a context alive, as the library's do. NULL
 * gives NULL. Any thread. */
SVIT_API svit_context *svit_context_retain(svit_context *context);

/* Counts one user of the context less; it ends with the last one, handles made from it included.
 * NULL allowed. Any thread. */
SVIT_API void svit_context_free(svit_context *context);

/* SVIT_OK where the calling process is the one that made the context; SVIT_E_STATE, naming that
 * process, in a child by fork. For handles of the caller's that use threads. Any thread. */
SVIT_API svit_status svit_context_check(const svit_context *context, svit_error *err);

/* The number of workers, the calling thread among them; 0 for NULL. Any thread. */
SVIT_API uint32_t svit_context_threads(const svit_context *context);

/* Describes how this build runs here, as one JSON object: "version", "cpu", "instruction_set"
 * (of the kernels in use), "gemm", "gemms" (an array of those that run here), "gemm_bf16" and
 * "gemm_int8" (what multiplies where a session computes in bfloat16, or in bytes), "blas" (its own
 * description), "blas_core", "threads", "warnings" (an array of texts, a BLAS below the CPU's
 * instruction set say). Writes at most `capacity` bytes, NUL included, into `buffer` (NULL allowed
 * with capacity 0) and the size needed into `*needed` (NULL allowed). SVIT_E_ARGUMENT where it does
 * not fit. */
SVIT_API svit_status svit_context_describe(const svit_context *context, char *buffer,
                                           size_t capacity, size_t *needed, svit_error *err);

/* Memory from the context's allocator, aligned to 64 bytes, for callers that extend the library;
 * NULL where there is none. Free with svit_context_release and the same `bytes`. Any thread. */
SVIT_API void *svit_context_allocate(svit_context *context, size_t bytes);

/* Gives memory of svit_context_allocate back; `memory` may be NULL. */
SVIT_API void svit_context_release(svit_context *context, void *memory, size_t bytes);

/* Sends a message to the context's log sink; nothing where there is none. */
SVIT_API void svit_context_log(const svit_context *context, int32_t level, const char *message);

/* A folder that one handle, of one process, has to itself among all who claim it: a lock on the
 * file `.lock` in it, which ends with the process, however that ends, and which children by fork
 * do not hold. On file systems without locks it keeps nobody out. One thread at a time. */
typedef struct svit_folder_lock svit_folder_lock;

/* Creates `folder`, with the folders above it, where it is not there, and claims it. `*out` is
 * owned by the caller, free with svit_folder_lock_free. SVIT_E_STATE: the folder is claimed
 * already, by another process or by this one; SVIT_E_IO names the path and the system's reason;
 * SVIT_E_ARGUMENT: an empty path. On failure no folder is left that was not there. Any thread. */
SVIT_API svit_status svit_folder_lock_create(svit_folder_lock **out, svit_context *context,
                                             const char *folder, svit_error *err);

/* Ends the claim and removes those folders that svit_folder_lock_create made and that are empty.
 * In a child by fork the folder stays as it is. NULL allowed. */
SVIT_API void svit_folder_lock_free(svit_folder_lock *claim);

/* 1 where the folder has a file, or anything else, of that name; 0 where not, and for NULL. */
SVIT_API int32_t svit_folder_lock_has(const svit_folder_lock *claim, const char *name);

/* Removes the file `name` from the folder, where it is there. SVIT_E_ARGUMENT: a name with a slash;
 * SVIT_E_STATE in a child by fork; SVIT_E_IO names the path and the system's reason. */
SVIT_API svit_status svit_folder_lock_remove(svit_folder_lock *claim, const char *name,
                                             svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
